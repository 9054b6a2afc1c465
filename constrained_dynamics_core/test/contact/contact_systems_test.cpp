// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Constraints that are enforced and released in time: thesis 5.1 to 5.3 and 6.1, benchmark 15,
// exact classics.
#include <cmath>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "constrained_dynamics/model/rigid_body_system.hpp"
#include "support/allocation_counter.hpp"
#include "support/reference_data.hpp"

namespace constrained_dynamics::test
{
namespace
{

using Names = std::vector<std::string>;

std::vector<ContactEvent> events_of(
  const Simulation & simulation, const std::string & constraint, ContactEventKind kind)
{
  std::vector<ContactEvent> result;
  const ConstraintSet & set = simulation.dynamics().constraints();
  for (const ContactEvent & event : simulation.events())
  {
    if (
      event.kind == kind &&
      (constraint.empty() || (event.constraint >= 0 && set[event.constraint].name() == constraint)))
    {
      result.push_back(event);
    }
  }
  return result;
}

/// Runs to each time in turn and hands the simulation out there.
template <typename Look>
std::unique_ptr<Simulation> run_through(
  const Scenario & scenario, const std::vector<double> & times, const Look & look)
{
  std::unique_ptr<Simulation> simulation = scenario.make_simulation();
  for (std::size_t i = 0; i < times.size(); ++i)
  {
    const RunResult result =
      simulation->run(times[i], 1e9, [](const Simulation &) { return true; });
    EXPECT_TRUE(result.completed) << to_string(result.status) << " at " << result.time << " s";
    if (!result.completed)
    {
      break;
    }
    EXPECT_EQ(simulation->state().time, times[i]);
    look(*simulation, i);
  }
  return simulation;
}

// ---- thesis 5.1
// ------------------------------------------------------------------------------

TEST(Thesis51, when_the_obstacle_has_continuous_velocities_expect_the_reference)
{
  const YAML::Node reference = find_item(load_reference("thesis_5_1")["cases"], "case", "A");
  const Scenario scenario = load_scenario("thesis_5_1", accurately());
  const YAML::Node series = reference["series"];
  const auto simulation = run_through(
    scenario, times_of(series),
    [&](const Simulation & now, std::size_t i)
    {
      SCOPED_TRACE("at " + series[i]["t"].as<std::string>() + " s");
      expect_close(now.state().q, to_vector(series[i]["theta"]), 1e-9, "theta");
      expect_close(now.state().u, to_vector(series[i]["u"]), 1e-9, "u");
      // Accelerations inherit the error of the state times 1e3 in contact.
      const Solution & solution = now.workspace().solution();
      expect_close(solution.acceleration, to_vector(series[i]["udot"]), 1e-7, "udot");
      expect_close(solution.constraint_force, to_vector(series[i]["Fc"]), 1e-7, "Fc");
      expect_close(solution.multipliers(0), series[i]["lam"].as<double>(), 1e-7, "lambda");
    });
  const YAML::Node events = reference["events"];
  ASSERT_EQ(
    simulation->events().size(), 3U);  // the way from separating to free is no change of force
  EXPECT_NEAR(simulation->events()[0].time, events[0]["t"].as<double>(), 1e-10);
  EXPECT_EQ(simulation->events()[0].kind, ContactEventKind::kClose);
  EXPECT_NEAR(simulation->events()[1].time, events[1]["t"].as<double>(), 1e-10);
  EXPECT_EQ(simulation->events()[1].kind, ContactEventKind::kRelease);
  EXPECT_NEAR(simulation->events()[2].time, events[3]["t"].as<double>(), 1e-10);
  EXPECT_NEAR(simulation->events()[0].time, 1.49, 0.005);  // the text
}

TEST(Thesis51, when_contact_begins_expect_the_force_spike)
{
  const YAML::Node reference = find_item(load_reference("thesis_5_1")["cases"], "case", "A");
  const YAML::Node first = reference["first_contact"];
  const Scenario scenario = load_scenario("thesis_5_1", accurately());
  const std::unique_ptr<Simulation> simulation = scenario.make_simulation();
  // The first step after contact is as short as the clock allows.
  const double time = first["t"].as<double>() + 1e-9;
  ASSERT_TRUE(simulation->run(time, 1e9, [](const Simulation &) { return true; }).completed);
  // In 1e-9 s the force decays by a factor of 3e-7.
  expect_relative(
    simulation->workspace().solution().constraint_force, to_vector(first["Fc_spike"]), 1e-6, "Fc");
}

TEST(Thesis51, when_the_obstacle_is_hard_expect_the_jump_at_the_same_instant)
{
  const YAML::Node reference = load_reference("thesis_5_1");
  for (const std::string name : {"hard_impact_A_e0", "hard_impact_A_e0.5"})
  {
    const YAML::Node expected = find_item(reference["oneshots"], "name", name);
    const Scenario scenario = load_scenario(
      "thesis_5_1", accurately() + Names{
                                     "constraints.obstacle.unilateral={restitution: " +
                                     expected["restitution"].as<std::string>() + "}"});
    const std::unique_ptr<Simulation> simulation = scenario.make_simulation();
    ASSERT_TRUE(simulation->run(1.5, 1e9, [](const Simulation &) { return true; }).completed);
    const auto impacts = events_of(*simulation, "obstacle", ContactEventKind::kImpact);
    ASSERT_GE(impacts.size(), 1U);
    EXPECT_NEAR(impacts[0].time, 1.4879398534934054, 1e-10);
    EXPECT_NEAR(impacts[0].impulse, -expected["impulse_multiplier"].as<double>(), 1e-8);
    EXPECT_NEAR(
      impacts[0].speed_after, -expected["restitution"].as<double>() * impacts[0].speed_before,
      1e-9);
  }
}

// ---- thesis 5.2
// ------------------------------------------------------------------------------

TEST(Thesis52, when_the_impact_is_hunt_and_crossleys_expect_the_reference)
{
  const YAML::Node reference = find_item(load_reference("thesis_5_2")["cases"], "case", "A");
  const Scenario scenario = load_scenario("thesis_5_2", accurately());
  const YAML::Node series = reference["series"];
  std::vector<double> times = times_of(series);
  times.erase(times.begin());  // the instant of contact itself
  const auto simulation = run_through(
    scenario, times,
    [&](const Simulation & now, std::size_t k)
    {
      const YAML::Node & point = series[k + 1];
      SCOPED_TRACE("at " + point["t"].as<std::string>() + " s");
      expect_close(now.state().q, to_vector(point["theta"]), 1e-9, "theta");
      expect_close(now.state().u, to_vector(point["u"]), 1e-8, "u");
      expect_close(now.workspace().solution().constraint_force, to_vector(point["Fc"]), 1e-5, "Fc");
      EXPECT_NEAR(now.workspace().rows().position(0), point["x"].as<double>(), 1e-11);
    });
  ASSERT_GE(simulation->events().size(), 1U);
  EXPECT_NEAR(simulation->events()[0].time, reference["first_contact_t"].as<double>(), 1e-10);
  EXPECT_NEAR(simulation->events()[0].speed_before, 2.1395897815927847, 1e-9);
}

TEST(Thesis52, when_solved_at_random_states_expect_the_reference_forces)
{
  const YAML::Node reference = load_reference("thesis_5_2");
  for (const YAML::Node & shot : reference["oneshots"])
  {
    Names overrides;
    for (const std::string name : {"R", "L", "m_B", "I_D", "I_B", "g", "n", "k"})
    {
      overrides.push_back(set(name, shot["params"][name].as<double>()));
    }
    overrides.push_back(set("damping", shot["params"]["lam"].as<double>()));
    const Scenario scenario = load_scenario("thesis_5_2", overrides, false);
    const std::unique_ptr<Simulation> simulation = scenario.make_simulation();
    State state;
    state.q = to_vector(shot["theta"]);
    state.u = to_vector(shot["u"]);
    simulation->start(state);
    ASSERT_EQ(simulation->evaluate(), Status::kOk);
    SCOPED_TRACE(shot["name"].as<std::string>());
    expect_relative(
      simulation->workspace().solution().acceleration, to_vector(shot["udot"]), 1e-8, "udot");
    expect_relative(
      simulation->workspace().solution().constraint_force, to_vector(shot["Fc"]), 1e-8, "Fc");
  }
}

// ---- thesis 5.3
// ------------------------------------------------------------------------------

TEST(Thesis53, when_blocks_stick_and_slip_expect_the_exact_events_and_states)
{
  const YAML::Node reference = find_item(load_reference("thesis_5_3")["cases"], "case", "A");
  const Scenario scenario = load_scenario("thesis_5_3", accurately());
  const YAML::Node series = reference["series"];
  std::vector<double> times = times_of(series);
  times.erase(times.begin());
  const auto simulation = run_through(
    scenario, times,
    [&](const Simulation & now, std::size_t k)
    {
      const YAML::Node & point = series[k + 1];
      SCOPED_TRACE("at " + point["t"].as<std::string>() + " s");
      // The end of a slip is seen at the creep speed 1e-9, 1e-10 s early.
      expect_close(now.state().q, to_vector(point["q"]), 1e-8, "q");
      expect_close(now.state().u, to_vector(point["u"]), 1e-8, "u");
    });
  const YAML::Node events = reference["events"];
  // One event each for a block that changes; a block that turns without sticking is one slip.
  std::vector<ContactEvent> seen;
  for (const ContactEvent & event : simulation->events())
  {
    if (event.time > 0.0)
    {
      seen.push_back(event);
    }
  }
  ASSERT_EQ(seen.size(), events.size());
  for (std::size_t i = 0; i < seen.size(); ++i)
  {
    EXPECT_NEAR(seen[i].time, events[i]["t"].as<double>(), 1e-8) << "event " << i;
  }
}

// ---- thesis 6.1
// ------------------------------------------------------------------------------

TEST(Thesis61, when_the_linkage_is_struck_expect_the_published_digits)
{
  const Scenario scenario = load_scenario("thesis_6_1", accurately());
  const std::unique_ptr<Simulation> simulation = scenario.make_simulation();
  std::vector<Eigen::VectorXd> speeds;
  ASSERT_TRUE(simulation
                ->run(
                  1e-5, 1e-6,
                  [&](const Simulation & now)
                  {
                    speeds.push_back(now.state().u);
                    return true;
                  })
                .completed);
  const YAML::Node published =
    find_item(load_reference("thesis_6_1")["oneshots"], "name", "published");
  expect_relative(speeds.front(), to_vector(published["u_after"]), 1e-9, "u");
  ASSERT_EQ(simulation->events().size(), 1U);
  EXPECT_EQ(simulation->events()[0].kind, ContactEventKind::kImpulse);
  EXPECT_NEAR(
    simulation->events()[0].energy_change / published["kinetic_energy_after"].as<double>(), 1.0,
    1e-9);
}

// ---- benchmark 15 and classics
// ------------------------------------------------------------------------------

TEST(BouncingBall, when_impacts_accumulate_expect_exact_times_and_rest)
{
  const YAML::Node exact =
    find_item(load_reference("impact_friction")["oneshots"], "name", "ball_A");
  const Scenario scenario = load_scenario("bouncing_ball");
  std::unique_ptr<Simulation> simulation = run_through(
    scenario, {0.3, 1.0, 2.0, 5.0},
    [&](const Simulation & now, std::size_t i)
    {
      if (i < 3)
      {
        EXPECT_NEAR(now.state().q(0), exact["state_sample"][i][0].as<double>(), 1e-10);
        EXPECT_NEAR(now.state().u(0), exact["state_sample"][i][1].as<double>(), 1e-10);
      }
    });
  const auto impacts = events_of(*simulation, "floor", ContactEventKind::kImpact);
  ASSERT_GE(impacts.size(), 8U);
  for (std::size_t i = 0; i < 8; ++i)
  {
    EXPECT_NEAR(impacts[i].time, exact["impact_times"][i].as<double>(), 1e-10) << i;
  }
  EXPECT_NEAR(impacts[0].speed_before, -4.42944691807, 1e-10);
  EXPECT_LE(impacts.size(), 100U);  // log(4.4/1e-8)/log(1/0.8) = 89
  const auto closed = events_of(*simulation, "floor", ContactEventKind::kClose);
  ASSERT_EQ(closed.size(), 1U);
  // What is left of the bounces at 1e-8 m/s lasts 1e-8 s.
  EXPECT_NEAR(closed[0].time, exact["t_accumulation"].as<double>(), 2e-8);
  EXPECT_NEAR(simulation->state().q(0), 0.0, 1e-14);
  EXPECT_NEAR(simulation->state().u(0), 0.0, 1e-14);
  EXPECT_NEAR(simulation->workspace().solution().multipliers(0), 9.81, 1e-12);
}

TEST(BouncingBall, when_restitution_is_any_expect_the_run_to_end)
{
  for (const double e : {0.0, 0.1, 0.5, 0.9, 0.95})
  {
    const Scenario scenario = load_scenario("bouncing_ball", {set("e", e)});
    const std::unique_ptr<Simulation> simulation = scenario.make_simulation();
    const double rest = std::sqrt(2.0 / 9.81) * (1.0 + e) / (1.0 - e);
    ASSERT_TRUE(
      simulation->run(rest + 0.1, 1e9, [](const Simulation &) { return true; }).completed);
    const auto closed = events_of(*simulation, "floor", ContactEventKind::kClose);
    ASSERT_EQ(closed.size(), 1U) << e;
    EXPECT_NEAR(closed[0].time, rest, 1e-7) << e;
  }
}

TEST(BouncingBall, when_steps_are_fixed_expect_rest_without_allocation_and_bounded_switches)
{
  const Scenario scenario =
    load_scenario("bouncing_ball", {"run.integrator=rk4", "run.step=0.001", "run.until=6"});
  const std::unique_ptr<Simulation> simulation = scenario.make_simulation();
  const long before = allocation_count();
  for (int i = 0; i < 6000; ++i)
  {
    const Status status = simulation->step();
    if (!has_output(status))
    {
      FAIL() << to_string(status);
    }
  }
  EXPECT_EQ(allocation_count() - before, 0);
  EXPECT_NEAR(simulation->state().q(0), 0.0, 1e-9);
  EXPECT_NEAR(simulation->state().u(0), 0.0, 1e-9);
  EXPECT_LE(simulation->events().size(), 2000U);
  ASSERT_EQ(simulation->evaluate(), Status::kOk);
  EXPECT_NEAR(simulation->workspace().solution().multipliers(0), 9.81, 1e-9);
}

TEST(Chatter, when_the_floor_shakes_by_a_millimetre_expect_bounded_switches)
{
  // R13: the obstacle's edge is noisy, ±1 mm at incommensurate frequencies up to 200 Hz.
  const std::string noisy =
    "constraints.floor.rows={height: \"y - 0.001*(sin(1257*t) + sin(777*t) + sin(313*t))/3\"}";
  for (const std::string integrator : {"rk4", "dopri5"})
  {
    const Scenario scenario = load_scenario(
      "bouncing_ball", {noisy, "h=0.002", "run.integrator=" + integrator, "run.step=0.0005"});
    const std::unique_ptr<Simulation> simulation = scenario.make_simulation();
    const RunResult result = simulation->run(1.0, 1e9, [](const Simulation &) { return true; });
    EXPECT_TRUE(result.completed) << to_string(result.status) << " at " << result.time;
    EXPECT_LE(simulation->events().size(), 3000U) << integrator;
    std::printf("%s: %zu events in 1 s\n", integrator.c_str(), simulation->events().size());
  }
}

TEST(RockingBlock, when_it_rocks_expect_housners_ratio_at_every_impact)
{
  const Scenario scenario = load_scenario("rocking_block", accurately());
  const std::unique_ptr<Simulation> simulation = scenario.make_simulation();
  std::vector<double> times;
  std::vector<double> rates;
  const RunResult result = simulation->run(
    2.0, 1e-4,
    [&](const Simulation & now)
    {
      times.push_back(now.state().time);
      rates.push_back(now.state().u(2));
      return true;
    });
  ASSERT_TRUE(result.completed) << to_string(result.status) << " at " << result.time;
  const auto impacts = events_of(*simulation, "", ContactEventKind::kImpact);
  ASSERT_GE(impacts.size(), 3U);
  // Between impacts energy is kept, so the ratio of the kinetic energies tells that of the rates.
  const double ratio = 1.0 - 1.5 * std::pow(std::sin(20.0 * M_PI / 180.0), 2);
  double kinetic =
    3.0 * 9.81 * 0.7 * (std::cos(20.0 * M_PI / 180.0 - 0.1) - std::cos(20.0 * M_PI / 180.0));
  for (std::size_t i = 0; i < 3; ++i)
  {
    EXPECT_NEAR(impacts[i].energy_change / kinetic, ratio * ratio - 1.0, 1e-8) << "impact " << i;
    kinetic *= ratio * ratio;
  }
}

TEST(RimlessWheel, when_it_walks_expect_the_cosine_at_every_step)
{
  const Scenario scenario = load_scenario("rimless_wheel", accurately());
  const std::unique_ptr<Simulation> simulation = scenario.make_simulation();
  const RunResult result = simulation->run(3.0, 1e9, [](const Simulation &) { return true; });
  ASSERT_TRUE(result.completed) << to_string(result.status) << " at " << result.time;
  const auto impacts = events_of(*simulation, "", ContactEventKind::kImpact);
  ASSERT_GE(impacts.size(), 3U);
  // Energy before a step: from the start, or from what the last step left, and the height lost.
  const double half = M_PI / 8.0;
  double kinetic = 0.5 * 1.2 * 1.2;
  const double lost = 9.81 * 2.0 * std::sin(half) * std::sin(0.08);
  for (std::size_t i = 0; i < 3; ++i)
  {
    kinetic += lost;
    // The hub's own inertia of 1e-6 is what the ratio is off by.
    EXPECT_NEAR(impacts[i].energy_change / kinetic, std::pow(std::cos(2.0 * half), 2) - 1.0, 1e-5)
      << "step " << i;
    kinetic += impacts[i].energy_change;
  }
}

TEST(PainleveRod, when_friction_passes_the_bound_expect_the_status)
{
  for (const double degrees : {30.0, 45.0, 63.43494882})
  {
    const double angle = degrees * M_PI / 180.0;
    const double s = std::sin(angle);
    const double c = std::cos(angle);
    const double bound = (1.0 + 3.0 * c * c) / (3.0 * s * c);
    for (const double factor : {0.999, 1.001})
    {
      const auto make = [&]
      {
        return load_scenario("painleve_rod", {set("theta", angle), set("mu", factor * bound)})
          .make_simulation();
      };
      if (factor < 1.0)
      {
        const std::unique_ptr<Simulation> simulation = make();
        EXPECT_EQ(simulation->evaluate(), Status::kOk) << degrees;
        EXPECT_TRUE(simulation->workspace().solution().acceleration.allFinite());
      }
      else
      {
        const std::unique_ptr<Simulation> simulation = make();
        const RunResult result = simulation->run(0.1, 1e9, [](const Simulation &) { return true; });
        EXPECT_FALSE(result.completed);
        EXPECT_EQ(result.status, Status::kNoUniqueSolution) << degrees;
        EXPECT_TRUE(simulation->state().u.allFinite());
      }
    }
  }
}

TEST(SlidingBall, when_it_slips_expect_rolling_at_the_exact_time_twice)
{
  const Scenario scenario = load_scenario("sliding_ball");
  const double first = 2.0 * 2.0 / (7.0 * 0.2 * 9.81);
  std::unique_ptr<Simulation> simulation = run_through(
    scenario, {first + 0.1, 0.999999},
    [&](const Simulation & now, std::size_t)
    { EXPECT_NEAR(now.workspace().rows().velocity.tail(2).norm(), 0.0, 1e-9); });
  const auto stick = events_of(*simulation, "floor_friction", ContactEventKind::kStick);
  ASSERT_EQ(stick.size(), 1U);
  EXPECT_NEAR(stick[0].time, first, 1e-9);
  EXPECT_NEAR(simulation->workspace().solution().multipliers(0), 0.2 * 9.81, 1e-9);
  // Slips again and rolls again, as long as the velocity that the push gave needs.
  ASSERT_TRUE(simulation->run(2.0, 1e9, [](const Simulation &) { return true; }).completed);
  const auto again = events_of(*simulation, "floor_friction", ContactEventKind::kStick);
  const auto slip = events_of(*simulation, "floor_friction", ContactEventKind::kSlip);
  ASSERT_EQ(again.size(), 2U);
  ASSERT_GE(slip.size(), 1U);
  EXPECT_NEAR(slip.back().time, 1.0, 1e-12);
  EXPECT_NEAR(slip.back().speed_after, 1.5, 1e-9);
  EXPECT_NEAR(again[1].time - 1.0, 2.0 * 1.5 / (7.0 * 0.2 * 9.81), 1e-8);
}

/// A block on an incline, with friction of a contact.
Scenario incline(double friction, double angle, double speed)
{
  char text[1200];
  std::snprintf(
    text, sizeof(text), R"(
system:
  coordinates: [x, y]
  kinetic: (dx^2 + dy^2)/2
  potential: 9.81*(y*cos(%.17g) - x*sin(%.17g))
constraints:
  - {name: plane, type: formula, level: position, rows: [y], unilateral: {side: above, friction: {rows: slip, coefficient: %.17g}}}
  - {name: slip, type: formula, level: velocity, rows: [dx]}
initial: {u: {dx: %.17g}}
run: {until: 3, integrator: dopri5, absolute_tolerance: 1.0e-12, relative_tolerance: 1.0e-12}
)",
    angle, angle, friction, speed);
  return Scenario::from_text(text);
}

TEST(Friction, when_a_block_slides_down_expect_it_to_stop_or_not_as_exactly_known)
{
  const YAML::Node reference = load_reference("impact_friction");
  const YAML::Node stops = find_item(reference["oneshots"], "name", "block_stops");
  std::unique_ptr<Simulation> simulation =
    run_through(incline(0.6, 0.4, 3.0), {3.0}, [](const Simulation &, std::size_t) {});
  const auto stick = events_of(*simulation, "slip", ContactEventKind::kStick);
  ASSERT_EQ(stick.size(), 1U);
  EXPECT_NEAR(stick[0].time, stops["stop_time"].as<double>(), 1e-8);
  EXPECT_NEAR(simulation->state().q(0), stops["distance"].as<double>(), 1e-8);
  const YAML::Node goes = find_item(reference["oneshots"], "name", "block_never_stops");
  simulation = run_through(incline(0.2, 0.5, 3.0), {3.0}, [](const Simulation &, std::size_t) {});
  EXPECT_NEAR(
    simulation->workspace().solution().acceleration(0), goes["acceleration"].as<double>(), 1e-12);
  EXPECT_TRUE(events_of(*simulation, "slip", ContactEventKind::kStick).empty());
}

TEST(Friction, when_an_oscillator_rubs_expect_the_exact_turning_points)
{
  const YAML::Node exact =
    find_item(load_reference("impact_friction")["oneshots"], "name", "coulomb_oscillator");
  const Scenario scenario = Scenario::from_text(R"(
system: {coordinates: [x], kinetic: dx^2/2, potential: 2*x^2}
constraints: [{name: rub, type: formula, level: velocity, rows: [dx], friction: 0.5}]
initial: {q: {x: 1.3}}
run: {until: 10, integrator: dopri5, absolute_tolerance: 1.0e-12, relative_tolerance: 1.0e-12}
)");
  std::vector<double> times;
  for (const YAML::Node & point : exact["turning_points"])
  {
    times.push_back(point[0].as<double>());
  }
  times.push_back(10.0);
  const auto simulation = run_through(
    scenario, times,
    [&](const Simulation & now, std::size_t i)
    {
      const double x = i < exact["turning_points"].size()
                         ? exact["turning_points"][i][1].as<double>()
                         : exact["final_position"].as<double>();
      EXPECT_NEAR(now.state().q(0), x, 1e-8) << i;
    });
  EXPECT_EQ(simulation->state().u(0), 0.0);
}

TEST(Friction, when_static_exceeds_kinetic_expect_slip_at_one_and_motion_at_the_other)
{
  // Force t on a unit mass: it lets go at the static bound 2 and accelerates by t − 1.
  const Scenario scenario = Scenario::from_text(R"(
system: {coordinates: [x], kinetic: dx^2/2, force: {x: t}}
constraints: [{name: rub, type: formula, level: velocity, rows: [dx], friction: {bound: 1, static: 2}}]
run: {until: 3, integrator: dopri5, absolute_tolerance: 1.0e-12, relative_tolerance: 1.0e-12}
)");
  const auto simulation = run_through(scenario, {3.0}, [](const Simulation &, std::size_t) {});
  const auto slip = events_of(*simulation, "rub", ContactEventKind::kSlip);
  ASSERT_EQ(slip.size(), 1U);
  EXPECT_NEAR(slip[0].time, 2.0, 1e-10);
  EXPECT_NEAR(simulation->state().u(0), 1.5, 1e-9);  // ∫ (t − 1) from 2 to 3
  EXPECT_NEAR(simulation->workspace().solution().multipliers(0), -1.0, 1e-12);
}

TEST(Friction, when_dahls_law_acts_expect_its_hysteresis)
{
  // A mass drawn slowly along: F = −F_c (1 − exp(−σ x/F_c)); coming back, from there on.
  const Scenario scenario = Scenario::from_text(R"(
system: {coordinates: [x], kinetic: dx^2/2}
constraints:
  - {name: rub, type: formula, level: velocity, rows: [dx], friction: {bound: 2, dahl_stiffness: 50, coordinate: x}}
  - {name: drive, type: prescribed_motion, coordinate: x, motion: 0.1*sin(t)}
initial: {solve: all}
run: {until: 4, integrator: dopri5, absolute_tolerance: 1.0e-11, relative_tolerance: 1.0e-11}
)");
  const double turn = -2.0 * (1.0 - std::exp(-50.0 * 0.1 / 2.0));
  const auto simulation = run_through(
    scenario, {1.0, 3.0},
    [&](const Simulation & now, std::size_t i)
    {
      const double x = now.state().q(0);
      const double exact = i == 0 ? -2.0 * (1.0 - std::exp(-50.0 * x / 2.0))
                                  : 2.0 + (turn - 2.0) * std::exp(-50.0 * (0.1 - x) / 2.0);
      EXPECT_NEAR(now.workspace().solution().multipliers(0), exact, 1e-8) << i;
    });
}

TEST(Friction, when_a_robot_description_states_it_expect_it_to_act)
{
  const std::string robot = R"(
system:
  gravity: [0, 0, 0]
  urdf: |
    <robot name="r"><link name="a"/><link name="b"><inertial><mass value="1"/>
    <inertia ixx="0.5" iyy="0.5" izz="0.5" ixy="0" ixz="0" iyz="0"/></inertial></link>
    <joint name="j" type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>
    <dynamics friction="0.2"/></joint></robot>
initial: {u: {j: 1}}
run: {until: 4, integrator: dopri5}
)";
  Scenario scenario = Scenario::from_text(robot);
  EXPECT_TRUE(scenario.warnings().empty());
  auto simulation = run_through(scenario, {4.0}, [](const Simulation &, std::size_t) {});
  const auto stick = events_of(*simulation, "j_friction", ContactEventKind::kStick);
  ASSERT_EQ(stick.size(), 1U);
  EXPECT_NEAR(stick[0].time, 0.5 / 0.2, 1e-7);
  EXPECT_NEAR(simulation->state().q(0), 0.5 * 2.5, 1e-7);
  scenario = Scenario::from_text(robot, {"system.model_friction=false"});
  EXPECT_EQ(scenario.warnings().size(), 1U);
  simulation = run_through(scenario, {4.0}, [](const Simulation &, std::size_t) {});
  EXPECT_NEAR(simulation->state().u(0), 1.0, 1e-12);
}

// ---- switching, laws, several at once
// ------------------------------------------------------------------------------

TEST(Switching, when_two_constraints_come_at_one_instant_expect_one_impact)
{
  // A point of 2 kg with the velocity (1, 0.5) is stopped by rows along (1, 0) and (0.6, 0.8) at
  // once: the impulses solve Aᵀ Λ = −m u, that is 0.8 Λ2 = −1 and Λ1 + 0.6 Λ2 = −2.
  const std::string text = R"(
system: {coordinates: [x, y], kinetic: dx^2 + dy^2, potential: 0*x}
constraints:
  - {name: first, type: formula, level: velocity, rows: [dx], active: false}
  - {name: second, type: formula, level: velocity, rows: ["0.6*dx + 0.8*dy"], active: false}
initial: {u: {dx: 1, dy: 0.5}}
run: {until: 2, step: 0.01}
)";
  const std::vector<std::string> orders = {
    "events=[{time: 1, switch: first, active: true}, {time: 1, switch: second, active: true}]",
    "events=[{time: 1, switch: second, active: true}, {time: 1, switch: first, active: true}]"};
  for (const std::string & order : orders)
  {
    for (const std::string integrator : {"rk4", "dopri5"})
    {
      const Scenario scenario = Scenario::from_text(text, {order, "run.integrator=" + integrator});
      const std::unique_ptr<Simulation> simulation = scenario.make_simulation();
      ASSERT_TRUE(simulation->run(2.0, 1e9, [](const Simulation &) { return true; }).completed);
      EXPECT_LE(simulation->state().u.norm(), 1e-15);
      const auto first = events_of(*simulation, "first", ContactEventKind::kSwitchOn);
      const auto second = events_of(*simulation, "second", ContactEventKind::kSwitchOn);
      ASSERT_EQ(first.size(), 1U);
      ASSERT_EQ(second.size(), 1U);
      EXPECT_NEAR(first[0].impulse, 1.25, 1e-12) << order;
      EXPECT_NEAR(second[0].impulse, 1.25, 1e-12) << order;
      EXPECT_NEAR(first[0].energy_change, -1.25, 1e-12) << order;
    }
  }
}

TEST(Switching, when_a_push_and_a_constraint_come_at_one_instant_expect_one_impact)
{
  // The push of 3 N s along x is met by the row that comes with it: nothing moves along x.
  for (const std::string order :
       {"events=[{time: 1, impulse: {dx: 3}}, {time: 1, switch: stop, active: true}]",
        "events=[{time: 1, switch: stop, active: true}, {time: 1, impulse: {dx: 3}}]"})
  {
    const Scenario scenario = Scenario::from_text(
      R"(
system: {coordinates: [x, y], kinetic: dx^2 + dy^2, potential: 0*x}
constraints: [{name: stop, type: formula, level: velocity, rows: [dx], active: false}]
initial: {u: {dx: 1, dy: 0.5}}
run: {until: 2, integrator: dopri5}
)",
      {order});
    const std::unique_ptr<Simulation> simulation = scenario.make_simulation();
    ASSERT_TRUE(simulation->run(2.0, 1e9, [](const Simulation &) { return true; }).completed);
    const auto on = events_of(*simulation, "stop", ContactEventKind::kSwitchOn);
    ASSERT_EQ(on.size(), 1U);
    EXPECT_NEAR(on[0].impulse, 5.0, 1e-12) << order;
    EXPECT_NEAR(simulation->state().u(0), 0.0, 1e-12);
    EXPECT_NEAR(simulation->state().u(1), 0.5, 1e-12);
  }
}

TEST(Switching, when_a_constraint_is_switched_on_and_off_expect_impulse_and_momentum)
{
  // Two masses; at 1 s they are coupled (plastic), at 2 s released.
  const std::string text = R"(
system: {coordinates: [x, y], kinetic: (2*dx^2 + dy^2)/2}
constraints: [{name: couple, type: formula, level: velocity, rows: [dx - dy], active: false}]
events:
  - {time: 1, switch: couple, active: true}
  - {time: 2, switch: couple, active: false}
  - {time: 2.5, impulse: {dy: 3}}
initial: {u: {dx: 3, dy: 0}}
run: {until: 3}
)";
  for (const std::string integrator : {"dopri5", "rk4"})
  {
    const auto simulation = run_through(
      Scenario::from_text(text, {"run.integrator=" + integrator}), {1.5, 2.2, 3.0},
      [&](const Simulation & now, std::size_t i)
      {
        EXPECT_NEAR(now.state().u(0), 2.0, 1e-12);
        EXPECT_NEAR(now.state().u(1), i < 2 ? 2.0 : 5.0, 1e-12);
      });
    ASSERT_EQ(simulation->events().size(), 3U);
    EXPECT_EQ(simulation->events()[0].kind, ContactEventKind::kSwitchOn);
    EXPECT_NEAR(simulation->events()[0].impulse, 2.0, 1e-12);  // 2 kg lose 1 m/s
    EXPECT_NEAR(simulation->events()[0].energy_change, -3.0, 1e-12);
    EXPECT_EQ(simulation->events()[1].kind, ContactEventKind::kSwitchOff);
    EXPECT_EQ(simulation->events()[2].kind, ContactEventKind::kImpulse);
  }
}

TEST(Contacts, when_a_box_lands_flat_expect_both_corners_at_once_and_half_the_weight_each)
{
  const Scenario scenario = load_scenario(
    "rocking_block",
    accurately() +
      Names{"initial={q: {x: 0, y: h + 0.5, a: 0}}", "constraints.0.unilateral.restitution=0.3"});
  const auto simulation = run_through(scenario, {3.0}, [](const Simulation &, std::size_t) {});
  const auto left = events_of(*simulation, "corner0", ContactEventKind::kImpact);
  const auto right = events_of(*simulation, "corner1", ContactEventKind::kImpact);
  ASSERT_GE(left.size(), 2U);
  ASSERT_EQ(left.size(), right.size());
  EXPECT_NEAR(left[0].time, std::sqrt(2.0 * 0.5 / 9.81), 1e-9);
  EXPECT_EQ(left[0].time, right[0].time);
  EXPECT_NEAR(left[0].impulse, right[0].impulse, 1e-9);
  const Solution & solution = simulation->workspace().solution();
  EXPECT_NEAR(solution.multipliers(0), 0.5 * 3.0 * 9.81, 1e-6);
  EXPECT_NEAR(solution.multipliers(1), 0.5 * 3.0 * 9.81, 1e-6);
  EXPECT_NEAR(simulation->state().u.norm(), 0.0, 1e-8);
}

TEST(Contacts, when_the_law_is_a_force_expect_the_bounce_of_a_spring)
{
  // Contact time of a linear spring without gravity: half a period, and all the speed back.
  const Scenario scenario = Scenario::from_text(R"(
system: {coordinates: [y], kinetic: dy^2/2}
constraints:
  - {name: floor, type: formula, level: position, rows: [y], unilateral: {side: above, force: {stiffness: 1.0e4}}}
initial: {q: {y: 0.1}, u: {dy: -2}}
run: {until: 1, integrator: dopri5, absolute_tolerance: 1.0e-12, relative_tolerance: 1.0e-12}
)");
  const auto simulation = run_through(scenario, {1.0}, [](const Simulation &, std::size_t) {});
  ASSERT_EQ(simulation->events().size(), 2U);
  EXPECT_NEAR(simulation->events()[0].time, 0.05, 1e-11);
  EXPECT_NEAR(simulation->events()[1].time - simulation->events()[0].time, M_PI / 100.0, 1e-10);
  EXPECT_NEAR(simulation->state().u(0), 2.0, 1e-9);
}

TEST(Contacts, when_kelvin_and_voigt_prescribe_the_row_expect_its_exact_motion)
{
  // x'' = −2 δ x' − ω² x from x = 0, x' = 1: x = exp(−δ t) sin(ν t)/ν; the force pulls when x'' < 0
  // would have to become positive beyond free motion, here (no gravity) when −x'' changes its sign.
  const Scenario scenario = Scenario::from_text(R"(
system: {coordinates: [y], kinetic: dy^2/2}
constraints:
  - {name: floor, type: formula, level: position, rows: [y], unilateral: {side: below, law: {kind: kelvin_voigt, stiffness: 100, damping: 4}}}
initial: {q: {y: -1}, u: {dy: 1}}
run: {until: 2, integrator: dopri5, absolute_tolerance: 1.0e-12, relative_tolerance: 1.0e-12}
)");
  const double delta = 2.0;
  const double nu = std::sqrt(100.0 - 4.0);
  const auto simulation = run_through(
    scenario, {1.1},
    [&](const Simulation & now, std::size_t)
    { EXPECT_NEAR(now.state().q(0), std::exp(-delta * 0.1) * std::sin(nu * 0.1) / nu, 1e-10); });
  ASSERT_TRUE(simulation->run(2.0, 1e9, [](const Simulation &) { return true; }).completed);
  ASSERT_EQ(simulation->events().size(), 2U);
  // The force −x'' = 2 δ x' + ω² x is 0 at tan(ν t) = −2 δ ν/(ω² − 2 δ²).
  const double release = (M_PI - std::atan(2.0 * delta * nu / (100.0 - 2.0 * delta * delta))) / nu;
  EXPECT_NEAR(simulation->events()[1].time - 1.0, release, 1e-9);
}

TEST(Switching, when_velocity_rows_have_a_law_expect_continuous_speeds)
{
  // Thesis 329: psi' = Delta psi from 1 s on, psi = exp(Delta (t − 1)).
  const Scenario scenario = Scenario::from_text(R"(
system: {coordinates: [x, y], kinetic: (2*dx^2 + dy^2)/2}
constraints:
  - {name: couple, type: formula, level: velocity, rows: [dx - dy], active: false, law: {kind: linear, velocity_gain: -5}}
events: [{time: 1, switch: couple, active: true}]
initial: {u: {dx: 3, dy: 0}}
run: {until: 3, integrator: dopri5}
)");
  const auto simulation = run_through(
    scenario, {1.0, 1.5},
    [&](const Simulation & now, std::size_t i)
    {
      const double slip = now.state().u(0) - now.state().u(1);
      EXPECT_NEAR(slip, i == 0 ? 3.0 : 3.0 * std::exp(-2.5), 1e-9);
      EXPECT_NEAR(2.0 * now.state().u(0) + now.state().u(1), 6.0, 1e-9);  // momentum
    });
  ASSERT_EQ(simulation->events().size(), 1U);
  EXPECT_EQ(simulation->events()[0].impulse, 0.0);
}

TEST(Switching, when_impulses_meet_a_closed_contact_expect_it_to_push_or_let_go)
{
  const Scenario scenario = load_scenario("bouncing_ball", {"h=0"});
  const std::unique_ptr<Simulation> simulation = scenario.make_simulation();
  ASSERT_EQ(simulation->evaluate(), Status::kOk);
  EXPECT_NEAR(simulation->workspace().solution().multipliers(0), 9.81, 1e-12);
  const Eigen::VectorXd down = Eigen::VectorXd::Constant(1, -4.0);
  const Eigen::VectorXd up = -down;
  const long before = allocation_count();
  Status status = simulation->apply_impulse(down);
  EXPECT_EQ(status, Status::kOk);
  EXPECT_EQ(simulation->state().u(0), 0.0);
  status = simulation->apply_impulse(up);
  EXPECT_EQ(allocation_count() - before, 0);
  EXPECT_EQ(status, Status::kOk);
  EXPECT_NEAR(simulation->state().u(0), 4.0, 1e-14);
  EXPECT_EQ(simulation->events().back().kind, ContactEventKind::kRelease);
  EXPECT_EQ(simulation->switch_constraint(0, true), Status::kSizeMismatch);  // the contact's own
}

TEST(FixedSteps, when_contacts_come_and_go_expect_no_allocation_and_finite_states)
{
  for (const std::string name :
       {"bouncing_ball", "thesis_5_1", "thesis_5_2", "thesis_5_3", "rocking_block", "rimless_wheel",
        "sliding_ball", "painleve_rod", "solo12_drop"})
  {
    if (name == "solo12_drop" && std::string(CD_EXAMPLE_ROBOT_DATA).empty())
    {
      continue;
    }
    const Scenario scenario = load_scenario(name, {"run.integrator=rk4", "run.step=0.0005"});
    const std::unique_ptr<Simulation> simulation = scenario.make_simulation();
    const long before = allocation_count();
    for (int i = 0; i < 4000; ++i)
    {
      const Status status = simulation->step();
      if (!has_output(status))
      {
        FAIL() << name << ": " << to_string(status) << " in step " << i;
      }
    }
    EXPECT_EQ(allocation_count() - before, 0) << name;
    EXPECT_TRUE(simulation->state().q.allFinite() && simulation->state().u.allFinite()) << name;
    std::printf("%s: %zu events\n", name.c_str(), simulation->events().size());
  }
}

TEST(FixedSteps, when_steps_are_halved_expect_the_located_events)
{
  // Rolling begins at 2 v/(7 mu g); fixed steps see it within one step, the states to first order.
  const Scenario exact = load_scenario("sliding_ball");
  std::unique_ptr<Simulation> located = exact.make_simulation();
  ASSERT_TRUE(located->run(2.0, 1e9, [](const Simulation &) { return true; }).completed);
  double last = 0.0;
  for (const double step : {0.002, 0.001, 0.0005})
  {
    const Scenario scenario =
      load_scenario("sliding_ball", {"run.integrator=rk4", set("run.step", step)});
    const std::unique_ptr<Simulation> simulation = scenario.make_simulation();
    ASSERT_TRUE(simulation->run(2.0, 1e9, [](const Simulation &) { return true; }).completed);
    const auto stick = events_of(*simulation, "floor_friction", ContactEventKind::kStick);
    ASSERT_EQ(stick.size(), 2U);
    EXPECT_NEAR(stick[0].time, 4.0 / (7.0 * 0.2 * 9.81), 1.001 * step);
    const double error = (simulation->state().q - located->state().q).head(2).norm();
    EXPECT_LE(error, 2.0 * step) << step;
    last = error;
  }
  EXPECT_LE(last, 1e-3);
}

TEST(Quadruped, when_dropped_expect_rest_with_the_weight_on_its_feet)
{
  if (std::string(CD_EXAMPLE_ROBOT_DATA).empty())
  {
    GTEST_SKIP() << "example-robot-data is not installed";
  }
  const Scenario scenario = load_scenario("solo12_drop");
  const std::unique_ptr<Simulation> simulation = scenario.make_simulation();
  const RunResult result = simulation->run(3.0, 1e9, [](const Simulation &) { return true; });
  ASSERT_TRUE(result.completed) << to_string(result.status) << " at " << result.time << " s";
  ASSERT_EQ(simulation->evaluate(), Status::kOk);
  const auto * robot = dynamic_cast<const RigidBodySystem *>(&scenario.system());
  ASSERT_NE(robot, nullptr);
  const double weight = robot->total_mass() * 9.81;
  double carried = 0.0;
  const ConstraintSet & set = scenario.dynamics()->constraints();
  for (const std::string foot : {"FL", "FR", "HL", "HR"})
  {
    const double force =
      simulation->workspace().solution().multipliers(set.row_offset(set.index(foot)));
    EXPECT_GT(force, 0.1 * weight) << foot;
    carried += force;
  }
  EXPECT_NEAR(carried, weight, 1e-4 * weight);
  EXPECT_LE(simulation->state().u.cwiseAbs().maxCoeff(), 1e-3);
  EXPECT_LE(simulation->events().size(), 3000U);
  std::printf("%zu events\n", simulation->events().size());
}

}  // namespace
}  // namespace constrained_dynamics::test
