// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <string>

#include "constrained_dynamics/export.hpp"
#include "constrained_dynamics/servo/robot_profile.hpp"

namespace constrained_dynamics
{

/// Reads a robot profile from a YAML file; doc/robots.md describes every key.
/// @throw std::invalid_argument "<file>:<line>: <key path>: <value>: <what is allowed>".
CONSTRAINED_DYNAMICS_EXPORT RobotProfile load_robot_profile(const std::string & path);

/// Reads a profile from a text. @param source name for messages. Throws as load_robot_profile.
CONSTRAINED_DYNAMICS_EXPORT RobotProfile
robot_profile_from_text(const std::string & text, const std::string & source = "profile");

/// Writes a profile as YAML, from which robot_profile_from_text restores it exactly.
CONSTRAINED_DYNAMICS_EXPORT std::string write_robot_profile(const RobotProfile & profile);

/// Whether a YAML file is a profile (has the key `profile`) and not a scenario.
/// @throw std::invalid_argument if it cannot be read or is not a YAML map.
CONSTRAINED_DYNAMICS_EXPORT bool is_robot_profile(const std::string & path);

}  // namespace constrained_dynamics
