// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <vector>

#include <Eigen/Core>

#include "simulation/output_times.hpp"
#include "simulation/simulation_core.hpp"
#include "simulation/step_scheme.hpp"

namespace constrained_dynamics
{

/// Steps of a fixed size on a grid of times. A step in which modes end is made again up to the
/// first end, and the next step leads from there to the same time of the grid.
///
/// Only the constructor allocates. Everything else is real-time safe.
class FixedStepper
{
public:
  explicit FixedStepper(SimulationCore & of);

  /// Starts the grid. @param span shortest time of interest [s].
  void begin(double time, double span) noexcept;
  /// The next time of the grid: a multiple of the step, not a sum of steps.
  double next_time() const noexcept;
  /// The next time of the grid, but not beyond the end of a run.
  double limit(double until, double next_change) const noexcept;
  /// Whether outputs and the end of a run are due at a time.
  bool reaches(double time, double due) const noexcept { return time >= due - slack_; }

  /// One step to `end`, or to the first end of a mode before it. The state is there afterwards.
  Advance make(double end) noexcept CD_NONBLOCKING;
  /// Records the step.
  Status arrive(const Advance & made) noexcept CD_NONBLOCKING;
  /// Leaves the end of the step, with the modes that were decided there.
  Status depart(const Advance & made) noexcept CD_NONBLOCKING;

  /// Fixed steps have no output between their ends.
  double next_output(const OutputTimes & /*output*/, double end) const noexcept { return end; }
  Status go_to(double /*time*/) noexcept { return Status::kOk; }
  Status book_until(double /*time*/) noexcept { return Status::kOk; }

private:
  Status integrate(double time, double next_time) noexcept CD_NONBLOCKING;
  Status step_from_start(double time) noexcept CD_NONBLOCKING;
  Status go_to_first_end(double end, bool is_lost) noexcept CD_NONBLOCKING;
  double next_trial(double low, double high, double step, bool by_secants) const noexcept;
  bool mark_ended(std::vector<double> & values) noexcept CD_NONBLOCKING;

  SimulationCore & of_;
  double grid_start_ = 0.0;
  long grid_index_ = 0;
  double slack_ = 0.0;
  int ends_ = 0;  // of modes in the present step of the grid
  bool is_new_step_ = true;

  State start_;  // of the step
  Eigen::VectorXd x_;
  Eigen::VectorXd stage_;
  std::vector<Eigen::VectorXd> slopes_;
  // Event functions at both ends of a bracket and between them.
  std::vector<double> low_;
  std::vector<double> high_;
  std::vector<double> now_;
};

}  // namespace constrained_dynamics
