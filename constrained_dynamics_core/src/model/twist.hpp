// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <cmath>

#include <Eigen/Core>
#include <Eigen/Geometry>

#include "constants.hpp"

/// @file
/// The twist of a rotation about an axis (E41), over any scalar.

namespace constrained_dynamics
{

/// The unit quaternion (η, ε) of a rotation, η ≥ 0.
template <class S>
struct UnitQuaternion
{
  explicit UnitQuaternion(const Eigen::Matrix<S, 3, 3> & rotation) noexcept
  {
    const Eigen::Quaternion<S> given(rotation);
    const S sign = given.w() < 0.0 ? S(-1.0) : S(1.0);
    eta = sign * given.w();
    epsilon = sign * given.vec();
  }
  UnitQuaternion(const S & scalar, const Eigen::Matrix<S, 3, 1> & vector) noexcept
  : eta(scalar), epsilon(vector)
  {
  }
  S eta;
  Eigen::Matrix<S, 3, 1> epsilon;
};

/// η² + s², s = a · ε: the squared cosine of half the swing, the rotation without its twist about
/// the unit vector a. The twist is undefined at 0.
template <class S>
S twist_size(const UnitQuaternion<S> & q, const Eigen::Matrix<S, 3, 1> & a) noexcept
{
  const S s = a.dot(q.epsilon);
  return q.eta * q.eta + s * s;
}

/// θ = 2 atan2(s, η) in [−π, π].
template <class S>
S twist_angle(const UnitQuaternion<S> & q, const Eigen::Matrix<S, 3, 1> & a) noexcept
{
  using std::atan2;
  return 2.0 * atan2(a.dot(q.epsilon), q.eta);
}

/// g with θ̇ = g · ω.
template <class S>
Eigen::Matrix<S, 3, 1> twist_gradient(
  const UnitQuaternion<S> & q, const Eigen::Matrix<S, 3, 1> & a) noexcept
{
  const S s = a.dot(q.epsilon);
  return S(1.0 / twist_size(q, a)) *
         (S(q.eta * q.eta) * a + q.eta * q.epsilon.cross(a) + s * q.epsilon);
}

}  // namespace constrained_dynamics
