// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics_controllers/state_mapping.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include <hardware_interface/types/hardware_interface_type_values.hpp>

namespace constrained_dynamics_controllers
{

namespace
{

using Names = std::vector<std::string>;

int find(const Names & names, const std::string & name)
{
  const auto found = std::find(names.begin(), names.end(), name);
  return found == names.end() ? -1 : static_cast<int>(found - names.begin());
}

std::string list(const Names & names)
{
  std::string text;
  for (const std::string & name : names)
  {
    text += (text.empty() ? "" : ", ") + name;
  }
  return text;
}

double read_value(const hardware_interface::LoanedStateInterface & interface) noexcept
{
  constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();
  try
  {
    return interface.get_optional<double>().value_or(kMissing);
  }
  catch (...)  // interfaces that are no numbers
  {
    return kMissing;
  }
}

}  // namespace

StateMapping::StateMapping(
  const constrained_dynamics::System & system, const Names & joints, bool with_effort)
: measured_coordinates_(static_cast<std::size_t>(system.coordinate_count()), false),
  measured_speeds_(static_cast<std::size_t>(system.speed_count()), false),
  has_effort_(with_effort)
{
  const Names & coordinates = system.coordinate_names();
  const Names & speeds = system.speed_names();
  const auto add_coordinate = [&](int index)
  { add(Kind::kCoordinate, index, coordinates[static_cast<std::size_t>(index)]); };
  for (const std::string & joint : joints)
  {
    const int coordinate = find(coordinates, joint);
    const int rate = find(speeds, "d" + joint);
    const int speed = find(speeds, joint);
    if (coordinate >= 0 || speed >= 0)
    {
      if (coordinate >= 0)
      {
        add_coordinate(coordinate);
      }
      if (rate >= 0 || speed >= 0)
      {
        add(Kind::kSpeed, rate >= 0 ? rate : speed, joint);
      }
      continue;
    }
    bool found = false;
    for (const char * suffix : {"_x", "_y", "_z", "_theta", "_qx", "_qy", "_qz", "_qw"})
    {
      const int part = find(coordinates, joint + suffix);
      if (part >= 0)
      {
        add_coordinate(part);
        found = true;
      }
    }
    for (const char * suffix : {"_vx", "_vy", "_vz", "_wx", "_wy", "_wz"})
    {
      const int part = find(speeds, joint + suffix);
      if (part >= 0)
      {
        add(Kind::kSpeed, part, joint + suffix);
      }
    }
    if (!found)
    {
      throw std::invalid_argument(
        "joint '" + joint + "' is unknown; allowed: " + list(coordinates) + ", " + list(speeds) +
        ", or the name of a planar, floating or ball joint");
    }
  }
  for (int i = 0; with_effort && i < system.input_count(); ++i)
  {
    add(Kind::kEffort, i, system.input_names()[static_cast<std::size_t>(i)]);
  }
}

void StateMapping::add(Kind kind, int index, const std::string & name)
{
  const char * interface = hardware_interface::HW_IF_EFFORT;
  if (kind != Kind::kEffort)
  {
    const bool is_speed = kind == Kind::kSpeed;
    interface = is_speed ? hardware_interface::HW_IF_VELOCITY : hardware_interface::HW_IF_POSITION;
    std::vector<bool> & measured = is_speed ? measured_speeds_ : measured_coordinates_;
    if (measured[static_cast<std::size_t>(index)])
    {
      throw std::invalid_argument("joint '" + name + "' is given twice; allowed: once");
    }
    measured[static_cast<std::size_t>(index)] = true;
  }
  names_.push_back(name + "/" + interface);
  entries_.push_back({kind, index, names_.size() - 1});
}

void StateMapping::bind(const Interfaces & interfaces)
{
  for (std::size_t i = 0; i < entries_.size(); ++i)
  {
    const auto found = std::find_if(
      interfaces.begin(), interfaces.end(),
      [&](const auto & interface) { return interface.get_name() == names_[i]; });
    if (found == interfaces.end())
    {
      throw std::invalid_argument("state interface '" + names_[i] + "' was not assigned");
    }
    entries_[i].interface = static_cast<std::size_t>(found - interfaces.begin());
  }
}

void StateMapping::read(
  const Interfaces & interfaces, Eigen::VectorXd & q, Eigen::VectorXd & u,
  Eigen::VectorXd & effort) const noexcept
{
  for (const Entry & entry : entries_)
  {
    const double value = read_value(interfaces[entry.interface]);
    switch (entry.kind)
    {
      case Kind::kCoordinate:
        q(entry.index) = value;
        break;
      case Kind::kSpeed:
        u(entry.index) = value;
        break;
      case Kind::kEffort:
        effort(entry.index) = value;
        break;
    }
  }
}

std::string StateMapping::first_not_finite(const Interfaces & interfaces) const
{
  for (std::size_t i = 0; i < entries_.size(); ++i)
  {
    if (!std::isfinite(read_value(interfaces[entries_[i].interface])))
    {
      return names_[i];
    }
  }
  return "";
}

}  // namespace constrained_dynamics_controllers
