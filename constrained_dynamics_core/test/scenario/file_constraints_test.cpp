// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Loops and couplings that robot descriptions state: the same as if they were written by hand in a
// scenario, with forces in closed form.
#include "constrained_dynamics/constraints/file_constraints.hpp"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenario/file_scenarios.hpp"

namespace constrained_dynamics
{
namespace
{

using test::expect_same;
using test::mjcf_scenario;
using test::scenario_of;
using test::Solved;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace fs = std::filesystem;

/// A linkage of two cranks, a coupler and a rocker with bodies of unequal masses, open at the tip of
/// the rocker; references and anchors that are not at origins.
const char * const kLinkage =
  "<mujoco><compiler angle='radian'/>"
  "<worldbody>"
  "  <site name='ground' pos='1.2 0 0.1'/>"
  "  <body name='crank' pos='0 0 0.2' euler='0 0.3 0'>"
  "    <joint name='crank' axis='0 1 0' ref='0.4' damping='0.05'/>"
  "    <inertial pos='0.2 0 0' mass='1.5' diaginertia='0.01 0.05 0.05'/>"
  "    <body name='coupler' pos='0.4 0 0' euler='0 -0.9 0'>"
  "      <joint name='coupler' axis='0 1 0'/>"
  "      <inertial pos='0.45 0 0' mass='2' diaginertia='0.01 0.2 0.2'/>"
  "      <site name='tip' pos='0.9 0 0'/>"
  "    </body>"
  "  </body>"
  "  <body name='rocker' pos='1.2 0 0.1' euler='0 -1.2 0'>"
  "    <joint name='rocker' axis='0 1 0' ref='-0.2'/>"
  "    <inertial pos='0.3 0 0' mass='1.1' diaginertia='0.01 0.08 0.08'/>"
  "    <site name='end' pos='0.6 0 0'/>"
  "  </body>"
  "</worldbody>";

std::string linkage(const std::string & rest) { return kLinkage + rest + "</mujoco>"; }

const char * const kMoving = "initial: {u: {dcrank: 1.3}}";
// Both anchors of a loop that is closed as the document draws it.
const char * const kEnds =
  "  frames:\n"
  "    - {name: a, parent: coupler, pose: {xyz: [0.9, 0, 0]}}\n"
  "    - {name: b, parent: rocker, pose: {xyz: [0.6, 0, 0]}}\n";

TEST(FileConstraints, when_sites_are_connected_expect_the_loop_written_by_hand)
{
  // Out of plane the tree is rigid, so that y is redundant in both.
  const std::string start = "initial: {q: {crank: 0.4}, u: {dcrank: 1.3}}";
  const Scenario file = mjcf_scenario(
    linkage("<equality><connect name='loop' site1='tip' site2='end'/></equality>"), "", start);
  const Scenario hand = mjcf_scenario(
    linkage(""), kEnds,
    "constraints: [{name: loop, type: frame_coincidence, frame_a: a, frame_b: b, rows: [x, y, "
    "z]}]\n" +
      start);
  EXPECT_EQ(file.dynamics()->constraints()[0].name(), "loop");
  EXPECT_LE((file.initial().q - hand.initial().q).norm(), 1e-12);
  expect_same(file, hand, 1e-12);
}

TEST(FileConstraints, when_bodies_are_connected_expect_them_closed_as_drawn)
{
  const std::string equality =
    "<equality><connect body1='coupler' body2='rocker' anchor='0.7 0 0.1'/></equality>";
  const Scenario file = mjcf_scenario(linkage(equality), "", kMoving);
  const Constraint & loop = file.dynamics()->constraints()[0];
  EXPECT_EQ(loop.name(), "connect1");
  EXPECT_EQ(loop.type(), "frame_coincidence");
  // MuJoCo's reference pose satisfies the loop: coordinates are the references.
  EXPECT_LE((file.initial().q - Eigen::Vector3d(0.4, 0.0, -0.2)).norm(), 1e-12);
  EXPECT_EQ(loop.wrench_bodies()[0].body_a, "coupler");
  EXPECT_EQ(loop.wrench_bodies()[0].body_b, "rocker");

  // The same point by hand: on the rocker it is where the coupler has it in the drawing.
  const auto turn = [](double angle)
  { return Eigen::AngleAxisd(angle, Eigen::Vector3d::UnitY()).toRotationMatrix(); };
  const Eigen::Vector3d on_world =
    Eigen::Vector3d(0, 0, 0.2) +
    turn(0.3) * (Eigen::Vector3d(0.4, 0, 0) + turn(-0.9) * Eigen::Vector3d(0.7, 0, 0.1));
  const Eigen::Vector3d b = turn(1.2) * (on_world - Eigen::Vector3d(1.2, 0, 0.1));
  std::ostringstream frames;
  frames.precision(17);
  frames << "  frames:\n"
         << "    - {name: a, parent: coupler, pose: {xyz: [0.7, 0, 0.1]}}\n"
         << "    - {name: b, parent: rocker, pose: {xyz: [" << b.x() << ", 0, " << b.z() << "]}}\n";
  const Scenario hand = mjcf_scenario(
    linkage(equality), frames.str() + "  file_constraints: ignore\n",
    std::string("constraints: [{name: loop, type: frame_coincidence, frame_a: a, frame_b: b, "
                "rows: [x, y, z]}]\n") +
      kMoving);
  EXPECT_THAT(hand.warnings(), ElementsAre(HasSubstr("<connect> '' of <equality> is ignored")));
  expect_same(file, hand, 1e-12);
}

TEST(FileConstraints, when_body_is_connected_to_world_expect_the_anchor_at_rest)
{
  const Scenario file = mjcf_scenario(
    linkage("<equality><connect name='pin' body1='rocker' anchor='0.6 0 0'/></equality>"), "",
    "initial: {u: {dcrank: 1}}");
  const Solved solved(file);
  ASSERT_EQ(solved.status, Status::kOk);
  EXPECT_EQ(file.dynamics()->constraints()[0].wrench_bodies()[0].body_b, "world");
  EXPECT_NEAR(solved.solution().acceleration(2), 0.0, 1e-12);
}

TEST(FileConstraints, when_weld_has_relpose_and_anchor_expect_pose_and_point)
{
  // A free body that hangs 0.3 m below and 0.2 m beside the end of a fixed arm, half turned.
  const std::string document =
    "<mujoco><compiler angle='radian'/><worldbody>"
    "<body name='arm' pos='0 0 1' euler='0 0.5 0'><inertial pos='0 0 0' mass='1' "
    "diaginertia='1 1 1'/></body>"
    "<body name='load' pos='3 2 1'><freejoint/>"
    "<inertial pos='0 0 0' mass='2' diaginertia='0.1 0.2 0.25'/></body></worldbody>"
    "<equality><weld name='grip' body1='arm' body2='load' relpose='0.2 0 -0.3 0.6 0 0 0.8' "
    "anchor='0.1 0 0' torquescale='0.3'/></equality></mujoco>";
  const Scenario file = mjcf_scenario(document, "", "initial: {}");
  const Constraint & weld = file.dynamics()->constraints()[0];
  ASSERT_EQ(weld.row_count(), 6);
  const Eigen::Matrix3d R = Eigen::AngleAxisd(0.5, Eigen::Vector3d::UnitY()).toRotationMatrix();
  const Eigen::Vector3d load = Eigen::Vector3d(0, 0, 1) + R * Eigen::Vector3d(0.2, 0, -0.3);
  EXPECT_LE((file.initial().q.head<3>() - load).norm(), 1e-9);
  const Solved solved(file);
  ASSERT_EQ(solved.status, Status::kOk);
  EXPECT_LE(solved.solution().acceleration.norm(), 1e-9);
  // The arm carries the weight, whose lever about the anchor is from the anchor to the load.
  const Wrench & on_arm = solved.solution().wrenches[0].on_a;
  const Eigen::Vector3d weight(0, 0, -2 * 9.81);
  const Eigen::Matrix3d R_load = R * Eigen::Quaterniond(0.6, 0, 0, 0.8).toRotationMatrix();
  EXPECT_LE((on_arm.point - (load + R_load * Eigen::Vector3d(0.1, 0, 0))).norm(), 1e-9);
  EXPECT_LE((on_arm.force - weight).norm(), 1e-8);
  EXPECT_LE((on_arm.torque - (load - on_arm.point).cross(weight)).norm(), 1e-8);
}

TEST(FileConstraints, when_bodies_hang_on_each_other_expect_their_weights_in_every_loop)
{
  // A free body on a fixed arm by a connect, another on it by a weld, a third on that by a connect:
  // each loop carries what hangs below it, and the weld also the moment about its anchor.
  const std::string document =
    "<mujoco><worldbody>"
    "<body name='arm' pos='0 0 2'><inertial pos='0 0 0' mass='1' diaginertia='1 1 1'/></body>"
    "<body name='upper' pos='0 0 1.5'><freejoint/>"
    "<inertial pos='0 0 0' mass='2' diaginertia='0.1 0.2 0.25'/></body>"
    "<body name='side' pos='0.3 0 1.5'><freejoint/>"
    "<inertial pos='0 0 0' mass='1.5' diaginertia='0.1 0.1 0.1'/></body>"
    "<body name='lower' pos='0.3 0 1'><freejoint/>"
    "<inertial pos='0 0 0' mass='0.5' diaginertia='0.1 0.1 0.1'/></body></worldbody>"
    "<equality><connect name='hook' body1='upper' body2='arm' anchor='0.15 0 0.5'/>"
    "<weld name='plate' body1='side' body2='upper' anchor='-0.15 0 0'/>"
    "<connect name='ring' body1='lower' body2='side' anchor='0 0 0.5'/></equality></mujoco>";
  // The centre of mass of all three, (2 · 0 + 2 · 0.3)/4 = 0.15, is below the hook: they are at rest.
  const Scenario file = mjcf_scenario(document, "", "initial: {}");
  const Solved solved(file);
  ASSERT_EQ(solved.status, Status::kOk);
  EXPECT_LE(solved.solution().acceleration.norm(), 1e-9);
  const auto & wrenches = solved.solution().wrenches;
  ASSERT_EQ(wrenches.size(), 3u);
  const double g = 9.81;
  EXPECT_LE((wrenches[0].on_a.force - Eigen::Vector3d(0, 0, 4.0 * g)).norm(), 1e-9);
  EXPECT_LE((wrenches[1].on_a.force - Eigen::Vector3d(0, 0, 2.0 * g)).norm(), 1e-9);
  EXPECT_LE((wrenches[2].on_a.force - Eigen::Vector3d(0, 0, 0.5 * g)).norm(), 1e-9);
  // The weights of side and lower act at x = 0.3.
  const Eigen::Vector3d arm(0.3 - wrenches[1].on_a.point.x(), 0.0, 0.0);
  const Eigen::Vector3d weight(0.0, 0.0, -2.0 * g);
  EXPECT_LE((wrenches[1].on_a.torque + arm.cross(weight)).norm(), 1e-9);
  EXPECT_LE(wrenches[0].on_a.torque.norm(), 1e-9);
}

TEST(FileConstraints, when_torquescale_is_zero_expect_a_ball)
{
  const Scenario file = mjcf_scenario(
    linkage("<equality><weld body1='rocker' torquescale='0'/></equality>"), "", "initial: {}");
  EXPECT_EQ(file.dynamics()->constraints()[0].name(), "weld1");
  EXPECT_EQ(file.dynamics()->constraints()[0].row_count(), 3);
}

TEST(FileConstraints, when_joint_is_a_polynomial_expect_the_formula_about_references)
{
  const std::string start = "initial: {q: {crank: 0.9}, u: {dcrank: 1.3}}";
  const Scenario file = mjcf_scenario(
    linkage("<equality><joint name='cam' joint1='rocker' joint2='crank' "
            "polycoef='0.1 0.7 -0.3 0.2 0.05'/></equality>"),
    "", start);
  const Scenario hand = mjcf_scenario(
    linkage(""), "",
    "definitions: {x: crank - 0.4}\n"
    "constraints: [{name: cam, type: formula, level: position, rows: ['rocker + 0.2 - (0.1 + "
    "0.7*x - 0.3*x^2 + 0.2*x^3 + 0.05*x^4)']}]\n" +
      start);
  EXPECT_EQ(file.dynamics()->constraints()[0].type(), "polynomial_coupling");
  EXPECT_LE((file.initial().q - hand.initial().q).norm(), 1e-9);
  const Solved a(file);
  const Solved b(hand);
  EXPECT_LE(
    (a.solution().acceleration - b.solution().acceleration).norm(),
    1e-9 * b.solution().acceleration.norm());
  EXPECT_NEAR(a.solution().multipliers(0), b.solution().multipliers(0), 1e-8);
  // It acts on both joints.
  EXPECT_EQ(a.solution().wrenches.size(), 2u);
  // A joint that follows another has no motor.
  EXPECT_THAT(file.dynamics()->system().input_names(), ElementsAre("crank", "coupler"));
}

TEST(FileConstraints, when_equality_is_linear_expect_a_mimic_with_its_name)
{
  const Scenario file = mjcf_scenario(
    linkage("<equality><joint name='belt' joint1='rocker' joint2='crank' polycoef='0.1 "
            "2'/></equality>"),
    "", "initial: {q: {crank: 0.5}}");
  EXPECT_EQ(file.dynamics()->constraints()[0].name(), "belt");
  EXPECT_NEAR(file.initial().q(2), -0.2 + 0.1 + 2.0 * 0.1, 1e-9);
}

TEST(FileConstraints, when_one_joint_is_given_expect_it_held)
{
  const Scenario file = mjcf_scenario(
    linkage("<equality><joint joint1='rocker' polycoef='0.3 5 7'/></equality>"), "", "initial: {}");
  EXPECT_EQ(file.dynamics()->constraints()[0].name(), "joint1");
  EXPECT_NEAR(file.initial().q(2), -0.2 + 0.3, 1e-9);
}

TEST(FileConstraints, when_fixed_tendons_are_equal_expect_the_coupling)
{
  const Scenario file = mjcf_scenario(
    linkage("<tendon><fixed name='s'><joint joint='crank' coef='2'/><joint joint='coupler' "
            "coef='-1'/></fixed><fixed name='t'><joint joint='rocker' coef='0.5'/></fixed></tendon>"
            "<equality><tendon name='pull' tendon1='s' tendon2='t' polycoef='0.1 3'/></equality>"),
    "", "initial: {q: {crank: 0.5, coupler: 0.2}, u: {dcrank: 1, dcoupler: -1}}");
  const Constraint & pull = file.dynamics()->constraints()[0];
  EXPECT_EQ(pull.type(), "joint_coupling");
  // 2 (0.5 − 0.4) − 0.2 = 0.1 + 3 · 0.5 (q + 0.2)
  EXPECT_NEAR(file.initial().q(2), (0.2 - 0.2 - 0.1) / 1.5 - 0.2, 1e-9);
  const Solved solved(file);
  ASSERT_EQ(solved.status, Status::kOk);
  EXPECT_NEAR(
    2.0 * solved.solution().acceleration(0) - solved.solution().acceleration(1),
    1.5 * solved.solution().acceleration(2), 1e-9);
  EXPECT_EQ(solved.solution().wrenches.size(), 3u);
}

TEST(FileConstraints, when_equality_is_not_active_expect_it_off_until_switched)
{
  const std::string equality =
    "<default><equality active='false'/></default>"
    "<equality><connect name='loop' site1='tip' site2='ground'/>"
    "<connect name='pin' active='true' body1='rocker' anchor='0 0.1 0'/></equality>";
  const Scenario file = mjcf_scenario(
    linkage(equality), "", "events: [{time: 1, switch: loop, active: true}]\nrun: {until: 0.1}");
  EXPECT_FALSE(file.is_active(0));
  EXPECT_TRUE(file.is_active(1));
}

TEST(FileConstraints, when_name_is_taken_expect_refusal)
{
  const auto load = [](const std::string & keys)
  {
    return mjcf_scenario(
      linkage("<equality><connect name='loop' site1='tip' site2='end'/></equality>"), keys,
      "constraints: [{name: loop, type: joint, joint: crank}]\ninitial: {}");
  };
  try
  {
    load("");
    ADD_FAILURE() << "not refused";
  }
  catch (const std::invalid_argument & error)
  {
    EXPECT_THAT(error.what(), HasSubstr("constraint 'loop' is stated twice"));
    EXPECT_THAT(error.what(), HasSubstr("<connect> 'loop' of <equality>"));
  }
  EXPECT_EQ(load("  file_constraints: ignore").dynamics()->constraints().size(), 1);
}

TEST(FileConstraints, when_they_are_ignored_expect_no_couplings_and_free_inputs)
{
  const std::string document = linkage(
    "<equality>"
    "<joint joint1='coupler' joint2='crank' polycoef='0 0.5 0 0 0'/>"
    "<joint name='cam' joint1='rocker' joint2='crank' polycoef='0 0 0.5 0 0'/>"
    "</equality>");
  const Scenario used = mjcf_scenario(document, "", "initial: {}");
  EXPECT_EQ(used.dynamics()->constraints().size(), 2);
  EXPECT_EQ(used.system().input_count(), 1);
  const Scenario ignored = mjcf_scenario(document, "  file_constraints: ignore\n", "initial: {}");
  EXPECT_EQ(ignored.dynamics()->constraints().size(), 0);
  EXPECT_EQ(ignored.system().input_count(), 3);
  EXPECT_THAT(
    ignored.warnings(), testing::UnorderedElementsAre(
                          HasSubstr("the coupling of joint 'coupler' to 'crank' is ignored"),
                          HasSubstr("'cam' of <equality> is ignored")));
}

TEST(FileConstraints, when_two_robots_have_loops_expect_prefixes)
{
  const std::string document =
    linkage("<equality><connect name='loop' site1='tip' site2='end'/></equality>");
  const Scenario both = scenario_of(
    "system:\n  robots:\n    - {name: left, mjcf: \"" + document +
    "\"}\n    - {name: right, mjcf: \"" + document + "\", pose: {xyz: [0, 3, 0]}}\n");
  EXPECT_EQ(both.dynamics()->constraints()[0].name(), "left_loop");
  EXPECT_EQ(both.dynamics()->constraints()[1].wrench_bodies()[0].body_a, "right_coupler");
}

TEST(FileConstraints, when_joint_of_a_coupling_is_locked_expect_refusal_or_none)
{
  const std::string document = linkage(
    "<equality><joint name='cam' joint1='rocker' joint2='crank' polycoef='0 0 1'/></equality>");
  EXPECT_THROW(mjcf_scenario(document, "  locked: [rocker]", ""), std::invalid_argument);
  EXPECT_EQ(
    mjcf_scenario(document, "  locked: [rocker, crank]", "").dynamics()->constraints().size(), 0);
}

TEST(FileConstraints, when_built_from_code_expect_the_same_as_in_a_scenario)
{
  const std::string document = linkage(
    "<equality><connect name='loop' site1='tip' site2='end'/>"
    "<joint name='belt' joint1='coupler' joint2='crank'/></equality>");
  const auto system = RigidBodySystem::from_mjcf_text(document);
  ASSERT_EQ(system->file_constraints().size(), 1u);
  const FileConstraint & stated = system->file_constraints()[0];
  EXPECT_EQ(stated.type, "frame_coincidence");
  EXPECT_EQ(std::get<std::string>(stated.keys[0].second), "tip");
  const auto constraints = make_file_constraints(*system);
  ASSERT_EQ(constraints.size(), 2u);
  EXPECT_EQ(constraints[0]->name(), "loop");
  EXPECT_EQ(constraints[1]->name(), "belt");
}

// ---- MuJoCo's own tests of constraint forces ---------------------------------------------------

/// Force and torque with which the world holds `body1`, a cube of 1 kg at rest at the origin that
/// other bodies hang on, as MuJoCo's sensor at its site reads them.
Wrench held_wrench(const Scenario & scenario, const Eigen::Vector3d & gravity)
{
  const Solved solved(scenario);
  EXPECT_EQ(solved.status, Status::kOk);
  Wrench sum;
  sum.force = -gravity;
  const ConstraintSet & set = scenario.dynamics()->constraints();
  for (int i = 0; i < set.size(); ++i)
  {
    for (std::size_t k = 0; k < set[i].wrench_bodies().size(); ++k)
    {
      const WrenchPair & pair =
        solved.solution().wrenches[static_cast<std::size_t>(set.wrench_offset(i)) + k];
      const WrenchBodies & bodies = set[i].wrench_bodies()[k];
      for (const Wrench * on : {&pair.on_a, &pair.on_b})
      {
        if ((on == &pair.on_a ? bodies.body_a : bodies.body_b) == "body1")
        {
          sum.force -= on->force;
          sum.torque -= on->torque + on->point.cross(on->force);
        }
      }
    }
  }
  return sum;
}

std::vector<double> numbers_after(const std::string & text, const std::regex & pattern)
{
  std::smatch match;
  std::vector<double> result;
  if (std::regex_search(text, match, pattern))
  {
    std::istringstream words(match[1].str());
    for (double x; words >> x;)
    {
      result.push_back(x);
    }
  }
  return result;
}

/// Compares with what the sensors of a file expect in `user`.
void expect_sensors(const fs::path & path)
{
  SCOPED_TRACE(path.string());
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  const std::vector<double> g = numbers_after(text.str(), std::regex("gravity=\"([^\"]*)\""));
  ASSERT_EQ(g.size(), 3u);
  std::ostringstream scenario;
  scenario << "system: {mjcf: '" << path.string() << "', gravity: [" << g[0] << ", " << g[1] << ", "
           << g[2] << "]}\n";
  const Scenario loaded = scenario_of(scenario.str());
  const Wrench held = held_wrench(loaded, Eigen::Vector3d(g[0], g[1], g[2]));
  // The sensor's axes.
  const std::unique_ptr<SystemData> data = loaded.dynamics()->system().make_data();
  const State & state = loaded.initial();
  ASSERT_EQ(
    loaded.dynamics()->system().update_kinematics(0.0, state.q, state.u, *data), Status::kOk);
  FrameKinematics frame;
  loaded.dynamics()->system().frame_kinematics(
    *data, loaded.dynamics()->system().frame_index("sensor"), frame);
  const Eigen::Matrix3d R = frame.rotation.transpose();
  int compared = 0;
  for (const std::string kind : {"force", "torque"})
  {
    const std::vector<double> user =
      numbers_after(text.str(), std::regex("<" + kind + " site=\"sensor\" user=\"([^\"]*)\""));
    if (user.size() == 3)
    {
      const Eigen::Vector3d value = R * (kind == "force" ? held.force : held.torque);
      // Their digits.
      EXPECT_LE((value - Eigen::Vector3d(user[0], user[1], user[2])).norm(), 1e-10) << kind;
      ++compared;
    }
  }
  EXPECT_GE(compared, 1);
}

TEST(FileConstraints, when_mujoco_states_forces_expect_them)
{
  const char * folder = std::getenv("CD_MUJOCO_TESTDATA");
  if (folder == nullptr)
  {
    GTEST_SKIP() << "CD_MUJOCO_TESTDATA does not name the folder test/engine/testdata of MuJoCo";
  }
  int count = 0;
  for (const std::string kind : {"connect", "weld"})
  {
    for (const auto & entry :
         fs::directory_iterator(fs::path(folder) / "core_smooth" / "rne_post" / kind))
    {
      expect_sensors(entry.path());
      ++count;
    }
  }
  EXPECT_GE(count, 15);
}

}  // namespace
}  // namespace constrained_dynamics
