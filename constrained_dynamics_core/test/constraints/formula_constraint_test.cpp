// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/constraints/formula_constraint.hpp"

#include <cmath>

#include <gmock/gmock.h>

#include "constrained_dynamics/constraints/distance.hpp"
#include "constrained_dynamics/model/analytic_system.hpp"
#include "constraints/constraint_conformance.hpp"

namespace constrained_dynamics::test
{

using testing::HasSubstr;

namespace
{

constexpr double kRounding = 1e-12;

std::function<ConstraintPtr(const System &)> formula(
  RowLevel level, const std::vector<std::string> & rows)
{
  return [level, rows](const System & system)
  {
    FormulaNames names;
    names.parameters = {{"a", 1.3}, {"rho", 0.7}};
    names.definitions = {{"wave", "a*sin(rho*t)"}};
    return std::make_shared<FormulaConstraint>("c", system, level, rows, names);
  };
}

/// The Appell-Hamel mechanism.
std::shared_ptr<const System> appell_hamel()
{
  AnalyticDescription description;
  description.coordinates = {"theta", "phi", "x", "y", "z"};
  description.kinetic = "dtheta^2 + dphi^2 + dx^2 + dy^2 + dz^2";
  return make_analytic_system(description);
}

constexpr RowLevel kPosition = RowLevel::kPosition;
constexpr RowLevel kVelocity = RowLevel::kVelocity;
constexpr RowLevel kAcceleration = RowLevel::kAcceleration;

void expect_same(const RowStorage & a, const RowStorage & b)
{
  EXPECT_LE((a.position - b.position).cwiseAbs().maxCoeff(), kRounding);
  EXPECT_LE((a.velocity - b.velocity).cwiseAbs().maxCoeff(), kRounding);
  EXPECT_LE((a.jacobian - b.jacobian).cwiseAbs().maxCoeff(), kRounding);
  EXPECT_LE((a.bias - b.bias).cwiseAbs().maxCoeff(), kRounding);
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(
  FormulaPosition, ConstraintConformance,
  testing::Values(
    on("planar_3r", robot("planar_3r"), formula(kPosition, {"j1*j2 - wave", "sin(j3) + j1^2"})),
    on(
      "frames", robot("arm_6"),
      formula(kPosition, {"px(frame_a)*pz(frame_b) - wave*py(frame_a)", "px(frame_a) + j4"})),
    on("floating", robot("two_bodies"), formula(kPosition, {"px(left)^2 + right_y*left_qw"})),
    on("mobile", robot("mobile"), formula(kPosition, {"mobile_x*mobile_theta + pz(link3)"})),
    on("skate", analytic_skate(), formula(kPosition, {"x^2*y + cos(theta)*t"})),
    on("rheonomic", analytic_rheonomic(), formula(kPosition, {"x*y - wave", "exp(x)"})),
    on("rotation", analytic_rotation(), formula(kPosition, {"2*(e0*e3 + e1*e2) - wave"}))),
  case_name);

INSTANTIATE_TEST_SUITE_P(
  FormulaVelocity, ConstraintConformance,
  testing::Values(
    on("planar_3r", robot("planar_3r"), formula(kVelocity, {"j1*dj2 - dj3^2 + wave"})),
    on(
      "frames", robot("arm_6"),
      formula(
        kVelocity, {"vx(frame_a)^2 + vy(frame_a)^2 - a*wz(frame_b)*px(frame_a)",
                    "wx(frame_a) + j2*vz(frame_b) - dj4"})),
    on(
      "floating", robot("two_bodies"),
      formula(kVelocity, {"left_vx*right_wz + dleft_qw + vy(frame_a)*wz(right)"})),
    on("mobile", robot("mobile"), formula(kVelocity, {"mobile_vy", "dmobile_x*cos(j1)"})),
    on("skate", analytic_skate(), formula(kVelocity, {"s + x*w^2", "dx*sin(theta) - dy*v"})),
    on("rheonomic", analytic_rheonomic(), formula(kVelocity, {"u1*dy + t*u2", "dx^2 + dy^2"})),
    on("rotation", analytic_rotation(), formula(kVelocity, {"de0*w2 + e1*w1"})),
    on(
      "appell_hamel", appell_hamel(),
      formula(
        kVelocity, {"(dx + rho*dtheta*sin(theta))^2 + (dy - rho*dtheta*cos(theta))^2 - a^2*dphi^2",
                    "dx*sin(theta) - dy*cos(theta) + rho*dtheta"}))),
  case_name);

INSTANTIATE_TEST_SUITE_P(
  FormulaAcceleration, ConstraintConformance,
  testing::Values(
    on("planar_3r", robot("planar_3r"), formula(kAcceleration, {"j1*ddj2 - dj3^2 + wave"})),
    on("skate", analytic_skate(), formula(kAcceleration, {"ddx*sin(theta) - dv + dw*v"}))),
  case_name);

TEST(FormulaConstraint, when_formula_is_a_distance_expect_the_rows_of_distance)
{
  const auto system = robot("arm_6");
  Evaluation by_formula(std::make_shared<FormulaConstraint>(
    "rod", *system, kPosition,
    std::vector<std::string>{"sqrt((px(frame_a) - px(frame_b))^2 + (py(frame_a) - py(frame_b))^2"
                             " + (pz(frame_a) - pz(frame_b))^2) - 0.8"}));
  Evaluation by_class(std::make_shared<Distance>("rod", *system, "frame_a", "frame_b", 0.8));
  for (unsigned seed = 1; seed <= 10; ++seed)
  {
    const TestState s = random_state(*system, seed);
    expect_same(by_formula.at(s.time, s.q, s.u), by_class.at(s.time, s.q, s.u));
  }
}

/// One constraint on three levels has one A and one b.
TEST(FormulaConstraint, when_a_row_is_differentiated_by_hand_expect_the_same_rows)
{
  for (const auto & system : {analytic_skate(), analytic_rheonomic()})
  {
    const auto make = [&](RowLevel level, const std::string & row)
    {
      return Evaluation(
        std::make_shared<FormulaConstraint>("c", *system, level, std::vector<std::string>{row}));
    };
    Evaluation position = make(kPosition, "x^2*y - sin(t)");
    Evaluation velocity = make(kVelocity, "2*x*y*dx + x^2*dy - cos(t)");
    Evaluation acceleration =
      make(kAcceleration, "2*y*dx^2 + 4*x*dx*dy + 2*x*y*ddx + x^2*ddy + sin(t)");
    for (unsigned seed = 1; seed <= 10; ++seed)
    {
      const TestState s = random_state(*system, seed);
      const RowStorage & p = position.at(s.time, s.q, s.u);
      RowStorage v = velocity.at(s.time, s.q, s.u);
      RowStorage a = acceleration.at(s.time, s.q, s.u);
      v.position = p.position;
      a.position = p.position;
      a.velocity = p.velocity;
      expect_same(p, v);
      expect_same(p, a);
    }
  }
}

TEST(FormulaConstraint, when_speed_and_rate_are_the_same_expect_the_same_rows)
{
  const auto system = analytic_skate();
  Evaluation by_speed(std::make_shared<FormulaConstraint>(
    "c", *system, kAcceleration, std::vector<std::string>{"dw + w*v"}));
  Evaluation by_rate(std::make_shared<FormulaConstraint>(
    "c", *system, kAcceleration, std::vector<std::string>{"ddtheta + dtheta*v"}));
  const TestState s = random_state(*system, 5);
  expect_same(by_speed.at(s.time, s.q, s.u), by_rate.at(s.time, s.q, s.u));
}

TEST(FormulaConstraint, when_labels_are_given_expect_them)
{
  const auto system = analytic_skate();
  const std::vector<std::string> rows{"x", "y"};
  EXPECT_EQ(FormulaConstraint("c", *system, kPosition, rows).rows()[1].label, "row_2");
  EXPECT_EQ(
    FormulaConstraint("c", *system, kPosition, rows, {}, {"east", "north"}).rows()[1].label,
    "north");
  EXPECT_EQ(FormulaConstraint("c", *system, kPosition, rows).type(), "formula");
  EXPECT_THAT(
    message_of_invalid_argument([&]
                                { FormulaConstraint("c", *system, kPosition, rows, {}, {"e"}); }),
    HasSubstr("labels"));
}

TEST(FormulaConstraint, when_value_does_not_exist_expect_status_and_untouched_rows)
{
  const auto system = analytic_rheonomic();
  for (const RowLevel level : {kPosition, kVelocity, kAcceleration})
  {
    const std::string row = level == kPosition   ? "log(x) + y"
                            : level == kVelocity ? "log(x)*dy"
                                                 : "log(x)*ddy + ddx";
    Evaluation evaluation(
      std::make_shared<FormulaConstraint>("c", *system, level, std::vector<std::string>{row}));
    RowStorage rows(evaluation.constraint(), 42.0);
    const RowStorage untouched = rows;
    const Eigen::Vector2d q(-1.0, 1.0);
    EXPECT_EQ(evaluation.try_at(0.0, q, q, rows), Status::kNonFiniteResult);
    EXPECT_TRUE(rows == untouched);
  }
}

TEST(FormulaConstraint, when_rows_are_wrong_expect_messages)
{
  const auto system = analytic_skate();
  const auto message = [&](RowLevel level, const std::string & row)
  {
    return message_of_invalid_argument(
      [&] {
        FormulaConstraint("blade", *system, level, {"x + dx + ddx", row});
      });
  };
  const auto position = [&](const std::string & row)
  {
    return message_of_invalid_argument([&]
                                       { FormulaConstraint("blade", *system, kPosition, {row}); });
  };
  EXPECT_THAT(position("x + dx"), HasSubstr("uses 'dx', a velocity"));
  EXPECT_THAT(position("x + v"), HasSubstr("uses 'v', a velocity"));
  EXPECT_THAT(position("x + ddy"), HasSubstr("uses 'ddy', an acceleration"));
  EXPECT_THAT(position("t - 1"), HasSubstr("no variable of that level"));
  EXPECT_THAT(position("x + elbow"), HasSubstr("elbow"));
  EXPECT_THAT(position("x + px(tool)"), HasSubstr("constraint 'blade'"));
  EXPECT_THAT(
    message_of_invalid_argument([&] { FormulaConstraint("blade", *system, kVelocity, {"x"}); }),
    HasSubstr("no variable of that level"));
  EXPECT_THAT(message(kAcceleration, "ddx^2 + ddy"), HasSubstr("not linear"));
  EXPECT_THAT(message(kAcceleration, "ddx*ddy"), HasSubstr("not linear"));
  EXPECT_THAT(
    message_of_invalid_argument([&] { FormulaConstraint("blade", *system, kPosition, {}); }),
    HasSubstr("0 rows"));
  FormulaNames taken;
  taken.parameters = {{"dx", 1.0}};
  EXPECT_THAT(
    message_of_invalid_argument([&]
                                { FormulaConstraint("blade", *system, kPosition, {"x"}, taken); }),
    HasSubstr("dx"));
}

}  // namespace constrained_dynamics::test
