// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/constraints/point_on_plane.hpp"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>

#include "constraints/constraint_conformance.hpp"

namespace constrained_dynamics::test
{

using Eigen::Vector3d;
using testing::HasSubstr;

INSTANTIATE_TEST_SUITE_P(
  PointOnPlane, ConstraintConformance,
  testing::ValuesIn(on_robots(
    [](const System & system, const std::string & a, const std::string & b)
    { return std::make_shared<PointOnPlane>("c", system, a, b, Vector3d(1.0, -2.0, 3.0), 0.1); })),
  case_name);

TEST(PointOnPlane, when_point_is_above_plane_expect_hand_values)
{
  const auto system = robot("two_bodies");
  Evaluation evaluation(
    std::make_shared<PointOnPlane>("wall", *system, "left", "world", Vector3d(0.0, 0.0, 2.0), 0.5));
  BodyState left;
  left.position = {1.0, 2.0, 3.0};
  left.velocity = {4.0, 5.0, 6.0};
  const TestState s = two_bodies_state(left);
  const RowStorage & rows = evaluation.at(0.0, s.q, s.u);
  EXPECT_DOUBLE_EQ(rows.position(0), 2.5);
  EXPECT_DOUBLE_EQ(rows.velocity(0), 6.0);
  EXPECT_DOUBLE_EQ(rows.bias(0), 0.0);
  const WrenchPair pair = evaluation.wrenches(Eigen::VectorXd::Constant(1, 7.0)).front();
  EXPECT_EQ(pair.on_a.point, left.position);
  EXPECT_EQ(pair.on_a.force, Vector3d(0.0, 0.0, 7.0));
  EXPECT_EQ(pair.on_a.torque, Vector3d::Zero());
  EXPECT_EQ(evaluation.constraint().rows()[0].label, "normal");
  EXPECT_EQ(evaluation.constraint().wrench_bodies()[0].body_b, "world");
}

TEST(PointOnPlane, when_plane_is_not_a_plane_expect_messages)
{
  const auto system = robot("two_bodies");
  const auto message = [&](const Vector3d & normal, double offset)
  {
    return message_of_invalid_argument(
      [&] { PointOnPlane("wall", *system, "left", "world", normal, offset); });
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(message(Vector3d::Zero(), 0.0), HasSubstr("'wall': normal is [0, 0, 0]"));
  EXPECT_THAT(message(Vector3d(1.0, nan, 0.0), 0.0), HasSubstr("normal"));
  EXPECT_THAT(message(Vector3d(1.0, INFINITY, 0.0), 0.0), HasSubstr("normal"));
  EXPECT_THAT(message(Vector3d::UnitX(), nan), HasSubstr("offset"));
}

}  // namespace constrained_dynamics::test
