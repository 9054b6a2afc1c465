// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "constrained_dynamics/scenario/scenario.hpp"
#include "run_statistics.hpp"

namespace cdyn
{

/// What a run with one formulation gave.
struct ComparedRun
{
  explicit ComparedRun(const constrained_dynamics::Scenario & scenario) : statistics(scenario) {}

  constrained_dynamics::RunResult result;
  Statistics statistics;
  constrained_dynamics::State end;
  /// Largest difference of a coordinate or a speed from the reference at the end; NaN where one of
  /// both did not get there.
  double end_deviation = 0.0;
};

/// CPU time of the calling thread [µs], the least of many rounds.
struct CycleTimes
{
  double rows = 0.0;   ///< Dynamics::evaluate_rows: kinematics and rows
  double solve = 0.0;  ///< Dynamics::solve after it: inertia, forces and the formulation
  double cycle = 0.0;  ///< both
};

/// One formulation of a comparison.
struct ComparedFormulation
{
  std::string name;
  std::shared_ptr<const constrained_dynamics::Dynamics> dynamics;
  /// Of the solve at the initial state; without output the formulation does not exist there, and
  /// nothing below is filled.
  constrained_dynamics::Status status = constrained_dynamics::Status::kOk;
  CycleTimes times;
  /// Deviations from the reference: the largest ‖x − x_ref‖ over the sampled states, divided by the
  /// largest ‖x_ref‖ over them (Euclidean norms).
  double acceleration = 0.0;
  double multipliers = 0.0;
  double constraint_force = 0.0;
  /// Sampled states at which its status was not that of the reference.
  int status_differences = 0;
  std::optional<ComparedRun> run;           ///< with the scenario's stabilisation
  std::optional<ComparedRun> unstabilised;  ///< without any; none where the scenario has none

  bool exists() const { return constrained_dynamics::has_output(status); }
};

/// All formulations on one scenario.
struct FormulationComparison
{
  std::vector<ComparedFormulation> formulations;
  int samples = 0;
  double kinematics = 0.0;  ///< System::update_kinematics alone [µs]
  double dynamics = 0.0;    ///< System::update_dynamics alone [µs]

  /// The first formulation that exists at the initial state; null where none does.
  const ComparedFormulation * reference() const;
};

/// Tries every formulation that does not refuse the system at the initial state. That of the
/// scenario itself is taken as it is, with its options.
FormulationComparison try_formulations(const constrained_dynamics::Scenario & scenario);

/// Times cycles at the initial state, formulations in turn.
void time_formulations(
  const constrained_dynamics::Scenario & scenario, FormulationComparison & comparison);

/// Runs the scenario with every formulation, and compares solutions at states of the first run.
void run_formulations(
  const constrained_dynamics::Scenario & scenario, bool quiet, FormulationComparison & comparison);

}  // namespace cdyn
