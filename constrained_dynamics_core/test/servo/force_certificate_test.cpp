// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/servo/force_certificate.hpp"

#include <cmath>
#include <iostream>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>

#include <gmock/gmock.h>
#include <Eigen/Geometry>

#include "constrained_dynamics/scenario/scenario.hpp"
#include "support/allocation_counter.hpp"

namespace constrained_dynamics::test
{

namespace
{

const Eigen::VectorXd kNoReadings(0);

/// A four-bar that turns, with its loop closed by given constraints.
Scenario four_bar(const std::string & constraints)
{
  return Scenario::from_text(
    "system: {urdf: " + std::string(CD_CONFIG) + "/robots/four_bar.urdf}\nconstraints:\n" +
    constraints +
    "\ninitial: {q: {crank: 0.3, coupler: pi/2, rocker: 2.5}, u: {dcrank: 2}, solve: [coupler, "
    "rocker, dcoupler, drocker]}\n");
}

std::string loop(const std::string & name, const std::string & rows)
{
  return "  - {name: " + name +
         ", type: frame_coincidence, frame_a: coupler_tip, frame_b: rocker_tip, rows: " + rows +
         "}\n";
}

struct Certified
{
  Scenario scenario;
  Workspace workspace;
  ForceCertificate certificate;
  State state;
  Eigen::VectorXd effort;

  Certified(Scenario of, const ForceCertificateOptions & options, bool with_observer = false)
  : scenario(std::move(of)),
    workspace(*scenario.dynamics(), scenario.initial()),
    certificate(scenario.dynamics(), options),
    state(scenario.initial()),
    effort(Eigen::VectorXd::LinSpaced(scenario.system().input_count(), 1.0, 3.0))
  {
    certificate.start(state, with_observer, workspace);
    set();
  }
  void set()
  {
    EXPECT_EQ(scenario.dynamics()->set_state(state.time, state.q, state.u, workspace), Status::kOk);
  }
  Eigen::VectorXd solved()
  {
    EXPECT_TRUE(has_output(scenario.dynamics()->solve(effort, workspace)));
    return workspace.solution().multipliers;
  }
};

ForceCertificateOptions with_sensor(double force_noise, double torque_noise)
{
  ForceCertificateOptions options;
  options.sensors = {{"wrist", "coupler_tip", force_noise, torque_noise}};
  return options;
}

/// The wrench on the coupler of the last solution, in axes of the sensor at the coupler's tip.
Eigen::VectorXd reading(const Certified & robot)
{
  FrameKinematics frame;
  const System & system = robot.scenario.system();
  system.frame_kinematics(robot.workspace.system_data(), system.frame_index("coupler_tip"), frame);
  Eigen::VectorXd result = Eigen::VectorXd::Zero(6);
  for (const WrenchPair & pair : robot.workspace.solution().wrenches)
  {
    const Eigen::Vector3d arm = pair.on_a.point - frame.position;
    result.head<3>() += frame.rotation.transpose() * pair.on_a.force;
    result.tail<3>() +=
      frame.rotation.transpose() * (pair.on_a.torque + arm.cross(pair.on_a.force));
  }
  return result;
}

}  // namespace

// Without noise the estimate is the solution of the equations of motion.
TEST(ForceCertificate, when_efforts_are_exact_expect_multipliers_of_the_solution)
{
  Certified robot(four_bar(loop("loop", "[x, z]")), {});
  ASSERT_EQ(
    robot.certificate.update(robot.effort, kNoReadings, nullptr, robot.workspace), Status::kOk);
  EXPECT_EQ(robot.certificate.observable(), Eigen::Vector2i(1, 1));
  EXPECT_EQ(robot.certificate.covariance(), Eigen::Matrix2d::Zero());
  const Eigen::VectorXd estimate = robot.certificate.estimate();
  const Eigen::VectorXd expected = robot.solved();
  EXPECT_LT((estimate - expected).norm(), 1e-10 * expected.norm());
}

// Rows y, rx, rz of a planar loop act on no joint: efforts never tell their forces, a wrench sensor
// does. The variance of the force out of the plane is then that of the sensor.
TEST(ForceCertificate, when_loop_is_planar_expect_out_of_plane_forces_by_wrench_sensor_only)
{
  const std::string rows = loop("loop", "[x, y, z, rx, rz]");
  ForceCertificateOptions options;
  options.effort_noise = Eigen::VectorXd::Constant(3, 0.5);
  Certified blind(four_bar(rows), options);
  ASSERT_EQ(blind.effort.size(), 3);
  ASSERT_EQ(
    blind.certificate.update(blind.effort, kNoReadings, nullptr, blind.workspace), Status::kOk);
  Eigen::VectorXi expected(5);
  expected << 1, 0, 1, 0, 0;
  EXPECT_EQ(blind.certificate.observable(), expected);
  EXPECT_EQ(blind.certificate.rank(), 2);
  EXPECT_TRUE(std::isinf(blind.certificate.covariance()(1, 1)));
  EXPECT_TRUE(std::isfinite(blind.certificate.covariance()(0, 0)));
  EXPECT_GT(blind.certificate.covariance()(0, 0), 0.0);

  options = with_sensor(0.2, 0.01);
  options.effort_noise = Eigen::VectorXd::Constant(3, 0.5);
  Certified seeing(four_bar(rows), options);
  (void)seeing.solved();
  // A force out of the plane that the solution does not know of.
  Eigen::VectorXd sensed = reading(seeing);
  sensed(1) += 12.0;
  ASSERT_EQ(
    seeing.certificate.update(seeing.effort, sensed, nullptr, seeing.workspace), Status::kOk);
  EXPECT_EQ(seeing.certificate.observable(), Eigen::VectorXi::Ones(5));
  const Eigen::VectorXd multipliers = seeing.solved();
  EXPECT_NEAR(std::abs(seeing.certificate.estimate()(1) - multipliers(1)), 12.0, 1e-9);
  EXPECT_NEAR(seeing.certificate.covariance()(1, 1), 0.04, 1e-9);
  EXPECT_LE(
    seeing.certificate.covariance()(0, 0), blind.certificate.covariance()(0, 0) * (1.0 + 1e-9));
}

// Neither of two equal welds can be known, whatever is measured on the body that both act on.
TEST(ForceCertificate, when_weld_is_doubled_expect_neither_observable)
{
  const std::string rows = loop("first", "[x, z]") + loop("second", "[x, z]");
  for (const bool has_sensor : {false, true})
  {
    Certified robot(four_bar(rows), has_sensor ? with_sensor(0.1, 0.1) : ForceCertificateOptions());
    const Eigen::VectorXd read = Eigen::VectorXd::Zero(has_sensor ? 6 : 0);
    ASSERT_EQ(robot.certificate.update(robot.effort, read, nullptr, robot.workspace), Status::kOk);
    EXPECT_EQ(robot.certificate.observable(), Eigen::Vector4i::Zero()) << has_sensor;
    EXPECT_EQ(robot.certificate.rank(), 2);
    // Off the manifold by what encoders are off, the welds are still equal.
    robot.state.q(1) += 1e-4;
    robot.set();
    ASSERT_TRUE(has_output(robot.certificate.update(robot.effort, read, nullptr, robot.workspace)));
    EXPECT_EQ(robot.certificate.observable(), Eigen::Vector4i::Zero()) << has_sensor;
    // One of them alone is known, and the other is 0.
    robot.state.q(1) -= 1e-4;
    robot.workspace.set_active(1, false);
    robot.certificate.start(robot.state, false, robot.workspace);
    ASSERT_EQ(robot.certificate.update(robot.effort, read, nullptr, robot.workspace), Status::kOk);
    EXPECT_EQ(robot.certificate.observable(), Eigen::Vector4i::Ones());
    EXPECT_EQ(robot.certificate.estimate().tail(2), Eigen::Vector2d::Zero());
  }
}

// Without the effort of the crank two equations face three unknowns; the observer adds the third.
TEST(ForceCertificate, when_effort_is_not_measured_expect_forces_with_the_observer_only)
{
  ForceCertificateOptions options;
  options.measured_efforts = {false, true, true};
  Certified robot(four_bar(loop("loop", "[x, z]")), options);
  robot.effort(0) = std::numeric_limits<double>::quiet_NaN();
  ASSERT_EQ(
    robot.certificate.update(robot.effort, kNoReadings, nullptr, robot.workspace), Status::kOk);
  EXPECT_EQ(robot.certificate.names().back(), "effort/crank");
  EXPECT_EQ(robot.certificate.observable()(2), 0);
  EXPECT_EQ(robot.certificate.rank(), 2);

  // A motion with that effort, which the observer, told of none, takes for an external force.
  const Scenario driven =
    four_bar(loop("loop", "[x, z]") + "inputs: {crank: 4, coupler: 2, rocker: 3}");
  const auto simulation = driven.make_simulation();
  MomentumObserverOptions noise;
  noise.gain = 500.0;
  noise.speed_noise = Eigen::VectorXd::Constant(3, 1e-4);
  MomentumObserver observer(robot.scenario.dynamics(), noise);
  robot.certificate.start(robot.state, true, robot.workspace);
  const Eigen::Vector3d told(0.0, 2.0, 3.0);
  for (int i = 0; i < 100; ++i)
  {
    robot.state = simulation->state();
    robot.set();
    ASSERT_EQ(observer.update(1e-3, told, robot.workspace), Status::kOk);
    ASSERT_EQ(simulation->step(), Status::kOk);
  }
  ASSERT_EQ(
    robot.certificate.update(robot.effort, kNoReadings, nullptr, robot.workspace),
    Status::kSingular);
  robot.effort = told;
  ASSERT_EQ(
    robot.certificate.update(robot.effort, kNoReadings, &observer, robot.workspace), Status::kOk);
  EXPECT_EQ(robot.certificate.observable(), Eigen::Vector3i::Ones());
  EXPECT_GT(robot.certificate.covariance()(2, 2), 0.0);
  const Eigen::VectorXd estimate = robot.certificate.estimate();
  // The force of the crank at an independent speed changes by some 10 % while the filter lags 2 ms.
  EXPECT_NEAR(estimate(2), 4.0, 0.1);
  robot.effort << 4.0, 2.0, 3.0;
  const Eigen::VectorXd multipliers = robot.solved();
  EXPECT_LT((estimate.head(2) - multipliers).norm(), 0.03 * multipliers.norm());
}

// A wrench at the tip and the force of the wall that the tip touches cannot be told apart.
TEST(ForceCertificate, when_frame_is_on_the_wall_expect_normal_forces_unobservable)
{
  ForceCertificateOptions options;
  options.frames = {"tip"};
  Certified robot(Scenario::load(std::string(CD_TEST_DATA) + "/arm_on_wall.yaml"), options, false);
  ASSERT_TRUE(
    has_output(robot.certificate.update(robot.effort, kNoReadings, nullptr, robot.workspace)));
  const auto & names = robot.certificate.names();
  EXPECT_EQ(names[0], "wall/normal");
  EXPECT_EQ(names[1], "tip/fx");
  EXPECT_EQ(robot.certificate.observable()(0), 0);
  EXPECT_EQ(robot.certificate.observable()(1), 0);
  EXPECT_TRUE(std::isinf(robot.certificate.covariance()(0, 0)));
}

TEST(ForceCertificate, when_noise_is_drawn_expect_stated_covariance)
{
  ForceCertificateOptions options = with_sensor(0.3, 0.05);
  options.effort_noise = Eigen::Vector3d(0.4, 0.2, 0.3);
  options.model_noise = Eigen::Vector3d(0.1, 0.05, 0.2);
  Certified robot(four_bar(loop("loop", "[x, y, z, rx, rz]")), options);
  const Eigen::VectorXd exact = robot.solved();
  const Eigen::VectorXd clean = reading(robot);
  const unsigned seed = 23;
  std::cout << "seed " << seed << "\n";
  std::mt19937_64 generator(seed);
  std::normal_distribution<double> normal;
  constexpr int kCount = 20000;
  Eigen::MatrixXd sample = Eigen::MatrixXd::Zero(5, 5);
  for (int i = 0; i < kCount; ++i)
  {
    Eigen::VectorXd effort = robot.effort;
    Eigen::VectorXd read = clean;
    for (Eigen::Index k = 0; k < 3; ++k)
    {
      // An error of P acts like one of the effort of the same joint: G = I here.
      effort(k) += std::hypot(options.effort_noise(k), options.model_noise(k)) * normal(generator);
    }
    for (Eigen::Index k = 0; k < 6; ++k)
    {
      read(k) += (k < 3 ? 0.3 : 0.05) * normal(generator);
    }
    ASSERT_EQ(robot.certificate.update(effort, read, nullptr, robot.workspace), Status::kOk);
    const Eigen::VectorXd error = robot.certificate.estimate() - exact;
    sample += error * error.transpose() / kCount;
  }
  const Eigen::MatrixXd stated = robot.certificate.covariance();
  for (Eigen::Index i = 0; i < 5; ++i)
  {
    for (Eigen::Index j = 0; j < 5; ++j)
    {
      // Standard error of a covariance: sqrt(2/N) = 1 % of its two deviations.
      EXPECT_NEAR(sample(i, j), stated(i, j), 0.04 * std::sqrt(stated(i, i) * stated(j, j)));
    }
  }
}

TEST(ForceCertificate, when_called_in_a_cycle_expect_no_allocation_and_statuses)
{
  ForceCertificateOptions options = with_sensor(0.3, 0.05);
  options.frames = {"coupler_tip"};
  Certified robot(four_bar(loop("loop", "[x, y, z, rx, rz]")), options);
  Eigen::VectorXd read = Eigen::VectorXd::Zero(6);
  ASSERT_TRUE(has_output(robot.certificate.update(robot.effort, read, nullptr, robot.workspace)));
  robot.state.u *= 1.1;
  robot.set();
  const long before = allocation_count();
  const Status status = robot.certificate.update(robot.effort, read, nullptr, robot.workspace);
  EXPECT_EQ(allocation_count(), before);
  EXPECT_TRUE(has_output(status));
  const Eigen::VectorXd kept = robot.certificate.estimate();
  EXPECT_EQ(
    robot.certificate.update(robot.effort, kNoReadings, nullptr, robot.workspace),
    Status::kSizeMismatch);
  read(3) = std::numeric_limits<double>::infinity();
  EXPECT_EQ(
    robot.certificate.update(robot.effort, read, nullptr, robot.workspace),
    Status::kNonFiniteInput);
  EXPECT_EQ(robot.certificate.estimate(), kept);
  options.sensors[0].frame = "crank_rod";
  EXPECT_THROW(ForceCertificate(robot.scenario.dynamics(), options), std::invalid_argument);
  options.sensors[0].frame = "world";
  EXPECT_THROW(ForceCertificate(robot.scenario.dynamics(), options), std::invalid_argument);
  options.sensors[0].frame = "coupler_tip";
  options.sensors[0].force_noise = -1.0;
  EXPECT_THROW(ForceCertificate(robot.scenario.dynamics(), options), std::invalid_argument);
}

}  // namespace constrained_dynamics::test
