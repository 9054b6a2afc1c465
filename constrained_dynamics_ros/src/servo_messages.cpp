// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics_ros/servo_messages.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <set>

#include "constrained_dynamics_ros/force_messages.hpp"

namespace constrained_dynamics_ros
{

using constrained_dynamics::ServoConstraint;
using constrained_dynamics::ServoLaw;
using constrained_dynamics::ServoResult;
using constrained_dynamics::ServoTask;
using constrained_dynamics_msgs::msg::ServoReference;

namespace
{

// Longer than every mode and status, so that copies of a message have room for each.
const char * const kNoMode = "no cycle has been made yet";

constexpr double kQuaternionTolerance = 1e-3;

void write_values(const Eigen::VectorXd & values, std::vector<double> & out) noexcept
{
  const std::size_t count = std::min(out.size(), static_cast<std::size_t>(values.size()));
  std::copy_n(values.data(), count, out.begin());
}

std::string join(const std::vector<std::string> & names)
{
  std::string result;
  for (const std::string & name : names)
  {
    result += (result.empty() ? "" : ", ") + name;
  }
  return result;
}

std::string check_values(
  const std::vector<double> & values, int size, const std::string & where,
  const std::vector<std::string> & names)
{
  if (!values.empty() && values.size() != static_cast<std::size_t>(size))
  {
    return where + " has " + std::to_string(values.size()) + " values; allowed: none or " +
           std::to_string(size) + " (" + join(names) + ")";
  }
  for (std::size_t i = 0; i < values.size(); ++i)
  {
    if (!std::isfinite(values[i]))
    {
      return where + ": '" + names[i] + "' is " + std::to_string(values[i]) +
             "; allowed: finite numbers";
    }
  }
  return "";
}

std::string check_reference(const ServoReference & reference, const ServoConstraint & task)
{
  const std::string where = "reference of '" + reference.name + "': ";
  const std::vector<std::string> names = task.value_names();
  const std::vector<std::string> rates = task.rate_names();
  if (reference.position.empty() && reference.velocity.empty())
  {
    return where + "position and velocity are empty; allowed: one of them at least";
  }
  std::string what =
    check_values(reference.position, task.position_size(), where + "position", names);
  if (what.empty())
  {
    what = check_values(reference.velocity, task.velocity_size(), where + "velocity", rates);
  }
  if (what.empty())
  {
    what =
      check_values(reference.acceleration, task.velocity_size(), where + "acceleration", rates);
  }
  if (what.empty() && task.has_pose_reference() && !reference.position.empty())
  {
    const double norm = Eigen::Vector4d::Map(&reference.position[3]).norm();
    if (std::abs(norm - 1.0) > kQuaternionTolerance)
    {
      what = where + "the quaternion (qx, qy, qz, qw) has the length " + std::to_string(norm) +
             "; allowed: 1";
    }
  }
  return what;
}

std::string check_null_space(
  const constrained_dynamics_msgs::msg::ServoReferences & message, const ServoLaw & law)
{
  if (message.null_space_names.size() != message.null_space.size())
  {
    return "null_space has " + std::to_string(message.null_space.size()) +
           " values; allowed: one for each of the " +
           std::to_string(message.null_space_names.size()) + " null_space_names";
  }
  const std::vector<std::string> & inputs = law.passive().system().input_names();
  std::set<std::string> seen;
  for (std::size_t i = 0; i < message.null_space.size(); ++i)
  {
    const std::string & name = message.null_space_names[i];
    if (std::find(inputs.begin(), inputs.end(), name) == inputs.end())
    {
      return "null_space: there is no input '" + name + "'; allowed: " + join(inputs);
    }
    if (!seen.insert(name).second)
    {
      return "null_space: '" + name + "' appears twice; allowed: once";
    }
    if (!std::isfinite(message.null_space[i]))
    {
      return "null_space: '" + name + "' is " + std::to_string(message.null_space[i]) +
             "; allowed: finite numbers";
    }
  }
  return "";
}

}  // namespace

constrained_dynamics_msgs::msg::ServoState make_servo_message(const ServoLaw & law)
{
  constrained_dynamics_msgs::msg::ServoState message;
  message.mode = kNoMode;
  message.status = kNoMode;
  message.solution = kNoMode;
  message.names = law.passive().system().input_names();
  const std::size_t count = message.names.size();
  for (std::vector<double> * values :
       {&message.torques, &message.commanded, &message.particular, &message.null_part})
  {
    values->resize(count, 0.0);
  }
  message.at_bound.resize(count, false);
  for (const ServoTask & task : law.tasks())
  {
    auto & entry = message.tasks.emplace_back();
    entry.name = task.constraint->name();
    entry.type = task.constraint->type();
    for (const constrained_dynamics::RowDescription & row : task.constraint->rows())
    {
      entry.rows.push_back(row.label);
    }
    entry.error.resize(entry.rows.size(), 0.0);
    entry.error_rate.resize(entry.rows.size(), 0.0);
    entry.residual.resize(entry.rows.size(), 0.0);
  }
  return message;
}

void write_servo(
  const rclcpp::Time & stamp, const ServoCycle & cycle, const ServoLaw & law,
  const constrained_dynamics::ServoWorkspace & workspace, const Eigen::VectorXd & commanded,
  constrained_dynamics_msgs::msg::ServoState & message) noexcept
{
  const ServoResult & result = workspace.result();
  message.header.stamp = to_message(stamp);
  message.sequence = cycle.sequence;
  message.mode = cycle.mode;
  message.status = to_string(cycle.status);
  message.compute_time = cycle.compute_time;
  write_values(commanded, message.commanded);
  for (std::size_t i = 0; i < message.tasks.size(); ++i)
  {
    message.tasks[i].enabled = workspace.is_enabled(static_cast<int>(i));
  }
  if (!has_output(cycle.status))
  {
    return;
  }
  message.solution = to_string(result.solution);
  write_values(result.inputs, message.torques);
  write_values(result.particular, message.particular);
  write_values(result.null_part, message.null_part);
  std::copy(result.at_bound.begin(), result.at_bound.end(), message.at_bound.begin());
  message.rank = static_cast<std::uint32_t>(result.rank);
  message.null_dimension = static_cast<std::uint32_t>(result.null_dimension);
  message.condition = result.condition;
  message.damped = result.damped;
  message.limited = result.limited;
  message.cones_met = result.cones_met;
  for (std::size_t i = 0; i < message.tasks.size(); ++i)
  {
    auto & task = message.tasks[i];
    const auto offset = law.row_offset(static_cast<int>(i));
    task.relaxed = result.relaxed[i];
    std::copy_n(result.error.data() + offset, task.error.size(), task.error.begin());
    std::copy_n(result.error_rate.data() + offset, task.error_rate.size(), task.error_rate.begin());
    std::copy_n(result.residual.data() + offset, task.residual.size(), task.residual.begin());
  }
}

std::string check_references(
  const constrained_dynamics_msgs::msg::ServoReferences & message, const ServoLaw & law,
  const std::string & world_frame)
{
  if (!message.header.frame_id.empty() && message.header.frame_id != world_frame)
  {
    return "frame_id is '" + message.header.frame_id + "'; allowed: '" + world_frame + "' or none";
  }
  std::vector<std::string> names;
  for (const ServoTask & task : law.tasks())
  {
    names.push_back(task.constraint->name());
  }
  std::set<std::string> seen;
  for (const ServoReference & reference : message.references)
  {
    const auto found = std::find(names.begin(), names.end(), reference.name);
    if (found == names.end())
    {
      return "there is no servo-constraint '" + reference.name + "'; allowed: " + join(names);
    }
    if (!seen.insert(reference.name).second)
    {
      return "'" + reference.name + "' appears twice; allowed: once";
    }
    const std::size_t task = static_cast<std::size_t>(found - names.begin());
    const std::string what = check_reference(reference, *law.tasks()[task].constraint);
    if (!what.empty())
    {
      return what;
    }
  }
  return check_null_space(message, law);
}

}  // namespace constrained_dynamics_ros
