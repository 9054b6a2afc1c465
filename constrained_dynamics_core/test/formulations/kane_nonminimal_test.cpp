// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <cmath>
#include <limits>

#include <gtest/gtest.h>
#include <Eigen/Dense>

#include "constrained_dynamics/formulations/kane_nonminimal.hpp"
#include "support/allocation_counter.hpp"
#include "support/dense_algebra.hpp"
#include "support/row_problems.hpp"

namespace constrained_dynamics
{
namespace
{

using test::Random;

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

/// A problem that owns its numbers, and a solver with its memory.
struct Case : test::Numbers
{
  Status solve(RankOptions options = {})
  {
    if (!data)
    {
      data = formulation.make_data(static_cast<int>(Q.rows()), static_cast<int>(A.rows()));
      solution.acceleration.setConstant(Q.rows(), 77.0);
      solution.constraint_force.setConstant(Q.rows(), 77.0);
      solution.multipliers.setConstant(A.rows(), 77.0);
      solution.redundancy.setConstant(A.rows(), 77.0);
      test::unit_sizes(*this);
    }
    return formulation.solve(problem(), options, *data, solution);
  }

  KaneNonminimal formulation;
  std::unique_ptr<FormulationData> data;
  RowSolution solution;
};

Case random_case(Random & random, int n, int rank, int rows)
{
  Case result;
  result.Q = random.positive_definite(n);
  result.h = random.vector(n);
  const Eigen::MatrixXd base = random.matrix(rank, n);
  const Eigen::MatrixXd mix = random.matrix(rows, rank);
  result.A = rows == rank ? base : Eigen::MatrixXd(mix * base);
  result.b = result.A * random.vector(n);
  result.nominal_rank = rank;
  return result;
}

TEST(KaneNonminimal, when_rows_are_independent_expect_udwadia_kalaba_and_kkt)
{
  Random random(1);
  for (int i = 0; i < 400; ++i)
  {
    const int n = random.integer(1, 12);
    const int m = random.integer(1, n);
    Case c = random_case(random, n, m, m);
    ASSERT_EQ(c.solve(), Status::kOk);
    const double bar = test::condition_of(c.Q, c.A, c.nominal_rank).bar();
    const Eigen::VectorXd expected = test::by_symmetric_root(c);
    EXPECT_LE((c.solution.acceleration - expected).norm(), bar * (1.0 + expected.norm()));

    Eigen::MatrixXd kkt = Eigen::MatrixXd::Zero(n + m, n + m);
    kkt.topLeftCorner(n, n) = c.Q;
    kkt.topRightCorner(n, m) = -c.A.transpose();
    kkt.bottomLeftCorner(m, n) = c.A;
    Eigen::VectorXd right(n + m);
    right << c.h, c.b;
    const Eigen::VectorXd both = test::solve_regular(kkt, right);
    const double wrench_bar = 10.0 * bar * (1.0 + both.tail(m).norm());
    EXPECT_LE((c.solution.multipliers - both.tail(m)).norm(), wrench_bar);
    EXPECT_LE(
      (c.A.transpose() * c.solution.multipliers - c.solution.constraint_force).norm(),
      bar * (1.0 + c.solution.constraint_force.norm()));
    EXPECT_EQ(c.solution.rank, m);
  }
}

TEST(KaneNonminimal, when_equations_are_asked_for_expect_t_and_v_that_give_the_same_motion)
{
  // (E6), by a dense LU of T.
  Random random(10);
  for (int i = 0; i < 400; ++i)
  {
    const int n = random.integer(1, 12);
    const int rank = random.integer(0, n);
    Case c = random_case(random, n, rank, rank == 0 ? 0 : rank + random.integer(0, 3));
    if (i % 4 == 0)
    {
      c.Q += 0.005 * random.matrix(n, n);  // accelerations in active forces
    }
    ASSERT_EQ(c.solve(), Status::kOk);
    Eigen::MatrixXd T(n, n);
    Eigen::VectorXd V(n);
    const long before = test::allocation_count();
    KaneNonminimal::equations(*c.data, T, V);
    EXPECT_EQ(test::allocation_count() - before, 0);
    const Eigen::MatrixXd A1 = T.topRows(rank);
    Eigen::MatrixXd A2(0, n);
    if (rank < n)
    {
      A2 = test::solve_regular(c.Q.transpose(), T.bottomRows(n - rank).transpose()).transpose();
    }
    EXPECT_EQ(test::rank_of(T), n);
    const Eigen::VectorXd expected = test::solve_regular(T, V);
    const Eigen::MatrixXd symmetric = 0.5 * (c.Q + c.Q.transpose());
    const double bar = test::condition_of(symmetric, c.A, rank).bar();
    const double inertia = test::condition_of(symmetric, c.A, rank).inertia;
    EXPECT_LE(test::difference(c.solution.acceleration, expected), bar);
    // Of (E5): A1 and A2 are orthogonal, and A1 has the rows of A and their β.
    EXPECT_LE((A1 * A2.transpose()).norm(), 1e-13 * inertia * (1.0 + A1.norm() * A2.norm()));
    EXPECT_LE((c.A * A2.transpose()).norm(), 1e-13 * inertia * (1.0 + c.A.norm() * A2.norm()));
    EXPECT_LE(test::difference(A1 * c.solution.acceleration, V.head(rank)), bar);
    EXPECT_LE(test::difference(A2 * c.h, V.tail(n - rank)), 1e-13 * inertia);
  }
}

TEST(KaneNonminimal, when_there_is_no_row_expect_the_free_acceleration)
{
  Random random(9);
  Case c = random_case(random, 5, 0, 0);
  ASSERT_EQ(c.solve(), Status::kOk);
  EXPECT_LE((c.Q * c.solution.acceleration - c.h).norm(), 1e-12 * c.h.norm());
  EXPECT_LE(c.solution.constraint_force.norm(), 1e-12 * c.h.norm());
}

TEST(KaneNonminimal, when_solved_expect_gauss_minimum)
{
  // (E11): no other acceleration that satisfies the rows is closer to the free one.
  Random random(2);
  for (int i = 0; i < 100; ++i)
  {
    const int n = random.integer(2, 9);
    const int m = random.integer(1, n - 1);
    Case c = random_case(random, n, m, m);
    ASSERT_EQ(c.solve(), Status::kOk);
    const Eigen::VectorXd a = test::solve_definite(c.Q, c.h);
    const auto gauss = [&](const Eigen::VectorXd & x) { return (x - a).dot(c.Q * (x - a)); };
    const Eigen::MatrixXd kernel = test::kernel_of(c.A);
    const double least = gauss(c.solution.acceleration);
    for (int k = 0; k < 5; ++k)
    {
      const Eigen::VectorXd other =
        c.solution.acceleration + 1e-3 * kernel * random.vector(kernel.cols());
      EXPECT_GT(gauss(other), least);
    }
  }
}

TEST(KaneNonminimal, when_rows_are_redundant_expect_the_independent_set)
{
  Random random(3);
  for (int i = 0; i < 200; ++i)
  {
    const int n = random.integer(2, 12);
    const int rank = random.integer(1, n);
    Case c = random_case(random, n, rank, rank + random.integer(1, 8));
    ASSERT_EQ(c.solve(), Status::kOk);
    const double bar = test::condition_of(c.Q, c.A, c.nominal_rank).bar();
    const Eigen::VectorXd expected = test::by_symmetric_root(c);
    EXPECT_LE((c.solution.acceleration - expected).norm(), bar * (1.0 + expected.norm()));
    EXPECT_EQ(c.solution.rank, rank);
    // Least norm: λ lies in the range of A.
    const Eigen::VectorXd & lambda = c.solution.multipliers;
    const Eigen::VectorXd in_range = c.A * test::solve_least_squares(c.A, lambda, 1e-10);
    EXPECT_LE((in_range - lambda).norm(), 1e-9 * (1.0 + lambda.norm()));
    EXPECT_LE(
      (c.A.transpose() * lambda - c.solution.constraint_force).norm(),
      10.0 * bar * (1.0 + c.solution.constraint_force.norm()));
  }
}

TEST(KaneNonminimal, when_a_constraint_is_given_many_times_expect_the_force_shared_equally)
{
  Random random(4);
  for (int copies = 2; copies <= 10; ++copies)
  {
    Case once = random_case(random, 7, 3, 3);
    ASSERT_EQ(once.solve(), Status::kOk);
    Case many;
    many.Q = once.Q;
    many.h = once.h;
    many.A = once.A.replicate(copies, 1);
    many.b = once.b.replicate(copies, 1);
    many.nominal_rank = 3;
    ASSERT_EQ(many.solve(), Status::kOk);
    EXPECT_LE((many.solution.acceleration - once.solution.acceleration).norm(), 1e-10);
    for (int k = 0; k < copies; ++k)
    {
      const Eigen::VectorXd share = many.solution.multipliers.segment(3 * k, 3);
      EXPECT_LE((copies * share - once.solution.multipliers).norm(), 1e-9);
    }
    EXPECT_GT(many.solution.redundancy.minCoeff(), 0.5);
  }
}

TEST(KaneNonminimal, when_one_row_is_needed_and_others_repeat_expect_redundancy_to_tell)
{
  Case c;
  c.Q = Eigen::MatrixXd::Identity(4, 4);
  c.h = Eigen::VectorXd::Ones(4);
  c.A = Eigen::MatrixXd::Zero(3, 4);
  c.A(0, 0) = 1.0;
  c.A(1, 1) = 2.0;
  c.A(2, 1) = -5.0;
  c.b = Eigen::VectorXd::Zero(3);
  c.nominal_rank = 2;
  ASSERT_EQ(c.solve(), Status::kOk);
  EXPECT_LT(c.solution.redundancy(0), 1e-12);
  EXPECT_GT(c.solution.redundancy(1), 0.1);
  EXPECT_GT(c.solution.redundancy(2), 0.1);
}

TEST(KaneNonminimal, when_rows_contradict_expect_inconsistent_and_the_nearest_rows)
{
  Case c;
  c.Q = Eigen::MatrixXd::Identity(2, 2);
  c.h = Eigen::VectorXd::Zero(2);
  c.A = Eigen::MatrixXd::Zero(2, 2);
  c.A(0, 0) = 1.0;
  c.A(1, 0) = 1.0;
  c.b = Eigen::Vector2d(1.0, 3.0);
  c.nominal_rank = 1;
  EXPECT_EQ(c.solve(), Status::kInconsistent);
  EXPECT_NEAR(c.solution.acceleration(0), 2.0, 1e-14);
  EXPECT_NEAR(c.solution.acceleration(1), 0.0, 1e-14);
  EXPECT_GT(c.solution.inconsistency, 0.1);
}

TEST(KaneNonminimal, when_a_direction_fades_expect_right_answers_then_singular_and_bounded)
{
  // Two rows that become parallel: the second is the first plus a part of size d.
  for (double exponent = -1.0; exponent >= -14.0; exponent -= 0.5)
  {
    const double d = std::pow(10.0, exponent);
    Case c;
    c.Q = Eigen::Vector3d(2.0, 3.0, 5.0).asDiagonal();
    c.h = Eigen::Vector3d(1.0, -1.0, 0.5);
    c.A.resize(2, 3);
    c.A << 1.0, 1.0, 0.0, 1.0, 1.0, d;
    c.b = c.A * Eigen::Vector3d(0.3, -0.7, 0.9);
    c.nominal_rank = 2;
    const Status status = c.solve();
    if (d > 1e-7)
    {
      EXPECT_EQ(status, Status::kOk) << d;
      // u̇_3 = 0.9 exactly, whatever d; what the difference of the rows leaves is ε/d.
      EXPECT_NEAR(c.solution.acceleration(2), 0.9, 10.0 * kEpsilon / d + 1e-14);
    }
    if (d < 1e-9)
    {
      EXPECT_EQ(status, Status::kSingular) << d;
      EXPECT_LE(c.solution.acceleration.norm(), 10.0);
      EXPECT_LE(c.solution.multipliers.norm(), 100.0);
    }
    ASSERT_TRUE(has_output(status));
  }
}

TEST(KaneNonminimal, when_nominally_redundant_rows_drift_apart_expect_no_locking)
{
  // Beside its manifold a redundant row differs from the others by 1e-7: still one constraint.
  Case c;
  c.Q = Eigen::MatrixXd::Identity(3, 3);
  c.h = Eigen::Vector3d(1.0, 2.0, 3.0);
  c.A.resize(2, 3);
  c.A << 1.0, 0.0, 0.0, 1.0, 1e-7, 0.0;
  c.b = Eigen::Vector2d::Zero();
  c.nominal_rank = 1;
  EXPECT_EQ(c.solve(), Status::kOk);
  EXPECT_EQ(c.solution.rank, 1);
  EXPECT_NEAR(c.solution.acceleration(1), 2.0, 1e-6);
  // Farther away, the rows that were treated as one have a noticeable residual, and the status
  // reports it.
  c.A(1, 1) = 1e-4;
  EXPECT_EQ(c.solve(), Status::kInconsistent);
  EXPECT_EQ(c.solution.rank, 1);
  EXPECT_NEAR(c.solution.acceleration(1), 2.0, 1e-3);
  // What is clearly a row of its own counts as one, whatever its nominal rank.
  c.A(1, 1) = 0.1;
  EXPECT_EQ(c.solve(), Status::kOk);
  EXPECT_EQ(c.solution.rank, 2);
  EXPECT_NEAR(c.solution.acceleration(1), 0.0, 1e-14);
}

TEST(KaneNonminimal, when_inertia_is_semidefinite_but_enough_expect_a_solution)
{
  // Q vanishes along u3; a row ties u3 to u1, so A2 Q A2ᵀ is positive definite.
  Case c;
  c.Q = Eigen::Vector3d(1.0, 2.0, 0.0).asDiagonal();
  c.h = Eigen::Vector3d(1.0, 4.0, 0.5);
  c.A.resize(1, 3);
  c.A << 1.0, 0.0, -1.0;
  c.b = Eigen::VectorXd::Zero(1);
  c.nominal_rank = 1;
  ASSERT_EQ(c.solve(), Status::kOk);
  EXPECT_NEAR(c.solution.acceleration(0), 1.5, 1e-14);
  EXPECT_NEAR(c.solution.acceleration(1), 2.0, 1e-14);
  EXPECT_NEAR(c.solution.acceleration(2), 1.5, 1e-14);
}

TEST(KaneNonminimal, when_inertia_is_missing_expect_singular_inertia_and_untouched_outputs)
{
  Case c;
  c.Q = Eigen::Vector3d(1.0, 2.0, 0.0).asDiagonal();
  c.h = Eigen::Vector3d(1.0, 4.0, 0.5);
  c.A.resize(1, 3);
  c.A << 1.0, 0.0, 0.0;
  c.b = Eigen::VectorXd::Zero(1);
  c.nominal_rank = 1;
  EXPECT_EQ(c.solve(), Status::kSingularInertia);
  EXPECT_EQ(c.solution.acceleration, Eigen::VectorXd::Constant(3, 77.0));
  EXPECT_EQ(c.solution.multipliers, Eigen::VectorXd::Constant(1, 77.0));
}

TEST(KaneNonminimal, when_inertia_is_not_symmetric_expect_both_equations_to_hold)
{
  Random random(5);
  for (int i = 0; i < 100; ++i)
  {
    Case c = random_case(random, 6, 2, 2);
    c.Q += 0.3 * random.matrix(6, 6);
    const Status status = c.solve();
    if (!has_output(status))
    {
      continue;
    }
    EXPECT_LE((c.A * c.solution.acceleration - c.b).norm(), 1e-10);
    const Eigen::VectorXd left = c.Q * c.solution.acceleration - c.h;
    EXPECT_LE((left - c.A.transpose() * c.solution.multipliers).norm(), 1e-9 * (1.0 + left.norm()));
  }
}

TEST(KaneNonminimal, when_any_number_is_not_finite_expect_refusal_and_untouched_outputs)
{
  Random random(6);
  const double bad[] = {
    std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
    -std::numeric_limits<double>::infinity()};
  for (const double value : bad)
  {
    for (int which = 0; which < 4; ++which)
    {
      Case c = random_case(random, 4, 2, 2);
      (which == 0 ? c.Q(1, 2) : which == 1 ? c.h(3) : which == 2 ? c.A(1, 0) : c.b(1)) = value;
      EXPECT_EQ(c.solve(), Status::kNonFiniteInput);
      EXPECT_EQ(c.solution.acceleration, Eigen::VectorXd::Constant(4, 77.0));
    }
  }
}

TEST(KaneNonminimal, when_numbers_are_huge_or_tiny_expect_no_nan_under_ok)
{
  Random random(7);
  for (const double size : {1e-308, 1e-200, 1e-30, 1e30, 1e200, 1e307})
  {
    for (int which = 0; which < 4; ++which)
    {
      Case c = random_case(random, 4, 2, 2);
      (which == 0 ? c.Q(0, 0) : which == 1 ? c.h(1) : which == 2 ? c.A(0, 2) : c.b(0)) = size;
      if (has_output(c.solve()))
      {
        EXPECT_TRUE(c.solution.acceleration.allFinite());
        EXPECT_TRUE(c.solution.multipliers.allFinite());
        EXPECT_TRUE(c.solution.constraint_force.allFinite());
      }
    }
  }
}

TEST(KaneNonminimal, when_the_state_moves_slowly_expect_the_partition_to_stay)
{
  // A planar direction that turns once: K = −tan or −cot would blow up without a new choice.
  Case c;
  c.Q = Eigen::MatrixXd::Identity(2, 2);
  c.h = Eigen::Vector2d(0.0, -9.81);
  c.A.resize(1, 2);
  c.b = Eigen::VectorXd::Zero(1);
  c.nominal_rank = 1;
  constexpr int kSteps = 10000;
  for (int i = 0; i < kSteps; ++i)
  {
    const double angle = 2.0 * M_PI * i / kSteps;
    c.A << std::cos(angle), std::sin(angle);
    ASSERT_EQ(c.solve(), Status::kOk);
    const RowFactorisation & rows = KaneNonminimal::factorisation(*c.data);
    ASSERT_LE(rows.dependency().cwiseAbs().maxCoeff(), RankOptions().partition_limit);
    // u̇ = g projected on the tangent.
    const Eigen::Vector2d tangent(-std::sin(angle), std::cos(angle));
    ASSERT_LE((c.solution.acceleration - tangent * tangent.dot(c.h)).norm(), 1e-13);
  }
  // Four quadrants, with hysteresis: some few changes, not thousands.
  EXPECT_LE(KaneNonminimal::factorisation(*c.data).repartition_count(), 6);
}

TEST(KaneNonminimal, when_solving_expect_no_allocation_on_any_path)
{
  Random random(8);
  std::vector<Case> cases;
  for (int i = 0; i < 20; ++i)
  {
    const int n = random.integer(2, 40);
    const int rank = random.integer(1, n);
    cases.push_back(random_case(random, n, rank, rank + random.integer(0, 12)));
  }
  cases.push_back(random_case(random, 90, 60, 80));
  cases.push_back(random_case(random, 6, 2, 2));
  cases.back().Q += 0.1 * random.matrix(6, 6);
  cases.push_back(random_case(random, 6, 2, 2));
  cases.back().nominal_rank = 3;
  cases.push_back(random_case(random, 6, 2, 2));
  cases.back().Q.setZero();
  cases.push_back(random_case(random, 6, 2, 2));
  cases.back().h(0) = std::numeric_limits<double>::quiet_NaN();
  for (Case & c : cases)
  {
    const Status first = c.solve();
    const long before = test::allocation_count();
    const Status second = c.solve();
    EXPECT_EQ(test::allocation_count() - before, 0) << "n " << c.Q.rows() << " m " << c.A.rows();
    EXPECT_EQ(first, second);
  }
}

}  // namespace
}  // namespace constrained_dynamics
