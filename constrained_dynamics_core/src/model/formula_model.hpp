// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/formula/formula.hpp"
#include "constrained_dynamics/model/analytic_system.hpp"

namespace constrained_dynamics::detail
{

inline std::size_t idx(Eigen::Index i) { return static_cast<std::size_t>(i); }

/// What a formula of a generalized force acts on.
struct ForceTarget
{
  bool on_speed = false;       // conjugate to a speed, otherwise to a rate
  Eigen::Index index = 0;      // of the speed or coordinate
  Eigen::Index input = 0;      // of the input that a coefficient belongs to
  bool accelerations = false;  // the formula contains q̈
};

/// The compiled formulas of an AnalyticDescription, and what follows from their structure. All
/// programs share one vector of variables: q, q̇, t, q̈.
struct FormulaModel
{
  FormulaModel() = default;
  /// @throw std::invalid_argument naming the entry that cannot be used.
  FormulaModel(const AnalyticDescription & d, std::vector<std::string> speed_names);

  std::size_t variable_count() const { return idx(3 * n + 1); }
  std::size_t rate(Eigen::Index i) const { return idx(n + i); }
  std::size_t time() const { return idx(2 * n); }
  std::size_t acceleration(Eigen::Index i) const { return idx(2 * n + 1 + i); }
  std::vector<const FormulaProgram *> programs() const
  {
    return {&kinetic, &potential, &speeds, &force, &inputs};
  }

  Eigen::Index n = 0;
  std::vector<std::string> speed_names;
  FormulaProgram kinetic;
  FormulaProgram potential;
  FormulaProgram speeds;
  FormulaProgram force;
  FormulaProgram inputs;
  std::vector<ForceTarget> force_targets;  // one per output of `force`
  std::vector<ForceTarget> input_targets;  // one per output of `inputs`

  bool speeds_are_rates = true;
  bool constant_kinematics = true;  // neither W nor w0 depends on q or t
  bool constant_mass = false;       // T does not depend on q or t
  bool constant_inputs = true;      // no coefficient depends on anything
  bool has_potential = false;       // V depends on something
  bool has_accelerations = false;   // some force contains accelerations
  bool time_in_kinetic = false;     // T depends on t
  std::vector<bool> kinetic_has_rate;
  // If speeds are rates: the rows in which a column of M may be nonzero, and groups of columns that
  // share no row. One evaluation gives all columns of a group.
  std::vector<std::vector<int>> mass_rows;
  std::vector<std::vector<int>> rate_groups;

private:
  FormulaContext make_context(const AnalyticDescription & d) const;
  void compile_energies(const AnalyticDescription & d, const FormulaContext & context);
  void compile_speeds(const AnalyticDescription & d, const FormulaContext & context);
  void compile_force(const AnalyticDescription & d, const FormulaContext & context);
  void compile_inputs(const AnalyticDescription & d, const FormulaContext & context);
  void group_rates();
  ForceTarget target(const AnalyticDescription & d, const std::string & name) const;
  bool is_rate(const FormulaProgram & program, int variable) const;
  void refuse_accelerations(const FormulaProgram & program, const std::string & what) const;
};

}  // namespace constrained_dynamics::detail
