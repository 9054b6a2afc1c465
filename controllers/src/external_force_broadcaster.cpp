// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics_controllers/external_force_broadcaster.hpp"

#include <limits>
#include <string>

#include <constrained_dynamics_ros/estimate_messages.hpp>
#include <pluginlib/class_list_macros.hpp>

#include "constrained_dynamics_controllers/realtime_topics.hpp"

namespace constrained_dynamics_controllers
{

using constrained_dynamics::Status;
using controller_interface::return_type;
using diagnostic_msgs::msg::DiagnosticStatus;

void ExternalForceBroadcaster::declare_parameters()
{
  listener_ = std::make_shared<external_force_broadcaster::ParamListener>(get_node());
}

void ExternalForceBroadcaster::read_parameters() { parameters_ = listener_->get_params(); }

void ExternalForceBroadcaster::set_up()
{
  const constrained_dynamics::System & system = scenario().system();
  state_ = std::make_unique<constrained_dynamics::ForceObserver>(
    scenario().dynamics(), mapping().measured_coordinates(), mapping().measured_speeds(),
    parameters_.acceleration_filter, profile());
  scenario().switch_constraints(state_->workspace());
  constrained_dynamics::MomentumObserverOptions options;
  options.gain = parameters_.gain;
  options.threshold = parameters_.threshold;
  options.frames = parameters_.frames;
  options.measured_speeds = mapping().measured_speeds();
  options.speed_noise =
    spread("speed_noise", parameters_.speed_noise, system.speed_count(), "speeds", true);
  options.effort_noise =
    spread("effort_noise", parameters_.effort_noise, system.input_count(), "inputs", true);
  options.model_noise =
    spread("model_noise", parameters_.model_noise, system.speed_count(), "speeds", true);
  observer_ =
    std::make_unique<constrained_dynamics::MomentumObserver>(scenario().dynamics(), options);
  message_ = make_realtime_writer(
    *get_node(), "~/external_forces",
    constrained_dynamics_ros::make_external_forces_message(
      system, parameters_.frames, model().world_frame),
    model().publish_rate);
  q_ = scenario().initial().q;
  u_ = scenario().initial().u;
}

void ExternalForceBroadcaster::release()
{
  interfaces_.clear();
  message_.reset();
  observer_.reset();
  state_.reset();
}

void ExternalForceBroadcaster::start(const constrained_dynamics::State & state)
{
  state_->start(state);
  observer_->reset();
}

std::vector<hardware_interface::StateInterface::SharedPtr>
ExternalForceBroadcaster::make_state_interfaces()
{
  const std::string name = get_node()->get_name();
  interfaces_.clear();
  for (const std::string & speed : scenario().system().speed_names())
  {
    interfaces_.push_back(make_state_interface(name + "/" + speed, "external_force"));
  }
  for (const std::string & frame : parameters_.frames)
  {
    for (const char * part : kWrenchParts)
    {
      interfaces_.push_back(make_state_interface(name + "/" + frame, part));
    }
  }
  interfaces_.push_back(make_state_interface(name, "contact"));
  return interfaces_;
}

void ExternalForceBroadcaster::write_state_interfaces() noexcept
{
  if (interfaces_.empty())
  {
    return;
  }
  std::size_t next = 0;
  const auto put = [&](double value) { (void)interfaces_[next++]->set_value(value); };
  for (Eigen::Index i = 0; i < observer_->force().size(); ++i)
  {
    put(observer_->force()(i));
  }
  for (std::size_t i = 0; i < 6 * parameters_.frames.size(); ++i)
  {
    put(observer_->wrenches()(static_cast<Eigen::Index>(i)));
  }
  put(observer_->has_contact() ? 1.0 : 0.0);
}

return_type ExternalForceBroadcaster::update_and_write_commands(
  const rclcpp::Time & time, const rclcpp::Duration & period)
{
  if (!is_running())
  {
    return return_type::OK;
  }
  const double elapsed = 1e-9 * static_cast<double>(period.nanoseconds());
  outputs().apply_switches(state_->workspace(), [](int, bool) {});
  read_state(q_, u_);
  Status status = state_->update(elapsed, q_, u_, &effort());
  publish(time, status, state_->workspace(), state_->q(), state_->u(), state_->effort(), false);
  if (has_output(status))
  {
    status = observer_->update(elapsed, state_->effort(), state_->workspace());
  }
  else
  {
    // The estimate is kept; the next sample is a first one.
    constexpr double kNoPeriod = std::numeric_limits<double>::quiet_NaN();
    (void)observer_->update(kNoPeriod, state_->effort(), state_->workspace());
  }
  const std::uint64_t cycle = cycles_.fetch_add(1, std::memory_order_relaxed) + 1;
  if (has_output(status))
  {
    write_state_interfaces();
  }
  if (message_->is_due(this->period()))
  {
    constrained_dynamics_ros::write_external_forces(
      time, cycle, status, *observer_, message_->message());
    message_->send();
  }
  last_status_.store(static_cast<int>(status), std::memory_order_relaxed);
  failed_.fetch_add(has_output(status) ? 0 : 1, std::memory_order_relaxed);
  contact_.store(observer_->has_contact(), std::memory_order_relaxed);
  return return_type::OK;
}

void ExternalForceBroadcaster::diagnose(DiagnosticStatus & status)
{
  report_status(static_cast<Status>(last_status_.load()), is_running(), status);
  add_value(status, "cycles", cycles_.load());
  add_value(status, "failed cycles", failed_.load());
  add_value(status, "contact", std::string(contact_ ? "yes" : "no"));
}

}  // namespace constrained_dynamics_controllers

PLUGINLIB_EXPORT_CLASS(
  constrained_dynamics_controllers::ExternalForceBroadcaster,
  controller_interface::ChainableControllerInterface)
