// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "constrained_dynamics/constraints/constraint.hpp"
#include "constrained_dynamics/contact/contact.hpp"
#include "constrained_dynamics/model/analytic_system.hpp"
#include "constrained_dynamics/model/control_state_system.hpp"
#include "constrained_dynamics/model/rigid_body_system.hpp"
#include "constrained_dynamics/servo/robot_profile.hpp"
#include "scenario/scenario_reader.hpp"

namespace constrained_dynamics
{

/// An external wrench: formulas of its force and torque.
struct ScenarioWrench
{
  ScenarioReader reader;
  std::array<std::string, 6> formulas;
  std::string frame;
  bool in_frame_axes = false;
};

/// A force of a textbook system that depends on constraint forces.
struct ScenarioMultiplierForce
{
  ScenarioReader reader;
  std::string target;  ///< coordinate or speed
  std::string formula;
};

/// The system of a scenario; one of `robot` and `textbook` is null. With control states these two
/// are what `system` wraps.
struct ScenarioSystem
{
  std::shared_ptr<const System> system;
  const RigidBodySystem * robot = nullptr;
  const AnalyticSystem * textbook = nullptr;
  std::vector<ScenarioWrench> wrenches;  ///< in the order of their indices
  std::vector<ScenarioMultiplierForce> multiplier_forces;
  /// Constraints that files state: the robot descriptions, and those of `closed_loops`.
  std::vector<FileConstraint> file_constraints;
  std::optional<RobotProfile> profile;  ///< that of the key `profile`
};

/// Builds the section `system`.
/// @param initial the section `initial`, whose coordinates tell where a textbook system has values.
ScenarioSystem build_system(
  const ScenarioReader & reader, const std::optional<ScenarioReader> & initial);

/// Constraints that switch on and off during a run.
struct ScenarioContacts
{
  std::vector<Contact> contacts;
  std::vector<DryFriction> frictions;
};

/// Types that `build_constraint` knows.
std::vector<std::string> constraint_types();

/// Builds one constraint with the keys of its type, name and type; `more_keys` are ignored.
std::shared_ptr<const Constraint> build_constraint(
  const ScenarioReader & reader, const System & system, const std::vector<std::string> & more_keys);

/// Builds the section `constraints`; `active` gets one flag per constraint, false for those that
/// switch on and off during a run.
std::vector<std::shared_ptr<const Constraint>> build_constraints(
  const ScenarioReader & reader, const System & system, std::vector<bool> & active,
  ScenarioContacts & contacts);

}  // namespace constrained_dynamics
