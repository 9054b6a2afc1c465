// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Impulse-momentum (E13): published digits, textbook impacts, and random ones held to conservation,
// complementarity and energy (R12).
#include "constrained_dynamics/contact/impact.hpp"

#include <cmath>
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <Eigen/Dense>

#include "constrained_dynamics/constraints/formula_constraint.hpp"
#include "constrained_dynamics/constraints/function_constraint.hpp"
#include "constrained_dynamics/constraints/point_on_plane.hpp"
#include "constrained_dynamics/model/analytic_system.hpp"
#include "constrained_dynamics/model/rigid_body_system.hpp"
#include "support/allocation_counter.hpp"
#include "support/dense_algebra.hpp"
#include "support/linear_rows.hpp"
#include "support/reference_data.hpp"

namespace constrained_dynamics
{
namespace
{

using Constraints = std::vector<std::shared_ptr<const Constraint>>;
using test::ConstantSystem;
using test::LinearRows;

std::shared_ptr<const Constraint> row(
  const std::string & name, const System & system, RowLevel level, const std::string & formula,
  const FormulaNames & names = {})
{
  return std::make_shared<FormulaConstraint>(
    name, system, level, std::vector<std::string>{formula}, names);
}

// ---- published digits
// ------------------------------------------------------------------------------

TEST(Impact, when_the_four_bar_of_thesis_6_1_is_struck_expect_the_published_speeds)
{
  AnalyticDescription description;
  description.coordinates = {"q1", "q2", "q3"};
  description.kinetic = "(dq1^2 + dq2^2 + dq3^2)/2";
  const auto system = make_analytic_system(description);
  Constraints constraints = {
    row("rod", *system, RowLevel::kPosition, "(q2^2 + q3^2 - 2.5^2)/2"),
    row(
      "coupler", *system, RowLevel::kPosition, "2.5 + q3 - sqrt(9 - (q2 - cos(q1))^2) - sin(q1)")};
  const Dynamics dynamics(ConstraintSet(system, constraints));
  const YAML::Node reference = test::load_reference("thesis_6_1");
  const YAML::Node published = test::find_item(reference["oneshots"], "name", "published");
  State state;
  state.q = Eigen::Vector3d(0.0, published["q2"].as<double>(), published["q3"].as<double>());
  state.u = Eigen::Vector3d::Zero();
  ImpactProblem problem(dynamics);
  problem.impulse = Eigen::Vector3d(0.0, 1e6, 1e6);
  Status status = Status::kNotConverged;
  const ImpactSolution after = solve_impact(dynamics, problem, state, &status);
  EXPECT_EQ(status, Status::kOk);
  test::expect_relative(after.speeds, test::to_vector(published["u_after"]), 1e-11, "u");
  test::expect_relative(
    after.constraint_impulse, test::to_vector(published["constraint_impulse"]), 1e-11, "impulse");
  EXPECT_NEAR(after.energy_change / published["kinetic_energy_after"].as<double>(), 1.0, 1e-11);
  // The digits of the thesis itself.
  EXPECT_NEAR(after.speeds(0), 2.725e4, 5.0);
  EXPECT_NEAR(after.speeds(1), -6.021e3, 0.5);
  EXPECT_NEAR(after.speeds(2), 6.846e3, 0.5);
}

/// The double pendulum of thesis 5.1 with its obstacle.
std::shared_ptr<const Dynamics> double_pendulum()
{
  AnalyticDescription description;
  description.coordinates = {"th1", "th2"};
  description.kinetic =
    "0.1875/2*dth1^2 + 0.140625/2*dth2^2 + 0.75/2*(0.25*dth1^2 + 0.5625*dth2^2 "
    "+ 0.75*dth1*dth2*cos(th1 - th2))";
  const auto system = make_analytic_system(description);
  Constraints constraints = {
    row("obstacle", *system, RowLevel::kPosition, "0.5*cos(th1) + 1.5*cos(th2) - 0.5 - 1.125")};
  return std::make_shared<const Dynamics>(ConstraintSet(system, constraints));
}

TEST(Impact, when_the_double_pendulum_hits_its_obstacle_expect_the_reference_jump)
{
  const auto dynamics = double_pendulum();
  const YAML::Node reference = test::load_reference("thesis_5_1");
  for (const std::string name : {"hard_impact_A_e0", "hard_impact_A_e0.5"})
  {
    const YAML::Node expected = test::find_item(reference["oneshots"], "name", name);
    State state;
    state.q = test::to_vector(expected["theta"]);
    state.u = test::to_vector(expected["u_before"]);
    ImpactProblem problem(*dynamics);
    problem.roles[0] = ImpactRole::kUnilateral;
    problem.contacts = {{0, 1.0, -1, 0.0}};
    problem.restitution(0) = expected["restitution"].as<double>();
    const ImpactSolution after = solve_impact(*dynamics, problem, state);
    test::expect_relative(after.speeds, test::to_vector(expected["u_after"]), 1e-11, name);
    EXPECT_NEAR(after.multipliers(0), expected["impulse_multiplier"].as<double>(), 1e-11);
    EXPECT_EQ(after.outcomes[0], ContactOutcome::kPushes);
  }
}

// ---- bodies in the plane
// ------------------------------------------------------------------------------

/// A rigid body in the vertical plane (x, y up, angle) with corner points that may touch y = 0.
struct PlanarBody
{
  PlanarBody(
    double mass, double inertia, const std::vector<Eigen::Vector2d> & points, double friction,
    const std::string & floor = "0")
  {
    AnalyticDescription description;
    description.coordinates = {"x", "y", "a"};
    char kinetic[120];
    std::snprintf(kinetic, sizeof(kinetic), "%.17g/2*(dx^2 + dy^2) + %.17g/2*da^2", mass, inertia);
    description.kinetic = kinetic;
    system = make_analytic_system(description);
    Constraints constraints;
    for (std::size_t i = 0; i < points.size(); ++i)
    {
      char height[160];
      char slip[160];
      std::snprintf(
        height, sizeof(height), "y + (%.17g)*sin(a) + (%.17g)*cos(a) - (%s)", points[i].x(),
        points[i].y(), floor.c_str());
      std::snprintf(
        slip, sizeof(slip), "dx + da*(-(%.17g)*sin(a) - (%.17g)*cos(a))", points[i].x(),
        points[i].y());
      constraints.push_back(row("point" + std::to_string(i), *system, RowLevel::kPosition, height));
      constraints.push_back(row("slip" + std::to_string(i), *system, RowLevel::kVelocity, slip));
    }
    dynamics = std::make_shared<const Dynamics>(ConstraintSet(system, constraints));
    problem = std::make_unique<ImpactProblem>(*dynamics);
    for (std::size_t i = 0; i < points.size(); ++i)
    {
      const int k = static_cast<int>(2 * i);
      problem->roles[2 * i] = ImpactRole::kUnilateral;
      problem->roles[2 * i + 1] = ImpactRole::kAbsent;
      problem->contacts.push_back({k, -1.0, friction > 0.0 ? k + 1 : -1, friction});
    }
  }
  ImpactSolution solve(const Eigen::Vector3d & q, const Eigen::Vector3d & u) const
  {
    return solve_impact(*dynamics, *problem, {0.0, q, u});
  }
  std::shared_ptr<const System> system;
  std::shared_ptr<const Dynamics> dynamics;
  std::unique_ptr<ImpactProblem> problem;
};

TEST(Impact, when_a_falling_rod_hits_a_smooth_floor_expect_the_textbook_impulse)
{
  // One end strikes: P/(m v) = (1 + e)/(1 + 3 cos²θ), ω L/v = 6 (1 + e) cosθ/(1 + 3 cos²θ).
  const double m = 1.7;
  const double length = 0.8;
  const double v = 2.3;
  const PlanarBody rod(m, m * length * length / 12.0, {{-length / 2.0, 0.0}}, 0.0);
  for (const double degrees : {0.0, 30.0, 45.0, 60.0})
  {
    for (const double e : {0.0, 0.4, 1.0})
    {
      const double angle = degrees * M_PI / 180.0;
      const double c = std::cos(angle);
      rod.problem->restitution(0) = e;
      const ImpactSolution after =
        rod.solve({0.0, length / 2.0 * std::sin(angle), angle}, {0.0, -v, 0.0});
      EXPECT_NEAR(after.multipliers(0) / (m * v), (1.0 + e) / (1.0 + 3.0 * c * c), 1e-14);
      EXPECT_NEAR(
        std::abs(after.speeds(2)) * length / v, 6.0 * (1.0 + e) * c / (1.0 + 3.0 * c * c), 1e-13);
    }
  }
}

TEST(Impact, when_a_slender_block_rocks_expect_housners_ratio)
{
  // The block turns about its left corner and lands on the right one; the left one lifts off.
  const double alpha = 20.0 * M_PI / 180.0;
  const double radius = 0.7;
  const double b = radius * std::sin(alpha);
  const double h = radius * std::cos(alpha);
  const double m = 3.0;
  const PlanarBody block(m, m * radius * radius / 3.0, {{-b, -h}, {b, -h}}, 5.0);
  const double omega = -1.3;  // clockwise about the right corner means: falls onto the right one
  // Turning about the left corner at (0, 0): velocity of the centre ω × r.
  const ImpactSolution after = block.solve({b, h, 0.0}, {-omega * h, omega * b, omega});
  EXPECT_NEAR(after.speeds(2) / omega, 1.0 - 1.5 * std::sin(alpha) * std::sin(alpha), 1e-13);
  EXPECT_NEAR(after.speeds(2) / omega, 0.824533332339, 1e-12);
  EXPECT_EQ(after.outcomes[0], ContactOutcome::kSeparates);
  EXPECT_EQ(after.outcomes[1], ContactOutcome::kPushes);
}

TEST(Impact, when_a_rimless_wheel_steps_expect_the_cosine)
{
  const int spokes = 8;
  const double half = M_PI / spokes;
  const double length = 1.1;
  const double s = length * std::sin(half);
  const double c = length * std::cos(half);
  // All mass in the hub; a small inertia keeps Q positive, and the ratio is exact in its limit.
  const double inertia = 1e-13;
  const PlanarBody wheel(1.0, inertia, {{-s, -c}, {s, -c}}, 5.0);
  const double omega = -0.9;
  const ImpactSolution after = wheel.solve({s, c, 0.0}, {-omega * c, omega * s, omega});
  EXPECT_NEAR(after.speeds(2) / omega, std::cos(2.0 * half), 1e-12);
  EXPECT_EQ(after.outcomes[0], ContactOutcome::kSeparates);
}

TEST(Impact, when_a_point_strikes_obliquely_expect_coulomb_slip_or_stick)
{
  const PlanarBody point(2.0, 1.0, {{0.0, 0.0}}, 0.3);
  point.problem->restitution(0) = 0.5;
  ImpactSolution after = point.solve({0.0, 0.0, 0.0}, {3.0, -2.0, 0.0});
  EXPECT_NEAR(after.speeds(1), 1.0, 1e-14);
  EXPECT_NEAR(after.speeds(0), 3.0 - 0.3 * 3.0, 1e-14);
  EXPECT_EQ(after.outcomes[0], ContactOutcome::kSlides);
  after = point.solve({0.0, 0.0, 0.0}, {0.5, -2.0, 0.0});
  EXPECT_NEAR(after.speeds(0), 0.0, 1e-14);
  EXPECT_EQ(after.outcomes[0], ContactOutcome::kPushes);
  EXPECT_NEAR(after.multipliers(1), -1.0, 1e-14);
}

TEST(Impact, when_the_obstacle_moves_expect_the_relative_velocity_to_turn)
{
  const PlanarBody point(2.0, 1.0, {{0.0, 0.0}}, 0.0, "1.5*t");
  point.problem->restitution(0) = 0.8;
  const ImpactSolution after = point.solve({0.0, 0.0, 0.0}, {0.0, -2.0, 0.0});
  EXPECT_NEAR(after.speeds(1) - 1.5, 0.8 * 3.5, 1e-14);
  // A body at rest is struck: energy rises, and rightly so.
  const ImpactSolution struck = point.solve({0.0, 0.0, 0.0}, Eigen::Vector3d::Zero());
  EXPECT_NEAR(struck.speeds(1), 1.5 * 1.8, 1e-14);
  EXPECT_EQ(struck.restitution_scale, 1.0);
}

TEST(Impact, when_constraints_come_on_suddenly_expect_carnots_loss)
{
  // ΔK = −½ Δuᵀ Q Δu for scleronomic rows that are switched on.
  const auto dynamics = double_pendulum();
  State state;
  state.q = Eigen::Vector2d(0.4, -0.9);
  state.u = Eigen::Vector2d(1.3, -0.7);
  ImpactProblem problem(*dynamics);
  problem.roles[0] = ImpactRole::kImpacting;
  const ImpactSolution after = solve_impact(*dynamics, problem, state);
  const Eigen::VectorXd change = after.speeds - state.u;
  Workspace workspace = Workspace::unanalysed(*dynamics);
  ASSERT_EQ(dynamics->solve(0.0, state.q, after.speeds, Eigen::VectorXd(), workspace), Status::kOk);
  EXPECT_NEAR(workspace.rows().velocity(0), 0.0, 1e-14);
  const double loss = 0.5 * change.dot(workspace.terms().mass_matrix * change);
  EXPECT_GT(loss, 0.01);
  EXPECT_NEAR(after.energy_change, -loss, 1e-14);
}

TEST(Impact, when_a_ball_hits_a_plane_expect_the_impulse_as_a_wrench)
{
  SceneDescription scene;
  FreeBody ball;
  ball.name = "ball";
  ball.mass = 0.4;
  ball.inertia = 0.01 * Eigen::Matrix3d::Identity();
  scene.bodies = {ball};
  const auto system = std::make_shared<const RigidBodySystem>(scene);
  Constraints constraints = {std::make_shared<PointOnPlane>(
    "floor", *system, "ball", "world", Eigen::Vector3d::UnitZ(), 0.0)};
  const Dynamics dynamics(ConstraintSet(system, constraints));
  State state;
  state.q = system->neutral_coordinates();
  state.u.setZero(6);
  state.u(2) = -3.0;
  ImpactProblem problem(dynamics);
  problem.roles[0] = ImpactRole::kUnilateral;
  problem.contacts = {{0, -1.0, -1, 0.0}};
  problem.restitution(0) = 0.5;
  const ImpactSolution after = solve_impact(dynamics, problem, state);
  EXPECT_NEAR(after.wrenches[0].on_a.force.z(), 0.4 * 4.5, 1e-14);
  EXPECT_NEAR(after.wrenches[0].on_b.force.z(), -0.4 * 4.5, 1e-14);
}

// ---- rows nonlinear in u
// ------------------------------------------------------------------------------

TEST(Impact, when_a_constant_speed_row_comes_on_expect_the_speed_and_the_direction_kept)
{
  AnalyticDescription description;
  description.coordinates = {"x", "y"};
  description.kinetic = "(dx^2 + dy^2)/2";
  const auto system = make_analytic_system(description);
  Constraints constraints = {row("speed", *system, RowLevel::kVelocity, "(dx^2 + dy^2 - 4)/2")};
  const Dynamics dynamics(ConstraintSet(system, constraints));
  State state{0.0, Eigen::Vector2d::Zero(), Eigen::Vector2d(3.0, 4.0)};
  ImpactProblem problem(dynamics);
  problem.roles[0] = ImpactRole::kImpacting;
  ImpactSolution after = solve_impact(dynamics, problem, state);
  // A = u: the path is a straight line to the circle.
  EXPECT_TRUE(after.path_dependent);
  EXPECT_NEAR((after.speeds - Eigen::Vector2d(1.2, 1.6)).norm(), 0.0, 1e-12);
  EXPECT_NEAR(after.multipliers(0), std::log(2.0 / 5.0), 1e-6);
  // In force while an impulse acts: the speed stays, the direction turns. With u = 2 (cos β, sin
  // β): 2 dβ/ds = −I sin β, so tan(β/2) = tan(β0/2) exp(−I/2).
  state.u = Eigen::Vector2d(0.0, 2.0);
  problem.roles[0] = ImpactRole::kEnforced;
  problem.impulse = Eigen::Vector2d(1.0, 0.0);
  after = solve_impact(dynamics, problem, state);
  const double beta = 2.0 * std::atan(std::exp(-0.5));
  EXPECT_NEAR(
    (after.speeds - 2.0 * Eigen::Vector2d(std::cos(beta), std::sin(beta))).norm(), 0.0, 1e-8);
}

// ---- derivatives
// ------------------------------------------------------------------------------

TEST(Impact, when_differentiated_expect_finite_differences_to_agree)
{
  const double b = 0.2;
  const double h = 0.5;
  const PlanarBody block(3.0, 0.4, {{-b, -h}, {b, -h}}, 0.2);
  block.problem->restitution(0) = 0.3;
  block.problem->restitution(2) = 0.6;
  const Eigen::Vector3d q(0.1, h, 0.0);
  const Eigen::Vector3d u(1.0, -2.0, 0.4);
  const Dynamics & dynamics = *block.dynamics;
  ImpactSolver solver(dynamics, 2);
  Workspace workspace = Workspace::unanalysed(dynamics);
  ImpactSolution after(dynamics, 2);
  const auto speeds = [&](const Eigen::Vector3d & at, const Eigen::Vector3d & before, double push)
  {
    ImpactProblem problem = *block.problem;
    problem.impulse(0) = push;
    EXPECT_TRUE(has_output(solver.solve(problem, 0.0, at, before, workspace, after)));
    return after.speeds;
  };
  // Position: along x nothing changes, along the angle it does.
  Eigen::MatrixXd by_position(3, 3);
  ASSERT_EQ(
    solver.position_derivative(*block.problem, 0.0, q, u, workspace, by_position), Status::kOk);
  constexpr double kStep = 1e-6;
  for (int j = 0; j < 3; ++j)
  {
    const Eigen::Vector3d shift = kStep * Eigen::Vector3d::Unit(j);
    const Eigen::VectorXd difference =
      (speeds(q + shift, u, 0.0) - speeds(q - shift, u, 0.0)) / (2.0 * kStep);
    EXPECT_NEAR((by_position.col(j) - difference).norm(), 0.0, 1e-7) << "q column " << j;
  }
  EXPECT_GT(by_position.col(2).norm(), 0.1);
  Eigen::MatrixXd by_speeds(3, 3);
  Eigen::MatrixXd by_impulse(3, 3);
  ASSERT_EQ(solver.solve(*block.problem, 0.0, q, u, workspace, after), Status::kOk);
  ASSERT_EQ(solver.derivatives(*block.problem, by_speeds, by_impulse), Status::kOk);
  for (int j = 0; j < 3; ++j)
  {
    const Eigen::Vector3d shift = kStep * Eigen::Vector3d::Unit(j);
    const Eigen::VectorXd difference =
      (speeds(q, u + shift, 0.0) - speeds(q, u - shift, 0.0)) / (2.0 * kStep);
    EXPECT_NEAR((by_speeds.col(j) - difference).norm(), 0.0, 1e-8) << "u column " << j;
  }
  const Eigen::VectorXd pushed = (speeds(q, u, kStep) - speeds(q, u, -kStep)) / (2.0 * kStep);
  EXPECT_NEAR((by_impulse.col(0) - pushed).norm(), 0.0, 1e-8);
}

// ---- random impacts (R12)
// ------------------------------------------------------------------------------

struct RandomImpact
{
  std::shared_ptr<const Dynamics> dynamics;
  std::unique_ptr<ImpactProblem> problem;
  Eigen::MatrixXd Q, A;
  Eigen::VectorXd u, alpha, e;
  bool unilateral = false;
  bool common = false;
  bool moving = false;
};

RandomImpact random_impact(std::mt19937_64 & random)
{
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  const auto pick = [&](int low, int high)
  { return low + static_cast<int>(random() % static_cast<unsigned long>(high - low + 1)); };
  RandomImpact impact;
  const int n = pick(1, 7);
  const int in_force = n > 2 ? pick(0, 1) : 0;
  const int m = in_force + pick(1, 6);
  const int rank = pick(1, std::min(n, m));
  const auto gaussian = [&](int rows, int cols)
  {
    Eigen::MatrixXd x(rows, cols);
    for (Eigen::Index i = 0; i < x.size(); ++i)
    {
      x(i) = normal(random);
    }
    return x;
  };
  const Eigen::MatrixXd root = gaussian(n, n);
  impact.Q = root * root.transpose() + 0.1 * Eigen::MatrixXd::Identity(n, n);
  // Rows of rank `rank`: redundant where m exceeds it. Sometimes one row twice. Rows that depend on
  // each other by accident of rounding alone say nothing about impacts: singular values within 1e2.
  Eigen::VectorXd singular_values;
  do
  {
    impact.A = gaussian(m, rank) * gaussian(rank, n);
    if (m > 1 && pick(0, 3) == 0)
    {
      impact.A.row(m - 1) = impact.A.row(0);
    }
    singular_values = test::singular_values(impact.A);
  } while ((singular_values.array() > 1e-10 * singular_values(0) &&
            singular_values.array() < 1e-2 * singular_values(0))
             .any());
  impact.unilateral = pick(0, 1) == 1;
  impact.common = pick(0, 1) == 1;
  impact.moving = pick(0, 4) == 0;
  impact.u = gaussian(n, 1);
  // The obstacle's own velocity must fit the rows where they depend on each other.
  impact.alpha =
    impact.moving ? Eigen::VectorXd(impact.A * gaussian(n, 1)) : Eigen::VectorXd::Zero(m);
  const auto system = std::make_shared<const ConstantSystem>(impact.Q);
  Constraints constraints;
  for (int i = 0; i < m; ++i)
  {
    constraints.push_back(std::make_shared<LinearRows>(
      "row" + std::to_string(i), *system, impact.A.row(i), RowLevel::kPosition, impact.alpha(i)));
  }
  impact.dynamics = std::make_shared<const Dynamics>(ConstraintSet(system, constraints));
  impact.problem = std::make_unique<ImpactProblem>(*impact.dynamics);
  const double e = uniform(random);
  impact.e.setZero(m);
  for (int i = in_force; i < m; ++i)
  {
    impact.e(i) = impact.common ? e : uniform(random);
    impact.problem->restitution(i) = impact.e(i);
    impact.problem->roles[static_cast<std::size_t>(i)] =
      impact.unilateral ? ImpactRole::kUnilateral : ImpactRole::kImpacting;
    if (impact.unilateral)
    {
      impact.problem->contacts.push_back({i, pick(0, 1) == 1 ? 1.0 : -1.0, -1, 0.0});
    }
  }
  if (in_force > 0)
  {
    // Rows in force hold before the impact; twice, so that what is left is rounding of this u.
    const Eigen::RowVectorXd a = impact.A.row(0);
    for (int pass = 0; pass < 2; ++pass)
    {
      impact.u -= a.transpose() * ((a * impact.u)(0) + impact.alpha(0)) / a.squaredNorm();
    }
  }
  return impact;
}

TEST(RandomImpacts, when_a_million_happen_expect_momentum_restitution_complementarity_and_energy)
{
  const int count = test::is_campaign() ? 1000000 : 10000;
  constexpr unsigned long kSeed = 20260;
  std::printf("seed %lu, %d impacts\n", kSeed, count);
  std::mt19937_64 random(kSeed);
  double worst_momentum = 0.0;
  double worst_restitution = 0.0;
  double worst_complementarity = 0.0;
  double worst_energy = 0.0;
  int scaled = 0;
  int wedged = 0;
  int inconsistent = 0;
  int bilateral = 0;
  for (int k = 0; k < count; ++k)
  {
    const RandomImpact impact = random_impact(random);
    ImpactSolver solver(*impact.dynamics, impact.problem->contacts.size());
    Workspace workspace = Workspace::unanalysed(*impact.dynamics);
    ImpactSolution after(*impact.dynamics, impact.problem->contacts.size());
    const Eigen::VectorXd q = Eigen::VectorXd::Zero(impact.u.size());
    const Status status = solver.solve(*impact.problem, 0.0, q, impact.u, workspace, after);
    ASSERT_TRUE(has_output(status)) << "impact " << k << ": " << to_string(status);
    const Eigen::VectorXd change = after.speeds - impact.u;
    // Contacts that wedge each other push with many times the momentum (some hundred in a million):
    // then AᵀΛ is rounding of ‖A‖ ‖Λ‖, and nothing in double precision can be closer.
    const double wedge = 1e-3 * impact.A.norm() * after.multipliers.norm();
    const double momentum = impact.Q.norm() * (impact.u.norm() + after.speeds.norm());
    const double size = std::max(momentum, wedge);
    wedged += wedge > momentum ? 1 : 0;
    worst_momentum = std::max(
      worst_momentum, (impact.Q * change - impact.A.transpose() * after.multipliers).norm() / size);
    const Eigen::VectorXd before = impact.A * impact.u + impact.alpha;
    const Eigen::VectorXd rates = impact.A * after.speeds + impact.alpha;
    const double speed = 1.0 + impact.A.norm() * (impact.u.norm() + after.speeds.norm());
    const double s = after.restitution_scale;
    scaled += s < 1.0 ? 1 : 0;
    if (status == Status::kInconsistent)
    {
      ++inconsistent;  // different e on rows that depend on each other, or a moving vice
      ASSERT_TRUE(impact.moving || (!impact.common && !impact.unilateral))
        << "impact " << k << ", unilateral " << impact.unilateral << ", e scaled by " << s
        << ", inconsistency " << after.inconsistency << "\nA\n"
        << impact.A << "\nbefore " << before.transpose() << "\nafter " << rates.transpose()
        << "\nimpulses " << after.multipliers.transpose();
    }
    // Different e on rows that depend on each other cannot all be met.
    if (!impact.unilateral && (impact.common || after.rank == impact.A.rows()))
    {
      ++bilateral;
      for (Eigen::Index i = 0; i < rates.size(); ++i)
      {
        worst_restitution =
          std::max(worst_restitution, std::abs(rates(i) + s * impact.e(i) * before(i)) / speed);
      }
    }
    if (impact.unilateral && status == Status::kOk)
    {
      for (const ImpactContact & contact : impact.problem->contacts)
      {
        const Eigen::Index i = contact.constraint;
        const double push = -contact.side * after.multipliers(i);
        const double approach = contact.side * before(i);
        const double gap_rate =
          -contact.side * rates(i) - (approach > 0.0 ? s * impact.e(i) * approach : 0.0);
        const double impulse = after.multipliers.norm();
        worst_complementarity = std::max(worst_complementarity, -gap_rate / speed);
        worst_complementarity = std::max(worst_complementarity, -push / (1.0 + impulse));
        worst_complementarity =
          std::max(worst_complementarity, std::min(push / (1.0 + impulse), gap_rate / speed));
      }
    }
    if (!impact.moving)
    {
      const double kinetic = 0.5 * impact.u.dot(impact.Q * impact.u);
      const double gain = 0.5 * after.speeds.dot(impact.Q * after.speeds) - kinetic;
      worst_energy = std::max(worst_energy, gain / kinetic);
    }
  }
  std::printf(
    "momentum %.1e, restitution %.1e (%d), complementarity %.1e, energy gain %.1e, e scaled in %d, "
    "inconsistent %d, wedged %d\n",
    worst_momentum, worst_restitution, bilateral, worst_complementarity, worst_energy, scaled,
    inconsistent, wedged);
  EXPECT_LE(wedged, count / 1000);
  EXPECT_LE(worst_momentum, 1e-12);
  EXPECT_LE(worst_restitution, 1e-10);
  EXPECT_LE(worst_complementarity, 1e-10);
  EXPECT_LE(worst_energy, 1e-12);
  EXPECT_GT(bilateral, count / 10);
  EXPECT_GT(scaled, 0);
}

TEST(RandomImpacts, when_contacts_rub_expect_cones_and_dissipation)
{
  // A box that lands on some of its four corners in space, tangential rows in two directions.
  const int count = test::is_campaign() ? 100000 : 2000;
  constexpr unsigned long kSeed = 77;
  std::printf("seed %lu, %d impacts\n", kSeed, count);
  std::mt19937_64 random(kSeed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  double worst_cone = 0.0;
  double worst_direction = 0.0;
  double worst_gap = 0.0;
  double worst_energy = 0.0;
  int not_converged = 0;
  for (int k = 0; k < count; ++k)
  {
    const double mass = 0.5 + uniform(random);
    Eigen::MatrixXd Q = Eigen::MatrixXd::Zero(6, 6);
    Q.diagonal() << mass, mass, mass, 0.1 * mass, 0.2 * mass, 0.25 * mass;
    const auto system = std::make_shared<const ConstantSystem>(Q);
    Constraints constraints;
    std::vector<ImpactContact> contacts;
    Eigen::MatrixXd A(12, 6);
    const int corners = 1 + static_cast<int>(random() % 4);
    const double friction = 1.2 * uniform(random);
    std::vector<Eigen::Vector3d> points = {
      {0.5, 0.3, -0.2}, {-0.5, 0.3, -0.2}, {-0.5, -0.3, -0.2}, {0.5, -0.3, -0.2}};
    for (int i = 0; i < corners; ++i)
    {
      const Eigen::Vector3d & p = points[static_cast<std::size_t>(i)];
      Eigen::MatrixXd J(3, 6);
      J.leftCols(3).setIdentity();
      J.rightCols(3) << 0, p.z(), -p.y(), -p.z(), 0, p.x(), p.y(), -p.x(), 0;
      A.row(3 * i) = J.row(2);
      A.middleRows(3 * i + 1, 2) = J.topRows(2);
      constraints.push_back(std::make_shared<LinearRows>(
        "n" + std::to_string(i), *system, J.bottomRows(1), RowLevel::kPosition));
      constraints.push_back(std::make_shared<LinearRows>(
        "t" + std::to_string(i), *system, J.topRows(2), RowLevel::kVelocity));
      contacts.push_back({2 * i, -1.0, 2 * i + 1, friction});
    }
    const Dynamics dynamics(ConstraintSet(system, constraints));
    ImpactProblem problem(dynamics);
    problem.contacts = contacts;
    for (int i = 0; i < corners; ++i)
    {
      problem.roles[static_cast<std::size_t>(2 * i)] = ImpactRole::kUnilateral;
      problem.roles[static_cast<std::size_t>(2 * i + 1)] = ImpactRole::kAbsent;
      problem.restitution(2 * i) = k % 3 == 0 ? 0.0 : uniform(random);
    }
    Eigen::VectorXd u(6);
    for (Eigen::Index i = 0; i < 6; ++i)
    {
      u(i) = normal(random);
    }
    u(2) -= 2.0;
    ImpactSolver solver(dynamics, contacts.size());
    Workspace workspace = Workspace::unanalysed(dynamics);
    ImpactSolution after(dynamics, contacts.size());
    const Status status = solver.solve(problem, 0.0, Eigen::VectorXd::Zero(6), u, workspace, after);
    ASSERT_TRUE(has_output(status));
    not_converged += status != Status::kOk ? 1 : 0;
    const double impulse = after.multipliers.norm();
    for (int i = 0; i < corners; ++i)
    {
      const double push = after.multipliers(3 * i);
      const Eigen::Vector2d rub = after.multipliers.segment<2>(3 * i + 1);
      const Eigen::Vector2d slip = A.middleRows(3 * i + 1, 2) * after.speeds;
      worst_cone = std::max(worst_cone, (rub.norm() - friction * push) / (1.0 + impulse));
      worst_cone = std::max(worst_cone, -push / (1.0 + impulse));
      // Maximal dissipation: slip and friction are opposite, and full where there is slip.
      worst_direction = std::max(
        worst_direction,
        (rub.dot(slip) + friction * push * slip.norm()) / ((1.0 + impulse) * (1.0 + slip.norm())));
      const double rate = A.row(3 * i).dot(after.speeds);
      const double wanted =
        std::max(0.0, -A.row(3 * i).dot(u)) * problem.restitution(2 * i) * after.restitution_scale;
      worst_gap = std::max(worst_gap, (wanted - rate) / (1.0 + u.norm()));
      worst_gap =
        std::max(worst_gap, std::min(push / (1.0 + impulse), (rate - wanted) / (1.0 + u.norm())));
    }
    const double kinetic = 0.5 * u.dot(Q * u);
    worst_energy =
      std::max(worst_energy, (0.5 * after.speeds.dot(Q * after.speeds) - kinetic) / kinetic);
  }
  std::printf(
    "cone %.1e, direction %.1e, gap %.1e, energy gain %.1e, not converged %d\n", worst_cone,
    worst_direction, worst_gap, worst_energy, not_converged);
  EXPECT_LE(worst_cone, 1e-10);
  EXPECT_LE(worst_direction, 1e-8);
  EXPECT_LE(worst_gap, 1e-10);
  EXPECT_LE(worst_energy, 1e-12);
  EXPECT_EQ(not_converged, 0);
}

/// Contacts with friction and arbitrary rows, some held by a row in force, but such that one motion
/// separates them all, straight: then a solution exists (Cadoux), whatever the coefficients.
struct SeparableImpact
{
  explicit SeparableImpact(std::mt19937_64 & random)
  {
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> uniform;
    const auto pick = [&](int low, int high)
    { return low + static_cast<int>(random() % static_cast<unsigned long>(high - low + 1)); };
    const auto gaussian = [&](int rows, int cols)
    {
      Eigen::MatrixXd x(rows, cols);
      for (Eigen::Index i = 0; i < x.size(); ++i)
      {
        x(i) = normal(random);
      }
      return x;
    };
    const int n = pick(3, 9);
    const int corners = pick(1, 6);
    tangents = pick(1, 2);
    const int rank = std::max(1 + tangents, pick(1, n));
    const bool is_held = n > 3 && pick(0, 1) == 1;
    const bool is_plastic = pick(0, 2) == 0;
    const Eigen::MatrixXd root = gaussian(n, n);
    Q = root * root.transpose() + 0.1 * Eigen::MatrixXd::Identity(n, n);
    const Eigen::VectorXd away = gaussian(n, 1).normalized();
    const Eigen::MatrixXd span = gaussian(rank, n);
    const auto system = std::make_shared<const ConstantSystem>(Q);
    Constraints constraints;
    for (int i = 0; i < corners; ++i)
    {
      Eigen::MatrixXd rows = contact_rows(gaussian, span, away);
      if (i > 0 && pick(0, 5) == 0)
      {
        rows = A.front();
      }
      A.push_back(rows);
      const std::string name = std::to_string(i);
      constraints.push_back(
        std::make_shared<LinearRows>("n" + name, *system, rows.topRows(1), RowLevel::kPosition));
      constraints.push_back(std::make_shared<LinearRows>(
        "t" + name, *system, rows.bottomRows(tangents), RowLevel::kVelocity));
    }
    u = gaussian(n, 1) - pick(0, 2) * away;
    if (is_held)
    {
      Eigen::VectorXd a = gaussian(n, 1);
      a -= a.dot(away) * away;
      for (int pass = 0; pass < 2; ++pass)
      {
        u -= a * a.dot(u) / a.squaredNorm();
      }
      constraints.push_back(
        std::make_shared<LinearRows>("held", *system, a.transpose(), RowLevel::kPosition));
    }
    dynamics = std::make_unique<Dynamics>(ConstraintSet(system, constraints));
    problem = std::make_unique<ImpactProblem>(*dynamics);
    for (int i = 0; i < corners; ++i)
    {
      problem->contacts.push_back({2 * i, -1.0, 2 * i + 1, 1.2 * uniform(random)});
      problem->roles[static_cast<std::size_t>(2 * i)] = ImpactRole::kUnilateral;
      problem->roles[static_cast<std::size_t>(2 * i + 1)] = ImpactRole::kAbsent;
      problem->restitution(2 * i) = is_plastic ? 0.0 : uniform(random);
    }
  }

  /// A normal row that `away` opens and slip rows that it leaves alone. Slip that is all but the
  /// motion along the normal, in the metric of Q, is no contact's: the angle is bounded.
  template <typename Gaussian>
  Eigen::MatrixXd contact_rows(
    const Gaussian & gaussian, const Eigen::MatrixXd & span, const Eigen::VectorXd & away) const
  {
    for (int attempt = 0;; ++attempt)
    {
      Eigen::MatrixXd rows = gaussian(1 + tangents, static_cast<int>(span.rows())) * span;
      rows.row(0) *= rows.row(0).dot(away) < 0.0 ? -1.0 : 1.0;
      rows.row(0) += 0.1 * rows.row(0).norm() * away.transpose();
      for (int t = 1; t <= tangents; ++t)
      {
        rows.row(t) -= rows.row(t).dot(away) * away.transpose();
      }
      const Eigen::MatrixXd W = rows * test::solve_definite(Q, rows.transpose());
      const Eigen::MatrixXd W_t = W.bottomRightCorner(tangents, tangents);
      const Eigen::VectorXd across = W.col(0).tail(tangents);
      const Eigen::VectorXd sizes = test::symmetric_eigenvalues(W_t);
      const bool is_apart = across.dot(test::inverse_of(W_t) * across) < 0.9 * W(0, 0) &&
                            sizes(0) > 1e-2 * sizes(tangents - 1);
      if (is_apart || attempt == 10000)
      {
        return rows;
      }
    }
  }

  int tangents = 1;
  Eigen::MatrixXd Q;
  Eigen::VectorXd u;
  std::vector<Eigen::MatrixXd> A;  // normal, then slip
  std::unique_ptr<Dynamics> dynamics;
  std::unique_ptr<ImpactProblem> problem;
};

TEST(RandomImpacts, when_separable_contacts_rub_expect_solutions_and_no_wrong_one)
{
  const int count = test::is_campaign() ? 100000 : 3000;
  constexpr unsigned long kSeed = 79;
  std::printf("seed %lu, %d impacts\n", kSeed, count);
  std::mt19937_64 random(kSeed);
  double worst_cone = 0.0;
  double worst_direction = 0.0;
  double worst_gap = 0.0;
  double worst_energy = 0.0;
  int unsolved = 0;
  for (int k = 0; k < count; ++k)
  {
    const SeparableImpact impact(random);
    const std::size_t contacts = impact.problem->contacts.size();
    ImpactSolver solver(*impact.dynamics, contacts);
    Workspace workspace = Workspace::unanalysed(*impact.dynamics);
    ImpactSolution after(*impact.dynamics, contacts);
    const Status status = solver.solve(
      *impact.problem, 0.0, Eigen::VectorXd::Zero(impact.u.size()), impact.u, workspace, after);
    ASSERT_TRUE(has_output(status)) << "impact " << k;
    const double kinetic = 0.5 * impact.u.dot(impact.Q * impact.u);
    const double left = 0.5 * after.speeds.dot(impact.Q * after.speeds);
    worst_energy = std::max(worst_energy, (left - kinetic) / kinetic);
    unsolved += status != Status::kOk ? 1 : 0;
    const double impulse = 1.0 + after.multipliers.norm();
    const double speed = impact.u.norm() + after.speeds.norm();
    for (std::size_t i = 0; i < contacts && status == Status::kOk; ++i)
    {
      const Eigen::MatrixXd & A = impact.A[i];
      const int row = static_cast<int>(i) * (1 + impact.tangents);
      const double bound = impact.problem->contacts[i].friction * after.multipliers(row);
      const double push = after.multipliers(row) / impulse;
      const Eigen::VectorXd rub = after.multipliers.segment(row + 1, impact.tangents);
      const Eigen::VectorXd rate = A * after.speeds;
      const Eigen::VectorXd slip = rate.tail(impact.tangents);
      const double size = 1.0 + A.norm() * speed;
      worst_cone = std::max({worst_cone, (rub.norm() - bound) / impulse, -push});
      worst_direction =
        std::max(worst_direction, (rub.dot(slip) + bound * slip.norm()) / (impulse * size));
      const double wanted = std::max(0.0, -A.row(0).dot(impact.u)) *
                            impact.problem->restitution(2 * static_cast<int>(i)) *
                            after.restitution_scale;
      const double gap = (rate(0) - wanted) / size;
      worst_gap = std::max({worst_gap, -gap, std::min(push, gap)});
    }
  }
  std::printf(
    "cone %.1e, direction %.1e, gap %.1e, energy gain %.1e, not solved %d\n", worst_cone,
    worst_direction, worst_gap, worst_energy, unsolved);
  EXPECT_LE(worst_cone, 1e-10);
  EXPECT_LE(worst_direction, 1e-8);
  EXPECT_LE(worst_gap, 1e-10);
  EXPECT_LE(worst_energy, 1e-12);
  // A search among that many modes may fail, with a status. One in a thousand at most.
  EXPECT_LE(unsolved, count / 1000);
}

// ---- real time and errors
// ------------------------------------------------------------------------------

TEST(Impact, when_solving_expect_no_allocation_and_untouched_outputs_on_failure)
{
  const PlanarBody block(3.0, 0.4, {{-0.2, -0.5}, {0.2, -0.5}}, 0.4);
  const Dynamics & dynamics = *block.dynamics;
  ImpactSolver solver(dynamics, 2);
  Workspace workspace = Workspace::unanalysed(dynamics);
  ImpactSolution after(dynamics, 2);
  Eigen::VectorXd q = Eigen::Vector3d(0.0, 0.5, 0.0);
  Eigen::VectorXd u = Eigen::Vector3d(1.0, -2.0, 0.3);
  Eigen::MatrixXd a(3, 3);
  Eigen::MatrixXd b(3, 3);
  const long before = test::allocation_count();
  Status status = solver.solve(*block.problem, 0.0, q, u, workspace, after);
  const Status derived = solver.derivatives(*block.problem, a, b);
  const Status moved = solver.position_derivative(*block.problem, 0.0, q, u, workspace, a);
  EXPECT_EQ(test::allocation_count() - before, 0);
  EXPECT_EQ(status, Status::kOk);
  EXPECT_EQ(derived, Status::kOk);
  EXPECT_EQ(moved, Status::kOk);
  const Eigen::VectorXd good = after.speeds;
  u(1) = std::nan("");
  status = solver.solve(*block.problem, 0.0, q, u, workspace, after);
  EXPECT_EQ(status, Status::kNonFiniteInput);
  EXPECT_EQ(after.speeds, good);
}

TEST(Impact, when_the_problem_is_wrong_expect_names_and_values)
{
  const PlanarBody block(3.0, 0.4, {{-0.2, -0.5}, {0.2, -0.5}}, 0.4);
  const ImpactSolver solver(*block.dynamics, 2);
  const auto message = [&](const ImpactProblem & problem)
  {
    try
    {
      solver.check(problem);
    }
    catch (const std::invalid_argument & error)
    {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(message(*block.problem), "");
  ImpactProblem problem = *block.problem;
  problem.restitution(2) = 1.5;
  EXPECT_EQ(message(problem), "impact: restitution of 'point1' is 1.5; allowed: 0 to 1");
  problem = *block.problem;
  problem.contacts[0].friction = -1.0;
  EXPECT_NE(message(problem).find("friction of 'point0' is -1"), std::string::npos);
  problem = *block.problem;
  problem.contacts.pop_back();
  EXPECT_NE(message(problem).find("'point1' is unilateral but no contact"), std::string::npos);
}

}  // namespace
}  // namespace constrained_dynamics
