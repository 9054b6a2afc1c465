// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "scenario_player.hpp"

#include <algorithm>
#include <stdexcept>

#include <constrained_dynamics_ros/force_messages.hpp>
#include <constrained_dynamics_ros/marker_parameters.hpp>
#include <constrained_dynamics_ros/scenario_parameters.hpp>
#include <rclcpp_components/register_node_macro.hpp>

namespace constrained_dynamics_ros
{

using constrained_dynamics::ContactEvent;
using constrained_dynamics::RequestError;
using constrained_dynamics::Status;
using std::chrono::duration;
using std::chrono::steady_clock;

namespace
{

// Simulated time of one cycle at most, in periods of it: what is missed beyond is given up, so that
// a slow machine answers requests all the same.
constexpr double kMostPeriods = 5.0;
constexpr std::chrono::seconds kReportPeriod(1);

double seconds_between(steady_clock::time_point begin, steady_clock::time_point end)
{
  return duration<double>(end - begin).count();
}

std::string scenario_path(const std::string & name)
{
  if (name.empty())
  {
    throw std::invalid_argument("scenario: ''; allowed: the path of a scenario file, package://…");
  }
  return resolve_uri(name);
}

Eigen::Vector3d vector(const geometry_msgs::msg::Vector3 & message)
{
  return {message.x, message.y, message.z};
}

}  // namespace

ScenarioPlayer::ScenarioPlayer(const rclcpp::NodeOptions & options)
: rclcpp::Node("scenario_player", options),
  common_listener_(get_node_parameters_interface()),
  listener_(get_node_parameters_interface()),
  common_(common_listener_.get_params()),
  parameters_(listener_.get_params()),
  hosted_(scenario_path(common_.scenario), parameters_.set, parameters_.until),
  is_paused_(parameters_.paused),
  is_clock_(parameters_.publish_clock || get_parameter("use_sim_time").as_bool()),
  last_cycle_(steady_clock::now()),
  joint_states_(hosted_.dynamics().system()),
  transforms_(hosted_.dynamics().system(), common_.world_frame),
  bodies_(hosted_.dynamics(), common_.world_frame, common_.markers.lifetime),
  last_report_(last_cycle_)
{
  for (const std::string & warning : hosted_.scenario().warnings())
  {
    RCLCPP_WARN(get_logger(), "%s", warning.c_str());
  }
  torques_.name = hosted_.dynamics().system().input_names();
  make_publishers();
  make_services();
  cycle_timer_ = create_wall_timer(duration<double>(1.0 / common_.rate), [this] { cycle(); });
  report_timer_ = create_wall_timer(kReportPeriod, [this] { report(); });
  publish();
}

void ScenarioPlayer::make_publishers()
{
  const rclcpp::QoS stream(10);  // reliable, as all of them
  GenericTopicMaker topics(
    [this, stream](const std::string & topic, const auto & message)
    {
      using Message = std::decay_t<decltype(message)>;
      const auto publisher = create_publisher<Message>(topic, stream);
      return Send<Message>(
        [publisher](const Message & sent)
        {
          publisher->publish(sent);
          return true;
        });
    });
  ConstraintPublisher::Options outputs;
  outputs.publish_rate = 0.0;  // every cycle
  outputs.marker_rate = common_.markers.rate;
  outputs.style = make_marker_style(common_);
  forces_ = std::make_unique<ConstraintPublisher>(hosted_.scenario().dynamics(), outputs, topics);
  torque_publisher_ = create_publisher<sensor_msgs::msg::JointState>("~/torques", stream);
  joint_publisher_ = create_publisher<sensor_msgs::msg::JointState>("joint_states", stream);
  event_publisher_ = create_publisher<constrained_dynamics_msgs::msg::ConstraintEvent>(
    "~/events", rclcpp::QoS(1000));
  diagnostic_publisher_ =
    create_publisher<diagnostic_msgs::msg::DiagnosticArray>("/diagnostics", stream);
  if (parameters_.publish_tf && !transforms_.empty())
  {
    transform_publisher_ = create_publisher<tf2_msgs::msg::TFMessage>("/tf", rclcpp::QoS(100));
  }
  if (common_.markers.rate > 0.0 && !bodies_.empty())
  {
    body_publisher_ = create_publisher<visualization_msgs::msg::MarkerArray>("~/bodies", stream);
  }
  if (is_clock_)
  {
    clock_publisher_ = create_publisher<rosgraph_msgs::msg::Clock>("/clock", stream);
  }
}

// ---- cycle -----------------------------------------------------------------------------------

void ScenarioPlayer::cycle()
{
  const steady_clock::time_point now = steady_clock::now();
  const double elapsed = seconds_between(last_cycle_, now);
  last_cycle_ = now;
  if (listener_.is_old(parameters_))
  {
    parameters_ = listener_.get_params();
  }
  if (!is_paused_)
  {
    advance(parameters_.real_time_factor * std::min(elapsed, kMostPeriods / common_.rate));
  }
  busy_ += seconds_between(now, steady_clock::now());
  publish();
}

void ScenarioPlayer::advance(double duration)
{
  if (!hosted_.has_failed() && hosted_.has_ended() && parameters_.loop)
  {
    publish_events();
    hosted_.reset();
    return;
  }
  const bool had_failed = hosted_.has_failed();
  const double before = hosted_.time();
  hosted_.advance(duration);
  simulated_ += hosted_.time() - before;
  if (hosted_.has_failed() && !had_failed)
  {
    RCLCPP_ERROR(
      get_logger(), "the simulation ended at %.6g s with status '%s'; ~/reset starts it anew",
      hosted_.time(), to_string(hosted_.failure()));
  }
}

rclcpp::Time ScenarioPlayer::stamp(double simulated)
{
  constexpr double kNanoseconds = 1e9;
  if (is_clock_)
  {
    return rclcpp::Time(
      static_cast<rcl_time_point_value_t>(std::max(0.0, simulated) * kNanoseconds + 0.5));
  }
  return now() - rclcpp::Duration::from_seconds(hosted_.time() - simulated);
}

void ScenarioPlayer::publish()
{
  publish_events();
  const constrained_dynamics::Simulation & simulation = hosted_.simulation();
  const constrained_dynamics::Workspace & workspace = simulation.workspace();
  const rclcpp::Time time = stamp(hosted_.time());
  const Time message_time = to_message(time);
  if (clock_publisher_)
  {
    rosgraph_msgs::msg::Clock clock;
    clock.clock = message_time;
    clock_publisher_->publish(clock);
  }
  forces_->write(
    time, 1.0 / common_.rate, hosted_.has_failed() ? hosted_.failure() : hosted_.status(),
    workspace);
  joint_publisher_->publish(joint_states_.write(
    message_time, workspace.terms().coordinates, workspace.terms().rates, simulation.inputs()));
  torques_.header.stamp = message_time;
  torques_.effort.assign(
    simulation.inputs().data(), simulation.inputs().data() + simulation.inputs().size());
  torque_publisher_->publish(torques_);
  since_bodies_ += 1.0 / common_.rate;
  if (body_publisher_ && since_bodies_ * common_.markers.rate >= 1.0)
  {
    since_bodies_ = 0.0;
    body_publisher_->publish(bodies_.write(message_time, workspace.system_data()));
  }
  // Listeners of transforms complain about stamps that come twice.
  if (transform_publisher_ && message_time != last_transform_stamp_)
  {
    last_transform_stamp_ = message_time;
    tf2_msgs::msg::TFMessage transforms = transforms_.write(message_time, workspace.system_data());
    if (!parameters_.view_frame.empty())
    {
      transforms.transforms.push_back(bodies_.view());
      transforms.transforms.back().header.stamp = message_time;
      transforms.transforms.back().child_frame_id = parameters_.view_frame;
    }
    transform_publisher_->publish(transforms);
  }
}

void ScenarioPlayer::publish_events()
{
  lost_events_ += hosted_.simulation().lost_event_count();
  for (const ContactEvent & event : hosted_.simulation().events())
  {
    event_publisher_->publish(make_event_message(
      event, hosted_.dynamics().constraints(), to_message(stamp(event.time)), common_.world_frame));
  }
  hosted_.clear_events();
}

// ---- diagnostics -----------------------------------------------------------------------------

void ScenarioPlayer::report()
{
  const steady_clock::time_point time = steady_clock::now();
  const double elapsed = std::max(seconds_between(last_report_, time), 1e-3);
  last_report_ = time;
  Health status = health(simulated_ / elapsed);
  const constrained_dynamics_msgs::msg::ConstraintForces & forces = forces_->forces();
  status.values = {
    {"scenario", hosted_.scenario().name()},
    {"time", number_text(hosted_.time())},
    {"paused", is_paused_ ? "true" : "false"},
    {"status", forces.status},
    {"rank", std::to_string(forces.rank)},
    {"active rows", std::to_string(forces.active_row_count)},
    {"condition", number_text(forces.condition)},
    {"real-time factor", number_text(simulated_ / elapsed)},
    {"busy", number_text(busy_ / elapsed)},
    {"lost events", std::to_string(lost_events_)}};
  simulated_ = 0.0;
  busy_ = 0.0;
  diagnostic_publisher_->publish(
    make_diagnostics(get_name() + std::string(": simulation"), to_message(now()), status));
}

Health ScenarioPlayer::health(double factor) const
{
  using diagnostic_msgs::msg::DiagnosticStatus;
  const auto status = [this] { return "status '" + forces_->forces().status + "'"; };
  if (hosted_.has_failed())
  {
    return {DiagnosticStatus::ERROR, "ended with " + status(), {}};
  }
  if (!has_output(hosted_.status()))
  {
    return {DiagnosticStatus::ERROR, status(), {}};
  }
  if (is_paused_)
  {
    return {DiagnosticStatus::OK, "paused", {}};
  }
  if (hosted_.has_ended() && !parameters_.loop)
  {
    return {DiagnosticStatus::OK, "at its end", {}};
  }
  if (hosted_.status() != Status::kOk)
  {
    return {DiagnosticStatus::WARN, status(), {}};
  }
  if (factor < 0.9 * parameters_.real_time_factor)
  {
    return {
      DiagnosticStatus::WARN,
      "too slow: " + number_text(factor) + " instead of " +
        number_text(parameters_.real_time_factor) + " seconds a second",
      {}};
  }
  return {DiagnosticStatus::OK, "running", {}};
}

// ---- services --------------------------------------------------------------------------------

template <typename Response, typename Action>
void ScenarioPlayer::answer(Response & response, const Action & action)
{
  try
  {
    action();
    response.success = true;
    response.message = "at " + number_text(hosted_.time()) + " s";
    publish();
  }
  catch (const RequestError & error)
  {
    response.success = false;
    response.message = error.what();
  }
}

void ScenarioPlayer::make_services()
{
  using std_srvs::srv::SetBool;
  using std_srvs::srv::Trigger;
  services_.push_back(create_service<SetBool>(
    "~/pause",
    [this](const SetBool::Request::SharedPtr request, SetBool::Response::SharedPtr response)
    {
      is_paused_ = request->data;
      response->success = true;
      response->message = std::string(is_paused_ ? "paused" : "running") + " at " +
                          number_text(hosted_.time()) + " s";
    }));
  services_.push_back(create_service<Trigger>(
    "~/reset",
    [this](const Trigger::Request::SharedPtr, Trigger::Response::SharedPtr response)
    {
      publish_events();
      answer(*response, [this] { hosted_.reset(); });
    }));
  services_.push_back(create_service<StepSimulation>(
    "~/step",
    [this](
      const StepSimulation::Request::SharedPtr request,
      StepSimulation::Response::SharedPtr response) { answer_step(*request, *response); }));
  services_.push_back(create_service<SetConstraintActive>(
    "~/set_constraint_active",
    [this](
      const SetConstraintActive::Request::SharedPtr request,
      SetConstraintActive::Response::SharedPtr response)
    {
      answer(
        *response, [&] { response->impulse = hosted_.set_active(request->name, request->active); });
    }));
  services_.push_back(create_service<ApplyImpulse>(
    "~/push", [this](
                const ApplyImpulse::Request::SharedPtr request,
                ApplyImpulse::Response::SharedPtr response) { answer_push(*request, *response); }));
}

void ScenarioPlayer::answer_step(
  const StepSimulation::Request & request, StepSimulation::Response & response)
{
  answer(
    response,
    [&]
    {
      if (!is_paused_)
      {
        throw RequestError("the simulation runs; ~/pause it first");
      }
      hosted_.step(request.steps);
    });
  response.time = hosted_.time();
}

void ScenarioPlayer::answer_push(
  const ApplyImpulse::Request & request, ApplyImpulse::Response & response)
{
  answer(
    response,
    [&]
    {
      response.energy_change = hosted_.push(
        {request.frame, vector(request.force), vector(request.torque), request.names,
         request.values});
    });
}

}  // namespace constrained_dynamics_ros

RCLCPP_COMPONENTS_REGISTER_NODE(constrained_dynamics_ros::ScenarioPlayer)
