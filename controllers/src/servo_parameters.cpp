// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics_controllers/servo_parameters.hpp"

#include <algorithm>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <vector>

#include <constrained_dynamics/model/rigid_body_system.hpp>

namespace constrained_dynamics_controllers
{

using constrained_dynamics::System;

namespace
{

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// One number for each input.
Eigen::VectorXd spread(
  const std::string & name, const std::vector<double> & values, Eigen::Index count)
{
  if (values.empty())
  {
    return {};
  }
  std::ostringstream message;
  if (values.size() != 1 && static_cast<Eigen::Index>(values.size()) != count)
  {
    message << "parameter '" << name << "' has " << values.size()
            << " values; allowed: none, one, or one for each of the " << count << " inputs";
    throw std::invalid_argument(message.str());
  }
  Eigen::VectorXd result(count);
  for (Eigen::Index i = 0; i < count; ++i)
  {
    result(i) = values[values.size() == 1 ? 0 : static_cast<std::size_t>(i)];
    if (!(result(i) > 0.0))
    {
      message << "parameter '" << name << "' has the value " << result(i) << "; allowed: above 0";
      throw std::invalid_argument(message.str());
    }
  }
  return result;
}

}  // namespace

constrained_dynamics::InputLimits command_limits(
  const servo_constraint_controller::Params & parameters, const System & system,
  const std::unordered_map<std::string, joint_limits::JointLimits> & hard)
{
  const Eigen::Index count = system.input_count();
  constrained_dynamics::InputLimits limits;
  limits.rate = spread("torque_rate", parameters.torque_rate, count);
  limits.upper = spread("effort_limits", parameters.effort_limits, count);
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
  limits.lower = -limits.upper;
  return limits;
}

constrained_dynamics::ServoRuntimeOptions runtime_options(
  const servo_constraint_controller::Params & parameters, double period)
{
  constrained_dynamics::ServoRuntimeOptions options;
  options.period = period;
  options.ramp_time = parameters.ramp_time;
  options.references.smooth_start = parameters.smooth_start;
  options.references.stop_time = parameters.stop_time;
  options.references.timeout = parameters.reference_timeout;
  options.dropout_cycles = static_cast<int>(parameters.dropout_cycles);
  options.frozen_speed = parameters.frozen_speed;
  options.fallback = constrained_dynamics::servo_fallback(parameters.fallback);
  options.fallback_damping = parameters.fallback_damping;
  return options;
}

}  // namespace constrained_dynamics_controllers
