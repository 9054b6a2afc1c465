// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <Eigen/Core>

#include <constrained_dynamics/servo/force_certificate.hpp>
#include <constrained_dynamics/servo/force_observer.hpp>
#include <constrained_dynamics_msgs/msg/force_observability.hpp>

#include "constrained_dynamics_controllers/broadcaster.hpp"
#include "constrained_dynamics_controllers/constraint_force_broadcaster_parameters.hpp"
#include "constrained_dynamics_controllers/wrench_input.hpp"

namespace constrained_dynamics_controllers
{

/// Constraint forces of a robot that another controller drives, from its measured motion and the
/// efforts of its joints; and which of them its sensors can tell. See userdoc.rst.
/// Plugin: constrained_dynamics_controllers/ConstraintForceBroadcaster.
class ConstraintForceBroadcaster : public Broadcaster
{
public:
  controller_interface::return_type update_and_write_commands(
    const rclcpp::Time & time, const rclcpp::Duration & period) override;

private:
  void declare_parameters() override;
  void read_parameters() override;
  bool measures_effort() const override { return parameters_.effort == "measured"; }
  void set_up() override;
  void start(const constrained_dynamics::State & state) override;
  void release() override;
  void diagnose(diagnostic_msgs::msg::DiagnosticStatus & status) override;
  /// Of the constraints at the state of the last cycle. Real-time safe: yes.
  constrained_dynamics::ConstraintViolation violation() const noexcept;

  std::vector<std::string> more_state_interfaces() const override;
  void set_up_sensor();
  void set_up_certificate();
  /// Reads the sensor and publishes what can be known. Real-time safe: yes.
  void certify(const rclcpp::Time & time, constrained_dynamics::Status solved) noexcept;

  using Observability = constrained_dynamics_msgs::msg::ForceObservability;

  std::shared_ptr<constraint_force_broadcaster::ParamListener> listener_;
  constraint_force_broadcaster::Params parameters_;
  std::unique_ptr<constrained_dynamics::ForceObserver> observer_;
  std::shared_ptr<WrenchInput> sensor_;                                  // null: none
  std::unique_ptr<constrained_dynamics::ForceCertificate> certificate_;  // null: none
  std::unique_ptr<constrained_dynamics_ros::TopicWriter<Observability>> observability_;
  Eigen::VectorXd no_readings_;
  Eigen::VectorXd q_, u_;  // as measured
  std::atomic<int> status_{0};
  std::atomic<std::uint64_t> cycles_{0};
  std::atomic<std::uint64_t> failed_{0};
  std::atomic<int> violated_row_{-1};  // −1: none
};

}  // namespace constrained_dynamics_controllers
