// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Forces that depend on constraint forces: `lambda` in `force`, `inputs` and `external`.
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <Eigen/Core>

#include "constrained_dynamics/analysis/derivatives.hpp"
#include "constrained_dynamics/dynamics/joint_reactions.hpp"
#include "constrained_dynamics/formulations/multiplier_formulation.hpp"
#include "constrained_dynamics/scenario/scenario.hpp"
#include "constrained_dynamics/scenario/simulated_plant.hpp"
#include "support/allocation_counter.hpp"

namespace constrained_dynamics::test
{
namespace
{

using Eigen::VectorXd;
using testing::HasSubstr;

constexpr double kGravity = 9.81;

/// Two masses on a rope over a drum that does not turn. The rope slips: T1 = T2 exp(mu*wrap).
const std::string kBelt = R"yaml(
parameters: {m1: 5.0, m2: 1.0, mu: 0.3, wrap: 3.141592653589793, g: 9.81}
system:
  coordinates: [x1, x2]
  kinetic: m1/2*dx1^2 + m2/2*dx2^2
  potential: -m1*g*x1 - m2*g*x2
  force: {x1: lambda(rope)*(exp(mu*wrap) - 1)}
constraints: [{name: rope, type: formula, level: position, rows: [x1 + x2]}]
run: {until: 0.5, step: 0.01}
)yaml";

/// A rod whose lower end slides on the ground, with friction; Painlevé's example. The end is at
/// (x - l cos, y - l sin), and l is half the length.
const std::string kRod = R"yaml(
parameters: {m: 2.0, l: 0.5, mu: 0.4, g: 9.81}
system:
  coordinates: [x, y, theta]
  kinetic: m/2*(dx^2 + dy^2) + m*l^2/6*dtheta^2
  potential: m*g*y
  force:
    x: "-mu*abs(lambda(tip))*sign(dx + l*sin(theta)*dtheta)"
    theta: "-mu*abs(lambda(tip))*sign(dx + l*sin(theta)*dtheta)*l*sin(theta)"
constraints: [{name: tip, type: formula, level: position, rows: [y - l*sin(theta)]}]
initial: {q: {theta: 1.1}, solve: [y], u: {dx: -2.0}}
run: {until: 0.1, step: 0.001}
)yaml";

/// A box on an incline of 0.3 rad, held to it by rows, which slides down with friction.
const std::string kBox = R"yaml(
parameters: {mu: 0.2, tilt: 0.3, g: 9.81}
system:
  gravity: [g*sin(tilt), 0, -g*cos(tilt)]
  bodies: [{name: box, mass: 3.0, inertia: [0.02, 0.03, 0.04]}]
  frames: [{name: sole, parent: box, pose: {xyz: [0.1, 0.05, -0.2]}}]
  external: [{name: friction, frame: sole, force: ["-mu*abs(lambda(floor, z))", 0, 0]}]
constraints: [{name: floor, type: frame_coincidence, frame_a: box, frame_b: world,
               rows: ['y', 'z', 'rx', 'ry', 'rz']}]
initial: {u: {box_vx: 0.5}}
run: {until: 0.2, step: 0.001}
)yaml";

/// A slider on a guide whose motor works against friction that grows with the load of the guide.
const std::string kMotor = R"yaml(
parameters: {m: 2.0, mu: 0.1, g: 9.81}
system:
  coordinates: [x, y]
  kinetic: m/2*(dx^2 + dy^2)
  potential: m*g*y
  inputs: {drive: {x: 1, y: 0.5}, other: {x: 1}}
constraints: [{name: guide, type: formula, level: position, rows: ['y']}]
inputs: {drive: 3 - mu*abs(lambda(guide))*sign(dx), other: 2}
initial: {u: {dx: 1.0}}
)yaml";

std::unique_ptr<Simulation> evaluated(const Scenario & scenario, Status expected = Status::kOk)
{
  auto simulation = scenario.make_simulation();
  EXPECT_EQ(simulation->evaluate(), expected);
  return simulation;
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

/// λ of the rod at its initial state, slip to the left: m (g − l s θ̇²)/(1 + 3c² − 3 mu c s).
double rod_load(double theta, double mu, double mass = 2.0)
{
  const double c = std::cos(theta);
  const double s = std::sin(theta);
  return mass * kGravity / (1.0 + 3.0 * c * c - 3.0 * mu * c * s);
}

TEST(MultiplierForces, when_rope_slips_on_drum_expect_capstan_equation)
{
  const Scenario scenario = Scenario::from_text(kBelt);
  const double ratio = std::exp(0.3 * M_PI);
  const double acceleration = kGravity * (5.0 - ratio) / (5.0 + ratio);
  const double slack = kGravity + acceleration;  // tension of the side with m2 = 1
  const auto simulation = evaluated(scenario);
  const Solution & solution = simulation->workspace().solution();
  EXPECT_NEAR(solution.acceleration(0), acceleration, 1e-13);
  EXPECT_NEAR(solution.multipliers(0), -slack, 1e-13);

  const RunResult result = simulation->run(0.5, 0.5, [](const Simulation &) { return true; });
  ASSERT_TRUE(result.completed);
  EXPECT_NEAR(simulation->state().q(0), 0.5 * acceleration * 0.25, 1e-13);
  // The drum takes (T1 − T2) x1 from the masses.
  EXPECT_NEAR(
    result.energy.of(Work::kForces), -slack * (ratio - 1.0) * simulation->state().q(0), 1e-12);
  EXPECT_LT(result.energy.largest_error, 1e-12);
}

TEST(MultiplierForces, when_rod_slides_expect_load_of_painleve)
{
  for (const double mu : {0.0, 0.4, 1.0})
  {
    const Scenario scenario = Scenario::from_text(kRod, {"parameters.mu=" + std::to_string(mu)});
    const auto simulation = evaluated(scenario);
    EXPECT_NEAR(simulation->workspace().solution().multipliers(0), rod_load(1.1, mu), 1e-11) << mu;
  }
  // Slip to the right relieves the tip.
  const Scenario right = Scenario::from_text(kRod, {"initial.u.dx=2.0"});
  EXPECT_NEAR(evaluated(right)->workspace().solution().multipliers(0), rod_load(1.1, -0.4), 1e-11);
}

TEST(MultiplierForces, when_rod_slides_expect_motion_of_contact_with_friction)
{
  // The solver of contacts and friction is another way to the same motion.
  const std::string contact = R"yaml(
parameters: {m: 2.0, l: 0.5, mu: 0.4, g: 9.81}
system:
  coordinates: [x, y, theta]
  kinetic: m/2*(dx^2 + dy^2) + m*l^2/6*dtheta^2
  potential: m*g*y
constraints:
  - {name: tip, type: formula, level: position, rows: {height: "y - l*sin(theta)"},
     unilateral: {side: above, friction: {rows: slip, coefficient: mu}}}
  - {name: slip, type: formula, level: velocity, rows: {along: "dx + l*sin(theta)*dtheta"}}
initial: {q: {theta: 1.1, 'y': l*sin(1.1)}, u: {dx: -2.0}}
)yaml";
  const std::vector<std::string> accurately = {
    "run.until=0.1", "run.integrator=dopri5", "run.absolute_tolerance=1e-12",
    "run.relative_tolerance=1e-12"};
  const auto at_end = [&](const std::string & text)
  {
    const auto simulation = Scenario::from_text(text, accurately).make_simulation();
    const RunResult result = simulation->run(0.1, 0.1, [](const Simulation &) { return true; });
    EXPECT_TRUE(result.completed) << to_string(result.status);
    EXPECT_LT(result.energy.relative_error(), 1e-9);
    return std::pair(simulation->state(), result);
  };
  const auto [expected, by_contact] = at_end(contact);
  const auto [state, by_formula] = at_end(kRod);
  EXPECT_LT((state.q - expected.q).norm(), 1e-10);
  EXPECT_LT((state.u - expected.u).norm(), 1e-9);
  EXPECT_LT(by_formula.energy.of(Work::kForces), -0.5);
  EXPECT_NEAR(by_formula.energy.of(Work::kForces), by_contact.energy.of(Work::kFriction), 1e-9);
}

TEST(MultiplierForces, when_friction_locks_expect_no_unique_solution)
{
  // Painlevé: 1 + 3c² < 3 mu c s at mu = 3 and 1.1 rad. With |λ| there are two solutions or none.
  const Scenario scenario = Scenario::from_text(kRod, {"parameters.mu=3"});
  ASSERT_LT(rod_load(1.1, 3.0), 0.0);
  auto simulation = scenario.make_simulation();
  EXPECT_EQ(simulation->evaluate(), Status::kNoUniqueSolution);
  EXPECT_FALSE(simulation->workspace().solution().acceleration.allFinite());
  // Pulled up, the rod has two solutions: one with λ below 0, one above.
  const Scenario pulled =
    Scenario::from_text(kRod, {"parameters.mu=3", "parameters.g=-9.81", "run.until=0.01"});
  simulation = pulled.make_simulation();
  EXPECT_EQ(simulation->evaluate(), Status::kNoUniqueSolution);
  // A friction that would exceed the load by feedback: 1 − R y′ = 0.
  const Scenario singular = Scenario::from_text(R"yaml(
system: {coordinates: [x, y], kinetic: dx^2/2 + dy^2/2, potential: y, force: {y: -lambda(guide)}}
constraints: [{name: guide, type: formula, level: position, rows: ['y']}]
)yaml");
  EXPECT_EQ(singular.make_simulation()->evaluate(), Status::kNoUniqueSolution);
}

TEST(MultiplierForces, when_formula_is_undefined_expect_status)
{
  const Scenario scenario = Scenario::from_text(R"yaml(
system: {coordinates: [x, y], kinetic: dx^2/2 + dy^2/2, potential: y,
         force: {x: sqrt(-lambda(guide))}}
constraints: [{name: guide, type: formula, level: position, rows: ['y']}]
)yaml");
  EXPECT_EQ(scenario.make_simulation()->evaluate(), Status::kNonFiniteResult);
}

TEST(MultiplierForces, when_force_is_nonlinear_expect_root_of_equation)
{
  // λ = 1 − λ³/4 from the row of y, m = 1, g = 1.
  const Scenario scenario = Scenario::from_text(R"yaml(
system: {coordinates: [x, y], kinetic: dx^2/2 + dy^2/2, potential: y,
         force: {y: lambda(guide)^3/4}}
constraints: [{name: guide, type: formula, level: position, rows: ['y']}]
)yaml");
  const double x = evaluated(scenario)->workspace().solution().multipliers(0);
  EXPECT_NEAR(x + x * x * x / 4.0, 1.0, 1e-13);
}

TEST(MultiplierForces, when_box_slides_on_incline_expect_coulomb)
{
  const Scenario scenario = Scenario::from_text(kBox);
  const double expected = kGravity * (std::sin(0.3) - 0.2 * std::cos(0.3));
  const auto simulation = evaluated(scenario);
  EXPECT_NEAR(simulation->workspace().solution().acceleration(0), expected, 1e-12);
  const RunResult result = simulation->run(0.2, 0.2, [](const Simulation &) { return true; });
  ASSERT_TRUE(result.completed) << to_string(result.status);
  EXPECT_NEAR(simulation->state().q(0), 0.5 * 0.2 + 0.5 * expected * 0.04, 1e-12);
  const double friction = 0.2 * 3.0 * kGravity * std::cos(0.3);
  EXPECT_NEAR(result.energy.of(Work::kExternal), -friction * simulation->state().q(0), 1e-11);
  EXPECT_LT(result.energy.largest_error, 1e-11);
  // The free joint of the box transmits nothing, friction included.
  JointReactions reactions(*scenario.dynamics());
  ASSERT_EQ(simulation->evaluate(), Status::kOk);
  ASSERT_EQ(reactions.update(simulation->workspace()), Status::kOk);
  EXPECT_LT(reactions.wrenches()[0].force.norm(), 1e-11);
  EXPECT_LT(reactions.wrenches()[0].torque.norm(), 1e-11);
}

TEST(MultiplierForces, when_wrench_is_stated_in_turned_frame_expect_same_motion)
{
  const Scenario world = Scenario::from_text(kBox);
  const Scenario frame = Scenario::from_text(
    kBox, {"system.frames.0.pose={xyz: [0.1, 0.05, -0.2], rpy: [0, 0, pi/2]}",
           "system.external.0.expressed_in=frame",
           "system.external.0.force=[0, 'mu*abs(lambda(floor, z))', 0]"});
  const auto a = evaluated(world);
  const auto b = evaluated(frame);
  const Solution & expected = a->workspace().solution();
  EXPECT_LT((b->workspace().solution().acceleration - expected.acceleration).norm(), 1e-12);
  EXPECT_LT((b->workspace().solution().multipliers - expected.multipliers).norm(), 1e-11);
}

TEST(MultiplierForces, when_input_depends_on_load_expect_its_value_reported)
{
  // The drive also lifts: λ = m g − drive/2, drive = 3 − mu λ.
  const Scenario scenario = Scenario::from_text(kMotor);
  const double drive = (3.0 - 0.1 * 2.0 * kGravity) / (1.0 - 0.05);
  const auto simulation = evaluated(scenario);
  EXPECT_NEAR(simulation->inputs()(0), drive, 1e-13);
  EXPECT_NEAR(simulation->inputs()(1), 2.0, 0.0);
  EXPECT_NEAR(simulation->workspace().solution().acceleration(0), (drive + 2.0) / 2.0, 1e-13);
  // What is given for an input that depends on the load is not used.
  const State & state = scenario.initial();
  Workspace workspace(*scenario.dynamics(), state);
  ASSERT_EQ(
    scenario.dynamics()->solve(state.time, state.q, state.u, Eigen::Vector2d(77.0, 2.0), workspace),
    Status::kOk);
  EXPECT_NEAR(workspace.solution().acceleration(0), (drive + 2.0) / 2.0, 1e-13);
}

TEST(MultiplierForces, when_formulation_differs_expect_same_motion)
{
  const VectorXd expected =
    evaluated(Scenario::from_text(kRod))->workspace().solution().acceleration;
  for (const char * name :
       {"kane_nonminimal", "kane_minimal", "canonical_inversion", "udwadia_kalaba", "projection",
        "coordinate_partition", "coordinate_partition_selected", "coordinate_partition_full"})
  {
    const Scenario scenario = Scenario::from_text(kRod, {std::string("formulation=") + name});
    EXPECT_STREQ(scenario.dynamics()->formulation().name(), name);
    EXPECT_LT((evaluated(scenario)->workspace().solution().acceleration - expected).norm(), 1e-11)
      << name;
  }
  EXPECT_THAT(
    refusal("formulation: articulated_body\n" + kBox),
    HasSubstr("auto and formulations over rows"));
}

TEST(MultiplierForces, when_solved_again_expect_no_allocation)
{
  for (const std::string & text : {kBelt, kRod, kBox, kMotor})
  {
    const Scenario scenario = Scenario::from_text(text);
    const State & state = scenario.initial();
    Workspace workspace(*scenario.dynamics(), state);
    const VectorXd inputs = VectorXd::Zero(scenario.system().input_count());
    const auto solve = [&]
    { return scenario.dynamics()->solve(state.time, state.q, state.u, inputs, workspace); };
    ASSERT_EQ(solve(), Status::kOk);
    const long before = allocation_count();
    const Status status = solve();
    EXPECT_EQ(allocation_count() - before, 0);
    EXPECT_EQ(status, Status::kOk);
  }
}

TEST(MultiplierForces, when_not_taken_into_account_expect_refusal_by_name)
{
  const Scenario scenario = Scenario::from_text(kBelt);
  const auto message = [](auto && call)
  {
    try
    {
      call();
    }
    catch (const std::invalid_argument & error)
    {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(
    message([&] { Reduction reduction(*scenario.dynamics()); }), HasSubstr("response to inputs"));
  EXPECT_THAT(
    message([&] { DerivativeWorkspace workspace(*scenario.dynamics()); }),
    HasSubstr("derivatives and linear models cannot be used with forces that depend"));
  EXPECT_THAT(
    message([&] { SimulatedPlant plant(Scenario::from_text(kMotor), {}, {}); }),
    HasSubstr("'inputs'"));
  auto simulation = scenario.make_simulation();
  EXPECT_THAT(
    message([&] { simulation->schedule({ScheduledChange{}}); }), HasSubstr("scheduled changes"));
  const std::string contact =
    "  - {name: rub, type: formula, level: velocity, rows: [dx1], friction: 1}\n";
  const std::string belt = kBelt.substr(0, kBelt.find("constraints:")) +
                           "constraints:\n"
                           "  - {name: rope, type: formula, level: position, rows: [x1 + x2]}\n";
  EXPECT_THAT(
    message([&] { (void)Scenario::from_text(belt + contact).make_simulation(); }),
    HasSubstr("contacts and dry friction"));
}

TEST(MultiplierForces, when_lambda_is_unknown_expect_message)
{
  const std::string start = "system: {coordinates: [x, y], kinetic: dx^2 + dy^2, force: {x: ";
  const std::string rows =
    "}}\nconstraints: [{name: guide, type: formula, level: position, rows: "
    "{a: x, b: 'y'}}]\n";
  EXPECT_THAT(refusal(start + "'lambda(gide, a)'" + rows), HasSubstr("guide/a"));
  EXPECT_THAT(
    refusal(start + "lambda(guide)" + rows), HasSubstr("has 2 rows; allowed: one of them"));
  EXPECT_THAT(refusal(start + "'ddx*lambda(guide, a)'" + rows), HasSubstr("accelerations"));
}

}  // namespace
}  // namespace constrained_dynamics::test
