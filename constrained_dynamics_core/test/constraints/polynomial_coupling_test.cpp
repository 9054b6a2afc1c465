// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/constraints/polynomial_coupling.hpp"

#include <limits>

#include <gmock/gmock.h>

#include "constraints/constraint_conformance.hpp"

namespace constrained_dynamics::test
{

using testing::HasSubstr;

namespace
{

using Terms = std::vector<CouplingTerm>;
using Coefficients = std::array<double, 5>;

std::function<ConstraintPtr(const System &)> coupling(const Terms & terms, const Terms & of)
{
  return [=](const System & system)
  {
    return std::make_shared<PolynomialCoupling>(
      "c", system, terms, of, Coefficients{0.3, -0.5, 0.2, 0.7, -0.1});
  };
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(
  PolynomialCoupling, ConstraintConformance,
  testing::Values(
    on("planar_2r", robot("planar_2r"), coupling({{"j1", 1.0}}, {{"j2", -2.0}})),
    on("rack", robot("arm_6"), coupling({{"j4", 1.0}, {"j2", 0.5}}, {{"j6", 0.7}, {"j2", 1.0}})),
    on("mobile", robot("mobile"), coupling({{"j1", 1.0}}, {{"j3", 3.0}})),
    on("skate", analytic_skate(), coupling({{"x", 1.0}}, {{"theta", -0.4}})),
    on("rheonomic", analytic_rheonomic(), coupling({{"x", 1.0}}, {{"y", 2.0}})),
    on("rotation", analytic_rotation(), coupling({{"e0", 1.0}}, {{"e3", -2.0}, {"e1", 1.0}}))),
  case_name);

TEST(PolynomialCoupling, when_joint_follows_a_cubic_expect_hand_values)
{
  const auto system = robot("planar_2r");
  Evaluation evaluation(std::make_shared<PolynomialCoupling>(
    "cam", *system, Terms{{"j1", 1.0}}, Terms{{"j2", 1.0}}, Coefficients{1.0, 0.0, 3.0, 2.0, 0.0}));
  const RowStorage & rows =
    evaluation.at(0.0, Eigen::Vector2d(0.5, 0.5), Eigen::Vector2d(1.0, 2.0));
  // p(0.5) = 2, p' = 6 x + 6 x² = 4.5, p'' = 6 + 12 x = 12.
  EXPECT_DOUBLE_EQ(rows.position(0), 0.5 - 2.0);
  EXPECT_DOUBLE_EQ(rows.velocity(0), 1.0 - 4.5 * 2.0);
  EXPECT_EQ(rows.jacobian, Eigen::RowVector2d(1.0, -4.5));
  EXPECT_DOUBLE_EQ(rows.bias(0), 12.0 * 4.0);
  const std::vector<WrenchPair> pairs = evaluation.wrenches(Eigen::VectorXd::Constant(1, 2.0));
  ASSERT_EQ(pairs.size(), 2u);
  EXPECT_TRUE(pairs[0].on_a.torque.isApprox(Eigen::Vector3d(0.0, 0.0, 2.0), 1e-15));
  EXPECT_TRUE(pairs[1].on_a.torque.isApprox(Eigen::Vector3d(0.0, 0.0, -9.0), 1e-15));
}

TEST(PolynomialCoupling, when_arguments_are_wrong_expect_messages)
{
  const auto system = robot("planar_2r");
  const auto message = [&](const Terms & terms, const Terms & of, double p2)
  {
    return message_of_invalid_argument(
      [&] {
        PolynomialCoupling("cam", *system, terms, of, Coefficients{0.0, 1.0, p2, 0.0, 0.0});
      });
  };
  const Terms j1 = {{"j1", 1.0}};
  const Terms j2 = {{"j2", 1.0}};
  EXPECT_THAT(message({}, j2, 0.0), HasSubstr("cam"));
  EXPECT_THAT(message(j1, {}, 0.0), HasSubstr("couples 0 coordinates"));
  EXPECT_THAT(message({{"elbow", 1.0}}, j2, 0.0), HasSubstr("elbow"));
  EXPECT_THAT(message(j1, {{"j2", 1.0}, {"j2", 2.0}}, 0.0), HasSubstr("twice"));
  EXPECT_THAT(message(j1, {{"j2", 0.0}}, 0.0), HasSubstr("coefficient of 'j2' is 0"));
  EXPECT_THAT(message(j1, j2, std::numeric_limits<double>::infinity()), HasSubstr("quadratic"));
}

}  // namespace constrained_dynamics::test
