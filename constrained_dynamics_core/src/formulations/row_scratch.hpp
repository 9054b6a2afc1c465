// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <Eigen/Core>

#include "constrained_dynamics/formulations/formulation.hpp"
#include "constrained_dynamics/formulations/row_factorisation.hpp"
#include "constrained_dynamics/status.hpp"
#include "constrained_dynamics/types.hpp"
#include "formulations/dense_factors.hpp"
#include "is_finite.hpp"

/// @file
/// Common parts of formulations. Everything except the constructors is real-time safe.

namespace constrained_dynamics
{

/// out ← a b. Small products are computed coefficient by coefficient, because the overhead of
/// Eigen's method for large ones exceeds their cost.
template <typename Out, typename A, typename B>
void multiply(const A & a, const B & b, Out && out) noexcept
{
  constexpr Eigen::Index kSmall = 40;  // rows + columns + inner size
  if (a.rows() + a.cols() + b.cols() < kSmall)
  {
    out = a.lazyProduct(b);
  }
  else
  {
    out.noalias() = a * b;
  }
}

/// Beginning and end of every formulation: the rank decision, the distribution of forces over
/// redundant rows, and the check of the result. Formulations differ in how they find u̇ in between.
///
/// For any rows, RowFactorisation leaves an equivalent system of full row rank:
///     (E4, E5) A1 u̇ = β,  A1 = [I −K] in partition order (dependent speeds first).
/// A1 has the row space of A and singular values of at least 1, so formulas with a pseudo-inverse
/// of A hold with A1 and β in place of A and b, without the conditioning of A.
class RowScratch : public FormulationData
{
public:
  RowScratch(int speed_count, int max_row_count);

  /// Sizes and finite numbers of everything but the rows.
  Status check(const RowProblem & problem) const noexcept CD_NONBLOCKING;

  /// Checks the problem, factors the rows and finds β.
  Status begin(const RowProblem & problem, const RankOptions & options) noexcept CD_NONBLOCKING;

  /// Puts u̇_I and u̇_D = K u̇_I + β (E4) into `acceleration`.
  void expand(const ConstVectorRef & independent) noexcept CD_NONBLOCKING;

  /// Writes A1ᵀ (n × r) in the order of the problem.
  void row_basis(MatrixRef basis) const noexcept CD_NONBLOCKING;

  /// Residual of the equations for `acceleration`, free of constraint forces: β − A1 u̇, and
  /// h − Q u̇ without its part along A1ᵀ, which is A2 (h − Q u̇) at the independent speeds.
  /// Formulations whose terms are far larger than their sum solve for the residual once more
  /// (iterative refinement).
  void residual(const RowProblem & problem) noexcept CD_NONBLOCKING;

  /// (E7) for the accelerations that were found.
  void force_from_motion(const RowProblem & problem) noexcept CD_NONBLOCKING;

  /// Multipliers (E8) of `constraint_force`, then `judge`.
  Status finish(
    const RowProblem & problem, const RankOptions & options, Status rank_status,
    RowSolution & solution) noexcept CD_NONBLOCKING;

  /// Checks the result and, if all numbers are finite, writes the outputs. `rank_status` is what
  /// `begin` returned, `row_size` is ‖S A‖ (Frobenius).
  Status judge(
    const RowProblem & problem, const RankOptions & options, Status rank_status, double row_size,
    RowSolution & solution) noexcept CD_NONBLOCKING;

  /// How far `acceleration` misses the worst row, contradictions and dropped directions alike,
  /// relative to what the row is made of (see RankOptions::consistency_tolerance); 0 where all
  /// misses are round-off. `row_size` as above.
  double worst_contradiction(const RowProblem & problem, double row_size) noexcept CD_NONBLOCKING;

  Eigen::Index speed_count() const { return acceleration.size(); }
  Eigen::Index rank() const { return factorisation.rank(); }
  Eigen::VectorBlock<Eigen::VectorXd> beta() { return particular.head(rank()); }

  RowFactorisation factorisation;
  Eigen::VectorXd particular;  // β
  Eigen::VectorXd residual_particular;
  Eigen::VectorXd residual_force;
  Eigen::VectorXd acceleration;
  Eigen::VectorXd constraint_force;
  Eigen::VectorXd multipliers;
  Eigen::VectorXd row_miss;      // S |A u̇ − b|
  Eigen::VectorXd freed_speeds;  // bounds of what the forces would accelerate without constraints

private:
  /// The same for rows that are missed by more than `noise`; `size` is that of all rows.
  double worst_miss(const RowProblem & problem, double noise, double size) noexcept CD_NONBLOCKING;
};

/// Common part of formulations with a root of the inertia: R⁻ᵀ A1ᵀ = U [T; 0], with which
/// (A1 R⁻¹)⁺ x = U [T⁻ᵀ x; 0] and A1 Q⁻¹ A1ᵀ = Tᵀ T.
class RootScratch : public RowScratch
{
public:
  RootScratch(int speed_count, int max_row_count);

  /// Factors Q and R⁻ᵀ A1ᵀ of the rows that `begin` factored. False where Q has no root.
  bool factor_root(const RowProblem & problem) noexcept CD_NONBLOCKING;

  InertiaRoot inertia;       // R
  RangeFactorisation range;  // U, T
  Eigen::MatrixXd basis;     // A1ᵀ (n × r)
};

}  // namespace constrained_dynamics
