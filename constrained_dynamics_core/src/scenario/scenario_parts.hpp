// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "constrained_dynamics/scenario/scenario.hpp"
#include "scenario/scenario_servo_law.hpp"
#include "scenario/scenario_signals.hpp"

namespace constrained_dynamics
{

/// What a scenario consists of.
struct ScenarioParts
{
  std::string name;
  std::string description;
  std::vector<std::pair<std::string, double>> parameters;
  std::vector<std::shared_ptr<const Constraint>> constraints;
  std::vector<bool> active;
  std::vector<int> stops;  // constraints at the ends of joints
  std::shared_ptr<const Dynamics> dynamics;
  std::shared_ptr<const ContactSet> contacts;
  std::vector<ScheduledChange> changes;
  State initial;
  RunSettings run;
  std::vector<std::string> warnings;
  std::shared_ptr<const SignalProgram> input_signals;  // null: none
  std::vector<int> wrenches;
  std::optional<ScenarioServo> servo;
  std::optional<RobotProfile> profile;
  std::vector<std::string> observable_names;
  SignalProgram observables;
};

/// Builds everything from a text.
/// @param source name of the file, for messages. @param folder where relative file names start.
void build_scenario(
  const std::string & text, const std::string & source, const std::filesystem::path & folder,
  const std::vector<std::string> & overrides, const ScenarioLoadOptions & options,
  ScenarioParts & out);

}  // namespace constrained_dynamics
