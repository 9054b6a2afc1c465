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

using constrained_dynamics::ServoLaw;
using constrained_dynamics::ServoResult;
using constrained_dynamics::ServoTask;
using constrained_dynamics_msgs::msg::ServoReference;

namespace
{

// Longer than every mode and status, so that copies of a message have room for each.
const char * const kNoMode = "no cycle has been made yet";

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
       {&message.torques, &message.commanded, &message.drives, &message.requested, &message.granted,
        &message.particular, &message.null_part})
  {
    values->resize(count, 0.0);
  }
  message.at_bound.resize(count, false);
  for (const ServoTask & task : law.tasks())
  {
    auto & entry = message.tasks.emplace_back();
    entry.name = task.constraint->name();
    entry.type = task.constraint->type();
    entry.mode = kNoMode;
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
  message.violation = cycle.violation;
  write_values(commanded, message.commanded);
  if (cycle.drives)
  {
    write_values(*cycle.drives, message.drives);
  }
  if (cycle.runtime)
  {
    write_values(cycle.runtime->requested(), message.requested);
    write_values(cycle.runtime->granted(), message.granted);
  }
  for (std::size_t i = 0; i < message.tasks.size(); ++i)
  {
    const int task = static_cast<int>(i);
    message.tasks[i].enabled = workspace.is_enabled(task);
    if (cycle.runtime)
    {
      message.tasks[i].mode = to_string(cycle.runtime->reference(task).mode());
    }
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

std::string read_references(
  const constrained_dynamics_msgs::msg::ServoReferences & message, const ServoLaw & law,
  const std::vector<constrained_dynamics::ReferenceBounds> & bounds,
  const std::string & world_frame, std::vector<ReadReference> & out)
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
  out.clear();
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
    const constrained_dynamics::GivenReference given{
      reference.position, reference.velocity, reference.acceleration};
    ReadReference & read = out.emplace_back();
    read.task = static_cast<int>(task);
    read.has_position = !reference.position.empty();
    read.resumes = given.is_empty();
    const std::string what = constrained_dynamics::complete_reference(
      *law.tasks()[task].constraint, bounds.empty() ? nullptr : &bounds[task], given,
      read.reference);
    if (!what.empty())
    {
      return what;
    }
  }
  return check_null_space(message, law);
}

}  // namespace constrained_dynamics_ros
