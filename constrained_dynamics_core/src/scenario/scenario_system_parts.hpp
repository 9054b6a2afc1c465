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

/// Reads an inertia: [ixx, iyy, izz], or a map of its elements.
Eigen::Matrix3d read_inertia(const ScenarioReader & reader);

/// The path of the file that a name in a scenario stands for.
std::string resolve_file(const ScenarioReader & reader);

/// Reads the key `base`.
Base read_base(const ScenarioReader & reader, Base fallback);

/// Keys of a robot.
const std::vector<std::string> & robot_keys();

/// What the file of a robot's key `closed_loops` states.
struct ClosedLoops
{
  std::vector<FileConstraint> constraints;
  std::vector<std::string> motors;
};

/// Reads the file of the key `closed_loops`: YAML as of example-parallel-robots. Joints that it
/// fixes are locked in `robot`, whose prefix is set.
/// @param path of the file.
ClosedLoops read_closed_loops(
  const ScenarioReader & key, const std::string & path, RobotDescription & robot);

/// Reads the robot directly below `system`, or those of `robots`. `loops` gets the contents of the
/// file of each robot that has one.
void read_robots(
  const ScenarioReader & reader, SceneDescription & scene, std::vector<ClosedLoops> & loops);

}  // namespace constrained_dynamics
