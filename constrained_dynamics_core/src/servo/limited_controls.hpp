// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/constraints/constraint.hpp"
#include "constrained_dynamics/dynamics/reduction.hpp"
#include "constrained_dynamics/servo/servo_law.hpp"
#include "constrained_dynamics/status.hpp"
#include "constrained_dynamics/types.hpp"
#include "servo/priority_program.hpp"
#include "servo/quadratic_program.hpp"

namespace constrained_dynamics
{

/// Controls within limits, level by level: each level comes as close as limits and the levels
/// before it allow, limits are never given up,
///     min ‖S_k τ − z_k‖  subject to  S_j τ = S_j τ_j (j < k),  limits,                (E25)
/// and in the end min (τ − y)ᵀ H (τ − y). Without binding limits that is (E15), and from there
/// the controls go along directions of which each level knows the cost: one PriorityProgram.
///
/// Friction cones are limits of λ = λ_0 + Λ τ + Z ν, with ν free where rows are redundant: it is
/// enough that some split of the forces is in the cones.
///
/// Memory is taken in the constructor. Everything else is real-time safe, with bounded iterations.
class LimitedControls
{
public:
  /// One row of a cone: lower ≤ Σ coefficient · λ.
  struct ConeRow
  {
    std::vector<std::pair<int, double>> terms;  ///< passive row, coefficient
    double lower;
    int constraint;  ///< counts only while this one is active
  };

  /// @throw std::invalid_argument for limits of the wrong size, NaN, lower above upper, rates below
  /// 0 or without a period, cones with unknown names or numbers out of range.
  /// @param level_count of Unlimited::level_ends. @param motion_count rows of `set_motion`.
  LimitedControls(
    const ConstraintSet & passive, const ServoOptions & options, int level_count = 1,
    int motion_count = 0);

  /// Bounds of this cycle. @param last controls of the cycle before, null: no limit of the rate.
  void begin(const Eigen::VectorXd * last) noexcept CD_NONBLOCKING;

  /// More limits of this cycle: lower ≤ rowsᵀ τ ≤ upper, `motion_count` columns. Those without
  /// effect are left out; false: one of these is not met.
  bool set_motion(
    const Eigen::MatrixXd & rows, const Eigen::VectorXd & lower,
    const Eigen::VectorXd & upper) noexcept CD_NONBLOCKING;
  /// Takes the limits of `set_motion` away.
  void forget_motion() noexcept CD_NONBLOCKING;
  /// Widens the limits of `set_motion` until controls within the bounds of the inputs can keep
  /// them, by as little as possible; `tau` are such controls. False: not even that was found.
  bool relax_motion(Eigen::VectorXd & tau) noexcept CD_NONBLOCKING;

  /// Whether controls are within the limits.
  bool admits(const Eigen::VectorXd & tau) const noexcept CD_NONBLOCKING;
  /// Whether the forces λ (m) that controls lead to are in the cones.
  bool admits_forces(
    const Eigen::VectorXd & multipliers, const Workspace & workspace) const noexcept CD_NONBLOCKING;

  /// Controls without limits, and the directions in which they can be left
  /// (LevelSolver::find_directions).
  struct Unlimited
  {
    const Eigen::VectorXd & controls;
    const Eigen::MatrixXd & directions;   ///< T (l × l)
    const std::vector<int> & level_ends;  ///< columns of T of level k end here; the last one is l
  };

  /// Statuses: kOk; kInfeasible (the limits cannot be met: τ is within the bounds alone).
  Status solve(
    const Unlimited & unlimited, const Reduction & reduction, const Workspace & workspace,
    Eigen::VectorXd & tau) noexcept CD_NONBLOCKING;

  /// Whether the bound of input i binds after `solve`.
  bool at_bound(int input) const { return at_bound_[static_cast<std::size_t>(input)]; }

private:
  /// Rows of all limits in terms of y and ν, and their bounds counted from the unlimited controls.
  void load_rows(
    const Unlimited & unlimited, const Reduction & reduction,
    const Workspace & workspace) noexcept CD_NONBLOCKING;
  void load_cones(const Reduction & reduction, const Workspace & workspace) noexcept CD_NONBLOCKING;
  /// Removes what is rounding in the part of a row that each level has.
  void clean_rows(const Unlimited & unlimited) noexcept CD_NONBLOCKING;

  Eigen::VectorXd lower_;
  Eigen::VectorXd upper_;
  Eigen::VectorXd rate_;  // largest change in a period
  std::vector<ConeRow> cones_;
  Eigen::Index inputs_;
  Eigen::Index open_ = 0;  // ν
  Eigen::VectorXd now_lower_;
  Eigen::VectorXd now_upper_;
  PriorityProgram program_;
  // Limits of set_motion, and the program that widens them: unknowns τ and the widening.
  Eigen::MatrixXd motion_;
  Eigen::VectorXd motion_lower_;
  Eigen::VectorXd motion_upper_;
  QuadraticProgram widening_;
  Eigen::MatrixXd widening_hessian_;
  Eigen::VectorXd widening_gradient_;
  Eigen::MatrixXd widening_rows_;
  Eigen::VectorXd widening_lower_;
  Eigen::VectorXd widening_upper_;
  Eigen::MatrixXd input_rows_;  // of all limits in terms of τ (l × rows)
  Eigen::MatrixXd rows_;        // in terms of y and ν
  Eigen::VectorXd row_lower_;
  Eigen::VectorXd row_upper_;
  std::vector<int> block_ends_;  // of y, and ν
  std::vector<bool> at_bound_;
};

}  // namespace constrained_dynamics
