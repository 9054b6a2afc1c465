// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include "constrained_dynamics/formula/dual.hpp"
#include "constrained_dynamics/status.hpp"

/// @file
/// Rotations over Jet2: a quaternion x y z w with its first two derivatives, as four numbers side
/// by side. Real-time safe throughout.

namespace constrained_dynamics
{

/// out = a ⊗ b; may be one of them.
void multiply_quaternions(const Jet2 * a, const Jet2 * b, Jet2 * out) noexcept CD_NONBLOCKING;

/// Scales to length 1. False for a length of 0 (below kShortestQuaternion) or not finite.
[[nodiscard]] bool normalise_quaternion(Jet2 * q) noexcept CD_NONBLOCKING;

/// R = Rz(yaw) Ry(pitch) Rx(roll).
void quaternion_of_roll_pitch_yaw(const Jet2 * rpy, Jet2 * out) noexcept CD_NONBLOCKING;

/// Of a rotation vector r of any length.
void quaternion_of_rotation_vector(const Jet2 * r, Jet2 * out) noexcept CD_NONBLOCKING;

/// Rotation vector, of length π at most, of a unit quaternion.
void rotation_vector_of_quaternion(const Jet2 * q, Jet2 * out) noexcept CD_NONBLOCKING;

/// (E29) q with q̇ = ½ ω q and q̈ = ½ (ω̇ q + ω q̇), from three numbers each.
void quaternion_from_rates(
  const double * q, const double * angular_velocity, const double * angular_acceleration,
  Jet2 * out) noexcept CD_NONBLOCKING;

/// (E29) ω = 2 Im(q̇ q̄) and ω̇ = 2 Im(q̈ q̄) of a unit quaternion.
void rates_of_quaternion(
  const Jet2 * q, double * angular_velocity, double * angular_acceleration) noexcept CD_NONBLOCKING;

}  // namespace constrained_dynamics
