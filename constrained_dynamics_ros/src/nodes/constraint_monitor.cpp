// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constraint_monitor.hpp"

#include <chrono>
#include <exception>
#include <utility>

#include <constrained_dynamics_ros/force_messages.hpp>
#include <constrained_dynamics_ros/marker_parameters.hpp>
#include <lifecycle_msgs/msg/state.hpp>
#include <rclcpp_components/register_node_macro.hpp>

namespace constrained_dynamics_ros
{

using constrained_dynamics::InputSource;
using constrained_dynamics::JointReadings;
using constrained_dynamics::MonitoredSystem;
using CallbackReturn = ConstraintMonitor::CallbackReturn;

namespace
{

constexpr std::chrono::seconds kReportPeriod(1);
constexpr int kLogPeriod = 5000;  // [ms]

InputSource input_source(const std::string & name)
{
  return name == "static" ? InputSource::kStatic
         : name == "zero" ? InputSource::kZero
                          : InputSource::kInverseDynamics;
}

constrained_dynamics::JointSample to_sample(const sensor_msgs::msg::JointState & message)
{
  constexpr std::int64_t kBillion = 1000000000;
  return {
    message.header.stamp.sec * kBillion + message.header.stamp.nanosec, message.name,
    message.position, message.velocity, message.effort};
}

std::string join(const std::vector<std::string> & names)
{
  std::string text;
  for (const std::string & name : names)
  {
    text += (text.empty() ? "" : ", ") + name;
  }
  return text;
}

}  // namespace

ConstraintMonitor::ConstraintMonitor(const rclcpp::NodeOptions & options)
: rclcpp_lifecycle::LifecycleNode("constraint_monitor", options)
{
}

// ---- lifecycle -------------------------------------------------------------------------------

CallbackReturn ConstraintMonitor::on_configure(const rclcpp_lifecycle::State & /*state*/)
{
  try
  {
    if (!listener_)
    {
      common_listener_ =
        std::make_unique<node_parameters::ParamListener>(get_node_parameters_interface());
      listener_ =
        std::make_unique<constraint_monitor::ParamListener>(get_node_parameters_interface());
      declare_scenario_parameters();
    }
    common_ = common_listener_->get_params();
    parameters_ = listener_->get_params();
    outputs_.publish_rate = 0.0;  // every cycle
    outputs_.marker_rate = common_.markers.rate;
    outputs_.wrench_topics = parameters_.wrench_topics;
    outputs_.style = make_marker_style(common_);
    make_publishers();
    if (!parameters_.robot_description.empty() || parameters_.robot_description_topic.empty())
    {
      load_robot(parameters_.robot_description);
    }
    else
    {
      robot_problem_ = "no robot description on '" + parameters_.robot_description_topic + "' yet";
      robot_subscription_ = create_subscription<std_msgs::msg::String>(
        parameters_.robot_description_topic, rclcpp::QoS(1).transient_local(),
        [this](const std_msgs::msg::String & message) { hear_robot(message); });
    }
  }
  catch (const std::exception & error)
  {
    RCLCPP_ERROR(get_logger(), "%s", error.what());
    release();
    return CallbackReturn::FAILURE;
  }
  return CallbackReturn::SUCCESS;
}

CallbackReturn ConstraintMonitor::on_activate(const rclcpp_lifecycle::State & state)
{
  rclcpp_lifecycle::LifecycleNode::on_activate(state);
  joint_subscription_ = create_subscription<sensor_msgs::msg::JointState>(
    "joint_states", rclcpp::SystemDefaultsQoS(),
    [this](const sensor_msgs::msg::JointState & message) { hear_joints(message); });
  cycle_timer_ =
    create_wall_timer(std::chrono::duration<double>(1.0 / common_.rate), [this] { cycle(); });
  report_timer_ = create_wall_timer(kReportPeriod, [this] { report(); });
  return CallbackReturn::SUCCESS;
}

CallbackReturn ConstraintMonitor::on_deactivate(const rclcpp_lifecycle::State & state)
{
  stop();
  rclcpp_lifecycle::LifecycleNode::on_deactivate(state);
  return CallbackReturn::SUCCESS;
}

CallbackReturn ConstraintMonitor::on_cleanup(const rclcpp_lifecycle::State & /*state*/)
{
  release();
  return CallbackReturn::SUCCESS;
}

CallbackReturn ConstraintMonitor::on_shutdown(const rclcpp_lifecycle::State & /*state*/)
{
  release();
  return CallbackReturn::SUCCESS;
}

void ConstraintMonitor::stop()
{
  joint_subscription_.reset();
  cycle_timer_.reset();
  report_timer_.reset();
  if (robot_)
  {
    robot_->readings().clear();  // of another time
  }
}

void ConstraintMonitor::release()
{
  stop();
  robot_subscription_.reset();
  service_.reset();
  forces_.reset();
  joint_publisher_.reset();
  diagnostic_publisher_.reset();
  robot_.reset();
}

// ---- the robot -------------------------------------------------------------------------------

void ConstraintMonitor::declare_scenario_parameters()
{
  rcl_interfaces::msg::ParameterDescriptor descriptor;
  descriptor.description = "Key of scenario files, see doc/scenario.md.";
  descriptor.read_only = true;
  for (const auto & [name, value] : get_node_parameters_interface()->get_parameter_overrides())
  {
    if (is_scenario_parameter(name) && !has_parameter(name))
    {
      declare_parameter(name, value, descriptor);
    }
  }
}

void ConstraintMonitor::load_robot(const std::string & robot_description)
{
  ScenarioSource source;
  source.file = common_.scenario;
  source.robot_description = robot_description;
  source.profile = parameters_.profile;
  source.without_controls = true;
  for (const auto & [name, value] : get_node_parameters_interface()->get_parameter_overrides())
  {
    if (is_scenario_parameter(name))
    {
      source.parameters[name] = value;
    }
  }
  constrained_dynamics::ScenarioLoadOptions load_options;
  load_options.assemble = false;  // the joint states tell where it is
  MonitoredSystem::Options options;
  options.timeout = parameters_.timeout;
  options.use_effort = parameters_.use_effort;
  options.without_effort = input_source(parameters_.without_effort);
  options.acceleration_filter = parameters_.acceleration_filter;
  auto robot = std::make_unique<MonitoredSystem>(load_scenario(source, load_options), options);

  robot_ = std::move(robot);
  robot_problem_.clear();
  problem_ = "no joint states yet";
  joint_states_ = std::make_unique<JointStates>(robot_->dynamics().system());
  make_force_publisher();
  for (const std::string & warning : robot_->scenario().warnings())
  {
    RCLCPP_WARN(get_logger(), "%s", warning.c_str());
  }
}

void ConstraintMonitor::hear_robot(const std_msgs::msg::String & message)
{
  try
  {
    if (message.data.empty())
    {
      throw std::invalid_argument("the robot description is empty; allowed: URDF, SDF or MJCF");
    }
    load_robot(message.data);
    RCLCPP_INFO(get_logger(), "robot description taken over");
  }
  catch (const std::exception & error)
  {
    robot_problem_ = error.what();
    RCLCPP_ERROR(get_logger(), "robot description: %s", error.what());
  }
}

void ConstraintMonitor::make_publishers()
{
  const rclcpp::QoS stream(10);
  joint_publisher_ = create_publisher<sensor_msgs::msg::JointState>("~/joint_states", stream);
  diagnostic_publisher_ =
    rclcpp::create_publisher<diagnostic_msgs::msg::DiagnosticArray>(*this, "/diagnostics", stream);
  service_ = create_service<SetConstraintActive>(
    "~/set_constraint_active",
    [this](
      const SetConstraintActive::Request::SharedPtr request,
      SetConstraintActive::Response::SharedPtr response)
    {
      response->message =
        robot_ ? robot_->set_active(request->name, request->active) : robot_problem_;
      response->success = response->message.empty();
    });
}

void ConstraintMonitor::make_force_publisher()
{
  const bool is_active =
    get_current_state().id() == lifecycle_msgs::msg::State::PRIMARY_STATE_ACTIVE;
  GenericTopicMaker topics(
    [this, is_active](const std::string & topic, const auto & message)
    {
      using Message = std::decay_t<decltype(message)>;
      const auto publisher = create_publisher<Message>(topic, rclcpp::QoS(10));
      if (is_active)
      {
        publisher->on_activate();
      }
      return Send<Message>(
        [publisher](const Message & sent)
        {
          publisher->publish(sent);
          return true;
        });
    });
  forces_.reset();  // its topics go before others of the same names come
  forces_ = std::make_unique<ConstraintPublisher>(robot_->scenario().dynamics(), outputs_, topics);
}

// ---- cycle -----------------------------------------------------------------------------------

void ConstraintMonitor::hear_joints(const sensor_msgs::msg::JointState & message)
{
  if (!robot_)
  {
    return;
  }
  const JointReadings::Time time = now().nanoseconds();
  if (time < last_now_)
  {
    robot_->readings().clear();  // a simulation began anew
  }
  last_now_ = time;
  std::string refusal = robot_->readings().add(to_sample(message), time);
  if (!refusal.empty())
  {
    RCLCPP_WARN_THROTTLE(
      get_logger(), *get_clock(), kLogPeriod, "joint states: %s", refusal.c_str());
    last_refusal_ = std::move(refusal);
  }
}

void ConstraintMonitor::cycle()
{
  if (!robot_)
  {
    return;
  }
  const JointReadings & readings = robot_->readings();
  const JointReadings::Time time = now().nanoseconds();
  const bool is_new = readings.count() != read_count_;
  if (
    !is_new && readings.has_values() &&
    static_cast<double>(time - readings.newest()) <= 1e9 * parameters_.timeout)
  {
    return;
  }
  const std::string problem = robot_->update(time);
  if (!problem.empty() && problem != problem_)
  {
    RCLCPP_WARN_THROTTLE(get_logger(), *get_clock(), kLogPeriod, "%s", problem.c_str());
  }
  problem_ = problem;
  read_count_ = readings.count();
  if (problem.empty() && is_new)
  {
    publish();
  }
}

void ConstraintMonitor::publish()
{
  const rclcpp::Time stamp(robot_->readings().newest());
  forces_->write(stamp, 1.0 / common_.rate, robot_->status(), robot_->workspace());
  joint_publisher_->publish(
    joint_states_->write(to_message(stamp), robot_->state().q, robot_->rates(), robot_->inputs()));
}

// ---- diagnostics -----------------------------------------------------------------------------

void ConstraintMonitor::report()
{
  Health status = health();
  if (robot_)
  {
    const JointReadings & readings = robot_->readings();
    const constrained_dynamics_msgs::msg::ConstraintForces & forces = forces_->forces();
    status.values = {
      {"status", forces.status},
      {"rank", std::to_string(forces.rank)},
      {"active rows", std::to_string(forces.active_row_count)},
      {"condition", number_text(forces.condition)},
      {"inconsistency", number_text(forces.inconsistency)},
      {"joints found from constraints", join(robot_->completed_names())},
      {"inputs", robot_->has_measured_effort() ? "measured" : parameters_.without_effort},
      {"unknown joints", join(readings.unknown_names())},
      {"values that are not finite", std::to_string(readings.bad_value_count())},
      {"refused messages", std::to_string(readings.refused_count())},
      {"last refusal", last_refusal_}};
  }
  diagnostic_publisher_->publish(
    make_diagnostics(get_name() + std::string(": constraints"), to_message(now()), status));
}

Health ConstraintMonitor::health() const
{
  using diagnostic_msgs::msg::DiagnosticStatus;
  if (!robot_problem_.empty())
  {
    return {robot_ ? DiagnosticStatus::WARN : DiagnosticStatus::ERROR, robot_problem_, {}};
  }
  if (!problem_.empty())
  {
    return {DiagnosticStatus::ERROR, problem_, {}};
  }
  if (robot_->status() != constrained_dynamics::Status::kOk)
  {
    return {DiagnosticStatus::WARN, "status '" + forces_->forces().status + "'", {}};
  }
  const std::string violation =
    robot_->worst_violation(parameters_.position_tolerance, parameters_.velocity_tolerance);
  if (!violation.empty())
  {
    return {DiagnosticStatus::WARN, "violated: " + violation, {}};
  }
  return {DiagnosticStatus::OK, "constraints are met", {}};
}

}  // namespace constrained_dynamics_ros

RCLCPP_COMPONENTS_REGISTER_NODE(constrained_dynamics_ros::ConstraintMonitor)
