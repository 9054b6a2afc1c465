// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/dynamics/dynamics.hpp"

#include <cmath>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <Eigen/Dense>

#include "constrained_dynamics/constraints/formula_constraint.hpp"
#include "constrained_dynamics/dynamics/assembly.hpp"
#include "constrained_dynamics/model/analytic_system.hpp"
#include "support/allocation_counter.hpp"
#include "support/dense_algebra.hpp"

namespace constrained_dynamics
{
namespace
{

using Strings = std::vector<std::string>;

std::shared_ptr<const Constraint> rows(
  const std::string & name, const System & system, RowLevel level, const Strings & formulas)
{
  return std::make_shared<FormulaConstraint>(name, system, level, formulas);
}

/// Planar parallelogram of three slender bars (N-four-bar with N = 1): absolute angles of the two
/// cranks a, b (clockwise from upright) and of the top bar c (from horizontal). Unit masses,
/// lengths.
std::shared_ptr<const System> parallelogram()
{
  AnalyticDescription description;
  description.coordinates = {"a", "b", "c"};
  description.kinetic =
    "(da^2 + db^2)/6 + dc^2/24 + 1/2*((da*cos(a) - dc/2*sin(c))^2 + (-da*sin(a) + dc/2*cos(c))^2)";
  description.potential = "9.81*(cos(a)/2 + cos(b)/2 + cos(a) + sin(c)/2)";
  return make_analytic_system(description);
}

const Strings kClosure = {"sin(a) + cos(c) - 1 - sin(b)", "cos(a) + sin(c) - cos(b)"};

struct Fixture
{
  explicit Fixture(
    std::shared_ptr<const System> the_system,
    std::vector<std::shared_ptr<const Constraint>> constraints, DynamicsOptions options = {})
  : system(the_system),
    dynamics(ConstraintSet(std::move(the_system), std::move(constraints)), std::move(options)),
    workspace(Workspace::unanalysed(dynamics)),
    inputs(Eigen::VectorXd::Zero(system->input_count()))
  {
    state.q = system->neutral_coordinates();
    state.u.setZero(system->speed_count());
  }
  Status solve() { return dynamics.solve(state.time, state.q, state.u, inputs, workspace); }

  std::shared_ptr<const System> system;
  Dynamics dynamics;
  Workspace workspace;
  State state;
  Eigen::VectorXd inputs;
};

Fixture make_parallelogram(int copies = 1, DynamicsOptions options = {})
{
  auto system = parallelogram();
  std::vector<std::shared_ptr<const Constraint>> constraints;
  for (int i = 0; i < copies; ++i)
  {
    constraints.push_back(rows("loop" + std::to_string(i), *system, RowLevel::kPosition, kClosure));
  }
  return Fixture(system, std::move(constraints), std::move(options));
}

TEST(Dynamics, when_loop_is_regular_expect_the_exact_reduction)
{
  // φ'' = κ g sin φ with κ = 6/5 (all cranks parallel).
  Fixture f = make_parallelogram();
  f.state.q << 0.7, 0.7, 0.0;
  f.state.u << 1.3, 1.3, 0.0;
  const RankReport report = f.workspace.reset(f.state);
  EXPECT_EQ(report.nominal_rank, 2);
  EXPECT_EQ(report.degrees_of_freedom, 1);
  EXPECT_TRUE(report.dependencies.empty());
  ASSERT_EQ(f.solve(), Status::kOk);
  const Eigen::VectorXd & a = f.workspace.solution().acceleration;
  const double expected = 1.2 * 9.81 * std::sin(0.7);
  EXPECT_NEAR(a(0), expected, 1e-12);
  EXPECT_NEAR(a(1), expected, 1e-12);
  EXPECT_NEAR(a(2), 0.0, 1e-12);
  // Ideal constraints do no work.
  EXPECT_NEAR(f.workspace.solution().constraint_force.dot(f.state.u), 0.0, 1e-12);
}

TEST(Dynamics, when_loop_is_at_its_singular_position_expect_singular_and_bounded)
{
  Fixture f = make_parallelogram();
  f.state.q << M_PI / 2, M_PI / 2, 0.0;
  f.state.u << 2.0, 2.0, 0.0;
  const RankReport report = f.workspace.reset(f.state);
  EXPECT_EQ(report.nominal_rank, 2) << "around it the rows are independent";
  EXPECT_EQ(report.rank_here, 1);
  EXPECT_EQ(f.solve(), Status::kSingular);
  EXPECT_EQ(f.workspace.solution().rank, 1);
  EXPECT_LE(f.workspace.solution().acceleration.norm(), 1e3);
  EXPECT_LE(f.workspace.solution().multipliers.norm(), 1e3);
}

TEST(Dynamics, when_approaching_the_singular_position_expect_right_or_singular_never_ok_and_wrong)
{
  Fixture f = make_parallelogram();
  f.state.q << 0.7, 0.7, 0.0;
  f.workspace.reset(f.state);
  for (double exponent = -1.0; exponent >= -12.0; exponent -= 0.25)
  {
    const double angle = M_PI / 2 - std::pow(10.0, exponent);
    f.state.q << angle, angle, 0.0;
    f.state.u << 2.0, 2.0, 0.0;
    const Status status = f.solve();
    ASSERT_TRUE(has_output(status));
    const Solution & solution = f.workspace.solution();
    if (status == Status::kOk)
    {
      const double expected = 1.2 * 9.81 * std::sin(angle);
      const double bar = 1e-12 + 1e-14 * solution.condition;
      EXPECT_LE(std::abs(solution.acceleration(0) - expected), bar * 100.0) << exponent;
    }
    EXPECT_LE(solution.acceleration.norm(), 1e3) << exponent;
    if (exponent <= -9.0)
    {
      EXPECT_EQ(status, Status::kSingular) << exponent;
    }
  }
}

TEST(Dynamics, when_rows_are_repeated_expect_names_of_dependent_rows)
{
  Fixture f = make_parallelogram(3);
  f.state.q << 0.4, 0.4, 0.0;
  EXPECT_EQ(f.solve(), Status::kSingular) << "nobody has said yet that the rows are redundant";
  const RankReport report = f.workspace.reset(f.state);
  EXPECT_EQ(report.row_count, 6);
  EXPECT_EQ(report.nominal_rank, 2);
  ASSERT_EQ(report.dependencies.size(), 4u);
  for (const RankReport::Dependency & dependency : report.dependencies)
  {
    ASSERT_EQ(dependency.others.size(), 1u);
    EXPECT_EQ(dependency.row % 2, dependency.others[0] % 2);
    EXPECT_LT(dependency.others[0], 2);
    EXPECT_NEAR(dependency.coefficients[0], 1.0, 1e-10);
  }
  EXPECT_EQ(f.solve(), Status::kOk);
  EXPECT_NEAR(f.workspace.solution().acceleration(0), 1.2 * 9.81 * std::sin(0.4), 1e-12);
  Fixture once = make_parallelogram();
  once.state = f.state;
  ASSERT_EQ(once.solve(), Status::kOk);
  for (Eigen::Index row = 0; row < 6; ++row)
  {
    EXPECT_NEAR(
      3.0 * f.workspace.solution().multipliers(row), once.workspace.solution().multipliers(row % 2),
      1e-10);
  }
}

TEST(Dynamics, when_rows_have_odd_units_expect_the_same_motion_and_force)
{
  auto system = parallelogram();
  Fixture f(
    system, {rows("large", *system, RowLevel::kPosition, {"1e7*(" + kClosure[0] + ")"}),
             rows("small", *system, RowLevel::kPosition, {"1e-7*(" + kClosure[1] + ")"})});
  f.state.q << 0.7, 0.7, 0.0;
  f.state.u << 1.3, 1.3, 0.0;
  f.workspace.reset(f.state);
  ASSERT_EQ(f.solve(), Status::kOk);
  Fixture plain = make_parallelogram();
  plain.state = f.state;
  ASSERT_EQ(plain.solve(), Status::kOk);
  EXPECT_LE(
    (f.workspace.solution().acceleration - plain.workspace.solution().acceleration).norm(), 1e-11);
  EXPECT_NEAR(
    f.workspace.solution().multipliers(0) * 1e7, plain.workspace.solution().multipliers(0), 1e-9);
  EXPECT_NEAR(
    f.workspace.solution().multipliers(1) * 1e-7, plain.workspace.solution().multipliers(1), 1e-9);
}

TEST(Dynamics, when_a_constraint_is_switched_off_expect_it_to_exert_nothing)
{
  Fixture f = make_parallelogram(2);
  f.state.q << 0.4, 0.4, 0.0;
  f.workspace.reset(f.state);
  f.workspace.set_active(1, false);
  ASSERT_EQ(f.solve(), Status::kOk);
  EXPECT_EQ(f.workspace.solution().multipliers.tail(2), Eigen::Vector2d::Zero());
  EXPECT_NEAR(f.workspace.solution().acceleration(0), 1.2 * 9.81 * std::sin(0.4), 1e-12);
  f.workspace.set_active(0, false);
  ASSERT_EQ(f.solve(), Status::kOk);
  EXPECT_EQ(f.workspace.solution().rank, 0);
  EXPECT_LE(f.workspace.solution().constraint_force.norm(), 1e-12);
}

TEST(Dynamics, when_baumgarte_gains_are_matrices_expect_rows_to_obey_them)
{
  DynamicsOptions options;
  const Eigen::MatrixXd velocity = (Eigen::Matrix2d() << -20.0, 3.0, -1.0, -15.0).finished();
  const Eigen::MatrixXd position = (Eigen::Matrix2d() << -100.0, -7.0, 5.0, -80.0).finished();
  options.stabilisation = Stabilisation::baumgarte(velocity, position, 0.0);
  Fixture f = make_parallelogram(1, options);
  f.state.q << 0.7, 0.8, 0.05;
  f.state.u << 1.0, 2.0, 0.5;
  ASSERT_EQ(f.solve(), Status::kOk);
  const Rows & r = f.workspace.rows();
  const Eigen::VectorXd row_acceleration =
    r.jacobian * f.workspace.solution().acceleration - r.bias;
  const Eigen::VectorXd expected = velocity * r.velocity + position * r.position;
  EXPECT_LE((row_acceleration - expected).norm(), 1e-11);
}

TEST(Dynamics, when_options_are_bad_expect_refusal_that_names_them)
{
  const auto expect_refusal = [](DynamicsOptions options, const std::string & word)
  {
    try
    {
      make_parallelogram(1, std::move(options));
      FAIL() << "accepted: " << word;
    }
    catch (const std::invalid_argument & error)
    {
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
    }
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double value : {nan, -1.0, 0.0, 2.0})
  {
    DynamicsOptions options;
    options.rank.singular_tolerance = value;
    expect_refusal(options, "singular_tolerance");
  }
  DynamicsOptions length;
  length.characteristic_length = nan;
  expect_refusal(length, "characteristic_length");
  DynamicsOptions gains;
  gains.stabilisation =
    Stabilisation::baumgarte(Eigen::MatrixXd(-Eigen::Matrix3d::Identity()), 0.0, 0.0);
  expect_refusal(gains, "velocity_gain");
  EXPECT_THROW(Stabilisation::baumgarte(nan, 0.0, 0.0), std::invalid_argument);
  EXPECT_THROW(Stabilisation::baumgarte(20.0, -100.0, 0.0), std::invalid_argument);
  EXPECT_THROW(Stabilisation::baumgarte_for_step(1e-3, 0.5), std::invalid_argument);
  EXPECT_THROW(Stabilisation::baumgarte_for_step(nan), std::invalid_argument);
}

TEST(Dynamics, when_projected_expect_rows_met_by_the_smallest_correction)
{
  Fixture f = make_parallelogram();
  f.state.q << 0.7, 0.7001, 1e-4;
  f.state.u << 1.3, 1.31, 0.02;
  Eigen::VectorXd q = f.state.q;
  ASSERT_EQ(f.dynamics.project_position(0.0, q, f.workspace), Status::kOk);
  Eigen::VectorXd u = f.state.u;
  ASSERT_EQ(f.dynamics.project_velocity(0.0, q, u, f.workspace), Status::kOk);
  ASSERT_EQ(f.dynamics.evaluate_rows(0.0, q, u, f.workspace), Status::kOk);
  EXPECT_LE(f.workspace.rows().position.cwiseAbs().maxCoeff(), 1e-15);
  EXPECT_LE(f.workspace.rows().velocity.cwiseAbs().maxCoeff(), 1e-14);

  // Δu = −Q⁻¹ Aᵀ (A Q⁻¹ Aᵀ)⁻¹ (A u).
  ASSERT_EQ(f.dynamics.evaluate_terms(f.workspace), Status::kOk);
  const Eigen::MatrixXd & Q = f.workspace.terms().mass_matrix;
  const Eigen::MatrixXd & A = f.workspace.rows().jacobian;
  const Eigen::MatrixXd weighted = test::solve_definite(Q, A.transpose());
  const Eigen::VectorXd expected =
    f.state.u - weighted * test::solve_definite(A * weighted, A * f.state.u);
  EXPECT_LE((u - expected).norm(), 1e-13);
}

TEST(Dynamics, when_the_first_correction_overshoots_expect_the_rows_met_close_by)
{
  // A spoke that stands on the ground almost upright, and hardly any inertia: all of the correction
  // goes into the angle, and that of the linearised row is too long by far.
  AnalyticDescription spoke;
  spoke.coordinates = {"y", "a"};
  spoke.kinetic = "dy^2/2 + 0.5e-6*da^2";
  auto system = make_analytic_system(spoke);
  Fixture f(system, {rows("height", *system, RowLevel::kPosition, {"y - cos(a)"})});
  for (const double height : {0.9995, 0.98774, 0.947})
  {
    for (const double angle : {0.0018, -0.0065, 0.0146, -0.039, 0.0726})
    {
      if (!(std::cos(angle) > height))
      {
        continue;
      }
      Eigen::VectorXd q = Eigen::Vector2d(height, angle);
      ASSERT_EQ(f.dynamics.project_position(0.0, q, f.workspace), Status::kOk)
        << "y = " << height << ", a = " << angle;
      EXPECT_LE(std::abs(q(0) - std::cos(q(1))), 1e-12);
      EXPECT_LE(std::abs(q(1)), 1.0) << "y = " << height << ", a = " << angle;
      // Far less in the norm of Q than to lift it as it is.
      const double lift = std::cos(angle) - height;
      const double moved = std::pow(q(0) - height, 2) + 1e-6 * std::pow(q(1) - angle, 2);
      EXPECT_LE(moved, 0.01 * lift * lift) << "y = " << height << ", a = " << angle;
    }
  }
}

TEST(Dynamics, when_rows_cannot_be_met_expect_not_converged_and_untouched_state)
{
  auto system = parallelogram();
  Fixture f(system, {rows("no", *system, RowLevel::kPosition, {"a^2 + b^2 + 1"})});
  Eigen::VectorXd q = Eigen::Vector3d(0.3, 0.4, 0.5);
  EXPECT_EQ(f.dynamics.project_position(0.0, q, f.workspace), Status::kNotConverged);
  EXPECT_EQ(q, Eigen::VectorXd(Eigen::Vector3d(0.3, 0.4, 0.5)));
}

TEST(Dynamics, when_speed_row_is_nonlinear_expect_newton_to_meet_it)
{
  AnalyticDescription particle;
  particle.coordinates = {"x", "y"};
  particle.kinetic = "(dx^2 + dy^2)/2";
  particle.potential = "9.81*y";
  auto system = make_analytic_system(particle);
  Fixture f(system, {rows("speed", *system, RowLevel::kVelocity, {"dx^2 + dy^2 - 25"})});
  Eigen::VectorXd u = Eigen::Vector2d(3.0, 4.2);
  ASSERT_EQ(f.dynamics.project_velocity(0.0, f.state.q, u, f.workspace), Status::kOk);
  EXPECT_NEAR(u.norm(), 5.0, 1e-15);
  EXPECT_NEAR(u(1) / u(0), 1.4, 1e-13) << "smallest correction is along u";
  Eigen::VectorXd rest = Eigen::Vector2d::Zero();
  EXPECT_EQ(f.dynamics.project_velocity(0.0, f.state.q, rest, f.workspace), Status::kNotConverged);
  EXPECT_EQ(rest, Eigen::VectorXd(Eigen::Vector2d::Zero()));
}

TEST(Dynamics, when_a_speed_row_does_not_exist_at_rest_expect_position_work_to_go_on)
{
  AnalyticDescription particle;
  particle.coordinates = {"x", "y", "z"};
  particle.kinetic = "(dx^2 + dy^2 + dz^2)/2";
  auto system = make_analytic_system(particle);
  Fixture f(
    system, {rows("speed", *system, RowLevel::kVelocity, {"hypot(dx, dy) - 5"}),
             rows("height", *system, RowLevel::kPosition, {"z - x^2"})});
  f.state.q << 0.1, 0.2, 0.3;
  f.state.u << 3.0, 4.0, 0.6;
  Eigen::VectorXd q = f.state.q;
  EXPECT_TRUE(assemble_position(f.dynamics, 0.0, q, {true, true, false}, f.workspace).converged);
  EXPECT_NEAR(q(2), 0.01, 1e-15);
  q = f.state.q;
  EXPECT_EQ(f.dynamics.project_position(0.0, q, f.workspace), Status::kOk);
  f.state.q(2) = 0.01;
  EXPECT_EQ(f.solve(), Status::kOk);
}

TEST(Dynamics, when_an_unrelated_coordinate_is_large_expect_the_rows_met_all_the_same)
{
  AnalyticDescription description;
  description.coordinates = {"x", "y", "turns"};
  description.kinetic = "(dx^2 + dy^2 + dturns^2)/2";
  auto system = make_analytic_system(description);
  Fixture f(system, {rows("circle", *system, RowLevel::kPosition, {"x^2 + y^2 - 1"})});
  Eigen::VectorXd q = Eigen::Vector3d(0.6001, 0.8, 1e9);
  ASSERT_EQ(f.dynamics.project_position(0.0, q, f.workspace), Status::kOk);
  EXPECT_NEAR(q(0) * q(0) + q(1) * q(1), 1.0, 1e-15);
  EXPECT_EQ(q(2), 1e9);
}

TEST(Assembly, when_some_coordinates_are_held_expect_the_others_to_close_the_loop)
{
  Fixture f = make_parallelogram();
  Eigen::VectorXd q = Eigen::Vector3d(1.1, 0.3, -0.4);
  const AssemblyResult result =
    assemble_position(f.dynamics, 0.0, q, {true, false, false}, f.workspace);
  EXPECT_TRUE(result.converged);
  EXPECT_EQ(q(0), 1.1);
  ASSERT_EQ(f.dynamics.evaluate_rows(0.0, q, f.state.u, f.workspace), Status::kOk);
  EXPECT_LE(f.workspace.rows().position.cwiseAbs().maxCoeff(), 1e-12);
  Eigen::VectorXd u = Eigen::Vector3d(2.0, 0.0, 0.0);
  EXPECT_TRUE(
    assemble_velocity(f.dynamics, 0.0, q, u, {true, false, false}, f.workspace).converged);
  EXPECT_EQ(u(0), 2.0);
  ASSERT_EQ(f.dynamics.evaluate_rows(0.0, q, u, f.workspace), Status::kOk);
  EXPECT_LE(f.workspace.rows().velocity.cwiseAbs().maxCoeff(), 1e-12);
}

TEST(Assembly, when_held_values_contradict_expect_the_worst_row)
{
  Fixture f = make_parallelogram();
  Eigen::VectorXd q = Eigen::Vector3d(1.1, 0.3, -0.4);
  const AssemblyResult result =
    assemble_position(f.dynamics, 0.0, q, {true, true, true}, f.workspace);
  EXPECT_FALSE(result.converged);
  EXPECT_EQ(q, Eigen::VectorXd(Eigen::Vector3d(1.1, 0.3, -0.4)));
  EXPECT_EQ(result.worst_row.substr(0, 6), "loop0/");
  EXPECT_GT(result.residual, 0.1);
}

TEST(Dynamics, when_any_input_is_not_finite_expect_a_status_and_untouched_outputs)
{
  Fixture f = make_parallelogram();
  f.state.q << 0.7, 0.7, 0.0;
  f.state.u << 1.3, 1.3, 0.0;
  ASSERT_EQ(f.solve(), Status::kOk);
  const Eigen::VectorXd acceleration = f.workspace.solution().acceleration;
  const Eigen::VectorXd multipliers = f.workspace.solution().multipliers;
  const State good = f.state;
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double bad : {std::nan(""), infinity, -infinity})
  {
    for (int which = 0; which < 7; ++which)
    {
      f.state = good;
      (which < 3 ? f.state.q(which) : which < 6 ? f.state.u(which - 3) : f.state.time) = bad;
      EXPECT_EQ(f.solve(), Status::kNonFiniteInput);
      EXPECT_EQ(f.workspace.solution().acceleration, acceleration);
      EXPECT_EQ(f.workspace.solution().multipliers, multipliers);
    }
  }
  f.state = good;
  f.state.u(1) = 1e308;
  const Status huge = f.solve();
  EXPECT_FALSE(has_output(huge)) << to_string(huge);
  EXPECT_TRUE(f.workspace.solution().acceleration.array().isNaN().all())
    << "the workspace is at a state that has no solution";
  f.state = good;
  f.state.q.resize(2);
  EXPECT_EQ(f.solve(), Status::kSizeMismatch);
}

TEST(Dynamics, when_cycling_expect_no_allocation_and_no_lock_on_any_path)
{
  if (!test::counts_allocations())
  {
    GTEST_SKIP() << "the sanitizer has its own allocator";
  }
  // The counters do count.
  const long locks_before = test::lock_count();
  std::mutex mutex;
  mutex.lock();
  mutex.unlock();
  ASSERT_EQ(test::lock_count() - locks_before, 1);

  DynamicsOptions options;
  options.stabilisation = Stabilisation::baumgarte(-20.0, -100.0, -10.0);
  Fixture f = make_parallelogram(2, options);
  f.state.q << 0.7, 0.7, 0.0;
  f.state.u << 1.3, 1.3, 0.0;
  f.workspace.reset(f.state);
  const double nan = std::nan("");
  const std::vector<std::pair<Eigen::Vector3d, Eigen::Vector3d>> states = {
    {{0.7, 0.7, 0.0}, {1.3, 1.3, 0.0}},         // regular
    {{0.7, 0.9, 0.1}, {1.3, -1.3, 2.0}},        // off the manifold
    {{M_PI / 2, M_PI / 2, 0.0}, {2., 2., 0.}},  // singular
    {{nan, 0.7, 0.0}, {1.3, 1.3, 0.0}},         // not finite
    {{0.7, 0.7, 0.0}, {1e308, 1e308, 0.0}}};    // overflows
  Eigen::VectorXd q(3);
  Eigen::VectorXd u(3);
  for (int round = 0; round < 2; ++round)
  {
    for (const auto & [at, with] : states)
    {
      q = at;
      u = with;
      const long before = test::allocation_count();
      const long locks = test::lock_count();
      for (int active = 0; active < 2; ++active)
      {
        f.workspace.set_active(1, active == 1);
        const Status solved = f.dynamics.solve(0.0, q, u, f.inputs, f.workspace);
        const Status position = f.dynamics.project_position(0.0, q, f.workspace);
        const Status velocity = f.dynamics.project_velocity(0.0, q, u, f.workspace);
        static_cast<void>(worse(worse(solved, position), velocity));
      }
      EXPECT_EQ(test::allocation_count() - before, 0);
      EXPECT_EQ(test::lock_count() - locks, 0);
    }
  }
}

TEST(Dynamics, when_asked_twice_expect_bit_identical_answers)
{
  Fixture first = make_parallelogram(2);
  Fixture second = make_parallelogram(2);
  for (Fixture * f : {&first, &second})
  {
    f->state.q << 0.7, 0.7, 0.0;
    f->state.u << 1.3, 1.3, 0.0;
    f->workspace.reset(f->state);
    ASSERT_EQ(f->solve(), Status::kOk);
  }
  EXPECT_EQ(first.workspace.solution().acceleration, second.workspace.solution().acceleration);
  EXPECT_EQ(first.workspace.solution().multipliers, second.workspace.solution().multipliers);
}

}  // namespace
}  // namespace constrained_dynamics
