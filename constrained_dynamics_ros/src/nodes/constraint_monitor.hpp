// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <memory>
#include <string>
#include <vector>

#include <constrained_dynamics/scenario/monitored_system.hpp>
#include <constrained_dynamics_msgs/srv/set_constraint_active.hpp>
#include <constrained_dynamics_ros/constraint_monitor_parameters.hpp>
#include <constrained_dynamics_ros/constraint_publisher.hpp>
#include <constrained_dynamics_ros/node_parameters.hpp>
#include <constrained_dynamics_ros/scenario_parameters.hpp>
#include <diagnostic_msgs/msg/diagnostic_array.hpp>
#include <rclcpp/rclcpp.hpp>
#include <rclcpp_lifecycle/lifecycle_node.hpp>
#include <sensor_msgs/msg/joint_state.hpp>
#include <std_msgs/msg/string.hpp>

#include "state_messages.hpp"

namespace constrained_dynamics_ros
{

/// Watches a robot from outside: from joint states (some of the joints are enough) and the robot
/// description, constraint forces, residuals, rank, the state of passive joints, markers, health.
/// doc/ros.md says every name. What it is told wrongly it reports and survives.
///
/// configure reads parameters and waits for the robot; activate begins to listen and to speak.
class ConstraintMonitor : public rclcpp_lifecycle::LifecycleNode
{
public:
  explicit ConstraintMonitor(const rclcpp::NodeOptions & options);

  using CallbackReturn = rclcpp_lifecycle::node_interfaces::LifecycleNodeInterface::CallbackReturn;
  CallbackReturn on_configure(const rclcpp_lifecycle::State & state) override;
  CallbackReturn on_activate(const rclcpp_lifecycle::State & state) override;
  CallbackReturn on_deactivate(const rclcpp_lifecycle::State & state) override;
  CallbackReturn on_cleanup(const rclcpp_lifecycle::State & state) override;
  CallbackReturn on_shutdown(const rclcpp_lifecycle::State & state) override;

private:
  using SetConstraintActive = constrained_dynamics_msgs::srv::SetConstraintActive;

  void declare_scenario_parameters();
  /// The robot, from a description; empty: the scenario's own. @throw std::invalid_argument
  void load_robot(const std::string & robot_description);
  void make_publishers();
  /// Topics of the forces, which need to know the robot.
  void make_force_publisher();
  void hear_robot(const std_msgs::msg::String & message);
  void hear_joints(const sensor_msgs::msg::JointState & message);
  void cycle();
  void publish();
  void report();
  Health health() const;
  void stop();
  void release();

  // What was declared once lives as long as the node.
  std::unique_ptr<node_parameters::ParamListener> common_listener_;
  std::unique_ptr<constraint_monitor::ParamListener> listener_;
  node_parameters::Params common_;
  constraint_monitor::Params parameters_;

  std::unique_ptr<constrained_dynamics::MonitoredSystem> robot_;  // none: not there yet
  std::string robot_problem_;                                     // why there is none
  std::string problem_;                                           // of the last cycle
  std::string last_refusal_;                                      // of a message
  long read_count_ = 0;                                           // of the last cycle
  constrained_dynamics::JointReadings::Time last_now_ = 0;

  ConstraintPublisher::Options outputs_;
  std::unique_ptr<ConstraintPublisher> forces_;
  std::unique_ptr<JointStates> joint_states_;
  rclcpp_lifecycle::LifecyclePublisher<sensor_msgs::msg::JointState>::SharedPtr joint_publisher_;
  rclcpp::Publisher<diagnostic_msgs::msg::DiagnosticArray>::SharedPtr diagnostic_publisher_;
  rclcpp::Subscription<std_msgs::msg::String>::SharedPtr robot_subscription_;
  rclcpp::Subscription<sensor_msgs::msg::JointState>::SharedPtr joint_subscription_;
  rclcpp::Service<SetConstraintActive>::SharedPtr service_;
  rclcpp::TimerBase::SharedPtr cycle_timer_;
  rclcpp::TimerBase::SharedPtr report_timer_;
};

}  // namespace constrained_dynamics_ros
