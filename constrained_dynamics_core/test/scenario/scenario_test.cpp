// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/scenario/scenario.hpp"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "constrained_dynamics/model/rigid_body_system.hpp"
#include "support/allocation_counter.hpp"

namespace constrained_dynamics
{
namespace
{

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Machine precision times the size of the numbers at hand.
constexpr double kRounding = 1e-11;

const char * const kParticle = R"(
name: particle
parameters: {m: 2.0, g: 9.81}
system:
  coordinates: [x, y]
  kinetic: m/2*(dx^2 + dy^2)
  potential: m*g*y
)";

/// Two links that swing about y axes, with a mimic joint if asked for.
const char * const kArm = R"(
system:
  urdf: |
    <robot name="arm">
      <link name="ground"/>
      <link name="upper"><inertial><origin xyz="0 0 -0.5"/><mass value="2"/>
        <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <link name="lower"><inertial><origin xyz="0 0 -0.5"/><mass value="1"/>
        <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <joint name="shoulder" type="revolute"><parent link="ground"/><child link="upper"/>
        <axis xyz="0 1 0"/><limit lower="-3" upper="3" effort="100" velocity="10"/></joint>
      <joint name="elbow" type="continuous"><parent link="upper"/><child link="lower"/>
        <origin xyz="0 0 -1"/><axis xyz="0 1 0"/></joint>
    </robot>
)";

const char * const kBall = R"(
parameters: {m: 3.0, g: 9.81}
system:
  bodies:
    - {name: ball, mass: m, inertia: [0.1, 0.1, 0.1]}
  frames:
    - {name: ceiling, pose: {xyz: [0, 0, 2]}}
)";

struct Solved
{
  Status status;
  Eigen::VectorXd udot;
  Eigen::VectorXd multipliers;
  Eigen::VectorXd inputs;
};

/// Accelerations and multipliers at the initial state.
Solved solve(const Scenario & scenario)
{
  const auto simulation = scenario.make_simulation();
  const Status status = simulation->evaluate();
  return {
    status, simulation->workspace().solution().acceleration,
    simulation->workspace().solution().multipliers, simulation->inputs()};
}

Scenario read(const std::string & text, const std::vector<std::string> & overrides = {})
{
  return Scenario::from_text(text, overrides);
}

std::string message_of(const std::string & text, const std::vector<std::string> & overrides = {})
{
  try
  {
    read(text, overrides);
  }
  catch (const std::invalid_argument & error)
  {
    return error.what();
  }
  return "(accepted)";
}

std::string row_names(const Scenario & scenario)
{
  const ConstraintSet & set = scenario.dynamics()->constraints();
  std::string names;
  for (int row = 0; row < set.row_count(); ++row)
  {
    names += (row > 0 ? " " : "") + set.row_name(row) + ":" + to_string(set.row(row).level);
  }
  return names;
}

// ---- textbook systems
// ----------------------------------------------------------------------------

TEST(Scenario, when_particle_falls_expect_gravity)
{
  const Scenario scenario = read(kParticle);
  EXPECT_EQ(scenario.name(), "particle");
  const Solved solved = solve(scenario);
  EXPECT_EQ(solved.status, Status::kOk);
  EXPECT_NEAR(solved.udot(0), 0.0, kRounding);
  EXPECT_NEAR(solved.udot(1), -9.81, kRounding);
}

TEST(Scenario, when_all_keys_of_a_textbook_system_are_used_expect_their_effects)
{
  const Scenario scenario = read(R"(
name: everything
description: every key of a textbook system
parameters: {m: 2, w: "m^2/2"}
definitions: {momentum: m*dx}
system:
  parameters: {k: w + 1}
  definitions: {stretch: x - 1}
  coordinates: [x, y]
  kinetic: m/2*(dx^2 + dy^2)
  potential: k/2*stretch^2
  speeds: {a: dx + dy, b: dx - dy}
  force: {x: -0.5*momentum, a: 3}
  inputs: {push: {x: 1, b: "2"}}
inputs: {push: "4 + 0*t"}
formulation: kane_nonminimal
stabilisation: {kind: none}
initial: {time: 1.5, q: {x: 2, y: 0}, rates: {x: 1, y: 0}}
run: {until: 3, step: 0.01, integrator: dopri5, output_interval: 0.5, absolute_tolerance: 1e-9,
      relative_tolerance: 1e-8, largest_step: 0.05}
options: {characteristic_length: 2, singular_tolerance: 1e-9, redundancy_tolerance: 1e-3,
          consistency_tolerance: 1e-7, partition_limit: 20}
observe: {p: momentum, e: kinetic_energy + potential_energy, f: input(push), ax: ddx}
)");
  EXPECT_THAT(scenario.system().speed_names(), ElementsAre("a", "b"));
  EXPECT_DOUBLE_EQ(scenario.initial().time, 1.5);
  EXPECT_NEAR(scenario.initial().u(0), 1.0, kRounding);
  EXPECT_NEAR(scenario.initial().u(1), 1.0, kRounding);
  EXPECT_DOUBLE_EQ(scenario.run().until, 3.0);
  EXPECT_DOUBLE_EQ(scenario.run().output_interval, 0.5);
  EXPECT_EQ(scenario.run().integration.integrator, Integrator::kDopri5);
  EXPECT_DOUBLE_EQ(scenario.run().integration.absolute_tolerance, 1e-9);
  EXPECT_DOUBLE_EQ(scenario.run().integration.relative_tolerance, 1e-8);
  EXPECT_DOUBLE_EQ(scenario.run().integration.largest_step, 0.05);
  EXPECT_DOUBLE_EQ(scenario.run().integration.step, 0.01);
  const DynamicsOptions & options = scenario.dynamics()->options();
  EXPECT_DOUBLE_EQ(options.characteristic_length, 2.0);
  EXPECT_DOUBLE_EQ(options.rank.singular_tolerance, 1e-9);
  EXPECT_DOUBLE_EQ(options.rank.redundancy_tolerance, 1e-3);
  EXPECT_DOUBLE_EQ(options.rank.consistency_tolerance, 1e-7);
  EXPECT_DOUBLE_EQ(options.rank.partition_limit, 20.0);
  EXPECT_EQ(options.stabilisation.kind, Stabilisation::Kind::kNone);

  // By hand, in rates: F_x = −k (x − 1) − m dx/2 + 4 + (3 + 8) since δa = δb = δx for δy = 0, and
  // F_y = 3 − 8; k = 3, m = 2: ẍ = (−3 − 1 + 4 + 11)/2, ÿ = −5/2.
  const auto simulation = scenario.make_simulation();
  ASSERT_EQ(simulation->evaluate(), Status::kOk);
  const Eigen::VectorXd udot = simulation->workspace().solution().acceleration;
  EXPECT_NEAR(udot(0), 5.5 - 2.5, kRounding);
  EXPECT_NEAR(udot(1), 5.5 + 2.5, kRounding);
  Eigen::VectorXd observed;
  ASSERT_EQ(scenario.observe(simulation->workspace(), simulation->inputs(), observed), Status::kOk);
  EXPECT_THAT(scenario.observable_names(), ElementsAre("p", "e", "f", "ax"));
  EXPECT_NEAR(observed(0), 2.0, kRounding);
  EXPECT_NEAR(observed(1), 1.0 + 1.5, kRounding);
  EXPECT_NEAR(observed(2), 4.0, kRounding);
  EXPECT_NEAR(observed(3), 5.5, kRounding);
}

TEST(Scenario, when_run_is_short_of_keys_expect_defaults)
{
  const Scenario scenario = read(kParticle, {"initial.time=1"});
  EXPECT_DOUBLE_EQ(scenario.run().until, 11.0);
  EXPECT_DOUBLE_EQ(scenario.run().integration.step, 1e-3);
  EXPECT_DOUBLE_EQ(scenario.run().output_interval, 0.01);
  EXPECT_EQ(scenario.run().integration.integrator, Integrator::kRk4);
  EXPECT_EQ(scenario.dynamics()->options().stabilisation.kind, Stabilisation::Kind::kProjection);
  EXPECT_EQ(scenario.make_input_law(), nullptr);
  EXPECT_DOUBLE_EQ(read(kParticle, {"run.step=0.3"}).run().output_interval, 0.3);
  EXPECT_DOUBLE_EQ(read(kParticle, {"run.integrator=dopri5"}).run().output_interval, 0.01);
}

TEST(Scenario, when_appell_hamel_sketch_is_read_expect_three_rows)
{
  const Scenario scenario = read(R"(
system:
  coordinates: [theta, phi, x, y, z]
  parameters: {a: 1.0, b: 0.5, rho: 5.0, m: 1.0, M: 5.0, I: 1.0, g: 9.81, z0: 30.0}
  kinetic: >-
    I/2*(dtheta^2 + dphi^2) + m/2*(dx^2 + dy^2 + dz^2)
    + M/2*((dx + rho*dtheta*sin(theta))^2 + (dy - rho*dtheta*cos(theta))^2)
  potential: m*g*z
constraints:
  - {name: wheel, type: formula, level: velocity,
     rows: ["(dx + rho*dtheta*sin(theta))^2 + (dy - rho*dtheta*cos(theta))^2 - a^2*dphi^2",
            "dx*sin(theta) - dy*cos(theta) + rho*dtheta"]}
  - {name: thread, type: formula, level: position, rows: ["z + b*phi - z0"]}
initial: {u: {dphi: 1, dx: 1}}
)");
  EXPECT_EQ(row_names(scenario), "wheel/row_1:velocity wheel/row_2:velocity thread/row_1:position");
  // z and phi are free: φ = z + b phi − z0 = 0 is met.
  EXPECT_NEAR(scenario.initial().q(4) + 0.5 * scenario.initial().q(1), 30.0, 1e-12);
}

TEST(Scenario, when_formula_rows_of_each_level_are_given_expect_the_motion_they_allow)
{
  const std::string text = kParticle;
  const Solved position = solve(read(
    text + "constraints: [{name: c, type: formula, level: position, rows: {floor: y - t^2}}]\n"));
  EXPECT_NEAR(position.udot(1), 2.0, kRounding);
  EXPECT_NEAR(position.multipliers(0), 2.0 * (9.81 + 2.0), kRounding);
  const Solved velocity = solve(
    read(text + "constraints: [{name: c, type: formula, level: velocity, rows: [dy - 3*t]}]\n"));
  EXPECT_NEAR(velocity.udot(1), 3.0, kRounding);
  const Solved acceleration = solve(
    read(text + "constraints: [{name: c, type: formula, level: acceleration, rows: [ddx - 2]}]\n"));
  EXPECT_NEAR(acceleration.udot(0), 2.0, kRounding);
}

TEST(Scenario, when_constraint_is_not_active_expect_no_force)
{
  const std::string text =
    std::string(kParticle) +
    "constraints: [{name: c, type: formula, level: position, rows: [y - 5], active: false}]\n";
  const Scenario scenario = read(text);
  EXPECT_FALSE(scenario.is_active(0));
  EXPECT_EQ(scenario.active_constraints().size(), 0);
  EXPECT_DOUBLE_EQ(scenario.initial().q(1), 0.0);
  EXPECT_NEAR(solve(scenario).udot(1), -9.81, kRounding);
  EXPECT_NEAR(read(text, {"constraints.c.active=true"}).initial().q(1), 5.0, 1e-12);
}

// ---- robots and bodies
// ---------------------------------------------------------------------------

TEST(Scenario, when_inputs_balance_gravity_expect_rest)
{
  const Scenario scenario = read(
    std::string(kArm) +
    "inputs: {shoulder: gravity(shoulder), elbow: gravity(delbow)}\n"
    "initial: {q: {shoulder: 0.7, elbow: -0.4}}\n");
  EXPECT_THAT(scenario.system().input_names(), ElementsAre("shoulder", "elbow"));
  const Solved solved = solve(scenario);
  EXPECT_NEAR(solved.udot.cwiseAbs().maxCoeff(), 0.0, kRounding);
  // By hand: the arm hangs from the shoulder; torque about y of both weights.
  EXPECT_NEAR(
    std::abs(solved.inputs(0)),
    9.81 * (2 * 0.5 * std::sin(0.7) + std::sin(0.7) + 0.5 * std::sin(0.3)), kRounding);
}

TEST(Scenario, when_inputs_and_wrenches_act_in_a_cycle_expect_no_allocation)
{
  const Scenario scenario = read(
    std::string(kArm) +
    "  external: [{name: wind, frame: lower, force: [sin(t), \"-0.1*vy(lower)\", 0]}]\n"
    "definitions: {error: shoulder - cos(t)}\n"
    "constraints: [{name: guide, type: point_on_plane, frame_a: lower, normal: [0, 1, 0]}]\n"
    "inputs: {shoulder: gravity(shoulder) - 5*error - dshoulder + px(lower)}\n");
  const auto simulation = scenario.make_simulation();
  ASSERT_EQ(simulation->step(), Status::kOk);
  const long before = test::allocation_count();
  for (int i = 0; i < 10; ++i)
  {
    ASSERT_EQ(simulation->step(), Status::kOk);
  }
  EXPECT_EQ(test::allocation_count() - before, 0);
}

TEST(Scenario, when_robot_keys_are_used_expect_their_effects)
{
  const std::string arm = kArm;
  const std::string more =
    "  gravity: [0, 0, 0]\n"
    "  springs: {shoulder: {stiffness: 5, rest: 0.5}, elbow: 2}\n"
    "  dampers: {shoulder: 0.5}\n"
    "  armature: {elbow: 1000000}\n"
    "  model_damping: false\n"
    "  actuated: [shoulder]\n"
    "  attachments: [{name: tool, parent: lower, pose: {xyz: [0, 0, -1], rpy: [0, 0, 0]}, mass: "
    "0.5, "
    "com: [0, 0, 0], inertia: {ixx: 0.01, iyy: 0.01, izz: 0.01, ixy: 0}}]\n"
    "  frames: [{name: tip, parent: tool, pose: {xyz: [0, 0, -0.1]}}]\n"
    "initial: {q: {shoulder: 0.5, elbow: 0}, u: {shoulder: 2, delbow: 0}}\n";
  const Scenario scenario = read(arm + more);
  EXPECT_THAT(scenario.system().input_names(), ElementsAre("shoulder"));
  EXPECT_DOUBLE_EQ(scenario.initial().u(0), 2.0);
  const auto & robot = dynamic_cast<const RigidBodySystem &>(scenario.system());
  EXPECT_DOUBLE_EQ(robot.total_mass(), 3.5);
  EXPECT_DOUBLE_EQ(robot.damping()(0), 0.5);
  // The elbow's rotor holds it still, the spring of the shoulder is at rest: only the damper acts,
  // on the inertia of the straight arm.
  const Solved solved = solve(scenario);
  const double inertia = 0.1 + 2 * 0.25 + 0.1 + 1 * 2.25 + 0.01 + 0.5 * 4.0;
  EXPECT_NEAR(solved.udot(0), -0.5 * 2 / inertia, 1e-5);
  EXPECT_THAT(message_of(arm + more, {"system.actuated=[sholder]"}), HasSubstr("sholder"));
  EXPECT_EQ(read(arm + more, {"system.actuated=none"}).system().input_count(), 0);
  EXPECT_EQ(read(arm + more, {"system.actuated=all"}).system().input_count(), 2);
}

TEST(Scenario, when_joint_is_locked_expect_one_coordinate_less)
{
  const Scenario scenario = read(std::string(kArm) + "  locked: {elbow: 0.3}\n");
  EXPECT_THAT(scenario.system().coordinate_names(), ElementsAre("shoulder"));
  EXPECT_EQ(read(std::string(kArm) + "  locked: [elbow]\n").system().speed_count(), 1);
}

TEST(Scenario, when_base_floats_expect_its_names_and_free_fall)
{
  std::string arm = kArm;
  const std::string massless = "<link name=\"ground\"/>";
  arm.replace(
    arm.find(massless), massless.size(),
    "<link name=\"ground\"><inertial><mass value=\"4\"/><inertia ixx=\"1\" iyy=\"1\" izz=\"1\" "
    "ixy=\"0\" ixz=\"0\" iyz=\"0\"/></inertial></link>");
  const Scenario scenario = read(
    arm +
    "  base: floating\n  name: drone\n  pose: {xyz: [0, 0, 1]}\n"
    "initial: {q: {drone: [1, 2, 3, 0, 0, 0, 2]}, u: {drone: [0, 0, 0, 0, 0, 0]}}\n");
  EXPECT_EQ(scenario.system().coordinate_names()[0], "drone_x");
  EXPECT_DOUBLE_EQ(scenario.initial().q(2), 3.0);
  EXPECT_DOUBLE_EQ(scenario.initial().q(6), 1.0);  // normalised
  EXPECT_NEAR(solve(scenario).udot(2), -9.81, kRounding);
  EXPECT_EQ(read(arm + "  base: planar\n").system().coordinate_names()[2], "base_theta");
}

TEST(Scenario, when_robots_are_listed_expect_prefixes)
{
  const std::string urdf =
    "<robot name='r'><link name='a'/><link name='b'><inertial><mass value='${m}'/><inertia ixx='1' "
    "iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial></link><joint name='j' type='continuous'>"
    "<parent link='a'/><child link='b'/><axis xyz='0 0 1'/></joint></robot>";
  const Scenario scenario = read(
    "parameters: {m: 2.5, N: 3}\n"
    "system:\n"
    "  robots:\n"
    "    - {name: left, urdf: \"" +
    urdf +
    "\", pose: {xyz: [1, 0, 0]}}\n"
    "    - {name: right, prefix: \"R-\", urdf: \"" +
    urdf +
    "\"}\n"
    "    - {repeat: {i: [1, N]}, name: \"r${i}\", urdf: \"" +
    urdf +
    "\", pose: {xyz: [\"${i/2}\", 0, 0]}}\n"
    "observe: {x: px(r3_b)}\n");
  EXPECT_THAT(
    scenario.system().coordinate_names(), ElementsAre("left_j", "R-j", "r1_j", "r2_j", "r3_j"));
  EXPECT_DOUBLE_EQ(dynamic_cast<const RigidBodySystem &>(scenario.system()).total_mass(), 12.5);
  const auto simulation = scenario.make_simulation();
  ASSERT_EQ(simulation->evaluate(), Status::kOk);
  Eigen::VectorXd observed;
  ASSERT_EQ(scenario.observe(simulation->workspace(), simulation->inputs(), observed), Status::kOk);
  EXPECT_DOUBLE_EQ(observed(0), 1.5);
}

TEST(Scenario, when_joint_mimics_expect_a_coupling)
{
  std::string text = kArm;
  const std::string axis = "<origin xyz=\"0 0 -1\"/><axis xyz=\"0 1 0\"/>";
  text.replace(
    text.find(axis), axis.size(),
    axis + "<mimic joint=\"shoulder\" multiplier=\"-2\" offset=\"0.25\"/>");
  const Scenario scenario = read(text + "initial: {q: {shoulder: 0.1}, u: {shoulder: 1}}\n");
  EXPECT_EQ(row_names(scenario), "elbow_mimic/coupling:position");
  EXPECT_NEAR(scenario.initial().q(1), -2 * 0.1 + 0.25, 1e-12);
  EXPECT_NEAR(scenario.initial().u(1), -2.0, 1e-12);
}

TEST(Scenario, when_ball_hangs_on_a_rod_expect_its_weight)
{
  const Scenario scenario = read(
    std::string(kBall) +
    "constraints: [{name: rod, type: distance, frame_a: ball, frame_b: ceiling, length: 2}]\n");
  const Solved solved = solve(scenario);
  EXPECT_NEAR(solved.multipliers(0), -3 * 9.81, kRounding);
  EXPECT_NEAR(solved.udot.cwiseAbs().maxCoeff(), 0.0, kRounding);
}

TEST(Scenario, when_wrench_from_outside_acts_expect_its_acceleration)
{
  const Solved solved = solve(read(
    std::string(kBall) +
    "  external: [{name: thrust, frame: ball, expressed_in: frame, force: [0, 0, \"m*g + 6*(1 + "
    "t)\"], torque: [0, 0.2, 0]}]\n"));
  EXPECT_NEAR(solved.udot(2), 2.0, kRounding);
  EXPECT_NEAR(solved.udot(4), 2.0, kRounding);
}

TEST(Scenario, when_each_type_of_constraint_is_named_expect_its_rows)
{
  const std::string frames =
    "constraints:\n"
    "  - {name: a, type: frame_coincidence, frame_a: ball, frame_b: world, rows: [x, rz]}\n"
    "  - {name: b, type: point_on_plane, frame_a: ball, normal: [0, 0, 2], offset: 0}\n"
    "  - {name: c, type: point_on_line, frame_a: ball, direction: [1, 0, 0]}\n"
    "  - {name: d, type: distance, frame_a: ball, frame_b: ceiling, length: 2}\n"
    "  - {name: e, type: joint_coupling, terms: {ball_x: 1, ball_y: -2}, offset: 0}\n"
    "  - {name: f, type: prescribed_motion, coordinate: ball_z, motion: 0*t}\n"
    "  - {name: g, type: prescribed_motion, frame_a: ball, motion: {x: \"0\", y: 0*t}}\n"
    "  - {name: h, type: knife_edge, frame_a: ball, axis: [0, 1, 0]}\n"
    "  - {name: i, type: rolling, frame_a: ball, radius: 1, normal: [0, 0, 1], axis: [0, 1, 0], "
    "keep_contact: false}\n"
    "  - {name: j, type: formula, level: velocity, rows: [vx(ball) + wz(ball)]}\n";
  const Scenario scenario = read(kBall + frames);
  EXPECT_EQ(
    row_names(scenario),
    "a/x:position a/rz:position b/normal:position c/normal_1:position c/normal_2:position "
    "d/distance:position e/coupling:position f/ball_z:position g/x:position g/y:position "
    "h/lateral:velocity i/along:velocity i/lateral:velocity j/row_1:velocity");
  // A table carries the weight.
  const Solved table = solve(read(
    std::string(kBall) +
    "constraints: [{name: t, type: point_on_plane, frame_a: ball, normal: [0, 0, 1]}]\n"));
  EXPECT_NEAR(table.multipliers(0), 3 * 9.81, kRounding);
  // Motion of a coordinate: x = sin t at t = π/2 has the acceleration −1.
  const Scenario driven = read(
    std::string(kBall) +
    "constraints: [{name: t, type: prescribed_motion, coordinate: ball_x, motion: sin(t)}]\n"
    "initial: {time: pi/2}\n");
  EXPECT_NEAR(driven.initial().q(0), 1.0, 1e-12);
  EXPECT_NEAR(solve(driven).multipliers(0), -3.0, kRounding);
}

TEST(Scenario, when_file_is_relative_expect_the_folder_of_the_scenario)
{
  const std::filesystem::path folder = std::filesystem::path(CD_TEST_OUTPUT) / "scenario_test";
  std::filesystem::create_directories(folder / "robots");
  std::ofstream(folder / "robots" / "r.urdf")
    << "<robot name='r'><link name='a'/><link name='b'><inertial><mass value='1'/><inertia ixx='1' "
       "iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial></link><joint name='j' "
       "type='continuous'><parent link='a'/><child link='b'/><axis xyz='0 0 1'/></joint></robot>";
  std::ofstream(folder / "one.yaml") << "system: {urdf: robots/r.urdf}\n";
  const Scenario scenario = Scenario::load((folder / "one.yaml").string());
  EXPECT_EQ(scenario.name(), "one");
  EXPECT_EQ(scenario.system().coordinate_count(), 1);
  EXPECT_THROW(
    Scenario::load((folder / "one.yaml").string(), {"system.urdf=robots/none.urdf"}),
    std::invalid_argument);
  EXPECT_THROW(Scenario::load(folder.string()), std::invalid_argument);
  EXPECT_THROW(Scenario::load((folder / "none.yaml").string()), std::invalid_argument);
}

// ---- repeat and ${…}
// -----------------------------------------------------------------------------

TEST(Scenario, when_item_repeats_expect_one_a_value)
{
  const std::string text = R"(
name: ${N} balls
parameters: {N: 3, d: 0.5}
system:
  bodies:
    - {repeat: {i: [1, N]}, name: "b${i}", mass: "${i}", inertia: [1, 1, 1]}
  frames:
    - {repeat: {i: [1, N], k: [0, 1]}, name: "f${i}_${k}", parent: "b${i}", pose: {xyz: ["${i*d}", "${k}", 0]}}
constraints:
  - {repeat: {i: [1, N - 1]}, name: "link${i}", type: joint_coupling,
     terms: {"b${i}_x": 1, "b${i+1}_x": -1}}
)";
  const Scenario scenario = read(text);
  EXPECT_EQ(scenario.name(), "3 balls");
  EXPECT_EQ(scenario.system().speed_count(), 18);
  EXPECT_EQ(row_names(scenario), "link1/coupling:position link2/coupling:position");
  EXPECT_NO_THROW(scenario.system().frame_index("f3_1"));
  EXPECT_DOUBLE_EQ(dynamic_cast<const RigidBodySystem &>(scenario.system()).total_mass(), 6.0);
  EXPECT_EQ(read(text, {"N=5"}).system().speed_count(), 30);
  EXPECT_EQ(read(text, {"parameters.N=1"}).dynamics()->constraints().size(), 0);
}

// ---- stabilisation
// -------------------------------------------------------------------------------

TEST(Scenario, when_stabilisation_is_given_expect_its_gains)
{
  const std::string text =
    std::string(kParticle) +
    "constraints: [{name: c, type: formula, level: position, rows: [x, y]}]\n";
  const auto stabilisation = [&](const std::string & value)
  {
    const Scenario scenario = read(text, {"stabilisation=" + value});
    return scenario.dynamics()->options().stabilisation;
  };
  EXPECT_EQ(stabilisation("{kind: none}").kind, Stabilisation::Kind::kNone);
  const Stabilisation scalar =
    stabilisation("{kind: baumgarte, velocity_gain: -20, position_gain: \"-10^2\"}");
  EXPECT_EQ(scalar.kind, Stabilisation::Kind::kBaumgarte);
  EXPECT_DOUBLE_EQ(scalar.velocity_gain.scalar(), -20.0);
  EXPECT_DOUBLE_EQ(scalar.position_gain.scalar(), -100.0);
  const Stabilisation matrix = stabilisation(
    "{kind: baumgarte, velocity_gain: [[-2, 0], [0, -3]], position_gain: [[-1, 0], [0, -2]]}");
  EXPECT_DOUBLE_EQ(matrix.velocity_gain.matrix()(1, 1), -3.0);
  const Stabilisation follows = stabilisation("{kind: baumgarte, follow_step: 0.05}");
  EXPECT_LT(follows.velocity_gain.scalar(), 0.0);
}

// ---- initial state
// -------------------------------------------------------------------------------

TEST(Scenario, when_values_are_given_expect_them_held)
{
  const std::string text =
    std::string(kParticle) +
    "constraints: [{name: rod, type: formula, level: position, rows: [x^2 + y^2 - 1]}]\n";
  const State held = read(text, {"initial.q={x: 0.6, y: 0.5}", "initial.solve=[y]"}).initial();
  EXPECT_DOUBLE_EQ(held.q(0), 0.6);
  EXPECT_NEAR(held.q(1), 0.8, 1e-12);
  // y = 0 is a dead point: ∂φ/∂y = 0.
  EXPECT_NEAR(std::abs(read(text, {"initial.q={x: 0.6}"}).initial().q(1)), 0.8, 1e-12);
  const State all = read(text, {"initial.q={x: 3, y: 4}", "initial.solve=all"}).initial();
  EXPECT_NEAR(all.q.norm(), 1.0, 1e-12);
  const State rates = read(text, {"initial.q={x: 0.6, y: 0.8}", "initial.rates={x: 4}"}).initial();
  EXPECT_DOUBLE_EQ(rates.u(0), 4.0);
  EXPECT_NEAR(rates.u(1), -3.0, 1e-12);
  const std::string off = message_of(text, {"initial.q={x: 0.6, y: 0.5}"});
  EXPECT_THAT(off, HasSubstr("rod/row_1"));
  EXPECT_THAT(off, HasSubstr("0.39"));
  EXPECT_THAT(
    message_of(text, {"initial.q={x: 0.6}", "initial.solve=none"}), HasSubstr("nothing was free"));
  EXPECT_THAT(
    message_of(text, {"initial.q={x: 0.6, y: 0.8}", "initial.u={dx: 1, dy: 1}"}),
    HasSubstr("speeds violate"));
  EXPECT_NO_THROW(read(text, {"initial.q={x: 0.6, y: 0.8000001}", "initial.tolerance=1e-5"}));
  ScenarioLoadOptions raw;
  raw.assemble = false;
  EXPECT_DOUBLE_EQ(
    Scenario::from_text(text, {"initial.q={x: 3, y: 4}"}, ".", raw).initial().q(1), 4.0);
}

TEST(Scenario, when_rows_have_no_value_at_the_start_expect_another_start)
{
  const std::string text =
    "system: {bodies: [{name: ball, base: floating, mass: 1, inertia: [1, 1, 1]}]}\n"
    "constraints: [{name: rod, type: distance, frame_a: ball, frame_b: world, length: 0.7}]\n";
  EXPECT_NEAR(read(text).initial().q.head<3>().norm(), 0.7, 1e-9);
  // Where nothing may change, the message tells why.
  const std::string held = message_of(text, {"initial.solve=none"});
  EXPECT_THAT(held, HasSubstr("rows or forces cannot be evaluated at the given coordinates"));
}

TEST(Scenario, when_speeds_are_ones_own_expect_rates_to_hold_those_they_determine)
{
  const std::string text =
    "system: {coordinates: [x, y], kinetic: dx^2 + dy^2, speeds: {a: dx, b: dx + dy}}\n"
    "constraints: [{name: c, type: formula, level: velocity, rows: [dy - 2]}]\n"
    "initial: {rates: {x: 1}}\n";
  // a is determined by the rate of x and held; b = 1 + 2 is free and found.
  const State state = read(text).initial();
  EXPECT_DOUBLE_EQ(state.u(0), 1.0);
  EXPECT_NEAR(state.u(1), 3.0, 1e-12);
}

// ---- --set
// ---------------------------------------------------------------------------------------

TEST(Scenario, when_values_are_set_expect_them_instead)
{
  const std::string text = std::string(kParticle) +
                           "  inputs: {push: {x: 1}}\n"
                           "inputs: {push: 1}\n"
                           "constraints: [{name: c, type: formula, level: velocity, rows: [dy]}]\n";
  EXPECT_NEAR(solve(read(text, {"inputs.push=m*3"})).udot(0), 3.0, kRounding);
  EXPECT_NEAR(solve(read(text, {"m=0.5"})).udot(0), 2.0, kRounding);
  EXPECT_NEAR(solve(read(text, {"parameters.m=0.25"})).udot(0), 4.0, kRounding);
  EXPECT_NEAR(
    solve(read(text, {"parameters={m: 1, g: 1}", "inputs.push=7"})).udot(0), 7.0, kRounding);
  EXPECT_DOUBLE_EQ(read(text, {"initial.q.x=pi/2"}).initial().q(0), std::acos(0.0));
  EXPECT_DOUBLE_EQ(read(text, {"initial.q.`x`=2"}).initial().q(0), 2.0);
  EXPECT_FALSE(read(text, {"constraints.c.active=false"}).is_active(0));
  EXPECT_FALSE(read(text, {"constraints.0.active=false"}).is_active(0));
  EXPECT_EQ(
    row_names(read(text, {"constraints.c.rows=[dy, dx]"})), "c/row_1:velocity c/row_2:velocity");
  EXPECT_DOUBLE_EQ(read(text, {"run.until=1", "run.until=2"}).run().until, 2.0);
  EXPECT_EQ(read(text, {"name=other"}).name(), "other");
}

TEST(Scenario, when_value_of_set_is_empty_expect_key_deleted)
{
  const std::string text = std::string(kParticle) +
                           "  inputs: {push: {x: 1}}\n"
                           "inputs: {push: 1}\n"
                           "constraints: [{name: c, type: formula, level: velocity, rows: [dy]},\n"
                           "              {name: d, type: formula, level: velocity, rows: [dx]}]\n";
  EXPECT_EQ(row_names(read(text, {"constraints.c="})), "d/row_1:velocity");
  EXPECT_EQ(row_names(read(text, {"constraints.0="})), "d/row_1:velocity");
  EXPECT_EQ(row_names(read(text, {"constraints="})), "");
  EXPECT_NEAR(solve(read(text, {"constraints.d=", "inputs="})).udot(0), 0.0, kRounding);
  EXPECT_NEAR(solve(read(text, {"constraints.d=", "inputs.push="})).udot(0), 0.0, kRounding);
}

TEST(Scenario, when_path_of_set_is_bad_expect_it_named)
{
  const std::vector<std::pair<std::string, std::string>> cases = {
    {"run.untl=1", "did you mean 'until'?"},
    {"untl", "PATH=VALUE"},
    {"=1", "PATH=VALUE"},
    {"a..b=1", "empty part"},
    {"`a=1", "PATH=VALUE"},
    {"mm=1", "did you mean 'm'?"},
    {"parameters.q=1", "no parameter 'q'"},
    {"system.parameters.q=1", "no parameter 'q'"},
    {"constraints.x.active=false", "has no item 'x'"},
    {"constraints.7.active=false", "an index below 1"},
    {"system.kinetic.x=1", "'system.kinetic' is a value"},
    {"run.until=[1", "not closed"},
    {"run.until=\"1", "not readable as YAML"},
    {"run.until=abc", "run.until: abc"},
    {"initial.q.zz=1", "initial.q.zz: no such name"},
    {"run=1", "allowed: a map"},
    {"servo=", "the file has no key 'servo'"},
    {"constraints.c.stiff=", "'constraints.c' has no key 'stiff'"},
    {"constraints.x=", "has no item 'x'"},
    {"formulation=minimal", "allowed: auto, kane_nonminimal"},
  };
  const std::string text = std::string(kParticle) +
                           "constraints: [{name: c, type: formula, level: velocity, rows: [dy]}]\n";
  for (const auto & [assignment, expected] : cases)
  {
    const std::string message = message_of(text, {assignment});
    EXPECT_THAT(message, HasSubstr(expected)) << assignment;
    EXPECT_THAT(message, HasSubstr("--set " + assignment)) << assignment;
  }
}

// ---- formulations with options
// ------------------------------------------------------------------------------------

TEST(Scenario, when_a_formulation_has_options_expect_the_accelerations_of_the_others)
{
  // A ball on a parabola, and the same with a complement that is not one.
  const std::string text = std::string(kParticle) +
                           "constraints: [{name: c, type: formula, level: position, "
                           "rows: [y - x^2]}]\n"
                           "initial: {q: {x: 0.5}, u: {dx: 0.25}}\n"
                           "definitions: {slope: 2*x}\n";
  const auto solve = [&](const std::string & formulation, Status expected)
  {
    const Scenario scenario = Scenario::from_text(text + "formulation: " + formulation + "\n");
    const auto simulation = scenario.make_simulation();
    const State & state = scenario.initial();
    const Eigen::VectorXd none(0);
    const long before = test::allocation_count();
    const Status status =
      scenario.dynamics()->solve(state.time, state.q, state.u, none, simulation->workspace());
    EXPECT_EQ(test::allocation_count() - before, 0);
    EXPECT_EQ(status, expected) << formulation;
    return simulation->workspace().solution().acceleration;
  };
  const Eigen::VectorXd expected = solve("auto", Status::kOk);
  const Eigen::VectorXd actual =
    solve("{kind: projection, complement: [[3, 3*slope]]}", Status::kOk);
  EXPECT_LE((actual - expected).norm(), kRounding);
  solve("{kind: projection, complement: [[1, slope + 0.1]]}", Status::kInconsistent);
  solve("{kind: projection}", Status::kOk);
  const Eigen::VectorXd selected =
    solve("{kind: coordinate_partition_selected, independent: [dy]}", Status::kOk);
  EXPECT_LE((selected - expected).norm(), kRounding);
}

// ---- refusals
// ------------------------------------------------------------------------------------

struct BadFile
{
  std::string text;
  std::vector<std::string> expected;
};

std::string nested(int depth)
{
  return "name: " + std::string(static_cast<std::size_t>(depth), '[') +
         std::string(static_cast<std::size_t>(depth), ']') + "\n";
}

std::string bomb()
{
  std::string text = "a: &a [x, x, x, x, x, x, x, x, x, x]\n";
  for (char c = 'b'; c <= 'h'; ++c)
  {
    const std::string alias = std::string("*") + static_cast<char>(c - 1);
    text += std::string(1, c) + ": &" + c + " [" + alias;
    for (int i = 1; i < 10; ++i)
    {
      text += ", " + alias;
    }
    text += "]\n";
  }
  return text;
}

std::vector<BadFile> bad_files()
{
  const std::string p = kParticle;
  const std::string arm = kArm;
  const std::string ball = kBall;
  const std::string c = p + "constraints:\n  - ";
  const std::string b = ball + "constraints:\n  - ";
  return {
    // The document.
    {"", {"scenario:1", "empty"}},
    {"# nothing\n", {"empty"}},
    {"[1, 2]\n", {"a list of 2", "allowed: a map"}},
    {"hello\n", {"hello", "allowed: a map"}},
    {"a: [1\n", {"not readable as YAML"}},
    {"a: {b: 1\n", {"not readable as YAML"}},
    {p + "---\nname: second\n", {"second YAML document"}},
    {p + "run:\n\tuntil: 1\n", {"scenario:9", "tab"}},
    {nested(60), {"nested deeper than 50"}},
    {nested(5000), {"nested deeper than 50"}},
    {bomb(), {"more than 100000 nodes"}},
    {"a: &a [*a]\n", {"scenario:1"}},
    {std::string(1000001, '#'), {"1000001 bytes", "at most 1000000"}},
    {p + "name: twice\n", {"scenario:8", "'name' appears twice", "line 2"}},
    {p + "run: {until: 1, until: 2}\n", {"'until' appears twice"}},
    {p + "? [a]\n: 1\n", {"a list or map as a key"}},
    {p + "name2: !!binary aGVsbG8=\n", {"tag", "without tags"}},
    // Keys and types.
    {p + "constraint: []\n",
     {"scenario:8", "constraint: unknown key", "did you mean 'constraints'?"}},
    {"name: x\n", {"'system' is missing"}},
    {"system: 3\n", {"system: 3", "allowed: a map"}},
    {"system: {}\n", {"nothing moves"}},
    {p + "run: {untl: 3}\n", {"run.untl", "did you mean 'until'?"}},
    {p + "run: {UNTIL: 3}\n", {"run.UNTIL", "did you mean 'until'?"}},
    {p + "run: {utnil: 3}\n", {"run.utnil", "did you mean 'until'?"}},
    {p + "run: 3\n", {"run: 3", "allowed: a map"}},
    {p + "run: {until: [1]}\n", {"run.until", "[1] (a list of 1)", "a number"}},
    {p + "run: {until: .nan}\n", {"run.until: .nan"}},
    {p + "run: {until: .inf}\n", {"run.until: .inf"}},
    {p + "run: {until: 1e999}\n", {"run.until: 1e999", "finite"}},
    {p + "run: {until: 1/0}\n", {"run.until: 1/0", "finite"}},
    {p + "run: {until: -1}\n", {"run.until: -1", "not before initial.time"}},
    {p + "run: {step: 0}\n", {"run.step: 0", "above 0"}},
    {p + "run: {step: -0.1}\n", {"run.step: -0.1", "above 0"}},
    {p + "run: {integrator: euler}\n", {"run.integrator: euler", "rk4, kutta_merson, dopri5"}},
    {p + "run: {output_interval: 1e-12}\n", {"more than 1e+07 outputs"}},
    {p + "formulation: newton\n", {"formulation: newton", "allowed: auto, kane_nonminimal"}},
    {p + "formulation: {complement: [[1, 0]]}\n", {"formulation", "'kind' is missing"}},
    {p + "formulation: {kind: newton}\n", {"formulation.kind: newton", "allowed: auto"}},
    {p + "formulation: {kind: auto, complement: [[1, 0]]}\n",
     {"formulation.complement: unknown key", "allowed: kind"}},
    {p + "formulation: {kind: projection, complement: 1}\n",
     {"formulation.complement: 1", "allowed: a list"}},
    {p + "formulation: {kind: projection, complement: []}\n",
     {"formulation.complement", "no rows"}},
    {p + "formulation: {kind: projection, complement: [[1, 0], [1]]}\n",
     {"formulation.complement.1", "allowed: 2 formulas, one for each speed", "dx, dy"}},
    {p + "formulation: {kind: projection, complement: [[1, 0], [0, z]]}\n",
     {"formulation.complement.1.1: z", "allowed: a formula"}},
    {p + "formulation: {kind: projection, complement: [[1, 0], [0, ddx]]}\n", {"accelerations"}},
    {p + "formulation: {kind: projection, complement: [[1, 0]]}\n",
     {"formulation.complement: 1 rows", "allowed: 2, one for each degree of freedom"}},
    {p + "formulation: {kind: coordinate_partition_selected, complement: [[1]]}\n",
     {"formulation.complement: unknown key", "independent"}},
    {p + "formulation: {kind: coordinate_partition_selected, independent: [dx, dz]}\n",
     {"formulation.independent.1: dz", "no such speed", "allowed: dx, dy"}},
    {p + "formulation: {kind: coordinate_partition_selected, independent: [dx]}\n",
     {"formulation.independent", "as many speeds as degrees of freedom, which are 2"}},
    {p + "formulation: {kind: coordinate_partition_selected, independent: [dx, dx]}\n",
     {"formulation.independent", "allowed"}},
    {c + "{name: f, type: formula, level: velocity, rows: [dx]}\n" +
       "formulation: {kind: coordinate_partition_selected, independent: [dx]}\n",
     {"formulation.independent", "speeds that determine all others"}},
    {p + "servo: []\n", {"servo", "at least one"}},
    {p + "options: {partition_limit: 0.5}\n", {"options.partition_limit: 0.5", "above 1"}},
    {p + "options: {singular_tolerance: 2}\n", {"options.singular_tolerance: 2"}},
    {p + "stabilisation: {kind: magic}\n",
     {"stabilisation.kind: magic", "projection, baumgarte, none"}},
    {p + "stabilisation: {kind: none, velocity_gain: -1}\n", {"stabilisation.velocity_gain"}},
    {p + "stabilisation: {kind: baumgarte}\n", {"either gains"}},
    {p + "stabilisation: {kind: baumgarte, velocity_gain: 5}\n", {"stabilisation"}},
    {p + "stabilisation: {kind: baumgarte, follow_step: 3}\n", {"stabilisation"}},
    {p + "stabilisation: {kind: baumgarte, velocity_gain: [[-1, 0]]}\n", {"square matrix"}},
    // Names and formulas.
    {"parameters: {1a: 2}\n" + p.substr(p.find("system")), {"parameters.1a"}},
    {"parameters: {sin: 2}\n" + p.substr(p.find("system")), {"parameters.sin", "reserved"}},
    {"parameters: {m: q, g: 1}\n" + p.substr(p.find("system")), {"parameters.m: q", "column 1"}},
    {"parameters: {x: 1, m: 1, g: 1}\n" + p.substr(p.find("system")), {"'x'"}},
    {p + "  parameters: {m: 1}\n", {"system.parameters.m", "twice"}},
    {p + "definitions: {v: 2*q}\n", {"definition", "column 3"}},
    {p + "definitions: {m: x}\n", {"definitions.m", "taken"}},
    {"system: {coordinates: [x], kinetic: dx^^2}\n", {"scenario:1: system.kinetic", "column 4"}},
    {"system: {coordinates: [x], kinetic: dz^2}\n", {"system.kinetic", "dz"}},
    {"system: {coordinates: [x], kinetic: dx^3}\n", {"system.kinetic", "degree 2"}},
    {"system: {coordinates: [x]}\n", {"'kinetic' is missing"}},
    {"system: {coordinates: [], kinetic: 0}\n", {"system.coordinates"}},
    {"system: {coordinates: [x, x], kinetic: dx^2}\n", {"x"}},
    {"system: {coordinates: x, kinetic: dx^2}\n", {"system.coordinates: x", "a list"}},
    {"system: {coordinates: [x], kinetic: dx^2, potential: dx}\n", {"system.potential"}},
    {"system: {coordinates: [x], kinetic: dx^2, force: {z: 1}}\n", {"force", "z"}},
    {"system: {coordinates: [x], kinetic: dx^2, speeds: {u: dx^2}}\n", {"system.speeds.u"}},
    {"system: {coordinates: [x], kinetic: dx^2, urdf: a.urdf}\n", {"system.urdf: unknown key"}},
    {p + "inputs: {push: 1}\n", {"inputs.push", "no such input"}},
    {p + "  inputs: {push: {x: 1}}\ninputs: {push: 2*}\n", {"inputs.push: 2*", "column 3"}},
    {p + "  inputs: {push: {x: 1}}\ninputs: {push: ddx}\n", {"inputs.push: ddx", "accelerations"}},
    {p + "observe: {v: lambda(rod)}\n", {"observe.v", "rod"}},
    {arm + "observe: {x: px(hand)}\n", {"observe.x", "no frame 'hand'", "ground, upper, lower"}},
    {p + "observe: [x]\n", {"observe", "allowed: a map"}},
    // Constraints.
    {p + "constraints: {a: 1}\n", {"constraints", "allowed: a list"}},
    {c + "3\n", {"constraints.0: 3", "allowed: a map"}},
    {c + "{type: formula, level: position, rows: [x]}\n", {"constraints.0", "'name' is missing"}},
    {c + "{name: c, level: position, rows: [x]}\n", {"constraints.c", "'type' is missing"}},
    {c + "{name: c, type: formla}\n", {"constraints.c.type: formla", "did you mean 'formula'?"}},
    {c + "{name: c, type: formula, level: up, rows: [x]}\n",
     {"constraints.c.level: up", "position, velocity"}},
    {c + "{name: c, type: formula, level: position, rows: x}\n",
     {"constraints.c.rows: x", "a list"}},
    {c + "{name: c, type: formula, level: position, rows: [dx]}\n", {"constraints.c", "dx"}},
    {c + "{name: c, type: formula, level: position, rows: [q]}\n", {"constraints.c", "column 1"}},
    {c + "{name: c, type: formula, level: position, row: [x]}\n",
     {"constraints.c.row", "did you mean 'rows'?"}},
    {c + "{name: c, type: formula, level: position, rows: [x], active: yes}\n",
     {"constraints.c.active: yes", "true, false"}},
    {c + "{name: c, type: formula, level: position, rows: [x]}\n  - {name: c, type: formula, "
         "level: position, rows: [y]}\n",
     {"scenario:10", "constraints.c.name", "taken"}},
    {c + "{name: c, type: distance, frame_a: ball, length: 1}\n",
     {"constraints.c.frame_a", "no frames"}},
    {b + "{name: c, type: distance, frame_a: bal, length: 1}\n",
     {"constraints.c.frame_a: bal", "did you mean 'ball'?"}},
    {b + "{name: c, type: distance, frame_a: ball, length: -1}\n",
     {"constraints.c.length: -1", "above 0"}},
    {b + "{name: c, type: distance, frame_a: ball}\n", {"'length' is missing"}},
    {b + "{name: c, type: point_on_plane, frame_a: ball, normal: [0, 0]}\n",
     {"constraints.c.normal", "3 numbers"}},
    {b + "{name: c, type: point_on_plane, frame_a: ball, normal: [0, 0, 0]}\n",
     {"constraints.c", "normal"}},
    {b + "{name: c, type: frame_coincidence, frame_a: ball, rows: [x, w]}\n",
     {"constraints.c", "w"}},
    {b + "{name: c, type: joint_coupling, terms: {bal_x: 1}}\n",
     {"constraints.c.terms.bal_x", "did you mean 'ball_x'?"}},
    {b + "{name: c, type: prescribed_motion, motion: t}\n",
     {"'coordinate' or 'frame_a' is missing"}},
    {b + "{name: c, type: prescribed_motion, coordinate: ball_x, motion: ball_y}\n",
     {"constraints.c", "ball_y"}},
    {b + "{name: c, type: rolling, frame_a: ball, radius: 0}\n", {"constraints.c.radius: 0"}},
    {c + "{name: \"c${i}\", type: formula, level: position, rows: [x]}\n", {"${i}"}},
    {c + "{name: \"c${1\", type: formula, level: position, rows: [x]}\n", {"without '}'"}},
    {c + "{repeat: {i: [1, 1.5]}, name: \"c${i}\", type: formula, level: position, rows: [x]}\n",
     {"whole number"}},
    {c +
       "{repeat: {i: [1, 1000000]}, name: \"c${i}\", type: formula, level: position, rows: [x]}\n",
     {"at most 10000"}},
    {c + "{repeat: {i: [1]}, name: \"c${i}\", type: formula, level: position, rows: [x]}\n",
     {"[first, last]"}},
    {c + "{repeat: 3, name: c, type: formula, level: position, rows: [x]}\n", {"repeat: 3"}},
    // Robots.
    {"system: {urdf: none.urdf}\n", {"system.urdf: none.urdf", "no file"}},
    {"system: {urdf: a.urdf, mjcf: b.xml}\n", {"exactly one"}},
    {"system: {urdf: \"<robot\"}\n", {"system"}},
    {"system: {urdf: \"package://nowhere/a.urdf\"}\n", {"AMENT_PREFIX_PATH"}},
    {arm + "  base: flying\n", {"system.base: flying", "fixed, planar, floating"}},
    {arm + "  gravity: [0, 0]\n", {"system.gravity", "3 numbers"}},
    {arm + "  gravity: [0, 0, .nan]\n", {"system.gravity.2: .nan"}},
    {arm + "  locked: [wrist]\n", {"wrist"}},
    {arm + "  springs: {elbow: -1}\n", {"system.springs.elbow: -1", "not below 0"}},
    {arm + "  dampers: {wrist: 1}\n", {"wrist"}},
    {arm + "  frames: [{name: tip, parent: nowhere}]\n", {"nowhere"}},
    {arm + "  robots: []\n", {"system.robots"}},
    {arm + "  external: [{name: e, frame: lower, force: [1, 2]}]\n",
     {"system.external.e.force", "3 formulas"}},
    {arm + "  external: [{name: e, frame: lower, force: [1, 2, z]}]\n", {"system.external.e", "z"}},
    {arm + "inputs: {shoulder: gravity(wrist)}\n", {"inputs.shoulder", "wrist"}},
    {arm + "initial: {q: {wrist: 1}}\n", {"initial.q.wrist", "no such name", "shoulder"}},
    {arm + "initial: {rates: {shoulder: 1}}\n", {"initial.rates", "textbook"}},
    {"system: {bodies: [{name: b, mass: 0, inertia: [1, 1, 1]}]}\n", {"system.bodies.b.mass: 0"}},
    {"system: {bodies: [{name: b, mass: 1, inertia: [1, 1]}]}\n", {"system.bodies.b.inertia"}},
    {"system: {bodies: [{name: b, mass: 1, inertia: [1, 1, 9]}]}\n", {"system"}},
    {"system: {bodies: [{name: b, mass: 1, inertia: [1, 1, 1], base: fixed}]}\n",
     {"system.bodies.b.base: fixed"}},
    // Initial state.
    {p + "initial: {q: {z: 1}}\n", {"initial.q.z", "no such name"}},
    {p + "initial: {q: [1, 2]}\n", {"initial.q", "allowed: a map"}},
    {p + "initial: {q: {x: [1]}}\n", {"initial.q.x", "a number"}},
    {p + "initial: {q: {x: .inf}}\n", {"initial.q.x: .inf"}},
    {p + "initial: {u: {dx: 1}, rates: {x: 1}}\n", {"either u or rates"}},
    {p + "initial: {u: {x: 1, dx: 1}}\n", {"given twice"}},
    {p + "initial: {solve: some}\n", {"initial.solve: some", "all, none"}},
    {p + "initial: {solve: [z]}\n", {"initial.solve", "z"}},
    {ball + "initial: {q: {ball_qx: 1}}\n", {"initial.q", "incomplete"}},
    {ball + "initial: {q: {ball: [0, 0, 0, 0, 0, 0, 0]}}\n", {"initial.q", "length 0"}},
    {ball + "initial: {q: {ball: [0, 0, 0]}}\n", {"initial.q.ball", "a list of 7 numbers"}},
    {c + "{name: c, type: formula, level: position, rows: [x^2 + 1]}\n", {"initial", "c/row_1"}},
  };
}

TEST(Scenario, when_contacts_are_wrong_expect_messages_that_name_them)
{
  const std::string text = R"(
system: {coordinates: [x, y], kinetic: (dx^2 + dy^2)/2}
constraints:
  - {name: floor, type: formula, level: position, rows: [y], unilateral: {side: above, friction: {rows: slip, coefficient: 0.5}}}
  - {name: slip, type: formula, level: velocity, rows: [dx]}
  - {name: rod, type: formula, level: position, rows: [x + y, x - y], active: false}
events: [{time: 1, switch: rod, active: true}]
)";
  EXPECT_EQ(message_of(text), "(accepted)");
  const std::vector<std::pair<std::string, std::string>> wrong = {
    {"constraints.floor.unilateral.restitution=1.5", "1.5: allowed: a number from 0 to 1"},
    {"constraints.floor.unilateral={law: {kind: kelvin_voigt}}", "neither stiffness nor damping"},
    {"constraints.floor.unilateral.side=left", "left"},
    {"constraints.floor.unilateral.friction.rows=slipp", "slipp: no such constraint"},
    {"constraints.floor.unilateral.friction.coefficient=-1", "-1"},
    {"constraints.floor.unilateral.friction.static=0.1", "at least coefficient"},
    {"constraints.floor.unilateral.law={kind: soft}", "soft"},
    {"constraints.floor.unilateral.adhesive=true", "allowed only with law"},
    {"constraints.rod.unilateral={side: above}", "one position row"},
    {"constraints.slip.unilateral={side: above}", "one position row"},
    {"events.0.switch=floor", "a contact or friction switches"},
    {"events.0.switch=rodd", "rodd: no such constraint"},
    {"events.0={time: 1, impulse: {dz: 1}}", "no such speed"},
    {"events.0={time: 1}", "one of switch and impulse"},
    {"initial.q={y: -0.1}", "0.1 inside contact 'floor'"}};
  for (const auto & [assignment, expected] : wrong)
  {
    EXPECT_THAT(message_of(text, {assignment}), HasSubstr(expected)) << assignment;
  }
}

TEST(Scenario, when_file_is_bad_expect_a_message_that_names_it)
{
  const std::vector<BadFile> files = bad_files();
  EXPECT_GE(files.size(), 60U);
  for (const BadFile & file : files)
  {
    const std::string message = message_of(file.text);
    const std::string shown = file.text.substr(0, 3000);
    EXPECT_NE(message, "(accepted)") << shown;
    EXPECT_THAT(message, HasSubstr("scenario")) << shown;
    for (const std::string & expected : file.expected)
    {
      EXPECT_THAT(message, HasSubstr(expected)) << shown;
    }
  }
}

TEST(Scenario, when_aliases_are_few_expect_them_expanded)
{
  const Scenario scenario = read(
    "system: {bodies: [{name: a, mass: 1, inertia: &i [1, 2, 2]}, {name: b, mass: 1, inertia: "
    "*i}]}\n");
  EXPECT_EQ(scenario.system().speed_count(), 12);
}

}  // namespace
}  // namespace constrained_dynamics
