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

/// One item of `servo`: its type with the keys of the type. Keys that say how it is pursued
/// (reference, smooth_start, priority, gains) are let pass.
std::shared_ptr<const ServoConstraint> read_servo_constraint(
  const ScenarioReader & item, const ConstraintSet & passive);

/// What an item of `servo` follows, from its key `reference`; without one: null where it holds what
/// it finds at the start, otherwise zero.
ReferencePointer read_reference(const ScenarioReader & item, const ServoConstraint & servo);

/// Time in which an item of `servo` joins its reference [s]: smooth_start, or the duration of a
/// minimum-jerk motion from where the robot is.
double read_smooth_start(const ScenarioReader & item);

}  // namespace constrained_dynamics
