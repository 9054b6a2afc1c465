// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <vector>

#include "simulation/phase_stepper.hpp"
#include "simulation/simulation_core.hpp"

namespace constrained_dynamics
{

/// Looks for the first end of a mode within an adaptive step, on its dense output.
/// @throw EvaluationFailed
class EventSearch
{
public:
  EventSearch(SimulationCore & of, PhaseStepper & stepper);

  /// Values at the start of a phase.
  void begin(double time, StateVector & x);

  /// The fastest rate at which a slip turned where the last search ended, see ContactForces [1/s].
  double turning_rate() const { return turning_rate_; }

  /// The first event from the last end to `end`, marked as ended; +∞: none.
  double find(double end);

private:
  void evaluate(double time);
  void read(std::vector<double> & out) const;
  double function(int i, double time);
  double locate(int i, double low, double high);
  bool locate_touching(int i, double high, double & low, double & at_low, double & found);
  double locate_return(int i, double low, double high);
  void find_suspects();
  double locate_hold(double low, double high);

  SimulationCore & of_;
  PhaseStepper & stepper_;
  std::vector<double> before_;
  std::vector<double> now_;
  std::vector<double> root_;
  std::vector<int> suspects_;
  std::vector<int> shared_;
  StateVector x_;
  Eigen::VectorXd slope_;
  double time_ = 0.0;
  double turning_rate_ = 0.0;
};

}  // namespace constrained_dynamics
