// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Zero is judged relative to the size that a row could have: rotating the base, scaling rows, or
// adding redundant rows does not change any result.

#include <cmath>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "constrained_dynamics/constraints/formula_constraint.hpp"
#include "constrained_dynamics/constraints/point_on_plane.hpp"
#include "constrained_dynamics/dynamics/dynamics.hpp"
#include "constrained_dynamics/formulations/registry.hpp"
#include "constrained_dynamics/model/analytic_system.hpp"
#include "constrained_dynamics/model/rigid_body_system.hpp"
#include "constrained_dynamics/scenario/scenario.hpp"

namespace constrained_dynamics
{
namespace
{

struct Answer
{
  Status status = Status::kOk;
  RankReport report;
  Eigen::VectorXd acceleration;
  Eigen::VectorXd constraint_force;
  Eigen::VectorXd multipliers;
  int rank = 0;
};

Answer solve(const Dynamics & dynamics, const State & state)
{
  Answer answer;
  Workspace workspace = Workspace::unanalysed(dynamics);
  answer.report = workspace.reset(state);
  const Eigen::VectorXd inputs = Eigen::VectorXd::Zero(dynamics.system().input_count());
  answer.status = dynamics.solve(state.time, state.q, state.u, inputs, workspace);
  answer.acceleration = workspace.solution().acceleration;
  answer.constraint_force = workspace.solution().constraint_force;
  answer.multipliers = workspace.solution().multipliers;
  answer.rank = workspace.solution().rank;
  return answer;
}

Answer solve_scenario(const std::string & name, const std::vector<std::string> & overrides)
{
  const Scenario scenario =
    Scenario::load(std::string(CD_CONFIG) + "/scenarios/" + name + ".yaml", overrides);
  return solve(*scenario.dynamics(), scenario.initial());
}

std::string number(double x)
{
  std::ostringstream text;
  text.precision(17);
  text << x;
  return text.str();
}

void expect_same_motion(const Answer & answer, const Answer & plain, const std::string & what)
{
  EXPECT_EQ(answer.status, Status::kOk) << what;
  EXPECT_EQ(answer.rank, plain.rank) << what;
  EXPECT_EQ(answer.report.degrees_of_freedom, plain.report.degrees_of_freedom) << what;
  EXPECT_LE(
    (answer.acceleration - plain.acceleration).norm(), 1e-11 * (1.0 + plain.acceleration.norm()))
    << what;
  EXPECT_LE(
    (answer.constraint_force - plain.constraint_force).norm(),
    1e-11 * (1.0 + plain.constraint_force.norm()))
    << what;
}

TEST(RankDecision, when_the_base_of_a_planar_loop_is_turned_expect_the_same_motion)
{
  const Answer plain = solve_scenario("four_bar", {});
  ASSERT_EQ(plain.status, Status::kOk);
  for (const std::string & formulation : formulation_names())
  {
    for (const char * rows : {"[x, y, z]", "[x, y, z, rx, rz]"})
    {
      for (const double angle : {0.1, 0.5, 1.0, 2.0, 3.0})
      {
        const Answer turned = solve_scenario(
          "four_bar", {"constraints.loop.rows=" + std::string(rows), "formulation=" + formulation,
                       "system.pose.rpy=[0, 0, " + number(angle) + "]"});
        expect_same_motion(turned, plain, formulation + " " + rows + " " + number(angle));
      }
    }
  }
}

TEST(RankDecision, when_base_and_gravity_turn_together_expect_the_same_motion)
{
  const Answer plain = solve_scenario("four_bar", {});
  for (const double angle : {0.3, 0.7, 1.9})
  {
    // About x, with gravity.
    const Answer turned = solve_scenario(
      "four_bar_hinge", {"system.pose.rpy=[" + number(angle) + ", 0, 0]",
                         "system.gravity=[0, " + number(9.81 * std::sin(angle)) + ", " +
                           number(-9.81 * std::cos(angle)) + "]"});
    expect_same_motion(turned, plain, number(angle));
  }
}

/// A pendulum, and planes through a point on its axis: whatever their rows say is rounding.
TEST(RankDecision, when_a_row_is_only_rounding_expect_no_force)
{
  const std::string urdf = R"(<robot name="pendulum"><link name="base"/>
    <joint name="swing" type="continuous"><parent link="base"/><child link="rod"/>
      <origin xyz="0.3 0.1 0.7" rpy="0.4 0.2 0.9"/><axis xyz="0.36 0.48 0.8"/></joint>
    <link name="rod"><inertial><origin xyz="0.5 0.1 0"/><mass value="1"/>
      <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
    <joint name="on_axis" type="fixed"><parent link="rod"/><child link="point"/>
      <origin xyz="0.12 0.16 0.26666666666666666"/></joint><link name="point"/></robot>)";
  const auto system = RigidBodySystem::from_urdf_text(urdf);
  State state{0.0, Eigen::VectorXd::Constant(1, 0.4), Eigen::VectorXd::Constant(1, 1.3)};
  const Answer free = solve(Dynamics(ConstraintSet(system)), state);
  int noisy = 0;
  for (const Eigen::Vector3d & normal :
       {Eigen::Vector3d(1, 0, 0), Eigen::Vector3d(0.6, 0.8, 0), Eigen::Vector3d(0.1, -0.7, 0.3)})
  {
    const auto probe = system->make_data();
    ASSERT_EQ(system->update_kinematics(0.0, state.q, state.u, *probe), Status::kOk);
    FrameKinematics point;
    system->frame_kinematics(*probe, system->frame_index("point"), point);
    const Eigen::Vector3d n = normal.normalized();
    auto plane =
      std::make_shared<PointOnPlane>("plane", *system, "point", "world", n, n.dot(point.position));
    const Dynamics dynamics(ConstraintSet(system, {plane}));
    Workspace workspace = Workspace::unanalysed(dynamics);
    ASSERT_EQ(dynamics.evaluate_rows(0.0, state.q, state.u, workspace), Status::kOk);
    noisy += workspace.rows().jacobian.norm() > 0.0 ? 1 : 0;
    EXPECT_LE(workspace.rows().jacobian.norm(), 1e-15);
    const Answer answer = solve(dynamics, state);
    EXPECT_EQ(answer.status, Status::kOk);
    EXPECT_EQ(answer.rank, 0);
    EXPECT_EQ(answer.report.degrees_of_freedom, 1);
    EXPECT_LE(answer.multipliers.norm(), 1e-12);
    EXPECT_NEAR(answer.acceleration(0), free.acceleration(0), 1e-12);
  }
  EXPECT_GT(noisy, 0) << "rounding must show for this to be a test";
}

TEST(RankDecision, when_rows_are_almost_dependent_expect_enforced_or_singular_or_redundant)
{
  AnalyticDescription description;
  description.coordinates = {"x", "y", "z"};
  description.kinetic = "(dx^2 + 2*dy^2 + 3*dz^2 + dx*dy)/2";
  description.potential = "x + 2*y - z + x*y";
  const auto system = make_analytic_system(description);
  for (int exponent = -16; exponent <= -2; ++exponent)
  {
    const double angle = std::pow(10.0, exponent);
    const auto rows = std::make_shared<FormulaConstraint>(
      "rows", *system, RowLevel::kPosition,
      std::vector<std::string>{"x + 0.5*z", "x + 0.5*z + " + number(angle) + "*y"});
    const Dynamics dynamics(ConstraintSet(system, {rows}));
    const State state{0.0, Eigen::Vector3d::Zero(), Eigen::Vector3d::Zero()};
    const Answer answer = solve(dynamics, state);
    if (exponent <= -14)
    {
      EXPECT_EQ(answer.status, Status::kOk) << angle;
      EXPECT_EQ(answer.rank, 1) << angle;
    }
    else if (exponent <= -9 && exponent >= -12)
    {
      EXPECT_EQ(answer.status, Status::kSingular) << angle;
    }
    else if (exponent >= -7)
    {
      // Both are enforced: ẍ + z̈/2 = 0, ÿ = 0; Q u̇ = −∇V along (−1/2, 0, 1).
      EXPECT_EQ(answer.status, Status::kOk) << angle;
      EXPECT_EQ(answer.rank, 2) << angle;
      const double z = (0.5 * 1.0 + 1.0) / (0.25 + 3.0);
      EXPECT_LE((answer.acceleration - Eigen::Vector3d(-0.5 * z, 0.0, z)).norm(), 1e-14 / angle);
    }
  }
}

TEST(RankDecision, when_a_velocity_row_vanishes_at_rest_expect_singular)
{
  AnalyticDescription description;
  description.coordinates = {"x", "y"};
  description.kinetic = "(dx^2 + dy^2)/2";
  const auto system = make_analytic_system(description);
  const auto speed = std::make_shared<FormulaConstraint>(
    "speed", *system, RowLevel::kVelocity, std::vector<std::string>{"dx^2 + dy^2"});
  const Dynamics dynamics(ConstraintSet(system, {speed}));
  const Answer answer = solve(dynamics, {0.0, Eigen::Vector2d::Zero(), Eigen::Vector2d::Zero()});
  EXPECT_EQ(answer.status, Status::kSingular);
}

TEST(RankDecision, when_terms_of_a_formula_cancel_expect_the_row_to_say_nothing)
{
  AnalyticDescription description;
  description.coordinates = {"x", "y"};
  description.kinetic = "(dx^2 + dy^2)/2";
  description.potential = "x";
  const auto system = make_analytic_system(description);
  for (const char * row :
       {"(0.1*x + 0.2*x) - 0.3*x", "(x + y)*0.1 - 0.1*x - 0.1*y",
        "sin(x)^2 + cos(x)^2 - 1 + 1e-17*y"})
  {
    const auto rows = std::make_shared<FormulaConstraint>(
      "rows", *system, RowLevel::kPosition, std::vector<std::string>{row});
    const Answer answer = solve(
      Dynamics(ConstraintSet(system, {rows})),
      {0.0, Eigen::Vector2d(0.7, 0.3), Eigen::Vector2d::Zero()});
    EXPECT_EQ(answer.status, Status::kOk) << row;
    EXPECT_EQ(answer.rank, 0) << row;
    EXPECT_LE((answer.acceleration - Eigen::Vector2d(-1.0, 0.0)).norm(), 1e-14) << row;
  }
}

TEST(RankDecision, when_rows_are_scaled_expect_the_same_motion_and_scaled_multipliers)
{
  AnalyticDescription description;
  description.coordinates = {"x", "y", "z"};
  description.kinetic = "(dx^2 + 2*dy^2 + 3*dz^2)/2";
  description.potential = "x + 2*y - z";
  const auto system = make_analytic_system(description);
  const auto scaled = [&](double factor)
  {
    const auto rows = std::make_shared<FormulaConstraint>(
      "rows", *system, RowLevel::kPosition,
      std::vector<std::string>{number(factor) + "*(x + y)", "y - z"});
    return solve(
      Dynamics(ConstraintSet(system, {rows})),
      {0.0, Eigen::Vector3d::Zero(), Eigen::Vector3d::Zero()});
  };
  const Answer plain = scaled(1.0);
  for (const double factor : {1e-6, -1e-3, 1e3, -1e6})
  {
    const Answer answer = scaled(factor);
    expect_same_motion(answer, plain, number(factor));
    EXPECT_NEAR(answer.multipliers(0) * factor, plain.multipliers(0), 1e-12);
    EXPECT_NEAR(answer.multipliers(1), plain.multipliers(1), 1e-12);
  }
}

TEST(RankDecision, when_small_accelerations_contradict_beside_huge_ones_expect_inconsistent)
{
  AnalyticDescription description;
  description.coordinates = {"x", "y", "z"};
  description.kinetic = "(dx^2 + dy^2 + 1e-20*dz^2)/2";  // beside hardly any inertia, too
  for (const double force : {0.0, 1e3, 1e7, 1e11})
  {
    description.potential = number(-force) + "*x";
    const auto system = make_analytic_system(description);
    const auto solve_with = [&](const std::vector<std::string> & formulas, const std::string & name)
    {
      const auto rows =
        std::make_shared<FormulaConstraint>("rows", *system, RowLevel::kAcceleration, formulas);
      return solve(
        Dynamics(ConstraintSet(system, {rows}), {}, make_formulation(name)),
        {0.0, Eigen::Vector3d::Zero(), Eigen::Vector3d::Zero()});
    };
    for (const std::string & name : formulation_names())
    {
      const Answer twice = solve_with({"ddz", "ddy - 0.25", "3*ddy - 0.75"}, name);
      EXPECT_EQ(twice.status, Status::kOk) << name << ", force " << force;
      EXPECT_NEAR(twice.acceleration(1), 0.25, 1e-15 * (1.0 + force)) << name;
      const Answer answer = solve_with({"ddz", "ddy - 0.25", "3*(ddy - 0.75)"}, name);
      EXPECT_EQ(answer.status, Status::kInconsistent) << name << ", force " << force;
    }
  }
}

// Two planes at an angle of 2^-22 = 2.4e-7 fix x and y, as the planes x and y themselves do. What
// they cost in digits must not reach the speeds of other bodies, to which another row leads.
TEST(RankDecision, when_planes_are_almost_parallel_expect_the_digits_of_all_other_speeds)
{
  const auto solve_with = [&](const std::string & second, const std::string & name)
  {
    const Scenario scenario = Scenario::from_text(
      "name: planes\nsystem:\n  coordinates: [x, y, z, a, b]\n"
      "  kinetic: (dx^2 + dy^2 + dz^2 + 2*da^2 + 3*db^2 + (da - 0.3*dx + 0.7*dz)^2)/2\n"
      "  potential: 40*x - 90*y + 9.81*z + 3*a - 7*b\n"
      "constraints:\n  - {name: rows, type: formula, level: position, rows: [x, '" +
        second + "', '0.3*x + 0.7*y + 1.1*z + 0.9*a - 0.4*b', '0.2*z - 0.6*y + 1.3*b']}\n" +
        "initial: {q: {x: 0, y: 0, z: 0, a: 0, b: 0}}\n",
      {"formulation=" + name});
    return solve(*scenario.dynamics(), scenario.initial());
  };
  for (const std::string & name : formulation_names())
  {
    const Answer plain = solve_with("y", name);
    const Answer steep = solve_with("x + 2^(-22)*y", name);
    EXPECT_EQ(steep.status, Status::kOk) << name;
    EXPECT_EQ(steep.rank, 4) << name;
    const double size = plain.acceleration.norm();
    EXPECT_LE((steep.acceleration - plain.acceleration).norm(), 1e-14 * size) << name;
    EXPECT_LE(
      (steep.constraint_force - plain.constraint_force).norm(),
      1e-13 * plain.constraint_force.norm())
      << name;
    // λ of the rows that lead to the others.
    EXPECT_LE(
      (steep.multipliers - plain.multipliers).tail(2).norm(), 1e-13 * plain.multipliers.norm())
      << name;
  }
}

}  // namespace
}  // namespace constrained_dynamics
