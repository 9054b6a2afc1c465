// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Cone problems that follow each other in time: solutions from a guess, and the speeds themselves.
#include <algorithm>
#include <cmath>

#include "contact/cone_problem.hpp"
#include "contact/tolerances.hpp"

namespace constrained_dynamics
{

void ConeProblem::speeds(VectorRef out) const noexcept CD_NONBLOCKING
{
  out = motion_;
  if (row_count_ > 0)
  {
    out.noalias() += columns_.leftCols(row_count_) * x_.head(row_count_);
  }
  cholesky_.triangularView<Eigen::Lower>().transpose().solveInPlace(out);
}

/// Cholesky factor of W of the active rows, in active_matrix_. False where a pivot is below `least`
/// of its diagonal. @param shift added to the diagonal, relative.
bool ConeProblem::factor_chosen(double least, double shift) noexcept
{
  const int m = active_count_;
  auto lower = active_matrix_.topLeftCorner(m, m);
  for (int j = 0; j < m; ++j)
  {
    const int row = active_[static_cast<std::size_t>(j)];
    for (int i = j; i < m; ++i)
    {
      lower(i, j) = delassus_(active_[static_cast<std::size_t>(i)], row);
    }
  }
  for (int j = 0; j < m; ++j)  // by columns as they lie in memory
  {
    auto column = lower.col(j).tail(m - j);
    const double whole = column(0) * (1.0 + shift);
    column(0) = whole;
    for (int k = 0; k < j; ++k)
    {
      column -= lower(j, k) * lower.col(k).tail(m - j);
    }
    if (!(column(0) > least * whole))
    {
      return false;
    }
    column /= std::sqrt(column(0));
  }
  return true;
}

/// w = 0 for all rows of the contacts that hold, x = 0 for the others. Returns whether that is a
/// solution; x is what was tried.
bool ConeProblem::solve_holding(
  const ConeContact * contacts, int count, const char * holds) noexcept
{
  x_.head(row_count_).setZero();
  active_count_ = 0;
  for (int i = 0; i < count; ++i)
  {
    const ConeContact & contact = contacts[i];
    if (holds[i] == 0)
    {
      continue;
    }
    if (contact.normal >= 0)
    {
      active_[static_cast<std::size_t>(active_count_++)] = contact.normal;
    }
    for (int k = 0; k < contact.tangent_count; ++k)
    {
      active_[static_cast<std::size_t>(active_count_++)] = contact.tangent[k];
    }
  }
  const int m = active_count_;
  if (m > columns_.rows() || !factor_chosen(tolerance::kHoldingPivot, 0.0))
  {
    return false;
  }
  auto x = trial_.head(m);
  for (int k = 0; k < m; ++k)
  {
    x(k) = -r_(active_[static_cast<std::size_t>(k)]);
  }
  const auto lower = active_matrix_.topLeftCorner(m, m).triangularView<Eigen::Lower>();
  lower.solveInPlace(x);
  lower.transpose().solveInPlace(x);
  for (int k = 0; k < m; ++k)
  {
    x_(active_[static_cast<std::size_t>(k)]) = x(k);
  }
  const double left = equations(contacts, count, false);
  error_ = relative_to_forces(left);
  return is_solved(left);
}

Status ConeProblem::solve_near(
  const ConeContact * contacts, int count, const char * holds,
  const Eigen::VectorXd & near) noexcept CD_NONBLOCKING
{
  sweep_count_ = 0;
  newton_count_ = 0;
  if (solve_holding(contacts, count, holds))
  {
    return Status::kOk;
  }
  x_.head(row_count_) = near.head(row_count_);
  if (x_.head(row_count_).cwiseAbs().maxCoeff() > 0.0)
  {
    error_ = newton(contacts, count);
    if (error_ <= tolerance::kCone)
    {
      return Status::kOk;
    }
  }
  return solve(contacts, count);
}

bool ConeProblem::smallest_change(
  const int * rows, const double * lengths, int count, VectorRef out) noexcept CD_NONBLOCKING
{
  active_count_ = count;
  std::copy(rows, rows + count, active_.begin());
  // Redundant rows share: the shift is far above round-off and far below what a correction needs.
  if (!factor_chosen(0.0, tolerance::kSharedCorrection))
  {
    return false;
  }
  auto x = trial_.head(count);
  x = Eigen::Map<const Eigen::VectorXd>(lengths, count);
  const auto lower = active_matrix_.topLeftCorner(count, count).triangularView<Eigen::Lower>();
  lower.solveInPlace(x);
  lower.transpose().solveInPlace(x);
  column_.setZero();
  for (int k = 0; k < count; ++k)
  {
    column_ += std::max(0.0, x(k)) * columns_.col(rows[k]);  // pushes, never pulls
  }
  cholesky_.triangularView<Eigen::Lower>().transpose().solveInPlace(column_);
  if (!column_.allFinite())
  {
    return false;
  }
  out = column_;
  return true;
}

}  // namespace constrained_dynamics
