// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/export.hpp"
#include "constrained_dynamics/model/system.hpp"
#include "constrained_dynamics/servo/robot_profile.hpp"
#include "constrained_dynamics/types.hpp"

namespace constrained_dynamics
{

/// Last parts of the names of channels.
struct ChannelNames
{
  std::string position = "position";
  std::string velocity = "velocity";
  std::string effort = "effort";
};

/// Those of a robot profile; null: the usual ones.
CONSTRAINED_DYNAMICS_EXPORT ChannelNames channel_names(const RobotProfile * profile);

/// The measured values of a state and the names of their channels. Coordinate `x` is "x/position".
/// A speed that is the rate `dx` is "x/velocity"; any other (such as "base_wz") is
/// "<speed>/velocity". The effort of an input is "<input>/effort".
class CONSTRAINED_DYNAMICS_EXPORT StateChannels
{
public:
  /// @param joints measured coordinates (joints with one degree of freedom), or the name of a
  /// planar, floating or ball joint, which stands for all of its coordinates and speeds.
  /// @param with_effort whether efforts of the inputs are measured. @param channels other last
  /// parts of the names of joints with one degree of freedom.
  /// @throw std::invalid_argument for unknown or repeated names.
  StateChannels(
    const System & system, const std::vector<std::string> & joints, bool with_effort,
    const ChannelNames & channels = {});

  /// Names of the channels.
  const std::vector<std::string> & names() const { return names_; }
  const std::vector<bool> & measured_coordinates() const { return measured_coordinates_; }
  const std::vector<bool> & measured_speeds() const { return measured_speeds_; }
  bool has_effort() const { return has_effort_; }

  /// Writes the value of channel i to its place in q, u or effort. Real-time safe: yes.
  void write(
    std::size_t i, double value, Eigen::VectorXd & q, Eigen::VectorXd & u,
    Eigen::VectorXd & effort) const noexcept CD_NONBLOCKING;

private:
  enum class Kind
  {
    kCoordinate,
    kSpeed,
    kEffort,
  };
  struct Place
  {
    Kind kind;
    Eigen::Index index;
  };
  void add_joint(const System & system, const std::string & joint, const ChannelNames & channels);
  void add(Kind kind, int index, const std::string & name, const std::string & channel);

  std::vector<std::string> names_;
  std::vector<Place> places_;
  std::vector<bool> measured_coordinates_;
  std::vector<bool> measured_speeds_;
  bool has_effort_;
};

}  // namespace constrained_dynamics
