// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <map>
#include <string>

#include <constrained_dynamics/scenario/scenario.hpp>
#include <rclcpp/parameter_value.hpp>

/// @file
/// ROS parameters as scenarios: the keys are those of scenario files (doc/scenario.md of the core),
/// and the core checks them.

namespace constrained_dynamics_ros
{

/// Nested parameters with their full names, e.g. "constraints.wall.type".
using ParameterMap = std::map<std::string, rclcpp::ParameterValue>;

/// What a scenario is made of in a ROS graph.
struct ScenarioSource
{
  /// Scenario file: a path or package://…; empty: none, the parameters say everything.
  std::string file;
  /// The robot, as URDF, SDF or MJCF. It takes the place of the file's robot; where the file has
  /// several fixed ones (`robots`), of all of them, as the description has all their joints. It is
  /// not used where a parameter names a robot (`system.urdf` …), or the file has none on purpose: a
  /// textbook system (`coordinates`), or `bodies` alone.
  std::string robot_description;
  /// Parameters below the sections of scenario files: system, constraints, servo, servo_law,
  /// stabilisation, formulation, initial, run, options, parameters, definitions, inputs, events,
  /// observe. Others are ignored. They add to the file and win over it.
  ///
  /// Lists of items are maps here, from name to keys, as ROS parameters know no lists of maps:
  /// constraints.<name>.<key>, servo.<name>.<key>, system.frames.<name>.<key> (also attachments,
  /// bodies, robots, external), and with names that say nothing servo_law.null_space.<name>.<key>,
  /// servo_law.cones.<name>.<key>, events.<name>.<key>. An item of the file of the same name, or of
  /// that index, is changed, others are added in the order of their names.
  ///
  /// Rows may be booleans: unquoted y and n of a parameter file are true and false there.
  ///
  /// Strings that begin with [ or { are YAML, for lists of lists: "[[0, 0], [1, 0]]"; so is a
  /// string that stands for a whole section (`constraints`).
  ParameterMap parameters;
  /// Robot profile (doc/robots.md of the core): a path or package://…; empty: that of the scenario,
  /// if it has one.
  std::string profile;
  /// Leaves out what drives the system (`inputs`, `servo`, `servo_law`, `initial.servo`), for a
  /// plant whose inputs come from elsewhere.
  bool without_controls = false;
};

/// The text of a scenario file that says the same.
/// @throw std::invalid_argument naming the parameter, its value and what is allowed.
std::string scenario_text(const ScenarioSource & source);

/// The scenario itself. Throws as above and as constrained_dynamics::Scenario::from_text, whose
/// messages name the parameter: key paths are the names of parameters.
constrained_dynamics::Scenario load_scenario(
  const ScenarioSource & source, const constrained_dynamics::ScenarioLoadOptions & options = {});

/// Whether a parameter of this name is part of a scenario.
bool is_scenario_parameter(const std::string & name);

/// "package://pkg/path" and "file:///path" as a path of the file system; other names as they are.
/// @throw std::invalid_argument for an unknown package.
std::string resolve_uri(const std::string & uri);

}  // namespace constrained_dynamics_ros
