// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/scenario/scenario.hpp"
#include "constrained_dynamics/servo/servo_runtime.hpp"
#include "support/plant.hpp"

/// @file
/// A servo runtime in closed loop with the core's simulation of its robot.

namespace constrained_dynamics::test
{

inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kPeriod = 0.001;  // [s]

/// A runtime in closed loop with the core's simulation of the same robot.
class Loop
{
public:
  explicit Loop(
    const Scenario & scenario_in, const ServoRuntimeOptions & options = {}, InputLimits limits = {},
    const std::vector<std::string> & unmeasured = {})
  : Loop(scenario_in, options, std::move(limits), unmeasured, *scenario_in.servo_drive())
  {
  }
  /// With other references than those of the scenario.
  Loop(
    const Scenario & scenario_in, const ServoRuntimeOptions & options, InputLimits limits,
    const std::vector<std::string> & unmeasured, const TaskTrajectories & drive)
  : scenario(scenario_in), plant(scenario)
  {
    const auto & system = scenario.system();
    std::vector<bool> coordinates(static_cast<std::size_t>(system.coordinate_count()), true);
    std::vector<bool> speeds(static_cast<std::size_t>(system.speed_count()), true);
    for (const std::string & name : unmeasured)
    {
      coordinates[static_cast<std::size_t>(system.coordinate_index(name))] = false;
      speeds[static_cast<std::size_t>(system.speed_index("d" + name))] = false;
    }
    runtime = std::make_unique<ServoRuntime>(
      *scenario.servo_law(), drive, std::move(limits), coordinates, speeds, options);
    scenario.switch_constraints(runtime->servo().dynamics());
    start();
  }

  void start(const Eigen::VectorXd * effort = nullptr)
  {
    runtime->start(plant.state(), effort);
    last_command = runtime->command();
    has_command = effort != nullptr;
  }

  /// One cycle, with the measured state changed by `spoil`, and the step of the robot after it.
  template <typename Spoil>
  ServoCycleReport cycle(const Spoil & spoil, double period = kPeriod)
  {
    Eigen::VectorXd q = plant.state().q;
    Eigen::VectorXd u = plant.state().u;
    spoil(q, u);
    const ServoCycleReport report = runtime->step(period, q, u);
    const Eigen::VectorXd & command = runtime->command();
    EXPECT_TRUE(command.allFinite());
    const InputLimits & limits = runtime->limits();
    EXPECT_TRUE((command.array() >= limits.lower.array()).all());
    EXPECT_TRUE((command.array() <= limits.upper.array()).all());
    if (has_command)
    {
      const Eigen::VectorXd step = (command - last_command).cwiseAbs();
      largest_step = std::max(largest_step, step.maxCoeff());
      EXPECT_TRUE((step.array() <= kPeriod * limits.rate.array() * (1.0 + 1e-9)).all())
        << step.transpose();
    }
    last_command = command;
    has_command = true;
    plant.inputs() = command;
    EXPECT_TRUE(has_output(plant.step()));
    return report;
  }
  ServoCycleReport cycle()
  {
    return cycle([](Eigen::VectorXd &, Eigen::VectorXd &) {});
  }
  void run(int cycles)
  {
    for (int i = 0; i < cycles; ++i)
    {
      cycle();
    }
  }

  Scenario scenario;
  Plant plant;
  std::unique_ptr<ServoRuntime> runtime;
  Eigen::VectorXd last_command;
  bool has_command = false;
  double largest_step = 0.0;
};

inline Scenario arm(const std::vector<std::string> & overrides = {})
{
  return Scenario::load(CD_TEST_DATA "/arm_on_wall.yaml", overrides);
}

inline Scenario four_bar() { return Scenario::load(CD_CONFIG "/scenarios/four_bar_inverse.yaml"); }

inline ServoRuntimeOptions quick()
{
  ServoRuntimeOptions options;
  options.references.smooth_start = 0.0;
  options.ramp_time = 0.1;
  options.recovery_time = 0.0;
  return options;
}

inline InputLimits arm_limits()
{
  InputLimits limits;
  limits.upper = Eigen::VectorXd::Constant(4, 60.0);
  limits.lower = -limits.upper;
  limits.rate = Eigen::VectorXd::Constant(4, 2000.0);
  return limits;
}

}  // namespace constrained_dynamics::test
