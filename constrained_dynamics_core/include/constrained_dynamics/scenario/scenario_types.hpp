// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <string>
#include <vector>

#include "constrained_dynamics/constraints/constraint_description.hpp"
#include "constrained_dynamics/export.hpp"

namespace constrained_dynamics
{

/// The types of the section `constraints`: those of constraint_descriptions and the contact.
CONSTRAINED_DYNAMICS_EXPORT const std::vector<ConstraintDescription> & scenario_constraint_types();

/// The text of doc/types.md: all types of constraints, servo tasks and null-space terms with their
/// keys, in Markdown.
CONSTRAINED_DYNAMICS_EXPORT std::string types_page();

/// The part of that page about one type. @throw std::invalid_argument naming those that exist.
CONSTRAINED_DYNAMICS_EXPORT std::string type_section(const std::string & type);

}  // namespace constrained_dynamics
