// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Loops beside a URDF: Drake's tags, and the file of the key closed_loops.
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "constrained_dynamics/constraints/file_constraints.hpp"
#include "scenario/file_scenarios.hpp"

namespace constrained_dynamics
{
namespace
{

using test::Folder;
using test::scenario_of;
using test::Solved;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Two pendulums side by side, with fixed joints to their tips.
std::string two_pendulums(const std::string & rest)
{
  const std::string mass =
    "<inertial><origin xyz='0 0 -0.4'/><mass value='1.3'/><inertia ixx='0.1' iyy='0.1' izz='0.02' "
    "ixy='0' ixz='0' iyz='0'/></inertial>";
  std::string text = "<robot name='r'><link name='base'/>";
  for (const std::string side : {"left", "right"})
  {
    text += "<link name='" + side + "'>" + mass + "</link><link name='" + side +
            "_tip'/><joint name='" + side + "_hinge' type='continuous'><origin xyz='" +
            (side == "left" ? "0" : "0.5") +
            " 0 0'/><axis xyz='0 1 0'/><parent link='base'/><child link='" + side +
            "'/></joint><joint name='" + side +
            "_end' type='fixed'><origin xyz='0 0 -1'/><parent "
            "link='" +
            side + "'/><child link='" + side + "_tip'/></joint>";
  }
  return text + rest + "</robot>";
}

TEST(DrakeTags, when_bodies_have_a_ball_constraint_expect_it_with_forces)
{
  const std::string tag =
    "<drake:ball_constraint><drake:ball_constraint_body_A name='left'/><drake:ball_constraint_p_AP "
    "value='0.25 0 -1'/><drake:ball_constraint_body_B name='right'/><drake:ball_constraint_p_BQ "
    "value='-0.25 0 -1'/></drake:ball_constraint><drake:linear_bushing_rpy/>";
  const auto load = [](const std::string & document, const std::string & rest)
  { return scenario_of("system:\n  urdf: \"" + document + "\"\n" + rest); };
  const Scenario file = load(two_pendulums(tag), "initial: {}\n");
  EXPECT_EQ(file.dynamics()->constraints()[0].name(), "ball_constraint1");
  EXPECT_EQ(file.dynamics()->constraints()[0].row_count(), 3);
  EXPECT_THAT(
    file.warnings(),
    ElementsAre(HasSubstr("<drake:linear_bushing_rpy> is a force, which is not applied")));
  const Scenario hand = load(
    two_pendulums(""),
    "  frames: [{name: a, parent: left, pose: {xyz: [0.25, 0, -1]}}, {name: b, parent: right, "
    "pose: {xyz: [-0.25, 0, -1]}}]\n"
    "constraints: [{name: c, type: frame_coincidence, frame_a: a, frame_b: b, rows: [x, y, z]}]\n");
  const Solved a(file);
  const Solved b(hand);
  EXPECT_LE((a.solution().acceleration - b.solution().acceleration).norm(), 1e-13);
  EXPECT_LE((a.solution().multipliers - b.solution().multipliers).norm(), 1e-12);
}

TEST(ClosedLoops, when_file_beside_urdf_states_them_expect_loops_and_motors)
{
  const Folder folder("closed_loops");
  folder.write("robot.urdf", two_pendulums(""));
  folder.write(
    "robot.yaml",
    "closed_loop: [['left_end', 'right_end']]\ntype: ['3d']\nname_mot: ['right_hinge']\n");
  const auto load = [&](const std::string & robot, const std::string & rest)
  { return Scenario::from_text("system: {" + robot + "}\n" + rest, {}, folder.path.string()); };
  const std::string pulled = "initial: {q: {left_hinge: 0.1}, tolerance: 1}\n";
  const Scenario file = load("urdf: robot.urdf, closed_loops: robot.yaml", pulled);
  EXPECT_EQ(file.dynamics()->constraints()[0].name(), "loop1");
  EXPECT_THAT(file.system().input_names(), ElementsAre("right_hinge"));
  EXPECT_EQ(file.dynamics()->constraints()[0].wrench_bodies()[0].frame_a, "left_tip");
  const Scenario hand = load(
    "urdf: robot.urdf, actuated: [right_hinge]",
    "constraints: [{name: loop1, type: frame_coincidence, frame_a: left_tip, frame_b: right_tip, "
    "rows: [x, y, z]}]\n" +
      pulled);
  const Solved a(file);
  const Solved b(hand);
  EXPECT_EQ(a.solution().acceleration, b.solution().acceleration);
  EXPECT_EQ(a.solution().multipliers, b.solution().multipliers);

  const auto refusal = [&](const std::string & yaml, const std::string & more = "")
  {
    folder.write("bad.yaml", yaml);
    try
    {
      load("urdf: robot.urdf, closed_loops: bad.yaml" + more, "");
    }
    catch (const std::invalid_argument & error)
    {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(refusal("closed_loop: [[left_end]]"), HasSubstr("the names of two frames"));
  EXPECT_THAT(refusal("closed_loop: [[left_end, toe]]"), HasSubstr("toe"));
  EXPECT_THAT(refusal("closed_loop: [[left_end, right_end]]\ntype: [5d]"), HasSubstr("bad.yaml:2"));
  EXPECT_THAT(
    refusal("closed_loop: [[left_end, right_end]]\ntype: [3d, 3d]"), HasSubstr("2 items for 1"));
  EXPECT_THAT(
    refusal("joint_name: [left_hinge]\njoint_type: [SLIDER]"),
    HasSubstr("allowed: FIXED, SPHERICAL, UJOINT_XY"));
  EXPECT_THAT(
    refusal("joint_name: [hip]\njoint_type: [SPHERICAL]"),
    HasSubstr("joint 'hip' is replaced but is not a joint with one degree of freedom"));
  EXPECT_THAT(refusal("loops: []"), HasSubstr("unknown key"));
  EXPECT_THAT(refusal("name_mot: [hip]"), HasSubstr("hip"));
  EXPECT_THAT(refusal("{}", ", file_constraints: ignore"), HasSubstr("not allowed beside"));
}

TEST(ClosedLoops, when_joints_become_balls_and_universals_expect_their_motion)
{
  const Folder folder("replaced_joints");
  folder.write("robot.urdf", two_pendulums(""));
  folder.write(
    "robot.yaml",
    "joint_name: [left_hinge, right_hinge]\njoint_type: [SPHERICAL, UJOINT_XY]\n"
    "name_mot: [right_hinge_Y]\n");
  const Scenario file = Scenario::from_text(
    "system: {urdf: robot.urdf, closed_loops: robot.yaml}\n"
    "initial: {q: {left_hinge: [0.19866933079506122, 0, 0, 0.98006657784124163], "
    "right_hinge_X: 0.4}, u: {left_hinge: [0, 0, 0]}}\n",
    {}, folder.path.string());
  EXPECT_THAT(
    file.system().speed_names(),
    ElementsAre(
      "left_hinge_wx", "left_hinge_wy", "left_hinge_wz", "dright_hinge_X", "dright_hinge_Y"));
  EXPECT_THAT(file.system().input_names(), ElementsAre("right_hinge_Y"));
  // Both are turned by 0.4 rad about x: pendulums about x, with the moment of the link about it.
  const Solved solved(file);
  ASSERT_EQ(solved.status, Status::kOk);
  const double expected = -1.3 * 9.81 * 0.4 * std::sin(0.4) / (0.1 + 1.3 * 0.16);
  EXPECT_NEAR(solved.solution().acceleration(0), expected, 1e-9);
  EXPECT_NEAR(solved.solution().acceleration(3), expected, 1e-9);
}

/// Two pendulums, 1 m apart, as YAML. @param rod whether a link without mass hangs on the left tip.
std::string coupled_pendulums(bool rod)
{
  const std::string mass =
    "<inertial><origin xyz='0 0 -0.4'/><mass value='1.3'/><inertia ixx='0.1' iyy='0.1' izz='0.02' "
    "ixy='0' ixz='0' iyz='0'/></inertial>";
  const auto joint = [](
                       const std::string & name, const std::string & parent,
                       const std::string & child, const std::string & at)
  {
    return "<joint name='" + name + "' type='continuous'><origin xyz='" + at +
           "'/><axis xyz='0 1 0'/><parent link='" + parent + "'/><child link='" + child +
           "'/></joint>";
  };
  const std::string frames =
    "{name: knee, parent: left, pose: {xyz: [0, 0, -1]}}, "
    "{name: tip, parent: right, pose: {xyz: [0, 0, -0.9]}}";
  return "system:\n  urdf: \"<robot name='r'><link name='base'/><link name='left'>" + mass +
         "</link><link name='right'>" + mass + "</link>" +
         joint("left_hinge", "base", "left", "0 0 0") +
         joint("right_hinge", "base", "right", "1 0 0") +
         (rod ? "<link name='rod'/>" + joint("rod_hinge", "left", "rod", "0 0 -1") : "") +
         "</robot>\"\n  frames: [" + frames +
         (rod ? ", {name: end, parent: rod, pose: {xyz: [1.1, 0, 0]}}" : "") + "]\n";
}

TEST(LightLinks, when_rod_has_no_mass_expect_the_motion_and_tension_of_a_distance)
{
  const std::string loop =
    "constraints: [{name: loop, type: frame_coincidence, frame_a: end, frame_b: tip, rows: [x, "
    "z]}]\ninitial: {q: {left_hinge: 0.3}, u: {dleft_hinge: 0.7}}\n";
  try
  {
    scenario_of(coupled_pendulums(true) + loop);
    ADD_FAILURE() << "not refused";
  }
  catch (const std::invalid_argument & error)
  {
    EXPECT_THAT(error.what(), HasSubstr("link 'rod': its mass is 0 kg"));
    EXPECT_THAT(error.what(), HasSubstr("light_links: allow"));
  }
  const Scenario light = scenario_of(coupled_pendulums(true) + "  light_links: allow\n" + loop);
  const Solved a(light);
  ASSERT_EQ(a.status, Status::kOk);
  const System & system = light.system();
  const auto angle = [&](const char * name)
  { return light.initial().q(system.coordinate_index(name)); };
  std::ostringstream same;
  same.precision(17);
  same << "constraints: [{name: loop, type: distance, frame_a: knee, frame_b: tip, length: 1.1}]\n"
       << "initial: {q: {left_hinge: " << angle("left_hinge")
       << ", right_hinge: " << angle("right_hinge") << "}, u: {dleft_hinge: 0.7}}\n";
  const Scenario rod = scenario_of(coupled_pendulums(false) + same.str());
  const Solved b(rod);
  ASSERT_EQ(b.status, Status::kOk);
  for (const char * name : {"dleft_hinge", "dright_hinge"})
  {
    const double expected = b.solution().acceleration(rod.system().speed_index(name));
    EXPECT_GT(std::abs(expected), 0.1);
    EXPECT_NEAR(a.solution().acceleration(system.speed_index(name)), expected, 1e-9);
  }
  // A massless link carries force along itself only.
  EXPECT_NEAR(
    a.solution().wrenches[0].on_a.force.norm(), b.solution().wrenches[0].on_a.force.norm(), 1e-9);
  EXPECT_GT(b.solution().wrenches[0].on_a.force.norm(), 0.1);
}

TEST(LightLinks, when_motion_of_the_link_is_free_expect_singular_inertia)
{
  const Solved solved(scenario_of(coupled_pendulums(true) + "  light_links: allow\n"));
  EXPECT_EQ(solved.status, Status::kSingularInertia);
}

/// A robot of others, read from the folder that an environment variable names.
struct PublishedRobot
{
  const char * folder;
  const char * keys;
  int speeds;
  int rank;
};

// The robots of the table in doc/closed_chains.md.
const std::vector<PublishedRobot> kPublished = {
  {"CD_MENAGERIE", "mjcf: agility_cassie/scene.xml", 32, 10},
  {"CD_MENAGERIE", "mjcf: robotiq_2f85_v4/2f85.xml", 6, 5},
  {"CD_MENAGERIE", "mjcf: ufactory_xarm7/xarm7.xml, model_friction: false", 13, 5},
  {"CD_MENAGERIE", "mjcf: iit_softfoot/softfoot.xml, model_friction: false", 92, 55},
  {"CD_PARALLEL_ROBOTS",
   "urdf: 5bar_linkage_iso3d/robot.urdf, closed_loops: 5bar_linkage_iso3d/robot.yaml", 5, 3},
  {"CD_PARALLEL_ROBOTS", "urdf: 5bar_linkage/robot.urdf, closed_loops: 5bar_linkage/robot.yaml", 6,
   3},
  {"CD_PARALLEL_ROBOTS", "urdf: robot_delta/robot.urdf, closed_loops: robot_delta/robot.yaml", 14,
   9},
};

class PublishedLoops : public ::testing::TestWithParam<PublishedRobot>
{
};

TEST_P(PublishedLoops, when_loaded_expect_it_assembled_with_its_degrees_of_freedom)
{
  const char * folder = std::getenv(GetParam().folder);
  if (folder == nullptr)
  {
    GTEST_SKIP() << GetParam().folder << " does not name the folder of " << GetParam().keys;
  }
  const Scenario robot =
    Scenario::from_text("system: {" + std::string(GetParam().keys) + "}\n", {}, folder);
  EXPECT_EQ(robot.system().speed_count(), GetParam().speeds);
  const Solved solved(robot);
  EXPECT_EQ(solved.status, Status::kOk);
  EXPECT_EQ(solved.workspace.rank_report().nominal_rank, GetParam().rank);
}

INSTANTIATE_TEST_SUITE_P(All, PublishedLoops, ::testing::ValuesIn(kPublished));

}  // namespace
}  // namespace constrained_dynamics
