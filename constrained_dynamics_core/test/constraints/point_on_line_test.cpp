// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/constraints/point_on_line.hpp"

#include <limits>

#include <gmock/gmock.h>
#include <Eigen/Geometry>

#include "constraints/constraint_conformance.hpp"

namespace constrained_dynamics::test
{

using Eigen::Vector3d;
using testing::HasSubstr;

INSTANTIATE_TEST_SUITE_P(
  PointOnLine, ConstraintConformance,
  testing::ValuesIn(on_robots(
    [](const System & system, const std::string & a, const std::string & b)
    { return std::make_shared<PointOnLine>("c", system, a, b, Vector3d(-1.0, 2.0, 0.5)); })),
  case_name);

TEST(PointOnLine, when_line_is_an_axis_expect_the_next_two_axes_as_normals)
{
  const auto system = robot("two_bodies");
  BodyState left;
  left.position = {1.0, 2.0, 3.0};
  const TestState s = two_bodies_state(left);
  const std::vector<Eigen::Vector2d> expected{{2.0, 3.0}, {3.0, 1.0}, {1.0, 2.0}};
  for (int axis = 0; axis < 3; ++axis)
  {
    Evaluation evaluation(std::make_shared<PointOnLine>(
      "rail", *system, "left", "world", Vector3d(Vector3d::Unit(axis) * 4.0)));
    EXPECT_TRUE(evaluation.at(0.0, s.q, s.u)
                  .position.isApprox(expected[static_cast<std::size_t>(axis)], 1e-15));
  }
}

TEST(PointOnLine, when_point_moves_along_the_line_expect_nothing)
{
  const auto system = robot("two_bodies");
  const Vector3d direction = Vector3d(3.0, -1.0, 2.0);
  Evaluation evaluation(std::make_shared<PointOnLine>("rail", *system, "left", "right", direction));
  BodyState left;
  BodyState right;
  right.rotation = Eigen::AngleAxisd(0.7, Vector3d(1.0, 1.0, 0.0).normalized());
  right.position = {0.3, 0.2, 0.1};
  left.position = right.position + 2.0 * (right.rotation * direction);
  left.velocity = -3.0 * (right.rotation * direction);
  const TestState s = two_bodies_state(left, right);
  const RowStorage & rows = evaluation.at(0.0, s.q, s.u);
  EXPECT_LE(rows.position.cwiseAbs().maxCoeff(), 1e-14);
  EXPECT_LE(rows.velocity.cwiseAbs().maxCoeff(), 1e-14);
}

TEST(PointOnLine, when_direction_is_zero_or_not_finite_expect_message)
{
  const auto system = robot("two_bodies");
  for (const double bad : {0.0, std::numeric_limits<double>::quiet_NaN()})
  {
    EXPECT_THAT(
      message_of_invalid_argument(
        [&] { PointOnLine("rail", *system, "left", "world", Vector3d::Constant(bad)); }),
      HasSubstr("'rail': direction"));
  }
}

}  // namespace constrained_dynamics::test
