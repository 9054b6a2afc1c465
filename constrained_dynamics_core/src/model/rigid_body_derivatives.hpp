// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/model/system.hpp"
#include "constrained_dynamics/types.hpp"
#include "model/kinematic_tree.hpp"

/// @file
/// Analytic derivatives of a tree of rigid bodies (E19), in spatial vectors of the world about its
/// origin: motions (v; ω), forces (f; n). Pinocchio's computeRNEADerivatives would serve the
/// inverse dynamics alone, with scratch memory that grows with n³; the frames need the same
/// subspaces.

namespace constrained_dynamics
{

using Vector6 = Eigen::Matrix<double, 6, 1>;
using Matrix6 = Eigen::Matrix<double, 6, 6>;

/// A tree at one state with given accelerations, and its derivatives. All joints have subspaces
/// that are constant in the frame of the body they move.
class TreeDerivatives
{
public:
  /// The tree at the state in `data`, with accelerations u̇. The tree must outlive this object.
  void update(
    const KinematicTree & tree, const TreeData & data, const ConstVectorRef & acceleration);

  /// Derivatives of the inverse dynamics (n × n each) along the speeds' directions and by u.
  void inverse_dynamics(MatrixRef by_q, MatrixRef by_u) const;

  /// Derivatives of a frame of the tree.
  void frame(int frame, FrameDerivatives & out) const;

  /// Adds the derivatives of Jᵀ (force; torque), both constant in the world, of such a frame.
  void add_frame_force(
    int frame, const Eigen::Vector3d & force, const Eigen::Vector3d & torque, MatrixRef out) const;

private:
  Vector6 velocity_of(int body) const;
  Vector6 acceleration_of(int body) const;
  Eigen::Vector3d position_of(const TreeFramePlace & frame) const;
  int parent_of(int body) const;
  Matrix6 spatial_inertia(std::size_t body) const;

  const KinematicTree * tree_ = nullptr;
  std::vector<BodyMotion> motions_;
  Matrix6X subspace_;                  // S
  std::vector<Vector6> velocity_;      // V
  std::vector<Vector6> acceleration_;  // spatial, gravity left out
};

/// The kinematic part of SystemDerivatives: q̇ = C u, q̈ and the transport of every joint. `out`
/// has its sizes, zeros, and u̇.
void differentiate_joints(
  const KinematicTree & tree, const SystemTerms & terms, SystemDerivatives & out);

/// Adds the derivatives of Cᵀ y, y kept.
void add_joint_force_derivatives(
  const KinematicTree & tree, const SystemTerms & terms, const ConstVectorRef & y, MatrixRef out);

}  // namespace constrained_dynamics
