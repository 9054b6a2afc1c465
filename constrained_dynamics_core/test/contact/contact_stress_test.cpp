// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Boxes thrown on the ground, with contacts at all corners: in every case runs end, energy does not
// increase, nothing penetrates, and bodies at rest are supported. Runs with too many events to
// advance report that.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <Eigen/Cholesky>
#include <Eigen/Geometry>

#include "constrained_dynamics/scenario/scenario.hpp"
#include "support/reference_data.hpp"

namespace constrained_dynamics::test
{
namespace
{

struct Throw
{
  double friction = 0.0;
  double restitution = 0.0;
  Eigen::Vector4d turn;  // quaternion x, y, z, w
  Eigen::Matrix<double, 6, 1> speeds;
};

using Draw = Throw (*)(std::mt19937_64 &, int);

/// Any position and velocity, the rest to be drawn.
void draw_motion(std::mt19937_64 & random, Throw & drawn)
{
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  drawn.turn = Eigen::Quaterniond::UnitRandom().coeffs();
  for (int i = 5; i >= 0; --i)
  {
    drawn.speeds(i) = (i < 3 ? 1.0 : 3.0) * uniform(random);
  }
}

Throw any_throw(std::mt19937_64 & random, int)
{
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  Throw drawn;
  drawn.friction = 0.6 + 0.6 * uniform(random);
  drawn.restitution = std::max(0.0, 0.8 * uniform(random));
  draw_motion(random, drawn);
  return drawn;
}

/// Much of it without bounces: corners strike in turn, and slip ends and begins at several at once.
Throw rocking_throw(std::mt19937_64 & random, int index)
{
  Throw drawn;
  drawn.friction = std::uniform_real_distribution<double>(0.1, 1.0)(random);
  drawn.restitution = 0.3 * (index % 3);
  draw_motion(random, drawn);
  return drawn;
}

std::string box(const Throw & thrown, const std::string & integrator)
{
  const Eigen::Vector4d & turn = thrown.turn;
  const Eigen::Matrix<double, 6, 1> & u = thrown.speeds;
  char text[4000];
  std::snprintf(
    text, sizeof(text), R"(
parameters: {a: 0.3, b: 0.2, c: 0.1, m: 2.0}
system:
  bodies:
    - {name: box, mass: m, inertia: [m/3*(b^2 + c^2), m/3*(a^2 + c^2), m/3*(a^2 + b^2)]}
  frames:
    - {repeat: {i: [0, 1], j: [0, 1], k: [0, 1]}, name: "corner${i}${j}${k}", parent: box,
       pose: {xyz: ["(2*${i} - 1)*a", "(2*${j} - 1)*b", "(2*${k} - 1)*c"]}}
constraints:
  - {repeat: {i: [0, 1], j: [0, 1], k: [0, 1]}, name: "hit${i}${j}${k}", type: contact, frame_a: "corner${i}${j}${k}",
     friction: {coefficient: %.17g, static: %.17g}, restitution: %.17g, rest_speed: 1.0e-4}
initial:
  q: {box: [0, 0, 0.6, %.17g, %.17g, %.17g, %.17g]}
  u: {box: [%.17g, %.17g, %.17g, %.17g, %.17g, %.17g]}
run: {until: 4, integrator: %s, step: 0.001, absolute_tolerance: 1.0e-9, relative_tolerance: 1.0e-9}
)",
    thrown.friction, 1.1 * thrown.friction, thrown.restitution, turn(0), turn(1), turn(2), turn(3),
    u(0), u(1), u(2), u(3), u(4), u(5), integrator.c_str());
  return text;
}

void throw_boxes(
  Draw draw, const std::string & integrator, int count, unsigned seed, double energy_tolerance)
{
  std::printf("%s: seed %u, %d throws\n", integrator.c_str(), seed, count);
  std::mt19937_64 random(seed);
  std::srand(seed);  // Eigen's random rotations
  int rested = 0;
  int paradoxes = 0;
  std::size_t most_events = 0;
  for (int k = 0; k < count; ++k)
  {
    const std::string text = box(draw(random, k), integrator);
    const Scenario scenario = Scenario::from_text(text);
    const std::unique_ptr<Simulation> simulation = scenario.make_simulation();
    double energy = std::numeric_limits<double>::infinity();
    double gain = 0.0;
    double depth = 0.0;
    const RunResult result = simulation->run(
      4.0, 0.01,
      [&](const Simulation & now)
      {
        const double here = now.kinetic_energy() + now.potential_energy();
        gain = std::max(gain, here - energy);
        energy = here;
        for (const Contact & contact : scenario.contacts()->contacts())
        {
          const int row = scenario.dynamics()->constraints().row_offset(contact.constraint);
          depth = std::max(depth, -now.workspace().rows().position(row));
        }
        return true;
      });
    if (result.status == Status::kNoUniqueSolution)
    {
      ++paradoxes;  // boxes that spin on an edge with much friction; said, and no NaN
      ASSERT_TRUE(simulation->state().u.allFinite());
      continue;
    }
    ASSERT_TRUE(result.completed) << "throw " << k << ": " << to_string(result.status) << " at "
                                  << result.time << " s\n"
                                  << text;
    most_events = std::max(most_events, simulation->events().size());
    EXPECT_LE(gain, energy_tolerance) << "throw " << k;
    // A step of 1 ms at 5 m/s is 5 mm.
    EXPECT_LE(depth, integrator == "rk4" ? 1e-2 : 1e-8) << "throw " << k;
    if (simulation->state().u.norm() < 1e-6)
    {
      ++rested;
      double carried = 0.0;
      for (const Contact & contact : scenario.contacts()->contacts())
      {
        const int row = scenario.dynamics()->constraints().row_offset(contact.constraint);
        const double push = simulation->workspace().solution().multipliers(row);
        EXPECT_GE(push, -1e-9) << "throw " << k;
        carried += push;
      }
      EXPECT_NEAR(carried, 2.0 * 9.81, 1e-6) << "throw " << k;
    }
  }
  std::printf(
    "%d of %d came to rest, %d without a unique motion, at most %zu events\n", rested, count,
    paradoxes, most_events);
  EXPECT_LE(paradoxes, count / 20);
  EXPECT_GE(rested, count / 2);
}

TEST(ThrownBoxes, when_events_are_located_expect_rest_and_no_gain_of_energy)
{
  throw_boxes(any_throw, "dopri5", is_campaign() ? 2000 : 20, 5, 1e-6);
}

TEST(ThrownBoxes, when_steps_are_fixed_expect_rest_and_hardly_any_gain_of_energy)
{
  // Contact is seen up to 5 mm late, and lifting the box out of the ground takes energy.
  throw_boxes(any_throw, "rk4", is_campaign() ? 2000 : 20, 6, 2.0 * 9.81 * 1e-2);
}

TEST(ThrownBoxes, when_corners_strike_in_turn_expect_rest_and_no_gain_of_energy)
{
  throw_boxes(rocking_throw, "dopri5", is_campaign() ? 2000 : 20, 7, 1e-6);
}

/// Runs to 4 s and expects rest on a face, the centre that high.
std::unique_ptr<Simulation> come_to_rest(
  const Throw & thrown, double height, const std::string & integrator = "dopri5")
{
  const Scenario scenario = Scenario::from_text(box(thrown, integrator));
  std::unique_ptr<Simulation> simulation = scenario.make_simulation();
  const RunResult result = simulation->run(4.0, 1.0, [](const Simulation &) { return true; });
  EXPECT_TRUE(result.completed) << to_string(result.status) << " at " << result.time << " s";
  EXPECT_LE(result.steps, 5000);
  EXPECT_NEAR(simulation->state().q(2), height, 1e-8);
  EXPECT_LE(simulation->state().u.norm(), 1e-9);
  return simulation;
}

TEST(ThrownBoxes, when_slip_ends_at_one_corner_as_it_begins_at_another_expect_rest)
{
  // On an edge at 1.1239 s: one corner stops while the slip of the other is below the creep speed.
  Throw thrown;
  thrown.friction = 0.5013754490256905;
  thrown.turn << 0.4959360686531939, 0.34786308844251385, -0.5283874155971212, 0.5948490787978455;
  thrown.speeds << -0.5470353054673605, -0.0043997884345789995, 0.08718506746600885,
    2.356556204983022, -0.013204314096826986, 0.37567425134654253;
  const std::unique_ptr<Simulation> simulation = come_to_rest(thrown, 0.3);
  // Afterwards it rocks on its smallest face, from edge to edge, and each impact leaves Housner's
  // part 1 - 3/2 sin² of the angle between height and diagonal: 0.85. Impacts accumulate.
  const double kept = 1.0 - 1.5 * 0.1 * 0.1 / (0.1 * 0.1 + 0.3 * 0.3);
  int impacts = 0;
  double last_time = 1.2;
  double last_speed = 0.0;
  for (const ContactEvent & event : simulation->events())
  {
    if (event.kind != ContactEventKind::kImpact || event.time <= last_time)
    {
      continue;
    }
    const double speed = std::abs(event.speed_before);
    if (last_speed > 0.0 && speed > 1e-4)
    {
      EXPECT_NEAR(speed / last_speed, kept, 1e-4) << event.time;
      ++impacts;
    }
    last_time = event.time;
    last_speed = speed;
  }
  EXPECT_GE(impacts, 30);
  EXPECT_LE(simulation->events().size(), 2000U);
}

TEST(ThrownBoxes, when_slip_below_the_tolerance_is_left_expect_rest)
{
  Throw thrown;
  thrown.friction = 0.36068936040982974;
  thrown.turn << 0.12155943001987914, -0.9019590395690733, 0.15429126660286027, 0.38456130975822583;
  thrown.speeds << 0.5436418306682125, -0.429374333056872, 0.3865921887462995, -0.23457544675970254,
    -2.250161803557787, 0.5234726900792062;
  come_to_rest(thrown, 0.1);
}

TEST(ThrownBoxes, when_steps_see_rocking_corners_late_expect_rest)
{
  // They rock on their smallest face: corners that fall on below the ground until a step sees them
  // would bring as much energy along as the impacts take.
  Throw thrown;
  thrown.friction = 0.836555265132866;
  thrown.restitution = 0.06007364259377806;
  thrown.turn << -0.570806989101212, -0.11951970881450416, 0.7675693045456482, 0.2659544756483994;
  thrown.speeds << 0.6179826270406577, 0.20851365447312653, -0.49743498620080295,
    0.13499254940074423, 0.723428585773845, 2.3812720671306664;
  come_to_rest(thrown, 0.3, "rk4");
  thrown.friction = 0.3610596290863665;
  thrown.restitution = 0.22075927592064792;
  thrown.turn << 0.2773293386013547, 0.531267036590487, 0.1046778342475341, -0.793653781444115;
  thrown.speeds << 0.1652480550100257, 0.007341684847301577, -0.7650953824787872,
    -0.3112002395502067, -0.7513458628743308, -2.595226528674279;
  come_to_rest(thrown, 0.3, "rk4");
  thrown.friction = 0.9553042567031387;
  thrown.restitution = 0.4812111830667949;
  thrown.turn << -0.12309845009947981, -0.3508522724624553, 0.7618738904205239, -0.5303749895937142;
  thrown.speeds << -0.9062803336127807, 0.841631391445004, -0.219999153378595, -2.5402772431962086,
    2.219579463313248, 2.052817284651085;
  come_to_rest(thrown, 0.3, "rk4");
}

/// A box by its half lengths and its whole start.
std::string dropped_box(
  double mass, const std::string & inertia, const std::string & corner, double friction,
  const std::string & place, const std::string & speeds, const std::string & integrator)
{
  std::ostringstream out;
  out.precision(17);
  out << "system:\n  bodies: [{name: box, mass: " << mass << ", inertia: " << inertia
      << "}]\n  frames:\n    - {repeat: {i: [0, 1], j: [0, 1], k: [0, 1]}, name: "
      << "\"c${i}${j}${k}\", parent: box, pose: {xyz: " << corner << "}}\n"
      << "constraints:\n  - {repeat: {i: [0, 1], j: [0, 1], k: [0, 1]}, name: \"f${i}${j}${k}\", "
      << "type: contact, frame_a: \"c${i}${j}${k}\", restitution: 0, friction: " << friction
      << "}\ninitial: {q: {box: " << place << "}, u: {box: " << speeds
      << "}}\nrun: {until: 3, step: 0.001, integrator: " << integrator << "}\n";
  return out.str();
}

TEST(ThrownBoxes, when_corners_touch_one_after_the_other_in_a_step_expect_none_below_the_ground)
{
  // At 0.2424 s two corners touch within one step of 1 ms, and neither stays where the other was.
  const Scenario scenario = Scenario::from_text(dropped_box(
    1.6962854124735582, "[0.10477532802401548, 0.13647790583956, 0.21422445577191823]",
    "[\"(${i}*2-1)*0.46633638473232386\", \"(${j}*2-1)*0.40174791372526486\", "
    "\"(${k}*2-1)*0.15459995822293462\"]",
    0.1,
    "[0, 0, 0.8461021547281089, 0.9130633854373792, 0.34041277547049026, 0.0007031331486481073, "
    "0.22457493643299722]",
    "[0.28001885385737774, 0.2475682420312223, 2.1665103925625537, 1.1379469239404245, "
    "-0.7306244665051876, 0.7483061339817294]",
    "rk4"));
  const std::unique_ptr<Simulation> simulation = scenario.make_simulation();
  double depth = 0.0;
  const RunResult result = simulation->run(
    3.0, 1e-3,
    [&](const Simulation & now)
    {
      for (const Contact & contact : scenario.contacts()->contacts())
      {
        const int row = scenario.dynamics()->constraints().row_offset(contact.constraint);
        depth = std::max(depth, contact.side * now.workspace().rows().position(row));
      }
      return true;
    });
  EXPECT_TRUE(result.completed);
  EXPECT_LE(depth, 1e-9);
}

TEST(ThrownBoxes, when_stick_turns_to_slip_expect_steps_of_the_motion)
{
  // On one corner at 0.3236 s, with friction at its bound: the slip grows from nothing, and its
  // direction follows the motion at a rate of 1e9 1/s.
  const std::string inertia = "[0.04603114619968814, 0.049403126061769595, 0.0902736812509585]";
  const std::string corner =
    "[\"(${i}*2-1)*0.478108278221569\", \"(${j}*2-1)*0.46057098304459343\", "
    "\"(${k}*2-1)*0.11223599321342143\"]";
  const std::string place =
    "[0, 0, 1.1428576379852604, -0.35240281166353543, -0.8356449595755975, -0.06367864769501526, "
    "-0.41647903872255915]";
  const std::string speeds =
    "[0.20345118615345922, -2.357510124265223, -0.8707396688162595, -0.6006407612010299, "
    "-1.500992493193136, -3.032425790029919]";
  double energy[2] = {0.0, 0.0};
  for (const int i : {0, 1})
  {
    const Scenario scenario = Scenario::from_text(dropped_box(
      0.6145063744705737, inertia, corner, 1.0, place, speeds, i == 0 ? "dopri5" : "rk4"));
    const std::unique_ptr<Simulation> simulation = scenario.make_simulation();
    const RunResult result = simulation->run(3.0, 1.0, [](const Simulation &) { return true; });
    ASSERT_TRUE(result.completed) << to_string(result.status) << " at " << result.time << " s";
    EXPECT_LE(result.evaluations, i == 0 ? 10000 : 20000);
    EXPECT_LE(simulation->state().u.norm(), 1e-9);
    energy[i] = simulation->potential_energy();
  }
  EXPECT_NEAR(energy[0], energy[1], 1e-9);
}

TEST(SlidingBall, when_friction_would_stop_it_in_a_fraction_of_a_step_expect_no_energy_from_it)
{
  // A ball set off without spin rolls with 5/7 of its speed, whatever the friction and the step.
  for (const double friction : {2.0, 3e5})
  {
    const Scenario scenario = Scenario::load(
      CD_CONFIG "/scenarios/sliding_ball.yaml", {"run.integrator=rk4", "run.step=0.1", "events=[]",
                                                 "parameters.mu=" + std::to_string(friction)});
    const std::unique_ptr<Simulation> simulation = scenario.make_simulation();
    double last = std::numeric_limits<double>::infinity();
    double first = 0.0;  // of the first step
    double gain = 0.0;
    const RunResult result = simulation->run(
      2.0, 0.1,
      [&](const Simulation & now)
      {
        const double energy = now.kinetic_energy() + now.potential_energy();
        gain = std::max(gain, energy - last);
        last = energy;
        first = now.state().time < 0.15 ? now.kinetic_energy() : first;
        return true;
      });
    EXPECT_TRUE(result.completed) << to_string(result.status);
    EXPECT_LE(gain, 0.0) << friction;
    // The rest of the first step turns the ball by 1.4 rad.
    EXPECT_NEAR(first, 5.0 / 7.0 * 0.5 * 0.2 * 4.0, 0.02) << friction;
    for (const ContactEvent & event : simulation->events())
    {
      EXPECT_LE(event.energy_change, 1e-9 * last) << friction << ", " << event.time << " s";
    }
  }
}

/// A point that falls 1 m on the ground, in steps of 1 ms: seen up to 4 mm below it.
std::unique_ptr<Simulation> drop(const Scenario & scenario, double until)
{
  std::unique_ptr<Simulation> simulation = scenario.make_simulation();
  const RunResult result = simulation->run(until, 0.1, [](const Simulation &) { return true; });
  EXPECT_TRUE(result.completed);
  EXPECT_EQ(simulation->evaluate(), Status::kOk);
  return simulation;
}

TEST(DroppedPoint, when_steps_see_it_late_expect_the_moment_and_the_speed_of_touch)
{
  const std::string text = R"(
system: {coordinates: [y], kinetic: dy^2/2, potential: 9.81*y}
constraints:
  - {name: floor, type: formula, level: position, rows: [y],
     unilateral: {side: above, restitution: 1}}
initial: {q: {y: 1}}
run: {integrator: rk4, step: 0.001}
)";
  const Scenario bouncing = Scenario::from_text(text);
  const std::unique_ptr<Simulation> ball = drop(bouncing, 20.0);
  // Free flight is exact in rk4, and so is the way back to the ground.
  const double fall = std::sqrt(2.0 / 9.81);
  int bounces = 0;
  for (const ContactEvent & event : ball->events())
  {
    if (event.kind == ContactEventKind::kImpact)
    {
      EXPECT_NEAR(event.time, (2 * bounces + 1) * fall, 1e-10);
      EXPECT_NEAR(event.speed_before, -9.81 * fall, 1e-10);
      ++bounces;
    }
  }
  EXPECT_GE(bounces, 20);
  EXPECT_NEAR(ball->kinetic_energy() + ball->potential_energy(), 9.81, 1e-9);

  const Scenario plastic =
    Scenario::from_text(text, {"constraints.floor.unilateral.restitution=0"});
  const std::unique_ptr<Simulation> lump = drop(plastic, 1.0);
  ASSERT_FALSE(lump->events().empty());
  EXPECT_EQ(lump->events()[0].kind, ContactEventKind::kImpact);
  EXPECT_NEAR(lump->events()[0].speed_before, -std::sqrt(2.0 * 9.81), 1e-12);
  EXPECT_EQ(lump->state().q(0), 0.0);
}

/// Whether a foot of the wheel slides so that a normal force does not push it away from the ground,
/// A_n Q⁻¹ (A_n − μ s A_t)ᵀ ≤ 0: Painlevé's case. With an inertia of next to nothing that is
/// sin²α ≤ μ sin α cos α, α the angle of the leg, so every other leg below atan μ.
bool is_paradox(const Scenario & scenario, const Simulation & simulation)
{
  const ConstraintSet & set = scenario.dynamics()->constraints();
  const Rows & rows = simulation.workspace().rows();
  const Eigen::LLT<Eigen::MatrixXd> mass(simulation.workspace().terms().mass_matrix);
  for (const DryFriction & friction : scenario.contacts()->frictions())
  {
    const Contact & contact =
      scenario.contacts()->contacts()[static_cast<std::size_t>(friction.contact)];
    const int slip = set.row_offset(friction.constraint);
    const Eigen::VectorXd normal = rows.jacobian.row(set.row_offset(contact.constraint));
    const Eigen::VectorXd along = rows.jacobian.row(slip);
    const double sign = rows.velocity(slip) < 0.0 ? -1.0 : 1.0;
    const double response = normal.dot(mass.solve(normal - friction.kinetic * sign * along));
    if (simulation.workspace().is_active(contact.constraint) && response <= 0.0)
    {
      return true;
    }
  }
  return false;
}

/// Impulses that turn a wheel of next to no inertia by radians in a step: feet are seen centimetres
/// too late, and must be brought back to the ground nevertheless.
TEST(RimlessWheel, when_struck_hard_in_fixed_steps_expect_every_step_made_and_feet_on_the_ground)
{
  const int seeds = is_campaign() ? 200 : 8;
  std::printf("seeds 11 to %d\n", 10 + seeds);
  const Scenario scenario = Scenario::load(
    CD_CONFIG "/scenarios/rimless_wheel.yaml", {"run.integrator=rk4", "run.step=0.001"});
  const ConstraintSet & set = scenario.dynamics()->constraints();
  Eigen::VectorXd impulse = Eigen::VectorXd::Zero(scenario.system().speed_count());
  int paradoxes = 0;
  for (int seed = 11; seed < 11 + seeds; ++seed)
  {
    const std::unique_ptr<Simulation> simulation = scenario.make_simulation();
    std::mt19937 random(static_cast<unsigned>(seed));
    std::normal_distribution<double> normal;
    Status status = Status::kOk;
    for (int i = 0; i < 2500 && status != Status::kNoUniqueSolution; ++i)
    {
      for (Eigen::Index k = 0; k < impulse.size(); ++k)
      {
        impulse(k) = 1e-2 * normal(random);
      }
      status = simulation->step();
      status = i % 100 == 99 ? worse(status, simulation->apply_impulse(impulse)) : status;
      ASSERT_TRUE(has_output(status) || status == Status::kNoUniqueSolution)
        << "seed " << seed << ", cycle " << i << ": " << to_string(status);
      for (const Contact & contact : scenario.contacts()->contacts())
      {
        if (status == Status::kOk && simulation->workspace().is_active(contact.constraint))
        {
          ASSERT_EQ(simulation->evaluate(), status) << "seed " << seed << ", cycle " << i;
          ASSERT_LE(
            std::abs(simulation->workspace().rows().position(set.row_offset(contact.constraint))),
            1e-9)
            << "seed " << seed << ", cycle " << i << ", " << set[contact.constraint].name();
        }
      }
    }
    if (status == Status::kNoUniqueSolution)
    {
      ++paradoxes;
      EXPECT_EQ(simulation->evaluate(), status);
      EXPECT_TRUE(is_paradox(scenario, *simulation)) << "seed " << seed;
    }
  }
  std::printf("%d without a unique motion\n", paradoxes);
  EXPECT_LE(paradoxes, std::max(1, seeds / 10));  // each of them a real one
}

TEST(UnevenTable, when_three_feet_land_in_one_step_expect_it_to_stand_on_those_that_can)
{
  // The foot in the middle is longer by 0.1 mm: two can stand, three cannot, and a step of 1 ms at
  // 0.44 m/s puts all three below the ground.
  const Scenario scenario = Scenario::from_text(R"(
system: {coordinates: [y, a], kinetic: (dy^2 + da^2)/2, potential: 9.81*y}
constraints:
  - {name: left, type: formula, level: position, rows: ["y - a"], unilateral: {side: above}}
  - {name: middle, type: formula, level: position, rows: ["y - 1.0e-4"], unilateral: {side: above}}
  - {name: right, type: formula, level: position, rows: ["y + a"], unilateral: {side: above}}
initial: {q: {y: 0.0101}}
run: {integrator: rk4, step: 0.001}
)");
  for (const double tilt : {0.0, 2e-4, -1e-3})
  {
    const std::unique_ptr<Simulation> simulation = scenario.make_simulation();
    State state = simulation->state();
    state.q(1) = tilt;
    static_cast<void>(simulation->start(state));
    for (int i = 1; i <= 500; ++i)
    {
      ASSERT_EQ(simulation->step(), Status::kOk) << "tilt " << tilt << ", step " << i;
    }
    EXPECT_NEAR(simulation->state().time, 0.5, 1e-12);
    EXPECT_NEAR(simulation->state().q(0), 1e-4, 1e-12) << tilt;
    EXPECT_LE(std::abs(simulation->state().q(1)), 1e-4 + 1e-12) << tilt;
    EXPECT_LE(simulation->state().u.norm(), 1e-12) << tilt;
    // Forces on its feet are its weight, with the foot in the middle on the ground.
    ASSERT_EQ(simulation->evaluate(), Status::kOk);
    EXPECT_NEAR(simulation->workspace().solution().multipliers.sum(), 9.81, 1e-9) << tilt;
    EXPECT_TRUE(simulation->workspace().is_active(1)) << tilt;
  }
}

/// A table of six legs, thrown so that all feet come to slide and one slip passes through zero
/// while the others go on: 0.48905 s.
std::string sliding_table(double creep_speed)
{
  char text[2000];
  std::snprintf(
    text, sizeof(text), R"yaml(
system:
  bodies: [{name: top, mass: 5, inertia: [0.4, 0.4, 0.7]}]
  frames:
    - {repeat: {i: [0, 2], j: [0, 1]}, name: "leg${i}${j}", parent: top,
       pose: {xyz: ["0.4*(${i} - 1)", "0.5*${j} - 0.25", "-0.5"]}}
constraints:
  - {repeat: {i: [0, 2], j: [0, 1]}, name: "foot${i}${j}", type: contact, frame_a: "leg${i}${j}",
     friction: {coefficient: 0.4, static: 0.5, creep_speed: %.3g}, restitution: 0.3}
initial:
  q: {top: [0, 0, 0.8, 0.05, 0.02, 0.1, 0.9934]}
  u: {top: [1.5, 0.3, 0, 0.2, 0.1, 2.0]}
run: {until: 1, integrator: dopri5}
)yaml",
    creep_speed);
  return text;
}

TEST(SixLeggedTable, when_the_slip_of_one_foot_passes_through_zero_expect_rest)
{
  // Six feet share the weight in many ways, and friction depends on the way.
  Eigen::VectorXd rest;
  for (const double creep_speed : {1e-5, 1e-9})
  {
    const Scenario scenario = Scenario::from_text(sliding_table(creep_speed));
    const std::unique_ptr<Simulation> simulation = scenario.make_simulation();
    double energy = std::numeric_limits<double>::infinity();
    const RunResult result = simulation->run(
      1.0, 0.001,
      [&](const Simulation & now)
      {
        const double here = now.kinetic_energy() + now.potential_energy();
        EXPECT_LE(here, energy + 1e-8) << now.state().time << " s";
        energy = here;
        return true;
      });
    ASSERT_TRUE(result.completed) << to_string(result.status) << " at " << result.time << " s";
    EXPECT_LE(simulation->events().size(), 400U);
    EXPECT_LE(simulation->state().u.norm(), 1e-12);
    EXPECT_NEAR(simulation->state().q(2), 0.5, 1e-12);
    EXPECT_NEAR(energy, 5.0 * 9.81 * 0.5, 1e-10);
    double carried = 0.0;
    for (const Contact & contact : scenario.contacts()->contacts())
    {
      const int row = scenario.dynamics()->constraints().row_offset(contact.constraint);
      const double push = simulation->workspace().solution().multipliers(row);
      EXPECT_GE(push, 0.0);
      carried += push;
    }
    EXPECT_NEAR(carried, 5.0 * 9.81, 1e-9);
    // Where it comes to rest does not depend on what counts as slip.
    if (rest.size() > 0)
    {
      EXPECT_LE((simulation->state().q - rest).norm(), 1e-5);
    }
    rest = simulation->state().q;
  }
}

TEST(Cradle, when_four_pendulums_strike_without_loss_expect_the_motion_of_their_centre)
{
  // Three that hang at rest touch without force: gaps and speeds that are rounding. Each of the
  // pendulums has ω² = g, and contacts push in pairs: the centre swings as if there were none.
  const Scenario scenario = Scenario::from_text(R"(
system: {coordinates: [a, b, c, d], kinetic: (da^2 + db^2 + dc^2 + dd^2)/2, potential: 9.81/2*(a^2 + b^2 + c^2 + d^2)}
constraints:
  - {name: ab, type: formula, level: position, rows: ["b - a"], unilateral: {side: above, restitution: 1}}
  - {name: bc, type: formula, level: position, rows: ["c - b"], unilateral: {side: above, restitution: 1}}
  - {name: cd, type: formula, level: position, rows: ["d - c"], unilateral: {side: above, restitution: 1}}
initial: {q: {a: -0.2}}
run: {until: 20, integrator: dopri5}
)");
  const double omega = std::sqrt(9.81);
  const std::unique_ptr<Simulation> simulation = scenario.make_simulation();
  const RunResult result = simulation->run(
    20.0, 0.01,
    [&](const Simulation & now)
    {
      const Eigen::VectorXd & q = now.state().q;
      const double time = now.state().time;
      EXPECT_NEAR(q.sum(), -0.2 * std::cos(omega * time), 1e-8) << time;
      EXPECT_NEAR(now.state().u.sum(), 0.2 * omega * std::sin(omega * time), 3e-8) << time;
      EXPECT_NEAR(now.kinetic_energy() + now.potential_energy(), 0.1962, 1e-8) << time;
      EXPECT_GE((q.tail(3) - q.head(3)).minCoeff(), -1e-9) << time;
      return true;
    });
  ASSERT_TRUE(result.completed) << to_string(result.status) << " at " << result.time << " s";
  // Two of any masses on equal periods meet where they hang, every half of a period.
  int strikes = 0;
  for (const ContactEvent & event : simulation->events())
  {
    if (event.kind == ContactEventKind::kImpact && event.constraint == 0)
    {
      EXPECT_NEAR(event.time, (strikes + 0.5) * M_PI / omega, 1e-8);
      ++strikes;
    }
  }
  EXPECT_EQ(strikes, 20);  // 20 ω / π = 19.9
}

TEST(Jaws, when_they_close_to_less_than_nothing_expect_steps_that_say_so_and_the_other_row_met)
{
  const Scenario scenario = Scenario::from_text(R"(
system: {coordinates: [x, y], kinetic: (dx^2 + dy^2)/2, potential: 9.81*y}
constraints:
  - {name: wire, type: formula, level: position, rows: [y - x^2]}
  - {name: left, type: formula, level: position, rows: ["x - 0.1*t"], unilateral: {side: above}}
  - {name: right, type: formula, level: position, rows: ["x + 0.1*t - 0.05"], unilateral: {}}
initial: {q: {x: 0.02, y: 0.0004}}
run: {integrator: rk4, step: 0.001}
)");
  const std::unique_ptr<Simulation> simulation = scenario.make_simulation();
  for (int i = 1; i <= 500; ++i)
  {
    const Status status = simulation->step();
    ASSERT_TRUE(has_output(status)) << "step " << i << ": " << to_string(status);
    // They meet at 0.25 s.
    if (i != 250)
    {
      EXPECT_EQ(status == Status::kInconsistent, i > 250) << "step " << i;
    }
    const Eigen::VectorXd & q = simulation->state().q;
    ASSERT_NEAR(q(1), q(0) * q(0), 1e-12) << "step " << i;
    ASSERT_LE(std::abs(q(0) - 0.025), 0.026) << "step " << i;
    ASSERT_LE(simulation->state().u.norm(), 0.2) << "step " << i;
  }
}

TEST(EventRate, when_events_hardly_let_the_run_advance_expect_the_status)
{
  // A ball that bounces for ever, 0.1 µm high: 3500 impacts a second for 1e6 s.
  const Scenario scenario = Scenario::from_text(R"(
system: {coordinates: [y], kinetic: dy^2/2, potential: 9.81*y}
constraints:
  - {name: floor, type: formula, level: position, rows: {height: y},
     unilateral: {side: above, restitution: 1, rest_speed: 1.0e-8}}
initial: {q: {y: 1.0e-7}}
run: {until: 1.0e+6, integrator: dopri5, absolute_tolerance: 1.0e-12, relative_tolerance: 1.0e-12}
)");
  const std::unique_ptr<Simulation> simulation = scenario.make_simulation();
  const RunResult result = simulation->run(1e6, 1e3, [](const Simulation &) { return true; });
  EXPECT_FALSE(result.completed);
  EXPECT_EQ(result.status, Status::kNotConverged);
  // Until impact n it takes (2 n - 1) times the first fall.
  EXPECT_NEAR(result.time, (2.0 * 100000 - 1.0) * std::sqrt(2e-7 / 9.81), 1e-4);
}

/// A particle that slides in a plane strikes the floor with friction.
std::string particle_on_floor(
  const Eigen::Vector3d & plane, const Eigen::Vector3d & u, double friction,
  const std::string & more)
{
  std::ostringstream out;
  out.precision(17);
  out << "system: {coordinates: [x, y, z], kinetic: (dx^2 + dy^2 + dz^2)/2}\nconstraints:\n"
      << "  - {name: plane, type: formula, level: position, rows: [" << plane.x() << "*x + "
      << plane.y() << "*y + " << plane.z() << "*z]}\n"
      << "  - {name: floor, type: formula, level: position, rows: [z], unilateral: {side: above, "
      << "friction: {coefficient: " << friction << ", rows: slip}}}\n"
      << "  - {name: slip, type: formula, level: velocity, rows: [dx, dy]}\n"
      << more << "initial: {q: {x: 0, y: 0, z: 0}, u: {dx: " << u.x() << ", dy: " << u.y()
      << ", dz: " << u.z() << "}}\n";
  return out.str();
}

TEST(Particle, when_an_enforced_row_is_round_off_expect_the_impact_without_it)
{
  // 1e-16 of what the row could be: a direction that nothing forbids. The three rows of the contact
  // have rank 2 in the plane.
  constexpr unsigned kSeed = 5;
  std::mt19937_64 random(kSeed);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  const auto draw = [&]
  {
    const double x = uniform(random);
    const double y = uniform(random);
    return Eigen::Vector3d(x, y, uniform(random));
  };
  for (int k = 0; k < 40; ++k)
  {
    SCOPED_TRACE("seed " + std::to_string(kSeed) + ", draw " + std::to_string(k));
    const Eigen::Vector3d plane = draw().normalized();
    Eigen::Vector3d u = draw();
    u -= plane * plane.dot(u);
    u *= u.z() > 0.0 ? -1.0 : 1.0;
    const Eigen::Vector3d noise = draw();
    const double friction = 0.3 + 0.5 * (k % 4);
    std::ostringstream row;
    row.precision(17);
    row << "  - {name: noise, type: formula, level: velocity, rows: [dx + dy - dx - dy + 1e-16*("
        << noise.x() << "*dx + " << noise.y() << "*dy + " << noise.z() << "*dz)]}\n";
    const auto after = [&](const std::string & more)
    {
      const Scenario scenario = Scenario::from_text(particle_on_floor(plane, u, friction, more));
      return Eigen::Vector3d(scenario.make_simulation()->state().u);
    };
    const Eigen::Vector3d expected = after("");
    EXPECT_LE(expected.norm(), u.norm() * (1.0 + 1e-12));
    EXPECT_LE((after(row.str()) - expected).norm(), 1e-12 * u.norm());
  }
}

TEST(Particle, when_constraints_hold_it_expect_a_floor_that_neither_pulls_nor_exceeds_friction)
{
  // The distribution of least norm would give the floor half of each force: it would pull, or carry
  // 3 N of friction with 5 N · 0.5.
  for (const double lift : {10.0, -10.0})
  {
    const Scenario scenario = Scenario::from_text(
      "system: {coordinates: [x, y, z], kinetic: (dx^2 + dy^2 + dz^2)/2, force: {x: 6, z: " +
      std::to_string(lift) +
      "}}\n"
      "constraints:\n"
      "  - {name: hold, type: formula, level: position, rows: [x, y, z]}\n"
      "  - {name: floor, type: formula, level: position, rows: [z],\n"
      "     unilateral: {side: above, friction: {coefficient: 0.5, rows: slip}}}\n"
      "  - {name: slip, type: formula, level: velocity, rows: [dx, dy]}\n");
    const std::unique_ptr<Simulation> simulation = scenario.make_simulation();
    EXPECT_EQ(simulation->evaluate(), Status::kOk);
    const Eigen::VectorXd & multipliers = simulation->workspace().solution().multipliers;
    EXPECT_LE(simulation->workspace().solution().acceleration.norm(), 1e-12);
    // hold and floor together, and hold and slip.
    EXPECT_NEAR(multipliers(0) + multipliers(4), -6.0, 1e-12);
    EXPECT_NEAR(multipliers(2) + multipliers(3), -lift, 1e-12);
    EXPECT_GE(multipliers(3), -1e-12) << lift;
    EXPECT_LE(multipliers.tail<2>().norm(), 0.5 * multipliers(3) + 1e-12) << lift;
  }
}

}  // namespace
}  // namespace constrained_dynamics::test
