// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <memory>
#include <vector>

#include <Eigen/Core>

#include <constrained_dynamics/servo/servo_runtime.hpp>
#include <constrained_dynamics_msgs/msg/servo_references.hpp>
#include <constrained_dynamics_msgs/msg/servo_state.hpp>

#include "constrained_dynamics_controllers/background_job.hpp"
#include "constrained_dynamics_controllers/constraint_controller.hpp"
#include "constrained_dynamics_controllers/controller_parameters.hpp"
#include "constrained_dynamics_controllers/drive_commands.hpp"
#include "constrained_dynamics_controllers/reference_inbox.hpp"
#include "constrained_dynamics_controllers/reference_interfaces.hpp"
#include "constrained_dynamics_controllers/servo_constraint_controller_parameters.hpp"
#include "constrained_dynamics_controllers/servo_health.hpp"

namespace constrained_dynamics_controllers
{

/// Torques that realise the servo-constraints of a scenario on a robot with passive constraints.
/// See userdoc.rst. Plugin: constrained_dynamics_controllers/ServoConstraintController.
class ServoConstraintController : public ConstraintController
{
public:
  /// Whether cycles command torques: not yet for some milliseconds after the activation, in which
  /// another thread analyses ranks and commands stay as they were.
  bool is_prepared() const
  {
    return preparation_ && preparation_->state() == BackgroundJob::State::kDone;
  }

  controller_interface::InterfaceConfiguration command_interface_configuration() const override;
  controller_interface::return_type update_reference_from_subscribers(
    const rclcpp::Time & time, const rclcpp::Duration & period) override;
  controller_interface::return_type update_and_write_commands(
    const rclcpp::Time & time, const rclcpp::Duration & period) override;

protected:
  std::vector<hardware_interface::CommandInterface::SharedPtr> on_export_reference_interfaces_list()
    override;

private:
  using References = constrained_dynamics_msgs::msg::ServoReferences;
  using ServoState = constrained_dynamics_msgs::msg::ServoState;

  void declare_parameters() override;
  void read_parameters() override;
  bool uses_servo() const override { return true; }
  bool measures_effort() const override { return servo_.measured_effort; }
  void set_up() override;
  void start(const constrained_dynamics::State & state) override;
  void stop() override;
  void release() override;
  void diagnose(diagnostic_msgs::msg::DiagnosticStatus & status) override;

  /// The runtime begins at a state, with the efforts that act, where they are measured.
  void begin(const constrained_dynamics::State & state);
  void bind_commands();
  /// Gives commands that are not finite yet a value: hardware may read them before the first cycle.
  void fill_commands();
  /// Tells the runtime what became of its last command.
  void read_granted() noexcept;
  void receive(const References & message);
  bool write_command() noexcept;
  /// Writes a command of one input; not for the cycle.
  void write_or_warn(std::size_t input, double value);
  void publish_cycle(
    const rclcpp::Time & time, const constrained_dynamics::ServoCycleReport & report,
    double compute_time) noexcept;

  std::shared_ptr<servo_constraint_controller::ParamListener> servo_listener_;
  servo_constraint_controller::Params servo_;

  std::unique_ptr<constrained_dynamics::ServoRuntime> runtime_;
  std::unique_ptr<BackgroundJob> preparation_;  // of the runtime
  std::unique_ptr<DriveCommands> drives_;
  std::unique_ptr<LiveGains> gains_;
  std::unique_ptr<ReferenceInbox> inbox_;
  std::unique_ptr<ReferenceInterfaces> reference_interfaces_of_tasks_;
  std::unique_ptr<constrained_dynamics_ros::TopicWriter<ServoState>> servo_state_;
  rclcpp::Subscription<References>::SharedPtr subscription_;
  std::vector<std::size_t> command_of_input_;  // among the assigned ones
  Eigen::VectorXd q_, u_;                      // as measured
  Eigen::VectorXd granted_;                    // of the last command
  Eigen::VectorXd rest_;                       // efforts that keep the position
  Eigen::VectorXd measured_;                   // efforts of the model
  bool has_written_ = false;                   // a command since the activation
  ServoHealth health_;
  struct Introspection
  {
    double mode = 0.0;
    double status = 0.0;
    double compute_time = 0.0;
    double condition = 1.0;
    double missed = 0.0;
    double time = 0.0;
    double violation = 0.0;
    double cut = 0.0;
    double sample_interval = 0.0;
  };
  Introspection introspection_;
};

}  // namespace constrained_dynamics_controllers
