// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "constrained_dynamics/export.hpp"
#include "constrained_dynamics/scenario/text_tree.hpp"

/// @file
/// The files of a robot under ros2_control, looked at together before anything moves. No ROS is
/// needed for it.

namespace constrained_dynamics
{

/// One thing that is wrong or worth knowing.
struct SetupFinding
{
  enum class Severity
  {
    kError,    ///< the robot cannot start like this
    kWarning,  ///< it can, but probably not as meant
    kNote,
  };

  Severity severity;
  std::string thing;    ///< e.g. "controllers.yaml: servo_constraint_controller: torque_rat"
  std::string message;  ///< what is wrong with it, its value, and what is allowed
};

/// "error", "warning", "note".
CONSTRAINED_DYNAMICS_EXPORT const char * to_string(SetupFinding::Severity severity) noexcept;

/// The files, as texts.
struct SetupFiles
{
  std::string description;      ///< URDF with its <ros2_control> tags, after xacro
  std::string parameters;       ///< ROS parameters of controller_manager and controllers
  std::string parameters_name;  ///< of that file, for messages
  std::string scenario;         ///< file that replaces those of the controllers; may be empty
  /// "package://…" to a path; a path to itself. It throws std::invalid_argument for others.
  std::function<std::string(const std::string &)> resolve;
  /// Class name of a controller plugin without its package ("ServoConstraintController") → what
  /// its parameters are, in the form that generate_parameter_library reads, below the first key.
  /// Names and ranges of parameters are not checked of classes that are missing here.
  std::map<std::string, std::vector<TextTree>> known_parameters;
};

/// Looks for what is missing, misspelt, out of range or violated. Never throws for what the files
/// say: that is a finding. Real-time safe: no.
CONSTRAINED_DYNAMICS_EXPORT std::vector<SetupFinding> check_setup(const SetupFiles & files);

}  // namespace constrained_dynamics
