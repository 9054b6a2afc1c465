// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/formulations/row_factorisation.hpp"

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

/// Solves (Bᵀ diag(D) B) y = residual, y(i) by y(i), and hands y over to `apply`. Does nothing
/// where the matrix is not positive definite. `gram` has its size.
template <typename Basis, typename Residual, typename Apply>
void split(
  const Basis & basis, const ConstVectorRef & D, MatrixRef gram, VectorRef y,
  const Residual & residual, const Apply & apply) noexcept
{
  // Rows of very different sizes make the equations ill-conditioned: solved once more, they lose
  // nothing.
  constexpr int kPasses = 2;
  const Eigen::Index m = basis.rows();
  const Eigen::Index k = basis.cols();
  for (Eigen::Index i = 0; i < k; ++i)
  {
    for (Eigen::Index j = 0; j <= i; ++j)
    {
      double sum = 0.0;
      for (Eigen::Index row = 0; row < m; ++row)
      {
        sum += D(row) * basis(row, i) * basis(row, j);
      }
      gram(i, j) = sum;
      gram(j, i) = sum;
    }
  }
  const Eigen::LLT<MatrixRef> cholesky(gram);
  if (cholesky.info() != Eigen::Success)
  {
    return;
  }
  for (int pass = 0; pass < kPasses; ++pass)
  {
    for (Eigen::Index i = 0; i < k; ++i)
    {
      y(i) = residual(i);
    }
    cholesky.solveInPlace(y);
    for (Eigen::Index i = 0; i < k; ++i)
    {
      apply(i, y(i));
    }
  }
}

}  // namespace

RowFactorisation::RowFactorisation(int speed_count, int max_row_count)
: factor_(Eigen::MatrixXd::Zero(max_row_count, speed_count)),
  reflectors_(Eigen::VectorXd::Zero(std::min(max_row_count, speed_count))),
  scale_(Eigen::VectorXd::Ones(max_row_count)),
  order_(Eigen::VectorXi::LinSpaced(speed_count, 0, speed_count - 1)),
  dependency_(Eigen::MatrixXd::Zero(std::min(max_row_count, speed_count), speed_count)),
  null_space_(Eigen::MatrixXd::Zero(max_row_count, max_row_count)),
  gram_(Eigen::MatrixXd::Zero(max_row_count, max_row_count)),
  redundancy_(Eigen::VectorXd::Zero(max_row_count)),
  work_rows_(Eigen::VectorXd::Zero(max_row_count)),
  work_speeds_(Eigen::VectorXd::Zero(std::max(speed_count, max_row_count))),
  work_null_(Eigen::VectorXd::Zero(max_row_count))
{
}

Status RowFactorisation::factor(
  const ConstMatrixRef & rows, const ConstVectorRef & row_scale, int nominal_rank,
  const RankOptions & options) noexcept CD_NONBLOCKING
{
  if (
    rows.cols() != order_.size() || rows.rows() > factor_.rows() || row_scale.size() != rows.rows())
  {
    return Status::kSizeMismatch;
  }
  // 0 times a finite number is 0; allFinite would be several times slower.
  if (!((rows.array() * 0.0).sum() == 0.0) || !row_scale.allFinite())
  {
    return Status::kNonFiniteInput;
  }
  row_count_ = static_cast<int>(rows.rows());
  scale_.head(row_count_) = row_scale;

  const bool same_shape =
    partition_rank_ >= 0 && (partition_rows_ == row_count_ || partition_rows_ == kAnyRowCount);
  load(rows);
  if (!same_shape || !try_order(nominal_rank, options))
  {
    load(rows);
    pivot(nominal_rank, options);
    ++repartition_count_;
  }
  finish(options);
  partition_rank_ = rank_;
  partition_rows_ = row_count_;
  const bool lost = nominal_rank == kUnknownRank ? left_ > kRowRounding : rank_ < nominal_rank;
  return lost || near_singular_ ? Status::kSingular : Status::kOk;
}

void RowFactorisation::select_partition(const std::vector<int> & independent_speeds)
{
  const int n = static_cast<int>(order_.size());
  const int count = static_cast<int>(independent_speeds.size());
  int dependent = 0;
  for (int speed = 0; speed < n; ++speed)
  {
    const auto end = independent_speeds.end();
    if (std::find(independent_speeds.begin(), end, speed) == end)
    {
      order_(dependent++) = speed;
    }
  }
  for (int i = 0; i < count; ++i)
  {
    order_(n - count + i) = independent_speeds[static_cast<std::size_t>(i)];
  }
  partition_rank_ = n - count;
  partition_rows_ = kAnyRowCount;
}

void RowFactorisation::load(const ConstMatrixRef & rows) noexcept
{
  for (Eigen::Index j = 0; j < order_.size(); ++j)
  {
    factor_.col(j).head(row_count_) = rows.col(order_(j)).cwiseProduct(scale_.head(row_count_));
  }
}

void RowFactorisation::eliminate(Eigen::Index k) noexcept
{
  const Eigen::Index m = row_count_;
  const Eigen::Index n = order_.size();
  double diagonal = 0.0;
  factor_.col(k).segment(k, m - k).makeHouseholderInPlace(reflectors_(k), diagonal);
  factor_(k, k) = diagonal;
  if (k + 1 < n)
  {
    reflect(
      factor_.block(k, k + 1, m - k, n - k - 1), factor_.col(k).segment(k + 1, m - k - 1),
      reflectors_(k));
  }
}

bool RowFactorisation::try_order(int nominal_rank, const RankOptions & options) noexcept
{
  // A pivot that small would be reached by pivoting only close to a singular position.
  constexpr double kSmallestPivot = 1e-3;
  const Eigen::Index m = row_count_;
  const Eigen::Index n = order_.size();
  const int wanted = partition_rank_;
  if (wanted != nominal_rank || wanted > m)
  {
    return false;
  }
  largest_pivot_ = 0.0;
  for (Eigen::Index j = 0; j < n; ++j)
  {
    largest_pivot_ = std::max(largest_pivot_, factor_.col(j).head(m).norm());
  }
  const double smallest = std::max(kSmallestPivot * largest_pivot_, options.singular_tolerance);
  for (Eigen::Index k = 0; k < wanted; ++k)
  {
    eliminate(k);
    if (!(std::abs(factor_(k, k)) >= smallest))
    {
      return false;
    }
  }
  left_ = 0.0;
  for (Eigen::Index j = wanted; j < n && wanted < m; ++j)
  {
    const double left = factor_.col(j).segment(wanted, m - wanted).norm();
    if (!(left <= options.redundancy_tolerance * largest_pivot_))
    {
      return false;
    }
    left_ = std::max(left_, left);
  }
  left_ /= std::max(1.0, largest_pivot_);
  rank_ = wanted;
  dependency_.topLeftCorner(rank_, n - rank_) = -factor_.block(0, rank_, rank_, n - rank_);
  factor_.topLeftCorner(rank_, rank_)
    .triangularView<Eigen::Upper>()
    .solveInPlace(dependency_.topLeftCorner(rank_, n - rank_));
  return largest_dependency() <= options.partition_limit;
}

void RowFactorisation::pivot(int nominal_rank, const RankOptions & options) noexcept
{
  const Eigen::Index m = row_count_;
  const Eigen::Index n = order_.size();
  const Eigen::Index most = std::min(m, n);
  rank_ = 0;
  largest_pivot_ = 0.0;
  left_ = 0.0;
  double reference = 1.0;  // what scaled rows could have, or what several of them have together
  for (Eigen::Index k = 0; k < most; ++k)
  {
    const auto [offset, square] = longest_column(factor_.block(k, k, m - k, n - k));
    const Eigen::Index best = k + offset;
    const double best_norm = std::sqrt(square);
    if (k == 0)
    {
      largest_pivot_ = best_norm;
      reference = std::max(reference, best_norm);
    }
    const bool expected = k < nominal_rank || nominal_rank == kUnknownRank;
    const double tolerance = expected ? options.singular_tolerance : options.redundancy_tolerance;
    if (!(best_norm > tolerance * reference))
    {
      left_ = best_norm / reference;
      break;
    }
    if (best != k)
    {
      std::swap(order_(k), order_(best));
      factor_.col(k).head(m).swap(factor_.col(best).head(m));
    }
    eliminate(k);
    ++rank_;
  }
  dependency_.topLeftCorner(rank_, n - rank_) = -factor_.block(0, rank_, rank_, n - rank_);
  factor_.topLeftCorner(rank_, rank_)
    .triangularView<Eigen::Upper>()
    .solveInPlace(dependency_.topLeftCorner(rank_, n - rank_));
}

double RowFactorisation::largest_dependency() const noexcept
{
  const Eigen::Index p = order_.size() - rank_;
  return rank_ > 0 && p > 0 ? dependency_.topLeftCorner(rank_, p).cwiseAbs().maxCoeff() : 0.0;
}

void RowFactorisation::finish(const RankOptions & options) noexcept
{
  const Eigen::Index m = row_count_;
  const Eigen::Index n = order_.size();
  const Eigen::Index r = rank_;

  // σ_min of R11 by inverse iteration on R11ᵀ R11; σ_max bounded by the Frobenius norm.
  condition_ = 1.0;
  near_singular_ = false;
  if (r > 0)
  {
    auto r11 = factor_.topLeftCorner(r, r).triangularView<Eigen::Upper>();
    auto x = work_speeds_.head(r);
    x.setOnes();
    double inverse_square = 1.0;
    constexpr int kIterations = 4;
    for (int i = 0; i < kIterations; ++i)
    {
      x /= x.norm();
      r11.transpose().solveInPlace(x);
      inverse_square = x.squaredNorm();
      r11.solveInPlace(x);
    }
    double frobenius = 0.0;
    for (Eigen::Index j = 0; j < n; ++j)
    {
      frobenius += factor_.col(j).head(std::min(j + 1, r)).squaredNorm();
    }
    condition_ = std::sqrt(frobenius * inverse_square);
    if (!std::isfinite(condition_))
    {
      condition_ = std::numeric_limits<double>::max();
    }
    const double largest = std::max(std::sqrt(frobenius), 1.0);
    near_singular_ = !(largest * std::sqrt(inverse_square) * options.singular_tolerance <= 1.0);
  }

  redundancy_.head(m).setZero();
  for (Eigen::Index i = 0; i < m - r; ++i)
  {
    auto z = null_space_.col(i).head(m);
    z.setZero();
    z(r + i) = 1.0;
    apply(z);
    redundancy_.head(m) += z.cwiseAbs2();
  }
  redundancy_.head(m) = redundancy_.head(m).cwiseSqrt();
}

void RowFactorisation::apply_transpose(VectorRef x) noexcept
{
  const Eigen::Index m = row_count_;
  for (Eigen::Index k = 0; k < rank_; ++k)
  {
    reflect(x.segment(k, m - k), factor_.col(k).segment(k + 1, m - k - 1), reflectors_(k));
  }
}

void RowFactorisation::apply(VectorRef x) noexcept
{
  const Eigen::Index m = row_count_;
  for (Eigen::Index k = rank_ - 1; k >= 0; --k)
  {
    reflect(x.segment(k, m - k), factor_.col(k).segment(k + 1, m - k - 1), reflectors_(k));
  }
}

void RowFactorisation::particular(const ConstVectorRef & bias, VectorRef beta) noexcept
  CD_NONBLOCKING
{
  const Eigen::Index m = row_count_;
  auto x = work_rows_.head(m);
  x = bias.cwiseProduct(scale_.head(m));
  apply_transpose(x);
  beta = x.head(rank_);
  factor_.topLeftCorner(rank_, rank_).triangularView<Eigen::Upper>().solveInPlace(beta);
}

void RowFactorisation::multipliers(
  const ConstVectorRef & force, const ConstVectorRef & weight,
  VectorRef multipliers) noexcept CD_NONBLOCKING
{
  const Eigen::Index m = row_count_;
  const Eigen::Index r = rank_;
  const auto scale = scale_.head(m);
  // R11ᵀ μ = f_D,  λ = S H [μ; 0]: one solution of Aᵀ λ = f. It stays where weights are beyond the
  // range of doubles.
  for (Eigen::Index k = 0; k < r; ++k)
  {
    multipliers(k) = force(order_(k));
  }
  auto dependent = multipliers.head(r);
  factor_.topLeftCorner(r, r).triangularView<Eigen::Upper>().transpose().solveInPlace(dependent);
  const bool by_range = m - r > r;
  if (by_range)
  {
    work_null_.head(r) = dependent;
  }
  multipliers.tail(m - r).setZero();
  apply(multipliers);
  multipliers.array() *= scale.array();
  if (m == r)
  {
    return;
  }
  if (!by_range)
  {
    // Among all solutions λ + Z y, Z = S H2, the one with the least ‖W λ‖.
    const auto H2 = null_space_.block(0, 0, m, m - r);
    work_rows_.head(m) = scale.cwiseProduct(weight).cwiseAbs2();
    split(
      H2, work_rows_.head(m), gram_.topLeftCorner(m - r, m - r), work_null_.head(m - r),
      [&](Eigen::Index i)
      {
        double sum = 0.0;
        for (Eigen::Index row = 0; row < m; ++row)
        {
          sum += scale_(row) * weight(row) * weight(row) * H2(row, i) * multipliers(row);
        }
        return sum;
      },
      [&](Eigen::Index i, double y)
      { multipliers.array() -= y * scale.array() * H2.col(i).array(); });
    return;
  }
  // Fewer directions than redundant rows: the least ‖W λ‖ with H1ᵀ S⁻¹ λ = μ is
  // λ = W⁻² S⁻¹ H1 y, (H1ᵀ S⁻² W⁻² H1) y = μ. The columns of null_space_ that are free take H1.
  auto H1 = null_space_.block(0, m - r, m, r);
  H1.setZero();
  for (Eigen::Index i = 0; i < r; ++i)
  {
    H1(i, i) = 1.0;
    apply(H1.col(i));
  }
  work_rows_.head(m) = scale.cwiseProduct(weight).cwiseAbs2().cwiseInverse();
  bool is_first = true;
  split(
    H1, work_rows_.head(m), gram_.topLeftCorner(r, r), work_speeds_.head(r),
    [&](Eigen::Index i)
    {
      double left = work_null_(i);  // μ
      for (Eigen::Index row = 0; row < m && !is_first; ++row)
      {
        left -= H1(row, i) * multipliers(row) / scale_(row);
      }
      return left;
    },
    [&](Eigen::Index i, double y)
    {
      if (is_first)
      {
        multipliers.setZero();
        is_first = false;
      }
      multipliers.array() += y * H1.col(i).array() / (scale.array() * weight.array().square());
    });
}

}  // namespace constrained_dynamics
