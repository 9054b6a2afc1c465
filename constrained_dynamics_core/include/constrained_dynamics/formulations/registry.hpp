// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "constrained_dynamics/formulations/formulation.hpp"

namespace constrained_dynamics
{

/// Ids of the formulations that solve every problem: "auto", then the others.
CONSTRAINED_DYNAMICS_EXPORT std::vector<std::string> formulation_names();
/// Those that do not refuse a constrained system (Formulation::refusal): the ids above and, for
/// trees of bodies, "articulated_body", which declines some states.
CONSTRAINED_DYNAMICS_EXPORT std::vector<std::string> formulation_names(
  const ConstrainedSystem & system);
/// All ids that make_formulation knows.
CONSTRAINED_DYNAMICS_EXPORT std::vector<std::string> all_formulation_names();

/// Makes a formulation from its id; "auto" is the fastest robust one (see Automatic).
/// @throw std::invalid_argument for an unknown id, listing those that exist.
CONSTRAINED_DYNAMICS_EXPORT std::shared_ptr<const Formulation> make_formulation(
  const std::string & name);

}  // namespace constrained_dynamics
