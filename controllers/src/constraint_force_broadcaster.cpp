// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics_controllers/constraint_force_broadcaster.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include <constrained_dynamics_ros/estimate_messages.hpp>
#include <pluginlib/class_list_macros.hpp>

#include "constrained_dynamics_controllers/realtime_topics.hpp"

namespace constrained_dynamics_controllers
{

using constrained_dynamics::Status;
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
    parameters_.acceleration_filter, profile());
  scenario().switch_constraints(observer_->workspace());
  q_ = scenario().initial().q;
  u_ = scenario().initial().u;
  set_up_sensor();
  set_up_certificate();
}

void ConstraintForceBroadcaster::set_up_sensor()
{
  const auto & given = parameters_.sensor;
  if (given.name.empty())
  {
    return;
  }
  WrenchInput::Options options;
  options.name = given.name;
  options.tool.name = given.name;
  options.tool.frame = given.frame;
  options.tool.mass = given.tool_mass;
  options.tool.com = Eigen::Map<const Eigen::Vector3d>(given.tool_com.data());
  options.tool.inertia = Eigen::Map<const Eigen::Vector3d>(given.tool_inertia.data()).asDiagonal();
  options.tare_cycles = std::max(1, static_cast<int>(std::lround(given.tare_time / period())));
  options.publish_rate = model().publish_rate;
  try
  {
    sensor_ = WrenchInput::create(*get_node(), scenario().system(), options);
  }
  catch (const std::invalid_argument & error)
  {
    throw std::invalid_argument("parameters 'sensor.' of '" + given.name + "': " + error.what());
  }
}

void ConstraintForceBroadcaster::set_up_certificate()
{
  const auto & given = parameters_.certificate;
  if (!(given.rate > 0.0))
  {
    return;
  }
  const constrained_dynamics::System & system = scenario().system();
  constrained_dynamics::ForceCertificateOptions options;
  // Efforts of inverse dynamics say what the model says, and no more.
  options.measured_efforts.assign(
    static_cast<std::size_t>(system.input_count()), measures_effort());
  options.effort_noise =
    spread("certificate.effort_noise", given.effort_noise, system.input_count(), "inputs", true);
  options.model_noise =
    spread("certificate.model_noise", given.model_noise, system.speed_count(), "speeds", true);
  options.frames = given.frames;
  if (sensor_)
  {
    options.sensors = {
      {parameters_.sensor.name, parameters_.sensor.frame, parameters_.sensor.force_noise,
       parameters_.sensor.torque_noise}};
  }
  certificate_ =
    std::make_unique<constrained_dynamics::ForceCertificate>(scenario().dynamics(), options);
  observability_ = make_realtime_writer(
    *get_node(), "~/observability",
    constrained_dynamics_ros::make_observability_message(*certificate_, model().world_frame),
    given.rate);
}

std::vector<std::string> ConstraintForceBroadcaster::more_state_interfaces() const
{
  return sensor_ ? sensor_->interface_names() : std::vector<std::string>();
}

void ConstraintForceBroadcaster::release()
{
  observability_.reset();
  certificate_.reset();
  sensor_.reset();
  observer_.reset();
}

void ConstraintForceBroadcaster::start(const constrained_dynamics::State & state)
{
  if (sensor_)
  {
    sensor_->bind(state_interfaces_);
  }
  observer_->start(state);
  if (certificate_)
  {
    const constrained_dynamics::State at{state.time, observer_->q(), observer_->u()};
    certificate_->start(at, false, observer_->workspace());
  }
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
  certify(time, status);
  status_.store(static_cast<int>(status), std::memory_order_relaxed);
  cycles_.fetch_add(1, std::memory_order_relaxed);
  failed_.fetch_add(has_output(status) ? 0 : 1, std::memory_order_relaxed);
  const constrained_dynamics::ConstraintViolation worst = violation();
  violated_row_.store(worst.is_beyond() ? worst.row : -1, std::memory_order_relaxed);
  return return_type::OK;
}

void ConstraintForceBroadcaster::certify(const rclcpp::Time & time, Status solved) noexcept
{
  Status status = solved;
  if (sensor_ && has_output(solved))
  {
    status = sensor_->update(
      time, period(), observer_->workspace().system_data(), observer_->acceleration());
  }
  if (!certificate_ || !observability_->is_due(period()))
  {
    return;
  }
  if (has_output(solved) && has_output(status))
  {
    status = certificate_->update(
      observer_->effort(), sensor_ ? sensor_->wrench() : no_readings_, nullptr,
      observer_->workspace());
  }
  constrained_dynamics_ros::write_observability(
    time, cycles_.load(std::memory_order_relaxed) + 1, status, *certificate_,
    observability_->message());
  observability_->send();
}

void ConstraintForceBroadcaster::diagnose(diagnostic_msgs::msg::DiagnosticStatus & status)
{
  const bool active = is_running();
  report_status(static_cast<Status>(status_.load()), active, status);
  add_value(status, "cycles", cycles_.load());
  add_value(status, "failed cycles", failed_.load());
  const int row = violated_row_.load();
  const std::string violated = row < 0 ? "" : scenario().dynamics()->constraints().row_name(row);
  add_value(status, "violated constraint", violated);
  if (sensor_)
  {
    add_value(status, "force/torque sensor", sensor_->tare_state());
  }
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
