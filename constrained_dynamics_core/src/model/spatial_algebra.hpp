// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <Eigen/Core>
#include <Eigen/Geometry>

/// @file
/// Spatial vectors of the world about its origin: motions (v; ω), forces (f; n).

namespace constrained_dynamics
{

using Vector6 = Eigen::Matrix<double, 6, 1>;
using Matrix6 = Eigen::Matrix<double, 6, 6>;

/// V × S of two motions.
inline Vector6 cross(const Vector6 & v, const Vector6 & s) noexcept
{
  Vector6 result;
  result.head<3>() = v.tail<3>().cross(s.head<3>()) + v.head<3>().cross(s.tail<3>());
  result.tail<3>() = v.tail<3>().cross(s.tail<3>());
  return result;
}

/// V ×* F of a motion and a force.
inline Vector6 cross_force(const Vector6 & v, const Vector6 & f) noexcept
{
  Vector6 result;
  result.head<3>() = v.tail<3>().cross(f.head<3>());
  result.tail<3>() = v.tail<3>().cross(f.tail<3>()) + v.head<3>().cross(f.head<3>());
  return result;
}

/// [a]×.
inline Eigen::Matrix3d skew(const Eigen::Vector3d & a) noexcept
{
  Eigen::Matrix3d result;
  result << 0.0, -a.z(), a.y(), a.z(), 0.0, -a.x(), -a.y(), a.x(), 0.0;
  return result;
}

}  // namespace constrained_dynamics
