// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics_controllers/servo_constraint_controller.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include <constrained_dynamics_ros/servo_messages.hpp>
#include <pluginlib/class_list_macros.hpp>

#include "constrained_dynamics_controllers/realtime_topics.hpp"
#include "constrained_dynamics_controllers/servo_parameters.hpp"

namespace constrained_dynamics_controllers
{

using constrained_dynamics::ServoMode;
using constrained_dynamics::Status;
using controller_interface::InterfaceConfiguration;
using controller_interface::return_type;

namespace
{

/// What a command interface holds: NaN if that cannot be read.
double read_command(const hardware_interface::LoanedCommandInterface & interface) noexcept
{
  constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  try
  {
    return interface.get_optional<double>().value_or(kUnknown);
  }
  catch (...)  // interfaces that are no numbers
  {
    return kUnknown;
  }
}

}  // namespace

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
  REGISTER_ROS2_CONTROL_INTROSPECTION("violation", &introspection_.violation);
  REGISTER_ROS2_CONTROL_INTROSPECTION("cut_commands", &introspection_.cut);
  REGISTER_ROS2_CONTROL_INTROSPECTION("sample_interval", &introspection_.sample_interval);
}

void ServoConstraintController::read_parameters() { servo_ = servo_listener_->get_params(); }

void ServoConstraintController::set_up()
{
  const auto node = get_node();
  const std::shared_ptr<const constrained_dynamics::ServoLaw> law = scenario().servo_law();
  if (!law)
  {
    throw std::invalid_argument(
      "there are no servo-constraints: parameter 'scenario' is '" + model().scenario +
      "', and no parameter begins with 'servo.'; allowed: at least one, in the section servo of "
      "the scenario or as parameters servo.<name>.<key>");
  }
  const double sample_period =
    servo_.sample_period > 0.0
      ? servo_.sample_period
      : hardware_period(get_robot_description(), measured_joints(scenario().system(), model()));
  drives_ = std::make_unique<DriveCommands>(
    profile(), scenario().system(), constrained_dynamics::servo_fallback(servo_.fallback),
    period());
  runtime_ = std::make_unique<constrained_dynamics::ServoRuntime>(
    *law, *scenario().servo_drive(),
    command_limits(servo_, scenario().system(), get_hard_joint_limits(), profile()),
    mapping().measured_coordinates(), mapping().measured_speeds(),
    runtime_options(servo_, model(), period(), sample_period));
  scenario().switch_constraints(runtime_->servo().dynamics());
  for (int i = 0; i < law->passive().constraints().size(); ++i)
  {
    runtime_->enable_forces_of(i, scenario().is_active(i));
  }
  q_ = scenario().initial().q;
  u_ = scenario().initial().u;
  preparation_ = std::make_unique<BackgroundJob>([this] { runtime_->prepare(); });
  granted_ = runtime_->command();
  rest_ = granted_;
  measured_ = granted_;
  gains_ =
    std::make_unique<LiveGains>(node, runtime_->shared_law(), std::max(period(), sample_period));
  inbox_ = std::make_unique<ReferenceInbox>(
    runtime_->shared_law(), model().world_frame, servo_.reference_timeout, servo_.check_references);
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
  preparation_.reset();  // before what it works on
  runtime_.reset();
  drives_.reset();
}

void ServoConstraintController::start(const constrained_dynamics::State & state)
{
  bind_commands();
  preparation_->wait();  // of an activation just before
  begin(state);
  tell_violation(
    worst_violation(
      runtime_->law().passive().constraints(), runtime_->servo().dynamics(),
      model().position_tolerance, model().velocity_tolerance),
    servo_.violated_start == "refuse");
  has_written_ = false;
  fill_commands();
  inbox_->clear();
  if (reference_interfaces_of_tasks_)
  {
    reference_interfaces_of_tasks_->clear();
  }
  preparation_->start();
}

void ServoConstraintController::begin(const constrained_dynamics::State & state)
{
  if (!mapping().has_effort())
  {
    runtime_->begin(state);
    return;
  }
  measured_ = effort();
  if (profile())
  {
    runtime_->begin(state);  // completes the state, at which the drives' own terms are known
    if (!drives_->read(runtime_->servo().dynamics().system_data(), measured_))
    {
      throw std::invalid_argument("measured efforts cannot be converted by the profile");
    }
  }
  runtime_->begin(state, &measured_);
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

void ServoConstraintController::fill_commands()
{
  if (!runtime_->find_rest_effort(rest_))
  {
    rest_.setZero();
  }
  drives_->convert_at_rest(
    runtime_->servo().dynamics().system_data(), mapping().has_effort() ? measured_ : rest_);
  Eigen::VectorXd held = drives_->command();
  for (std::size_t i = 0; i < command_of_input_.size(); ++i)
  {
    const auto k = static_cast<Eigen::Index>(i);
    const double before = read_command(command_interfaces_[command_of_input_[i]]);
    if (std::isfinite(before))
    {
      held(k) = before;
    }
    else
    {
      write_or_warn(i, held(k));
    }
  }
  drives_->start_from(held);
}

void ServoConstraintController::write_or_warn(std::size_t input, double value)
{
  auto & interface = command_interfaces_[command_of_input_[input]];
  if (!interface.set_value(value))
  {
    RCLCPP_WARN(
      get_node()->get_logger(), "command interface '%s' did not take %g",
      interface.get_name().c_str(), value);
  }
}

void ServoConstraintController::stop()
{
  health_.set_inactive();
  if (preparation_ && preparation_->state() == BackgroundJob::State::kFailed)
  {
    RCLCPP_ERROR(get_node()->get_logger(), "%s", preparation_->error().c_str());
  }
  if (servo_.deactivation == "hold" || !is_prepared())
  {
    return;  // commands stay as they are
  }
  const bool has_rest = servo_.deactivation != "zero" && runtime_->find_rest_effort(rest_);
  drives_->convert_at_rest(runtime_->servo().dynamics().system_data(), rest_);
  for (std::size_t i = 0; i < command_of_input_.size(); ++i)
  {
    write_or_warn(i, has_rest ? drives_->command()(static_cast<Eigen::Index>(i)) : 0.0);
  }
}

// ---- interfaces --------------------------------------------------------------------------------

InterfaceConfiguration ServoConstraintController::command_interface_configuration() const
{
  InterfaceConfiguration configuration;
  configuration.type = controller_interface::interface_configuration_type::INDIVIDUAL;
  if (has_scenario() && drives_)
  {
    for (const std::string & name : scenario().system().input_names())
    {
      configuration.names.push_back(name + "/" + drives_->interface());
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
  if (is_running() && is_prepared())
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
  if (!is_prepared())
  {
    return preparation_->state() == BackgroundJob::State::kFailed ? return_type::ERROR
                                                                  : return_type::OK;
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
  read_granted();
  const double elapsed = 1e-9 * static_cast<double>(period.nanoseconds());
  const constrained_dynamics::ServoCycleReport report = runtime_->step(elapsed, q_, u_);
  drives_->convert(*runtime_, report);
  if (!write_command())
  {
    health_.count_unwritten();
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  publish_cycle(time, report, took.count());
  return report.failed ? return_type::ERROR : return_type::OK;
}

void ServoConstraintController::read_granted() noexcept
{
  if (!has_written_)
  {
    return;
  }
  for (std::size_t i = 0; i < command_of_input_.size(); ++i)
  {
    granted_(static_cast<Eigen::Index>(i)) =
      read_command(command_interfaces_[command_of_input_[i]]);
  }
  drives_->restore(granted_);
  runtime_->set_granted(granted_);
}

bool ServoConstraintController::write_command() noexcept
{
  bool written = true;
  const Eigen::VectorXd & command = drives_->command();
  for (Eigen::Index i = 0; i < command.size(); ++i)
  {
    const std::size_t interface = command_of_input_[static_cast<std::size_t>(i)];
    written = command_interfaces_[interface].set_value(command(i)) && written;
  }
  has_written_ = written;
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
      time,
      {counts.cycles, to_string(report.mode), status, compute_time, report.violation.ratio,
       &drives_->command(), runtime_.get()},
      runtime_->law(), runtime_->servo(), runtime_->command(), servo_state_->message());
    servo_state_->send();
  }
  health_.set(report, *runtime_, compute_time);
  introspection_.mode = static_cast<double>(report.mode);
  introspection_.status = static_cast<double>(report.status);
  introspection_.compute_time = compute_time;
  introspection_.condition = runtime_->servo().result().condition;
  introspection_.missed = static_cast<double>(counts.missed);
  introspection_.time = runtime_->time();
  introspection_.violation = report.violation.ratio;
  introspection_.cut = static_cast<double>(counts.cut);
  introspection_.sample_interval = runtime_->sample_interval();
}

void ServoConstraintController::diagnose(diagnostic_msgs::msg::DiagnosticStatus & status)
{
  if (!runtime_ || !gains_ || !servo_state_)
  {
    return;
  }
  if (health_.mode() == ServoMode::kFallback)
  {
    RCLCPP_WARN(
      get_node()->get_logger(), "fallback '%s', because of: %s (status %s)",
      servo_.fallback.c_str(), to_string(health_.last_miss()),
      constrained_dynamics::to_string(health_.status()));
  }
  const std::string complaints = health_.complaints(*runtime_);
  if (!complaints.empty())
  {
    RCLCPP_WARN(get_node()->get_logger(), "%s", complaints.c_str());
  }
  health_.report(*runtime_, status);
  add_value(status, "servo states lost", servo_state_->lost_count());
  const std::string diverging = gains_->check(health_.sample_interval());
  if (!diverging.empty())
  {
    status.level = std::max(status.level, diagnostic_msgs::msg::DiagnosticStatus::WARN);
    status.message += ", " + diverging;
  }
}

}  // namespace constrained_dynamics_controllers

PLUGINLIB_EXPORT_CLASS(
  constrained_dynamics_controllers::ServoConstraintController,
  controller_interface::ChainableControllerInterface)
