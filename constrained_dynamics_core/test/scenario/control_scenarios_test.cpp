// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Scenarios whose controls are states, and motions that inputs cannot influence.
#include <cmath>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <Eigen/Dense>

#include "constrained_dynamics/analysis/underactuation.hpp"
#include "constrained_dynamics/scenario/scenario.hpp"
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
using testing::HasSubstr;

const std::vector<std::string> kAccurately = {
  "run.integrator=dopri5", "run.absolute_tolerance=1e-12", "run.relative_tolerance=1e-12"};

Scenario load(const std::string & name, std::vector<std::string> overrides = {})
{
  overrides.insert(overrides.end(), kAccurately.begin(), kAccurately.end());
  return Scenario::load(CD_CONFIG "/scenarios/" + name + ".yaml", overrides);
}

/// A simulation of the scenario at a time, evaluated there.
std::unique_ptr<Simulation> run_to(const Scenario & scenario, double time)
{
  auto simulation = scenario.make_simulation();
  const RunResult result = simulation->run(time, time, [](const Simulation &) { return true; });
  EXPECT_TRUE(result.completed) << to_string(result.status);
  EXPECT_EQ(simulation->evaluate(), Status::kOk);
  return simulation;
}

double observed(const Scenario & scenario, const Simulation & simulation, const std::string & name)
{
  VectorXd values(static_cast<Eigen::Index>(scenario.observable_names().size()));
  EXPECT_EQ(scenario.observe(simulation.workspace(), simulation.inputs(), values), Status::kOk);
  const std::vector<std::string> & names = scenario.observable_names();
  const auto found = std::find(names.begin(), names.end(), name);
  EXPECT_NE(found, names.end()) << name;
  return values(found - names.begin());
}

std::string refusal(const std::string & text)
{
  try
  {
    Scenario::from_text(text);
  }
  catch (const std::invalid_argument & error)
  {
    return error.what();
  }
  return "";
}

TEST(Underactuation, when_redundant_row_is_round_off_expect_all_degrees_of_freedom)
{
  // The plane of the linkage is tilted by 1e-13 rad: its row y is no longer exactly zero.
  std::ifstream file(CD_CONFIG "/robots/five_bar.xml");
  std::stringstream text;
  text << file.rdbuf();
  std::string xml = text.str();
  const std::string axis = "axis=\"0 1 0\"";
  ASSERT_NE(xml.find(axis), std::string::npos);
  xml.replace(xml.find(axis), axis.size(), "axis=\"0 1 1e-13\"");
  std::string indented = "system:\n  actuated: [left_motor, right_motor]\n  mjcf: |\n";
  std::istringstream lines(xml);
  for (std::string line; std::getline(lines, line);)
  {
    indented += "    " + line + "\n";
  }
  const Scenario scenario = Scenario::from_text(indented);
  Workspace workspace(*scenario.dynamics(), scenario.initial());
  const UnderactuationReport report =
    analyse_underactuation(*scenario.dynamics(), scenario.initial(), workspace);
  EXPECT_EQ(report.degrees_of_freedom, 2);
  EXPECT_EQ(report.input_rank, 2);
}

TEST(ControlScenarios, when_the_cable_is_drawn_by_a_control_expect_the_motion_with_given_length)
{
  const Scenario controlled = load("cable_pendulum");
  // The same with the length a function of time: as a rheonomic row, and in one angle.
  const std::string head =
    "parameters: {m: 1.0, g: 9.81, l0: 1.0, stroke: 0.05, rate: 2*sqrt(9.81)}\n"
    "definitions: {l: l0 + stroke*sin(rate*t), dl: stroke*rate*cos(rate*t)}\n"
    "run: {until: 10, integrator: dopri5, absolute_tolerance: 1e-12, relative_tolerance: 1e-12}\n";
  const Scenario rheonomic = Scenario::from_text(
    head +
    "system: {coordinates: [x, y], kinetic: m/2*(dx^2 + dy^2), potential: m*g*y}\n"
    "constraints: [{name: cable, type: formula, level: position, rows: ['x^2 + y^2 - l^2']}]\n"
    "initial: {q: {x: 0.2}, u: {dx: 0}, solve: [y, dy]}\n");
  const Scenario minimal = Scenario::from_text(
    head +
    "system: {coordinates: [a], kinetic: m/2*(dl^2 + l^2*da^2), potential: -m*g*l*cos(a)}\n"
    "initial: {q: {a: asin(0.2)}, u: {da: -stroke*rate*0.2/sqrt(1 - 0.2^2)}}\n");
  // ẋ = 0 with ℓ̇ = stroke·rate: θ̇ = −ℓ̇ tan θ/ℓ.
  ASSERT_NEAR(controlled.initial().u(0), 0.0, 1e-15);
  for (const double time : {1.0, 5.0, 10.0})
  {
    SCOPED_TRACE(time);
    const auto a = run_to(controlled, time);
    const auto b = run_to(rheonomic, time);
    const auto c = run_to(minimal, time);
    EXPECT_LE((a->state().q.head<2>() - b->state().q).norm(), 1e-9);
    EXPECT_LE((a->state().u.head<2>() - b->state().u).norm(), 1e-9);
    EXPECT_NEAR(
      a->workspace().solution().multipliers(0), b->workspace().solution().multipliers(0), 1e-8);
    EXPECT_NEAR(observed(controlled, *a, "angle"), c->state().q(0), 1e-9);
    EXPECT_NEAR(observed(controlled, *a, "drawn"), 0.0, 1e-11);
  }
}

TEST(ControlScenarios, when_a_disk_is_steered_expect_a_circle_without_work)
{
  const Scenario scenario = load("steered_disk");
  const auto simulation = run_to(scenario, 10.0);
  EXPECT_NEAR(observed(scenario, *simulation, "radius"), 0.3 * 4.0 / 0.8, 1e-10);
  EXPECT_NEAR(observed(scenario, *simulation, "side_force"), 2.0 * 0.3 * 4.0 * 0.8, 1e-10);
  EXPECT_NEAR(simulation->kinetic_energy(), 0.5 * (0.09 + 2.0 * 0.09) * 16.0, 1e-11);
}

TEST(ControlScenarios, when_a_steered_disk_is_driven_expect_its_spin_whatever_the_heading)
{
  for (const char * steering : {"0", "1.5*sin(3*t)", "dphi - heading"})
  {
    const Scenario scenario =
      load("steered_disk", {"torque=0.4", std::string("inputs.dheading=") + steering});
    const auto simulation = run_to(scenario, 3.0);
    EXPECT_NEAR(simulation->state().u(2), 4.0 + 0.4 / (0.09 + 2.0 * 0.09) * 3.0, 1e-10) << steering;
  }
}

TEST(ControlScenarios, when_a_control_is_not_given_expect_it_solved_from_the_rows)
{
  const Scenario scenario = Scenario::load(
    CD_CONFIG "/scenarios/steered_disk.yaml",
    {"initial.u={dx: 0.3*4*cos(0.7), dy: 0.3*4*sin(0.7), dphi: 4}"});
  EXPECT_NEAR(scenario.initial().u(3), 0.7, 1e-9);
  // Rates of the others and u of the control side by side.
  const Scenario rates = Scenario::load(
    CD_CONFIG "/scenarios/steered_disk.yaml",
    {"initial={q: {x: 0, y: 0, phi: 0}, rates: {phi: 4}, u: {heading: 0.7}}"});
  EXPECT_NEAR(rates.initial().u(0), 1.2 * std::cos(0.7), 1e-9);
  EXPECT_EQ(rates.initial().u(3), 0.7);
}

TEST(ControlScenarios, when_a_robot_has_control_states_expect_gravity_and_wrenches_all_the_same)
{
  const auto linkage =
    [](const std::string & states, const std::string & input, const std::string & initial)
  {
    return Scenario::from_text(
      "system:\n"
      "  urdf: four_bar.urdf\n" +
        states +
        "  external: [{name: push, frame: coupler_tip, force: [30*sin(t) + 20, 0, 10]}]\n"
        "constraints:\n"
        "  - {name: loop, type: frame_coincidence, frame_a: coupler_tip, frame_b: rocker_tip,\n"
        "     rows: [x, z]}\n"
        "inputs: {rocker: 0.5*gravity(rocker), " +
        input +
        "}\n"
        "initial: {q: {crank: 0.3, coupler: pi/2, rocker: 2.5}, u: {dcrank: 0.5" +
        initial +
        "}, solve: [coupler, rocker]}\n"
        "run: {until: 1, integrator: dopri5, absolute_tolerance: 1e-11, relative_tolerance: "
        "1e-11}\n"
        "observe: {weight: gravity(crank)}\n",
      {}, CD_CONFIG "/robots");
  };
  const Scenario plain = linkage("", "crank: 3", "");
  const Scenario wrapped =
    linkage("  control_states: {first: [crank]}\n", "dtau_crank: 0", ", tau_crank: 3");
  ASSERT_EQ(wrapped.system().speed_names().back(), "tau_crank");
  const auto a = run_to(plain, 1.0);
  const auto b = run_to(wrapped, 1.0);
  EXPECT_LE((a->state().q - b->state().q).norm(), 1e-9);
  EXPECT_LE((a->state().u - b->state().u.head<3>()).norm(), 1e-9);
  EXPECT_EQ(b->state().u(3), 3.0);
  EXPECT_NEAR(observed(plain, *a, "weight"), observed(wrapped, *b, "weight"), 1e-8);
  EXPECT_GT(std::abs(observed(plain, *a, "weight")), 0.1);
}

TEST(ControlScenarios, when_a_table_is_moved_by_a_control_expect_release_and_impact_in_time)
{
  // A ball on a table that is shaken harder than gravity: it leaves where the table's acceleration
  // is −g, flies, and falls back on the moving table, which does not feel it.
  constexpr double g = 9.81;
  constexpr double a = 0.05;
  constexpr double w = 20.0;
  constexpr double e = 0.5;
  const Scenario scenario = Scenario::from_text(
    "parameters: {m: 0.7, g: 9.81, a: 0.05, w: 20}\n"
    "system: {coordinates: [y], kinetic: m/2*dy^2, potential: m*g*y,\n"
    "         control_states: {second: [table]}}\n"
    "constraints:\n"
    "  - {name: contact, type: formula, level: position, rows: {gap: y - table},\n"
    "     unilateral: {side: above, restitution: 0.5}}\n"
    "inputs: {ddtable: -a*w^2*sin(w*t)}\n"
    "initial: {q: {y: 0, table: 0}, u: {dy: a*w, dtable: a*w}}\n"
    "run: {until: 0.4, integrator: dopri5, absolute_tolerance: 1e-12, relative_tolerance: 1e-12}\n"
    "observe: {push: lambda(`contact/gap`)}\n");
  const double leaves = std::asin(g / (a * w * w)) / w;
  const auto table = [&](double t) { return a * std::sin(w * t); };
  const auto ball = [&](double t)
  {
    const double s = t - leaves;
    return table(leaves) + a * w * std::cos(w * leaves) * s - 0.5 * g * s * s;
  };
  double low = leaves + 0.05;  // in the air
  double high = leaves + 0.5;
  for (int i = 0; i < 100; ++i)
  {
    const double middle = 0.5 * (low + high);
    (ball(middle) > table(middle) ? low : high) = middle;
  }
  ASSERT_GT(low, leaves + 0.05 + 1e-6);

  const auto simulation = scenario.make_simulation();
  double push = 0.0;
  const RunResult result = simulation->run(
    0.9 * leaves, 0.9 * leaves,
    [&](const Simulation & at)
    {
      push = observed(scenario, at, "push");
      return true;
    });
  ASSERT_TRUE(result.completed);
  // m (g + ḧ): the table carries the ball.
  EXPECT_NEAR(push, 0.7 * (g - a * w * w * std::sin(w * 0.9 * leaves)), 1e-9);

  ASSERT_TRUE(simulation->run(low - 1e-7, 1.0, [](const Simulation &) { return true; }).completed);
  const double falls = simulation->state().u(0);
  ASSERT_TRUE(simulation->run(low + 1e-7, 1.0, [](const Simulation &) { return true; }).completed);
  std::vector<std::pair<ContactEventKind, double>> events;
  for (const ContactEvent & event : simulation->events())
  {
    if (event.time > 0.0)  // it closes at the start
    {
      events.emplace_back(event.kind, event.time);
    }
  }
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].first, ContactEventKind::kRelease);
  EXPECT_NEAR(events[0].second, leaves, 1e-8);
  EXPECT_EQ(events[1].first, ContactEventKind::kImpact);
  EXPECT_NEAR(events[1].second, low, 1e-8);
  const double rate = a * w * std::cos(w * low);
  EXPECT_NEAR(simulation->state().u(1), rate, 1e-5);  // 1e-7 s later
  EXPECT_NEAR(simulation->state().u(0), rate - e * (falls - rate), 1e-5);
}

TEST(ControlScenarios, when_thesis_8_1_starts_expect_its_controls_on_the_row_and_the_reference)
{
  const Scenario scenario = load("thesis_8_1");
  EXPECT_NEAR(scenario.initial().u(5), -2.87 / 8.5, 1e-14);
  for (const char * name : {"A_y_minus_tau", "A_y_zero"})
  {
    SCOPED_TRACE(name);
    const bool damped = std::string(name) == "A_y_minus_tau";
    const Scenario of_case =
      damped ? load("thesis_8_1") : load("thesis_8_1", {"servo_law.null_space=[]"});
    const YAML::Node series =
      test::find_item(test::load_reference("thesis_8_1")["cases"], "case", name)["series"];
    const YAML::Node at = series[series.size() - 1];
    const double time = at["t"].as<double>();
    const auto simulation = run_to(of_case, time);
    VectorXd expected(6);
    expected << test::to_vector(at["omega"]), test::to_vector(at["tau"]);
    EXPECT_LE((simulation->state().u - expected).norm(), (damped ? 1e-9 : 1e-6) * expected.norm());
    EXPECT_NEAR(observed(of_case, *simulation, "K"), 0.124 * std::exp(-time), 1e-10);
  }
}

TEST(ControlScenarios, when_servo_rows_shall_hold_at_the_start_expect_a_start_on_the_reference)
{
  const std::string text =
    "system: {coordinates: [x, y], kinetic: dx^2 + dy^2, inputs: {f: {x: 1}}}\n"
    "constraints: [{name: track, type: formula, level: position, rows: [y - x^2]}]\n"
    "servo: [{name: go, type: formula, level: position, rows: [x],\n"
    "         reference: {kind: formula, values: ['0.5 + 2*t']}}]\n";
  const Scenario scenario = Scenario::from_text(text + "initial: {time: 1, servo: all}\n");
  EXPECT_TRUE(scenario.initial().q.isApprox(Vector2d(2.5, 6.25), 1e-9));
  EXPECT_TRUE(scenario.initial().u.isApprox(Vector2d(2.0, 10.0), 1e-9));
  EXPECT_THAT(
    refusal(text + "initial: {servo: [stay]}\n"),
    HasSubstr("initial.servo: no servo-constraint 'stay'"));
  EXPECT_THAT(
    refusal(text + "initial: {q: {x: 2}, servo: [go]}\n"),
    HasSubstr("row servo go/row_1 has the residual 1.5"));
  EXPECT_THAT(
    refusal("system: {coordinates: [x], kinetic: dx^2}\ninitial: {servo: all}\n"),
    HasSubstr("there are no servo-constraints"));
}

TEST(ControlScenarios, when_control_states_are_wrong_expect_refusals_that_say_where)
{
  const std::string head =
    "system:\n"
    "  coordinates: [x, y]\n"
    "  kinetic: dx^2 + dy^2\n"
    "  inputs: {f: {x: 1}}\n";
  EXPECT_THAT(
    refusal(head + "  control_states: {first: [g]}\n"),
    HasSubstr("system.control_states: unknown input 'g'; known: f"));
  EXPECT_THAT(
    refusal(head + "  control_states: {third: [f]}\n"), HasSubstr("system.control_states.third"));
  EXPECT_THAT(
    refusal(head + "  control_states: {first: [f], second: [f]}\n"),
    HasSubstr("unknown input 'f'"));
  EXPECT_THAT(
    refusal(head + "  control_states: {second: [x, y]}\n"), HasSubstr("all 2 speeds are driven"));
  EXPECT_THAT(
    refusal(
      head + "  control_states: {first: [f]}\n"
             "initial: {rates: {x: 1}, u: {dy: 2}}\n"),
    HasSubstr("either u or rates"));
}

// ---- underactuation
// ------------------------------------------------------------------------------

struct Analysed
{
  Scenario scenario;
  Workspace workspace;
  UnderactuationReport report;

  explicit Analysed(Scenario from)
  : scenario(std::move(from)),
    workspace(Workspace::unanalysed(*scenario.dynamics())),
    report(analyse_underactuation(*scenario.dynamics(), scenario.initial(), workspace))
  {
  }
};

/// (E27): whatever the inputs, W (Q u̇ − P) = 0.
void expect_untouched(Analysed & at)
{
  test::Random random(71);
  const State & state = at.scenario.initial();
  for (int i = 0; i < 20; ++i)
  {
    const VectorXd inputs = 10.0 * random.vector(at.scenario.system().input_count());
    ASSERT_TRUE(has_output(
      at.scenario.dynamics()->evaluate_rows(state.time, state.q, state.u, at.workspace)));
    ASSERT_EQ(at.scenario.dynamics()->evaluate_terms(at.workspace), Status::kOk);
    ASSERT_EQ(at.scenario.dynamics()->solve(inputs, at.workspace), Status::kOk);
    const VectorXd left = at.report.inertia * at.workspace.solution().acceleration;
    EXPECT_LE((left - at.report.force).norm(), 1e-11 * (1.0 + left.norm()));
  }
}

TEST(Underactuation, when_a_cart_carries_a_pole_expect_the_row_of_the_pole)
{
  Analysed at(Scenario::from_text(
    "parameters: {M: 2, m: 0.5, l: 0.8, g: 9.81}\n"
    "system: {coordinates: [x, a], kinetic: 'M/2*dx^2 + m/2*((dx + l*da*cos(a))^2 + "
    "(l*da*sin(a))^2)', potential: m*g*l*(1 - cos(a)), inputs: {f: {x: 1}}}\n"
    "initial: {q: {a: 0.4}, u: {dx: 0.3, da: 1.1}}\n"));
  EXPECT_EQ(at.report.degrees_of_freedom, 2);
  EXPECT_EQ(at.report.input_rank, 1);
  ASSERT_EQ(at.report.motions.rows(), 1);
  EXPECT_TRUE(at.report.motions.row(0).isApprox(Eigen::RowVector2d(0.0, 1.0), 1e-13));
  EXPECT_NEAR(at.report.inertia(0, 0), 0.5 * 0.8 * std::cos(0.4), 1e-13);
  EXPECT_NEAR(at.report.inertia(0, 1), 0.5 * 0.8 * 0.8, 1e-13);
  EXPECT_NEAR(at.report.force(0), -0.5 * 9.81 * 0.8 * std::sin(0.4), 1e-13);
  expect_untouched(at);
}

TEST(Underactuation, when_rows_are_passive_expect_what_inputs_leave_of_the_rest)
{
  const std::string head =
    "system: {coordinates: [x, y, z], kinetic: dx^2 + dy^2 + dz^2, potential: 3*z, inputs: ";
  const std::string tail =
    "}\nconstraints: [{name: s, type: formula, level: position, rows: [z - x*y]}]\n"
    "initial: {q: {x: 0.3, y: 0.5}, u: {dx: 1, dy: 0.2}}\n";
  {
    Analysed at(Scenario::from_text(head + "{f: {x: 1}}" + tail));
    EXPECT_EQ(at.report.degrees_of_freedom, 2);
    EXPECT_EQ(at.report.input_rank, 1);
    ASSERT_EQ(at.report.motions.rows(), 1);
    // Along y and, as the surface rises, along z: (0, 1, x).
    EXPECT_TRUE(at.report.motions.row(0).isApprox(Eigen::RowVector3d(0.0, 1.0, 0.3), 1e-12));
    expect_untouched(at);
  }
  {
    // An input that pushes against the surface does nothing.
    Analysed at(Scenario::from_text(head + "{f: {x: -y, y: -x, z: 1}}" + tail));
    EXPECT_EQ(at.report.input_rank, 0);
    EXPECT_EQ(at.report.motions.rows(), 2);
    expect_untouched(at);
  }
  {
    Analysed at(Scenario::from_text(head + "{f: {x: 1}, g: {z: 1}}" + tail));
    EXPECT_EQ(at.report.input_rank, 2);
    EXPECT_EQ(at.report.motions.rows(), 0);
  }
  {
    Analysed at(Scenario::from_text(head + "{}" + tail));
    EXPECT_EQ(at.report.input_rank, 0);
    EXPECT_EQ(at.report.motions.rows(), 0);
  }
}

TEST(Underactuation, when_controls_are_states_expect_what_they_do_to_count)
{
  // The disk is driven and steered: nothing is left.
  const Analysed disk(load("steered_disk"));
  EXPECT_EQ(disk.report.degrees_of_freedom, 2);
  EXPECT_EQ(disk.report.input_rank, 2);
  const Analysed craft(load("thesis_8_1"));
  EXPECT_EQ(craft.report.input_rank, 6);
  EXPECT_EQ(craft.report.motions.rows(), 0);
}

TEST(Underactuation, when_a_cable_is_a_control_expect_the_swing_to_be_out_of_reach)
{
  Analysed at(load("cable_pendulum"));
  EXPECT_EQ(at.report.degrees_of_freedom, 2);
  EXPECT_EQ(at.report.input_rank, 1);
  ASSERT_EQ(at.report.motions.rows(), 1);
  const Vector2d along = at.scenario.initial().q.head<2>().normalized();
  EXPECT_NEAR(at.report.motions.row(0).head<2>().dot(along), 0.0, 1e-12);
  EXPECT_EQ(at.report.motions(0, 2), 0.0);
  expect_untouched(at);
}

}  // namespace
}  // namespace constrained_dynamics
