// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "servo/priority_program.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "formulations/columns.hpp"
#include "servo/closest_point.hpp"

namespace constrained_dynamics
{

namespace
{

/// Ratio of the sizes in which neighbouring blocks count where a search starts: the point that is
/// then closest to 0 has nearly the binding rows of the solution.
constexpr double kGrade = 100.0;
/// Rows that are added to those that bound last before a search starts anew.
constexpr int kChanges = 8;
/// How much rows are widened where a search starts, as a fraction of their bounds: those that meet
/// but for rounding must not contradict. Half of what counts as a violation.
constexpr double kStartRoom = 5e-10;

}  // namespace

PriorityProgram::PriorityProgram(int max_variables, int max_blocks, int max_rows)
: closest_(std::make_unique<ClosestPoint>(max_variables, 2 * max_rows)),
  closest_row_(static_cast<std::size_t>(2 * max_rows), 0),
  closest_side_(closest_row_.size(), 0),
  active_(static_cast<std::size_t>(max_rows)),
  is_left_out_(active_.size(), false),
  columns_(Eigen::MatrixXd::Zero(max_variables, max_rows)),
  coefficients_(Eigen::MatrixXd::Zero(max_rows, max_rows)),
  order_(active_.size(), 0),
  square_(Eigen::VectorXd::Zero(max_rows)),
  terms_(Eigen::MatrixXd::Zero(max_blocks, max_rows)),
  length_(Eigen::VectorXd::Zero(max_rows)),
  right_(Eigen::VectorXd::Zero(max_rows)),
  size_(Eigen::VectorXd::Zero(max_rows)),
  share_(Eigen::VectorXd::Zero(max_rows)),
  multiplier_(Eigen::VectorXd::Zero(max_rows)),
  target_(Eigen::VectorXd::Zero(max_variables)),
  step_(Eigen::VectorXd::Zero(max_variables)),
  scale_(Eigen::VectorXd::Ones(max_variables)),
  values_(Eigen::VectorXd::Zero(max_rows)),
  rates_(Eigen::VectorXd::Zero(max_rows)),
  y_(Eigen::VectorXd::Zero(max_variables))
{
}

PriorityProgram::~PriorityProgram() = default;
PriorityProgram::PriorityProgram(PriorityProgram &&) noexcept = default;
PriorityProgram & PriorityProgram::operator=(PriorityProgram &&) noexcept = default;

Status PriorityProgram::check(const Problem & problem) const noexcept CD_NONBLOCKING
{
  const Eigen::Index n = problem.rows.rows();
  const Eigen::Index m = problem.rows.cols();
  if (
    n == 0 || n > columns_.rows() || m > columns_.cols() || problem.lower.size() != m ||
    problem.upper.size() != m || problem.block_ends.empty() || problem.block_ends.back() != n ||
    static_cast<Eigen::Index>(problem.block_ends.size()) > terms_.rows())
  {
    return Status::kSizeMismatch;
  }
  bool is_empty = false;
  for (Eigen::Index i = 0; i < m; ++i)
  {
    if (std::isnan(problem.lower(i)) || std::isnan(problem.upper(i)))
    {
      return Status::kNonFiniteInput;
    }
    is_empty = is_empty || !(problem.lower(i) <= problem.upper(i)) ||
               problem.lower(i) == std::numeric_limits<double>::infinity() ||
               problem.upper(i) == -std::numeric_limits<double>::infinity();
  }
  if (!problem.rows.allFinite())
  {
    return Status::kNonFiniteInput;
  }
  return is_empty ? Status::kInfeasible : Status::kOk;
}

Status PriorityProgram::solve(const Problem & problem) noexcept CD_NONBLOCKING
{
  const Status status = check(problem);
  if (status != Status::kOk)
  {
    return status;
  }
  if (problem.rows.rows() != variable_count_ || problem.rows.cols() != row_count_)
  {
    active_count_ = 0;
  }
  variable_count_ = static_cast<int>(problem.rows.rows());
  row_count_ = static_cast<int>(problem.rows.cols());
  iterations_ = 0;
  // Where blocks count too differently for the numbers of `find_start`, as equals.
  if (!begin_last(problem) && !find_start(problem, kGrade) && !find_start(problem, 1.0))
  {
    active_count_ = 0;
    return Status::kInfeasible;
  }
  const Status result = descend(problem);
  return y_.head(variable_count_).allFinite() ? result : Status::kNonFiniteResult;
}

double PriorityProgram::bound_of(const Problem & problem, const Active & active) const noexcept
  CD_NONBLOCKING
{
  return active.side > 0 ? problem.lower(active.row) : problem.upper(active.row);
}

void PriorityProgram::add_active(int row, int side, bool is_fixed) noexcept CD_NONBLOCKING
{
  if (active_count_ < static_cast<int>(active_.size()) && !is_active(row))
  {
    active_[static_cast<std::size_t>(active_count_++)] = {row, side, is_fixed, false, -1};
  }
}

void PriorityProgram::remove_active(int place) noexcept CD_NONBLOCKING
{
  std::move(active_.begin() + place + 1, active_.begin() + active_count_, active_.begin() + place);
  --active_count_;
}

bool PriorityProgram::is_active(int row) const noexcept CD_NONBLOCKING
{
  return std::any_of(
    active_.begin(), active_.begin() + active_count_,
    [row](const Active & active) { return active.row == row; });
}

/// Rows whose bounds are equal always bind.
void PriorityProgram::begin_active(const Problem & problem) noexcept CD_NONBLOCKING
{
  for (int place = active_count_ - 1; place >= 0; --place)
  {
    Active & active = active_[static_cast<std::size_t>(place)];
    active.is_fixed = problem.lower(active.row) == problem.upper(active.row);
    active.is_kept = false;
    if (!std::isfinite(bound_of(problem, active)))
    {
      remove_active(place);
    }
  }
  for (int row = 0; row < row_count_; ++row)
  {
    if (problem.lower(row) == problem.upper(row))
    {
      add_active(row, 1, true);
    }
  }
}

/// The smallest point on the rows that bound last, into y_; where it violates others, on these as
/// well.
bool PriorityProgram::begin_last(const Problem & problem) noexcept CD_NONBLOCKING
{
  begin_active(problem);
  for (int change = 0; change <= kChanges; ++change)
  {
    factor(problem);
    find_target(problem);
    const int violated = worst_violation(problem, target_);
    if (violated < 0)
    {
      y_.head(variable_count_) = target_.head(variable_count_);
      return true;
    }
    const double value =
      columns::dot(problem.rows.col(violated).data(), target_.data(), variable_count_);
    add_active(violated, value < problem.lower(violated) ? 1 : -1, false);
  }
  return false;
}

/// Removes a row, and those that an earlier block has no use for: their multipliers are 0.
void PriorityProgram::remove_free(int wrong, int block) noexcept CD_NONBLOCKING
{
  for (int place = active_count_ - 1; place >= 0; --place)
  {
    const Active & active = active_[static_cast<std::size_t>(place)];
    if (place == wrong || (active.block < block && !active.is_fixed))
    {
      remove_active(place);
    }
  }
}

/// Whether active rows restrict only blocks before. They depend on others in what is left, and so
/// on which the multipliers of `settle` are counted: fixed ones may only depend on fixed ones.
bool PriorityProgram::leaves_behind(int block) const noexcept CD_NONBLOCKING
{
  return std::any_of(
    active_.begin(), active_.begin() + active_count_,
    [block](const Active & active) { return active.block == block - 1; });
}

bool PriorityProgram::find_start(const Problem & problem, double grade) noexcept CD_NONBLOCKING
{
  const Eigen::Index n = variable_count_;
  ClosestPoint & closest = *closest_;
  double scale = 1.0;
  Eigen::Index begin = 0;
  for (const int end : problem.block_ends)
  {
    scale_.segment(begin, end - begin).setConstant(scale);
    scale *= end > begin ? grade : 1.0;
    begin = end;
  }
  int count = 0;
  for (int row = 0; row < row_count_; ++row)
  {
    step_.head(n) = scale_.head(n).cwiseProduct(problem.rows.col(row));
    const double length = step_.head(n).norm();
    for (const int side : {1, -1})
    {
      const double bound = side > 0 ? problem.lower(row) : problem.upper(row);
      if (std::isfinite(bound) && length > 0.0)
      {
        closest.normals.row(count).head(n) = (side / length) * step_.head(n).transpose();
        closest.offsets(count) = (kStartRoom * std::abs(bound) - side * bound) / length;
        closest_row_[static_cast<std::size_t>(count)] = row;
        closest_side_[static_cast<std::size_t>(count)] = side;
        ++count;
      }
      else if (side * bound > 0.0 && length == 0.0)
      {
        return false;
      }
    }
  }
  if (closest.solve(n, count) != ClosestPoint::Outcome::kFound)
  {
    return false;
  }
  y_.head(n) = scale_.head(n).cwiseProduct(closest.x.head(n));
  active_count_ = 0;
  begin_active(problem);
  for (int k = 0; k < closest.active_count(); ++k)
  {
    add_active(closest_row_[closest.active(k)], closest_side_[closest.active(k)], false);
  }
  return true;
}

Status PriorityProgram::descend(const Problem & problem) noexcept CD_NONBLOCKING
{
  std::fill(is_left_out_.begin(), is_left_out_.end(), false);
  for (int row = 0; row < row_count_; ++row)
  {
    values_(row) = columns::dot(problem.rows.col(row).data(), y_.data(), problem.rows.rows());
  }
  const int block_count =
    static_cast<int>(problem.block_ends.size()) - (problem.is_last_free ? 1 : 0);
  const int most = 3 * variable_count_ + 10;
  int block = 0;
  int removed = -1;
  for (int step = 0; step < most; ++step)
  {
    factor(problem);
    find_target(problem);
    const int ending = advance(problem);
    if (ending >= 0)
    {
      // A row that ends the way as soon as it is removed had a multiplier that was rounding.
      active_[static_cast<std::size_t>(active_count_ - 1)].is_kept = ending == removed;
      removed = -1;
      continue;
    }
    int wrong = settle(block);
    while (wrong < 0 && ++block < block_count && !leaves_behind(block))
    {
      wrong = settle(block);
    }
    if (block == block_count)
    {
      return worst_violation(problem, y_) < 0 ? Status::kOk : Status::kNotConverged;
    }
    removed = wrong >= 0 ? active_[static_cast<std::size_t>(wrong)].row : -1;
    remove_free(wrong, block);
    std::fill(is_left_out_.begin(), is_left_out_.end(), false);
  }
  return Status::kNotConverged;
}

}  // namespace constrained_dynamics
