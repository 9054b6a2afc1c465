// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "quadratic_program.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <Eigen/Cholesky>

#include <eiquadprog/eiquadprog-fast.hpp>

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
/// A diagonal element below this fraction of the largest is 0: it is the square of a rounding
/// error, while units of variables that differ by 1e12 still count.
constexpr double kFlat = 1e-24;
/// The most negative diagonal element that counts as 0, as a fraction of the largest.
constexpr double kNegative = 1e-12;
/// A row whose part beside other rows is below this fraction of it depends on them.
constexpr double kDependent = 1e-9;
/// Largest violation of a row as a fraction of the terms that it sums.
constexpr double kFeasibility = 1e-9;
/// The most negative multiplier that counts as 0, as a fraction of all of them.
constexpr double kDuality = 1e-9;
/// Rounding of a row's value as a fraction of the terms that it summed at the unlimited solution,
/// from which the limited one is reached.
constexpr double kRounding = 1e-13;
/// Rows that may join or leave a proposed active set one by one.
constexpr int kImprovements = 8;

bool is_bound(double value) { return std::isfinite(value); }

}  // namespace

struct QuadraticProgram::Solver
{
  Solver(int n, int m)
  : hessian(Eigen::MatrixXd::Identity(n, n)),
    gradient(Eigen::VectorXd::Zero(n)),
    no_rows(0, n),
    no_values(0),
    normals(Eigen::MatrixXd::Zero(m, n)),
    offsets(Eigen::VectorXd::Ones(m)),
    x(Eigen::VectorXd::Zero(n))
  {
    method.reset(static_cast<std::size_t>(n), 0, static_cast<std::size_t>(m));
    method.setMaxIter(10 * (n + m) + 10);
  }

  eiquadprog::solvers::EiquadprogFast method;
  Eigen::MatrixXd hessian;
  Eigen::VectorXd gradient;
  Eigen::MatrixXd no_rows;
  Eigen::VectorXd no_values;
  Eigen::MatrixXd normals;
  Eigen::VectorXd offsets;
  Eigen::VectorXd x;
};

QuadraticProgram::QuadraticProgram(int max_variables, int max_equalities, int max_rows)
:  // eiquadprog looks one element past its active set, so it gets a row more than can be active.
  solver_(std::make_unique<Solver>(max_variables, 2 * max_rows + 1)),
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

/// x = transformᵀ w with the metric 1 in w. False where H is not definite.
bool QuadraticProgram::factor(
  const Problem & problem, double enlargement, double least_pivot) noexcept CD_NONBLOCKING
{
  const Eigen::Index n = variable_count_;
  const double largest = problem.hessian.diagonal().maxCoeff();
  if (!(problem.hessian.diagonal().minCoeff() >= -kNegative * std::abs(largest)))
  {
    return false;
  }
  for (Eigen::Index j = 0; j < n; ++j)
  {
    const double diagonal = problem.hessian(j, j);
    const bool is_flat = !(diagonal > kFlat * largest);
    scale_(j) = 1.0 / std::sqrt(!is_flat ? diagonal : (largest > 0.0 ? largest : 1.0));
  }
  Eigen::Ref<Eigen::MatrixXd> L = cholesky_.topLeftCorner(n, n);
  for (Eigen::Index j = 0; j < n; ++j)
  {
    for (Eigen::Index i = j; i < n; ++i)
    {
      L(i, j) = problem.hessian(i, j) * scale_(i) * scale_(j);
    }
    L(j, j) += enlargement;
  }
  // ½ ‖E x − e‖² changes nothing where E x = e, and makes H definite where only the rows do.
  Eigen::Ref<Eigen::VectorXd> a = work_.head(n);
  equality_pull_.head(n).setZero();
  for (Eigen::Index k = 0; k < problem.equality_values.size(); ++k)
  {
    a = problem.equalities.row(k).transpose().cwiseProduct(scale_.head(n));
    const double length = a.norm();
    if (length > 0.0)
    {
      a /= length;
      for (Eigen::Index j = 0; j < n; ++j)
      {
        if (a(j) != 0.0)
        {
          L.col(j).tail(n - j) += a(j) * a.tail(n - j);
        }
      }
      equality_pull_.head(n) += (problem.equality_values(k) / length) * a;
    }
  }
  const Eigen::LLT<Eigen::Ref<Eigen::MatrixXd>> cholesky(L);
  if (cholesky.info() != Eigen::Success || !(L.diagonal().minCoeff() > least_pivot))
  {
    return false;
  }
  Eigen::Ref<Eigen::MatrixXd> T = transform_.topLeftCorner(n, n);
  T.setIdentity();
  L.triangularView<Eigen::Lower>().solveInPlace(T);
  for (Eigen::Index j = 0; j < n; ++j)
  {
    T.col(j) *= scale_(j);
  }
  return true;
}

/// Makes column `count` of the basis orthogonal to those before, coefficients to the triangle.
/// False where it depends on them.
bool QuadraticProgram::orthogonalise(
  Eigen::MatrixXd & basis, Eigen::MatrixXd & triangle, int count) noexcept CD_NONBLOCKING
{
  const Eigen::Index n = variable_count_;
  Eigen::Ref<Eigen::VectorXd> a = basis.col(count).head(n);
  const double length = a.norm();
  triangle.col(count).head(count).setZero();
  for (int pass = 0; pass < 2; ++pass)  // twice is enough
  {
    for (int k = 0; k < count; ++k)
    {
      const double part = basis.col(k).head(n).dot(a);
      triangle(k, count) += part;
      a -= part * basis.col(k).head(n);
    }
  }
  const double rest = a.norm();
  triangle(count, count) = rest;
  if (count >= n || !(rest > kDependent * length))
  {
    return false;
  }
  a /= rest;
  return true;
}

/// Takes the rows of equality out. False where they contradict each other.
bool QuadraticProgram::eliminate(const Problem & problem) noexcept CD_NONBLOCKING
{
  const Eigen::Index n = variable_count_;
  Eigen::Ref<Eigen::MatrixXd> T = transform_.topLeftCorner(n, n);
  rank_ = 0;
  for (Eigen::Index i = 0; i < problem.equality_values.size(); ++i)
  {
    Eigen::Ref<Eigen::VectorXd> a = basis_.col(rank_).head(n);
    a.setZero();
    for (Eigen::Index j = 0; j < n; ++j)
    {
      a.tail(n - j) += problem.equalities(i, j) * T.col(j).tail(n - j);
    }
    const bool is_independent = orthogonalise(basis_, triangle_, rank_);
    double rest = problem.equality_values(i);
    double size = std::abs(rest);
    for (int k = 0; k < rank_; ++k)
    {
      rest -= triangle_(k, rank_) * equality_part_(k);
      size += std::abs(triangle_(k, rank_) * equality_part_(k));
    }
    if (is_independent)
    {
      equality_part_(rank_) = rest / triangle_(rank_, rank_);
      basis_row_(rank_) = static_cast<int>(i);
      ++rank_;
    }
    else if (!(std::abs(rest) <= kFeasibility * size))
    {
      return false;
    }
  }
  Eigen::Ref<Eigen::MatrixXd> S = coupling_.topLeftCorner(rank_, n);
  S.noalias() = basis_.topLeftCorner(n, rank_).transpose() * T;
  T.noalias() -= basis_.topLeftCorner(n, rank_) * S;
  return true;
}

/// The minimum with the rows of equality alone.
void QuadraticProgram::find_unlimited(const Problem & problem, double enlargement) noexcept
  CD_NONBLOCKING
{
  const Eigen::Index n = variable_count_;
  Eigen::Ref<Eigen::VectorXd> w = w_.head(n);
  Eigen::Ref<Eigen::VectorXd> x = x_unlimited_.head(n);
  for (Eigen::Index j = 0; j < n; ++j)
  {
    w(j) =
      equality_pull_(j) + enlargement * centre_(j) / scale_(j) - problem.gradient(j) * scale_(j);
  }
  cholesky_.topLeftCorner(n, n).triangularView<Eigen::Lower>().solveInPlace(w);
  x.noalias() = transform_.topLeftCorner(n, n).transpose() * w;
  x.noalias() += coupling_.topLeftCorner(rank_, n).transpose() * equality_part_.head(rank_);
  // Once more with what rounding left of the rows.
  for (int k = 0; k < rank_; ++k)
  {
    double rest = problem.equality_values(basis_row_(k));
    for (Eigen::Index j = 0; j < n; ++j)
    {
      rest -= problem.equalities(basis_row_(k), j) * x(j);
    }
    y_(k) = (rest - triangle_.col(k).head(k).dot(y_.head(k))) / triangle_(k, k);
  }
  x.noalias() += coupling_.topLeftCorner(rank_, n).transpose() * y_.head(rank_);
}

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

/// The solution with the active rows at their bounds. Whether it is optimal; else worst_active_ is
/// an active row that should not be, or worst_row_ a row that is not met.
bool QuadraticProgram::solve_active(const Problem & problem) noexcept CD_NONBLOCKING
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
      return false;
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
      return false;
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
  if (!(least >= -kDuality * largest))
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
  Solver & solver = *solver_;
  evaluate_rows(problem, x_unlimited_);
  side_count_ = 0;
  unit_ = 0.0;
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
        unit_ = std::max(unit_, -solver.offsets(side_count_));
        side_row_[static_cast<std::size_t>(side_count_)] = i;
        side_[static_cast<std::size_t>(side_count_)] = side;
        ++side_count_;
      }
    }
  }
  // Rows and variables that this problem does not have must not count.
  const Eigen::Index unused = solver.offsets.size() - side_count_;
  solver.normals.bottomRows(unused).setZero();
  solver.offsets.tail(unused).setOnes();
  solver.normals.rightCols(solver.normals.cols() - n).setZero();
  solver.offsets.head(side_count_) /= unit_;
  active_count_ = 0;
  if (!(unit_ > 0.0 && std::isfinite(unit_)) || !solver.offsets.allFinite())
  {
    return Outcome::kFailed;
  }
  const auto status = solver.method.solve_quadprog(
    solver.hessian, solver.gradient, solver.no_rows, solver.no_values, solver.normals,
    solver.offsets, solver.x);
  iterations_ += solver.method.getIteratios();
  if (status != eiquadprog::solvers::EIQUADPROG_FAST_OPTIMAL)
  {
    // Its name for a problem whose dual is unbounded.
    return status == eiquadprog::solvers::EIQUADPROG_FAST_UNBOUNDED ? Outcome::kInfeasible
                                                                    : Outcome::kFailed;
  }
  active_count_ = static_cast<int>(solver.method.getActiveSetSize());
  for (int k = 0; k < active_count_; ++k)
  {
    const auto index = static_cast<std::size_t>(solver.method.getActiveSet()(k));
    active_[static_cast<std::size_t>(k)] = side_row_[index];
    active_side_[static_cast<std::size_t>(k)] = side_[index];
  }
  return Outcome::kOptimal;
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
