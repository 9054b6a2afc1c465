// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Steps of Moreau (E56): order, conservation, dissipation, friction, drift.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <Eigen/Dense>

#include "constrained_dynamics/constraints/formula_constraint.hpp"
#include "constrained_dynamics/model/analytic_system.hpp"
#include "constrained_dynamics/scenario/scenario.hpp"
#include "support/allocation_counter.hpp"
#include "support/reference_data.hpp"

namespace constrained_dynamics::test
{
namespace
{

constexpr double kGravity = 9.81;

RunResult run_to(Simulation & simulation, double time)
{
  return simulation.run(time, 1e9, [](const Simulation &) { return true; });
}

double energy_of(Simulation & simulation)
{
  EXPECT_TRUE(has_output(simulation.evaluate()));
  return simulation.kinetic_energy() + simulation.potential_energy();
}

// ---- smooth motion
// ------------------------------------------------------------------------------

/// Distance from the published end of the pendulum (IFToMM A01) after 10 s.
double pendulum_error(double step)
{
  const Scenario scenario =
    load_scenario("iftomm_pendulum", {"run.integrator=moreau", set("run.step", step)});
  const auto simulation = scenario.make_simulation();
  EXPECT_TRUE(run_to(*simulation, 10.0).completed);
  EXPECT_LE(std::abs(simulation->workspace().rows().position(0)), 1e-12);
  EXPECT_LE(std::abs(simulation->workspace().rows().velocity(0)), 1e-12);
  return (simulation->state().q.head(2) - Eigen::Vector2d(-0.27508746257612, -0.96141920509913))
    .norm();
}

TEST(Moreau, when_step_is_halved_expect_first_order)
{
  const double coarse = pendulum_error(2e-4);
  const double fine = pendulum_error(1e-4);
  EXPECT_NEAR(std::log2(coarse / fine), 1.0, 0.1) << coarse << " " << fine;
  EXPECT_LE(fine, 0.05);  // five swings
}

TEST(Moreau, when_there_are_no_contacts_expect_semi_implicit_euler)
{
  const Scenario scenario = load_scenario("four_bar", {"run.integrator=moreau"});
  const auto simulation = scenario.make_simulation();
  const double h = scenario.run().integration.step;
  const State before = simulation->state();
  ASSERT_TRUE(has_output(simulation->evaluate()));
  const Eigen::VectorXd acceleration = simulation->workspace().solution().acceleration;
  ASSERT_EQ(simulation->step(), Status::kOk);
  // Projection corrects by h² at most.
  EXPECT_LE((simulation->state().u - before.u - h * acceleration).norm(), 10.0 * h * h);
  EXPECT_LE((simulation->state().q - before.q - h * simulation->state().u).norm(), 10.0 * h * h);
}

TEST(Moreau, when_a_mass_runs_on_a_circle_expect_its_speed_kept)
{
  const Scenario scenario = Scenario::from_text(R"(
system: {coordinates: [x, y], kinetic: (dx^2 + dy^2)/2}
constraints: [{name: rod, type: formula, level: position, rows: ["(x^2 + y^2 - 1)/2"]}]
initial: {q: {x: 1, y: 0}, u: {dx: 0, dy: 3}}
run: {until: 10, integrator: moreau, step: 0.001}
)");
  const auto simulation = scenario.make_simulation();
  const RunResult result = run_to(*simulation, 10.0);
  EXPECT_EQ(result.status, Status::kOk) << "step error " << result.step_error;
  // Each step errs by (h ω)⁴; with all of b in the step it would be (h ω)², or 9 % here.
  EXPECT_NEAR(simulation->state().u.norm(), 3.0, 3.0 * 1e4 * std::pow(3e-3, 4));
  EXPECT_NEAR(simulation->workspace().solution().multipliers(0), -9.0, 1e-4);
}

/// A body without forces moves straight ahead, however fast the axes of its speeds turn.
void expect_straight(const std::string & base, const std::string & keys)
{
  const Scenario scenario = Scenario::from_text(
    "system:\n  gravity: [0, 0, 0]\n"
    "  bodies: [{name: b, mass: 2, inertia: [0.3, 0.3, 0.3], base: " +
    base + "}]\n" + keys + "run: {until: 2, integrator: moreau, step: 0.001}\n");
  const auto simulation = scenario.make_simulation();
  ASSERT_TRUE(run_to(*simulation, 2.0).completed);
  const Eigen::VectorXd & q = simulation->state().q;
  const Eigen::VectorXd & u = simulation->state().u;
  const Eigen::Index linear = base == "planar" ? 2 : 3;
  EXPECT_NEAR(q(0), 6.0, 1e-9) << keys;
  EXPECT_LE(q.segment(1, linear - 1).norm(), 1e-9) << keys;
  EXPECT_NEAR(u.head(linear).norm(), 3.0, 1e-10) << keys;
}

TEST(Moreau, when_a_free_body_spins_expect_a_straight_way)
{
  expect_straight("floating", "initial: {u: {b: [3, 0, 0, 5, 20, -7]}}\n");
  expect_straight("planar", "initial: {u: {b: [3, 0, 20]}}\n");
}

TEST(Moreau, when_a_spinning_body_glides_on_a_plane_expect_a_straight_way)
{
  const std::string start = "initial: {u: {b: [3, 0, 0, 5, 20, -7]}}\n";
  for (const char * type : {"point_on_plane", "contact"})
  {
    const std::string plane = std::string("constraints: [{name: plane, type: ") + type +
                              ", frame_a: b, normal: [0, 0, 1]}]\n";
    expect_straight("floating", plane + start);
    expect_straight("floating", plane + start + "stabilisation: {kind: none}\n");
  }
}

// ---- one contact, closed forms
// ------------------------------------------------------------------------------

TEST(Moreau, when_a_ball_bounces_elastically_expect_energy_to_rounding)
{
  const double h = 1e-3;
  const Scenario scenario =
    load_scenario("bouncing_ball", {"run.integrator=moreau", "run.step=0.001", "parameters.e=1.0"});
  const auto simulation = scenario.make_simulation();
  // Coordinates are half a step ahead of the speeds: energy is that of y − h v/2.
  const auto energy = [&]
  {
    const double v = simulation->state().u(0);
    return 0.5 * v * v + kGravity * (simulation->state().q(0) - 0.5 * h * v);
  };
  const double start = energy();
  double worst = 0.0;
  for (int k = 0; k < 50000; ++k)
  {
    ASSERT_EQ(simulation->step(), Status::kOk);
    worst = std::max(worst, std::abs(energy() - start));
  }
  EXPECT_GE(simulation->events().size(), 50U);
  EXPECT_LE(worst, 1e-10 * start);
}

TEST(Moreau, when_a_ball_bounces_expect_the_events_of_the_exact_run_to_order_h)
{
  const double exact = std::sqrt(2.0 / kGravity);  // first impact
  for (const double h : {1e-3, 1e-4})
  {
    const Scenario scenario =
      load_scenario("bouncing_ball", {"run.integrator=moreau", set("run.step", h)});
    const auto simulation = scenario.make_simulation();
    const RunResult result = run_to(*simulation, 5.0);
    ASSERT_TRUE(result.completed);
    // Energy of coordinates that are half a step ahead errs by g h v/2, at each impact the other
    // way round.
    EXPECT_LE(result.energy.largest_error, 10.0 * kGravity * h * std::sqrt(2.0 * kGravity));
    EXPECT_LE(result.step_error, 20.0 * h);
    const auto & events = simulation->events();
    std::vector<ContactEvent> impacts;
    std::copy_if(
      events.begin(), events.end(), std::back_inserter(impacts),
      [](const ContactEvent & event) { return event.kind == ContactEventKind::kImpact; });
    ASSERT_GE(impacts.size(), 5U);
    EXPECT_NEAR(impacts[0].time, exact, 2.0 * h);
    double speed = std::sqrt(2.0 * kGravity);
    double time = exact;
    for (std::size_t k = 0; k < 5; ++k)
    {
      SCOPED_TRACE(k);
      // Each impact is late by up to two steps; speeds follow by g times that.
      const double late = 2.0 * static_cast<double>(k + 1) * h;
      EXPECT_NEAR(impacts[k].time, time, 2.0 * late);
      EXPECT_NEAR(std::abs(impacts[k].speed_before), speed, 2.0 * kGravity * late);
      EXPECT_NEAR(impacts[k].speed_after, -0.8 * impacts[k].speed_before, 1e-12);
      EXPECT_LT(impacts[k].energy_change, 0.0);
      speed *= 0.8;
      time += 2.0 * speed / kGravity;
    }
    // At rest with its weight on the floor, and not below it by more than what was unresolved.
    EXPECT_EQ(simulation->state().u(0), 0.0);
    EXPECT_NEAR(simulation->workspace().solution().multipliers(0), kGravity, 1e-9);
    EXPECT_LE(std::abs(simulation->state().q(0)), 20.0 * kGravity * h * h);
  }
}

/// A block on a plane of slope `angle`, moving along it.
std::string block(double angle, double friction, double speed, double step)
{
  std::ostringstream out;
  out.precision(17);
  out << "parameters: {a: " << angle << "}\n"
      << "system:\n  gravity: [9.81*sin(a), 0, -9.81*cos(a)]\n"
      << "  bodies: [{name: block, mass: 2, inertia: [0.1, 0.1, 0.1]}]\n"
      << "  frames:\n"
      << "    - {repeat: {i: [0, 2]}, name: \"foot${i}\", parent: block,\n"
      << "       pose: {xyz: [\"0.3*cos(2.0943951023931953*${i})\","
      << " \"0.3*sin(2.0943951023931953*${i})\", -0.1]}}\n"
      << "constraints:\n"
      << "  - {repeat: {i: [0, 2]}, name: \"foot${i}\", type: contact, frame_a: \"foot${i}\","
      << " friction: " << friction << "}\n"
      << "initial: {q: {block: [0, 0, 0.1, 0, 0, 0, 1]}, u: {block: [" << speed
      << ", 0, 0, 0, 0, 0]}}\n"
      << "run: {until: 10, integrator: moreau, step: " << step << "}\n";
  return out.str();
}

TEST(Moreau, when_below_the_friction_angle_expect_a_block_that_does_not_creep)
{
  const double angle = 0.45;  // tan = 0.483
  const Scenario scenario = Scenario::from_text(block(angle, 0.5, 0.0, 1e-3));
  const auto simulation = scenario.make_simulation();
  const State start = simulation->state();
  for (int k = 0; k < 10000; ++k)
  {
    ASSERT_EQ(simulation->step(), Status::kOk);
  }
  // Each step leaves speeds of 1e-10 of h g at most: a distance of 1e-11 m in 10 s.
  EXPECT_LE((simulation->state().q - start.q).cwiseAbs().maxCoeff(), 1e-11);
  ASSERT_EQ(simulation->evaluate(), Status::kOk);
  const Eigen::VectorXd & force = simulation->workspace().solution().constraint_force;
  EXPECT_NEAR(force(0), -2.0 * kGravity * std::sin(angle), 1e-8);
  EXPECT_NEAR(force(2), 2.0 * kGravity * std::cos(angle), 1e-8);
  EXPECT_LE(simulation->workspace().solution().acceleration.cwiseAbs().maxCoeff(), 1e-8);
}

TEST(Moreau, when_above_the_friction_angle_expect_the_acceleration_of_theory)
{
  const double angle = 0.6;
  const double friction = 0.3;
  const Scenario scenario = Scenario::from_text(block(angle, friction, 0.0, 1e-3));
  const auto simulation = scenario.make_simulation();
  for (int k = 0; k < 1000; ++k)
  {
    ASSERT_EQ(simulation->step(), Status::kOk);
  }
  const double acceleration = kGravity * (std::sin(angle) - friction * std::cos(angle));
  EXPECT_NEAR(simulation->state().u(0), acceleration, 1e-8);
  // x = Σ h u_k = ½ a t (t + h).
  EXPECT_NEAR(simulation->state().q(0), 0.5 * acceleration * 1.001, 1e-8);
  EXPECT_NEAR(simulation->state().q(2), 0.1, 1e-8);
}

TEST(Moreau, when_a_block_slides_expect_the_stop_of_the_closed_form)
{
  const double h = 1e-3;
  const double speed = 2.0;
  const double friction = 0.4;
  const Scenario scenario = Scenario::from_text(block(0.0, friction, speed, h));
  const auto simulation = scenario.make_simulation();
  const double stop = speed / (friction * kGravity);
  ASSERT_TRUE(run_to(*simulation, 1.0).completed);
  EXPECT_EQ(simulation->state().u.cwiseAbs().maxCoeff() < 1e-12, true);
  // The last step loses what is left; x is ahead by half a step of the speed at most.
  EXPECT_NEAR(simulation->state().q(0), 0.5 * speed * stop, 0.6 * h * speed);
  const auto & events = simulation->events();
  const auto stick = std::find_if(
    events.begin(), events.end(),
    [](const ContactEvent & event) { return event.kind == ContactEventKind::kStick; });
  ASSERT_NE(stick, events.end());
  EXPECT_NEAR(stick->time, stop, 2.0 * h);
}

// ---- energy
// ------------------------------------------------------------------------------

std::string thrown_box(std::mt19937_64 & random, double friction, double low, double high)
{
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  Eigen::Vector4d turn;
  do
  {
    turn = Eigen::Vector4d(uniform(random), uniform(random), uniform(random), uniform(random));
  } while (!(turn.norm() > 0.1));
  turn.normalize();
  std::ostringstream out;
  out.precision(17);
  out << "parameters: {a: 0.3, b: 0.2, c: 0.1, m: 2.0}\n"
      << "system:\n  bodies:\n"
      << "    - {name: box, mass: m, inertia: [m/3*(b^2 + c^2), m/3*(a^2 + c^2),"
      << " m/3*(a^2 + b^2)]}\n"
      << "  frames:\n"
      << "    - {repeat: {i: [0, 1], j: [0, 1], k: [0, 1]}, name: \"corner${i}${j}${k}\","
      << " parent: box,\n       pose: {xyz: [\"(2*${i} - 1)*a\", \"(2*${j} - 1)*b\","
      << " \"(2*${k} - 1)*c\"]}}\n"
      << "constraints:\n"
      << "  - {repeat: {i: [0, 1], j: [0, 1], k: [0, 1]}, name: \"hit${i}${j}${k}\","
      << " type: contact,\n     frame_a: \"corner${i}${j}${k}\", friction: " << friction
      << ", restitution: \"" << low << " + " << high - low << "*${i}\", rest_speed: 1.0e-4}\n"
      << "initial:\n  q: {box: [0, 0, 0.6, " << turn(0) << ", " << turn(1) << ", " << turn(2)
      << ", " << turn(3) << "]}\n  u: {box: [" << uniform(random) << ", " << uniform(random) << ", "
      << uniform(random);
  for (int i = 0; i < 3; ++i)
  {
    out << ", " << 3.0 * uniform(random);
  }
  out << "]}\nrun: {until: 4, integrator: moreau, step: 0.001}\n";
  return out.str();
}

/// ω × v of a free body: how fast its velocity turns in its own axes.
Eigen::VectorXd turning_of_body(const Eigen::VectorXd & u)
{
  const Eigen::Vector3d v = u.head<3>();
  const Eigen::Vector3d omega = u.tail<3>();
  Eigen::VectorXd turning = Eigen::VectorXd::Zero(u.size());
  turning.head<3>() = omega.cross(v);
  return turning;
}

/// Kinetic energy of the step's percussions, from the speeds without contacts to those after it.
/// @param turning what turning axes add to u̇; the energy is the same in axes that do not turn.
double percussion_energy(
  Simulation & simulation, Workspace & workspace, double h, const Eigen::VectorXd & turning)
{
  const Dynamics & dynamics = simulation.dynamics();
  const State before = simulation.state();
  EXPECT_EQ(dynamics.evaluate_rows(before.time, before.q, before.u, workspace), Status::kOk);
  EXPECT_EQ(dynamics.evaluate_terms(workspace), Status::kOk);
  const Eigen::MatrixXd mass = workspace.terms().mass_matrix;
  const Eigen::VectorXd free = before.u + h * (mass.llt().solve(workspace.terms().force) + turning);
  EXPECT_TRUE(has_output(simulation.step()));
  const Eigen::VectorXd & after = simulation.state().u;
  return 0.5 * after.dot(mass * after) - 0.5 * free.dot(mass * free);
}

TEST(Moreau, when_boxes_are_thrown_expect_percussions_that_never_give_energy)
{
  constexpr unsigned kSeed = 20261118;
  constexpr int kThrows = 6;
  std::printf("seed %u\n", kSeed);
  std::mt19937_64 random(kSeed);
  for (int k = 0; k < kThrows; ++k)
  {
    SCOPED_TRACE("throw " + std::to_string(k));
    // Equal restitutions, none, and unequal ones with friction.
    const double low = k % 3 == 1 ? 0.0 : 0.3;
    const double high = k % 3 == 2 ? 0.95 : low;
    const Scenario scenario = Scenario::from_text(thrown_box(random, 0.2 + 0.2 * k, low, high));
    const auto simulation = scenario.make_simulation();
    Workspace workspace = Workspace::unanalysed(simulation->dynamics());
    const double start = energy_of(*simulation);
    double worst = 0.0;
    double highest = start;
    double deepest = 0.0;
    for (int i = 0; i < 5000; ++i)
    {
      const Eigen::VectorXd turning = turning_of_body(simulation->state().u);
      worst = std::max(worst, percussion_energy(*simulation, workspace, 1e-3, turning));
      highest = std::max(highest, energy_of(*simulation));
      for (const Contact & contact : scenario.contacts()->contacts())
      {
        const int row = simulation->dynamics().constraints().row_offset(contact.constraint);
        deepest = std::max(deepest, -simulation->workspace().rows().position(row));
      }
    }
    EXPECT_LE(worst, 1e-11 * start);
    // The smooth part errs by h g v/2 and by gyroscopic terms of order h.
    EXPECT_LE(highest, start * (1.0 + 2e-3));
    EXPECT_LE(deepest, 2.0 * 1e-3 * 6.0);  // two steps of the fastest corner
    EXPECT_LE(simulation->kinetic_energy(), 1e-6 * start) << "not at rest";
    // It rests on its face, not in it.
    const double drift = -simulation->workspace().rows().position.minCoeff();
    EXPECT_LE(drift, 1e-6);
  }
}

TEST(Moreau, when_rebound_and_friction_would_give_energy_expect_the_factor_of_the_norms)
{
  // Normal and slip with W = [1, 0.8; 0.8, 1]: sticking with e = 0.9 after v = (−1, −0.8) would
  // raise 2 K from vᵀW⁻¹v = 1 to 0.81/0.36. (E13) asks for e · 2/3.
  AnalyticDescription description;
  description.coordinates = {"n", "s"};
  description.kinetic = "(dn^2 - 1.6*dn*ds + ds^2)/0.72";
  const auto system = make_analytic_system(description);
  const std::vector<std::shared_ptr<const Constraint>> constraints = {
    std::make_shared<FormulaConstraint>(
      "floor", *system, RowLevel::kPosition, std::vector<std::string>{"n"}),
    std::make_shared<FormulaConstraint>(
      "slip", *system, RowLevel::kVelocity, std::vector<std::string>{"ds"})};
  const auto dynamics = std::make_shared<const Dynamics>(ConstraintSet(system, constraints));
  Contact contact;
  contact.side = -1.0;
  contact.restitution = 0.9;
  DryFriction friction;
  friction.constraint = 1;
  friction.contact = 0;
  friction.stiction = 0.8;
  friction.kinetic = 0.8;
  SimulationOptions options;
  options.integrator = Integrator::kMoreau;
  Simulation simulation(
    dynamics, options, nullptr,
    std::make_shared<const ContactSet>(
      dynamics->constraints(), std::vector<Contact>{contact}, std::vector<DryFriction>{friction}));
  State start;
  start.q = Eigen::Vector2d::Zero();
  start.u = Eigen::Vector2d(-1.0, -0.8);
  simulation.start(start);
  Workspace workspace = Workspace::unanalysed(*dynamics);
  const double change =
    percussion_energy(simulation, workspace, options.step, Eigen::Vector2d::Zero());
  EXPECT_LE(change, 1e-12);
  ASSERT_FALSE(simulation.events().empty());
  const double scale = simulation.events()[0].restitution_scale;
  EXPECT_LE(scale, 2.0 / 3.0 + 1e-12);
  EXPECT_GE(scale, 2.0 / 3.0 - 1.0 / 256.0);
  EXPECT_NEAR(simulation.state().u(0), 0.9 * scale, 1e-12);
  EXPECT_NEAR(simulation.state().u(1), 0.0, 1e-12);
}

// ---- many contacts
// ------------------------------------------------------------------------------

TEST(Moreau, when_boxes_are_stacked_expect_them_to_stay)
{
  constexpr int kBoxes = 4;
  std::ostringstream text;
  std::ostringstream frames;
  std::ostringstream constraints;
  std::ostringstream places;
  text << "system:\n  bodies:\n";
  for (int i = 0; i < kBoxes; ++i)
  {
    text << "    - {name: b" << i << ", mass: 1, inertia: [0.0109, 0.0167, 0.0209]}\n";
    frames << "    - {name: top" << i << ", parent: b" << i << ", pose: {xyz: [0, 0, 0.1]}}\n"
           << "    - {repeat: {i: [0, 1], j: [0, 1]}, name: \"b" << i << "c${i}${j}\", parent: b"
           << i << ", pose: {xyz: [\"(2*${i} - 1)*0.2\", \"(2*${j} - 1)*0.15\", -0.1]}}\n";
    constraints << "  - {repeat: {i: [0, 1], j: [0, 1]}, name: \"b" << i
                << "f${i}${j}\", type: contact, frame_a: \"b" << i << "c${i}${j}\""
                << (i > 0 ? ", frame_b: top" + std::to_string(i - 1) : "") << ", friction: 0.5}\n";
    places << (i > 0 ? ", b" : "b") << i << ": [" << 0.03 * i << ", 0, " << 0.1 + 0.2 * i
           << ", 0, 0, 0, 1]";
  }
  text << "  frames:\n"
       << frames.str() << "constraints:\n"
       << constraints.str() << "initial: {q: {" << places.str()
       << "}}\nrun: {until: 1, integrator: moreau, step: 0.001}\n";
  const Scenario scenario = Scenario::from_text(text.str());
  const auto simulation = scenario.make_simulation();
  const State start = simulation->state();
  for (int k = 0; k < 500; ++k)
  {
    ASSERT_EQ(simulation->step(), Status::kOk) << "step " << k;
  }
  EXPECT_LE((simulation->state().q - start.q).cwiseAbs().maxCoeff(), 1e-9);
  EXPECT_LE(simulation->state().u.cwiseAbs().maxCoeff(), 1e-9);
  ASSERT_EQ(simulation->evaluate(), Status::kOk);
  double weight = 0.0;
  for (int i = 0; i < 4; ++i)
  {
    const Contact & contact = scenario.contacts()->contacts()[static_cast<std::size_t>(i)];
    weight += std::abs(simulation->workspace().solution().multipliers(
      simulation->dynamics().constraints().row_offset(contact.constraint)));
  }
  EXPECT_NEAR(weight, kBoxes * kGravity, 1e-7);
}

TEST(Moreau, when_a_quadruped_drops_expect_the_rest_of_the_event_driven_run)
{
  if (std::string(CD_EXAMPLE_ROBOT_DATA).empty())
  {
    GTEST_SKIP() << "example-robot-data is not installed";
  }
  const Scenario scenario = load_scenario("solo12_drop", {"run.integrator=moreau"});
  const auto simulation = scenario.make_simulation();
  ASSERT_EQ(simulation->step(), Status::kOk);
  long allocations = 0;
  for (int k = 1; k < 3000; ++k)
  {
    const long before = allocation_count();
    const Status status = simulation->step();
    allocations += allocation_count() - before;
    ASSERT_EQ(status, Status::kOk) << "step " << k;
  }
  EXPECT_EQ(allocations, 0);
  const auto exact = load_scenario("solo12_drop").make_simulation();
  ASSERT_TRUE(run_to(*exact, 3.0).completed);
  ASSERT_EQ(simulation->evaluate(), Status::kOk);
  // Where feet slipped at landing depends on the steps; the rest is that of springs and weight.
  EXPECT_NEAR(simulation->state().q(2), exact->state().q(2), 1e-3);
  double weight = 0.0;
  double exact_weight = 0.0;
  for (const Contact & contact : scenario.contacts()->contacts())
  {
    const int row = simulation->dynamics().constraints().row_offset(contact.constraint);
    weight += simulation->workspace().solution().multipliers(row);
    exact_weight += exact->workspace().solution().multipliers(row);
  }
  EXPECT_NEAR(weight, exact_weight, 1e-3 * exact_weight);
}

TEST(Moreau, when_rows_and_a_contact_act_together_expect_both_to_hold)
{
  // A pendulum in Cartesian coordinates that falls on a floor.
  const Scenario scenario = Scenario::from_text(R"(
system:
  coordinates: [x, y]
  kinetic: (dx^2 + dy^2)/2
  potential: 9.81*y
constraints:
  - {name: rod, type: formula, level: position, rows: ["(x^2 + y^2 - 1)/2"]}
  - {name: floor, type: formula, level: position, rows: {gap: y + 0.6}, unilateral: {side: above}}
initial: {q: {x: 1, y: 0}}
run: {until: 3, integrator: moreau, step: 0.001}
)");
  const auto simulation = scenario.make_simulation();
  ASSERT_TRUE(run_to(*simulation, 3.0).completed);
  EXPECT_NEAR(simulation->state().q(0), 0.8, 1e-6);
  EXPECT_NEAR(simulation->state().q(1), -0.6, 1e-6);
  EXPECT_LE(simulation->state().u.norm(), 1e-12);
  // The floor and the rod carry the weight: λ (x, y) + (0, N) = (0, g), so that λ = 0.
  const Eigen::VectorXd & multipliers = simulation->workspace().solution().multipliers;
  EXPECT_NEAR(multipliers(0), 0.0, 1e-8);
  EXPECT_NEAR(multipliers(1), kGravity, 1e-8);
}

// ---- refusals
// ------------------------------------------------------------------------------

TEST(Moreau, when_a_contact_has_a_law_expect_a_message_with_its_name)
{
  const Scenario scenario = load_scenario("bouncing_ball");
  std::vector<Contact> contacts = scenario.contacts()->contacts();
  contacts[0].restitution = 0.0;
  contacts[0].stiffness = 1e4;
  SimulationOptions options;
  options.integrator = Integrator::kMoreau;
  const auto soft = std::make_shared<ContactSet>(scenario.dynamics()->constraints(), contacts);
  try
  {
    const Simulation simulation(scenario.dynamics(), options, nullptr, soft);
    FAIL() << "no exception";
  }
  catch (const std::invalid_argument & error)
  {
    EXPECT_THAT(error.what(), testing::HasSubstr("'floor' has a contact law; allowed: rigid"));
  }
}

}  // namespace
}  // namespace constrained_dynamics::test
