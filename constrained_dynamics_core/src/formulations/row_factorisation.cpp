// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/formulations/row_factorisation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <Eigen/Householder>

#include "clones.hpp"
#include "formulations/columns.hpp"
#include "formulations/householder.hpp"
#include "formulations/multiplier_split.hpp"

namespace constrained_dynamics
{

namespace
{

/// H mixes rows, so that its round-off reaches speeds that a row does not contain, and rows that
/// are almost dependent multiply it by their condition. Above this condition K, β and λ are refined
/// once with the rows themselves; then each row is met but for round-off of its own terms.
constexpr double kRefinedCondition = 1e3;

/// sum += A_D x of the scaled rows A with their dependent columns first.
void add_rows(const Eigen::MatrixXd & scaled, const ConstVectorRef & x, VectorRef sum) noexcept
{
  columns::add_product(
    sum.data(), scaled.data(), scaled.outerStride(), x.data(), sum.size(), x.size());
}

/// K = −R11⁻¹ R12 (r × p) of the factor [R11 R12].
CD_CLONES void find_dependency(
  const Eigen::MatrixXd & factor, Eigen::Index r, Eigen::Index p, Eigen::MatrixXd & K) noexcept
{
  K.topLeftCorner(r, p) = -factor.block(0, r, r, p);
  for (Eigen::Index j = 0; j < p; ++j)
  {
    columns::divide_by_upper(factor.data(), factor.outerStride(), K.col(j).data(), r);
  }
}

}  // namespace

RowFactorisation::RowFactorisation(int speed_count, int max_row_count)
: factor_(Eigen::MatrixXd::Zero(max_row_count, speed_count)),
  scaled_(Eigen::MatrixXd::Zero(max_row_count, speed_count)),
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
  load(rows, factor_);
  if (!same_shape || !try_order(nominal_rank, options))
  {
    load(rows, factor_);
    pivot(nominal_rank, options);
    ++repartition_count_;
  }
  finish(options);
  if (condition_ > kRefinedCondition)
  {
    // K ← K − R11⁻¹ (Hᵀ (A_I + A_D K))_1, with the rows scaled.
    const Eigen::Index n = order_.size();
    auto missed = work_rows_.head(row_count_);
    load(rows, scaled_);
    for (Eigen::Index j = rank_; j < n; ++j)
    {
      auto K_j = dependency_.col(j - rank_).head(rank_);
      missed = scaled_.col(j).head(row_count_);
      add_rows(scaled_, K_j, missed);
      apply_transpose(missed);
      columns::divide_by_upper(factor_.data(), factor_.outerStride(), missed.data(), rank_);
      K_j -= missed.head(rank_);
    }
  }
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

void RowFactorisation::load(const ConstMatrixRef & rows, Eigen::MatrixXd & target) const noexcept
{
  for (Eigen::Index j = 0; j < order_.size(); ++j)
  {
    target.col(j).head(row_count_) = rows.col(order_(j)).cwiseProduct(scale_.head(row_count_));
  }
}

CD_CLONES void RowFactorisation::eliminate(Eigen::Index k) noexcept
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
    const double * column = factor_.col(j).data();
    largest_pivot_ = std::max(largest_pivot_, columns::dot(column, column, m));
  }
  largest_pivot_ = std::sqrt(largest_pivot_);
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
    const double * rest = factor_.col(j).data() + wanted;
    const double left = std::sqrt(columns::dot(rest, rest, m - wanted));
    if (!(left <= options.redundancy_tolerance * largest_pivot_))
    {
      return false;
    }
    left_ = std::max(left_, left);
  }
  left_ /= std::max(1.0, largest_pivot_);
  rank_ = wanted;
  find_dependency(factor_, rank_, n - rank_, dependency_);
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
  find_dependency(factor_, rank_, n - rank_, dependency_);
}

double RowFactorisation::largest_dependency() const noexcept
{
  const Eigen::Index p = order_.size() - rank_;
  return rank_ > 0 && p > 0 ? dependency_.topLeftCorner(rank_, p).cwiseAbs().maxCoeff() : 0.0;
}

CD_CLONES void RowFactorisation::finish(const RankOptions & options) noexcept
{
  const Eigen::Index m = row_count_;
  const Eigen::Index n = order_.size();
  const Eigen::Index r = rank_;

  // σ_min of R11 by inverse iteration on R11ᵀ R11; σ_max bounded by the Frobenius norm.
  condition_ = 1.0;
  near_singular_ = false;
  if (r > 0)
  {
    const Eigen::Index stride = factor_.outerStride();
    auto x = work_speeds_.head(r);
    x.setOnes();
    double inverse_square = 1.0;
    constexpr int kIterations = 4;
    for (int i = 0; i < kIterations; ++i)
    {
      x /= x.norm();
      columns::divide_by_upper_transpose(factor_.data(), stride, x.data(), r);
      inverse_square = x.squaredNorm();
      columns::divide_by_upper(factor_.data(), stride, x.data(), r);
    }
    double frobenius = 0.0;
    for (Eigen::Index j = 0; j < n; ++j)
    {
      const double * column = factor_.col(j).data();
      frobenius += columns::dot(column, column, std::min(j + 1, r));
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
  if (m > r)
  {
    auto Z = null_space_.block(0, 0, m, m - r);
    Z.setZero();
    Z.diagonal(-r).setOnes();
    for (Eigen::Index i = 0; i < m - r; ++i)
    {
      apply(Z.col(i));
      redundancy_.head(m) += Z.col(i).cwiseAbs2();
    }
    redundancy_.head(m) = redundancy_.head(m).cwiseSqrt();
  }
}

CD_CLONES void RowFactorisation::apply_transpose(VectorRef x) noexcept
{
  const Eigen::Index m = row_count_;
  for (Eigen::Index k = 0; k < rank_; ++k)
  {
    reflect(x.segment(k, m - k), factor_.col(k).segment(k + 1, m - k - 1), reflectors_(k));
  }
}

CD_CLONES void RowFactorisation::apply(VectorRef x) noexcept
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
  columns::divide_by_upper(factor_.data(), factor_.outerStride(), beta.data(), rank_);
  if (condition_ > kRefinedCondition)
  {
    // β ← β − R11⁻¹ (Hᵀ (A_D β − b))_1
    x = -bias.cwiseProduct(scale_.head(m));
    add_rows(scaled_, beta, x);
    apply_transpose(x);
    columns::divide_by_upper(factor_.data(), factor_.outerStride(), x.data(), rank_);
    beta -= x.head(rank_);
  }
}

CD_CLONES void RowFactorisation::multipliers(
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
  columns::divide_by_upper_transpose(factor_.data(), factor_.outerStride(), multipliers.data(), r);
  const bool by_range = m - r > r;
  const bool is_refined = condition_ > kRefinedCondition;
  if (by_range || is_refined)
  {
    work_null_.head(r) = multipliers.head(r);
  }
  multipliers.tail(m - r).setZero();
  apply(multipliers);
  if (is_refined)
  {
    // What S⁻¹ λ = H [μ; 0] misses of A_Dᵀ λ = f_D goes to it and to μ.
    auto missed = work_rows_.head(m);
    for (Eigen::Index k = 0; k < r; ++k)
    {
      const double * A_k = scaled_.col(k).data();
      missed(k) = force(order_(k)) - columns::dot(A_k, multipliers.data(), m);
    }
    columns::divide_by_upper_transpose(factor_.data(), factor_.outerStride(), missed.data(), r);
    work_null_.head(r) += missed.head(r);
    missed.tail(m - r).setZero();
    apply(missed);
    multipliers += missed;
  }
  multipliers.array() *= scale.array();
  if (m == r)
  {
    return;
  }
  auto gram = gram_.topLeftCorner(by_range ? r : m - r, by_range ? r : m - r);
  SplitWork work{gram, work_rows_.head(m), work_speeds_.head(m)};
  work.D = scale.cwiseProduct(weight).cwiseAbs2();
  if (!by_range)
  {
    split_by_null_space(
      null_space_.block(0, 0, m, m - r), scale, weight, work, work_null_.head(m - r), multipliers);
    return;
  }
  // The columns of null_space_ that are free take H1.
  auto H1 = null_space_.block(0, m - r, m, r);
  H1.setIdentity();
  for (Eigen::Index i = 0; i < r; ++i)
  {
    apply(H1.col(i));
  }
  split_by_range(H1, scale, weight, work, work_null_.head(r), multipliers);
}

}  // namespace constrained_dynamics
