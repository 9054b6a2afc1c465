// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <Eigen/Geometry>

#include "constrained_dynamics/model/relative_motion.hpp"
#include "constrained_dynamics/model/system.hpp"

namespace constrained_dynamics
{

/// Motion of A as seen from B, by the formulas of RelativeMotion, from the motions of both in a
/// third frame W. @param b_is_fixed B does not move in W. @param point_only leaves the rotation and
/// its rates alone. Real-time safe: yes.
inline void relate(
  const FrameKinematics & a, const FrameKinematics & b, bool b_is_fixed, bool point_only,
  RelativeMotion & out) noexcept
{
  const Eigen::Matrix3d R_BW = b.rotation.transpose();
  const Eigen::Vector3d d = a.position - b.position;
  out.position.noalias() = R_BW.lazyProduct(d);
  if (b_is_fixed)
  {
    out.velocity.noalias() = R_BW.lazyProduct(a.velocity);
    out.acceleration_bias.noalias() = R_BW.lazyProduct(a.acceleration_bias);
  }
  else
  {
    const Eigen::Vector3d carried = b.angular_velocity.cross(d);
    const Eigen::Vector3d v_W = a.velocity - b.velocity - carried;
    const Eigen::Vector3d acceleration_W = a.acceleration_bias - b.acceleration_bias -
                                           b.angular_acceleration_bias.cross(d) -
                                           b.angular_velocity.cross(carried + 2.0 * v_W);
    out.velocity.noalias() = R_BW.lazyProduct(v_W);
    out.acceleration_bias.noalias() = R_BW.lazyProduct(acceleration_W);
  }
  if (point_only)
  {
    return;
  }
  out.rotation.noalias() = R_BW.lazyProduct(a.rotation);
  const Eigen::Vector3d w_W = a.angular_velocity - b.angular_velocity;
  const Eigen::Vector3d angular_acceleration_W = a.angular_acceleration_bias -
                                                 b.angular_acceleration_bias -
                                                 b.angular_velocity.cross(a.angular_velocity);
  out.angular_velocity.noalias() = R_BW.lazyProduct(w_W);
  out.angular_acceleration_bias.noalias() = R_BW.lazyProduct(angular_acceleration_W);
}

}  // namespace constrained_dynamics
