// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/constraints/centre_of_mass.hpp"

#include <limits>

#include <gmock/gmock.h>

#include "constraints/constraint_conformance.hpp"

namespace constrained_dynamics::test
{

using Eigen::Vector3d;
using testing::HasSubstr;

namespace
{

std::vector<ConformanceCase> on_all_robots()
{
  std::vector<ConformanceCase> cases;
  for (const NamedSystem & robot : robots())
  {
    cases.push_back(on(
      robot.name, robot.system,
      [](const System & system)
      {
        return std::make_shared<CentreOfMass>(
          "c", system, std::vector<std::string>{"z", "x", "y"}, Vector3d(0.1, -0.2, 0.3));
      }));
  }
  return cases;
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(
  CentreOfMass, ConstraintConformance, testing::ValuesIn(on_all_robots()), case_name);

/// Two bodies of 2 kg with their centres of mass at (0.1, −0.05, 0.02) of their frames.
TEST(CentreOfMass, when_two_bodies_move_expect_hand_values)
{
  const auto system = robot("two_bodies");
  Evaluation evaluation(std::make_shared<CentreOfMass>(
    "balance", *system, std::vector<std::string>{"y", "z"}, Vector3d(0.0, 1.0, 0.0)));
  BodyState left;
  left.position = {1.0, 2.0, 3.0};
  left.velocity = {4.0, 5.0, 6.0};
  left.angular_velocity = {0.0, 0.0, 10.0};
  const TestState s = two_bodies_state(left);
  const RowStorage & rows = evaluation.at(0.0, s.q, s.u);
  EXPECT_NEAR(rows.position(0), 0.5 * (2.0 - 0.05 - 0.05) - 1.0, 1e-15);
  EXPECT_NEAR(rows.position(1), 0.5 * (3.0 + 0.02 + 0.02), 1e-15);
  EXPECT_NEAR(rows.velocity(0), 0.5 * (5.0 + 10.0 * 0.1), 1e-15);
  // Coordinates of the frame's axes turn: u̇ = 0 keeps v in body axes, so a = ω × v; plus the
  // centripetal acceleration −ω² r of the centre of mass.
  EXPECT_NEAR(rows.bias(0), -0.5 * (10.0 * 4.0 + 100.0 * 0.05), 1e-13);
  EXPECT_EQ(evaluation.constraint().type(), "centre_of_mass");
  EXPECT_EQ(evaluation.constraint().rows()[1].label, "z");
}

TEST(CentreOfMass, when_built_from_nonsense_expect_messages)
{
  const auto system = robot("two_bodies");
  const auto message = [&](const std::vector<std::string> & rows, const Vector3d & position) {
    return message_of_invalid_argument([&] { CentreOfMass("balance", *system, rows, position); });
  };
  const Vector3d bad(0.0, std::numeric_limits<double>::quiet_NaN(), 0.0);
  EXPECT_THAT(message({}, Vector3d::Zero()), HasSubstr("'balance'"));
  EXPECT_THAT(message({"rx"}, Vector3d::Zero()), HasSubstr("'rx'"));
  EXPECT_THAT(message({"x", "x"}, Vector3d::Zero()), HasSubstr("x"));
  EXPECT_THAT(message({"y"}, bad), HasSubstr("y of position"));
  EXPECT_THAT(
    message_of_invalid_argument([] { CentreOfMass("balance", *analytic_skate()); }),
    HasSubstr("RigidBodySystem"));
}

}  // namespace constrained_dynamics::test
