// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <memory>

#include <pinocchio/multibody.hpp>

#include "constrained_dynamics/export.hpp"
#include "constrained_dynamics/model/rigid_body_system.hpp"
#include "constrained_dynamics/types.hpp"

/// @file
/// Systems from a pinocchio::Model, and the Model and Data of every RigidBodySystem. The only
/// public header that includes Pinocchio: targets that include it must link
/// pinocchio::pinocchio_default.
///
/// Speeds are Pinocchio's velocities v, in the same order. Coordinates are in the same order too,
/// but a continuous joint (JointModelRUBX …) and the rotation of a planar joint have one angle
/// here, and a cosine and a sine in Pinocchio. to_pinocchio_q and from_pinocchio_q convert.

namespace constrained_dynamics
{

/// What is added to a Model.
struct ModelOptions
{
  /// Attachments, frames, springs, dampers, armature, inputs, external wrenches, and further robots
  /// and bodies. Its gravity and use_model_damping are not used.
  SceneDescription scene;
  /// Whether model.damping is applied. Pinocchio's own algorithms ignore it.
  bool use_damping = false;
};

/// The system of a Model: its bodies, joints, limits, armature, gravity and frames.
///
/// Joints: revolute, unbounded revolute and prismatic ones with any axis, planar, spherical,
/// translation and free-flyer joints, anywhere in the tree. Body frames become links, and all other
/// frames except joint frames become frames. A joint `j` without a body frame gets the link
/// `j_link`.
/// @throw std::invalid_argument naming a joint of another kind (helical, universal, spherical ZYX,
/// ellipsoid, composite, mimic), joints that are not in depth-first order, and values that are not
/// finite or not physical.
CONSTRAINED_DYNAMICS_EXPORT std::shared_ptr<const RigidBodySystem> make_rigid_body_system(
  const pinocchio::Model & model, const ModelOptions & options = ModelOptions());

/// The Model of a system, whatever the system was made from. Its armature includes
/// SceneDescription::armature. Its frames include those of the system; the system's "world" is the
/// Model's "universe".
CONSTRAINED_DYNAMICS_EXPORT const pinocchio::Model & pinocchio_model(
  const RigidBodySystem & system);

/// Scratch memory for any algorithm of Pinocchio, one per SystemData. Call algorithms with
/// pinocchio_q and data.terms.speeds to evaluate them at the state of the last update_kinematics.
/// update_dynamics uses the same memory from the first call of this function on, and leaves the
/// results of crba and nonLinearEffects there.
/// @throw std::invalid_argument if `data` does not belong to a RigidBodySystem.
/// Real-time safe: no for the first call with a SystemData, which allocates memory of order n³; yes
/// afterwards.
CONSTRAINED_DYNAMICS_EXPORT pinocchio::Data & pinocchio_data(SystemData & data);

/// The configuration (model.nq) of the state of the last update_kinematics.
/// @throw std::invalid_argument if `data` does not belong to a RigidBodySystem.
/// Real-time safe: yes.
CONSTRAINED_DYNAMICS_EXPORT const Eigen::VectorXd & pinocchio_q(SystemData & data);

/// Writes the configuration `out` (model.nq) of coordinates `q` (nq). Quaternions are normalised.
/// Sizes are not checked. Real-time safe: yes.
CONSTRAINED_DYNAMICS_EXPORT void to_pinocchio_q(
  const RigidBodySystem & system, const ConstVectorRef & q, VectorRef out) noexcept CD_NONBLOCKING;

/// Writes the coordinates `out` (nq) of a configuration (model.nq). Angles are in [−π, π].
/// Sizes are not checked. Real-time safe: yes.
CONSTRAINED_DYNAMICS_EXPORT void from_pinocchio_q(
  const RigidBodySystem & system, const ConstVectorRef & configuration,
  VectorRef out) noexcept CD_NONBLOCKING;

/// The same as new vectors. @throw std::invalid_argument for a wrong size. Real-time safe: no.
CONSTRAINED_DYNAMICS_EXPORT Eigen::VectorXd to_pinocchio_q(
  const RigidBodySystem & system, const Eigen::VectorXd & q);
CONSTRAINED_DYNAMICS_EXPORT Eigen::VectorXd from_pinocchio_q(
  const RigidBodySystem & system, const Eigen::VectorXd & configuration);

}  // namespace constrained_dynamics
