// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// How KeptElimination chooses its pivots.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kept_elimination.hpp"

namespace constrained_dynamics
{

namespace
{

// A pivot may be smaller than the largest element of its column by this factor when it is chosen,
// for the sake of zeros.
constexpr double kChosenPivot = 0.1;

}  // namespace

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

}  // namespace constrained_dynamics
