// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Robot descriptions that include files: what is read, and what is refused.
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "constrained_dynamics/constraints/file_constraints.hpp"
#include "scenario/file_scenarios.hpp"

namespace constrained_dynamics
{
namespace
{

using test::Folder;
using test::sdf_joint;
using test::sdf_link;
using test::sdf_model;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace fs = std::filesystem;

std::string refusal_of_file(const std::string & path)
{
  try
  {
    RigidBodySystem::from_mjcf_file(path);
  }
  catch (const std::invalid_argument & error)
  {
    return error.what();
  }
  return "";
}

const std::string kBody =
  "<body name='b'><joint name='j'/><inertial pos='0 0 0' mass='1' diaginertia='1 1 1'/></body>";

TEST(IncludedFiles, when_parts_are_in_files_expect_one_document)
{
  const Folder folder("included_files");
  folder.write(
    "parts/legs.xml", "<mujocoinclude>" + kBody + "<include file='foot.xml'/></mujocoinclude>");
  folder.write(
    "parts/foot.xml",
    "<x><body name='c' pos='1 0 0'><joint name='k'/><geom size='0.1'/></body></x>");
  folder.write("defaults.xml", "<mujoco><default><geom density='500'/></default></mujoco>");
  const auto system = RigidBodySystem::from_mjcf_file(folder.write(
    "main.xml",
    "<mujoco><default><geom type='box'/></default><include file='defaults.xml'/>"
    "<worldbody><include file='parts/legs.xml'/></worldbody>"
    "<default><geom type='sphere'/></default></mujoco>"));
  EXPECT_THAT(system->coordinate_names(), ElementsAre("j", "k"));
  EXPECT_NEAR(system->total_mass(), 1.0 + 500.0 * 4.0 / 3.0 * std::acos(-1.0) * 1e-3, 1e-12);
}

TEST(IncludedFiles, when_file_is_outside_or_missing_expect_refusal)
{
  const Folder folder("included_escape");
  const std::string outside = folder.write("outside.xml", "<x>" + kBody + "</x>");
  fs::create_directories(folder.path / "in");
  fs::create_symlink(outside, folder.path / "in" / "link.xml");
  const auto refusal = [&](const std::string & file)
  {
    return refusal_of_file(folder.write(
      "in/main.xml",
      "<mujoco><worldbody>" + kBody + "<include file='" + file + "'/></worldbody></mujoco>"));
  };
  for (const std::string & file : {std::string("../outside.xml"), outside, std::string("link.xml")})
  {
    EXPECT_THAT(refusal(file), HasSubstr("it is outside of the folder of the document")) << file;
    EXPECT_THAT(refusal(file), HasSubstr("main.xml"));
  }
  for (const std::string file : {"none.xml", ".", "/dev/zero", ""})
  {
    EXPECT_NE(refusal(file), "") << file;
  }
}

TEST(IncludedFiles, when_files_include_each_other_expect_refusal)
{
  const Folder folder("included_cycle");
  folder.write("a.xml", "<x><include file='b.xml'/></x>");
  folder.write("b.xml", "<x><include file='a.xml'/></x>");
  const std::string main = "<mujoco><worldbody>" + kBody + "</worldbody><include file='";
  EXPECT_THAT(
    refusal_of_file(folder.write("main.xml", main + "a.xml'/></mujoco>")),
    HasSubstr("the file is included twice"));
  EXPECT_THAT(
    refusal_of_file(folder.write("self.xml", main + "self.xml'/></mujoco>")),
    HasSubstr("self.xml"));
  for (int i = 0; i < 10; ++i)
  {
    folder.write(
      "d" + std::to_string(i) + ".xml",
      "<x><include file='d" + std::to_string(i + 1) + ".xml'/></x>");
  }
  EXPECT_THAT(
    refusal_of_file(folder.write("deep.xml", main + "d0.xml'/></mujoco>")),
    HasSubstr("more than 8 deep"));
  folder.write("large.xml", "<x><!--" + std::string(9u << 20, 'x') + "--></x>");
  folder.write("large2.xml", "<x><!--" + std::string(9u << 20, 'y') + "--></x>");
  EXPECT_THAT(
    refusal_of_file(
      folder.write("sizes.xml", main + "large.xml'/><include file='large2.xml'/></mujoco>")),
    HasSubstr("at most 10 MB"));
}

TEST(IncludedFiles, when_included_file_is_bad_expect_its_name)
{
  const Folder folder("included_bad");
  folder.write("open.xml", "<x><body>");
  folder.write("nan.xml", "<x><geom size='nan'/></x>");
  folder.write("dtd.xml", "<!DOCTYPE x><x><geom/></x>");
  for (const std::string file : {"open.xml", "nan.xml", "dtd.xml"})
  {
    const std::string message = refusal_of_file(folder.write(
      "main.xml",
      "<mujoco><worldbody>" + kBody + "<include file='" + file + "'/></worldbody></mujoco>"));
    EXPECT_THAT(message, HasSubstr("in '" + file + "'"));
    EXPECT_THAT(message, HasSubstr("main.xml"));
  }
}

TEST(IncludedFiles, when_sdf_includes_and_nests_models_expect_their_names_and_poses)
{
  const Folder folder("included_sdf");
  folder.write(
    "hand/model.sdf", "<sdf version='1.6'><model name='hand'>" + sdf_link("palm", "0 0 0.1 0 0 0") +
                        sdf_link("finger", "0 0 0.3 0 0 0") +
                        sdf_joint("grip", "revolute", "palm", "finger") + "</model></sdf>");
  const std::string path = folder.write(
    "main.sdf",
    sdf_model(
      sdf_link("arm", "0 0 1 0 0 0") + sdf_joint("lift", "revolute", "world", "arm") +
      "<include><uri>model://hand</uri><name>left</name><pose relative_to='arm'>0 1 0 0 0 "
      "0</pose></include>"
      "<include merge='true'><uri>hand/model.sdf</uri><pose>0 -1 1 0 0 0</pose></include>"
      "<model name='box'><pose>5 0 0 0 0 0</pose>" +
      sdf_link("body", "1 0 0 0 0 0") +
      "<frame name='tip'><pose>0 0 2 0 0 0</pose></frame></model>" +
      sdf_joint("mount", "fixed", "arm", "left::palm") +
      sdf_joint("mount2", "fixed", "arm", "palm") + sdf_joint("mount3", "ball", "arm", "box", "")));
  const auto system = RigidBodySystem::from_sdf_file(path);
  EXPECT_THAT(
    system->coordinate_names(),
    ElementsAre("lift", "left::grip", "grip", "mount3_qx", "mount3_qy", "mount3_qz", "mount3_qw"));
  const std::unique_ptr<SystemData> data = system->make_data();
  ASSERT_EQ(
    system->update_kinematics(
      0.0, system->neutral_coordinates(), Eigen::VectorXd::Zero(system->speed_count()), *data),
    Status::kOk);
  const auto position = [&](const std::string & frame)
  {
    FrameKinematics at;
    system->frame_kinematics(*data, system->frame_index(frame), at);
    return at.position;
  };
  EXPECT_LE((position("left::finger") - Eigen::Vector3d(0, 1, 1.3)).norm(), 1e-12);
  EXPECT_LE((position("finger") - Eigen::Vector3d(0, -1, 1.3)).norm(), 1e-12);
  EXPECT_LE((position("box::body") - Eigen::Vector3d(6, 0, 0)).norm(), 1e-12);
  EXPECT_LE((position("box::tip") - Eigen::Vector3d(5, 0, 2)).norm(), 1e-12);
}

TEST(IncludedFiles, when_sdf_includes_itself_or_the_outside_expect_refusal)
{
  const Folder folder("included_sdf_bad");
  const auto refusal = [&](const std::string & uri)
  {
    const std::string path = folder.write(
      "in/main.sdf",
      sdf_model(sdf_link("l", "0 0 0 0 0 0") + "<include><uri>" + uri + "</uri></include>"));
    try
    {
      RigidBodySystem::from_sdf_file(path);
    }
    catch (const std::invalid_argument & error)
    {
      return std::string(error.what());
    }
    return std::string();
  };
  folder.write("out/model.sdf", sdf_model(sdf_link("l", "0 0 0 0 0 0")));
  folder.write("in/two/model.sdf", "<sdf version='1.9'><model name='a'/><model name='b'/></sdf>");
  EXPECT_THAT(refusal("main.sdf"), HasSubstr("deep"));
  EXPECT_THAT(refusal("../out"), HasSubstr("outside of the folder"));
  EXPECT_THAT(refusal("model://nowhere"), HasSubstr("there is no such file"));
  EXPECT_THAT(refusal("two"), HasSubstr("the file must be <sdf> with one <model>"));
}

}  // namespace
}  // namespace constrained_dynamics
