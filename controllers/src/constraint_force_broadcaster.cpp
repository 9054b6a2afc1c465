// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics_controllers/constraint_force_broadcaster.hpp"

#include <cmath>
#include <exception>
#include <stdexcept>

#include <constrained_dynamics_ros/force_messages.hpp>
#include <pluginlib/class_list_macros.hpp>

#include "constrained_dynamics_controllers/controller_parameters.hpp"
#include "constrained_dynamics_controllers/model_setup.hpp"

namespace constrained_dynamics_controllers
{

using constrained_dynamics::Status;
using constrained_dynamics::System;
using controller_interface::CallbackReturn;
using controller_interface::InterfaceConfiguration;
using controller_interface::return_type;

CallbackReturn ConstraintForceBroadcaster::on_init()
{
  try
  {
    model_listener_ = std::make_shared<model_parameters::ParamListener>(get_node());
    listener_ = std::make_shared<constraint_force_broadcaster::ParamListener>(get_node());
    declare_scenario_parameters(*get_node());
  }
  catch (const std::exception & error)
  {
    RCLCPP_ERROR(get_node()->get_logger(), "%s", error.what());
    return CallbackReturn::ERROR;
  }
  return CallbackReturn::SUCCESS;
}

CallbackReturn ConstraintForceBroadcaster::on_configure(const rclcpp_lifecycle::State &)
{
  try
  {
    reset();
    set_up();
  }
  catch (const std::exception & error)
  {
    RCLCPP_ERROR(get_node()->get_logger(), "%s", error.what());
    reset();
    return CallbackReturn::FAILURE;
  }
  return CallbackReturn::SUCCESS;
}

void ConstraintForceBroadcaster::set_up()
{
  const auto node = get_node();
  model_ = model_listener_->get_params();
  parameters_ = listener_->get_params();
  if (get_update_rate() == 0)
  {
    throw std::invalid_argument("parameter 'update_rate' is 0; allowed: above 0");
  }
  period_ = 1.0 / get_update_rate();
  scenario_ = std::make_unique<const constrained_dynamics::Scenario>(load_controller_scenario(
    *node, model_.scenario, get_robot_description(), model_.joints, false));
  const System & system = scenario_->system();
  const bool measured = parameters_.effort == "measured";
  mapping_ = std::make_unique<StateMapping>(system, measured_joints(system, model_), measured);
  workspace_ = std::make_unique<constrained_dynamics::Workspace>(
    constrained_dynamics::Workspace::unanalysed(*scenario_->dynamics()));  // analysed by `start`
  scenario_->switch_constraints(*workspace_);
  completion_ = std::make_unique<constrained_dynamics::StateCompletion>(
    scenario_->dynamics(), mapping_->measured_coordinates(), mapping_->measured_speeds());
  inverse_dynamics_ =
    std::make_unique<constrained_dynamics_ros::InverseDynamics>(scenario_->dynamics());
  q_ = next_q_ = scenario_->initial().q;
  u_ = next_u_ = last_u_ = scenario_->initial().u;
  acceleration_.setZero(system.speed_count());
  effort_.setZero(system.input_count());
  outputs_ = ConstraintOutputs::create(
    node, scenario_->dynamics(), output_options(model_),
    [this](diagnostic_msgs::msg::DiagnosticStatus & status) { diagnose(status); });
  torques_ = std::make_unique<CyclicPublisher<JointState>>(
    *node, "~/torques", make_joint_message(system, joint_of_input_), model_.publish_rate);
}

void ConstraintForceBroadcaster::reset()
{
  active_ = false;
  const std::lock_guard<std::mutex> lock(callback_mutex_);
  torques_.reset();
  outputs_.reset();
  inverse_dynamics_.reset();
  completion_.reset();
  workspace_.reset();
  mapping_.reset();
  scenario_.reset();
}

CallbackReturn ConstraintForceBroadcaster::on_activate(const rclcpp_lifecycle::State &)
{
  try
  {
    start();
  }
  catch (const std::exception & error)
  {
    RCLCPP_ERROR(get_node()->get_logger(), "%s", error.what());
    return CallbackReturn::FAILURE;
  }
  active_ = true;
  return CallbackReturn::SUCCESS;
}

void ConstraintForceBroadcaster::start()
{
  mapping_->bind(state_interfaces_);
  const std::string bad = mapping_->first_not_finite(state_interfaces_);
  if (!bad.empty())
  {
    throw std::invalid_argument(
      "state interface '" + bad + "' has no finite value; allowed: finite numbers");
  }
  constrained_dynamics::State state = scenario_->initial();
  mapping_->read(state_interfaces_, state.q, state.u, effort_);
  scenario_->system().normalise(state.q);
  if (completion_->is_needed())
  {
    completion_->start(state, *workspace_);
  }
  (void)workspace_->reset(state);
  time_ = state.time;
  q_ = state.q;
  u_ = state.u;
  acceleration_.setZero();
  has_last_ = false;
}

CallbackReturn ConstraintForceBroadcaster::on_deactivate(const rclcpp_lifecycle::State &)
{
  active_ = false;
  return CallbackReturn::SUCCESS;
}

CallbackReturn ConstraintForceBroadcaster::on_cleanup(const rclcpp_lifecycle::State &)
{
  reset();
  return CallbackReturn::SUCCESS;
}

CallbackReturn ConstraintForceBroadcaster::on_error(const rclcpp_lifecycle::State &)
{
  reset();
  return CallbackReturn::SUCCESS;
}

InterfaceConfiguration ConstraintForceBroadcaster::command_interface_configuration() const
{
  return {controller_interface::interface_configuration_type::NONE, {}};
}

InterfaceConfiguration ConstraintForceBroadcaster::state_interface_configuration() const
{
  InterfaceConfiguration configuration;
  configuration.type = controller_interface::interface_configuration_type::INDIVIDUAL;
  if (mapping_)
  {
    configuration.names = mapping_->interface_names();
  }
  return configuration;
}

std::vector<hardware_interface::CommandInterface::SharedPtr>
ConstraintForceBroadcaster::on_export_reference_interfaces_list()
{
  return {};
}

std::vector<hardware_interface::StateInterface::SharedPtr>
ConstraintForceBroadcaster::on_export_state_interfaces_list()
{
  return outputs_->make_state_interfaces(get_node()->get_name());
}

return_type ConstraintForceBroadcaster::update_reference_from_subscribers(
  const rclcpp::Time &, const rclcpp::Duration &)
{
  return return_type::OK;
}

return_type ConstraintForceBroadcaster::update_and_write_commands(
  const rclcpp::Time & time, const rclcpp::Duration & period)
{
  if (!active_)
  {
    return return_type::OK;
  }
  outputs_->apply_switches(*workspace_, [](int, bool) {});
  const Status status = solve(1e-9 * static_cast<double>(period.nanoseconds()));
  publish(time, status);
  return return_type::OK;
}

Status ConstraintForceBroadcaster::solve(double period) noexcept
{
  next_q_ = q_;
  next_u_ = u_;
  mapping_->read(state_interfaces_, next_q_, next_u_, effort_);
  if (!next_q_.allFinite() || !next_u_.allFinite() || !effort_.allFinite())
  {
    has_last_ = false;
    return Status::kNonFiniteInput;
  }
  scenario_->system().normalise(next_q_);
  time_ += period > 0.0 && std::isfinite(period) ? period : 0.0;
  if (completion_->is_needed())
  {
    const Status status = completion_->complete(time_, next_q_, next_u_, *workspace_);
    if (status != Status::kOk)
    {
      has_last_ = false;
      return status;
    }
  }
  q_ = next_q_;
  u_ = next_u_;
  if (!mapping_->has_effort())
  {
    const Status status = find_efforts(period);
    if (!has_output(status))
    {
      return status;
    }
  }
  return scenario_->dynamics()->solve(time_, q_, u_, effort_, *workspace_);
}

Status ConstraintForceBroadcaster::find_efforts(double period) noexcept
{
  if (has_last_ && period > 0.0)
  {
    // First-order filter over differences of speeds.
    const double weight = period / (period + parameters_.acceleration_filter);
    acceleration_ += weight * ((u_ - last_u_) / period - acceleration_);
  }
  last_u_ = u_;
  has_last_ = true;
  return inverse_dynamics_->find(time_, q_, u_, acceleration_, *workspace_, effort_);
}

void ConstraintForceBroadcaster::publish(const rclcpp::Time & time, Status status) noexcept
{
  outputs_->write(time, period_, status, *workspace_);
  if (torques_->is_due(period_) && has_output(status))
  {
    write_joint_message(time, joint_of_input_, q_, u_, effort_, torques_->message());
    torques_->publish();
  }
  status_.store(static_cast<int>(status), std::memory_order_relaxed);
  cycles_.fetch_add(1, std::memory_order_relaxed);
  failed_.fetch_add(has_output(status) ? 0 : 1, std::memory_order_relaxed);
}

void ConstraintForceBroadcaster::diagnose(diagnostic_msgs::msg::DiagnosticStatus & status) const
{
  const std::lock_guard<std::mutex> lock(callback_mutex_);
  const Status last = static_cast<Status>(status_.load());
  const bool active = active_;
  status.message = active ? std::string("status ") + constrained_dynamics::to_string(last)
                          : std::string("inactive");
  status.level = !active || last == Status::kOk ? diagnostic_msgs::msg::DiagnosticStatus::OK
                 : has_output(last)             ? diagnostic_msgs::msg::DiagnosticStatus::WARN
                                                : diagnostic_msgs::msg::DiagnosticStatus::ERROR;
  add_value(status, "status", constrained_dynamics::to_string(last));
  add_value(status, "cycles", cycles_.load());
  add_value(status, "failed cycles", failed_.load());
  add_value(status, "own messages lost", torques_ ? torques_->lost_count() : 0);
}

}  // namespace constrained_dynamics_controllers

PLUGINLIB_EXPORT_CLASS(
  constrained_dynamics_controllers::ConstraintForceBroadcaster,
  controller_interface::ChainableControllerInterface)
