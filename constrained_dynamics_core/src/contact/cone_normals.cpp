// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// The normal rows of a cone problem alone: an active set.
#include <algorithm>
#include <cmath>
#include <limits>

#include "contact/cone_problem.hpp"
#include "contact/tolerances.hpp"

namespace constrained_dynamics
{

/// What w may amount to with the round-off that large forces contribute.
double ConeProblem::rounding_size(int row) const noexcept
{
  double size = scale_(row);
  for (int k = 0; k < active_count_; ++k)
  {
    const int other = active_[static_cast<std::size_t>(k)];
    size += raw_size_(row) * raw_size_(other) * std::abs(x_(other));
  }
  return size;
}

/// Part of column_ that the first `count` active columns leave, with the coefficients of the
/// others.
double ConeProblem::orthogonalise(int count, VectorRef coefficients) noexcept
{
  coefficients.head(count).setZero();
  for (int pass = 0; pass < 2; ++pass)
  {
    for (int k = 0; k < count; ++k)
    {
      const double along = active_basis_.col(k).dot(column_);
      coefficients(k) += along;
      column_ -= along * active_basis_.col(k);
    }
  }
  return column_.norm();
}

/// Rᵀ of Y_active = (basis) R, without forming W, which would square the condition number.
bool ConeProblem::factor_active() noexcept
{
  for (int i = 0; i < active_count_; ++i)
  {
    column_ = columns_.col(active_[static_cast<std::size_t>(i)]);
    const double left = orthogonalise(i, work_);
    if (!(left > 0.0) || i >= active_basis_.cols())
    {
      return false;
    }
    active_basis_.col(i) = column_ / left;
    active_matrix_.row(i).head(i) = work_.head(i).transpose();
    active_matrix_(i, i) = left;
  }
  return true;
}

void ConeProblem::remove_active(int position) noexcept
{
  const int row = active_[static_cast<std::size_t>(position)];
  state_[static_cast<std::size_t>(row)] = kFree;
  x_(row) = 0.0;
  for (int k = position; k + 1 < active_count_; ++k)
  {
    active_[static_cast<std::size_t>(k)] = active_[static_cast<std::size_t>(k) + 1];
  }
  --active_count_;
}

/// The free row whose w is the most negative for its size; −1: all are met.
int ConeProblem::most_violated() const noexcept
{
  int next = -1;
  double worst = 0.0;
  for (int row = 0; row < row_count_; ++row)
  {
    if (state_[static_cast<std::size_t>(row)] != kFree)
    {
      continue;
    }
    double size = scale_(row);
    for (int k = 0; k < active_count_; ++k)
    {
      const int other = active_[static_cast<std::size_t>(k)];
      size += std::abs(delassus_(row, other) * x_(other));
    }
    const double violation = -motion_now(row);
    if (violation > tolerance::kConeRounding * size && violation > worst * size)
    {
      worst = violation / size;
      next = row;
    }
  }
  return next;
}

/// While a row depends on the active ones, moves force over to it along the null direction until
/// one of them is free. kNone: no force can be moved, the row cannot be met.
ConeProblem::Room ConeProblem::make_room(int next) noexcept
{
  while (true)
  {
    if (!factor_active())
    {
      return Room::kFailed;
    }
    column_ = columns_.col(next);
    const double size = column_.norm();
    const double left = orthogonalise(active_count_, trial_);
    if (left > tolerance::kDependentAngle * size && active_count_ < active_basis_.cols())
    {
      return Room::kMade;
    }
    auto head = trial_.head(active_count_);
    active_matrix_.topLeftCorner(active_count_, active_count_)
      .triangularView<Eigen::Lower>()
      .transpose()
      .solveInPlace(head);
    int first = -1;
    double step = std::numeric_limits<double>::infinity();
    for (int k = 0; k < active_count_; ++k)
    {
      const double x = x_(active_[static_cast<std::size_t>(k)]);
      if (trial_(k) > tolerance::kCoefficient && x / trial_(k) < step)
      {
        step = x / trial_(k);
        first = k;
      }
    }
    if (first < 0)
    {
      return Room::kNone;
    }
    for (int k = 0; k < active_count_; ++k)
    {
      x_(active_[static_cast<std::size_t>(k)]) -= step * trial_(k);
    }
    x_(next) += step;
    remove_active(first);
  }
}

/// To w = 0 on the active rows; those whose force would reach 0 on the way are freed.
bool ConeProblem::meet_active() noexcept
{
  while (active_count_ > 0)
  {
    if (!factor_active())
    {
      return false;
    }
    for (int k = 0; k < active_count_; ++k)
    {
      trial_(k) = -r_(active_[static_cast<std::size_t>(k)]);
    }
    auto head = trial_.head(active_count_);
    const auto lower =
      active_matrix_.topLeftCorner(active_count_, active_count_).triangularView<Eigen::Lower>();
    lower.solveInPlace(head);
    lower.transpose().solveInPlace(head);
    double step = 1.0;
    int first = -1;
    for (int k = 0; k < active_count_; ++k)
    {
      const double x = x_(active_[static_cast<std::size_t>(k)]);
      if (!(trial_(k) > 0.0))
      {
        const double here = x > trial_(k) ? x / (x - trial_(k)) : 0.0;
        if (first < 0 || here < step)
        {
          step = here;
          first = k;
        }
      }
    }
    for (int k = 0; k < active_count_; ++k)
    {
      double & x = x_(active_[static_cast<std::size_t>(k)]);
      x = first < 0 ? trial_(k) : std::max(0.0, x + step * (trial_(k) - x));
    }
    if (first < 0)
    {
      break;
    }
    remove_active(first);
  }
  return true;
}

/// Least ½ xᵀ W x + rᵀ x over x ≥ 0 for the normal rows, by the active set of Lawson and Hanson,
/// with a step along the null direction where a row depends on the active ones.
bool ConeProblem::solve_normals(const ConeContact * contacts, int count) noexcept
{
  x_.head(row_count_).setZero();
  std::fill(state_.begin(), state_.begin() + row_count_, static_cast<char>(kNotNormal));
  for (int i = 0; i < count; ++i)
  {
    if (contacts[i].normal >= 0)
    {
      state_[static_cast<std::size_t>(contacts[i].normal)] = kFree;
    }
  }
  active_count_ = 0;
  bool met = true;
  const int most = 20 + 10 * row_count_;
  for (int iteration = 0; iteration < most; ++iteration)
  {
    const int next = most_violated();
    if (next < 0)
    {
      return met;
    }
    const Room room = make_room(next);
    if (room == Room::kFailed)
    {
      return false;
    }
    if (room == Room::kNone)
    {
      state_[static_cast<std::size_t>(next)] = kImpossible;
      x_(next) = 0.0;
      met = met && -motion_now(next) <= tolerance::kContradiction * rounding_size(next);
      continue;
    }
    active_[static_cast<std::size_t>(active_count_++)] = next;
    state_[static_cast<std::size_t>(next)] = kActive;
    if (!meet_active())
    {
      return false;
    }
  }
  return false;
}

}  // namespace constrained_dynamics
