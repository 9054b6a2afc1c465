// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors
#pragma once

#include <string>
#include <vector>

#include "constrained_dynamics/scenario/scenario.hpp"
#include "robot_report.hpp"
#include "run_statistics.hpp"
#include "servo_report.hpp"

namespace cdyn
{

/// What a run has come to.
struct RunReport
{
  const constrained_dynamics::Scenario & scenario;
  const constrained_dynamics::Simulation & simulation;
  const constrained_dynamics::RankReport & rank;
  const constrained_dynamics::RunResult & result;
  const Statistics & statistics;
  const ServoReport & servo;
  const RobotReport & robot;
  double wall_time;
};

/// Whose an event is.
std::string owner_of(
  const constrained_dynamics::ConstraintSet & set,
  const constrained_dynamics::ContactEvent & event);

/// What the user should know, besides the warnings of the scenario: accuracy, rows, limits, events
/// without memory.
std::vector<std::string> run_warnings(const RunReport & report);

/// The table for people.
std::string describe(const RunReport & report);

/// @param initial the state at the start, as JSON.
std::string to_json(
  const RunReport & report, const std::string & initial, constrained_dynamics::Status final_status);

/// Why a run ended early, with its last state, or is inaccurate; empty where it is neither.
std::string describe_end(const RunReport & report);

}  // namespace cdyn
