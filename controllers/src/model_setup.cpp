// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics_controllers/model_setup.hpp"

#include <constrained_dynamics_ros/force_messages.hpp>
#include <constrained_dynamics_ros/marker_parameters.hpp>

namespace constrained_dynamics_controllers
{

OutputOptions output_options(const model_parameters::Params & parameters)
{
  OutputOptions options;
  options.publish_rate = parameters.publish_rate;
  options.marker_rate = parameters.markers.rate;
  options.wrench_topics = parameters.wrench_topics;
  options.style = constrained_dynamics_ros::make_marker_style(parameters);
  return options;
}

std::vector<std::string> measured_joints(
  const constrained_dynamics::System & system, const model_parameters::Params & parameters)
{
  std::vector<std::string> joints = system.input_names();
  joints.insert(joints.end(), parameters.passive_joints.begin(), parameters.passive_joints.end());
  return joints;
}

sensor_msgs::msg::JointState make_joint_message(
  const constrained_dynamics::System & system, std::vector<JointOfInput> & joints)
{
  sensor_msgs::msg::JointState message;
  message.name = system.input_names();
  joints.clear();
  for (int i = 0; i < system.input_count(); ++i)
  {
    const std::string & name = message.name[static_cast<std::size_t>(i)];
    joints.push_back({i, system.coordinate_index(name), system.speed_index("d" + name)});
  }
  message.position.resize(message.name.size(), 0.0);
  message.velocity.resize(message.name.size(), 0.0);
  message.effort.resize(message.name.size(), 0.0);
  return message;
}

void write_joint_message(
  const rclcpp::Time & time, const std::vector<JointOfInput> & joints, const Eigen::VectorXd & q,
  const Eigen::VectorXd & u, const Eigen::VectorXd & effort,
  sensor_msgs::msg::JointState & message) noexcept
{
  message.header.stamp = constrained_dynamics_ros::to_message(time);
  for (const auto & [input, coordinate, speed] : joints)
  {
    const std::size_t i = static_cast<std::size_t>(input);
    message.position[i] = q(coordinate);
    message.velocity[i] = u(speed);
    message.effort[i] = effort(input);
  }
}

}  // namespace constrained_dynamics_controllers
