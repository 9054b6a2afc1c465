// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/analysis/identification.hpp"

#include <cmath>
#include <iostream>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>

#include <gmock/gmock.h>

#include "constrained_dynamics/scenario/profile_file.hpp"
#include "constrained_dynamics/scenario/scenario.hpp"

namespace constrained_dynamics::test
{

namespace
{

const std::string kArm = std::string(CD_TEST_DATA) + "/arm_on_wall.urdf";
const double kMass = 1.3;
const Eigen::Vector3d kCom(0.04, -0.03, 0.12);

/// The arm, with a payload that the model does not know if asked for.
Scenario arm(bool loaded)
{
  const std::string payload =
    ", attachments: [{name: load, parent: tip, mass: 1.3, com: [0.04, -0.03, 0.12], inertia: {ixx: "
    "4.0e-3, iyy: 5.0e-3, izz: 3.0e-3, ixy: 2.0e-4, ixz: 1.0e-4, iyz: -3.0e-4}}]";
  return Scenario::from_text("system: {urdf: " + kArm + (loaded ? payload : "") + "}");
}

Eigen::Vector4d friction_of(const Eigen::VectorXd & u)
{
  const Eigen::Vector4d viscous(0.5, 1.0, 0.7, 0.2);
  const Eigen::Vector4d coulomb(1.5, 2.0, 1.0, 0.3);
  return viscous.cwiseProduct(u) + coulomb.cwiseProduct((u / 1e-2).array().tanh().matrix());
}

/// Joints on sines of different frequencies; `moving` of them, the others at rest.
MotionRecording record(int count, int moving = 4)
{
  const Scenario loaded = arm(true);
  Workspace workspace(*loaded.dynamics(), loaded.initial());
  MotionRecording recording;
  recording.time.setLinSpaced(count, 0.0, 10.0);
  recording.position.setZero(count, 4);
  recording.velocity.setZero(count, 4);
  recording.acceleration.setZero(count, 4);
  recording.effort.setZero(count, 4);
  const Eigen::Vector4d rate(1.1, 1.7, 2.3, 3.1);
  for (int i = 0; i < count; ++i)
  {
    const double t = recording.time(i);
    for (int k = 0; k < 4; ++k)
    {
      const double w = k >= 4 - moving ? rate(k) : 0.0;
      const double phase = 0.5 + 0.4 * k;
      recording.position(i, k) = 0.7 * std::sin(w * t + phase);
      recording.velocity(i, k) = 0.7 * w * std::cos(w * t + phase);
      recording.acceleration(i, k) = -0.7 * w * w * std::sin(w * t + phase);
    }
    const Eigen::VectorXd u = recording.velocity.row(i);
    EXPECT_EQ(
      loaded.dynamics()->set_state(t, recording.position.row(i).transpose(), u, workspace),
      Status::kOk);
    EXPECT_EQ(loaded.dynamics()->evaluate_terms(workspace), Status::kOk);
    const Terms terms = workspace.terms();
    recording.effort.row(i) =
      (terms.mass_matrix * recording.acceleration.row(i).transpose() - terms.force + friction_of(u))
        .transpose();
  }
  return recording;
}

IdentificationOptions payload_and_friction()
{
  IdentificationOptions options;
  options.payload_frame = "tip";
  return options;
}

}  // namespace

TEST(Identification, when_recording_is_exact_expect_payload_and_friction)
{
  const Scenario model = arm(false);
  const Identification found = identify(*model.dynamics(), record(400), payload_and_friction());
  ASSERT_EQ(found.names.size(), 18U);
  const auto value = [&](const std::string & name) { return found.estimate(found.index(name)); };
  for (const char * name : {"mass", "moment/x", "moment/y", "moment/z"})
  {
    EXPECT_TRUE(found.identifiable[static_cast<std::size_t>(found.index(name))]) << name;
  }
  EXPECT_NEAR(value("mass"), kMass, 1e-8);
  EXPECT_NEAR(value("moment/x"), kMass * kCom.x(), 1e-8);
  EXPECT_NEAR(value("moment/y"), kMass * kCom.y(), 1e-8);
  EXPECT_NEAR(value("moment/z"), kMass * kCom.z(), 1e-8);
  EXPECT_NEAR(value("viscous/joint_2"), 1.0, 1e-8);
  EXPECT_NEAR(value("coulomb/joint_4"), 0.3, 1e-8);
  EXPECT_LT(found.effort_deviation, 1e-8);

  RobotProfile profile;
  profile.name = "arm";
  for (const char * joint : {"joint_1", "joint_2", "joint_3", "joint_4"})
  {
    profile.joints.emplace_back();
    profile.joints.back().name = joint;
  }
  store_identification(found, payload_and_friction(), "load", profile);
  const RobotProfile again = robot_profile_from_text(write_robot_profile(profile));
  EXPECT_NEAR(again.payloads.at(0).mass, kMass, 1e-8);
  EXPECT_LT((again.payloads.at(0).com - kCom).norm(), 1e-8);
  EXPECT_NEAR(again.joints[1].friction.coulomb, 2.0, 1e-8);
  EXPECT_EQ(again.joints[1].friction.smoothing, 1e-2);
  // A model that knows the payload finds none.
  const Scenario loaded = arm(true);
  const Identification none = identify(*loaded.dynamics(), record(400), payload_and_friction());
  EXPECT_NEAR(none.estimate(none.index("mass")), 0.0, 1e-8);
  profile.joints.pop_back();
  EXPECT_THROW(
    store_identification(found, payload_and_friction(), "load", profile), std::invalid_argument);
}

// The last joint alone moves: nothing of the friction of the others, nor the mass, can be known,
// but what acts on that joint can.
TEST(Identification, when_one_joint_moves_expect_the_rest_not_identifiable)
{
  const Scenario model = arm(false);
  const Identification found = identify(*model.dynamics(), record(200, 1), payload_and_friction());
  const auto known = [&](const std::string & name)
  { return found.identifiable[static_cast<std::size_t>(found.index(name))]; };
  EXPECT_TRUE(known("viscous/joint_4"));
  EXPECT_TRUE(known("coulomb/joint_4"));
  for (const char * name : {"viscous/joint_1", "coulomb/joint_1", "viscous/joint_3"})
  {
    EXPECT_FALSE(known(name)) << name;
    const int i = found.index(name);
    EXPECT_TRUE(std::isinf(found.covariance(i, i))) << name;
  }
  EXPECT_NEAR(found.estimate(found.index("viscous/joint_4")), 0.2, 1e-8);
}

TEST(Identification, when_efforts_are_noisy_expect_stated_covariance)
{
  const Scenario model = arm(false);
  const MotionRecording clean = record(100);
  IdentificationOptions options = payload_and_friction();
  const Eigen::VectorXd exact = identify(*model.dynamics(), clean, options).estimate;
  const unsigned seed = 11;
  std::cout << "seed " << seed << "\n";
  std::mt19937_64 generator(seed);
  std::normal_distribution<double> normal;
  constexpr int kRuns = 400;
  Eigen::VectorXd sample = Eigen::VectorXd::Zero(exact.size());
  Eigen::VectorXd stated = sample;
  double deviation = 0.0;
  for (int run = 0; run < kRuns; ++run)
  {
    MotionRecording noisy = clean;
    noisy.effort = clean.effort.unaryExpr([&](double x) { return x + 0.3 * normal(generator); });
    const Identification found = identify(*model.dynamics(), noisy, options);
    sample += (found.estimate - exact).cwiseAbs2() / kRuns;
    stated += found.covariance.diagonal() / kRuns;
    deviation += found.effort_deviation / kRuns;
  }
  EXPECT_NEAR(deviation, 0.3, 0.003);
  for (Eigen::Index i = 0; i < exact.size(); ++i)
  {
    if (std::isfinite(stated(i)))
    {
      // Standard error of a variance: sqrt(2/400) = 7 %; 14 parameters are compared.
      EXPECT_NEAR(sample(i) / stated(i), 1.0, 0.25) << i;
    }
  }
}

// In a closed loop only what moves with the loop can be known: the friction of one joint, here.
TEST(Identification, when_loop_is_closed_expect_friction_of_the_crank)
{
  const Scenario scenario = Scenario::from_text(
    "system: {urdf: " + std::string(CD_CONFIG) +
    "/robots/four_bar.urdf, actuated: [crank]}\nconstraints: [{name: loop, type: "
    "frame_coincidence, frame_a: coupler_tip, frame_b: rocker_tip, rows: [x, z]}]\n"
    "inputs: {crank: 30*sin(5*t)}\n"
    "initial: {q: {crank: 0.3, coupler: pi/2, rocker: 2.5}, solve: [coupler, rocker]}\n"
    "run: {until: 2, step: 0.001}\n");
  const auto simulation = scenario.make_simulation();
  Workspace workspace(*scenario.dynamics(), scenario.initial());
  constexpr int kCount = 500;
  MotionRecording recording;
  recording.time.setZero(kCount);
  recording.position.setZero(kCount, 3);
  recording.velocity.setZero(kCount, 3);
  recording.acceleration.setZero(kCount, 3);
  recording.effort.setZero(kCount, 1);
  for (int i = 0; i < kCount; ++i)
  {
    const State & state = simulation->state();
    const Eigen::VectorXd net = Eigen::VectorXd::Constant(1, 30.0 * std::sin(5.0 * state.time));
    ASSERT_EQ(
      scenario.dynamics()->solve(state.time, state.q, state.u, net, workspace), Status::kOk);
    recording.time(i) = state.time;
    recording.position.row(i) = state.q.transpose();
    recording.velocity.row(i) = state.u.transpose();
    recording.acceleration.row(i) = workspace.solution().acceleration.transpose();
    recording.effort(i, 0) = net(0) + 3.0 * state.u(0) + 2.0 * std::tanh(state.u(0) / 1e-2) + 0.4;
    ASSERT_EQ(simulation->step(), Status::kOk);
  }
  IdentificationOptions options;
  options.offset = true;
  const Identification found = identify(*scenario.dynamics(), recording, options);
  ASSERT_EQ(found.rank, 3);
  EXPECT_NEAR(found.estimate(found.index("viscous/crank")), 3.0, 1e-8);
  EXPECT_NEAR(found.estimate(found.index("coulomb/crank")), 2.0, 1e-8);
  EXPECT_NEAR(found.estimate(found.index("offset/crank")), 0.4, 1e-8);
  // Accelerations from the recorded speeds: second order in the period.
  recording.acceleration = differentiate_speeds(recording.time, recording.velocity);
  const Identification again = identify(*scenario.dynamics(), recording, options);
  EXPECT_NEAR(again.estimate(0), 3.0, 0.02);
}

TEST(Identification, when_recording_is_bad_expect_message)
{
  const Scenario model = arm(false);
  MotionRecording recording = record(20);
  IdentificationOptions nothing;
  nothing.friction = false;
  EXPECT_THROW((void)identify(*model.dynamics(), recording, nothing), std::invalid_argument);
  EXPECT_THROW(
    (void)identify(*model.dynamics(), record(3), payload_and_friction()), std::invalid_argument);
  recording.effort(2, 1) = std::nan("");
  EXPECT_THROW(
    (void)identify(*model.dynamics(), recording, payload_and_friction()), std::invalid_argument);
  recording.effort.setZero(20, 3);
  EXPECT_THROW(
    (void)identify(*model.dynamics(), recording, payload_and_friction()), std::invalid_argument);
  EXPECT_THROW(
    (void)differentiate_speeds(Eigen::Vector3d::Zero(), Eigen::MatrixXd::Zero(3, 2)),
    std::invalid_argument);
}

}  // namespace constrained_dynamics::test
