// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <string>
#include <vector>

#include "constrained_dynamics/export.hpp"
#include "constrained_dynamics/scenario/text_tree.hpp"

/// @file
/// Scenario files that are changed before they are read: by other keys, by another robot.

namespace constrained_dynamics
{

/// The sections of scenario files that something else than the file may say, such as parameters:
/// system, constraints, servo …
CONSTRAINED_DYNAMICS_EXPORT const std::vector<std::string> & scenario_sections();

/// Writes `changes` over a scenario, key by key. Lists of items with names (constraints, servo,
/// system.robots …) may be maps there, from name to keys: an item of that name, or of that index,
/// is changed, others are added.
/// @throw std::invalid_argument naming a key that stands for an item but has no keys below it.
CONSTRAINED_DYNAMICS_EXPORT void merge_scenario(const TextTree & changes, TextTree & scenario);

/// Whether the section `system` names a robot (urdf, mjcf, sdf, robots).
CONSTRAINED_DYNAMICS_EXPORT bool names_robot(const TextTree & scenario);

/// Puts a robot description (URDF, SDF or MJCF) in place of the scenario's robot, or of all its
/// fixed ones. A scenario that has none on purpose (`coordinates`, or `bodies` alone) is left
/// alone.
/// @throw std::invalid_argument for a text that is none, or robots that one cannot stand for.
CONSTRAINED_DYNAMICS_EXPORT void use_robot_description(
  const std::string & description, TextTree & scenario);

/// Leaves out what drives the system: `inputs`, `servo`, `servo_law`, `initial.servo`.
CONSTRAINED_DYNAMICS_EXPORT void remove_controls(TextTree & scenario);

}  // namespace constrained_dynamics
