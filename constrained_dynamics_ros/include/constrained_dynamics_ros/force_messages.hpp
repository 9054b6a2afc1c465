// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <cstdint>
#include <string>

#include <constrained_dynamics/dynamics/dynamics.hpp>
#include <constrained_dynamics_msgs/msg/constraint_forces.hpp>
#include <geometry_msgs/msg/wrench_stamped.hpp>
#include <rclcpp/time.hpp>

namespace constrained_dynamics_ros
{

/// Takes the memory of a message for all constraints and writes what never changes: names, types,
/// links, frames. Copies of it have that memory, too. Real-time safe: no.
constrained_dynamics_msgs::msg::ConstraintForces make_force_message(
  const constrained_dynamics::Dynamics & dynamics, const std::string & world_frame);

/// Writes the numbers of the last solve into a message of make_force_message; without output of
/// that solve (see has_output) only stamp, sequence, status and what is active are new.
/// Real-time safe: yes.
void write_forces(
  const rclcpp::Time & stamp, std::uint64_t sequence, constrained_dynamics::Status status,
  const constrained_dynamics::Dynamics & dynamics,
  const constrained_dynamics::Workspace & workspace,
  constrained_dynamics_msgs::msg::ConstraintForces & message) noexcept;

/// The wrench on body A of a constraint (of its first pair of bodies), for RViz' own display: about
/// the origin of header.frame_id and in its axes. That frame is frame A where it is a link of the
/// robot description, else the link that A is fixed to. Real-time safe: no.
/// @throw std::invalid_argument for a constraint that does not exist or acts on no bodies.
geometry_msgs::msg::WrenchStamped make_wrench_message(
  const constrained_dynamics::Dynamics & dynamics, int constraint,
  const std::string & world_frame = "world");
/// Writes the last solve into a message of make_wrench_message. Real-time safe: yes.
void write_wrench(
  const rclcpp::Time & stamp, const constrained_dynamics::Dynamics & dynamics,
  const constrained_dynamics::Workspace & workspace, int constraint,
  geometry_msgs::msg::WrenchStamped & message) noexcept;

/// A time as a message has it, without the exceptions of rclcpp. Real-time safe: yes.
builtin_interfaces::msg::Time to_message(const rclcpp::Time & stamp) noexcept;

}  // namespace constrained_dynamics_ros
