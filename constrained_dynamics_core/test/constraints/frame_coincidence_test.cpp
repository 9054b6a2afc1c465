// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/constraints/frame_coincidence.hpp"

#include <cmath>

#include <gmock/gmock.h>
#include <Eigen/Geometry>
#include <Eigen/QR>

#include "constraints/constraint_conformance.hpp"

namespace constrained_dynamics::test
{

using Eigen::AngleAxisd;
using Eigen::Vector3d;
using testing::HasSubstr;

namespace
{

MakeBetweenFrames coincidence(const std::vector<std::string> & rows)
{
  return [rows](const System & system, const std::string & a, const std::string & b)
  { return std::make_shared<FrameCoincidence>("c", system, a, b, rows); };
}

constexpr double kPi = 3.141592653589793;

}  // namespace

INSTANTIATE_TEST_SUITE_P(
  FrameCoincidenceWeld, ConstraintConformance,
  testing::ValuesIn(on_robots(coincidence(FrameCoincidence::all_rows()))), case_name);
INSTANTIATE_TEST_SUITE_P(
  FrameCoincidenceHingeZ, ConstraintConformance,
  testing::ValuesIn(on_robots(coincidence({"x", "y", "z", "rx", "ry"}))), case_name);
INSTANTIATE_TEST_SUITE_P(
  FrameCoincidenceHingeX, ConstraintConformance,
  testing::ValuesIn(on_robots(coincidence({"rz", "y", "ry"}))), case_name);
INSTANTIATE_TEST_SUITE_P(
  FrameCoincidenceOneRotation, ConstraintConformance,
  testing::ValuesIn(on_robots(coincidence({"ry"}))), case_name);
INSTANTIATE_TEST_SUITE_P(
  FrameCoincidencePlanarLoop, ConstraintConformance,
  testing::ValuesIn(on_robots(coincidence({"z", "x"}))), case_name);

TEST(FrameCoincidence, when_displaced_and_turned_expect_hand_values)
{
  const auto system = robot("two_bodies");
  Evaluation evaluation(std::make_shared<FrameCoincidence>("weld", *system, "left", "right"));
  BodyState left;
  left.position = {1.0, 2.0, 3.0};
  left.rotation = AngleAxisd(kPi / 2.0, Vector3d::UnitZ());
  const TestState s = two_bodies_state(left);
  const RowStorage & rows = evaluation.at(0.0, s.q, s.u);
  Eigen::VectorXd expected(6);
  expected << 1.0, 2.0, 3.0, 0.0, 0.0, std::sqrt(2.0);  // 2 sin(45°)
  EXPECT_TRUE(rows.position.isApprox(expected, 1e-14)) << rows.position.transpose();
  EXPECT_EQ(evaluation.constraint().type(), "frame_coincidence");
  EXPECT_FALSE(evaluation.constraint().rows()[2].rotational);
  EXPECT_TRUE(evaluation.constraint().rows()[3].rotational);
}

TEST(FrameCoincidence, when_b_spins_and_a_rests_in_it_expect_zero_rates_and_biases)
{
  // A rests in B, which turns and flies: the Coriolis and centripetal terms must cancel.
  const auto system = robot("two_bodies");
  Evaluation evaluation(std::make_shared<FrameCoincidence>("weld", *system, "left", "right"));
  const Vector3d omega(0.3, -0.7, 1.1);
  BodyState left;
  BodyState right;
  right.rotation = AngleAxisd(0.8, Vector3d(1.0, 2.0, -1.0).normalized());
  right.position = {0.2, 0.4, -0.3};
  right.velocity = {1.0, -0.5, 0.2};
  right.angular_velocity = omega;
  left.rotation = AngleAxisd(-0.4, Vector3d(0.0, 1.0, 1.0).normalized());
  left.position = {1.0, 0.7, 0.5};
  left.angular_velocity = omega;
  left.velocity = right.velocity + omega.cross(left.position - right.position);
  const TestState s = two_bodies_state(left, right);
  const RowStorage & rows = evaluation.at(0.0, s.q, s.u);
  EXPECT_LE(rows.velocity.cwiseAbs().maxCoeff(), 1e-14);
  EXPECT_LE(rows.bias.tail<3>().cwiseAbs().maxCoeff(), 1e-14);
  // u̇ = 0 in body axes: origins keep on with a = ω × v; seen in B only the centripetal part of A's
  // missing acceleration is left: R_Bᵀ (ω × (v_A − v_B) − ω × (ω × d)) = 0.
  EXPECT_LE(rows.bias.head<3>().cwiseAbs().maxCoeff(), 1e-14);
}

TEST(FrameCoincidence, when_hinge_turns_through_any_angle_expect_smooth_rows_about_the_axes_of_b)
{
  const auto system = robot("two_bodies");
  Evaluation evaluation(std::make_shared<FrameCoincidence>(
    "hinge", *system, "left", "right", std::vector<std::string>{"x", "y", "z", "rx", "ry"}));
  for (const double angle : {0.0, 1.0, 3.1, kPi, 3.2, 4.7, 6.2})
  {
    BodyState left;
    left.rotation = AngleAxisd(angle, Vector3d::UnitZ());
    const TestState s = two_bodies_state(left);
    const RowStorage & rows = evaluation.at(0.0, s.q, s.u);
    EXPECT_LE(rows.position.cwiseAbs().maxCoeff(), 1e-14) << angle;
    // Columns of the angular velocity of "right", which rests in the world's axes.
    EXPECT_TRUE(
      (rows.jacobian.block<2, 3>(3, 9).isApprox(-Eigen::Matrix3d::Identity().topRows<2>(), 1e-14)))
      << angle;
  }
}

TEST(FrameCoincidence, when_axes_of_a_hinge_are_opposite_expect_status_and_untouched_rows)
{
  const auto system = robot("two_bodies");
  Evaluation evaluation(std::make_shared<FrameCoincidence>(
    "hinge", *system, "left", "right", std::vector<std::string>{"rx", "ry"}));
  BodyState left;
  left.rotation = AngleAxisd(kPi, Vector3d::UnitX());
  const TestState s = two_bodies_state(left);
  RowStorage rows(evaluation.constraint(), 42.0);
  const RowStorage untouched = rows;
  EXPECT_EQ(evaluation.try_at(0.0, s.q, s.u, rows), Status::kNonFiniteResult);
  EXPECT_TRUE(rows == untouched);
  const WrenchPair pair = evaluation.wrenches(Eigen::Vector2d(1.0, 1.0)).front();
  EXPECT_EQ(pair.on_a.torque, Vector3d::Zero());
}

TEST(FrameCoincidence, when_error_is_half_a_turn_expect_lost_rank_but_finite_rows)
{
  const auto system = robot("two_bodies");
  Evaluation evaluation(std::make_shared<FrameCoincidence>(
    "orientation", *system, "left", "right", std::vector<std::string>{"rx", "ry", "rz"}));
  for (const double angle : {kPi, kPi - 1e-9, kPi - 0.3})
  {
    BodyState left;
    left.rotation = AngleAxisd(angle, Vector3d(1.0, 2.0, 2.0).normalized());
    const TestState s = two_bodies_state(left);
    const RowStorage & rows = evaluation.at(0.0, s.q, s.u);
    EXPECT_NEAR(rows.position.norm(), 2.0 * std::sin(angle / 2.0), 1e-14);
    Eigen::ColPivHouseholderQR<Eigen::MatrixXd> qr(rows.jacobian);
    qr.setThreshold(1e-6);
    EXPECT_EQ(qr.rank(), angle < kPi - 0.1 ? 3 : 2);
  }
}

TEST(FrameCoincidence, when_rows_or_frames_are_wrong_expect_messages)
{
  const auto system = robot("two_bodies");
  const auto message =
    [&](const std::string & a, const std::string & b, const std::vector<std::string> & rows)
  { return message_of_invalid_argument([&] { FrameCoincidence("loop", *system, a, b, rows); }); };
  EXPECT_THAT(message("left", "right", {"x", "roll"}), HasSubstr("roll"));
  EXPECT_THAT(message("left", "right", {"x", "y", "x"}), HasSubstr("'x'"));
  EXPECT_THAT(message("left", "right", {}), HasSubstr("loop"));
  EXPECT_THAT(message("hand", "right", {"x"}), HasSubstr("hand"));
  EXPECT_THAT(message("left", "hand", {"x"}), HasSubstr("hand"));
  EXPECT_THAT(message("left", "left", {"x"}), HasSubstr("one body"));
  EXPECT_THAT(message("left", "frame_a", {"x"}), HasSubstr("one body"));
  EXPECT_THAT(message("fixed", "world", {"x"}), HasSubstr("one body"));
  EXPECT_THAT(
    message_of_invalid_argument([] { FrameCoincidence("loop", *analytic_skate(), "a", "b"); }),
    HasSubstr("no frames"));
  EXPECT_THAT(
    message_of_invalid_argument([&] { FrameCoincidence("", *system, "left", "right"); }),
    HasSubstr("empty name"));
}

}  // namespace constrained_dynamics::test
