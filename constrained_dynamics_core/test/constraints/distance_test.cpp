// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/constraints/distance.hpp"

#include <limits>

#include <gmock/gmock.h>

#include "constraints/constraint_conformance.hpp"

namespace constrained_dynamics::test
{

using Eigen::Vector3d;
using testing::HasSubstr;

INSTANTIATE_TEST_SUITE_P(
  Distance, ConstraintConformance,
  testing::ValuesIn(
    on_robots([](const System & system, const std::string & a, const std::string & b)
              { return std::make_shared<Distance>("c", system, a, b, 0.8); })),
  case_name);

TEST(Distance, when_point_circles_expect_centripetal_bias_and_force_along_the_rod)
{
  const auto system = robot("two_bodies");
  Evaluation evaluation(std::make_shared<Distance>("rod", *system, "left", "right", 4.5));
  BodyState left;
  left.position = {3.0, 0.0, 4.0};
  left.velocity = {0.0, 2.0, 0.0};
  const TestState s = two_bodies_state(left);
  const RowStorage & rows = evaluation.at(0.0, s.q, s.u);
  EXPECT_DOUBLE_EQ(rows.position(0), 0.5);
  EXPECT_DOUBLE_EQ(rows.velocity(0), 0.0);
  EXPECT_DOUBLE_EQ(rows.bias(0), -4.0 / 5.0);  // v²/ℓ
  const WrenchPair pair = evaluation.wrenches(Eigen::VectorXd::Constant(1, 10.0)).front();
  EXPECT_TRUE(pair.on_a.force.isApprox(Vector3d(6.0, 0.0, 8.0), 1e-15));
  EXPECT_EQ(pair.on_a.torque, Vector3d::Zero());
}

TEST(Distance, when_points_coincide_expect_status_and_untouched_rows)
{
  const auto system = robot("two_bodies");
  Evaluation evaluation(std::make_shared<Distance>("rod", *system, "left", "right", 1.0));
  const TestState s = two_bodies_state({});
  RowStorage rows(evaluation.constraint(), 42.0);
  const RowStorage untouched = rows;
  EXPECT_EQ(evaluation.try_at(0.0, s.q, s.u, rows), Status::kNonFiniteResult);
  EXPECT_TRUE(rows == untouched);
  EXPECT_EQ(evaluation.wrenches(Eigen::VectorXd::Ones(1)).front().on_a.force, Vector3d::Zero());
}

TEST(Distance, when_length_is_not_positive_expect_message)
{
  const auto system = robot("two_bodies");
  for (const double bad :
       {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(),
        std::numeric_limits<double>::infinity()})
  {
    EXPECT_THAT(
      message_of_invalid_argument([&] { Distance("rod", *system, "left", "right", bad); }),
      HasSubstr("'rod': length"));
  }
}

}  // namespace constrained_dynamics::test
