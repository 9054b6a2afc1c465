// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// The integrator for stiff systems.

#include <algorithm>
#include <cmath>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "constrained_dynamics/scenario/scenario.hpp"
#include "constrained_dynamics/simulation/simulation.hpp"
#include "support/recorded_run.hpp"

namespace constrained_dynamics::test
{
namespace
{

using Eigen::VectorXd;

/// The end of a run of a scenario.
struct End
{
  RunResult result;
  State state;
  std::vector<ContactEvent> events;
};

End run(const Scenario & scenario, double until)
{
  const std::unique_ptr<Simulation> simulation = scenario.make_simulation();
  End end;
  end.result = simulation->run(until, until, [](const Simulation &) { return true; });
  end.state = simulation->state();
  end.events = simulation->events();
  return end;
}

std::vector<std::string> with(const std::string & integrator, double tolerance)
{
  const std::string value = std::to_string(tolerance * 1e12) + "e-12";
  return {
    "run.integrator=" + integrator, "run.absolute_tolerance=" + value,
    "run.relative_tolerance=" + value};
}

}  // namespace

TEST(Rodas, when_a_damper_dominates_expect_the_closed_form_in_few_steps)
{
  // x'' = −k x − c x' with k = 2e6, c = 1e6: rates 2.000004 and −1e6 of the slow and fast parts.
  const Scenario scenario = Scenario::from_text(
    "system: {coordinates: [x], kinetic: dx^2/2, potential: 1e6*x^2, force: {x: -1e6*dx}}\n"
    "initial: {q: {x: 1}, u: {dx: 0}}\n"
    "run: {until: 1, integrator: rodas, absolute_tolerance: 1e-9, relative_tolerance: 1e-9}\n");
  const End end = run(scenario, 1.0);
  EXPECT_EQ(end.result.status, Status::kOk);
  const double root = std::sqrt(1e12 - 8e6);
  const double slow = -4e6 / (1e6 + root);  // (−c + root)/2 without cancellation
  const double fast = -0.5 * (1e6 + root);
  const double x = (-fast * std::exp(slow) + slow * std::exp(fast)) / (slow - fast);
  EXPECT_NEAR(end.state.q(0), x, 1e-8);
  EXPECT_NEAR(end.state.u(0), slow * x, 1e-7);
  EXPECT_LE(end.result.steps, 1000);  // explicit: 3e5 for stability
}

TEST(Rodas, when_the_governor_runs_expect_the_motion_of_dopri5_in_a_fiftieth_of_its_steps)
{
  const double until = 1.0;
  const End reference = run(repository_scenario("flyball_governor", with("dopri5", 1e-10)), until);
  const End coarse = run(repository_scenario("flyball_governor", with("rodas", 1e-6)), until);
  const End fine = run(repository_scenario("flyball_governor", with("rodas", 1e-9)), until);
  ASSERT_EQ(reference.result.status, Status::kOk);
  ASSERT_EQ(coarse.result.status, Status::kOk);
  ASSERT_EQ(fine.result.status, Status::kOk);
  const auto error = [&](const End & end)
  { return (end.state.q - reference.state.q).cwiseAbs().maxCoeff(); };
  std::cout << "steps " << reference.result.steps << ", " << coarse.result.steps << " error "
            << error(coarse) << ", " << fine.result.steps << " error " << error(fine) << "\n";
  EXPECT_GE(reference.result.steps, 50 * coarse.result.steps);
  EXPECT_LE(error(coarse), 1e-4);
  EXPECT_LE(error(fine), 1e-7);
}

TEST(Rodas, when_the_governor_runs_to_its_end_expect_at_most_2000_steps)
{
  const Scenario scenario = repository_scenario("flyball_governor", with("rodas", 1e-7));
  const std::unique_ptr<Simulation> simulation = scenario.make_simulation();
  double least = 1e300;
  double most = -1e300;
  const auto observer = [&](const Simulation & now)
  {
    VectorXd observed(2);
    EXPECT_EQ(scenario.observe(now.workspace(), now.inputs(), observed), Status::kOk);
    least = std::min(least, observed(1));
    most = std::max(most, observed(1));
    return true;
  };
  const RunResult result = simulation->run(10.0, 0.01, observer);
  EXPECT_EQ(result.status, Status::kOk);
  EXPECT_LE(result.steps, 2000);
  EXPECT_LE(most - least, 1e-5 * most);  // angular momentum
}

TEST(Rodas, when_a_pendulum_swings_expect_the_benchmark)
{
  const End end = run(repository_scenario("iftomm_pendulum", with("rodas", 1e-11)), 2.0);
  ASSERT_EQ(end.result.status, Status::kOk);
  EXPECT_NEAR(end.state.q(0), -0.79356619534332, 1e-8);
  EXPECT_NEAR(end.state.q(1), -0.60848393044379, 1e-8);
}

TEST(Rodas, when_a_ball_bounces_expect_the_instants_of_the_impacts)
{
  // From 1 m with e = 0.8.
  const End end = run(repository_scenario("bouncing_ball", with("rodas", 1e-10)), 2.0);
  ASSERT_EQ(end.result.status, Status::kOk);
  ASSERT_GE(end.events.size(), 2u);
  EXPECT_NEAR(end.events[0].time, 0.451523640986, 1e-9);
  EXPECT_NEAR(end.events[0].speed_before, -4.42944691807, 1e-8);
  EXPECT_NEAR(end.events[1].time, 0.451523640986 * (1.0 + 2.0 * 0.8), 1e-8);
}

TEST(Rodas, when_constraints_close_a_loop_expect_the_run_of_dopri5)
{
  const End a = run(repository_scenario("four_bar", with("dopri5", 1e-11)), 1.0);
  const End b = run(repository_scenario("four_bar", with("rodas", 1e-10)), 1.0);
  ASSERT_EQ(b.result.status, Status::kOk);
  EXPECT_LE((a.state.q - b.state.q).cwiseAbs().maxCoeff(), 1e-7);
}

TEST(Radau, when_a_damper_dominates_expect_the_closed_form_in_few_steps)
{
  // The motion of the test of rodas.
  const Scenario scenario = Scenario::from_text(
    "system: {coordinates: [x], kinetic: dx^2/2, potential: 1e6*x^2, force: {x: -1e6*dx}}\n"
    "initial: {q: {x: 1}, u: {dx: 0}}\n"
    "run: {until: 1, integrator: radau, absolute_tolerance: 1e-9, relative_tolerance: 1e-9}\n");
  const End end = run(scenario, 1.0);
  EXPECT_EQ(end.result.status, Status::kOk);
  const double root = std::sqrt(1e12 - 8e6);
  const double slow = -4e6 / (1e6 + root);
  const double fast = -0.5 * (1e6 + root);
  const double x = (-fast * std::exp(slow) + slow * std::exp(fast)) / (slow - fast);
  // A tenth of the tolerance of the run, and of that times the rate 2.
  EXPECT_NEAR(end.state.q(0), x, 1e-10);
  EXPECT_NEAR(end.state.u(0), slow * x, 2e-10);
  EXPECT_LE(end.result.steps, 100);
}

TEST(Radau, when_the_governor_runs_expect_2000_steps_for_the_error_of_dopri5)
{
  // dopri5 takes 45 421 steps at a tolerance of 1e-10, and ends with this error.
  constexpr double kErrorOfDopri5 = 1.5e-11;
  const auto at_end = [](const char * integrator, double tolerance)
  { return run(repository_scenario("flyball_governor", with(integrator, tolerance)), 10.0); };
  const End reference = at_end("radau", 1e-13);
  const End radau = at_end("radau", 1e-10);
  ASSERT_EQ(reference.result.status, Status::kOk);
  ASSERT_EQ(radau.result.status, Status::kOk);
  const double error = (radau.state.q - reference.state.q).cwiseAbs().maxCoeff();
  std::cout << "radau: " << radau.result.steps << " steps, error " << error << "; reference "
            << reference.result.steps << " steps\n";
  EXPECT_LE(radau.result.steps, 2000);
  EXPECT_LE(error, kErrorOfDopri5);
}

TEST(Radau, when_a_pendulum_swings_expect_the_benchmark)
{
  const End end = run(repository_scenario("iftomm_pendulum", with("radau", 1e-11)), 2.0);
  ASSERT_EQ(end.result.status, Status::kOk);
  EXPECT_NEAR(end.state.q(0), -0.79356619534332, 1e-10);
  EXPECT_NEAR(end.state.q(1), -0.60848393044379, 1e-10);
}

TEST(Radau, when_a_ball_bounces_expect_the_instants_of_the_impacts)
{
  const End end = run(repository_scenario("bouncing_ball", with("radau", 1e-10)), 2.0);
  ASSERT_EQ(end.result.status, Status::kOk);
  ASSERT_GE(end.events.size(), 2u);
  EXPECT_NEAR(end.events[0].time, 0.451523640986, 1e-9);
  EXPECT_NEAR(end.events[0].speed_before, -4.42944691807, 1e-8);
  EXPECT_NEAR(end.events[1].time, 0.451523640986 * (1.0 + 2.0 * 0.8), 1e-8);
}

TEST(Radau, when_constraints_close_a_loop_expect_the_run_of_dopri5)
{
  const End a = run(repository_scenario("four_bar", with("dopri5", 1e-12)), 1.0);
  const End b = run(repository_scenario("four_bar", with("radau", 1e-10)), 1.0);
  ASSERT_EQ(b.result.status, Status::kOk);
  EXPECT_LE((a.state.q - b.state.q).cwiseAbs().maxCoeff(), 1e-9);
  EXPECT_LE(b.result.energy.relative_error(), 1e-8);
}

}  // namespace constrained_dynamics::test
