// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <string>

#include <Eigen/Core>

#include "constrained_dynamics/scenario/scenario.hpp"
#include "robot_report.hpp"
#include "servo_report.hpp"

namespace cdyn
{

/// Names of the columns of a run.
std::string csv_header(
  const constrained_dynamics::Scenario & scenario, const RobotReport & robot,
  const ServoReport & servo);

/// The state that an observer sees. @param observed values of `observe`.
std::string csv_line(
  const constrained_dynamics::Scenario & scenario,
  const constrained_dynamics::Simulation & simulation, const Eigen::VectorXd & observed,
  RobotReport & robot, const ServoReport & servo);

/// All events of a run, with a header.
std::string events_csv(const constrained_dynamics::Simulation & simulation);

}  // namespace cdyn
