// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <optional>
#include <string>
#include <vector>

#include "constrained_dynamics/dynamics/joint_reactions.hpp"
#include "constrained_dynamics/scenario/scenario.hpp"
#include "json_writer.hpp"
#include "run_statistics.hpp"

namespace cdyn
{

/// Force elements and joint reactions of a system of robots and bodies; nothing for other systems.
class RobotReport
{
public:
  /// @param with_reactions whether joint reactions are columns and ranges.
  /// @throw std::invalid_argument if they are wanted of a system without joints.
  RobotReport(const constrained_dynamics::Scenario & scenario, bool with_reactions);

  /// Names of the columns of a run.
  std::vector<std::string> column_names() const;
  /// Their values at a solved state, each with a comma in front.
  std::string csv_values(const constrained_dynamics::Workspace & workspace);
  /// `force_elements` and `joint_reactions` of a solved state.
  void write(
    constrained_dynamics::JsonWriter & json, const constrained_dynamics::Workspace & workspace);

  /// Adds a solved state to the ranges of the reactions, if they are wanted.
  void add(const constrained_dynamics::Workspace & workspace);
  /// The entry `reactions` of a run, and the lines of its summary; empty unless they are wanted.
  void write_ranges(constrained_dynamics::JsonWriter & json) const;
  std::string describe_ranges(std::size_t width) const;

private:
  /// Data of the robot itself, which may be wrapped.
  const constrained_dynamics::SystemData & robot_data(
    const constrained_dynamics::Workspace & workspace) const;

  const constrained_dynamics::RigidBodySystem * robot_;
  bool is_wrapped_;
  bool has_columns_;
  std::optional<constrained_dynamics::JointReactions> reactions_;
  std::vector<Range> forces_;
  std::vector<Range> torques_;
};

}  // namespace cdyn
