#pragma once

#include <string>
#include <vector>

#include <constrained_dynamics/dynamics.hpp>
#include <constrained_dynamics_msgs/msg/constraint_forces.hpp>
#include <geometry_msgs/msg/wrench_stamped.hpp>
#include <rclcpp/time.hpp>

namespace constrained_dynamics_ros
{

/// Takes the memory of a message for all constraints and writes what never changes: names, types,
/// links, frames. Real-time safe: no.
constrained_dynamics_msgs::msg::ConstraintForces make_force_message(
  const constrained_dynamics::Dynamics & dynamics, const std::string & world_frame);

/// Writes the numbers of the last solve into a message of make_force_message. Real-time safe: yes
/// (status names fit into the memory that was taken).
void write_forces(
  const rclcpp::Time & stamp, std::uint64_t sequence, constrained_dynamics::Status status,
  const constrained_dynamics::Dynamics & dynamics, const constrained_dynamics::Workspace & workspace,
  constrained_dynamics_msgs::msg::ConstraintForces & message) noexcept;

/// The wrench on body A of constraint i (its first pair), for RViz' own display. The message is
/// expressed in frame A's link only if RViz shows it there: header.frame_id is set once.
/// Real-time safe: write_wrench yes.
geometry_msgs::msg::WrenchStamped make_wrench_message(
  const constrained_dynamics::Dynamics & dynamics, int constraint);
void write_wrench(
  const rclcpp::Time & stamp, const constrained_dynamics::Dynamics & dynamics,
  const constrained_dynamics::Workspace & workspace, int constraint,
  geometry_msgs::msg::WrenchStamped & message) noexcept;

}  // namespace constrained_dynamics_ros
