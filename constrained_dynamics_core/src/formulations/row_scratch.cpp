// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "row_scratch.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <Eigen/Cholesky>
#include <Eigen/Householder>

#include "formulations/householder.hpp"

namespace constrained_dynamics
{

namespace
{

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

bool is_symmetric(const ConstMatrixRef & matrix, double size) noexcept
{
  double asymmetry = 0.0;
  for (Eigen::Index j = 0; j < matrix.cols(); ++j)
  {
    for (Eigen::Index i = j + 1; i < matrix.rows(); ++i)
    {
      asymmetry = std::max(asymmetry, std::abs(matrix(i, j) - matrix(j, i)));
    }
  }
  // Rounding of the products leaves some n ε; real asymmetry is far above.
  return asymmetry <= 1e-12 * size;
}

/// Cholesky in the lower triangle. False where the matrix is not positive definite to rounding.
bool factor_positive(MatrixRef matrix, VectorRef diagonal) noexcept
{
  diagonal = matrix.diagonal();
  const Eigen::LLT<MatrixRef> cholesky(matrix);
  if (cholesky.info() != Eigen::Success)
  {
    return false;
  }
  const double smallest = static_cast<double>(diagonal.size()) * kEpsilon;
  for (Eigen::Index i = 0; i < diagonal.size(); ++i)
  {
    // Scale-free: what is left of the diagonal after elimination.
    const double left = matrix(i, i) * matrix(i, i);
    if (!(left > smallest * diagonal(i)))
    {
      return false;
    }
  }
  return true;
}

}  // namespace

// ---- RowScratch --------------------------------------------------------------------------------

RowScratch::RowScratch(int speed_count, int max_row_count)
: factorisation(speed_count, max_row_count),
  particular(Eigen::VectorXd::Zero(speed_count)),
  residual_particular(Eigen::VectorXd::Zero(speed_count)),
  residual_force(Eigen::VectorXd::Zero(speed_count)),
  acceleration(Eigen::VectorXd::Zero(speed_count)),
  constraint_force(Eigen::VectorXd::Zero(speed_count)),
  multipliers(Eigen::VectorXd::Zero(max_row_count)),
  row_work(Eigen::VectorXd::Zero(max_row_count))
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
  for (Eigen::Index i = 0; i < r; ++i)
  {
    double dependent = particular(i);
    for (Eigen::Index j = 0; j < p; ++j)
    {
      dependent += K(i, j) * independent(j);
    }
    acceleration(order(i)) = dependent;
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

  // How far the rows are missed, contradictions and dropped directions alike.
  const double bias_size = problem.bias.cwiseProduct(problem.row_scale).norm();
  auto missed = row_work.head(m);
  missed = -problem.bias;
  missed.noalias() += problem.rows * acceleration;
  missed.array() *= problem.row_scale.array();
  const double possible = std::max(row_size, 1.0);  // what S A could have
  const double size = bias_size + possible * acceleration.norm();
  solution.acceleration = acceleration;
  solution.constraint_force = constraint_force;
  solution.multipliers.head(m) = lambda;
  for (Eigen::Index i = 0; i < m; ++i)
  {
    solution.redundancy(i) = factorisation.redundancy(static_cast<int>(i));
  }
  solution.rank = factorisation.rank();
  solution.condition = factorisation.condition();
  // At rest b and A u̇ are what rounding of the forces leaves, in motion b is at least the rounding
  // of what bodies that turn make of it; that contradicts nothing.
  constexpr double kRoundings = 16.0 * std::numeric_limits<double>::epsilon();
  const double lightest = problem.mass_matrix.diagonal().minCoeff();
  const double noise =
    (lightest > 0.0 ? kRoundings * possible * problem.force.norm() / lightest : 0.0) +
    kRowRounding * problem.speed_square;
  solution.inconsistency = size > 0.0 && missed.norm() > noise ? missed.norm() / size : 0.0;
  if (rank_status != Status::kOk)
  {
    return rank_status;
  }
  return solution.inconsistency <= options.consistency_tolerance ? Status::kOk
                                                                 : Status::kInconsistent;
}

// ---- BorderedLu --------------------------------------------------------------------------------

BorderedLu::BorderedLu(int max_size)
: matrix_(Eigen::MatrixXd::Identity(max_size, max_size)),
  lu_(max_size),
  right_(Eigen::VectorXd::Zero(max_size)),
  work_(Eigen::VectorXd::Zero(max_size))
{
}

bool BorderedLu::factor(Eigen::Index size) noexcept CD_NONBLOCKING
{
  const Eigen::Index rest = matrix_.rows() - size;
  matrix_.topRightCorner(size, rest).setZero();
  matrix_.bottomLeftCorner(rest, size).setZero();
  matrix_.bottomRightCorner(rest, rest).setIdentity();
  lu_.compute(matrix_);
  const double largest = matrix_.topLeftCorner(size, size).cwiseAbs().maxCoeff();
  const double smallest = static_cast<double>(size) * kEpsilon;
  for (Eigen::Index i = 0; i < size; ++i)
  {
    if (!(std::abs(lu_.matrixLU()(i, i)) > smallest * largest))
    {
      return false;
    }
  }
  return true;
}

void BorderedLu::solve(VectorRef x) noexcept CD_NONBLOCKING
{
  const Eigen::Index size = x.size();
  const Eigen::Index rest = matrix_.rows() - size;
  right_.head(size) = x;
  right_.tail(rest).setZero();
  work_ = lu_.permutationP() * right_;
  lu_.matrixLU().triangularView<Eigen::UnitLower>().solveInPlace(work_);
  lu_.matrixLU().triangularView<Eigen::Upper>().solveInPlace(work_);
  x = work_.head(size);
}

// ---- ReducedInertia ----------------------------------------------------------------------------

ReducedInertia::ReducedInertia(int speed_count)
: matrix_(Eigen::MatrixXd::Zero(speed_count, speed_count)),
  diagonal_(Eigen::VectorXd::Zero(speed_count)),
  lu_(speed_count)
{
}

bool ReducedInertia::factor(Eigen::Index p) noexcept CD_NONBLOCKING
{
  if (p == 0)
  {
    return true;
  }
  auto reduced = matrix(p);
  const double size = reduced.cwiseAbs().maxCoeff();
  if (!(size > 0.0) || !std::isfinite(size))
  {
    return false;
  }
  symmetric_ = is_symmetric(reduced, size);
  if (!symmetric_)
  {
    lu_.matrix(p) = reduced;
    return lu_.factor(p);
  }
  return factor_positive(reduced, diagonal_.head(p));
}

void ReducedInertia::solve(VectorRef x) noexcept CD_NONBLOCKING
{
  if (x.size() == 0)
  {
    return;
  }
  if (!symmetric_)
  {
    lu_.solve(x);
    return;
  }
  const auto reduced = matrix(x.size());
  reduced.triangularView<Eigen::Lower>().solveInPlace(x);
  reduced.triangularView<Eigen::Lower>().transpose().solveInPlace(x);
}

void ReducedInertia::solve_columns(MatrixRef x) noexcept CD_NONBLOCKING
{
  const Eigen::Index p = x.rows();
  if (!symmetric_)
  {
    for (Eigen::Index j = 0; j < x.cols(); ++j)
    {
      lu_.solve(x.col(j));
    }
    return;
  }
  const auto L = matrix(p);
  for (Eigen::Index j = 0; j < x.cols(); ++j)
  {
    auto column = x.col(j);
    for (Eigen::Index k = 0; k < p; ++k)
    {
      const double value = column(k) / L(k, k);
      column(k) = value;
      if (value != 0.0)
      {
        column.tail(p - k - 1) -= value * L.col(k).tail(p - k - 1);
      }
    }
    for (Eigen::Index k = p - 1; k >= 0; --k)
    {
      column(k) = (column(k) - L.col(k).tail(p - k - 1).dot(column.tail(p - k - 1))) / L(k, k);
    }
  }
}

// ---- InertiaRoot -------------------------------------------------------------------------------

InertiaRoot::InertiaRoot(int speed_count)
: lower_(Eigen::MatrixXd::Identity(speed_count, speed_count)),
  diagonal_(Eigen::VectorXd::Zero(speed_count)),
  work_(Eigen::VectorXd::Zero(speed_count))
{
}

bool InertiaRoot::factor(const ConstMatrixRef & mass_matrix) noexcept CD_NONBLOCKING
{
  // A semidefinite Q, computed, has some n ε in place of the eigenvalue 0. Up to this condition at
  // least three digits of Q⁻¹ h are left; even chains of a thousand links stay far below.
  constexpr double kLargestCondition = 1e13;
  lower_ = mass_matrix;
  if (!is_symmetric(lower_, lower_.cwiseAbs().maxCoeff()) || !factor_positive(lower_, diagonal_))
  {
    return false;
  }
  // The smallest eigenvalue of Q scaled to a diagonal of ones, by inverse iteration. Small pivots
  // alone do not tell: one of 1e-6 lets noise of ε look like 1e-10 in the next.
  diagonal_ = diagonal_.cwiseSqrt();
  work_.setOnes();
  double inverse = 1.0;
  constexpr int kIterations = 3;
  for (int i = 0; i < kIterations; ++i)
  {
    work_ /= work_.norm();
    work_.array() *= diagonal_.array();
    divide_by_transpose(work_);
    inverse = work_.squaredNorm();
    divide(work_);
    work_.array() *= diagonal_.array();
  }
  return inverse <= kLargestCondition;
}

void InertiaRoot::divide_by_transpose(MatrixRef x) const noexcept CD_NONBLOCKING
{
  if (x.cols() > 0)
  {
    lower_.triangularView<Eigen::Lower>().solveInPlace(x);
  }
}

void InertiaRoot::divide(VectorRef x) const noexcept CD_NONBLOCKING
{
  lower_.triangularView<Eigen::Lower>().transpose().solveInPlace(x);
}

// ---- RangeFactorisation ------------------------------------------------------------------------

RangeFactorisation::RangeFactorisation(int max_rows, int max_cols)
: factor_(Eigen::MatrixXd::Zero(max_rows, max_cols)), reflectors_(Eigen::VectorXd::Zero(max_cols))
{
}

void RangeFactorisation::factor(Eigen::Index rows, Eigen::Index cols) noexcept CD_NONBLOCKING
{
  rows_ = rows;
  cols_ = cols;
  for (Eigen::Index k = 0; k < cols_; ++k)
  {
    double diagonal = 0.0;
    factor_.col(k).segment(k, rows_ - k).makeHouseholderInPlace(reflectors_(k), diagonal);
    factor_(k, k) = diagonal;
    if (k + 1 < cols_)
    {
      reflect(
        factor_.block(k, k + 1, rows_ - k, cols_ - k - 1),
        factor_.col(k).segment(k + 1, rows_ - k - 1), reflectors_(k));
    }
  }
}

double RangeFactorisation::factor_pivoted(
  Eigen::Index rows, Eigen::Index cols, Eigen::Index rank,
  Eigen::Ref<Eigen::VectorXi> order) noexcept CD_NONBLOCKING
{
  rows_ = rows;
  cols_ = rank;
  for (Eigen::Index j = 0; j < cols; ++j)
  {
    order(j) = static_cast<int>(j);
  }
  for (Eigen::Index k = 0; k < rank; ++k)
  {
    Eigen::Index longest = k;
    double length = -1.0;
    for (Eigen::Index j = k; j < cols; ++j)
    {
      const double norm = factor_.col(j).segment(k, rows - k).squaredNorm();
      if (norm > length)
      {
        length = norm;
        longest = j;
      }
    }
    if (longest != k)
    {
      factor_.col(k).head(rows).swap(factor_.col(longest).head(rows));
      std::swap(order(k), order(longest));
    }
    double diagonal = 0.0;
    factor_.col(k).segment(k, rows - k).makeHouseholderInPlace(reflectors_(k), diagonal);
    factor_(k, k) = diagonal;
    if (k + 1 < cols)
    {
      reflect(
        factor_.block(k, k + 1, rows - k, cols - k - 1),
        factor_.col(k).segment(k + 1, rows - k - 1), reflectors_(k));
    }
  }
  return rank < rows && rank < cols ? factor_.block(rank, rank, rows - rank, cols - rank).norm()
                                    : 0.0;
}

void RangeFactorisation::apply(MatrixRef x) noexcept CD_NONBLOCKING
{
  for (Eigen::Index k = cols_ - 1; k >= 0; --k)
  {
    reflect(
      x.middleRows(k, rows_ - k), factor_.col(k).segment(k + 1, rows_ - k - 1), reflectors_(k));
  }
}

void RangeFactorisation::apply_transpose(VectorRef x) noexcept CD_NONBLOCKING
{
  for (Eigen::Index k = 0; k < cols_; ++k)
  {
    reflect(x.segment(k, rows_ - k), factor_.col(k).segment(k + 1, rows_ - k - 1), reflectors_(k));
  }
}

void RangeFactorisation::divide(VectorRef x) const noexcept CD_NONBLOCKING
{
  if (cols_ == 0)
  {
    return;
  }
  factor_.topLeftCorner(cols_, cols_).triangularView<Eigen::Upper>().solveInPlace(x);
}

void RangeFactorisation::divide_by_transpose(VectorRef x) const noexcept CD_NONBLOCKING
{
  if (cols_ == 0)
  {
    return;
  }
  factor_.topLeftCorner(cols_, cols_).triangularView<Eigen::Upper>().transpose().solveInPlace(x);
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
