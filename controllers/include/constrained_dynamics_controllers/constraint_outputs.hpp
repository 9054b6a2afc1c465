// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <constrained_dynamics/dynamics/dynamics.hpp>
#include <constrained_dynamics_msgs/srv/set_constraint_active.hpp>
#include <constrained_dynamics_ros/constraint_publisher.hpp>
#include <hardware_interface/handle.hpp>
#include <rclcpp_lifecycle/lifecycle_node.hpp>

namespace constrained_dynamics_controllers
{

/// A state interface of a controller, 0 at first.
hardware_interface::StateInterface::SharedPtr make_state_interface(
  const std::string & prefix, const std::string & name);

/// Names of the interfaces of a wrench.
inline constexpr std::array<const char *, 6> kWrenchParts = {"force.x",  "force.y",  "force.z",
                                                             "torque.x", "torque.y", "torque.z"};

using OutputOptions = constrained_dynamics_ros::ConstraintPublisher::Options;

/// What all controllers tell about the constraints of their robot: the topics of
/// constrained_dynamics_ros::ConstraintPublisher and state interfaces; and the service
/// ~/set_constraint_active.
class ConstraintOutputs : public std::enable_shared_from_this<ConstraintOutputs>
{
public:
  /// Shared, because callbacks of the executor may still run while the owner lets go of it.
  /// @throw std::invalid_argument for a style out of range.
  static std::shared_ptr<ConstraintOutputs> create(
    const rclcpp_lifecycle::LifecycleNode::SharedPtr & node,
    std::shared_ptr<const constrained_dynamics::Dynamics> dynamics, const OutputOptions & options);

  /// <controller>/<constraint>/force.x … torque.z (on body A, in the world) and
  /// <controller>/<constraint>/multiplier.<row>. 0 until the first solve.
  std::vector<hardware_interface::StateInterface::SharedPtr> make_state_interfaces(
    const std::string & controller);

  /// Messages that could not be sent.
  std::uint64_t lost_count() const { return publisher_->lost_count(); }

  // Real-time safe:

  /// Makes the switches that the service was asked for. @param switched is called with constraint
  /// and state.
  template <typename Switched>
  void apply_switches(
    constrained_dynamics::Workspace & workspace, const Switched & switched) noexcept
  {
    for (std::size_t i = 0; i < requests_.size(); ++i)
    {
      const int request = requests_[i].exchange(kNone, std::memory_order_acq_rel);
      if (request != kNone)
      {
        workspace.set_active(static_cast<int>(i), request == kOn);
        switched(static_cast<int>(i), request == kOn);
      }
    }
  }
  /// Messages that are due, and the state interfaces.
  void write(
    const rclcpp::Time & time, double period, constrained_dynamics::Status status,
    const constrained_dynamics::Workspace & workspace) noexcept;

private:
  static constexpr int kNone = -1;
  static constexpr int kOff = 0;
  static constexpr int kOn = 1;
  using SetActive = constrained_dynamics_msgs::srv::SetConstraintActive;

  ConstraintOutputs(
    const rclcpp_lifecycle::LifecycleNode::SharedPtr & node,
    std::shared_ptr<const constrained_dynamics::Dynamics> dynamics, const OutputOptions & options);
  void listen(rclcpp_lifecycle::LifecycleNode & node);

  void set_active(const SetActive::Request & request, SetActive::Response & response);
  void write_state_interfaces(const constrained_dynamics::Workspace & workspace) noexcept;

  std::shared_ptr<const constrained_dynamics::Dynamics> dynamics_;
  std::unique_ptr<constrained_dynamics_ros::ConstraintPublisher> publisher_;
  std::vector<hardware_interface::StateInterface::SharedPtr> interfaces_;
  std::vector<std::atomic<int>> requests_;
  rclcpp::Service<SetActive>::SharedPtr service_;
};

}  // namespace constrained_dynamics_controllers
