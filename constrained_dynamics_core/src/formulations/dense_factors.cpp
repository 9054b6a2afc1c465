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

// A semidefinite matrix, computed, has some n ε in place of the eigenvalue 0. Even chains of a
// thousand links stay far below this condition.
constexpr double kLargestCondition = 1.0 / kSmallestPivot;

/// An estimate of 1 over the smallest eigenvalue of L Lᵀ, scaled so that sizes are 1, by inverse
/// iteration.
double inverse_of_smallest(
  const ConstMatrixRef & L, const ConstVectorRef & root_size, VectorRef x) noexcept
{
  constexpr int kIterations = 3;
  const Eigen::Index n = x.size();
  double inverse = 1.0;
  x.setLinSpaced(1.0, 2.0);  // orthogonal to no motion of two like joints against each other
  for (int i = 0; i < kIterations; ++i)
  {
    x /= x.norm();
    x.array() *= root_size.array();
    columns::divide_by_lower(L.data(), L.outerStride(), x.data(), n);
    inverse = x.squaredNorm();
    columns::divide_by_lower_transpose(L.data(), L.outerStride(), x.data(), n);
    x.array() *= root_size.array();
  }
  return inverse;
}

/// Cholesky in the lower triangle. False where the matrix is not positive definite to round-off,
/// which is relative to the squares of `root_size`; `work` is overwritten.
bool factor_positive(MatrixRef matrix, const ConstVectorRef & root_size, VectorRef work) noexcept
{
  constexpr Eigen::Index kSmall = 64;  // beyond, Eigen's blocks gain more than they cost
  // Small pivots alone do not tell: one of 1e-6 lets round-off look like 1e-10 in the next.
  constexpr double kClear = 1e-3;
  const bool is_positive = root_size.size() < kSmall
                             ? columns::cholesky(matrix)
                             : Eigen::LLT<MatrixRef>(matrix).info() == Eigen::Success;
  if (!is_positive)
  {
    return false;
  }
  double smallest = 1.0;
  for (Eigen::Index i = 0; i < root_size.size(); ++i)
  {
    const double pivot = matrix(i, i) / root_size(i);
    smallest = std::min(smallest, pivot * pivot);
  }
  return smallest > kClear || (smallest * kLargestCondition > 1.0 &&
                               inverse_of_smallest(matrix, root_size, work) <= kLargestCondition);
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

bool BorderedLu::factor(Eigen::Index size, double smallest_pivot) noexcept CD_NONBLOCKING
{
  const Eigen::Index rest = matrix_.rows() - size;
  matrix_.topRightCorner(size, rest).setZero();
  matrix_.bottomLeftCorner(rest, size).setZero();
  matrix_.bottomRightCorner(rest, rest).setIdentity();
  lu_.compute(matrix_);
  const double largest = matrix_.topLeftCorner(size, size).cwiseAbs().maxCoeff();
  const double smallest = std::max(smallest_pivot, static_cast<double>(size) * kEpsilon);
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
  root_size_(Eigen::VectorXd::Zero(speed_count)),
  work_(Eigen::VectorXd::Zero(speed_count)),
  lu_(speed_count)
{
}

void ReducedInertia::size_by(
  const ConstMatrixRef & A2_transposed, const ConstVectorRef & inertia_root) noexcept CD_NONBLOCKING
{
  for (Eigen::Index i = 0; i < A2_transposed.cols(); ++i)
  {
    double sum = 0.0;
    for (Eigen::Index k = 0; k < inertia_root.size(); ++k)
    {
      sum += std::abs(A2_transposed(k, i)) * inertia_root(k);
    }
    root_size_(i) = sum;
  }
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
  auto roots = root_size(p);
  symmetric_ = is_symmetric(reduced, size);
  if (symmetric_)
  {
    return factor_positive(reduced, roots, work_.head(p));
  }
  for (Eigen::Index i = 0; i < p; ++i)
  {
    // Such a Q need not be bounded by its diagonal.
    roots(i) = std::max(roots(i), std::sqrt(std::abs(reduced(i, i))));
    roots(i) = roots(i) > 0.0 ? roots(i) : std::sqrt(size);
  }
  auto scaled = lu_.matrix(p);
  for (Eigen::Index j = 0; j < p; ++j)
  {
    for (Eigen::Index i = 0; i < p; ++i)
    {
      scaled(i, j) = reduced(i, j) / (roots(i) * roots(j));
    }
  }
  return lu_.factor(p, kSmallestPivot);
}

void ReducedInertia::solve(VectorRef x) noexcept CD_NONBLOCKING
{
  const Eigen::Index p = x.size();
  if (p == 0)
  {
    return;
  }
  if (!symmetric_)
  {
    x.array() /= root_size(p).array();
    lu_.solve(x);
    x.array() /= root_size(p).array();
    return;
  }
  const auto L = matrix(p);
  columns::divide_by_lower(L.data(), L.outerStride(), x.data(), p);
  columns::divide_by_lower_transpose(L.data(), L.outerStride(), x.data(), p);
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
  work_(Eigen::VectorXd::Zero(speed_count))
{
}

bool InertiaRoot::factor(
  const ConstMatrixRef & mass_matrix, const ConstVectorRef & inertia_root) noexcept CD_NONBLOCKING
{
  lower_ = mass_matrix;
  return is_symmetric(lower_, lower_.cwiseAbs().maxCoeff()) &&
         factor_positive(lower_, inertia_root, work_);
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
