// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/dynamics/joint_reactions.hpp"

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <Eigen/Geometry>

#include "constrained_dynamics/constraints/distance.hpp"
#include "constrained_dynamics/constraints/frame_coincidence.hpp"
#include "constrained_dynamics/constraints/joint_constraint.hpp"
#include "constrained_dynamics/model/spring.hpp"
#include "constrained_dynamics/scenario/scenario.hpp"
#include "support/allocation_counter.hpp"

namespace constrained_dynamics::test
{
namespace
{

using Eigen::Vector3d;
using Eigen::VectorXd;

struct Link
{
  const char * name;
  double mass;
  Vector3d com;
  Vector3d inertia;
};

const std::vector<Link> kLinks = {
  {"one", 1.5, {0.1, 0.05, -0.2}, {0.03, 0.04, 0.05}},
  {"two", 0.8, {-0.05, 0.1, -0.15}, {0.02, 0.03, 0.025}},
  {"three", 1.1, {0.02, -0.04, -0.1}, {0.015, 0.02, 0.01}}};

std::string inertial(const Link & link)
{
  const auto text = [](const Vector3d & v)
  { return std::to_string(v.x()) + " " + std::to_string(v.y()) + " " + std::to_string(v.z()); };
  return "<inertial pos='" + text(link.com) + "' mass='" + std::to_string(link.mass) +
         "' diaginertia='" + text(link.inertia) + "'/>";
}

/// What acts on both models: gravity, a wrench and a spring.
void load(SceneDescription & scene)
{
  scene.gravity = {0.5, -1.0, -9.81};
  scene.external_wrenches = {{"wind", "two", false, {1.0, -2.0, 0.5}, {0.3, 0.1, -0.2}}};
  SpringLaw law;
  law.stiffness = 30.0;
  law.damping = 2.0;
  law.rest = 0.3;
  scene.force_elements = {
    std::make_shared<Spring>("strut", "three", "one", law),
    std::make_shared<Spring>("stay", "three", "anchor", law)};
  scene.frames.push_back({"anchor", "world", Pose{{0.9, -0.4, 0.2}}});
}

/// Ball, hinge and slide in series, in joint coordinates.
SceneDescription tree_scene()
{
  SceneDescription scene;
  RobotDescription robot;
  robot.format = RobotFormat::kMjcf;
  robot.text =
    "<mujoco><worldbody><body name='one' pos='0.1 0.2 0.3'><joint name='ball' type='ball'/>" +
    inertial(kLinks[0]) + "<body name='two' pos='0.2 0 -0.4'><joint name='turn' axis='0 1 0'/>" +
    inertial(kLinks[1]) +
    "<body name='three' pos='0 0.1 -0.3'><joint name='slide' type='slide' axis='0 0.6 0.8'/>" +
    inertial(kLinks[2]) + "</body></body></body></worldbody></mujoco>";
  scene.robots.push_back(robot);
  load(scene);
  return scene;
}

/// The same three bodies without joints.
std::shared_ptr<const RigidBodySystem> free_bodies()
{
  SceneDescription scene;
  for (const Link & link : kLinks)
  {
    FreeBody body;
    body.name = link.name;
    body.mass = link.mass;
    body.com = link.com;
    body.inertia = link.inertia.asDiagonal();
    scene.bodies.push_back(body);
  }
  scene.frames = {
    {"seat_one", "world", Pose{{0.1, 0.2, 0.3}}},
    {"seat_two", "one", Pose{{0.2, 0.0, -0.4}}},
    {"seat_three", "two", Pose{{0.0, 0.1, -0.3}}}};
  load(scene);
  return std::make_shared<const RigidBodySystem>(scene);
}

struct TreeState
{
  VectorXd q = (VectorXd(6) << 0.2, -0.3, 0.1, 0.9, 0.7, 0.15).finished();
  VectorXd u = (VectorXd(5) << 0.6, -0.9, 0.4, 1.3, -0.5).finished();
};

/// Poses and velocities of the bodies of one system as the state of free bodies.
State as_free_bodies(const RigidBodySystem & tree, const TreeState & state)
{
  const auto data = tree.make_data();
  EXPECT_EQ(tree.update_kinematics(0.0, state.q, state.u, *data), Status::kOk);
  State out{0.0, VectorXd(21), VectorXd(18)};
  for (std::size_t i = 0; i < kLinks.size(); ++i)
  {
    FrameKinematics frame;
    tree.frame_kinematics(*data, tree.frame_index(kLinks[i].name), frame);
    const auto k = static_cast<Eigen::Index>(i);
    out.q.segment<3>(7 * k) = frame.position;
    out.q.segment<4>(7 * k + 3) = Eigen::Quaterniond(frame.rotation).coeffs();
    out.u.segment<3>(6 * k) = frame.rotation.transpose() * frame.velocity;
    out.u.segment<3>(6 * k + 3) = frame.rotation.transpose() * frame.angular_velocity;
  }
  return out;
}

}  // namespace

TEST(JointReactions, when_joints_are_cut_and_stated_as_constraints_expect_the_constraint_wrenches)
{
  SceneDescription scene = tree_scene();
  scene.actuated = std::vector<std::string>();
  const auto tree = std::make_shared<const RigidBodySystem>(scene);
  const auto free = free_bodies();
  const TreeState at;
  const State of_free = as_free_bodies(*tree, at);
  for (const bool closed : {false, true})
  {
    // Open, and closed by a rod to the world.
    std::vector<std::shared_ptr<const Constraint>> rods;
    std::vector<std::shared_ptr<const Constraint>> joints = {
      std::make_shared<FrameCoincidence>(
        "ball", *free, "one", "seat_one", std::vector<std::string>{"x", "y", "z"}),
      std::make_shared<JointConstraint>(
        "turn", JointType::kHinge, *free, "two", "seat_two", Vector3d::UnitY()),
      std::make_shared<JointConstraint>(
        "slide", JointType::kPrismatic, *free, "three", "seat_three", Vector3d(0.0, 0.6, 0.8))};
    if (closed)
    {
      rods.push_back(std::make_shared<Distance>("rod", *tree, "three", "anchor", 0.7));
      joints.push_back(std::make_shared<Distance>("rod", *free, "three", "anchor", 0.7));
    }
    const Dynamics of_tree(ConstraintSet(tree, rods));
    const Dynamics of_bodies(ConstraintSet(free, joints));
    Workspace along = Workspace::unanalysed(of_tree);
    Workspace across = Workspace::unanalysed(of_bodies);
    const VectorXd none = VectorXd::Zero(0);
    ASSERT_EQ(of_tree.solve(0.0, at.q, at.u, none, along), Status::kOk);
    ASSERT_EQ(of_bodies.solve(0.0, of_free.q, of_free.u, none, across), Status::kOk);
    JointReactions reactions(of_tree);
    ASSERT_EQ(reactions.update(along), Status::kOk);
    ASSERT_EQ(reactions.joints().size(), 3u);
    EXPECT_EQ(reactions.joints()[1].name, "turn");
    EXPECT_EQ(reactions.joints()[1].child, "two");
    EXPECT_EQ(reactions.joints()[1].parent, "one");
    for (std::size_t i = 0; i < 3; ++i)
    {
      const Wrench & by_tree = reactions.wrenches()[i];
      const Wrench & by_rows = across.solution().wrenches[i].on_a;
      EXPECT_GT(by_rows.force.norm(), 1.0);
      EXPECT_LE((by_tree.point - by_rows.point).norm(), 1e-13);
      EXPECT_LE((by_tree.force - by_rows.force).norm(), 1e-10) << i << (closed ? " closed" : "");
      EXPECT_LE((by_tree.torque - by_rows.torque).norm(), 1e-10) << i << (closed ? " closed" : "");
    }
  }
}

TEST(JointReactions, when_a_rod_falls_from_rest_expect_the_hinge_force_of_the_textbook)
{
  // A uniform rod, released level, at the angle θ below: 5/2 m g sin θ along it, 1/4 m g cos θ
  // across it (energy: θ̇² = 3 g/l sin θ).
  const double m = 2.0;
  const double l = 1.2;
  const double g = 9.81;
  const double theta = 0.6;
  SceneDescription scene;
  RobotDescription robot;
  robot.format = RobotFormat::kMjcf;
  robot.text =
    "<mujoco><worldbody><body name='rod'><joint name='hinge' axis='0 1 0'/>"
    "<inertial pos='0.6 0 0' mass='2' diaginertia='0 0.24 0.24'/></body></worldbody></mujoco>";
  scene.robots.push_back(robot);
  const auto system = std::make_shared<const RigidBodySystem>(scene);
  const Dynamics dynamics(ConstraintSet(system, {}));
  Workspace workspace = Workspace::unanalysed(dynamics);
  const VectorXd q = VectorXd::Constant(1, theta);
  const VectorXd u = VectorXd::Constant(1, std::sqrt(3.0 * g / l * std::sin(theta)));
  ASSERT_EQ(dynamics.solve(0.0, q, u, VectorXd::Zero(1), workspace), Status::kOk);
  JointReactions reactions(dynamics);
  ASSERT_EQ(reactions.update(workspace), Status::kOk);
  const Vector3d along(std::cos(theta), 0.0, -std::sin(theta));
  const Vector3d across(std::sin(theta), 0.0, std::cos(theta));
  const Wrench & wrench = reactions.wrenches()[0];
  EXPECT_NEAR(wrench.force.dot(-along), 2.5 * m * g * std::sin(theta), 1e-12 * m * g);
  EXPECT_NEAR(wrench.force.dot(across), 0.25 * m * g * std::cos(theta), 1e-12 * m * g);
  EXPECT_NEAR(wrench.force.y(), 0.0, 1e-12);
  EXPECT_LE(wrench.torque.norm(), 1e-12);
}

TEST(JointReactions, when_a_rotor_is_skew_expect_the_bearing_torque_of_the_textbook)
{
  // A rotor on a shaft along z with the product of inertia J_xz = −∫ x z dm, at constant ω: the
  // bearings exert ω² J_xz about y of the rotor, and the centrifugal force m e ω² of its
  // eccentricity.
  SceneDescription scene;
  scene.gravity.setZero();
  RobotDescription robot;
  robot.format = RobotFormat::kMjcf;
  robot.text =
    "<mujoco><worldbody><body name='rotor'><joint name='shaft' axis='0 0 1'/>"
    "<inertial pos='0.01 0 0' mass='3' fullinertia='0.05 0.06 0.04 0 -0.012 0'/></body>"
    "</worldbody></mujoco>";
  scene.robots.push_back(robot);
  const auto system = std::make_shared<const RigidBodySystem>(scene);
  const Dynamics dynamics(ConstraintSet(system, {}));
  Workspace workspace = Workspace::unanalysed(dynamics);
  const double omega = 40.0;
  ASSERT_EQ(
    dynamics.solve(
      0.0, VectorXd::Zero(1), VectorXd::Constant(1, omega), VectorXd::Zero(1), workspace),
    Status::kOk);
  JointReactions reactions(dynamics);
  ASSERT_EQ(reactions.update(workspace), Status::kOk);
  const Wrench & wrench = reactions.wrenches()[0];
  EXPECT_LE((wrench.force - Vector3d(-3.0 * 0.01 * omega * omega, 0.0, 0.0)).norm(), 1e-10);
  // ω × (J ω) = ω ẑ × (J_xz ω x̂ + …) = ω² J_xz ŷ.
  EXPECT_LE((wrench.torque - Vector3d(0.0, -0.012 * omega * omega, 0.0)).norm(), 1e-10);
}

TEST(JointReactions, when_joints_have_drives_springs_and_dampers_expect_their_effort_along_it)
{
  SceneDescription scene = tree_scene();
  scene.springs = {{"turn", 5.0, 0.2}};
  scene.dampers = {{"slide", 1.5}};
  scene.armature = {{"turn", 0.3}};
  const auto tree = std::make_shared<const RigidBodySystem>(scene);
  const Dynamics dynamics(ConstraintSet(tree, {}));
  Workspace workspace = Workspace::unanalysed(dynamics);
  const TreeState at;
  const VectorXd inputs = (VectorXd(2) << 0.8, -2.0).finished();
  ASSERT_EQ(dynamics.solve(0.0, at.q, at.u, inputs, workspace), Status::kOk);
  JointReactions reactions(dynamics);
  ASSERT_EQ(reactions.update(workspace), Status::kOk);
  const auto along = [&](int coordinate, std::size_t joint)
  {
    Wrench unit;
    tree->joint_wrench(workspace.system_data(), coordinate, unit);
    const Wrench & wrench = reactions.wrenches()[joint];
    return unit.force.dot(wrench.force) + unit.torque.dot(wrench.torque);
  };
  const double acceleration = workspace.solution().acceleration(3);
  EXPECT_NEAR(along(4, 1), 0.8 - 5.0 * (at.q(4) - 0.2) - 0.3 * acceleration, 1e-12);
  EXPECT_NEAR(along(5, 2), -2.0 - 1.5 * at.u(4), 1e-12);
  // Nothing turns the ball joint.
  EXPECT_LE(reactions.wrenches()[0].torque.norm(), 1e-12);
}

TEST(JointReactions, when_an_arm_rests_expect_static_hand_values)
{
  // Two horizontal links of 0.5 m along x, held by their drives about y.
  const auto link = [](const std::string & name, double mass)
  {
    return "<link name='" + name + "'><inertial><origin xyz='0.25 0 0'/><mass value='" +
           std::to_string(mass) +
           "'/><inertia ixx='0.01' iyy='0.01' izz='0.01' ixy='0' ixz='0' iyz='0'/></inertial>"
           "</link>";
  };
  const auto arm = RigidBodySystem::from_urdf_text(
    "<robot name='arm'><link name='world'/>" + link("upper", 2.0) + link("lower", 1.0) +
    "<joint name='a' type='continuous'><parent link='world'/><child link='upper'/>"
    "<axis xyz='0 1 0'/></joint><joint name='b' type='continuous'><parent link='upper'/>"
    "<child link='lower'/><origin xyz='0.5 0 0'/><axis xyz='0 1 0'/></joint></robot>");
  const Dynamics dynamics(ConstraintSet(arm, {}));
  Workspace workspace = Workspace::unanalysed(dynamics);
  const VectorXd zero = VectorXd::Zero(2);
  const double g = 9.81;
  const VectorXd torque =
    (VectorXd(2) << -(2.0 * 0.25 + 1.0 * 0.75) * g, -1.0 * 0.25 * g).finished();
  ASSERT_EQ(dynamics.solve(0.0, zero, zero, torque, workspace), Status::kOk);
  JointReactions reactions(dynamics);
  ASSERT_EQ(reactions.update(workspace), Status::kOk);
  EXPECT_LE((reactions.wrenches()[0].force - Vector3d(0, 0, 3.0 * g)).norm(), 1e-12);
  EXPECT_LE((reactions.wrenches()[0].torque - Vector3d(0, torque(0), 0)).norm(), 1e-12);
  EXPECT_LE((reactions.wrenches()[1].force - Vector3d(0, 0, g)).norm(), 1e-12);
  EXPECT_LE((reactions.wrenches()[1].torque - Vector3d(0, torque(1), 0)).norm(), 1e-12);
  EXPECT_LE((reactions.wrenches()[1].point - Vector3d(0.5, 0, 0)).norm(), 1e-15);
}

TEST(JointReactions, when_a_body_is_free_expect_none)
{
  const auto free = free_bodies();
  const Dynamics dynamics(ConstraintSet(free, {}));
  Workspace workspace = Workspace::unanalysed(dynamics);
  const State at = as_free_bodies(RigidBodySystem(tree_scene()), TreeState());
  ASSERT_EQ(dynamics.solve(0.0, at.q, at.u, VectorXd::Zero(0), workspace), Status::kOk);
  JointReactions reactions(dynamics);
  ASSERT_EQ(reactions.update(workspace), Status::kOk);
  for (const Wrench & wrench : reactions.wrenches())
  {
    EXPECT_LE(wrench.force.norm() + wrench.torque.norm(), 1e-11);
  }
}

TEST(JointReactions, when_controls_are_states_expect_the_robot_inside)
{
  const std::string system =
    "system:\n  mjcf: '<mujoco><worldbody><body name=\"rod\"><joint name=\"turn\" axis=\"0 1 0\"/>"
    "<inertial pos=\"0.3 0 0\" mass=\"2\" diaginertia=\"0.1 0.1 0.1\"/></body></worldbody>"
    "</mujoco>'\n";
  const Scenario plain = Scenario::from_text(system);
  const Scenario wrapped = Scenario::from_text(system + "  control_states: {first: [turn]}\n");
  std::vector<Vector3d> forces;
  for (const Scenario * scenario : {&plain, &wrapped})
  {
    Workspace workspace(*scenario->dynamics(), scenario->initial());
    const State & at = scenario->initial();
    const VectorXd inputs = VectorXd::Zero(scenario->system().input_count());
    ASSERT_EQ(scenario->dynamics()->solve(0.0, at.q, at.u, inputs, workspace), Status::kOk);
    JointReactions reactions(*scenario->dynamics());
    ASSERT_EQ(reactions.update(workspace), Status::kOk);
    forces.push_back(reactions.wrenches()[0].force);
  }
  EXPECT_GT(forces[0].norm(), 1.0);
  EXPECT_LE((forces[0] - forces[1]).norm(), 1e-12);
}

TEST(JointReactions, when_there_is_no_solution_or_another_system_expect_statuses)
{
  const auto tree = std::make_shared<const RigidBodySystem>(tree_scene());
  const Dynamics dynamics(ConstraintSet(tree, {}));
  JointReactions reactions(dynamics);
  Workspace workspace = Workspace::unanalysed(dynamics);
  EXPECT_EQ(reactions.update(workspace), Status::kNoState);
  const TreeState at;
  ASSERT_EQ(dynamics.solve(0.0, at.q, at.u, VectorXd::Zero(2), workspace), Status::kOk);
  const long before = allocation_count() + lock_count();
  const Status status = reactions.update(workspace);
  EXPECT_EQ(allocation_count() + lock_count() - before, 0);
  EXPECT_EQ(status, Status::kOk);
  const auto rod = std::make_shared<Distance>("rod", *tree, "three", "world", 0.7);
  const Dynamics other(ConstraintSet(tree, {rod}));
  Workspace of_other = Workspace::unanalysed(other);
  EXPECT_EQ(reactions.update(of_other), Status::kSizeMismatch);
}

}  // namespace constrained_dynamics::test
