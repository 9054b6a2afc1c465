// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include <constrained_dynamics/scenario/hosted_scenario.hpp>
#include <constrained_dynamics_msgs/msg/constraint_event.hpp>
#include <constrained_dynamics_msgs/srv/apply_impulse.hpp>
#include <constrained_dynamics_msgs/srv/set_constraint_active.hpp>
#include <constrained_dynamics_msgs/srv/step_simulation.hpp>
#include <constrained_dynamics_ros/constraint_publisher.hpp>
#include <constrained_dynamics_ros/node_parameters.hpp>
#include <constrained_dynamics_ros/scenario_player_parameters.hpp>
#include <diagnostic_msgs/msg/diagnostic_array.hpp>
#include <rclcpp/rclcpp.hpp>
#include <rosgraph_msgs/msg/clock.hpp>
#include <sensor_msgs/msg/joint_state.hpp>
#include <std_srvs/srv/set_bool.hpp>
#include <std_srvs/srv/trigger.hpp>
#include <tf2_msgs/msg/tf_message.hpp>

#include "body_markers.hpp"
#include "state_messages.hpp"

namespace constrained_dynamics_ros
{

/// Any scenario file as a node: forces, joint states, transforms, markers, events, clock; services
/// pause, step, reset, switch a constraint, push. doc/ros.md says every name.
///
/// Everything happens in one group of callbacks: a request is met between two cycles.
class ScenarioPlayer : public rclcpp::Node
{
public:
  /// @throw std::invalid_argument and rclcpp's exceptions of parameters, for bad ones.
  explicit ScenarioPlayer(const rclcpp::NodeOptions & options);

private:
  using ApplyImpulse = constrained_dynamics_msgs::srv::ApplyImpulse;
  using SetConstraintActive = constrained_dynamics_msgs::srv::SetConstraintActive;
  using StepSimulation = constrained_dynamics_msgs::srv::StepSimulation;
  using Time = builtin_interfaces::msg::Time;

  void make_publishers();
  void make_services();

  void cycle();
  void advance(double duration);
  void publish();
  void publish_events();
  /// Of now, or of a simulated time; wall clock unless this node is the clock.
  rclcpp::Time stamp(double simulated);
  void report();
  Health health(double factor) const;

  /// Calls `action` and writes into a response whether that went well, or what was wrong.
  template <typename Response, typename Action>
  void answer(Response & response, const Action & action);
  void answer_step(const StepSimulation::Request & request, StepSimulation::Response & response);
  void answer_push(const ApplyImpulse::Request & request, ApplyImpulse::Response & response);

  node_parameters::ParamListener common_listener_;
  scenario_player::ParamListener listener_;
  node_parameters::Params common_;
  scenario_player::Params parameters_;
  constrained_dynamics::HostedScenario hosted_;
  bool is_paused_;
  bool is_clock_;
  long lost_events_ = 0;
  std::chrono::steady_clock::time_point last_cycle_;

  std::unique_ptr<ConstraintPublisher> forces_;
  sensor_msgs::msg::JointState torques_;
  JointStates joint_states_;
  LinkTransforms transforms_;
  BodyMarkers bodies_;
  double since_bodies_ = 0.0;  // [s]; they are drawn at the rate of markers
  Time last_transform_stamp_;

  // Since the last report.
  std::chrono::steady_clock::time_point last_report_;
  double simulated_ = 0.0;
  double busy_ = 0.0;

  rclcpp::Publisher<sensor_msgs::msg::JointState>::SharedPtr torque_publisher_;
  rclcpp::Publisher<sensor_msgs::msg::JointState>::SharedPtr joint_publisher_;
  rclcpp::Publisher<constrained_dynamics_msgs::msg::ConstraintEvent>::SharedPtr event_publisher_;
  rclcpp::Publisher<diagnostic_msgs::msg::DiagnosticArray>::SharedPtr diagnostic_publisher_;
  rclcpp::Publisher<tf2_msgs::msg::TFMessage>::SharedPtr transform_publisher_;
  rclcpp::Publisher<visualization_msgs::msg::MarkerArray>::SharedPtr body_publisher_;
  rclcpp::Publisher<rosgraph_msgs::msg::Clock>::SharedPtr clock_publisher_;
  std::vector<rclcpp::ServiceBase::SharedPtr> services_;
  rclcpp::TimerBase::SharedPtr cycle_timer_;
  rclcpp::TimerBase::SharedPtr report_timer_;
};

}  // namespace constrained_dynamics_ros
