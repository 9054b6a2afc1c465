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

// A pivot may be smaller than the largest element of its column by this factor when it is chosen,
// for the sake of zeros, and by the second before it is given up.
constexpr double kChosenPivot = 0.1;
constexpr double kLargestFactor = 100.0;
// Largest element of U relative to the largest of S A: it costs three of sixteen digits.
constexpr double kLargestGrowth = 1e3;
// Relative to the largest element of S A. Smaller ones belong close to a singular position, which
// orthogonal factors judge better.
constexpr double kSmallestPivot = 1e-4;

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

bool KeptElimination::find_pivot(
  int k, double smallest_pivot, int & row, int & column) const noexcept
{
  const int m = row_count_;
  long best_cost = std::numeric_limits<long>::max();
  double best_size = 0.0;
  for (int j = k; j < m; ++j)
  {
    double largest = 0.0;
    for (int i = k; i < m; ++i)
    {
      largest = std::max(largest, std::abs(factor_(i, j)));
    }
    const double smallest = std::max(kChosenPivot * largest, smallest_pivot);
    for (int i = k; i < m; ++i)
    {
      const double size = std::abs(factor_(i, j));
      // Markowitz: the elements that elimination with this pivot touches.
      const long cost = static_cast<long>(rows_left_(i) - 1) * (columns_left_(j) - 1);
      if (size >= smallest && (cost < best_cost || (cost == best_cost && size > best_size)))
      {
        best_cost = cost;
        best_size = size;
        row = i;
        column = j;
      }
    }
  }
  return best_size > 0.0;
}

void KeptElimination::gather(const ConstMatrixRef & rows) noexcept
{
  const int m = row_count_;
  for (int j = 0; j < speed_count_; ++j)
  {
    for (int i = 0; i < m; ++i)
    {
      if (rows(i, j) != 0.0)
      {
        pattern_(i, j) = 1;
        outside_(i, j) = 0.0;
      }
    }
  }
  for (int j = 0; j < m; ++j)
  {
    pivot_row_(j) = j;
    pivot_column_(j) = j;
    for (int i = 0; i < m; ++i)
    {
      factor_(i, j) = scale_(i) * rows(i, order_(j));
      fill_(i, j) = pattern_(i, order_(j));
    }
  }
}

void KeptElimination::count_left(int k) noexcept
{
  for (int i = k; i < row_count_; ++i)
  {
    rows_left_(i) = 0;
    columns_left_(i) = 0;
    for (int j = k; j < row_count_; ++j)
    {
      rows_left_(i) += fill_(i, j);
      columns_left_(i) += fill_(j, i);
    }
  }
}

/// Brings a pivot to its place and eliminates with it, filling in what may become other than zero.
void KeptElimination::eliminate_with(int k, int row, int column) noexcept
{
  const int m = row_count_;
  factor_.row(k).head(m).swap(factor_.row(row).head(m));
  fill_.row(k).head(m).swap(fill_.row(row).head(m));
  std::swap(pivot_row_(k), pivot_row_(row));
  factor_.col(k).head(m).swap(factor_.col(column).head(m));
  fill_.col(k).head(m).swap(fill_.col(column).head(m));
  std::swap(pivot_column_(k), pivot_column_(column));
  for (int i = k + 1; i < m; ++i)
  {
    const double factor = factor_(i, k) / factor_(k, k);
    for (int j = k + 1; j < m && fill_(i, k) != 0; ++j)
    {
      if (fill_(k, j) != 0)
      {
        factor_(i, j) -= factor * factor_(k, j);
        fill_(i, j) = 1;
      }
    }
  }
}

bool KeptElimination::choose_pivots(const ConstMatrixRef & rows) noexcept
{
  const int m = row_count_;
  ++pivoting_count_;
  gather(rows);
  const double largest = m > 0 ? factor_.topLeftCorner(m, m).cwiseAbs().maxCoeff() : 0.0;
  for (int k = 0; k < m; ++k)
  {
    int row = k;
    int column = k;
    count_left(k);
    if (!find_pivot(k, kSmallestPivot * largest, row, column))
    {
      return false;
    }
    eliminate_with(k, row, column);
  }
  list_fill();
  list_elements();
  return true;
}

/// Rows and columns move until the last pivot: only then are the places of L and U known.
void KeptElimination::list_fill() noexcept
{
  const int m = row_count_;
  std::size_t below = 0;
  std::size_t right = 0;
  operation_count_ = 0;
  for (int k = 0; k < m; ++k)
  {
    const auto at = static_cast<std::size_t>(k);
    below_begin_[at] = static_cast<int>(below);
    right_begin_[at] = static_cast<int>(right);
    for (int i = k + 1; i < m; ++i)
    {
      if (fill_(i, k) != 0)
      {
        below_[below++] = i;
      }
      if (fill_(k, i) != 0)
      {
        right_[right++] = i;
      }
    }
    below_begin_[at + 1] = static_cast<int>(below);
    right_begin_[at + 1] = static_cast<int>(right);
    operation_count_ += static_cast<long>(below_begin_[at + 1] - below_begin_[at]) *
                        (right_begin_[at + 1] - right_begin_[at] + 1);
  }
}

void KeptElimination::list_elements() noexcept
{
  const int m = row_count_;
  for (int k = 0; k < m; ++k)
  {
    inverse_row_(pivot_row_(k)) = k;
    inverse_column_(pivot_column_(k)) = k;
  }
  element_count_ = 0;
  for (int j = 0; j < speed_count_; ++j)
  {
    const int place = place_(j);
    const int column = place < m ? inverse_column_(place) : place;
    for (int i = 0; i < m; ++i)
    {
      if (pattern_(i, j) != 0)
      {
        elements_[element_count_++] = Element{i, j, inverse_row_(i), column};
      }
    }
  }
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
