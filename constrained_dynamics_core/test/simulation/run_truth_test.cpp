// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors
// Runs tell the truth: energy balance, error of the steps, rows, limits, ends.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "constrained_dynamics/model/analytic_system.hpp"
#include "constrained_dynamics/scenario/scenario.hpp"

namespace constrained_dynamics
{
namespace
{

struct Recorded
{
  RunResult result;
  State end;
  std::vector<double> times;
  std::vector<std::string> row_names;

  double work(Work kind) const { return result.energy.of(kind); }
  double energy_change() const { return result.energy.end - result.energy.start; }
};

Recorded simulate(const std::string & text, const std::vector<std::string> & overrides = {})
{
  const Scenario scenario = Scenario::from_text(text, overrides);
  const std::unique_ptr<Simulation> simulation = scenario.make_simulation();
  Recorded out;
  out.result = simulation->run(
    scenario.run().until, scenario.run().output_interval,
    [&](const Simulation & now)
    {
      out.times.push_back(now.state().time);
      return true;
    });
  out.end = simulation->state();
  const ConstraintSet & set = scenario.dynamics()->constraints();
  for (int row = 0; row < set.row_count(); ++row)
  {
    out.row_names.push_back(set.row_name(row));
  }
  return out;
}

std::vector<std::string> names(const Recorded & of, const RowTrouble & trouble)
{
  std::vector<std::string> result;
  for (const int row : trouble.rows)
  {
    result.push_back(of.row_names[static_cast<std::size_t>(row)]);
  }
  return result;
}

const std::vector<std::string> kIntegrators = {"rk4", "kutta_merson", "dopri5"};

std::string with_integrator(const std::string & name) { return "run.integrator=" + name; }

const char * const kPendulumUrdf = R"yaml(
system:
  urdf: |
    <robot name="pendulum">
      <link name="base"/>
      <link name="arm"><inertial><origin xyz="0 0 -0.5"/><mass value="2"/>
        <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <joint name="swing" type="revolute"><parent link="base"/><child link="arm"/>
        <axis xyz="0 1 0"/><limit lower="-1" upper="1.2" velocity="3" effort="10"/></joint>
    </robot>
  dampers: {swing: 0.2}
initial: {q: {swing: 1.0}}
run: {until: 3, step: 0.001}
)yaml";

// ---- balance: closed forms
// ------------------------------------------------------------------------------

TEST(EnergyBalance, when_a_damper_brakes_a_rotor_expect_its_loss)
{
  // I ω̇ = −c ω: E = E0 exp(−2 c t/I).
  const double I = 0.1 + 2.0 * 0.25;
  const double c = 0.2;
  const double start = 0.5 * I * 4.0;
  const double loss = start * std::expm1(-2.0 * c * 3.0 / I);
  for (const std::string & integrator : kIntegrators)
  {
    const Recorded done = simulate(
      kPendulumUrdf, {"system.gravity=[0, 0, 0]", "initial.u={swing: 2}", "run.limits=ignore",
                      with_integrator(integrator)});
    EXPECT_EQ(done.result.status, Status::kOk) << integrator;
    ASSERT_TRUE(done.result.energy.available);
    EXPECT_NEAR(done.work(Work::kDampers), loss, 1e-10 * start) << integrator;
    EXPECT_NEAR(done.energy_change(), loss, 1e-10 * start) << integrator;
    EXPECT_LT(done.result.energy.relative_error(), 1e-10) << integrator;
  }
}

TEST(EnergyBalance, when_a_pendulum_swings_with_a_damper_expect_all_loss_in_the_damper)
{
  for (const std::string & integrator : kIntegrators)
  {
    const Recorded done = simulate(kPendulumUrdf, {with_integrator(integrator)});
    EXPECT_EQ(done.result.status, Status::kOk) << integrator;
    EXPECT_LT(done.work(Work::kDampers), -0.1);
    EXPECT_NEAR(done.work(Work::kDampers), done.energy_change(), 1e-8) << integrator;
    EXPECT_EQ(done.result.energy.total_work(), done.work(Work::kDampers));
  }
}

TEST(EnergyBalance, when_a_row_moves_a_mass_expect_minus_lambda_alpha)
{
  // x = a sin ωt: T = m a² ω² cos²(ωt)/2.
  const char * const text = R"yaml(
parameters: {m: 3.0, a: 0.4, w: 2.0}
system: {coordinates: [x, y], kinetic: m/2*(dx^2 + dy^2)}
constraints:
  - {name: drive, type: formula, level: position, rows: ["x - a*sin(w*t)"]}
initial: {q: {x: 0}, u: {dy: 0.1}}
run: {until: 1.3, step: 0.001}
)yaml";
  const double peak = 0.5 * 3.0 * 0.16 * 4.0;
  const double expected = peak * (std::pow(std::cos(2.0 * 1.3), 2) - 1.0);
  for (const std::string & integrator : kIntegrators)
  {
    const Recorded done = simulate(text, {with_integrator(integrator)});
    EXPECT_EQ(done.result.status, Status::kOk);
    EXPECT_NEAR(done.work(Work::kMovingRows), expected, 1e-9) << integrator;
    EXPECT_LT(done.result.energy.relative_error(), 1e-9) << integrator;
  }
}

TEST(EnergyBalance, when_a_row_keeps_a_speed_against_a_force_expect_its_work)
{
  const char * const text = R"yaml(
parameters: {v: 0.7, c: 2.0}
system: {coordinates: [x], kinetic: dx^2/2, force: {x: -c*dx}}
constraints:
  - {name: pull, type: formula, level: velocity, rows: ["dx - v"]}
initial: {u: {dx: 0.7}}
run: {until: 2, step: 0.01}
)yaml";
  const Recorded done = simulate(text);
  EXPECT_EQ(done.result.status, Status::kOk);
  EXPECT_NEAR(done.work(Work::kForces), -2.0 * 0.49 * 2.0, 1e-12);
  EXPECT_NEAR(done.work(Work::kInhomogeneousRows), 2.0 * 0.49 * 2.0, 1e-12);
  EXPECT_EQ(done.work(Work::kMovingRows), 0.0);
}

TEST(EnergyBalance, when_both_kinds_of_rows_work_expect_them_apart)
{
  const char * const text = R"yaml(
system: {coordinates: [x, y], kinetic: (dx^2 + dy^2)/2, force: {x: -dx, y: -2*dy}}
constraints:
  - {name: speed, type: formula, level: velocity, rows: ["dx - 0.5"]}
  - {name: place, type: formula, level: position, rows: ["y - 0.3*t"]}
initial: {q: {y: 0}, u: {dx: 0.5, dy: 0.3}}
run: {until: 1, step: 0.01}
)yaml";
  const Recorded done = simulate(text);
  EXPECT_NEAR(done.work(Work::kInhomogeneousRows), 0.25, 1e-12);
  EXPECT_NEAR(done.work(Work::kMovingRows), 2.0 * 0.09, 1e-12);
}

TEST(EnergyBalance, when_a_spring_stiffens_expect_the_rate_of_the_potential)
{
  // Held at x = 1 while k grows from 1 to 3.
  const char * const text = R"yaml(
system: {coordinates: [x], kinetic: dx^2/2, potential: (1 + t)*x^2/2}
constraints: [{name: hold, type: formula, level: position, rows: ["x - 1"]}]
initial: {q: {x: 1}}
run: {until: 2, step: 0.01}
)yaml";
  const Recorded done = simulate(text);
  EXPECT_EQ(done.result.status, Status::kOk);
  EXPECT_NEAR(done.work(Work::kPotential), 1.0, 1e-12);
  EXPECT_NEAR(done.energy_change(), 1.0, 1e-12);
}

TEST(EnergyBalance, when_an_input_pushes_expect_force_times_way)
{
  const char * const text = R"yaml(
system: {coordinates: [x], kinetic: dx^2, inputs: {push: {x: 1}}}
inputs: {push: 3}
run: {until: 2, step: 0.01}
)yaml";
  const Recorded done = simulate(text);
  EXPECT_NEAR(done.work(Work::kInputs), 3.0 * done.end.q(0), 1e-12);
  EXPECT_LT(done.result.energy.relative_error(), 1e-12);
}

TEST(EnergyBalance, when_a_drive_imposes_a_motion_expect_its_work)
{
  // A mass on a cart that is driven by x = t²/2: T of both.
  const char * const text = R"yaml(
system:
  coordinates: [x, y]
  kinetic: 2*dx^2/2 + (dx + dy)^2/2
  control_states: {second: [x]}
inputs: {ddx: 1}
run: {until: 1, step: 0.01}
)yaml";
  const Recorded done = simulate(text);
  EXPECT_EQ(done.result.status, Status::kOk);
  // y stays where it is in space, so that the drive moves the cart alone.
  EXPECT_NEAR(done.work(Work::kDriven), 1.0, 1e-12);
  EXPECT_LT(done.result.energy.relative_error(), 1e-12);
}

TEST(EnergyBalance, when_a_row_acts_on_a_drive_expect_rows_without_work)
{
  const char * const text = R"yaml(
system:
  coordinates: [x, y]
  kinetic: 2*dx^2/2 + dy^2/2
  control_states: {second: [x]}
constraints: [{name: rod, type: formula, level: position, rows: ["y - x"]}]
inputs: {ddx: 1}
run: {until: 1, step: 0.01}
)yaml";
  const Recorded done = simulate(text);
  EXPECT_NEAR(done.work(Work::kDriven), 1.5, 1e-12);
  EXPECT_NEAR(done.work(Work::kMovingRows), 0.0, 1e-12);
}

TEST(EnergyBalance, when_time_is_in_the_kinetic_energy_expect_the_work_of_the_moving_frame)
{
  // A bead on a rod that turns at w: T = (dr² + r² w²)/2; the drive's torque does d(r² w²)/dt.
  const char * const text = R"yaml(
parameters: {w: 1.5}
system: {coordinates: [r], kinetic: (dr^2 + r^2*w^2)/2}
initial: {q: {r: 0.2}}
run: {until: 1, step: 0.001}
)yaml";
  const Recorded done = simulate(text);
  const double r = done.end.q(0);
  EXPECT_NEAR(r, 0.2 * std::cosh(1.5), 1e-10);
  EXPECT_NEAR(done.work(Work::kDriven), (r * r - 0.04) * 2.25, 1e-9);
  EXPECT_LT(done.result.energy.relative_error(), 1e-9);
}

const char * const kBall = R"yaml(
system:
  bodies: [{name: ball, mass: 2, inertia: [0.1, 0.1, 0.1]}]
constraints:
  - {name: floor, type: point_on_plane, frame_a: ball, normal: [0, 0, 1],
     unilateral: {side: above, restitution: 0.5}}
initial: {q: {ball: [0, 0, 1, 0, 0, 0, 1]}}
run: {until: 0.6, step: 0.001}
)yaml";

TEST(EnergyBalance, when_a_ball_bounces_expect_the_loss_at_the_impact)
{
  const double loss = -(1.0 - 0.25) * 2.0 * 9.81;
  for (const std::string & integrator : kIntegrators)
  {
    const Recorded done = simulate(kBall, {with_integrator(integrator)});
    EXPECT_EQ(done.result.status, Status::kOk) << integrator;
    EXPECT_NEAR(done.work(Work::kImpacts), loss, 1e-6) << integrator;
    EXPECT_LT(done.result.energy.relative_error(), 1e-6) << integrator;
  }
}

TEST(EnergyBalance, when_a_block_slides_to_rest_expect_its_energy_in_friction)
{
  const char * const joint = R"yaml(
system:
  urdf: |
    <robot name="slider"><link name="base"/>
      <link name="block"><inertial><mass value="2"/>
        <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <joint name="slide" type="prismatic"><parent link="base"/><child link="block"/>
        <axis xyz="1 0 0"/><limit lower="-9" upper="9" velocity="9" effort="9"/></joint>
    </robot>
  friction: {slide: 1.0}
initial: {u: {slide: 1.0}}
run: {until: 3, step: 0.001}
)yaml";
  for (const std::string & integrator : kIntegrators)
  {
    const Recorded done = simulate(joint, {with_integrator(integrator)});
    EXPECT_EQ(done.result.status, Status::kOk) << integrator;
    EXPECT_NEAR(done.work(Work::kFriction), -1.0, 1e-5) << integrator;
    EXPECT_LT(done.result.energy.relative_error(), 1e-5) << integrator;
  }
}

TEST(EnergyBalance, when_a_slip_ends_within_a_step_expect_the_work_of_friction_until_then)
{
  // The block stops within the first step; friction must not go on and push it back.
  const char * const text = R"yaml(
system: {coordinates: [x, y], kinetic: (dx^2 + dy^2)/2, potential: 9.81*y}
constraints:
  - {name: rub, type: formula, level: velocity, rows: [dx], friction: {bound: 20}}
  - {name: floor, type: formula, level: position, rows: [y]}
initial: {u: {dx: 0.01}}
run: {until: 1, step: 0.1}
)yaml";
  for (const char * const integrator : {"rk4", "kutta_merson", "dopri5"})
  {
    const Recorded done = simulate(text, {std::string("run.integrator=") + integrator});
    EXPECT_EQ(done.result.status, Status::kOk) << integrator;
    EXPECT_NEAR(done.work(Work::kFriction), -0.5e-4, 1e-12) << integrator;
  }
}

TEST(EnergyBalance, when_gains_pull_back_to_a_row_expect_their_work_and_a_balance)
{
  const char * const text = R"yaml(
system: {coordinates: [x, y], kinetic: (dx^2 + dy^2)/2, potential: 9.81*y}
constraints: [{name: rod, type: formula, level: position, rows: ["x^2 + y^2 - 1"]}]
initial: {q: {x: 1.02, y: 0}, u: {dx: 0.1}, solve: none, tolerance: 1}
stabilisation: {kind: baumgarte, velocity_gain: -20, position_gain: -100}
run: {until: 2, step: 0.001}
)yaml";
  const Recorded done = simulate(text);
  EXPECT_EQ(done.result.status, Status::kOk);
  EXPECT_GT(std::abs(done.work(Work::kStabilisation)), 1e-3);
  EXPECT_LT(done.result.energy.relative_error(), 1e-6);
}

TEST(EnergyBalance, when_a_wrench_from_outside_lifts_expect_its_work)
{
  const char * const text = R"yaml(
system:
  bodies: [{name: box, mass: 1, inertia: [0.1, 0.2, 0.3]}]
  external: [{name: hook, frame: box, force: ["sin(t)", 0, "9.81 + 1"], torque: [0.1, 0, 0.2]}]
run: {until: 1, step: 0.001}
)yaml";
  const Recorded done = simulate(text);
  EXPECT_EQ(done.result.status, Status::kOk);
  EXPECT_GT(done.work(Work::kExternal), 1.0);
  EXPECT_NEAR(done.work(Work::kExternal), done.energy_change(), 1e-9);
}

TEST(EnergyBalance, when_a_system_states_no_energy_expect_not_available)
{
  AnalyticFunctions functions;
  functions.coordinates = {"x"};
  functions.mass_matrix = [](double, const ConstVectorRef &, MatrixRef out) { out.setOnes(); };
  const auto dynamics =
    std::make_shared<Dynamics>(ConstraintSet(make_analytic_system(functions), {}));
  Simulation simulation(dynamics);
  State state;
  state.q = Eigen::VectorXd::Zero(1);
  state.u = Eigen::VectorXd::Ones(1);
  simulation.start(state);
  const RunResult result = simulation.run(1.0, 0.1, [](const Simulation &) { return true; });
  EXPECT_EQ(result.status, Status::kOk);
  EXPECT_FALSE(result.energy.available);
}

// ---- accuracy
// ------------------------------------------------------------------------------

const char * const kRod = R"yaml(
system: {coordinates: [x, y], kinetic: (dx^2 + dy^2)/2, potential: 9.81*y}
constraints: [{name: rod, type: formula, level: position, rows: ["(x^2 + y^2 - 1)/2"]}]
initial: {q: {x: -1, y: 0}}
run: {until: 2, step: 0.001, output_interval: 1}
)yaml";

TEST(Accuracy, when_books_are_kept_expect_no_more_evaluations)
{
  const Recorded done = simulate(kRod);
  // Four a step, one an output, and at most 10 % more.
  EXPECT_EQ(done.result.evaluations, 4 * done.result.steps + static_cast<long>(done.times.size()));
}

struct StepCase
{
  const char * name;
  const char * text;
  double step;  // that is right
};

const std::vector<StepCase> & step_cases()
{
  static const std::vector<StepCase> cases = {
    {"oscillator", R"yaml(
system: {coordinates: [x], kinetic: dx^2/2, potential: 50*x^2}
initial: {q: {x: 1}}
run: {until: 10}
)yaml",
     1e-3},
    {"rod", R"yaml(
system: {coordinates: [x, y], kinetic: (dx^2 + dy^2)/2, potential: 9.81*y}
constraints: [{name: rod, type: formula, level: position, rows: ["(x^2 + y^2 - 1)/2"]}]
initial: {q: {x: -1, y: 0}}
run: {until: 5}
)yaml",
     1e-3},
    // Energy and speeds are exact whatever the step is; only the orientation is wrong.
    {"spin", R"yaml(
system:
  bodies: [{name: top, mass: 1, inertia: [0.1, 0.1, 0.2]}]
  gravity: [0, 0, 0]
initial: {u: {top: [0, 0, 0, 0, 0, 20]}}
run: {until: 5}
)yaml",
     1e-3},
    {"stiff", R"yaml(
system: {coordinates: [x], kinetic: dx^2/2, force: {x: -200*dx - 100*x}}
initial: {q: {x: 1}}
run: {until: 1}
)yaml",
     1e-3},
    {"kepler", R"yaml(
system: {coordinates: [x, y], kinetic: (dx^2 + dy^2)/2, potential: -1/sqrt(x^2 + y^2)}
initial: {q: {x: 1}, u: {dy: 0.6}}
run: {until: 6}
)yaml",
     1e-3},
  };
  return cases;
}

// R22: for any step, a run whose end is wrong by more than the tolerance reports it.
TEST(Accuracy, when_steps_grow_a_thousandfold_expect_every_wrong_run_to_say_so)
{
  constexpr double kTolerance = 1e-3;
  for (const StepCase & one : step_cases())
  {
    const Recorded reference = simulate(
      one.text,
      {"run.integrator=dopri5", "run.relative_tolerance=1e-12", "run.absolute_tolerance=1e-12"});
    const double q_size = std::max(reference.end.q.norm(), 1.0);
    const double u_size = std::max(reference.end.u.norm(), 1.0);
    for (const char * const integrator : {"rk4", "kutta_merson"})
    {
      int wrong = 0;
      for (const double factor : {1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0})
      {
        const Recorded done = simulate(
          one.text, {with_integrator(integrator), "run.step=" + std::to_string(factor * one.step)});
        const double error = done.result.completed
                               ? std::max(
                                   (done.end.q - reference.end.q).norm() / q_size,
                                   (done.end.u - reference.end.u).norm() / u_size)
                               : INFINITY;
        const bool is_wrong = !(error <= kTolerance);
        wrong += is_wrong ? 1 : 0;
        if (is_wrong)
        {
          EXPECT_NE(done.result.status, Status::kOk)
            << one.name << ", " << integrator << ", step × " << factor << ": error " << error
            << ", balance " << done.result.energy.relative_error() << ", steps "
            << done.result.step_error;
        }
        if (factor == 1.0)
        {
          EXPECT_EQ(done.result.status, Status::kOk) << one.name << ", " << integrator;
        }
        EXPECT_TRUE(done.end.q.allFinite() && done.end.u.allFinite());
      }
      EXPECT_GT(wrong, 0) << one.name << ": no step was too large";
    }
  }
}

TEST(Accuracy, when_tolerance_is_stated_expect_it_to_count)
{
  const Recorded strict = simulate(kRod, {"run.step=0.01", "run.error_tolerance=1e-9"});
  EXPECT_EQ(strict.result.status, Status::kInaccurate);
  EXPECT_TRUE(strict.result.completed);
  EXPECT_FALSE(strict.result.is_accurate);
  EXPECT_EQ(simulate(kRod, {"run.step=0.01"}).result.status, Status::kOk);
}

TEST(Accuracy, when_a_motion_is_made_in_many_runs_expect_each_judged_by_the_whole)
{
  // Each run is one step; at the turning points nothing moves.
  for (const std::string & integrator : kIntegrators)
  {
    const Scenario scenario = Scenario::from_text(kRod, {with_integrator(integrator)});
    const std::unique_ptr<Simulation> simulation = scenario.make_simulation();
    for (int i = 1; i <= 3000; ++i)
    {
      const RunResult result =
        simulation->run(1e-3 * i, 1e-3, [](const Simulation &) { return true; });
      ASSERT_EQ(result.status, Status::kOk)
        << integrator << " run " << i << ": balance " << result.energy.relative_error()
        << ", steps " << result.step_error;
    }
  }
}

TEST(Accuracy, when_a_step_is_longer_than_the_run_expect_one_step_and_its_error)
{
  const Recorded done = simulate(kRod, {"run.step=1e9", "run.until=1"});
  EXPECT_EQ(done.end.time, done.result.completed ? 1.0 : 0.0);
  EXPECT_NE(done.result.status, Status::kOk);
  // Constant acceleration is exact in one step.
  const Recorded exact = simulate(
    "system: {coordinates: [x], kinetic: dx^2/2, potential: 9.81*x}\n"
    "run: {until: 1, step: 1e9}\n");
  EXPECT_EQ(exact.result.status, Status::kOk);
  EXPECT_EQ(exact.result.steps, 1);
  EXPECT_NEAR(exact.end.q(0), -0.5 * 9.81, 1e-12);
}

TEST(Accuracy, when_energies_overflow_expect_the_run_to_stop)
{
  const char * const text = R"yaml(
system: {coordinates: [x], kinetic: dx^2/2, force: {x: 1e6*dx}}
initial: {u: {dx: 1}}
run: {until: 1, step: 1e-4, output_interval: 1e-4}
)yaml";
  const Scenario scenario = Scenario::from_text(text);
  const std::unique_ptr<Simulation> simulation = scenario.make_simulation();
  const RunResult result = simulation->run(
    1.0, 1e-4,
    [](const Simulation & now)
    {
      EXPECT_TRUE(std::isfinite(now.kinetic_energy() + now.potential_energy()));
      EXPECT_TRUE(now.workspace().solution().acceleration.allFinite());
      return true;
    });
  EXPECT_FALSE(result.completed);
  EXPECT_EQ(result.status, Status::kNonFiniteResult);
}

// ---- how runs end
// ------------------------------------------------------------------------------

TEST(RunEnd, when_an_adaptive_run_stops_expect_the_time_and_state_of_the_stop)
{
  const char * const text = R"yaml(
system: {coordinates: [x], kinetic: dx^2/2, force: {x: sqrt(0.5 - t)}}
run: {until: 2, integrator: dopri5, output_interval: 1}
)yaml";
  const Recorded done = simulate(text);
  EXPECT_FALSE(done.result.completed);
  EXPECT_GT(done.result.time, 0.4);
  EXPECT_EQ(done.result.time, done.end.time);
  EXPECT_GT(done.end.u(0), 0.1);
  EXPECT_EQ(done.times.size(), 1U);
}

TEST(RunEnd, when_adaptive_steps_hardly_advance_expect_an_end_that_says_so)
{
  // 1e10 oscillations a second: the run would take some 1e11 steps.
  const Recorded done = simulate(
    "{system: {coordinates: [x], kinetic: dx^2/2, force: {x: '1e10*sin(1e10*t)'}}, "
    "run: {until: 1, step: 0.001, integrator: dopri5}}");
  EXPECT_EQ(done.result.status, Status::kNotConverged);
  EXPECT_TRUE(done.result.has_stalled);
  EXPECT_FALSE(done.result.completed);
  EXPECT_GT(done.result.time, 0.0);
  EXPECT_LT(done.result.time, 1e-4);
  EXPECT_LT(done.result.evaluations, 1000000);
}

TEST(RunEnd, when_asked_to_stop_expect_the_last_state_shown)
{
  for (const std::string & integrator : kIntegrators)
  {
    for (const char * const events : {"", "events: [{time: 9, impulse: {dx: 0.1}}]\n"})
    {
      const Scenario scenario = Scenario::from_text(
        std::string(kRod) + events,
        {"run.until=10", "run.output_interval=2", with_integrator(integrator)});
      const std::unique_ptr<Simulation> simulation = scenario.make_simulation();
      std::vector<double> times;
      const RunResult result = simulation->run(
        10.0, 2.0,
        [&](const Simulation & now)
        {
          times.push_back(now.state().time);
          if (times.size() == 2)
          {
            simulation->request_stop();
          }
          return true;
        });
      EXPECT_EQ(result.status, Status::kInterrupted) << integrator;
      EXPECT_FALSE(result.completed);
      EXPECT_LT(result.time, 3.0);
      EXPECT_EQ(times.back(), result.time);
      EXPECT_EQ(simulation->state().time, result.time);
      EXPECT_TRUE(result.is_accurate);
      // The request is served once.
      EXPECT_EQ(
        simulation->run(3.0, 2.0, [](const Simulation &) { return true; }).status, Status::kOk);
    }
  }
}

TEST(RunEnd, when_rows_contradict_expect_their_names)
{
  const char * const text = R"yaml(
system: {coordinates: [x, y], kinetic: (dx^2 + dy^2)/2}
constraints:
  - {name: a, type: formula, level: position, rows: ["x - sin(t)"]}
  - {name: b, type: formula, level: position, rows: ["x - sin(t) - 0.1*t^3"]}
  - {name: c, type: formula, level: position, rows: ["y - x"]}
run: {until: 2, step: 0.01}
)yaml";
  for (const std::string & integrator : kIntegrators)
  {
    const Recorded done = simulate(text, {with_integrator(integrator)});
    EXPECT_FALSE(done.result.completed) << integrator;
    EXPECT_EQ(done.result.status, Status::kInconsistent) << integrator;
    EXPECT_THAT(names(done, done.result.unmet_rows), ::testing::ElementsAre("a/row_1", "b/row_1"))
      << integrator;
    EXPECT_THAT(
      names(done, done.result.inconsistent_rows), ::testing::ElementsAre("a/row_1", "b/row_1"))
      << integrator;
  }
}

TEST(RunEnd, when_a_row_loses_rank_expect_its_name)
{
  // The row of the cross vanishes where its arms meet.
  const char * const text = R"yaml(
system: {coordinates: [x, y, z], kinetic: (dx^2 + dy^2 + dz^2)/2}
constraints:
  - {name: flat, type: formula, level: position, rows: [z]}
  - {name: cross, type: formula, level: position, rows: ["x*y"]}
initial: {q: {x: 1, y: 0}, u: {dx: -1}}
run: {until: 2, step: 0.25}
)yaml";
  const Recorded done = simulate(text);
  EXPECT_TRUE(done.result.completed);
  ASSERT_GT(done.result.singular_evaluations, 0);
  EXPECT_THAT(names(done, done.result.singular_rows), ::testing::ElementsAre("cross/row_1"));
  EXPECT_NEAR(done.result.singular_rows.time, 1.0, 1e-9);
}

// ---- limits
// ------------------------------------------------------------------------------

TEST(Limits, when_exceeded_expect_a_report_and_no_force)
{
  const Recorded done =
    simulate(kPendulumUrdf, {"initial.q.swing=-0.9", "initial.u={swing: -3.5}"});
  ASSERT_EQ(done.result.exceeded_limits.size(), 2U);
  EXPECT_EQ(done.result.exceeded_limits[0].kind, LimitKind::kLower);
  EXPECT_EQ(done.result.exceeded_limits[0].limit, -1.0);
  EXPECT_LT(done.result.exceeded_limits[0].value, -1.1);
  EXPECT_GT(done.result.exceeded_limits[0].first_time, 0.0);
  EXPECT_EQ(done.result.exceeded_limits[1].kind, LimitKind::kVelocity);
  EXPECT_GT(std::abs(done.result.exceeded_limits[1].value), 3.5);
  EXPECT_EQ(done.result.exceeded_limits[1].first_time, 0.0);
  EXPECT_EQ(done.result.status, Status::kOk);
  EXPECT_TRUE(
    simulate(
      kPendulumUrdf, {"initial.q.swing=-0.9", "initial.u={swing: -2.5}", "run.limits=ignore"})
      .result.exceeded_limits.empty());
}

TEST(Limits, when_they_are_stops_expect_restitution_and_nothing_beyond)
{
  // Without gravity and dampers: at the stop the speed turns and is e times what it was.
  const std::vector<std::string> still = {
    "system.gravity=[0, 0, 0]", "system.dampers={}", "initial.q.swing=0.9",
    "initial.u={swing: 2}",     "run.until=0.5",     "run.limits={kind: stop, restitution: 0.4}"};
  for (const std::string & integrator : kIntegrators)
  {
    std::vector<std::string> all = still;
    all.push_back(with_integrator(integrator));
    const Recorded done = simulate(kPendulumUrdf, all);
    EXPECT_EQ(done.result.status, Status::kOk) << integrator;
    EXPECT_TRUE(done.result.exceeded_limits.empty()) << integrator;
    EXPECT_NEAR(done.end.u(0), -0.8, 1e-9) << integrator;
    EXPECT_NEAR(done.end.q(0), 1.2 - 0.8 * (0.5 - 0.15), 1e-6) << integrator;
    const double energy = 0.5 * 0.6 * 4.0;
    EXPECT_NEAR(done.work(Work::kImpacts), (0.16 - 1.0) * energy, 1e-9) << integrator;
  }
}

TEST(Limits, when_a_servo_law_presses_against_a_stop_expect_one_impact_and_its_force)
{
  // The law does not know the stop, which therefore carries I k e. Gravity pulls away from both
  // stops: a law that yielded there would leave the stop and come back, again and again.
  const double I = 0.1 + 2.0 * 0.25;
  for (const std::string & integrator : kIntegrators)
  {
    for (const double desired : {1.5, -1.5})
    {
      const Scenario scenario = Scenario::from_text(
        std::string(kPendulumUrdf) +
          "servo: [{name: go, type: joint, joint: swing, stiffness: 400, reference: " +
          "{kind: constant, values: [" + std::to_string(desired) + "]}}]\n" +
          "servo_law: {limits: {position: none, velocity: none}}\n",
        {"initial.q.swing=0", "run.limits=stop", with_integrator(integrator)});
      const std::unique_ptr<Simulation> simulation = scenario.make_simulation();
      const RunResult result = simulation->run(3.0, 0.1, [](const Simulation &) { return true; });
      EXPECT_TRUE(result.completed) << integrator << ": " << to_string(result.status);
      EXPECT_EQ(result.status, Status::kOk) << integrator;
      EXPECT_EQ(simulation->events().size(), 2U) << integrator;  // impact, close
      const double limit = desired > 0.0 ? 1.2 : -1.0;
      EXPECT_EQ(simulation->state().u(0), 0.0) << integrator;
      EXPECT_NEAR(simulation->state().q(0), limit, 1e-12) << integrator;
      // Rows are made for the lower stop first.
      EXPECT_NEAR(
        simulation->workspace().solution().multipliers(desired > 0.0 ? 1 : 0),
        -I * 400.0 * (desired - limit), 1e-8)
        << integrator;
    }
  }
}

TEST(Limits, when_settings_are_bad_expect_them_named)
{
  const auto message = [](const std::string & assignment)
  {
    try
    {
      Scenario::from_text(kPendulumUrdf, {assignment});
    }
    catch (const std::invalid_argument & error)
    {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_THAT(message("run.limits=bounce"), ::testing::HasSubstr("report, stop, ignore"));
  EXPECT_THAT(message("run.limits={kind: stop, restitution: 2}"), ::testing::HasSubstr("0 to 1"));
  EXPECT_THAT(
    message("run.limits={kind: report, restitution: 0.5}"),
    ::testing::HasSubstr("only with kind: stop"));
  EXPECT_THAT(message("run.error_tolerance=0"), ::testing::HasSubstr("error_tolerance"));
}

}  // namespace
}  // namespace constrained_dynamics
