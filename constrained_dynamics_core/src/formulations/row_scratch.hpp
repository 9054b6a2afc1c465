// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <Eigen/Core>
#include <Eigen/LU>

#include "constrained_dynamics/formulations/formulation.hpp"
#include "constrained_dynamics/formulations/row_factorisation.hpp"
#include "constrained_dynamics/status.hpp"
#include "constrained_dynamics/types.hpp"
#include "is_finite.hpp"

/// @file
/// What formulations share. All of it is real-time safe but for the constructors.

namespace constrained_dynamics
{

/// out ← a b. Small products are done coefficient by coefficient: Eigen's way for large ones costs
/// more than they do.
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

/// Beginning and end of every formulation: one decision about the rank, one split of forces over
/// redundant rows, one judgement of the result. Formulations differ by how they find u̇ in between.
///
/// Whatever the rows are, what is left of them after RowFactorisation has full row rank:
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

  /// What `acceleration` leaves of the equations, free of constraint forces: β − A1 u̇, and
  /// h − Q u̇ without its part along A1ᵀ, which is A2 (h − Q u̇) at the independent speeds. Forms
  /// whose terms are far larger than their sum solve for it once more (iterative refinement).
  void residual(const RowProblem & problem) noexcept CD_NONBLOCKING;

  /// (E7) for the accelerations that were found.
  void force_from_motion(const RowProblem & problem) noexcept CD_NONBLOCKING;

  /// Multipliers (E8) of `constraint_force`, then `judge`.
  Status finish(
    const RowProblem & problem, const RankOptions & options, Status rank_status,
    RowSolution & solution) noexcept CD_NONBLOCKING;

  /// The judgement and, unless a number is not finite, the outputs. `rank_status` is what `begin`
  /// returned, `row_size` is ‖S A‖ (Frobenius).
  Status judge(
    const RowProblem & problem, const RankOptions & options, Status rank_status, double row_size,
    RowSolution & solution) noexcept CD_NONBLOCKING;

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
  Eigen::VectorXd row_work;
};

/// LU of the leading block of a matrix with memory for its largest size: the rest of the matrix is
/// an identity.
class BorderedLu
{
public:
  explicit BorderedLu(int max_size);

  /// The block to fill before `factor`, which keeps it.
  Eigen::Block<Eigen::MatrixXd> matrix(Eigen::Index size)
  {
    return matrix_.topLeftCorner(size, size);
  }

  /// False where the block is singular to rounding relative to its largest element.
  bool factor(Eigen::Index size) noexcept CD_NONBLOCKING;
  /// Solves in place with the last block that was factored.
  void solve(VectorRef x) noexcept CD_NONBLOCKING;

private:
  Eigen::MatrixXd matrix_;
  Eigen::PartialPivLU<Eigen::MatrixXd> lu_;
  Eigen::VectorXd right_;
  Eigen::VectorXd work_;
};

/// The reduced inertia A2 Q A2ᵀ: Cholesky where it is symmetric positive definite, LU where
/// accelerations in active forces made it unsymmetric.
class ReducedInertia
{
public:
  explicit ReducedInertia(int speed_count);

  /// The matrix to fill before `factor`, which destroys it.
  Eigen::Block<Eigen::MatrixXd> matrix(Eigen::Index size)
  {
    return matrix_.topLeftCorner(size, size);
  }

  /// False where the matrix is singular.
  bool factor(Eigen::Index size) noexcept CD_NONBLOCKING;
  /// Solves in place with the last matrix that was factored.
  void solve(VectorRef x) noexcept CD_NONBLOCKING;
  /// Likewise for each column.
  void solve_columns(MatrixRef x) noexcept CD_NONBLOCKING;

private:
  Eigen::MatrixXd matrix_;
  Eigen::VectorXd diagonal_;
  BorderedLu lu_;
  bool symmetric_ = true;
};

/// The Cholesky root R of the inertia, RᵀR = Q.
class InertiaRoot
{
public:
  explicit InertiaRoot(int speed_count);

  /// False where Q is not symmetric positive definite.
  bool factor(const ConstMatrixRef & mass_matrix) noexcept CD_NONBLOCKING;

  /// Rᵀ in the lower triangle; what is above means nothing.
  const Eigen::MatrixXd & transposed() const { return lower_; }
  /// x ← R⁻ᵀ x.
  void divide_by_transpose(MatrixRef x) const noexcept CD_NONBLOCKING;
  /// x ← R⁻¹ x.
  void divide(VectorRef x) const noexcept CD_NONBLOCKING;

private:
  Eigen::MatrixXd lower_;
  Eigen::VectorXd diagonal_;
  Eigen::VectorXd work_;
};

/// Householder QR of a matrix Y (n × r) of full column rank, Y = U [T; 0] with U orthogonal: the
/// first r columns of U span the range of Y, the others its complement.
class RangeFactorisation
{
public:
  RangeFactorisation(int max_rows, int max_cols);

  /// The matrix Y to fill before `factor`, which destroys it.
  Eigen::Block<Eigen::MatrixXd> matrix(Eigen::Index rows, Eigen::Index cols)
  {
    return factor_.topLeftCorner(rows, cols);
  }
  void factor(Eigen::Index rows, Eigen::Index cols) noexcept CD_NONBLOCKING;
  /// The same for a matrix of any rank: only `rank` steps, each with the longest column that is
  /// left, whose place is told by `order` (cols). Returns the norm of what is left after them.
  double factor_pivoted(
    Eigen::Index rows, Eigen::Index cols, Eigen::Index rank,
    Eigen::Ref<Eigen::VectorXi> order) noexcept CD_NONBLOCKING;

  /// x ← U x, for each column.
  void apply(MatrixRef x) noexcept CD_NONBLOCKING;
  /// x ← Uᵀ x.
  void apply_transpose(VectorRef x) noexcept CD_NONBLOCKING;
  /// x ← T⁻¹ x.
  void divide(VectorRef x) const noexcept CD_NONBLOCKING;
  /// x ← T⁻ᵀ x.
  void divide_by_transpose(VectorRef x) const noexcept CD_NONBLOCKING;

private:
  Eigen::MatrixXd factor_;
  Eigen::VectorXd reflectors_;
  Eigen::Index rows_ = 0;
  Eigen::Index cols_ = 0;
};

/// What formulations with a root of the inertia share: R⁻ᵀ A1ᵀ = U [T; 0], with which
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
