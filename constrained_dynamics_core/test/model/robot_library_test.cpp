// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Published robots: the reader of this project against Pinocchio's own. Closed loops and welds: its
// dynamics against Pinocchio's constrained dynamics, a peer that shares inertia and kinematics with
// it but none of the rest. (One file, because Pinocchio's headers take long to compile.)
#define PINOCCHIO_DISABLE_UNSUPPORTED_WARNINGS  // its authors call that interface unfinished

#include <cmath>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <pinocchio/algorithm/constrained-dynamics.hpp>
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/kinematics.hpp>
#include <pinocchio/algorithm/rnea.hpp>
#include <pinocchio/parsers/urdf.hpp>

#include "constrained_dynamics/constraints/frame_coincidence.hpp"
#include "constrained_dynamics/dynamics/dynamics.hpp"
#include "constrained_dynamics/formulations/registry.hpp"
#include "constrained_dynamics/model/rigid_body_system.hpp"
#include "support/row_problems.hpp"

namespace constrained_dynamics
{
namespace
{

using Ref = Eigen::Ref<const Eigen::VectorXd>;

/// Coordinates as Pinocchio has them: cosine and sine of the joints without limits.
Eigen::VectorXd peer_coordinates(const pinocchio::Model & model, const Eigen::VectorXd & q)
{
  Eigen::VectorXd x(model.nq);
  for (std::size_t j = 1; j < model.joints.size(); ++j)
  {
    const double angle = q(model.joints[j].idx_v());
    if (model.joints[j].nq() == 2)
    {
      x.segment<2>(model.joints[j].idx_q()) << std::cos(angle), std::sin(angle);
    }
    else
    {
      x(model.joints[j].idx_q()) = angle;
    }
  }
  return x;
}

/// Compares inertia and forces of one robot with fixed base at a random state; false if it has no
/// joint or is refused.
bool compare(const std::string & path)
{
  SceneDescription scene;
  scene.robots.push_back(load_robot_description(path));
  scene.use_model_damping = false;
  std::unique_ptr<RigidBodySystem> system;
  try
  {
    system = std::make_unique<RigidBodySystem>(scene);
  }
  catch (const std::invalid_argument &)
  {
    return false;
  }
  pinocchio::Model model;
  pinocchio::urdf::buildModelFromXML(scene.robots[0].text, model);
  pinocchio::Data data(model);
  const int n = system->speed_count();
  EXPECT_EQ(model.nv, n);
  if (model.nv != n || system->coordinate_count() != n)
  {
    return false;
  }
  std::mt19937 generator(11);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  Eigen::VectorXd q(n), u(n);
  for (Eigen::Index i = 0; i < n; ++i)
  {
    q(i) = uniform(generator);
    u(i) = uniform(generator);
  }
  for (std::size_t j = 1; j < model.joints.size(); ++j)
  {
    const Eigen::Index v = model.joints[j].idx_v();
    EXPECT_EQ(model.names[j], system->coordinate_names()[static_cast<std::size_t>(v)]);
  }
  const Eigen::VectorXd x = peer_coordinates(model, q);
  pinocchio::crba(model, data, Ref(x));
  pinocchio::nonLinearEffects(model, data, Ref(x), Ref(u));
  data.M.triangularView<Eigen::StrictlyLower>() = data.M.transpose();
  const std::unique_ptr<SystemData> own = system->make_data();
  EXPECT_EQ(system->update_kinematics(0.0, q, u, *own), Status::kOk);
  EXPECT_EQ(system->update_dynamics(*own), Status::kOk);
  EXPECT_LE((own->terms.mass_matrix - data.M).norm(), 1e-10 * (1.0 + data.M.norm()));
  EXPECT_LE((own->terms.force + data.nle).norm(), 1e-10 * (1.0 + data.nle.norm()));
  return true;
}

TEST(RobotLibrary, when_published_robots_are_read_expect_pinocchios_inertia_and_forces)
{
  const std::string folder = CD_EXAMPLE_ROBOT_DATA;
  if (folder.empty() || !std::filesystem::exists(folder))
  {
    GTEST_SKIP() << "example-robot-data is not there";
  }
  int compared = 0;
  for (const auto & entry : std::filesystem::recursive_directory_iterator(folder))
  {
    if (entry.path().extension() == ".urdf")
    {
      SCOPED_TRACE(entry.path().filename().string());
      compared += compare(entry.path().string()) ? 1 : 0;
    }
  }
  EXPECT_GE(compared, 50);
}

/// Accelerations, and force and torque on the body of frame A in world axes about its origin.
struct PeerSolution
{
  Eigen::VectorXd acceleration;
  Eigen::Vector3d force;
  Eigen::Vector3d torque = Eigen::Vector3d::Zero();
  Eigen::Vector3d point;
};

struct Place
{
  pinocchio::JointIndex joint;
  pinocchio::SE3 pose;
};

Place place_of(const pinocchio::Model & model, const std::string & link)
{
  const pinocchio::Frame & frame = model.frames[model.getFrameId(link)];
  return {frame.parentJoint, frame.placement};
}

/// Pinocchio's constrained dynamics for one contact between two places.
/// @param damping 0 where the rows are independent; above 0 the proximal iteration of the peer.
PeerSolution peer_solution(
  const pinocchio::Model & model, pinocchio::ContactType type, const Place & a, const Place & b,
  const State & state, const Eigen::VectorXd & torques, double damping)
{
  using ConstraintModel = pinocchio::RigidConstraintModelTpl<double, 0>;
  using ConstraintData = pinocchio::RigidConstraintDataTpl<double, 0>;
  pinocchio::Data data(model);
  std::vector<ConstraintModel> constraints;
  constraints.emplace_back(type, model, a.joint, a.pose, b.joint, b.pose, pinocchio::LOCAL);
  std::vector<ConstraintData> constraint_data;
  constraint_data.emplace_back(constraints.back());
  pinocchio::initConstraintDynamics(model, data, constraints, constraint_data);
  pinocchio::ProximalSettingsTpl<double> settings(1e-14, damping, damping > 0.0 ? 200 : 1);
  PeerSolution result;
  result.acceleration = pinocchio::constraintDynamics(
    model, data, peer_coordinates(model, state.q), state.u, torques, constraints, constraint_data,
    settings);
  const pinocchio::SE3 pose = data.oMi[a.joint] * a.pose;
  result.force = pose.rotation() * constraint_data.back().contact_force.linear();
  if (type == pinocchio::CONTACT_6D)
  {
    result.torque = pose.rotation() * constraint_data.back().contact_force.angular();
  }
  result.point = pose.translation();
  return result;
}

/// Every formulation at a state, against the peer.
void expect_peer(
  const ConstraintSet & set, const State & state, const Eigen::VectorXd & inputs,
  const PeerSolution & peer, double tolerance)
{
  for (const std::string & id : formulation_names())
  {
    SCOPED_TRACE(id);
    const Dynamics dynamics(set, {}, make_formulation(id));
    Workspace workspace(dynamics, state);
    ASSERT_EQ(dynamics.solve(state.time, state.q, state.u, inputs, workspace), Status::kOk);
    const Solution & solution = workspace.solution();
    EXPECT_LE(
      (solution.acceleration - peer.acceleration).norm(),
      tolerance * (1.0 + peer.acceleration.norm()));
    const Wrench & on_a = solution.wrenches[0].on_a;
    EXPECT_LE((on_a.point - peer.point).norm(), 1e-12);
    const double size = 1.0 + peer.force.norm() + peer.torque.norm();
    EXPECT_LE((on_a.force - peer.force).norm(), 10.0 * tolerance * size);
    EXPECT_LE((on_a.torque - peer.torque).norm(), 10.0 * tolerance * size);
  }
}

TEST(RobotLibraryDynamics, when_a_loop_is_closed_expect_pinocchios_motion_and_force)
{
  SceneDescription scene;
  scene.robots.push_back(load_robot_description(CD_CONFIG "/robots/four_bar.urdf"));
  scene.use_model_damping = false;
  const auto system = std::make_shared<const RigidBodySystem>(scene);
  pinocchio::Model model;
  pinocchio::urdf::buildModelFromXML(scene.robots[0].text, model);
  ASSERT_EQ(model.nv, system->speed_count());
  const ConstraintSet set(
    system, {std::make_shared<FrameCoincidence>(
              "loop", *system, "coupler_tip", "rocker_tip", std::vector<std::string>{"x", "z"})});
  const Dynamics dynamics{set};
  Workspace workspace = Workspace::unanalysed(dynamics);
  test::Random random(31);
  int states = 0;
  for (int trial = 0; trial < 300 && states < 100; ++trial)
  {
    State state;
    state.q = Eigen::Vector3d(0.3, 1.5, 2.5) + 0.3 * random.vector(3);
    state.u = 2.0 * random.vector(3);
    if (
      dynamics.project_position(0.0, state.q, workspace) != Status::kOk ||
      dynamics.project_velocity(0.0, state.q, state.u, workspace) != Status::kOk)
    {
      continue;
    }
    ++states;
    const Eigen::VectorXd torques = 5.0 * random.vector(3);
    // The row across the plane depends on nothing that moves: only the peer's iteration gets by.
    const PeerSolution peer = peer_solution(
      model, pinocchio::CONTACT_3D, place_of(model, "coupler_tip"), place_of(model, "rocker_tip"),
      state, torques, 1e-6);
    expect_peer(set, state, torques, peer, 1e-9);
  }
  EXPECT_EQ(states, 100);
}

TEST(RobotLibraryDynamics, when_a_hand_is_welded_to_the_world_expect_pinocchios_motion_and_wrench)
{
  const std::string folder = CD_EXAMPLE_ROBOT_DATA;
  if (folder.empty())
  {
    GTEST_SKIP() << "example-robot-data is not installed";
  }
  SceneDescription scene;
  scene.robots.push_back(load_robot_description(folder + "/panda_description/urdf/panda.urdf"));
  scene.use_model_damping = false;
  pinocchio::Model model;
  pinocchio::urdf::buildModelFromXML(scene.robots[0].text, model);
  const Place hand = place_of(model, "panda_hand");
  test::Random random(32);
  for (int i = 0; i < 50; ++i)
  {
    State state;
    state.q = random.vector(model.nq);
    pinocchio::Data data(model);
    pinocchio::forwardKinematics(model, data, Ref(state.q));
    const pinocchio::SE3 pose = data.oMi[hand.joint] * hand.pose;
    SceneDescription welded = scene;
    FrameDescription frame;
    frame.name = "here";
    frame.pose.xyz = pose.translation();
    frame.pose.rpy = pose.rotation().eulerAngles(2, 1, 0).reverse();
    welded.frames.push_back(frame);
    const auto system = std::make_shared<const RigidBodySystem>(welded);
    ASSERT_EQ(model.nv, system->speed_count());
    const ConstraintSet set(
      system, {std::make_shared<FrameCoincidence>("weld", *system, "panda_hand", "here")});
    const Dynamics dynamics{set};
    Workspace workspace = Workspace::unanalysed(dynamics);
    state.u = random.vector(model.nv);
    ASSERT_EQ(dynamics.project_velocity(0.0, state.q, state.u, workspace), Status::kOk);
    // Not every joint of the hand has a motor.
    const Eigen::VectorXd inputs = 10.0 * random.vector(system->input_count());
    ASSERT_EQ(dynamics.solve(0.0, state.q, state.u, inputs, workspace), Status::kOk);
    ASSERT_EQ(dynamics.evaluate_terms(workspace), Status::kOk);
    const Eigen::VectorXd torques = workspace.terms().input_matrix * inputs;
    const PeerSolution peer =
      peer_solution(model, pinocchio::CONTACT_6D, hand, {0, pose}, state, torques, 0.0);
    expect_peer(set, state, inputs, peer, 1e-9);
  }
}

}  // namespace
}  // namespace constrained_dynamics
