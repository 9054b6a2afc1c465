// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/servo/loop_transmission.hpp"

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <Eigen/Core>

#include "constrained_dynamics/scenario/scenario.hpp"
#include "support/allocation_counter.hpp"

namespace constrained_dynamics::test
{
namespace
{

using Eigen::Vector2d;
using Eigen::VectorXd;
using testing::HasSubstr;

Scenario load(const std::string & name, const std::vector<std::string> & overrides = {})
{
  return Scenario::load(CD_CONFIG "/scenarios/" + name + ".yaml", overrides);
}

LoopTransmission make(
  const Scenario & scenario, const std::vector<std::string> & actuators,
  const std::vector<std::string> & joints, const LoopTransmissionOptions & options = {})
{
  return {Dynamics(scenario.active_constraints()), scenario.initial(), actuators, joints, options};
}

VectorXd one(double value) { return VectorXd::Constant(1, value); }

/// Angle of the finger for an angle of the motor: Freudenstein's equation of the linkage, crank
/// 0.03, coupler 0.055, finger 0.04, base 0.05 m, the branch with the pin above.
double finger_angle(double motor)
{
  const double x = 0.03 * std::cos(motor) - 0.05;
  const double z = 0.03 * std::sin(motor);
  const double square = x * x + z * z;
  const double inner =
    std::acos((square + 0.04 * 0.04 - 0.055 * 0.055) / (2.0 * 0.04 * std::sqrt(square)));
  return std::atan2(z, x) - inner;
}

TEST(LoopTransmission, when_gripper_moves_expect_closed_form_of_four_bar)
{
  const Scenario scenario = load("four_bar_gripper");
  LoopTransmission transmission = make(scenario, {"motor"}, {"finger"});
  EXPECT_EQ(transmission.degrees_of_freedom(), 1);
  VectorXd finger(1);
  VectorXd motor(1);
  LoopTransmission back = make(scenario, {"motor"}, {"finger"});
  for (double angle = 1.2; angle < 2.4; angle += 0.02)
  {
    ASSERT_EQ(transmission.actuators_to_joints(one(angle), finger), Status::kOk) << angle;
    EXPECT_NEAR(finger(0), finger_angle(angle), 1e-12) << angle;
    ASSERT_EQ(back.joints_to_actuators(finger, motor), Status::kOk) << angle;
    EXPECT_NEAR(motor(0), angle, 1e-12);
    // Velocity by the central difference of the closed form.
    const double step = 1e-5;
    const double slope = (finger_angle(angle + step) - finger_angle(angle - step)) / (2.0 * step);
    VectorXd speed(1);
    ASSERT_EQ(transmission.actuator_velocities_to_joints(one(2.0), speed), Status::kOk);
    EXPECT_NEAR(speed(0), 2.0 * slope, 1e-8 * (1.0 + std::abs(slope)));
    VectorXd effort(1);
    ASSERT_EQ(transmission.actuator_efforts_to_joints(one(0.7), effort), Status::kOk);
    EXPECT_NEAR(effort(0) * speed(0), 0.7 * 2.0, 1e-13);
  }
}

TEST(LoopTransmission, when_ankle_moves_through_stroke_expect_round_trip_and_equal_power)
{
  const Scenario scenario = load("parallel_ankle");
  const std::vector<std::string> motors = {"left_motor", "right_motor"};
  const std::vector<std::string> ankle = {"ankle_pitch", "ankle_roll"};
  LoopTransmission transmission = make(scenario, motors, ankle);
  LoopTransmission back = make(scenario, motors, ankle);
  ASSERT_EQ(transmission.degrees_of_freedom(), 2);
  std::mt19937 random(18);
  std::uniform_real_distribution<double> number(-1.0, 1.0);
  double largest_roll = 0.0;
  double largest_pitch = 0.0;
  for (int i = 0; i <= 400; ++i)
  {
    const double t = 0.01 * i;
    const Vector2d joints(0.5 * std::sin(2.0 * t), 0.3 * std::sin(3.0 * t));
    VectorXd motor(2);
    VectorXd found(2);
    ASSERT_EQ(back.joints_to_actuators(joints, motor), Status::kOk) << t;
    ASSERT_EQ(transmission.actuators_to_joints(motor, found), Status::kOk) << t;
    EXPECT_LT((found - joints).cwiseAbs().maxCoeff(), 1e-12) << t;
    largest_pitch = std::max(largest_pitch, std::abs(found(0)));
    largest_roll = std::max(largest_roll, std::abs(found(1)));

    // Any motion and any efforts have the same power on both sides, in both directions.
    const Vector2d motor_speed(number(random), number(random));
    const Vector2d motor_effort(number(random), number(random));
    VectorXd joint_speed(2);
    VectorXd joint_effort(2);
    VectorXd again(2);
    ASSERT_EQ(transmission.actuator_velocities_to_joints(motor_speed, joint_speed), Status::kOk);
    ASSERT_EQ(transmission.actuator_efforts_to_joints(motor_effort, joint_effort), Status::kOk);
    EXPECT_NEAR(joint_effort.dot(joint_speed), motor_effort.dot(motor_speed), 1e-13) << t;
    ASSERT_EQ(transmission.joint_velocities_to_actuators(joint_speed, again), Status::kOk);
    EXPECT_LT((again - motor_speed).norm(), 1e-12);
    ASSERT_EQ(transmission.joint_efforts_to_actuators(joint_effort, again), Status::kOk);
    EXPECT_LT((again - motor_effort).norm(), 1e-12);
  }
  EXPECT_GT(largest_pitch, 0.49);
  EXPECT_GT(largest_roll, 0.29);
}

TEST(LoopTransmission, when_ankle_holds_load_expect_torques_of_dynamics)
{
  // Torques of the motors that hold torques at the ankle: the library's motion must be at rest.
  const Scenario scenario =
    load("parallel_ankle", {"system.gravity=[0, 0, 0]", "system.actuated=all"});
  LoopTransmission transmission =
    make(scenario, {"left_motor", "right_motor"}, {"ankle_pitch", "ankle_roll"});
  VectorXd motor(2);
  ASSERT_EQ(transmission.joints_to_actuators(Vector2d(0.3, -0.2), motor), Status::kOk);
  const Vector2d load_at_ankle(4.0, -1.5);
  VectorXd effort(2);
  ASSERT_EQ(transmission.joint_efforts_to_actuators(load_at_ankle, effort), Status::kOk);
  const System & system = scenario.system();
  VectorXd inputs = VectorXd::Zero(system.input_count());
  inputs(system.input_index("left_motor")) = effort(0);
  inputs(system.input_index("right_motor")) = effort(1);
  inputs(system.input_index("ankle_pitch")) = -load_at_ankle(0);
  inputs(system.input_index("ankle_roll")) = -load_at_ankle(1);
  const State state{0.0, transmission.coordinates(), VectorXd::Zero(system.speed_count())};
  Workspace workspace(*scenario.dynamics(), state);
  ASSERT_EQ(scenario.dynamics()->solve(0.0, state.q, state.u, inputs, workspace), Status::kOk);
  EXPECT_LT(workspace.solution().acceleration.norm(), 1e-8);
  EXPECT_GT(effort.norm(), 1.0);
}

TEST(LoopTransmission, when_more_motors_than_freedoms_expect_least_norm)
{
  // The gripper with a second motor at its finger: one degree of freedom.
  const Scenario scenario = load("four_bar_gripper");
  LoopTransmission transmission = make(scenario, {"motor", "coupler"}, {"finger"});
  ASSERT_EQ(transmission.degrees_of_freedom(), 1);
  VectorXd efforts(2);
  ASSERT_EQ(transmission.joint_efforts_to_actuators(one(1.0), efforts), Status::kOk);
  VectorXd speeds(2);
  ASSERT_EQ(transmission.joint_velocities_to_actuators(one(1.0), speeds), Status::kOk);
  EXPECT_NEAR(efforts.dot(speeds), 1.0, 1e-13);
  // Least norm: along the speeds of the motors.
  EXPECT_NEAR(efforts(0) * speeds(1) - efforts(1) * speeds(0), 0.0, 1e-13);
  // Positions that contradict each other by 1 mrad: the nearest motion, with the loop closed.
  VectorXd motors(2);
  ASSERT_EQ(transmission.joints_to_actuators(one(finger_angle(1.3)), motors), Status::kOk);
  VectorXd finger(1);
  ASSERT_EQ(transmission.actuators_to_joints(motors + Vector2d(1e-3, 0.0), finger), Status::kOk);
  const double share = speeds(0) * 1e-3 / speeds.squaredNorm();
  EXPECT_NEAR(finger(0), finger_angle(1.3) + share, 1e-4);
  Workspace workspace = Workspace::unanalysed(*scenario.dynamics());
  ASSERT_EQ(
    scenario.dynamics()->evaluate_rows(
      0.0, transmission.coordinates(), VectorXd::Zero(3), workspace),
    Status::kOk);
  EXPECT_LT(workspace.rows().position.cwiseAbs().maxCoeff(), 1e-12);
}

TEST(LoopTransmission, when_finger_reaches_its_end_expect_status_and_bounded_outputs)
{
  // The finger cannot be driven beyond the position where crank and coupler are in line.
  const Scenario scenario = load("four_bar_gripper");
  LoopTransmission transmission = make(scenario, {"motor"}, {"finger"});
  VectorXd motor(1);
  VectorXd finger(1);
  ASSERT_EQ(transmission.actuators_to_joints(one(1.2), finger), Status::kOk);
  double angle = finger(0);
  Status status = Status::kOk;
  const double direction = finger_angle(1.1) > finger_angle(1.2) ? 1.0 : -1.0;
  double last = 1.2;
  int steps = 0;
  while (has_output(status) && steps < 1000)
  {
    ++steps;
    angle += 0.002 * direction;
    motor.setConstant(-7.0);
    status = transmission.joints_to_actuators(one(angle), motor);
    if (has_output(status))
    {
      EXPECT_LT(std::abs(motor(0) - last), 0.2) << angle;  // no jump to the other branch
      last = motor(0);
    }
  }
  EXPECT_EQ(status, Status::kNotConverged);
  EXPECT_EQ(motor(0), -7.0);
  // The end of the stroke: crank and coupler stretched, by the law of cosines.
  const double end = std::acos((0.05 * 0.05 + 0.085 * 0.085 - 0.04 * 0.04) / (2.0 * 0.05 * 0.085));
  EXPECT_NEAR(last, end, 0.1);
  EXPECT_GT(last, end);
  // The motor moves the finger back from there, on the branch.
  EXPECT_TRUE(has_output(transmission.actuators_to_joints(one(last + 0.1), finger)));
  EXPECT_NEAR(finger(0), finger_angle(last + 0.1), 1e-11);
}

TEST(LoopTransmission, when_position_is_singular_expect_bounded_efforts)
{
  // Crank and coupler in line: the finger does not move with the motor, which resists any torque.
  const Scenario scenario = load("four_bar_gripper");
  LoopTransmissionOptions options;
  options.largest_ratio = 100.0;
  LoopTransmission transmission = make(scenario, {"motor"}, {"finger"}, options);
  VectorXd finger(1);
  VectorXd effort(1);
  VectorXd speed(1);
  bool was_singular = false;
  for (double angle = 1.2; angle > 0.05; angle -= 0.001)
  {
    ASSERT_EQ(transmission.actuators_to_joints(one(angle), finger), Status::kOk) << angle;
    EXPECT_NEAR(finger(0), finger_angle(angle), 1e-11);
    const Status status = transmission.actuator_efforts_to_joints(one(1.0), effort);
    ASSERT_TRUE(has_output(status));
    was_singular = was_singular || status == Status::kSingular;
    EXPECT_LE(std::abs(effort(0)), 100.0) << angle;
    EXPECT_EQ(transmission.joint_velocities_to_actuators(one(1.0), speed), status);
    EXPECT_LE(std::abs(speed(0)), 100.0) << angle;
  }
  EXPECT_TRUE(was_singular);
}

TEST(LoopTransmission, when_converted_expect_no_allocation_and_untouched_outputs)
{
  const Scenario scenario = load("parallel_ankle");
  LoopTransmission transmission =
    make(scenario, {"left_motor", "right_motor"}, {"ankle_pitch", "ankle_roll"});
  VectorXd out = Vector2d(5.0, 6.0);
  const long before = allocation_count();
  Status status = transmission.actuators_to_joints(Vector2d(0.2, -0.1), out);
  status = worse(status, transmission.joints_to_actuators(Vector2d(0.1, 0.05), out));
  status = worse(status, transmission.actuator_velocities_to_joints(Vector2d(0.1, 0.2), out));
  status = worse(status, transmission.joint_velocities_to_actuators(Vector2d(0.1, 0.2), out));
  status = worse(status, transmission.actuator_efforts_to_joints(Vector2d(0.1, 0.2), out));
  status = worse(status, transmission.joint_efforts_to_actuators(Vector2d(0.1, 0.2), out));
  EXPECT_EQ(allocation_count() - before, 0);
  EXPECT_EQ(status, Status::kOk);

  out = Vector2d(5.0, 6.0);
  const VectorXd held = transmission.coordinates();
  const double nan = std::nan("");
  EXPECT_EQ(transmission.actuators_to_joints(Vector2d(nan, 0.0), out), Status::kNonFiniteInput);
  EXPECT_EQ(transmission.actuators_to_joints(one(0.0), out), Status::kSizeMismatch);
  EXPECT_EQ(transmission.actuators_to_joints(Vector2d(50.0, 0.0), out), Status::kNotConverged);
  EXPECT_EQ(
    transmission.joint_efforts_to_actuators(Vector2d(nan, 0.0), out), Status::kNonFiniteInput);
  EXPECT_EQ(out, Vector2d(5.0, 6.0));
  EXPECT_EQ(transmission.coordinates(), held);
}

TEST(LoopTransmission, when_sides_do_not_fit_expect_message)
{
  const Scenario gripper = load("four_bar_gripper");
  const Scenario ankle = load("parallel_ankle");
  const auto message = [](auto && call)
  {
    try
    {
      call();
    }
    catch (const std::invalid_argument & error)
    {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(message([&] { make(gripper, {"motr"}, {"finger"}); }), HasSubstr("motr"));
  EXPECT_THAT(message([&] { make(gripper, {}, {"finger"}); }), HasSubstr("no actuators"));
  EXPECT_THAT(
    message(
      [&] {
        make(gripper, {"motor", "motor"}, {"finger"});
      }),
    HasSubstr("named twice"));
  EXPECT_THAT(
    message(
      [&] {
        make(ankle, {"left_motor"}, {"ankle_pitch", "ankle_roll"});
      }),
    HasSubstr("1 actuators for 2 degrees of freedom"));
  LoopTransmissionOptions options;
  options.largest_ratio = 0.5;
  EXPECT_THAT(
    message([&] { make(gripper, {"motor"}, {"finger"}, options); }), HasSubstr("largest_ratio"));
  const Scenario sleigh = load("chaplygin_sleigh");
  const Scenario ball =
    Scenario::from_text("system: {bodies: [{name: ball, mass: 1, inertia: [1, 1, 1]}]}\n");
  EXPECT_THAT(
    message([&] { make(ball, {"ball_qx"}, {"ball_x"}); }), HasSubstr("several degrees of freedom"));
  EXPECT_THAT(message([&] { make(sleigh, {"x"}, {"y"}); }), HasSubstr("position rows"));
}

}  // namespace
}  // namespace constrained_dynamics::test
