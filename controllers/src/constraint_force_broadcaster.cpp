// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics_controllers/constraint_force_broadcaster.hpp"

#include <algorithm>
#include <string>

#include <pluginlib/class_list_macros.hpp>

namespace constrained_dynamics_controllers
{

using constrained_dynamics::Status;
using controller_interface::InterfaceConfiguration;
using controller_interface::return_type;

void ConstraintForceBroadcaster::declare_parameters()
{
  listener_ = std::make_shared<constraint_force_broadcaster::ParamListener>(get_node());
}

void ConstraintForceBroadcaster::read_parameters() { parameters_ = listener_->get_params(); }

void ConstraintForceBroadcaster::set_up()
{
  observer_ = std::make_unique<constrained_dynamics::ForceObserver>(
    scenario().dynamics(), mapping().measured_coordinates(), mapping().measured_speeds(),
    parameters_.acceleration_filter);
  scenario().switch_constraints(observer_->workspace());
  q_ = scenario().initial().q;
  u_ = scenario().initial().u;
}

void ConstraintForceBroadcaster::release() { observer_.reset(); }

void ConstraintForceBroadcaster::start(const constrained_dynamics::State & state)
{
  observer_->start(state);
  const constrained_dynamics::Dynamics & dynamics = observer_->dynamics();
  if (dynamics.evaluate_rows(observer_->workspace()) == Status::kOk)
  {
    tell_violation(violation(), parameters_.violated_start == "refuse");
  }
}

constrained_dynamics::ConstraintViolation ConstraintForceBroadcaster::violation() const noexcept
{
  return worst_violation(
    observer_->dynamics().constraints(), observer_->workspace(), model().position_tolerance,
    model().velocity_tolerance);
}

InterfaceConfiguration ConstraintForceBroadcaster::command_interface_configuration() const
{
  return {controller_interface::interface_configuration_type::NONE, {}};
}

std::vector<hardware_interface::CommandInterface::SharedPtr>
ConstraintForceBroadcaster::on_export_reference_interfaces_list()
{
  return {};
}

return_type ConstraintForceBroadcaster::update_reference_from_subscribers(
  const rclcpp::Time &, const rclcpp::Duration &)
{
  return return_type::OK;
}

return_type ConstraintForceBroadcaster::update_and_write_commands(
  const rclcpp::Time & time, const rclcpp::Duration & period)
{
  if (!is_running())
  {
    return return_type::OK;
  }
  outputs().apply_switches(observer_->workspace(), [](int, bool) {});
  read_state(q_, u_);
  const Status status = observer_->update(
    1e-9 * static_cast<double>(period.nanoseconds()), q_, u_,
    mapping().has_effort() ? &effort() : nullptr);
  publish(
    time, status, observer_->workspace(), observer_->q(), observer_->u(), observer_->effort(),
    false);
  status_.store(static_cast<int>(status), std::memory_order_relaxed);
  cycles_.fetch_add(1, std::memory_order_relaxed);
  failed_.fetch_add(has_output(status) ? 0 : 1, std::memory_order_relaxed);
  const constrained_dynamics::ConstraintViolation worst = violation();
  violated_row_.store(worst.is_beyond() ? worst.row : -1, std::memory_order_relaxed);
  return return_type::OK;
}

void ConstraintForceBroadcaster::diagnose(diagnostic_msgs::msg::DiagnosticStatus & status)
{
  const Status last = static_cast<Status>(status_.load());
  const bool active = is_running();
  status.message = active ? std::string("status ") + constrained_dynamics::to_string(last)
                          : std::string("inactive");
  status.level = !active || last == Status::kOk ? diagnostic_msgs::msg::DiagnosticStatus::OK
                 : has_output(last)             ? diagnostic_msgs::msg::DiagnosticStatus::WARN
                                                : diagnostic_msgs::msg::DiagnosticStatus::ERROR;
  add_value(status, "status", constrained_dynamics::to_string(last));
  add_value(status, "cycles", cycles_.load());
  add_value(status, "failed cycles", failed_.load());
  const int row = violated_row_.load();
  const std::string violated = row < 0 ? "" : scenario().dynamics()->constraints().row_name(row);
  add_value(status, "violated constraint", violated);
  if (active && !violated.empty())
  {
    status.level = std::max(status.level, diagnostic_msgs::msg::DiagnosticStatus::WARN);
    status.message += ", constraint " + violated + " is violated";
  }
}

}  // namespace constrained_dynamics_controllers

PLUGINLIB_EXPORT_CLASS(
  constrained_dynamics_controllers::ConstraintForceBroadcaster,
  controller_interface::ChainableControllerInterface)
