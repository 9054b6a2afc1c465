// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <string>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/scenario/scenario.hpp"

namespace constrained_dynamics::test
{

/// What a run says at one output time.
struct Sample
{
  double time = 0.0;
  Eigen::VectorXd q;
  Eigen::VectorXd u;
  Eigen::VectorXd acceleration;
  Eigen::VectorXd constraint_force;
  Eigen::VectorXd multipliers;
  Eigen::VectorXd inputs;
  Eigen::VectorXd observed;
  double energy = 0.0;
  int rank = 0;
};

/// A run with what must not change along it.
struct RecordedRun
{
  RunResult result;
  std::vector<Sample> samples;
  std::vector<std::string> observable_names;
  double position_violation = 0.0;  ///< largest |φ| at output times
  double velocity_violation = 0.0;  ///< largest |φ̇|, |ψ|
  double energy_change = 0.0;       ///< largest |E − E(0)| [J]
  /// Largest |F^c · u| by ‖F^c‖ max(1, ‖u‖). F^c · u = λ · ψ, and projection leaves ψ at the
  /// rounding of max(1, |u|): by ‖u‖ alone a system that comes to rest would show that rounding
  /// enlarged.
  double constraint_power = 0.0;
  double seconds = 0.0;  ///< of the processor, for the whole run

  /// The sample closest to a time.
  const Sample & at(double time) const;
  /// An observable of a sample; fails loudly for unknown names.
  double observe(const Sample & sample, const std::string & name) const;
  double observe(double time, const std::string & name) const { return observe(at(time), name); }
};

/// Path of a scenario of the repository.
std::string scenario_path(const std::string & name);

/// A scenario of the repository with overrides as after `--set`.
Scenario repository_scenario(
  const std::string & name, const std::vector<std::string> & overrides = {});

/// Runs a scenario until `until` and prints what was measured in one line.
RecordedRun record(const Scenario & scenario, double until, double output_interval);

/// Whether the long versions of tests are asked for (CD_CAMPAIGN=1).
bool is_campaign();

}  // namespace constrained_dynamics::test
