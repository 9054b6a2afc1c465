// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// The program behind limits with priorities: results checked by the conditions of optimality, by
// hand where that is easy; drifting problems; no allocation.
#include "servo/priority_program.hpp"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <limits>
#include <vector>

#include <gtest/gtest.h>
#include <Eigen/Dense>

#include "servo/quadratic_program.hpp"
#include "support/allocation_counter.hpp"
#include "support/dense_algebra.hpp"
#include "support/row_problems.hpp"

namespace constrained_dynamics
{
namespace
{

using Eigen::MatrixXd;
using Eigen::VectorXd;
using test::Random;

constexpr double kUnbounded = std::numeric_limits<double>::infinity();

/// A problem that owns its numbers.
struct Priorities
{
  Priorities(const std::vector<int> & ends, int rows)
  : V(MatrixXd::Zero(rows, ends.back())),
    lower(VectorXd::Constant(rows, -kUnbounded)),
    upper(VectorXd::Constant(rows, kUnbounded)),
    block_ends(ends)
  {
  }

  Status solve(PriorityProgram & program)
  {
    transposed = V.transpose();
    return program.solve({transposed, lower, upper, block_ends});
  }

  /// How far y is outside, against the terms of each row.
  double excess(const VectorXd & y) const
  {
    double largest = 0.0;
    for (Eigen::Index i = 0; i < V.rows(); ++i)
    {
      const double value = V.row(i).dot(y);
      const double terms = V.row(i).cwiseAbs().dot(y.cwiseAbs());
      for (const double bound : {lower(i), upper(i)})
      {
        const double outside = bound == lower(i) ? bound - value : value - bound;
        largest =
          std::isfinite(bound) ? std::max(largest, outside / (terms + std::abs(bound))) : largest;
      }
    }
    return largest;
  }

  MatrixXd V;
  VectorXd lower;
  VectorXd upper;
  std::vector<int> block_ends;
  MatrixXd transposed;
};

/// How far y is from the conditions that make it the solution: for each block k multipliers μ ≥ 0
/// of the rows that bind with Vᵀ μ = (…, y_k, 0, …, 0), which need no other solver.
double optimality_error(const Priorities & problem, const VectorXd & y)
{
  const Eigen::Index n = problem.V.cols();
  double largest = problem.excess(y);
  MatrixXd binding(n, 0);
  for (Eigen::Index i = 0; i < problem.V.rows(); ++i)
  {
    const double value = problem.V.row(i).dot(y);
    const double near = 1e-7 * (1.0 + problem.V.row(i).cwiseAbs().dot(y.cwiseAbs()));
    for (const double sign : {1.0, -1.0})
    {
      const double bound = sign > 0.0 ? problem.lower(i) : problem.upper(i);
      if (std::abs(value - bound) <= near)
      {
        binding.conservativeResize(n, binding.cols() + 1);
        binding.rightCols(1) = sign * problem.V.row(i).transpose() / problem.V.row(i).norm();
      }
    }
  }
  Eigen::Index begin = 0;
  for (const int end : problem.block_ends)
  {
    VectorXd right = VectorXd::Zero(n - begin);
    right.head(end - begin) = y.segment(begin, end - begin);
    if (!right.isZero(0.0))
    {
      const VectorXd rest = test::non_negative_rest(binding.bottomRows(n - begin), right);
      largest = std::max(largest, rest.norm() / (1.0 + right.norm()));
    }
    begin = end;
  }
  return largest;
}

/// Whether a point meets all rows, by a program of another kind.
bool has_point(const Priorities & problem)
{
  const Eigen::Index n = problem.V.cols();
  QuadraticProgram program(static_cast<int>(n), 0, static_cast<int>(problem.V.rows()));
  const MatrixXd H = MatrixXd::Identity(n, n);
  const VectorXd g = VectorXd::Zero(n);
  return program.solve(
           {H, g, MatrixXd(0, n), VectorXd(0), problem.V, problem.lower, problem.upper}) ==
         Status::kOk;
}

TEST(PriorityProgram, when_a_row_can_be_met_by_the_last_block_expect_the_others_untouched)
{
  Priorities problem({1, 2, 3}, 1);
  problem.V << 3.0, 2.0, 0.5;
  problem.lower << 4.0;
  PriorityProgram program(3, 3, 1);
  ASSERT_EQ(problem.solve(program), Status::kOk);
  EXPECT_EQ(VectorXd(program.solution()), Eigen::Vector3d(0.0, 0.0, 8.0));
  // With a bound for the last one the rest is the second one's.
  Priorities bounded({1, 2, 3}, 2);
  bounded.V << 3.0, 2.0, 0.5, 0.0, 0.0, 1.0;
  bounded.lower << 4.0, -2.0;
  bounded.upper << kUnbounded, 2.0;
  PriorityProgram other(3, 3, 2);
  ASSERT_EQ(bounded.solve(other), Status::kOk);
  EXPECT_TRUE(VectorXd(other.solution()).isApprox(Eigen::Vector3d(0.0, 1.5, 2.0), 1e-14));
}

TEST(PriorityProgram, when_nothing_binds_expect_zero)
{
  Priorities problem({2, 4}, 3);
  problem.V.setOnes();
  problem.lower.setConstant(-1.0);
  PriorityProgram program(4, 2, 3);
  ASSERT_EQ(problem.solve(program), Status::kOk);
  EXPECT_TRUE(program.solution().isZero(0.0));
  EXPECT_LE(program.iteration_count(), 2);
}

TEST(PriorityProgram, when_problems_are_random_expect_the_conditions_of_optimality)
{
  Random random(41);
  const int count = test::in_campaign() ? 20000 : 600;
  int solved = 0;
  int infeasible = 0;
  int most = 0;
  double worst = 0.0;
  PriorityProgram program(14, 4, 30);
  for (int i = 0; i < count; ++i)
  {
    std::vector<int> ends;
    int n = 0;
    const int blocks = random.integer(1, 4);
    for (int k = 0; k < blocks; ++k)
    {
      n += random.integer(k + 1 == blocks && n == 0 ? 1 : 0, 3);
      ends.push_back(n);
    }
    const int m = random.integer(1, 2 * n + 2);
    Priorities problem(ends, m);
    problem.V = random.matrix(m, n);
    for (int row = 0; row < m; ++row)
    {
      // Some rows have nothing in a block, some repeat others, some have equal bounds.
      if (random.integer(0, 2) == 0)
      {
        const int from = random.integer(0, n - 1);
        problem.V.row(row).tail(n - from).setZero();
        problem.V(row, 0) = 1.0;
      }
      if (row > 0 && random.integer(0, 7) == 0)
      {
        problem.V.row(row) = -2.0 * problem.V.row(row - 1);
      }
      const double centre = 2.0 * random.number();
      const double width = random.integer(0, 9) == 0 ? 0.0 : random.between(0.1, 3.0);
      problem.lower(row) = random.integer(0, 3) == 0 ? -kUnbounded : centre - width;
      problem.upper(row) = random.integer(0, 3) == 0 ? kUnbounded : centre + width;
    }
    const Status status = problem.solve(program);
    if (status == Status::kInfeasible)
    {
      EXPECT_FALSE(has_point(problem)) << "problem " << i;
      ++infeasible;
      continue;
    }
    ASSERT_EQ(status, Status::kOk) << "problem " << i;
    // Rows are met to 1e-9 of their terms; some problems amplify that.
    const double error = optimality_error(problem, program.solution());
    EXPECT_LE(error, 1e-7) << "problem " << i;
    worst = std::max(worst, error);
    most = std::max(most, program.iteration_count());
    ++solved;
  }
  std::cout << solved << " solved, " << infeasible << " infeasible, largest error " << worst
            << ", at most " << most << " sets\n";
  EXPECT_GT(solved, count / 3);
  EXPECT_GT(infeasible, count / 30);
}

TEST(PriorityProgram, when_a_problem_drifts_expect_few_sets_and_no_allocation)
{
  Random random(43);
  const std::vector<int> ends{3, 6, 26, 32, 44};
  const int m = 100;
  Priorities problem(ends, m);
  const MatrixXd V = random.matrix(m, 44);
  const MatrixXd drift = random.matrix(m, 44);
  const VectorXd centre = 2.0 * random.vector(m);
  PriorityProgram program(44, 5, m);
  int most = 0;
  int total = 0;
  constexpr int kCycles = 500;
  for (int i = 0; i < kCycles; ++i)
  {
    const double t = 0.001 * i;
    problem.V = V + 0.2 * std::sin(t) * drift;
    problem.lower = (centre.array() * std::cos(3.0 * t) - 8.0).matrix();
    problem.upper = (centre.array() * std::cos(3.0 * t) + 2.0).matrix();
    problem.transposed = problem.V.transpose();
    const long allocations = test::allocation_count();
    const Status status =
      program.solve({problem.transposed, problem.lower, problem.upper, problem.block_ends});
    ASSERT_EQ(test::allocation_count(), allocations);
    ASSERT_EQ(status, Status::kOk) << i;
    ASSERT_LE(problem.excess(program.solution()), 2e-9) << i;
    most = std::max(most, program.iteration_count());
    total += program.iteration_count();
    if (i % 50 == 0)
    {
      EXPECT_LE(optimality_error(problem, program.solution()), 1e-8) << i;
    }
  }
  std::cout << static_cast<double>(total) / kCycles << " sets a cycle, at most " << most << "\n";
  EXPECT_LE(total, 4 * kCycles);
}

TEST(PriorityProgram, when_input_is_hostile_expect_its_status_and_no_crash)
{
  Priorities problem({1, 2}, 2);
  problem.V.setIdentity();
  problem.lower.setConstant(1.0);
  PriorityProgram program(2, 2, 2);
  ASSERT_EQ(problem.solve(program), Status::kOk);
  Priorities bad = problem;
  bad.V(0, 1) = std::nan("");
  EXPECT_EQ(bad.solve(program), Status::kNonFiniteInput);
  bad = problem;
  bad.lower(0) = std::nan("");
  EXPECT_EQ(bad.solve(program), Status::kNonFiniteInput);
  bad = problem;
  bad.upper(1) = 0.0;
  EXPECT_EQ(bad.solve(program), Status::kInfeasible);
  bad = problem;
  bad.block_ends = {1, 3};
  EXPECT_EQ(bad.solve(program), Status::kSizeMismatch);
  bad = problem;
  bad.V *= 1e-200;
  bad.lower *= 1e200;
  const Status status = bad.solve(program);
  EXPECT_TRUE(!has_output(status) || program.solution().allFinite()) << to_string(status);
  ASSERT_EQ(problem.solve(program), Status::kOk);
  EXPECT_TRUE(program.solution().isApprox(Eigen::Vector2d(1.0, 1.0), 1e-15));
}

}  // namespace
}  // namespace constrained_dynamics
