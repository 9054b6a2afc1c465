// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "formulations/dense_factors.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <Eigen/Cholesky>
#include <Eigen/Householder>

#include "clones.hpp"
#include "formulations/columns.hpp"
#include "formulations/householder.hpp"

namespace constrained_dynamics
{

namespace
{

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

bool is_symmetric(const ConstMatrixRef & matrix, double size) noexcept
{
  double asymmetry = 0.0;
  for (Eigen::Index j = 0; j < matrix.cols(); ++j)
  {
    for (Eigen::Index i = j + 1; i < matrix.rows(); ++i)
    {
      asymmetry = std::max(asymmetry, std::abs(matrix(i, j) - matrix(j, i)));
    }
  }
  // Rounding of the products leaves some n ε; real asymmetry is far above.
  return asymmetry <= 1e-12 * size;
}

/// Cholesky in the lower triangle. False where the matrix is not positive definite to rounding.
bool factor_positive(MatrixRef matrix, VectorRef diagonal) noexcept
{
  constexpr Eigen::Index kSmall = 64;  // beyond, Eigen's blocks gain more than they cost
  diagonal = matrix.diagonal();
  if (
    diagonal.size() < kSmall ? !columns::cholesky(matrix)
                             : Eigen::LLT<MatrixRef>(matrix).info() != Eigen::Success)
  {
    return false;
  }
  const double smallest = static_cast<double>(diagonal.size()) * kEpsilon;
  for (Eigen::Index i = 0; i < diagonal.size(); ++i)
  {
    // Scale-free: what is left of the diagonal after elimination.
    const double left = matrix(i, i) * matrix(i, i);
    if (!(left > smallest * diagonal(i)))
    {
      return false;
    }
  }
  return true;
}

}  // namespace

// ---- BorderedLu --------------------------------------------------------------------------------

BorderedLu::BorderedLu(int max_size)
: matrix_(Eigen::MatrixXd::Identity(max_size, max_size)),
  lu_(max_size),
  right_(Eigen::VectorXd::Zero(max_size)),
  work_(Eigen::VectorXd::Zero(max_size))
{
}

bool BorderedLu::factor(Eigen::Index size) noexcept CD_NONBLOCKING
{
  const Eigen::Index rest = matrix_.rows() - size;
  matrix_.topRightCorner(size, rest).setZero();
  matrix_.bottomLeftCorner(rest, size).setZero();
  matrix_.bottomRightCorner(rest, rest).setIdentity();
  lu_.compute(matrix_);
  const double largest = matrix_.topLeftCorner(size, size).cwiseAbs().maxCoeff();
  const double smallest = static_cast<double>(size) * kEpsilon;
  for (Eigen::Index i = 0; i < size; ++i)
  {
    if (!(std::abs(lu_.matrixLU()(i, i)) > smallest * largest))
    {
      return false;
    }
  }
  return true;
}

void BorderedLu::solve(VectorRef x) noexcept CD_NONBLOCKING
{
  const Eigen::Index size = x.size();
  const Eigen::Index rest = matrix_.rows() - size;
  right_.head(size) = x;
  right_.tail(rest).setZero();
  work_ = lu_.permutationP() * right_;
  lu_.matrixLU().triangularView<Eigen::UnitLower>().solveInPlace(work_);
  lu_.matrixLU().triangularView<Eigen::Upper>().solveInPlace(work_);
  x = work_.head(size);
}

// ---- ReducedInertia ----------------------------------------------------------------------------

ReducedInertia::ReducedInertia(int speed_count)
: matrix_(Eigen::MatrixXd::Zero(speed_count, speed_count)),
  diagonal_(Eigen::VectorXd::Zero(speed_count)),
  lu_(speed_count)
{
}

bool ReducedInertia::factor(Eigen::Index p) noexcept CD_NONBLOCKING
{
  if (p == 0)
  {
    return true;
  }
  auto reduced = matrix(p);
  const double size = reduced.cwiseAbs().maxCoeff();
  if (!(size > 0.0) || !std::isfinite(size))
  {
    return false;
  }
  symmetric_ = is_symmetric(reduced, size);
  if (!symmetric_)
  {
    lu_.matrix(p) = reduced;
    return lu_.factor(p);
  }
  return factor_positive(reduced, diagonal_.head(p));
}

void ReducedInertia::solve(VectorRef x) noexcept CD_NONBLOCKING
{
  if (x.size() == 0)
  {
    return;
  }
  if (!symmetric_)
  {
    lu_.solve(x);
    return;
  }
  const auto L = matrix(x.size());
  columns::divide_by_lower(L.data(), L.outerStride(), x.data(), x.size());
  columns::divide_by_lower_transpose(L.data(), L.outerStride(), x.data(), x.size());
}

void ReducedInertia::solve_columns(MatrixRef x) noexcept CD_NONBLOCKING
{
  for (Eigen::Index j = 0; j < x.cols(); ++j)
  {
    solve(x.col(j));
  }
}

// ---- InertiaRoot -------------------------------------------------------------------------------

InertiaRoot::InertiaRoot(int speed_count)
: lower_(Eigen::MatrixXd::Identity(speed_count, speed_count)),
  diagonal_(Eigen::VectorXd::Zero(speed_count)),
  work_(Eigen::VectorXd::Zero(speed_count))
{
}

bool InertiaRoot::factor(const ConstMatrixRef & mass_matrix) noexcept CD_NONBLOCKING
{
  // A semidefinite Q, computed, has some n ε in place of the eigenvalue 0. Up to this condition at
  // least three digits of Q⁻¹ h are left; even chains of a thousand links stay far below.
  constexpr double kLargestCondition = 1e13;
  lower_ = mass_matrix;
  if (!is_symmetric(lower_, lower_.cwiseAbs().maxCoeff()) || !factor_positive(lower_, diagonal_))
  {
    return false;
  }
  // The smallest eigenvalue of Q scaled to a diagonal of ones, by inverse iteration. Small pivots
  // alone do not tell: one of 1e-6 lets noise of ε look like 1e-10 in the next.
  diagonal_ = diagonal_.cwiseSqrt();
  work_.setOnes();
  double inverse = 1.0;
  constexpr int kIterations = 3;
  for (int i = 0; i < kIterations; ++i)
  {
    work_ /= work_.norm();
    work_.array() *= diagonal_.array();
    divide_by_transpose(work_);
    inverse = work_.squaredNorm();
    divide(work_);
    work_.array() *= diagonal_.array();
  }
  return inverse <= kLargestCondition;
}

void InertiaRoot::divide_by_transpose(MatrixRef x) const noexcept CD_NONBLOCKING
{
  if (x.cols() > 0)
  {
    lower_.triangularView<Eigen::Lower>().solveInPlace(x);
  }
}

void InertiaRoot::divide(VectorRef x) const noexcept CD_NONBLOCKING
{
  lower_.triangularView<Eigen::Lower>().transpose().solveInPlace(x);
}

// ---- RangeFactorisation ------------------------------------------------------------------------

RangeFactorisation::RangeFactorisation(int max_rows, int max_cols)
: factor_(Eigen::MatrixXd::Zero(max_rows, max_cols)), reflectors_(Eigen::VectorXd::Zero(max_cols))
{
}

CD_CLONES void RangeFactorisation::factor(Eigen::Index rows, Eigen::Index cols) noexcept
  CD_NONBLOCKING
{
  rows_ = rows;
  cols_ = cols;
  for (Eigen::Index k = 0; k < cols_; ++k)
  {
    double diagonal = 0.0;
    factor_.col(k).segment(k, rows_ - k).makeHouseholderInPlace(reflectors_(k), diagonal);
    factor_(k, k) = diagonal;
    if (k + 1 < cols_)
    {
      reflect(
        factor_.block(k, k + 1, rows_ - k, cols_ - k - 1),
        factor_.col(k).segment(k + 1, rows_ - k - 1), reflectors_(k));
    }
  }
}

CD_CLONES double RangeFactorisation::factor_pivoted(
  Eigen::Index rows, Eigen::Index cols, Eigen::Index rank,
  Eigen::Ref<Eigen::VectorXi> order) noexcept CD_NONBLOCKING
{
  rows_ = rows;
  cols_ = rank;
  for (Eigen::Index j = 0; j < cols; ++j)
  {
    order(j) = static_cast<int>(j);
  }
  for (Eigen::Index k = 0; k < rank; ++k)
  {
    const Eigen::Index longest = k + longest_column(factor_.block(k, k, rows - k, cols - k)).first;
    if (longest != k)
    {
      factor_.col(k).head(rows).swap(factor_.col(longest).head(rows));
      std::swap(order(k), order(longest));
    }
    double diagonal = 0.0;
    factor_.col(k).segment(k, rows - k).makeHouseholderInPlace(reflectors_(k), diagonal);
    factor_(k, k) = diagonal;
    if (k + 1 < cols)
    {
      reflect(
        factor_.block(k, k + 1, rows - k, cols - k - 1),
        factor_.col(k).segment(k + 1, rows - k - 1), reflectors_(k));
    }
  }
  double left = 0.0;
  for (Eigen::Index j = rank; j < cols && rank < rows; ++j)
  {
    left += factor_.col(j).segment(rank, rows - rank).squaredNorm();
  }
  return std::sqrt(left);
}

CD_CLONES void RangeFactorisation::apply(MatrixRef x) noexcept CD_NONBLOCKING
{
  for (Eigen::Index k = cols_ - 1; k >= 0; --k)
  {
    reflect(
      x.middleRows(k, rows_ - k), factor_.col(k).segment(k + 1, rows_ - k - 1), reflectors_(k));
  }
}

CD_CLONES void RangeFactorisation::apply_transpose(VectorRef x) noexcept CD_NONBLOCKING
{
  for (Eigen::Index k = 0; k < cols_; ++k)
  {
    reflect(x.segment(k, rows_ - k), factor_.col(k).segment(k + 1, rows_ - k - 1), reflectors_(k));
  }
}

void RangeFactorisation::divide(VectorRef x) const noexcept CD_NONBLOCKING
{
  columns::divide_by_upper(factor_.data(), factor_.outerStride(), x.data(), cols_);
}

void RangeFactorisation::divide_by_transpose(VectorRef x) const noexcept CD_NONBLOCKING
{
  columns::divide_by_upper_transpose(factor_.data(), factor_.outerStride(), x.data(), cols_);
}

}  // namespace constrained_dynamics
