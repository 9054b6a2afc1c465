// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "state_messages.hpp"

#include <algorithm>
#include <cstdio>

#include <Eigen/Geometry>

#include <constrained_dynamics/model/rigid_body_system.hpp>

namespace constrained_dynamics_ros
{

using constrained_dynamics::System;

JointStates::JointStates(const System & system)
{
  message_.name = system.coordinate_names();
  message_.position.resize(message_.name.size());
  message_.velocity.resize(message_.name.size());
  message_.effort.resize(message_.name.size(), 0.0);
  const std::vector<std::string> & inputs = system.input_names();
  for (const std::string & name : message_.name)
  {
    const auto found = std::find(inputs.begin(), inputs.end(), name);
    inputs_.push_back(found == inputs.end() ? -1 : static_cast<int>(found - inputs.begin()));
  }
}

const sensor_msgs::msg::JointState & JointStates::write(
  const builtin_interfaces::msg::Time & stamp, const Eigen::VectorXd & q,
  const Eigen::VectorXd & rates, const Eigen::VectorXd & inputs)
{
  message_.header.stamp = stamp;
  for (std::size_t i = 0; i < message_.name.size(); ++i)
  {
    message_.position[i] = q(static_cast<Eigen::Index>(i));
    message_.velocity[i] = rates(static_cast<Eigen::Index>(i));
    message_.effort[i] = inputs_[i] < 0 ? 0.0 : inputs(inputs_[i]);
  }
  return message_;
}

LinkTransforms::LinkTransforms(const System & system, const std::string & world_frame)
: system_(system)
{
  const constrained_dynamics::RigidBodySystem * robots = system.underlying().as_robot();
  if (robots == nullptr)
  {
    return;
  }
  const std::vector<std::string> & frames = system.frame_names();
  for (const std::string & link : robots->link_names())
  {
    const auto found = std::find(frames.begin(), frames.end(), link);
    if (found != frames.end() && link != world_frame)
    {
      frames_.push_back(static_cast<int>(found - frames.begin()));
      auto & transform = message_.transforms.emplace_back();
      transform.header.frame_id = world_frame;
      transform.child_frame_id = link;
    }
  }
}

const tf2_msgs::msg::TFMessage & LinkTransforms::write(
  const builtin_interfaces::msg::Time & stamp, const constrained_dynamics::SystemData & data)
{
  constrained_dynamics::FrameKinematics frame;
  for (std::size_t i = 0; i < frames_.size(); ++i)
  {
    system_.frame_kinematics(data, frames_[i], frame);
    const Eigen::Quaterniond rotation = Eigen::Quaterniond(frame.rotation).normalized();
    auto & transform = message_.transforms[i];
    transform.header.stamp = stamp;
    transform.transform.translation.x = frame.position.x();
    transform.transform.translation.y = frame.position.y();
    transform.transform.translation.z = frame.position.z();
    transform.transform.rotation.x = rotation.x();
    transform.transform.rotation.y = rotation.y();
    transform.transform.rotation.z = rotation.z();
    transform.transform.rotation.w = rotation.w();
  }
  return message_;
}

constrained_dynamics_msgs::msg::ConstraintEvent make_event_message(
  const constrained_dynamics::ContactEvent & event,
  const constrained_dynamics::ConstraintSet & constraints,
  const builtin_interfaces::msg::Time & stamp, const std::string & world_frame)
{
  constrained_dynamics_msgs::msg::ConstraintEvent message;
  message.header.stamp = stamp;
  message.header.frame_id = world_frame;
  if (event.constraint >= 0)
  {
    message.constraint = constraints[event.constraint].name();
  }
  message.kind = to_string(event.kind);
  message.impulse = event.impulse;
  message.friction_impulse = event.friction_impulse;
  message.speed_before = event.speed_before;
  message.speed_after = event.speed_after;
  message.energy_change = event.energy_change;
  return message;
}

diagnostic_msgs::msg::DiagnosticArray make_diagnostics(
  const std::string & name, const builtin_interfaces::msg::Time & stamp, const Health & health)
{
  diagnostic_msgs::msg::DiagnosticArray message;
  message.header.stamp = stamp;
  auto & status = message.status.emplace_back();
  status.level = health.level;
  status.name = name;
  status.message = health.message;
  status.hardware_id = "constrained_dynamics";
  for (const auto & [key, value] : health.values)
  {
    auto & pair = status.values.emplace_back();
    pair.key = key;
    pair.value = value;
  }
  return message;
}

std::string number_text(double value)
{
  char text[32];
  std::snprintf(text, sizeof(text), "%.4g", value);
  return text;
}

}  // namespace constrained_dynamics_ros
