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
  metric_eigen_(unknown_count),
  rows_(Eigen::MatrixXd::Zero(max_row_count, unknown_count)),
  right_(Eigen::VectorXd::Zero(max_row_count)),
  step_(Eigen::VectorXd::Zero(std::max(unknown_count, max_row_count))),
  work_(Eigen::VectorXd::Zero(std::max(unknown_count, max_row_count))),
  next_(Eigen::MatrixXd::Zero(unknown_count, unknown_count)),
  range_(unknown_count, unknown_count),
  tall_(max_row_count, unknown_count),
  padded_(Eigen::MatrixXd::Zero(unknown_count, max_row_count)),
  svd_(unknown_count, max_row_count, Eigen::ComputeThinU | Eigen::ComputeThinV),
  row_metric_(Eigen::MatrixXd::Zero(max_row_count, max_row_count)),
  row_work_(Eigen::MatrixXd::Zero(max_row_count, std::max(unknown_count, 1))),
  row_eigen_(max_row_count)
{
}

void LevelSolver::begin(const Eigen::MatrixXd * metric) noexcept CD_NONBLOCKING
{
  solution_.setZero();
  metric_ = metric;
  open_ = unknowns_;
  free_ = 0;
  basis_.setIdentity();
  if (!metric || unknowns_ == 0)
  {
    return;
  }
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
  const Eigen::VectorXd & values = metric_eigen_.eigenvalues();
  const double largest = values.cwiseAbs().maxCoeff();
  open_ = 0;
  for (Eigen::Index i = 0; i < unknowns_; ++i)
  {
    if (values(i) > kRounding * largest && largest > 0.0)
    {
      basis_.col(open_++) = metric_eigen_.eigenvectors().col(i) / std::sqrt(values(i));
    }
    else
    {
      free_basis_.col(free_++) = metric_eigen_.eigenvectors().col(i);
    }
  }
}

void LevelSolver::load(const Rows & rows, bool by_size) noexcept
{
  const Eigen::Index m = rows.right.size();
  auto W = rows_.topLeftCorner(m, open_);
  auto left = right_.head(m);
  W.noalias() = rows.matrix * basis_.leftCols(open_);
  left = rows.right;
  left.noalias() -= rows.matrix * solution_;
  if (by_size)
  {
    for (Eigen::Index i = 0; i < m; ++i)
    {
      W.row(i) /= rows.size(i);
      left(i) /= rows.size(i);
    }
  }
}

void LevelSolver::whiten(const Eigen::MatrixXd & metric, Eigen::Index m) noexcept
{
  // With M = V Λ Vᵀ errors count in the norm of M⁺: rows Λ^(−1/2) Vᵀ W, none where Λ is 0.
  row_metric_.setZero();
  row_metric_.topLeftCorner(m, m) = metric.topLeftCorner(m, m);
  row_eigen_.compute(row_metric_);
  const Eigen::VectorXd & values = row_eigen_.eigenvalues();
  const double largest = values.cwiseAbs().maxCoeff();
  auto W = rows_.topLeftCorner(m, open_);
  auto left = right_.head(m);
  auto from = row_work_.topLeftCorner(m, open_);
  from = W;
  work_.head(m) = left;
  W.setZero();
  left.setZero();
  Eigen::Index k = 0;
  for (Eigen::Index i = 0; i < values.size() && k < m; ++i)
  {
    if (values(i) > kRounding * largest && largest > 0.0)
    {
      const auto direction = row_eigen_.eigenvectors().col(i).head(m);
      const double scale = 1.0 / std::sqrt(values(i));
      W.row(k).noalias() = scale * direction.transpose() * from;
      left(k) = scale * direction.dot(work_.head(m));
      ++k;
    }
  }
}

void LevelSolver::advance(const ConstVectorRef & x) noexcept
{
  solution_.noalias() += basis_.leftCols(open_) * x;
}

void LevelSolver::shrink(Eigen::Index used) noexcept
{
  const Eigen::Index left = open_ - used;
  if (left > 0)
  {
    auto complement = root_.topLeftCorner(open_, left);
    complement.setZero();
    complement.bottomRows(left).setIdentity();
    range_.apply(complement);
    next_.leftCols(left).noalias() = basis_.leftCols(open_) * complement;
    basis_.leftCols(left) = next_.leftCols(left);
  }
  open_ = left;
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
  shrink(m);
  level.rank = static_cast<int>(m);
  level.condition = largest / smallest;
  return true;
}

bool LevelSolver::solve_tall(const Rows & rows, double tolerance, Level & level) noexcept
{
  const Eigen::Index m = rows.right.size();
  load(rows, false);
  if (rows.error_metric)
  {
    whiten(*rows.error_metric, m);
  }
  tall_.matrix(m, open_) = rows_.topLeftCorner(m, open_);
  tall_.factor(m, open_);
  const double largest = rows_.topLeftCorner(m, open_).norm();
  const double smallest = smallest_singular_value(tall_, work_.head(open_));
  const double unit = rows.error_metric ? 1.0 : rows.size.maxCoeff();
  if (!(smallest > kMargin * tolerance * unit))
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
  open_ = 0;
  return true;
}

void LevelSolver::solve_any(const Rows & rows, double tolerance, Level & level) noexcept
{
  const Eigen::Index m = rows.right.size();
  const bool by_size = rows.nominal_rank >= m;
  load(rows, by_size);
  double unit = by_size ? 1.0 : rows.size.maxCoeff();
  if (!by_size && rows.error_metric)
  {
    whiten(*rows.error_metric, m);
    unit = 1.0;
  }
  padded_.setZero();
  padded_.topLeftCorner(open_, m) = rows_.topLeftCorner(m, open_).transpose();
  svd_.compute(padded_);
  const auto & values = svd_.singularValues();
  const double largest = values.size() > 0 ? values(0) : 0.0;
  const Eigen::Index most = std::min(m, open_);
  auto x = step_.head(open_);
  x.setZero();
  // Below ε = tolerance · unit the inverse 1/σ becomes σ/(σ² + δ²), δ² = (1 − (σ/ε)²) ε²/4: equal
  // at ε, bounded by about 1/ε, 0 at σ = 0.
  const double edge = tolerance * unit;
  Eigen::Index used = 0;
  double smallest = largest;
  for (Eigen::Index i = 0; i < most; ++i)
  {
    const double sigma = values(i);
    const bool expected =
      i < rows.nominal_rank || (rows.nominal_rank < 0 && sigma > kRounding * largest);
    if (!expected && !(sigma >= edge))
    {
      break;
    }
    if (!(sigma > kRounding * largest) || !(largest > 0.0))
    {
      level.damped = level.damped || expected;
      break;
    }
    double inverse = 1.0 / sigma;
    if (sigma < edge)
    {
      const double ratio = sigma / edge;
      inverse = sigma / (sigma * sigma + (1.0 - ratio * ratio) * 0.25 * edge * edge);
      level.damped = true;
    }
    const double along = svd_.matrixV().col(i).head(m).dot(right_.head(m));
    x += inverse * along * svd_.matrixU().col(i).head(open_);
    smallest = sigma;
    ++used;
  }
  advance(x);
  range_.matrix(open_, used) = svd_.matrixU().topLeftCorner(open_, used);
  range_.factor(open_, used);
  shrink(used);
  level.rank = static_cast<int>(used);
  level.condition = smallest > 0.0 ? largest / smallest : 1.0;
}

LevelSolver::Level LevelSolver::solve(const Rows & rows, double tolerance) noexcept CD_NONBLOCKING
{
  Level level;
  const Eigen::Index m = rows.right.size();
  if (m == 0 || open_ == 0)
  {
    level.damped = m > 0 && rows.nominal_rank > 0;
    return level;
  }
  const int nominal =
    rows.nominal_rank < 0 ? static_cast<int>(std::min(m, open_)) : rows.nominal_rank;
  const bool solved = (nominal == m && m <= open_ && solve_wide(rows, tolerance, level)) ||
                      (nominal == open_ && open_ <= m && solve_tall(rows, tolerance, level));
  if (!solved)
  {
    solve_any(rows, tolerance, level);
  }
  return level;
}

void LevelSolver::null_part(const ConstVectorRef & y, VectorRef out) noexcept CD_NONBLOCKING
{
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
