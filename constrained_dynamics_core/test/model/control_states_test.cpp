// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Controls as states (E16): driven speeds, systems whose inputs are rates of controls, and passive
// rows that contain controls.
#include <cmath>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <Eigen/Dense>

#include "constrained_dynamics/analysis/derivatives.hpp"
#include "constrained_dynamics/constraints/centre_of_mass.hpp"
#include "constrained_dynamics/constraints/energy.hpp"
#include "constrained_dynamics/constraints/formula_constraint.hpp"
#include "constrained_dynamics/constraints/frame_coincidence.hpp"
#include "constrained_dynamics/constraints/prescribed_motion.hpp"
#include "constrained_dynamics/dynamics/reduction.hpp"
#include "constrained_dynamics/formulations/registry.hpp"
#include "constrained_dynamics/model/control_state_system.hpp"
#include "constrained_dynamics/model/rigid_body_system.hpp"
#include "constrained_dynamics/servo/null_space.hpp"
#include "constrained_dynamics/servo/servo_law.hpp"
#include "constrained_dynamics/simulation/simulation.hpp"
#include "support/allocation_counter.hpp"
#include "support/dense_algebra.hpp"
#include "support/reference_data.hpp"
#include "support/row_problems.hpp"

namespace constrained_dynamics
{
namespace
{

using Eigen::MatrixXd;
using Eigen::Vector2d;
using Eigen::Vector3d;
using Eigen::VectorXd;
using test::Random;

constexpr double kGravity = 9.81;
constexpr double kMass = 1.7;

/// A particle in a vertical plane; y points up.
AnalyticDescription particle()
{
  AnalyticDescription d;
  d.coordinates = {"x", "y"};
  d.parameters = {{"m", kMass}, {"g", kGravity}};
  d.kinetic = "m/2*(dx^2 + dy^2)";
  d.potential = "m*g*y";
  return d;
}

Dynamics make_dynamics(
  const std::shared_ptr<const System> & system, RowLevel level,
  const std::vector<std::string> & rows, const std::string & formulation = "auto")
{
  const auto constraint = std::make_shared<const FormulaConstraint>("row", *system, level, rows);
  return Dynamics(
    ConstraintSet(system, {constraint}), DynamicsOptions(), make_formulation(formulation));
}

/// A pendulum whose cable is drawn in and let out: the length is a control.
struct CablePendulum
{
  std::shared_ptr<const System> system = make_control_state_system(particle(), {{}, {"length"}});
  double angle = 0.0;  // from the downward vertical
  double rate = 0.0;
  double length = 1.0;
  double length_rate = 0.0;

  VectorXd q() const
  {
    return Vector3d(length * std::sin(angle), -length * std::cos(angle), length);
  }
  VectorXd u() const
  {
    const Vector2d along(std::sin(angle), -std::cos(angle));
    const Vector2d across(std::cos(angle), std::sin(angle));
    Vector3d result;
    result << length_rate * along + length * rate * across, length_rate;
    return result;
  }
  /// m (ℓ θ̇² + g cos θ − ℓ̈): the pull of the cable.
  double tension(double length_acceleration) const
  {
    return kMass * (length * rate * rate + kGravity * std::cos(angle) - length_acceleration);
  }
};

TEST(ControlStates, when_the_length_of_a_cable_is_a_control_expect_the_closed_form)
{
  for (const std::string & formulation : formulation_names())
  {
    SCOPED_TRACE(formulation);
    CablePendulum p;
    const Dynamics dynamics =
      make_dynamics(p.system, RowLevel::kPosition, {"x^2 + y^2 - length^2"}, formulation);
    Workspace workspace = Workspace::unanalysed(dynamics);
    Random random(61);
    for (int i = 0; i < 100; ++i)
    {
      p.angle = random.between(-3.0, 3.0);
      p.rate = random.between(-3.0, 3.0);
      p.length = random.between(0.5, 2.0);
      p.length_rate = random.between(-2.0, 2.0);
      const double drawn = random.between(-3.0, 3.0);  // ℓ̈
      ASSERT_EQ(
        dynamics.solve(0.0, p.q(), p.u(), VectorXd::Constant(1, drawn), workspace), Status::kOk);
      const double turn =
        (-kGravity * std::sin(p.angle) - 2.0 * p.length_rate * p.rate) / p.length;  // θ̈
      const Vector2d along(std::sin(p.angle), -std::cos(p.angle));
      const Vector2d across(std::cos(p.angle), std::sin(p.angle));
      const Vector2d acceleration = (drawn - p.length * p.rate * p.rate) * along +
                                    (p.length * turn + 2.0 * p.length_rate * p.rate) * across;
      const Solution & solution = workspace.solution();
      EXPECT_LE((solution.acceleration.head<2>() - acceleration).norm(), 1e-11);
      EXPECT_NEAR(solution.acceleration(2), drawn, 1e-13);
      EXPECT_NEAR(-2.0 * p.length * solution.multipliers(0), p.tension(drawn), 1e-10);
      // The cable pulls the particle and does not push on the winch's command.
      EXPECT_LE((solution.constraint_force.head<2>() + p.tension(drawn) * along).norm(), 1e-10);
      EXPECT_NEAR(solution.constraint_force(2), 0.0, 1e-13);
      // Rows are met as they stand: A u̇ + A_d u̇_d = b at rest of the controls.
      const Rows & rows = workspace.rows();
      EXPECT_NEAR(rows.jacobian.row(0).dot(solution.acceleration), rows.bias(0), 1e-10);
      EXPECT_EQ(rows.jacobian(0, 2), 0.0);
      EXPECT_DOUBLE_EQ(rows.driven_jacobian(0, 0), -2.0 * p.length);
    }
  }
}

TEST(ControlStates, when_controls_rest_expect_constraints_without_power)
{
  CablePendulum p;
  p.angle = 0.7;
  p.rate = 2.0;
  p.length = 1.3;
  const Dynamics dynamics = make_dynamics(p.system, RowLevel::kPosition, {"x^2 + y^2 - length^2"});
  Workspace workspace = Workspace::unanalysed(dynamics);
  ASSERT_EQ(dynamics.solve(0.0, p.q(), p.u(), VectorXd::Zero(1), workspace), Status::kOk);
  EXPECT_NEAR(workspace.solution().constraint_force.dot(p.u()), 0.0, 1e-12);
  // While the cable is let out it takes tension × rate.
  p.length_rate = 0.4;
  ASSERT_EQ(dynamics.solve(0.0, p.q(), p.u(), VectorXd::Zero(1), workspace), Status::kOk);
  EXPECT_NEAR(
    workspace.solution().constraint_force.dot(p.u()), -p.tension(0.0) * p.length_rate, 1e-11);
}

TEST(ControlStates, when_reducing_to_inputs_expect_the_motion_they_cause_and_its_metric)
{
  // A force on the particle beside the drawn cable: one input acts by a force, one by the row.
  AnalyticDescription d = particle();
  d.inputs = {{"push", {{"x", "1"}}}};
  CablePendulum p;
  p.system = make_control_state_system(d, {{}, {"length"}});
  p.angle = 0.7;
  p.rate = 1.1;
  p.length_rate = 0.4;
  const Dynamics dynamics = make_dynamics(p.system, RowLevel::kPosition, {"x^2 + y^2 - length^2"});
  Workspace workspace = Workspace::unanalysed(dynamics);
  Reduction reduction(dynamics);
  ASSERT_EQ(dynamics.evaluate_rows(0.0, p.q(), p.u(), workspace), Status::kOk);
  ASSERT_EQ(dynamics.reduce(workspace, reduction), Status::kOk);
  const MatrixXd Y = reduction.input_response();
  const VectorXd free = reduction.free_acceleration();
  const MatrixXd H = reduction.effort_metric();
  const MatrixXd Q = workspace.terms().mass_matrix;
  EXPECT_LE((H - H.transpose()).norm(), 1e-13);
  Random random(64);
  for (int i = 0; i < 20; ++i)
  {
    const VectorXd inputs = 5.0 * random.vector(2);
    ASSERT_EQ(dynamics.solve(0.0, p.q(), p.u(), inputs, workspace), Status::kOk);
    const VectorXd & acceleration = workspace.solution().acceleration;
    EXPECT_LE((free + Y * inputs - acceleration).norm(), 1e-11);
    const VectorXd away = acceleration - free;
    EXPECT_NEAR(inputs.dot(H * inputs), away.dot(Q * away), 1e-9);
  }
}

TEST(ControlStates, when_projecting_expect_controls_untouched)
{
  CablePendulum p;
  p.angle = 0.4;
  p.rate = 1.0;
  p.length_rate = 0.3;
  for (const std::string & formulation : formulation_names())
  {
    SCOPED_TRACE(formulation);
    const Dynamics dynamics =
      make_dynamics(p.system, RowLevel::kPosition, {"x^2 + y^2 - length^2"}, formulation);
    Workspace workspace = Workspace::unanalysed(dynamics);
    VectorXd q = p.q() + Vector3d(0.05, -0.03, 0.0);
    VectorXd u = p.u() + Vector3d(0.2, 0.1, 0.0);
    ASSERT_EQ(dynamics.project_position(0.0, q, workspace), Status::kOk);
    ASSERT_EQ(dynamics.project_velocity(0.0, q, u, workspace), Status::kOk);
    EXPECT_EQ(q(2), p.length);
    EXPECT_EQ(u(2), p.length_rate);
    EXPECT_NEAR(q.head<2>().norm(), p.length, 1e-14);
    EXPECT_NEAR(q.head<2>().normalized().dot(u.head<2>()), p.length_rate, 1e-14);
  }
}

TEST(ControlStates, when_a_skate_is_steered_by_a_control_expect_constant_speed_on_a_circle)
{
  // dx sin τ = dy cos τ with the direction τ a control: the force is across, the speed constant,
  // λ = m v τ̇.
  AnalyticDescription d = particle();
  d.potential = "";
  d.inputs = {{"tau", {{"x", "0"}}}};  // a control that exerts nothing but steers
  const auto system = make_control_state_system(make_analytic_system(d));
  EXPECT_EQ(system->speed_names(), (std::vector<std::string>{"dx", "dy", "tau"}));
  EXPECT_EQ(system->input_names(), (std::vector<std::string>{"dtau"}));
  EXPECT_EQ(system->driven_speeds(), (std::vector<int>{2}));
  for (const std::string & formulation : formulation_names())
  {
    SCOPED_TRACE(formulation);
    const Dynamics dynamics =
      make_dynamics(system, RowLevel::kVelocity, {"dx*sin(tau) - dy*cos(tau)"}, formulation);
    Workspace workspace = Workspace::unanalysed(dynamics);
    Random random(62);
    for (int i = 0; i < 100; ++i)
    {
      const double v = random.between(-2.0, 2.0);
      const double tau = random.between(-3.0, 3.0);
      const double rate = random.between(-2.0, 2.0);
      const Vector3d u(v * std::cos(tau), v * std::sin(tau), tau);
      ASSERT_EQ(
        dynamics.solve(0.0, random.vector(2), u, VectorXd::Constant(1, rate), workspace),
        Status::kOk);
      const Solution & solution = workspace.solution();
      const Vector3d expected(-v * rate * std::sin(tau), v * rate * std::cos(tau), rate);
      EXPECT_LE((solution.acceleration - expected).norm(), 1e-13);
      EXPECT_NEAR(solution.multipliers(0), -kMass * v * rate, 1e-12);
      EXPECT_NEAR(solution.constraint_force.dot(u), 0.0, 1e-12);
    }
  }
}

TEST(ControlStates, when_controls_enter_the_kinematics_expect_their_second_derivatives_to_act)
{
  // A belt runs with τ: dx = u1 + τ (D of the kinematics contains the control). m ẍ = −k x.
  AnalyticDescription d;
  d.coordinates = {"x"};
  d.parameters = {{"m", kMass}, {"k", 5.0}};
  d.kinetic = "m/2*dx^2";
  d.potential = "k/2*x^2";
  d.speeds = {{"u1", "dx - tau"}};
  const auto system = make_control_state_system(d, {{}, {"tau"}});
  EXPECT_EQ(system->coordinate_names(), (std::vector<std::string>{"x", "tau"}));
  EXPECT_EQ(system->speed_names(), (std::vector<std::string>{"u1", "dtau"}));
  EXPECT_EQ(system->input_names(), (std::vector<std::string>{"ddtau"}));
  const Dynamics dynamics{ConstraintSet(system)};
  Workspace workspace = Workspace::unanalysed(dynamics);
  const Vector2d q(0.3, 0.8);
  const Vector2d u(-0.5, 0.9);
  ASSERT_EQ(dynamics.solve(0.0, q, u, VectorXd::Constant(1, 0.7), workspace), Status::kOk);
  EXPECT_DOUBLE_EQ(workspace.terms().rates(0), u(0) + q(1));
  EXPECT_NEAR(workspace.solution().acceleration(0), -5.0 * q(0) / kMass - u(1), 1e-14);
  EXPECT_DOUBLE_EQ(workspace.solution().acceleration(1), 0.7);
}

TEST(ControlStates, when_a_support_is_moved_by_a_control_expect_its_inertia_on_the_right_side)
{
  // Pendulum on a cart whose position τ is imposed: ℓ θ̈ = −g sin θ − τ̈ cos θ.
  AnalyticDescription d;
  d.coordinates = {"theta"};
  d.parameters = {{"m", kMass}, {"g", kGravity}, {"l", 0.8}};
  d.kinetic = "m/2*((dtau + l*dtheta*cos(theta))^2 + (l*dtheta*sin(theta))^2)";
  d.potential = "-m*g*l*cos(theta)";
  const auto system = make_control_state_system(d, {{}, {"tau"}});
  const Dynamics dynamics{ConstraintSet(system)};
  Workspace workspace = Workspace::unanalysed(dynamics);
  const Vector2d q(0.6, 0.1);
  const Vector2d u(1.5, -0.4);
  const double imposed = 2.3;
  ASSERT_EQ(dynamics.solve(0.0, q, u, VectorXd::Constant(1, imposed), workspace), Status::kOk);
  EXPECT_NEAR(
    workspace.solution().acceleration(0),
    (-kGravity * std::sin(0.6) - imposed * std::cos(0.6)) / 0.8, 1e-13);
}

// ---- robots
// --------------------------------------------------------------------------------------

std::shared_ptr<const RigidBodySystem> four_bar()
{
  SceneDescription scene;
  scene.robots.push_back(load_robot_description(CD_CONFIG "/robots/four_bar.urdf"));
  return std::make_shared<const RigidBodySystem>(scene);
}

std::shared_ptr<const Constraint> loop_of(const System & system)
{
  return std::make_shared<const FrameCoincidence>(
    "loop", system, "coupler_tip", "rocker_tip", std::vector<std::string>{"x", "z"});
}

/// A state of the linkage on its manifold.
State assembled(const Dynamics & dynamics, Workspace & workspace)
{
  State state;
  state.q = Vector3d(0.4, 1.2, 2.4);
  state.u = VectorXd::Zero(dynamics.system().speed_count());
  state.u.head<3>() = Vector3d(1.3, -0.7, 0.2);
  EXPECT_EQ(dynamics.project_position(0.0, state.q, workspace), Status::kOk);
  EXPECT_EQ(dynamics.project_velocity(0.0, state.q, state.u, workspace), Status::kOk);
  return state;
}

TEST(ControlStates, when_the_motors_of_a_robot_are_states_expect_its_motion_and_wrenches)
{
  const auto robot = four_bar();
  const auto system = make_control_state_system(robot);
  const std::string motor = robot->input_names()[0];
  EXPECT_EQ(system->speed_names().back(), "tau_" + robot->input_names().back());
  EXPECT_EQ(system->input_names().back(), "dtau_" + robot->input_names().back());
  const Dynamics plain{ConstraintSet(robot, {loop_of(*robot)})};
  const Dynamics extended{ConstraintSet(system, {loop_of(*system)})};
  Workspace plain_workspace = Workspace::unanalysed(plain);
  Workspace workspace = Workspace::unanalysed(extended);
  const State state = assembled(plain, plain_workspace);
  const VectorXd tau = Random(63).vector(robot->input_count());
  VectorXd u(system->speed_count());
  u << state.u, tau;
  const VectorXd rates = VectorXd::LinSpaced(system->input_count(), 0.5, 1.5);
  ASSERT_EQ(plain.solve(0.0, state.q, state.u, tau, plain_workspace), Status::kOk);
  ASSERT_EQ(extended.solve(0.0, state.q, u, rates, workspace), Status::kOk);
  const Solution & a = plain_workspace.solution();
  const Solution & b = workspace.solution();
  EXPECT_LE((a.acceleration - b.acceleration.head<3>()).norm(), 1e-11 * a.acceleration.norm());
  EXPECT_EQ(b.acceleration.tail(rates.size()), rates);
  EXPECT_LE((a.multipliers - b.multipliers).norm(), 1e-11 * a.multipliers.norm());
  ASSERT_EQ(a.wrenches.size(), b.wrenches.size());
  EXPECT_LE((a.wrenches[0].on_a.force - b.wrenches[0].on_a.force).norm(), 1e-9);
  ASSERT_EQ(plain.evaluate_rows(0.0, state.q, state.u, plain_workspace), Status::kOk);
  ASSERT_EQ(plain.evaluate_terms(plain_workspace), Status::kOk);
  ASSERT_EQ(plain.solve(tau, plain_workspace), Status::kOk);
  EXPECT_NEAR(
    robot->kinetic_energy(plain_workspace.system_data()),
    system->kinetic_energy(workspace.system_data()), 1e-13);
  EXPECT_NEAR(
    robot->potential_energy(plain_workspace.system_data()),
    system->potential_energy(workspace.system_data()), 1e-13);
}

TEST(ControlStates, when_rows_are_of_a_whole_robot_expect_them_with_control_states_as_without)
{
  const auto robot = four_bar();
  const auto system =
    std::make_shared<const ControlStateSystem>(robot, ControlStates{{"rocker"}, {"crank"}});
  const auto rows_of = [](const std::shared_ptr<const System> & of, const VectorXd & u)
  {
    const Dynamics dynamics{ConstraintSet(
      of, {std::make_shared<const CentreOfMass>("com", *of),
           make_energy_constraint("energy", *of, EnergyKind::kTotal, 0.5)})};
    Workspace workspace = Workspace::unanalysed(dynamics);
    EXPECT_EQ(dynamics.evaluate_rows(0.0, Vector3d(0.4, 1.2, 2.4), u, workspace), Status::kOk);
    MatrixXd all(4, u.size() + 2);
    all << complete_jacobian(*of, workspace.rows()), workspace.rows().velocity,
      workspace.rows().bias;
    return all;
  };
  const MatrixXd plain = rows_of(robot, Vector3d(1.3, -0.7, 0.2));
  const MatrixXd wrapped = rows_of(system, Eigen::Vector4d(1.3, -0.7, 0.2, 5.0));
  EXPECT_EQ(wrapped.leftCols(3), plain.leftCols(3));
  EXPECT_TRUE(wrapped.col(3).isZero());
  EXPECT_EQ(wrapped.rightCols(2), plain.rightCols(2));
}

TEST(ControlStates, when_a_drive_imposes_a_joint_expect_what_a_prescribed_motion_gives)
{
  const auto robot = four_bar();
  const auto system =
    std::make_shared<const ControlStateSystem>(robot, ControlStates{{}, {"crank"}});
  // crank = 0.4 + 1.3 t + 0.45 t² at t = 0, by a row and by a drive.
  const Dynamics prescribed{ConstraintSet(
    robot, {loop_of(*robot), std::make_shared<const PrescribedCoordinate>(
                               "drive", *robot, "crank", "0.4 + 1.3*t + 0.45*t^2")})};
  Workspace prescribed_workspace = Workspace::unanalysed(prescribed);
  const State state = assembled(prescribed, prescribed_workspace);
  const VectorXd zero = VectorXd::Zero(robot->input_count());
  ASSERT_EQ(prescribed.solve(0.0, state.q, state.u, zero, prescribed_workspace), Status::kOk);
  const Solution & expected = prescribed_workspace.solution();
  for (const std::string & formulation : formulation_names())
  {
    SCOPED_TRACE(formulation);
    const Dynamics driven(
      ConstraintSet(system, {loop_of(*system)}), DynamicsOptions(), make_formulation(formulation));
    Workspace workspace = Workspace::unanalysed(driven);
    VectorXd inputs = VectorXd::Zero(system->input_count());
    inputs(system->input_index("ddcrank")) = 0.9;
    ASSERT_EQ(driven.solve(0.0, state.q, state.u, inputs, workspace), Status::kOk);
    const Solution & solution = workspace.solution();
    EXPECT_LE(
      (solution.acceleration - expected.acceleration).norm(), 1e-11 * expected.acceleration.norm());
    EXPECT_LE(
      (solution.multipliers - expected.multipliers.head<2>()).norm(),
      1e-10 * expected.multipliers.norm());
    EXPECT_LE(
      (solution.wrenches[0].on_a.force - expected.wrenches[0].on_a.force).norm(),
      1e-10 * expected.multipliers.norm());
  }
}

// ---- derivatives, real time, refusals
// ------------------------------------------------------------

/// Central differences of the whole solution by speeds and inputs.
void expect_derivatives(const Dynamics & dynamics, const State & state, const VectorXd & inputs)
{
  Workspace workspace(dynamics, state);
  for (const bool by_differences : {false, true})
  {
    SCOPED_TRACE(by_differences ? "by differences" : "analytic");
    SolutionDerivatives d;
    DerivativeOptions options;
    options.force_differences = by_differences;
    ASSERT_EQ(
      differentiate(dynamics, state.time, state.q, state.u, inputs, workspace, d, options),
      Status::kOk);
    const MatrixXd C = workspace.terms().kinematic_matrix;
    constexpr double h = 1e-5;
    const auto difference = [&](const VectorXd & dq, const VectorXd & du, const VectorXd & dtau)
    {
      VectorXd result[2];
      for (const int side : {0, 1})
      {
        const double step = side == 0 ? -h : h;
        EXPECT_TRUE(has_output(dynamics.solve(
          state.time, state.q + step * dq, state.u + step * du, inputs + step * dtau, workspace)));
        const Solution & s = workspace.solution();
        result[side].resize(2 * s.acceleration.size() + s.multipliers.size());
        result[side] << s.acceleration, s.constraint_force, s.multipliers;
      }
      return VectorXd((result[1] - result[0]) / (2.0 * h));
    };
    const Eigen::Index n = state.u.size();
    const Eigen::Index l = inputs.size();
    const VectorXd no_q = VectorXd::Zero(state.q.size());
    const VectorXd no_u = VectorXd::Zero(n);
    const VectorXd no_tau = VectorXd::Zero(l);
    const auto expect_column = [](
                                 const VectorXd & expected, const VectorXd & a, const VectorXd & f,
                                 const VectorXd & m, const std::string & what)
    {
      VectorXd actual(expected.size());
      actual << a, f, m;
      EXPECT_LE((actual - expected).norm(), 2e-7 * (1.0 + expected.norm())) << what;
    };
    for (Eigen::Index k = 0; k < n; ++k)
    {
      const std::string & name = dynamics.system().speed_names()[static_cast<std::size_t>(k)];
      expect_column(
        difference(C.col(k), no_u, no_tau), d.acceleration_q.col(k), d.constraint_force_q.col(k),
        d.multipliers_q.col(k), "along the coordinates of " + name);
      expect_column(
        difference(no_q, VectorXd::Unit(n, k), no_tau), d.acceleration_u.col(k),
        d.constraint_force_u.col(k), d.multipliers_u.col(k), "by " + name);
    }
    for (Eigen::Index k = 0; k < l; ++k)
    {
      expect_column(
        difference(no_q, no_u, VectorXd::Unit(l, k)), d.acceleration_input.col(k),
        d.constraint_force_input.col(k), d.multipliers_input.col(k),
        "by input " + std::to_string(k));
    }
    // ∂φ̇/∂u knows the controls as well.
    ASSERT_EQ(dynamics.evaluate_rows(state.time, state.q, state.u, workspace), Status::kOk);
    EXPECT_LE(
      (d.velocity_u - complete_jacobian(dynamics.system(), workspace.rows())).norm(), 1e-12);
  }
}

TEST(ControlStates, when_differentiating_expect_differences_of_the_solution)
{
  {
    SCOPED_TRACE("cable");
    CablePendulum p;
    p.angle = 0.7;
    p.rate = 1.2;
    p.length = 1.4;
    p.length_rate = -0.5;
    expect_derivatives(
      make_dynamics(p.system, RowLevel::kPosition, {"x^2 + y^2 - length^2"}), {0.2, p.q(), p.u()},
      VectorXd::Constant(1, 0.6));
  }
  {
    SCOPED_TRACE("skate");
    AnalyticDescription d = particle();
    d.inputs = {{"tau", {{"x", "x*y"}}}};
    const auto system = make_control_state_system(make_analytic_system(d));
    expect_derivatives(
      make_dynamics(system, RowLevel::kVelocity, {"dx*sin(tau) - dy*cos(tau)"}),
      {0.0, Vector2d(0.5, 0.8), Vector3d(1.1 * std::cos(0.4), 1.1 * std::sin(0.4), 0.4)},
      VectorXd::Constant(1, 0.6));
  }
  {
    SCOPED_TRACE("robot");
    const auto robot = four_bar();
    const auto system =
      std::make_shared<const ControlStateSystem>(robot, ControlStates{{"rocker"}, {"crank"}});
    const Dynamics dynamics{ConstraintSet(system, {loop_of(*system)})};
    Workspace workspace = Workspace::unanalysed(dynamics);
    State state = assembled(dynamics, workspace);
    state.u(3) = 4.0;
    expect_derivatives(dynamics, state, VectorXd::LinSpaced(system->input_count(), 0.3, 0.9));
  }
}

TEST(ControlStates, when_cycling_expect_no_allocation)
{
  const auto robot = four_bar();
  const auto system =
    std::make_shared<const ControlStateSystem>(robot, ControlStates{{"rocker"}, {"crank"}});
  const Dynamics dynamics{ConstraintSet(system, {loop_of(*system)})};
  Workspace workspace = Workspace::unanalysed(dynamics);
  State state = assembled(dynamics, workspace);
  const VectorXd inputs = VectorXd::Zero(system->input_count());
  const long before = test::allocation_count();
  const Status solved = dynamics.solve(0.0, state.q, state.u, inputs, workspace);
  const Status position = dynamics.project_position(0.0, state.q, workspace);
  const Status velocity = dynamics.project_velocity(0.0, state.q, state.u, workspace);
  EXPECT_EQ(test::allocation_count() - before, 0);
  EXPECT_EQ(solved, Status::kOk);
  EXPECT_EQ(position, Status::kOk);
  EXPECT_EQ(velocity, Status::kOk);
}

template <typename Build>
std::string refusal(const Build & build)
{
  try
  {
    build();
  }
  catch (const std::invalid_argument & error)
  {
    return error.what();
  }
  return "";
}

TEST(ControlStates, when_names_do_not_fit_expect_refusals_that_say_which)
{
  const auto robot = four_bar();
  const auto of = [&](const ControlStates & states)
  { return refusal([&] { ControlStateSystem(robot, states); }); };
  EXPECT_NE(of({{"nobody"}, {}}).find("unknown input 'nobody'; known: "), std::string::npos);
  EXPECT_NE(of({{}, {"nobody"}}).find("unknown coordinate 'nobody'"), std::string::npos);
  EXPECT_NE(of({{"crank", "crank"}, {}}).find("duplicate control state"), std::string::npos);
  EXPECT_NE(
    of({{}, {"crank", "coupler", "rocker"}}).find("all 3 speeds are driven"), std::string::npos);
  EXPECT_NE(
    refusal([] { make_control_state_system(nullptr); }).find("null system"), std::string::npos);
  EXPECT_NE(
    refusal([&] { make_control_state_system(make_control_state_system(robot)); })
      .find("already has driven speeds"),
    std::string::npos);
}

// ---- (E16)
// ---------------------------------------------------------------------------------------

/// Thesis, example 8.1, in the reading of data/reference: τ are angular accelerations.
struct Spacecraft
{
  std::shared_ptr<const System> system;
  std::shared_ptr<const Dynamics> dynamics;  // no passive rows
  std::shared_ptr<const Constraint> row;     // what the controls must do

  Spacecraft()
  {
    AnalyticDescription d;
    d.coordinates = {"a1", "a2", "a3"};  // integrals of the angular velocity; not needed
    d.parameters = {{"I1", 10.0}, {"I2", 6.3}, {"I3", 8.5}};
    d.kinetic = "I1/2*da1^2 + I2/2*da2^2 + I3/2*da3^2";
    d.force = {
      {"a1", "(I2 - I3)*da2*da3"}, {"a2", "(I3 - I1)*da3*da1"}, {"a3", "(I1 - I2)*da1*da2"}};
    d.inputs = {{"tau1", {{"a1", "I1"}}}, {"tau2", {{"a2", "I2"}}}, {"tau3", {{"a3", "I3"}}}};
    system = make_control_state_system(make_analytic_system(d));
    dynamics = std::make_shared<const Dynamics>(ConstraintSet(system));
    FormulaNames names;
    names.parameters = d.parameters;
    row = std::make_shared<const FormulaConstraint>(
      "decay", *system, RowLevel::kVelocity,
      std::vector<std::string>{
        "I1*da1*tau1 + I2*da2*tau2 + I3*da3*tau3 + (I1*da1^2 + I2*da2^2 + I3*da3^2)/2"},
      names);
  }

  /// (ω̇, τ̇) at (ω, τ), from the rows of the extended system: τ̇ = 𝒜⁺ℬ + (1 − 𝒜⁺𝒜) y.
  VectorXd slope(const VectorXd & u, const Vector3d & y) const
  {
    Workspace workspace = Workspace::unanalysed(*dynamics);
    EXPECT_EQ(
      dynamics->solve(0.0, VectorXd::Zero(3), u, VectorXd::Zero(3), workspace), Status::kOk);
    VectorXd acceleration = workspace.solution().acceleration;
    VectorXd position(1), velocity(1), bias(1);
    MatrixXd jacobian(1, 6);
    RowBlock block{position, velocity, jacobian, bias};
    ConstraintScratch scratch(6, row->scratch_size());
    EXPECT_EQ(row->evaluate(workspace.system_data(), scratch, block), Status::kOk);
    const MatrixXd A = jacobian.rightCols<3>();
    const VectorXd B = bias - jacobian * acceleration;  // u̇ at τ̇ = 0
    const MatrixXd inverse = test::pseudo_inverse(A);
    acceleration.tail<3>() = inverse * B + y - inverse * (A * y);
    return acceleration;
  }

  std::shared_ptr<const ServoLaw> law(bool damped) const
  {
    ServoTask task;
    task.constraint = std::make_shared<const RowServo>(row);
    ServoOptions options;
    if (damped)
    {
      options.null_space.push_back(std::make_shared<const JointDamping>(
        *system, 1.0, std::vector<std::string>{"tau1", "tau2", "tau3"}));
    }
    return std::make_shared<const ServoLaw>(dynamics, std::vector<ServoTask>{task}, options);
  }
};

/// The law as inputs of a run; the row must stay at 0.
class LawOfRun : public InputLaw
{
public:
  LawOfRun(std::shared_ptr<const ServoLaw> law, const State & start)
  : law_(std::move(law)), servo_(*law_, start)
  {
  }

  Status evaluate(const System &, SystemData & data, VectorRef inputs) noexcept
    CD_NONBLOCKING override
  {
    const SystemTerms & terms = data.terms;
    const Status status = law_->evaluate(terms.time, terms.coordinates, terms.speeds, servo_);
    inputs = servo_.result().inputs;
    return status;
  }

private:
  std::shared_ptr<const ServoLaw> law_;
  ServoWorkspace servo_;
};

TEST(ControlStates, when_the_row_of_thesis_8_1_contains_the_controls_expect_its_rates)
{
  const Spacecraft craft;
  for (const char * name : {"A_y_zero", "A_y_minus_tau"})
  {
    SCOPED_TRACE(name);
    const YAML::Node series =
      test::find_item(test::load_reference("thesis_8_1")["cases"], "case", name)["series"];
    const bool damped = std::string(name) == "A_y_minus_tau";
    const auto law = craft.law(damped);
    for (const YAML::Node & at : series)
    {
      SCOPED_TRACE(at["t"].as<double>());
      VectorXd u(6), expected(6);
      u << test::to_vector(at["omega"]), test::to_vector(at["tau"]);
      expected << test::to_vector(at["omegadot"]), test::to_vector(at["taudot"]);
      const Vector3d y = damped ? Vector3d(-u.tail<3>()) : Vector3d(Vector3d::Zero());
      EXPECT_LE((craft.slope(u, y) - expected).norm(), 1e-12 * (1.0 + expected.norm()));
      ServoWorkspace servo(*law, {0.0, VectorXd::Zero(3), u});
      ASSERT_EQ(law->evaluate(0.0, VectorXd::Zero(3), u, servo), Status::kOk);
      EXPECT_EQ(servo.result().solution, ServoSolution::kMany);
      EXPECT_LE(
        (servo.dynamics().solution().acceleration - expected).norm(),
        1e-12 * (1.0 + expected.norm()));
    }
  }
}

TEST(ControlStates, when_the_law_of_thesis_8_1_runs_expect_the_reference_and_the_decay)
{
  const Spacecraft craft;
  for (const char * name : {"A_y_zero", "A_y_minus_tau"})
  {
    SCOPED_TRACE(name);
    const YAML::Node series =
      test::find_item(test::load_reference("thesis_8_1")["cases"], "case", name)["series"];
    const bool damped = std::string(name) == "A_y_minus_tau";
    State start{0.0, VectorXd::Zero(3), VectorXd(6)};
    start.u << test::to_vector(series[0]["omega"]), test::to_vector(series[0]["tau"]);
    SimulationOptions options;
    options.integrator = Integrator::kDopri5;
    options.absolute_tolerance = 1e-13;
    options.relative_tolerance = 1e-13;
    Simulation simulation(
      craft.dynamics, options, std::make_shared<LawOfRun>(craft.law(damped), start));
    simulation.start(start);
    double largest_control = 0.0;
    for (const YAML::Node & at : series)
    {
      const double time = at["t"].as<double>();
      SCOPED_TRACE(time);
      ASSERT_TRUE(simulation
                    .run(
                      time, 0.01,
                      [&](const Simulation & run)
                      {
                        const double size = run.state().u.tail<3>().norm();
                        largest_control = std::max(largest_control, size);
                        return true;
                      })
                    .completed);
      VectorXd expected(6);
      expected << test::to_vector(at["omega"]), test::to_vector(at["tau"]);
      // With y = 0 errors grow as the controls chatter.
      const double allowed = damped ? 1e-9 : 1e-6;
      EXPECT_LE((simulation.state().u - expected).norm(), allowed * expected.norm());
      ASSERT_EQ(simulation.evaluate(), Status::kOk);
      EXPECT_NEAR(simulation.kinetic_energy(), 0.124 * std::exp(-time), 1e-10);
    }
    std::cout << name << ": controls up to " << largest_control << " rad/s^2\n";
    // Chattering: torques that grow while the motion dies; damped they never exceed the first.
    if (damped)
    {
      EXPECT_LE(largest_control, start.u.tail<3>().norm());
    }
    else
    {
      EXPECT_GT(largest_control, 5.0 * start.u.tail<3>().norm());
    }
  }
}

}  // namespace
}  // namespace constrained_dynamics
