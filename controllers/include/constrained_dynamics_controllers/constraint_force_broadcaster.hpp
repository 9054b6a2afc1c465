// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include <Eigen/Core>

#include <constrained_dynamics/dynamics/state_completion.hpp>
#include <constrained_dynamics/scenario/scenario.hpp>
#include <constrained_dynamics_ros/inverse_dynamics.hpp>
#include <controller_interface/chainable_controller_interface.hpp>
#include <sensor_msgs/msg/joint_state.hpp>

#include "constrained_dynamics_controllers/constraint_force_broadcaster_parameters.hpp"
#include "constrained_dynamics_controllers/constraint_outputs.hpp"
#include "constrained_dynamics_controllers/model_parameters.hpp"
#include "constrained_dynamics_controllers/state_mapping.hpp"

namespace constrained_dynamics_controllers
{

/// Constraint forces of a robot that another controller drives, from its measured motion and the
/// efforts of its joints. See userdoc.rst. Plugin: constrained_dynamics/ConstraintForceBroadcaster.
class ConstraintForceBroadcaster : public controller_interface::ChainableControllerInterface
{
public:
  controller_interface::CallbackReturn on_init() override;
  controller_interface::InterfaceConfiguration command_interface_configuration() const override;
  controller_interface::InterfaceConfiguration state_interface_configuration() const override;
  controller_interface::CallbackReturn on_configure(const rclcpp_lifecycle::State &) override;
  controller_interface::CallbackReturn on_activate(const rclcpp_lifecycle::State &) override;
  controller_interface::CallbackReturn on_deactivate(const rclcpp_lifecycle::State &) override;
  controller_interface::CallbackReturn on_cleanup(const rclcpp_lifecycle::State &) override;
  controller_interface::CallbackReturn on_error(const rclcpp_lifecycle::State &) override;

  controller_interface::return_type update_reference_from_subscribers(
    const rclcpp::Time & time, const rclcpp::Duration & period) override;
  controller_interface::return_type update_and_write_commands(
    const rclcpp::Time & time, const rclcpp::Duration & period) override;

protected:
  std::vector<hardware_interface::CommandInterface::SharedPtr> on_export_reference_interfaces_list()
    override;
  std::vector<hardware_interface::StateInterface::SharedPtr> on_export_state_interfaces_list()
    override;

private:
  using JointState = sensor_msgs::msg::JointState;

  void set_up();
  void start();
  void reset();
  /// Forces at the measured state, for the efforts.
  constrained_dynamics::Status solve(double period) noexcept;
  constrained_dynamics::Status find_efforts(double period) noexcept;
  void publish(const rclcpp::Time & time, constrained_dynamics::Status status) noexcept;
  void diagnose(diagnostic_msgs::msg::DiagnosticStatus & status) const;

  std::shared_ptr<model_parameters::ParamListener> model_listener_;
  std::shared_ptr<constraint_force_broadcaster::ParamListener> listener_;
  model_parameters::Params model_;
  constraint_force_broadcaster::Params parameters_;

  std::unique_ptr<const constrained_dynamics::Scenario> scenario_;
  std::unique_ptr<StateMapping> mapping_;
  std::unique_ptr<constrained_dynamics::Workspace> workspace_;
  std::unique_ptr<constrained_dynamics::StateCompletion> completion_;
  std::unique_ptr<constrained_dynamics_ros::InverseDynamics> inverse_dynamics_;
  std::shared_ptr<ConstraintOutputs> outputs_;
  std::unique_ptr<CyclicPublisher<JointState>> torques_;
  std::vector<std::array<int, 3>> joint_of_input_;  // input, coordinate, speed

  double time_ = 0.0;      // of the scenario [s]
  double period_ = 0.0;    // nominal [s]
  Eigen::VectorXd q_, u_;  // last complete state
  Eigen::VectorXd next_q_, next_u_;
  Eigen::VectorXd effort_;
  Eigen::VectorXd last_u_;
  Eigen::VectorXd acceleration_;
  bool has_last_ = false;

  std::atomic<bool> active_{false};
  mutable std::mutex callback_mutex_;  // never in the cycle
  std::atomic<int> status_{0};
  std::atomic<std::uint64_t> cycles_{0};
  std::atomic<std::uint64_t> failed_{0};
};

}  // namespace constrained_dynamics_controllers
