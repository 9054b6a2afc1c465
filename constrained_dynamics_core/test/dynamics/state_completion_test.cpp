// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/dynamics/state_completion.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include <gmock/gmock.h>

#include "constrained_dynamics/scenario/scenario.hpp"
#include "support/allocation_counter.hpp"

namespace cd = constrained_dynamics;
using ::testing::HasSubstr;

namespace
{

const std::string kConfig = CD_CONFIG;

std::vector<bool> flags(
  const std::vector<std::string> & names, const std::vector<std::string> & measured)
{
  std::vector<bool> result;
  for (const std::string & name : names)
  {
    result.push_back(std::find(measured.begin(), measured.end(), name) != measured.end());
  }
  return result;
}

std::string refusal(const std::function<void()> & call)
{
  try
  {
    call();
  }
  catch (const std::invalid_argument & error)
  {
    return error.what();
  }
  return "";
}

/// A four-bar whose crank alone has a sensor.
struct FourBar
{
  cd::Scenario scenario = cd::Scenario::load(kConfig + "/scenarios/four_bar.yaml");
  cd::Workspace workspace = cd::Workspace::unanalysed(*scenario.dynamics());
  cd::StateCompletion completion{
    scenario.dynamics(), flags(scenario.system().coordinate_names(), {"crank"}),
    flags(scenario.system().speed_names(), {"dcrank"})};
};

}  // namespace

// The motion of the whole mechanism from its crank: every state of a simulated run is found again.
TEST(StateCompletion, when_only_the_crank_is_measured_expect_the_state_of_the_run)
{
  FourBar robot;
  const auto simulation = robot.scenario.make_simulation();
  cd::State guess = simulation->state();
  guess.q.tail(2) *= 1.01;
  guess.u.tail(2).setZero();
  robot.completion.start(guess, robot.workspace);
  EXPECT_LT((guess.q - simulation->state().q).norm(), 1e-9);
  Eigen::VectorXd q = guess.q;
  Eigen::VectorXd u = guess.u;
  const Eigen::Index crank = robot.scenario.system().coordinate_index("crank");
  for (int i = 0; i < 2000; ++i)
  {
    ASSERT_EQ(simulation->step(), cd::Status::kOk);
    q(crank) = simulation->state().q(crank);
    u(crank) = simulation->state().u(crank);
    ASSERT_EQ(
      robot.completion.complete(simulation->state().time, q, u, robot.workspace), cd::Status::kOk)
      << i;
    ASSERT_LT((q - simulation->state().q).cwiseAbs().maxCoeff(), 1e-9) << i;
    ASSERT_LT((u - simulation->state().u).cwiseAbs().maxCoeff(), 1e-8 * (1.0 + u.norm())) << i;
  }
}

// Two sensors that contradict each other by their noise: a close state, never a failure.
TEST(StateCompletion, when_sensors_contradict_expect_least_squares)
{
  FourBar robot;
  const auto & system = robot.scenario.system();
  cd::StateCompletion completion(
    robot.scenario.dynamics(), flags(system.coordinate_names(), {"crank", "rocker"}),
    flags(system.speed_names(), {"dcrank", "drocker"}));
  cd::State state = robot.scenario.initial();
  const Eigen::VectorXd exact = state.q;
  state.q(system.coordinate_index("rocker")) += 1e-4;
  Eigen::VectorXd q = state.q;
  Eigen::VectorXd u = state.u;
  ASSERT_EQ(completion.complete(0.0, q, u, robot.workspace), cd::Status::kOk);
  EXPECT_LT((q - exact).norm(), 1e-3);
  // Stationary: the rows' error is orthogonal to what the free joint can do.
  ASSERT_EQ(
    robot.scenario.dynamics()->evaluate_rows(
      0.0, q, Eigen::VectorXd::Zero(system.speed_count()), robot.workspace),
    cd::Status::kOk);
  const Eigen::Index coupler = system.coordinate_index("coupler");
  EXPECT_NEAR(
    robot.workspace.rows().jacobian.col(coupler).dot(robot.workspace.rows().position), 0.0, 1e-12);
}

TEST(StateCompletion, when_no_row_determines_a_joint_expect_its_name)
{
  FourBar robot;
  const auto & system = robot.scenario.system();
  cd::StateCompletion completion(
    robot.scenario.dynamics(), flags(system.coordinate_names(), {}),
    flags(system.speed_names(), {}));
  cd::State state = robot.scenario.initial();
  EXPECT_THAT(
    refusal([&] { completion.start(state, robot.workspace); }),
    AllOf(HasSubstr("dcrank"), HasSubstr("no sensor")));
}

TEST(StateCompletion, when_the_input_is_bad_expect_a_status_and_nothing_changed)
{
  FourBar robot;
  cd::State state = robot.scenario.initial();
  robot.completion.start(state, robot.workspace);
  Eigen::VectorXd q = state.q;
  Eigen::VectorXd u = state.u;
  q(0) = std::nan("");
  const Eigen::VectorXd before = q.tail(2);
  EXPECT_EQ(robot.completion.complete(0.0, q, u, robot.workspace), cd::Status::kNonFiniteInput);
  EXPECT_EQ(q.tail(2), before);
  Eigen::VectorXd shorter = Eigen::VectorXd::Zero(2);
  EXPECT_EQ(robot.completion.complete(0.0, shorter, u, robot.workspace), cd::Status::kSizeMismatch);
  EXPECT_THAT(
    refusal([&] { cd::StateCompletion(robot.scenario.dynamics(), {true}, {true}); }),
    HasSubstr("1 flags for 3 coordinates"));
}

// The planar loop cannot be closed beyond the reach of its links.
TEST(StateCompletion, when_the_loop_cannot_close_expect_the_row)
{
  FourBar robot;
  const auto & system = robot.scenario.system();
  cd::StateCompletion completion(
    robot.scenario.dynamics(), flags(system.coordinate_names(), {"crank", "coupler"}),
    flags(system.speed_names(), {"dcrank", "dcoupler"}));
  cd::State state = robot.scenario.initial();
  state.q(system.coordinate_index("coupler")) += 1.5;
  EXPECT_THAT(refusal([&] { completion.start(state, robot.workspace); }), HasSubstr("loop/"));
}

TEST(StateCompletion, when_a_cycle_runs_expect_no_allocation)
{
  FourBar robot;
  cd::State state = robot.scenario.initial();
  robot.completion.start(state, robot.workspace);
  const long before = cd::test::allocation_count() + cd::test::lock_count();
  cd::Status status = cd::Status::kOk;
  for (int i = 0; i < 100; ++i)
  {
    state.q(0) += 1e-3;
    status = robot.completion.complete(0.0, state.q, state.u, robot.workspace);
  }
  EXPECT_EQ(cd::test::allocation_count() + cd::test::lock_count() - before, 0);
  EXPECT_EQ(status, cd::Status::kOk);
}
