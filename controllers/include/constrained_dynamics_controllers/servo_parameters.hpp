// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include <constrained_dynamics/servo/robot_profile.hpp>
#include <constrained_dynamics/servo/servo_runtime.hpp>
#include <joint_limits/joint_limits.hpp>

#include "constrained_dynamics_controllers/model_parameters.hpp"
#include "constrained_dynamics_controllers/servo_constraint_controller_parameters.hpp"

namespace constrained_dynamics_controllers
{

/// Limits of effort and rate of the law: the parameters', else those of the hardware and the robot
/// description; and those of the robot profile, unless the drives add gravity to what is limited.
/// @param hard limits of joints, by name. @param profile null: none.
/// @throw std::invalid_argument naming a parameter that is out of range.
constrained_dynamics::InputLimits command_limits(
  const servo_constraint_controller::Params & parameters,
  const constrained_dynamics::System & system,
  const std::unordered_map<std::string, joint_limits::JointLimits> & hard,
  const constrained_dynamics::RobotProfile * profile);

/// Period of the slowest hardware component that has one of the joints (rw_rate) [s]; 0: the
/// description does not say.
double hardware_period(
  const std::string & robot_description, const std::vector<std::string> & joints);

/// @param period of the cycle [s]. @param sample_period of the hardware [s]; 0: unknown.
/// @throw std::invalid_argument for an unknown fallback.
constrained_dynamics::ServoRuntimeOptions runtime_options(
  const servo_constraint_controller::Params & parameters, const model_parameters::Params & model,
  double period, double sample_period);

}  // namespace constrained_dynamics_controllers
