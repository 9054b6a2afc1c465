// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/servo/servo_law.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <Eigen/Dense>

#include "constrained_dynamics/constraints/formula_constraint.hpp"
#include "constrained_dynamics/scenario/scenario.hpp"
#include "servo/level_solver.hpp"
#include "support/dense_algebra.hpp"
#include "support/reference_data.hpp"
#include "support/robot_data.hpp"

namespace constrained_dynamics::test
{
namespace
{

using Eigen::MatrixXd;
using Eigen::VectorXd;

MatrixXd random_matrix(std::mt19937 & generator, Eigen::Index rows, Eigen::Index cols)
{
  std::normal_distribution<double> normal;
  return MatrixXd::NullaryExpr(rows, cols, [&] { return normal(generator); });
}

LevelSolver::Rows rows_of(
  const MatrixXd & S, const VectorXd & z, const VectorXd & size, int nominal)
{
  return {S.transpose(), z, size, nominal, nullptr};
}

// ---- levels ------------------------------------------------------------------------------------

TEST(LevelSolver, when_one_level_expect_the_moore_penrose_solution_and_its_null_part)
{
  std::mt19937 generator(1);
  for (int i = 0; i < 200; ++i)
  {
    const Eigen::Index l = 1 + i % 9;
    const Eigen::Index m = 1 + (i / 9) % 7;
    const MatrixXd S = random_matrix(generator, m, l);
    const VectorXd z = random_matrix(generator, m, 1);
    const VectorXd y = random_matrix(generator, l, 1);
    const VectorXd size = S.rowwise().norm();
    LevelSolver solver(static_cast<int>(l), static_cast<int>(m));
    solver.begin(nullptr);
    const auto level = solver.solve(rows_of(S, z, size, static_cast<int>(std::min(m, l))), 1e-6);
    const MatrixXd inverse = pseudo_inverse(S);
    EXPECT_EQ(level.rank, std::min(m, l));
    EXPECT_FALSE(level.damped);
    EXPECT_LT((solver.solution() - inverse * z).norm(), 1e-11 * (1.0 + (inverse * z).norm()));
    VectorXd null_part(l);
    solver.null_part(y, null_part);
    EXPECT_LT((null_part - (y - inverse * (S * y))).norm(), 1e-11 * (1.0 + y.norm()));
    EXPECT_EQ(solver.open_dimension(), std::max<Eigen::Index>(l - m, 0));
  }
}

TEST(LevelSolver, when_rows_repeat_expect_the_moore_penrose_solution)
{
  std::mt19937 generator(2);
  for (int i = 0; i < 50; ++i)
  {
    const MatrixXd part = random_matrix(generator, 2, 5);
    MatrixXd S(4, 5);
    S << part, part.row(0) - part.row(1), 2.0 * part.row(1);
    const VectorXd z = random_matrix(generator, 4, 1);
    LevelSolver solver(5, 4);
    solver.begin(nullptr);
    const auto level = solver.solve(rows_of(S, z, S.rowwise().norm(), 2), 1e-6);
    EXPECT_EQ(level.rank, 2);
    EXPECT_FALSE(level.damped);
    EXPECT_LT((solver.solution() - pseudo_inverse(S) * z).norm(), 1e-11 * z.norm() * 10.0);
    EXPECT_EQ(solver.open_dimension(), 3);
  }
}

TEST(LevelSolver, when_metric_is_given_expect_the_smallest_in_it)
{
  std::mt19937 generator(3);
  for (int i = 0; i < 100; ++i)
  {
    const Eigen::Index l = 6;
    const Eigen::Index m = 3;
    // Every third metric is semidefinite: some controls have no effect, on the rows neither.
    const Eigen::Index p = i % 3 == 0 ? 4 : 8;
    const MatrixXd C = random_matrix(generator, p, l);
    const MatrixXd H = C.transpose() * C;
    const MatrixXd S = random_matrix(generator, m, p) * C;
    const VectorXd z = random_matrix(generator, m, 1);
    LevelSolver solver(l, m);
    solver.begin(&H);
    solver.solve(rows_of(S, z, S.rowwise().norm(), m), 1e-6);
    const VectorXd tau = solver.solution();
    EXPECT_LT((S * tau - z).norm(), 1e-10 * (1.0 + z.norm()));
    // Stationary along the null space of S.
    const MatrixXd null = MatrixXd::Identity(l, l) - pseudo_inverse(S) * S;
    EXPECT_LT((null * (H * tau)).norm(), 1e-9 * (1.0 + (H * tau).norm()));
    const VectorXd y = random_matrix(generator, l, 1);
    VectorXd null_part(l);
    solver.null_part(y, null_part);
    EXPECT_LT((S * null_part).norm(), 1e-10 * S.norm() * y.norm());
    // y itself where it changes nothing already.
    VectorXd again(l);
    solver.null_part(null_part, again);
    EXPECT_LT((again - null_part).norm(), 1e-9 * (1.0 + null_part.norm()));
  }
}

TEST(LevelSolver, when_levels_contradict_expect_the_first_kept_and_the_second_closest)
{
  std::mt19937 generator(4);
  for (int i = 0; i < 100; ++i)
  {
    const Eigen::Index l = 5;
    const MatrixXd S1 = random_matrix(generator, 3, l);
    const MatrixXd S2 = random_matrix(generator, 4, l);
    const VectorXd z1 = random_matrix(generator, 3, 1);
    const VectorXd z2 = random_matrix(generator, 4, 1);
    LevelSolver solver(l, 4);
    solver.begin(nullptr);
    solver.solve(rows_of(S1, z1, S1.rowwise().norm(), 3), 1e-9);
    solver.solve(rows_of(S2, z2, S2.rowwise().norm(), 2), 1e-9);
    const VectorXd tau = solver.solution();
    EXPECT_LT((S1 * tau - z1).norm(), 1e-10);
    // The second level's error cannot be made smaller without giving up the first.
    const MatrixXd open = MatrixXd::Identity(l, l) - pseudo_inverse(S1) * S1;
    EXPECT_LT((open * S2.transpose() * (S2 * tau - z2)).norm(), 1e-9);
    EXPECT_EQ(solver.open_dimension(), 0);
  }
}

TEST(LevelSolver, when_a_direction_is_lost_expect_bounded_controls_and_word_of_it)
{
  // One row that shrinks: 1/σ up to the tolerance, bounded below it, no jump at the edge.
  const double tolerance = 1e-3;
  double last = 0.0;
  for (double sigma = 1.0; sigma > 1e-16; sigma *= 0.9)
  {
    const MatrixXd S = MatrixXd::Constant(1, 1, sigma);
    LevelSolver solver(1, 1);
    solver.begin(nullptr);
    const auto level = solver.solve(rows_of(S, VectorXd::Ones(1), VectorXd::Ones(1), 1), tolerance);
    const double tau = solver.solution()(0);
    EXPECT_LE(tau, 1.3 / tolerance);
    EXPECT_GE(tau, 0.0);
    if (sigma > 2.0 * tolerance)
    {
      EXPECT_FALSE(level.damped);
      EXPECT_NEAR(tau, 1.0 / sigma, 1e-12 / sigma);
    }
    EXPECT_EQ(level.damped, sigma < tolerance) << sigma;
    EXPECT_LT(std::abs(tau - last), 0.3 / tolerance);
    last = tau;
  }
}

// ---- reduction ---------------------------------------------------------------------------------

class ReductionOf : public testing::TestWithParam<const char *>
{
};

TEST_P(ReductionOf, when_inputs_are_random_expect_what_a_solve_gives)
{
  if (lacks_robot(GetParam()))
  {
    GTEST_SKIP() << "example-robot-data is not installed";
  }
  const Scenario scenario = load_scenario(GetParam());
  const Dynamics & dynamics = *scenario.dynamics();
  Workspace workspace = Workspace::unanalysed(dynamics);
  scenario.switch_constraints(workspace);
  Workspace other = Workspace::unanalysed(dynamics);
  scenario.switch_constraints(other);
  const State & at = scenario.initial();
  workspace.reset(at);
  other.reset(at);
  Reduction reduction(dynamics);
  std::mt19937 generator(5);
  for (int i = 0; i < 20; ++i)
  {
    const VectorXd tau = random_matrix(generator, dynamics.system().input_count(), 1) * 10.0;
    ASSERT_EQ(dynamics.set_state(at.time, at.q, at.u, workspace), Status::kOk);
    ASSERT_TRUE(has_output(dynamics.reduce(workspace, reduction, {true, true})));
    ASSERT_TRUE(has_output(dynamics.solve(tau, reduction, workspace)));
    ASSERT_TRUE(has_output(dynamics.solve(at.time, at.q, at.u, tau, other)));
    const Solution & ours = workspace.solution();
    const Solution & theirs = other.solution();
    const double size = 1.0 + theirs.acceleration.norm();
    EXPECT_LT((ours.acceleration - theirs.acceleration).norm(), 1e-9 * size);
    EXPECT_LT(
      (ours.multipliers - theirs.multipliers).norm(), 1e-9 * (1.0 + theirs.multipliers.norm()));
    const VectorXd multipliers =
      reduction.free_multipliers() + reduction.multiplier_response() * tau;
    EXPECT_LT((multipliers - ours.multipliers).norm(), 1e-9 * (1.0 + multipliers.norm()));
    // H of two ways: Gᵀ Y, and the kinetic energy of the response.
    const MatrixXd & Y = reduction.input_response();
    const MatrixXd H = Y.transpose() * workspace.terms().mass_matrix * Y;
    EXPECT_LT((H - reduction.effort_metric()).norm(), 1e-9 * (1e-12 + H.norm()));
  }
}

INSTANTIATE_TEST_SUITE_P(
  Systems, ReductionOf,
  testing::Values("panda_cutter", "thesis_5_1", "four_bar", "bricard", "gear_train_robot"));

// ---- the thesis' examples ----------------------------------------------------------------------

/// E − E_f of example 7.1 (with T28 of the errata), and the trajectory (497).
const char * const kEnergy =
  "I_D/2*dtheta1^2 + I_B/2*dtheta2^2"
  " + m_B/2*(R^2*dtheta1^2 + L^2/4*dtheta2^2 + R*L*dtheta1*dtheta2*cos(theta1 - theta2))"
  " + m_B*g*(R*(1 - cos(theta1)) + L/2*(1 - cos(theta2))) - 1";

struct DoublePendulum
{
  explicit DoublePendulum(const YAML::Node & parameters)
  {
    std::vector<std::string> overrides;
    for (const char * name : {"R", "L", "m_B", "I_D", "I_B", "g"})
    {
      overrides.push_back(set(name, parameters[name].as<double>()));
      names.parameters.emplace_back(name, parameters[name].as<double>());
    }
    // The obstacle is no part of 7.1.
    overrides.push_back("constraints.obstacle.active=false");
    scenario = std::make_unique<Scenario>(load_scenario("thesis_5_1", overrides));
    dynamics = std::make_shared<Dynamics>(
      ConstraintSet(scenario->dynamics()->constraints().shared_system()));
  }

  std::shared_ptr<const ServoConstraint> row(
    const std::string & name, RowLevel level, const std::string & formula) const
  {
    return std::make_shared<RowServo>(std::make_shared<FormulaConstraint>(
      name, dynamics->system(), level, std::vector<std::string>{formula}, names));
  }

  FormulaNames names;
  std::unique_ptr<Scenario> scenario;
  std::shared_ptr<const Dynamics> dynamics;
};

TEST(ThesisServo, when_7_1_at_random_states_expect_the_reference_controls)
{
  for (const YAML::Node & shot : load_reference("thesis_7_1")["oneshots"])
  {
    if (!shot["tau_mp"])
    {
      continue;
    }
    const DoublePendulum pendulum(shot["params"]);
    const ErrorDynamics gains = ErrorDynamics::from_gains(-1.0, -1.0, -1.0);
    const State state{0.0, to_vector(shot["theta"]), to_vector(shot["u"])};
    const auto check = [&](ServoMetric metric, const VectorXd & y, const char * suffix)
    {
      ServoOptions options;
      options.metric = metric;
      const ServoLaw law(
        pendulum.dynamics, {{pendulum.row("energy", RowLevel::kVelocity, kEnergy), gains}},
        options);
      ServoWorkspace servo(law, state);
      servo.external_null_vector() = y;
      ASSERT_EQ(law.evaluate(0.0, state.q, state.u, servo), Status::kOk);
      const ServoResult & result = servo.result();
      expect_relative(result.inputs, to_vector(shot[std::string("tau_") + suffix]), 1e-11, suffix);
      expect_relative(
        servo.dynamics().solution().acceleration, to_vector(shot[std::string("udot_") + suffix]),
        1e-11, suffix);
      EXPECT_EQ(result.ideal, metric == ServoMetric::kIdeal);
      EXPECT_EQ(result.solution, ServoSolution::kMany);
      EXPECT_EQ(result.null_dimension, 1);
      EXPECT_NEAR(result.error(0), shot["E"].as<double>() - 1.0, 1e-13);
    };
    check(ServoMetric::kMoorePenrose, VectorXd::Zero(2), "mp");
    check(ServoMetric::kMoorePenrose, to_vector(shot["y"]), "mp_y");
    check(ServoMetric::kIdeal, VectorXd::Zero(2), "ideal");
  }
}

TEST(ServoLawReset, when_rows_say_their_value_expect_it_kept_and_quantities_measured)
{
  // The law of the file itself: it drives the energy to E_f, whatever it is at the start.
  const Scenario scenario = load_scenario("thesis_7_1", {"servo_law.metric=moore_penrose"});
  const auto law = scenario.servo_law();
  ServoWorkspace servo(*law, scenario.initial());
  const State & state = scenario.initial();
  ASSERT_EQ(law->evaluate(0.0, state.q, state.u, servo), Status::kOk);
  EXPECT_GT(servo.result().inputs.norm(), 1e-2);
  EXPECT_GT(std::abs(servo.result().error(0)), 1e-2);
  // What was set before stays.
  servo.reference(0).velocity(0) = 0.25;
  law->reset(state, servo);
  EXPECT_EQ(servo.reference(0).velocity(0), 0.25);
  // Without references of the drive the rows' own value counts, too.
  ServoInputLaw alone(law);
  alone.start(state);
  EXPECT_TRUE(alone.servo().reference(0).velocity.isZero(0.0));
  // A joint without a value, or a formula that is a quantity, holds what is there.
  const Scenario holding = Scenario::from_text(
    "system: {coordinates: [a, b], kinetic: da^2 + db^2, inputs: {ta: {a: 1}, tb: {b: 1}}}\n"
    "servo:\n  - {name: joint, type: joint, joint: a}\n"
    "  - {name: valued, type: joint, joint: b, value: 0.7}\n"
    "initial: {q: {a: 0.4, b: 0.2}}\n");
  const auto joints = holding.servo_law();
  ServoWorkspace workspace(*joints, holding.initial());
  EXPECT_EQ(workspace.reference(0).position(0), 0.4);
  EXPECT_EQ(workspace.reference(1).position(0), 0.0);
  ASSERT_EQ(
    joints->evaluate(0.0, holding.initial().q, holding.initial().u, workspace), Status::kOk);
  EXPECT_NEAR(workspace.result().error(0), 0.0, 1e-15);
  EXPECT_NEAR(workspace.result().error(1), -0.5, 1e-15);
}

/// Θ2 of the trajectory (497), which is E − E_f's companion in (498) to (502).
const char * const kTrajectory = "R*cos(theta1) + L*sin(theta2)";

TEST(ThesisServo, when_7_1_has_two_rows_expect_the_one_solution_that_the_text_denies)
{
  int found = 0;
  for (const YAML::Node & shot : load_reference("thesis_7_1")["oneshots"])
  {
    if (shot["tau_mp"])
    {
      continue;
    }
    ++found;
    const DoublePendulum pendulum(shot["params"]);
    for (const ServoMetric metric : {ServoMetric::kMoorePenrose, ServoMetric::kIdeal})
    {
      ServoOptions options;
      options.metric = metric;
      const ServoLaw law(
        pendulum.dynamics,
        {{pendulum.row("energy", RowLevel::kVelocity, kEnergy),
          ErrorDynamics::from_gains(-1.0, -1.0, -1.0)},
         {pendulum.row("trajectory", RowLevel::kPosition, kTrajectory),
          ErrorDynamics::from_gains(-2.0, -1.0, -1.0)}},
        options);
      const State state{0.0, to_vector(shot["theta"]), to_vector(shot["u"])};
      ServoWorkspace servo(law, state);
      servo.external_null_vector() << 3.0, -4.0;  // nothing is open to it
      ASSERT_EQ(law.evaluate(0.0, state.q, state.u, servo), Status::kOk);
      EXPECT_EQ(servo.result().solution, ServoSolution::kOne);
      expect_relative(servo.result().inputs, to_vector(shot["tau"]), 1e-11, "tau");
      expect_relative(
        servo.dynamics().solution().acceleration, to_vector(shot["udot"]), 1e-11, "udot");
      expect_close(servo.result().error, to_vector(shot["psi"]), 1e-13, "psi");
    }
  }
  EXPECT_EQ(found, 1);
}

}  // namespace
}  // namespace constrained_dynamics::test
