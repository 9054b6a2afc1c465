// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <string>
#include <vector>

#include <yaml-cpp/yaml.h>
#include <Eigen/Core>

#include "constrained_dynamics/scenario/scenario.hpp"

/// @file
/// Reference values (data/reference) and scenarios (config/scenarios) side by side.

namespace constrained_dynamics::test
{

/// One example of data/reference, by the name of its file.
YAML::Node load_reference(const std::string & name);

/// The member of a list whose `key` has the given value, e.g. the case "A".
YAML::Node find_item(const YAML::Node & list, const std::string & key, const std::string & value);

/// A list of numbers.
Eigen::VectorXd to_vector(const YAML::Node & list);

/// "path=value" with 17 digits, as after `--set`.
std::string set(const std::string & path, double value);

/// One override for each name: "<prefix><name>=<value>".
std::vector<std::string> set_all(
  const std::string & prefix, const std::vector<std::string> & names,
  const Eigen::VectorXd & values);

/// Override of the whole initial state: q and u (key "u"), or q and q̇ (key "rates").
std::string set_initial(
  const std::vector<std::string> & coordinates, const Eigen::VectorXd & q, const std::string & key,
  const std::vector<std::string> & speeds, const Eigen::VectorXd & u, double time = 0.0);

/// Overrides of parameters from a map of numbers; entries of other kinds are skipped.
std::vector<std::string> set_parameters(const YAML::Node & parameters);

/// Concatenation.
std::vector<std::string> operator+(std::vector<std::string> a, const std::vector<std::string> & b);

/// Overrides that ask for the adaptive integrator at a tolerance of 1e-12.
std::vector<std::string> accurately();

/// config/scenarios/<name>.yaml.
Scenario load_scenario(
  const std::string & name, const std::vector<std::string> & overrides = {}, bool assemble = true);

/// Everything about one instant.
struct Snapshot
{
  Status status = Status::kOk;
  double time = 0.0;
  Eigen::VectorXd q, u;
  Eigen::VectorXd rates;             ///< q̇
  Eigen::VectorXd rate_derivatives;  ///< q̈
  Eigen::VectorXd acceleration;      ///< u̇
  Eigen::VectorXd constraint_force;  ///< F^c
  Eigen::VectorXd multipliers;       ///< λ
  Eigen::VectorXd row_position;      ///< φ
  Eigen::VectorXd row_velocity;      ///< φ̇, ψ
  double kinetic = 0.0;
  double energy = 0.0;
  double power = 0.0;       ///< λᵀ A u
  double power_size = 0.0;  ///< Σ |λ_i| |a_i| |u|: what the terms of `power` may amount to
  int rank = 0;
  std::vector<std::string> observable_names;
  Eigen::VectorXd observables;

  /// Value of an observable by name.
  double observed(const std::string & name) const;
};

/// The initial state exactly as given, without assembling or checking.
Snapshot solve_raw(const std::string & scenario, const std::vector<std::string> & overrides);

/// Runs the scenario and stops at each of the times, which ascend. Fails the test unless every
/// evaluation has status ok.
std::vector<Snapshot> run_to(const Scenario & scenario, const std::vector<double> & times);

/// The times of a reference series.
std::vector<double> times_of(const YAML::Node & series);

/// Expects |actual − expected| ≤ tolerance · max(1, |expected|), entry by entry.
void expect_close(
  const Eigen::VectorXd & actual, const Eigen::VectorXd & expected, double tolerance,
  const std::string & what);
void expect_close(double actual, double expected, double tolerance, const std::string & what);

/// Expects |actual − expected| ≤ tolerance · |expected| in the norm of the largest entry.
void expect_relative(
  const Eigen::VectorXd & actual, const Eigen::VectorXd & expected, double tolerance,
  const std::string & what);

/// Expects that the constraints exert no power, to rounding.
void expect_workless(const Snapshot & snapshot);

/// Whether long campaigns are asked for (CD_CAMPAIGN=1).
bool is_campaign();

}  // namespace constrained_dynamics::test
