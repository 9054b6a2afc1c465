// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <Eigen/Core>
#include <Eigen/LU>

#include "constrained_dynamics/status.hpp"
#include "constrained_dynamics/types.hpp"

/// @file
/// Factorisations of leading blocks of matrices whose memory is taken once, for their largest size:
/// Eigen's own take memory whenever the size changes. The arithmetic is Eigen's wherever it works
/// in place (LLT, PartialPivLU, makeHouseholder, triangular solves).

namespace constrained_dynamics
{

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

}  // namespace constrained_dynamics
