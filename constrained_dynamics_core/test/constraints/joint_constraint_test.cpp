// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/constraints/joint_constraint.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <Eigen/Geometry>

#include "constrained_dynamics/constraints/frame_coincidence.hpp"
#include "constrained_dynamics/scenario/scenario.hpp"
#include "constraints/constraint_conformance.hpp"

namespace constrained_dynamics::test
{

using Eigen::AngleAxisd;
using Eigen::Vector3d;
using Eigen::VectorXd;
using testing::HasSubstr;

namespace
{

constexpr double kPi = 3.141592653589793;

MakeBetweenFrames joint(JointType type)
{
  return [type](const System & system, const std::string & a, const std::string & b)
  {
    return std::make_shared<JointConstraint>(
      "c", type, system, a, b, Vector3d(0.5, 1.0, -0.2), type == JointType::kScrew ? 0.9 : 0.0);
  };
}

/// Runs two scenarios; largest deviation of their observables, which have the same names.
double deviation(const std::string & constrained, const std::string & twin)
{
  const std::string run =
    "run: {until: 1, integrator: dopri5, output_interval: 0.1, "
    "absolute_tolerance: 1e-13, relative_tolerance: 1e-13}\n";
  std::vector<std::vector<VectorXd>> values(2);
  for (const int i : {0, 1})
  {
    const Scenario scenario = Scenario::from_text((i == 0 ? constrained : twin) + run);
    const std::unique_ptr<Simulation> simulation = scenario.make_simulation();
    const auto observer = [&](const Simulation & now)
    {
      VectorXd observed(static_cast<Eigen::Index>(scenario.observable_names().size()));
      EXPECT_EQ(scenario.observe(now.workspace(), now.inputs(), observed), Status::kOk);
      values[static_cast<std::size_t>(i)].push_back(observed);
      return true;
    };
    const RunResult result = simulation->run(1.0, 0.1, observer);
    EXPECT_EQ(result.status, Status::kOk) << to_string(result.status);
  }
  EXPECT_EQ(values[0].size(), values[1].size());
  double worst = 0.0;
  double moved = 0.0;
  for (std::size_t k = 0; k < std::min(values[0].size(), values[1].size()); ++k)
  {
    worst = std::max(worst, (values[0][k] - values[1][k]).cwiseAbs().maxCoeff());
    moved = std::max(moved, (values[1][k] - values[1][0]).cwiseAbs().maxCoeff());
  }
  EXPECT_GT(moved, 0.1) << "nothing moves";
  return worst;
}

/// A free body of 2 kg with its centre of mass off the origin, held by a joint to the world.
std::string body(const std::string & constraint, const std::string & initial)
{
  return "system:\n"
         "  bodies: [{name: b, mass: 2, inertia: [0.03, 0.04, 0.05], com: [0.1, 0.2, 0]}]\n"
         "  gravity: [1.5, -2, -9.81]\n"
         "constraints: [{name: j, frame_a: b, frame_b: world, " +
         constraint + "}]\ninitial: {u: {" + initial + "}}\n";
}

// The same body in joint coordinates about and along z. Its moment of inertia about the axis is
// 0.05 + 2 (0.1² + 0.2²); gravity pulls at the centre of mass.
const char * const kAbout =
  "parameters: {m: 2, J: 0.15, gx: 1.5, gy: -2, gz: -9.81, cx: 0.1, cy: 0.2}\n";
const char * const kWeight =
  "-m*(gx*(cx*cos(theta) - cy*sin(theta)) + gy*(cx*sin(theta) + cy*cos(theta)))";

}  // namespace

INSTANTIATE_TEST_SUITE_P(
  Hinge, ConstraintConformance, testing::ValuesIn(on_robots(joint(JointType::kHinge))), case_name);
INSTANTIATE_TEST_SUITE_P(
  Prismatic, ConstraintConformance, testing::ValuesIn(on_robots(joint(JointType::kPrismatic))),
  case_name);
INSTANTIATE_TEST_SUITE_P(
  Cylindrical, ConstraintConformance, testing::ValuesIn(on_robots(joint(JointType::kCylindrical))),
  case_name);
INSTANTIATE_TEST_SUITE_P(
  PlanarJoint, ConstraintConformance, testing::ValuesIn(on_robots(joint(JointType::kPlanar))),
  case_name);
INSTANTIATE_TEST_SUITE_P(
  Screw, ConstraintConformance, testing::ValuesIn(on_robots(joint(JointType::kScrew))), case_name);
INSTANTIATE_TEST_SUITE_P(
  Universal, ConstraintConformance,
  testing::ValuesIn(on_robots(
    [](const System & system, const std::string & a, const std::string & b)
    {
      return std::make_shared<UniversalJoint>(
        "c", system, a, b, Vector3d(0.5, 1.0, 0.0), Vector3d(1.0, -0.5, 2.0));
    })),
  case_name);

TEST(JointConstraint, when_a_body_turns_on_a_hinge_expect_its_twin_in_joint_coordinates)
{
  EXPECT_LE(
    deviation(
      body("type: hinge", "b_wz: 0.7") + "observe: {theta: 'joint(`j/angle`)'}\n",
      std::string(kAbout) + "system: {coordinates: [theta], kinetic: J/2*dtheta^2, potential: '" +
        kWeight + "'}\ninitial: {u: {dtheta: 0.7}}\nobserve: {theta: theta}\n"),
    1e-10);
}

TEST(JointConstraint, when_a_body_slides_expect_its_twin_in_joint_coordinates)
{
  EXPECT_LE(
    deviation(
      body("type: prismatic, axis: [0, 0.6, 0.8]", "b_vy: 0.6, b_vz: 0.8") +
        "observe: {s: 'joint(`j/displacement`)'}\n",
      "system: {coordinates: [s], kinetic: ds^2, potential: '-2*(-2*0.6 - 9.81*0.8)*s'}\n"
      "initial: {u: {ds: 1}}\nobserve: {s: s}\n"),
    1e-10);
}

TEST(JointConstraint, when_a_body_moves_in_a_cylindrical_joint_expect_its_twin)
{
  EXPECT_LE(
    deviation(
      body("type: cylindrical", "b_wz: 0.7, b_vz: 3") +
        "observe: {theta: 'joint(`j/angle`)', z: 'joint(`j/displacement`)'}\n",
      std::string(kAbout) +
        "system: {coordinates: [theta, z], kinetic: J/2*dtheta^2 + m/2*dz^2, potential: '" +
        kWeight +
        " - m*gz*z'}\ninitial: {u: {dtheta: 0.7, dz: 3}}\n"
        "observe: {theta: theta, z: z}\n"),
    1e-10);
}

TEST(JointConstraint, when_a_body_moves_in_a_plane_expect_its_twin)
{
  EXPECT_LE(
    deviation(
      body("type: planar", "b_wz: 0.7, b_vx: 0.4") +
        "observe: {x: px(b), y: py(b), theta: 'joint(`j/angle`)'}\n",
      std::string(kAbout) +
        "system:\n  coordinates: [x, y, theta]\n"
        "  kinetic: m/2*(dx^2 + dy^2) + J/2*dtheta^2 + m*dtheta*(dx*(-cx*sin(theta) - "
        "cy*cos(theta)) + dy*(cx*cos(theta) - cy*sin(theta)))\n"
        "  potential: '" +
        kWeight +
        " - m*(gx*x + gy*y)'\ninitial: {u: {dtheta: 0.7, dx: 0.4}}\n"
        "observe: {x: x, y: y, theta: theta}\n"),
    1e-10);
}

TEST(JointConstraint, when_a_body_turns_on_a_screw_expect_its_twin_over_several_turns)
{
  // It falls by its weight and turns several times: the displacement counts the turns.
  EXPECT_LE(
    deviation(
      body("type: screw, pitch: 0.5", "b_wz: 12, b_vz: 0.5*12/(2*pi)") +
        "observe: {theta: 'joint(`j/angle`)', z: 'joint(`j/displacement`)'}\n",
      std::string(kAbout) +
        "system: {coordinates: [theta], kinetic: (J + m*(0.25/pi)^2)/2*dtheta^2, potential: '" +
        kWeight +
        " - m*gz*0.25/pi*theta'}\ninitial: {u: {dtheta: 12}}\n"
        "observe: {theta: theta, z: 0.25/pi*theta}\n"),
    1e-10);
}

TEST(JointConstraint, when_a_body_hangs_on_a_universal_joint_expect_its_twin)
{
  // R = Rot(y, b) Rot(x, a), centre of mass at (0, 0, -c): the angular velocity in body axes is
  // (da, db cos a, -db sin a).
  EXPECT_LE(
    deviation(
      "system:\n"
      "  bodies: [{name: b, mass: 2, inertia: [0.03, 0.04, 0.05], com: [0, 0, -0.4]}]\n"
      "constraints: [{name: j, type: universal, frame_a: b, frame_b: world}]\n"
      "initial: {u: {b_wx: 1.3, b_wy: 2.1}}\n"
      "observe: {a: 'joint(`j/angle_a`)', b: 'joint(`j/angle_b`)'}\n",
      "system:\n  coordinates: [a, b]\n"
      "  kinetic: (0.03 + 0.32)/2*da^2 + (0.04 + 0.32)/2*(db*cos(a))^2 + 0.05/2*(db*sin(a))^2\n"
      "  potential: -2*9.81*0.4*cos(a)*cos(b)\n"
      "initial: {u: {da: 1.3, db: 2.1}}\nobserve: {a: a, b: b}\n"),
    1e-10);
}

TEST(JointConstraint, when_axis_is_z_expect_the_rows_of_a_frame_coincidence)
{
  const auto system = robot("two_bodies");
  const TestState s = random_state(*system, 3);
  Evaluation hinge(
    std::make_shared<JointConstraint>("c", JointType::kHinge, *system, "frame_a", "frame_b"));
  Evaluation rows(std::make_shared<FrameCoincidence>(
    "c", *system, "frame_a", "frame_b", std::vector<std::string>{"x", "y", "z", "rx", "ry"}));
  const RowStorage & a = hinge.at(0.0, s.q, s.u);
  const RowStorage & b = rows.at(0.0, s.q, s.u);
  EXPECT_LE((a.position - b.position).norm(), 1e-14);
  EXPECT_LE((a.jacobian - b.jacobian).norm(), 1e-13);
  EXPECT_LE((a.bias - b.bias).norm(), 1e-12);
}

TEST(JointConstraint, when_turned_expect_hand_values_of_the_coordinates)
{
  const auto system = robot("two_bodies");
  const JointConstraint hinge("h", JointType::kHinge, *system, "left", "right", Vector3d(0, 3, 4));
  const JointConstraint screw(
    "s", JointType::kScrew, *system, "left", "right", Vector3d::UnitZ(), -0.2);
  const UniversalJoint cross("u", *system, "left", "right");
  const auto data = system->make_data();
  const auto go = [&](const BodyState & left)
  {
    const TestState s = two_bodies_state(left);
    ASSERT_EQ(system->update_kinematics(0.0, s.q, s.u, *data), Status::kOk);
  };
  BodyState left;
  for (const double angle : {-3.0, 0.4, 2.5})
  {
    left.rotation = AngleAxisd(angle, Vector3d(0.0, 0.6, 0.8));
    go(left);
    EXPECT_NEAR(hinge.coordinate(*data, 0), angle, 1e-14);
    EXPECT_EQ(hinge.coordinate(*data, 1), 0.0);  // there is none
  }
  left.rotation = AngleAxisd(-0.5 * kPi, Vector3d::UnitZ());
  left.position = {0.0, 0.0, 0.25};  // −1.25 turns of a left-handed screw of 0.2 m
  go(left);
  EXPECT_NEAR(screw.coordinate(*data, 0), -2.5 * kPi, 1e-13);
  EXPECT_NEAR(screw.coordinate(*data, 1), 0.25, 1e-15);
  left = BodyState();
  left.rotation = AngleAxisd(0.3, Vector3d::UnitY()) * AngleAxisd(-2.0, Vector3d::UnitX());
  go(left);
  EXPECT_NEAR(cross.coordinate(*data, 0), 0.3, 1e-14);
  EXPECT_NEAR(cross.coordinate(*data, 1), -2.0, 1e-14);
}

TEST(JointConstraint, when_values_are_wrong_expect_messages)
{
  const auto system = robot("two_bodies");
  const auto make = [&](JointType type, const Vector3d & axis, double pitch)
  {
    return message_of_invalid_argument(
      [&] { JointConstraint("c", type, *system, "left", "right", axis, pitch); });
  };
  EXPECT_THAT(make(JointType::kHinge, Vector3d::Zero(), 0.0), HasSubstr("axis is [0, 0, 0]"));
  EXPECT_THAT(make(JointType::kScrew, Vector3d::UnitX(), 0.0), HasSubstr("not 0"));
  EXPECT_THAT(make(JointType::kHinge, Vector3d::UnitX(), 0.1), HasSubstr("only a screw"));
  EXPECT_THAT(
    message_of_invalid_argument(
      [&]
      {
        UniversalJoint(
          "c", *system, "left", "right", Vector3d(1.0, 0.1, 0.0), Vector3d(0.0, 1.0, 0.0));
      }),
    HasSubstr("not perpendicular"));
}

}  // namespace constrained_dynamics::test
