// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "constrained_dynamics/constraints/constraint.hpp"
#include "constrained_dynamics/export.hpp"
#include "constrained_dynamics/model/rigid_body_system.hpp"

/// @file
/// Constraints that robot descriptions state. Real-time safe: no.

namespace constrained_dynamics
{

/// Builds a constraint that a description states, for the robot or a system that wraps it.
/// @throw std::invalid_argument, naming the element of the file, for a constraint that the system
/// cannot have.
CONSTRAINED_DYNAMICS_EXPORT std::shared_ptr<const Constraint> make_file_constraint(
  const FileConstraint & stated, const System & system);

/// The name of the constraint of a mimic joint.
CONSTRAINED_DYNAMICS_EXPORT std::string mimic_name(const RigidBodySystem::Mimic & mimic);

/// The JointCoupling of a mimic joint, for the robot or a system that wraps it.
/// @throw std::invalid_argument for a joint that does not move.
CONSTRAINED_DYNAMICS_EXPORT std::shared_ptr<const Constraint> make_mimic(
  const RigidBodySystem::Mimic & mimic, const System & system);

/// Builds all constraints that the descriptions of a system state: its file_constraints(), then its
/// mimics(). Those that are not active from the start have to be switched off in the Workspace.
/// @throw std::invalid_argument as make_file_constraint.
CONSTRAINED_DYNAMICS_EXPORT std::vector<std::shared_ptr<const Constraint>> make_file_constraints(
  const RigidBodySystem & system);

}  // namespace constrained_dynamics
