#pragma once

#include <map>
#include <string>

#include <constrained_dynamics/scenario.hpp>
#include <rclcpp/parameter_value.hpp>

/// @file
/// ROS parameters as scenarios: the keys are those of scenario files (doc/scenario.md of the core), and
/// the core checks them.

namespace constrained_dynamics_ros
{

/// Nested parameters with their full names, e.g. "constraints.wall.type".
using ParameterMap = std::map<std::string, rclcpp::ParameterValue>;

/// What a scenario is made of in a ROS graph.
struct ScenarioSource
{
  /// Scenario file: a path or package://…; empty: none, the parameters say everything.
  std::string file;
  /// Takes the place of the file's robot, if not empty; required where there is no file.
  std::string robot_description;
  /// Parameters below "system.", "constraints.", "servo.", "servo_law.", "stabilisation.",
  /// "formulation", "initial.", "run."; others are ignored. They add to the file and win over it.
  ///
  /// Lists of named items are maps here, from name to keys, as ROS parameters know no lists of maps:
  /// constraints.<name>.<key>, servo.<name>.<key>, system.frames.<name>.<key>,
  /// system.attachments.<name>.<key>, servo_law.null_space.<name>.<key>, … in the order of their names.
  ParameterMap parameters;
};

/// The text of a scenario file that says the same.
/// @throw std::invalid_argument naming the parameter, its value and what is allowed.
std::string scenario_text(const ScenarioSource & source);

/// The scenario itself. Throws as above and as constrained_dynamics::Scenario::from_text.
constrained_dynamics::Scenario load_scenario(
  const ScenarioSource & source, const constrained_dynamics::ScenarioLoadOptions & options = {});

/// "package://pkg/path" as a path of the file system; other names as they are.
/// @throw std::invalid_argument for an unknown package.
std::string resolve_uri(const std::string & uri);

}  // namespace constrained_dynamics_ros
