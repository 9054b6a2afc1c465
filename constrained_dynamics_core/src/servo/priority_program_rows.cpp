// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "servo/priority_program.hpp"

#include <algorithm>
#include <cmath>

#include "clones.hpp"
#include "formulations/columns.hpp"

// The rows that bind: the smallest point on them, their multipliers, and the rows beside them.

namespace constrained_dynamics
{

namespace
{

/// A row whose part beside others is below this fraction of the terms it is computed from depends
/// on them.
constexpr double kDependentRow = 1e-9;
/// Largest violation of a row as a fraction of its terms.
constexpr double kRowTolerance = 1e-9;
/// Multipliers below this fraction of the largest count as 0. Those of 1e-8 are real: they belong
/// to rows that hardly touch a block.
constexpr double kMultiplierTolerance = 1e-11;
/// A sum below this fraction of its terms is rounding.
constexpr double kRoundingOfSums = 1e-13;
/// A direction along which a row changes by less than this fraction of its terms keeps the row.
constexpr double kParallel = 1e-10;

double sum_of_terms(const double * a, const double * b, Eigen::Index count) noexcept
{
  double sum = 0.0;
  for (Eigen::Index i = 0; i < count; ++i)
  {
    sum += std::abs(a[i] * b[i]);
  }
  return sum;
}

}  // namespace

CD_CLONES int PriorityProgram::advance(const Problem & problem) noexcept CD_NONBLOCKING
{
  const Eigen::Index n = variable_count_;
  Eigen::Ref<Eigen::VectorXd> way = target_.head(n);
  way -= y_.head(n);
  double fraction = 1.0;
  int ending = -1;
  for (int row = 0; row < row_count_; ++row)
  {
    const double * v = problem.rows.col(row).data();
    rates_(row) = columns::dot(v, way.data(), n);
    const double bound = rates_(row) < 0.0 ? problem.lower(row) : problem.upper(row);
    const double reach = std::max((bound - values_(row)) / rates_(row), 0.0);
    if (
      reach < fraction && !is_left_out_[static_cast<std::size_t>(row)] && !is_active(row) &&
      std::abs(rates_(row)) > kParallel * sum_of_terms(v, way.data(), n))
    {
      fraction = reach;
      ending = row;
    }
  }
  y_.head(n) += fraction * way;
  values_.head(row_count_) += fraction * rates_.head(row_count_);
  if (ending >= 0)
  {
    add_active(ending, rates_(ending) < 0.0 ? 1 : -1, false);
  }
  return ending;
}

void PriorityProgram::factor(const Problem & problem) noexcept CD_NONBLOCKING
{
  ++iterations_;
  while (!orthogonalise(problem))
  {
    for (int place = active_count_ - 1; place >= 0; --place)
    {
      const Active & active = active_[static_cast<std::size_t>(place)];
      if (active.block < 0)
      {
        is_left_out_[static_cast<std::size_t>(active.row)] = true;
        remove_active(place);
      }
    }
  }
}

/// False where rows depend on others.
bool PriorityProgram::orthogonalise(const Problem & problem) noexcept CD_NONBLOCKING
{
  const Eigen::Index n = variable_count_;
  const int block_count = static_cast<int>(problem.block_ends.size());
  for (int place = 0; place < active_count_; ++place)
  {
    Active & active = active_[static_cast<std::size_t>(place)];
    columns_.col(place).head(n) = active.side * problem.rows.col(active.row);
    length_(place) = columns_.col(place).head(n).norm();
    coefficients_.col(place).head(active_count_).setZero();
    active.block = -1;
    int begin = 0;
    for (int block = 0; block < block_count; ++block)
    {
      const int end = problem.block_ends[static_cast<std::size_t>(block)];
      terms_(block, place) = columns_.col(place).segment(begin, end - begin).norm();
      begin = end;
    }
  }
  pivot_count_ = 0;
  for (int block = block_count - 1; block >= 0; --block)
  {
    const int begin = block > 0 ? problem.block_ends[static_cast<std::size_t>(block) - 1] : 0;
    const int end = problem.block_ends[static_cast<std::size_t>(block)];
    const int first = pivot_count_;
    // Fixed rows first, so that they depend on no other that may leave the set.
    for (const bool is_fixed : {true, false})
    {
      for (int place = longest(is_fixed, block, begin, end); place >= 0;
           place = longest(is_fixed, block, begin, end))
      {
        take(place, problem, block, first);
      }
      for (int place = 0; place < active_count_; ++place)
      {
        const Active & active = active_[static_cast<std::size_t>(place)];
        if (active.block < 0 && active.is_fixed == is_fixed)
        {
          columns_.col(place).segment(begin, end - begin).setZero();  // it was rounding
        }
      }
    }
  }
  return pivot_count_ == active_count_;
}

/// The row with the most left in a block, against the terms of that; −1: the others have nothing.
CD_CLONES int PriorityProgram::longest(bool is_fixed, int block, int begin, int end) const noexcept
  CD_NONBLOCKING
{
  int found = -1;
  double most = kDependentRow;
  for (int place = 0; place < active_count_; ++place)
  {
    const Active & active = active_[static_cast<std::size_t>(place)];
    if (active.block < 0 && active.is_fixed == is_fixed && terms_(block, place) > 0.0)
    {
      const double * w = columns_.col(place).data() + begin;
      const double share = std::sqrt(columns::dot(w, w, end - begin)) / terms_(block, place);
      if (share > most)
      {
        most = share;
        found = place;
      }
    }
  }
  return found;
}

/// Makes a row the next pivot of a block, whose pivots begin with `first`, and takes it out of the
/// rows that are left.
CD_CLONES void PriorityProgram::take(
  int place, const Problem & problem, int block, int first) noexcept CD_NONBLOCKING
{
  const int begin = block > 0 ? problem.block_ends[static_cast<std::size_t>(block) - 1] : 0;
  const int end = problem.block_ends[static_cast<std::size_t>(block)];
  const Eigen::Index count = end - begin;
  const auto subtract = [&](int pivot, int from) noexcept
  {
    const double * p = columns_.col(pivot).data();
    double * w = columns_.col(from).data();
    const double part = columns::dot(p + begin, w + begin, count) / square_(pivot);
    coefficients_(pivot, from) += part;
    columns::add(w, -part, p, end);
    return std::abs(part);
  };
  for (int k = first; k < pivot_count_; ++k)
  {
    subtract(order_[static_cast<std::size_t>(k)], place);  // what rounding left: twice is enough
  }
  const double * w = columns_.col(place).data();
  square_(place) = columns::dot(w + begin, w + begin, count);
  active_[static_cast<std::size_t>(place)].block = block;
  order_[static_cast<std::size_t>(pivot_count_++)] = place;
  for (int other = 0; other < active_count_; ++other)
  {
    if (active_[static_cast<std::size_t>(other)].block < 0)
    {
      const double part = subtract(place, other);
      for (int b = 0; b <= block; ++b)
      {
        terms_(b, other) += part * terms_(b, place);
      }
    }
  }
}

void PriorityProgram::find_target(const Problem & problem) noexcept CD_NONBLOCKING
{
  target_.head(variable_count_).setZero();
  add_solution(problem, true);
  add_solution(problem, false);  // what rounding left of the rows
}

/// Adds the smallest point on the rows less their values at target_.
CD_CLONES void PriorityProgram::add_solution(const Problem & problem, bool is_first) noexcept
  CD_NONBLOCKING
{
  const Eigen::Index n = variable_count_;
  for (int k = 0; k < pivot_count_; ++k)
  {
    const int place = order_[static_cast<std::size_t>(k)];
    const Active & active = active_[static_cast<std::size_t>(place)];
    double rest = active.side * bound_of(problem, active);
    if (!is_first)
    {
      rest -= active.side * columns::dot(problem.rows.col(active.row).data(), target_.data(), n);
    }
    double size = std::abs(rest);
    for (int l = 0; l < k; ++l)
    {
      const int before = order_[static_cast<std::size_t>(l)];
      const double coefficient = coefficients_(before, place);
      rest -= coefficient * right_(before);
      size += std::abs(coefficient) * size_(before);
    }
    right_(place) = rest;
    size_(place) = size;
  }
  double * y = is_first ? target_.data() : step_.data();
  std::fill(y, y + n, 0.0);
  for (int k = pivot_count_ - 1; k >= 0; --k)
  {
    const int place = order_[static_cast<std::size_t>(k)];
    const int block = active_[static_cast<std::size_t>(place)].block;
    const int begin = block > 0 ? problem.block_ends[static_cast<std::size_t>(block) - 1] : 0;
    const int end = problem.block_ends[static_cast<std::size_t>(block)];
    const double * w = columns_.col(place).data();
    const double rest = right_(place) - columns::dot(w, y, begin);
    double share = rest / square_(place);
    if (is_first)
    {
      if (!(std::abs(rest) > kRoundingOfSums * (size_(place) + sum_of_terms(w, y, begin))))
      {
        share = 0.0;
      }
      share_(place) = share;
    }
    columns::add(y + begin, share, w + begin, end - begin);
  }
  if (!is_first)
  {
    columns::add(target_.data(), 1.0, y, n);
  }
}

int PriorityProgram::settle(int block) noexcept CD_NONBLOCKING
{
  double largest = 0.0;
  double least = 0.0;
  int worst = -1;
  for (int k = pivot_count_ - 1; k >= 0; --k)
  {
    const int place = order_[static_cast<std::size_t>(k)];
    const Active & active = active_[static_cast<std::size_t>(place)];
    double multiplier = active.block == block ? share_(place) : 0.0;
    if (active.block >= block)
    {
      for (int l = k + 1; l < pivot_count_; ++l)
      {
        const int after = order_[static_cast<std::size_t>(l)];
        multiplier -= coefficients_(place, after) * multiplier_(after);
      }
    }
    multiplier_(place) = multiplier;
    const double size = multiplier * length_(place);
    largest = std::max(largest, std::abs(size));
    if (size < least && !active.is_fixed && !active.is_kept)
    {
      least = size;
      worst = place;
    }
  }
  if (least < -kMultiplierTolerance * largest)
  {
    return worst;
  }
  for (int place = 0; place < active_count_; ++place)
  {
    Active & active = active_[static_cast<std::size_t>(place)];
    active.is_fixed =
      active.is_fixed || multiplier_(place) * length_(place) > kMultiplierTolerance * largest;
  }
  return -1;
}

/// The row that is violated most, −1: all are met.
CD_CLONES int PriorityProgram::worst_violation(
  const Problem & problem, const Eigen::VectorXd & y) noexcept CD_NONBLOCKING
{
  const Eigen::Index n = variable_count_;
  int worst = -1;
  double largest = 0.0;
  for (int row = 0; row < row_count_; ++row)
  {
    const double * v = problem.rows.col(row).data();
    const double value = columns::dot(v, y.data(), n);
    const double bound = value < problem.lower(row) ? problem.lower(row) : problem.upper(row);
    const double excess = std::abs(value - bound);
    if (!(value < problem.lower(row) || value > problem.upper(row)))
    {
      continue;
    }
    const double allowed = kRowTolerance * (std::abs(bound) + sum_of_terms(v, y.data(), n));
    const double distance = excess / problem.rows.col(row).norm();
    if (excess > allowed && distance > largest)
    {
      largest = distance;
      worst = row;
    }
  }
  return worst;
}

}  // namespace constrained_dynamics
