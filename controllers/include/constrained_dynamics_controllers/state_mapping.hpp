// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <string>
#include <vector>

#include <Eigen/Core>

#include <constrained_dynamics/model/system.hpp>
#include <hardware_interface/loaned_state_interface.hpp>

namespace constrained_dynamics_controllers
{

/// Which state interfaces a system's coordinates and speeds are read from: coordinate `x` from
/// "x/position"; a speed that is the rate `dx` from "x/velocity", any other (such as "base_wz")
/// from
/// "<speed>/velocity"; efforts of inputs from "<input>/effort".
class StateMapping
{
public:
  /// @param joints coordinates (joints of one degree of freedom) that are measured, or the name of
  /// a planar, floating or ball joint, which stands for all of its coordinates and speeds.
  /// @param with_effort whether efforts of the inputs are measured.
  /// @throw std::invalid_argument for unknown or repeated names.
  StateMapping(
    const constrained_dynamics::System & system, const std::vector<std::string> & joints,
    bool with_effort);

  const std::vector<std::string> & interface_names() const { return names_; }
  const std::vector<bool> & measured_coordinates() const { return measured_coordinates_; }
  const std::vector<bool> & measured_speeds() const { return measured_speeds_; }
  bool has_effort() const { return has_effort_; }

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
  enum class Kind
  {
    kCoordinate,
    kSpeed,
    kEffort,
  };
  struct Entry
  {
    Kind kind;
    Eigen::Index index;
    std::size_t interface;  // among those that were assigned
  };
  void add(Kind kind, int index, const std::string & name);

  std::vector<std::string> names_;
  std::vector<Entry> entries_;
  std::vector<bool> measured_coordinates_;
  std::vector<bool> measured_speeds_;
  bool has_effort_;
};

}  // namespace constrained_dynamics_controllers
