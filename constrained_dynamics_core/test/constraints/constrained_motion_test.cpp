// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Constrained motion: accelerations and forces compared with hand-computed values and with the same
// mechanism in joint coordinates.

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <Eigen/Dense>

#include "constrained_dynamics/constraints/distance.hpp"
#include "constrained_dynamics/constraints/frame_coincidence.hpp"
#include "constrained_dynamics/constraints/joint_coupling.hpp"
#include "constrained_dynamics/constraints/knife_edge.hpp"
#include "constrained_dynamics/constraints/point_on_line.hpp"
#include "constrained_dynamics/constraints/point_on_plane.hpp"
#include "constrained_dynamics/constraints/prescribed_motion.hpp"
#include "constrained_dynamics/constraints/rolling.hpp"
#include "constrained_dynamics/dynamics/dynamics.hpp"
#include "constrained_dynamics/model/rigid_body_system.hpp"
#include "constraints/constraint_conformance.hpp"
#include "support/dense_algebra.hpp"

namespace constrained_dynamics::test
{

using Eigen::AngleAxisd;
using Eigen::Vector3d;
using Eigen::VectorXd;

namespace
{

constexpr double kRounding = 1e-12;
constexpr double kG = 9.81;
constexpr double kMass = 2.0;
constexpr double kSlope = 0.3;  // rad

/// A body called "body" with the given inertia about its origin, which is its centre of mass.
std::shared_ptr<const RigidBodySystem> body_system(
  const Vector3d & inertia, const Vector3d & gravity, const Vector3d & com = Vector3d::Zero())
{
  SceneDescription scene;
  FreeBody body;
  body.name = "body";
  body.mass = kMass;
  body.com = com;
  body.inertia = inertia.asDiagonal();
  scene.bodies.push_back(body);
  scene.gravity = gravity;
  return std::make_shared<const RigidBodySystem>(scene);
}

/// Gravity on a plane z = 0 that falls towards x.
Vector3d sloping_gravity() { return {kG * std::sin(kSlope), 0.0, -kG * std::cos(kSlope)}; }

/// q and u of the body.
TestState body_state(const BodyState & body)
{
  TestState both = two_bodies_state(body);
  both.q.conservativeResize(7);
  both.u.conservativeResize(6);
  return both;
}

Solution solve(
  const std::shared_ptr<const System> & system, std::vector<ConstraintPtr> constraints,
  const TestState & s)
{
  const Dynamics dynamics(ConstraintSet(system, std::move(constraints)));
  Workspace workspace = Workspace::unanalysed(dynamics);
  const Status status =
    dynamics.solve(s.time, s.q, s.u, VectorXd::Zero(system->input_count()), workspace);
  EXPECT_EQ(status, Status::kOk) << to_string(status);
  const VectorXd drift = workspace.rows().velocity;
  EXPECT_LE(drift.cwiseAbs().maxCoeff(), 1e-12) << "the test's state is not on the manifold";
  return workspace.solution();
}

}  // namespace

TEST(ConstrainedMotion, when_a_body_hangs_on_a_hinge_expect_the_pendulum_of_joint_coordinates)
{
  const Vector3d com(0.1, 0.05, -0.4);
  const auto joint = RigidBodySystem::from_urdf_text(
    "<robot name='pendulum'><link name='world'/><link name='rod'><inertial>"
    "<origin xyz='0.1 0.05 -0.4'/><mass value='2'/>"
    "<inertia ixx='0.03' iyy='0.04' izz='0.05' ixy='0' ixz='0' iyz='0'/></inertial></link>"
    "<joint name='j' type='continuous'><parent link='world'/><child link='rod'/>"
    "<axis xyz='0 1 0'/></joint></robot>");
  const auto free = body_system({0.03, 0.04, 0.05}, {0.0, 0.0, -kG}, com);
  const auto hinge = std::make_shared<FrameCoincidence>(
    "hinge", *free, "body", "world", std::vector<std::string>{"x", "y", "z", "rx", "rz"});
  for (const double angle : {0.3, 2.0, 3.1415, -2.5})
  {
    const double rate = 1.7;
    BodyState body;
    body.rotation = AngleAxisd(angle, Vector3d::UnitY());
    body.angular_velocity = rate * Vector3d::UnitY();
    const Solution constrained = solve(free, {hinge}, body_state(body));
    const auto data = joint->make_data();
    ASSERT_EQ(
      joint->update_kinematics(
        0.0, VectorXd::Constant(1, angle), VectorXd::Constant(1, rate), *data),
      Status::kOk);
    ASSERT_EQ(joint->update_dynamics(*data), Status::kOk);
    const double expected = data->terms.force(0) / data->terms.mass_matrix(0, 0);
    EXPECT_NEAR(constrained.acceleration(4), expected, kRounding * 10.0);

    // Newton: the hinge carries m (a_com − g), at the hinge.
    const Vector3d arm = body.rotation * com;
    const Vector3d acceleration =
      expected * Vector3d::UnitY().cross(arm) +
      rate * rate * Vector3d::UnitY().cross(Vector3d::UnitY().cross(arm));
    const Vector3d force = kMass * (acceleration + kG * Vector3d::UnitZ());
    EXPECT_TRUE(constrained.wrenches[0].on_a.force.isApprox(force, 1e-12));
    EXPECT_NEAR(constrained.wrenches[0].on_a.torque.y(), 0.0, 1e-12);
  }
}

TEST(ConstrainedMotion, when_a_bob_circles_on_a_rod_expect_the_tension_of_the_conical_pendulum)
{
  const double length = 1.5;
  const double angle = 0.5;
  const auto system = body_system(Vector3d::Constant(0.1), {0.0, 0.0, -kG});
  BodyState body;
  body.position = length * Vector3d(std::sin(angle), 0.0, -std::cos(angle));
  const double rate = std::sqrt(kG / (length * std::cos(angle)));
  body.velocity = {0.0, rate * length * std::sin(angle), 0.0};
  const Solution solution = solve(
    system, {std::make_shared<Distance>("rod", *system, "body", "world", length)},
    body_state(body));
  EXPECT_NEAR(solution.multipliers(0), -kMass * kG / std::cos(angle), kRounding * 100.0);
  const Vector3d centripetal(-rate * rate * length * std::sin(angle), 0.0, 0.0);
  EXPECT_LE((solution.acceleration.head<3>() - centripetal).norm(), kRounding * 10.0);
}

TEST(ConstrainedMotion, when_sphere_and_disk_roll_downhill_expect_textbook_accelerations)
{
  const double radius = 0.25;
  const double pull = kG * std::sin(kSlope);
  BodyState body;
  body.position = {0.4, -0.3, radius};
  body.velocity = {1.2, 0.0, 0.0};
  body.angular_velocity = {0.0, 1.2 / radius, 0.0};
  const TestState s = body_state(body);
  RollingGeometry geometry;
  geometry.radius = radius;

  const auto sphere =
    body_system(Vector3d::Constant(0.4 * kMass * radius * radius), sloping_gravity());
  const Solution of_sphere =
    solve(sphere, {std::make_shared<Rolling>("roll", *sphere, "body", "world", geometry)}, s);
  EXPECT_NEAR(of_sphere.multipliers(0), kMass * kG * std::cos(kSlope), 1e-11);
  EXPECT_NEAR(of_sphere.multipliers(1), -2.0 / 7.0 * kMass * pull, 1e-11);
  EXPECT_NEAR(of_sphere.multipliers(2), 0.0, 1e-11);
  EXPECT_NEAR(of_sphere.acceleration(4), 5.0 / 7.0 * pull / radius, 1e-11);

  const double diameter_inertia = 0.25 * kMass * radius * radius;
  const auto disk =
    body_system({diameter_inertia, 2.0 * diameter_inertia, diameter_inertia}, sloping_gravity());
  geometry.axis = Vector3d::UnitY();
  const Solution of_disk =
    solve(disk, {std::make_shared<Rolling>("roll", *disk, "body", "world", geometry)}, s);
  EXPECT_NEAR(of_disk.multipliers(1), -1.0 / 3.0 * kMass * pull, 1e-11);
  EXPECT_NEAR(of_disk.acceleration(4), 2.0 / 3.0 * pull / radius, 1e-11);
  EXPECT_TRUE(of_disk.wrenches[0].on_a.point.isApprox(Vector3d(0.4, -0.3, 0.0), 1e-14));
}

TEST(ConstrainedMotion, when_a_skate_stands_across_the_slope_expect_the_blade_to_hold_it)
{
  const auto system = body_system(Vector3d::Constant(0.1), sloping_gravity());
  // The blade points along y; x, downhill, is its forbidden direction.
  const Solution solution = solve(
    system,
    {std::make_shared<PointOnPlane>("ice", *system, "body", "world", Vector3d::UnitZ()),
     std::make_shared<KnifeEdge>("blade", *system, "body", "world", Vector3d::UnitX())},
    body_state({}));
  EXPECT_NEAR(solution.multipliers(0), kMass * kG * std::cos(kSlope), 1e-11);
  EXPECT_NEAR(solution.multipliers(1), -kMass * kG * std::sin(kSlope), 1e-11);
  EXPECT_LE(solution.acceleration.norm(), 1e-12);
}

TEST(ConstrainedMotion, when_a_bead_slides_on_a_wire_expect_the_pull_along_it)
{
  const Vector3d wire = Vector3d(1.0, 2.0, -2.0) / 3.0;
  const auto system = body_system(Vector3d::Constant(0.1), {0.0, 0.0, -kG});
  BodyState body;
  body.position = 0.7 * wire;
  body.velocity = -0.2 * wire;
  const Solution solution = solve(
    system, {std::make_shared<PointOnLine>("wire", *system, "body", "world", wire)},
    body_state(body));
  const Vector3d along = kG * 2.0 / 3.0 * wire;
  EXPECT_LE((solution.acceleration.head<3>() - along).norm(), 1e-12);
  const Vector3d force = kMass * (along + kG * Vector3d::UnitZ());
  EXPECT_TRUE(solution.wrenches[0].on_a.force.isApprox(force, 1e-12));
}

TEST(ConstrainedMotion, when_joints_are_geared_expect_the_minimal_coordinate_equation)
{
  const auto system = robot("arm_6");
  const double ratio = -1.5;
  const auto gear = std::make_shared<JointCoupling>(
    "gear", *system, std::vector<CouplingTerm>{{"j2", ratio}, {"j3", -1.0}});
  TestState s = random_state(*system, 11);
  s.q(2) = ratio * s.q(1);
  s.u(2) = ratio * s.u(1);
  const Solution solution = solve(system, {gear}, s);

  Eigen::MatrixXd basis = Eigen::MatrixXd::Identity(6, 6);
  basis(2, 1) = ratio;
  Eigen::MatrixXd free(6, 5);
  free << basis.leftCols<2>(), basis.rightCols<3>();
  const auto data = system->make_data();
  ASSERT_EQ(system->update_kinematics(s.time, s.q, s.u, *data), Status::kOk);
  ASSERT_EQ(system->update_dynamics(*data), Status::kOk);
  const Eigen::MatrixXd mass = free.transpose() * data->terms.mass_matrix * free;
  const VectorXd expected = free * test::solve_definite(mass, free.transpose() * data->terms.force);
  EXPECT_LE((solution.acceleration - expected).norm(), 1e-10 * expected.norm());
}

TEST(ConstrainedMotion, when_motion_is_prescribed_expect_it_and_the_torque_of_inverse_dynamics)
{
  const auto system = robot("planar_2r");
  const std::vector<ConstraintPtr> constraints{
    std::make_shared<PrescribedCoordinate>("first", *system, "j1", "sin(2*t)"),
    std::make_shared<PrescribedCoordinate>("second", *system, "j2", "0.5*t^2")};
  TestState s;
  s.time = 0.7;
  s.q = Eigen::Vector2d(std::sin(1.4), 0.245);
  s.u = Eigen::Vector2d(2.0 * std::cos(1.4), 0.7);
  const Solution solution = solve(system, constraints, s);
  const Eigen::Vector2d acceleration(-4.0 * std::sin(1.4), 1.0);
  EXPECT_LE((solution.acceleration - acceleration).norm(), 1e-12);
  const auto data = system->make_data();
  ASSERT_EQ(system->update_kinematics(s.time, s.q, s.u, *data), Status::kOk);
  ASSERT_EQ(system->update_dynamics(*data), Status::kOk);
  const VectorXd torque = data->terms.mass_matrix * acceleration - data->terms.force;
  EXPECT_LE((solution.multipliers - torque).norm(), 1e-11 * torque.norm());
}

}  // namespace constrained_dynamics::test
