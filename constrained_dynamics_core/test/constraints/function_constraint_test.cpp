// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/constraints/function_constraint.hpp"

#include <cmath>
#include <stdexcept>

#include <gmock/gmock.h>

#include "constrained_dynamics/constraints/formula_constraint.hpp"
#include "constraints/constraint_conformance.hpp"
#include "support/realtime_exemption.hpp"

namespace constrained_dynamics::test
{

using testing::HasSubstr;

namespace
{

/// Two rows over the first two coordinates.
struct Position
{
  template <class S>
  void operator()(const S & t, const S * q, const S *, S * out) const
  {
    using std::exp;
    using std::sin;
    out[0] = q[0] * q[0] * q[1] - sin(3.0 * t);
    out[1] = exp(0.5 * q[1]) + q[0];
  }
};

/// A linear and a nonlinear row over the first two coordinates and speeds.
struct Velocity
{
  template <class S>
  void operator()(const S & t, const S * q, const S * u, S * out) const
  {
    using std::cos;
    out[0] = u[0] * cos(q[1]) + t * u[1];
    out[1] = u[0] * u[0] + q[0] * u[1] * u[1] - 1.0;
  }
};

std::vector<ConformanceCase> everywhere()
{
  std::vector<NamedSystem> systems = robots();
  systems.insert(systems.end(), analytic_systems().begin(), analytic_systems().end());
  std::vector<ConformanceCase> cases;
  for (const NamedSystem & system : systems)
  {
    cases.push_back(on(
      system.name + "_position", system.system,
      [](const System & s)
      { return make_function_constraint("c", s, RowLevel::kPosition, 2, Position{}); }));
    cases.push_back(on(
      system.name + "_velocity", system.system,
      [](const System & s)
      { return make_function_constraint("c", s, RowLevel::kVelocity, 2, Velocity{}); }));
  }
  return cases;
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(
  Function, ConstraintConformance, testing::ValuesIn(everywhere()), case_name);

TEST(FunctionConstraint, when_a_formula_says_the_same_expect_the_same_rows)
{
  const auto system = analytic_rheonomic();
  for (const RowLevel level : {RowLevel::kPosition, RowLevel::kVelocity})
  {
    const bool is_position = level == RowLevel::kPosition;
    Evaluation by_function(
      is_position ? ConstraintPtr(make_function_constraint("c", *system, level, 2, Position{}))
                  : ConstraintPtr(make_function_constraint("c", *system, level, 2, Velocity{})));
    Evaluation by_formula(std::make_shared<FormulaConstraint>(
      "c", *system, level,
      is_position ? std::vector<std::string>{"x^2*y - sin(3*t)", "exp(0.5*y) + x"}
                  : std::vector<std::string>{"u1*cos(y) + t*u2", "u1^2 + x*u2^2 - 1"}));
    for (unsigned seed = 1; seed <= 10; ++seed)
    {
      const TestState s = random_state(*system, seed);
      const RowStorage & a = by_function.at(s.time, s.q, s.u);
      const RowStorage & b = by_formula.at(s.time, s.q, s.u);
      EXPECT_LE((a.position - b.position).cwiseAbs().maxCoeff(), 1e-14);
      EXPECT_LE((a.velocity - b.velocity).cwiseAbs().maxCoeff(), 1e-14);
      EXPECT_LE((a.jacobian - b.jacobian).cwiseAbs().maxCoeff(), 1e-14);
      EXPECT_LE((a.bias - b.bias).cwiseAbs().maxCoeff(), 1e-14);
    }
  }
}

TEST(FunctionConstraint, when_written_as_a_lambda_expect_its_rows)
{
  const auto system = robot("planar_2r");
  const auto gear = [](const auto &, const auto * q, const auto *, auto * out)
  { out[0] = 2.0 * q[0] - q[1]; };
  Evaluation evaluation(
    make_function_constraint("gear", *system, RowLevel::kPosition, 1, gear, {"ratio"}));
  const RowStorage & rows =
    evaluation.at(0.0, Eigen::Vector2d(1.0, 0.5), Eigen::Vector2d(0.0, 3.0));
  EXPECT_DOUBLE_EQ(rows.position(0), 1.5);
  EXPECT_DOUBLE_EQ(rows.velocity(0), -3.0);
  EXPECT_EQ(rows.jacobian, Eigen::RowVector2d(2.0, -1.0));
  EXPECT_EQ(evaluation.constraint().rows()[0].label, "ratio");
  EXPECT_EQ(evaluation.constraint().type(), "function");
}

TEST(FunctionConstraint, when_function_throws_expect_status_and_untouched_rows)
{
  const auto system = robot("planar_2r");
  for (const RowLevel level : {RowLevel::kPosition, RowLevel::kVelocity})
  {
    const auto moody = [level](const auto & t, const auto * q, const auto * u, auto * out)
    {
      if (t > 1.0)
      {
        throw std::runtime_error("no");
      }
      out[0] = level == RowLevel::kPosition ? q[0] : u[0];
    };
    Evaluation evaluation(make_function_constraint("moody", *system, level, 1, moody));
    RowStorage rows(evaluation.constraint(), 42.0);
    const RowStorage untouched = rows;
    const Eigen::Vector2d zero = Eigen::Vector2d::Zero();
    {
      const RealtimeExemption exemption;
      EXPECT_EQ(evaluation.try_at(2.0, zero, zero, rows), Status::kUserFunctionFailed);
    }
    EXPECT_TRUE(rows == untouched);
    EXPECT_EQ(evaluation.try_at(0.5, zero, zero, rows), Status::kOk);
  }
}

TEST(FunctionConstraint, when_an_output_is_not_finite_or_forgotten_expect_status)
{
  const auto system = robot("planar_2r");
  const auto divides = [](const auto &, const auto * q, const auto *, auto * out)
  { out[0] = 1.0 / q[0]; };
  const auto forgets = [](const auto &, const auto * q, const auto *, auto * out)
  { out[0] = q[0]; };
  const std::vector<ConstraintPtr> constraints{
    make_function_constraint("divides", *system, RowLevel::kPosition, 1, divides),
    make_function_constraint("forgets", *system, RowLevel::kPosition, 2, forgets)};
  for (const ConstraintPtr & constraint : constraints)
  {
    Evaluation evaluation(constraint);
    RowStorage rows(evaluation.constraint(), 42.0);
    const RowStorage untouched = rows;
    const Eigen::Vector2d zero = Eigen::Vector2d::Zero();
    EXPECT_EQ(evaluation.try_at(0.0, zero, zero, rows), Status::kNonFiniteResult);
    EXPECT_TRUE(rows == untouched);
  }
}

TEST(FunctionConstraint, when_arguments_are_wrong_expect_messages)
{
  const auto system = robot("planar_2r");
  const auto f = [](const auto &, const auto *, const auto * u, auto * out) { out[0] = u[0]; };
  const auto message = [&](RowLevel level, int rows, const std::vector<std::string> & labels)
  {
    return message_of_invalid_argument(
      [&] { make_function_constraint("f", *system, level, rows, f, labels); });
  };
  EXPECT_THAT(message(RowLevel::kPosition, 1, {}), HasSubstr("uses the speeds"));
  EXPECT_THAT(message(RowLevel::kAcceleration, 1, {}), HasSubstr("acceleration"));
  EXPECT_THAT(message(RowLevel::kVelocity, 0, {}), HasSubstr("row count is 0"));
  EXPECT_THAT(message(RowLevel::kVelocity, 1, {"a", "b"}), HasSubstr("labels"));
}

}  // namespace constrained_dynamics::test
