// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <Eigen/Core>

#include <constrained_dynamics/servo/servo_runtime.hpp>
#include <constrained_dynamics_msgs/msg/servo_references.hpp>
#include <rclcpp/time.hpp>
#include <realtime_tools/realtime_thread_safe_box.hpp>

namespace constrained_dynamics_controllers
{

/// References on their way from a topic into the cycle: checked outside of it, handed over without
/// allocations. What a message leaves out stays as it was.
class ReferenceInbox
{
public:
  /// @param timeout messages with stamps that are older, or lie farther ahead, are refused [s]; 0:
  /// none are. @param with_bounds whether values must be within ReferenceBounds.
  ReferenceInbox(
    std::shared_ptr<const constrained_dynamics::ServoLaw> law, std::string world_frame,
    double timeout, bool with_bounds);

  /// Takes a message. Not for the cycle.
  /// @return empty, or why it is refused: what is wrong, the value and what is allowed.
  std::string put(
    const constrained_dynamics_msgs::msg::ServoReferences & message, const rclcpp::Time & now);

  /// Forgets what was put and not yet taken. Real-time safe: yes, as below.
  void clear() noexcept;
  /// Gives what is new to the runtime.
  void give(constrained_dynamics::ServoRuntime & runtime) noexcept;

private:
  struct Task
  {
    std::uint64_t count = 0;  // messages so far
    constrained_dynamics::ServoReference reference;
    bool has_position = false;
    bool resumes = false;  // back to the trajectory
  };
  struct Content
  {
    std::uint64_t count = 0;
    std::vector<Task> tasks;
    std::vector<std::uint64_t> null_counts;  // of each input
    Eigen::VectorXd null_space;
  };
  void take(const Content & content, constrained_dynamics::ServoRuntime * runtime) noexcept;
  std::string check_stamp(
    const builtin_interfaces::msg::Time & stamp, const rclcpp::Time & now) const;

  std::shared_ptr<const constrained_dynamics::ServoLaw> law_;
  std::string world_frame_;
  double timeout_;
  std::vector<constrained_dynamics::ReferenceBounds> bounds_;  // of each task; empty: none
  realtime_tools::RealtimeThreadSafeBox<Content> box_;
  // Of the cycle:
  std::uint64_t seen_ = 0;
  std::vector<std::uint64_t> seen_tasks_;
  std::vector<std::uint64_t> seen_null_;
  std::vector<constrained_dynamics::ServoReference> next_;
};

}  // namespace constrained_dynamics_controllers
