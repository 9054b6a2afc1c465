// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <constrained_dynamics/model/system.hpp>
#include <constrained_dynamics/servo/force_certificate.hpp>
#include <constrained_dynamics/servo/momentum_observer.hpp>
#include <constrained_dynamics_msgs/msg/external_forces.hpp>
#include <constrained_dynamics_msgs/msg/force_observability.hpp>
#include <rclcpp/time.hpp>

/// @file
/// Messages about estimated forces. Those that `make_…` returns have all their memory and what
/// never changes; copies have that memory, too. `write_…` is real-time safe; without output of the
/// estimate (see has_output) it writes stamp, sequence and status alone.

namespace constrained_dynamics_ros
{

/// @param frames those of the observer.
constrained_dynamics_msgs::msg::ExternalForces make_external_forces_message(
  const constrained_dynamics::System & system, const std::vector<std::string> & frames,
  const std::string & world_frame);
void write_external_forces(
  const rclcpp::Time & stamp, std::uint64_t sequence, constrained_dynamics::Status status,
  const constrained_dynamics::MomentumObserver & observer,
  constrained_dynamics_msgs::msg::ExternalForces & message) noexcept;

constrained_dynamics_msgs::msg::ForceObservability make_observability_message(
  const constrained_dynamics::ForceCertificate & certificate, const std::string & world_frame);
void write_observability(
  const rclcpp::Time & stamp, std::uint64_t sequence, constrained_dynamics::Status status,
  const constrained_dynamics::ForceCertificate & certificate,
  constrained_dynamics_msgs::msg::ForceObservability & message) noexcept;

/// Writes force, then torque of a vector of 6.
template <typename Vector>
void write_wrench_vector(const Vector & values, geometry_msgs::msg::Wrench & message) noexcept
{
  message.force.x = values(0);
  message.force.y = values(1);
  message.force.z = values(2);
  message.torque.x = values(3);
  message.torque.y = values(4);
  message.torque.z = values(5);
}

}  // namespace constrained_dynamics_ros
