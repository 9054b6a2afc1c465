// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "constrained_dynamics/model/rigid_body_system.hpp"
#include "constrained_dynamics/scenario/scenario.hpp"

namespace constrained_dynamics
{
namespace
{

using ::testing::HasSubstr;

/// Three links that swing about y axes, with dampers, and a tip.
const char * const kArm = R"(
parameters: {goal: 0.4, r: 0.1}
definitions: {wave: 0.2*sin(3*t)}
system:
  urdf: |
    <robot name="arm">
      <link name="ground"/>
      <link name="upper"><inertial><origin xyz="0 0 -0.5"/><mass value="2"/>
        <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <link name="lower"><inertial><origin xyz="0 0 -0.5"/><mass value="1"/>
        <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <link name="hand"><inertial><origin xyz="0 0 -0.1"/><mass value="0.5"/>
        <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <joint name="shoulder" type="continuous"><parent link="ground"/><child link="upper"/>
        <axis xyz="0 1 0"/><dynamics damping="0.5"/></joint>
      <joint name="elbow" type="continuous"><parent link="upper"/><child link="lower"/>
        <origin xyz="0 0 -1"/><axis xyz="0 1 0"/><dynamics damping="0.3"/></joint>
      <joint name="wrist" type="continuous"><parent link="lower"/><child link="hand"/>
        <origin xyz="0 0 -1"/><axis xyz="0 1 0"/><dynamics damping="0.1"/></joint>
    </robot>
  frames:
    - {name: tip, parent: hand, pose: {xyz: [0, 0, -0.2]}}
initial: {q: {shoulder: 0.5, elbow: -1.0, wrist: 0.3}, u: {dshoulder: 0.1}}
run: {until: 1, step: 0.001}
)";

std::string servo(const std::string & items) { return std::string(kArm) + "servo:\n" + items; }

std::string message_of(const std::string & text)
{
  try
  {
    Scenario::from_text(text);
  }
  catch (const std::invalid_argument & error)
  {
    return error.what();
  }
  return "(accepted)";
}

/// State at the end of a run.
State end_of(const std::string & text, double until)
{
  const Scenario scenario = Scenario::from_text(text);
  const auto simulation = scenario.make_simulation();
  const RunResult result = simulation->run(until, until, [](const Simulation &) { return true; });
  EXPECT_TRUE(result.completed) << to_string(result.status);
  return simulation->state();
}

/// Position of a frame at a state.
FrameKinematics frame_at(const std::string & text, const State & state, const std::string & frame)
{
  const Scenario scenario = Scenario::from_text(text);
  const auto data = scenario.system().make_data();
  EXPECT_EQ(scenario.system().update_kinematics(state.time, state.q, state.u, *data), Status::kOk);
  FrameKinematics result;
  scenario.system().frame_kinematics(*data, scenario.system().frame_index(frame), result);
  return result;
}

// Runge-Kutta of fourth order with steps of 1 ms on motions of size 1.
constexpr double kTracking = 1e-8;

}  // namespace

/// Every kind for one joint, joined within half a second; the others are free.
TEST(ServoScenario, when_joint_follows_each_kind_expect_it_there)
{
  struct Case
  {
    std::string reference;
    double position;
    double rate;
  };
  // At t = 1.
  const std::vector<Case> cases = {
    {"{kind: constant, value: goal}", 0.4, 0.0},
    {"{kind: constant, values: [goal]}", 0.4, 0.0},
    {"{kind: formula, value: goal + wave}", 0.4 + 0.2 * std::sin(3.0), 0.6 * std::cos(3.0)},
    {"{kind: minimum_jerk, from: 0, to: [1], begin: 0.5, duration: 1}", 0.5, 1.875},
    {"{kind: cosine, amplitude: 1.2, rate: 2.0}", 1.2 * std::cos(2.0), -2.4 * std::sin(2.0)},
    {"{kind: lissajous, amplitude: [1.2], rate: 2.0, phase: 0.1, centre: 0.3}",
     0.3 + 1.2 * std::sin(2.1), 2.4 * std::cos(2.1)},
    {"{kind: polyline, points: [[0], [1]], speed: 0.5}", 0.5 * (1.0 - 0.25), 0.5},
    {"{kind: polyline, points: [[0], [1], [3]], speed: 0.5, blend: 0.05, acceleration: 0.75, "
     "begin: 0.5}",
     0.5 * 1.0 * (0.125 - 0.03125), 0.5 * (0.75 - 0.25)},
    {"{kind: curve, value: exp(s) - 1, from: 0, to: 1, speed: 0.5}", 0.5 * (1.0 - 0.25), 0.5},
  };
  for (const Case & c : cases)
  {
    SCOPED_TRACE(c.reference);
    const State state = end_of(
      servo(
        "  - {name: one, type: joint, joint: elbow, smooth_start: 0.5, reference: " + c.reference +
        "}\n"),
      1.0);
    EXPECT_NEAR(state.q(1), c.position, kTracking);
    EXPECT_NEAR(state.u(1), c.rate, 10.0 * kTracking);
  }
}

TEST(ServoScenario, when_motion_has_no_begin_expect_it_from_where_the_robot_is)
{
  const std::string text = servo(
    "  - {name: all, type: joint, joints: [wrist, elbow, shoulder],\n"
    "     reference: {kind: minimum_jerk, to: [0.5, goal, -0.2], duration: 2}}\n");
  const State half = end_of(text, 1.0);
  EXPECT_NEAR(half.q(2), 0.5 * (0.3 + 0.5), kTracking);
  EXPECT_NEAR(half.q(1), 0.5 * (-1.0 + 0.4), kTracking);
  // The shoulder starts with 0.1 rad/s: half way that is 5/32 of its way in the duration.
  EXPECT_NEAR(half.q(0), 0.5 * (0.5 - 0.2) + 0.1 * 2.0 * 5.0 / 32.0, kTracking);
  const State end = end_of(text, 2.0);
  EXPECT_NEAR(end.q(0), -0.2, kTracking);
  EXPECT_NEAR(end.u.norm(), 0.0, 10.0 * kTracking);
}

/// Types that say no value hold what they find; the others go to zero as (E23) says.
TEST(ServoScenario, when_there_is_no_reference_expect_hold_or_zero)
{
  const std::string start = "initial.u={dshoulder: 0}";
  const auto end = [&](const std::string & item)
  {
    const Scenario scenario =
      Scenario::from_text(servo("  - {name: one, " + item + "}\n"), {start});
    const auto simulation = scenario.make_simulation();
    EXPECT_TRUE(simulation->run(2.0, 2.0, [](const Simulation &) { return true; }).completed);
    return simulation->state();
  };
  EXPECT_NEAR(end("type: joint, joint: elbow").q(1), -1.0, kTracking);
  EXPECT_NEAR(end("type: joint, joints: [elbow]").q(1), -1.0, kTracking);
  // Critically damped with a rate of 10/s: (1 + 20) e^−20 of the way is left.
  const double left = 21.0 * std::exp(-20.0);
  EXPECT_NEAR(end("type: joint, joint: elbow, value: goal").q(1), 0.4 - 1.4 * left, kTracking);
  EXPECT_NEAR(
    end("type: joint, joints: {elbow: goal, wrist: 0}").q(1), 0.4 - 1.4 * left, kTracking);
  EXPECT_NEAR(
    end("type: formula, level: position, rows: [elbow - goal], stiffness: 25, damping_ratio: 1")
      .q(1),
    0.4 - 1.4 * 11.0 * std::exp(-10.0), kTracking);
  EXPECT_NEAR(
    end("type: joint_coupling, terms: {elbow: 1, wrist: 2}, offset: 0.1")
      .q.tail<2>()
      .dot(Eigen::Vector2d(1.0, 2.0)),
    0.1 + (-0.4 - 0.1) * left, kTracking);
}

TEST(ServoScenario, when_tip_follows_a_curve_expect_it_on_the_curve)
{
  const std::string text = servo(R"(
  - name: tip
    type: position
    frame_a: tip
    rows: [x, z]
    reference: {kind: curve, values: [0.2 + r*cos(s), "0", -1.5 + r*sin(s)], from: 0, to: 6, speed: 0.2}
    smooth_start: 0.5
  - {name: hand, type: orientation, frame_a: hand, rows: [ry]}
)");
  const State state = end_of(text, 1.5);
  const FrameKinematics tip = frame_at(text, state, "tip");
  const double s = 0.2 * (1.5 - 0.25) / 0.1;
  EXPECT_NEAR(tip.position.x(), 0.2 + 0.1 * std::cos(s), kTracking);
  EXPECT_NEAR(tip.position.z(), -1.5 + 0.1 * std::sin(s), kTracking);
  EXPECT_NEAR(tip.velocity.norm(), 0.2, 10.0 * kTracking);
  // Held: the sum of all angles, which started with 0.1 rad/s; e = 0.1 t e^(−10 t).
  EXPECT_NEAR(state.q.sum(), -0.2, 0.15 * std::exp(-15.0) + kTracking);
  EXPECT_NEAR(state.u.sum(), 0.0, 1e-6);
}

TEST(ServoScenario, when_pose_is_relative_expect_it_between_the_bodies)
{
  const std::string text = servo(R"(
  - name: fold
    type: relative_pose
    frame_a: hand
    frame_b: upper
    rows: [ry]
    reference: {kind: formula, values: [0, 0, 0, 0, wave, 0]}
    smooth_start: 0.5
)");
  const State state = end_of(text, 1.0);
  EXPECT_NEAR(state.q(1) + state.q(2), 0.2 * std::sin(3.0), kTracking);
}

TEST(ServoScenario, when_centre_of_mass_and_energy_are_desired_expect_them)
{
  const std::string text = servo(R"(
  - name: balance
    type: centre_of_mass
    rows: [x]
    position: [0.1, 0, 0]
  - {name: pump, type: energy, reference: {kind: formula, value: "-20 + t"}, first_order_gain: -20}
)");
  const Scenario scenario = Scenario::from_text(text);
  const auto & robot = dynamic_cast<const RigidBodySystem &>(scenario.system());
  const auto simulation = scenario.make_simulation();
  ASSERT_TRUE(simulation->run(1.5, 1.5, [](const Simulation &) { return true; }).completed);
  ASSERT_TRUE(has_output(simulation->evaluate()));
  EXPECT_NEAR(robot.centre_of_mass(simulation->workspace().system_data()).x(), 0.1, 1e-5);  // e^−15
  EXPECT_NEAR(simulation->kinetic_energy() + simulation->potential_energy(), -18.5, 1e-6);
}

/// A passive row of energy against dampers: the energy stays, by forces along the momentum.
TEST(ServoScenario, when_energy_is_a_passive_constraint_expect_it_kept)
{
  const std::string text = std::string(kArm) +
                           "constraints:\n  - {name: keep, type: energy, value: -22.5}\n"
                           "  - {name: stiff, type: joint, joint: wrist, value: 0.3}\n";
  const Scenario scenario = Scenario::from_text(text, {"initial.u={delbow: 0.1, dwrist: 0}"});
  const auto simulation = scenario.make_simulation();
  double worst = 0.0;
  ASSERT_TRUE(simulation
                ->run(
                  2.0, 0.1,
                  [&](const Simulation & now)
                  {
                    const double energy = now.kinetic_energy() + now.potential_energy();
                    worst = std::max(worst, std::abs(energy + 22.5));
                    return true;
                  })
                .completed);
  EXPECT_LE(worst, 1e-9);
  EXPECT_NEAR(simulation->state().q(2), 0.3, 1e-12);
}

TEST(ServoScenario, when_items_are_wrong_expect_messages_that_name_them)
{
  struct Case
  {
    std::string item;
    std::vector<std::string> expected;
  };
  const std::string joint = "type: joint, joint: elbow, reference: ";
  const std::string point = "type: position, frame_a: tip, reference: ";
  const std::vector<Case> cases = {
    {"type: jont, joint: elbow", {"servo.one.type: jont", "did you mean 'joint'?"}},
    {"type: contact, frame_a: tip", {"servo.one.type: contact", "unknown type"}},
    {"joint: elbow", {"servo.one", "'type' is missing"}},
    {"type: joint", {"servo.one", "either 'joint' or 'joints'"}},
    {"type: joint, joint: elbw", {"servo.one.joint", "elbow"}},
    {"type: joint, joints: []", {"servo.one"}},
    {"type: joint, joints: [elbow, elbow]", {"servo.one", "elbow"}},
    {"type: joint, joint: elbow, active: false", {"servo.one.active", "unknown key"}},
    {"type: joint, joint: elbow, value: .nan", {"servo.one.value"}},
    {"type: formula, level: acceleration, rows: [ddelbow]", {"servo.one", "acceleration"}},
    {"type: pose", {"servo.one", "'frame_a' is missing"}},
    {"type: pose, frame_a: nobody", {"servo.one", "nobody"}},
    {"type: pose, frame_a: tip, frame_b: hand", {"servo.one", "one body"}},
    {"type: pose, frame_a: tip, rows: []", {"servo.one"}},
    {"type: position, frame_a: tip, rows: [rx]", {"servo.one.rows", "x, y, z"}},
    {"type: orientation, frame_a: tip, rows: [x]", {"servo.one.rows", "rx, ry, rz"}},
    {"type: relative_pose, frame_a: tip", {"servo.one", "'frame_b' is missing"}},
    {"type: force, constraint: wall, reference: {kind: constant, value: 1}", {"servo.one", "wall"}},
    {"type: joint, joint: elbow, weight: 0", {"servo.one.weight: 0", "1e-6 to 1e6"}},
    {"type: joint, joint: elbow, weight: heavy", {"servo.one.weight: heavy"}},
    {"type: joint, joint: elbow, smooth_start: -1", {"servo.one.smooth_start: -1"}},
    {"type: joint, joint: elbow, smooth_start: 1e999", {"servo.one.smooth_start"}},
    {joint + "3", {"servo.one.reference: 3", "a map"}},
    {joint + "{}", {"servo.one.reference"}},
    {joint + "{kind: spline}", {"servo.one.reference.kind: spline", "polyline"}},
    {joint + "{kind: constant}", {"servo.one.reference", "either 'value' or 'values'"}},
    {joint + "{kind: constant, value: 1, values: [1]}", {"either 'value' or 'values'"}},
    {joint + "{kind: constant, values: [1, 2]}", {"servo.one.reference", "2 values; allowed: 1"}},
    {joint + "{kind: constant, values: []}", {"servo.one.reference"}},
    {joint + "{kind: constant, value: .nan}", {"servo.one.reference.value"}},
    {joint + "{kind: constant, value: 1, speed: 2}", {"servo.one.reference.speed", "unknown key"}},
    {joint + "{kind: formula, value: sin(}", {"servo.one.reference"}},
    {joint + "{kind: formula, value: elbow}", {"servo.one.reference", "elbow"}},
    {joint + "{kind: minimum_jerk, to: 1}", {"'duration' is missing"}},
    {joint + "{kind: minimum_jerk, to: 1, duration: 0}", {"servo.one.reference.duration: 0"}},
    {joint + "{kind: minimum_jerk, to: 1, duration: 1, begin: 2}", {"reference.begin"}},
    {joint + "{kind: minimum_jerk, to: 1, duration: 1}, smooth_start: 1", {"smooth_start"}},
    {joint + "{kind: cosine, amplitude: 1}", {"'rate' is missing"}},
    {joint + "{kind: cosine, amplitude: [1], rate: [1, 2]}", {"rate has 2 values"}},
    {joint + "{kind: polyline, points: [], speed: 1}", {"number of way-points is 0"}},
    {joint + "{kind: polyline, points: [[1]], speed: 1}", {"number of way-points is 1"}},
    {joint + "{kind: polyline, points: [[1], [1]], speed: 1}", {"way-points 1 and 2 is 0"}},
    {joint + "{kind: polyline, points: [[1], [2]], speed: 0}", {"reference.speed: 0"}},
    {joint + "{kind: polyline, points: [[1], [2]], speed: 1, blend: 0}", {"reference.blend: 0"}},
    {joint + "{kind: polyline, points: [[1], [2, 3]], speed: 1}", {"way-point 2"}},
    {joint + "{kind: polyline, points: 3, speed: 1}", {"servo.one.reference.points: 3"}},
    {joint + "{kind: curve, value: s, from: 1, to: 1, speed: 1}", {"another number"}},
    {joint + "{kind: curve, value: 1, from: 0, to: 1, speed: 1}", {"stands still"}},
    {point + "{kind: constant, values: [1, 2]}", {"2 values", "x y z (3)"}},
    {point + "{kind: constant, values: [1, 2, 3, 0, 0, 0, 0]}", {"quaternion"}},
  };
  for (const Case & c : cases)
  {
    SCOPED_TRACE(c.item);
    const std::string message = message_of(servo("  - {name: one, " + c.item + "}\n"));
    EXPECT_THAT(message, HasSubstr("scenario:"));
    for (const std::string & part : c.expected)
    {
      EXPECT_THAT(message, HasSubstr(part));
    }
  }
  EXPECT_THAT(message_of(servo("  - 3\n")), HasSubstr("allowed: a map"));
  EXPECT_THAT(
    message_of(
      std::string(kArm) +
      "constraints: [{name: wall, type: point_on_plane, frame_a: tip, normal: [1, 0, 0], "
      "active: false}]\nservo: [{name: one, type: force, constraint: wall}]\n"),
    HasSubstr("'reference' is missing"));
  EXPECT_THAT(
    message_of("system: {coordinates: [x], kinetic: dx^2, inputs: {f: {x: 1}}}\nservo: [{name: c, "
               "type: centre_of_mass}]\n"),
    HasSubstr("RigidBodySystem"));
}

TEST(ServoScenario, when_limits_of_motion_are_given_expect_them_in_the_law_or_refused)
{
  const std::string system =
    "system: {coordinates: [x, y], kinetic: dx^2 + dy^2, inputs: {fx: {x: 1}, fy: {y: 1}}}\n"
    "servo: [{name: x, type: joint, joint: x, value: 3}]\nservo_law: {limits: ";
  const Scenario scenario = Scenario::from_text(
    system + "{position: {x: [-1, 2]}, velocity: {y: 0.5}, deceleration: {x: 4}}}\n");
  const MotionLimits & limits = scenario.servo_law()->options().motion_limits;
  ASSERT_EQ(limits.lower.size(), 2);
  EXPECT_EQ(limits.lower(0), -1.0);
  EXPECT_EQ(limits.upper(0), 2.0);
  EXPECT_FALSE(std::isfinite(limits.upper(1)));
  EXPECT_EQ(limits.velocity(1), 0.5);
  EXPECT_EQ(limits.deceleration(0), 4.0);
  EXPECT_NEAR(limits.deceleration(1), 0.5 / MotionLimits::kStopTime, 1e-15);
  const State & start = scenario.initial();
  ServoWorkspace servo(*scenario.servo_law(), start);
  EXPECT_EQ(
    scenario.servo_law()->evaluate(0.0, Eigen::Vector2d(2.0, 0.0), start.u, servo),
    Status::kLimited);
  EXPECT_TRUE(servo.result().at_motion_limit[0]);
  EXPECT_FALSE(servo.result().at_motion_limit[1]);
  EXPECT_THAT(
    message_of(system + "{position: model}}\n"),
    HasSubstr("position: model: allowed only for robots"));
  EXPECT_THAT(message_of(system + "{position: {z: [0, 1]}}}\n"), HasSubstr("limits.position.z"));
  EXPECT_THAT(message_of(system + "{position: {x: [1, 0]}}}\n"), HasSubstr("lower < upper"));
  EXPECT_THAT(message_of(system + "{velocity: -1}}\n"), HasSubstr("limits.velocity: -1"));
  EXPECT_THAT(message_of(system + "{deceleration: 0}}\n"), HasSubstr("limits.deceleration: 0"));
}

}  // namespace constrained_dynamics
