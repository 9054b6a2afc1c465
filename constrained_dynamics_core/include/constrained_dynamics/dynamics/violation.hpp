// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <string>

#include "constrained_dynamics/dynamics/dynamics.hpp"
#include "constrained_dynamics/export.hpp"
#include "constrained_dynamics/status.hpp"

namespace constrained_dynamics
{

/// The row that a state violates most, relative to tolerances.
struct ConstraintViolation
{
  int row = -1;           ///< −1: no active row has a residual
  double position = 0.0;  ///< |φ| of the row [m, rad, or the unit of the row]
  double velocity = 0.0;  ///< |φ̇| or |ψ| of the row [the same per second]
  double ratio = 0.0;     ///< the larger of both, divided by their tolerances

  /// Whether a residual exceeds its tolerance.
  bool is_beyond() const { return ratio > 1.0; }
};

/// Residuals of the active rows at the last rows of a workspace.
/// @param position_tolerance, velocity_tolerance 0: residuals of that level do not count.
/// Real-time safe: yes.
CONSTRAINED_DYNAMICS_EXPORT ConstraintViolation worst_violation(
  const ConstraintSet & constraints, const Workspace & workspace, double position_tolerance,
  double velocity_tolerance) noexcept CD_NONBLOCKING;

/// "wall/normal: 0.22, rate 0"; empty without a row. Real-time safe: no.
CONSTRAINED_DYNAMICS_EXPORT std::string describe(
  const ConstraintViolation & violation, const ConstraintSet & constraints);

}  // namespace constrained_dynamics
