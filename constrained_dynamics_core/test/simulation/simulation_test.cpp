// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/simulation/simulation.hpp"

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <Eigen/Dense>

#include "constrained_dynamics/constraints/formula_constraint.hpp"
#include "constrained_dynamics/model/analytic_system.hpp"
#include "support/allocation_counter.hpp"

namespace constrained_dynamics
{
namespace
{

/// Point mass on a rod of length 1, from (−1, 0) at rest (IFToMM A01), in Cartesian coordinates.
std::shared_ptr<const Dynamics> pendulum(
  Stabilisation stabilisation, const std::string & row = "(x^2 + y^2 - 1)/2")
{
  AnalyticDescription description;
  description.coordinates = {"x", "y"};
  description.kinetic = "(dx^2 + dy^2)/2";
  description.potential = "9.81*y";
  description.inputs = {{"push", {{"x", "1"}}}};
  auto system = make_analytic_system(description);
  std::vector<std::shared_ptr<const Constraint>> constraints = {std::make_shared<FormulaConstraint>(
    "rod", *system, RowLevel::kPosition, std::vector<std::string>{row})};
  DynamicsOptions options;
  options.stabilisation = std::move(stabilisation);
  return std::make_shared<Dynamics>(ConstraintSet(system, constraints), options);
}

State start_state()
{
  State state;
  state.q = Eigen::Vector2d(-1.0, 0.0);
  state.u = Eigen::Vector2d::Zero();
  return state;
}

// IFToMM A01 at t = 10 s, computed with 25 digits independently of this project.
const Eigen::Vector2d kEnd(-0.27508746257612, -0.96141920509913);
constexpr double kTension = 28.294567206067;

double error_at_end(Integrator integrator, double step)
{
  SimulationOptions options;
  options.integrator = integrator;
  options.step = step;
  Simulation simulation(pendulum(Stabilisation::projection()), options);
  simulation.start(start_state());
  const RunResult result = simulation.run(10.0, 1.0, [](const Simulation &) { return true; });
  EXPECT_TRUE(result.completed);
  EXPECT_EQ(simulation.state().time, 10.0);
  return (simulation.state().q - kEnd).norm();
}

TEST(Simulation, when_step_is_halved_expect_fourth_order)
{
  for (const Integrator integrator : {Integrator::kRk4, Integrator::kKuttaMerson})
  {
    // Coarser steps than these are not asymptotic yet: ten seconds are five swings.
    const double coarse = error_at_end(integrator, 0.00125);
    const double fine = error_at_end(integrator, 0.000625);
    EXPECT_NEAR(std::log2(coarse / fine), 4.0, 0.15) << to_string(integrator);
    EXPECT_LE(fine, 1e-10) << to_string(integrator);
  }
}

TEST(Simulation, when_adaptive_expect_the_published_end_and_force)
{
  SimulationOptions options;
  options.integrator = Integrator::kDopri5;
  options.absolute_tolerance = 1e-12;
  options.relative_tolerance = 1e-12;
  Simulation simulation(pendulum(Stabilisation::projection()), options);
  simulation.start(start_state());
  std::vector<double> times;
  double largest_violation = 0.0;
  const RunResult result = simulation.run(
    10.0, 0.3,
    [&](const Simulation & at)
    {
      times.push_back(at.state().time);
      const Rows & rows = at.workspace().rows();
      largest_violation =
        std::max({largest_violation, std::abs(rows.position(0)), std::abs(rows.velocity(0))});
      return true;
    });
  ASSERT_TRUE(result.completed);
  EXPECT_EQ(times.size(), 35u);
  EXPECT_EQ(times.front(), 0.0);
  EXPECT_EQ(times.back(), 10.0);
  EXPECT_NEAR(times[7], 2.1, 1e-12);
  EXPECT_LE((simulation.state().q - kEnd).norm(), 1e-9);
  // φ = (x² + y² − 1)/2, so that λ = −tension at unit length.
  EXPECT_NEAR(simulation.workspace().solution().multipliers(0), -kTension, 1e-8);
  EXPECT_LE(largest_violation, 1e-14);
  EXPECT_NEAR(simulation.kinetic_energy() + simulation.potential_energy(), 0.0, 1e-9);
}

TEST(Simulation, when_end_is_off_the_grid_expect_it_reached_exactly)
{
  SimulationOptions options;
  options.step = 0.01;
  Simulation simulation(pendulum(Stabilisation::projection()), options);
  simulation.start(start_state());
  std::vector<double> times;
  const RunResult result = simulation.run(
    0.1234, 0.05,
    [&](const Simulation & at)
    {
      times.push_back(at.state().time);
      return true;
    });
  EXPECT_TRUE(result.completed);
  EXPECT_EQ(result.steps, 13);
  ASSERT_EQ(times.size(), 4u);
  EXPECT_NEAR(times[1], 0.05, 1e-15);
  EXPECT_EQ(times[3], 0.1234);
}

TEST(Simulation, when_observer_says_no_expect_the_run_to_stop)
{
  Simulation simulation(pendulum(Stabilisation::projection()));
  simulation.start(start_state());
  int calls = 0;
  const RunResult result =
    simulation.run(10.0, 0.1, [&](const Simulation &) { return ++calls < 4; });
  EXPECT_TRUE(result.completed);
  EXPECT_EQ(calls, 4);
  EXPECT_NEAR(result.time, 0.3, 1e-12);
}

TEST(Simulation, when_nothing_stabilises_expect_drift_and_with_gains_less)
{
  const auto drift = [](Stabilisation stabilisation)
  {
    SimulationOptions options;
    options.step = 0.01;
    Simulation simulation(pendulum(std::move(stabilisation)), options);
    simulation.start(start_state());
    EXPECT_TRUE(simulation.run(20.0, 1.0, [](const Simulation &) { return true; }).completed);
    return std::abs(simulation.state().q.norm() - 1.0);
  };
  const double none = drift(Stabilisation::none());
  const double gains = drift(Stabilisation::baumgarte(-20.0, -100.0, 0.0));
  const double following = drift(Stabilisation::baumgarte_for_step(0.01));
  const double projected = drift(Stabilisation::projection());
  EXPECT_GT(none, 1e-5);
  EXPECT_LT(gains, 0.1 * none);
  EXPECT_LT(following, 0.1 * none);
  EXPECT_LT(projected, 1e-15);
}

class Push : public InputLaw
{
public:
  Status evaluate(const System &, SystemData & data, VectorRef inputs) noexcept override
  {
    inputs(0) = data.terms.time < 0.05 ? 1.0 : std::numeric_limits<double>::quiet_NaN();
    return Status::kOk;
  }
};

TEST(Simulation, when_inputs_become_nan_expect_the_last_good_state)
{
  SimulationOptions options;
  options.step = 0.01;
  Simulation simulation(pendulum(Stabilisation::projection()), options, std::make_shared<Push>());
  simulation.start(start_state());
  const RunResult result = simulation.run(1.0, 0.1, [](const Simulation &) { return true; });
  EXPECT_FALSE(result.completed);
  EXPECT_EQ(result.status, Status::kNonFiniteInput);
  EXPECT_NEAR(result.time, 0.04, 1e-12);
  EXPECT_TRUE(simulation.state().q.allFinite());
  const State before = simulation.state();
  EXPECT_EQ(simulation.step(), Status::kNonFiniteInput);
  EXPECT_EQ(simulation.state().q, before.q);
  EXPECT_EQ(simulation.state().u, before.u);
  EXPECT_EQ(simulation.state().time, before.time);
}

TEST(Simulation, when_stepping_expect_no_allocation_and_no_lock)
{
  if (!test::counts_allocations())
  {
    GTEST_SKIP() << "the sanitizer has its own allocator";
  }
  for (const Integrator integrator : {Integrator::kRk4, Integrator::kKuttaMerson})
  {
    SimulationOptions options;
    options.integrator = integrator;
    Simulation simulation(pendulum(Stabilisation::projection()), options);
    simulation.start(start_state());
    const long before = test::allocation_count();
    const long locks = test::lock_count();
    for (int i = 0; i < 1000; ++i)
    {
      ASSERT_EQ(simulation.step(), Status::kOk);
    }
    EXPECT_EQ(test::allocation_count() - before, 0);
    EXPECT_EQ(test::lock_count() - locks, 0);
    EXPECT_EQ(simulation.state().time, 1.0);
  }
}

TEST(Simulation, when_run_twice_expect_the_same_bits)
{
  for (const Integrator integrator : {Integrator::kRk4, Integrator::kDopri5})
  {
    std::vector<double> ends;
    for (int i = 0; i < 2; ++i)
    {
      SimulationOptions options;
      options.integrator = integrator;
      Simulation simulation(pendulum(Stabilisation::projection()), options);
      simulation.start(start_state());
      EXPECT_TRUE(simulation.run(1.0, 0.1, [](const Simulation &) { return true; }).completed);
      ends.push_back(simulation.state().q(0));
    }
    EXPECT_EQ(ends[0], ends[1]);
  }
}

TEST(Simulation, when_rows_cannot_be_kept_expect_a_status_not_a_wrong_run)
{
  // The row asks for a radius that shrinks to nothing at t = 1 s and has no meaning after it.
  Simulation simulation(pendulum(Stabilisation::projection(), "x^2 + y^2 - (1 - t)"));
  simulation.start(start_state());
  const RunResult result = simulation.run(2.0, 0.1, [](const Simulation &) { return true; });
  EXPECT_FALSE(result.completed);
  EXPECT_FALSE(has_output(result.status)) << to_string(result.status);
  EXPECT_LE(result.time, 1.001);
  EXPECT_TRUE(simulation.state().q.allFinite() && simulation.state().u.allFinite());
}

TEST(Simulation, when_options_are_bad_expect_refusal)
{
  const double nan = std::nan("");
  for (const double step : {0.0, -1.0, nan, std::numeric_limits<double>::infinity()})
  {
    SimulationOptions options;
    options.step = step;
    EXPECT_THROW(Simulation(pendulum(Stabilisation::none()), options), std::invalid_argument);
  }
  EXPECT_THROW(Simulation(nullptr), std::invalid_argument);
  Simulation simulation(pendulum(Stabilisation::none()));
  State wrong = start_state();
  wrong.q.resize(3);
  EXPECT_THROW(simulation.start(wrong), std::invalid_argument);
  simulation.start(start_state());
  const auto always = [](const Simulation &) { return true; };
  EXPECT_THROW(simulation.run(-1.0, 0.1, always), std::invalid_argument);
  EXPECT_THROW(simulation.run(nan, 0.1, always), std::invalid_argument);
  EXPECT_THROW(simulation.run(1.0, 0.0, always), std::invalid_argument);
}

}  // namespace
}  // namespace constrained_dynamics
