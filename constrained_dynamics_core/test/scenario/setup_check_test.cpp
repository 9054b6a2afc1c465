// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// The files of a robot looked at together: a good set, and sets with one mistake each.

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "constrained_dynamics/scenario/setup_check.hpp"

namespace constrained_dynamics
{
namespace
{

using testing::AllOf;
using testing::HasSubstr;

/// `text` with the first `from` made `to`.
std::string with(std::string text, const std::string & from, const std::string & to)
{
  const std::size_t place = text.find(from);
  EXPECT_NE(place, std::string::npos) << from;
  return place == std::string::npos ? text : text.replace(place, from.size(), to);
}

std::string read_text(const std::string & path)
{
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The arm of the tests with a motor at each joint.
std::string description()
{
  std::string tag =
    "<ros2_control name=\"arm\" type=\"system\"><hardware><plugin>a/B</plugin></hardware>";
  for (int i = 1; i <= 4; ++i)
  {
    tag += "<joint name=\"joint_" + std::to_string(i) +
           "\"><command_interface name=\"effort\"/><state_interface name=\"position\"/>"
           "<state_interface name=\"velocity\"/></joint>";
  }
  return with(
    read_text(CD_TEST_DATA "/arm_on_wall.urdf"), "</robot>", tag + "</ros2_control></robot>");
}

const char * const kParameters = R"(controller_manager:
  ros__parameters:
    update_rate: 1000
    arm_controller: {type: constrained_dynamics_controllers/ServoConstraintController}
arm_controller:
  ros__parameters:
    joints: [joint_1, joint_2, joint_3, joint_4]
    fallback: hold
    torque_rate: [500.0]
    markers: {rate: 30.0}
    constraints:
      wall: {type: point_on_plane, frame_a: tip, normal: [-1.0, 0.0, 0.0], offset: -0.6}
    servo:
      curve: {type: position, frame_a: tip, rows: ['y', 'z'], stiffness: 400.0}
      push: {type: force, constraint: wall, reference: {kind: constant, value: 15.0}}
      posture: {type: joint, joints: [joint_1, joint_2, joint_3, joint_4], priority: 1}
    initial: {q: {joint_2: 0.7, joint_3: 1.2}, solve: [joint_2, joint_3]}
)";

const char * const kKnown = R"(
joints: {type: string_array}
passive_joints: {type: string_array}
scenario: {type: string}
profile: {type: string}
fallback: {type: string, validation: {one_of<>: [[hold, gravity]]}}
torque_rate: {type: double_array}
markers:
  rate: {type: double, validation: {gt_eq<>: [0.0], lt_eq<>: [1000.0]}}
)";

SetupFiles good_files()
{
  SetupFiles files;
  files.description = description();
  files.parameters = kParameters;
  files.parameters_name = "controllers.yaml";
  files.resolve = [](const std::string & uri) { return uri; };
  files.known_parameters["ServoConstraintController"] = {read_yaml(kKnown, "known")};
  return files;
}

std::vector<std::string> texts(
  const std::vector<SetupFinding> & findings, const char * least = "note")
{
  std::vector<std::string> all;
  for (const SetupFinding & finding : findings)
  {
    const std::string severity = to_string(finding.severity);
    if (
      severity == "error" || (severity == "warning" && std::string(least) != "error") ||
      std::string(least) == "note")
    {
      all.push_back(severity + ": " + finding.thing + ": " + finding.message);
    }
  }
  return all;
}

TEST(SetupCheck, when_all_is_well_expect_no_finding)
{
  EXPECT_THAT(texts(check_setup(good_files())), testing::IsEmpty());
}

/// One mistake in the parameters and what the error names.
struct Mistake
{
  const char * from;
  const char * to;
  const char * thing;
  const char * allowed;
};

void PrintTo(const Mistake & mistake, std::ostream * out)
{
  *out << mistake.from << " → " << mistake.to;
}

class ParameterMistake : public testing::TestWithParam<Mistake>
{
};

TEST_P(ParameterMistake, expect_an_error_that_names_it_and_what_is_allowed)
{
  SetupFiles files = good_files();
  files.parameters = with(files.parameters, GetParam().from, GetParam().to);
  EXPECT_THAT(
    texts(check_setup(files), "warning"),
    testing::Contains(AllOf(HasSubstr(GetParam().thing), HasSubstr(GetParam().allowed))));
}

INSTANTIATE_TEST_SUITE_P(
  SetupCheck, ParameterMistake,
  testing::Values(
    Mistake{"torque_rate:", "torque_rat:", "arm_controller: torque_rat", "torque_rate"},
    Mistake{"{rate: 30.0}", "{rat: 30.0}", "markers.rat", "rate"},
    Mistake{"{rate: 30.0}", "{rate: -1.0}", "'-1.0'", "at least 0"},
    Mistake{"{rate: 30.0}", "{rate: 2000}", "'2000'", "at most 1000"},
    Mistake{"{rate: 30.0}", "{rate: fast}", "'fast'", "a finite number"},
    Mistake{"fallback: hold", "fallback: fall", "'fall'", "hold, gravity"},
    Mistake{"[500.0]", "500.0", "torque_rate", "a list"},
    Mistake{
      "[joint_1, joint_2, joint_3, joint_4]\n    fallback", "[joint_1, joint_9]\n    fallback",
      "joints: joint_9", "joint_1, joint_2"},
    Mistake{"frame_a: tip, normal", "frame_a: top, normal", "frame_a: top", "tip"},
    Mistake{"type: point_on_plane", "type: point_on_plain", "point_on_plain", "point_on_plane"},
    Mistake{"constraint: wall", "constraint: floor", "floor", "wall"},
    Mistake{"['y', 'z']", "[y, z]", "controllers.yaml:", "'y' with quotes"},
    Mistake{"update_rate: 1000", "other: 1000", "update_rate", "above 0"},
    Mistake{"update_rate: 1000", "update_rate: -5", "'-5'", "above 0"},
    Mistake{
      "arm_controller:\n  ros__parameters", "arm_controler:\n  ros__parameters", "arm_controller",
      "ros__parameters"},
    Mistake{
      "ServoConstraintController", "ServoController", "controller_manager",
      "ServoConstraintController"},
    Mistake{"controller_manager:", "controller_manger:", "controllers.yaml", "controller_manager"},
    Mistake{"    servo:\n      curve", "    other:\n      curve", "no 'servo' tasks", "command"},
    Mistake{"offset: -0.6", "offset: -9.6", "initial", "wall"}));

TEST(SetupCheck, when_the_robot_lacks_an_interface_expect_an_error_that_names_it)
{
  SetupFiles files = good_files();
  files.description = with(files.description, "<command_interface name=\"effort\"/>", "");
  EXPECT_THAT(
    texts(check_setup(files)), testing::ElementsAre(AllOf(
                                 HasSubstr("error: "), HasSubstr("joints: joint_1:"),
                                 HasSubstr("<command_interface name=\"effort\"/>"))));
}

TEST(SetupCheck, when_a_profile_names_other_interfaces_expect_these_to_be_needed)
{
  SetupFiles files = good_files();
  const std::string line = "fallback: hold\n    profile: ";
  const std::string profile = CD_TEST_DATA "/profiles/arm_adds_gravity.yaml";
  files.parameters = with(files.parameters, "fallback: hold", line + profile);
  EXPECT_THAT(
    texts(check_setup(files)),
    testing::ElementsAre(AllOf(
      HasSubstr("error: "), HasSubstr("joint_4"), HasSubstr("command_interface name=\"torque\""))));
  for (int i = 0; i < 4; ++i)
  {
    files.description = with(
      files.description, "<command_interface name=\"effort\"/>",
      "<command_interface name=\"torque\"/>");
  }
  EXPECT_THAT(texts(check_setup(files)), testing::IsEmpty());
  files.parameters = with(files.parameters, profile, "/nowhere/arm.yaml");
  EXPECT_THAT(
    texts(check_setup(files), "error"), testing::Contains(HasSubstr("/nowhere/arm.yaml")));
}

TEST(SetupCheck, when_there_is_no_tag_expect_one_error)
{
  SetupFiles files = good_files();
  files.description = read_text(CD_TEST_DATA "/arm_on_wall.urdf");
  EXPECT_THAT(texts(check_setup(files)), testing::ElementsAre(HasSubstr("no <ros2_control> tag")));
}

TEST(SetupCheck, when_the_description_is_none_expect_an_error)
{
  SetupFiles files = good_files();
  files.description = "robot";
  EXPECT_THAT(
    texts(check_setup(files), "error"), testing::Contains(HasSubstr("robot_description")));
}

TEST(SetupCheck, when_tasks_leave_motions_open_expect_a_warning_that_counts_them)
{
  SetupFiles files = good_files();
  files.parameters = with(files.parameters, "      posture:", "#     posture:");
  EXPECT_THAT(
    texts(check_setup(files), "warning"), testing::ElementsAre(HasSubstr("leave 1 motions open")));
}

TEST(SetupCheck, when_the_scenario_is_missing_expect_an_error_with_its_path)
{
  SetupFiles files = good_files();
  files.scenario = "/nowhere/arm.yaml";
  EXPECT_THAT(
    texts(check_setup(files), "error"), testing::ElementsAre(HasSubstr("/nowhere/arm.yaml")));
}

TEST(SetupCheck, when_efforts_exceed_the_limit_expect_a_warning_with_both)
{
  SetupFiles files = good_files();
  files.description = with(files.description, "effort=\"50\"", "effort=\"0.001\"");
  EXPECT_THAT(
    texts(check_setup(files), "warning"),
    testing::Contains(HasSubstr("its limit in the description is 0.001")));
}

}  // namespace
}  // namespace constrained_dynamics
