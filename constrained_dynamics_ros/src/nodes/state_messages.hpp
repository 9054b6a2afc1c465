// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <string>
#include <vector>

#include <Eigen/Core>

#include <builtin_interfaces/msg/time.hpp>
#include <constrained_dynamics/contact/contact.hpp>
#include <constrained_dynamics/dynamics/dynamics.hpp>
#include <constrained_dynamics_msgs/msg/constraint_event.hpp>
#include <diagnostic_msgs/msg/diagnostic_array.hpp>
#include <sensor_msgs/msg/joint_state.hpp>
#include <tf2_msgs/msg/tf_message.hpp>

/// @file
/// What a simulation or a monitor says beside forces. Not for control cycles.

namespace constrained_dynamics_ros
{

/// All coordinates with their rates; efforts of those that inputs are named after, 0 of the others.
class JointStates
{
public:
  explicit JointStates(const constrained_dynamics::System & system);

  /// @param q coordinates. @param rates q̇. @param inputs τ.
  const sensor_msgs::msg::JointState & write(
    const builtin_interfaces::msg::Time & stamp, const Eigen::VectorXd & q,
    const Eigen::VectorXd & rates, const Eigen::VectorXd & inputs);

private:
  sensor_msgs::msg::JointState message_;
  std::vector<int> inputs_;  // of each coordinate; −1: none
};

/// The pose of every link in the world.
class LinkTransforms
{
public:
  LinkTransforms(const constrained_dynamics::System & system, const std::string & world_frame);

  bool empty() const { return frames_.empty(); }
  const tf2_msgs::msg::TFMessage & write(
    const builtin_interfaces::msg::Time & stamp, const constrained_dynamics::SystemData & data);

private:
  const constrained_dynamics::System & system_;
  std::vector<int> frames_;
  tf2_msgs::msg::TFMessage message_;
};

constrained_dynamics_msgs::msg::ConstraintEvent make_event_message(
  const constrained_dynamics::ContactEvent & event,
  const constrained_dynamics::ConstraintSet & constraints,
  const builtin_interfaces::msg::Time & stamp, const std::string & world_frame);

/// One status of an array of diagnostics.
struct Health
{
  using Level = decltype(diagnostic_msgs::msg::DiagnosticStatus::level);

  Level level = diagnostic_msgs::msg::DiagnosticStatus::OK;
  std::string message;
  std::vector<std::pair<std::string, std::string>> values;
};
diagnostic_msgs::msg::DiagnosticArray make_diagnostics(
  const std::string & name, const builtin_interfaces::msg::Time & stamp, const Health & health);

/// Four digits, as in diagnostics.
std::string number_text(double value);

}  // namespace constrained_dynamics_ros
