// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "servo/level_solver.hpp"

#include <algorithm>
#include <cmath>

#include <Eigen/Cholesky>

namespace constrained_dynamics
{

namespace
{

// Directions below this fraction of the largest are rounding.
constexpr double kRounding = 1e-11;
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
  root_(Eigen::MatrixXd::Zero(unknown_count, unknown_count)),
  diagonal_(Eigen::VectorXd::Zero(unknown_count)),
  metric_eigen_(unknown_count, unknown_count, Eigen::ComputeFullU),
  rows_(Eigen::MatrixXd::Zero(max_row_count, unknown_count)),
  right_(Eigen::VectorXd::Zero(max_row_count)),
  step_(Eigen::VectorXd::Zero(std::max(unknown_count, max_row_count))),
  work_(Eigen::VectorXd::Zero(std::max(unknown_count, max_row_count))),
  next_(Eigen::MatrixXd::Zero(unknown_count, unknown_count)),
  range_(unknown_count, std::max(unknown_count, max_row_count)),
  tall_(max_row_count, unknown_count),
  order_(Eigen::VectorXi::Zero(max_row_count)),
  padded_(Eigen::MatrixXd::Zero(unknown_count, max_row_count)),
  svd_(unknown_count, max_row_count, Eigen::ComputeThinU | Eigen::ComputeThinV),
  row_metric_(Eigen::MatrixXd::Zero(max_row_count, max_row_count)),
  row_work_(Eigen::MatrixXd::Zero(max_row_count, std::max(unknown_count, 1))),
  along_(Eigen::VectorXd::Zero(max_row_count)),
  row_eigen_(max_row_count, max_row_count, Eigen::ComputeFullU)
{
}

void LevelSolver::begin(const Eigen::MatrixXd * metric) noexcept CD_NONBLOCKING
{
  solution_.setZero();
  metric_ = metric;
  open_ = unknowns_;
  used_ = 0;
  free_ = 0;
  is_identity_ = !metric;
  if (!metric || unknowns_ == 0)
  {
    return;
  }
  basis_.setIdentity();
  // Z with Zᵀ H Z = I: the inverse of the Cholesky root where H is definite by a clear margin.
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
  open_ = 0;
  for (Eigen::Index i = 0; i < unknowns_; ++i)
  {
    if (values(i) > kRounding * largest && largest > 0.0)
    {
      basis_.col(open_++) = metric_eigen_.matrixU().col(i) / std::sqrt(values(i));
    }
    else
    {
      free_basis_.col(free_++) = metric_eigen_.matrixU().col(i);
    }
  }
}

void LevelSolver::load(const Rows & rows, bool by_size) noexcept
{
  const Eigen::Index m = rows.right.size();
  auto W = rows_.topLeftCorner(m, open_);
  auto left = right_.head(m);
  left = rows.right;
  if (is_identity_)
  {
    W = rows.matrix;
  }
  else
  {
    multiply(rows.matrix, basis_.leftCols(open_), W);
    left.noalias() -= rows.matrix * solution_;
  }
  if (by_size)
  {
    for (Eigen::Index i = 0; i < m; ++i)
    {
      W.row(i) /= rows.size(i);
      left(i) /= rows.size(i);
    }
  }
}

void LevelSolver::weigh(const Rows & rows) noexcept
{
  load(rows, false);
  if (rows.error_metric)
  {
    const Eigen::Index m = rows.right.size();
    weigh(*rows.error_metric, rows_.topLeftCorner(m, open_), right_.head(m));
  }
}

double LevelSolver::size_along(const Rows & rows, const ConstVectorRef & direction) noexcept
{
  const Eigen::Index m = rows.right.size();
  auto along = along_.head(m);
  along.noalias() = rows_.topLeftCorner(m, open_) * direction;
  if (!rows.error_metric)
  {
    along.array() /= rows.size.array();
  }
  return along.norm();
}

void LevelSolver::weigh(const Eigen::MatrixXd & metric, MatrixRef rows, VectorRef right) noexcept
  CD_NONBLOCKING
{
  // With M = V Λ Vᵀ errors count in the norm of M⁺: rows Λ^(−1/2) Vᵀ W, none where Λ is 0.
  const Eigen::Index m = rows.rows();
  row_metric_.setZero();
  row_metric_.topLeftCorner(m, m) = metric.topLeftCorner(m, m);
  row_eigen_.compute(row_metric_);
  const auto & values = row_eigen_.singularValues();
  const double largest = values(0);
  auto from = row_work_.topLeftCorner(m, rows.cols());
  from = rows;
  work_.head(m) = right;
  rows.setZero();
  right.setZero();
  Eigen::Index k = 0;
  for (Eigen::Index i = 0; i < values.size() && k < m; ++i)
  {
    if (values(i) > kRounding * largest && largest > 0.0)
    {
      const auto direction = row_eigen_.matrixU().col(i).head(m);
      const double scale = 1.0 / std::sqrt(values(i));
      rows.row(k).noalias() = scale * direction.transpose() * from;
      right(k) = scale * direction.dot(work_.head(m));
      ++k;
    }
  }
}

void LevelSolver::advance(const ConstVectorRef & x) noexcept
{
  if (is_identity_)
  {
    solution_ = x;
  }
  else
  {
    solution_.noalias() += basis_.leftCols(open_) * x;
  }
}

void LevelSolver::catch_up() noexcept
{
  const Eigen::Index left = open_ - used_;
  if (used_ > 0 && left > 0)
  {
    auto complement = root_.topLeftCorner(open_, left);
    complement.setZero();
    complement.bottomRows(left).setIdentity();
    range_.apply(complement);
    if (is_identity_)
    {
      basis_.leftCols(left) = complement;
    }
    else
    {
      multiply(basis_.leftCols(open_), complement, next_.leftCols(left));
      basis_.leftCols(left) = next_.leftCols(left);
    }
  }
  else if (is_identity_)
  {
    basis_.setIdentity();
  }
  is_identity_ = false;
  open_ = left;
  used_ = 0;
}

bool LevelSolver::solve_wide(const Rows & rows, double tolerance, Level & level) noexcept
{
  const Eigen::Index m = rows.right.size();
  load(rows, true);
  range_.matrix(open_, m) = rows_.topLeftCorner(m, open_).transpose();
  range_.factor(open_, m);
  const double largest = rows_.topLeftCorner(m, open_).norm();
  const double smallest = smallest_singular_value(range_, work_.head(m));
  if (!(smallest > kMargin * tolerance))
  {
    return false;
  }
  auto x = step_.head(open_);
  x.setZero();
  x.head(m) = right_.head(m);
  range_.divide_by_transpose(x.head(m));
  range_.apply(x);
  advance(x);
  used_ = m;
  level.rank = static_cast<int>(m);
  level.condition = largest / smallest;
  return true;
}

bool LevelSolver::solve_tall(const Rows & rows, double tolerance, Level & level) noexcept
{
  const Eigen::Index m = rows.right.size();
  weigh(rows);
  tall_.matrix(m, open_) = rows_.topLeftCorner(m, open_);
  tall_.factor(m, open_);
  const double largest = rows_.topLeftCorner(m, open_).norm();
  auto weakest = work_.head(open_);
  const double smallest = smallest_singular_value(tall_, weakest);
  weakest.normalize();
  if (!(smallest > kRounding * largest) || !(size_along(rows, weakest) > kMargin * tolerance))
  {
    return false;
  }
  tall_.apply_transpose(right_.head(m));
  auto x = step_.head(open_);
  x = right_.head(open_);
  tall_.divide(x);
  advance(x);
  level.rank = static_cast<int>(open_);
  level.condition = largest / smallest;
  used_ = open_;
  return true;
}

bool LevelSolver::solve_deficient(const Rows & rows, double tolerance, Level & level) noexcept
{
  // Wᵀ Π = U [R11 R12; 0 0], so W x = Π [R11 R12]ᵀ y with y = U1ᵀ x: least squares for y.
  const Eigen::Index m = rows.right.size();
  const Eigen::Index r = rows.nominal_rank;
  weigh(rows);
  const double largest = rows_.topLeftCorner(m, open_).norm();
  range_.matrix(open_, m) = rows_.topLeftCorner(m, open_).transpose();
  const double left = range_.factor_pivoted(open_, m, r, order_.head(m));
  if (!(left <= kRounding * largest))
  {
    return false;
  }
  auto triangle = tall_.matrix(m, r);
  const auto R = range_.matrix(open_, m);
  for (Eigen::Index j = 0; j < r; ++j)
  {
    for (Eigen::Index i = 0; i < m; ++i)
    {
      triangle(order_(i), j) = i >= j ? R(j, i) : 0.0;
    }
  }
  tall_.factor(m, r);
  const double smallest = smallest_singular_value(tall_, work_.head(r));
  auto weakest = step_.head(open_);
  weakest.setZero();
  weakest.head(r) = work_.head(r);
  weakest.normalize();
  range_.apply(weakest);
  if (!(smallest > kRounding * largest) || !(size_along(rows, weakest) > kMargin * tolerance))
  {
    return false;
  }
  tall_.apply_transpose(right_.head(m));
  auto x = step_.head(open_);
  x.setZero();
  x.head(r) = right_.head(r);
  tall_.divide(x.head(r));
  range_.apply(x);
  advance(x);
  used_ = r;
  level.rank = static_cast<int>(r);
  level.condition = largest / smallest;
  return true;
}

void LevelSolver::solve_any(const Rows & rows, double tolerance, Level & level) noexcept
{
  const Eigen::Index m = rows.right.size();
  weigh(rows);
  padded_.setZero();
  padded_.topLeftCorner(open_, m) = rows_.topLeftCorner(m, open_).transpose();
  svd_.compute(padded_);
  const auto & values = svd_.singularValues();
  const double largest = values.size() > 0 ? values(0) : 0.0;
  const Eigen::Index most = std::min(m, open_);
  auto x = step_.head(open_);
  x.setZero();
  // With s = ‖D W v‖/tolerance below 1 the inverse 1/σ is multiplied by s²/(s² + (1 − s²)/4): 1 at
  // s = 1, and σ times a bounded number at s = 0.
  Eigen::Index used = 0;
  double smallest = largest;
  for (Eigen::Index i = 0; i < most; ++i)
  {
    const double sigma = values(i);
    const auto direction = svd_.matrixU().col(i).head(open_);
    const bool expected = rows.nominal_rank < 0 || i < rows.nominal_rank;
    if (!(sigma > kRounding * largest) || !(largest > 0.0))
    {
      level.damped = level.damped || (expected && rows.nominal_rank >= 0);
      break;
    }
    const double size = size_along(rows, direction) / tolerance;
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
  advance(x);
  range_.matrix(open_, used) = svd_.matrixU().topLeftCorner(open_, used);
  range_.factor(open_, used);
  used_ = used;
  level.rank = static_cast<int>(used);
  level.condition = smallest > 0.0 ? largest / smallest : 1.0;
}

LevelSolver::Level LevelSolver::solve(const Rows & rows, double tolerance) noexcept CD_NONBLOCKING
{
  Level level;
  const Eigen::Index m = rows.right.size();
  if (used_ > 0)
  {
    catch_up();
  }
  if (m == 0 || open_ == 0)
  {
    level.damped = m > 0 && rows.nominal_rank > 0;
    return level;
  }
  const int nominal =
    rows.nominal_rank < 0 ? static_cast<int>(std::min(m, open_)) : rows.nominal_rank;
  const bool solved =
    (nominal == m && m <= open_ && solve_wide(rows, tolerance, level)) ||
    (nominal == open_ && open_ <= m && solve_tall(rows, tolerance, level)) ||
    (nominal > 0 && nominal < m && nominal < open_ && solve_deficient(rows, tolerance, level));
  if (!solved)
  {
    solve_any(rows, tolerance, level);
  }
  return level;
}

void LevelSolver::null_part(const ConstVectorRef & y, VectorRef out) noexcept CD_NONBLOCKING
{
  catch_up();
  const auto Z = basis_.leftCols(open_);
  auto x = step_.head(open_);
  if (metric_)
  {
    work_.head(unknowns_).noalias() = *metric_ * y;
    x.noalias() = Z.transpose() * work_.head(unknowns_);
  }
  else
  {
    x.noalias() = Z.transpose() * y;
  }
  out.noalias() = Z * x;
  if (free_ > 0)
  {
    auto f = work_.head(free_);
    f.noalias() = free_basis_.leftCols(free_).transpose() * y;
    out.noalias() += free_basis_.leftCols(free_) * f;
  }
}

}  // namespace constrained_dynamics
