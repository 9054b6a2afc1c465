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
  row_freed(Eigen::VectorXd::Zero(max_row_count)),
  row_terms(Eigen::VectorXd::Zero(max_row_count))
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
  auto dependent = row_terms.head(r);
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

/// How far the worst row is missed, contradictions and dropped directions alike, relative to what
/// the row is made of. Measured row by row: beside huge accelerations a contradiction of small ones
/// would be lost. What redundant rows miss because they drifted off the manifold is measured
/// against all rows: such a row may consist of its drift alone.
CD_CLONES double RowScratch::worst_contradiction(
  const RowProblem & problem, double row_size) noexcept CD_NONBLOCKING
{
  const Eigen::Index m = problem.rows.rows();
  const Eigen::Index n = problem.rows.cols();
  const auto root = [&](Eigen::Index j) { return std::sqrt(problem.mass_matrix(j, j)); };
  // What forces could accelerate is at most of this size over the root of the inertia.
  double force = 0.0;
  for (Eigen::Index j = 0; j < n; ++j)
  {
    force += root(j) > 0.0 ? std::abs(problem.force(j)) / root(j) : 0.0;
  }
  row_miss.head(m) = -problem.bias;
  row_terms.head(m) = problem.bias.cwiseAbs();
  row_freed.head(m).setZero();
  double * __restrict miss = row_miss.data();
  double * __restrict terms = row_terms.data();
  double * __restrict free = row_freed.data();
  for (Eigen::Index j = 0; j < n; ++j)
  {
    const double freed = root(j) > 0.0 ? force / root(j) : 0.0;
    const double * column = problem.rows.col(j).data();
    const double along = acceleration(j);
    for (Eigen::Index i = 0; i < m; ++i)
    {
      const double term = column[i] * along;
      miss[i] += term;
      terms[i] += std::abs(term);
      free[i] += std::abs(column[i]) * freed;
    }
  }
  // Rounding contradicts nothing: that of all rows, which are factored together; that of forces
  // which cancel, and leave it in u̇; that of what bodies that turn make of b.
  constexpr double kRoundings = 16.0 * std::numeric_limits<double>::epsilon();
  const double bias = problem.bias.cwiseProduct(problem.row_scale).norm();
  const double size = bias + std::max(row_size, 1.0) * acceleration.norm();
  const double noise = kRowRounding * (problem.speed_square + size);
  const double drift = factorisation.dropped() * acceleration.lpNorm<1>();
  double worst = 0.0;
  for (Eigen::Index i = 0; i < m; ++i)
  {
    const double scale = problem.row_scale(i);
    const double missed = scale * std::abs(row_miss(i));
    if (missed > noise + kRoundings * scale * row_freed(i))
    {
      const double own = scale * row_terms(i) + problem.speed_square;
      worst = std::max(worst, missed / (missed > noise + drift ? own : std::max(own, size)));
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
