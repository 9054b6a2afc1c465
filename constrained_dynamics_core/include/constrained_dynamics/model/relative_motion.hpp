// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <Eigen/Core>

namespace constrained_dynamics
{

/// Motion of frame A relative to frame B, expressed in B. With d = p_A − p_B and velocities in the
/// world W:
///     p = R_Bᵀ d,                               R = R_Bᵀ R_A
///     v = ṗ = R_Bᵀ (v_A − v_B − ω_B × d),       ω = R_Bᵀ (ω_A − ω_B),   Ṙ = [ω]× R
///     v̇ = R_Bᵀ (a_A − a_B − α_B × d − ω_B × (ω_B × d) − 2 ω_B × (R_B v))
///     ω̇ = R_Bᵀ (α_A − α_B − ω_B × ω_A)
/// S is double, or Dual to differentiate rows with respect to the motion.
template <class S>
struct RelativeMotionOf
{
  using Vector3 = Eigen::Matrix<S, 3, 1>;
  using Matrix3 = Eigen::Matrix<S, 3, 3>;

  double time = 0.0;                                    ///< t [s]
  Vector3 position = Vector3::Zero();                   ///< p_BA [m]
  Matrix3 rotation = Matrix3::Identity();               ///< R_BA
  Vector3 velocity = Vector3::Zero();                   ///< ṗ [m/s]
  Vector3 angular_velocity = Vector3::Zero();           ///< of A in B [rad/s]
  Vector3 acceleration_bias = Vector3::Zero();          ///< p̈ at u̇ = 0 [m/s²]
  Vector3 angular_acceleration_bias = Vector3::Zero();  ///< ω̇ at u̇ = 0 [rad/s²]
};
using RelativeMotion = RelativeMotionOf<double>;

}  // namespace constrained_dynamics
