// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include <Eigen/Core>

#include <constrained_dynamics/servo/force_observer.hpp>

#include "constrained_dynamics_controllers/constraint_controller.hpp"
#include "constrained_dynamics_controllers/constraint_force_broadcaster_parameters.hpp"

namespace constrained_dynamics_controllers
{

/// Constraint forces of a robot that another controller drives, from its measured motion and the
/// efforts of its joints. See userdoc.rst.
/// Plugin: constrained_dynamics_controllers/ConstraintForceBroadcaster.
class ConstraintForceBroadcaster : public ConstraintController
{
public:
  controller_interface::InterfaceConfiguration command_interface_configuration() const override;
  controller_interface::return_type update_reference_from_subscribers(
    const rclcpp::Time & time, const rclcpp::Duration & period) override;
  controller_interface::return_type update_and_write_commands(
    const rclcpp::Time & time, const rclcpp::Duration & period) override;

protected:
  std::vector<hardware_interface::CommandInterface::SharedPtr> on_export_reference_interfaces_list()
    override;

private:
  void declare_parameters() override;
  void read_parameters() override;
  bool uses_servo() const override { return false; }
  bool measures_effort() const override { return parameters_.effort == "measured"; }
  void set_up() override;
  void start(const constrained_dynamics::State & state) override;
  void release() override;
  void diagnose(diagnostic_msgs::msg::DiagnosticStatus & status) override;
  /// Of the constraints at the state of the last cycle. Real-time safe: yes.
  constrained_dynamics::ConstraintViolation violation() const noexcept;

  std::shared_ptr<constraint_force_broadcaster::ParamListener> listener_;
  constraint_force_broadcaster::Params parameters_;
  std::unique_ptr<constrained_dynamics::ForceObserver> observer_;
  Eigen::VectorXd q_, u_;  // as measured
  std::atomic<int> status_{0};
  std::atomic<std::uint64_t> cycles_{0};
  std::atomic<std::uint64_t> failed_{0};
  std::atomic<int> violated_row_{-1};  // −1: none
};

}  // namespace constrained_dynamics_controllers
