// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "servo/quadratic_program.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "servo/closest_point.hpp"

namespace constrained_dynamics
{

namespace
{

/// One way to the solution: an enlargement of the diagonal of H, as a fraction of it, the smallest
/// element of the Cholesky factor with which it is tried, and how often the problem is solved
/// around its last solution until the enlargement is of no account (Moreau's proximal method).
struct Stage
{
  double enlargement;
  double least_pivot;
  int steps;
};

/// Definite problems are solved by the first. Of the others a smaller enlargement needs fewer
/// steps, a larger one loses fewer digits and does not let the unlimited solution go too far away.
constexpr Stage kStages[] = {{0.0, 1e-4, 1}, {1e-10, 0.0, 8}, {1e-7, 0.0, 12}, {1e-4, 0.0, 50}};
/// From this enlargement on, a verdict that there is no solution holds.
constexpr double kVerdict = 1e-4;
/// Largest part of the gradient that may be due to the enlargement.
constexpr double kStationarity = 1e-9;
/// Largest H x + g − Eᵀ λ − Cᵀ μ as a fraction of these terms.
constexpr double kOptimality = 1e-8;

}  // namespace

QuadraticProgram::QuadraticProgram(int max_variables, int max_equalities, int max_rows)
: solver_(std::make_unique<ClosestPoint>(max_variables, 2 * max_rows)),
  scale_(max_variables),
  centre_(Eigen::VectorXd::Zero(max_variables)),
  cholesky_(max_variables, max_variables),
  transform_(max_variables, max_variables),
  basis_(max_variables, max_variables + 1),
  triangle_(max_variables + 1, max_variables + 1),
  coupling_(max_variables, max_variables),
  basis_row_(max_variables),
  active_basis_(max_variables, max_variables + 1),
  active_triangle_(max_variables + 1, max_variables + 1),
  y_(max_variables + 1),
  w_(max_variables),
  equality_pull_(max_variables),
  equality_part_(max_variables),
  work_(max_variables),
  x_unlimited_(max_variables),
  x_(max_variables),
  values_(max_rows),
  magnitude_(max_rows),
  unlimited_values_(max_rows),
  unlimited_magnitude_(max_rows),
  weights_(2 * max_rows),
  active_length_(max_variables + 1),
  active_(static_cast<std::size_t>(2 * max_rows)),
  active_side_(active_.size()),
  independent_(active_.size()),
  side_row_(active_.size()),
  side_(active_.size()),
  solution_(Eigen::VectorXd::Zero(max_variables)),
  equality_multipliers_(Eigen::VectorXd::Zero(max_equalities)),
  multipliers_(Eigen::VectorXd::Zero(max_rows)),
  binding_(Eigen::VectorXi::Zero(max_rows))
{
}

QuadraticProgram::~QuadraticProgram() = default;
QuadraticProgram::QuadraticProgram(QuadraticProgram &&) noexcept = default;
QuadraticProgram & QuadraticProgram::operator=(QuadraticProgram &&) noexcept = default;

Status QuadraticProgram::solve(const Problem & problem) noexcept CD_NONBLOCKING
{
  const Status status = check(problem);
  if (status != Status::kOk)
  {
    return status;
  }
  if (problem.rows.rows() != row_count_ || problem.gradient.size() != variable_count_)
  {
    active_count_ = 0;
  }
  variable_count_ = static_cast<int>(problem.gradient.size());
  row_count_ = static_cast<int>(problem.rows.rows());
  iterations_ = 0;
  Outcome outcome = Outcome::kFailed;
  for (const Stage & stage : kStages)
  {
    outcome = attempt(problem, stage.enlargement, stage.least_pivot, stage.steps);
    const bool is_verdict = stage.least_pivot > 0.0 || stage.enlargement >= kVerdict;
    if (
      outcome == Outcome::kOptimal || outcome == Outcome::kContradiction ||
      (outcome == Outcome::kInfeasible && is_verdict) ||
      (outcome == Outcome::kIndefinite && stage.least_pivot == 0.0))
    {
      break;
    }
  }
  Status result = Status::kOk;
  switch (outcome)
  {
    case Outcome::kOptimal:
      result = hand_out(problem);
      break;
    case Outcome::kContradiction:
    case Outcome::kInfeasible:
      result = Status::kInfeasible;
      break;
    case Outcome::kIndefinite:
      result = Status::kSingularInertia;
      break;
    case Outcome::kFailed:
      result = Status::kNotConverged;
      break;
  }
  if (result != Status::kOk)
  {
    active_count_ = 0;
  }
  return result;
}

Status QuadraticProgram::check(const Problem & problem) const noexcept CD_NONBLOCKING
{
  const Eigen::Index n = problem.gradient.size();
  const Eigen::Index p = problem.equality_values.size();
  const Eigen::Index m = problem.lower.size();
  if (
    n == 0 || n > solution_.size() || p > equality_multipliers_.size() || m > multipliers_.size() ||
    problem.hessian.rows() != n || problem.hessian.cols() != n || problem.equalities.rows() != p ||
    (p > 0 && problem.equalities.cols() != n) || problem.rows.rows() != m ||
    (m > 0 && problem.rows.cols() != n) || problem.upper.size() != m)
  {
    return Status::kSizeMismatch;
  }
  if (
    !problem.hessian.allFinite() || !problem.gradient.allFinite() ||
    !problem.equalities.allFinite() || !problem.equality_values.allFinite() ||
    !problem.rows.allFinite())
  {
    return Status::kNonFiniteInput;
  }
  constexpr double infinity = std::numeric_limits<double>::infinity();
  bool is_empty = false;
  for (Eigen::Index i = 0; i < m; ++i)
  {
    if (std::isnan(problem.lower(i)) || std::isnan(problem.upper(i)))
    {
      return Status::kNonFiniteInput;
    }
    is_empty = is_empty || problem.lower(i) > problem.upper(i) || problem.lower(i) == infinity ||
               problem.upper(i) == -infinity;
  }
  return is_empty ? Status::kInfeasible : Status::kOk;
}

QuadraticProgram::Outcome QuadraticProgram::attempt(
  const Problem & problem, double enlargement, double least_pivot,
  int steps) noexcept CD_NONBLOCKING
{
  const Eigen::Index n = variable_count_;
  if (!factor(problem, enlargement, least_pivot))
  {
    return Outcome::kIndefinite;
  }
  if (!eliminate(problem))
  {
    return Outcome::kContradiction;
  }
  centre_.head(n).setZero();
  for (int step = 0; step < steps; ++step)
  {
    find_unlimited(problem, enlargement);
    const Outcome outcome = find_limited(problem);
    if (outcome != Outcome::kOptimal)
    {
      return outcome;
    }
    if (enlargement == 0.0 || has_settled(problem, enlargement))
    {
      return find_multipliers(problem) ? Outcome::kOptimal : Outcome::kFailed;
    }
    centre_.head(n) = x_.head(n);
  }
  return Outcome::kFailed;
}

/// Whether the enlargement adds nothing that counts to the gradient, or the solution has settled.
/// Where the objective has no gradient at all, every point that meets the rows is a minimum.
bool QuadraticProgram::has_settled(const Problem & problem, double enlargement) noexcept
  CD_NONBLOCKING
{
  const Eigen::Index n = variable_count_;
  Eigen::Ref<Eigen::VectorXd> product = work_.head(n);
  product.noalias() = problem.hessian.selfadjointView<Eigen::Lower>() * x_.head(n);
  double gradient = 0.0;
  double step = 0.0;
  double size = 0.0;
  for (Eigen::Index j = 0; j < n; ++j)
  {
    step = std::max(step, std::abs(x_(j) - centre_(j)) / scale_(j));
    size = std::max(size, std::abs(x_(j)) / scale_(j));
    gradient = std::max(
      {gradient, std::abs(problem.gradient(j)) * scale_(j), std::abs(product(j)) * scale_(j)});
  }
  return gradient == 0.0 || enlargement * step <= kStationarity * gradient ||
         step <= kStationarity * size;
}

QuadraticProgram::Outcome QuadraticProgram::find_limited(const Problem & problem) noexcept
  CD_NONBLOCKING
{
  evaluate_rows(problem, x_unlimited_);
  unlimited_values_.head(row_count_) = values_.head(row_count_);
  unlimited_magnitude_.head(row_count_) = magnitude_.head(row_count_);
  if (worst_violation(problem) < 0)
  {
    active_count_ = 0;
    x_.head(variable_count_) = x_unlimited_.head(variable_count_);
    return Outcome::kOptimal;
  }
  if (active_count_ > 0 && improve_active(problem))
  {
    return Outcome::kOptimal;
  }
  const Outcome outcome = find_active(problem);
  if (outcome != Outcome::kOptimal)
  {
    return outcome;
  }
  return improve_active(problem) ? Outcome::kOptimal : Outcome::kFailed;
}

/// λ of the rows in the basis. Whether H x + g = Eᵀ λ + Cᵀ μ.
bool QuadraticProgram::find_multipliers(const Problem & problem) noexcept CD_NONBLOCKING
{
  const Eigen::Index n = variable_count_;
  Eigen::Ref<Eigen::VectorXd> rest = work_.head(n);
  Eigen::Ref<Eigen::VectorXd> terms = w_.head(n);
  rest = problem.gradient;
  terms = problem.gradient.cwiseAbs();
  for (Eigen::Index j = 0; j < n; ++j)
  {
    for (Eigen::Index i = 0; i < n; ++i)
    {
      const double term = x_(j) * (i >= j ? problem.hessian(i, j) : problem.hessian(j, i));
      rest(i) += term;
      terms(i) += std::abs(term);
    }
  }
  if (terms.isZero(0.0))
  {
    // No gradient needs no multipliers; those at hand are the enlargement's and rounding.
    weights_.head(active_count_).setZero();
    y_.head(rank_).setZero();
    return true;
  }
  for (int k = 0; k < active_count_; ++k)
  {
    const int row = active_[static_cast<std::size_t>(k)];
    const double weight = active_side_[static_cast<std::size_t>(k)] * weights_(k);
    rest += weight * problem.rows.row(row).transpose();
    terms += std::abs(weight) * problem.rows.row(row).transpose().cwiseAbs();
  }
  Eigen::Ref<Eigen::VectorXd> lambda = y_.head(rank_);
  lambda.noalias() = coupling_.topLeftCorner(rank_, n) * rest;
  triangle_.topLeftCorner(rank_, rank_).triangularView<Eigen::Upper>().solveInPlace(lambda);
  for (int k = 0; k < rank_; ++k)
  {
    rest -= lambda(k) * problem.equalities.row(basis_row_(k)).transpose();
    terms += std::abs(lambda(k)) * problem.equalities.row(basis_row_(k)).transpose().cwiseAbs();
  }
  // In units of the scaled variables, in which the gradient's parts can be compared.
  const double error = rest.cwiseProduct(scale_.head(n)).lpNorm<Eigen::Infinity>();
  const double size = terms.cwiseProduct(scale_.head(n)).lpNorm<Eigen::Infinity>();
  return error <= kOptimality * size || error <= std::numeric_limits<double>::min();
}

Status QuadraticProgram::hand_out(const Problem & problem) noexcept CD_NONBLOCKING
{
  const Eigen::Index n = variable_count_;
  const Eigen::Index p = problem.equality_values.size();
  if (
    !x_.head(n).allFinite() || !y_.head(rank_).allFinite() ||
    !weights_.head(active_count_).allFinite())
  {
    return Status::kNonFiniteResult;
  }
  solution_size_ = variable_count_;
  equality_size_ = static_cast<int>(p);
  row_size_ = row_count_;
  solution_.head(n) = x_.head(n);
  equality_multipliers_.head(p).setZero();
  for (int k = 0; k < rank_; ++k)
  {
    equality_multipliers_(basis_row_(k)) = y_(k);
  }
  multipliers_.head(row_count_).setZero();
  binding_.head(row_count_).setZero();
  binding_count_ = 0;
  for (int k = 0; k < active_count_; ++k)
  {
    const int row = active_[static_cast<std::size_t>(k)];
    const int side = active_side_[static_cast<std::size_t>(k)];
    multipliers_(row) -= side * weights_(k);
    binding_count_ += binding_(row) == 0 ? 1 : 0;
    binding_(row) = side;
  }
  return Status::kOk;
}

}  // namespace constrained_dynamics
