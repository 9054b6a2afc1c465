// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "row_scratch.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "clones.hpp"
#include "formulations/columns.hpp"

namespace constrained_dynamics
{

// ---- RowScratch --------------------------------------------------------------------------------

RowScratch::RowScratch(int speed_count, int max_row_count)
: factorisation(speed_count, max_row_count),
  particular(Eigen::VectorXd::Zero(speed_count)),
  residual_particular(Eigen::VectorXd::Zero(speed_count)),
  residual_force(Eigen::VectorXd::Zero(speed_count)),
  acceleration(Eigen::VectorXd::Zero(speed_count)),
  constraint_force(Eigen::VectorXd::Zero(speed_count)),
  multipliers(Eigen::VectorXd::Zero(max_row_count)),
  row_miss(Eigen::VectorXd::Zero(max_row_count)),
  freed_speeds(Eigen::VectorXd::Zero(speed_count))
{
}

Status RowScratch::check(const RowProblem & problem) const noexcept CD_NONBLOCKING
{
  const Eigen::Index n = speed_count();
  const Eigen::Index m = problem.rows.rows();
  if (
    problem.mass_matrix.rows() != n || problem.mass_matrix.cols() != n ||
    problem.force.size() != n || problem.bias.size() != m || problem.multiplier_weight.size() != m)
  {
    return Status::kSizeMismatch;
  }
  if (!is_finite(problem.mass_matrix) || !problem.force.allFinite() || !problem.bias.allFinite())
  {
    return Status::kNonFiniteInput;
  }
  return Status::kOk;
}

Status RowScratch::begin(const RowProblem & problem, const RankOptions & options) noexcept
  CD_NONBLOCKING
{
  const Status input = check(problem);
  if (input != Status::kOk)
  {
    return input;
  }
  const Status status =
    factorisation.factor(problem.rows, problem.row_scale, problem.nominal_rank, options);
  if (has_output(status))
  {
    factorisation.particular(problem.bias, beta());  // (E4)
  }
  return status;
}

void RowScratch::expand(const ConstVectorRef & independent) noexcept CD_NONBLOCKING
{
  const Eigen::Index r = rank();
  const Eigen::Index p = speed_count() - r;
  const Eigen::VectorXi & order = factorisation.order();
  const auto K = factorisation.dependency();
  auto dependent = freed_speeds.head(r);  // free until the end of the solve
  dependent = particular.head(r);
  columns::add_product(dependent.data(), K.data(), K.outerStride(), independent.data(), r, p);
  for (Eigen::Index i = 0; i < r; ++i)
  {
    acceleration(order(i)) = dependent(i);
  }
  for (Eigen::Index i = 0; i < p; ++i)
  {
    acceleration(order(r + i)) = independent(i);
  }
}

void RowScratch::row_basis(MatrixRef basis) const noexcept CD_NONBLOCKING
{
  const Eigen::Index n = acceleration.size();
  const Eigen::Index r = factorisation.rank();
  const Eigen::VectorXi & order = factorisation.order();
  const auto K = factorisation.dependency();
  basis.setZero();
  for (Eigen::Index k = 0; k < r; ++k)
  {
    basis(order(k), k) = 1.0;
    for (Eigen::Index j = r; j < n; ++j)
    {
      basis(order(j), k) = -K(k, j - r);
    }
  }
}

void RowScratch::force_from_motion(const RowProblem & problem) noexcept CD_NONBLOCKING
{
  constraint_force = -problem.force;
  constraint_force.noalias() += problem.mass_matrix * acceleration;  // (E7)
}

void RowScratch::residual(const RowProblem & problem) noexcept CD_NONBLOCKING
{
  const Eigen::Index n = speed_count();
  const Eigen::Index r = rank();
  const Eigen::VectorXi & order = factorisation.order();
  const auto K = factorisation.dependency();
  residual_force = problem.force;
  residual_force.noalias() -= problem.mass_matrix * acceleration;
  for (Eigen::Index k = 0; k < r; ++k)
  {
    double left = particular(k) - acceleration(order(k));
    for (Eigen::Index j = r; j < n; ++j)
    {
      left += K(k, j - r) * acceleration(order(j));
      residual_force(order(j)) += K(k, j - r) * residual_force(order(k));
    }
    residual_force(order(k)) = 0.0;
    residual_particular(k) = left;
  }
}

Status RowScratch::finish(
  const RowProblem & problem, const RankOptions & options, Status rank_status,
  RowSolution & solution) noexcept CD_NONBLOCKING
{
  auto lambda = multipliers.head(problem.rows.rows());
  factorisation.multipliers(constraint_force, problem.multiplier_weight, lambda);  // (E8)
  double row_squares = 0.0;
  for (Eigen::Index j = 0; j < problem.rows.cols(); ++j)
  {
    row_squares += problem.rows.col(j).cwiseProduct(problem.row_scale).squaredNorm();
  }
  return judge(problem, options, rank_status, std::sqrt(row_squares), solution);
}

CD_CLONES double RowScratch::worst_contradiction(
  const RowProblem & problem, double row_size) noexcept CD_NONBLOCKING
{
  const Eigen::Index m = problem.rows.rows();
  auto miss = row_miss.head(m);
  miss = -problem.bias;
  for (Eigen::Index j = 0; j < problem.rows.cols(); ++j)
  {
    miss += problem.rows.col(j) * acceleration(j);
  }
  miss = miss.cwiseAbs().cwiseProduct(problem.row_scale);
  const double bias = problem.bias.cwiseProduct(problem.row_scale).norm();
  const double size = bias + std::max(row_size, 1.0) * acceleration.norm();
  // Round-off of all rows, which are factored together, and of what turning bodies make of b, is
  // no contradiction. Usually nothing else is left.
  const double noise = kRowRounding * (problem.speed_square + size);
  return (miss.array() > noise).any() ? worst_miss(problem, noise, size) : 0.0;
}

/// Measured row by row: beside huge accelerations a contradiction of small ones would be lost. What
/// redundant rows miss because they drifted off the manifold is measured against all rows: such a
/// row may consist of its drift alone.
double RowScratch::worst_miss(const RowProblem & problem, double noise, double size) noexcept
  CD_NONBLOCKING
{
  const Eigen::Index n = problem.rows.cols();
  // Forces that cancel leave round-off in u̇. What they could accelerate is at most of this size
  // over the root of the inertia.
  constexpr double kRoundings = 16.0 * std::numeric_limits<double>::epsilon();
  double force = 0.0;
  for (Eigen::Index j = 0; j < n; ++j)
  {
    const double root = std::sqrt(problem.mass_matrix(j, j));
    force += root > 0.0 ? std::abs(problem.force(j)) / root : 0.0;
    freed_speeds(j) = root;
  }
  freed_speeds = (freed_speeds.array() > 0.0).select(force / freed_speeds.array(), 0.0);
  const double drift = factorisation.dropped() * acceleration.lpNorm<1>();
  double worst = 0.0;
  for (Eigen::Index i = 0; i < problem.rows.rows(); ++i)
  {
    const double miss = row_miss(i);
    if (!(miss > noise))
    {
      continue;
    }
    double terms = std::abs(problem.bias(i));  // of A u̇ − b, in absolute values
    double freed = 0.0;                        // what A u̇ could be without constraint forces
    for (Eigen::Index j = 0; j < n; ++j)
    {
      terms += std::abs(problem.rows(i, j) * acceleration(j));
      freed += std::abs(problem.rows(i, j)) * freed_speeds(j);
    }
    const double scale = problem.row_scale(i);
    if (miss > noise + kRoundings * scale * freed)
    {
      const double own = scale * terms + problem.speed_square;
      worst = std::max(worst, miss / (miss > noise + drift ? own : std::max(own, size)));
    }
  }
  return worst;
}

Status RowScratch::judge(
  const RowProblem & problem, const RankOptions & options, Status rank_status, double row_size,
  RowSolution & solution) noexcept CD_NONBLOCKING
{
  const Eigen::Index m = problem.rows.rows();
  const auto lambda = multipliers.head(m);
  if (!acceleration.allFinite() || !constraint_force.allFinite() || !lambda.allFinite())
  {
    return Status::kNonFiniteResult;
  }
  solution.acceleration = acceleration;
  solution.constraint_force = constraint_force;
  solution.multipliers.head(m) = lambda;
  for (Eigen::Index i = 0; i < m; ++i)
  {
    solution.redundancy(i) = factorisation.redundancy(static_cast<int>(i));
  }
  solution.rank = factorisation.rank();
  solution.condition = factorisation.condition();
  solution.inconsistency = worst_contradiction(problem, row_size);
  if (rank_status != Status::kOk)
  {
    return rank_status;
  }
  return solution.inconsistency <= options.consistency_tolerance ? Status::kOk
                                                                 : Status::kInconsistent;
}

// ---- RootScratch -------------------------------------------------------------------------------

RootScratch::RootScratch(int speed_count, int max_row_count)
: RowScratch(speed_count, max_row_count),
  inertia(speed_count),
  range(speed_count, std::min(speed_count, max_row_count)),
  basis(Eigen::MatrixXd::Zero(speed_count, std::min(speed_count, max_row_count)))
{
}

bool RootScratch::factor_root(const RowProblem & problem) noexcept CD_NONBLOCKING
{
  if (!inertia.factor(problem.mass_matrix))
  {
    return false;
  }
  const Eigen::Index n = speed_count();
  const Eigen::Index r = rank();
  row_basis(basis.leftCols(r));
  auto Y = range.matrix(n, r);
  Y = basis.leftCols(r);
  inertia.divide_by_transpose(Y);
  range.factor(n, r);
  return true;
}

}  // namespace constrained_dynamics
