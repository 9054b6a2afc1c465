// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// The spatial slider-crank (benchmark 6) and the heavy top in full coordinates (benchmark 19),
// against equivalent minimal systems, invariants and published solutions.

#include <algorithm>
#include <cmath>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "constrained_dynamics/formulations/registry.hpp"
#include "support/recorded_run.hpp"

namespace constrained_dynamics::test
{
namespace
{

using Names = std::vector<std::string>;

const Names kAccurately = {
  "run.integrator=dopri5", "run.absolute_tolerance=1e-13", "run.relative_tolerance=1e-13"};

void expect_clean(const RecordedRun & run)
{
  EXPECT_TRUE(run.result.completed) << to_string(run.result.status) << " at " << run.result.time;
  EXPECT_EQ(run.result.singular_evaluations, 0);
  EXPECT_EQ(run.result.inconsistent_evaluations, 0);
  EXPECT_LE(run.position_violation, 1e-12);
  EXPECT_LE(run.velocity_violation, 1e-12);
  EXPECT_LE(run.constraint_power, 1e-12);
}

// ---- spatial slider-crank ----------------------------------------------------------------------

TEST(SpatialSliderCrank, when_assembled_expect_the_initial_values_of_the_benchmark)
{
  const RecordedRun run = record(repository_scenario("spatial_slider_crank"), 0.0, 1.0);
  const Sample & start = run.samples.front();
  EXPECT_EQ(start.rank, 7);
  EXPECT_NEAR(start.q(1), 0.2, 1e-15);
  EXPECT_EQ(start.u(0), 6.0);
  EXPECT_NEAR(start.u(1), 0.24, 1e-14);
  const std::vector<std::pair<const char *, double>> expected = {
    {"rod_vx", 0.12}, {"rod_vy", -0.24}, {"rod_vz", 0.0},
    {"rod_wx", 1.92}, {"rod_wy", -0.96}, {"rod_wz", 0.48}};
  for (const auto & [name, value] : expected)
  {
    EXPECT_NEAR(run.observe(start, name), value, 1e-13) << name;
  }
}

TEST(SpatialSliderCrank, when_it_runs_expect_energy_and_motion_of_the_minimal_twin)
{
  const RecordedRun run =
    record(repository_scenario("spatial_slider_crank", kAccurately), 5.0, 0.02);
  const RecordedRun twin =
    record(repository_scenario("spatial_slider_crank_minimal", kAccurately), 5.0, 0.02);
  expect_clean(run);
  EXPECT_LE(run.energy_change, 1e-11);
  EXPECT_LE(twin.energy_change, 1e-11);
  EXPECT_NEAR(run.samples[0].energy, twin.samples[0].energy, 1e-14);
  ASSERT_EQ(run.samples.size(), twin.samples.size());
  double angle = 0.0;
  double rate = 0.0;
  double slider = 0.0;
  for (std::size_t i = 0; i < run.samples.size(); ++i)
  {
    const Sample & a = run.samples[i];
    const Sample & b = twin.samples[i];
    angle = std::max(angle, std::abs(a.q(0) - b.q(0)));
    rate = std::max(rate, std::abs(a.u(0) - b.u(0)));
    slider = std::max(slider, std::abs(a.q(1) - twin.observe(b, "slider_position")));
  }
  std::cout << "  largest difference of the crank's angle " << angle << " rad, rate " << rate
            << " rad/s, slider " << slider << " m" << std::endl;
  EXPECT_LE(angle, 1e-9);
  EXPECT_LE(slider, 1e-9);
  EXPECT_LE(rate, 1e-8);
}

TEST(SpatialSliderCrank, when_compared_with_a_published_solution_expect_its_slider_positions)
{
  // Solution by Gonzalez in the IFToMM library. The solutions there differ among themselves by some
  // 1e-4 m in the first second; a rod without the universal joint's spin would differ by 2e-3 m.
  const std::vector<std::pair<double, double>> published = {{0.1, 0.226785384}, {0.2, 0.263034975},
                                                            {0.3, 0.28194126},  {0.4, 0.222848664},
                                                            {0.5, 0.184952803}, {1.0, 0.211754668}};
  const RecordedRun run = record(repository_scenario("spatial_slider_crank"), 1.0, 0.1);
  for (const auto & [time, position] : published)
  {
    EXPECT_NEAR(run.at(time).q(1), position, 5e-5) << "at " << time << " s";
  }
}

// ---- heavy top in full coordinates -------------------------------------------------------------

TEST(HeavyTopFull, when_it_spins_expect_the_motion_of_both_twins_and_the_invariants)
{
  const Names step = {"run.step=0.00005"};
  const RecordedRun run = record(repository_scenario("heavy_top_full", step), 1.0, 0.02);
  expect_clean(run);
  EXPECT_LE(run.energy_change, 1e-9 * run.samples[0].energy);
  const double momentum = run.observe(run.samples[0], "vertical_momentum");
  for (const char * name : {"heavy_top", "heavy_top_minimal"})
  {
    const RecordedRun twin = record(repository_scenario(name, step), 1.0, 0.02);
    ASSERT_EQ(run.samples.size(), twin.samples.size());
    EXPECT_NEAR(twin.observe(twin.samples[0], "vertical_momentum"), momentum, 1e-12);
    double difference = 0.0;
    double support = 0.0;
    double change = 0.0;
    for (std::size_t i = 0; i < run.samples.size(); ++i)
    {
      for (const char * centre : {"centre_x", "centre_y", "centre_z"})
      {
        difference = std::max(
          difference,
          std::abs(run.observe(run.samples[i], centre) - twin.observe(twin.samples[i], centre)));
      }
      if (std::string(name) == "heavy_top")
      {
        support = std::max(
          support,
          std::abs(
            run.observe(run.samples[i], "support") - twin.observe(twin.samples[i], "support")));
      }
      change =
        std::max(change, std::abs(run.observe(run.samples[i], "vertical_momentum") - momentum));
    }
    std::cout << "  " << name << " differs by " << difference << " m and " << support
              << " N, vertical momentum changes by " << change << " of " << std::abs(momentum)
              << std::endl;
    EXPECT_LE(difference, 1e-8);
    EXPECT_LE(support, 1e-5);
    EXPECT_LE(change, 1e-8 * std::abs(momentum));
  }
}

TEST(HeavyTopFull, when_compared_with_published_euler_parameters_expect_their_digits)
{
  // Runge-Kutta solution published with the heavy top of EXUDYN, five digits.
  const std::vector<std::pair<double, Eigen::Vector4d>> published = {
    {0.01, {0.73149, 0.015154, 0.68146, -0.017402}},
    {0.02, {0.070614, 0.045708, 0.99644, -0.0063419}},
    {0.03, {-0.62679, 0.057939, 0.77611, 0.037845}},
    {0.2, {-0.70828, 0.43878, 0.54573, 0.0894}}};
  const RecordedRun run = record(repository_scenario("heavy_top_full"), 0.2, 0.01);
  for (const auto & [time, e] : published)
  {
    EXPECT_LE((run.at(time).q.tail<4>() - e).cwiseAbs().maxCoeff(), 5.1e-6)
      << "at " << time << " s";
  }
}

TEST(HeavyTopFull, when_inertia_is_singular_expect_forms_that_need_a_root_to_say_so)
{
  const Scenario scenario = repository_scenario("heavy_top_full");
  const State & start = scenario.initial();
  Eigen::VectorXd expected;
  for (const std::string & id : formulation_names())
  {
    const Dynamics dynamics(
      scenario.dynamics()->constraints(), scenario.dynamics()->options(), make_formulation(id));
    Workspace workspace(dynamics, start);
    const Status status =
      dynamics.solve(start.time, start.q, start.u, Eigen::VectorXd(0), workspace);
    const bool needs_root =
      id == "canonical_inversion" || id == "udwadia_kalaba" || id == "projection";
    EXPECT_EQ(status, needs_root ? Status::kSingularInertia : Status::kOk) << id;
    if (!needs_root)
    {
      const Eigen::VectorXd & found = workspace.solution().acceleration;
      expected = expected.size() > 0 ? expected : found;
      EXPECT_LE((found - expected).norm(), 1e-11 * expected.norm()) << id;
    }
  }
}

}  // namespace
}  // namespace constrained_dynamics::test
