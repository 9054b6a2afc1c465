// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics_controllers/servo_constraint_controller.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <string>

#include <constrained_dynamics_ros/servo_messages.hpp>
#include <hardware_interface/types/hardware_interface_type_values.hpp>
#include <pluginlib/class_list_macros.hpp>

#include "constrained_dynamics_controllers/realtime_topics.hpp"
#include "constrained_dynamics_controllers/servo_parameters.hpp"

namespace constrained_dynamics_controllers
{

using constrained_dynamics::ServoMode;
using constrained_dynamics::Status;
using controller_interface::InterfaceConfiguration;
using controller_interface::return_type;

// ---- lifecycle ---------------------------------------------------------------------------------

void ServoConstraintController::declare_parameters()
{
  servo_listener_ = std::make_shared<servo_constraint_controller::ParamListener>(get_node());
  REGISTER_ROS2_CONTROL_INTROSPECTION("mode", &introspection_.mode);
  REGISTER_ROS2_CONTROL_INTROSPECTION("status", &introspection_.status);
  REGISTER_ROS2_CONTROL_INTROSPECTION("compute_time", &introspection_.compute_time);
  REGISTER_ROS2_CONTROL_INTROSPECTION("condition", &introspection_.condition);
  REGISTER_ROS2_CONTROL_INTROSPECTION("missed_cycles", &introspection_.missed);
  REGISTER_ROS2_CONTROL_INTROSPECTION("time", &introspection_.time);
}

void ServoConstraintController::read_parameters() { servo_ = servo_listener_->get_params(); }

void ServoConstraintController::set_up()
{
  const auto node = get_node();
  const std::shared_ptr<const constrained_dynamics::ServoLaw> law = scenario().servo_law();
  if (!law)
  {
    throw std::invalid_argument(
      "there are no servo-constraints; allowed: at least one, in the section servo of the "
      "scenario or as parameters servo.<name>.<key>");
  }
  runtime_ = std::make_unique<constrained_dynamics::ServoRuntime>(
    *law, *scenario().servo_drive(),
    command_limits(servo_, scenario().system(), get_hard_joint_limits()),
    mapping().measured_coordinates(), mapping().measured_speeds(),
    runtime_options(servo_, period()));
  scenario().switch_constraints(runtime_->servo().dynamics());
  for (int i = 0; i < law->passive().constraints().size(); ++i)
  {
    runtime_->enable_forces_of(i, scenario().is_active(i));
  }
  q_ = scenario().initial().q;
  u_ = scenario().initial().u;
  gains_ = std::make_unique<LiveGains>(node, runtime_->law());
  inbox_ = std::make_unique<ReferenceInbox>(
    runtime_->shared_law(), model().world_frame, servo_.reference_timeout);
  servo_state_ = make_realtime_writer(
    *node, "~/servo_state", constrained_dynamics_ros::make_servo_message(runtime_->law()),
    model().publish_rate);
  subscription_ = node->create_subscription<References>(
    "~/references", rclcpp::SystemDefaultsQoS(),
    [this](const References::ConstSharedPtr message) { receive(*message); });
}

void ServoConstraintController::release()
{
  subscription_.reset();
  servo_state_.reset();
  reference_interfaces_of_tasks_.reset();
  inbox_.reset();
  gains_.reset();
  runtime_.reset();
}

void ServoConstraintController::start(const constrained_dynamics::State & state)
{
  bind_commands();
  runtime_->start(state, mapping().has_effort() ? &effort() : nullptr);
  inbox_->clear();
  if (reference_interfaces_of_tasks_)
  {
    reference_interfaces_of_tasks_->clear();
  }
}

void ServoConstraintController::bind_commands()
{
  command_of_input_.clear();
  for (const std::string & name : command_interface_configuration().names)
  {
    const auto found = std::find_if(
      command_interfaces_.begin(), command_interfaces_.end(),
      [&](const auto & interface) { return interface.get_name() == name; });
    if (found == command_interfaces_.end())
    {
      throw std::invalid_argument("command interface '" + name + "' was not assigned");
    }
    command_of_input_.push_back(static_cast<std::size_t>(found - command_interfaces_.begin()));
  }
}

void ServoConstraintController::stop()
{
  health_.set_inactive();
  for (auto & interface : command_interfaces_)
  {
    if (servo_.deactivation == "zero" && !interface.set_value(0.0))
    {
      RCLCPP_WARN(
        get_node()->get_logger(), "command interface '%s' did not take 0",
        interface.get_name().c_str());
    }
  }
}

// ---- interfaces --------------------------------------------------------------------------------

InterfaceConfiguration ServoConstraintController::command_interface_configuration() const
{
  InterfaceConfiguration configuration;
  configuration.type = controller_interface::interface_configuration_type::INDIVIDUAL;
  if (has_scenario())
  {
    for (const std::string & name : scenario().system().input_names())
    {
      configuration.names.push_back(name + "/" + hardware_interface::HW_IF_EFFORT);
    }
  }
  return configuration;
}

std::vector<hardware_interface::CommandInterface::SharedPtr>
ServoConstraintController::on_export_reference_interfaces_list()
{
  reference_interfaces_of_tasks_ = std::make_unique<ReferenceInterfaces>(
    runtime_->law(), get_node()->get_name(), servo_.velocity_references);
  return reference_interfaces_of_tasks_->interfaces();
}

void ServoConstraintController::receive(const References & message)
{
  const std::lock_guard<std::mutex> lock(callback_mutex());
  const std::string what = !is_running() ? "the controller is not active"
                           : is_in_chained_mode()
                             ? "the controller is in chained mode and follows its interfaces"
                             : inbox_->put(message, get_node()->now());
  if (!what.empty())
  {
    health_.count_refused();
    RCLCPP_WARN_THROTTLE(
      get_node()->get_logger(), *get_node()->get_clock(), 1000, "references are refused: %s",
      what.c_str());
  }
}

// ---- cycle -------------------------------------------------------------------------------------

return_type ServoConstraintController::update_reference_from_subscribers(
  const rclcpp::Time &, const rclcpp::Duration &)
{
  if (is_running())
  {
    inbox_->give(*runtime_);
  }
  return return_type::OK;
}

return_type ServoConstraintController::update_and_write_commands(
  const rclcpp::Time & time, const rclcpp::Duration & period)
{
  if (!is_running())
  {
    return return_type::OK;
  }
  const auto begin = std::chrono::steady_clock::now();
  if (is_in_chained_mode() && reference_interfaces_of_tasks_)
  {
    reference_interfaces_of_tasks_->give(*runtime_);
  }
  gains_->apply(runtime_->servo());
  outputs().apply_switches(
    runtime_->servo().dynamics(),
    [this](int constraint, bool active) { runtime_->enable_forces_of(constraint, active); });
  read_state(q_, u_);
  const double elapsed = 1e-9 * static_cast<double>(period.nanoseconds());
  const constrained_dynamics::ServoCycleReport report = runtime_->step(elapsed, q_, u_);
  if (!write_command())
  {
    health_.count_unwritten();
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  publish_cycle(time, report, took.count());
  return report.failed ? return_type::ERROR : return_type::OK;
}

bool ServoConstraintController::write_command() noexcept
{
  bool written = true;
  const Eigen::VectorXd & command = runtime_->command();
  for (Eigen::Index i = 0; i < command.size(); ++i)
  {
    const std::size_t interface = command_of_input_[static_cast<std::size_t>(i)];
    written = command_interfaces_[interface].set_value(command(i)) && written;
  }
  return written;
}

void ServoConstraintController::publish_cycle(
  const rclcpp::Time & time, const constrained_dynamics::ServoCycleReport & report,
  double compute_time) noexcept
{
  const constrained_dynamics::ServoCycleCounts & counts = runtime_->counts();
  const Status status =
    runtime_->is_solved() || !has_output(report.status) ? report.status : Status::kNonFiniteInput;
  publish(
    time, status, runtime_->servo().dynamics(), runtime_->q(), runtime_->u(), runtime_->command(),
    true);
  if (servo_state_->is_due(period()))
  {
    constrained_dynamics_ros::write_servo(
      time, {counts.cycles, to_string(report.mode), status, compute_time}, runtime_->law(),
      runtime_->servo(), runtime_->command(), servo_state_->message());
    servo_state_->send();
  }
  health_.set(report, counts, compute_time);
  introspection_.mode = static_cast<double>(report.mode);
  introspection_.status = static_cast<double>(report.status);
  introspection_.compute_time = compute_time;
  introspection_.condition = runtime_->servo().result().condition;
  introspection_.missed = static_cast<double>(counts.missed);
  introspection_.time = runtime_->time();
}

void ServoConstraintController::diagnose(diagnostic_msgs::msg::DiagnosticStatus & status) const
{
  if (health_.mode() == ServoMode::kFallback)
  {
    RCLCPP_WARN(
      get_node()->get_logger(), "fallback '%s', because of: %s (status %s)",
      servo_.fallback.c_str(), to_string(health_.last_miss()),
      constrained_dynamics::to_string(health_.status()));
  }
  health_.report(status);
  add_value(
    status, "own messages lost", lost_torques() + (servo_state_ ? servo_state_->lost_count() : 0));
}

}  // namespace constrained_dynamics_controllers

PLUGINLIB_EXPORT_CLASS(
  constrained_dynamics_controllers::ServoConstraintController,
  controller_interface::ChainableControllerInterface)
