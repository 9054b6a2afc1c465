// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <memory>
#include <string>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/dynamics/dynamics.hpp"
#include "constrained_dynamics/export.hpp"
#include "constrained_dynamics/servo/momentum_observer.hpp"
#include "constrained_dynamics/status.hpp"
#include "constrained_dynamics/types.hpp"

namespace constrained_dynamics
{

/// A force/torque sensor between a link and what is fixed to the link beyond it. It reads the
/// wrench that the constraints and the declared frames of this link exert, about the origin of its
/// frame and in axes of the frame, after the weight and inertia of the tool and the offset were
/// taken out.
struct WrenchSensor
{
  std::string name;
  std::string frame;
  double force_noise = 0.0;   ///< standard deviation of each force [N], ≥ 0
  double torque_noise = 0.0;  ///< standard deviation of each torque [N m], ≥ 0
};

/// What is measured, and how well. Standard deviations; empty: 0.
struct ForceCertificateOptions
{
  /// Inputs whose efforts are measured (l); empty: all.
  std::vector<bool> measured_efforts;
  Eigen::VectorXd effort_noise;  ///< of the measured efforts (l), ≥ 0
  Eigen::VectorXd model_noise;   ///< of errors of the model's forces P (n), ≥ 0
  /// Frames at which unknown wrenches may act.
  std::vector<std::string> frames;
  std::vector<WrenchSensor> sensors;
};

/// Which constraint and contact forces can be known at all from given sensors, and how well.
///
/// Unknowns x: multipliers λ of all rows, wrenches W at declared frames (6 each: force and torque
/// about the frame's origin, world axes), and efforts that are not measured. Accelerations are
/// eliminated by A u̇ = b: with Π = I − Q A2ᵀ (A2 Q A2ᵀ)⁻¹ A2, the equations of motion say (E53)
///     Aᵀ λ + Π J_fᵀ W + Π G' τ' = Q u̇_0 − P − Π G τ,
/// whatever the motion is; τ' are the efforts that are not measured. A MomentumObserver adds
///     A2 J_fᵀ W + A2 G' τ' = r,
/// and each wrench sensor six rows. With y = H x + noise, component i is observable iff e_i lies in
/// the range of Hᵀ. The rank is decided as everywhere (RankOptions), against the nominal rank that
/// `start` found on the manifold. The covariance follows from the stated noise; that of
/// unobservable components is infinite. Noises of observer and efforts are taken as independent.
///
/// Allocates only in the constructor and in `start`; use one per thread.
class CONSTRAINED_DYNAMICS_EXPORT ForceCertificate
{
public:
  /// @throw std::invalid_argument for null, options out of range, unknown frames, a system with
  /// driven speeds, or a sensor on a link that carries other moving links.
  ForceCertificate(
    std::shared_ptr<const Dynamics> dynamics, const ForceCertificateOptions & options);
  ~ForceCertificate();
  ForceCertificate(ForceCertificate &&) noexcept;
  ForceCertificate & operator=(ForceCertificate &&) noexcept;

  /// Finds how many directions of the unknowns the measurements determine on the manifold around a
  /// state. Call it again after switching constraints if time permits. The workspace is then at
  /// that state. Real-time safe: no.
  /// @param with_observer whether `update` will be given an observer.
  /// @throw std::invalid_argument where the rows cannot be evaluated.
  void start(const State & state, bool with_observer, Workspace & workspace);

  /// Estimates the unknowns at the state of the workspace.
  /// @param effort τ (l); those that are not measured are ignored. @param readings of the sensors
  /// (6 each: force, torque). @param observer null: none; otherwise one with the same Dynamics,
  /// updated at this state.
  /// Statuses with output: kOk, kSingular (fewer unknowns are observable here than nearby). Without
  /// output: kNoState, kSizeMismatch, kNonFiniteInput, kNonFiniteResult, kSingularInertia, those of
  /// evaluation. Real-time safe: yes.
  [[nodiscard]] Status update(
    const ConstVectorRef & effort, const ConstVectorRef & readings,
    const MomentumObserver * observer, Workspace & workspace) noexcept CD_NONBLOCKING;

  /// Names of the unknowns: "constraint/row", "frame/fx" … "frame/tz", "effort/<input>".
  const std::vector<std::string> & names() const;
  /// Whether each unknown is observable, 1 or 0. Multipliers of inactive constraints count as known
  /// to be 0.
  const Eigen::VectorXi & observable() const;
  /// Estimates; unobservable parts have the least norm.
  const Eigen::VectorXd & estimate() const;
  /// Covariance; an unobservable unknown has an infinite variance and covariances 0.
  const Eigen::MatrixXd & covariance() const;
  /// Directions of the unknowns that the measurements determine, in the last update.
  int rank() const;
  /// The same on the manifold around the state of `start`; −1: not started.
  int nominal_rank() const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace constrained_dynamics
