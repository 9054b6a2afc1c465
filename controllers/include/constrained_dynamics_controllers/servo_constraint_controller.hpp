// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <Eigen/Core>

#include <constrained_dynamics/scenario/scenario.hpp>
#include <constrained_dynamics_msgs/msg/servo_references.hpp>
#include <constrained_dynamics_msgs/msg/servo_state.hpp>
#include <controller_interface/chainable_controller_interface.hpp>
#include <sensor_msgs/msg/joint_state.hpp>

#include "constrained_dynamics_controllers/constraint_outputs.hpp"
#include "constrained_dynamics_controllers/controller_parameters.hpp"
#include "constrained_dynamics_controllers/cyclic_publisher.hpp"
#include "constrained_dynamics_controllers/model_parameters.hpp"
#include "constrained_dynamics_controllers/reference_inbox.hpp"
#include "constrained_dynamics_controllers/reference_interfaces.hpp"
#include "constrained_dynamics_controllers/servo_constraint_controller_parameters.hpp"
#include "constrained_dynamics_controllers/servo_runtime.hpp"
#include "constrained_dynamics_controllers/state_mapping.hpp"

namespace constrained_dynamics_controllers
{

/// Torques that realise the servo-constraints of a scenario on a robot with passive constraints.
/// See userdoc.rst. Plugin: constrained_dynamics/ServoConstraintController.
class ServoConstraintController : public controller_interface::ChainableControllerInterface
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
  using References = constrained_dynamics_msgs::msg::ServoReferences;
  using ServoState = constrained_dynamics_msgs::msg::ServoState;

  void set_up();
  void reset();
  constrained_dynamics::InputLimits read_limits() const;
  RuntimeOptions runtime_options() const;
  void start();
  void receive(const References & message);
  void diagnose(diagnostic_msgs::msg::DiagnosticStatus & status) const;
  void publish(
    const rclcpp::Time & time, double period, const CycleReport & report,
    double compute_time) noexcept;
  bool write_command() noexcept;
  void bind_commands();

  std::shared_ptr<model_parameters::ParamListener> model_listener_;
  std::shared_ptr<servo_constraint_controller::ParamListener> servo_listener_;
  model_parameters::Params model_;
  servo_constraint_controller::Params servo_;

  std::unique_ptr<const constrained_dynamics::Scenario> scenario_;
  std::unique_ptr<StateMapping> mapping_;
  std::unique_ptr<ServoRuntime> runtime_;
  std::unique_ptr<LiveGains> gains_;
  std::unique_ptr<ReferenceInbox> inbox_;
  std::unique_ptr<ReferenceInterfaces> reference_interfaces_of_tasks_;
  std::shared_ptr<ConstraintOutputs> outputs_;
  std::unique_ptr<CyclicPublisher<JointState>> torques_;
  std::unique_ptr<CyclicPublisher<ServoState>> servo_state_;
  rclcpp::Subscription<References>::SharedPtr subscription_;
  std::vector<std::size_t> command_of_input_;       // among the assigned ones
  std::vector<std::array<int, 3>> joint_of_input_;  // input, coordinate, speed
  Eigen::VectorXd q_, u_, effort_;                  // as measured

  std::atomic<bool> active_{false};
  /// Callbacks of the executor and `reset` may come from different threads; never in the cycle.
  mutable std::mutex callback_mutex_;
  // What diagnostics and introspection see.
  struct Health
  {
    std::atomic<int> mode{static_cast<int>(Mode::kInactive)};
    std::atomic<int> status{0};
    std::atomic<int> cause{0};
    std::atomic<std::uint64_t> cycles{0};
    std::atomic<std::uint64_t> missed{0};
    std::atomic<std::uint64_t> fallback{0};
    std::atomic<std::uint64_t> singular{0};
    std::atomic<std::uint64_t> limited{0};
    std::atomic<std::uint64_t> inconsistent{0};
    std::atomic<std::uint64_t> unwritten{0};  // commands that an interface did not take
    std::atomic<std::uint64_t> refused{0};    // messages
    std::atomic<double> longest_cycle{0.0};   // [s]
  };
  Health health_;
  struct Introspection
  {
    double mode = 0.0;
    double status = 0.0;
    double compute_time = 0.0;
    double condition = 1.0;
    double missed = 0.0;
    double time = 0.0;
  };
  Introspection introspection_;
};

}  // namespace constrained_dynamics_controllers
