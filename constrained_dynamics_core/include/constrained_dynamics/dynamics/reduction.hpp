// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <cstdint>
#include <memory>

#include <Eigen/Core>

#include "constrained_dynamics/export.hpp"
#include "constrained_dynamics/status.hpp"
#include "constrained_dynamics/types.hpp"

namespace constrained_dynamics
{

class Dynamics;
class Evaluation;
class KaneScratch;

/// Parts of a Reduction that are computed in addition to u̇_0 and Y.
struct ReductionParts
{
  bool effort = true;   ///< Reduction::effort_metric
  bool forces = false;  ///< λ_0, Λ and Reduction::multiplier_null_space
};

/// The constrained system at one state as a function of its inputs, from one factorisation of the
/// rows and of the reduced inertia A2 Q A2ᵀ (E4, E5):
///     u̇ = u̇_0 + Y τ,   Y = A2ᵀ (A2 Q A2ᵀ)⁻¹ A2 G,   λ = λ_0 + Λ τ.            (E24)
/// Filled by Dynamics::reduce. Only the constructor allocates; use one per thread. It also serves
/// another Dynamics of the same sizes. @throw std::invalid_argument for a MultiplierFormulation.
class CONSTRAINED_DYNAMICS_EXPORT Reduction
{
public:
  explicit Reduction(const Dynamics & dynamics);
  ~Reduction();
  Reduction(Reduction &&) noexcept;
  Reduction & operator=(Reduction &&) noexcept;

  const Eigen::VectorXd & free_acceleration() const { return free_acceleration_; }  ///< u̇_0 (n)
  const Eigen::MatrixXd & input_response() const { return input_response_; }        ///< Y (n × l)
  /// λ_0, Λ and the null space for all rows of the set, with 0 for rows of inactive constraints.
  /// Valid only if ReductionParts::forces was requested.
  const Eigen::VectorXd & free_multipliers() const { return free_multipliers_; }  ///< λ_0 (m)
  const Eigen::MatrixXd & multiplier_response() const
  {
    return multiplier_response_;
  }  ///< Λ (m × l)
  /// Multipliers of redundant rows that produce no force (m × k): λ is determined only up to these.
  Eigen::Block<const Eigen::MatrixXd> multiplier_null_space() const
  {
    return multiplier_null_space_.block(0, 0, multiplier_null_space_.rows(), null_count_);
  }
  /// H = Yᵀ Q Y (l × l): τᵀ H τ is the contribution of the inputs to Gauss' function. Without
  /// driven speeds, H = Gᵀ A2ᵀ (A2 Q A2ᵀ)⁻¹ A2 G.
  const Eigen::MatrixXd & effort_metric() const { return effort_metric_; }
  /// Computes the accelerations (n × k) caused by generalized forces f (n × k): A2ᵀ (A2 Q A2ᵀ)⁻¹ A2
  /// f. Real-time safe: yes.
  void respond(const ConstMatrixRef & forces, MatrixRef accelerations) noexcept CD_NONBLOCKING;
  /// Rank status of the passive rows: kOk or kSingular.
  Status rank_status() const { return rank_status_; }

private:
  friend class Dynamics;

  Status reduce(Evaluation & evaluation, ReductionParts parts) noexcept CD_NONBLOCKING;
  Status add_forces(const Evaluation & evaluation) noexcept CD_NONBLOCKING;
  void respond_driven(const Evaluation & evaluation) noexcept CD_NONBLOCKING;
  void find_forces(const Evaluation & evaluation) noexcept CD_NONBLOCKING;
  Status solve(const ConstVectorRef & inputs, Evaluation & evaluation) noexcept CD_NONBLOCKING;

  std::unique_ptr<KaneScratch> kane_;
  Eigen::VectorXd free_acceleration_;
  Eigen::MatrixXd input_response_;
  Eigen::VectorXd free_multipliers_;
  Eigen::MatrixXd multiplier_response_;
  Eigen::MatrixXd multiplier_null_space_;
  int null_count_ = 0;
  Eigen::MatrixXd effort_metric_;
  Eigen::VectorXd column_;
  Eigen::VectorXd row_column_;
  Status rank_status_ = Status::kOk;
  const Evaluation * of_ = nullptr;  // whose state it is of
  std::uint64_t stamp_ = 0;
};

}  // namespace constrained_dynamics
