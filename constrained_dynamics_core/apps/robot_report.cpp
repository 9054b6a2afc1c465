// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "robot_report.hpp"

#include <stdexcept>

#include "constrained_dynamics/model/control_state_system.hpp"
#include "constrained_dynamics/model/force_element.hpp"
#include "output.hpp"

namespace cdyn
{

namespace cd = constrained_dynamics;

namespace
{

void write_wrench(cd::JsonWriter & json, const char * key, const cd::Wrench & wrench, double sign)
{
  json.key(key)
    .begin_object()
    .entry("force", Eigen::Vector3d(sign * wrench.force))
    .entry("torque", Eigen::Vector3d(sign * wrench.torque))
    .end_object();
}

}  // namespace

RobotReport::RobotReport(const cd::Scenario & scenario, bool with_reactions)
: robot_(scenario.system().underlying().as_robot()),
  is_wrapped_(robot_ != &scenario.system()),
  has_columns_(with_reactions)
{
  if (robot_ != nullptr)
  {
    reactions_.emplace(*scenario.dynamics());
  }
  if (with_reactions && robot_ == nullptr)
  {
    throw std::invalid_argument(
      "--reactions: the system has no joints; allowed: systems of robots and bodies");
  }
  if (with_reactions)
  {
    forces_.resize(robot_->joints().size());
    torques_.resize(robot_->joints().size());
  }
}

void RobotReport::add(const cd::Workspace & workspace)
{
  if (!has_columns_ || reactions_->update(workspace) != cd::Status::kOk)
  {
    return;
  }
  for (std::size_t i = 0; i < forces_.size(); ++i)
  {
    forces_[i].add(reactions_->wrenches()[i].force.norm());
    torques_[i].add(reactions_->wrenches()[i].torque.norm());
  }
}

void RobotReport::write_ranges(cd::JsonWriter & json) const
{
  if (!has_columns_)
  {
    return;
  }
  json.key("reactions").begin_object();
  for (std::size_t i = 0; i < forces_.size(); ++i)
  {
    json.key(robot_->joints()[i].name).begin_object();
    forces_[i].write(json, "force", false);
    torques_[i].write(json, "torque", false);
    json.end_object();
  }
  json.end_object();
}

std::string RobotReport::describe_ranges(std::size_t width) const
{
  std::string text = has_columns_ ? range_heading("joint reactions", width) : "";
  for (std::size_t i = 0; i < forces_.size(); ++i)
  {
    const std::string & name = robot_->joints()[i].name;
    text += range_line("|force| " + name, forces_[i], width);
    text += range_line("|torque| " + name, torques_[i], width);
  }
  return text;
}

const cd::SystemData & RobotReport::robot_data(const cd::Workspace & workspace) const
{
  const cd::SystemData & data = workspace.system_data();
  return is_wrapped_ ? cd::ControlStateSystem::wrapped_data(data) : data;
}

std::vector<std::string> RobotReport::column_names() const
{
  std::vector<std::string> names;
  if (robot_ == nullptr)
  {
    return names;
  }
  for (const auto & element : robot_->force_elements())
  {
    for (const char * quantity : {".value", ".rate", ".effort", ".energy"})
    {
      names.push_back("element." + element->name() + quantity);
    }
  }
  for (std::size_t i = 0; has_columns_ && i < robot_->joints().size(); ++i)
  {
    for (const char * quantity : {".force", ".torque"})
    {
      for (const char * axis : {".x", ".y", ".z"})
      {
        names.push_back("reaction." + robot_->joints()[i].name + quantity + axis);
      }
    }
  }
  return names;
}

std::string RobotReport::csv_values(const cd::Workspace & workspace)
{
  std::string values;
  if (robot_ == nullptr)
  {
    return values;
  }
  for (std::size_t i = 0; i < robot_->force_elements().size(); ++i)
  {
    const cd::ForceElementState & state =
      robot_->force_element_state(robot_data(workspace), static_cast<int>(i));
    for (const double value : {state.value, state.rate, state.effort, state.energy})
    {
      values += "," + csv_number(value);
    }
  }
  if (!has_columns_)
  {
    return values;
  }
  const bool is_known = reactions_->update(workspace) == cd::Status::kOk;
  for (const cd::Wrench & wrench : reactions_->wrenches())
  {
    for (const Eigen::Vector3d & vector : {wrench.force, wrench.torque})
    {
      for (Eigen::Index k = 0; k < 3; ++k)
      {
        values += "," + (is_known ? csv_number(vector(k)) : std::string());
      }
    }
  }
  return values;
}

void RobotReport::write(cd::JsonWriter & json, const cd::Workspace & workspace)
{
  json.key("force_elements").begin_array();
  for (std::size_t i = 0; robot_ != nullptr && i < robot_->force_elements().size(); ++i)
  {
    const cd::ForceElement & element = *robot_->force_elements()[i];
    const cd::ForceElementState & state =
      robot_->force_element_state(robot_data(workspace), static_cast<int>(i));
    json.begin_object()
      .entry("name", element.name())
      .entry("type", element.type())
      .entry("frame_a", element.frame_a())
      .entry("frame_b", element.frame_b())
      .entry("value", state.value)
      .entry("rate", state.rate)
      .entry("effort", state.effort)
      .entry("energy", state.energy)
      .entry("point", state.on_a.point);
    write_wrench(json, "on_a", state.on_a, 1.0);
    write_wrench(json, "on_b", state.on_a, -1.0);
    json.end_object();
  }
  json.end_array();
  json.key("joint_reactions").begin_array();
  const bool is_known = robot_ != nullptr && reactions_->update(workspace) == cd::Status::kOk;
  for (std::size_t i = 0; is_known && i < robot_->joints().size(); ++i)
  {
    const cd::RigidBodySystem::Joint & joint = robot_->joints()[i];
    const cd::Wrench & wrench = reactions_->wrenches()[i];
    json.begin_object()
      .entry("joint", joint.name)
      .entry("child", joint.child)
      .entry("parent", joint.parent)
      .entry("point", wrench.point);
    write_wrench(json, "on_child", wrench, 1.0);
    write_wrench(json, "on_parent", wrench, -1.0);
    json.end_object();
  }
  json.end_array();
}

}  // namespace cdyn
