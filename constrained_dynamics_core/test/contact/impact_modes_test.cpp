// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Impacts against solutions that need no solver: every combination of contacts that separate, stick
// and slide, tried one by one; closed forms; derivatives where the slip direction changes.
#include <array>
#include <cmath>
#include <cstdio>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <Eigen/Dense>

#include "constrained_dynamics/contact/impact.hpp"
#include "support/dense_algebra.hpp"
#include "support/linear_rows.hpp"

namespace constrained_dynamics::test
{
namespace
{

/// Points with a normal row (apart is positive) and one or two rows of slip each.
struct Points
{
  Eigen::MatrixXd Q;
  std::vector<Eigen::MatrixXd> normal;
  std::vector<Eigen::MatrixXd> slip;
  Eigen::VectorXd restitution;
  double friction = 0.0;

  std::shared_ptr<const Dynamics> dynamics() const
  {
    const auto system = std::make_shared<const ConstantSystem>(Q);
    std::vector<std::shared_ptr<const Constraint>> constraints;
    for (std::size_t i = 0; i < normal.size(); ++i)
    {
      constraints.push_back(std::make_shared<LinearRows>(
        "n" + std::to_string(i), *system, normal[i], RowLevel::kPosition));
      constraints.push_back(std::make_shared<LinearRows>(
        "t" + std::to_string(i), *system, slip[i], RowLevel::kVelocity));
    }
    return std::make_shared<const Dynamics>(ConstraintSet(system, constraints));
  }
  ImpactProblem problem(const Dynamics & of) const
  {
    ImpactProblem result(of);
    for (std::size_t i = 0; i < normal.size(); ++i)
    {
      const int k = static_cast<int>(2 * i);
      result.roles[2 * i] = ImpactRole::kUnilateral;
      result.roles[2 * i + 1] = ImpactRole::kAbsent;
      result.restitution(k) = restitution(static_cast<Eigen::Index>(i));
      result.contacts.push_back({k, -1.0, k + 1, friction});
    }
    return result;
  }
};

/// All u⁺ of a planar impact that fit one of the 4^k combinations.
std::vector<Eigen::VectorXd> enumerate(
  const Points & points, double scale, const Eigen::VectorXd & u)
{
  constexpr double kSlack = 1e-10;
  enum Mode
  {
    kSeparates,
    kSticks,
    kForward,
    kBackward
  };
  const std::size_t count = points.normal.size();
  std::vector<Eigen::VectorXd> found;
  const Eigen::MatrixXd inverse = test::inverse_of(points.Q);
  Eigen::VectorXd wanted(static_cast<Eigen::Index>(count));
  for (std::size_t i = 0; i < count; ++i)
  {
    const double v = (points.normal[i] * u)(0);
    const auto k = static_cast<Eigen::Index>(i);
    wanted(k) = v < 0.0 ? -scale * points.restitution(k) * v : 0.0;
  }
  for (std::size_t code = 0; code < (1U << (2 * count)); ++code)
  {
    const auto mode = [&](std::size_t i) { return static_cast<Mode>((code >> (2 * i)) & 3U); };
    std::vector<Eigen::RowVectorXd> rows;
    std::vector<Eigen::VectorXd> forces;
    std::vector<double> targets;
    for (std::size_t i = 0; i < count; ++i)
    {
      if (mode(i) == kSeparates)
      {
        continue;
      }
      const double sign = mode(i) == kForward ? 1.0 : mode(i) == kBackward ? -1.0 : 0.0;
      rows.emplace_back(points.normal[i].row(0));
      forces.emplace_back(
        (points.normal[i] - points.friction * sign * points.slip[i]).row(0).transpose());
      targets.push_back(wanted(static_cast<Eigen::Index>(i)));
      if (mode(i) == kSticks)
      {
        rows.emplace_back(points.slip[i].row(0));
        forces.emplace_back(points.slip[i].row(0).transpose());
        targets.push_back(0.0);
      }
    }
    const auto m = static_cast<Eigen::Index>(rows.size());
    Eigen::MatrixXd matrix(m, m);
    Eigen::VectorXd right(m);
    for (Eigen::Index r = 0; r < m; ++r)
    {
      right(r) = targets[static_cast<std::size_t>(r)] - rows[static_cast<std::size_t>(r)].dot(u);
      for (Eigen::Index c = 0; c < m; ++c)
      {
        matrix(r, c) =
          rows[static_cast<std::size_t>(r)] * inverse * forces[static_cast<std::size_t>(c)];
      }
    }
    if (m > 0 && test::rank_of(matrix) < m)
    {
      continue;
    }
    const Eigen::VectorXd x = m > 0 ? Eigen::VectorXd(test::solve_regular(matrix, right)) : right;
    Eigen::VectorXd after = u;
    for (Eigen::Index c = 0; c < m; ++c)
    {
      after += inverse * forces[static_cast<std::size_t>(c)] * x(c);
    }
    bool fits = true;
    Eigen::Index at = 0;
    for (std::size_t i = 0; i < count; ++i)
    {
      const double slip = (points.slip[i] * after)(0);
      if (mode(i) == kSeparates)
      {
        fits =
          fits && (points.normal[i] * after)(0) >= wanted(static_cast<Eigen::Index>(i)) - kSlack;
        continue;
      }
      const double push = x(at++);
      fits = fits && push >= -kSlack;
      if (mode(i) == kSticks)
      {
        fits = fits && std::abs(x(at++)) <= points.friction * push + kSlack;
      }
      fits = fits && (mode(i) != kForward || slip >= -kSlack) &&
             (mode(i) != kBackward || slip <= kSlack);
    }
    if (fits)
    {
      found.push_back(after);
    }
  }
  return found;
}

TEST(ImpactModes, when_all_combinations_are_tried_expect_one_of_them)
{
  constexpr unsigned long kSeed = 9;
  constexpr int kCount = 1500;
  std::printf("seed %lu, %d impacts\n", kSeed, kCount);
  std::mt19937_64 random(kSeed);
  std::uniform_real_distribution<double> uniform;
  std::normal_distribution<double> normal;
  double worst = 0.0;
  int several = 0;
  int none = 0;
  for (int k = 0; k < kCount; ++k)
  {
    // A planar body that strikes with one to three points of one height.
    Points points;
    const double mass = 0.5 + 2.5 * uniform(random);
    points.Q = Eigen::Vector3d(mass, mass, 0.02 + uniform(random)).asDiagonal();
    points.friction = 0.05 + uniform(random);
    const double height = 0.05 + 0.5 * uniform(random);
    const int count = 1 + k % 3;
    points.restitution.resize(count);
    for (int i = 0; i < count; ++i)
    {
      const double arm = 1.2 * uniform(random) - 0.6;
      points.normal.emplace_back(Eigen::RowVector3d(0.0, 1.0, arm));
      points.slip.emplace_back(Eigen::RowVector3d(1.0, 0.0, height));
      points.restitution(i) = uniform(random);
    }
    const Eigen::Vector3d u(normal(random), -0.3 - std::abs(normal(random)), 2.0 * normal(random));
    const auto dynamics = points.dynamics();
    const ImpactProblem problem = points.problem(*dynamics);
    Status status = Status::kOk;
    const ImpactSolution after =
      solve_impact(*dynamics, problem, {0.0, Eigen::Vector3d::Zero(), u}, &status);
    ASSERT_EQ(status, Status::kOk) << "impact " << k;
    const std::vector<Eigen::VectorXd> found = enumerate(points, after.restitution_scale, u);
    double nearest = std::numeric_limits<double>::infinity();
    double spread = 0.0;
    for (const Eigen::VectorXd & candidate : found)
    {
      nearest = std::min(nearest, (candidate - after.speeds).norm());
      spread = std::max(spread, (candidate - found[0]).norm());
    }
    none += found.empty() ? 1 : 0;
    several += spread > 1e-6 ? 1 : 0;
    worst = found.empty() ? worst : std::max(worst, nearest);
  }
  std::printf(
    "largest deviation %.1e, %d with several motions, %d with none\n", worst, several, none);
  EXPECT_LE(worst, 1e-9);
  EXPECT_EQ(none, 0);
}

TEST(ImpactModes, when_unequal_restitution_raises_energy_expect_the_factor_of_the_formula)
{
  // W = [1 0.8; 0.8 1], v = (−1, −1), E = diag(1, 0): vᵀW⁻¹v = 2/1.8, (Ev)ᵀW⁻¹(Ev) = 1/0.36.
  const auto system = std::make_shared<const ConstantSystem>(Eigen::MatrixXd::Identity(2, 2));
  const Eigen::RowVector2d a(1.0, 0.0);
  const Eigen::RowVector2d b(0.8, 0.6);
  std::vector<std::shared_ptr<const Constraint>> constraints = {
    std::make_shared<LinearRows>("a", *system, a, RowLevel::kPosition),
    std::make_shared<LinearRows>("b", *system, b, RowLevel::kPosition)};
  const Dynamics dynamics(ConstraintSet(system, constraints));
  ImpactProblem problem(dynamics);
  problem.roles = {ImpactRole::kImpacting, ImpactRole::kImpacting};
  problem.restitution = Eigen::Vector2d(1.0, 0.0);
  const Eigen::Vector2d u(-1.0, (-1.0 + 0.8) / 0.6);
  const ImpactSolution after = solve_impact(dynamics, problem, {0.0, Eigen::Vector2d::Zero(), u});
  EXPECT_NEAR(after.restitution_scale, std::sqrt(0.4), 1e-12);
  EXPECT_NEAR(after.energy_change, 0.0, 1e-12);
  EXPECT_NEAR(a.dot(after.speeds), std::sqrt(0.4), 1e-12);
  EXPECT_NEAR(b.dot(after.speeds), 0.0, 1e-12);
}

TEST(ImpactModes, when_speeds_are_beyond_their_squares_expect_a_status_and_no_lost_impulse)
{
  Points ball;
  ball.Q = Eigen::MatrixXd::Identity(2, 2);
  ball.normal = {Eigen::RowVector2d(0.0, 1.0)};
  ball.slip = {Eigen::RowVector2d(1.0, 0.0)};
  ball.restitution = Eigen::VectorXd::Constant(1, 0.5);
  const auto dynamics = ball.dynamics();
  ImpactSolver solver(*dynamics, 1);
  Workspace workspace = Workspace::unanalysed(*dynamics);
  ImpactSolution after(*dynamics, 1);
  const ImpactProblem problem = ball.problem(*dynamics);
  const Eigen::VectorXd q = Eigen::Vector2d::Zero();
  Eigen::VectorXd u = Eigen::Vector2d(0.0, -1e200);
  EXPECT_EQ(solver.solve(problem, 0.0, q, u, workspace, after), Status::kNonFiniteResult);
  u(1) = -1e100;
  ASSERT_EQ(solver.solve(problem, 0.0, q, u, workspace, after), Status::kOk);
  EXPECT_NEAR(after.speeds(1) / 1e100, 0.5, 1e-14);
}

TEST(ImpactModes, when_slip_turns_in_space_expect_derivatives_as_finite_differences)
{
  // A body that strikes with two of its points and slides on both, in directions of their own.
  Points body;
  body.Q = Eigen::MatrixXd::Identity(6, 6);
  body.Q.diagonal() << 1.3, 1.3, 1.3, 0.2, 0.3, 0.4;
  const std::array<Eigen::Vector3d, 2> places = {
    Eigen::Vector3d(0.4, 0.3, -0.2), Eigen::Vector3d(-0.5, 0.1, -0.2)};
  for (const Eigen::Vector3d & p : places)
  {
    Eigen::MatrixXd J(3, 6);
    J.leftCols(3).setIdentity();
    J.rightCols(3) << 0, p.z(), -p.y(), -p.z(), 0, p.x(), p.y(), -p.x(), 0;
    body.normal.emplace_back(J.row(2));
    body.slip.emplace_back(J.topRows(2));
  }
  body.restitution = Eigen::Vector2d(0.2, 0.3);
  body.friction = 0.2;
  const auto dynamics = body.dynamics();
  const ImpactProblem problem = body.problem(*dynamics);
  ImpactSolver solver(*dynamics, 2);
  Workspace workspace = Workspace::unanalysed(*dynamics);
  ImpactSolution after(*dynamics, 2);
  const Eigen::VectorXd q = Eigen::VectorXd::Zero(6);
  Eigen::VectorXd u(6);
  u << 1.0, 0.7, -2.0, 0.3, -0.2, 0.9;
  const auto speeds = [&](const Eigen::VectorXd & before, const Eigen::VectorXd & impulse)
  {
    ImpactProblem pushed = problem;
    pushed.impulse = impulse;
    EXPECT_EQ(solver.solve(pushed, 0.0, q, before, workspace, after), Status::kOk);
    EXPECT_EQ(after.outcomes[0], ContactOutcome::kSlides);
    EXPECT_EQ(after.outcomes[1], ContactOutcome::kSlides);
    return after.speeds;
  };
  const Eigen::VectorXd none = Eigen::VectorXd::Zero(6);
  Eigen::MatrixXd by_speeds(6, 6);
  Eigen::MatrixXd by_impulse(6, 6);
  Eigen::MatrixXd by_position(6, 6);
  speeds(u, none);
  // Twice, and with the derivative by position between: none of them disturbs the others.
  for (int pass = 0; pass < 2; ++pass)
  {
    ASSERT_EQ(solver.derivatives(problem, by_speeds, by_impulse), Status::kOk);
    ASSERT_EQ(solver.position_derivative(problem, 0.0, q, u, workspace, by_position), Status::kOk);
  }
  ASSERT_EQ(solver.derivatives(problem, by_speeds, by_impulse), Status::kOk);
  EXPECT_LE(by_position.norm(), 1e-9);  // nothing depends on q here
  constexpr double kStep = 1e-5;
  for (Eigen::Index j = 0; j < 6; ++j)
  {
    const Eigen::VectorXd shift = kStep * Eigen::VectorXd::Unit(6, j);
    const Eigen::VectorXd by_u =
      (speeds(u + shift, none) - speeds(u - shift, none)) / (2.0 * kStep);
    const Eigen::VectorXd by_i = (speeds(u, shift) - speeds(u, -shift)) / (2.0 * kStep);
    EXPECT_LE((by_speeds.col(j) - by_u).norm(), 1e-8) << "u column " << j;
    EXPECT_LE((by_impulse.col(j) - by_i).norm(), 1e-8) << "I column " << j;
  }
}

}  // namespace
}  // namespace constrained_dynamics::test
