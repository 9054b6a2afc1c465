// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/constraints/rolling.hpp"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <Eigen/Geometry>

#include "constraints/constraint_conformance.hpp"

namespace constrained_dynamics::test
{

using Eigen::AngleAxisd;
using Eigen::Vector3d;
using testing::HasSubstr;

namespace
{

RollingGeometry sphere()
{
  RollingGeometry geometry;
  geometry.radius = 0.3;
  geometry.normal = {0.2, -0.1, 1.0};
  return geometry;
}

RollingGeometry disk(const Vector3d & axis, double radius = 0.5)
{
  RollingGeometry geometry;
  geometry.radius = radius;
  geometry.axis = axis;
  return geometry;
}

RollingGeometry ellipsoid(const Vector3d & semi_axes)
{
  RollingGeometry geometry;
  geometry.semi_axes = semi_axes;
  geometry.normal = {0.2, -0.1, 1.0};
  return geometry;
}

MakeBetweenFrames rolling(const RollingGeometry & geometry)
{
  return [geometry](const System & system, const std::string & a, const std::string & b)
  { return std::make_shared<Rolling>("c", system, a, b, geometry); };
}

RollingGeometry without_normal(RollingGeometry geometry)
{
  geometry.keep_contact = false;
  return geometry;
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(
  RollingSphere, ConstraintConformance, testing::ValuesIn(on_robots(rolling(sphere()))), case_name);
INSTANTIATE_TEST_SUITE_P(
  RollingEllipsoid, ConstraintConformance,
  testing::ValuesIn(on_robots(rolling(ellipsoid({0.5, 0.2, 0.3})))), case_name);
INSTANTIATE_TEST_SUITE_P(
  RollingDisk, ConstraintConformance, testing::ValuesIn(on_robots(rolling(disk({0.3, 1.0, 0.2})))),
  case_name);
INSTANTIATE_TEST_SUITE_P(
  RollingDiskWithoutNormal, ConstraintConformance,
  testing::ValuesIn(on_robots(rolling(without_normal(disk({1.0, 0.1, -0.3}))))), case_name);

TEST(Rolling, when_upright_disk_rolls_straight_expect_zero_rows_and_force_at_the_contact)
{
  const auto system = robot("two_bodies");
  Evaluation evaluation(
    std::make_shared<Rolling>("wheel", *system, "left", "world", disk(Vector3d::UnitY())));
  BodyState left;
  left.position = {1.0, 2.0, 0.5};
  left.velocity = {2.0, 0.0, 0.0};
  left.angular_velocity = {0.0, 4.0, 0.0};  // v = ω r
  const TestState s = two_bodies_state(left);
  const RowStorage rows = evaluation.at(0.0, s.q, s.u);
  EXPECT_NEAR(rows.position(0), 0.0, 1e-15);
  EXPECT_LE(rows.velocity.cwiseAbs().maxCoeff(), 1e-15);
  const Vector3d multipliers(10.0, 3.0, -2.0);
  const WrenchPair pair = evaluation.wrenches(multipliers).front();
  EXPECT_TRUE(pair.on_a.point.isApprox(Vector3d(1.0, 2.0, 0.0), 1e-15));
  // Heading y × z = x, lateral z × x = y.
  EXPECT_TRUE(pair.on_a.force.isApprox(Vector3d(3.0, -2.0, 10.0), 1e-15));
  EXPECT_LE(pair.on_a.torque.norm(), 1e-14);
  ASSERT_EQ(evaluation.constraint().row_count(), 3);
  EXPECT_EQ(evaluation.constraint().rows()[0].label, "normal");
  EXPECT_EQ(evaluation.constraint().rows()[0].level, RowLevel::kPosition);
  EXPECT_EQ(evaluation.constraint().rows()[1].label, "along");
  EXPECT_EQ(evaluation.constraint().rows()[2].label, "lateral");
  EXPECT_EQ(evaluation.constraint().rows()[2].level, RowLevel::kVelocity);
}

TEST(Rolling, when_tilted_disk_turns_about_its_contact_point_expect_zero_rows)
{
  const auto system = robot("two_bodies");
  const double radius = 0.7;
  Evaluation evaluation(
    std::make_shared<Rolling>("wheel", *system, "left", "world", disk(Vector3d::UnitY(), radius)));
  BodyState left;
  left.rotation =
    AngleAxisd(AngleAxisd(0.6, Vector3d::UnitZ()) * AngleAxisd(0.4, Vector3d::UnitX()));
  const Vector3d axis = left.rotation * Vector3d::UnitY();
  const Vector3d down = -(Vector3d::UnitZ() - axis.z() * axis).normalized();
  left.position = -radius * down;  // the contact is the origin
  left.angular_velocity = {0.4, -1.3, 0.8};
  left.velocity = -left.angular_velocity.cross(radius * down);
  const TestState s = two_bodies_state(left);
  const RowStorage rows = evaluation.at(0.0, s.q, s.u);
  EXPECT_NEAR(rows.position(0), 0.0, 1e-15);
  EXPECT_LE(rows.velocity.cwiseAbs().maxCoeff(), 1e-15);
  const WrenchPair pair = evaluation.wrenches(Vector3d(1.0, 2.0, 3.0)).front();
  EXPECT_LE(pair.on_a.point.norm(), 1e-15);
  EXPECT_LE(pair.on_a.torque.norm(), 1e-14);
}

TEST(Rolling, when_sphere_spins_about_the_normal_expect_no_slip)
{
  const auto system = robot("two_bodies");
  RollingGeometry geometry;
  geometry.radius = 0.25;
  Evaluation evaluation(std::make_shared<Rolling>("ball", *system, "left", "right", geometry));
  BodyState left;
  left.position = {1.0, 2.0, 0.35};
  left.angular_velocity = {0.0, 0.0, 5.0};
  const TestState s = two_bodies_state(left);
  const RowStorage & rows = evaluation.at(0.0, s.q, s.u);
  EXPECT_NEAR(rows.position(0), 0.1, 1e-15);
  EXPECT_EQ(rows.velocity, Vector3d::Zero());
  EXPECT_EQ(rows.bias, Vector3d::Zero());
}

TEST(Rolling, when_ellipsoid_is_round_expect_the_rows_of_the_sphere)
{
  const auto system = robot("two_bodies");
  Evaluation ball(std::make_shared<Rolling>("ball", *system, "left", "right", sphere()));
  Evaluation same(std::make_shared<Rolling>(
    "ball", *system, "left", "right", ellipsoid(Vector3d::Constant(0.3))));
  BodyState left;
  left.position = {1.0, 2.0, 0.35};
  left.rotation = AngleAxisd(0.7, Vector3d(1, 2, 3).normalized());
  left.velocity = {0.3, -0.2, 0.1};
  left.angular_velocity = {1.0, -2.0, 5.0};
  const TestState s = two_bodies_state(left);
  const RowStorage a = ball.at(0.0, s.q, s.u);
  const RowStorage b = same.at(0.0, s.q, s.u);
  EXPECT_LE((a.position - b.position).norm(), 1e-15);
  EXPECT_LE((a.velocity - b.velocity).norm(), 1e-15);
  EXPECT_LE((a.jacobian - b.jacobian).norm(), 1e-15);
  EXPECT_LE((a.bias - b.bias).norm(), 1e-14);
}

TEST(Rolling, when_ellipsoid_is_tilted_expect_its_lowest_point)
{
  const auto system = robot("two_bodies");
  RollingGeometry geometry = ellipsoid({0.5, 0.2, 0.3});
  geometry.normal = Vector3d::UnitZ();
  Evaluation evaluation(std::make_shared<Rolling>("egg", *system, "left", "world", geometry));
  BodyState left;
  left.position = {1.0, 2.0, 0.7};
  left.rotation = AngleAxisd(0.7, Vector3d(1, 2, 3).normalized());
  const TestState s = two_bodies_state(left);
  const RowStorage rows = evaluation.at(0.0, s.q, s.u);
  const Vector3d lowest = evaluation.wrenches(Vector3d(1, 0, 0)).front().on_a.point;
  EXPECT_NEAR(lowest.z(), rows.position(0), 1e-15);
  // On the surface, and every other point of the surface is higher.
  const Vector3d x = left.rotation.inverse() * (lowest - left.position);
  EXPECT_NEAR(x.cwiseQuotient(*geometry.semi_axes).norm(), 1.0, 1e-15);
  for (int i = 0; i < 400; ++i)
  {
    const double height = 2.0 * (i + 0.5) / 400 - 1.0;
    const double angle = 2.399963229728653 * i;
    const Vector3d unit(
      std::sqrt(1 - height * height) * std::cos(angle),
      std::sqrt(1 - height * height) * std::sin(angle), height);
    const Vector3d point = left.position + left.rotation * unit.cwiseProduct(*geometry.semi_axes);
    EXPECT_GE(point.z(), lowest.z() - 1e-15);
  }
}

TEST(Rolling, when_disk_lies_flat_expect_status_and_untouched_rows)
{
  const auto system = robot("two_bodies");
  Evaluation evaluation(
    std::make_shared<Rolling>("coin", *system, "left", "world", disk(Vector3d::UnitZ())));
  BodyState left;
  left.position = {0.0, 0.0, 0.5};
  for (const double spin : {0.0, 10.0})
  {
    left.angular_velocity = {0.0, 0.0, spin};
    const TestState s = two_bodies_state(left);
    RowStorage rows(evaluation.constraint(), 42.0);
    const RowStorage untouched = rows;
    EXPECT_EQ(evaluation.try_at(0.0, s.q, s.u, rows), Status::kNonFiniteResult);
    EXPECT_TRUE(rows == untouched);
    const WrenchPair pair = evaluation.wrenches(Vector3d::Ones()).front();
    EXPECT_EQ(pair.on_a.force, Vector3d::Zero());
  }
}

TEST(Rolling, when_geometry_is_wrong_expect_messages)
{
  const auto system = robot("two_bodies");
  const auto message = [&](const RollingGeometry & geometry)
  {
    return message_of_invalid_argument([&]
                                       { Rolling("wheel", *system, "left", "world", geometry); });
  };
  EXPECT_THAT(message(disk(Vector3d::UnitY(), -0.1)), HasSubstr("'wheel': radius is -0.1"));
  EXPECT_THAT(message(disk(Vector3d::UnitY(), 0.0)), HasSubstr("radius"));
  EXPECT_THAT(
    message(disk(Vector3d::UnitY(), std::numeric_limits<double>::quiet_NaN())),
    HasSubstr("radius"));
  EXPECT_THAT(message(disk(Vector3d::Zero())), HasSubstr("axis"));
  EXPECT_THAT(message(ellipsoid({0.1, 0.0, 0.1})), HasSubstr("semi-axis"));
  RollingGeometry both = ellipsoid({0.1, 0.2, 0.1});
  both.axis = Vector3d::UnitX();
  EXPECT_THAT(message(both), HasSubstr("semi-axes and an axis"));
  RollingGeometry no_plane;
  no_plane.normal.setZero();
  EXPECT_THAT(message(no_plane), HasSubstr("normal"));
}

}  // namespace constrained_dynamics::test
