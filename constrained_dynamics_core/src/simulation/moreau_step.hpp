// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <Eigen/Core>

#include "contact/percussion.hpp"
#include "model/turning_axes.hpp"
#include "simulation/simulation_core.hpp"

namespace constrained_dynamics
{

/// Steps of Moreau (E56): u⁺ from the forces and the percussions at the begin of a step, then
/// coordinates with u⁺.
///
/// Only the constructor allocates. Everything else is real-time safe.
class MoreauStep
{
public:
  /// @throw std::invalid_argument as Percussion.
  explicit MoreauStep(SimulationCore & of);

  /// Forgets the last step and finds the forces of the contacts at the state.
  void begin() noexcept CD_NONBLOCKING;

  /// The step from the state to a time. The state is there afterwards; untouched on failure.
  Status make(double end) noexcept CD_NONBLOCKING;

  /// Forces of the contacts in the last step (m), 0 for other rows.
  const Eigen::VectorXd & forces() const { return percussion_.forces(); }

private:
  Status find_slope(double time) noexcept;
  Status find_halved_slope(double time) noexcept;
  Status find_percussions(double h) noexcept;
  bool changes() const noexcept;
  void record(double end) noexcept;
  void record_one(double end, ContactEventKind kind, int contact, bool is_impact) noexcept;

  SimulationCore & of_;
  Percussion percussion_;
  bool projects_;          // states are projected on the rows
  bool has_rows_ = false;  // that no contact switches
  Eigen::VectorXd x_;
  Eigen::VectorXd slope_;
  Eigen::VectorXd speeds_;
  Eigen::VectorXd turn_;  // what the projection adds to the accelerations
  Eigen::VectorXd correction_;
  TurningAxes axes_;
  Eigen::VectorXd turning_;  // c of (E56)
  Eigen::VectorXd bias_;     // b of all rows
};

}  // namespace constrained_dynamics
