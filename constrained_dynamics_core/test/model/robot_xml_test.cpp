// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Robot descriptions: what is read, what is rejected, and with which message.
#include <clocale>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "constrained_dynamics/model/rigid_body_system.hpp"
#include "support/robot_refusal.hpp"

namespace constrained_dynamics
{
namespace
{

using test::refusal;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kRobots = CD_TEST_ROBOTS;

std::string refusal_of_text(const std::string & text, RobotFormat format = RobotFormat::kUrdf)
{
  return test::refusal_of_text(text, format);
}

/// A chain of `count` links with a hinge between each two.
std::string chain(int count)
{
  std::ostringstream text;
  text << "<robot name=\"chain\">";
  for (int i = 0; i < count; ++i)
  {
    text << "<link name=\"l" << i << "\"><inertial><mass value=\"1\"/><inertia ixx=\"1\" iyy=\"1\" "
         << "izz=\"1\" ixy=\"0\" ixz=\"0\" iyz=\"0\"/></inertial></link>";
    if (i > 0)
    {
      text << "<joint name=\"j" << i << "\" type=\"continuous\"><parent link=\"l" << i - 1
           << "\"/><child link=\"l" << i << "\"/></joint>";
    }
  }
  text << "</robot>";
  return text.str();
}

/// A root with `count` − 1 children.
std::string star(int count)
{
  std::ostringstream text;
  text << "<robot name=\"star\"><link name=\"l0\"/>";
  for (int i = 1; i < count; ++i)
  {
    text << "<link name=\"l" << i << "\"/><joint name=\"j" << i
         << "\" type=\"fixed\"><parent link=\"l0\"/><child link=\"l" << i << "\"/></joint>";
  }
  text << "</robot>";
  return text.str();
}

class HostileFile : public ::testing::TestWithParam<std::string>
{
};

// The first line of each file says what the message must contain.
TEST_P(HostileFile, when_loaded_expect_refusal_that_names_it)
{
  const std::string path = kRobots + "/hostile/" + GetParam();
  std::ifstream file(path);
  std::string first;
  std::getline(file, first);
  const std::string mark = "<!-- refused: ";
  ASSERT_EQ(first.rfind(mark, 0), 0u) << path;
  const std::string expected = first.substr(mark.size(), first.size() - mark.size() - 4);
  std::ostringstream rest;
  rest << first << '\n' << file.rdbuf();

  SceneDescription scene;
  scene.robots.resize(1);
  scene.robots[0].source = GetParam();
  scene.robots[0].text = rest.str();
  const std::string ending = std::filesystem::path(path).extension().string();
  scene.robots[0].format = ending == ".xml"   ? RobotFormat::kMjcf
                           : ending == ".sdf" ? RobotFormat::kSdf
                                              : RobotFormat::kUrdf;
  const std::string message = refusal(scene);
  EXPECT_THAT(message, HasSubstr(expected));
  EXPECT_THAT(message, HasSubstr(GetParam()));
}

std::vector<std::string> hostile_files()
{
  std::vector<std::string> names;
  for (const auto & entry : std::filesystem::directory_iterator(kRobots + "/hostile"))
  {
    names.push_back(entry.path().filename().string());
  }
  return names;
}

std::string test_name(const ::testing::TestParamInfo<std::string> & info)
{
  std::string name = info.param;
  for (char & c : name)
  {
    c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, HostileFile, ::testing::ValuesIn(hostile_files()), test_name);

TEST(RobotXml, when_counted_expect_sixty_hostile_files) { EXPECT_GE(hostile_files().size(), 60u); }

TEST(RobotXml, when_links_exceed_500_expect_refusal)
{
  EXPECT_THAT(refusal_of_text(star(501)), HasSubstr("there are 501 links; at most 500"));
  EXPECT_THAT(refusal_of_text(star(500)), HasSubstr("0 degrees of freedom"));
}

TEST(RobotXml, when_depth_exceeds_200_expect_refusal)
{
  EXPECT_THAT(refusal_of_text(chain(201)), HasSubstr("link 'l200' is more than 200 links deep"));
  EXPECT_EQ(refusal_of_text(chain(200)), "");
}

TEST(RobotXml, when_ten_thousand_links_expect_refusal)
{
  EXPECT_THAT(refusal_of_text(chain(10000)), HasSubstr("there are 10000 links; at most 500"));
}

TEST(RobotXml, when_document_exceeds_ten_megabytes_expect_refusal)
{
  const std::string text = "<robot><!--" + std::string(11u << 20, 'x') + "--></robot>";
  EXPECT_THAT(refusal_of_text(text), HasSubstr("at most 10 MB"));
}

TEST(RobotXml, when_nested_deeply_expect_refusal)
{
  std::string text;
  for (int i = 0; i < 100000; ++i)
  {
    text += "<robot>";
  }
  EXPECT_THAT(refusal_of_text(text), HasSubstr("not well-formed XML"));
}

TEST(RobotXml, when_bodies_nested_too_deeply_expect_refusal)
{
  std::string text = "<mujoco><worldbody>";
  std::string end;
  for (int i = 0; i < 300; ++i)
  {
    text += "<body><joint/><geom size=\"0.1\"/>";
    end += "</body>";
  }
  text += end + "</worldbody></mujoco>";
  // Older releases of tinyxml2 read 100 elements within each other, newer ones 500.
  EXPECT_THAT(
    refusal_of_text(text, RobotFormat::kMjcf),
    AnyOf(
      HasSubstr("more than 200 bodies deep"),
      HasSubstr("more elements within each other than tinyxml2 reads (100)")));
}

TEST(RobotXml, when_zero_byte_expect_refusal)
{
  EXPECT_THAT(
    refusal_of_text(std::string("<robot>\0</robot>", 16)), HasSubstr("contains a zero byte"));
}

TEST(RobotXml, when_text_is_empty_expect_refusal)
{
  EXPECT_THAT(refusal_of_text(""), HasSubstr("not well-formed XML"));
}

TEST(RobotXml, when_file_is_missing_expect_refusal)
{
  EXPECT_THROW(load_robot_description("no_such_file.urdf"), std::invalid_argument);
  EXPECT_THROW(load_robot_description(kRobots), std::invalid_argument);
}

TEST(RobotXml, when_root_element_is_unknown_expect_refusal)
{
  EXPECT_THROW(load_robot_description(kRobots + "/hostile/root_wrong.urdf"), std::invalid_argument);
}

TEST(RobotXml, when_loaded_expect_format_of_root_element)
{
  EXPECT_EQ(load_robot_description(kRobots + "/arm.urdf").format, RobotFormat::kUrdf);
  EXPECT_EQ(load_robot_description(kRobots + "/tree.xml").format, RobotFormat::kMjcf);
  EXPECT_EQ(load_robot_description(kRobots + "/hostile/model.sdf").format, RobotFormat::kSdf);
}

TEST(RobotXml, when_slender_rod_expect_accepted)
{
  const std::string rod =
    "<robot name=\"rod\"><link name=\"base\"/><link name=\"rod\"><inertial><mass value=\"1\"/>"
    "<inertia ixx=\"0.0833333\" iyy=\"0.0833333\" izz=\"0\" ixy=\"0\" ixz=\"0\" iyz=\"0\"/>"
    "</inertial></link><joint name=\"j\" type=\"continuous\"><parent link=\"base\"/>"
    "<child link=\"rod\"/></joint></robot>";
  EXPECT_EQ(refusal_of_text(rod), "");
}

TEST(RobotXml, when_locale_has_decimal_comma_expect_same_numbers)
{
  const auto before = RigidBodySystem::from_urdf_file(kRobots + "/arm.urdf")->total_mass();
  const std::string old = std::setlocale(LC_ALL, nullptr);
  for (const char * name : {"de_DE.UTF-8", "de_DE", "fr_FR.UTF-8"})
  {
    if (std::setlocale(LC_ALL, name) != nullptr)
    {
      break;
    }
  }
  const auto after = RigidBodySystem::from_urdf_file(kRobots + "/arm.urdf")->total_mass();
  std::setlocale(LC_ALL, old.c_str());
  EXPECT_EQ(before, after);
}

TEST(RobotXml, when_arm_is_read_expect_names_limits_mimics_and_warnings)
{
  const auto arm = RigidBodySystem::from_urdf_file(kRobots + "/arm.urdf");
  EXPECT_THAT(
    arm->coordinate_names(),
    ElementsAre("turn", "lift", "skew", "reach", "roll", "grip_left", "grip_right"));
  EXPECT_THAT(
    arm->speed_names(),
    ElementsAre("dturn", "dlift", "dskew", "dreach", "droll", "dgrip_left", "dgrip_right"));
  // The mimicking finger has no motor of its own.
  EXPECT_THAT(
    arm->input_names(), ElementsAre("turn", "lift", "skew", "reach", "roll", "grip_left"));
  EXPECT_THAT(
    arm->link_names(), ElementsAre(
                         "pedestal", "shoulder", "upper", "fore", "slider", "wrist", "tool",
                         "left_finger", "right_finger"));
  EXPECT_EQ(arm->frame_names().front(), "world");
  ASSERT_EQ(arm->mimics().size(), 1u);
  EXPECT_EQ(arm->mimics()[0].joint, "grip_right");
  EXPECT_EQ(arm->mimics()[0].source, "grip_left");
  EXPECT_EQ(arm->mimics()[0].multiplier, 1.0);
  EXPECT_EQ(arm->mimics()[0].offset, 0.001);
  EXPECT_EQ(arm->limits()[1].lower, -1.5);
  EXPECT_EQ(arm->limits()[1].upper, 2.0);
  EXPECT_EQ(arm->limits()[1].effort, 40.0);
  EXPECT_EQ(arm->limits()[1].velocity, 3.0);
  EXPECT_TRUE(std::isinf(arm->limits()[0].upper));
  EXPECT_EQ(arm->damping()(0), 0.5);
  ASSERT_EQ(arm->warnings().size(), 1u);
  EXPECT_THAT(arm->warnings()[0], HasSubstr("joint 'turn' states a dry friction of 0.2"));
}

/// A free body, with the text of <option> and the attributes of its joint.
std::shared_ptr<RigidBodySystem> free_mjcf(const std::string & option, const std::string & joint)
{
  return RigidBodySystem::from_mjcf_text(
    "<mujoco>" + option + "<worldbody><body name='b'><joint name='f' type='free' " + joint +
    "/><inertial mass='2' pos='0 0 0' diaginertia='.1 .1 .1'/></body></worldbody></mujoco>");
}

TEST(RobotXml, when_options_would_change_the_motion_expect_warnings)
{
  for (const char * option :
       {"<option gravity='0 0 -1'/>", "<option density='1.2'/>", "<option viscosity='0.1'/>",
        "<option><flag gravity='disable'/></option>",
        "<option><flag equality='disable'/></option>"})
  {
    EXPECT_EQ(free_mjcf(option, "")->warnings().size(), 1u) << option;
  }
  EXPECT_THAT(
    free_mjcf(
      "<option timestep='0.002' gravity='0 0 -9.81'><flag contact='disable' "
      "gravity='enable'/></option>",
      "")
      ->warnings(),
    testing::IsEmpty());
}

TEST(RobotXml, when_mjcf_names_are_misspelt_expect_them_named_once)
{
  const auto body = RigidBodySystem::from_mjcf_text(
    "<mujoco><defoult/><default><joint dampng='1'/></default><option><flag gravty='disable'/>"
    "</option>\n<worldbody><body name='b'><joint name='f' axsi='1 0 0' stiffnesz='3'/><joint "
    "name='g' "
    "axsi='0 1 0'/>\n<inertail mass='2'/><inertial mass='2' pos='0 0 0' diaginertia='.1 .1 "
    ".1'/><geom mas='1' type='plane' purple='1'/></body></worldbody></mujoco>");
  EXPECT_THAT(
    body->warnings(),
    testing::ElementsAre(
      HasSubstr("line 1: element <defoult> of <mujoco> is not known and not read; did you mean "
                "'default'?"),
      HasSubstr("attribute 'dampng' of <joint> is not known and not read; did you mean 'damping'?"),
      HasSubstr("attribute 'gravty' of <flag> is not known"),
      HasSubstr("line 3: element <inertail> of <body> 'b' is not known and not read; did you mean "
                "'inertial'?"),
      HasSubstr("line 2: attribute 'axsi' of <joint> 'f' is not known and not read; did you mean "
                "'axis'?"),
      HasSubstr("attribute 'stiffnesz' of <joint> 'f' is not known and not read; did you mean "
                "'stiffness'?"),
      HasSubstr("attribute 'mas' of <geom> is not known and not read; did you mean 'mass'?"),
      testing::EndsWith("attribute 'purple' of <geom> is not known and not read")));
}

TEST(RobotXml, when_mjcf_states_what_is_no_dynamics_expect_no_warning)
{
  const auto body = RigidBodySystem::from_mjcf_text(
    "<mujoco model='m' xmlns:v='urn:v'><compiler meshdir='m' autolimits='true'/><option "
    "timestep='0.002' cone='elliptic'><flag eulerdamp='disable'/></option><size njmax='5'/>"
    "<visual><global offwidth='1'/></visual><statistic extent='1'/><asset><texture name='t' "
    "builtin='flat'/></asset><default><general kp='1'/><tendon rgba='1 1 1 1'/><default "
    "class='c'><geom rgba='1 0 0 1' solref='1 1'/></default></default><worldbody><light pos='0 0 "
    "1'/><camera name='c'/><body name='b' v:note='mine'><v:mark/><freejoint name='f' "
    "align='false'/><inertial mass='2' pos='0 0 0' diaginertia='.1 .1 .1'/><geom class='c' "
    "size='.1' contype='0' friction='1'/><site name='s' rgba='1 0 0 1'/></body></worldbody>"
    "<sensor><gyro site='s'/></sensor><keyframe><key qpos='0'/></keyframe></mujoco>");
  EXPECT_THAT(body->warnings(), testing::IsEmpty());
}

TEST(RobotXml, when_a_free_joint_has_an_armature_expect_a_straight_way)
{
  const auto body = free_mjcf("", "armature='0.5'");
  ASSERT_EQ(body->warnings().size(), 1u);
  EXPECT_THAT(body->warnings()[0], HasSubstr("joint 'f' states an armature"));
  const auto data = body->make_data();
  Eigen::VectorXd u(6);
  u << 1.0, -2.0, 0.5, 3.0, 1.0, 4.0;
  ASSERT_EQ(body->update_kinematics(0.0, body->neutral_coordinates(), u, *data), Status::kOk);
  ASSERT_EQ(body->update_dynamics(*data), Status::kOk);
  const Eigen::VectorXd rates = data->terms.mass_matrix.ldlt().solve(data->terms.force);
  // Only gravity changes the velocity in axes that do not turn.
  const Eigen::Vector3d acceleration =
    rates.head<3>() + Eigen::Vector3d(u.tail<3>()).cross(Eigen::Vector3d(u.head<3>()));
  EXPECT_LE((acceleration - body->gravity()).norm(), 1e-12);
  EXPECT_NEAR(data->terms.mass_matrix(3, 3), 0.6, 1e-15);
}

TEST(RobotXml, when_tree_is_read_expect_names_limits_and_mimic)
{
  const auto tree = RigidBodySystem::from_mjcf_file(kRobots + "/tree.xml");
  EXPECT_THAT(
    tree->coordinate_names(),
    ElementsAre(
      "root_x", "root_y", "root_z", "root_qx", "root_qy", "root_qz", "root_qw", "ball_qx",
      "ball_qy", "ball_qz", "ball_qw", "pitch", "yaw", "push", "flap", "other_flap"));
  const double degree = std::acos(-1.0) / 180.0;
  const RigidBodySystem::Limits & pitch = tree->limits()[11];
  EXPECT_DOUBLE_EQ(pitch.lower, -30.0 * degree);
  EXPECT_DOUBLE_EQ(pitch.upper, 60.0 * degree);
  ASSERT_EQ(tree->mimics().size(), 1u);
  EXPECT_EQ(tree->mimics()[0].joint, "other_flap");
  EXPECT_EQ(tree->mimics()[0].multiplier, -1.0);
  EXPECT_EQ(tree->mimics()[0].offset, 0.1);
  EXPECT_NO_THROW(tree->frame_index("eye"));
  EXPECT_NO_THROW(tree->frame_index("origin"));
  // Two joints of one body act between that body and its parent.
  const std::pair<std::string, std::string> gimbal{"gimbal", "ball_arm"};
  EXPECT_EQ(tree->joint_bodies(11), gimbal);
  EXPECT_EQ(tree->joint_bodies(12).first, "gimbal");
}

TEST(RobotXml, when_equality_is_ignored_expect_warning)
{
  SceneDescription scene;
  scene.robots.push_back(load_robot_description(kRobots + "/hostile/mjcf_equality_distance.xml"));
  scene.robots[0].use_file_constraints = false;
  const RigidBodySystem system(scene);
  ASSERT_EQ(system.warnings().size(), 1u);
  EXPECT_THAT(system.warnings()[0], HasSubstr("is ignored"));
}

TEST(RobotXml, when_mimic_source_is_unknown_expect_warning)
{
  std::string text = chain(3);
  const std::string joint = "<child link=\"l2\"/>";
  text.insert(text.find(joint), "<mimic joint=\"nowhere\"/>");
  const auto system = RigidBodySystem::from_urdf_text(text);
  EXPECT_TRUE(system->mimics().empty());
  ASSERT_EQ(system->warnings().size(), 1u);
  EXPECT_THAT(system->warnings()[0], HasSubstr("mimics 'nowhere', which is not defined"));
}

/// Robots of example-robot-data whose bodies cannot exist, or that are empty.
bool is_unphysical(const std::string & file)
{
  for (const char * name : {"human.urdf", "icub", "romeo", "ur3.urdf"})
  {
    if (file.rfind(name, 0) == 0)
    {
      return true;
    }
  }
  return false;
}

TEST(RobotXml, when_published_robots_are_loaded_expect_the_physical_ones_accepted)
{
  const std::string folder = CD_EXAMPLE_ROBOT_DATA;
  if (folder.empty() || !std::filesystem::exists(folder))
  {
    GTEST_SKIP() << "example-robot-data is not there";
  }
  int count = 0;
  for (const auto & entry : std::filesystem::recursive_directory_iterator(folder))
  {
    if (entry.path().extension() != ".urdf")
    {
      continue;
    }
    const std::string file = entry.path().filename().string();
    SceneDescription scene;
    scene.robots.push_back(load_robot_description(entry.path().string()));
    scene.robots[0].base = Base::kFloating;
    const std::string message = refusal(scene);
    EXPECT_EQ(is_unphysical(file), !message.empty()) << file << ": " << message;
    ++count;
  }
  EXPECT_GE(count, 60);
}

}  // namespace
}  // namespace constrained_dynamics
