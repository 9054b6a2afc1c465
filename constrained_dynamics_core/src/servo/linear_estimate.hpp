// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/formulations/row_factorisation.hpp"
#include "constrained_dynamics/status.hpp"
#include "formulations/dense_factors.hpp"

namespace constrained_dynamics
{

/// Least-squares estimate of x from y = H x + N ε, where the elements of ε are independent with
/// variance 1: which components of x are observable, their values and their covariance (E52).
///
/// Component i is observable iff e_i lies in the range of Hᵀ. The rank of Hᵀ is decided as that of
/// constraint rows: against the size that each of its rows could have. Measurements are weighted
/// with 1 over their own standard deviation. Only the constructor allocates.
class LinearEstimate
{
public:
  LinearEstimate(int measurement_count, int unknown_count, int source_count);

  // To be filled before `solve`.
  Eigen::MatrixXd matrix;        ///< H
  Eigen::MatrixXd noise;         ///< N
  Eigen::VectorXd measurements;  ///< y
  Eigen::VectorXd sizes;         ///< that the columns of H could have, ≥ 0

  /// @param nominal_rank of H, or RowFactorisation::kUnknownRank.
  /// Statuses with output: kOk, kSingular (the rank is below the nominal one). Without output:
  /// kNonFiniteInput, kNonFiniteResult. Real-time safe: yes.
  [[nodiscard]] Status solve(int nominal_rank, const RankOptions & options) noexcept CD_NONBLOCKING;

  int rank() const { return factorisation_.rank(); }
  /// Whether component i was observable in the last `solve`.
  bool is_observable(Eigen::Index i) const
  {
    return factorisation_.redundancy(static_cast<int>(i)) < kObservable;
  }
  /// x, with unobservable parts 0.
  const Eigen::VectorXd & estimate() const { return estimate_; }
  /// L N with the estimator x = L y: the covariance is L N (L N)ᵀ.
  const Eigen::MatrixXd & response() const { return response_; }

  /// A component whose unit vector has at most this part in the null space of H is observable: well
  /// above the round-off in the basis of the null space, well below what a real motion of the null
  /// space has.
  static constexpr double kObservable = 1e-6;

private:
  /// column ← L column.
  void apply(const ConstVectorRef & column, VectorRef out) noexcept CD_NONBLOCKING;

  RowFactorisation factorisation_;
  RangeFactorisation range_;
  Eigen::MatrixXd transposed_;
  Eigen::MatrixXd null_space_;
  Eigen::VectorXd scale_;
  Eigen::VectorXd weight_;
  Eigen::VectorXd work_;
  Eigen::VectorXd unknown_;
  Eigen::VectorXd estimate_;
  Eigen::MatrixXd response_;
  Eigen::VectorXd next_estimate_;
  Eigen::MatrixXd next_response_;
  Eigen::Index row_count_ = 0;
};

}  // namespace constrained_dynamics
