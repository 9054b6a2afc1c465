// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <Eigen/Core>

#include <constrained_dynamics/servo/given_reference.hpp>
#include <constrained_dynamics/servo/servo_runtime.hpp>
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
  double violation = 0.0;     ///< ConstraintViolation::ratio
  /// What the drives receive (l); null: that is left alone.
  const Eigen::VectorXd * drives = nullptr;
  /// Knows what tasks follow, and what was requested and granted; null: that is left alone.
  const constrained_dynamics::ServoRuntime * runtime = nullptr;
};

/// Writes the numbers of the last evaluation; without output of it (see has_output) only the
/// header, the cycle and `commanded` (l) are new. Real-time safe: yes.
void write_servo(
  const rclcpp::Time & stamp, const ServoCycle & cycle, const constrained_dynamics::ServoLaw & law,
  const constrained_dynamics::ServoWorkspace & workspace, const Eigen::VectorXd & commanded,
  constrained_dynamics_msgs::msg::ServoState & message) noexcept;

/// The reference of one task out of a message.
struct ReadReference
{
  int task = 0;
  constrained_dynamics::ServoReference reference;
  bool has_position = false;  ///< else values stay as they are
  bool resumes = false;       ///< nothing is given: back to the trajectory
};

/// Reads a message of references for a law; see GivenReference for values by row and by pose.
/// @param bounds of each task; empty: none. @param out gets the references.
/// @return empty if it fits, else what is wrong (name, value, what is allowed). Not for the cycle.
std::string read_references(
  const constrained_dynamics_msgs::msg::ServoReferences & message,
  const constrained_dynamics::ServoLaw & law,
  const std::vector<constrained_dynamics::ReferenceBounds> & bounds,
  const std::string & world_frame, std::vector<ReadReference> & out);

}  // namespace constrained_dynamics_ros
