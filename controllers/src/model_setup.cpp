// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics_controllers/model_setup.hpp"

#include <sstream>
#include <stdexcept>

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

Eigen::VectorXd spread(
  const std::string & name, const std::vector<double> & values, Eigen::Index count,
  const std::string & of, bool may_be_zero)
{
  if (values.empty())
  {
    return {};
  }
  std::ostringstream message;
  if (values.size() != 1 && static_cast<Eigen::Index>(values.size()) != count)
  {
    message << "parameter '" << name << "' has " << values.size()
            << " values; allowed: none, one, or one for each of the " << count << " " << of;
    throw std::invalid_argument(message.str());
  }
  Eigen::VectorXd result(count);
  for (Eigen::Index i = 0; i < count; ++i)
  {
    result(i) = values[values.size() == 1 ? 0 : static_cast<std::size_t>(i)];
    if (!(result(i) > 0.0 || (may_be_zero && result(i) == 0.0)))
    {
      message << "parameter '" << name << "' has the value " << result(i)
              << "; allowed: " << (may_be_zero ? "0 and above" : "above 0");
      throw std::invalid_argument(message.str());
    }
  }
  return result;
}

void report_status(
  constrained_dynamics::Status last, bool is_active,
  diagnostic_msgs::msg::DiagnosticStatus & status)
{
  using constrained_dynamics::Status;
  using diagnostic_msgs::msg::DiagnosticStatus;
  status.message = is_active ? std::string("status ") + to_string(last) : std::string("inactive");
  status.level = !is_active || last == Status::kOk ? DiagnosticStatus::OK
                 : has_output(last)                ? DiagnosticStatus::WARN
                                                   : DiagnosticStatus::ERROR;
  add_value(status, "status", to_string(last));
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
