// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/simulation/rollout.hpp"

#include <cstdio>
#include <limits>
#include <memory>
#include <random>
#include <string>

#include <gmock/gmock.h>

#include "constrained_dynamics/model/analytic_system.hpp"
#include "constrained_dynamics/scenario/scenario.hpp"
#include "support/reference_data.hpp"

namespace constrained_dynamics::test
{
namespace
{

constexpr unsigned kSeed = 19;

/// Starts around the initial state of a scenario: speeds differ, along the constraints.
RowMatrix starts(const Scenario & scenario, int count)
{
  std::mt19937_64 random(kSeed);
  std::uniform_real_distribution<double> uniform(-0.3, 0.3);
  const State & initial = scenario.initial();
  const Eigen::Index nq = initial.q.size();
  RowMatrix states(count, nq + initial.u.size());
  Workspace workspace(*scenario.dynamics(), initial);
  scenario.switch_constraints(workspace);
  for (int i = 0; i < count; ++i)
  {
    Eigen::VectorXd u = initial.u;
    for (double & speed : u)
    {
      speed += uniform(random);
    }
    EXPECT_EQ(
      scenario.dynamics()->project_velocity(initial.time, initial.q, u, workspace), Status::kOk);
    states.row(i) << initial.q.transpose(), u.transpose();
  }
  return states;
}

RolloutOptions options_for(const Scenario & scenario, Integrator integrator)
{
  RolloutOptions options;
  options.integrator = integrator;
  options.contacts = scenario.contacts();
  return options;
}

const RowMatrix kNone(0, 0);

/// Steps one after the other, with a simulation of its own.
RowMatrix alone(
  const Scenario & scenario, const RolloutOptions & options, const ConstRowMatrixRef & start,
  long steps)
{
  SimulationOptions simulated;
  simulated.integrator = options.integrator;
  simulated.step = options.step;
  Simulation simulation(scenario.dynamics(), simulated, nullptr, options.contacts);
  const Eigen::Index nq = scenario.initial().q.size();
  simulation.start({0.0, start.row(0).head(nq), start.row(0).tail(start.cols() - nq)});
  RowMatrix states(steps, start.cols());
  for (long k = 0; k < steps; ++k)
  {
    EXPECT_TRUE(has_output(simulation.step()));
    states.row(k) << simulation.state().q.transpose(), simulation.state().u.transpose();
  }
  return states;
}

class Rollouts : public testing::TestWithParam<std::pair<const char *, Integrator>>
{
};

TEST_P(Rollouts, when_threads_differ_expect_the_same_bits_as_alone)
{
  const auto & [name, integrator] = GetParam();
  if (std::string(name) == "solo12_drop" && std::string(CD_EXAMPLE_ROBOT_DATA).empty())
  {
    GTEST_SKIP() << "example-robot-data is not installed";
  }
  std::printf("seed %u\n", kSeed);
  constexpr int kRuns = 4;
  // Until the feet have struck; the steps that locate these events take long.
  constexpr long kSteps = 104;
  const Scenario scenario = load_scenario(name);
  const RowMatrix states = starts(scenario, kRuns);
  RolloutOptions options = options_for(scenario, integrator);
  const RolloutResult one = rollout(scenario.dynamics(), states, kNone, kSteps, options);
  for (int run = 0; run < kRuns; ++run)
  {
    const auto index = static_cast<std::size_t>(run);
    EXPECT_TRUE(has_output(one.status[index])) << to_string(one.status[index]);
    EXPECT_EQ(one.steps[index], kSteps);
    // Matrices are too large to be printed.
    EXPECT_TRUE(
      one.states.middleRows(run * kSteps, kSteps) ==
      alone(scenario, options, states.middleRows(run, 1), kSteps))
      << "run " << run;
  }
  for (const int threads : {2, 3, 0})
  {
    options.threads = threads;
    const RolloutResult many = rollout(scenario.dynamics(), states, kNone, kSteps, options);
    EXPECT_TRUE(many.states == one.states) << threads << " threads";
    EXPECT_EQ(many.status, one.status);
  }
}

INSTANTIATE_TEST_SUITE_P(
  Scenarios, Rollouts,
  testing::Values(
    std::pair("four_bar", Integrator::kRk4), std::pair("four_bar", Integrator::kMoreau),
    std::pair("blajer_disk", Integrator::kMoreau), std::pair("solo12_drop", Integrator::kMoreau),
    std::pair("solo12_drop", Integrator::kRk4)),
  [](const auto & of) { return std::string(of.param.first) + "_" + to_string(of.param.second); });

TEST(Rollout, when_every_tenth_is_kept_expect_those_states_and_times)
{
  const Scenario scenario = load_scenario("four_bar");
  const RowMatrix states = starts(scenario, 2);
  RolloutOptions options = options_for(scenario, Integrator::kRk4);
  options.time = 3.0;
  options.with_multipliers = true;
  const RolloutResult all = rollout(scenario.dynamics(), states, kNone, 40, options);
  options.every = 10;
  const RolloutResult few = rollout(scenario.dynamics(), states, kNone, 40, options);
  ASSERT_EQ(few.times.size(), 4);
  ASSERT_EQ(few.states.rows(), 8);
  for (int run = 0; run < 2; ++run)
  {
    for (int k = 0; k < 4; ++k)
    {
      EXPECT_DOUBLE_EQ(few.times(k), 3.0 + 0.01 * (k + 1));
      EXPECT_EQ(few.states.row(4 * run + k), all.states.row(40 * run + 10 * k + 9));
      EXPECT_LE(
        (few.multipliers.row(4 * run + k) - all.multipliers.row(40 * run + 10 * k + 9)).norm(),
        1e-12 * all.multipliers.norm());
    }
  }
  EXPECT_GT(few.multipliers.cwiseAbs().minCoeff(), 0.0);
}

TEST(Rollout, when_inputs_are_given_expect_them_held_in_each_step)
{
  // A mass on a rail with force f: u = Σ h f/m exactly.
  AnalyticDescription description;
  description.coordinates = {"x"};
  description.kinetic = "dx^2";  // m = 2
  description.inputs = {{"push", {{"x", "1"}}}};
  const auto system = make_analytic_system(description);
  const auto dynamics = std::make_shared<const Dynamics>(
    ConstraintSet(system, std::vector<std::shared_ptr<const Constraint>>{}));
  const RowMatrix states = RowMatrix::Zero(2, 2);
  RolloutOptions options;
  options.step = 0.1;
  for (const Integrator integrator : {Integrator::kRk4, Integrator::kMoreau})
  {
    options.integrator = integrator;
    RowMatrix inputs(6, 1);  // three steps of two runs
    inputs << 1, 2, 3, -4, 5, 6;
    const RolloutResult result = rollout(dynamics, states, inputs, 3, options);
    const double expected[] = {0.05, 0.15, 0.30, -0.20, 0.05, 0.35};
    for (int k = 0; k < 6; ++k)
    {
      EXPECT_NEAR(result.states(k, 1), expected[k], 1e-15) << k;
    }
    RowMatrix constant(2, 1);
    constant << 2, -2;
    const RolloutResult held = rollout(dynamics, states, constant, 3, options);
    EXPECT_NEAR(held.states(2, 1), 0.3, 1e-15);
    EXPECT_NEAR(held.states(5, 1), -0.3, 1e-15);
    const RolloutResult same = rollout(dynamics, states, constant.topRows(1), 3, options);
    EXPECT_NEAR(same.states(5, 1), 0.3, 1e-15);
  }
}

TEST(Rollout, when_one_run_fails_expect_the_others_untouched)
{
  const Scenario scenario = load_scenario("four_bar");
  RowMatrix states = starts(scenario, 3);
  RolloutOptions options = options_for(scenario, Integrator::kMoreau);
  const RolloutResult good = rollout(scenario.dynamics(), states, kNone, 20, options);
  const double kept = states(1, 4);
  states(1, 4) = 1e200;  // a speed whose square is beyond all numbers
  const RolloutResult bad = rollout(scenario.dynamics(), states, kNone, 20, options);
  EXPECT_FALSE(has_output(bad.status[1])) << to_string(bad.status[1]);
  EXPECT_EQ(bad.steps[1], 0);
  EXPECT_TRUE(bad.states.allFinite());
  EXPECT_EQ(bad.states.topRows(20), good.states.topRows(20));
  EXPECT_EQ(bad.states.bottomRows(20), good.states.bottomRows(20));
  states(1, 4) = kept;
  RowMatrix inputs = RowMatrix::Zero(60, scenario.system().input_count());
  if (inputs.cols() > 0)
  {
    inputs(25, 0) = std::numeric_limits<double>::quiet_NaN();  // step 5 of run 1
    const RolloutResult halfway = rollout(scenario.dynamics(), states, inputs, 20, options);
    EXPECT_EQ(halfway.status[1], Status::kNonFiniteInput);
    EXPECT_EQ(halfway.steps[1], 5);
    EXPECT_EQ(halfway.states.middleRows(20, 5), good.states.middleRows(20, 5));
    EXPECT_EQ(halfway.states.row(39), good.states.row(24));
    EXPECT_EQ(halfway.states.bottomRows(20), good.states.bottomRows(20));
  }
}

TEST(Rollout, when_stopped_expect_interrupted_runs)
{
  const Scenario scenario = load_scenario("four_bar");
  const std::atomic<bool> stop{true};
  RolloutOptions options = options_for(scenario, Integrator::kMoreau);
  options.stop = &stop;
  const RolloutResult result =
    rollout(scenario.dynamics(), starts(scenario, 2), kNone, 20, options);
  EXPECT_EQ(result.status[0], Status::kInterrupted);
  EXPECT_EQ(result.steps[1], 0);
}

std::string message_of(
  const Scenario & scenario, const RowMatrix & states, const RowMatrix & inputs, long steps,
  const RolloutOptions & options)
{
  try
  {
    static_cast<void>(rollout(scenario.dynamics(), states, inputs, steps, options));
  }
  catch (const std::invalid_argument & error)
  {
    return error.what();
  }
  return "no exception";
}

TEST(Rollout, when_arguments_are_wrong_expect_the_value_and_what_is_allowed)
{
  const Scenario scenario = load_scenario("four_bar");
  const RowMatrix states = starts(scenario, 2);
  const RolloutOptions good = options_for(scenario, Integrator::kRk4);
  const auto with = [&](const auto & change)
  {
    RolloutOptions options = good;
    change(options);
    return options;
  };
  using testing::HasSubstr;
  EXPECT_THAT(
    message_of(scenario, RowMatrix::Zero(2, 5), kNone, 10, good),
    HasSubstr("states have 5 columns; allowed: 6 (3 coordinates and 3 speeds)"));
  EXPECT_THAT(
    message_of(scenario, states, RowMatrix::Zero(7, 1), 10, good),
    HasSubstr("inputs have 7 rows; allowed: 0, 1, 2 (one for each run) and 20"));
  EXPECT_THAT(
    message_of(scenario, states, RowMatrix::Zero(2, 9), 10, good),
    HasSubstr("inputs have 9 columns; allowed: "));
  EXPECT_THAT(
    message_of(scenario, states, kNone, 0, good), HasSubstr("steps is 0; allowed: at least 1"));
  EXPECT_THAT(
    message_of(scenario, states, kNone, 10, with([](auto & o) { o.every = 3; })),
    HasSubstr("every is 3; allowed: divisors of steps, which is 10"));
  EXPECT_THAT(
    message_of(scenario, states, kNone, 10, with([](auto & o) { o.threads = -1; })),
    HasSubstr("threads is -1; allowed: 0 to "));
  EXPECT_THAT(
    message_of(
      scenario, states, kNone, 10, with([](auto & o) { o.integrator = Integrator::kDopri5; })),
    HasSubstr("integrator is dopri5; allowed: rk4, kutta_merson, moreau"));
  EXPECT_THAT(
    message_of(scenario, states, kNone, 10, with([](auto & o) { o.step = 0.0; })),
    HasSubstr("step is 0; allowed: finite and above 0"));
}

}  // namespace
}  // namespace constrained_dynamics::test
