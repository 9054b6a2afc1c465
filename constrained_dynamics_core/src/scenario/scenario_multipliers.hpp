// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <memory>
#include <string>

#include "constrained_dynamics/formulations/multiplier_forces.hpp"
#include "scenario/scenario_reader.hpp"
#include "scenario/scenario_signals.hpp"
#include "scenario/scenario_system.hpp"

namespace constrained_dynamics
{

/// Whether a formula of a textbook system calls `lambda`, which is known only with the constraints.
bool calls_lambda(const std::string & formula);

/// Forces of `force`, `inputs` and `external` that depend on constraint forces; null: none.
/// @param names of the scope SignalScope::kForces.
std::shared_ptr<const MultiplierForces> build_multiplier_forces(
  const ScenarioReader & root, const ScenarioSystem & system, const ConstraintSet & set,
  const SignalNames & names);

}  // namespace constrained_dynamics
