// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <algorithm>
#include <cmath>
#include <limits>

#include "servo/closest_point.hpp"
#include "servo/quadratic_program.hpp"
#include "servo/quadratic_program_tolerances.hpp"

// The rows that bind at the solution.

namespace constrained_dynamics
{

namespace
{

/// The most negative multiplier that counts as 0, as a fraction of all of them.
constexpr double kDuality = 1e-9;
/// Rounding of a row's value as a fraction of the terms that it summed at the unlimited solution,
/// from which the limited one is reached.
constexpr double kRounding = 1e-13;
/// Rows that may join or leave a proposed active set one by one.
constexpr int kImprovements = 8;

}  // namespace

void QuadraticProgram::evaluate_rows(const Problem & problem, const Eigen::VectorXd & x) noexcept
  CD_NONBLOCKING
{
  Eigen::Ref<Eigen::VectorXd> values = values_.head(row_count_);
  Eigen::Ref<Eigen::VectorXd> magnitude = magnitude_.head(row_count_);
  values.setZero();
  magnitude.setZero();
  for (Eigen::Index j = 0; j < variable_count_; ++j)
  {
    values += x(j) * problem.rows.col(j);
    magnitude += std::abs(x(j)) * problem.rows.col(j).cwiseAbs();
  }
}

/// How far the row is beyond its bounds, as a multiple of what is allowed; NaN counts as far.
double QuadraticProgram::violation(const Problem & problem, int row) const noexcept CD_NONBLOCKING
{
  const double value = values_(row);
  double largest = std::isfinite(value) ? 0.0 : std::numeric_limits<double>::max();
  for (const int side : {-1, 1})
  {
    const double bound = side < 0 ? problem.lower(row) : problem.upper(row);
    if (is_bound(bound) && side * (value - bound) > 0.0)
    {
      const double allowed =
        kFeasibility * (magnitude_(row) + std::abs(bound)) + kRounding * unlimited_magnitude_(row);
      largest = std::max(largest, side * (value - bound) / allowed);
    }
  }
  return largest;
}

/// The row that is violated most; −1: all are met.
int QuadraticProgram::worst_violation(const Problem & problem) const noexcept CD_NONBLOCKING
{
  int worst = -1;
  double largest = 1.0;
  for (int i = 0; i < row_count_; ++i)
  {
    const double now = violation(problem, i);
    if (now > largest)
    {
      largest = now;
      worst = i;
    }
  }
  return worst;
}

/// The row in w, without what the rows of equality fix.
void QuadraticProgram::normal_of(
  const Problem & problem, int row,
  Eigen::Ref<Eigen::VectorXd> normal) const noexcept CD_NONBLOCKING
{
  const Eigen::Index n = variable_count_;
  normal.setZero();
  for (Eigen::Index j = 0; j < n; ++j)
  {
    if (problem.rows(row, j) != 0.0)
    {
      normal += problem.rows(row, j) * transform_.col(j).head(n);
    }
  }
}

/// The part of the row that the rows of equality fix.
double QuadraticProgram::fixed_length(const Problem & problem, int row) noexcept CD_NONBLOCKING
{
  Eigen::Ref<Eigen::VectorXd> part = work_.head(rank_);
  part.setZero();
  for (Eigen::Index j = 0; j < variable_count_; ++j)
  {
    if (problem.rows(row, j) != 0.0)
    {
      part += problem.rows(row, j) * coupling_.col(j).head(rank_);
    }
  }
  return part.norm();
}

/// The solution of the active set; where that is not optimal, of sets that differ by a row.
bool QuadraticProgram::improve_active(const Problem & problem) noexcept CD_NONBLOCKING
{
  for (int step = 0; step <= kImprovements; ++step)
  {
    if (solve_active(problem))
    {
      return true;
    }
    if (worst_active_ >= 0)
    {
      --active_count_;
      std::move(
        active_.begin() + worst_active_ + 1, active_.begin() + active_count_ + 1,
        active_.begin() + worst_active_);
      std::move(
        active_side_.begin() + worst_active_ + 1, active_side_.begin() + active_count_ + 1,
        active_side_.begin() + worst_active_);
    }
    else if (worst_row_ >= 0 && active_count_ < static_cast<int>(active_.size()))
    {
      active_[static_cast<std::size_t>(active_count_)] = worst_row_;
      active_side_[static_cast<std::size_t>(active_count_)] =
        values_(worst_row_) > problem.upper(worst_row_) ? 1 : -1;
      ++active_count_;
    }
    else
    {
      return false;
    }
  }
  return false;
}

int QuadraticProgram::load_active(const Problem & problem) noexcept CD_NONBLOCKING
{
  const Eigen::Index n = variable_count_;
  int count = 0;
  worst_active_ = -1;
  worst_row_ = -1;
  for (int k = 0; k < active_count_; ++k)
  {
    const int row = active_[static_cast<std::size_t>(k)];
    const bool is_upper = active_side_[static_cast<std::size_t>(k)] > 0;
    const double bound = is_upper ? problem.upper(row) : problem.lower(row);
    if (!is_bound(bound))
    {
      worst_active_ = k;
      return -1;
    }
    Eigen::Ref<Eigen::VectorXd> a = active_basis_.col(count).head(n);
    normal_of(problem, row, a);
    if (is_upper)
    {
      a = -a;
    }
    const double length = a.norm();
    if (!(length > kDependent * fixed_length(problem, row)))
    {
      worst_active_ = k;
      return -1;
    }
    if (orthogonalise(active_basis_, active_triangle_, count))
    {
      double rest = is_upper ? unlimited_values_(row) - bound : bound - unlimited_values_(row);
      for (int l = 0; l < count; ++l)
      {
        rest -= active_triangle_(l, count) * y_(l);
      }
      y_(count) = rest / active_triangle_(count, count);
      independent_[static_cast<std::size_t>(count)] = k;
      active_length_(count) = length;
      ++count;
    }
  }
  return count;
}

bool QuadraticProgram::weigh_active(int count) noexcept CD_NONBLOCKING
{
  weights_.head(active_count_).setZero();
  double largest = 0.0;
  double least = 0.0;
  for (int k = count - 1; k >= 0; --k)
  {
    double weight = y_(k);
    for (int l = k + 1; l < count; ++l)
    {
      weight -= active_triangle_(k, l) * weights_(independent_[static_cast<std::size_t>(l)]);
    }
    weight /= active_triangle_(k, k);
    weights_(independent_[static_cast<std::size_t>(k)]) = weight;
    largest = std::max(largest, weight * active_length_(k));
    if (weight * active_length_(k) < least)
    {
      least = weight * active_length_(k);
      worst_active_ = independent_[static_cast<std::size_t>(k)];
    }
  }
  return least >= -kDuality * largest;
}

bool QuadraticProgram::solve_active(const Problem & problem) noexcept CD_NONBLOCKING
{
  const Eigen::Index n = variable_count_;
  const int count = load_active(problem);
  if (count < 0 || !weigh_active(count))
  {
    return false;
  }
  worst_active_ = -1;
  Eigen::Ref<Eigen::VectorXd> v = work_.head(n);
  v.noalias() = active_basis_.topLeftCorner(n, count) * y_.head(count);
  x_.head(n) = x_unlimited_.head(n);
  x_.head(n).noalias() += transform_.topLeftCorner(n, n).transpose() * v;
  weights_.head(active_count_) = weights_.head(active_count_).cwiseMax(0.0);
  evaluate_rows(problem, x_);
  // Once more with what rounding left of the active rows.
  for (int k = 0; k < count; ++k)
  {
    const int row = active_[static_cast<std::size_t>(independent_[static_cast<std::size_t>(k)])];
    const int side =
      active_side_[static_cast<std::size_t>(independent_[static_cast<std::size_t>(k)])];
    const double bound = side > 0 ? problem.upper(row) : problem.lower(row);
    y_(k) = (side * (values_(row) - bound) - active_triangle_.col(k).head(k).dot(y_.head(k))) /
            active_triangle_(k, k);
  }
  v.noalias() = active_basis_.topLeftCorner(n, count) * y_.head(count);
  x_.head(n).noalias() += transform_.topLeftCorner(n, n).transpose() * v;
  evaluate_rows(problem, x_);
  worst_row_ = worst_violation(problem);
  return worst_row_ < 0;
}

/// The active set by the method of Goldfarb and Idnani.
QuadraticProgram::Outcome QuadraticProgram::find_active(const Problem & problem) noexcept
  CD_NONBLOCKING
{
  const Eigen::Index n = variable_count_;
  ClosestPoint & solver = *solver_;
  evaluate_rows(problem, x_unlimited_);
  side_count_ = 0;
  Eigen::Ref<Eigen::VectorXd> normal = y_.head(n);
  for (int i = 0; i < row_count_; ++i)
  {
    if (!is_bound(problem.lower(i)) && !is_bound(problem.upper(i)))
    {
      continue;
    }
    normal_of(problem, i, normal);
    const double length = normal.norm();
    if (!(length > kDependent * fixed_length(problem, i)))
    {
      if (violation(problem, i) > 1.0)
      {
        return Outcome::kInfeasible;
      }
      continue;
    }
    for (const int side : {-1, 1})
    {
      const double bound = side < 0 ? problem.lower(i) : problem.upper(i);
      if (is_bound(bound))
      {
        solver.normals.row(side_count_).head(n) = (-side / length) * normal.transpose();
        // Rows that meet but for rounding must not contradict. (The terms of the unlimited solution
        // can be far larger than those of the limited one.)
        const double room = 0.5 * kFeasibility * std::abs(bound) + kRounding * magnitude_(i);
        solver.offsets(side_count_) = (side * (bound - values_(i)) + room) / length;
        side_row_[static_cast<std::size_t>(side_count_)] = i;
        side_[static_cast<std::size_t>(side_count_)] = side;
        ++side_count_;
      }
    }
  }
  active_count_ = 0;
  const ClosestPoint::Outcome outcome = solver.solve(n, side_count_);
  iterations_ += solver.method.getIteratios();
  if (outcome != ClosestPoint::Outcome::kFound)
  {
    return outcome == ClosestPoint::Outcome::kEmpty ? Outcome::kInfeasible : Outcome::kFailed;
  }
  active_count_ = solver.active_count();
  for (int k = 0; k < active_count_; ++k)
  {
    const auto index = solver.active(k);
    active_[static_cast<std::size_t>(k)] = side_row_[index];
    active_side_[static_cast<std::size_t>(k)] = side_[index];
  }
  return Outcome::kOptimal;
}

}  // namespace constrained_dynamics
