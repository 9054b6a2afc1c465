// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <memory>
#include <string>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/dynamics/dynamics.hpp"
#include "constrained_dynamics/export.hpp"
#include "constrained_dynamics/status.hpp"
#include "constrained_dynamics/types.hpp"

namespace constrained_dynamics
{

/// Options of a MomentumObserver. Standard deviations are of independent noise in each sample;
/// empty: 0.
struct MomentumObserverOptions
{
  double gain = 50.0;            ///< K [1/s], > 0: the time constant of the estimate is 1/K
  Eigen::VectorXd speed_noise;   ///< of the measured speeds (n), ≥ 0
  Eigen::VectorXd effort_noise;  ///< of the efforts (l), ≥ 0
  Eigen::VectorXd model_noise;   ///< of constant errors of the model's forces P (n), ≥ 0
  /// Speeds with a sensor (n); the others were found from the constraints (StateCompletion), and
  /// their noise follows. Empty: all are measured.
  std::vector<bool> measured_speeds;
  /// Contact is reported above this multiple of the estimate's own standard deviation, > 0.
  double threshold = 5.0;
  /// Frames at which a wrench may act; the estimate is split among them where that is possible.
  std::vector<std::string> frames;
};

/// Estimates the external forces on a constrained robot from its motion and efforts, without
/// accelerations. In independent speeds the momentum A2 Q u changes by A2 (P + G τ + F_ext) and its
/// own velocity terms; multipliers do not appear, because A2 Aᵀ = 0. So only A2 F_ext can be
/// known: what passive constraints absorb is unobservable. Per sample of period h (E51):
///     f_k = ½ Σ_(i=k−1,k) A2_i (Q_i (u_k − u_(k−1))/h − P_i − G_i τ_k),
///     r_k = a r_(k−1) + (1 − a) f_k,   a = exp(−K h).
/// Summed by parts, r is the momentum observer: differences of speeds are not amplified by more
/// than K. It answers a step of F_ext as A2 F_ext (1 − exp(−K t)). Its covariance is
///     ((1 − a)/h)² 2/(1 + a) M Σ_u Mᵀ + (1 − a)/(1 + a) A2 G Σ_τ Gᵀ A2ᵀ + A2 Σ_P A2ᵀ,  M = A2 Q.
///
/// Allocates only in the constructor; use one per thread.
class CONSTRAINED_DYNAMICS_EXPORT MomentumObserver
{
public:
  /// @throw std::invalid_argument for null, options out of range, unknown frames, or a system with
  /// driven speeds.
  MomentumObserver(
    std::shared_ptr<const Dynamics> dynamics, const MomentumObserverOptions & options);
  ~MomentumObserver();
  MomentumObserver(MomentumObserver &&) noexcept;
  MomentumObserver & operator=(MomentumObserver &&) noexcept;

  /// Starts again with no force. Real-time safe: yes.
  void reset() noexcept CD_NONBLOCKING;

  /// Adds a sample: the measured, complete state of the workspace.
  /// @param workspace of the same Dynamics, e.g. that of a ForceObserver.
  /// @param period since the last sample [s], > 0. @param effort τ (l) of the model that acted
  /// since then (DriveConversion::net_effort).
  /// Statuses with output: kOk, kSingular. Without output: kNoState, kForeignWorkspace,
  /// kSizeMismatch, kNonFiniteInput (also for a period that is not positive), kNonFiniteResult,
  /// those of evaluation; then the next sample is a first one, and the estimate is kept.
  /// Real-time safe: yes.
  [[nodiscard]] Status update(
    double period, const ConstVectorRef & effort, Workspace & workspace) noexcept CD_NONBLOCKING;

  /// A2 F_ext (n): the force at the independent speeds, 0 at the others. It has the same power as
  /// F_ext in all motions that the constraints allow.
  const Eigen::VectorXd & force() const;
  /// Its noise (n × sources): covariance = noise · noiseᵀ, in the steady state.
  const Eigen::MatrixXd & noise() const;
  /// Its standard deviations (n).
  const Eigen::VectorXd & deviation() const;
  /// Which speeds are independent (n), 1 or 0: where `force` is not 0 by definition.
  const Eigen::VectorXi & independent() const;
  /// Whether one element exceeds the threshold times its standard deviation. Elements without
  /// stated noise are not tested.
  bool has_contact() const;

  /// Whether the force can be split among the frames: A2 J_fᵀ has full column rank.
  bool has_wrenches() const;
  /// Wrenches at the frames (6 each: force, torque about the frame's origin; world axes); those of
  /// the last sample that could be split.
  const Eigen::VectorXd & wrenches() const;
  /// Covariance of `wrenches`.
  const Eigen::MatrixXd & wrench_covariance() const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace constrained_dynamics
