// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Rows of contacts and friction: ContactTangents, JointSlip, CompliantRow.
#include <cmath>

#include <gmock/gmock.h>

#include "constrained_dynamics/constraints/compliant_row.hpp"
#include "constrained_dynamics/constraints/contact_tangents.hpp"
#include "constrained_dynamics/constraints/frame_coincidence.hpp"
#include "constrained_dynamics/constraints/joint_slip.hpp"
#include "constrained_dynamics/constraints/point_on_plane.hpp"
#include "constrained_dynamics/constraints/rolling.hpp"
#include "constraints/constraint_conformance.hpp"

namespace constrained_dynamics::test
{

using Eigen::Vector3d;
using testing::HasSubstr;

INSTANTIATE_TEST_SUITE_P(
  ContactTangents, ConstraintConformance,
  testing::ValuesIn(on_robots(
    [](const System & system, const std::string & a, const std::string & b) {
      return std::make_shared<ContactTangents>("c", system, a, b, Vector3d(1.0, -2.0, 3.0), 0.1);
    })),
  case_name);

INSTANTIATE_TEST_SUITE_P(
  JointSlip, ConstraintConformance,
  testing::Values(
    on(
      "planar_2r", robot("planar_2r"),
      [](const System & system) { return std::make_shared<JointSlip>("c", system, "j2"); }),
    on(
      "sliding", robot("arm_6"),
      [](const System & system) { return std::make_shared<JointSlip>("c", system, "j4"); })),
  case_name);

TEST(ContactTangents, when_a_sphere_slips_expect_the_rows_of_rolling)
{
  const auto system = robot("two_bodies");
  RollingGeometry geometry;
  geometry.radius = 0.3;
  geometry.normal = Vector3d(0.2, -0.4, 1.0);
  geometry.keep_contact = false;
  Evaluation rolling(std::make_shared<Rolling>("r", *system, "left", "right", geometry));
  Evaluation slip(
    std::make_shared<ContactTangents>("c", *system, "left", "right", geometry.normal, 0.3));
  BodyState left;
  left.position = {0.1, 0.2, 0.9};
  left.velocity = {1.0, -2.0, 0.5};
  left.angular_velocity = {3.0, 0.2, -1.0};
  const TestState s = two_bodies_state(left);
  const RowStorage expected = rolling.at(0.0, s.q, s.u);
  const RowStorage & rows = slip.at(0.0, s.q, s.u);
  EXPECT_TRUE(rows.velocity.isApprox(expected.velocity, 1e-14));
  EXPECT_TRUE(rows.jacobian.isApprox(expected.jacobian, 1e-14));
  EXPECT_TRUE(rows.bias.isApprox(expected.bias, 1e-13));
}

TEST(ContactTangents, when_given_one_direction_expect_one_row_in_the_plane)
{
  const auto system = robot("two_bodies");
  Evaluation slip(std::make_shared<ContactTangents>(
    "c", *system, "left", "world", Vector3d::UnitZ(), 0.0,
    std::vector<Vector3d>{Vector3d(2.0, 0.0, 5.0)}));
  BodyState left;
  left.velocity = {4.0, 5.0, 6.0};
  const TestState s = two_bodies_state(left);
  const RowStorage & rows = slip.at(0.0, s.q, s.u);
  ASSERT_EQ(rows.velocity.size(), 1);
  EXPECT_DOUBLE_EQ(rows.velocity(0), 4.0);
  const auto message = [&](const std::vector<Vector3d> & directions, double radius)
  {
    return message_of_invalid_argument(
      [&] {
        ContactTangents("foot", *system, "left", "world", Vector3d::UnitZ(), radius, directions);
      });
  };
  EXPECT_THAT(message({Vector3d::UnitZ()}, 0.0), HasSubstr("'foot': tangent beside the normal"));
  EXPECT_THAT(message({Vector3d::UnitX(), Vector3d::UnitY()}, 0.0), HasSubstr("2 tangents"));
  EXPECT_THAT(message({}, -1.0), HasSubstr("radius is -1"));
}

TEST(CompliantRow, when_laws_are_given_expect_them_in_the_bias)
{
  const auto system = robot("two_bodies");
  const auto plane =
    std::make_shared<PointOnPlane>("wall", *system, "left", "world", Vector3d::UnitZ(), 0.0);
  BodyState left;
  left.position = {0.0, 0.0, 0.04};
  left.velocity = {0.0, 0.0, 3.0};
  const TestState s = two_bodies_state(left);
  RowLaw linear;
  linear.velocity_gain = -20.0;
  linear.position_gain = -100.0;
  Evaluation a(std::make_shared<CompliantRow>(plane, linear));
  EXPECT_DOUBLE_EQ(a.at(0.0, s.q, s.u).bias(0), -20.0 * 3.0 - 100.0 * 0.04);
  EXPECT_DOUBLE_EQ(a.at(0.0, s.q, s.u).position(0), 0.04);
  EXPECT_EQ(a.constraint().rows()[0].level, RowLevel::kAcceleration);
  EXPECT_EQ(a.constraint().name(), "wall");
  RowLaw hunt;
  hunt.kind = RowLaw::Kind::kHuntCrossley;
  hunt.stiffness = 7.0;
  hunt.damping = 11.0;
  hunt.exponent = 1.5;
  Evaluation b(std::make_shared<CompliantRow>(plane, hunt));
  EXPECT_NEAR(b.at(0.0, s.q, s.u).bias(0), -(11.0 * 3.0 + 7.0) * std::pow(0.04, 1.5), 1e-15);
  // On the other side it is outside.
  Evaluation c(std::make_shared<CompliantRow>(plane, hunt, -1.0));
  EXPECT_DOUBLE_EQ(c.at(0.0, s.q, s.u).bias(0), 0.0);
  left.position.z() = -0.04;
  left.velocity.z() = -3.0;
  const TestState t = two_bodies_state(left);
  EXPECT_NEAR(c.at(0.0, t.q, t.u).bias(0), (11.0 * 3.0 + 7.0) * std::pow(0.04, 1.5), 1e-15);
}

TEST(CompliantRow, when_gains_are_matrices_expect_rows_coupled_and_sizes_checked)
{
  const auto system = robot("two_bodies");
  const auto point = std::make_shared<FrameCoincidence>(
    "point", *system, "left", "world", std::vector<std::string>{"x", "y"});
  BodyState left;
  left.position = {0.1, 0.2, 0.0};
  left.velocity = {1.0, -2.0, 0.0};
  const TestState s = two_bodies_state(left);
  RowLaw law;
  Eigen::Matrix2d gain;
  gain << -1.0, 2.0, -3.0, -4.0;
  law.velocity_gain = Gain(gain);
  Evaluation evaluation(std::make_shared<CompliantRow>(point, law));
  EXPECT_TRUE(evaluation.at(0.0, s.q, s.u).bias.isApprox(gain * Eigen::Vector2d(1.0, -2.0), 1e-15));
  law.velocity_gain = Gain(Eigen::MatrixXd::Identity(3, 3));
  EXPECT_THAT(
    message_of_invalid_argument([&] { CompliantRow(point, law); }), HasSubstr("3 × 3 matrix"));
  law.velocity_gain = 1.0;
  EXPECT_THAT(
    message_of_invalid_argument([&] { CompliantRow(point, law); }),
    HasSubstr("'point': velocity_gain is 1"));
}

}  // namespace constrained_dynamics::test
