// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <Eigen/Core>

#include "constrained_dynamics/export.hpp"

namespace constrained_dynamics
{

/// A gain of drift elimination: one number for all rows, or a matrix for the rows that it belongs
/// to.
class CONSTRAINED_DYNAMICS_EXPORT Gain
{
public:
  Gain(double scalar = 0.0) : scalar_(scalar) {}                // NOLINT: a number is a gain
  Gain(Eigen::MatrixXd matrix) : matrix_(std::move(matrix)) {}  // NOLINT: a matrix is a gain

  bool is_matrix() const { return matrix_.size() > 0; }
  double scalar() const { return scalar_; }
  const Eigen::MatrixXd & matrix() const { return matrix_; }

private:
  double scalar_ = 0.0;
  Eigen::MatrixXd matrix_;
};

/// How the drift of position and velocity rows is removed.
///
/// Baumgarte adds terms to the rows: b ← b + Γ1 φ̇ + Γ2 φ for position rows, b ← b + Γ ψ for
/// velocity rows; gains are negative (the rows then obey φ̈ = Γ1 φ̇ + Γ2 φ), and F^c contains the
/// stabilising force. Projection does not change the rows; it moves q and u back to the manifold
/// after each step.
struct CONSTRAINED_DYNAMICS_EXPORT Stabilisation
{
  enum class Kind
  {
    kNone,
    kBaumgarte,   ///< with the gains given here
    kProjection,  ///< after each step of a simulation; in a single solve the same as kNone
  };

  Kind kind = Kind::kNone;
  Gain velocity_gain;      ///< Γ1 [1/s], over the position rows in the order of the set
  Gain position_gain;      ///< Γ2 [1/s²], likewise
  Gain nonholonomic_gain;  ///< Γ [1/s], over the velocity rows in the order of the set
  /// For projections: whether to keep the independent speeds of the formulation and change only the
  /// dependent ones, instead of making the smallest correction in the norm of Q.
  bool keep_independent = false;

  static Stabilisation none() { return {}; }
  static Stabilisation projection();
  /// Projection that keeps the independent speeds of the formulation
  /// (Formulation::has_independent_speeds).
  static Stabilisation projection_of_dependent();
  /// @throw std::invalid_argument for gains that are not finite, positive scalars, or matrices that
  /// have an eigenvalue with positive real part.
  static Stabilisation baumgarte(Gain velocity, Gain position, Gain nonholonomic);
  /// Gains that follow the step: critically damped with rate `rate_per_step`/`step`.
  /// @param step [s], positive.
  /// @param rate_per_step at most 0.05: more costs energy faster than it removes drift.
  /// @throw std::invalid_argument outside these ranges.
  static Stabilisation baumgarte_for_step(double step, double rate_per_step = 0.05);
};

}  // namespace constrained_dynamics
