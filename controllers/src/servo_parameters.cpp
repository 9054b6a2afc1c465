// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics_controllers/servo_parameters.hpp"

#include <algorithm>
#include <exception>
#include <limits>
#include <vector>

#include <constrained_dynamics/model/rigid_body_system.hpp>
#include <hardware_interface/component_parser.hpp>

#include "constrained_dynamics_controllers/model_setup.hpp"

namespace constrained_dynamics_controllers
{

using constrained_dynamics::System;

namespace
{

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Tightens limits to those of a profile.
void apply_profile(
  const constrained_dynamics::RobotProfile & profile, const System & system,
  constrained_dynamics::InputLimits & limits)
{
  if (limits.rate.size() == 0)
  {
    limits.rate = Eigen::VectorXd::Constant(system.input_count(), kInfinity);
  }
  for (const constrained_dynamics::ProfileJoint & joint : profile.joints)
  {
    const auto & names = system.input_names();
    const auto found = std::find(names.begin(), names.end(), joint.name);
    if (found == names.end())
    {
      continue;
    }
    const Eigen::Index i = found - names.begin();
    limits.rate(i) = std::min(limits.rate(i), joint.effort_rate_limit);
    if (profile.command_adds && !profile.command_adds->gravity)
    {
      limits.upper(i) = std::min(limits.upper(i), joint.effort_limit);
    }
  }
}

}  // namespace

constrained_dynamics::InputLimits command_limits(
  const servo_constraint_controller::Params & parameters, const System & system,
  const std::unordered_map<std::string, joint_limits::JointLimits> & hard,
  const constrained_dynamics::RobotProfile * profile)
{
  const Eigen::Index count = system.input_count();
  constrained_dynamics::InputLimits limits;
  limits.rate = spread("torque_rate", parameters.torque_rate, count, "inputs", false);
  limits.upper = spread("effort_limits", parameters.effort_limits, count, "inputs", false);
  if (limits.upper.size() == 0)
  {
    limits.upper = Eigen::VectorXd::Constant(count, kInfinity);
    const constrained_dynamics::RigidBodySystem * robot = system.as_robot();
    for (Eigen::Index i = 0; i < count; ++i)
    {
      const std::string & name = system.input_names()[static_cast<std::size_t>(i)];
      const auto tighten = [&](double effort)
      { limits.upper(i) = effort > 0.0 ? std::min(limits.upper(i), effort) : limits.upper(i); };
      const auto found = hard.find(name);
      if (found != hard.end() && found->second.has_effort_limits)
      {
        tighten(found->second.max_effort);
      }
      if (robot)
      {
        tighten(robot->limits()[static_cast<std::size_t>(robot->coordinate_index(name))].effort);
      }
    }
  }
  if (profile)
  {
    apply_profile(*profile, system, limits);
  }
  limits.lower = -limits.upper;
  return limits;
}

double hardware_period(
  const std::string & robot_description, const std::vector<std::string> & joints)
{
  unsigned slowest = 0;  // [Hz]
  try
  {
    for (const auto & hardware :
         hardware_interface::parse_control_resources_from_urdf(robot_description))
    {
      const bool is_ours = std::any_of(
        hardware.joints.begin(), hardware.joints.end(),
        [&](const hardware_interface::ComponentInfo & joint)
        { return std::find(joints.begin(), joints.end(), joint.name) != joints.end(); });
      if (is_ours && hardware.rw_rate > 0)
      {
        slowest = slowest == 0 ? hardware.rw_rate : std::min(slowest, hardware.rw_rate);
      }
    }
  }
  catch (const std::exception &)
  {
    return 0.0;  // no <ros2_control> in it: the hardware is described elsewhere
  }
  return slowest == 0 ? 0.0 : 1.0 / slowest;
}

constrained_dynamics::ServoRuntimeOptions runtime_options(
  const servo_constraint_controller::Params & parameters, const model_parameters::Params & model,
  double period, double sample_period)
{
  constrained_dynamics::ServoRuntimeOptions options;
  options.period = period;
  options.ramp_time = parameters.ramp_time;
  options.references.smooth_start = parameters.smooth_start;
  options.references.stop_time = parameters.stop_time;
  options.references.timeout = parameters.reference_timeout;
  options.references.resume = parameters.when_stale == "trajectory";
  options.references.largest_step = parameters.reference_step;
  options.references.largest_force_step = parameters.force_step;
  options.check_references = parameters.check_references;
  options.sample_period = sample_period;
  options.recovery_time = parameters.recovery_time;
  options.most_recoveries = static_cast<int>(parameters.most_recoveries);
  options.position_tolerance = model.position_tolerance;
  options.velocity_tolerance = model.velocity_tolerance;
  options.dropout_cycles = static_cast<int>(parameters.dropout_cycles);
  options.frozen_speed = parameters.frozen_speed;
  options.fallback = constrained_dynamics::servo_fallback(parameters.fallback);
  options.fallback_damping = parameters.fallback_damping;
  return options;
}

}  // namespace constrained_dynamics_controllers
