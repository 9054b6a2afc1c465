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

/// The text of doc/constraints.md, which `cdyn types` prints.
CONSTRAINED_DYNAMICS_EXPORT std::string constraint_page();

}  // namespace constrained_dynamics
