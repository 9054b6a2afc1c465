// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <Eigen/Core>
#include <Eigen/Geometry>

#include "constrained_dynamics/model/rigid_body_system.hpp"
#include "constrained_dynamics/types.hpp"

namespace constrained_dynamics
{

/// Motion of a frame in its own axes, and the wrench that moves and carries a body fixed to it.
struct FrameMotion
{
  Eigen::Matrix3d rotation;      ///< R_WF
  Eigen::Vector3d acceleration;  ///< of the origin minus gravity [m/s²]
  Eigen::Vector3d w;             ///< angular velocity [rad/s]
  Eigen::Vector3d dw;            ///< angular acceleration [rad/s²]

  /// At the state of the last update_kinematics; `jacobian` gets that of the frame (6 × n).
  FrameMotion(
    const RigidBodySystem & robot, const SystemData & data, int frame, const ConstVectorRef & u_dot,
    Matrix6X & jacobian) noexcept
  {
    FrameKinematics motion;
    robot.frame_kinematics(data, frame, motion);
    robot.frame_jacobian(data, frame, jacobian);
    rotation = motion.rotation;
    Eigen::Vector3d linear = motion.acceleration_bias - robot.gravity();
    Eigen::Vector3d angular = motion.angular_acceleration_bias;
    linear.noalias() += jacobian.topRows<3>() * u_dot;
    angular.noalias() += jacobian.bottomRows<3>() * u_dot;
    acceleration = rotation.transpose() * linear;
    w = rotation.transpose() * motion.angular_velocity;
    dw = rotation.transpose() * angular;
  }

  /// Force on a body by its mass and moment (mass · centre).
  Eigen::Vector3d force(double mass, const Eigen::Vector3d & moment) const
  {
    return mass * acceleration + dw.cross(moment) + w.cross(w.cross(moment));
  }
  /// Torque about the origin by its moment and its inertia about the origin.
  Eigen::Vector3d torque(const Eigen::Vector3d & moment, const Eigen::Matrix3d & inertia) const
  {
    const Eigen::Vector3d momentum = inertia * w;
    return moment.cross(acceleration) + inertia * dw + w.cross(momentum);
  }
};

}  // namespace constrained_dynamics
