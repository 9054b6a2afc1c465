// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <array>
#include <string>
#include <type_traits>
#include <vector>

#include <Eigen/Core>

#include <constrained_dynamics/model/system.hpp>
#include <diagnostic_msgs/msg/diagnostic_status.hpp>
#include <sensor_msgs/msg/joint_state.hpp>

#include "constrained_dynamics_controllers/constraint_outputs.hpp"
#include "constrained_dynamics_controllers/model_parameters.hpp"

namespace constrained_dynamics_controllers
{

/// What is published, from the parameters.
/// @throw std::invalid_argument naming what is out of range.
OutputOptions output_options(const model_parameters::Params & parameters);

/// Joints that are measured: those of the inputs and the passive ones.
std::vector<std::string> measured_joints(
  const constrained_dynamics::System & system, const model_parameters::Params & parameters);

/// A parameter with one number for each of `count` things, one for all, or none: then it is empty.
/// @param of what the things are called. @param may_be_zero else numbers are above 0.
/// @throw std::invalid_argument naming the parameter, what it has and what is allowed.
Eigen::VectorXd spread(
  const std::string & name, const std::vector<double> & values, Eigen::Index count,
  const std::string & of, bool may_be_zero);

/// Message and level of a diagnostic status, from the status of the last cycle.
void report_status(
  constrained_dynamics::Status last, bool is_active,
  diagnostic_msgs::msg::DiagnosticStatus & status);

/// Input, coordinate and speed of a joint.
using JointOfInput = std::array<int, 3>;

/// A message with the memory for the joints of the inputs, which `joints` gets.
/// @throw std::invalid_argument naming an input that is no joint.
sensor_msgs::msg::JointState make_joint_message(
  const constrained_dynamics::System & system, std::vector<JointOfInput> & joints);
/// Real-time safe: yes.
void write_joint_message(
  const rclcpp::Time & time, const std::vector<JointOfInput> & joints, const Eigen::VectorXd & q,
  const Eigen::VectorXd & u, const Eigen::VectorXd & effort,
  sensor_msgs::msg::JointState & message) noexcept;

/// Adds a key with its value to a diagnostic status.
template <typename Value>
void add_value(
  diagnostic_msgs::msg::DiagnosticStatus & status, const std::string & key, const Value & value)
{
  diagnostic_msgs::msg::KeyValue & entry = status.values.emplace_back();
  entry.key = key;
  if constexpr (std::is_convertible_v<Value, std::string>)
  {
    entry.value = value;
  }
  else
  {
    entry.value = std::to_string(value);
  }
}

}  // namespace constrained_dynamics_controllers
