// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Rolling, sliding and spinning bodies: coin, disk, sphere, sleigh, heavy top, against tables,
// exact solutions and invariants.

#include <cmath>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <Eigen/Geometry>

#include "constrained_dynamics/constraints/rolling.hpp"
#include "constrained_dynamics/model/rigid_body_system.hpp"
#include "support/recorded_run.hpp"

namespace constrained_dynamics::test
{
namespace
{

constexpr double kDrift = 1e-12;
constexpr double kWorkless = 1e-12;

void expect_clean(const RecordedRun & run)
{
  EXPECT_TRUE(run.result.completed) << to_string(run.result.status) << " at " << run.result.time;
  EXPECT_EQ(run.result.singular_evaluations, 0);
  EXPECT_EQ(run.result.inconsistent_evaluations, 0);
  EXPECT_LE(run.position_violation, kDrift);
  EXPECT_LE(run.velocity_violation, kDrift);
  EXPECT_LE(run.constraint_power, kWorkless);
}

// ---- rolling coin and disk, benchmark 8 --------------------------------------------------------

TEST(RollingCoin, when_it_wobbles_expect_table_of_path_and_forces)
{
  const RecordedRun run = record(repository_scenario("rolling_coin"), 0.5, 0.1);
  expect_clean(run);
  EXPECT_NEAR(run.samples[0].energy, 0.11044085282225, 1e-14);
  EXPECT_LE(run.energy_change, 1e-12);
  struct Point
  {
    double time, x, y, lean, yaw_rate, along, lateral, normal;
  };
  const std::vector<Point> table = {
    {0.0, 0.0, 0.0, 1.0, 31.41592654, 0.0, 0.13689316, 9.80460391},
    {0.1, 0.001407083805, 0.001455183248, 8.4229548959, 32.30838965, -0.22338579, 0.70879414,
     9.76486211},
    {0.2, -0.005307686231, -0.000770728419, 14.5094188777, 34.47000803, 0.08826139, 1.15109278,
     9.90590603},
    {0.5, 0.002004947021, 0.002596923104, 12.5551070036, 33.62255226, -0.18418691, 1.01081815,
     9.83551981}};
  for (const Point & point : table)
  {
    SCOPED_TRACE("t = " + std::to_string(point.time));
    const auto value = [&](const char * name) { return run.observe(point.time, name); };
    // Half of the last printed digit, and the reference's own 1e-12 where that is larger.
    EXPECT_NEAR(value("contact_x"), point.x, 1e-12);
    EXPECT_NEAR(value("contact_y"), point.y, 1e-12);
    EXPECT_NEAR(value("lean_deg"), point.lean, 1e-9);
    EXPECT_NEAR(value("yaw_rate"), point.yaw_rate, 6e-9);
    EXPECT_NEAR(value("force_along"), point.along, 6e-9);
    EXPECT_NEAR(value("force_lateral"), point.lateral, 6e-9);
    EXPECT_NEAR(value("force_normal"), point.normal, 6e-9);
    std::cout << "  t = " << point.time << ": error of the contact point "
              << std::hypot(value("contact_x") - point.x, value("contact_y") - point.y)
              << " m, of the lean " << value("lean_deg") - point.lean << " degrees" << std::endl;
  }
}

TEST(SteadyTurn, when_disk_rolls_in_a_circle_expect_constant_lean_and_circle)
{
  const Scenario scenario = repository_scenario("steady_turn");
  const RecordedRun run = record(scenario, 10.0, 0.05);
  expect_clean(run);
  // Benchmark 8: u2 and u3 of the steady turn.
  EXPECT_NEAR(run.samples[0].u(4), -2.4738402973382, 1e-12);
  EXPECT_NEAR(run.samples[0].u(5), 2.8190778623577, 1e-12);
  constexpr double kRadius = 0.3 * 3.4999007273152 / 3.0;
  const Eigen::Vector2d start(
    run.observe(run.samples[0], "contact_x"), run.observe(run.samples[0], "contact_y"));
  // Heading along x with negative spin: it rolls backwards and turns left, so the centre is at −y.
  const Eigen::Vector2d centre = start + Eigen::Vector2d(0.0, -kRadius);
  double lean = 0.0;
  double yaw_rate = 0.0;
  double circle = 0.0;
  for (const Sample & sample : run.samples)
  {
    const Eigen::Vector2d contact(
      run.observe(sample, "contact_x"), run.observe(sample, "contact_y"));
    lean = std::max(lean, std::abs(run.observe(sample, "lean_deg") - 20.0));
    yaw_rate = std::max(yaw_rate, std::abs(run.observe(sample, "yaw_rate") - 3.0));
    circle = std::max(circle, std::abs((contact - centre).norm() - kRadius));
  }
  std::cout << "  largest error of lean " << lean << " degrees, yaw rate " << yaw_rate
            << " rad/s, circle " << circle << " m" << std::endl;
  EXPECT_LE(lean, 1e-9);
  EXPECT_LE(yaw_rate, 1e-9);
  EXPECT_LE(circle, 1e-9);
}

TEST(RollingDisk, when_at_random_states_expect_accelerations_of_the_exact_equations)
{
  constexpr unsigned kSeed = 8;
  std::cout << "seed " << kSeed << std::endl;
  std::mt19937 generator(kSeed);
  std::uniform_real_distribution<double> unit(-1.0, 1.0);
  for (int trial = 0; trial < 100; ++trial)
  {
    const double r = 0.5 + 0.4 * unit(generator);
    const double m = 2.0 + unit(generator);
    const double g = 9.81;
    SceneDescription scene;
    FreeBody disk;
    disk.name = "disk";
    disk.mass = m;
    disk.inertia = Eigen::Vector3d(m * r * r / 4, m * r * r / 2, m * r * r / 4).asDiagonal();
    scene.bodies.push_back(disk);
    const auto system = std::make_shared<RigidBodySystem>(scene);
    RollingGeometry geometry;
    geometry.radius = r;
    geometry.axis = Eigen::Vector3d::UnitY();
    const Dynamics dynamics(ConstraintSet(
      system, {std::make_shared<Rolling>("contact", *system, "disk", "world", geometry)}));
    Workspace workspace = Workspace::unanalysed(dynamics);

    // Yaw q1, lean q2, spin 0; speeds u1, u2, u3 along the axes of the leaning frame.
    const double q1 = 3.0 * unit(generator);
    const double q2 = 1.3 * unit(generator);
    const Eigen::Vector3d w(4.0 * unit(generator), 4.0 * unit(generator), 4.0 * unit(generator));
    const Eigen::Quaterniond orientation(
      Eigen::AngleAxisd(q1, Eigen::Vector3d::UnitZ()) *
      Eigen::AngleAxisd(q2, Eigen::Vector3d::UnitX()));
    const Eigen::Vector3d centre = orientation * Eigen::Vector3d(0, 0, r);
    Eigen::VectorXd q(7);
    q << centre, orientation.coeffs();
    Eigen::VectorXd u(6);
    u << w.cross(Eigen::Vector3d(0, 0, r)), w;
    ASSERT_EQ(
      dynamics.solve(0.0, q, u, Eigen::VectorXd::Zero(system->input_count()), workspace),
      Status::kOk);
    EXPECT_LE(workspace.rows().position.cwiseAbs().maxCoeff(), 1e-14);
    EXPECT_LE(workspace.rows().velocity.cwiseAbs().maxCoeff(), 1e-14);

    // Benchmark 8; the body spins by q3' about its y relative to the leaning frame.
    const double t = std::tan(q2);
    const Eigen::Vector3d exact(
      (6 * w(1) * w(2) * r - w(2) * w(2) * r * t + 4 * g * std::sin(q2)) / (5 * r),
      -2 * w(0) * w(2) / 3, w(0) * (-2 * w(1) + w(2) * t));
    const double spin = w(1) - w(2) * t;
    const Eigen::Vector3d expected = exact - spin * Eigen::Vector3d::UnitY().cross(w);
    const Eigen::Vector3d found = workspace.solution().acceleration.tail<3>();
    EXPECT_LE((found - expected).norm(), 1e-12 * std::max(1.0, expected.norm()))
      << "trial " << trial;
  }
}

// ---- sleigh, sphere, benchmarks 9 and 10 -------------------------------------------------------

void expect_sleigh(double m, double inertia, double a, const std::vector<double> & times)
{
  const RecordedRun run = record(
    repository_scenario(
      "chaplygin_sleigh_robot", {"m=" + std::to_string(m), "I=" + std::to_string(inertia),
                                 "a=" + std::to_string(a), "run.until=10"}),
    10.0, 0.05);
  expect_clean(run);
  EXPECT_LE(run.energy_change, 1e-12);
  const double w0 = 2.0;
  const double total = inertia + m * a * a;
  for (const double time : times)
  {
    SCOPED_TRACE("t = " + std::to_string(time));
    const double k = a * std::sqrt(m / total) * w0 * time;
    const double v = std::sqrt(total / m) * w0 * std::tanh(k);
    const double omega = w0 / std::cosh(k);
    const double theta = std::sqrt(total / m) / a * 2 * (std::atan(std::exp(k)) - M_PI / 4);
    EXPECT_NEAR(run.observe(time, "v"), v, 1e-9);
    EXPECT_NEAR(run.observe(time, "omega"), omega, 1e-9);
    EXPECT_NEAR(run.observe(time, "theta"), theta, 1e-9);
    EXPECT_NEAR(run.observe(time, "lateral_force"), m * v * omega * inertia / total, 1e-9);
  }
}

TEST(ChaplyginSleigh, when_it_is_a_planar_body_expect_exact_motion_and_force)
{
  expect_sleigh(1.0, 0.2, 0.3, {0.0, 0.5, 1.0, 2.0, 5.0, 10.0});
  expect_sleigh(1.0, 0.5, 0.3, {0.0, 0.5, 1.0, 2.0, 5.0, 10.0});
  // Benchmark 9 and the reference, digit by digit.
  const RecordedRun run = record(repository_scenario("chaplygin_sleigh_robot"), 2.0, 0.5);
  EXPECT_NEAR(run.observe(2.0, "v"), 1.0523308086123, 1e-9);
  EXPECT_NEAR(run.observe(2.0, "omega"), 0.42588597002834, 1e-9);
  EXPECT_NEAR(run.observe(2.0, "theta"), 2.4344719615865, 1e-9);
  EXPECT_NEAR(run.observe(2.0, "lateral_force"), 0.30908477739072, 1e-9);
  const RecordedRun reference =
    record(repository_scenario("chaplygin_sleigh_robot", {"I=0.5"}), 10.0, 0.5);
  const Eigen::VectorXd & q = reference.at(10.0).q;
  EXPECT_NEAR(q(0), -9.704239952744938, 1e-8);
  EXPECT_NEAR(q(1), -6.599531439531007, 1e-8);
  EXPECT_NEAR(q(2), 4.0197640004397295, 1e-9);
}

TEST(SphereOnIncline, when_it_rolls_expect_exact_acceleration_and_friction)
{
  const RecordedRun run = record(repository_scenario("sphere_on_incline"), 1.0, 0.1);
  expect_clean(run);
  EXPECT_LE(run.energy_change, 1e-12);
  constexpr double kAcceleration = 1.81358202318266;
  constexpr double kFriction = 0.0725432809273065;
  for (const Sample & sample : run.samples)
  {
    EXPECT_NEAR(run.observe(sample, "speed"), kAcceleration * sample.time, 1e-9);
    // Friction points up the slope, against x of the plane.
    EXPECT_NEAR(run.observe(sample, "friction"), -kFriction, 1e-12);
    EXPECT_NEAR(run.observe(sample, "normal_force"), 0.1 * 9.81 * std::cos(15 * M_PI / 180), 1e-12);
  }
  std::cout << "  error of the speed at 1 s " << run.observe(1.0, "speed") - kAcceleration << " m/s"
            << std::endl;
}

// ---- heavy top, benchmark 19 -------------------------------------------------------------------

TEST(HeavyTop, when_it_spins_fast_expect_invariants_and_motion_of_the_minimal_twin)
{
  const std::vector<std::string> step = {"run.step=0.00005"};
  const RecordedRun run = record(repository_scenario("heavy_top", step), 2.0, 0.02);
  const RecordedRun twin = record(repository_scenario("heavy_top_minimal", step), 2.0, 0.02);
  expect_clean(run);
  const double momentum = run.observe(run.samples[0], "vertical_momentum");
  double change = 0.0;
  double difference = 0.0;
  ASSERT_EQ(run.samples.size(), twin.samples.size());
  for (std::size_t i = 0; i < run.samples.size(); ++i)
  {
    change =
      std::max(change, std::abs(run.observe(run.samples[i], "vertical_momentum") - momentum));
    for (const char * name : {"centre_x", "centre_y", "centre_z"})
    {
      difference = std::max(
        difference,
        std::abs(run.observe(run.samples[i], name) - twin.observe(twin.samples[i], name)));
    }
  }
  std::cout << "  vertical momentum changes by " << change << " of " << std::abs(momentum)
            << ", twin differs by " << difference << " m" << std::endl;
  // What changes is the error of RK4 at 7.5 mrad of spin a step; the twin, which has no rows, shows
  // the same.
  EXPECT_LE(run.energy_change, 1e-9 * run.samples[0].energy);
  EXPECT_LE(change, 1e-8 * std::abs(momentum));
  EXPECT_LE(difference, 1e-9);
}

TEST(HeavyTop, when_step_is_halved_expect_invariants_to_converge_with_order_four)
{
  const auto momentum_change = [](const RecordedRun & run)
  {
    double change = 0.0;
    for (const Sample & sample : run.samples)
    {
      change = std::max(
        change, std::abs(
                  run.observe(sample, "vertical_momentum") -
                  run.observe(run.samples[0], "vertical_momentum")));
    }
    return change;
  };
  const RecordedRun coarse =
    record(repository_scenario("heavy_top", {"run.step=0.0002"}), 2.0, 0.02);
  const RecordedRun fine = record(repository_scenario("heavy_top", {"run.step=0.0001"}), 2.0, 0.02);
  const double ratio = momentum_change(coarse) / momentum_change(fine);
  std::cout << "  momentum falls by " << ratio << ", energy by "
            << coarse.energy_change / fine.energy_change << std::endl;
  EXPECT_GT(ratio, 12.0);
  EXPECT_LT(ratio, 20.0);
  // The energy's leading term cancels here: order 5, a factor of 32.
  EXPECT_GT(coarse.energy_change / fine.energy_change, 12.0);
}

}  // namespace
}  // namespace constrained_dynamics::test
