// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "servo/level_solver.hpp"

#include <algorithm>
#include <cmath>

#include <Eigen/Cholesky>

#include "clones.hpp"
#include "formulations/columns.hpp"
#include "formulations/householder.hpp"

namespace constrained_dynamics
{

namespace
{

// Directions below this fraction of the largest are rounding.
constexpr double kRoundingOfDirections = 1e-11;
// Estimates of singular values are right within this factor.
constexpr double kMargin = 2.0;

/// σ_min of the triangle of a factored range, by inverse iteration.
double smallest_singular_value(RangeFactorisation & range, VectorRef x) noexcept
{
  constexpr int kIterations = 3;
  x.setOnes();
  double inverse = 0.0;
  for (int i = 0; i < kIterations; ++i)
  {
    const double norm = x.norm();
    if (!(norm > 0.0) || !std::isfinite(norm))
    {
      return 0.0;
    }
    x /= norm;
    range.divide_by_transpose(x);
    inverse = x.norm();
    range.divide(x);
  }
  return inverse > 0.0 && std::isfinite(inverse) ? 1.0 / inverse : 0.0;
}

}  // namespace

LevelSolver::LevelSolver(int unknown_count, int max_row_count)
: unknowns_(unknown_count),
  solution_(Eigen::VectorXd::Zero(unknown_count)),
  basis_(Eigen::MatrixXd::Zero(unknown_count, unknown_count)),
  free_basis_(Eigen::MatrixXd::Zero(unknown_count, unknown_count)),
  reflections_(Eigen::MatrixXd::Zero(unknown_count, unknown_count)),
  reflectors_(Eigen::VectorXd::Zero(unknown_count)),
  x_(Eigen::VectorXd::Zero(unknown_count)),
  root_(Eigen::MatrixXd::Zero(unknown_count, unknown_count)),
  diagonal_(Eigen::VectorXd::Zero(unknown_count)),
  metric_eigen_(unknown_count, unknown_count, Eigen::ComputeFullU),
  rows_(Eigen::MatrixXd::Zero(unknown_count, max_row_count)),
  right_(Eigen::VectorXd::Zero(max_row_count)),
  step_(Eigen::VectorXd::Zero(std::max(unknown_count, max_row_count))),
  work_(Eigen::VectorXd::Zero(std::max(unknown_count, max_row_count))),
  range_(unknown_count, std::max(unknown_count, max_row_count)),
  tall_(max_row_count, unknown_count),
  order_(Eigen::VectorXi::Zero(max_row_count)),
  padded_(Eigen::MatrixXd::Zero(unknown_count, max_row_count)),
  svd_(unknown_count, max_row_count, Eigen::ComputeThinU | Eigen::ComputeThinV),
  row_metric_(Eigen::MatrixXd::Zero(max_row_count, max_row_count)),
  row_work_(Eigen::MatrixXd::Zero(std::max(unknown_count, 1), max_row_count)),
  along_(Eigen::VectorXd::Zero(max_row_count)),
  row_eigen_(max_row_count, max_row_count, Eigen::ComputeFullU)
{
}

void LevelSolver::begin(const Eigen::MatrixXd * metric) noexcept CD_NONBLOCKING
{
  metric_ = metric;
  is_solved_ = false;
  total_ = unknowns_;
  used_ = 0;
  reflected_ = 0;
  free_ = 0;
  is_identity_ = !metric;
  if (!metric || unknowns_ == 0)
  {
    return;
  }
  basis_.setIdentity();
  // B with Bᵀ H B = I: the inverse of the Cholesky root where H is definite by a clear margin.
  constexpr double kDefinite = 1e-9;
  root_ = *metric;
  diagonal_ = root_.diagonal();
  const Eigen::LLT<Eigen::Ref<Eigen::MatrixXd>> cholesky(root_);
  bool definite = cholesky.info() == Eigen::Success;
  for (Eigen::Index i = 0; i < unknowns_ && definite; ++i)
  {
    definite = root_(i, i) * root_(i, i) > kDefinite * diagonal_(i);
  }
  if (definite)
  {
    root_.triangularView<Eigen::Lower>().transpose().solveInPlace(basis_);
    return;
  }
  metric_eigen_.compute(*metric);
  const auto & values = metric_eigen_.singularValues();
  const double largest = values(0);
  total_ = 0;
  for (Eigen::Index i = 0; i < unknowns_; ++i)
  {
    if (values(i) > kRoundingOfDirections * largest && largest > 0.0)
    {
      basis_.col(total_++) = metric_eigen_.matrixU().col(i) / std::sqrt(values(i));
    }
    else
    {
      free_basis_.col(free_++) = metric_eigen_.matrixU().col(i);
    }
  }
}

void LevelSolver::transform(const ConstMatrixRef & transposed) noexcept
{
  auto all = rows_.topLeftCorner(total_, transposed.cols());
  if (is_identity_)
  {
    all = transposed;
  }
  else
  {
    multiply(basis_.leftCols(total_).transpose(), transposed, all);
  }
  reflect_all(all);
}

void LevelSolver::load(const Rows & rows, bool by_size) noexcept
{
  const Eigen::Index m = rows.right.size();
  transform(rows.transposed);
  auto all = rows_.topLeftCorner(total_, m);
  for (Eigen::Index i = 0; i < m; ++i)
  {
    right_(i) = rows.right(i) - columns::dot(all.col(i).data(), x_.data(), used_);
    if (by_size)
    {
      const double scale = 1.0 / rows.size(i);
      all.col(i).tail(total_ - used_) *= scale;
      right_(i) *= scale;
    }
  }
}

CD_CLONES void LevelSolver::reflect_all(MatrixRef x) const noexcept
{
  for (Eigen::Index k = 0; k < reflected_; ++k)
  {
    reflect(
      x.bottomRows(total_ - k), reflections_.col(k).segment(k + 1, total_ - k - 1), reflectors_(k));
  }
}

CD_CLONES void LevelSolver::reflect_back(VectorRef x) const noexcept
{
  for (Eigen::Index k = reflected_ - 1; k >= 0; --k)
  {
    reflect(x.tail(total_ - k), reflections_.col(k).segment(k + 1, total_ - k - 1), reflectors_(k));
  }
}

void LevelSolver::keep_range(Eigen::Index count) noexcept
{
  const Eigen::Index open = total_ - used_;
  const auto factor = range_.matrix(open, count);
  for (Eigen::Index k = 0; k < count; ++k)
  {
    auto essential = reflections_.col(used_ + k).segment(used_ + k + 1, open - k - 1);
    essential = factor.col(k).tail(open - k - 1);
    const double square = essential.squaredNorm();
    reflectors_(used_ + k) = square > 0.0 ? 2.0 / (1.0 + square) : 0.0;  // as it is orthogonal
  }
  used_ += count;
  reflected_ = used_;
}

void LevelSolver::weigh(const Rows & rows) noexcept
{
  load(rows, false);
  if (rows.error_metric)
  {
    const Eigen::Index m = rows.right.size();
    weigh(*rows.error_metric, open_rows(m), right_.head(m));
  }
}

double LevelSolver::size_along(const Rows & rows) noexcept
{
  auto along = along_.head(rows.right.size());
  if (!rows.error_metric)
  {
    along.array() /= rows.size.array();
  }
  return along.norm();
}

void LevelSolver::weigh(
  const Eigen::MatrixXd & metric, MatrixRef transposed, VectorRef right) noexcept CD_NONBLOCKING
{
  // With M = V Λ Vᵀ errors count in the norm of M⁺: rows Λ^(−1/2) Vᵀ W, none where Λ is 0.
  const Eigen::Index m = transposed.cols();
  row_metric_.setZero();
  row_metric_.topLeftCorner(m, m) = metric.topLeftCorner(m, m);
  row_eigen_.compute(row_metric_);
  const auto & values = row_eigen_.singularValues();
  const double largest = values(0);
  auto from = row_work_.topLeftCorner(transposed.rows(), m);
  from = transposed;
  work_.head(m) = right;
  transposed.setZero();
  right.setZero();
  Eigen::Index k = 0;
  for (Eigen::Index i = 0; i < values.size() && k < m; ++i)
  {
    if (values(i) > kRoundingOfDirections * largest && largest > 0.0)
    {
      const auto direction = row_eigen_.matrixU().col(i).head(m);
      const double scale = 1.0 / std::sqrt(values(i));
      transposed.col(k).noalias() = from * direction;
      transposed.col(k) *= scale;
      right(k) = scale * direction.dot(work_.head(m));
      ++k;
    }
  }
}

bool LevelSolver::solve_wide(const Rows & rows, double tolerance, Level & level) noexcept
{
  const Eigen::Index m = rows.right.size();
  load(rows, true);
  const auto W = open_rows(m);
  range_.matrix(W.rows(), m) = W;
  range_.factor(W.rows(), m);
  const double largest = W.norm();
  const double smallest = smallest_singular_value(range_, work_.head(m));
  if (!(smallest > kMargin * tolerance))
  {
    return false;
  }
  auto x = x_.segment(used_, m);
  x = right_.head(m);
  range_.divide_by_transpose(x);
  keep_range(m);
  level.rank = static_cast<int>(m);
  level.condition = largest / smallest;
  return true;
}

bool LevelSolver::solve_tall(const Rows & rows, double tolerance, Level & level) noexcept
{
  const Eigen::Index m = rows.right.size();
  weigh(rows);
  const auto W = open_rows(m);
  const Eigen::Index open = W.rows();
  tall_.matrix(m, open) = W.transpose();
  tall_.factor(m, open);
  const double largest = W.norm();
  auto weakest = work_.head(open);
  const double smallest = smallest_singular_value(tall_, weakest);
  weakest.normalize();
  along_.head(m).noalias() = W.transpose() * weakest;
  if (!(smallest > kRoundingOfDirections * largest) || !(size_along(rows) > kMargin * tolerance))
  {
    return false;
  }
  tall_.apply_transpose(right_.head(m));
  auto x = x_.segment(used_, open);
  x = right_.head(open);
  tall_.divide(x);
  used_ = total_;  // nothing is left to reflect
  level.rank = static_cast<int>(open);
  level.condition = largest / smallest;
  return true;
}

Eigen::Index LevelSolver::find_rank(Eigen::Index m, double shortest) noexcept
{
  const auto W = open_rows(m);
  const Eigen::Index most = std::min(m, W.rows());
  auto R = range_.matrix(W.rows(), m);
  R = W;
  (void)range_.factor_pivoted(W.rows(), m, most, order_.head(m));
  Eigen::Index rank = 0;
  while (rank < most && std::abs(R(rank, rank)) > shortest)
  {
    ++rank;
  }
  return rank;
}

bool LevelSolver::solve_deficient(const Rows & rows, double tolerance, Level & level) noexcept
{
  // Wᵀ Π = U [R11 R12; 0 0], so W x = Π [R11 R12]ᵀ y with y = U1ᵀ x: least squares for y.
  const Eigen::Index m = rows.right.size();
  weigh(rows);
  const auto W = open_rows(m);
  const double largest = W.norm();
  const Eigen::Index r = rows.nominal_rank < 0 ? find_rank(m, kRoundingOfDirections * largest)
                                               : static_cast<Eigen::Index>(rows.nominal_rank);
  if (r == 0)
  {
    return false;
  }
  range_.matrix(W.rows(), m) = W;
  const double left = range_.factor_pivoted(W.rows(), m, r, order_.head(m));
  if (!(left <= kRoundingOfDirections * largest))
  {
    return false;
  }
  auto triangle = tall_.matrix(m, r);
  const auto R = range_.matrix(W.rows(), m);
  for (Eigen::Index j = 0; j < r; ++j)
  {
    for (Eigen::Index i = 0; i < m; ++i)
    {
      triangle(order_(i), j) = i >= j ? R(j, i) : 0.0;
    }
  }
  tall_.factor(m, r);
  auto weakest = work_.head(r);
  const double smallest = smallest_singular_value(tall_, weakest);
  weakest.normalize();
  for (Eigen::Index i = 0; i < m; ++i)
  {
    along_(order_(i)) = columns::dot(R.col(i).data(), weakest.data(), std::min(i + 1, r));
  }
  if (!(smallest > kRoundingOfDirections * largest) || !(size_along(rows) > kMargin * tolerance))
  {
    return false;
  }
  tall_.apply_transpose(right_.head(m));
  auto x = x_.segment(used_, r);
  x = right_.head(r);
  tall_.divide(x);
  keep_range(r);
  level.rank = static_cast<int>(r);
  level.condition = largest / smallest;
  return true;
}

void LevelSolver::solve_any(const Rows & rows, double tolerance, Level & level) noexcept
{
  const Eigen::Index m = rows.right.size();
  weigh(rows);
  const auto W = open_rows(m);
  const Eigen::Index open = W.rows();
  padded_.setZero();
  padded_.topLeftCorner(open, m) = W;
  svd_.compute(padded_);
  const auto & values = svd_.singularValues();
  const double largest = values.size() > 0 ? values(0) : 0.0;
  const Eigen::Index most = std::min(m, open);
  auto x = step_.head(open);
  x.setZero();
  // With s = ‖D W v‖/tolerance below 1 the inverse 1/σ is multiplied by s²/(s² + (1 − s²)/4): 1 at
  // s = 1, and σ times a bounded number at s = 0.
  Eigen::Index used = 0;
  double smallest = largest;
  for (Eigen::Index i = 0; i < most; ++i)
  {
    const double sigma = values(i);
    const auto direction = svd_.matrixU().col(i).head(open);
    const bool expected = rows.nominal_rank < 0 || i < rows.nominal_rank;
    if (!(sigma > kRoundingOfDirections * largest) || !(largest > 0.0))
    {
      level.damped = level.damped || (expected && rows.nominal_rank >= 0);
      break;
    }
    along_.head(m).noalias() = W.transpose() * direction;
    const double size = size_along(rows) / tolerance;
    if (!expected && !(size >= 1.0))
    {
      break;
    }
    double inverse = 1.0 / sigma;
    if (size < 1.0)
    {
      inverse *= size * size / (size * size + 0.25 * (1.0 - size * size));
      level.damped = true;
    }
    const double along = svd_.matrixV().col(i).head(m).dot(right_.head(m));
    x += inverse * along * direction;
    smallest = sigma;
    ++used;
  }
  range_.matrix(open, used) = svd_.matrixU().topLeftCorner(open, used);
  range_.factor(open, used);
  range_.apply_transpose(x);
  x_.segment(used_, used) = x.head(used);
  keep_range(used);
  level.rank = static_cast<int>(used);
  level.condition = smallest > 0.0 ? largest / smallest : 1.0;
}

LevelSolver::Level LevelSolver::solve(const Rows & rows, double tolerance) noexcept CD_NONBLOCKING
{
  Level level;
  const Eigen::Index m = rows.right.size();
  const Eigen::Index open = total_ - used_;
  is_solved_ = false;
  if (m == 0 || open == 0)
  {
    level.damped = m > 0 && rows.nominal_rank > 0;
    return level;
  }
  const int nominal =
    rows.nominal_rank < 0 ? static_cast<int>(std::min(m, open)) : rows.nominal_rank;
  const bool deficient = rows.nominal_rank < 0 || (nominal > 0 && nominal < m && nominal < open);
  const bool solved = (nominal == m && m <= open && solve_wide(rows, tolerance, level)) ||
                      (nominal == open && open <= m && solve_tall(rows, tolerance, level)) ||
                      (deficient && solve_deficient(rows, tolerance, level));
  if (!solved)
  {
    solve_any(rows, tolerance, level);
  }
  return level;
}

const Eigen::VectorXd & LevelSolver::solution() noexcept CD_NONBLOCKING
{
  if (!is_solved_)
  {
    auto x = step_.head(total_);
    x.head(used_) = x_.head(used_);
    x.tail(total_ - used_).setZero();
    reflect_back(x);
    if (is_identity_)
    {
      solution_ = x;
    }
    else
    {
      solution_.noalias() = basis_.leftCols(total_) * x;
    }
    is_solved_ = true;
  }
  return solution_;
}

void LevelSolver::null_part(const ConstVectorRef & y, VectorRef out) noexcept CD_NONBLOCKING
{
  const auto B = basis_.leftCols(total_);
  auto x = step_.head(total_);
  if (is_identity_)
  {
    x = y;
  }
  else
  {
    work_.head(unknowns_).noalias() = *metric_ * y;
    x.noalias() = B.transpose() * work_.head(unknowns_);
  }
  reflect_all(x);
  x.head(used_).setZero();
  reflect_back(x);
  if (is_identity_)
  {
    out = x;
  }
  else
  {
    out.noalias() = B * x;
  }
  if (free_ > 0)
  {
    auto f = work_.head(free_);
    f.noalias() = free_basis_.leftCols(free_).transpose() * y;
    out.noalias() += free_basis_.leftCols(free_) * f;
  }
}

}  // namespace constrained_dynamics
