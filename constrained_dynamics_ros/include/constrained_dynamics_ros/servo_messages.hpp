// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <Eigen/Core>

#include <constrained_dynamics/servo/servo_law.hpp>
#include <constrained_dynamics_msgs/msg/servo_references.hpp>
#include <constrained_dynamics_msgs/msg/servo_state.hpp>
#include <rclcpp/time.hpp>

namespace constrained_dynamics_ros
{

/// Memory and names of a message about a law. Copies of it have that memory, too. Real-time safe:
/// no.
constrained_dynamics_msgs::msg::ServoState make_servo_message(
  const constrained_dynamics::ServoLaw & law);

/// What a controller knows beside the law's own result.
struct ServoCycle
{
  std::uint64_t sequence = 0;
  const char * mode = "follow";  ///< at most 24 characters
  constrained_dynamics::Status status = constrained_dynamics::Status::kOk;
  double compute_time = 0.0;  ///< [s]
};

/// Writes the numbers of the last evaluation; without output of it (see has_output) only the
/// header, the cycle and `commanded` (l) are new. Real-time safe: yes.
void write_servo(
  const rclcpp::Time & stamp, const ServoCycle & cycle, const constrained_dynamics::ServoLaw & law,
  const constrained_dynamics::ServoWorkspace & workspace, const Eigen::VectorXd & commanded,
  constrained_dynamics_msgs::msg::ServoState & message) noexcept;

/// Checks a message of references against a law: names, sizes, finite values, unit quaternions
/// (within 1e-3), frame.
/// @return empty if it fits, else what is wrong (name, value, what is allowed). Not for the cycle.
std::string check_references(
  const constrained_dynamics_msgs::msg::ServoReferences & message,
  const constrained_dynamics::ServoLaw & law, const std::string & world_frame);

}  // namespace constrained_dynamics_ros
