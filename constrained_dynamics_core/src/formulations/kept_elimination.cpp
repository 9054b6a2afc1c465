// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "kept_elimination.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace constrained_dynamics
{

namespace
{

// A pivot may be smaller than an element of its column by this factor before it is given up.
constexpr double kLargestFactor = 100.0;
// Largest element of U relative to the largest of S A: it costs three of sixteen digits.
constexpr double kLargestGrowth = 1e3;

}  // namespace

KeptElimination::KeptElimination(int speed_count, int max_row_count)
: speed_count_(speed_count),
  order_(Eigen::VectorXi::Zero(speed_count)),
  place_(Eigen::VectorXi::Zero(speed_count)),
  pattern_(Pattern::Zero(max_row_count, speed_count)),
  elements_(static_cast<std::size_t>(max_row_count) * static_cast<std::size_t>(speed_count))
{
  // Rows of full rank are at most as many as speeds.
  const int m = std::min(speed_count, max_row_count);
  factor_.setZero(m, m);
  inverse_.setZero(m);
  fill_.setZero(m, m);
  for (Eigen::VectorXi * indices :
       {&pivot_row_, &pivot_column_, &rows_left_, &columns_left_, &inverse_row_, &inverse_column_})
  {
    indices->setZero(m);
  }
  const auto triangle = static_cast<std::size_t>(m) * static_cast<std::size_t>(m) / 2 + 1;
  below_.assign(triangle, 0);
  right_.assign(triangle, 0);
  below_begin_.assign(static_cast<std::size_t>(m) + 1, 0);
  right_begin_.assign(static_cast<std::size_t>(m) + 1, 0);
  scale_.setOnes(m);
  independent_.setZero(m, speed_count);
  dependency_.setZero(m, speed_count);
  work_.setZero(m);
  weakest_.setZero(m);
  outside_.setOnes(max_row_count, speed_count);
}

void KeptElimination::select(const Eigen::VectorXi & order, int row_count) noexcept CD_NONBLOCKING
{
  row_count_ = row_count <= factor_.rows() ? row_count : -1;
  has_pivots_ = false;
  order_ = order;
  for (int k = 0; k < speed_count_; ++k)
  {
    place_(order_(k)) = k;
  }
  pattern_.setZero();
  outside_.setOnes();
}

bool KeptElimination::factor(const ConstMatrixRef & rows, const ConstVectorRef & row_scale) noexcept
  CD_NONBLOCKING
{
  if (row_count_ < 0 || rows.rows() != row_count_ || rows.cols() != speed_count_)
  {
    return false;
  }
  scale_.head(row_count_) = row_scale;
  if (has_pivots_ && covers(rows))
  {
    load(rows);
    if (eliminate())
    {
      return true;
    }
  }
  has_weakest_ = false;
  has_pivots_ = choose_pivots(rows);
  if (!has_pivots_)
  {
    return false;
  }
  load(rows);
  return eliminate();
}

/// Whether no element outside the list differs from zero, and all are finite: 0 times them is 0.
bool KeptElimination::covers(const ConstMatrixRef & rows) const noexcept
{
  return rows.cwiseAbs().cwiseProduct(outside_.topRows(row_count_)).sum() == 0.0;
}

void KeptElimination::load(const ConstMatrixRef & rows) noexcept
{
  const int m = row_count_;
  factor_.topLeftCorner(m, m).setZero();
  independent_.topLeftCorner(m, speed_count_ - m).setZero();
  squares_ = 0.0;
  largest_ = 0.0;
  for (std::size_t i = 0; i < element_count_; ++i)
  {
    const Element & element = elements_[i];
    const double value = scale_(element.row) * rows(element.row, element.speed);
    squares_ += value * value;
    largest_ = std::max(largest_, std::abs(value));
    if (element.pivot_column < m)
    {
      factor_(element.pivot_row, element.pivot_column) = value;
    }
    else
    {
      independent_(element.pivot_row, element.pivot_column - m) = value;
    }
  }
}

bool KeptElimination::eliminate() noexcept
{
  const int m = row_count_;
  const double smallest = kSmallestPivot * largest_;
  for (int k = 0; k < m; ++k)
  {
    const auto at = static_cast<std::size_t>(k);
    const double pivot = factor_(k, k);
    if (!(std::abs(pivot) >= smallest) || pivot == 0.0)
    {
      return false;
    }
    inverse_(k) = 1.0 / pivot;
    const double * upper = &factor_(k, 0);
    double grown = std::abs(pivot);
    for (int r = right_begin_[at]; r < right_begin_[at + 1]; ++r)
    {
      grown = std::max(grown, std::abs(upper[right_[static_cast<std::size_t>(r)]]));
    }
    if (!(grown <= kLargestGrowth * largest_))
    {
      return false;
    }
    for (int b = below_begin_[at]; b < below_begin_[at + 1]; ++b)
    {
      double * lower = &factor_(below_[static_cast<std::size_t>(b)], 0);
      const double factor = lower[k] * inverse_(k);
      if (!(std::abs(factor) <= kLargestFactor))
      {
        return false;
      }
      lower[k] = factor;
      for (int r = right_begin_[at]; r < right_begin_[at + 1]; ++r)
      {
        const int j = right_[static_cast<std::size_t>(r)];
        lower[j] -= factor * upper[j];
      }
    }
  }
  for (int j = 0; j < speed_count_ - m; ++j)
  {
    work_.head(m) = independent_.col(j).head(m);
    solve(work_);
    for (int k = 0; k < m; ++k)
    {
      dependency_(pivot_column_(k), j) = -work_(k);
    }
  }
  return true;
}

/// x ← (L U)⁻¹ x, in pivot order.
void KeptElimination::solve(Eigen::VectorXd & x) const noexcept
{
  for (int k = 0; k < row_count_; ++k)
  {
    const auto at = static_cast<std::size_t>(k);
    for (int b = below_begin_[at]; b < below_begin_[at + 1]; ++b)
    {
      const int i = below_[static_cast<std::size_t>(b)];
      x(i) -= factor_(i, k) * x(k);
    }
  }
  for (int k = row_count_ - 1; k >= 0; --k)
  {
    const auto at = static_cast<std::size_t>(k);
    double value = x(k);
    for (int r = right_begin_[at]; r < right_begin_[at + 1]; ++r)
    {
      const int j = right_[static_cast<std::size_t>(r)];
      value -= factor_(k, j) * x(j);
    }
    x(k) = value * inverse_(k);
  }
}

/// x ← (L U)⁻ᵀ x, in pivot order.
void KeptElimination::solve_transpose(Eigen::VectorXd & x) const noexcept
{
  for (int k = 0; k < row_count_; ++k)
  {
    const auto at = static_cast<std::size_t>(k);
    x(k) *= inverse_(k);
    for (int r = right_begin_[at]; r < right_begin_[at + 1]; ++r)
    {
      const int j = right_[static_cast<std::size_t>(r)];
      x(j) -= factor_(k, j) * x(k);
    }
  }
  for (int k = row_count_ - 1; k >= 0; --k)
  {
    const auto at = static_cast<std::size_t>(k);
    double value = x(k);
    for (int b = below_begin_[at]; b < below_begin_[at + 1]; ++b)
    {
      const int i = below_[static_cast<std::size_t>(b)];
      value -= factor_(i, k) * x(i);
    }
    x(k) = value;
  }
}

void KeptElimination::particular(const ConstVectorRef & bias, VectorRef beta) noexcept
  CD_NONBLOCKING
{
  for (int k = 0; k < row_count_; ++k)
  {
    work_(k) = scale_(pivot_row_(k)) * bias(pivot_row_(k));
  }
  solve(work_);
  for (int k = 0; k < row_count_; ++k)
  {
    beta(pivot_column_(k)) = work_(k);
  }
}

void KeptElimination::multipliers(const ConstVectorRef & force, VectorRef multipliers) noexcept
  CD_NONBLOCKING
{
  for (int k = 0; k < row_count_; ++k)
  {
    work_(k) = force(order_(pivot_column_(k)));
  }
  solve_transpose(work_);
  for (int k = 0; k < row_count_; ++k)
  {
    multipliers(pivot_row_(k)) = scale_(pivot_row_(k)) * work_(k);
  }
}

double KeptElimination::condition() noexcept CD_NONBLOCKING
{
  const int m = row_count_;
  if (m == 0)
  {
    return 1.0;
  }
  // σ_min of S A_D by inverse iteration, which goes on from call to call; a little of all
  // directions is mixed in, so that another one may become the weakest. σ_max is bounded by the
  // Frobenius norm.
  constexpr int kFirstIterations = 4;
  constexpr double kOthers = 0.1;
  const double ones = 1.0 / std::sqrt(static_cast<double>(m));
  auto x = work_.head(m);
  auto weakest = weakest_.head(m);
  if (!has_weakest_)
  {
    weakest.setConstant(ones);
  }
  double inverse_square = 1.0;
  for (int i = 0; i < (has_weakest_ ? 1 : kFirstIterations); ++i)
  {
    x = weakest.array() + kOthers * ones;
    x /= x.norm();
    solve_transpose(work_);
    inverse_square = x.squaredNorm();
    solve(work_);
    weakest = x / x.norm();
  }
  has_weakest_ = weakest.allFinite();
  const double condition = std::sqrt(squares_ * inverse_square);
  return std::isfinite(condition) ? condition : std::numeric_limits<double>::max();
}

}  // namespace constrained_dynamics
