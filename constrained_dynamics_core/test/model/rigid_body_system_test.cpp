// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// RigidBodySystem: kinematics against finite differences on the manifold, inertia and forces
// against energies, hand-computed values and equivalent systems.
#include <cmath>
#include <fstream>
#include <memory>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <Eigen/Cholesky>
#include <Eigen/Geometry>

#include "constrained_dynamics/model/rigid_body_system.hpp"
#include "support/allocation_counter.hpp"

namespace constrained_dynamics
{
namespace
{

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kRobots = CD_TEST_ROBOTS;
constexpr double kStep = 1e-4;  ///< of central differences [s]
/// Error of central differences with kStep: truncation h² and rounding ε/h, both about 1e-8, times
/// third derivatives of some ten.
constexpr double kDifference = 2e-6;
constexpr double kRounding = 1e-11;

Eigen::Matrix3d skew(const Eigen::Vector3d & w)
{
  Eigen::Matrix3d S;
  S << 0, -w.z(), w.y(), w.z(), 0, -w.x(), -w.y(), w.x(), 0;
  return S;
}

RobotDescription robot(const std::string & file, Base base = Base::kFixed)
{
  RobotDescription description = load_robot_description(kRobots + "/" + file);
  description.base = base;
  return description;
}

FreeBody brick()
{
  FreeBody body;
  body.name = "brick";
  body.mass = 2.0;
  body.com = Eigen::Vector3d(0.1, -0.05, 0.02);
  body.inertia << 0.03, 0.002, 0.0, 0.002, 0.05, -0.001, 0.0, -0.001, 0.04;
  body.pose.xyz = Eigen::Vector3d(0.5, 0.2, 1.0);
  body.pose.rpy = Eigen::Vector3d(0.3, -0.2, 0.9);
  return body;
}

SceneDescription arm_scene(Base base)
{
  SceneDescription scene;
  scene.robots.push_back(robot("arm.urdf", base));
  scene.robots[0].pose.xyz = Eigen::Vector3d(0.2, -0.3, 0.5);
  scene.robots[0].pose.rpy = Eigen::Vector3d(0.4, 0.2, -1.0);
  return scene;
}

/// Two arms, a tree, bodies, a tool, springs, dampers, armature: everything at once.
SceneDescription full_scene()
{
  SceneDescription scene = arm_scene(Base::kPlanar);
  scene.robots[0].name = "left";
  scene.robots[0].prefix = "left_";
  scene.robots.push_back(robot("arm.urdf", Base::kFloating));
  scene.robots[1].name = "right";
  scene.robots[1].prefix = "right_";
  scene.robots.push_back(robot("tree.xml"));
  scene.robots[2].pose.xyz = Eigen::Vector3d(1.0, 0.0, 0.2);
  scene.robots[2].pose.rpy = Eigen::Vector3d(0.1, 0.2, 0.3);
  scene.bodies.push_back(brick());
  scene.bodies.push_back(brick());
  scene.bodies[1].name = "puck";
  scene.bodies[1].base = Base::kPlanar;
  Attachment cutter;
  cutter.name = "cutter";
  cutter.parent = "left_tool";
  cutter.pose.xyz = Eigen::Vector3d(0.01, 0.02, 0.1);
  cutter.pose.rpy = Eigen::Vector3d(0.3, 0.6, -0.5);
  cutter.mass = 0.7;
  cutter.com = Eigen::Vector3d(0.0, 0.03, 0.05);
  cutter.inertia = Eigen::Vector3d(0.003, 0.002, 0.004).asDiagonal();
  scene.attachments.push_back(cutter);
  FrameDescription blade;
  blade.name = "blade";
  blade.parent = "cutter";
  blade.pose.xyz = Eigen::Vector3d(0.0, 0.0, 0.12);
  blade.pose.rpy = Eigen::Vector3d(1.0, 0.0, 0.2);
  scene.frames.push_back(blade);
  scene.springs.push_back({"left_lift", 20.0, 0.3});
  scene.springs.push_back({"right_reach", 300.0, -0.05});
  scene.dampers["right_skew"] = 0.7;
  scene.armature["left_roll"] = 0.15;
  return scene;
}

/// A system with a random state on its manifold.
struct Fixture
{
  std::shared_ptr<RigidBodySystem> system;
  std::unique_ptr<SystemData> data;
  Eigen::VectorXd q;
  Eigen::VectorXd u;

  explicit Fixture(const SceneDescription & scene, unsigned seed = 7)
  : system(std::make_shared<RigidBodySystem>(scene)), data(system->make_data())
  {
    std::mt19937 generator(seed);
    std::uniform_real_distribution<double> uniform(-1.0, 1.0);
    q = system->neutral_coordinates();
    u.resize(system->speed_count());
    for (double & x : q)
    {
      x += 0.5 * uniform(generator);
    }
    for (double & x : u)
    {
      x = uniform(generator);
    }
    system->normalise(q);
    update();
  }

  void update() { update(q, u); }
  void update(const Eigen::VectorXd & q_now, const Eigen::VectorXd & u_now)
  {
    ASSERT_EQ(system->update_kinematics(0.0, q_now, u_now, *data), Status::kOk);
    ASSERT_EQ(system->update_dynamics(*data), Status::kOk);
  }
  const SystemTerms & terms() const { return data->terms; }
  double energy() const { return system->kinetic_energy(*data) + system->potential_energy(*data); }
  FrameKinematics frame(int index) const
  {
    FrameKinematics motion;
    system->frame_kinematics(*data, index, motion);
    return motion;
  }
  Matrix6X jacobian(int index) const
  {
    Matrix6X J(6, system->speed_count());
    system->frame_jacobian(*data, index, J);
    return J;
  }
};

struct Case
{
  const char * name;
  SceneDescription (*scene)();
};

SceneDescription planar_joint_scene()
{
  SceneDescription scene;
  RobotDescription cart;
  cart.text =
    "<robot name=\"cart\"><link name=\"world\"/><link name=\"cart\"><inertial>"
    "<origin xyz=\"0.1 0.2 0.3\"/><mass value=\"3\"/><inertia ixx=\"1\" iyy=\"1.1\" izz=\"1.2\" "
    "ixy=\"0.1\" ixz=\"0\" iyz=\"0\"/></inertial></link><joint name=\"drive\" type=\"planar\">"
    "<parent link=\"world\"/><child link=\"cart\"/><origin rpy=\"0.3 0.1 0\"/><axis xyz=\"0 0 1\"/>"
    "</joint></robot>";
  scene.robots.push_back(cart);
  return scene;
}

class AnyScene : public ::testing::TestWithParam<Case>
{
};

TEST_P(AnyScene, when_speeds_are_kept_expect_rates_and_bias_of_coordinates)
{
  Fixture f(GetParam().scene());
  const Eigen::VectorXd rates = f.terms().rates;
  const Eigen::VectorXd bias = f.terms().acceleration_bias;
  EXPECT_LE((rates - f.terms().kinematic_matrix * f.u).cwiseAbs().maxCoeff(), kRounding);
  EXPECT_EQ(f.terms().kinematic_drift.norm(), 0.0);
  f.update(f.q + kStep * rates + 0.5 * kStep * kStep * bias, f.u);
  const Eigen::VectorXd after = f.terms().rates;
  f.update(f.q - kStep * rates + 0.5 * kStep * kStep * bias, f.u);
  EXPECT_LE(((after - f.terms().rates) / (2 * kStep) - bias).cwiseAbs().maxCoeff(), kDifference);
}

TEST_P(AnyScene, when_speeds_are_kept_expect_velocities_and_accelerations_of_frames)
{
  Fixture f(GetParam().scene());
  const int frames = static_cast<int>(f.system->frame_names().size());
  const Eigen::VectorXd rates = f.terms().rates;
  const Eigen::VectorXd bend = 0.5 * kStep * kStep * f.terms().acceleration_bias;
  Fixture before(GetParam().scene());
  Fixture after(GetParam().scene());
  before.update(f.q - kStep * rates + bend, f.u);
  after.update(f.q + kStep * rates + bend, f.u);
  for (int i = 0; i < frames; ++i)
  {
    const FrameKinematics a = before.frame(i);
    const FrameKinematics b = after.frame(i);
    const FrameKinematics now = f.frame(i);
    const auto difference = [](const auto & y, const auto & x) { return (y - x) / (2 * kStep); };
    EXPECT_LE((difference(b.position, a.position) - now.velocity).norm(), kDifference);
    EXPECT_LE(
      (difference(b.rotation, a.rotation) - skew(now.angular_velocity) * now.rotation).norm(),
      kDifference);
    EXPECT_LE((difference(b.velocity, a.velocity) - now.acceleration_bias).norm(), kDifference);
    EXPECT_LE(
      (difference(b.angular_velocity, a.angular_velocity) - now.angular_acceleration_bias).norm(),
      kDifference);
    const Eigen::Matrix<double, 6, 1> velocity = f.jacobian(i) * f.u;
    EXPECT_LE((velocity.head<3>() - now.velocity).norm(), kRounding);
    EXPECT_LE((velocity.tail<3>() - now.angular_velocity).norm(), kRounding);
    EXPECT_LE(
      (now.rotation.transpose() * now.rotation - Eigen::Matrix3d::Identity()).norm(), kRounding);
  }
}

TEST_P(AnyScene, when_moving_freely_expect_energy_changes_by_damping_only)
{
  Fixture f(GetParam().scene());
  const Eigen::VectorXd udot = f.terms().mass_matrix.llt().solve(f.terms().force);
  const Eigen::VectorXd rates = f.terms().rates;
  // q̈ = bias + C u̇.
  const Eigen::VectorXd bend =
    0.5 * kStep * kStep * (f.terms().acceleration_bias + f.terms().kinematic_matrix * udot);
  const double scale = 1.0 + std::abs(f.energy()) + udot.squaredNorm();
  f.update(f.q + kStep * rates + bend, f.u + kStep * udot);
  const double after = f.energy();
  f.update(f.q - kStep * rates + bend, f.u - kStep * udot);
  const double power = (after - f.energy()) / (2 * kStep);
  const double damped = -f.u.dot(f.system->damping().cwiseProduct(f.u));
  EXPECT_NEAR(power, damped, kDifference * scale);
}

TEST_P(AnyScene, when_at_rest_expect_gravity_torque_is_slope_of_potential_energy)
{
  SceneDescription scene = GetParam().scene();
  scene.springs.clear();
  Fixture f(scene);
  Eigen::VectorXd g(f.system->speed_count());
  f.system->gravity_torque(*f.data, g);
  const Eigen::VectorXd rates = f.terms().rates;
  const Eigen::VectorXd q = f.q;
  const double power = f.u.dot(g);
  f.update(q + kStep * rates, f.u);
  const double after = f.system->centre_of_mass(*f.data).dot(f.system->gravity());
  f.update(q - kStep * rates, f.u);
  const double before = f.system->centre_of_mass(*f.data).dot(f.system->gravity());
  const double slope = -f.system->total_mass() * (after - before) / (2 * kStep);
  EXPECT_NEAR(power, slope, kDifference * f.system->total_mass());
}

TEST_P(AnyScene, when_cycle_runs_expect_no_allocation)
{
  if (!test::counts_allocations())
  {
    GTEST_SKIP() << "allocations are not counted in this build";
  }
  SceneDescription scene = GetParam().scene();
  scene.external_wrenches.push_back({"push", "world"});
  scene.external_wrenches.back().force.setOnes();
  scene.external_wrenches.back().frame = Fixture(scene).system->frame_names().back();
  Fixture f(scene);
  const int last = static_cast<int>(f.system->frame_names().size()) - 1;
  FrameKinematics motion;
  Matrix6X J(6, f.system->speed_count());
  Wrench wrench;
  Eigen::VectorXd g(f.system->speed_count());
  Eigen::VectorXd bad = f.q;
  bad(0) = std::nan("");
  const long before = test::allocation_count() + test::lock_count();
  const Status kinematics = f.system->update_kinematics(0.0, f.q, f.u, *f.data);
  const Status dynamics = f.system->update_dynamics(*f.data);
  f.system->frame_kinematics(*f.data, last, motion);
  f.system->frame_jacobian(*f.data, last, J);
  f.system->joint_wrench(*f.data, 0, wrench);
  f.system->gravity_torque(*f.data, g);
  f.system->set_external_wrench(*f.data, 0, motion.position, motion.velocity);
  f.system->normalise(f.q);
  const double energy = f.energy();
  const Status failed = f.system->update_kinematics(0.0, bad, f.u, *f.data);
  EXPECT_EQ(test::allocation_count() + test::lock_count(), before);
  EXPECT_EQ(kinematics, Status::kOk);
  EXPECT_EQ(dynamics, Status::kOk);
  EXPECT_EQ(failed, Status::kNonFiniteInput);
  EXPECT_TRUE(std::isfinite(energy));
}

TEST_P(AnyScene, when_joint_is_driven_expect_wrench_of_unit_power)
{
  Fixture f(GetParam().scene());
  for (int i = 0; i < f.system->coordinate_count(); ++i)
  {
    if (!f.system->has_joint(i))
    {
      continue;
    }
    Wrench wrench;
    f.system->joint_wrench(*f.data, i, wrench);
    const auto bodies = f.system->joint_bodies(i);
    // Power on the child minus power on the parent, through the Jacobians of the two bodies: joints
    // of one MJCF body share their child, hence the column of this joint only.
    const int speed =
      f.system->speed_index("d" + f.system->coordinate_names()[static_cast<std::size_t>(i)]);
    const int child = f.system->frame_index(bodies.first);
    const Eigen::Matrix<double, 6, 1> column = f.jacobian(child).col(speed);
    const Eigen::Vector3d arm = wrench.point - f.frame(child).position;
    const Eigen::Vector3d v = column.head<3>() + Eigen::Vector3d(column.tail<3>()).cross(arm);
    EXPECT_NEAR(wrench.force.dot(v) + wrench.torque.dot(column.tail<3>()), 1.0, kRounding);
    EXPECT_EQ(f.jacobian(f.system->frame_index(bodies.second)).col(speed).norm(), 0.0);
  }
}

const Case kCases[] = {
  {"arm_fixed", [] { return arm_scene(Base::kFixed); }},
  {"arm_planar", [] { return arm_scene(Base::kPlanar); }},
  {"arm_floating", [] { return arm_scene(Base::kFloating); }},
  {"tree",
   []
   {
     SceneDescription scene;
     scene.robots.push_back(robot("tree.xml"));
     return scene;
   }},
  {"planar_joint", planar_joint_scene},
  {"everything", full_scene}};

INSTANTIATE_TEST_SUITE_P(
  All, AnyScene, ::testing::ValuesIn(kCases),
  [](const ::testing::TestParamInfo<Case> & c) { return std::string(c.param.name); });

TEST(RigidBodySystem, when_pendulum_expect_hand_values)
{
  SceneDescription scene;
  scene.robots.push_back(robot("pendulum.urdf"));
  scene.armature["swing"] = 0.05;
  scene.springs.push_back({"swing", 4.0, 0.1});
  Fixture f(scene);
  f.q << 0.3;
  f.u << -1.2;
  f.update();
  const double m = 2.0, d = 0.5, g = 9.81;
  EXPECT_NEAR(f.terms().mass_matrix(0, 0), 0.2 + m * d * d + 0.05, kRounding);
  EXPECT_NEAR(
    f.terms().force(0), -m * g * d * std::sin(0.3) - 0.3 * -1.2 - 4.0 * (0.3 - 0.1), kRounding);
  EXPECT_EQ(f.terms().input_matrix(0, 0), 1.0);
  EXPECT_NEAR(f.system->kinetic_energy(*f.data), 0.5 * 0.75 * 1.44, kRounding);
  EXPECT_NEAR(
    f.system->potential_energy(*f.data), m * g * (1.0 - d * std::cos(0.3)) + 0.5 * 4.0 * 0.04,
    kRounding);
  const FrameKinematics tip = f.frame(f.system->frame_index("tip"));
  EXPECT_NEAR(tip.position.x(), -std::sin(0.3), kRounding);
  EXPECT_NEAR(tip.position.z(), 1.0 - std::cos(0.3), kRounding);
  // Centripetal only, without gravity.
  EXPECT_NEAR(tip.acceleration_bias.norm(), 1.44, kRounding);
  EXPECT_EQ(f.system->body_of_frame(f.system->frame_index("tip")), "tip");
  Wrench wrench;
  f.system->joint_wrench(*f.data, 0, wrench);
  EXPECT_LE((wrench.torque - Eigen::Vector3d::UnitY()).norm(), kRounding);
  EXPECT_LE((wrench.point - Eigen::Vector3d::UnitZ()).norm(), kRounding);
  EXPECT_EQ(wrench.force.norm(), 0.0);
}

TEST(RigidBodySystem, when_free_body_expect_newton_and_euler)
{
  SceneDescription scene;
  scene.bodies.push_back(brick());
  Fixture f(scene);
  EXPECT_THAT(
    f.system->speed_names(),
    ElementsAre("brick_vx", "brick_vy", "brick_vz", "brick_wx", "brick_wy", "brick_wz"));
  EXPECT_EQ(f.system->input_count(), 0);
  const FreeBody b = brick();
  const Eigen::Vector3d w = f.u.tail<3>();
  const Eigen::Vector3d v = f.u.head<3>();
  const Eigen::Matrix3d R = f.frame(1).rotation;
  // Balance of momentum about the centre of mass, in body axes.
  const Eigen::VectorXd udot = f.terms().mass_matrix.llt().solve(f.terms().force);
  const Eigen::Vector3d wdot = udot.tail<3>();
  const Eigen::Vector3d a_com =
    udot.head<3>() + w.cross(v) + wdot.cross(b.com) + w.cross(w.cross(b.com));
  EXPECT_LE((R * a_com - Eigen::Vector3d(0, 0, -9.81)).norm(), kRounding);
  EXPECT_LE((b.inertia * wdot + w.cross(b.inertia * w)).norm(), kRounding);
}

/// Mass, centre of mass, its orientation and inertia of the links of arm.urdf.
struct ArmLink
{
  const char * name;
  double mass;
  Eigen::Vector3d com;
  Eigen::Vector3d rpy;
  double inertia[6];
};

TEST(RigidBodySystem, when_arm_moves_expect_kinetic_energy_of_its_links)
{
  const ArmLink links[] = {
    {"pedestal", 4, {0, 0, 0.1}, {0, 0, 0}, {.05, 0, 0, .05, 0, .04}},
    {"shoulder", 3, {0.01, -0.02, 0.05}, {0.1, 0.2, 0.3}, {.03, .001, -.002, .04, .003, .025}},
    {"upper", 2.5, {0.1, 0, -0.03}, {0, 0, 0}, {.02, 0, .001, .03, 0, .028}},
    {"fore", 1.5, {0, 0.08, 0.02}, {0, 0, 0}, {.01, .0005, 0, .012, -.001, .009}},
    {"slider", 0.8, {0, 0, 0.1}, {0, 0, 0}, {.004, 0, 0, .004, 0, .001}},
    {"wrist", 0.6, {0.02, 0.01, 0}, {0, 0, 0}, {.001, 0, 0, .0012, 0, .0009}},
    {"tool", 0.3, {0, 0, 0.05}, {0, 0, 0}, {.0004, 0, 0, .0005, 0, .0002}},
    {"left_finger", 0.1, {0, 0.01, 0.02}, {0, 0, 0}, {.00002, 0, 0, .00002, 0, .00001}},
    {"right_finger", 0.1, {0, -0.01, 0.02}, {0, 0, 0}, {.00002, 0, 0, .00002, 0, .00001}}};
  for (const Base base : {Base::kFixed, Base::kPlanar, Base::kFloating})
  {
    Fixture f(arm_scene(base));
    double energy = 0.0;
    double potential = 0.0;
    for (const ArmLink & link : links)
    {
      if (base == Base::kFixed && std::string(link.name) == "pedestal")
      {
        continue;
      }
      const FrameKinematics motion = f.frame(f.system->frame_index(link.name));
      const Eigen::Vector3d r = motion.rotation * link.com;
      const Eigen::Vector3d v = motion.velocity + motion.angular_velocity.cross(r);
      const Eigen::Matrix3d turn = (Eigen::AngleAxisd(link.rpy.z(), Eigen::Vector3d::UnitZ()) *
                                    Eigen::AngleAxisd(link.rpy.y(), Eigen::Vector3d::UnitY()) *
                                    Eigen::AngleAxisd(link.rpy.x(), Eigen::Vector3d::UnitX()))
                                     .toRotationMatrix();
      const double * i = link.inertia;
      Eigen::Matrix3d I;
      I << i[0], i[1], i[2], i[1], i[3], i[4], i[2], i[4], i[5];
      const Eigen::Vector3d w = (motion.rotation * turn).transpose() * motion.angular_velocity;
      energy += 0.5 * link.mass * v.squaredNorm() + 0.5 * w.dot(I * w);
      potential += link.mass * 9.81 * (motion.position + r).z();
    }
    EXPECT_NEAR(f.system->kinetic_energy(*f.data), energy, kRounding * (1 + energy));
    EXPECT_NEAR(f.system->potential_energy(*f.data), potential, kRounding * 100);
    EXPECT_LE((f.terms().mass_matrix - f.terms().mass_matrix.transpose()).norm(), 0.0);
  }
}

TEST(RigidBodySystem, when_scene_is_composed_expect_the_separate_systems)
{
  Fixture whole(full_scene());
  // The left arm alone, with its tool, at the same part of the state.
  SceneDescription scene = full_scene();
  scene.robots.resize(1);
  scene.bodies.clear();
  scene.springs.resize(1);
  scene.dampers.clear();
  Fixture left(scene);
  const Eigen::Index nq = left.q.size();
  const Eigen::Index n = left.u.size();
  left.update(whole.q.head(nq), whole.u.head(n));
  EXPECT_LE(
    (whole.terms().mass_matrix.topLeftCorner(n, n) - left.terms().mass_matrix).norm(), kRounding);
  EXPECT_LE((whole.terms().force.head(n) - left.terms().force).norm(), kRounding);
  EXPECT_EQ(whole.terms().mass_matrix.topRightCorner(n, whole.u.size() - n).norm(), 0.0);
  EXPECT_EQ(
    whole.frame(whole.system->frame_index("blade")).position,
    left.frame(left.system->frame_index("blade")).position);
  // The puck alone is the last of the scene.
  SceneDescription alone;
  alone.bodies.push_back(full_scene().bodies[1]);
  Fixture puck(alone);
  puck.update(whole.q.tail<3>(), whole.u.tail<3>());
  EXPECT_LE(
    (whole.terms().mass_matrix.bottomRightCorner<3, 3>() - puck.terms().mass_matrix).norm(),
    kRounding);
  EXPECT_LE((whole.terms().force.tail<3>() - puck.terms().force).norm(), kRounding);
}

TEST(RigidBodySystem, when_joint_is_locked_expect_rest_of_the_free_system)
{
  Fixture open(arm_scene(Base::kFloating));
  SceneDescription scene = arm_scene(Base::kFloating);
  scene.robots[0].locked = {{"skew", 0.4}, {"reach", -0.05}};
  Fixture locked(scene);
  const int skew = open.system->coordinate_index("skew");
  const int dskew = open.system->speed_index("dskew");
  open.q(skew) = 0.4;
  open.q(skew + 1) = -0.05;
  open.u(dskew) = 0.0;
  open.u(dskew + 1) = 0.0;
  open.update();
  std::vector<int> kept_q, kept_u;
  for (int i = 0; i < open.system->coordinate_count(); ++i)
  {
    if (i != skew && i != skew + 1) kept_q.push_back(i);
  }
  for (int i = 0; i < open.system->speed_count(); ++i)
  {
    if (i != dskew && i != dskew + 1) kept_u.push_back(i);
  }
  locked.update(open.q(kept_q), open.u(kept_u));
  EXPECT_LE(
    (open.terms().mass_matrix(kept_u, kept_u) - locked.terms().mass_matrix).norm(), kRounding);
  EXPECT_LE((open.terms().force(kept_u) - locked.terms().force).norm(), kRounding);
  const FrameKinematics a = open.frame(open.system->frame_index("tool"));
  const FrameKinematics b = locked.frame(locked.system->frame_index("tool"));
  EXPECT_LE((a.position - b.position).norm(), kRounding);
  EXPECT_LE((a.acceleration_bias - b.acceleration_bias).norm(), kRounding);
}

TEST(RigidBodySystem, when_attachment_is_added_expect_its_inertia_through_the_jacobian)
{
  SceneDescription scene = arm_scene(Base::kFixed);
  Fixture bare(scene);
  scene.attachments.push_back(full_scene().attachments[0]);
  scene.attachments[0].parent = "tool";
  Fixture loaded(scene);
  loaded.update(bare.q, bare.u);
  const Attachment & tool = scene.attachments[0];
  const int frame = loaded.system->frame_index("cutter");
  const FrameKinematics motion = loaded.frame(frame);
  const Matrix6X J = loaded.jacobian(frame);
  const Eigen::MatrixXd angular = J.bottomRows<3>();
  const Eigen::MatrixXd linear = J.topRows<3>() - skew(motion.rotation * tool.com) * angular;
  const Eigen::MatrixXd added =
    tool.mass * linear.transpose() * linear +
    angular.transpose() * motion.rotation * tool.inertia * motion.rotation.transpose() * angular;
  EXPECT_LE((loaded.terms().mass_matrix - bare.terms().mass_matrix - added).norm(), kRounding);
  EXPECT_EQ(loaded.system->body_of_frame(frame), "tool");
  EXPECT_NEAR(loaded.system->total_mass() - bare.system->total_mass(), 0.7, kRounding);
}

TEST(RigidBodySystem, when_external_wrench_acts_expect_its_generalized_force)
{
  SceneDescription scene = full_scene();
  Fixture bare(scene);
  scene.external_wrenches.push_back({"wind", "blade", false, {1, 2, 3}, {0.1, 0.2, 0.3}});
  scene.external_wrenches.push_back({"thrust", "brick", true});
  scene.external_wrenches[1].force.setZero();
  scene.external_wrenches[1].torque.setZero();
  Fixture f(scene);
  EXPECT_THAT(f.system->external_wrench_names(), ElementsAre("wind", "thrust"));
  const Eigen::Vector3d force(-1.0, 0.5, 4.0);
  const Eigen::Vector3d torque(0.3, 0.0, -0.2);
  f.system->set_external_wrench(*f.data, 1, force, torque);
  f.system->set_external_wrench(*f.data, 2, force, torque);
  f.system->set_external_wrench(*f.data, -1, force, torque);
  f.update(bare.q, bare.u);
  const int blade = f.system->frame_index("blade");
  const int brick = f.system->frame_index("brick");
  const Eigen::Matrix3d R = f.frame(brick).rotation;
  Eigen::Matrix<double, 6, 1> wind, thrust;
  wind << 1, 2, 3, 0.1, 0.2, 0.3;
  thrust << R * force, R * torque;
  const Eigen::VectorXd expected =
    f.jacobian(blade).transpose() * wind + f.jacobian(brick).transpose() * thrust;
  EXPECT_LE((f.terms().force - bare.terms().force - expected).norm(), kRounding);
}

TEST(RigidBodySystem, when_at_rest_expect_gravity_torque_is_minus_force)
{
  SceneDescription scene = full_scene();
  scene.robots.pop_back();  // the tree has springs
  scene.springs.clear();
  Fixture f(scene);
  f.u.setZero();
  f.update();
  Eigen::VectorXd g(f.u.size());
  f.system->gravity_torque(*f.data, g);
  EXPECT_LE((g + f.terms().force).norm(), kRounding * f.system->total_mass());
}

TEST(RigidBodySystem, when_quaternion_is_scaled_expect_same_dynamics)
{
  SceneDescription scene;
  scene.robots.push_back(robot("tree.xml"));
  Fixture f(scene);
  const SystemTerms before = f.terms();
  Eigen::VectorXd scaled = f.q;
  scaled.segment<4>(3) *= 2.5;
  scaled.segment<4>(7) *= -0.1;
  f.update(scaled, f.u);
  EXPECT_LE((f.terms().mass_matrix - before.mass_matrix).norm(), kRounding);
  EXPECT_LE((f.terms().force - before.force).norm(), kRounding * 10);
  // The rates scale with the quaternion, so that its direction moves the same.
  EXPECT_LE((f.terms().rates.segment<4>(3) - 2.5 * before.rates.segment<4>(3)).norm(), kRounding);
  f.system->normalise(scaled);
  EXPECT_NEAR(scaled.segment<4>(3).norm(), 1.0, 1e-15);
  EXPECT_NEAR(scaled.segment<4>(7).norm(), 1.0, 1e-15);
}

TEST(RigidBodySystem, when_state_is_unusable_expect_status)
{
  SceneDescription scene;
  scene.robots.push_back(robot("tree.xml"));
  Fixture f(scene);
  Eigen::VectorXd q = f.q;
  q.segment<4>(3).setZero();
  EXPECT_EQ(f.system->update_kinematics(0.0, q, f.u, *f.data), Status::kNonFiniteInput);
  q = f.q;
  q(12) = std::nan("");
  EXPECT_EQ(f.system->update_kinematics(0.0, q, f.u, *f.data), Status::kNonFiniteInput);
  EXPECT_EQ(f.system->update_kinematics(0.0, f.q, 1e200 * f.u, *f.data), Status::kNonFiniteResult);
  EXPECT_EQ(f.system->update_kinematics(0.0, f.q.head(3), f.u, *f.data), Status::kSizeMismatch);
  EXPECT_EQ(f.system->update_kinematics(0.0, f.q, f.u, *f.data), Status::kOk);
}

TEST(RigidBodySystem, when_base_is_given_expect_names_of_coordinates)
{
  SceneDescription scene = arm_scene(Base::kPlanar);
  Fixture planar(scene);
  EXPECT_EQ(planar.system->coordinate_names()[2], "base_theta");
  EXPECT_EQ(planar.system->speed_names()[2], "base_wz");
  scene.robots[0].base = Base::kFloating;
  scene.robots[0].name = "crane";
  Fixture floating(scene);
  EXPECT_EQ(floating.system->coordinate_names()[6], "crane_qw");
  EXPECT_EQ(floating.system->coordinate_names()[7], "turn");
  EXPECT_EQ(floating.system->speed_names()[6], "dturn");
  EXPECT_FALSE(floating.system->has_joint(6));
  EXPECT_TRUE(floating.system->has_joint(7));
  const std::pair<std::string, std::string> bodies{"shoulder", "pedestal"};
  EXPECT_EQ(floating.system->joint_bodies(7), bodies);
}

TEST(RigidBodySystem, when_root_link_is_called_world_expect_the_world)
{
  const Fixture at_origin(planar_joint_scene());
  EXPECT_THAT(at_origin.system->frame_names(), ElementsAre("world", "cart"));
  SceneDescription scene = planar_joint_scene();
  scene.robots[0].pose.xyz.x() = 1.0;
  const Fixture moved(scene);
  EXPECT_THAT(moved.system->frame_names(), ElementsAre("world", "base_world", "cart"));
  EXPECT_EQ(moved.frame(1).position.x(), 1.0);
}

TEST(RigidBodySystem, when_scene_is_as_large_as_allowed_expect_the_small_one_repeated)
{
  SceneDescription scene;
  for (int i = 0; i < 55; ++i)  // 495 links, 385 + 2 · 6 speeds
  {
    scene.robots.push_back(robot("arm.urdf", i < 2 ? Base::kFloating : Base::kFixed));
    scene.robots.back().name = "r" + std::to_string(i);
    scene.robots.back().prefix = scene.robots.back().name + "_";
  }
  Fixture large(scene);
  SceneDescription fixed;
  fixed.robots.push_back(robot("arm.urdf"));
  Fixture one(fixed);
  one.update(large.q.tail<7>(), large.u.tail<7>());
  const Eigen::Index n = large.u.size();
  EXPECT_EQ(n, 397);
  EXPECT_LE(
    (large.terms().mass_matrix.bottomRightCorner<7, 7>() - one.terms().mass_matrix).norm(),
    kRounding);
  EXPECT_EQ(large.terms().mass_matrix.bottomLeftCorner(7, n - 7).norm(), 0.0);
  EXPECT_LE((large.terms().force.tail<7>() - one.terms().force).norm(), kRounding);
}

TEST(RigidBodySystem, when_inputs_are_chosen_expect_their_columns)
{
  SceneDescription scene = arm_scene(Base::kFloating);
  scene.actuated = {"reach", "base_wz"};
  Fixture f(scene);
  EXPECT_THAT(f.system->input_names(), ElementsAre("reach", "base_wz"));
  Eigen::MatrixXd G = Eigen::MatrixXd::Zero(f.u.size(), 2);
  G(f.system->speed_index("dreach"), 0) = 1.0;
  G(5, 1) = 1.0;
  EXPECT_EQ(f.terms().input_matrix, G);
}

TEST(RigidBodySystem, when_model_damping_is_off_expect_only_dampers)
{
  SceneDescription scene = arm_scene(Base::kFixed);
  scene.use_model_damping = false;
  scene.dampers["lift"] = 2.0;
  const RigidBodySystem system(scene);
  EXPECT_EQ(system.damping()(0), 0.0);
  EXPECT_EQ(system.damping()(1), 2.0);
}

/// Numbers of another simulator for tree.xml, in this project's speeds.
TEST(RigidBodySystem, when_mjcf_tree_expect_reference_of_mujoco)
{
  std::ifstream file(kRobots + "/tree_reference.txt");
  ASSERT_TRUE(file.good());
  std::string line;
  std::getline(file, line);  // what it is
  const auto read = [&](Eigen::Index size)
  {
    Eigen::VectorXd x(size);
    for (double & value : x)
    {
      file >> value;
    }
    return x;
  };
  SceneDescription scene;
  scene.robots.push_back(robot("tree.xml"));
  Fixture f(scene);
  f.q = read(16);
  f.u = read(14);
  const Eigen::VectorXd force = read(14);
  const Eigen::VectorXd mass = read(14 * 14);
  const Eigen::VectorXd eye = read(3);
  ASSERT_TRUE(file.good());
  f.update();
  EXPECT_LE((f.terms().force - force).norm(), 1e-9);
  EXPECT_LE((f.terms().mass_matrix.reshaped() - mass).norm(), 1e-9);
  EXPECT_LE((f.frame(f.system->frame_index("eye")).position - eye).norm(), 1e-9);
}

void expect_refusal(const SceneDescription & scene, const std::string & part)
{
  try
  {
    RigidBodySystem system(scene);
    ADD_FAILURE() << "not refused: " << part;
  }
  catch (const std::invalid_argument & error)
  {
    EXPECT_THAT(error.what(), HasSubstr(part));
  }
}

TEST(RigidBodySystem, when_scene_is_wrong_expect_refusal_that_names_it)
{
  const double nan = std::nan("");
  const auto with = [](const auto & change)
  {
    SceneDescription scene = full_scene();
    change(scene);
    return scene;
  };
  using Scene = SceneDescription;
  expect_refusal(Scene(), "no robot and no body");
  expect_refusal(with([&](Scene & s) { s.gravity.x() = nan; }), "gravity");
  expect_refusal(with([&](Scene & s) { s.robots[0].pose.xyz.x() = nan; }), "robot 'left'");
  expect_refusal(with([&](Scene & s) { s.robots[1].prefix = "left_"; }), "left_");
  expect_refusal(with([&](Scene & s) { s.robots[1].name = "left"; }), "'left'");
  expect_refusal(with([&](Scene & s) { s.robots[2].base = Base::kFloating; }), "'root'");
  expect_refusal(with([&](Scene & s) { s.robots[0].locked["nope"] = 0.0; }), "'nope'");
  expect_refusal(with([&](Scene & s) { s.robots[2].locked["ball"] = 0.0; }), "'ball'");
  expect_refusal(with([&](Scene & s) { s.robots[0].locked["lift"] = nan; }), "'lift'");
  expect_refusal(
    with([&](Scene & s) { s.robots[0].locked["grip_left"] = 0.0; }), "'grip_right' mimics");
  expect_refusal(with([&](Scene & s) { s.bodies[0].mass = 0.0; }), "'brick'");
  expect_refusal(with([&](Scene & s) { s.bodies[0].mass = -1.0; }), "'brick'");
  expect_refusal(with([&](Scene & s) { s.bodies[0].mass = nan; }), "'brick'");
  expect_refusal(with([&](Scene & s) { s.bodies[0].inertia(0, 1) = 1.0; }), "not symmetric");
  expect_refusal(with([&](Scene & s) { s.bodies[0].inertia.setZero(); }), "'brick'");
  expect_refusal(with([&](Scene & s) { s.bodies[0].inertia *= -1.0; }), "'brick'");
  expect_refusal(with([&](Scene & s) { s.bodies[0].base = Base::kFixed; }), "'brick'");
  expect_refusal(with([&](Scene & s) { s.bodies[1].name = "brick"; }), "'brick'");
  expect_refusal(with([&](Scene & s) { s.bodies[0].name = ""; }), "");
  expect_refusal(with([&](Scene & s) { s.attachments[0].parent = "nope"; }), "'nope'");
  expect_refusal(with([&](Scene & s) { s.attachments[0].parent = "blade"; }), "'cutter'");
  expect_refusal(with([&](Scene & s) { s.attachments[0].mass = -1.0; }), "'cutter'");
  expect_refusal(
    with([&](Scene & s) { s.attachments[0].name = s.frames[0].parent = "brick"; }), "'brick'");
  expect_refusal(with([&](Scene & s) { s.frames[0].parent = "nope"; }), "'nope'");
  expect_refusal(with([&](Scene & s) { s.frames[0].pose.rpy.x() = nan; }), "'blade'");
  expect_refusal(with([&](Scene & s) { s.springs[0].joint = "nope"; }), "'nope'");
  expect_refusal(with([&](Scene & s) { s.springs[0].stiffness = -1.0; }), "left_lift");
  expect_refusal(with([&](Scene & s) { s.springs[0].rest = nan; }), "left_lift");
  expect_refusal(with([&](Scene & s) { s.dampers["left_lift"] = nan; }), "left_lift");
  expect_refusal(with([&](Scene & s) { s.armature["left_lift"] = -1.0; }), "left_lift");
  expect_refusal(with([&](Scene & s) { s.dampers["ball"] = 1.0; }), "'ball'");
  expect_refusal(with([&](Scene & s) { s.actuated = {"nope"}; }), "'nope'");
  expect_refusal(with([&](Scene & s) { s.actuated = {"left_lift", "left_lift"}; }), "left_lift");
  expect_refusal(with([&](Scene & s) { s.external_wrenches.push_back({"w", "nope"}); }), "nope");
}

}  // namespace
}  // namespace constrained_dynamics
