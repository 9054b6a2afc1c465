// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/constraints/joint_position.hpp"

#include <limits>

#include <gmock/gmock.h>

#include "constraints/constraint_conformance.hpp"

namespace constrained_dynamics::test
{

using testing::HasSubstr;

namespace
{

std::function<ConstraintPtr(const System &)> joints(std::vector<CoordinateValue> coordinates)
{
  return [coordinates](const System & system)
  { return std::make_shared<JointPosition>("c", system, coordinates); };
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(
  JointPosition, ConstraintConformance,
  testing::Values(
    on("arm_6", robot("arm_6"), joints({{"j5", 0.3}, {"j4", -0.2}, {"j1", 0.0}})),
    on("mobile", robot("mobile"), joints({{"j3", 0.3}, {"j2", -0.2}})),
    on("mobile_base", robot("mobile"), joints({{"mobile_x", 0.3}, {"mobile_theta", 1.0}})),
    on("two_bodies", robot("two_bodies"), joints({{"left_qx", 0.1}, {"right_z", 2.0}})),
    on("skate", analytic_skate(), joints({{"theta", 0.1}, {"x", 2.0}})),
    on("rheonomic", analytic_rheonomic(), joints({{"y", 0.1}})),
    on("rotation", analytic_rotation(), joints({{"e2", 0.1}, {"e0", 0.4}}))),
  case_name);

TEST(JointPosition, when_joints_are_displaced_expect_hand_values)
{
  const auto system = robot("planar_2r");
  Evaluation evaluation(joints({{"j2", 0.5}, {"j1", -1.0}})(*system));
  const RowStorage & rows =
    evaluation.at(0.0, Eigen::Vector2d(0.25, 2.0), Eigen::Vector2d(3.0, 4.0));
  EXPECT_EQ(rows.position, Eigen::Vector2d(1.5, 1.25));
  EXPECT_EQ(rows.velocity, Eigen::Vector2d(4.0, 3.0));
  EXPECT_EQ(evaluation.constraint().rows()[0].label, "j2");
  EXPECT_TRUE(evaluation.constraint().rows()[1].rotational);
  EXPECT_EQ(evaluation.constraint().type(), "joint");
  EXPECT_EQ(evaluation.constraint().speed_support(), (std::vector<int>{0, 1}));
}

TEST(JointPosition, when_built_from_nonsense_expect_messages)
{
  const auto system = robot("planar_2r");
  const auto message = [&](const std::vector<CoordinateValue> & coordinates)
  { return message_of_invalid_argument([&] { joints(coordinates)(*system); }); };
  EXPECT_THAT(message({}), HasSubstr("'c'"));
  EXPECT_THAT(message({{"elbow", 0.0}}), HasSubstr("'elbow'"));
  EXPECT_THAT(message({{"j1", 0.0}, {"j1", 1.0}}), HasSubstr("j1"));
  EXPECT_THAT(
    message({{"j1", std::numeric_limits<double>::quiet_NaN()}}), HasSubstr("value of 'j1'"));
}

}  // namespace constrained_dynamics::test
