// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <functional>
#include <string>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/scenario/scenario.hpp"
#include "constrained_dynamics/simulation/servo_input_law.hpp"

namespace constrained_dynamics::test
{

/// What a servo run says at one output time.
struct ServoSample
{
  double time;
  Eigen::VectorXd q, u;
  Eigen::VectorXd inputs;
  Eigen::VectorXd error, residual;
  Eigen::VectorXd multipliers;
  Eigen::VectorXd observed;
  Status status;
  bool limited;
  double energy;
  double input_power;       // τᵀ Gᵀ u
  double constraint_power;  // F^c · u, by ‖F^c‖ max(1, ‖u‖)
};

struct ServoRun
{
  RunResult result;
  ServoInputLaw::Counts counts;
  std::vector<ServoSample> samples;
  std::vector<std::string> observable_names;

  const ServoSample & at(double time) const;
  double observe(const ServoSample & sample, const std::string & name) const;
};

/// Runs a scenario with its servo law. `begin` may change the law's workspace, `visit` sees every
/// output. Fails the test where the run does not reach its end, something is not finite or the
/// law's own solution is not that of the plant.
ServoRun record_servo(
  const Scenario & scenario, double until, double interval,
  const std::function<void(ServoWorkspace &)> & begin = nullptr,
  const std::function<void(const ServoWorkspace &)> & visit = nullptr);

/// Expects dE/dt = τᵀ Gᵀ u − uᵀ D u, by central differences of order 4 of the run, and constraints
/// without power. @param damping diagonal of D (n). @param tolerance [W] @param from
/// time from which on [s] @param kink time at which
/// the power has a corner, such as the end of a smooth start [s]
void expect_energy_balance(
  const ServoRun & run, const Eigen::VectorXd & damping, double tolerance, double from = 0.0,
  double kink = -1.0);

}  // namespace constrained_dynamics::test
