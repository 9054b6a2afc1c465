// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <string>
#include <unordered_map>

#include <constrained_dynamics/servo/servo_runtime.hpp>
#include <joint_limits/joint_limits.hpp>

#include "constrained_dynamics_controllers/servo_constraint_controller_parameters.hpp"

namespace constrained_dynamics_controllers
{

/// Limits of effort and rate: the parameters', else those of the hardware and the robot
/// description.
/// @param hard limits of joints, by name.
/// @throw std::invalid_argument naming a parameter that is out of range.
constrained_dynamics::InputLimits command_limits(
  const servo_constraint_controller::Params & parameters,
  const constrained_dynamics::System & system,
  const std::unordered_map<std::string, joint_limits::JointLimits> & hard);

/// @param period of the cycle [s].
/// @throw std::invalid_argument for an unknown fallback.
constrained_dynamics::ServoRuntimeOptions runtime_options(
  const servo_constraint_controller::Params & parameters, double period);

}  // namespace constrained_dynamics_controllers
