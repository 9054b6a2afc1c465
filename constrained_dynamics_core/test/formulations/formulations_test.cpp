// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// All formulations side by side: the same accelerations, forces, ranks and statuses.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <Eigen/Dense>

#include "constrained_dynamics/formulations/canonical_inversion.hpp"
#include "constrained_dynamics/formulations/coordinate_partition.hpp"
#include "constrained_dynamics/formulations/projection.hpp"
#include "constrained_dynamics/formulations/registry.hpp"
#include "constrained_dynamics/scenario/scenario.hpp"
#include "support/allocation_counter.hpp"
#include "support/dense_algebra.hpp"
#include "support/row_problems.hpp"

namespace constrained_dynamics
{
namespace
{

using test::by_symmetric_root;
using test::Condition;
using test::condition_of;
using test::difference;
using test::Numbers;
using test::Random;
using test::random_numbers;
using test::unit_sizes;

/// Without "auto", which is one of the others.
std::vector<std::string> ids()
{
  std::vector<std::string> names = formulation_names();
  names.erase(std::remove(names.begin(), names.end(), "auto"), names.end());
  return names;
}

/// Whether a formulation exists only where Q is symmetric positive definite.
bool needs_positive_inertia(const std::string & id)
{
  return id == "canonical_inversion" || id == "udwadia_kalaba" || id == "projection";
}

struct Answer
{
  Status status = Status::kOk;
  RowSolution solution;
};

constexpr double kUntouched = 77.0;

/// A formulation with its memory.
class Solver
{
public:
  Solver(const std::string & id, const Numbers & numbers) : Solver(make_formulation(id), numbers) {}
  Solver(std::shared_ptr<const Formulation> any, const Numbers & numbers)
  : formulation(std::move(any)),
    data(formulation->row_form().make_data(
      static_cast<int>(numbers.Q.rows()), static_cast<int>(numbers.A.rows())))
  {
    answer.solution.acceleration.setConstant(numbers.Q.rows(), kUntouched);
    answer.solution.constraint_force.setConstant(numbers.Q.rows(), kUntouched);
    answer.solution.multipliers.setConstant(numbers.A.rows(), kUntouched);
    answer.solution.redundancy.setConstant(numbers.A.rows(), kUntouched);
  }

  const Answer & solve(const Numbers & numbers)
  {
    answer.status =
      formulation->row_form().solve(numbers.problem(), RankOptions(), *data, answer.solution);
    return answer;
  }

  std::shared_ptr<const Formulation> formulation;
  std::unique_ptr<FormulationData> data;
  Answer answer;
};

Answer solve(const std::string & id, const Numbers & numbers)
{
  return Solver(id, numbers).solve(numbers);
}

/// Every formulation against the first one.
void expect_agreement(const std::vector<Answer> & answers, double bar)
{
  const std::vector<std::string> names = ids();
  const Answer & first = answers.front();
  for (std::size_t i = 1; i < answers.size(); ++i)
  {
    const Answer & other = answers[i];
    EXPECT_EQ(other.status, first.status)
      << names[i] << ": " << to_string(other.status) << " against " << to_string(first.status);
    if (!has_output(first.status) || !has_output(other.status))
    {
      continue;
    }
    const RowSolution & a = first.solution;
    const RowSolution & b = other.solution;
    EXPECT_EQ(b.rank, a.rank) << names[i];
    EXPECT_LE(difference(a.acceleration, b.acceleration), bar) << names[i];
    EXPECT_LE(difference(a.multipliers, b.multipliers), 10.0 * bar) << names[i];
    EXPECT_LE(difference(a.constraint_force, b.constraint_force), 10.0 * bar) << names[i];
  }
}

std::vector<Answer> solve_all(const Numbers & numbers)
{
  std::vector<Answer> answers;
  for (const std::string & id : ids())
  {
    answers.push_back(solve(id, numbers));
  }
  return answers;
}

int repetitions() { return test::in_campaign() ? 10000 : 200; }

TEST(Formulations, when_asked_by_name_expect_that_one)
{
  EXPECT_EQ(ids().size(), 8U);
  for (const std::string & id : ids())
  {
    EXPECT_EQ(make_formulation(id)->name(), id);
  }
  EXPECT_STREQ(make_formulation("auto")->name(), "auto");
  for (const std::string & id : ids())
  {
    const Scenario scenario =
      Scenario::load(CD_CONFIG "/scenarios/four_bar.yaml", {"formulation=" + id});
    EXPECT_EQ(scenario.dynamics()->formulation().name(), id);
  }
  try
  {
    make_formulation("newton");
    FAIL() << "accepted";
  }
  catch (const std::invalid_argument & error)
  {
    const std::string message = error.what();
    EXPECT_NE(message.find("newton"), std::string::npos) << message;
    for (const std::string & id : formulation_names())
    {
      EXPECT_NE(message.find(id), std::string::npos) << message;
    }
  }
}

TEST(Formulations, when_rows_are_independent_expect_agreement_and_the_symmetric_root)
{
  Random random(11);
  for (int i = 0; i < repetitions(); ++i)
  {
    const int n = random.integer(1, 12);
    const int rank = random.integer(0, n);
    const Numbers numbers = random_numbers(random, n, rank, rank, 1.0, 1.0);
    const double bar = condition_of(numbers.Q, numbers.A, rank).bar();
    const std::vector<Answer> answers = solve_all(numbers);
    ASSERT_EQ(answers.front().status, Status::kOk);
    expect_agreement(answers, bar);
    if (rank > 0)
    {
      EXPECT_LE(difference(answers.front().solution.acceleration, by_symmetric_root(numbers)), bar);
    }
  }
}

TEST(Formulations, when_rows_and_inertia_are_ill_conditioned_expect_agreement)
{
  Random random(12);
  for (int i = 0; i < repetitions(); ++i)
  {
    const int n = random.integer(2, 15);
    const int rank = random.integer(1, n);
    const Numbers numbers =
      random_numbers(random, n, rank, rank, random.between(0.0, 8.0), random.between(0.0, 5.0));
    const std::vector<Answer> answers = solve_all(numbers);
    ASSERT_EQ(answers.front().status, Status::kOk);
    const Condition condition = condition_of(numbers.Q, numbers.A, rank);
    expect_agreement(answers, std::max(condition.bar(), condition.rounding()));
  }
}

TEST(Formulations, when_rows_are_redundant_expect_agreement_and_the_least_weighted_multipliers)
{
  Random random(13);
  for (int i = 0; i < repetitions(); ++i)
  {
    const int n = random.integer(2, 12);
    const int rank = random.integer(1, n);
    const int rows = rank + random.integer(1, 8);
    Numbers numbers = random_numbers(random, n, rank, rows, 2.0, 1.0);
    numbers.weight = random.spread(rows, 1.0);
    numbers.scale = random.spread(rows, 0.5);
    const double bar = condition_of(numbers.Q, numbers.A, rank).bar();
    const std::vector<Answer> answers = solve_all(numbers);
    ASSERT_EQ(answers.front().status, Status::kOk);
    ASSERT_EQ(answers.front().solution.rank, rank);
    expect_agreement(answers, bar);
    // Least ‖W λ‖: W² λ is orthogonal to the left null space of A.
    const Eigen::MatrixXd kernel = test::kernel_of(numbers.A.transpose());
    const Eigen::VectorXd & lambda = answers.front().solution.multipliers;
    const Eigen::VectorXd weighted = numbers.weight.cwiseAbs2().cwiseProduct(lambda);
    EXPECT_LE((kernel.transpose() * weighted).norm(), 1e-9 * kernel.norm() * (1.0 + lambda.norm()));
  }
}

TEST(Formulations, when_constraints_are_given_many_times_expect_the_motion_of_one)
{
  Random random(14);
  for (int copies = 2; copies <= 10; ++copies)
  {
    const Numbers once = random_numbers(random, 7, 3, 3, 1.0, 1.0);
    Numbers many = once;
    many.A = once.A.replicate(copies, 1);
    many.b = once.b.replicate(copies, 1);
    unit_sizes(many);
    const double bar = condition_of(once.Q, once.A, 3).bar();
    const std::vector<Answer> answers = solve_all(many);
    ASSERT_EQ(answers.front().status, Status::kOk);
    expect_agreement(answers, bar);
    for (const Answer & answer : answers)
    {
      const Answer alone = solve("kane_nonminimal", once);
      EXPECT_LE(difference(answer.solution.acceleration, alone.solution.acceleration), bar);
      for (int k = 0; k < copies; ++k)
      {
        const Eigen::VectorXd share = copies * answer.solution.multipliers.segment(3 * k, 3);
        EXPECT_LE(difference(share, alone.solution.multipliers), 10.0 * bar);
      }
    }
  }
}

TEST(Formulations, when_a_direction_fades_expect_agreement_before_and_behind_the_singular_position)
{
  Random random(15);
  int singular = 0;
  for (double exponent = -2.0; exponent >= -14.0; exponent -= 0.25)
  {
    for (int i = 0; i < repetitions() / 20; ++i)
    {
      const int n = random.integer(3, 9);
      const int rank = random.integer(2, n);
      Numbers numbers = random_numbers(random, n, rank - 1, rank - 1, 1.0, 0.5);
      numbers.A.conservativeResize(rank, n);
      numbers.A.row(rank - 1) = random.vector(rank - 1).transpose() * numbers.A.topRows(rank - 1) +
                                std::pow(10.0, exponent) * random.vector(n).transpose();
      numbers.b = numbers.A * random.vector(n);
      numbers.nominal_rank = rank;
      unit_sizes(numbers);
      const std::vector<Answer> answers = solve_all(numbers);
      const Answer & first = answers.front();
      ASSERT_TRUE(has_output(first.status));
      EXPECT_TRUE(first.status == Status::kOk || first.status == Status::kSingular);
      singular += first.status == Status::kSingular ? 1 : 0;
      expect_agreement(answers, condition_of(numbers.Q, numbers.A, first.solution.rank).bar());
      if (exponent < -10.0)
      {
        EXPECT_EQ(first.status, Status::kSingular);
        for (const Answer & answer : answers)
        {
          EXPECT_LE(answer.solution.acceleration.norm(), 1e3);
          EXPECT_LE(answer.solution.multipliers.norm(), 1e4);
        }
      }
    }
  }
  EXPECT_GT(singular, 0);
}

TEST(Formulations, when_rows_contradict_expect_inconsistent_and_the_same_nearest_rows)
{
  Random random(16);
  for (int i = 0; i < repetitions(); ++i)
  {
    const int n = random.integer(2, 9);
    const int rank = random.integer(1, n);
    Numbers numbers = random_numbers(random, n, rank, rank + random.integer(1, 5), 1.0, 0.5);
    numbers.b += random.vector(numbers.b.size());
    const std::vector<Answer> answers = solve_all(numbers);
    ASSERT_EQ(answers.front().status, Status::kInconsistent);
    const double bar = condition_of(numbers.Q, numbers.A, rank).bar();
    expect_agreement(answers, bar);
    // The rows that are met are those of b projected on the range of A.
    const Eigen::VectorXd nearest =
      numbers.A * test::solve_least_squares(numbers.A, numbers.b, 1e-9);
    for (const Answer & answer : answers)
    {
      const Eigen::VectorXd met = numbers.A * answer.solution.acceleration;
      EXPECT_LE(difference(met, nearest), 100.0 * bar);
    }
  }
}

TEST(Formulations, when_a_state_moves_expect_agreement_while_partitions_are_kept_and_changed)
{
  Random random(17);
  const Numbers start = random_numbers(random, 6, 3, 4, 1.0, 0.5);
  const Eigen::MatrixXd other = random.matrix(4, 3) * random.matrix(3, 6);
  std::vector<Solver> solvers;
  for (const std::string & id : ids())
  {
    solvers.emplace_back(id, start);
  }
  constexpr int kSteps = 500;
  for (int i = 0; i < kSteps; ++i)
  {
    // Two turns; every matrix between has the row space of a 3-row combination.
    const double angle = 4.0 * M_PI * i / kSteps;
    Numbers numbers = start;
    const Eigen::MatrixXd mixed = std::cos(angle) * start.A + std::sin(angle) * other;
    numbers.A = mixed;
    numbers.A.row(3) = mixed.row(0) + mixed.row(1);
    numbers.b = numbers.A * start.h;
    std::vector<Answer> answers;
    for (Solver & solver : solvers)
    {
      answers.push_back(solver.solve(numbers));
    }
    ASSERT_EQ(answers.front().status, Status::kOk);
    expect_agreement(answers, condition_of(numbers.Q, numbers.A, 3).bar());
  }
  const std::vector<std::string> names = ids();
  const auto repartitions = [&](const std::string & id)
  {
    const auto i = std::find(names.begin(), names.end(), id) - names.begin();
    return CoordinatePartition::factorisation(*solvers[static_cast<std::size_t>(i)].data)
      .repartition_count();
  };
  EXPECT_EQ(repartitions("coordinate_partition"), kSteps);
  EXPECT_LE(repartitions("coordinate_partition_selected"), 12);
  EXPECT_LE(repartitions("coordinate_partition_selected"), repartitions("kane_nonminimal"));
}

TEST(Formulations, when_solved_expect_gauss_minimum)
{
  // (E11): no other acceleration that satisfies the rows is closer to the free one.
  Random random(18);
  for (int i = 0; i < repetitions(); ++i)
  {
    const int n = random.integer(2, 9);
    const int rank = random.integer(1, n - 1);
    const Numbers numbers = random_numbers(random, n, rank, rank + random.integer(0, 3), 1.0, 0.5);
    const Eigen::VectorXd free = test::solve_definite(numbers.Q, numbers.h);
    const auto gauss = [&](const Eigen::VectorXd & x)
    { return (x - free).dot(numbers.Q * (x - free)); };
    const Eigen::MatrixXd kernel = test::kernel_of(numbers.A, 1e-9);
    ASSERT_EQ(kernel.cols(), n - rank);
    for (const std::string & id : ids())
    {
      const Answer answer = solve(id, numbers);
      ASSERT_EQ(answer.status, Status::kOk) << id;
      const Eigen::VectorXd & acceleration = answer.solution.acceleration;
      for (int k = 0; k < 3; ++k)
      {
        // Far enough that the rise, at least step² times the least inertia, is above rounding.
        const Eigen::VectorXd step = 1e-2 * (kernel * random.vector(kernel.cols())).normalized();
        EXPECT_GT(gauss(acceleration + step), gauss(acceleration)) << id;
        // And nothing is left of its slope along the rows.
        const double slope = step.dot(numbers.Q * (acceleration - free));
        EXPECT_LE(std::abs(slope), 1e-11 * step.norm() * (1.0 + acceleration.norm() + free.norm()))
          << id;
      }
    }
  }
}

TEST(CanonicalInversion, when_solved_expect_two_orthogonal_parts_of_any_root)
{
  Random random(19);
  for (int i = 0; i < repetitions(); ++i)
  {
    const int n = random.integer(2, 10);
    const int rank = random.integer(1, n);
    const Numbers numbers = random_numbers(random, n, rank, rank + random.integer(0, 3), 2.0, 1.0);
    const double bar = condition_of(numbers.Q, numbers.A, rank).bar();
    Solver solver("canonical_inversion", numbers);
    ASSERT_EQ(solver.solve(numbers).status, Status::kOk);
    const Eigen::VectorXd constraint = CanonicalInversion::constraint_part(*solver.data);
    const Eigen::VectorXd momentum = CanonicalInversion::momentum_part(*solver.data);
    Eigen::MatrixXd R(n, n);
    CanonicalInversion::root(*solver.data, R);
    EXPECT_LE((R.transpose() * R - numbers.Q).norm(), 1e-14 * n);
    const double product = constraint.dot(momentum);
    EXPECT_LE(std::abs(product), 1e-14 * n * (1.0 + constraint.norm() * momentum.norm()));
    EXPECT_LE(difference(R * solver.answer.solution.acceleration, constraint + momentum), bar);
    // The constraint part alone satisfies the rows.
    const Eigen::VectorXd constraint_only = R.triangularView<Eigen::Upper>().solve(constraint);
    EXPECT_LE(difference(numbers.A * constraint_only, numbers.b), bar);
    // Another root turns the parts, it does not change their lengths.
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(numbers.Q);
    const Eigen::MatrixXd rows = numbers.A * eigen.operatorInverseSqrt();
    Eigen::JacobiSVD<Eigen::MatrixXd> svd(rows, Eigen::ComputeThinU | Eigen::ComputeThinV);
    svd.setThreshold(1e-10);
    const Eigen::VectorXd other_constraint = svd.solve(numbers.b);
    const Eigen::VectorXd free = eigen.operatorInverseSqrt() * numbers.h;
    const Eigen::VectorXd other_momentum = free - svd.solve(rows * free);
    EXPECT_NEAR(constraint.norm(), other_constraint.norm(), bar * (1.0 + constraint.norm()));
    EXPECT_NEAR(momentum.norm(), other_momentum.norm(), bar * (1.0 + free.norm()));
  }
}

TEST(CanonicalInversion, when_the_inertia_changes_expect_rates_of_the_root_and_of_canonical_speeds)
{
  Random random(20);
  for (int i = 0; i < 50; ++i)
  {
    const int n = random.integer(1, 8);
    const int rank = random.integer(0, n);
    const Numbers numbers = random_numbers(random, n, rank, rank, 1.0, 0.5);
    Eigen::MatrixXd Q_rate = random.matrix(n, n);
    Q_rate = (0.1 * (Q_rate + Q_rate.transpose())).eval();
    const auto root_at = [&](double t)
    {
      const Eigen::LLT<Eigen::MatrixXd> cholesky(numbers.Q + t * Q_rate);
      return Eigen::MatrixXd(cholesky.matrixU());
    };
    Solver solver("canonical_inversion", numbers);
    ASSERT_EQ(solver.solve(numbers).status, Status::kOk);
    Eigen::MatrixXd R(n, n);
    Eigen::MatrixXd R_rate(n, n);
    CanonicalInversion::root(*solver.data, R);
    cholesky_root_rate(R, Q_rate, R_rate);
    EXPECT_LE((R_rate.transpose() * R + R.transpose() * R_rate - Q_rate).norm(), 1e-12);
    constexpr double kStep = 1e-6;
    const Eigen::MatrixXd by_differences = (root_at(kStep) - root_at(-kStep)) / (2.0 * kStep);
    EXPECT_LE((R_rate - by_differences).norm(), 1e-6 * (1.0 + R_rate.norm()));

    const Eigen::VectorXd u = random.vector(n);
    const Eigen::VectorXd & acceleration = solver.answer.solution.acceleration;
    Eigen::VectorXd canonical(n);
    CanonicalInversion::canonical_acceleration(*solver.data, R_rate, u, canonical);
    const auto canonical_speed = [&](double t)
    { return Eigen::VectorXd(root_at(t) * (u + t * acceleration)); };
    const Eigen::VectorXd speed_rate =
      (canonical_speed(kStep) - canonical_speed(-kStep)) / (2.0 * kStep);
    EXPECT_LE(difference(canonical, speed_rate), 1e-6);
  }
}

TEST(Projection, when_the_user_gives_a_complement_expect_the_same_answer)
{
  Random random(21);
  const Projection projection;
  for (int i = 0; i < repetitions(); ++i)
  {
    const int n = random.integer(2, 9);
    const int rank = random.integer(1, n - 1);
    const Numbers numbers = random_numbers(random, n, rank, rank + random.integer(0, 3), 1.0, 0.5);
    const Eigen::MatrixXd kernel = test::kernel_of(numbers.A, 1e-9);
    const Eigen::MatrixXd N =
      (random.orthogonal(n - rank) + 0.1 * Eigen::MatrixXd::Identity(n - rank, n - rank)) *
      kernel.transpose();
    Solver expected("projection", numbers);
    ASSERT_EQ(expected.solve(numbers).status, Status::kOk);
    Solver solver("projection", numbers);
    const auto solve_with = [&](const Eigen::MatrixXd & complement)
    {
      return projection.solve_with_complement(
        numbers.problem(), complement, RankOptions(), *solver.data, solver.answer.solution);
    };
    EXPECT_EQ(solve_with(N.topRows(n - rank - 1)), Status::kSizeMismatch);
    Eigen::MatrixXd bad = N;
    bad(0, n - 1) = std::numeric_limits<double>::quiet_NaN();
    EXPECT_EQ(solve_with(bad), Status::kNonFiniteInput);
    bad = N;
    bad.row(0).setZero();
    EXPECT_EQ(solve_with(bad), Status::kSingularInertia);
    EXPECT_EQ(solver.answer.solution.acceleration, Eigen::VectorXd::Constant(n, kUntouched));

    ASSERT_EQ(solve_with(N), Status::kOk);
    const double bar = 10.0 * condition_of(numbers.Q, numbers.A, rank).bar();
    const RowSolution & a = solver.answer.solution;
    const RowSolution & b = expected.answer.solution;
    EXPECT_LE(difference(a.acceleration, b.acceleration), bar);
    EXPECT_LE(difference(a.multipliers, b.multipliers), 10.0 * bar);

    bad = N + 0.1 * random.matrix(n - rank, n);
    EXPECT_EQ(solve_with(bad), Status::kInconsistent);
  }
}

TEST(CoordinatePartition, when_speeds_are_selected_expect_them_to_be_kept_while_they_serve)
{
  // One row that turns: with u2 independent K = −tan, with u1 −cot.
  Numbers numbers;
  numbers.Q = Eigen::MatrixXd::Identity(2, 2);
  numbers.h = Eigen::Vector2d(0.0, -9.81);
  numbers.A = Eigen::MatrixXd::Zero(1, 2);
  numbers.b = Eigen::VectorXd::Zero(1);
  numbers.nominal_rank = 1;
  unit_sizes(numbers);
  for (const int selected : {0, 1})
  {
    Solver solver(
      std::make_shared<CoordinatePartition>(
        CoordinatePartition::Mode::kSelected, std::vector<int>{selected}),
      numbers);
    const RowFactorisation & rows = CoordinatePartition::factorisation(*solver.data);
    for (int i = 0; i <= 1000; ++i)
    {
      // From the best to just before the worst position of the selected speed, then over it.
      const double angle = (selected == 0 ? M_PI / 2.0 : 0.0) + 0.5 * M_PI * i / 1000;
      numbers.A << std::cos(angle), std::sin(angle);
      ASSERT_EQ(solver.solve(numbers).status, Status::kOk);
      const Eigen::Vector2d tangent(-std::sin(angle), std::cos(angle));
      const Eigen::Vector2d expected = tangent * tangent.dot(numbers.h);
      ASSERT_LE((solver.answer.solution.acceleration - expected).norm(), 1e-11);
      if (i <= 980)
      {
        ASSERT_EQ(rows.order()(1), selected) << i;
        ASSERT_EQ(rows.repartition_count(), 0) << i;
      }
    }
    EXPECT_EQ(rows.repartition_count(), 1);
  }
  using Mode = CoordinatePartition::Mode;
  EXPECT_THROW(CoordinatePartition(Mode::kSelected, {0, 0}), std::invalid_argument);
  EXPECT_THROW(CoordinatePartition(Mode::kSelected, {-1}), std::invalid_argument);
  EXPECT_THROW(CoordinatePartition(Mode::kEveryStep, {1}), std::invalid_argument);
  EXPECT_THROW(CoordinatePartition(Mode::kSelected, {2}).make_data(2, 1), std::invalid_argument);
}

TEST(CoordinatePartition, when_zeros_come_and_go_expect_kept_pivots_and_agreement)
{
  Random random(27);
  long kept = 0;
  long solves = 0;
  for (int system = 0; system < repetitions() / 10; ++system)
  {
    // Rows that touch few speeds, as those of joints; some elements are zero for a while.
    const int n = random.integer(3, 30);
    const int rank = random.integer(1, n - 1);
    Numbers numbers = random_numbers(random, n, rank, rank, 1.0, 0.5);
    const Eigen::MatrixXd phases = 10.0 * random.matrix(rank, n);
    const Eigen::MatrixXd touched = Eigen::MatrixXd::NullaryExpr(
      rank, n, [&]() { return random.between(0.0, 1.0) < 3.0 / n ? 1.0 : 0.0; });
    Solver selected("coordinate_partition_selected", numbers);
    Solver reference("kane_nonminimal", numbers);
    for (int i = 0; i < 60; ++i)
    {
      const double time = 0.02 * i;
      for (Eigen::Index row = 0; row < rank; ++row)
      {
        for (Eigen::Index k = 0; k < n; ++k)
        {
          const double value = std::sin(time + phases(row, k));
          numbers.A(row, k) = touched(row, k) * (value < -0.8 ? 0.0 : value);
        }
        numbers.A(row, row) += 1.5;
      }
      numbers.b = numbers.A * numbers.h;
      const Condition condition = condition_of(numbers.Q, numbers.A, rank);
      const Answer & a = reference.solve(numbers);
      const Answer & b = selected.solve(numbers);
      // A poor estimate of the condition number may decide otherwise only where it is close.
      if (condition.rows < 1e4)
      {
        ASSERT_EQ(a.status, Status::kOk);
        ASSERT_EQ(b.status, Status::kOk);
        const double bar = condition.bar();
        EXPECT_LE(difference(a.solution.acceleration, b.solution.acceleration), bar);
        EXPECT_LE(difference(a.solution.multipliers, b.solution.multipliers), 10.0 * bar);
        EXPECT_GE(b.solution.condition, 0.1 * a.solution.condition);
        EXPECT_LE(b.solution.condition, 10.0 * a.solution.condition);
        ASSERT_EQ(
          selected.formulation->row_form().correct(
            numbers.problem(), RankOptions(), *selected.data, selected.answer.solution),
          Status::kOk);
        const Eigen::VectorXd & change = selected.answer.solution.acceleration;
        EXPECT_LE((numbers.A * change - numbers.b).norm(), bar * (1.0 + numbers.b.norm()));
        const Eigen::VectorXi & order = CoordinatePartition::factorisation(*selected.data).order();
        for (int k = rank; k < n; ++k)
        {
          EXPECT_EQ(change(order(k)), 0.0);
        }
      }
      ++solves;
    }
    const CoordinatePartition::Work work = CoordinatePartition::work(*selected.data);
    kept += work.kept;
    EXPECT_LE(3 * work.multiplications, static_cast<long>(rank) * rank * (rank + 2));
  }
  // A solve and a correction each; what zeros or pivots change is rare.
  EXPECT_GE(static_cast<double>(kept), 0.9 * 2.0 * static_cast<double>(solves));
}

TEST(Formulations, when_inertia_is_semidefinite_or_unsymmetric_expect_an_answer_or_a_refusal)
{
  Random random(22);
  for (int i = 0; i < repetitions(); ++i)
  {
    const int n = random.integer(3, 8);
    const int rank = random.integer(1, n - 2);
    Numbers numbers = random_numbers(random, n, rank, rank, 1.0, 0.5);
    if (i % 2 == 0)
    {
      // Singular along a direction that the rows do not leave free.
      const Eigen::VectorXd lost = numbers.A.row(0).transpose().normalized();
      const Eigen::MatrixXd keep = Eigen::MatrixXd::Identity(n, n) - lost * lost.transpose();
      numbers.Q = keep * numbers.Q * keep;
      numbers.Q = 0.5 * (numbers.Q + numbers.Q.transpose()).eval();
    }
    else
    {
      numbers.Q += 0.02 * random.matrix(n, n);
    }
    const Answer reference = solve("kane_nonminimal", numbers);
    ASSERT_EQ(reference.status, Status::kOk);
    for (const std::string & id : ids())
    {
      const Answer answer = solve(id, numbers);
      if (needs_positive_inertia(id))
      {
        EXPECT_EQ(answer.status, Status::kSingularInertia) << id;
        EXPECT_EQ(answer.solution.acceleration, Eigen::VectorXd::Constant(n, kUntouched)) << id;
        EXPECT_EQ(answer.solution.multipliers, Eigen::VectorXd::Constant(rank, kUntouched)) << id;
        continue;
      }
      ASSERT_EQ(answer.status, Status::kOk) << id;
      EXPECT_LE(difference(answer.solution.acceleration, reference.solution.acceleration), 1e-9)
        << id;
      EXPECT_LE(difference(answer.solution.multipliers, reference.solution.multipliers), 1e-8)
        << id;
    }
  }
}

TEST(Formulations, when_nothing_is_left_of_the_inertia_expect_singular_inertia)
{
  Random random(23);
  Numbers numbers = random_numbers(random, 5, 2, 2, 1.0, 0.5);
  numbers.Q.setZero();
  for (const std::string & id : ids())
  {
    const Answer answer = solve(id, numbers);
    EXPECT_EQ(answer.status, Status::kSingularInertia) << id;
    EXPECT_EQ(answer.solution.acceleration, Eigen::VectorXd::Constant(5, kUntouched)) << id;
  }
}

TEST(Formulations, when_numbers_are_not_finite_huge_or_tiny_expect_refusal_or_finite_outputs)
{
  Random random(24);
  const double values[] = {
    std::numeric_limits<double>::quiet_NaN(),
    std::numeric_limits<double>::infinity(),
    1e-308,
    1e-200,
    1e200,
    1e307};
  for (const std::string & id : ids())
  {
    for (const double value : values)
    {
      for (int which = 0; which < 4; ++which)
      {
        Numbers numbers = random_numbers(random, 4, 2, 2, 1.0, 0.5);
        (which == 0   ? numbers.Q(1, 1)
         : which == 1 ? numbers.h(3)
         : which == 2 ? numbers.A(1, 0)
                      : numbers.b(1)) = value;
        const Answer answer = solve(id, numbers);
        if (!std::isfinite(value))
        {
          EXPECT_EQ(answer.status, Status::kNonFiniteInput) << id;
        }
        if (has_output(answer.status))
        {
          EXPECT_TRUE(answer.solution.acceleration.allFinite()) << id;
          EXPECT_TRUE(answer.solution.constraint_force.allFinite()) << id;
          EXPECT_TRUE(answer.solution.multipliers.allFinite()) << id;
        }
        else
        {
          EXPECT_EQ(answer.solution.acceleration, Eigen::VectorXd::Constant(4, kUntouched)) << id;
        }
      }
    }
    Numbers numbers = random_numbers(random, 4, 2, 2, 1.0, 0.5);
    Solver solver(id, numbers);
    numbers.h = Eigen::VectorXd::Ones(3);
    EXPECT_EQ(solver.solve(numbers).status, Status::kSizeMismatch) << id;
  }
}

TEST(Formulations, when_solving_expect_no_allocation_on_any_path)
{
  Random random(25);
  std::vector<Numbers> cases;
  for (int i = 0; i < 20; ++i)
  {
    const int n = random.integer(2, 40);
    const int rank = random.integer(0, n);
    const int rows = rank == 0 ? 0 : rank + random.integer(0, 12);
    cases.push_back(random_numbers(random, n, rank, rows, 1.0, 1.0));
  }
  cases.push_back(random_numbers(random, 90, 60, 80, 1.0, 1.0));
  cases.push_back(random_numbers(random, 6, 2, 2, 1.0, 1.0));
  cases.back().Q += 0.02 * random.matrix(6, 6);  // unsymmetric
  cases.push_back(random_numbers(random, 6, 2, 2, 1.0, 1.0));
  cases.back().nominal_rank = 3;  // singular
  cases.push_back(random_numbers(random, 6, 2, 4, 1.0, 1.0));
  cases.back().b = random.vector(4);  // inconsistent
  cases.push_back(random_numbers(random, 6, 2, 2, 1.0, 1.0));
  cases.back().Q.setZero();
  cases.push_back(random_numbers(random, 6, 2, 2, 1.0, 1.0));
  cases.back().h(0) = std::numeric_limits<double>::quiet_NaN();
  const Projection projection;
  for (const Numbers & numbers : cases)
  {
    const RowProblem problem = numbers.problem();
    for (const std::string & id : ids())
    {
      Solver solver(id, numbers);
      Status statuses[2] = {Status::kOk, Status::kOk};
      for (Status & status : statuses)
      {
        const long before = test::allocation_count();
        status = solver.formulation->row_form().solve(
          problem, RankOptions(), *solver.data, solver.answer.solution);
        EXPECT_EQ(test::allocation_count() - before, 0)
          << id << " n " << numbers.Q.rows() << " m " << numbers.A.rows();
      }
      EXPECT_EQ(statuses[0], statuses[1]) << id;
      if (solver.formulation->has_independent_speeds())
      {
        const long before = test::allocation_count();
        const Status status = solver.formulation->row_form().correct(
          problem, RankOptions(), *solver.data, solver.answer.solution);
        EXPECT_EQ(test::allocation_count() - before, 0) << id;
        EXPECT_TRUE(has_output(status) || !numbers.h.allFinite()) << to_string(status);
      }
    }
    // What only some formulations have.
    const Eigen::Index n = numbers.Q.rows();
    Solver canonical("canonical_inversion", numbers);
    Solver projected("projection", numbers);
    if (!has_output(canonical.solve(numbers).status) || numbers.nominal_rank > numbers.A.rows())
    {
      continue;
    }
    Eigen::MatrixXd R(n, n);
    Eigen::MatrixXd R_rate(n, n);
    Eigen::VectorXd rate(n);
    const Eigen::MatrixXd rows = numbers.A.rows() > 0 ? numbers.A : Eigen::MatrixXd::Zero(1, n);
    const Eigen::MatrixXd N = numbers.nominal_rank == n
                                ? Eigen::MatrixXd(0, n)
                                : Eigen::MatrixXd(test::kernel_of(rows, 1e-9).transpose());
    const long before = test::allocation_count();
    CanonicalInversion::root(*canonical.data, R);
    cholesky_root_rate(R, numbers.Q, R_rate);
    CanonicalInversion::canonical_acceleration(*canonical.data, R_rate, numbers.h, rate);
    const Status status = projection.solve_with_complement(
      problem, N, RankOptions(), *projected.data, projected.answer.solution);
    EXPECT_EQ(test::allocation_count() - before, 0);
    EXPECT_EQ(status, canonical.answer.status);
  }
}

}  // namespace
}  // namespace constrained_dynamics
