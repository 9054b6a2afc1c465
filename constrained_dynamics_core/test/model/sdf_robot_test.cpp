// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Robots described in SDF: equivalents of URDF robots, hand-computed values, and rejected files.
// The files of test/robots/hostile are read by robot_xml_test.
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <ostream>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <Eigen/Geometry>

#include "constrained_dynamics/model/rigid_body_system.hpp"
#include "support/robot_refusal.hpp"

namespace constrained_dynamics
{
namespace
{

using test::refusal;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kRobots = CD_TEST_ROBOTS;
/// Rounding of some hundred operations on numbers of the order of ten.
constexpr double kTwin = 1e-12;
constexpr double kGravity = 9.81;

std::string refusal_of_text(const std::string & text, Base base = Base::kFixed)
{
  return test::refusal_of_text(text, RobotFormat::kSdf, base);
}

std::string replaced(std::string text, const std::string & from, const std::string & to)
{
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

/// A system at a state.
struct Fixture
{
  std::shared_ptr<RigidBodySystem> system;
  std::unique_ptr<SystemData> data;

  explicit Fixture(std::shared_ptr<RigidBodySystem> given)
  : system(std::move(given)), data(system->make_data())
  {
    update(system->neutral_coordinates(), Eigen::VectorXd::Zero(system->speed_count()));
  }
  explicit Fixture(const std::string & sdf, Base base = Base::kFixed)
  : Fixture(RigidBodySystem::from_sdf_text(sdf, base))
  {
  }
  explicit Fixture(const SceneDescription & scene)
  : Fixture(std::make_shared<RigidBodySystem>(scene))
  {
  }

  void update(const Eigen::VectorXd & q, const Eigen::VectorXd & u)
  {
    ASSERT_EQ(system->update_kinematics(0.0, q, u, *data), Status::kOk);
    ASSERT_EQ(system->update_dynamics(*data), Status::kOk);
  }
  const SystemTerms & terms() const { return data->terms; }
  FrameKinematics frame(const std::string & name) const
  {
    FrameKinematics motion;
    system->frame_kinematics(*data, system->frame_index(name), motion);
    return motion;
  }
  Matrix6X jacobian(const std::string & name) const
  {
    Matrix6X J(6, system->speed_count());
    system->frame_jacobian(*data, system->frame_index(name), J);
    return J;
  }
};

void expect_near(const Eigen::MatrixXd & a, const Eigen::MatrixXd & b, const std::string & what)
{
  ASSERT_EQ(a.rows(), b.rows()) << what;
  ASSERT_EQ(a.cols(), b.cols()) << what;
  const double scale = std::max(1.0, b.cwiseAbs().maxCoeff());
  EXPECT_LE((a - b).cwiseAbs().maxCoeff(), kTwin * scale) << what;
}

void expect_same_motion(const Fixture & a, const Fixture & b)
{
  expect_near(a.terms().mass_matrix, b.terms().mass_matrix, "Q");
  expect_near(a.terms().force, b.terms().force, "P");
  for (const std::string & name : b.system->frame_names())
  {
    const FrameKinematics x = a.frame(name);
    const FrameKinematics y = b.frame(name);
    expect_near(x.position, y.position, name + ": position");
    expect_near(x.rotation, y.rotation, name + ": rotation");
    expect_near(x.velocity, y.velocity, name + ": velocity");
    expect_near(x.angular_velocity, y.angular_velocity, name + ": angular velocity");
    expect_near(x.acceleration_bias, y.acceleration_bias, name + ": acceleration");
    expect_near(
      x.angular_acceleration_bias, y.angular_acceleration_bias, name + ": angular acceleration");
    expect_near(a.jacobian(name), b.jacobian(name), name + ": Jacobian");
  }
}

struct Twin
{
  const char * name;
  const char * file;
  Base base;
};

void PrintTo(const Twin & twin, std::ostream * out) { *out << twin.name; }

class SdfTwin : public ::testing::TestWithParam<Twin>
{
};

TEST_P(SdfTwin, when_state_is_random_expect_terms_and_frames_of_urdf_arm)
{
  const auto scene = [](const std::string & file)
  {
    SceneDescription description;
    description.robots.push_back(load_robot_description(kRobots + "/" + file));
    description.robots[0].base = GetParam().base;
    description.robots[0].pose.xyz = Eigen::Vector3d(0.2, -0.3, 0.5);
    description.robots[0].pose.rpy = Eigen::Vector3d(0.4, 0.2, -1.0);
    return description;
  };
  Fixture sdf(scene(GetParam().file));
  Fixture urdf(scene("arm.urdf"));
  EXPECT_EQ(sdf.system->coordinate_names(), urdf.system->coordinate_names());
  EXPECT_EQ(sdf.system->speed_names(), urdf.system->speed_names());
  EXPECT_EQ(sdf.system->link_names(), urdf.system->link_names());
  EXPECT_DOUBLE_EQ(sdf.system->total_mass(), urdf.system->total_mass());
  EXPECT_EQ(sdf.system->damping(), urdf.system->damping());

  const unsigned seed = 11;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> uniform(-1.0, 1.0);
  for (int i = 0; i < 20; ++i)
  {
    Eigen::VectorXd q = urdf.system->neutral_coordinates();
    Eigen::VectorXd u(urdf.system->speed_count());
    for (double & x : q)
    {
      x += uniform(generator);
    }
    for (double & x : u)
    {
      x = uniform(generator);
    }
    urdf.system->normalise(q);
    sdf.update(q, u);
    urdf.update(q, u);
    expect_same_motion(sdf, urdf);
  }
}

INSTANTIATE_TEST_SUITE_P(
  Arm, SdfTwin,
  ::testing::Values(
    Twin{"fixed", "arm.sdf", Base::kFixed}, Twin{"planar", "arm.sdf", Base::kPlanar},
    Twin{"floating", "arm.sdf", Base::kFloating}, Twin{"old_fixed", "arm_1_4.sdf", Base::kFixed},
    Twin{"old_floating", "arm_1_4.sdf", Base::kFloating}),
  [](const ::testing::TestParamInfo<Twin> & twin) { return twin.param.name; });

TEST(SdfRobot, when_arm_is_read_expect_limits_mimics_inputs_and_warnings_of_urdf_arm)
{
  const auto sdf = RigidBodySystem::from_sdf_file(kRobots + "/arm.sdf");
  const auto urdf = RigidBodySystem::from_urdf_file(kRobots + "/arm.urdf");
  EXPECT_EQ(sdf->input_names(), urdf->input_names());
  ASSERT_EQ(sdf->limits().size(), urdf->limits().size());
  for (std::size_t i = 0; i < sdf->limits().size(); ++i)
  {
    EXPECT_EQ(sdf->limits()[i].lower, urdf->limits()[i].lower) << i;
    EXPECT_EQ(sdf->limits()[i].upper, urdf->limits()[i].upper) << i;
    EXPECT_EQ(sdf->limits()[i].effort, urdf->limits()[i].effort) << i;
    EXPECT_EQ(sdf->limits()[i].velocity, urdf->limits()[i].velocity) << i;
  }
  ASSERT_EQ(sdf->mimics().size(), 1u);
  EXPECT_EQ(sdf->mimics()[0].joint, "grip_right");
  EXPECT_EQ(sdf->mimics()[0].source, "grip_left");
  EXPECT_EQ(sdf->mimics()[0].multiplier, 1.0);
  // multiplier (q − reference) + offset
  EXPECT_DOUBLE_EQ(sdf->mimics()[0].offset, 0.001);
  ASSERT_EQ(sdf->warnings().size(), 1u);
  EXPECT_THAT(sdf->warnings()[0], HasSubstr("joint 'turn' states a dry friction of 0.2"));
  EXPECT_EQ(sdf->joint_bodies(3), urdf->joint_bodies(3));
  EXPECT_EQ(sdf->body_of_frame(sdf->frame_index("grip_mount")), "tool");
}

TEST(SdfRobot, when_old_arm_is_read_expect_warning_about_include_only)
{
  const auto sdf = RigidBodySystem::from_sdf_file(kRobots + "/arm_1_4.sdf");
  ASSERT_EQ(sdf->warnings().size(), 2u);
  EXPECT_THAT(sdf->warnings()[0], HasSubstr("<include> beside the model is not read"));
  EXPECT_THAT(sdf->warnings()[0], HasSubstr("model://sun"));
  EXPECT_THAT(sdf->warnings()[1], HasSubstr("dry friction"));
}

TEST(SdfRobot, when_format_is_detected_expect_sdf)
{
  EXPECT_EQ(load_robot_description(kRobots + "/arm.sdf").format, RobotFormat::kSdf);
}

// ---- poses ------------------------------------------------------------------------------------

const std::string kInertial =
  "<inertial><mass>2</mass><inertia><ixx>0.1</ixx><iyy>0.1</iyy><izz>0.1</izz></inertia>"
  "</inertial>";

/// A document with one model.
std::string sdf(const std::string & model, const std::string & version = "1.11")
{
  return "<sdf version=\"" + version + "\"><model name=\"m\">" + model + "</model></sdf>";
}

std::string link(const std::string & name, const std::string & pose = "")
{
  return "<link name=\"" + name + "\">" + pose + kInertial + "</link>";
}

std::string joint(
  const std::string & name, const std::string & type, const std::string & parent,
  const std::string & child, const std::string & rest = "<axis><xyz>0 0 1</xyz></axis>")
{
  return "<joint name=\"" + name + "\" type=\"" + type + "\"><parent>" + parent +
         "</parent><child>" + child + "</child>" + rest + "</joint>";
}

TEST(SdfRobot, when_poses_are_chained_expect_product)
{
  const Fixture f(sdf(
    link("base") + link("arm", "<pose relative_to=\"hinge\">1 0 0 0 0 0</pose>") +
    joint(
      "hinge", "revolute", "base", "arm",
      "<pose relative_to=\"post\" degrees=\"1\">0 0 2 0 0 90</pose><axis><xyz>1 0 0</xyz></axis>") +
    "<frame name=\"post\" attached_to=\"base\"><pose relative_to=\"foot\">0 5 0 0 0 "
    "0</pose></frame>"
    "<frame name=\"foot\"><pose rotation_format=\"quat_xyzw\">3 0 0  0 0 2 2</pose></frame>"
    "<frame name=\"tip\" attached_to=\"hinge\"/>"
    "<frame name=\"eye\" attached_to=\"tip\"><pose relative_to=\"__model__\">0 0 9 0 0 0</pose>"
    "</frame>"));
  // foot: at (3, 0, 0), turned by 90° about z (the quaternion is not of unit length).
  expect_near(f.frame("foot").position, Eigen::Vector3d(3, 0, 0), "foot");
  expect_near(f.frame("post").position, Eigen::Vector3d(-2, 0, 0), "post");
  // hinge: turned by 180° altogether; the arm is 1 along its −x.
  expect_near(f.frame("tip").position, Eigen::Vector3d(-2, 0, 2), "tip");
  expect_near(f.frame("arm").position, Eigen::Vector3d(-3, 0, 2), "arm");
  expect_near(
    f.frame("arm").rotation, Eigen::Vector3d(-1, -1, 1).asDiagonal().toDenseMatrix(), "arm");
  expect_near(f.frame("eye").position, Eigen::Vector3d(0, 0, 9), "eye");
  EXPECT_EQ(f.system->body_of_frame(f.system->frame_index("eye")), "arm");
  EXPECT_EQ(f.system->body_of_frame(f.system->frame_index("foot")), "base");
  // The axis, joint x, is the world's −x.
  expect_near(f.jacobian("arm").bottomRows(3), Eigen::Vector3d(-1, 0, 0), "axis");
}

TEST(SdfRobot, when_joint_turns_expect_frames_move_about_joint_and_not_about_link)
{
  Fixture f(sdf(
    link("base") + link("arm", "<pose>1 0 0 0 0 0</pose>") +
    joint(
      "hinge", "revolute", "base", "arm",
      "<pose>-0.5 0 0 0 0 0</pose><axis><xyz>0 0 1</xyz></axis>") +
    "<frame name=\"tip\" attached_to=\"arm\"><pose>1 0 0 0 0 0</pose></frame>"));
  f.update(Eigen::VectorXd::Constant(1, std::acos(0.0)), Eigen::VectorXd::Constant(1, 2.0));
  expect_near(f.frame("arm").position, Eigen::Vector3d(0.5, 0.5, 0), "arm");
  expect_near(f.frame("tip").position, Eigen::Vector3d(0.5, 1.5, 0), "tip");
  expect_near(f.frame("tip").velocity, Eigen::Vector3d(-3.0, 0, 0), "velocity of the tip");
  EXPECT_NEAR(f.terms().mass_matrix(0, 0), 0.1 + 2 * 0.25, kTwin);
}

TEST(SdfRobot, when_chain_of_frames_is_long_expect_sum_of_poses)
{
  std::string frames =
    "<frame name=\"f0\" attached_to=\"arm\"><pose>0.001 0 0 0 0 0</pose></frame>";
  for (int i = 1; i < 1000; ++i)
  {
    frames += "<frame name=\"f" + std::to_string(i) + "\" attached_to=\"f" + std::to_string(i - 1) +
              "\"><pose>0.001 0 0 0 0 0</pose></frame>";
  }
  const std::string arm = link("base") + link("arm") + joint("j", "continuous", "base", "arm");
  const Fixture f(sdf(frames + arm));
  expect_near(f.frame("f999").position, Eigen::Vector3d(1, 0, 0), "last");
  EXPECT_THAT(
    refusal_of_text(sdf(frames + "<frame name=\"more\"/>" + arm)),
    HasSubstr("there are 1001 frames; at most 1000"));
}

TEST(SdfRobot, when_chain_of_frames_closes_expect_refusal)
{
  std::string frames;
  for (int i = 0; i < 900; ++i)
  {
    frames += "<frame name=\"f" + std::to_string(i) + "\"><pose relative_to=\"f" +
              std::to_string((i + 1) % 900) + "\"/></frame>";
  }
  EXPECT_THAT(
    refusal_of_text(
      sdf(frames + link("base") + link("arm") + joint("j", "continuous", "base", "arm"))),
    HasSubstr("to itself; a chain of relative_to must end at the model"));
}

// From 1.5 on the axis is in the joint's frame, before in the model's.
TEST(SdfRobot, when_axis_is_stated_expect_frame_of_the_version)
{
  const auto direction = [](const std::string & version, const std::string & axis)
  {
    const Fixture f(sdf(
      link("base") + link("arm", "<pose>0 0 0 1.5707963267948966 0 0</pose>") +
        joint("j", "revolute", "base", "arm", "<axis>" + axis + "</axis>"),
      version));
    return Eigen::Vector3d(f.jacobian("arm").bottomRows(3).col(0));
  };
  const std::string xyz = "<xyz>0 0 2</xyz>";
  const std::string flag = "<use_parent_model_frame>";
  const std::string end = "</use_parent_model_frame>";
  const Eigen::Vector3d in_model(0, 0, 1);
  const Eigen::Vector3d in_joint(0, -1, 0);
  expect_near(direction("1.4", xyz), in_model, "1.4");
  expect_near(direction("1.5", xyz), in_joint, "1.5");
  expect_near(direction("1.6", xyz + flag + "true" + end), in_model, "1.6, flag");
  expect_near(direction("1.6", xyz + flag + "0" + end), in_joint, "1.6, no flag");
  expect_near(direction("1.7", xyz), in_joint, "1.7");
  const std::string expressed = "<xyz expressed_in=\"";
  expect_near(direction("1.12", expressed + "__model__\">0 0 2</xyz>"), in_model, "model");
  expect_near(direction("1.12", expressed + "base\">0 0 2</xyz>"), in_model, "base");
  expect_near(direction("1.12", expressed + "j\">0 0 2</xyz>"), in_joint, "joint");
}

TEST(SdfRobot, when_pose_has_frame_attribute_of_1_6_expect_relative_to)
{
  const std::string text = sdf(
    link("base", "<pose frame=\"\">0 0 1 0 0 0</pose>") +
      link("arm", "<pose frame=\"base\">0 0 1 0 0 0</pose>") +
      joint("j", "revolute", "base", "arm"),
    "1.6");
  expect_near(Fixture(text).frame("arm").position, Eigen::Vector3d(0, 0, 2), "arm");
}

TEST(SdfRobot, when_link_and_joint_share_a_name_before_1_7_expect_accepted)
{
  const std::string model = link("base") + link("arm") + joint("arm", "revolute", "base", "arm");
  EXPECT_EQ(refusal_of_text(sdf(model, "1.6")), "");
  EXPECT_THAT(refusal_of_text(sdf(model, "1.7")), HasSubstr("has the same name as link 'arm'"));
}

TEST(SdfRobot, when_numbers_have_comments_and_line_breaks_expect_read)
{
  const std::string text = sdf(
    link("base", "<pose>\n0 <!-- x --> 0\t1\n0 0 0\n</pose>") + link("arm") +
    joint("j", "revolute", " base\n", "\tarm "));
  expect_near(Fixture(text).frame("base").position, Eigen::Vector3d(0, 0, 1), "base");
}

// ---- base -------------------------------------------------------------------------------------

/// A pendulum of 2 kg, 0.5 m below a hinge along y at (0, 0, 3) of the model.
std::string pendulum(const std::string & model = "")
{
  return sdf(
    model +
    "<link name=\"bob\"><pose>0 0 3 0 0 0</pose><inertial><pose>0 0 -0.5 0 0 0</pose><mass>2</mass>"
    "<inertia><ixx>0.1</ixx><iyy>0.1</iyy><izz>0.05</izz></inertia></inertial></link>" +
    joint("swing", "revolute", "world", "bob", "<axis><xyz>0 1 0</xyz></axis>"));
}

TEST(SdfRobot, when_joint_holds_to_world_expect_pendulum)
{
  Fixture f(pendulum());
  EXPECT_THAT(f.system->coordinate_names(), ElementsAre("swing"));
  EXPECT_THAT(f.system->warnings(), IsEmpty());
  f.update(Eigen::VectorXd::Constant(1, 0.3), Eigen::VectorXd::Constant(1, 1.0));
  EXPECT_NEAR(f.terms().mass_matrix(0, 0), 0.1 + 2 * 0.25, kTwin);
  EXPECT_NEAR(f.terms().force(0), -2 * kGravity * 0.5 * std::sin(0.3), kTwin * 10);
  expect_near(f.frame("bob").position, Eigen::Vector3d(0, 0, 3), "bob");
  const std::pair<std::string, std::string> bodies = f.system->joint_bodies(0);
  EXPECT_THAT(
    (std::vector<std::string>{bodies.first, bodies.second}),
    ::testing::UnorderedElementsAre("bob", "world"));
}

TEST(SdfRobot, when_joint_holds_to_world_expect_other_bases_refused)
{
  for (const Base base : {Base::kPlanar, Base::kFloating})
  {
    EXPECT_THAT(
      refusal_of_text(pendulum(), base),
      HasSubstr("joint 'swing' holds link 'bob' to the world; only a fixed base is allowed then"));
  }
  const std::string welded = sdf(
    link("base") + link("arm") + joint("weld", "fixed", "world", "base", "") +
    joint("j", "revolute", "base", "arm"));
  EXPECT_EQ(refusal_of_text(welded), "");
  EXPECT_THAT(
    refusal_of_text(welded, Base::kFloating), HasSubstr("joint 'weld' holds link 'base'"));
}

TEST(SdfRobot, when_two_links_are_held_to_world_expect_both)
{
  const Fixture f(sdf(
    link("a", "<pose>1 0 0 0 0 0</pose>") + link("b", "<pose>0 1 0 0 0 0</pose>") +
    joint("ja", "revolute", "world", "a") + joint("jb", "prismatic", "world", "b")));
  EXPECT_THAT(f.system->coordinate_names(), ElementsAre("ja", "jb"));
  expect_near(f.frame("a").position, Eigen::Vector3d(1, 0, 0), "a");
  expect_near(f.frame("b").position, Eigen::Vector3d(0, 1, 0), "b");
  EXPECT_EQ(f.terms().force(0), 0.0);
  EXPECT_NEAR(f.terms().force(1), -2 * kGravity, kTwin * 20);
}

TEST(SdfRobot, when_model_has_a_pose_expect_it_after_that_of_the_robot)
{
  SceneDescription scene;
  scene.robots.resize(1);
  scene.robots[0].format = RobotFormat::kSdf;
  scene.robots[0].text = pendulum("<pose>1 0 0 0 0 0</pose>");
  scene.robots[0].pose.rpy.z() = std::acos(0.0);
  expect_near(Fixture(scene).frame("bob").position, Eigen::Vector3d(0, 1, 3), "bob");
  // The placement frame of the model gets the pose instead of the model frame.
  scene.robots[0].text = replaced(
    scene.robots[0].text, "<model name=\"m\"", "<model name=\"m\" placement_frame=\"swing\"");
  expect_near(Fixture(scene).frame("bob").position, Eigen::Vector3d(0, 1, 0), "placed");
}

TEST(SdfRobot, when_base_floats_expect_model_frame_is_moved)
{
  Fixture f(
    sdf(
      "<pose>0 0 5 0 0 0</pose>" + link("base", "<pose>0 0 1 0 0 0</pose>") + link("arm") +
      joint("j", "revolute", "base", "arm")),
    Base::kFloating);
  expect_near(f.frame("base").position, Eigen::Vector3d(0, 0, 6), "base at rest");
  Eigen::VectorXd q = f.system->neutral_coordinates();
  Eigen::VectorXd u = Eigen::VectorXd::Zero(f.system->speed_count());
  // A quarter turn about x of the model frame, which moves with 1 m/s along its own x and turns
  // with 2 rad/s about its own x.
  q.head<7>() << 1, 2, 3, std::sqrt(0.5), 0, 0, std::sqrt(0.5);
  u(0) = 1;
  u(3) = 2;
  f.update(q, u);
  expect_near(f.frame("base").position, Eigen::Vector3d(1, 1, 8), "base");
  expect_near(f.frame("base").velocity, Eigen::Vector3d(1, 0, -2), "velocity of the base");
}

TEST(SdfRobot, when_model_is_static_expect_joints_fixed)
{
  SceneDescription scene;
  scene.robots.resize(2);
  scene.robots[0].format = scene.robots[1].format = RobotFormat::kSdf;
  scene.robots[0].text = pendulum();
  scene.robots[1].text = sdf(
    "<static>true</static>" + link("table") + link("drawer", "<pose>0 0 1 0 0 0</pose>") +
    joint("pull", "prismatic", "table", "drawer"));
  const Fixture f(scene);
  EXPECT_THAT(f.system->coordinate_names(), ElementsAre("swing"));
  expect_near(f.frame("drawer").position, Eigen::Vector3d(0, 0, 1), "drawer");
  ASSERT_EQ(f.system->warnings().size(), 1u);
  EXPECT_THAT(f.system->warnings()[0], HasSubstr("the model is <static>"));
  scene.robots[1].base = Base::kFloating;
  EXPECT_THAT(refusal(scene), HasSubstr("the model is <static>; only a fixed base is allowed"));
}

// ---- joints -----------------------------------------------------------------------------------

TEST(SdfRobot, when_joint_is_ball_expect_spherical_pendulum)
{
  // The centre of mass is 0.5 m below the link's origin, the joint 0.3 m above it.
  Fixture f(sdf(
    "<link name=\"bob\"><inertial><pose>0 0 -0.5 0 0 0</pose><mass>2</mass><inertia><ixx>0.1</ixx>"
    "<iyy>0.2</iyy><izz>0.15</izz></inertia></inertial></link>" +
    joint("socket", "ball", "world", "bob", "<pose>0 0 0.3 0 0 0</pose>")));
  EXPECT_THAT(
    f.system->coordinate_names(), ElementsAre("socket_qx", "socket_qy", "socket_qz", "socket_qw"));
  EXPECT_THAT(f.system->speed_names(), ElementsAre("socket_wx", "socket_wy", "socket_wz"));
  const Eigen::AngleAxisd turn(0.4, Eigen::Vector3d(1, 2, 2) / 3.0);
  const Eigen::Vector3d omega(0.5, -0.3, 0.7);
  f.update(Eigen::Quaterniond(turn).coeffs(), omega);
  const Eigen::Vector3d I(0.1 + 2 * 0.64, 0.2 + 2 * 0.64, 0.15);
  expect_near(f.terms().mass_matrix, I.asDiagonal().toDenseMatrix(), "Q");
  // Euler's equations about the joint.
  const Eigen::Matrix3d R = turn.toRotationMatrix();
  const Eigen::Vector3d c(0, 0, -0.8);
  const Eigen::Vector3d weight = R.transpose() * Eigen::Vector3d(0, 0, -2 * kGravity);
  const Eigen::Vector3d momentum = I.cwiseProduct(omega);
  expect_near(f.terms().force, c.cross(weight) - omega.cross(momentum), "P");
  expect_near(
    f.frame("bob").position, Eigen::Vector3d(0, 0, 0.3) + R * Eigen::Vector3d(0, 0, -0.3), "bob");
}

TEST(SdfRobot, when_ball_joint_states_dynamics_expect_warning)
{
  const Fixture f(sdf(
    link("bob") + joint(
                    "socket", "ball", "world", "bob",
                    "<axis><xyz>0 0 0</xyz><dynamics><damping>0.4</damping></dynamics></axis>")));
  ASSERT_EQ(f.system->warnings().size(), 1u);
  EXPECT_THAT(f.system->warnings()[0], HasSubstr("joint 'socket' states <dynamics> of an axis"));
  EXPECT_EQ(f.system->damping().norm(), 0.0);
}

TEST(SdfRobot, when_spring_and_damping_are_stated_expect_their_force)
{
  Fixture f(sdf(
    link("cart") +
    joint(
      "slide", "prismatic", "world", "cart",
      "<axis><xyz>1 0 0</xyz><dynamics><damping>3</damping><spring_stiffness>40</spring_stiffness>"
      "<spring_reference>0.2</spring_reference></dynamics></axis>")));
  f.update(Eigen::VectorXd::Constant(1, 0.5), Eigen::VectorXd::Constant(1, 2.0));
  EXPECT_NEAR(f.terms().force(0), -40 * 0.3 - 3 * 2.0, kTwin * 20);
}

TEST(SdfRobot, when_limits_are_infinite_or_negative_expect_none)
{
  const auto limits = [](const std::string & type, const std::string & limit)
  {
    return Fixture(sdf(
                     link("cart") + joint(
                                      "j", type, "world", "cart",
                                      "<axis><xyz>1 0 0</xyz><limit>" + limit + "</limit></axis>")))
      .system->limits()[0];
  };
  const double infinity = std::numeric_limits<double>::infinity();
  const auto old = limits(
    "revolute",
    "<lower>-1e16</lower><upper>1e+16</upper><effort>-1</effort><velocity>-1</velocity>");
  EXPECT_EQ(old.lower, -infinity);
  EXPECT_EQ(old.upper, infinity);
  EXPECT_EQ(old.effort, infinity);
  EXPECT_EQ(old.velocity, infinity);
  const auto half = limits("prismatic", "<lower>-inf</lower><upper>0.5</upper><effort>7</effort>");
  EXPECT_EQ(half.lower, -infinity);
  EXPECT_EQ(half.upper, 0.5);
  EXPECT_EQ(half.effort, 7.0);
  const auto continuous = limits("continuous", "<lower>-1</lower><upper>1</upper>");
  EXPECT_EQ(continuous.lower, -infinity);
  EXPECT_EQ(continuous.upper, infinity);
}

TEST(SdfRobot, when_joint_frame_is_apart_expect_it_can_be_locked)
{
  SceneDescription scene;
  scene.robots.resize(1);
  scene.robots[0] = load_robot_description(kRobots + "/arm.sdf");
  scene.robots[0].locked = {{"reach", 0.1}, {"roll", 0.7}};
  const Fixture sdf_arm(scene);
  scene.robots[0] = load_robot_description(kRobots + "/arm.urdf");
  scene.robots[0].locked = {{"reach", 0.1}, {"roll", 0.7}};
  expect_same_motion(sdf_arm, Fixture(scene));
}

// ---- what is missing or not applied -----------------------------------------------------------

TEST(SdfRobot, when_inertial_is_missing_expect_default_and_warning)
{
  const Fixture f(sdf(
    "<link name=\"a\"/><link name=\"b\"><inertial><mass>3</mass></inertial></link>" +
    joint("ja", "revolute", "world", "a") + joint("jb", "prismatic", "a", "b")));
  EXPECT_EQ(f.system->total_mass(), 4.0);
  EXPECT_NEAR(f.terms().mass_matrix(0, 0), 2.0, kTwin);
  EXPECT_NEAR(f.terms().mass_matrix(1, 1), 3.0, kTwin);
  ASSERT_EQ(f.system->warnings().size(), 2u);
  EXPECT_THAT(f.system->warnings()[0], HasSubstr("link 'a' states no <inertial>"));
  EXPECT_THAT(f.system->warnings()[1], HasSubstr("link 'b' does not state all of its mass"));
}

TEST(SdfRobot, when_names_are_misspelt_expect_them_named)
{
  std::string text = pendulum();
  text = replaced(text, "<link name=\"bob\">", "<link name=\"bob\" colour=\"red\"><inertal/>");
  const Fixture f(text);
  ASSERT_EQ(f.system->warnings().size(), 2u);
  EXPECT_THAT(
    f.system->warnings()[0],
    HasSubstr("attribute 'colour' of <link> 'bob' is not known and not read"));
  EXPECT_THAT(
    f.system->warnings()[1], HasSubstr("element <inertal> of <link> 'bob' is not known and not "
                                       "read; did you mean 'inertial'?"));
  const Fixture others(replaced(
    pendulum(), "<link name=\"bob\">",
    "<link name=\"bob\"><visual name=\"v\"><any/></visual><enable_wind>1</enable_wind><plugin "
    "name=\"p\" filename=\"f\"><mine/></plugin><gz:mark/>"));
  EXPECT_THAT(others.system->warnings(), IsEmpty());
}

TEST(SdfRobot, when_gravity_is_switched_off_expect_warning)
{
  std::string text = pendulum();
  text = replaced(text, "<link name=\"bob\">", "<link name=\"bob\"><gravity>0</gravity>");
  const Fixture f(text);
  ASSERT_EQ(f.system->warnings().size(), 1u);
  EXPECT_THAT(f.system->warnings()[0], HasSubstr("link 'bob' states that gravity does not act"));
}

TEST(SdfRobot, when_velocities_decay_expect_warning)
{
  const Fixture f(replaced(
    pendulum(), "<link name=\"bob\">",
    "<link name=\"bob\"><velocity_decay><linear>0.1</linear></velocity_decay>"));
  ASSERT_EQ(f.system->warnings().size(), 1u);
  EXPECT_THAT(f.system->warnings()[0], HasSubstr("link 'bob' states <velocity_decay>"));
}

TEST(SdfRobot, when_world_has_other_gravity_expect_warning)
{
  const std::string model = pendulum();
  const std::size_t begin = model.find("<model");
  const std::string inner = model.substr(begin, model.rfind("</sdf>") - begin);
  const Fixture f(
    "<sdf version=\"1.8\"><world name=\"moon\"><gravity>0 0 -1.62</gravity>" + inner +
    "</world></sdf>");
  ASSERT_EQ(f.system->warnings().size(), 1u);
  EXPECT_THAT(f.system->warnings()[0], HasSubstr("<gravity> of the world is not read"));
}

// ---- sizes ------------------------------------------------------------------------------------

std::string chain(int count)
{
  std::string text;
  for (int i = 0; i < count; ++i)
  {
    const std::string name = "l" + std::to_string(i);
    text += link(name);
    text +=
      i > 0 ? joint("j" + std::to_string(i), "revolute", "l" + std::to_string(i - 1), name) : "";
  }
  return sdf(text);
}

TEST(SdfRobot, when_too_large_expect_refusal)
{
  EXPECT_THAT(refusal_of_text(chain(501)), HasSubstr("there are 501 links; at most 500"));
  EXPECT_THAT(refusal_of_text(chain(201)), HasSubstr("link 'l200' is more than 200 links deep"));
  EXPECT_EQ(refusal_of_text(chain(200)), "");
  std::string joints;
  for (int i = 0; i < 501; ++i)
  {
    joints += joint("j" + std::to_string(i), "fixed", "a", "b", "");
  }
  EXPECT_THAT(
    refusal_of_text(sdf(link("a") + link("b") + joints)),
    HasSubstr("there are 501 joints; at most 500"));
  EXPECT_THAT(
    refusal_of_text(sdf("<!--" + std::string(11u << 20, 'x') + "-->")), HasSubstr("at most 10 MB"));
  std::string nested;
  for (int i = 0; i < 100000; ++i)
  {
    nested += "<sdf>";
  }
  EXPECT_THAT(refusal_of_text(nested), HasSubstr("not well-formed XML"));
}

TEST(SdfRobot, when_every_prefix_of_a_document_is_read_expect_refusal_without_harm)
{
  const std::string text = pendulum();
  for (std::size_t length = 0; length < text.size(); ++length)
  {
    EXPECT_NE(refusal_of_text(text.substr(0, length)), "") << length;
  }
  EXPECT_EQ(refusal_of_text(text), "");
}

/// Lines of the document exchanged, repeated or lost, or a number of it replaced.
std::string damaged(const std::vector<std::string> & lines, std::mt19937 & generator)
{
  static const std::vector<std::string> numbers = {"nan", "-1",    "0",  "1e308", "-1e308",
                                                   "",    "1e400", "0x", "1 2",   "5e-324"};
  const auto pick = [&generator](std::size_t count)
  { return std::uniform_int_distribution<std::size_t>(0, count - 1)(generator); };
  std::vector<std::string> result = lines;
  const std::size_t kind = pick(4);
  const std::size_t at = pick(lines.size());
  if (kind == 0)
  {
    std::swap(result[at], result[pick(lines.size())]);
  }
  else if (kind == 1)
  {
    result[at] += result[at];
  }
  else if (kind == 2)
  {
    result[at].clear();
  }
  else
  {
    const std::size_t begin = result[at].find_first_of("0123456789");
    if (begin != std::string::npos)
    {
      const std::size_t end = result[at].find_first_not_of("0123456789.e-", begin);
      result[at].replace(begin, end - begin, numbers[pick(numbers.size())]);
    }
  }
  std::string text;
  for (const std::string & line : result)
  {
    text += line + "\n";
  }
  return text;
}

TEST(SdfRobot, when_document_is_damaged_expect_refusal_or_finite_placements)
{
  std::ifstream file(kRobots + "/arm.sdf");
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);)
  {
    lines.push_back(line);
  }
  const unsigned seed = 5;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 generator(seed);
  int refused = 0;
  const int count = 1000;
  for (int i = 0; i < count; ++i)
  {
    const std::string text = damaged(lines, generator);
    std::shared_ptr<RigidBodySystem> system;
    try
    {
      system = RigidBodySystem::from_sdf_text(text);
    }
    catch (const std::invalid_argument &)
    {
      ++refused;
      continue;
    }
    const auto data = system->make_data();
    const Eigen::VectorXd u = Eigen::VectorXd::Zero(system->speed_count());
    // Finite but huge numbers may overflow later; then the status reports it.
    if (
      system->update_kinematics(0.0, system->neutral_coordinates(), u, *data) == Status::kOk &&
      system->update_dynamics(*data) == Status::kOk)
    {
      EXPECT_TRUE(data->terms.mass_matrix.allFinite()) << text;
      EXPECT_TRUE(data->terms.force.allFinite()) << text;
    }
  }
  // Both happen often.
  EXPECT_GT(refused, count / 10);
  EXPECT_LT(refused, count * 9 / 10);
}

// The legs of the published biped are closed chains: the rods of ankle and foot end at links that
// another joint holds.
TEST(SdfRobot, when_published_robot_has_loops_expect_constraints_of_the_joints)
{
  const std::string file =
    std::string(CD_EXAMPLE_ROBOT_DATA) + "/cassie_description/robots/cassie_v2.sdf";
  if (!std::filesystem::exists(file))
  {
    GTEST_SKIP() << "example-robot-data is not there";
  }
  SceneDescription scene;
  scene.robots.push_back(load_robot_description(file));
  scene.robots[0].base = Base::kFloating;
  const RigidBodySystem system(scene);
  EXPECT_EQ(system.speed_count(), 28);
  ASSERT_EQ(system.file_constraints().size(), 4u);
  for (const FileConstraint & loop : system.file_constraints())
  {
    EXPECT_EQ(loop.type, "frame_coincidence");
    EXPECT_THAT(loop.name, HasSubstr("-joint"));
    EXPECT_EQ(std::get<std::vector<std::string>>(loop.keys[2].second).size(), 3u);  // balls
  }
}

}  // namespace
}  // namespace constrained_dynamics
