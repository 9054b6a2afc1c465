// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <string>
#include <vector>

#include "constrained_dynamics/export.hpp"
#include "constrained_dynamics/scenario/text_tree.hpp"

/// @file
/// Changes to scenario files before they are read: other keys, another robot.

namespace constrained_dynamics
{

/// The sections of scenario files that something else than the file may say, such as parameters:
/// system, constraints, servo …
CONSTRAINED_DYNAMICS_EXPORT const std::vector<std::string> & scenario_sections();

/// Overrides keys of a scenario with `changes`. Lists of named items (constraints, servo,
/// system.robots …) may be given as maps from name to keys: an item of that name or index is
/// changed; others are added.
/// @throw std::invalid_argument naming a key that stands for an item but has no keys below it.
CONSTRAINED_DYNAMICS_EXPORT void merge_scenario(const TextTree & changes, TextTree & scenario);

/// Whether the section `system` names a robot (urdf, mjcf, sdf, robots).
CONSTRAINED_DYNAMICS_EXPORT bool names_robot(const TextTree & scenario);

/// Replaces the scenario's robot, or all of its fixed robots, by a robot description (URDF, SDF or
/// MJCF). A scenario that has no robot by design (`coordinates`, or `bodies` alone) is not changed.
/// @throw std::invalid_argument if the text is not a robot description, or if one robot cannot
/// replace those of the scenario.
CONSTRAINED_DYNAMICS_EXPORT void use_robot_description(
  const std::string & description, TextTree & scenario);

/// Sets the robot profile of a scenario (`system: profile`), in place of its own if it has one.
/// @param path of the file; a relative one starts at the working directory.
CONSTRAINED_DYNAMICS_EXPORT void use_robot_profile(const std::string & path, TextTree & scenario);

/// Removes the controls: `inputs`, `servo`, `servo_law`, `initial.servo`.
CONSTRAINED_DYNAMICS_EXPORT void remove_controls(TextTree & scenario);

}  // namespace constrained_dynamics
