// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <memory>
#include <vector>

#include "constrained_dynamics/constraints/constraint.hpp"
#include "scenario/scenario_reader.hpp"
#include "scenario/scenario_servo_law.hpp"

namespace constrained_dynamics
{

/// Rows that make the initial state realise servo-constraints: their errors, with the references of
/// the initial time, are 0. For assembling only.
/// @param names the key `initial.servo`: a list of servo-constraints, or `all`.
std::vector<std::shared_ptr<const Constraint>> servo_rows_at_start(
  const ScenarioReader & names, const std::optional<ScenarioServo> & servo, double time);

}  // namespace constrained_dynamics
