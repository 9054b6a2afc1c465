// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/servo/robot_profile.hpp"

#include <cmath>
#include <filesystem>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>

#include <gmock/gmock.h>

#include "constrained_dynamics/scenario/profile_file.hpp"
#include "constrained_dynamics/scenario/scenario.hpp"
#include "support/allocation_counter.hpp"

namespace constrained_dynamics::test
{

namespace
{

using ::testing::HasSubstr;

const std::string kData = CD_TEST_DATA;

RobotProfile arm_profile()
{
  RobotProfile profile;
  profile.name = "arm";
  for (const char * joint : {"joint_1", "joint_2", "joint_3", "joint_4"})
  {
    profile.joints.emplace_back();
    profile.joints.back().name = joint;
  }
  profile.command_adds.emplace();
  profile.effort_contains.emplace();
  return profile;
}

/// The arm of arm_on_wall.yaml at a moving state on the wall.
struct Arm
{
  Scenario scenario = Scenario::load(kData + "/arm_on_wall.yaml");
  const Dynamics & dynamics = *scenario.dynamics();
  Workspace workspace{dynamics, scenario.initial()};
  State state = scenario.initial();

  Arm()
  {
    state.u << 0.3, -0.2, 0.5, 0.4;
    EXPECT_EQ(dynamics.project_velocity(0.0, state.q, state.u, workspace), Status::kOk);
    set();
  }
  void set()
  {
    ASSERT_EQ(dynamics.set_state(0.0, state.q, state.u, workspace), Status::kOk);
    ASSERT_EQ(dynamics.evaluate_terms(workspace), Status::kOk);
  }
  double wall_force(const Eigen::VectorXd & effort)
  {
    EXPECT_EQ(dynamics.solve(effort, workspace), Status::kOk);
    return workspace.solution().multipliers(0);
  }
  /// The weight as ∂V/∂q, by central differences of the potential energy: all joints are hinges.
  Eigen::VectorXd weight(const System & system) const
  {
    const auto data = system.make_data();
    Eigen::VectorXd result(4);
    const auto potential = [&](const Eigen::VectorXd & q)
    {
      EXPECT_EQ(system.update_kinematics(0.0, q, Eigen::VectorXd::Zero(4), *data), Status::kOk);
      EXPECT_EQ(system.update_dynamics(*data), Status::kOk);
      return system.potential_energy(*data);
    };
    const double h = 1e-5;
    for (Eigen::Index i = 0; i < 4; ++i)
    {
      const Eigen::VectorXd step = h * Eigen::VectorXd::Unit(4, i);
      result(i) = (potential(state.q + step) - potential(state.q - step)) / (2.0 * h);
    }
    return result;
  }
};

// Central differences with h = 1e-5 of energies of some 30 J: h² and round-off 1e-15·30/1e-5.
constexpr double kDifference = 1e-8;

std::string refusal(const std::string & text)
{
  try
  {
    (void)robot_profile_from_text(text);
  }
  catch (const std::invalid_argument & error)
  {
    return error.what();
  }
  return "";
}

}  // namespace

TEST(JointFriction, when_speed_grows_expect_stribeck_curve)
{
  JointFriction friction;
  friction.viscous = 2.0;
  friction.coulomb = 3.0;
  friction.static_bound = 5.0;
  friction.stribeck = 0.1;
  friction.smoothing = 1e-4;
  EXPECT_EQ(friction.effort(0.0), 0.0);
  EXPECT_EQ(friction.effort(-0.3), -friction.effort(0.3));
  // Just beyond the smoothing the static bound acts; far beyond the Stribeck speed Coulomb's.
  EXPECT_NEAR(friction.effort(1e-3), 5.0, 3e-3);
  EXPECT_NEAR(friction.effort(0.1), 0.2 + 3.0 + 2.0 / std::exp(1.0), 1e-14);
  EXPECT_NEAR(friction.effort(2.0), 4.0 + 3.0, 1e-14);
  friction.static_bound = 0.0;
  EXPECT_NEAR(friction.effort(1e-2), 3.02, 1e-14);
}

// The drive adds g(q). With the right profile the wall feels what the law wants; with a profile
// that does not know, the torques are off by g(q) and nothing else.
TEST(DriveConversion, when_drive_adds_gravity_expect_force_of_the_law_with_the_right_profile_only)
{
  Arm arm;
  const Eigen::VectorXd gravity = arm.weight(arm.scenario.system());
  ASSERT_GT(gravity.norm(), 5.0);
  const Eigen::Vector4d effort(1.0, -20.0, -8.0, 0.5);
  const double wanted = arm.wall_force(effort);
  const Eigen::VectorXd acceleration = arm.workspace.solution().acceleration;
  Eigen::VectorXd sent(4);

  RobotProfile profile = arm_profile();
  profile.command_adds->gravity = true;
  DriveConversion right(profile, arm.scenario.system());
  ASSERT_EQ(
    right.command(arm.workspace.system_data(), effort, acceleration, 1e-3, sent), Status::kOk);
  EXPECT_LT((sent + gravity - effort).cwiseAbs().maxCoeff(), kDifference);
  const double felt = arm.wall_force(sent + gravity);
  EXPECT_NEAR(felt, wanted, 1e2 * kDifference);

  DriveConversion wrong(arm_profile(), arm.scenario.system());
  ASSERT_EQ(
    wrong.command(arm.workspace.system_data(), effort, acceleration, 1e-3, sent), Status::kOk);
  EXPECT_LT((sent + gravity - effort - gravity).cwiseAbs().maxCoeff(), kDifference);
  // The error of the force is the response of the wall to g(q), in statics the weight that the
  // wall would carry: it is linear in the torques.
  const double error = arm.wall_force(sent + gravity) - wanted;
  EXPECT_NEAR(
    error, arm.wall_force(gravity) - arm.wall_force(Eigen::VectorXd::Zero(4)), 1e2 * kDifference);
  EXPECT_GT(std::abs(error), 5.0);
}

// Every combination of terms, from the definition of command and sensor in robot_profile.hpp.
TEST(DriveConversion, when_terms_vary_expect_the_efforts_of_the_model_back)
{
  Arm arm;
  const Eigen::VectorXd gravity = arm.weight(arm.scenario.system());
  const Eigen::Vector4d effort(1.0, -20.0, -8.0, 0.5);
  const Eigen::Vector4d acceleration(2.0, -1.0, 4.0, 3.0);
  for (int bits = 0; bits < 8; ++bits)
  {
    const EffortTerms terms{(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0};
    RobotProfile profile = arm_profile();
    profile.command_adds = terms;
    profile.effort_contains = terms;
    Eigen::Vector4d friction, rotor;
    for (std::size_t i = 0; i < 4; ++i)
    {
      ProfileJoint & joint = profile.joints[i];
      joint.armature = 0.1 + 0.05 * static_cast<double>(i);
      joint.friction.viscous = 1.5;
      joint.friction.coulomb = 0.7;
      const Eigen::Index k = static_cast<Eigen::Index>(i);
      friction(k) = joint.friction.effort(arm.state.u(k));
      rotor(k) = joint.armature * acceleration(k);
    }
    DriveConversion drives(profile, arm.scenario.system());
    Eigen::VectorXd sent(4), found(4);
    ASSERT_EQ(
      drives.command(arm.workspace.system_data(), effort, acceleration, 0.0, sent), Status::kOk);
    Eigen::VectorXd motor = sent;
    motor += (terms.gravity ? 1.0 : 0.0) * gravity;
    motor += (terms.friction ? 1.0 : 0.0) * friction + (terms.armature ? 1.0 : 0.0) * rotor;
    EXPECT_LT((motor - friction - effort).cwiseAbs().maxCoeff(), kDifference) << bits;
    Eigen::VectorXd read = motor;
    read -= (terms.gravity ? 0.0 : 1.0) * gravity;
    read -= (terms.friction ? 0.0 : 1.0) * friction + (terms.armature ? 0.0 : 1.0) * rotor;
    ASSERT_EQ(
      drives.net_effort(arm.workspace.system_data(), read, acceleration, found), Status::kOk);
    EXPECT_LT((found - effort).cwiseAbs().maxCoeff(), kDifference) << bits;
    // The opposite directions undo both.
    EXPECT_LT((drives.offset() - (sent - effort)).cwiseAbs().maxCoeff(), 1e-14) << bits;
    const SystemData & data = arm.workspace.system_data();
    ASSERT_EQ(drives.exerted_effort(data, sent, acceleration, found), Status::kOk);
    EXPECT_LT((found - effort).cwiseAbs().maxCoeff(), 1e-13) << bits;
    ASSERT_EQ(drives.measured_effort(data, effort, acceleration, found), Status::kOk);
    EXPECT_LT((found - read).cwiseAbs().maxCoeff(), kDifference) << bits;
    // At rest nothing is known of speeds: no friction, no rotor.
    ASSERT_EQ(drives.rest_command(data, effort, 0.0, found), Status::kOk);
    const Eigen::VectorXd carried = (terms.gravity ? 1.0 : 0.0) * gravity;
    EXPECT_LT((found + carried - effort).cwiseAbs().maxCoeff(), kDifference) << bits;
  }
}

TEST(DriveConversion, when_drive_does_not_know_the_payload_expect_gravity_of_the_bare_robot)
{
  Arm bare;
  RobotProfile profile = arm_profile();
  profile.payloads.push_back(
    {"gripper", "tip", 1.7, {0.03, -0.02, 0.11}, Eigen::Vector3d(2e-3, 3e-3, 1e-3).asDiagonal()});
  SceneDescription scene;
  scene.robots.push_back(load_robot_description(kData + "/arm_on_wall.urdf"));
  profile.apply(scene);
  const RigidBodySystem loaded(scene);
  EXPECT_NEAR(loaded.total_mass(), 3.0 + 2.0 + 1.5 + 0.5 + 1.7, 1e-12);
  const auto data = loaded.make_data();
  ASSERT_EQ(loaded.update_kinematics(0.0, bare.state.q, bare.state.u, *data), Status::kOk);
  DriveConversion knows(profile, loaded);
  EXPECT_LT((knows.find_gravity(*data) - bare.weight(loaded)).cwiseAbs().maxCoeff(), kDifference);
  profile.drive_knows_payloads = false;
  DriveConversion ignorant(profile, loaded);
  const Eigen::VectorXd expected = bare.weight(bare.scenario.system());
  EXPECT_LT((ignorant.find_gravity(*data) - expected).cwiseAbs().maxCoeff(), kDifference);
}

TEST(DriveConversion, when_limits_bind_expect_limited_and_what_was_requested)
{
  Arm arm;
  RobotProfile profile = arm_profile();
  profile.joints[0].effort_limit = 5.0;
  profile.joints[1].effort_rate_limit = 1000.0;
  DriveConversion drives(profile, arm.scenario.system());
  const Eigen::VectorXd rest = Eigen::VectorXd::Zero(4);
  const SystemData & data = arm.workspace.system_data();
  Eigen::VectorXd out = Eigen::VectorXd::Constant(4, 7.0);
  drives.reset(rest);
  const Eigen::Vector4d effort(9.0, -20.0, 8.0, 0.5);
  const long before = allocation_count();
  const Status status = drives.command(data, effort, rest, 2e-3, out);
  const Status later = drives.command(data, effort, rest, 2e-3, out);
  const Status net = drives.net_effort(data, effort, rest, out);
  EXPECT_EQ(allocation_count(), before);
  EXPECT_EQ(status, Status::kLimited);
  EXPECT_EQ(later, Status::kLimited);
  EXPECT_EQ(net, Status::kOk);
  drives.reset(rest);
  ASSERT_EQ(drives.command(data, effort, rest, 2e-3, out), Status::kLimited);
  EXPECT_EQ(out, Eigen::Vector4d(5.0, -2.0, 8.0, 0.5));
  EXPECT_EQ(drives.requested(), effort);
  ASSERT_EQ(drives.command(data, effort, rest, 2e-3, out), Status::kLimited);
  EXPECT_EQ(out(1), -4.0);
}

TEST(DriveConversion, when_arguments_are_bad_expect_status_and_untouched_output)
{
  Arm arm;
  DriveConversion drives(arm_profile(), arm.scenario.system());
  const Eigen::VectorXd zero = Eigen::VectorXd::Zero(4);
  Eigen::VectorXd bad = zero;
  bad(2) = std::numeric_limits<double>::quiet_NaN();
  const SystemData & data = arm.workspace.system_data();
  Eigen::VectorXd out = Eigen::VectorXd::Constant(4, 7.0);
  EXPECT_EQ(drives.command(data, bad, zero, 1e-3, out), Status::kNonFiniteInput);
  EXPECT_EQ(drives.command(data, zero, bad, 1e-3, out), Status::kNonFiniteInput);
  EXPECT_EQ(drives.command(data, zero, zero, bad(2), out), Status::kNonFiniteInput);
  EXPECT_EQ(drives.command(data, zero.head(3), zero, 1e-3, out), Status::kSizeMismatch);
  EXPECT_EQ(drives.net_effort(data, bad, zero, out), Status::kNonFiniteInput);
  RobotProfile silent = arm_profile();
  silent.command_adds.reset();
  silent.effort_contains.reset();
  DriveConversion unknown(silent, arm.scenario.system());
  EXPECT_EQ(unknown.command(data, zero, zero, 1e-3, out), Status::kDeclined);
  EXPECT_EQ(unknown.net_effort(data, zero, zero, out), Status::kDeclined);
  EXPECT_EQ(out, Eigen::VectorXd::Constant(4, 7.0));
  silent.joints.pop_back();
  EXPECT_THROW(DriveConversion(silent, arm.scenario.system()), std::invalid_argument);
}

TEST(RobotProfileFile, when_written_and_read_expect_the_same_profile)
{
  RobotProfile profile = arm_profile();
  profile.joints[2] = {"joint_3", 50.0, 1000.0 / 3.0, 0.1, {1.0 / 7.0, 2.0, 2.5, 0.02, 1e-4}};
  profile.command_interface = "torque";
  profile.command_adds = EffortTerms{true, false, true};
  profile.effort_contains = EffortTerms{false, true, false};
  profile.drive_knows_payloads = false;
  profile.friction_compensation = 0.8;
  profile.gravity = Eigen::Vector3d(9.81, 0.0, 0.0);
  Eigen::Matrix3d inertia;
  inertia << 1e-2, 1e-4, 2e-4, 1e-4, 2e-2, 3e-4, 2e-4, 3e-4, 3e-2;
  profile.payloads.push_back({"tool", "tip", 0.7, {0.1, 0.2, 0.3}, inertia});
  profile.rate = 500.0;
  profile.delay = 2e-3;
  const std::string text = write_robot_profile(profile);
  const RobotProfile again = robot_profile_from_text(text);
  EXPECT_EQ(write_robot_profile(again), text);
  EXPECT_EQ(again.joints[2].friction.viscous, 1.0 / 7.0);
  EXPECT_EQ(again.joints[2].effort_rate_limit, 1000.0 / 3.0);
  EXPECT_TRUE(std::isinf(again.joints[0].effort_limit));
  EXPECT_EQ(again.payloads[0].inertia, inertia);
  EXPECT_TRUE(again.command_adds->armature);
  EXPECT_FALSE(again.effort_contains->gravity);
}

TEST(RobotProfileFile, when_key_is_wrong_expect_place_value_and_what_is_allowed)
{
  EXPECT_THAT(refusal("profile: a\njoints: [{name: j, efort_limit: 3}]"), HasSubstr("efort_limit"));
  EXPECT_THAT(
    refusal("profile: a\njoints: [{name: j, effort_limit: -3}]"), HasSubstr("profile:2: joints.j"));
  EXPECT_THAT(
    refusal("profile: a\njoints: []\ncommand: {adds: [gravty]}"),
    HasSubstr("gravity, friction, armature"));
  EXPECT_THAT(
    refusal("profile: a\njoints: [{name: j, friction: {coulomb: 2, static: 1}}]"),
    HasSubstr("not below coulomb"));
  EXPECT_THAT(refusal("joints: []"), HasSubstr("'profile' is missing"));
  EXPECT_THAT(refusal("profile: a\njoints: [{name: j}, {name: j}]"), HasSubstr("j"));
  EXPECT_THAT(
    refusal("profile: a\njoints: []\ncommand: {friction_compensation: .nan}"), HasSubstr("finite"));
}

TEST(RobotProfileFile, when_profiles_of_config_are_read_expect_what_their_sources_say)
{
  const std::string folder = std::string(CD_CONFIG) + "/profiles/";
  int count = 0;
  for (const auto & entry : std::filesystem::directory_iterator(folder))
  {
    EXPECT_TRUE(is_robot_profile(entry.path().string()));
    EXPECT_NO_THROW((void)load_robot_profile(entry.path().string())) << entry.path();
    ++count;
  }
  EXPECT_GE(count, 4);
  EXPECT_TRUE(load_robot_profile(folder + "franka_panda.yaml").command_adds->gravity);
  EXPECT_FALSE(load_robot_profile(folder + "kinova_gen3.yaml").command_adds->gravity);
  EXPECT_FALSE(load_robot_profile(folder + "ur5e.yaml").effort_contains->gravity);
  EXPECT_FALSE(is_robot_profile(std::string(CD_CONFIG) + "/scenarios/four_bar.yaml"));
}

TEST(RobotProfileFile, when_scenario_names_a_profile_expect_gravity_rotors_and_payload)
{
  const std::string path = std::string(CD_TEST_OUTPUT) + "/loaded_arm.yaml";
  RobotProfile profile = arm_profile();
  profile.gravity = Eigen::Vector3d(0.0, 9.81, 0.0);
  profile.joints[1].armature = 0.4;
  profile.payloads.push_back({"gripper", "tip", 1.7, {0.0, 0.0, 0.1}, Eigen::Matrix3d::Zero()});
  std::filesystem::create_directories(CD_TEST_OUTPUT);
  FILE * file = std::fopen(path.c_str(), "w");
  ASSERT_NE(file, nullptr);
  std::fputs(write_robot_profile(profile).c_str(), file);
  std::fclose(file);
  const std::string system = "{urdf: " + kData + "/arm_on_wall.urdf, profile: " + path;
  const Scenario scenario = Scenario::from_text("system: " + system + "}");
  const RigidBodySystem & robot = *scenario.system().as_robot();
  EXPECT_NEAR(robot.total_mass(), 8.7, 1e-12);
  EXPECT_EQ(robot.gravity(), *profile.gravity);
  const Scenario bare = Scenario::from_text(
    "system: {urdf: " + kData +
    "/arm_on_wall.urdf, attachments: [{name: g, "
    "parent: tip, mass: 1.7, com: [0, 0, 0.1]}]}");
  Workspace with(*scenario.dynamics(), scenario.initial());
  Workspace without(*bare.dynamics(), bare.initial());
  ASSERT_EQ(scenario.dynamics()->evaluate_terms(with), Status::kOk);
  ASSERT_EQ(bare.dynamics()->evaluate_terms(without), Status::kOk);
  Eigen::MatrixXd rotors = Eigen::MatrixXd::Zero(4, 4);
  rotors(1, 1) = 0.4;
  EXPECT_LT(
    (with.terms().mass_matrix - without.terms().mass_matrix - rotors).cwiseAbs().maxCoeff(), 1e-12);
  EXPECT_THROW(
    (void)Scenario::from_text("system: " + system + ", gravity: [0, 0, -9.81]}"),
    std::invalid_argument);
}

}  // namespace constrained_dynamics::test
