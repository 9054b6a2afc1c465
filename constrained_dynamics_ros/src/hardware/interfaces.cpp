// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "hardware/interfaces.hpp"

#include <algorithm>
#include <cstddef>
#include <stdexcept>
#include <tuple>

namespace constrained_dynamics_ros::simulated
{

using constrained_dynamics::System;
using hardware_interface::ComponentInfo;
using hardware_interface::InterfaceInfo;

namespace
{

std::string join(const std::vector<std::string> & names)
{
  std::string result;
  for (const std::string & name : names)
  {
    result += (result.empty() ? "" : ", ") + name;
  }
  return result.empty() ? "none" : result;
}

int find(const std::vector<std::string> & names, const std::string & name)
{
  const auto found = std::find(names.begin(), names.end(), name);
  return found == names.end() ? -1 : static_cast<int>(found - names.begin());
}

/// Names of coordinates whose rate is a speed: what may be a joint of the <ros2_control> tag.
std::vector<std::string> simple_coordinates(const System & system)
{
  std::vector<std::string> names;
  for (const std::string & name : system.coordinate_names())
  {
    if (find(system.speed_names(), "d" + name) >= 0)
    {
      names.push_back(name);
    }
  }
  return names;
}

/// What a sensor of a constraint can show, without the name of the sensor.
std::vector<Channel> force_channels(
  const constrained_dynamics::ConstraintSet & constraints, int constraint)
{
  std::vector<Channel> channels;
  const std::array<const char *, 3> axes = {"x", "y", "z"};
  if (!constraints[constraint].wrench_bodies().empty())
  {
    const int pair = constraints.wrench_offset(constraint);
    for (int axis = 0; axis < 3; ++axis)
    {
      const std::string letter = axes[static_cast<std::size_t>(axis)];
      channels.push_back({"force." + letter, Quantity::kForce, pair, axis, nullptr});
      channels.push_back({"torque." + letter, Quantity::kTorque, pair, axis, nullptr});
    }
  }
  int row = constraints.row_offset(constraint);
  for (const constrained_dynamics::RowDescription & description : constraints[constraint].rows())
  {
    channels.push_back(
      {"multiplier." + description.label, Quantity::kMultiplier, row++, 0, nullptr});
  }
  return channels;
}

}  // namespace

InterfaceNames interface_names(const constrained_dynamics::RobotProfile * profile)
{
  InterfaceNames names;
  names.commands.back() = profile ? profile->command_interface : names.commands.back();
  names.states = constrained_dynamics::channel_names(profile);
  return names;
}

InterfaceTable::InterfaceTable(
  const hardware_interface::HardwareInfo & info, const constrained_dynamics::Dynamics & dynamics,
  const constrained_dynamics::RobotProfile * profile)
: names(interface_names(profile)), profile_(profile)
{
  for (const ComponentInfo & joint : info.joints)
  {
    add_joint(dynamics.system(), joint);
  }
  for (const ComponentInfo & sensor : info.sensors)
  {
    add_sensor(dynamics.constraints(), sensor);
  }
  if (!info.gpios.empty())
  {
    throw std::invalid_argument(
      "gpio '" + info.gpios.front().name + "' is not simulated; allowed: joints and sensors");
  }
  add_unlisted(dynamics.system());
  profile_ = nullptr;
}

void InterfaceTable::add_joint(const System & system, const ComponentInfo & info)
{
  Joint joint;
  joint.name = info.name;
  joint.coordinate = find(system.coordinate_names(), info.name);
  joint.speed = find(system.speed_names(), "d" + info.name);
  joint.actuator = find(system.input_names(), info.name);
  if (joint.coordinate < 0 || joint.speed < 0)
  {
    throw std::invalid_argument(
      "joint '" + info.name + "' of the <ros2_control> tag is no joint of the simulated system; " +
      "allowed: " + join(simple_coordinates(system)));
  }
  for (const InterfaceInfo & state : info.state_interfaces)
  {
    add_state(joint, state.name);
  }
  for (const InterfaceInfo & command : info.command_interfaces)
  {
    add_command(system, command.name, joint);
  }
  joints.push_back(std::move(joint));
}

void InterfaceTable::add_state(const Joint & joint, const std::string & interface)
{
  const int index = static_cast<int>(joints.size());  // of the joint
  const std::array<std::tuple<std::string, Quantity, int>, 4> known = {
    {{names.states.position, Quantity::kPosition, joint.coordinate},
     {names.states.velocity, Quantity::kVelocity, joint.speed},
     {hardware_interface::HW_IF_ACCELERATION, Quantity::kAcceleration, joint.speed},
     {names.states.effort, Quantity::kEffort, index}}};
  const std::string name = joint.name + "/" + interface;
  std::vector<std::string> allowed;
  for (const auto & [known_name, quantity, of] : known)
  {
    allowed.push_back(known_name);
    if (interface == known_name)
    {
      if (quantity == Quantity::kEffort && profile_)
      {
        profile_->require_effort_contents();
      }
      channels.push_back({name, quantity, of, 0, nullptr});
      return;
    }
  }
  throw std::invalid_argument("state interface '" + name + "'; allowed: " + join(allowed));
}

void InterfaceTable::add_command(
  const System & system, const std::string & interface, Joint & joint)
{
  const std::string name = joint.name + "/" + interface;
  if (interface == names.commands.back())
  {
    if (profile_)
    {
      profile_->require_command_terms();
    }
    joint.input = joint.actuator;
    if (joint.input < 0)
    {
      throw std::invalid_argument(
        "command interface '" + name + "': the scenario has no input '" + joint.name +
        "' (system.actuated); allowed: " + join(system.input_names()));
    }
  }
  else if (interface == names.commands[0] || interface == names.commands[1])
  {
    if (joint.drive < 0)
    {
      joint.drive = static_cast<int>(driven.size());
      driven.push_back(joint.name);
    }
  }
  else
  {
    throw std::invalid_argument(
      "command interface '" + name +
      "'; allowed: " + join({names.commands.begin(), names.commands.end()}));
  }
}

void InterfaceTable::add_sensor(
  const constrained_dynamics::ConstraintSet & constraints, const ComponentInfo & info)
{
  std::vector<std::string> known;
  for (int i = 0; i < constraints.size(); ++i)
  {
    known.push_back(constraints[i].name());
  }
  const int constraint = find(known, info.name);
  if (constraint < 0)
  {
    throw std::invalid_argument(
      "sensor '" + info.name + "' of the <ros2_control> tag has the name of no constraint; " +
      "allowed: " + join(known));
  }
  const std::vector<Channel> possible = force_channels(constraints, constraint);
  std::vector<std::string> allowed;
  for (const Channel & channel : possible)
  {
    allowed.push_back(channel.name);
  }
  for (const InterfaceInfo & state : info.state_interfaces)
  {
    const int found = find(allowed, state.name);
    if (found < 0)
    {
      throw std::invalid_argument(
        "state interface '" + info.name + "/" + state.name + "'; allowed: " + join(allowed));
    }
    channels.push_back(possible[static_cast<std::size_t>(found)]);
    channels.back().name = info.name + "/" + state.name;
  }
}

/// Coordinates and speeds of bases and free bodies, which no tag can declare.
void InterfaceTable::add_unlisted(const System & system)
{
  const auto is_declared = [&](const std::string & name)
  {
    return std::any_of(
      joints.begin(), joints.end(), [&](const Joint & joint) { return joint.name == name; });
  };
  const auto is_joint = [&](int coordinate)
  {
    return system.has_joint(coordinate) ||
           is_declared(system.coordinate_names()[static_cast<std::size_t>(coordinate)]);
  };
  const auto add = [&](const std::string & name, Quantity quantity, int index)
  {
    unlisted.push_back(channels.size());
    channels.push_back({name, quantity, index, 0, nullptr});
  };
  for (int i = 0; i < system.coordinate_count(); ++i)
  {
    if (!is_joint(i))
    {
      add(
        system.coordinate_names()[static_cast<std::size_t>(i)] + "/position", Quantity::kPosition,
        i);
    }
  }
  for (int i = 0; i < system.speed_count(); ++i)
  {
    const std::string & name = system.speed_names()[static_cast<std::size_t>(i)];
    const int coordinate =
      name.front() == 'd' ? find(system.coordinate_names(), name.substr(1)) : -1;
    if (coordinate < 0 || !is_joint(coordinate))
    {
      add((coordinate < 0 ? name : name.substr(1)) + "/velocity", Quantity::kVelocity, i);
    }
  }
}

}  // namespace constrained_dynamics_ros::simulated
