// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <cmath>

#include <Eigen/Geometry>

#include "constrained_dynamics/constraints/frame_coincidence.hpp"

/// @file
/// The rows of FrameCoincidence for any motion of frame A as seen from frame B, for any scalar
/// type.

namespace constrained_dynamics
{

// 1 + cos(angle) of two axes below which round-off hides the direction of their misalignment.
inline constexpr double kOppositeAxes = 1e-12;

template <class S>
Eigen::Matrix<S, 3, 1> unit(int axis) noexcept
{
  return Eigen::Matrix<S, 3, 1>::Unit(axis);
}

template <class S>
void position_row(const RelativeMotionOf<S> & motion, int axis, FrameRowOf<S> & out) noexcept
{
  out.position = motion.position(axis);
  out.velocity = motion.velocity(axis);
  out.linear = unit<S>(axis);
  out.bias = -motion.acceleration_bias(axis);
}

/// φ = 2 ε with its derivatives at u̇ = 0.
template <class S>
struct QuaternionError
{
  using Vector3 = Eigen::Matrix<S, 3, 1>;
  S eta;
  Vector3 epsilon, velocity, acceleration;
};

template <class S>
QuaternionError<S> quaternion_error(const RelativeMotionOf<S> & motion) noexcept
{
  using Vector3 = Eigen::Matrix<S, 3, 1>;
  const Eigen::Quaternion<S> error(motion.rotation);
  const S sign = error.w() < 0.0 ? S(-1.0) : S(1.0);
  const Vector3 & w = motion.angular_velocity;
  const Vector3 & w_dot = motion.angular_acceleration_bias;
  const S eta = sign * error.w();
  const Vector3 epsilon = sign * error.vec();
  const S eta_dot = -0.5 * w.dot(epsilon);
  const Vector3 epsilon_dot = S(0.5) * (eta * w + w.cross(epsilon));
  return {
    eta, epsilon, S(2.0) * epsilon_dot,
    eta_dot * w + w.cross(epsilon_dot) + eta * w_dot + w_dot.cross(epsilon)};
}

template <class S>
void quaternion_row(const QuaternionError<S> & error, int axis, FrameRowOf<S> & out) noexcept
{
  out.position = 2.0 * error.epsilon(axis);
  out.velocity = error.velocity(axis);
  out.angular = error.eta * unit<S>(axis) + error.epsilon.cross(unit<S>(axis));
  out.bias = -error.acceleration(axis);
}

/// φ = √(2/w) s of one axis, s = e_k × a, w = 1 + e_k · a, a = R e_k.
template <class S>
void aligned_axis_row(
  const RelativeMotionOf<S> & motion, int free_axis, int axis, FrameRowOf<S> & out) noexcept
{
  using Vector3 = Eigen::Matrix<S, 3, 1>;
  const Vector3 & omega = motion.angular_velocity;
  const Vector3 e_k = unit<S>(free_axis);
  const Vector3 a = motion.rotation.col(free_axis);
  const Vector3 a_dot = omega.cross(a);
  const Vector3 a_ddot = motion.angular_acceleration_bias.cross(a) + omega.cross(a_dot);
  const Vector3 across = unit<S>(axis).cross(e_k);  // s_i = across · a
  const S s = across.dot(a);
  const S s_dot = across.dot(a_dot);
  const S s_ddot = across.dot(a_ddot);
  const S w = 1.0 + e_k.dot(a);
  const S w_dot = e_k.dot(a_dot);
  const S w_ddot = e_k.dot(a_ddot);
  using std::sqrt;
  const S f = sqrt(2.0 / w);
  const S f_dot = -0.5 * f * w_dot / w;
  const S f_ddot = -0.5 * (f_dot * w_dot / w + f * w_ddot / w - f * w_dot * w_dot / (w * w));
  out.position = f * s;
  out.velocity = f_dot * s + f * s_dot;
  // ẋ of x = y · a is (a × y) · ω.
  out.angular = f * a.cross(across) - (0.5 * f / w * s) * a.cross(e_k);
  out.bias = -(f_ddot * s + 2.0 * f_dot * s_dot + f * s_ddot);
}

/// All rows. Statuses: kOk, kNonFiniteResult for two rotation rows of opposite axes. Real-time
/// safe: yes.
template <class S>
Status coincidence_rows(
  const RelativeMotionOf<S> & motion, const CoincidenceAxes & axes, FrameRowsOf<S> & out) noexcept
{
  const int rotation_count = axes.rotation_count;
  const int free_axis = axes.free_axis;
  QuaternionError<S> error;
  if (rotation_count == 2)
  {
    if (!(1.0 + motion.rotation(free_axis, free_axis) > kOppositeAxes))
    {
      return Status::kNonFiniteResult;
    }
  }
  else if (rotation_count > 0)
  {
    error = quaternion_error(motion);
  }
  for (std::size_t i = 0; i < axes.axis.size(); ++i)
  {
    if (axes.axis[i] < 3)
    {
      position_row(motion, axes.axis[i], out.row[i]);
    }
    else if (rotation_count == 2)
    {
      aligned_axis_row(motion, free_axis, axes.axis[i] - 3, out.row[i]);
    }
    else
    {
      quaternion_row(error, axes.axis[i] - 3, out.row[i]);
    }
  }
  return Status::kOk;
}

}  // namespace constrained_dynamics
