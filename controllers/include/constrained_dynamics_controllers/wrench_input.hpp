// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include <constrained_dynamics/servo/wrench_compensation.hpp>
#include <constrained_dynamics_ros/topic_writer.hpp>
#include <geometry_msgs/msg/wrench_stamped.hpp>
#include <rclcpp_lifecycle/lifecycle_node.hpp>
#include <semantic_components/force_torque_sensor.hpp>
#include <std_srvs/srv/trigger.hpp>

namespace constrained_dynamics_controllers
{

/// A force/torque sensor, without the weight, the inertia and the offset of its tool. Publishes
/// ~/sensor_wrench in axes of the sensor's frame and has the service ~/tare.
class WrenchInput : public std::enable_shared_from_this<WrenchInput>
{
public:
  struct Options
  {
    std::string name;                    ///< of the sensor: <name>/force.x … <name>/torque.z
    constrained_dynamics::Payload tool;  ///< beyond the sensor; its frame is that of the sensor
    int tare_cycles = 1;                 ///< readings of which the mean is the offset, ≥ 1
    double publish_rate = 0.0;           ///< [Hz]; 0: every cycle
  };

  /// Shared, because callbacks of the executor may still run while the owner lets go of it.
  /// @param system must outlive this object.
  /// @throw std::invalid_argument as WrenchCompensation.
  static std::shared_ptr<WrenchInput> create(
    rclcpp_lifecycle::LifecycleNode & node, const constrained_dynamics::System & system,
    const Options & options);

  std::vector<std::string> interface_names() { return sensor_.get_state_interface_names(); }
  /// @throw std::invalid_argument if an interface was not assigned.
  void bind(std::vector<hardware_interface::LoanedStateInterface> & interfaces);

  // Real-time safe:

  /// Reads and compensates at the state of `data`, and publishes what is due.
  /// @param period of the cycle [s]. @param acceleration u̇ (n).
  constrained_dynamics::Status update(
    const rclcpp::Time & time, double period, const constrained_dynamics::SystemData & data,
    const Eigen::VectorXd & acceleration) noexcept;
  /// The external wrench on the tool, in axes of the sensor's frame; NaN: none.
  const Eigen::VectorXd & wrench() const { return wrench_; }

  /// What diagnostics say of the offset.
  const char * tare_state() const;

private:
  using Trigger = std_srvs::srv::Trigger;
  enum class Tare
  {
    kNever,
    kAsked,
    kRunning,
    kDone,
    kFailed,
  };

  WrenchInput(
    rclcpp_lifecycle::LifecycleNode & node, const constrained_dynamics::System & system,
    const Options & options);
  void listen(rclcpp_lifecycle::LifecycleNode & node);
  void read() noexcept;
  void tare(
    const constrained_dynamics::SystemData & data, const Eigen::VectorXd & acceleration) noexcept;

  semantic_components::ForceTorqueSensor sensor_;
  constrained_dynamics::WrenchCompensation compensation_;
  int tare_cycles_;
  Eigen::VectorXd reading_;  // (6)
  Eigen::VectorXd wrench_;   // (6)
  Eigen::VectorXd sum_;      // of readings while it is tared (6)
  int summed_ = 0;
  std::atomic<Tare> tare_{Tare::kNever};
  std::unique_ptr<constrained_dynamics_ros::TopicWriter<geometry_msgs::msg::WrenchStamped>>
    message_;
  rclcpp::Service<Trigger>::SharedPtr service_;
};

}  // namespace constrained_dynamics_controllers
