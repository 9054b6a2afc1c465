// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/servo/command_integrator.hpp"

#include <cmath>
#include <functional>
#include <iostream>
#include <limits>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>

#include <gmock/gmock.h>

#include "constrained_dynamics/dynamics/state_completion.hpp"
#include "constrained_dynamics/scenario/scenario.hpp"
#include "support/allocation_counter.hpp"

namespace constrained_dynamics::test
{

namespace
{

constexpr double kPeriod = 2e-3;
constexpr double kDriveLag = 0.02;  // time constant of the position drives [s]

/// A control law whose accelerations become commands of position drives.
struct Robot
{
  Scenario scenario;
  std::shared_ptr<InputLaw> law = scenario.make_input_law();
  Workspace workspace{*scenario.dynamics(), scenario.initial()};
  CommandIntegrator commands;
  State state = scenario.initial();
  Eigen::VectorXd effort = Eigen::VectorXd::Zero(scenario.system().input_count());
  Status status = Status::kOk;

  explicit Robot(Scenario of, const CommandIntegratorOptions & options = {})
  : scenario(std::move(of)), commands(scenario.dynamics(), options)
  {
    commands.start(state);
  }

  /// One cycle: the law at the measured state, then the command.
  void command(const Eigen::VectorXd & q, const Eigen::VectorXd & u)
  {
    const Dynamics & dynamics = *scenario.dynamics();
    ASSERT_EQ(dynamics.set_state(state.time, q, u, workspace), Status::kOk);
    ASSERT_TRUE(
      has_output(law->evaluate(scenario.system(), workspace.change_system_data(), effort)));
    ASSERT_TRUE(has_output(dynamics.solve(effort, workspace)));
    const Eigen::VectorXd acceleration = workspace.solution().acceleration;
    state.time += kPeriod;
    status = commands.update(state.time, kPeriod, q, u, acceleration);
    ASSERT_TRUE(has_output(status)) << to_string(status);
  }
  /// Largest violation of the constraints by the command.
  double residual()
  {
    EXPECT_EQ(
      scenario.dynamics()->evaluate_rows(
        state.time, commands.position(), commands.velocity(), workspace),
      Status::kOk);
    return std::max(
      workspace.rows().position.cwiseAbs().maxCoeff(),
      workspace.rows().velocity.cwiseAbs().maxCoeff());
  }
};

Scenario four_bar(const std::string & reference)
{
  return Scenario::from_text(
    "system: {urdf: " + std::string(CD_CONFIG) +
    "/robots/four_bar.urdf, actuated: [crank]}\n"
    "constraints: [{name: loop, type: frame_coincidence, frame_a: coupler_tip, frame_b: "
    "rocker_tip, rows: [x, z]}]\n"
    "servo: [{name: crank, type: joint, joint: crank, stiffness: 100, reference: {kind: formula, "
    "values: [\"" +
    reference +
    "\"]}}]\n"
    "initial: {q: {crank: 0, coupler: pi/2, rocker: pi - atan(2/3)}, solve: [coupler, rocker]}\n");
}

/// The four-bar behind a position drive at its crank, which lags.
struct DrivenFourBar : Robot
{
  StateCompletion completion;
  Workspace plant{*scenario.dynamics(), scenario.initial()};
  Eigen::VectorXd q = state.q;
  Eigen::VectorXd u = state.u;

  explicit DrivenFourBar(const std::string & reference)
  : Robot(four_bar(reference)),
    completion(scenario.dynamics(), {true, false, false}, {true, false, false})
  {
  }
  void step(bool is_blocked = false)
  {
    command(q, u);
    u(0) = is_blocked ? 0.0 : (commands.position()(0) - q(0)) / kDriveLag;
    q(0) += kPeriod * u(0);
    ASSERT_EQ(completion.complete(state.time, q, u, plant), Status::kOk);
  }
};

}  // namespace

TEST(CommandIntegrator, when_four_bar_follows_expect_commands_on_the_manifold)
{
  DrivenFourBar robot("0.6*(1 - cos(2*t))");
  ASSERT_EQ(robot.commands.position(), robot.q);
  double worst = 0.0;
  double residual = 0.0;
  double jump = 0.0;
  for (int i = 0; i < 3000; ++i)
  {
    const Eigen::VectorXd before = robot.commands.position();
    robot.step();
    if (HasFatalFailure())
    {
      return;
    }
    EXPECT_EQ(robot.status, Status::kOk) << i;
    jump = std::max(jump, (robot.commands.position() - before).cwiseAbs().maxCoeff());
    residual = std::max(residual, robot.residual());
    const double t = robot.state.time;
    worst =
      i > 1500 ? std::max(worst, std::abs(robot.q(0) - 0.6 * (1.0 - std::cos(2.0 * t)))) : worst;
  }
  std::cout << "tracking error " << worst << " rad, residual " << residual << "\n";
  // The projection's own tolerance.
  EXPECT_LT(residual, 1e-9);
  // 1.2 rad/s at most, and twice that at the other joints.
  EXPECT_LT(jump, 3.0 * 1.3 * kPeriod);
  // The lag of the drive acts as a disturbance of 2.4 rad/s² · 20 ms · rates, over stiffness 100.
  EXPECT_LT(worst, 0.03);
}

TEST(CommandIntegrator, when_robot_is_blocked_expect_bounded_commands_and_a_soft_release)
{
  DrivenFourBar robot("0.8");
  double largest = 0.0;
  for (int i = 0; i < 1500; ++i)
  {
    robot.step(true);
    if (HasFatalFailure())
    {
      return;
    }
    largest = std::max(largest, std::abs(robot.commands.position()(0) - robot.q(0)));
  }
  EXPECT_EQ(robot.status, Status::kLimited);
  // The bound holds before the projection, which moves the commands a little along the loop.
  EXPECT_LT(largest, 0.1 * 1.05);
  EXPECT_GT(largest, 0.05);
  double jump = 0.0;
  for (int i = 0; i < 3000; ++i)
  {
    const double before = robot.commands.position()(0);
    robot.step();
    if (HasFatalFailure())
    {
      return;
    }
    jump = std::max(jump, std::abs(robot.commands.position()(0) - before));
  }
  // At most the bounded deviation over the drive's lag, i.e. 5 rad/s, and the bounded speed.
  EXPECT_LT(jump, (0.1 / kDriveLag + 1.0) * 1.1 * kPeriod);
  EXPECT_NEAR(robot.q(0), 0.8, 1e-3);
}

// A drive that deviates by d from its command, in a task of stiffness k: the error is d/(k T²).
TEST(CommandIntegrator, when_drive_deviates_under_load_expect_stated_error_and_no_drift)
{
  CommandIntegratorOptions options;
  options.join_time = 0.2;
  Robot robot(
    Scenario::from_text(
      "system: {urdf: " + std::string(CD_TEST_ROBOTS) +
      "/pendulum.urdf}\n"
      "servo: [{name: hold, type: joint, joint: swing, stiffness: 100, reference: {kind: constant, "
      "value: 0.3}}]\n"),
    options);
  Eigen::VectorXd q = robot.state.q;
  Eigen::VectorXd u = robot.state.u;
  const double deviation = 0.01;
  const unsigned seed = 3;
  std::cout << "seed " << seed << "\n";
  std::mt19937_64 generator(seed);
  std::normal_distribution<double> normal;
  double mean = 0.0;
  constexpr int kCount = 20000;
  for (int i = 0; i < 2 * kCount; ++i)
  {
    const Eigen::VectorXd noise = Eigen::VectorXd::Constant(1, 1e-4 * normal(generator));
    robot.command(q + noise, u + 10.0 * noise);
    if (HasFatalFailure())
    {
      return;
    }
    u = (robot.commands.position() - q - Eigen::VectorXd::Constant(1, deviation)) / kDriveLag;
    q += kPeriod * u;
    mean += i >= kCount ? (q(0) - 0.3) / kCount : 0.0;
  }
  // With samples of period h, T is h/(exp(h/T) − 1). The noise leaves some 1e-6 rad of the mean.
  const double join_time = kPeriod / std::expm1(kPeriod / options.join_time);
  EXPECT_NEAR(mean, -deviation / (100.0 * join_time * join_time), 5e-6);
}

TEST(CommandIntegrator, when_arm_moves_on_a_wall_expect_commands_on_the_wall)
{
  Robot robot(Scenario::load(std::string(CD_TEST_DATA) + "/arm_on_wall.yaml"));
  Eigen::VectorXd q = robot.state.q;
  Eigen::VectorXd u = robot.state.u;
  double residual = 0.0;
  double worst = 0.0;
  double travel = 0.0;
  for (int i = 0; i < 2500; ++i)
  {
    robot.command(q, u);
    if (HasFatalFailure())
    {
      return;
    }
    u = (robot.commands.position() - q) / kDriveLag;
    q += kPeriod * u;
    residual = std::max(residual, robot.residual());
    const System & system = robot.scenario.system();
    FrameKinematics tip;
    ASSERT_EQ(
      robot.scenario.dynamics()->set_state(robot.state.time, q, u, robot.workspace), Status::kOk);
    system.frame_kinematics(robot.workspace.system_data(), system.frame_index("tip"), tip);
    const double t = robot.state.time;
    const Eigen::Vector2d wanted(0.1 * std::sin(t), 0.55 + 0.05 * std::sin(2.0 * t));
    travel = std::max(travel, std::abs(tip.position.y()));
    worst = t > 2.0 ? std::max(worst, (tip.position.tail<2>() - wanted).norm()) : worst;
  }
  std::cout << "tip off its curve by " << worst << " m, residual " << residual << "\n";
  EXPECT_LT(residual, 1e-9);
  EXPECT_GT(travel, 0.09);
  EXPECT_LT(worst, 5e-3);
}

TEST(CommandIntegrator, when_called_in_a_cycle_expect_no_allocation_and_statuses)
{
  Robot robot(four_bar("0"));
  const Eigen::VectorXd zero = Eigen::VectorXd::Zero(3);
  const Eigen::VectorXd q = robot.state.q;
  const long before = allocation_count();
  const Status status = robot.commands.update(0.0, kPeriod, q, zero, zero);
  EXPECT_EQ(allocation_count(), before);
  EXPECT_EQ(status, Status::kOk);
  const Eigen::VectorXd kept = robot.commands.position();
  const Eigen::VectorXd bad =
    Eigen::VectorXd::Constant(3, std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(robot.commands.update(0.0, kPeriod, q, zero, bad), Status::kNonFiniteInput);
  EXPECT_EQ(robot.commands.update(0.0, 0.0, q, zero, zero), Status::kNonFiniteInput);
  EXPECT_EQ(robot.commands.update(0.0, kPeriod, q, zero.head(2), zero), Status::kSizeMismatch);
  EXPECT_EQ(robot.commands.position(), kept);
  CommandIntegrator fresh(robot.scenario.dynamics());
  EXPECT_EQ(fresh.update(0.0, kPeriod, q, zero, zero), Status::kNoState);
  CommandIntegratorOptions options;
  options.join_time = 0.0;
  EXPECT_THROW(CommandIntegrator(robot.scenario.dynamics(), options), std::invalid_argument);
  EXPECT_THROW(CommandIntegrator(nullptr), std::invalid_argument);
}

}  // namespace constrained_dynamics::test
