// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <string>
#include <vector>

#include <Eigen/Core>

#include <constrained_dynamics/servo/state_channels.hpp>
#include <hardware_interface/loaned_state_interface.hpp>

namespace constrained_dynamics_controllers
{

/// The channels of a state (constrained_dynamics::StateChannels) as state interfaces of the same
/// names.
class StateMapping
{
public:
  /// Parameters and exceptions as constrained_dynamics::StateChannels.
  StateMapping(
    const constrained_dynamics::System & system, const std::vector<std::string> & joints,
    bool with_effort, const constrained_dynamics::ChannelNames & channels = {});

  const std::vector<std::string> & interface_names() const { return channels_.names(); }
  const std::vector<bool> & measured_coordinates() const
  {
    return channels_.measured_coordinates();
  }
  const std::vector<bool> & measured_speeds() const { return channels_.measured_speeds(); }
  bool has_effort() const { return channels_.has_effort(); }

  using Interfaces = std::vector<hardware_interface::LoanedStateInterface>;

  /// Finds each interface among those that were assigned.
  /// @throw std::invalid_argument naming one that is missing.
  void bind(const Interfaces & interfaces);
  /// Reads measured values, NaN where one cannot be read; others are left alone. `effort` is left
  /// alone without has_effort(). Real-time safe: yes.
  void read(
    const Interfaces & interfaces, Eigen::VectorXd & q, Eigen::VectorXd & u,
    Eigen::VectorXd & effort) const noexcept;
  /// Name of the first interface whose value is not finite; empty: all are. Not for the cycle.
  std::string first_not_finite(const Interfaces & interfaces) const;

private:
  constrained_dynamics::StateChannels channels_;
  std::vector<std::size_t> bound_;  // of each channel, among those that were assigned
};

}  // namespace constrained_dynamics_controllers
