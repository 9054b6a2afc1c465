// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// One cycle of the servo law on random systems, against dense linear algebra and brute force.

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <Eigen/Dense>

#include "constrained_dynamics/constraints/formula_constraint.hpp"
#include "constrained_dynamics/scenario/scenario.hpp"
#include "constrained_dynamics/servo/servo_law.hpp"
#include "support/allocation_counter.hpp"
#include "support/dense_algebra.hpp"

namespace constrained_dynamics::test
{
namespace
{

using Eigen::MatrixXd;
using Eigen::VectorXd;

const double kNaN = std::numeric_limits<double>::quiet_NaN();
const double kInf = std::numeric_limits<double>::infinity();

/// n coordinates with a constant inertia, springs and random inputs.
struct Plant
{
  Plant(unsigned seed, int n, int l, bool plain = false) : generator(seed), size(n)
  {
    const auto random = [&] { return normal(generator); };
    MatrixXd root = MatrixXd::NullaryExpr(n, n, random);
    const MatrixXd Q = plain ? MatrixXd(MatrixXd::Identity(n, n))
                             : MatrixXd(root * root.transpose() + 0.5 * MatrixXd::Identity(n, n));
    std::ostringstream text;
    text.precision(17);
    text << "name: plant\nsystem:\n  coordinates: [";
    for (int i = 0; i < n; ++i)
    {
      text << (i > 0 ? ", " : "") << "q" << i;
    }
    text << "]\n  kinetic: '0";
    for (int i = 0; i < n; ++i)
    {
      for (int j = 0; j < n; ++j)
      {
        text << " + (" << 0.5 * Q(i, j) << ")*dq" << i << "*dq" << j;
      }
    }
    text << "'\n  potential: '0";
    for (int i = 0; i < n; ++i)
    {
      text << " + (" << random() << ")*sin(q" << i << ")";
    }
    text << "'\n  inputs:\n";
    for (int k = 0; k < l; ++k)
    {
      text << "    tau" << k << ": {";
      for (int i = 0; i < n; ++i)
      {
        const double value = plain ? (i == k ? 1.0 : 0.0) : random();
        text << (i > 0 ? ", " : "") << "q" << i << ": " << value;
      }
      text << "}\n";
    }
    text << "initial: {q: {q0: 0}, u: {dq0: 0}}\n";
    system = Scenario::from_text(text.str()).dynamics()->constraints().shared_system();
    state.q = VectorXd::NullaryExpr(n, random);
    state.u = VectorXd::NullaryExpr(n, random);
  }

  /// A smooth row of all coordinates.
  std::string row()
  {
    std::ostringstream text;
    text.precision(17);
    text << "0";
    for (int i = 0; i < size; ++i)
    {
      text << " + (" << normal(generator) << ")*q" << i << " + (" << 0.3 * normal(generator)
           << ")*sin(q" << i << " + q" << (i + 1) % size << ")";
    }
    return text.str();
  }
  std::vector<std::string> rows(int count)
  {
    std::vector<std::string> result;
    for (int i = 0; i < count; ++i)
    {
      result.push_back(row());
    }
    return result;
  }
  std::shared_ptr<const Constraint> constraint(
    const std::string & name, const std::vector<std::string> & formulas) const
  {
    return std::make_shared<FormulaConstraint>(name, *system, RowLevel::kPosition, formulas);
  }
  ServoTask task(
    const std::string & name, const std::vector<std::string> & formulas, int priority = 0) const
  {
    return {
      std::make_shared<RowServo>(constraint(name, formulas), StartReference::kMeasured),
      ErrorDynamics{}, priority};
  }
  std::shared_ptr<const Dynamics> dynamics(
    std::vector<std::shared_ptr<const Constraint>> constraints = {}) const
  {
    return std::make_shared<Dynamics>(ConstraintSet(system, std::move(constraints)));
  }

  std::mt19937 generator;
  std::normal_distribution<double> normal;
  int size;
  std::shared_ptr<const System> system;
  State state;
};

/// A law with its workspace, prepared at a state, with random references.
struct Cycle
{
  Cycle(
    Plant & plant, std::shared_ptr<const Dynamics> dynamics, std::vector<ServoTask> tasks,
    ServoOptions options = {})
  : law(std::move(dynamics), std::move(tasks), std::move(options)),
    servo(law, plant.state),
    state(plant.state)
  {
  }

  Status evaluate() { return law.evaluate(state.time, state.q, state.u, servo); }
  void follow_random(Plant & plant)
  {
    for (int i = 0; i < static_cast<int>(law.tasks().size()); ++i)
    {
      servo.reference(i).acceleration = VectorXd::NullaryExpr(
        servo.reference(i).acceleration.size(),
        [&] { return 3.0 * plant.normal(plant.generator); });
    }
  }
  const ServoResult & result() const { return servo.result(); }
  const VectorXd & tau() const { return servo.result().inputs; }
  const VectorXd & motion() const { return servo.dynamics().solution().acceleration; }

  // Dense twins, from Q, G, A and A_s alone.
  const MatrixXd & Q() const { return servo.dynamics().terms().mass_matrix; }
  const MatrixXd & G() const { return servo.dynamics().terms().input_matrix; }
  /// Response of the motion to generalized forces, with the passive rows.
  MatrixXd compliance() const
  {
    const MatrixXd & A = servo.dynamics().rows().jacobian;
    const MatrixXd inverse = inverse_of(Q());
    if (A.rows() == 0)
    {
      return inverse;
    }
    const MatrixXd gram = A * inverse * A.transpose();
    return inverse - inverse * A.transpose() * pseudo_inverse(gram) * A * inverse;
  }
  MatrixXd S() const { return servo.rows().jacobian * compliance() * G(); }
  /// z = S τ − residual.
  VectorXd z() const { return S() * tau() - result().residual; }

  ServoLaw law;
  ServoWorkspace servo;
  State state;
};

ServoOptions with(ServoMetric metric)
{
  ServoOptions options;
  options.metric = metric;
  return options;
}

// ---- the two metrics
// ------------------------------------------------------------------------------

TEST(ServoCycle, when_S_has_full_column_rank_expect_both_metrics_to_agree)
{
  for (unsigned seed = 1; seed <= 10; ++seed)
  {
    SCOPED_TRACE(seed);
    Plant plant(seed, 5, 2);
    const auto dynamics = plant.dynamics({plant.constraint("loop", plant.rows(1))});
    const auto rows = plant.rows(2);
    Cycle smallest(plant, dynamics, {plant.task("task", rows)});
    Cycle ideal(plant, dynamics, {plant.task("task", rows)}, with(ServoMetric::kIdeal));
    smallest.follow_random(plant);
    ideal.servo.reference(0) = smallest.servo.reference(0);
    ASSERT_EQ(smallest.evaluate(), Status::kOk);
    ASSERT_EQ(ideal.evaluate(), Status::kOk);
    EXPECT_EQ(ideal.result().solution, ServoSolution::kOne);
    EXPECT_LT((smallest.tau() - ideal.tau()).norm(), 1e-9 * (1.0 + ideal.tau().norm()));
    EXPECT_FALSE(ideal.result().ideal);  // two inputs cannot act as the rows' forces do
  }
}

TEST(ServoCycle, when_the_effort_metric_is_the_identity_expect_both_metrics_to_agree)
{
  Plant plant(11, 5, 5, true);
  const auto rows = plant.rows(2);
  Cycle smallest(plant, plant.dynamics(), {plant.task("task", rows)});
  Cycle ideal(plant, plant.dynamics(), {plant.task("task", rows)}, with(ServoMetric::kIdeal));
  ASSERT_EQ(smallest.evaluate(), Status::kOk);
  ASSERT_EQ(ideal.evaluate(), Status::kOk);
  EXPECT_LT((smallest.tau() - ideal.tau()).norm(), 1e-11 * (1.0 + ideal.tau().norm()));
  EXPECT_TRUE(ideal.result().ideal);
}

TEST(ServoCycle, when_ideal_controls_exist_expect_the_motion_with_passive_rows)
{
  int ideal_count = 0;
  for (unsigned seed = 21; seed <= 40; ++seed)
  {
    SCOPED_TRACE(seed);
    // Full actuation, or one input too few.
    Plant plant(seed, 5, seed % 2 == 0 ? 5 : 3);
    const int passive_rows = static_cast<int>(seed % 3);
    std::vector<std::shared_ptr<const Constraint>> constraints;
    if (passive_rows > 0)
    {
      constraints.push_back(plant.constraint("loop", plant.rows(passive_rows)));
    }
    const auto rows = plant.rows(2);
    Cycle cycle(
      plant, plant.dynamics(constraints), {plant.task("task", rows)}, with(ServoMetric::kIdeal));
    ASSERT_EQ(cycle.evaluate(), Status::kOk);
    EXPECT_LT(cycle.result().residual.norm(), 1e-9);
    // The references hold the errors at zero: rows as passive constraints want the same u̇.
    constraints.push_back(plant.constraint("task", rows));
    const auto twin = plant.dynamics(constraints);
    Workspace workspace(*twin, plant.state);
    ASSERT_EQ(
      twin->solve(0.0, plant.state.q, plant.state.u, VectorXd::Zero(cycle.tau().size()), workspace),
      Status::kOk);
    const VectorXd & desired = workspace.solution().acceleration;
    const double miss = (cycle.motion() - desired).norm() / (1.0 + desired.norm());
    EXPECT_EQ(cycle.result().ideal, miss < 1e-7) << miss;
    ideal_count += cycle.result().ideal ? 1 : 0;
    if (seed % 2 == 0)
    {
      EXPECT_LT(miss, 1e-9);
    }
  }
  EXPECT_GE(ideal_count, 10);
  EXPECT_LT(ideal_count, 20);
}

TEST(ServoCycle, when_controls_are_ideal_expect_none_with_a_smaller_deviation)
{
  for (unsigned seed = 41; seed <= 46; ++seed)
  {
    SCOPED_TRACE(seed);
    Plant plant(seed, 6, 4);
    Cycle cycle(
      plant, plant.dynamics({plant.constraint("loop", plant.rows(1))}),
      {plant.task("task", plant.rows(2))}, with(ServoMetric::kIdeal));
    cycle.follow_random(plant);
    ASSERT_EQ(cycle.evaluate(), Status::kOk);
    const MatrixXd Y = cycle.compliance() * cycle.G();
    const MatrixXd null = null_space(cycle.S());
    ASSERT_EQ(null.cols(), cycle.result().null_dimension);
    const auto deviation = [&](const VectorXd & tau)
    { return (Y * tau).dot(cycle.Q() * (Y * tau)); };
    const double least = deviation(cycle.tau());
    for (int i = 0; i < 200; ++i)
    {
      const VectorXd x =
        VectorXd::NullaryExpr(null.cols(), [&] { return plant.normal(plant.generator); });
      const double scale = std::pow(10.0, -i % 5);
      EXPECT_GE(deviation(cycle.tau() + scale * null * x), least * (1.0 - 1e-12));
    }
  }
}

TEST(ServoCycle, when_rows_cannot_be_met_expect_the_smallest_of_the_stated_error)
{
  for (const ServoMetric metric : {ServoMetric::kMoorePenrose, ServoMetric::kIdeal})
  {
    for (unsigned seed = 51; seed <= 56; ++seed)
    {
      SCOPED_TRACE(seed);
      Plant plant(seed, 6, 2);
      Cycle cycle(
        plant, plant.dynamics({plant.constraint("loop", plant.rows(1))}),
        {plant.task("a", plant.rows(2)), plant.task("b", plant.rows(1))}, with(metric));
      cycle.follow_random(plant);
      ASSERT_EQ(cycle.evaluate(), Status::kInconsistent);
      EXPECT_EQ(cycle.result().solution, ServoSolution::kNone);
      EXPECT_TRUE(cycle.result().relaxed[0] || cycle.result().relaxed[1]);
      EXPECT_FALSE(cycle.result().ideal);
      const MatrixXd & A = cycle.servo.rows().jacobian;
      const MatrixXd weight = metric == ServoMetric::kIdeal
                                ? inverse_of(A * cycle.compliance() * A.transpose())
                                : MatrixXd(MatrixXd::Identity(3, 3));
      const MatrixXd S = cycle.S();
      const VectorXd z = cycle.z();
      const auto error = [&](const VectorXd & tau)
      { return (S * tau - z).dot(weight * (S * tau - z)); };
      const double least = error(cycle.tau());
      EXPECT_GT(least, 1e-6);
      for (int i = 0; i < 200; ++i)
      {
        const VectorXd x = VectorXd::NullaryExpr(2, [&] { return plant.normal(plant.generator); });
        EXPECT_GE(error(cycle.tau() + std::pow(10.0, -i % 6) * x), least * (1.0 - 1e-12));
      }
    }
  }
}

TEST(ServoCycle, when_passive_rows_repeat_expect_the_same_controls)
{
  Plant plant(61, 6, 4);
  const auto loop = plant.rows(2);
  const auto rows = plant.rows(3);
  for (const ServoMetric metric : {ServoMetric::kMoorePenrose, ServoMetric::kIdeal})
  {
    Cycle once(
      plant, plant.dynamics({plant.constraint("loop", loop)}), {plant.task("task", rows)},
      with(metric));
    Cycle thrice(
      plant,
      plant.dynamics(
        {plant.constraint("loop", loop), plant.constraint("again", loop),
         plant.constraint("sum", {loop[0] + " + " + loop[1]})}),
      {plant.task("task", rows)}, with(metric));
    ASSERT_EQ(once.evaluate(), Status::kOk);
    ASSERT_EQ(thrice.evaluate(), Status::kOk);
    EXPECT_LT((once.tau() - thrice.tau()).norm(), 1e-9 * (1.0 + once.tau().norm()));
    EXPECT_LT((once.motion() - thrice.motion()).norm(), 1e-9 * (1.0 + once.motion().norm()));
  }
}

// ---- levels, switches, gains
// ----------------------------------------------------------------------

TEST(ServoCycle, when_there_are_levels_expect_dense_projections_one_after_the_other)
{
  for (unsigned seed = 71; seed <= 80; ++seed)
  {
    SCOPED_TRACE(seed);
    Plant plant(seed, 7, 5);
    Cycle cycle(
      plant, plant.dynamics({plant.constraint("loop", plant.rows(1))}),
      {plant.task("last", plant.rows(3), 7), plant.task("first", plant.rows(2), -1),
       plant.task("second", plant.rows(2), 0)});
    cycle.follow_random(plant);
    ASSERT_EQ(cycle.evaluate(), Status::kOk);
    const MatrixXd S = cycle.S();
    const VectorXd z = cycle.z();
    VectorXd tau = VectorXd::Zero(5);
    MatrixXd Z = MatrixXd::Identity(5, 5);
    for (const auto & [begin, count] : std::vector<std::pair<int, int>>{{3, 2}, {5, 2}, {0, 3}})
    {
      const MatrixXd W = S.middleRows(begin, count) * Z;
      const VectorXd left = z.segment(begin, count) - S.middleRows(begin, count) * tau;
      tau += Z * solve_least_squares(W, left);
      Z = Z * null_space(W);
    }
    EXPECT_LT((cycle.tau() - tau).norm(), 1e-8 * (1.0 + tau.norm()));
    EXPECT_EQ(cycle.result().relaxed, (std::vector<bool>{true, false, false}));
    EXPECT_NE(cycle.result().solution, ServoSolution::kNone);
  }
}

/// Two tasks of two rows that contradict each other on three controls.
std::vector<ServoTask> contradiction(Plant & plant)
{
  return {plant.task("a", plant.rows(2)), plant.task("b", plant.rows(2))};
}

TEST(ServoCycle, when_tasks_of_a_level_contradict_expect_weighted_least_squares)
{
  for (const ServoMetric metric : {ServoMetric::kMoorePenrose, ServoMetric::kIdeal})
  {
    for (unsigned seed = 301; seed <= 308; ++seed)
    {
      SCOPED_TRACE(seed);
      Plant plant(seed, 6, 3);
      std::vector<ServoTask> tasks = contradiction(plant);
      tasks[0].weight = std::pow(10.0, plant.normal(plant.generator));
      tasks[1].weight = std::pow(10.0, plant.normal(plant.generator));
      Cycle cycle(
        plant, plant.dynamics({plant.constraint("loop", plant.rows(1))}), tasks, with(metric));
      cycle.follow_random(plant);
      ASSERT_EQ(cycle.evaluate(), Status::kInconsistent);
      const VectorXd root = (VectorXd(4) << std::sqrt(tasks[0].weight), std::sqrt(tasks[0].weight),
                             std::sqrt(tasks[1].weight), std::sqrt(tasks[1].weight))
                              .finished();
      MatrixXd S = root.asDiagonal() * cycle.S();
      VectorXd z = root.cwiseProduct(cycle.z());
      if (metric == ServoMetric::kIdeal)
      {
        const MatrixXd & A = cycle.servo.rows().jacobian;
        const MatrixXd L = (A * cycle.compliance() * A.transpose()).llt().matrixL();
        S = inverse_of(L) * S;
        z = inverse_of(L) * z;
      }
      const VectorXd tau = solve_least_squares(S, z);
      EXPECT_LT((cycle.tau() - tau).norm(), 1e-8 * (1.0 + tau.norm()));
    }
  }
}

TEST(ServoCycle, when_weights_are_one_expect_the_same_bits_and_when_equal_the_same_controls)
{
  for (const ServoMetric metric : {ServoMetric::kMoorePenrose, ServoMetric::kIdeal})
  {
    Plant plant(311, 6, 3);
    const std::vector<ServoTask> tasks = contradiction(plant);
    Cycle plain(plant, plant.dynamics(), tasks, with(metric));
    Cycle weighted(plant, plant.dynamics(), tasks, with(metric));
    plain.follow_random(plant);
    for (int i = 0; i < 2; ++i)
    {
      weighted.servo.reference(i) = plain.servo.reference(i);
      ASSERT_TRUE(weighted.servo.set_weight(i, 3.0));
    }
    ASSERT_EQ(plain.evaluate(), Status::kInconsistent);
    ASSERT_EQ(weighted.evaluate(), Status::kInconsistent);
    EXPECT_LT((weighted.tau() - plain.tau()).norm(), 1e-10 * (1.0 + plain.tau().norm()));
    for (int i = 0; i < 2; ++i)
    {
      ASSERT_TRUE(weighted.servo.set_weight(i, 1.0));
      EXPECT_EQ(weighted.servo.weight(i), 1.0);
      for (const double wrong : {0.0, -1.0, 9e-7, 1.1e6, kInf, kNaN})
      {
        EXPECT_FALSE(weighted.servo.set_weight(i, wrong));
      }
      EXPECT_EQ(weighted.servo.weight(i), 1.0);
    }
    ASSERT_EQ(weighted.evaluate(), Status::kInconsistent);
    EXPECT_EQ(weighted.tau(), plain.tau());
  }
}

TEST(ServoCycle, when_the_ratio_of_weights_grows_expect_the_strict_order)
{
  Plant plant(321, 6, 3);
  std::vector<ServoTask> tasks = contradiction(plant);
  Cycle weighted(plant, plant.dynamics(), tasks);
  tasks[1].priority = 1;
  Cycle strict(plant, plant.dynamics(), tasks);
  weighted.follow_random(plant);
  strict.servo.reference(0) = weighted.servo.reference(0);
  strict.servo.reference(1) = weighted.servo.reference(1);
  ASSERT_EQ(strict.evaluate(), Status::kOk);
  double last = kInf;
  for (const double weight : {1e1, 1e2, 1e3, 1e4, 1e5, 1e6})
  {
    // The ratio grows by 100 a step, and the distance falls with it.
    ASSERT_TRUE(weighted.servo.set_weight(0, weight));
    ASSERT_TRUE(weighted.servo.set_weight(1, 1.0 / weight));
    ASSERT_TRUE(has_output(weighted.evaluate()));
    EXPECT_FALSE(weighted.result().damped);
    const double distance = (weighted.tau() - strict.tau()).norm() / strict.tau().norm();
    EXPECT_LT(distance, std::max(0.03 * last, 1e-9)) << weight;
    last = distance;
  }
  EXPECT_LT(last, 1e-8);
}

TEST(ServoCycle, when_weights_meet_bounds_expect_the_smallest_weighted_error_within_them)
{
  for (unsigned seed = 331; seed <= 334; ++seed)
  {
    SCOPED_TRACE(seed);
    Plant plant(seed, 5, 3);
    std::vector<ServoTask> tasks = contradiction(plant);
    tasks[0].weight = 30.0;
    Cycle free(plant, plant.dynamics(), tasks);
    free.follow_random(plant);
    ASSERT_TRUE(has_output(free.evaluate()));
    ServoOptions options;
    options.limits.upper = 0.5 * free.tau().cwiseAbs();
    options.limits.lower = -options.limits.upper;
    Cycle cycle(plant, plant.dynamics(), tasks, options);
    cycle.servo.reference(0) = free.servo.reference(0);
    cycle.servo.reference(1) = free.servo.reference(1);
    ASSERT_EQ(cycle.evaluate(), Status::kLimited);
    const MatrixXd S = cycle.S();
    const VectorXd z = cycle.z();
    const auto error = [&](const VectorXd & tau)
    {
      const VectorXd e = S * tau - z;
      return 30.0 * e.head(2).squaredNorm() + e.tail(2).squaredNorm();
    };
    const double least = error(cycle.tau());
    for (int i = 0; i < 500; ++i)
    {
      const VectorXd step = VectorXd::NullaryExpr(3, [&] { return plant.normal(plant.generator); });
      const VectorXd tau = (cycle.tau() + std::pow(10.0, -i % 6) * step)
                             .cwiseMax(options.limits.lower)
                             .cwiseMin(options.limits.upper);
      EXPECT_GE(error(tau), least * (1.0 - 1e-9));
    }
  }
}

TEST(ServoCycle, when_tasks_and_contacts_come_and_go_expect_no_allocation_and_the_prepared_law)
{
  Plant plant(341, 8, 6);
  const std::vector<std::string> wall = plant.rows(1);
  std::vector<std::string> thin = plant.rows(1);
  thin.push_back("2*(" + thin[0] + ")");
  const auto dynamics =
    plant.dynamics({plant.constraint("wall", wall), plant.constraint("floor", plant.rows(2))});
  const std::vector<ServoTask> tasks = {
    plant.task("a", plant.rows(2)), plant.task("b", thin, 1), plant.task("c", plant.rows(3), 1),
    plant.task("d", plant.rows(6), 2)};
  Cycle live(plant, dynamics, tasks);
  live.follow_random(plant);
  for (int i = 0; i < 60; ++i)
  {
    SCOPED_TRACE(i);
    const int bits = std::uniform_int_distribution<int>(0, 63)(plant.generator);
    const long before = allocation_count();
    for (int k = 0; k < 4; ++k)
    {
      live.servo.set_enabled(k, (bits >> k & 1) == 0);
    }
    live.servo.dynamics().set_active(0, (bits & 16) == 0);
    live.servo.dynamics().set_active(1, (bits & 32) == 0);
    const Status status = live.evaluate();
    EXPECT_EQ(allocation_count(), before);
    ASSERT_TRUE(has_output(status)) << to_string(status);
    // A workspace that was prepared with these tasks and contacts.
    Cycle prepared(plant, dynamics, tasks);
    for (int k = 0; k < 4; ++k)
    {
      prepared.servo.set_enabled(k, (bits >> k & 1) == 0);
    }
    prepared.servo.dynamics().set_active(0, (bits & 16) == 0);
    prepared.servo.dynamics().set_active(1, (bits & 32) == 0);
    prepared.law.reset(prepared.state, prepared.servo);
    for (int k = 0; k < 4; ++k)
    {
      prepared.servo.reference(k) = live.servo.reference(k);
    }
    ASSERT_EQ(prepared.evaluate(), status);
    EXPECT_LT((live.tau() - prepared.tau()).norm(), 1e-8 * (1.0 + prepared.tau().norm()));
    EXPECT_EQ(live.result().rank, prepared.result().rank);
  }
}

TEST(ServoCycle, when_a_task_is_off_expect_the_law_without_it_whatever_its_numbers)
{
  Plant plant(91, 6, 4);
  const auto kept = plant.rows(2);
  // Three rows of rank 1 and two of rank 2: ranks of the prepared law do not hold without `extra`.
  const std::string row = plant.row();
  const std::vector<std::string> thin = {row, "2*(" + row + ")", "-(" + row + ")"};
  Cycle both(plant, plant.dynamics(), {plant.task("thin", thin), plant.task("extra", kept)});
  Cycle alone(plant, plant.dynamics(), {plant.task("thin", thin)});
  both.servo.set_enabled(1, false);
  both.servo.reference(1).acceleration.setConstant(kNaN);
  both.servo.error_dynamics(1).position = kNaN;
  ASSERT_EQ(alone.evaluate(), Status::kOk);
  ASSERT_EQ(both.evaluate(), Status::kOk);
  EXPECT_LT((both.tau() - alone.tau()).norm(), 1e-10 * (1.0 + alone.tau().norm()));
  EXPECT_EQ(both.result().rank, 1);
  EXPECT_FALSE(both.result().relaxed[1]);
  EXPECT_TRUE(both.result().residual.tail(2).isZero(0.0));
  both.servo.set_enabled(1, true);
  EXPECT_FALSE(has_output(both.evaluate()));  // now they count
}

TEST(ServoCycle, when_gains_change_live_expect_the_law_that_was_built_with_them)
{
  Plant plant(92, 4, 4);
  const auto rows = plant.rows(2);
  const ErrorDynamics gains = ErrorDynamics::from_gains(
    Eigen::MatrixXd{{-3.0, 1.0}, {0.0, -2.0}}, Eigen::MatrixXd{{-5.0, 0.0}, {1.0, -7.0}}, -1.0);
  Cycle live(plant, plant.dynamics(), {plant.task("task", rows)});
  ServoTask task = plant.task("task", rows);
  task.error_dynamics = gains;
  Cycle built(plant, plant.dynamics(), {task});
  live.servo.error_dynamics(0) = gains;
  for (Cycle * cycle : {&live, &built})
  {
    cycle->servo.reference(0).position.array() += 0.1;
    cycle->servo.reference(0).velocity.array() -= 0.2;
    ASSERT_EQ(cycle->evaluate(), Status::kOk);
  }
  EXPECT_EQ(live.tau(), built.tau());
  // Θ1 ė + Θ2 e by hand.
  const VectorXd e = live.result().error;
  const VectorXd rate = live.result().error_rate;
  const VectorXd desired =
    live.servo.rows().bias + gains.velocity.matrix() * rate + gains.position.matrix() * e;
  EXPECT_LT((live.servo.rows().jacobian * live.motion() - desired).norm(), 1e-10);
}

TEST(ServoCycle, when_a_contact_is_switched_expect_ranks_of_what_is_left)
{
  // The task has the direction that the constraint takes away, and desires what it allows.
  Plant plant(93, 4, 4);
  const std::string wall = plant.row();
  std::vector<std::string> rows = plant.rows(2);
  rows.push_back(wall);
  Cycle cycle(
    plant, plant.dynamics({plant.constraint("wall", {wall})}), {plant.task("task", rows)});
  ASSERT_EQ(cycle.evaluate(), Status::kOk);
  EXPECT_EQ(cycle.result().rank, 2);
  cycle.servo.dynamics().set_active(0, false);
  ASSERT_EQ(cycle.evaluate(), Status::kOk);
  EXPECT_EQ(cycle.result().rank, 3);
  EXPECT_LT(cycle.result().residual.norm(), 1e-10);
  cycle.law.reset(cycle.state, cycle.servo);
  cycle.servo.dynamics().set_active(0, true);
  ASSERT_EQ(cycle.evaluate(), Status::kOk);
  EXPECT_EQ(cycle.result().rank, 2);
}

TEST(ServoCycle, when_forces_are_desired_expect_them_and_the_motion)
{
  Plant plant(94, 6, 5);
  const auto dynamics = plant.dynamics(
    {plant.constraint("loop", plant.rows(2)), plant.constraint("wall", plant.rows(1))});
  for (const ServoMetric metric : {ServoMetric::kMoorePenrose, ServoMetric::kIdeal})
  {
    std::vector<ServoTask> tasks = {plant.task("task", plant.rows(2))};
    tasks.push_back({std::make_shared<ForceServo>("push", dynamics->constraints(), "wall"), {}, 0});
    Cycle cycle(plant, dynamics, tasks, with(metric));
    cycle.follow_random(plant);
    cycle.servo.reference(1).position(0) = 12.5;
    ASSERT_EQ(cycle.evaluate(), Status::kOk);
    EXPECT_NEAR(cycle.servo.dynamics().solution().multipliers(2), 12.5, 1e-9);
    EXPECT_NEAR(cycle.result().error(2), 0.0, 1e-9);
    EXPECT_LT(cycle.result().residual.norm(), 1e-9);
    // An inactive wall has no force: the task is missed, and said to be.
    cycle.servo.dynamics().set_active(1, false);
    EXPECT_EQ(cycle.evaluate(), Status::kInconsistent);
    EXPECT_TRUE(cycle.result().relaxed[1]);
    EXPECT_FALSE(cycle.result().relaxed[0]);
  }
}

// ---- null space
// ------------------------------------------------------------------------------------

TEST(ServoCycle, when_y_comes_from_strategies_expect_no_change_of_the_rows)
{
  Plant plant(101, 5, 5);
  const auto rows = plant.rows(2);
  ServoOptions options;
  options.null_space = {
    std::make_shared<JointDamping>(*plant.system, 3.0),
    std::make_shared<Posture>(
      *plant.system, std::vector<std::pair<std::string, double>>{{"q1", 0.5}, {"q3", -1.0}}, 7.0,
      0.5)};
  for (const ServoMetric metric : {ServoMetric::kMoorePenrose, ServoMetric::kIdeal})
  {
    options.metric = metric;
    Cycle cycle(plant, plant.dynamics(), {plant.task("task", rows)}, options);
    cycle.follow_random(plant);
    cycle.servo.external_null_vector().setLinSpaced(-1.0, 1.0);
    ASSERT_EQ(cycle.evaluate(), Status::kOk);
    VectorXd force = -3.0 * plant.state.u;
    force(1) += 7.0 * (0.5 - plant.state.q(1)) - 0.5 * plant.state.u(1);
    force(3) += 7.0 * (-1.0 - plant.state.q(3)) - 0.5 * plant.state.u(3);
    const VectorXd y = cycle.G().transpose() * force + VectorXd(VectorXd::LinSpaced(5, -1.0, 1.0));
    EXPECT_LT((cycle.servo.null_vector() - y).norm(), 1e-12 * y.norm());
    EXPECT_LT((cycle.S() * cycle.result().null_part).norm(), 1e-10 * y.norm());
    EXPECT_GT(cycle.result().null_part.norm(), 1e-2);
    EXPECT_EQ(cycle.result().null_dimension, 3);
    EXPECT_LT(cycle.result().residual.norm(), 1e-10 * (1.0 + cycle.z().norm()));
  }
}

// ---- limits
// ----------------------------------------------------------------------------------------

/// The smallest ‖S τ − z‖² within a box: all combinations of free and bound inputs.
double brute_force(
  const MatrixXd & S, const VectorXd & z, const VectorXd & low, const VectorXd & up)
{
  const Eigen::Index l = S.cols();
  double best = kInf;
  for (int code = 0; code < std::pow(3, l); ++code)
  {
    VectorXd tau(l);
    std::vector<Eigen::Index> open;
    int rest = code;
    for (Eigen::Index i = 0; i < l; ++i, rest /= 3)
    {
      tau(i) = rest % 3 == 1 ? low(i) : rest % 3 == 2 ? up(i) : 0.0;
      if (rest % 3 == 0)
      {
        open.push_back(i);
      }
    }
    if (!open.empty())
    {
      MatrixXd part(S.rows(), static_cast<Eigen::Index>(open.size()));
      for (std::size_t k = 0; k < open.size(); ++k)
      {
        part.col(static_cast<Eigen::Index>(k)) = S.col(open[k]);
      }
      const VectorXd x = solve_least_squares(part, z - S * tau);
      for (std::size_t k = 0; k < open.size(); ++k)
      {
        tau(open[k]) = x(static_cast<Eigen::Index>(k));
      }
    }
    const bool inside =
      (tau.array() >= low.array() - 1e-12).all() && (tau.array() <= up.array() + 1e-12).all();
    best = inside ? std::min(best, (S * tau - z).squaredNorm()) : best;
  }
  return best;
}

TEST(ServoCycle, when_bounds_bind_expect_the_brute_force_minimum)
{
  int limited = 0;
  for (unsigned seed = 111; seed <= 150; ++seed)
  {
    SCOPED_TRACE(seed);
    Plant plant(seed, 5, 3);
    ServoOptions options;
    options.limits.lower = VectorXd::Constant(3, -2.0);
    options.limits.upper = VectorXd::Constant(3, 3.0);
    Cycle cycle(
      plant, plant.dynamics({plant.constraint("loop", plant.rows(1))}),
      {plant.task("task", plant.rows(1 + static_cast<int>(seed % 3)))}, options);
    cycle.follow_random(plant);
    const Status status = cycle.evaluate();
    ASSERT_TRUE(status == Status::kOk || status == Status::kLimited) << to_string(status);
    ASSERT_EQ(cycle.result().limited, status == Status::kLimited);
    ASSERT_TRUE((cycle.tau().array() >= -2.0).all() && (cycle.tau().array() <= 3.0).all());
    const double least =
      brute_force(cycle.S(), cycle.z(), options.limits.lower, options.limits.upper);
    const double found = cycle.result().residual.squaredNorm();
    EXPECT_LE(found, least + 1e-8 * (1.0 + least));
    EXPECT_GE(found, least - 1e-8 * (1.0 + least));
    limited += cycle.result().limited ? 1 : 0;
    EXPECT_EQ(cycle.result().relaxed[0], least > 1e-10) << least;
  }
  EXPECT_GT(limited, 5);
}

TEST(ServoCycle, when_a_bound_begins_to_bind_expect_no_jump)
{
  for (const ServoMetric metric : {ServoMetric::kMoorePenrose, ServoMetric::kIdeal})
  {
    for (const int rows : {1, 2, 4})
    {
      SCOPED_TRACE(std::string(to_string(metric)) + ", rows " + std::to_string(rows));
      Plant plant(161, 5, 3);
      ServoOptions options = with(metric);
      options.limits.lower = VectorXd::Constant(3, -4.0);
      options.limits.upper = VectorXd::Constant(3, 4.0);
      Cycle cycle(plant, plant.dynamics(), {plant.task("task", plant.rows(rows))}, options);
      cycle.follow_random(plant);
      const VectorXd desired = cycle.servo.reference(0).acceleration;
      VectorXd last;
      int changes = 0;
      bool was_limited = false;
      double largest = 0.0;   // where a limit begins or ends to bind
      double ordinary = 0.0;  // elsewhere
      for (int i = 0; i <= 4000; ++i)
      {
        cycle.servo.reference(0).acceleration = desired * (i * 5e-3 - 10.0);
        ASSERT_TRUE(has_output(cycle.evaluate()));
        if (last.size() > 0)
        {
          const bool change = was_limited != cycle.result().limited;
          double & step = change ? largest : ordinary;
          step = std::max(step, (cycle.tau() - last).norm());
          changes += change ? 1 : 0;
        }
        was_limited = cycle.result().limited;
        last = cycle.tau();
      }
      EXPECT_GE(changes, 1);
      // τ is continuous and piecewise linear in the desired acceleration.
      EXPECT_LT(largest, 1.01 * ordinary);
      EXPECT_LT(ordinary, 1.0);
    }
  }
}

TEST(ServoCycle, when_the_rate_is_limited_expect_steps_within_it)
{
  Plant plant(171, 4, 3);
  ServoOptions options;
  options.limits.rate = VectorXd::Constant(3, 50.0);
  options.period = 0.01;
  Cycle cycle(plant, plant.dynamics(), {plant.task("task", plant.rows(2))}, options);
  cycle.follow_random(plant);
  ASSERT_EQ(cycle.evaluate(), Status::kOk);  // the first is free
  VectorXd last = cycle.tau();
  cycle.servo.reference(0).acceleration.array() += 30.0;
  int limited = 0;
  for (int i = 0; i < 200; ++i)
  {
    ASSERT_TRUE(has_output(cycle.evaluate()));
    ASSERT_LE((cycle.tau() - last).cwiseAbs().maxCoeff(), 0.5 + 1e-12);
    last = cycle.tau();
    limited += cycle.result().limited ? 1 : 0;
  }
  EXPECT_GT(limited, 2);
  EXPECT_FALSE(cycle.result().limited);  // it has arrived
  EXPECT_LT(cycle.result().residual.norm(), 1e-9);
  cycle.servo.set_last_inputs(VectorXd::Constant(3, 100.0));
  ASSERT_EQ(cycle.evaluate(), Status::kLimited);
  EXPECT_LE((cycle.tau().array() - 100.0).abs().maxCoeff(), 0.5 + 1e-9);
}

TEST(ServoCycle, when_cones_cannot_be_met_expect_word_of_it_and_controls_within_bounds)
{
  // q1 is the height above a ground, q0 the way along it; both have a motor, gravity is a force law.
  const std::string text =
    "name: block\nsystem:\n  coordinates: [x, y]\n  kinetic: dx^2/2 + dy^2/2\n  potential: 10*y\n"
    "  inputs: {fx: {x: 1}, fy: {y: 1}}\n"
    "constraints:\n  - {name: ground, type: formula, level: position, rows: {t: x, n: y}}\n"
    "initial: {q: {x: 0, y: 0}}\n";
  const Scenario scenario = Scenario::from_text(text);
  const auto dynamics = scenario.dynamics();
  const auto law_with = [&](double least_push)
  {
    ServoOptions options;
    options.limits.lower = VectorXd::Constant(2, -50.0);
    options.limits.upper = VectorXd::Constant(2, 50.0);
    options.cones = {{"ground", "n", {"t"}, 0.5, least_push, -1.0}};
    return std::make_unique<ServoLaw>(
      dynamics,
      std::vector<ServoTask>{
        {std::make_shared<ForceServo>("push", dynamics->constraints(), "ground"), {}, 0}},
      options);
  };
  const auto law = law_with(0.0);
  ServoWorkspace servo(*law, scenario.initial());
  // λ_n = 10 − fy, λ_t = −fx: the desired (20, 10) is out of the cone |λ_t| ≤ λ_n/2.
  servo.reference(0).position << 20.0, 10.0;
  ASSERT_EQ(
    law->evaluate(0.0, scenario.initial().q, scenario.initial().u, servo), Status::kLimited);
  const VectorXd lambda = servo.dynamics().solution().multipliers;
  // The closest point of the cone: along (1, 2)/√5.
  EXPECT_NEAR(lambda(0), 8.0, 1e-6);
  EXPECT_NEAR(lambda(1), 16.0, 1e-6);
  EXPECT_TRUE(servo.result().cones_met);
  EXPECT_TRUE(servo.result().relaxed[0]);
  // 80 N of push take fy = −70: out of bounds.
  const auto impossible = law_with(80.0);
  ServoWorkspace other(*impossible, scenario.initial());
  const Status status =
    impossible->evaluate(0.0, scenario.initial().q, scenario.initial().u, other);
  EXPECT_TRUE(has_output(status)) << to_string(status);
  EXPECT_NE(status, Status::kOk);
  EXPECT_FALSE(other.result().cones_met);
  EXPECT_LE(other.result().inputs.cwiseAbs().maxCoeff(), 50.0);
}

}  // namespace
}  // namespace constrained_dynamics::test
