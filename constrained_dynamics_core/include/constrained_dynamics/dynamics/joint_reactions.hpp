// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <vector>

#include "constrained_dynamics/dynamics/dynamics.hpp"
#include "constrained_dynamics/dynamics/workspace.hpp"
#include "constrained_dynamics/export.hpp"
#include "constrained_dynamics/formulations/multiplier_forces.hpp"
#include "constrained_dynamics/model/rigid_body_system.hpp"
#include "constrained_dynamics/status.hpp"

namespace constrained_dynamics
{

/// The wrench that each joint of a robot's tree transmits at a solved state (E43).
///
///     JointReactions reactions(dynamics);                 // once
///     status = dynamics.solve(t, q, u, inputs, workspace);
///     status = reactions.update(workspace);               // on request
///     reactions.wrenches()[i].force ...
///
/// Wrench i acts on the child body of joint i, about the origin of the joint (the origin of the
/// child link's frame), in world axes; the parent body receives the opposite about the same point.
/// It is everything that passes through the joint: the reaction of its bearing, the effort of its
/// drive, and its spring and damper. Along the freedom of the joint it therefore equals the effort
/// minus spring, damper and inertia of the rotor (armature). Wrenches of constraints, also of those
/// on the coordinate of the joint, are not contained: the Solution has them. Rows without wrenches
/// (formulas, energy, centre of mass) count as efforts in the joints.
///
/// Links that are fixed to each other are one body, so fixed joints have no reaction here. If
/// constraints are redundant, reactions follow from how the constraint forces are distributed.
class CONSTRAINED_DYNAMICS_EXPORT JointReactions
{
public:
  /// Allocates the memory.
  /// @throw std::invalid_argument for a system that is not a RigidBodySystem, also wrapped in a
  /// ControlStateSystem.
  explicit JointReactions(const Dynamics & dynamics);

  /// All joints with at least one degree of freedom, in the order of their coordinates.
  const std::vector<RigidBodySystem::Joint> & joints() const { return robot_->joints(); }

  /// Computes the wrenches from the last solution of a workspace of the same Dynamics. Statuses:
  /// kOk; kNoState if the workspace has no solution at its state; kSizeMismatch if it belongs to
  /// another system; kNonFiniteResult. The wrenches are unchanged unless the status is kOk.
  /// Real-time safe: yes.
  [[nodiscard]] Status update(const Workspace & workspace) noexcept CD_NONBLOCKING;

  /// Wrench on the child body of each joint, from the last successful update.
  const std::vector<Wrench> & wrenches() const noexcept CD_NONBLOCKING { return wrenches_; }

private:
  /// Bodies of a wrench pair in the tree; −1 is the world.
  struct Bodies
  {
    int a;
    int b;
  };

  /// A component of a wrench that depends on constraint forces.
  struct Load
  {
    MultiplierForceTarget target;
    Eigen::Index value;
    int body;
  };

  const RigidBodySystem * robot_;
  bool is_wrapped_;
  std::vector<Bodies> bodies_;
  std::vector<Load> loads_;
  std::vector<Wrench> work_;
  std::vector<Wrench> wrenches_;
};

}  // namespace constrained_dynamics
