// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// The quadratic program behind the limits of servo laws: results checked by the conditions of
// optimality, which need no second solver; invalid input; no allocation.
#include "servo/quadratic_program.hpp"

#include <chrono>
#include <cmath>
#include <iostream>
#include <limits>

#include <gtest/gtest.h>
#include <Eigen/Dense>

#include "support/allocation_counter.hpp"
#include "support/dense_algebra.hpp"
#include "support/row_problems.hpp"

namespace constrained_dynamics
{
namespace
{

using test::Random;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const double kNaN = std::nan("");

/// A problem that owns its numbers.
struct Program
{
  Program(int n, int p, int m)
  : H(Eigen::MatrixXd::Identity(n, n)),
    g(Eigen::VectorXd::Zero(n)),
    E(Eigen::MatrixXd::Zero(p, n)),
    e(Eigen::VectorXd::Zero(p)),
    C(Eigen::MatrixXd::Zero(m, n)),
    lower(Eigen::VectorXd::Constant(m, -kInfinity)),
    upper(Eigen::VectorXd::Constant(m, kInfinity))
  {
  }

  QuadraticProgram::Problem problem() const { return {H, g, E, e, C, lower, upper}; }
  QuadraticProgram solver() const
  {
    return QuadraticProgram(
      static_cast<int>(g.size()), static_cast<int>(e.size()), static_cast<int>(lower.size()));
  }

  Eigen::MatrixXd H;
  Eigen::VectorXd g;
  Eigen::MatrixXd E;
  Eigen::VectorXd e;
  Eigen::MatrixXd C;
  Eigen::VectorXd lower;
  Eigen::VectorXd upper;
};

/// Largest violation of the conditions of optimality; each against the terms that it sums:
/// stationarity, rows of equality, bounds, signs of the multipliers, complementarity.
double optimality_error(const Program & program, const QuadraticProgram & solver)
{
  const Eigen::VectorXd x = solver.solution();
  const Eigen::VectorXd lambda = solver.equality_multipliers();
  const Eigen::VectorXd mu = solver.multipliers();
  if (!x.allFinite() || !lambda.allFinite() || !mu.allFinite())
  {
    return kInfinity;
  }
  const Eigen::VectorXd Hx = program.H.selfadjointView<Eigen::Lower>() * x;
  const Eigen::VectorXd rest =
    Hx + program.g - program.E.transpose() * lambda - program.C.transpose() * mu;
  const Eigen::VectorXd terms = program.H.cwiseAbs() * x.cwiseAbs() + program.g.cwiseAbs() +
                                program.E.transpose().cwiseAbs() * lambda.cwiseAbs() +
                                program.C.transpose().cwiseAbs() * mu.cwiseAbs();
  double error =
    rest.lpNorm<Eigen::Infinity>() / (terms.size() > 0 ? std::max(terms.maxCoeff(), 1e-300) : 1.0);
  for (Eigen::Index i = 0; i < program.e.size(); ++i)
  {
    const double size = program.E.row(i).cwiseAbs().dot(x.cwiseAbs()) + std::abs(program.e(i));
    const double value = std::abs(program.E.row(i).dot(x) - program.e(i));
    error = std::max(error, value == 0.0 ? 0.0 : value / size);
  }
  const double largest = mu.size() > 0 ? mu.cwiseAbs().maxCoeff() : 0.0;
  for (Eigen::Index i = 0; i < program.lower.size(); ++i)
  {
    const double value = program.C.row(i).dot(x);
    const double terms_size = program.C.row(i).cwiseAbs().dot(x.cwiseAbs());
    // Rounding where all of a row's terms vanish, as at the apex of a cone.
    const double floor = 1e-6 * program.C.row(i).cwiseAbs().maxCoeff() * x.cwiseAbs().maxCoeff();
    for (const int side : {-1, 1})
    {
      const double bound = side < 0 ? program.lower(i) : program.upper(i);
      if (std::isfinite(bound) && side * (value - bound) > 0.0)
      {
        error = std::max(error, side * (value - bound) / (terms_size + std::abs(bound) + floor));
      }
    }
    if (mu(i) != 0.0)
    {
      const double bound = mu(i) > 0.0 ? program.lower(i) : program.upper(i);
      if (!std::isfinite(bound))
      {
        return kInfinity;
      }
      error = std::max(
        error, std::min(
                 std::abs(value - bound) / (terms_size + std::abs(bound) + floor + 1e-300),
                 std::abs(mu(i)) / largest));
      EXPECT_NE(solver.binding(static_cast<int>(i)), 0);
    }
  }
  return error;
}

/// Problems of many kinds that have a solution: definite and semidefinite H over many decades,
/// redundant rows of equality, doubled and degenerate rows, fixed values, torques of any unit.
Program random_program(Random & random, int max_variables)
{
  const int n = random.integer(1, max_variables);
  const int p = random.integer(0, std::max(0, n - 1));
  const int m = random.integer(0, 3 * n);
  Program program(n, p, m);
  const int rank = random.integer(0, 2) > 0 ? n : random.integer(1, n);
  const Eigen::MatrixXd root =
    random.matrix(n, n).leftCols(rank) * random.spread(rank, random.between(0.0, 2.0)).asDiagonal();
  program.H = root * root.transpose();
  // In the range of H: without a bound the objective has a minimum.
  program.g = program.H * random.vector(n) * 10.0;
  if (rank == n)
  {
    // Definite beyond rounding, so that any gradient has a minimum.
    program.H.diagonal().array() += 1e-5 * program.H.diagonal().mean();
    program.g += random.vector(n);
  }
  const Eigen::VectorXd inside = random.vector(n);
  program.E = random.matrix(p, n);
  program.C = random.matrix(m, n);
  for (int i = 0; i < m; ++i)
  {
    if (random.integer(0, 2) > 0)
    {
      program.C.row(i) = Eigen::RowVectorXd::Unit(n, random.integer(0, n - 1));
    }
    if (i > 0 && random.integer(0, 9) == 0)
    {
      program.C.row(i) = random.between(-2.0, 2.0) * program.C.row(random.integer(0, i - 1));
    }
    if (p > 0 && random.integer(0, 19) == 0)
    {
      program.C.row(i) = program.E.row(random.integer(0, p - 1));
    }
  }
  if (p > 1 && random.integer(0, 3) == 0)
  {
    program.E.row(p - 1) = random.between(-2.0, 2.0) * program.E.row(0);
  }
  program.e = program.E * inside;
  for (int i = 0; i < m; ++i)
  {
    const double value = program.C.row(i).dot(inside);
    const int kind = random.integer(0, 5);
    // 0: one-sided, 1: free, 2: fixed, 3: touches `inside` (degenerate), others: a range around it.
    const double room = kind == 3 ? 0.0 : std::abs(random.number());
    program.lower(i) = kind == 1 ? -kInfinity : value - (kind == 2 ? 0.0 : room);
    program.upper(i) = kind < 2 ? kInfinity : value + (kind == 2 ? 0.0 : std::abs(random.number()));
  }
  return program;
}

/// The same problem with other units of variables, objective and rows.
void change_units(Program & program, Random & random, double decades)
{
  const auto unit = [&] { return std::pow(10.0, random.between(-decades, decades)); };
  const Eigen::Index n = program.g.size();
  Eigen::VectorXd units(n);
  for (Eigen::Index j = 0; j < n; ++j)
  {
    units(j) = unit();
  }
  const double objective = unit();
  program.H = objective * (units.asDiagonal() * program.H * units.asDiagonal());
  program.g = objective * units.cwiseProduct(program.g);
  program.E = program.E * units.asDiagonal();
  program.C = program.C * units.asDiagonal();
  for (Eigen::Index i = 0; i < program.lower.size(); ++i)
  {
    const double row = unit();
    program.C.row(i) *= row;
    program.lower(i) *= row;
    program.upper(i) *= row;
  }
}

/// Whether H on the rows of equality has an eigenvalue that is neither 0 nor definite beyond
/// rounding: where the minimum lies, and whether there is one, is then beyond the digits of the
/// problem.
bool is_undecided(const Program & program)
{
  const Eigen::VectorXd scale = program.H.diagonal().cwiseSqrt().cwiseInverse();
  const Eigen::MatrixXd H = scale.asDiagonal() * program.H * scale.asDiagonal();
  Eigen::MatrixXd Z = Eigen::MatrixXd::Identity(H.rows(), H.cols());
  if (program.e.size() > 0)
  {
    Z = test::null_space(program.E * scale.asDiagonal(), 1e-10);
  }
  const Eigen::MatrixXd reduced = Z.transpose() * H * Z;
  const Eigen::ArrayXd values = test::symmetric_eigenvalues(reduced).array();
  return (values > 1e-14 && values < 1e-9).any();
}

TEST(QuadraticProgram, when_nothing_binds_expect_the_unlimited_solution)
{
  Program program(3, 1, 2);
  program.g << -1.0, -2.0, -3.0;
  program.E << 1.0, 1.0, 1.0;
  program.e << 3.0;
  program.C.topLeftCorner(2, 2).setIdentity();
  program.lower.setConstant(-5.0);
  program.upper.setConstant(5.0);
  QuadraticProgram solver = program.solver();
  ASSERT_EQ(solver.solve(program.problem()), Status::kOk);
  // x = (1, 2, 3) − 1, λ = −1 by hand.
  EXPECT_LE((solver.solution() - Eigen::Vector3d(0.0, 1.0, 2.0)).norm(), 1e-9);
  EXPECT_NEAR(solver.equality_multipliers()(0), -1.0, 1e-9);
  EXPECT_EQ(solver.binding_count(), 0);
  EXPECT_EQ(solver.iteration_count(), 0);
}

TEST(QuadraticProgram, when_a_bound_binds_expect_its_row_and_multiplier)
{
  // Goldfarb and Idnani (1983), example: minimise ½‖x‖² ... by hand: nearest point of a half-plane.
  Program program(2, 0, 2);
  program.C << 3.0, 4.0, 1.0, 0.0;
  program.lower << 10.0, -kInfinity;
  program.upper << kInfinity, 1.0;
  QuadraticProgram solver = program.solver();
  ASSERT_EQ(solver.solve(program.problem()), Status::kOk);
  // Without the second row (1.2, 1.6); with it x = (1, 7/4), μ = (7/16, 1 − 21/16 = −5/16).
  EXPECT_LE((solver.solution() - Eigen::Vector2d(1.0, 1.75)).norm(), 1e-9);
  EXPECT_NEAR(solver.multipliers()(0), 7.0 / 16.0, 1e-9);
  EXPECT_NEAR(solver.multipliers()(1), -5.0 / 16.0, 1e-9);
  EXPECT_EQ(solver.binding(0), -1);
  EXPECT_EQ(solver.binding(1), 1);
  EXPECT_EQ(solver.binding_count(), 2);
}

TEST(QuadraticProgram, when_problems_are_random_expect_the_conditions_of_optimality)
{
  Random random(11);
  const int count = test::in_campaign() ? 1000000 : 4000;
  double worst = 0.0;
  int failures = 0;
  int undecided = 0;
  QuadraticProgram solver(12, 12, 36);
  for (int i = 0; i < count && failures < 30; ++i)
  {
    Program program = random_program(random, 12);
    if (i % 2 == 1)
    {
      change_units(program, random, 3.0);
    }
    const Status status = solver.solve(program.problem());
    if (status == Status::kNotConverged && is_undecided(program))
    {
      ++undecided;
      continue;
    }
    const double error = status == Status::kOk ? optimality_error(program, solver) : kInfinity;
    worst = std::max(worst, error);
    if (!(error <= 1e-7))
    {
      ++failures;
      ADD_FAILURE() << "problem " << i << ": " << to_string(status) << ", error " << error
                    << ", n = " << program.g.size() << ", p = " << program.e.size()
                    << ", m = " << program.lower.size() << ", iterations "
                    << solver.iteration_count();
    }
  }
  std::cout << count << " problems, largest error " << worst << "; " << undecided
            << " given up, of no definite minimum\n";
  EXPECT_LE(undecided, count / 100000);
}

TEST(QuadraticProgram, when_no_point_meets_the_rows_expect_infeasible_and_outputs_untouched)
{
  Random random(12);
  QuadraticProgram solver(12, 12, 40);
  Program first(2, 0, 0);
  first.g << -1.0, -2.0;
  ASSERT_EQ(solver.solve(first.problem()), Status::kOk);
  const int count = test::in_campaign() ? 100000 : 2000;
  for (int i = 0; i < count; ++i)
  {
    Program program = random_program(random, 12);
    const Eigen::Index n = program.g.size();
    const Eigen::Index m = program.lower.size();
    // A positive sum of rows that is at least 1 and at most −1, or rows of equality that
    // contradict.
    if (i % 3 < 2 || program.e.size() < 2)
    {
      const Eigen::VectorXd a = random.vector(n);
      const Eigen::VectorXd b = random.vector(n);
      program.C.conservativeResize(m + 3, n);
      program.C.bottomRows(3) << a.transpose(), b.transpose(), (a + b).transpose();
      program.lower.conservativeResize(m + 3);
      program.lower.tail(3) << 1.0, 0.0, -kInfinity;
      program.upper.conservativeResize(m + 3);
      program.upper.tail(3) << kInfinity, kInfinity, -1e-3;
    }
    else
    {
      program.E.row(1) = 2.0 * program.E.row(0);
      program.e(1) = 2.0 * program.e(0) + 1.0;
    }
    if (i % 2 == 1)
    {
      change_units(program, random, 2.0);
    }
    ASSERT_EQ(solver.solve(program.problem()), Status::kInfeasible) << "problem " << i;
    ASSERT_EQ(solver.solution(), Eigen::Vector2d(1.0, 2.0));
  }
}

TEST(QuadraticProgram, when_H_leaves_a_direction_to_the_gradient_expect_the_bound_that_ends_it)
{
  // A linear program: maximise x + 2 y below x + y ≤ 3, y ≤ 2, x ≥ 0, y ≥ 0: the corner (1, 2).
  Program program(2, 0, 3);
  program.H.setZero();
  program.g << -1.0, -2.0;
  program.C << 1.0, 1.0, 1.0, 0.0, 0.0, 1.0;
  program.lower << -kInfinity, 0.0, 0.0;
  program.upper << 3.0, kInfinity, 2.0;
  for (const double unit : {1e-3, 1.0, 1e3})
  {
    Program scaled = program;
    scaled.g *= unit;
    scaled.lower *= unit;
    scaled.upper *= unit;
    QuadraticProgram solver = scaled.solver();
    ASSERT_EQ(solver.solve(scaled.problem()), Status::kOk) << unit;
    EXPECT_LE((solver.solution() / unit - Eigen::Vector2d(1.0, 2.0)).norm(), 1e-8) << unit;
    EXPECT_LE((solver.multipliers() / unit - Eigen::Vector3d(-1.0, 0.0, -1.0)).norm(), 1e-7);
  }
}

TEST(QuadraticProgram, when_the_objective_is_flat_expect_a_point_that_meets_the_rows)
{
  Random random(13);
  for (int i = 0; i < 2000; ++i)
  {
    Program program = random_program(random, 8);
    program.H.setZero();
    program.g.setZero();
    QuadraticProgram solver = program.solver();
    ASSERT_EQ(solver.solve(program.problem()), Status::kOk) << i;
    const Eigen::VectorXd x = solver.solution();
    const double size = 1.0 + x.cwiseAbs().maxCoeff();
    EXPECT_LE((program.E * x - program.e).norm(), 1e-7 * size);
    const Eigen::VectorXd values = program.C * x;
    EXPECT_LE((program.lower - values).cwiseMax(0.0).norm(), 1e-7 * size);
    EXPECT_LE((values - program.upper).cwiseMax(0.0).norm(), 1e-7 * size);
    EXPECT_LE(solver.multipliers().norm(), 1e-7 * size);
  }
}

TEST(QuadraticProgram, when_the_gradient_has_no_bound_to_go_to_expect_a_status)
{
  Program program(2, 0, 1);
  program.H.setZero();
  program.g << -1.0, 0.0;
  program.C << 0.0, 1.0;
  program.upper << 1.0;
  QuadraticProgram solver = program.solver();
  const Status status = solver.solve(program.problem());
  EXPECT_TRUE(status == Status::kNotConverged || status == Status::kOk) << to_string(status);
  EXPECT_TRUE(solver.solution().allFinite());
}

TEST(QuadraticProgram, when_input_is_hostile_expect_its_status_and_outputs_untouched)
{
  Program good(3, 1, 2);
  good.g << 1.0, 2.0, 3.0;
  good.E << 1.0, 0.0, 0.0;
  good.C << 0.0, 1.0, 0.0, 0.0, 0.0, 1.0;
  good.lower << -1.0, -1.0;
  good.upper << 1.0, 1.0;
  QuadraticProgram solver = good.solver();
  ASSERT_EQ(solver.solve(good.problem()), Status::kOk);
  const Eigen::VectorXd x = solver.solution();
  const auto expect = [&](Status status, auto change)
  {
    Program bad = good;
    change(bad);
    EXPECT_EQ(solver.solve(bad.problem()), status);
    EXPECT_EQ(solver.solution(), x);
    EXPECT_EQ(solver.binding_count(), 2);
  };
  for (const double value : {kNaN, kInfinity, -kInfinity})
  {
    expect(Status::kNonFiniteInput, [&](Program & p) { p.H(2, 1) = value; });
    expect(Status::kNonFiniteInput, [&](Program & p) { p.g(1) = value; });
    expect(Status::kNonFiniteInput, [&](Program & p) { p.E(0, 2) = value; });
    expect(Status::kNonFiniteInput, [&](Program & p) { p.e(0) = value; });
    expect(Status::kNonFiniteInput, [&](Program & p) { p.C(1, 2) = value; });
  }
  expect(Status::kNonFiniteInput, [](Program & p) { p.lower(0) = kNaN; });
  expect(Status::kNonFiniteInput, [](Program & p) { p.upper(1) = kNaN; });
  expect(Status::kInfeasible, [](Program & p) { p.lower(0) = 2.0; });
  expect(Status::kInfeasible, [](Program & p) { p.lower(0) = p.upper(0) = kInfinity; });
  expect(Status::kInfeasible, [](Program & p) { p.lower(1) = p.upper(1) = -kInfinity; });
  expect(Status::kInfeasible, [](Program & p) { p.E.setZero(), p.e(0) = 1.0; });
  expect(Status::kInfeasible, [](Program & p) { p.C.row(0).setZero(), p.lower(0) = 0.5; });
  expect(Status::kSingularInertia, [](Program & p) { p.H(2, 2) = -1.0; });
  expect(Status::kSingularInertia, [](Program & p) { p.H(2, 1) = 2.0; });
  expect(Status::kSizeMismatch, [](Program & p) { p.g.conservativeResize(2); });
  expect(Status::kSizeMismatch, [](Program & p) { p.upper.conservativeResize(1); });
  expect(Status::kSizeMismatch, [](Program & p) { p = Program(4, 0, 0); });
  expect(Status::kSizeMismatch, [](Program & p) { p = Program(3, 2, 0); });
  expect(Status::kSizeMismatch, [](Program & p) { p = Program(3, 0, 3); });
  expect(Status::kSizeMismatch, [](Program & p) { p = Program(0, 0, 0); });
  // Rows that say nothing are no obstacle.
  Program idle = good;
  idle.C.row(0).setZero();
  EXPECT_EQ(solver.solve(idle.problem()), Status::kOk);
  EXPECT_EQ(solver.binding(0), 0);
}

TEST(QuadraticProgram, when_numbers_are_extreme_expect_no_NaN_and_an_end)
{
  Random random(14);
  QuadraticProgram solver(8, 8, 24);
  int solved = 0;
  const int count = test::in_campaign() ? 200000 : 2000;
  for (int i = 0; i < count; ++i)
  {
    Program program = random_program(random, 8);
    change_units(program, random, random.between(3.0, 150.0));
    const Status status = solver.solve(program.problem());
    solved += status == Status::kOk ? 1 : 0;
    ASSERT_TRUE(solver.solution().allFinite());
    ASSERT_TRUE(solver.multipliers().allFinite());
    ASSERT_TRUE(solver.equality_multipliers().allFinite());
  }
  std::cout << solved << " of " << count << " solved\n";
}

/// A problem as a servo law poses it in each cycle, drifting slowly.
class Cycle
{
public:
  Cycle(int n, int p, int cones, int bounds, Random & random) : program_(n, p, 5 * cones + bounds)
  {
    S_ = random.matrix(n, n);
    S_drift_ = random.matrix(n, n);
    E_ = random.matrix(p, n);
    E_drift_ = random.matrix(p, n);
    z_ = 3.0 * random.vector(n);
    e_ = random.vector(p);
    // Friction pyramids over triples of the last variables: |f_x|, |f_y| ≤ μ f_z, f_z ≥ 0.
    for (int k = 0; k < cones; ++k)
    {
      const Eigen::Index f = n - 3 * (k + 1);
      for (int side = 0; side < 4; ++side)
      {
        program_.C(5 * k + side, f + side / 2) = side % 2 == 0 ? 1.0 : -1.0;
        program_.C(5 * k + side, f + 2) = 0.5;
        program_.lower(5 * k + side) = 0.0;
      }
      program_.C(5 * k + 4, f + 2) = 1.0;
      program_.lower(5 * k + 4) = 0.0;
    }
    for (int i = 0; i < bounds; ++i)
    {
      program_.C(5 * cones + i, i % n) = 1.0;
      program_.lower(5 * cones + i) = -2.0;
      program_.upper(5 * cones + i) = 2.0;
    }
  }

  const Program & at(double t)
  {
    const Eigen::MatrixXd S = S_ + 0.2 * std::sin(t) * S_drift_;
    program_.H = S.transpose() * S;
    program_.H.diagonal().array() += 1e-3;
    program_.g = -S.transpose() * (z_ * (1.0 + 0.5 * std::sin(3.0 * t)));
    program_.E = E_ + 0.2 * std::cos(t) * E_drift_;
    program_.e = 0.3 * e_ * std::sin(2.0 * t);
    return program_;
  }

private:
  Program program_;
  Eigen::MatrixXd S_, S_drift_, E_, E_drift_;
  Eigen::VectorXd z_, e_;
};

void expect_cycle(const char * name, int n, int p, int cones, int bounds)
{
  Random random(15);
  Cycle cycle(n, p, cones, bounds, random);
  QuadraticProgram solver = cycle.at(0.0).solver();
  QuadraticProgram cold = cycle.at(0.0).solver();
  using Clock = std::chrono::steady_clock;
  double warm_time = 0.0;
  double cold_time = 0.0;
  double worst = 0.0;
  int one_solve = 0;
  int bound = 0;
  int solved = 0;
  constexpr int kCycles = 500;
  for (int i = 0; i < kCycles; ++i)
  {
    const Program & program = cycle.at(0.001 * i);
    const QuadraticProgram::Problem problem = program.problem();
    const long allocations = test::allocation_count();
    const Clock::time_point start = Clock::now();
    const Status status = solver.solve(problem);
    const Clock::time_point middle = Clock::now();
    cold.forget();
    const Status cold_status = cold.solve(problem);
    const Clock::time_point end = Clock::now();
    ASSERT_EQ(test::allocation_count(), allocations) << name;
    ASSERT_EQ(status, Status::kOk) << name << ' ' << i;
    ASSERT_EQ(cold_status, Status::kOk) << name << ' ' << i;
    ASSERT_LE(optimality_error(program, solver), 1e-8) << name << ' ' << i;
    ASSERT_LE((solver.solution() - cold.solution()).norm(), 1e-6 * solver.solution().norm());
    warm_time += std::chrono::duration<double>(middle - start).count();
    cold_time += std::chrono::duration<double>(end - middle).count();
    worst = std::max(worst, std::chrono::duration<double>(middle - start).count());
    one_solve += solver.iteration_count() == 0 ? 1 : 0;
    bound += solver.binding_count();
    ++solved;
  }
  EXPECT_GE(one_solve, kCycles * 9 / 10) << name;
  EXPECT_GE(bound, kCycles) << name << ": the bounds should bind for the test to mean something";
  std::cout << name << ": " << 1e6 * warm_time / solved << " us a cycle, "
            << 1e6 * cold_time / solved << " us without warm start, largest " << 1e6 * worst
            << " us, " << static_cast<double>(bound) / solved << " rows bind\n";
}

TEST(QuadraticProgram, when_a_problem_drifts_expect_a_warm_start_without_allocation)
{
  expect_cycle("arm, 7 inputs, 4 equalities, 7 bounds", 7, 4, 0, 7);
  expect_cycle("humanoid, 38 variables, 12 equalities, 38 bounds", 38, 12, 0, 38);
  expect_cycle("humanoid, 44 variables, 40 friction rows, 64 bounds", 44, 6, 8, 64);
}

}  // namespace
}  // namespace constrained_dynamics
