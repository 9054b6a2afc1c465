// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/servo/state_channels.hpp"

#include <stdexcept>

#include "names.hpp"

namespace constrained_dynamics
{

namespace
{

using Names = std::vector<std::string>;

std::string list(const Names & names)
{
  std::string text;
  for (const std::string & name : names)
  {
    text += (text.empty() ? "" : ", ") + name;
  }
  return text;
}

}  // namespace

ChannelNames channel_names(const RobotProfile * profile)
{
  return profile == nullptr
           ? ChannelNames()
           : ChannelNames{
               profile->position_interface, profile->velocity_interface, profile->effort_interface};
}

StateChannels::StateChannels(
  const System & system, const Names & joints, bool with_effort, const ChannelNames & channels)
: measured_coordinates_(static_cast<std::size_t>(system.coordinate_count()), false),
  measured_speeds_(static_cast<std::size_t>(system.speed_count()), false),
  has_effort_(with_effort)
{
  for (const std::string & joint : joints)
  {
    add_joint(system, joint, channels);
  }
  for (int i = 0; with_effort && i < system.input_count(); ++i)
  {
    const std::string & input = system.input_names()[static_cast<std::size_t>(i)];
    add(Kind::kEffort, i, input, channels.effort);
  }
}

void StateChannels::add_joint(
  const System & system, const std::string & joint, const ChannelNames & channels)
{
  const Names & coordinates = system.coordinate_names();
  const Names & speeds = system.speed_names();
  const int coordinate = find_name(coordinates, joint);
  const int rate = find_name(speeds, "d" + joint);
  const int speed = rate >= 0 ? rate : find_name(speeds, joint);
  if (coordinate >= 0 || find_name(speeds, joint) >= 0)
  {
    if (coordinate >= 0)
    {
      add(Kind::kCoordinate, coordinate, joint, channels.position);
    }
    if (speed >= 0)
    {
      add(Kind::kSpeed, speed, joint, channels.velocity);
    }
    return;
  }
  bool found = false;
  for (const char * suffix : {"_x", "_y", "_z", "_theta", "_qx", "_qy", "_qz", "_qw"})
  {
    const int part = find_name(coordinates, joint + suffix);
    if (part >= 0)
    {
      add(Kind::kCoordinate, part, joint + suffix, ChannelNames().position);
      found = true;
    }
  }
  for (const char * suffix : {"_vx", "_vy", "_vz", "_wx", "_wy", "_wz"})
  {
    const int part = find_name(speeds, joint + suffix);
    if (part >= 0)
    {
      add(Kind::kSpeed, part, joint + suffix, ChannelNames().velocity);
    }
  }
  if (!found)
  {
    throw std::invalid_argument(
      "joint '" + joint + "' is unknown; allowed: " + list(coordinates) + ", " + list(speeds) +
      ", or the name of a planar, floating or ball joint");
  }
}

void StateChannels::add(Kind kind, int index, const std::string & name, const std::string & channel)
{
  if (kind != Kind::kEffort)
  {
    const bool is_speed = kind == Kind::kSpeed;
    std::vector<bool> & measured = is_speed ? measured_speeds_ : measured_coordinates_;
    if (measured[static_cast<std::size_t>(index)])
    {
      throw std::invalid_argument("joint '" + name + "' is given twice; allowed: once");
    }
    measured[static_cast<std::size_t>(index)] = true;
  }
  names_.push_back(name + "/" + channel);
  places_.push_back({kind, index});
}

void StateChannels::write(
  std::size_t i, double value, Eigen::VectorXd & q, Eigen::VectorXd & u,
  Eigen::VectorXd & effort) const noexcept CD_NONBLOCKING
{
  const Place & place = places_[i];
  switch (place.kind)
  {
    case Kind::kCoordinate:
      q(place.index) = value;
      break;
    case Kind::kSpeed:
      u(place.index) = value;
      break;
    case Kind::kEffort:
      effort(place.index) = value;
      break;
  }
}

}  // namespace constrained_dynamics
