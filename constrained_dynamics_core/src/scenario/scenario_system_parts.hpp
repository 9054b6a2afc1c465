// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scenario/scenario_reader.hpp"
#include "scenario/scenario_system.hpp"

/// @file
/// What the readers of textbook systems and of robots share; see build_system.

namespace constrained_dynamics
{

/// Keys of a textbook system.
const std::vector<std::string> & textbook_keys();

/// Builds a textbook system. @param initial as of build_system.
ScenarioSystem build_textbook(
  const ScenarioReader & reader, const std::optional<ScenarioReader> & initial);

/// Reads the key `control_states`.
ControlStates read_control_states(const ScenarioReader & reader);

/// Turns controls into states where the scenario asks for it.
void wrap_control_states(
  const ScenarioReader & reader, const ControlStates & states, ScenarioSystem & system);

/// Reads the key `pose`; zero without one.
Pose read_pose_or_zero(const ScenarioReader & reader);

/// Reads the key `base`.
Base read_base(const ScenarioReader & reader, Base fallback);

/// Keys of a robot.
const std::vector<std::string> & robot_keys();

/// Reads the robot directly below `system`, or those of `robots`.
void read_robots(const ScenarioReader & reader, SceneDescription & scene);

}  // namespace constrained_dynamics
