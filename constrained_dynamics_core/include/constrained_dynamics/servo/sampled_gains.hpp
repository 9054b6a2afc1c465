// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <string>

#include "constrained_dynamics/export.hpp"
#include "constrained_dynamics/servo/servo_constraint.hpp"

/// @file
/// Gains against the rate of the cycle: error dynamics that are stable in continuous time diverge
/// if they are sampled too slowly. Derivation: (E33) of doc/equations.md.

namespace constrained_dynamics
{

/// Largest magnitude of the eigenvalues of the sampled error: below 1 errors die away. The desired
/// acceleration is held from one sample to the next, and acts one sample after the state that it
/// was computed from. Real-time safe: no.
/// @param servo whose rows count; force rows do not. @param period between samples [s], above 0.
CONSTRAINED_DYNAMICS_EXPORT double sampled_spectral_radius(
  const ServoConstraint & servo, const ErrorDynamics & gains, double period);

/// Whether gains are stable at a period. @return empty, or which gains are not, with those that
/// are.
CONSTRAINED_DYNAMICS_EXPORT std::string check_sampled_gains(
  const ServoConstraint & servo, const ErrorDynamics & gains, double period);

}  // namespace constrained_dynamics
