// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/constraints/joint_coupling.hpp"

#include <limits>

#include <gmock/gmock.h>

#include "constraints/constraint_conformance.hpp"

namespace constrained_dynamics::test
{

using testing::HasSubstr;

namespace
{

std::function<ConstraintPtr(const System &)> coupling(const std::vector<CouplingTerm> & terms)
{
  return [terms](const System & system)
  { return std::make_shared<JointCoupling>("c", system, terms, 0.3); };
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(
  JointCoupling, ConstraintConformance,
  testing::Values(
    on("planar_2r", robot("planar_2r"), coupling({{"j1", 1.0}, {"j2", -2.0}})),
    on("rack", robot("arm_6"), coupling({{"j4", 1.0}, {"j2", 0.05}, {"j6", 0.7}})),
    on("mobile", robot("mobile"), coupling({{"j1", 1.0}, {"j3", 3.0}})),
    on("skate", analytic_skate(), coupling({{"x", 1.0}, {"theta", -0.4}})),
    on("rheonomic", analytic_rheonomic(), coupling({{"x", 1.0}, {"y", 2.0}})),
    on("rotation", analytic_rotation(), coupling({{"e0", 1.0}, {"e3", -2.0}}))),
  case_name);

TEST(JointCoupling, when_gear_is_off_expect_hand_values)
{
  const auto system = robot("planar_2r");
  Evaluation evaluation(std::make_shared<JointCoupling>(
    "gear", *system, std::vector<CouplingTerm>{{"j1", 3.0}, {"j2", -1.0}}, 0.25));
  const RowStorage & rows =
    evaluation.at(0.0, Eigen::Vector2d(0.5, 0.75), Eigen::Vector2d(1.0, 2.0));
  EXPECT_DOUBLE_EQ(rows.position(0), 0.5);
  EXPECT_DOUBLE_EQ(rows.velocity(0), 1.0);
  EXPECT_EQ(rows.jacobian, Eigen::RowVector2d(3.0, -1.0));
  EXPECT_DOUBLE_EQ(rows.bias(0), 0.0);
  const std::vector<WrenchPair> pairs = evaluation.wrenches(Eigen::VectorXd::Constant(1, 2.0));
  ASSERT_EQ(pairs.size(), 2u);
  EXPECT_TRUE(pairs[0].on_a.torque.isApprox(Eigen::Vector3d(0.0, 0.0, 6.0), 1e-15));
  EXPECT_TRUE(pairs[1].on_a.torque.isApprox(Eigen::Vector3d(0.0, 0.0, -2.0), 1e-15));
  EXPECT_EQ(evaluation.constraint().wrench_bodies()[1].body_a, "link2");
  EXPECT_EQ(evaluation.constraint().wrench_bodies()[1].body_b, "link1");
}

TEST(JointCoupling, when_all_joints_turn_expect_an_angle)
{
  const auto system = robot("arm_6");
  const auto is_angle = [&](const std::vector<CouplingTerm> & terms)
  { return JointCoupling("gear", *system, terms).rows()[0].rotational; };
  EXPECT_TRUE(is_angle({{"j1", 1.0}, {"j2", 1.0}}));
  EXPECT_FALSE(is_angle({{"j1", 1.0}, {"j4", 1.0}}));  // j4 slides
  const auto skate = analytic_skate();
  EXPECT_FALSE(
    JointCoupling("c", *skate, std::vector<CouplingTerm>{{"x", 1.0}}).rows()[0].rotational);
  EXPECT_TRUE(
    JointCoupling("c", *skate, std::vector<CouplingTerm>{{"x", 1.0}}).wrench_bodies().empty());
}

TEST(JointCoupling, when_terms_are_wrong_expect_messages)
{
  const auto system = robot("planar_2r");
  const auto message = [&](const std::vector<CouplingTerm> & terms, double offset)
  { return message_of_invalid_argument([&] { JointCoupling("gear", *system, terms, offset); }); };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(message({}, 0.0), HasSubstr("gear"));
  EXPECT_THAT(message({{"elbow", 1.0}}, 0.0), HasSubstr("elbow"));
  EXPECT_THAT(message({{"j1", 1.0}, {"j1", 2.0}}, 0.0), HasSubstr("twice"));
  EXPECT_THAT(message({{"j1", 0.0}}, 0.0), HasSubstr("coefficient of 'j1' is 0"));
  EXPECT_THAT(message({{"j1", nan}}, 0.0), HasSubstr("coefficient of 'j1'"));
  EXPECT_THAT(message({{"j1", 1.0}}, nan), HasSubstr("offset"));
}

}  // namespace constrained_dynamics::test
