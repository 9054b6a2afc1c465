// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <Eigen/Core>

#include <constrained_dynamics/dynamics/violation.hpp>
#include <constrained_dynamics/scenario/scenario.hpp>
#include <constrained_dynamics_ros/topic_writer.hpp>
#include <controller_interface/chainable_controller_interface.hpp>
#include <diagnostic_msgs/msg/diagnostic_status.hpp>
#include <diagnostic_updater/diagnostic_updater.hpp>
#include <sensor_msgs/msg/joint_state.hpp>

#include "constrained_dynamics_controllers/constraint_outputs.hpp"
#include "constrained_dynamics_controllers/model_parameters.hpp"
#include "constrained_dynamics_controllers/model_setup.hpp"
#include "constrained_dynamics_controllers/state_mapping.hpp"

namespace constrained_dynamics_controllers
{

/// What the controllers of this package share: a scenario from files and parameters, the measured
/// state, the outputs about constraints and torques, and a lifecycle whose failures are logged.
/// A controller derives from it and says what it does at each step.
class ConstraintController : public controller_interface::ChainableControllerInterface
{
public:
  controller_interface::CallbackReturn on_init() final;
  controller_interface::CallbackReturn on_configure(const rclcpp_lifecycle::State &) final;
  controller_interface::CallbackReturn on_activate(const rclcpp_lifecycle::State &) final;
  controller_interface::CallbackReturn on_deactivate(const rclcpp_lifecycle::State &) final;
  controller_interface::CallbackReturn on_cleanup(const rclcpp_lifecycle::State &) final;
  controller_interface::CallbackReturn on_error(const rclcpp_lifecycle::State &) final;
  controller_interface::InterfaceConfiguration state_interface_configuration() const final;

protected:
  // Steps of a controller. All but `stop`, `release` and `diagnose` may throw std::exception.

  /// Declares and reads its own parameters.
  virtual void declare_parameters() = 0;
  virtual void read_parameters() = 0;
  /// Whether it needs the servo-constraints of the scenario, and whether it reads efforts.
  virtual bool uses_servo() const = 0;
  virtual bool measures_effort() const = 0;
  /// Whether it has nothing to do on a robot without constraints.
  virtual bool needs_constraints() const { return !uses_servo(); }
  /// State interfaces that it reads besides those of joints.
  virtual std::vector<std::string> more_state_interfaces() const { return {}; }
  /// State interfaces that it exports besides those of `outputs()`.
  virtual std::vector<hardware_interface::StateInterface::SharedPtr> make_state_interfaces()
  {
    return {};
  }
  /// Builds what it needs; scenario, mapping and outputs are there.
  virtual void set_up() = 0;
  /// Begins at a measured state; `effort()` has what acts.
  virtual void start(const constrained_dynamics::State & state) = 0;
  virtual void stop() {}
  /// Lets go of what `set_up` made.
  virtual void release() = 0;
  /// Called once a second, not from the cycle.
  virtual void diagnose(diagnostic_msgs::msg::DiagnosticStatus & status) = 0;

  std::vector<hardware_interface::StateInterface::SharedPtr> on_export_state_interfaces_list()
    final;

  // For the steps and the cycle.

  const model_parameters::Params & model() const { return model_; }
  const constrained_dynamics::Scenario & scenario() const { return *scenario_; }
  /// Null: none, efforts are those of the model.
  const constrained_dynamics::RobotProfile * profile() const { return scenario_->profile(); }
  bool has_scenario() const { return scenario_ != nullptr; }
  const StateMapping & mapping() const { return *mapping_; }
  ConstraintOutputs & outputs() { return *outputs_; }
  bool is_running() const { return active_; }
  /// Nominal period of the cycle [s].
  double period() const { return period_; }
  /// The measured state violates the constraints: the model is not where the robot is. Refuses, or
  /// logs. Not for the cycle.
  void tell_violation(
    const constrained_dynamics::ConstraintViolation & violation, bool refuses) const;
  /// Efforts as last read (l), with the terms that the profile says.
  const Eigen::VectorXd & effort() const { return effort_; }
  /// Reads measured values into q, u and `effort()`. Real-time safe: yes.
  void read_state(Eigen::VectorXd & q, Eigen::VectorXd & u) noexcept
  {
    mapping_->read(state_interfaces_, q, u, effort_);
  }
  /// Publishes forces, and torques where there is a solution or `always`. Real-time safe: yes.
  void publish(
    const rclcpp::Time & time, constrained_dynamics::Status status,
    const constrained_dynamics::Workspace & workspace, const Eigen::VectorXd & q,
    const Eigen::VectorXd & u, const Eigen::VectorXd & torques, bool always) noexcept;
  /// Callbacks of the executor and `release` may come from different threads; never in the cycle.
  std::mutex & callback_mutex() const { return callback_mutex_; }

private:
  using JointState = sensor_msgs::msg::JointState;

  void build();
  /// What it needs of the robot profile is there.
  void check_profile() const;
  /// Names of parameters that nothing reads: probably misspelt ones are refused.
  void check_parameter_names();
  void begin();
  void reset();
  /// Calls `step`; what it throws is logged, and `failure` is the answer.
  controller_interface::CallbackReturn guarded(
    const std::function<void()> & step, controller_interface::CallbackReturn failure);

  /// Lives as long as the node, because its timer may run in any thread of an executor.
  std::unique_ptr<diagnostic_updater::Updater> updater_;
  std::shared_ptr<model_parameters::ParamListener> model_listener_;
  model_parameters::Params model_;
  double period_ = 0.0;
  std::unique_ptr<const constrained_dynamics::Scenario> scenario_;
  std::unique_ptr<StateMapping> mapping_;
  std::shared_ptr<ConstraintOutputs> outputs_;
  std::unique_ptr<constrained_dynamics_ros::TopicWriter<JointState>> torques_;
  std::vector<JointOfInput> joint_of_input_;
  Eigen::VectorXd effort_;
  std::atomic<bool> active_{false};
  mutable std::mutex callback_mutex_;
};

}  // namespace constrained_dynamics_controllers
