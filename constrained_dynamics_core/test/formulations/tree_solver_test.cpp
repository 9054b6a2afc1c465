// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <algorithm>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <Eigen/Dense>

#include "constrained_dynamics/formulations/registry.hpp"
#include "constrained_dynamics/model/rigid_body_system.hpp"
#include "constrained_dynamics/scenario/scenario.hpp"
#include "support/every_joint.hpp"

namespace constrained_dynamics
{
namespace
{

using Eigen::VectorXd;

class Random
{
public:
  explicit Random(unsigned seed) : generator_(seed) { std::cout << "seed " << seed << "\n"; }
  VectorXd vector(Eigen::Index size, double width)
  {
    std::normal_distribution<double> normal;
    VectorXd x(size);
    for (Eigen::Index i = 0; i < size; ++i)
    {
      x(i) = width * normal(generator_);
    }
    return x;
  }
  std::size_t below(std::size_t count)
  {
    return std::uniform_int_distribution<std::size_t>(0, count - 1)(generator_);
  }

private:
  std::mt19937 generator_;
};

/// The same scenario along the tree and by the factorisation of A.
struct Pair
{
  explicit Pair(const std::string & text, bool assemble = true)
  : scenario(load(text, assemble)),
    tree(with("auto")),
    dense(with("kane_nonminimal")),
    along(Workspace::unanalysed(tree)),
    across(Workspace::unanalysed(dense))
  {
  }

  static Scenario load(const std::string & text, bool assemble)
  {
    ScenarioLoadOptions options;
    options.assemble = assemble;
    return Scenario::from_text(text, {}, std::string(CD_CONFIG) + "/scenarios", options);
  }

  Dynamics with(const std::string & formulation) const
  {
    DynamicsOptions options = scenario.dynamics()->options();
    options.stabilisation = Stabilisation::none();
    return Dynamics(scenario.dynamics()->constraints(), options, make_formulation(formulation));
  }

  void analyse(const State & state)
  {
    along.reset(state);
    across.reset(state);
  }

  /// The same wrenches from outside on both.
  void push(Random & random)
  {
    const auto & system = dynamic_cast<const RigidBodySystem &>(tree.system());
    for (std::size_t i = 0; i < system.external_wrench_names().size(); ++i)
    {
      const Eigen::Vector3d force = random.vector(3, 2.0);
      const Eigen::Vector3d torque = random.vector(3, 0.5);
      for (Workspace * workspace : {&along, &across})
      {
        system.set_external_wrench(
          workspace->change_system_data(), static_cast<int>(i), force, torque);
      }
    }
  }

  /// Both solve; the difference of everything relative to its size.
  double deviation(const State & state, const VectorXd & inputs)
  {
    const Status a = tree.solve(state.time, state.q, state.u, inputs, along);
    const Status b = dense.solve(state.time, state.q, state.u, inputs, across);
    EXPECT_EQ(a, b) << to_string(a) << " " << to_string(b);
    const auto differ = [](const VectorXd & x, const VectorXd & y)
    { return (x - y).norm() / (1.0 + std::max(x.norm(), y.norm())); };
    const Solution & x = along.solution();
    const Solution & y = across.solution();
    double largest = differ(x.acceleration, y.acceleration);
    largest = std::max(largest, differ(x.multipliers, y.multipliers));
    largest = std::max(largest, differ(x.constraint_force, y.constraint_force));
    largest = std::max(largest, differ(x.redundancy, y.redundancy));
    for (std::size_t i = 0; i < x.wrenches.size(); ++i)
    {
      largest = std::max(largest, differ(x.wrenches[i].on_a.force, y.wrenches[i].on_a.force));
      largest = std::max(largest, differ(x.wrenches[i].on_b.force, y.wrenches[i].on_b.force));
      largest = std::max(largest, differ(x.wrenches[i].on_a.torque, y.wrenches[i].on_a.torque));
      largest = std::max(largest, differ(x.wrenches[i].on_a.point, y.wrenches[i].on_a.point));
    }
    EXPECT_EQ(x.rank, y.rank);
    EXPECT_EQ(x.active_row_count, y.active_row_count);
    EXPECT_FALSE(y.along_tree);
    return largest;
  }

  Scenario scenario;
  Dynamics tree;
  Dynamics dense;
  Workspace along;
  Workspace across;
};

/// Any rows of the given kinds at any state: off the manifold, too, the solve is defined, and both
/// must agree.
void expect_agreement(
  std::string (*scenario_with)(const std::string &), const std::vector<std::string> & kinds,
  unsigned seed)
{
  Random random(seed);
  int solved = 0;
  int along_tree = 0;
  for (int trial = 0; trial < 60; ++trial)
  {
    std::string constraints;
    for (int i = 0; i < 1 + trial % 3; ++i)
    {
      constraints += std::string(i > 0 ? ", " : "") + "{name: c" + std::to_string(i) + ", " +
                     kinds[random.below(kinds.size())] + "}";
    }
    Pair pair(scenario_with(constraints), false);
    const System & system = pair.tree.system();
    State state = pair.scenario.initial();
    ASSERT_EQ(pair.tree.set_state(state.time, state.q, state.u, pair.along), Status::kOk);
    state.q += pair.along.terms().kinematic_matrix * random.vector(system.speed_count(), 0.4);
    system.normalise(state.q);
    state.u = random.vector(system.speed_count(), 0.8);
    const VectorXd inputs = random.vector(system.input_count(), 2.0);
    pair.analyse(state);
    pair.push(random);
    const double deviation = pair.deviation(state, inputs);
    if (pair.across.solution().condition < 100.0)
    {
      ++solved;
      along_tree += pair.along.solution().along_tree ? 1 : 0;
      EXPECT_LT(deviation, 1e-11) << constraints;
    }
  }
  EXPECT_GT(solved, 30);
  EXPECT_GE(along_tree, solved * 9 / 10);
}

TEST(TreeSolver, when_rows_of_all_kinds_meet_on_all_joints_expect_the_dense_solution)
{
  expect_agreement(
    test::every_joint,
    {
      "type: frame_coincidence, frame_a: tip, frame_b: seat, rows: [x, rx]",
      "type: frame_coincidence, frame_a: tip, frame_b: world, rows: [y, ry]",
      "type: point_on_plane, frame_a: tip, frame_b: seat, normal: [1, 2, -1], offset: 0.2",
      "type: distance, frame_a: tip, frame_b: seat, length: 1.5",
      "type: knife_edge, frame_a: seat, frame_b: world, axis: [1, 1, -2]",
      "type: rolling, frame_a: tip, frame_b: seat, radius: 0.3, axis: [1, 0.2, 0.3]",
      "type: prescribed_motion, coordinate: cart_x, motion: sin(3*t)",
      "type: joint_coupling, terms: {root_z: 1.0, cart_y: 2.0, yaw: -0.7, ball_qx: 0.3}",
      "type: joint_coupling, terms: {yaw: -0.7, flap: 0.3}",
      "type: formula, level: velocity, rows: ['vx(tip)^2 + wz(seat)*px(tip) - yaw*dyaw']",
    },
    31);
}

/// A turning and a sliding joint on the world, with simple and ball joints on the first.
std::string hinges(const std::string & constraints)
{
  return "system:\n"
         "  mjcf: '<mujoco><worldbody>"
         "<body name=\"arm\" pos=\"0.1 0.2 0.3\" euler=\"10 20 30\">"
         "<joint name=\"turn\" axis=\"1 2 -1\" pos=\"0.1 0 0\" armature=\"0.02\"/>"
         "<geom type=\"box\" size=\"0.2 0.1 0.05\" pos=\"0.1 0.2 0\"/>"
         "<body name=\"wrist\" pos=\"0.4 0.1 -0.2\"><joint name=\"ball\" type=\"ball\"/>"
         "<geom type=\"capsule\" fromto=\"0 0 0 0.1 0 -0.4\" size=\"0.05\"/>"
         "<body name=\"finger\" pos=\"0.1 0 -0.4\"><joint name=\"bend\" axis=\"0 1 1\"/>"
         "<geom type=\"box\" size=\"0.1 0.1 0.05\" pos=\"0.1 0 0\"/></body></body>"
         "<body name=\"fork\" pos=\"-0.3 0.2 0.1\">"
         "<joint name=\"lift\" type=\"slide\" axis=\"1 1 0\"/>"
         "<geom type=\"box\" size=\"0.1 0.2 0.05\" pos=\"0 0.1 0.1\"/></body></body>"
         "<body name=\"sled\" pos=\"0 -0.5 0\">"
         "<joint name=\"slide\" type=\"slide\" axis=\"0 1 2\"/>"
         "<geom type=\"box\" size=\"0.1 0.1 0.1\"/>"
         "<body name=\"pan\" pos=\"0.2 0 0.1\"><joint name=\"spin\" axis=\"1 0 1\"/>"
         "<geom type=\"box\" size=\"0.3 0.1 0.05\" pos=\"0.2 0 0\"/></body></body>"
         "</worldbody></mujoco>'\n"
         "  frames:\n"
         "    - {name: tip, parent: finger, pose: {xyz: [0.2, 0.1, 0], rpy: [0.3, 0.1, 0.2]}}\n"
         "    - {name: rim, parent: pan, pose: {xyz: [0.4, 0.1, 0], rpy: [0.1, -0.3, 0.2]}}\n"
         "  dampers: {turn: 0.3}\n"
         "  external:\n"
         "    - {name: wind, frame: arm}\n"
         "    - {name: push, frame: sled}\n"
         "    - {name: jet, frame: tip, expressed_in: frame}\n"
         "initial: {time: 0.3}\n"
         "constraints: [" +
         constraints + "]\n";
}

TEST(TreeSolver, when_rows_pass_joints_on_the_world_expect_the_dense_solution)
{
  expect_agreement(
    hinges,
    {
      "type: frame_coincidence, frame_a: tip, frame_b: rim, rows: [x, y, rz]",
      "type: frame_coincidence, frame_a: tip, frame_b: world, rows: [y, ry]",
      "type: frame_coincidence, frame_a: rim, frame_b: arm, rows: [z]",
      "type: distance, frame_a: arm, frame_b: sled, length: 1.5",
      "type: distance, frame_a: arm, frame_b: world, length: 1.5",
      "type: distance, frame_a: tip, frame_b: arm, length: 1.5",  // ends on the arm
      "type: distance, frame_a: fork, frame_b: rim, length: 1.5",
      "type: point_on_plane, frame_a: fork, frame_b: world, normal: [1, 2, -1], offset: 0.2",
      "type: prescribed_motion, coordinate: turn, motion: sin(3*t)",
      "type: joint_coupling, terms: {slide: 1.0, turn: 2.0, bend: -0.7}",
    },
    33);
}

// A loop low in the tree ends on its own body while rows above pass it.
TEST(TreeSolver, when_rows_pass_a_loop_expect_the_dense_solution)
{
  std::string links =
    "<robot name=\"cells\"><link name=\"base\"><inertial><mass value=\"2\"/><inertia ixx=\"0.1\" "
    "iyy=\"0.1\" izz=\"0.1\" ixy=\"0\" ixz=\"0\" iyz=\"0\"/></inertial></link>";
  const auto link = [&](const std::string & name, const std::string & parent, double x)
  {
    links += "<link name=\"" + name +
             "\"><inertial><origin xyz=\"0 0 -0.3\"/><mass value=\"0.8\"/><inertia ixx=\"0.03\" "
             "iyy=\"0.04\" izz=\"0.02\" ixy=\"0\" ixz=\"0\" iyz=\"0\"/></inertial></link>"
             "<joint name=\"j_" +
             name + "\" type=\"revolute\"><parent link=\"" + parent + "\"/><child link=\"" + name +
             "\"/><origin xyz=\"" + std::to_string(x) +
             " 0 -0.6\"/><axis xyz=\"0 1 0\"/><limit lower=\"-9\" upper=\"9\" effort=\"1\" "
             "velocity=\"9\"/></joint>";
  };
  link("a", "base", 0.0);
  for (int cell = 0; cell < 3; ++cell)
  {
    const std::string n = std::to_string(cell);
    link("left" + n, cell == 0 ? "a" : "coupler" + std::to_string(cell - 1), 0.0);
    link("right" + n, cell == 0 ? "a" : "coupler" + std::to_string(cell - 1), 0.5);
    link("coupler" + n, "left" + n, 0.1);
  }
  links += "</robot>";
  std::string text = "system:\n  urdf: '" + links + "'\n  base: floating\n  frames:\n";
  std::string constraints = "constraints:\n";
  for (int cell = 0; cell < 3; ++cell)
  {
    const std::string n = std::to_string(cell);
    text += "    - {name: near" + n + ", parent: coupler" + n + ", pose: {xyz: [0.45, 0, 0]}}\n" +
            "    - {name: far" + n + ", parent: right" + n + ", pose: {xyz: [0.02, 0, -0.6]}}\n";
    constraints += "  - {name: loop" + n + ", type: frame_coincidence, frame_a: near" + n +
                   ", frame_b: far" + n + ", rows: [x, z]}\n";
  }
  constraints += "  - {name: foot, type: frame_coincidence, frame_a: near2, frame_b: world}\n";
  constraints += "  - {name: knee, type: distance, frame_a: left0, frame_b: coupler2, length: 1}\n";
  Pair pair(text + constraints, false);
  const System & system = pair.tree.system();
  Random random(32);
  int solved = 0;
  for (int trial = 0; trial < 50; ++trial)
  {
    State state = pair.scenario.initial();
    ASSERT_EQ(pair.tree.set_state(state.time, state.q, state.u, pair.along), Status::kOk);
    state.q += pair.along.terms().kinematic_matrix * random.vector(system.speed_count(), 0.3);
    system.normalise(state.q);
    state.u = random.vector(system.speed_count(), 0.8);
    const VectorXd inputs = random.vector(system.input_count(), 2.0);
    if (trial == 0)
    {
      pair.analyse(state);
    }
    const double deviation = pair.deviation(state, inputs);
    if (pair.along.solution().along_tree && pair.across.solution().condition < 1000.0)
    {
      ++solved;
      EXPECT_LT(deviation, 1e-10);
    }
  }
  EXPECT_GT(solved, 20);
}

TEST(TreeSolver, when_a_constraint_is_given_many_times_expect_one_motion_and_shared_forces)
{
  const std::string head =
    "system: {urdf: ../robots/four_bar.urdf}\n"
    "initial: {q: {crank: 0.3}, u: {crank: 2.0}, solve: [rocker, coupler]}\n"
    "constraints:\n";
  const auto loop = [](int i)
  {
    return "  - {name: loop" + std::to_string(i) +
           ", type: frame_coincidence, frame_a: coupler_tip, frame_b: rocker_tip, rows: [x, z]}\n";
  };
  Pair once(head + loop(0));
  once.analyse(once.scenario.initial());
  const VectorXd inputs = VectorXd::Constant(once.tree.system().input_count(), 0.3);
  EXPECT_LT(once.deviation(once.scenario.initial(), inputs), 1e-13);
  ASSERT_TRUE(once.along.solution().along_tree);
  std::string constraints;
  for (int copies = 1; copies <= 10; ++copies)
  {
    constraints += loop(copies);
    // Beside the copies a hinge in space: more rows of the same loop, redundant in another way.
    for (const std::string & more :
         {std::string(),
          std::string("  - {name: hinge, type: frame_coincidence, frame_a: "
                      "coupler_tip, frame_b: rocker_tip, rows: [x, y, z, rx, rz]}\n")})
    {
      Pair many(head + constraints + more);
      many.analyse(many.scenario.initial());
      EXPECT_LT(many.deviation(many.scenario.initial(), inputs), 1e-12) << copies << more;
      // Redundant rows that are no copies go to the factorisation of A where speeds are few.
      EXPECT_EQ(many.along.solution().along_tree, more.empty()) << copies << more;
      const Solution & a = once.along.solution();
      const Solution & b = many.along.solution();
      EXPECT_LT((a.acceleration - b.acceleration).norm(), 1e-12 * a.acceleration.norm());
      Eigen::Vector3d sum = Eigen::Vector3d::Zero();
      for (const WrenchPair & wrench : b.wrenches)
      {
        sum += wrench.on_a.force;
      }
      EXPECT_LT((sum - a.wrenches[0].on_a.force).norm(), 1e-12 * sum.norm());
    }
  }
}

TEST(TreeSolver, when_constraints_are_switched_expect_the_dense_solution_and_its_rank)
{
  Pair pair(
    "system: {urdf: ../robots/four_bar.urdf}\n"
    "initial: {q: {crank: 0.3}, u: {crank: 2.0}, solve: [rocker, coupler]}\n"
    "constraints:\n"
    "  - {name: one, type: frame_coincidence, frame_a: coupler_tip, frame_b: rocker_tip, rows: [x, "
    "z]}\n"
    "  - {name: two, type: frame_coincidence, frame_a: coupler_tip, frame_b: rocker_tip, rows: [x, "
    "z]}\n"
    "  - {name: stop, type: prescribed_motion, coordinate: crank, motion: 0.3 + 2*t}\n");
  const State & state = pair.scenario.initial();
  const VectorXd inputs = VectorXd::Constant(pair.tree.system().input_count(), 0.3);
  pair.analyse(state);
  for (const int off : {0, 1, 2})
  {
    pair.along.set_active(off, false);
    pair.across.set_active(off, false);
    EXPECT_LT(pair.deviation(state, inputs), 1e-12);
    EXPECT_FALSE(pair.along.solution().along_tree) << "the rank is found first";
    EXPECT_LT(pair.deviation(state, inputs), 1e-12);
    EXPECT_TRUE(pair.along.solution().along_tree);
    EXPECT_EQ(pair.along.solution().rank, off == 2 ? 2 : 3);
    pair.along.set_active(off, true);
    pair.across.set_active(off, true);
  }
}

// Toward a dead centre the tree hands over before its answer loses digits.
TEST(TreeSolver, when_a_position_becomes_singular_expect_the_dense_judgement)
{
  Pair pair(
    "parameters: {N: 2}\n"
    "system:\n"
    "  gravity: [0, -9.81, 0]\n"
    "  robots:\n"
    "    - {name: bar0, urdf: ../robots/crank_and_coupler.urdf}\n"
    "    - {name: bar1, urdf: ../robots/crank.urdf, pose: {xyz: [1, 0, 0]}}\n"
    "constraints:\n"
    "  - {name: loop, type: frame_coincidence, frame_a: bar0_coupler_tip, frame_b: bar1_crank_tip, "
    "rows: [x, y]}\n"
    "initial: {u: {bar0_crank: 1}}\n");
  pair.analyse(pair.scenario.initial());
  const VectorXd inputs = VectorXd::Zero(pair.tree.system().input_count());
  bool handed_over = false;
  for (double distance = 1e-1; distance > 1e-13; distance *= 0.1)
  {
    const double angle = 0.5 * 3.14159265358979323846 - distance;
    State state = pair.scenario.initial();
    // Parallel cranks; the coupler keeps its direction.
    state.q << angle, -angle, angle;
    state.u << 1.0, -1.0, 1.0;
    const double deviation = pair.deviation(state, inputs);
    // λ grows as 1/distance, and so does what rounding does to it: the bar of agreement.
    const double condition = pair.across.solution().condition;
    EXPECT_LT(condition * distance, 10.0);
    EXPECT_LT(
      deviation, std::max(1e-11, 100.0 * std::numeric_limits<double>::epsilon() * condition))
      << distance;
    handed_over = handed_over || !pair.along.solution().along_tree;
  }
  EXPECT_TRUE(handed_over);
}

}  // namespace
}  // namespace constrained_dynamics
