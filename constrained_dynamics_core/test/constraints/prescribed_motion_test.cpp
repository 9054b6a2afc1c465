// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/constraints/prescribed_motion.hpp"

#include <cmath>

#include <gmock/gmock.h>

#include "constraints/constraint_conformance.hpp"

namespace constrained_dynamics::test
{

using testing::HasSubstr;

namespace
{

FormulaNames names()
{
  FormulaNames result;
  result.parameters = {{"amplitude", 0.4}, {"rate", 3.0}};
  result.definitions = {{"phase", "rate*t + 0.2"}};
  return result;
}

std::function<ConstraintPtr(const System &)> coordinate(const std::string & which)
{
  return [which](const System & system)
  {
    return std::make_shared<PrescribedCoordinate>(
      "c", system, which, "amplitude*sin(phase) + t^2", names());
  };
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(
  PrescribedCoordinate, ConstraintConformance,
  testing::Values(
    on("planar_3r", robot("planar_3r"), coordinate("j2")),
    on("arm_6_sliding", robot("arm_6"), coordinate("j4")),
    on("skate", analytic_skate(), coordinate("y")),
    on("rheonomic", analytic_rheonomic(), coordinate("y")),
    on("rotation", analytic_rotation(), coordinate("e2"))),
  case_name);

INSTANTIATE_TEST_SUITE_P(
  PrescribedPosition, ConstraintConformance,
  testing::ValuesIn(on_robots(
    [](const System & system, const std::string & a, const std::string & b)
    {
      return std::make_shared<PrescribedPosition>(
        "c", system, a, b,
        std::vector<PrescribedComponent>{{"z", "amplitude*cos(phase)"}, {"x", "0.1*t"}}, names());
    })),
  case_name);

TEST(PrescribedCoordinate, when_time_is_given_expect_hand_values)
{
  const auto system = robot("planar_2r");
  FormulaNames one;
  one.parameters = {{"w", 2.0}};
  Evaluation evaluation(
    std::make_shared<PrescribedCoordinate>("drive", *system, "j2", "sin(w*t)", one));
  const RowStorage & rows =
    evaluation.at(0.3, Eigen::Vector2d(0.1, 0.9), Eigen::Vector2d(1.0, 5.0));
  EXPECT_NEAR(rows.position(0), 0.9 - std::sin(0.6), 1e-15);
  EXPECT_NEAR(rows.velocity(0), 5.0 - 2.0 * std::cos(0.6), 1e-15);
  EXPECT_NEAR(rows.bias(0), -4.0 * std::sin(0.6), 1e-15);
  EXPECT_EQ(rows.jacobian, Eigen::RowVector2d(0.0, 1.0));
  EXPECT_EQ(evaluation.constraint().rows()[0].label, "j2");
  EXPECT_EQ(evaluation.constraint().type(), "prescribed_motion");
}

TEST(PrescribedCoordinate, when_function_has_no_value_expect_status_and_untouched_rows)
{
  const auto system = robot("planar_2r");
  Evaluation evaluation(
    std::make_shared<PrescribedCoordinate>("drive", *system, "j1", "sqrt(1 - t)"));
  RowStorage rows(evaluation.constraint(), 42.0);
  const RowStorage untouched = rows;
  const Eigen::Vector2d zero = Eigen::Vector2d::Zero();
  EXPECT_EQ(evaluation.try_at(2.0, zero, zero, rows), Status::kNonFiniteResult);
  EXPECT_TRUE(rows == untouched);
  EXPECT_EQ(evaluation.try_at(0.5, zero, zero, rows), Status::kOk);
}

TEST(PrescribedCoordinate, when_arguments_are_wrong_expect_messages)
{
  const auto system = robot("planar_2r");
  const auto message = [&](const std::string & which, const std::string & formula)
  {
    return message_of_invalid_argument([&]
                                       { PrescribedCoordinate("drive", *system, which, formula); });
  };
  EXPECT_THAT(message("elbow", "t"), HasSubstr("elbow"));
  EXPECT_THAT(message("j1", "2*j2"), HasSubstr("'j2'"));
  EXPECT_THAT(message("j1", "sin(t"), HasSubstr("constraint 'drive'"));
  EXPECT_THAT(message("j1", "speed*t"), HasSubstr("speed"));
}

TEST(PrescribedPosition, when_arguments_are_wrong_expect_messages)
{
  const auto system = robot("two_bodies");
  const auto message = [&](const std::vector<PrescribedComponent> & components)
  {
    return message_of_invalid_argument(
      [&] { PrescribedPosition("hand", *system, "left", "world", components); });
  };
  EXPECT_THAT(message({}), HasSubstr("hand"));
  EXPECT_THAT(message({{"w", "t"}}), HasSubstr("axis"));
  EXPECT_THAT(message({{"x", "t"}, {"x", "t"}}), HasSubstr("'x'"));
  EXPECT_THAT(message({{"x", "px(left)"}}), HasSubstr("px(left)"));
}

}  // namespace constrained_dynamics::test
