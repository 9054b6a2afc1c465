// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "servo/linear_estimate.hpp"

#include "is_finite.hpp"

namespace constrained_dynamics
{

LinearEstimate::LinearEstimate(int measurement_count, int unknown_count, int source_count)
: matrix(Eigen::MatrixXd::Zero(measurement_count, unknown_count)),
  noise(Eigen::MatrixXd::Zero(measurement_count, source_count)),
  measurements(Eigen::VectorXd::Zero(measurement_count)),
  sizes(Eigen::VectorXd::Ones(unknown_count)),
  factorisation_(measurement_count, unknown_count),
  range_(measurement_count + unknown_count, unknown_count),
  transposed_(Eigen::MatrixXd::Zero(unknown_count, measurement_count)),
  null_space_(Eigen::MatrixXd::Zero(unknown_count, unknown_count)),
  scale_(Eigen::VectorXd::Ones(unknown_count)),
  weight_(Eigen::VectorXd::Ones(measurement_count)),
  work_(Eigen::VectorXd::Zero(measurement_count + unknown_count)),
  unknown_(Eigen::VectorXd::Zero(unknown_count)),
  estimate_(Eigen::VectorXd::Zero(unknown_count)),
  response_(Eigen::MatrixXd::Zero(unknown_count, source_count)),
  next_estimate_(estimate_),
  next_response_(response_)
{
}

void LinearEstimate::apply(const ConstVectorRef & column, VectorRef out) noexcept CD_NONBLOCKING
{
  const Eigen::Index m = weight_.size();
  auto right = work_.head(row_count_);
  right.setZero();
  right.head(m) = weight_.cwiseProduct(column);
  range_.apply_transpose(right);
  unknown_ = right.head(unknown_.size());
  range_.divide(unknown_);
  out = scale_.cwiseProduct(unknown_);
}

Status LinearEstimate::solve(int nominal_rank, const RankOptions & options) noexcept CD_NONBLOCKING
{
  const Eigen::Index m = matrix.rows();
  const Eigen::Index n = matrix.cols();
  if (!is_finite(noise) || !measurements.allFinite() || !sizes.allFinite())
  {
    return Status::kNonFiniteInput;
  }
  for (Eigen::Index i = 0; i < n; ++i)
  {
    scale_(i) = sizes(i) > 0.0 ? 1.0 / sizes(i) : 1.0;
  }
  transposed_ = matrix.transpose();
  const Status status = factorisation_.factor(transposed_, scale_, nominal_rank, options);
  if (!has_output(status))
  {
    return status;
  }
  // Exact measurements count as far more precise than any other, not as infinitely precise.
  constexpr double kMostPrecise = 1e-6;
  double largest = 0.0;
  for (Eigen::Index i = 0; i < m; ++i)
  {
    weight_(i) = noise.row(i).norm();
    largest = weight_(i) > largest ? weight_(i) : largest;
  }
  for (Eigen::Index i = 0; i < m; ++i)
  {
    const double least = kMostPrecise * largest;
    weight_(i) = largest > 0.0 ? largest / (weight_(i) > least ? weight_(i) : least) : 1.0;
  }
  // [W H S (I − Z Zᵀ); Zᵀ] has full column rank, and its least-squares solution has no part in Z.
  const Eigen::Index k = n - factorisation_.rank();
  row_count_ = m + k;
  auto stacked = range_.matrix(row_count_, n);
  stacked.topRows(m) = matrix;
  for (Eigen::Index j = 0; j < n; ++j)
  {
    stacked.col(j).head(m) *= scale_(j);
  }
  for (Eigen::Index i = 0; i < k; ++i)
  {
    auto z = null_space_.col(i);
    factorisation_.multiplier_null_vector(static_cast<int>(i), z);
    z = z.cwiseQuotient(scale_);
    auto along = work_.head(m);
    along.noalias() = stacked.topRows(m) * z;
    for (Eigen::Index j = 0; j < n; ++j)
    {
      stacked.col(j).head(m) -= z(j) * along;
    }
    stacked.row(m + i) = z.transpose();
  }
  for (Eigen::Index j = 0; j < n; ++j)
  {
    stacked.col(j).head(m).array() *= weight_.array();
  }
  range_.factor(row_count_, n);
  apply(measurements, next_estimate_);
  for (Eigen::Index j = 0; j < noise.cols(); ++j)
  {
    apply(noise.col(j), next_response_.col(j));
  }
  if (!next_estimate_.allFinite() || !is_finite(next_response_))
  {
    return Status::kNonFiniteResult;
  }
  estimate_ = next_estimate_;
  response_ = next_response_;
  return status;
}

}  // namespace constrained_dynamics
