// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/model/system.hpp"
#include "constrained_dynamics/types.hpp"
#include "model/robot_tree.hpp"

/// @file
/// Analytic derivatives of a tree of rigid bodies (E19), in spatial vectors of the world about its
/// origin: motions (v; ω), forces (f; n). Knows nothing of the library that did the kinematics.

namespace constrained_dynamics
{

using Vector6 = Eigen::Matrix<double, 6, 1>;
using Matrix6 = Eigen::Matrix<double, 6, 6>;

/// What is constant about a joint and the body that it carries.
struct TreeJoint
{
  JointKind kind = JointKind::kRevolute;
  int parent = -1;     ///< −1: the world
  Eigen::Index q = 0;  ///< first coordinate
  Eigen::Index u = 0;  ///< first speed
  Eigen::Index nu = 0;
  MassProperties mass;
};

/// Where a body is.
struct TreePose
{
  Eigen::Matrix3d rotation = Eigen::Matrix3d::Identity();
  Eigen::Vector3d position = Eigen::Vector3d::Zero();
};

/// A tree at one state with given accelerations, and its derivatives. All joints have subspaces
/// that are constant in the frame of the body they move.
class TreeDerivatives
{
public:
  /// @param poses one a joint. @param jacobian 6 × n: column k is the spatial velocity of the body
  /// of speed k, and of all that it carries, at unit speed. @param speeds u. @param acceleration u̇.
  void update(
    const std::vector<TreeJoint> & joints, std::vector<TreePose> poses, const Matrix6X & jacobian,
    const Eigen::VectorXd & speeds, const ConstVectorRef & acceleration,
    const Eigen::Vector3d & gravity);

  /// Derivatives of the inverse dynamics (n × n each) along the speeds' directions and by u.
  void inverse_dynamics(MatrixRef by_q, MatrixRef by_u) const;

  /// Derivatives of a frame at `offset` in the body of `joint`; −1: the world.
  void frame(int joint, const Eigen::Vector3d & offset, FrameDerivatives & out) const;

  /// Adds the derivatives of Jᵀ (force; torque), both kept in the world, of such a frame.
  void add_frame_force(
    int joint, const Eigen::Vector3d & offset, const Eigen::Vector3d & force,
    const Eigen::Vector3d & torque, MatrixRef out) const;

private:
  Vector6 velocity_of(int joint) const;
  Vector6 acceleration_of(int joint) const;
  Eigen::Vector3d place(int joint, const Eigen::Vector3d & offset) const;

  std::vector<TreeJoint> joints_;
  std::vector<TreePose> poses_;
  Matrix6X subspace_;                  // S
  std::vector<Vector6> velocity_;      // V
  std::vector<Vector6> acceleration_;  // spatial, gravity left out
  Eigen::Vector3d gravity_ = Eigen::Vector3d::Zero();
};

/// The kinematic part of SystemDerivatives: q̇ = C u, q̈ and the transport of every joint. `out` has
/// its sizes, zeros, and u̇.
void differentiate_joints(
  const std::vector<TreeJoint> & joints, const SystemTerms & terms, SystemDerivatives & out);

/// Adds the derivatives of Cᵀ y, y kept.
void add_joint_force_derivatives(
  const std::vector<TreeJoint> & joints, const SystemTerms & terms, const ConstVectorRef & y,
  MatrixRef out);

}  // namespace constrained_dynamics
