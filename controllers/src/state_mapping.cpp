// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics_controllers/state_mapping.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace constrained_dynamics_controllers
{

namespace
{

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
  const constrained_dynamics::System & system, const std::vector<std::string> & joints,
  bool with_effort, const constrained_dynamics::ChannelNames & channels)
: channels_(system, joints, with_effort, channels), bound_(channels_.names().size(), 0)
{
}

void StateMapping::bind(const Interfaces & interfaces)
{
  for (std::size_t i = 0; i < bound_.size(); ++i)
  {
    const std::string & name = channels_.names()[i];
    const auto found = std::find_if(
      interfaces.begin(), interfaces.end(),
      [&](const auto & interface) { return interface.get_name() == name; });
    if (found == interfaces.end())
    {
      throw std::invalid_argument("state interface '" + name + "' was not assigned");
    }
    bound_[i] = static_cast<std::size_t>(found - interfaces.begin());
  }
}

void StateMapping::read(
  const Interfaces & interfaces, Eigen::VectorXd & q, Eigen::VectorXd & u,
  Eigen::VectorXd & effort) const noexcept
{
  for (std::size_t i = 0; i < bound_.size(); ++i)
  {
    channels_.write(i, read_value(interfaces[bound_[i]]), q, u, effort);
  }
}

std::string StateMapping::first_not_finite(const Interfaces & interfaces) const
{
  for (std::size_t i = 0; i < bound_.size(); ++i)
  {
    if (!std::isfinite(read_value(interfaces[bound_[i]])))
    {
      return channels_.names()[i];
    }
  }
  return "";
}

}  // namespace constrained_dynamics_controllers
