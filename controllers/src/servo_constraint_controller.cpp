// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics_controllers/servo_constraint_controller.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <exception>
#include <limits>
#include <sstream>
#include <stdexcept>

#include <constrained_dynamics/model/rigid_body_system.hpp>
#include <constrained_dynamics_ros/force_messages.hpp>
#include <constrained_dynamics_ros/servo_messages.hpp>
#include <hardware_interface/types/hardware_interface_type_values.hpp>
#include <pluginlib/class_list_macros.hpp>

#include "constrained_dynamics_controllers/model_setup.hpp"

namespace constrained_dynamics_controllers
{

using constrained_dynamics::Status;
using constrained_dynamics::System;
using controller_interface::CallbackReturn;
using controller_interface::InterfaceConfiguration;
using controller_interface::return_type;

namespace
{

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// One number for each input.
Eigen::VectorXd spread(
  const std::string & name, const std::vector<double> & values, Eigen::Index count)
{
  if (values.empty())
  {
    return {};
  }
  std::ostringstream message;
  if (values.size() != 1 && static_cast<Eigen::Index>(values.size()) != count)
  {
    message << "parameter '" << name << "' has " << values.size()
            << " values; allowed: none, one, or one for each of the " << count << " inputs";
    throw std::invalid_argument(message.str());
  }
  Eigen::VectorXd result(count);
  for (Eigen::Index i = 0; i < count; ++i)
  {
    result(i) = values[values.size() == 1 ? 0 : static_cast<std::size_t>(i)];
    if (!(result(i) > 0.0))
    {
      message << "parameter '" << name << "' has the value " << result(i) << "; allowed: above 0";
      throw std::invalid_argument(message.str());
    }
  }
  return result;
}

}  // namespace

// ---- lifecycle ---------------------------------------------------------------------------------

CallbackReturn ServoConstraintController::on_init()
{
  try
  {
    model_listener_ = std::make_shared<model_parameters::ParamListener>(get_node());
    servo_listener_ = std::make_shared<servo_constraint_controller::ParamListener>(get_node());
    declare_scenario_parameters(*get_node());
  }
  catch (const std::exception & error)
  {
    RCLCPP_ERROR(get_node()->get_logger(), "%s", error.what());
    return CallbackReturn::ERROR;
  }
  REGISTER_ROS2_CONTROL_INTROSPECTION("mode", &introspection_.mode);
  REGISTER_ROS2_CONTROL_INTROSPECTION("status", &introspection_.status);
  REGISTER_ROS2_CONTROL_INTROSPECTION("compute_time", &introspection_.compute_time);
  REGISTER_ROS2_CONTROL_INTROSPECTION("condition", &introspection_.condition);
  REGISTER_ROS2_CONTROL_INTROSPECTION("missed_cycles", &introspection_.missed);
  REGISTER_ROS2_CONTROL_INTROSPECTION("time", &introspection_.time);
  return CallbackReturn::SUCCESS;
}

CallbackReturn ServoConstraintController::on_configure(const rclcpp_lifecycle::State &)
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

void ServoConstraintController::set_up()
{
  const auto node = get_node();
  model_ = model_listener_->get_params();
  servo_ = servo_listener_->get_params();
  scenario_ = std::make_unique<const constrained_dynamics::Scenario>(
    load_controller_scenario(*node, model_.scenario, get_robot_description(), model_.joints, true));
  const std::shared_ptr<const constrained_dynamics::ServoLaw> law = scenario_->servo_law();
  if (!law)
  {
    throw std::invalid_argument(
      "there are no servo-constraints; allowed: at least one, in the section servo of the "
      "scenario or as parameters servo.<name>.<key>");
  }
  for (const std::string & warning : scenario_->warnings())
  {
    RCLCPP_WARN(node->get_logger(), "%s", warning.c_str());
  }
  const System & system = scenario_->system();
  mapping_ =
    std::make_unique<StateMapping>(system, measured_joints(system, model_), servo_.measured_effort);
  runtime_ = std::make_unique<ServoRuntime>(
    *law, *scenario_->servo_drive(), read_limits(), mapping_->measured_coordinates(),
    mapping_->measured_speeds(), runtime_options());
  scenario_->switch_constraints(runtime_->servo().dynamics());
  for (int i = 0; i < law->passive().constraints().size(); ++i)
  {
    runtime_->enable_forces_of(i, scenario_->is_active(i));
  }
  q_ = scenario_->initial().q;
  u_ = scenario_->initial().u;
  effort_.setZero(system.input_count());
  gains_ = std::make_unique<LiveGains>(node, runtime_->law());
  inbox_ = std::make_unique<ReferenceInbox>(
    runtime_->shared_law(), model_.world_frame, servo_.reference_timeout);
  outputs_ = ConstraintOutputs::create(
    node, scenario_->dynamics(), output_options(model_),
    [this](diagnostic_msgs::msg::DiagnosticStatus & status) { diagnose(status); });
  torques_ = std::make_unique<CyclicPublisher<JointState>>(
    *node, "~/torques", make_joint_message(system, joint_of_input_), model_.publish_rate);
  servo_state_ = std::make_unique<CyclicPublisher<ServoState>>(
    *node, "~/servo_state", constrained_dynamics_ros::make_servo_message(runtime_->law()),
    model_.publish_rate);
  subscription_ = node->create_subscription<References>(
    "~/references", rclcpp::SystemDefaultsQoS(),
    [this](const References::ConstSharedPtr message) { receive(*message); });
}

void ServoConstraintController::reset()
{
  active_ = false;
  const std::lock_guard<std::mutex> lock(callback_mutex_);
  subscription_.reset();
  servo_state_.reset();
  torques_.reset();
  outputs_.reset();
  reference_interfaces_of_tasks_.reset();
  inbox_.reset();
  gains_.reset();
  runtime_.reset();
  mapping_.reset();
  scenario_.reset();
}

constrained_dynamics::InputLimits ServoConstraintController::read_limits() const
{
  const System & system = scenario_->system();
  const Eigen::Index count = system.input_count();
  constrained_dynamics::InputLimits limits;
  limits.rate = spread("torque_rate", servo_.torque_rate, count);
  limits.upper = spread("effort_limits", servo_.effort_limits, count);
  if (limits.upper.size() == 0)
  {
    limits.upper = Eigen::VectorXd::Constant(count, kInfinity);
    const auto * robot = dynamic_cast<const constrained_dynamics::RigidBodySystem *>(&system);
    for (Eigen::Index i = 0; i < count; ++i)
    {
      const std::string & name = system.input_names()[static_cast<std::size_t>(i)];
      const auto tighten = [&](double effort)
      { limits.upper(i) = effort > 0.0 ? std::min(limits.upper(i), effort) : limits.upper(i); };
      const auto hard = get_hard_joint_limits().find(name);
      if (hard != get_hard_joint_limits().end() && hard->second.has_effort_limits)
      {
        tighten(hard->second.max_effort);
      }
      if (robot)
      {
        tighten(robot->limits()[static_cast<std::size_t>(robot->coordinate_index(name))].effort);
      }
    }
  }
  limits.lower = -limits.upper;
  return limits;
}

RuntimeOptions ServoConstraintController::runtime_options() const
{
  if (get_update_rate() == 0)
  {
    throw std::invalid_argument("parameter 'update_rate' is 0; allowed: above 0");
  }
  RuntimeOptions options;
  options.period = 1.0 / get_update_rate();
  options.ramp_time = servo_.ramp_time;
  options.references.smooth_start = servo_.smooth_start;
  options.references.stop_time = servo_.stop_time;
  options.references.timeout = servo_.reference_timeout;
  options.dropout_cycles = static_cast<int>(servo_.dropout_cycles);
  options.frozen_speed = servo_.frozen_speed;
  options.fallback = fallback_from_string(servo_.fallback);
  options.fallback_damping = servo_.fallback_damping;
  return options;
}

CallbackReturn ServoConstraintController::on_activate(const rclcpp_lifecycle::State &)
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

void ServoConstraintController::start()
{
  bind_commands();
  mapping_->bind(state_interfaces_);
  const std::string bad = mapping_->first_not_finite(state_interfaces_);
  if (!bad.empty())
  {
    throw std::invalid_argument(
      "state interface '" + bad + "' has no finite value; allowed: finite numbers");
  }
  constrained_dynamics::State state = scenario_->initial();
  mapping_->read(state_interfaces_, state.q, state.u, effort_);
  runtime_->start(state, mapping_->has_effort() ? &effort_ : nullptr);
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

CallbackReturn ServoConstraintController::on_deactivate(const rclcpp_lifecycle::State &)
{
  active_ = false;
  health_.mode = static_cast<int>(Mode::kInactive);
  for (auto & interface : command_interfaces_)
  {
    if (servo_.deactivation == "zero" && !interface.set_value(0.0))
    {
      RCLCPP_WARN(
        get_node()->get_logger(), "command interface '%s' did not take 0",
        interface.get_name().c_str());
    }
  }
  return CallbackReturn::SUCCESS;
}

CallbackReturn ServoConstraintController::on_cleanup(const rclcpp_lifecycle::State &)
{
  reset();
  return CallbackReturn::SUCCESS;
}

CallbackReturn ServoConstraintController::on_error(const rclcpp_lifecycle::State &)
{
  reset();
  return CallbackReturn::SUCCESS;
}

// ---- interfaces --------------------------------------------------------------------------------

InterfaceConfiguration ServoConstraintController::command_interface_configuration() const
{
  InterfaceConfiguration configuration;
  configuration.type = controller_interface::interface_configuration_type::INDIVIDUAL;
  if (scenario_)
  {
    for (const std::string & name : scenario_->system().input_names())
    {
      configuration.names.push_back(name + "/" + hardware_interface::HW_IF_EFFORT);
    }
  }
  return configuration;
}

InterfaceConfiguration ServoConstraintController::state_interface_configuration() const
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
ServoConstraintController::on_export_reference_interfaces_list()
{
  reference_interfaces_of_tasks_ = std::make_unique<ReferenceInterfaces>(
    runtime_->law(), get_node()->get_name(), servo_.velocity_references);
  return reference_interfaces_of_tasks_->interfaces();
}

std::vector<hardware_interface::StateInterface::SharedPtr>
ServoConstraintController::on_export_state_interfaces_list()
{
  return outputs_->make_state_interfaces(get_node()->get_name());
}

void ServoConstraintController::receive(const References & message)
{
  const std::lock_guard<std::mutex> lock(callback_mutex_);
  const std::string what = !active_ ? "the controller is not active"
                           : is_in_chained_mode()
                             ? "the controller is in chained mode and follows its interfaces"
                             : inbox_->put(message, get_node()->now());
  if (!what.empty())
  {
    health_.refused.fetch_add(1);
    RCLCPP_WARN_THROTTLE(
      get_node()->get_logger(), *get_node()->get_clock(), 1000, "references are refused: %s",
      what.c_str());
  }
}

// ---- cycle -------------------------------------------------------------------------------------

return_type ServoConstraintController::update_reference_from_subscribers(
  const rclcpp::Time &, const rclcpp::Duration &)
{
  if (active_)
  {
    inbox_->give(*runtime_);
  }
  return return_type::OK;
}

return_type ServoConstraintController::update_and_write_commands(
  const rclcpp::Time & time, const rclcpp::Duration & period)
{
  if (!active_)
  {
    return return_type::OK;
  }
  const auto begin = std::chrono::steady_clock::now();
  if (is_in_chained_mode() && reference_interfaces_of_tasks_)
  {
    reference_interfaces_of_tasks_->give(*runtime_);
  }
  gains_->apply(runtime_->servo());
  outputs_->apply_switches(
    runtime_->servo().dynamics(),
    [this](int constraint, bool active) { runtime_->enable_forces_of(constraint, active); });
  mapping_->read(state_interfaces_, q_, u_, effort_);
  const double elapsed = 1e-9 * static_cast<double>(period.nanoseconds());
  const CycleReport report = runtime_->step(elapsed, q_, u_);
  if (!write_command())
  {
    health_.unwritten.fetch_add(1, std::memory_order_relaxed);
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  publish(time, 1.0 / get_update_rate(), report, took.count());
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

void ServoConstraintController::publish(
  const rclcpp::Time & time, double period, const CycleReport & report,
  double compute_time) noexcept
{
  const CycleCounts & counts = runtime_->counts();
  const bool solved = runtime_->is_solved();
  const Status status =
    solved || !has_output(report.status) ? report.status : Status::kNonFiniteInput;
  outputs_->write(time, period, status, runtime_->servo().dynamics());
  if (torques_->is_due(period))
  {
    write_joint_message(
      time, joint_of_input_, runtime_->q(), runtime_->u(), runtime_->command(),
      torques_->message());
    torques_->publish();
  }
  if (servo_state_->is_due(period))
  {
    constrained_dynamics_ros::write_servo(
      time, {counts.cycles, to_string(report.mode), status, compute_time}, runtime_->law(),
      runtime_->servo(), runtime_->command(), servo_state_->message());
    servo_state_->publish();
  }
  const auto relaxed = std::memory_order_relaxed;
  health_.mode.store(static_cast<int>(report.mode), relaxed);
  health_.status.store(static_cast<int>(report.status), relaxed);
  if (report.cause != Cause::kNone)
  {
    health_.cause.store(static_cast<int>(report.cause), relaxed);
  }
  health_.cycles.store(counts.cycles, relaxed);
  health_.missed.store(counts.missed, relaxed);
  health_.fallback.store(counts.fallback, relaxed);
  health_.singular.store(counts.singular, relaxed);
  health_.limited.store(counts.limited, relaxed);
  health_.inconsistent.store(counts.inconsistent, relaxed);
  if (compute_time > health_.longest_cycle.load(relaxed))
  {
    health_.longest_cycle.store(compute_time, relaxed);
  }
  introspection_.mode = static_cast<double>(report.mode);
  introspection_.status = static_cast<double>(report.status);
  introspection_.compute_time = compute_time;
  introspection_.condition = runtime_->servo().result().condition;
  introspection_.missed = static_cast<double>(counts.missed);
  introspection_.time = runtime_->time();
}

void ServoConstraintController::diagnose(diagnostic_msgs::msg::DiagnosticStatus & status) const
{
  const std::lock_guard<std::mutex> lock(callback_mutex_);
  const Mode mode = static_cast<Mode>(health_.mode.load());
  const Status last = static_cast<Status>(health_.status.load());
  status.message =
    std::string("mode ") + to_string(mode) + ", status " + constrained_dynamics::to_string(last);
  status.level = mode == Mode::kFallback ? diagnostic_msgs::msg::DiagnosticStatus::ERROR
                 : mode == Mode::kHold || (mode != Mode::kInactive && last != Status::kOk)
                   ? diagnostic_msgs::msg::DiagnosticStatus::WARN
                   : diagnostic_msgs::msg::DiagnosticStatus::OK;
  if (mode == Mode::kFallback)
  {
    RCLCPP_WARN(
      get_node()->get_logger(), "fallback '%s', because of: %s (status %s)",
      servo_.fallback.c_str(), to_string(static_cast<Cause>(health_.cause.load())),
      constrained_dynamics::to_string(last));
  }
  add_value(status, "mode", to_string(mode));
  add_value(status, "status", constrained_dynamics::to_string(last));
  add_value(status, "cycles", health_.cycles.load());
  add_value(status, "missed cycles", health_.missed.load());
  add_value(status, "last cause", to_string(static_cast<Cause>(health_.cause.load())));
  add_value(status, "fallback cycles", health_.fallback.load());
  add_value(status, "singular cycles", health_.singular.load());
  add_value(status, "limited cycles", health_.limited.load());
  add_value(status, "inconsistent cycles", health_.inconsistent.load());
  add_value(status, "commands not written", health_.unwritten.load());
  add_value(status, "references refused", health_.refused.load());
  add_value(status, "longest cycle [s]", health_.longest_cycle.load());
  add_value(
    status, "own messages lost",
    (torques_ ? torques_->lost_count() : 0) + (servo_state_ ? servo_state_->lost_count() : 0));
}

}  // namespace constrained_dynamics_controllers

PLUGINLIB_EXPORT_CLASS(
  constrained_dynamics_controllers::ServoConstraintController,
  controller_interface::ChainableControllerInterface)
