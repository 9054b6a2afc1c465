// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <memory>

#include "constrained_dynamics/constraints/constraint.hpp"
#include "constrained_dynamics/servo/reference_trajectory.hpp"
#include "constrained_dynamics/servo/servo_constraint.hpp"
#include "scenario/scenario_reader.hpp"

namespace constrained_dynamics
{

/// One item of `servo`: its type with the keys of the type. Keys about the reference, smooth_start,
/// the priority and the gains are ignored here.
std::shared_ptr<const ServoConstraint> read_servo_constraint(
  const ScenarioReader & item, const ConstraintSet & passive);

/// The reference of an item of `servo`, from its key `reference`. Without the key: null if the task
/// holds the value found at the start, otherwise zero.
ReferencePointer read_reference(const ScenarioReader & item, const ServoConstraint & servo);

/// Time in which an item of `servo` blends into its reference [s]: smooth_start, or the duration of
/// a minimum-jerk motion from where the robot is.
double read_smooth_start(const ScenarioReader & item);

}  // namespace constrained_dynamics
