// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/constraints/knife_edge.hpp"

#include <cmath>

#include <gmock/gmock.h>
#include <Eigen/Geometry>

#include "constraints/constraint_conformance.hpp"

namespace constrained_dynamics::test
{

using Eigen::Vector3d;
using testing::HasSubstr;

INSTANTIATE_TEST_SUITE_P(
  KnifeEdge, ConstraintConformance,
  testing::ValuesIn(on_robots(
    [](const System & system, const std::string & a, const std::string & b)
    { return std::make_shared<KnifeEdge>("c", system, a, b, Vector3d(0.5, 1.0, -0.2)); })),
  case_name);

TEST(KnifeEdge, when_skate_turns_while_gliding_expect_hand_values)
{
  const auto system = robot("two_bodies");
  Evaluation evaluation(
    std::make_shared<KnifeEdge>("skate", *system, "left", "world", Vector3d::UnitY()));
  BodyState left;
  left.rotation = Eigen::AngleAxisd(0.5, Vector3d::UnitZ());
  left.velocity = 3.0 * Vector3d(std::cos(0.5), std::sin(0.5), 0.0);
  left.angular_velocity = {0.0, 0.0, 2.0};
  const TestState s = two_bodies_state(left);
  const RowStorage & rows = evaluation.at(0.0, s.q, s.u);
  EXPECT_NEAR(rows.velocity(0), 0.0, 1e-15);
  // Speeds are body components: A picks the lateral one, and b vanishes because ψ is that speed.
  Eigen::VectorXd expected = Eigen::VectorXd::Zero(12);
  expected(1) = 1.0;
  EXPECT_TRUE(rows.jacobian.row(0).transpose().isApprox(expected, 1e-15));
  EXPECT_NEAR(rows.bias(0), 0.0, 1e-15);
  const WrenchPair pair = evaluation.wrenches(Eigen::VectorXd::Constant(1, 2.0)).front();
  EXPECT_TRUE(pair.on_a.force.isApprox(2.0 * Vector3d(-std::sin(0.5), std::cos(0.5), 0.0), 1e-15));
  EXPECT_EQ(evaluation.constraint().rows()[0].level, RowLevel::kVelocity);
}

TEST(KnifeEdge, when_axis_is_zero_expect_message)
{
  const auto system = robot("two_bodies");
  EXPECT_THAT(
    message_of_invalid_argument(
      [&] { KnifeEdge("skate", *system, "left", "world", Vector3d::Zero()); }),
    HasSubstr("'skate': axis"));
}

}  // namespace constrained_dynamics::test
