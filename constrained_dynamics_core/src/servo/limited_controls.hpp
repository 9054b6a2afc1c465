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
#include "servo/quadratic_program.hpp"

namespace constrained_dynamics
{

/// Controls within limits, level by level: each level comes as close as limits and the levels
/// before it allow, limits are never given up,
///     min ‖S_k τ − z_k‖  subject to  S_j τ = S_j τ_j (j < k),  limits,                (E25)
/// and in the end min (τ − y)ᵀ H (τ − y). Without binding limits that is (E15).
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
  /// @param row_count most rows of all levels. @param motion_count rows of `set_motion`.
  LimitedControls(
    const ConstraintSet & passive, const ServoOptions & options, int row_count,
    int motion_count = 0);

  /// Bounds of this cycle. @param last controls of the cycle before, null: no limit of the rate.
  void begin(const Eigen::VectorXd * last) noexcept CD_NONBLOCKING;

  /// More limits of this cycle: lower ≤ rows τ ≤ upper, `motion_count` of them. Rows without
  /// effect are left out; false: one of these is not met.
  bool set_motion(
    const Eigen::MatrixXd & rows, const Eigen::VectorXd & lower,
    const Eigen::VectorXd & upper) noexcept CD_NONBLOCKING;
  /// Widens the limits of `set_motion` until controls within the bounds of the inputs can keep
  /// them, by as little as possible; `tau` are such controls. False: not even that was found.
  bool relax_motion(Eigen::VectorXd & tau) noexcept CD_NONBLOCKING;

  /// Whether controls are within the limits.
  bool admits(const Eigen::VectorXd & tau) const noexcept CD_NONBLOCKING;
  /// Whether the forces λ (m) that controls lead to are in the cones.
  bool admits_forces(
    const Eigen::VectorXd & multipliers, const Workspace & workspace) const noexcept CD_NONBLOCKING;

  /// The desired rows, levels one after the other.
  struct Levels
  {
    const Eigen::MatrixXd & rows;         ///< S
    const Eigen::VectorXd & right;        ///< z
    const std::vector<int> & level_ends;  ///< rows of level k end here
    int level_count;
    const Eigen::VectorXd & null_vector;  ///< y
    const Eigen::MatrixXd * metric;       ///< H, null: the identity
  };

  /// Statuses: kOk; kInfeasible (the cones cannot be met: τ is within the bounds alone).
  Status solve(
    const Levels & desired, const Reduction & reduction, const Workspace & workspace,
    Eigen::VectorXd & tau) noexcept CD_NONBLOCKING;

  /// Whether the bound of input i binds after `solve`.
  bool at_bound(int input) const { return at_bound_[static_cast<std::size_t>(input)]; }

private:
  void load_rows(const Reduction & reduction, const Workspace & workspace) noexcept CD_NONBLOCKING;
  Status minimise(int equalities) noexcept CD_NONBLOCKING;

  Eigen::VectorXd lower_;
  Eigen::VectorXd upper_;
  Eigen::VectorXd rate_;  // largest change in a period
  std::vector<ConeRow> cones_;
  Eigen::Index inputs_;
  Eigen::Index open_ = 0;  // ν
  Eigen::VectorXd now_lower_;
  Eigen::VectorXd now_upper_;
  QuadraticProgram program_;
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
  Eigen::MatrixXd hessian_;
  Eigen::VectorXd gradient_;
  Eigen::MatrixXd equalities_;
  Eigen::VectorXd equality_values_;
  Eigen::MatrixXd rows_;
  Eigen::VectorXd row_lower_;
  Eigen::VectorXd row_upper_;
  Eigen::VectorXd solution_;
  std::vector<bool> at_bound_;
};

}  // namespace constrained_dynamics
