// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics_controllers/model_setup.hpp"

#include <algorithm>
#include <stdexcept>

#include <constrained_dynamics_ros/force_messages.hpp>

namespace constrained_dynamics_controllers
{

namespace
{

std::array<float, 4> colour(const std::string & name, const std::vector<double> & values)
{
  std::array<float, 4> result{};
  for (std::size_t i = 0; i < result.size(); ++i)
  {
    if (!(values[i] >= 0.0 && values[i] <= 1.0))
    {
      throw std::invalid_argument(
        "parameter '" + name + "' has the value " + std::to_string(values[i]) +
        "; allowed: 0 to 1");
    }
    result[i] = static_cast<float>(values[i]);
  }
  return result;
}

}  // namespace

OutputOptions output_options(const model_parameters::Params & parameters)
{
  OutputOptions options;
  options.publish_rate = parameters.publish_rate;
  options.marker_rate = parameters.markers.rate;
  options.wrench_topics = parameters.wrench_topics;
  constrained_dynamics_ros::MarkerStyle & style = options.style;
  style.world_frame = parameters.world_frame;
  style.force_scale = parameters.markers.force_scale;
  style.torque_scale = parameters.markers.torque_scale;
  style.shaft_diameter = parameters.markers.shaft_diameter;
  style.smallest_length = parameters.markers.smallest_length;
  style.largest_length = parameters.markers.largest_length;
  style.text_height = parameters.markers.text_height;
  style.lifetime = parameters.markers.lifetime;
  style.legend = parameters.markers.legend;
  std::copy_n(parameters.markers.legend_position.begin(), 3, style.legend_position.begin());
  style.force_colour = colour("markers.force_colour", parameters.markers.force_colour);
  style.torque_colour = colour("markers.torque_colour", parameters.markers.torque_colour);
  style.inactive_colour = colour("markers.inactive_colour", parameters.markers.inactive_colour);
  constrained_dynamics_ros::check(style);
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
