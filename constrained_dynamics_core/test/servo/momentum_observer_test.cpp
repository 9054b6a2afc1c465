// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/servo/momentum_observer.hpp"

#include <cmath>
#include <iostream>
#include <limits>
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

constexpr double kPeriod = 1e-3;

/// A point in a plane on the guide y = x; `force` acts on it, and inputs along x and y.
std::string guided_point(const std::string & force)
{
  return "system: {coordinates: [x, y], kinetic: 1.5*(dx^2 + dy^2), inputs: {fx: {x: 1}, fy: {y: "
         "1}}, force: " +
         force +
         "}\nconstraints: [{name: guide, type: formula, level: position, rows: [y - x]}]\n"
         "run: {step: 0.001, until: 1}\n";
}

/// The robot as it is believed to be, observed at given states.
struct Observed
{
  Scenario scenario;
  Workspace workspace;
  MomentumObserver observer;

  Observed(Scenario of, const MomentumObserverOptions & options)
  : scenario(std::move(of)),
    workspace(*scenario.dynamics(), scenario.initial()),
    observer(scenario.dynamics(), options)
  {
  }
  Status update(const State & state, const Eigen::VectorXd & effort, double period = kPeriod)
  {
    const Status status = scenario.dynamics()->set_state(state.time, state.q, state.u, workspace);
    return status == Status::kOk ? observer.update(period, effort, workspace) : status;
  }
};

MomentumObserverOptions options_with_gain(double gain)
{
  MomentumObserverOptions options;
  options.gain = gain;
  return options;
}

const std::string kFourBar = std::string(CD_CONFIG) + "/robots/four_bar.urdf";

/// The four-bar, with a constant force at the tip of the coupler if asked for.
Scenario four_bar(
  bool pushed, double step = kPeriod, const std::string & crank = "0.3", double limit = 10.0)
{
  return Scenario::from_text(
    "system: {urdf: " + kFourBar +
    (pushed ? ", external: [{name: push, frame: coupler_tip, force: [7, 0, -4]}]" : "") +
    "}\nconstraints: [{name: loop, type: frame_coincidence, frame_a: coupler_tip, frame_b: "
    "rocker_tip, rows: [x, z]}]\n"
    "initial: {q: {crank: " +
    crank +
    ", coupler: pi/2, rocker: 2.5}, u: {dcrank: 8}, solve: [coupler, rocker, dcoupler, drocker]}\n"
    "run: {until: 3, step: " +
    std::to_string(step) + "}\noptions: {partition_limit: " + std::to_string(limit) + "}\n");
}

struct Tracking
{
  double error = 0.0;  // largest deviation from the filtered true force
  double force = 0.0;  // largest filtered true force
  int changes = 0;     // of the partition
};

/// Observes a four-bar that turns under a constant force at the tip of its coupler.
Tracking track(const std::string & crank, double period)
{
  constexpr double kGain = 100.0;
  const Scenario pushed = four_bar(true, period, crank);
  Observed robot(four_bar(false, period, crank), options_with_gain(kGain));
  const auto simulation = pushed.make_simulation();
  const System & system = robot.scenario.system();
  const Eigen::Vector3d force(7.0, 0.0, -4.0);
  const Eigen::VectorXd none = Eigen::VectorXd::Zero(system.input_count());
  const int frame = system.frame_index("coupler_tip");
  const double a = std::exp(-kGain * period);
  Tracking result;
  double reference = 0.0;
  double before = 0.0;
  Eigen::VectorXi independent;
  for (int i = 0; i * period < 2.0; ++i)
  {
    EXPECT_EQ(robot.update(simulation->state(), none, period), Status::kOk) << i;
    FrameKinematics motion;
    system.frame_kinematics(robot.workspace.system_data(), frame, motion);
    Eigen::Index speed = 0;
    robot.observer.independent().maxCoeff(&speed);
    const double now = force.dot(motion.velocity) / simulation->state().u(speed);
    if (i > 0 && robot.observer.independent() == independent)
    {
      reference += (1.0 - a) * (0.5 * (before + now) - reference);
      result.error = std::max(result.error, std::abs(robot.observer.force()(speed) - reference));
      result.force = std::max(result.force, std::abs(reference));
    }
    else if (i > 0)
    {
      ++result.changes;
      reference = robot.observer.force()(speed);
    }
    independent = robot.observer.independent();
    before = now;
    EXPECT_EQ(simulation->step(), Status::kOk);
  }
  return result;
}

}  // namespace

// A constant force on a system with constant A, Q: the response is (1 − exp(−K t)) at every sample,
// and the part of the force that the guide absorbs is not seen.
TEST(MomentumObserver, when_force_steps_expect_first_order_response_with_time_constant_one_over_k)
{
  const Scenario pushed = Scenario::from_text(guided_point("{x: 5, y: -1}"));
  Observed robot(Scenario::from_text(guided_point("{}")), options_with_gain(40.0));
  const auto simulation = pushed.make_simulation();
  const Eigen::VectorXd none = Eigen::VectorXd::Zero(2);
  ASSERT_EQ(robot.update(simulation->state(), none), Status::kOk);
  for (int i = 1; i <= 200; ++i)
  {
    ASSERT_EQ(simulation->step(), Status::kOk);
    ASSERT_EQ(robot.update(simulation->state(), none), Status::kOk);
    // A2 = [1 1]: 5 − 1 is seen, (3, −3) is absorbed.
    const double expected = 4.0 * (1.0 - std::exp(-40.0 * kPeriod * i));
    ASSERT_NEAR(robot.observer.force().sum(), expected, 1e-9) << i;
    ASSERT_EQ(robot.observer.independent().sum(), 1);
  }
  const Scenario absorbed = Scenario::from_text(guided_point("{x: 3, y: -3}"));
  const auto still = absorbed.make_simulation();
  robot.observer.reset();
  for (int i = 0; i <= 20; ++i)
  {
    ASSERT_EQ(robot.update(still->state(), none), Status::kOk);
    ASSERT_EQ(still->step(), Status::kOk);
  }
  EXPECT_NEAR(robot.observer.force().norm(), 0.0, 1e-12);
}

// The filter of the true force at the independent speed i, F·v/u_i, is the reference.
TEST(MomentumObserver, when_mechanism_turns_expect_filtered_power_of_the_true_force)
{
  const Tracking coarse = track("0.3", 1e-3);
  const Tracking fine = track("0.3", 5e-4);
  std::cout << "error " << coarse.error << ", " << fine.error << " of " << coarse.force << "\n";
  EXPECT_GT(coarse.force, 1.0);
  EXPECT_LT(coarse.error, 0.01 * coarse.force);
  // Second order in the period.
  EXPECT_NEAR(coarse.error / fine.error, 4.0, 0.4);
}

// A small limit of |K| makes the partition change several times a turn. The estimate is carried
// over: its power is that of the force, but for the lag of the filter, which is as large without
// changes.
TEST(MomentumObserver, when_partition_changes_expect_power_of_the_true_force)
{
  const Scenario pushed = four_bar(true);
  Observed robot(four_bar(false, kPeriod, "0.3", 1.001), options_with_gain(1000.0));
  Observed steady(four_bar(false), options_with_gain(1000.0));
  const auto simulation = pushed.make_simulation();
  const System & system = robot.scenario.system();
  const Eigen::VectorXd none = Eigen::VectorXd::Zero(system.input_count());
  const int frame = system.frame_index("coupler_tip");
  Eigen::VectorXi independent;
  int changes = 0;
  double worst = 0.0;
  double lag = 0.0;
  for (int i = 0; i < 2000; ++i)
  {
    ASSERT_EQ(robot.update(simulation->state(), none), Status::kOk);
    ASSERT_EQ(steady.update(simulation->state(), none), Status::kOk);
    changes += i > 0 && robot.observer.independent() != independent ? 1 : 0;
    independent = robot.observer.independent();
    FrameKinematics motion;
    system.frame_kinematics(robot.workspace.system_data(), frame, motion);
    const double power = Eigen::Vector3d(7.0, 0.0, -4.0).dot(motion.velocity);
    const double estimated = robot.observer.force().dot(simulation->state().u);
    const double without_changes = steady.observer.force().dot(simulation->state().u);
    worst = i > 20 ? std::max(worst, std::abs(estimated - power)) : worst;
    lag = i > 20 ? std::max(lag, std::abs(without_changes - power)) : lag;
    ASSERT_EQ(simulation->step(), Status::kOk);
  }
  std::cout << changes << " changes, error " << worst << " W, without changes " << lag << " W\n";
  EXPECT_GE(changes, 4);
  EXPECT_LT(worst, 1.1 * lag);
}

TEST(MomentumObserver, when_sensors_are_noisy_expect_stated_covariance)
{
  MomentumObserverOptions options = options_with_gain(50.0);
  options.speed_noise = Eigen::Vector2d(2e-3, 1e-3);
  options.effort_noise = Eigen::Vector2d(0.3, 0.5);
  options.threshold = 7.0;
  Observed robot(Scenario::from_text(guided_point("{}")), options);
  const unsigned seed = 17;
  std::cout << "seed " << seed << "\n";
  std::mt19937_64 generator(seed);
  std::normal_distribution<double> normal;
  State state = robot.scenario.initial();
  Eigen::VectorXd effort(2);
  double sum = 0.0;
  int alarms = 0;
  constexpr int kCount = 400000;
  for (int i = 0; i < kCount; ++i)
  {
    for (Eigen::Index k = 0; k < 2; ++k)
    {
      state.u(k) = options.speed_noise(k) * normal(generator);
      effort(k) = options.effort_noise(k) * normal(generator);
    }
    ASSERT_EQ(robot.update(state, effort), Status::kOk);
    const double force = robot.observer.force().sum();
    sum += i > 1000 ? force * force : 0.0;
    alarms += robot.observer.has_contact() ? 1 : 0;
  }
  const double measured = std::sqrt(sum / (kCount - 1001));
  const double stated = robot.observer.deviation().norm();
  // (E51) by hand: M = [3 3], A2 G = [1 1].
  const double a = std::exp(-50.0 * kPeriod);
  const double by_hand = std::sqrt(
    std::pow((1.0 - a) / kPeriod, 2) * 2.0 / (1.0 + a) * 9.0 * (4e-6 + 1e-6) +
    (1.0 - a) / (1.0 + a) * (0.09 + 0.25));
  EXPECT_NEAR(stated, by_hand, 1e-12);
  // Correlated over 1/K: some 1e4 independent samples, 0.7 % standard error.
  EXPECT_NEAR(measured / stated, 1.0, 0.03);
  EXPECT_EQ(alarms, 0);
  // A force of ten deviations is found within 1/K · ln(10/3).
  const Eigen::Vector2d push(-10.0 * stated, 0.0);
  int samples = 0;
  for (state.u.setZero(); samples < 1000 && !robot.observer.has_contact(); ++samples)
  {
    ASSERT_EQ(robot.update(state, push), Status::kOk);
  }
  EXPECT_LT(samples, static_cast<int>(std::log(10.0 / 3.0) / 50.0 / kPeriod) + 8);
}

// Only the crank has a sensor; the noise of the other speeds follows from it through the loop.
TEST(MomentumObserver, when_joints_are_completed_expect_their_noise_from_the_measured_one)
{
  MomentumObserverOptions options = options_with_gain(200.0);
  options.speed_noise = Eigen::Vector3d(1e-3, 1.0, 1.0);
  options.measured_speeds = {true, false, false};
  Observed robot(four_bar(false), options);
  State state = robot.scenario.initial();
  state.u.setZero();
  const std::vector<bool> crank = {true, false, false};
  StateCompletion completion(robot.scenario.dynamics(), crank, crank);
  completion.start(state, robot.workspace);
  const Eigen::VectorXd rest = state.q;
  const Eigen::VectorXd none = Eigen::VectorXd::Zero(robot.scenario.system().input_count());
  std::mt19937_64 generator(5);
  std::normal_distribution<double> normal;
  Eigen::VectorXd mean = Eigen::VectorXd::Zero(3), square = mean;
  constexpr int kCount = 20000;
  for (int i = 0; i < kCount + 100; ++i)
  {
    state.u(0) = 1e-3 * normal(generator);
    ASSERT_EQ(completion.complete(0.0, state.q, state.u, robot.workspace), Status::kOk);
    state.q = rest;
    ASSERT_EQ(robot.update(state, none), Status::kOk);
    if (i >= 100)
    {
      mean += robot.observer.force() / kCount;
      square += robot.observer.force().cwiseAbs2() / kCount;
    }
  }
  const double measured = std::sqrt((square - mean.cwiseAbs2()).sum());
  EXPECT_GT(robot.observer.deviation().norm(), 1e-3);
  // Some 2 000 independent samples: 1.6 % standard error.
  EXPECT_NEAR(measured / robot.observer.deviation().norm(), 1.0, 0.06);
}

TEST(MomentumObserver, when_body_is_free_expect_wrench_and_none_where_a_plane_absorbs_it)
{
  const std::string box =
    "bodies: [{name: box, mass: 2, inertia: [0.1, 0.2, 0.3], com: [0.1, 0, 0]}], gravity: [0, 0, "
    "0]";
  const std::string start = "\ninitial: {u: {box_wx: 1, box_wy: 2, box_vx: 0.3}}\n";
  const Scenario pushed = Scenario::from_text(
    "system: {" + box +
    ", external: [{name: push, frame: box, force: [1, 2, 3], torque: [0.3, "
    "-0.2, 0.1]}]}" +
    start);
  MomentumObserverOptions options = options_with_gain(50.0);
  options.frames = {"box"};
  options.speed_noise = Eigen::VectorXd::Constant(6, 1e-3);
  Observed robot(Scenario::from_text("system: {" + box + "}" + start), options);
  const auto simulation = pushed.make_simulation();
  const Eigen::VectorXd none(0);
  for (int i = 0; i < 500; ++i)
  {
    ASSERT_EQ(robot.update(simulation->state(), none), Status::kOk);
    ASSERT_EQ(simulation->step(), Status::kOk);
  }
  ASSERT_TRUE(robot.observer.has_wrenches());
  Eigen::VectorXd wrench(6);
  wrench << 1.0, 2.0, 3.0, 0.3, -0.2, 0.1;
  // 25 time constants, while the generalized force turns with the box at 2 rad/s: a lag of 2/50.
  EXPECT_LT((robot.observer.wrenches() - wrench).cwiseAbs().maxCoeff(), 0.25);
  EXPECT_GT((robot.observer.wrenches() - wrench).cwiseAbs().maxCoeff(), 1e-6);
  EXPECT_GT(robot.observer.wrench_covariance().diagonal().minCoeff(), 0.0);

  Observed held(
    Scenario::from_text(
      "system: {" + box +
      "}\nconstraints: [{name: floor, type: point_on_plane, frame_a: box, "
      "normal: [0, 0, 1], offset: 0}]\n"),
    options);
  ASSERT_EQ(held.update(held.scenario.initial(), none), Status::kOk);
  EXPECT_FALSE(held.observer.has_wrenches());
}

TEST(MomentumObserver, when_called_in_a_cycle_expect_no_allocation_and_statuses)
{
  MomentumObserverOptions options = options_with_gain(50.0);
  options.frames = {"coupler_tip"};
  options.speed_noise = Eigen::VectorXd::Constant(3, 1e-3);
  options.measured_speeds = {true, false, false};
  Observed robot(four_bar(false), options);
  const State state = robot.scenario.initial();
  const int inputs = robot.scenario.system().input_count();
  const Eigen::VectorXd none = Eigen::VectorXd::Zero(inputs);
  const Eigen::VectorXd bad =
    Eigen::VectorXd::Constant(inputs, std::numeric_limits<double>::quiet_NaN());
  ASSERT_EQ(robot.update(state, none), Status::kOk);
  const long before = allocation_count();
  const Status second = robot.update(state, none);
  EXPECT_EQ(allocation_count(), before);
  EXPECT_EQ(second, Status::kOk);
  const Eigen::VectorXd kept = robot.observer.force();
  EXPECT_EQ(robot.observer.update(kPeriod, bad, robot.workspace), Status::kNonFiniteInput);
  EXPECT_EQ(robot.observer.update(0.0, none, robot.workspace), Status::kNonFiniteInput);
  EXPECT_EQ(
    robot.observer.update(kPeriod, Eigen::VectorXd::Zero(inputs + 1), robot.workspace),
    Status::kSizeMismatch);
  EXPECT_EQ(robot.observer.force(), kept);
  options.gain = -1.0;
  EXPECT_THROW(MomentumObserver(robot.scenario.dynamics(), options), std::invalid_argument);
  options.gain = 1.0;
  options.frames = {"nowhere"};
  EXPECT_THROW(MomentumObserver(robot.scenario.dynamics(), options), std::invalid_argument);
}

}  // namespace constrained_dynamics::test
