// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics_ros/scenario_parameters.hpp"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

using constrained_dynamics::Scenario;
using constrained_dynamics_ros::load_scenario;
using constrained_dynamics_ros::ParameterMap;
using constrained_dynamics_ros::resolve_uri;
using constrained_dynamics_ros::scenario_text;
using constrained_dynamics_ros::ScenarioSource;
using rclcpp::ParameterValue;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

namespace
{

const std::string kScenarios = std::string(CD_CONFIG_DIR) + "/scenarios/";
const std::string kRobots = std::string(CD_CONFIG_DIR) + "/robots/";

std::string read(const std::string & path)
{
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// A file in the folder of temporary files, gone at the end.
class TemporaryFile
{
public:
  explicit TemporaryFile(const std::string & text)
  : path_(
      std::filesystem::temp_directory_path() /
      ("scenario_parameters_test_" + std::to_string(std::rand()) + ".yaml"))
  {
    std::ofstream(path_) << text;
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  std::string path() const { return path_.string(); }

private:
  std::filesystem::path path_;
};

std::string refusal(const ScenarioSource & source)
{
  try
  {
    (void)load_scenario(source);
  }
  catch (const std::invalid_argument & error)
  {
    return error.what();
  }
  return "";
}

ScenarioSource four_bar_parameters()
{
  ScenarioSource source;
  source.robot_description = read(kRobots + "four_bar.urdf");
  source.parameters = {
    {"constraints.loop.type", ParameterValue("frame_coincidence")},
    {"constraints.loop.frame_a", ParameterValue("coupler_tip")},
    {"constraints.loop.frame_b", ParameterValue("rocker_tip")},
    {"constraints.loop.rows", ParameterValue(std::vector<std::string>{"x", "z"})},
    {"system.gravity", ParameterValue(std::vector<double>{0.0, 0.0, -9.81})},
    {"initial.q.crank", ParameterValue(0.3)},
    {"initial.q.coupler", ParameterValue("pi/2")},
    {"initial.q.rocker", ParameterValue(2.5)},
    {"initial.solve", ParameterValue(std::vector<std::string>{"coupler", "rocker"})},
    {"publish_rate", ParameterValue(100.0)},
  };
  return source;
}

std::vector<std::string> constraint_names(const Scenario & scenario)
{
  std::vector<std::string> names;
  for (int i = 0; i < scenario.dynamics()->constraints().size(); ++i)
  {
    names.push_back(scenario.dynamics()->constraints()[i].name());
  }
  return names;
}

TEST(ScenarioParameters, when_parameters_say_everything_expect_the_scenario_of_the_file)
{
  const Scenario made = load_scenario(four_bar_parameters());
  const Scenario file = Scenario::load(kScenarios + "four_bar.yaml");
  EXPECT_EQ(made.system().coordinate_names(), file.system().coordinate_names());
  EXPECT_EQ(constraint_names(made), constraint_names(file));
  EXPECT_EQ(made.initial().q, file.initial().q);
  const auto run = [](const Scenario & scenario)
  {
    const auto simulation = scenario.make_simulation();
    EXPECT_TRUE(simulation->run(0.2, 0.1, [](const auto &) { return true; }).completed);
    return simulation->state().q;
  };
  EXPECT_EQ(run(made), run(file));
}

TEST(ScenarioParameters, when_all_types_are_used_expect_their_values)
{
  ScenarioSource source = four_bar_parameters();
  source.parameters["run.step"] = ParameterValue(0.1 + 0.2);  // needs 17 digits
  source.parameters["run.until"] = ParameterValue(7);
  source.parameters["constraints.loop.active"] = ParameterValue(false);
  source.parameters["system.gravity"] = ParameterValue(std::vector<std::int64_t>{0, 0, -10});
  source.parameters["system.model_damping"] = ParameterValue(true);
  source.parameters["formulation"] = ParameterValue("udwadia_kalaba");
  source.parameters["system.frames"] = ParameterValue();
  const Scenario scenario = load_scenario(source);
  EXPECT_EQ(scenario.run().integration.step, 0.1 + 0.2);
  EXPECT_EQ(scenario.run().until, 7.0);
  EXPECT_FALSE(scenario.is_active(0));
  EXPECT_STREQ(scenario.dynamics()->formulation().name(), "udwadia_kalaba");
}

TEST(ScenarioParameters, when_rows_are_booleans_expect_the_rows_that_were_meant)
{
  // Unquoted y of a parameter file arrives as true.
  ScenarioSource source = four_bar_parameters();
  source.parameters["constraints.loop.rows"] = ParameterValue(std::vector<bool>{true});
  const Scenario scenario = load_scenario(source, constrained_dynamics::ScenarioLoadOptions{false});
  EXPECT_EQ(scenario.dynamics()->constraints()[0].rows()[0].label, "y");
  source.parameters["constraints.loop.rows"] = ParameterValue(false);
  EXPECT_THAT(refusal(source), HasSubstr("constraints.loop.rows: n: allowed"));
  source = four_bar_parameters();
  source.parameters["constraints.loop.frame_a"] = ParameterValue(true);
  EXPECT_THAT(refusal(source), AllOf(HasSubstr("frame_a"), HasSubstr("quote")));
}

TEST(ScenarioParameters, when_items_are_added_expect_order_of_names)
{
  ScenarioSource source = four_bar_parameters();
  source.parameters["constraints.b.type"] = ParameterValue("joint_coupling");
  source.parameters["constraints.b.terms.crank"] = ParameterValue(1);
  source.parameters["constraints.b.active"] = ParameterValue(false);
  source.parameters["constraints.a.type"] = ParameterValue("distance");
  source.parameters["constraints.a.frame_a"] = ParameterValue("a_tip");
  source.parameters["constraints.a.length"] = ParameterValue(1.0);
  source.parameters["constraints.a.active"] = ParameterValue(false);
  // A frame whose parent comes after it.
  source.parameters["system.frames.a_tip.parent"] = ParameterValue("z_holder");
  source.parameters["system.frames.z_holder.parent"] = ParameterValue("crank_rod");
  source.parameters["system.frames.z_holder.pose.xyz"] =
    ParameterValue(std::vector<double>{1.0, 0.0, 0.0});
  const Scenario scenario = load_scenario(source);
  EXPECT_THAT(constraint_names(scenario), ElementsAre("a", "b", "loop"));
  EXPECT_NO_THROW((void)scenario.system().frame_index("a_tip"));
}

TEST(ScenarioParameters, when_file_and_parameters_collide_expect_parameters_to_win)
{
  ScenarioSource source;
  source.file = kScenarios + "four_bar.yaml";
  source.parameters["initial.q.crank"] = ParameterValue(0.5);
  source.parameters["constraints.loop.rows"] = ParameterValue(std::vector<std::string>{"x"});
  source.parameters["constraints.up.type"] = ParameterValue("frame_coincidence");
  source.parameters["constraints.up.frame_a"] = ParameterValue("coupler_tip");
  source.parameters["constraints.up.frame_b"] = ParameterValue("rocker_tip");
  source.parameters["constraints.up.rows"] = ParameterValue(std::vector<std::string>{"z"});
  const Scenario scenario = load_scenario(source);
  EXPECT_EQ(scenario.name(), "four_bar");
  EXPECT_THAT(constraint_names(scenario), ElementsAre("loop", "up"));
  EXPECT_EQ(scenario.dynamics()->constraints()[0].row_count(), 1);
  EXPECT_EQ(scenario.initial().q(scenario.system().coordinate_index("crank")), 0.5);
}

TEST(ScenarioParameters, when_an_item_has_no_name_expect_it_changed_by_index)
{
  const TemporaryFile file(
    "system: {coordinates: [x], kinetic: dx^2/2, inputs: {f: {x: 1}}}\n"
    "servo: [{name: x, type: joint, joint: x}]\n"
    "servo_law: {null_space: [{kind: damping, damping: 1}]}\n");
  ScenarioSource source;
  source.file = file.path();
  source.parameters["servo_law.null_space.0.damping"] = ParameterValue(-3.0);
  source.parameters["servo_law.null_space.posture.kind"] = ParameterValue("posture");
  EXPECT_THAT(
    scenario_text(source), AllOf(HasSubstr("\"damping\": \"-3\""), HasSubstr("\"posture\"")));
  EXPECT_THAT(refusal(source), HasSubstr("servo_law.null_space"));
}

TEST(ScenarioParameters, when_a_string_is_yaml_expect_lists_and_maps)
{
  ScenarioSource source = four_bar_parameters();
  source.parameters.erase("constraints.loop.rows");
  source.parameters["constraints.loop.rows"] = ParameterValue("[x, z]");
  source.parameters["initial.solve"] = ParameterValue("[coupler, rocker]");
  EXPECT_EQ(load_scenario(source).dynamics()->constraints().row_count(), 2);

  ScenarioSource whole;
  whole.file = kScenarios + "four_bar.yaml";
  whole.parameters["constraints"] = ParameterValue(
    "- {name: loop, rows: [x]}\n"
    "- {name: up, type: frame_coincidence, frame_a: coupler_tip, frame_b: rocker_tip, rows: [z]}");
  EXPECT_THAT(constraint_names(load_scenario(whole)), ElementsAre("loop", "up"));
  EXPECT_EQ(load_scenario(whole).dynamics()->constraints().row_count(), 2);
}

TEST(ScenarioParameters, when_a_section_and_keys_below_it_are_given_expect_both)
{
  ScenarioSource source = four_bar_parameters();
  source.parameters["initial"] = ParameterValue("{time: 2, q: {}}");
  source.parameters["initial.q"] = ParameterValue("{}");
  const Scenario scenario = load_scenario(source);
  EXPECT_EQ(scenario.initial().time, 2.0);
  EXPECT_EQ(scenario.initial().q(0), 0.3);
}

TEST(ScenarioParameters, when_a_key_is_unknown_expect_the_name_of_the_parameter)
{
  ScenarioSource source = four_bar_parameters();
  source.parameters["constraints.loop.frame_c"] = ParameterValue("ground");
  EXPECT_THAT(
    refusal(source),
    AllOf(StartsWith("scenario: "), HasSubstr("constraints.loop.frame_c"), HasSubstr("allowed")));
  source.parameters.erase("constraints.loop.frame_c");
  source.parameters["constraints.loop.frame_a"] = ParameterValue("coupler_tap");
  EXPECT_THAT(
    refusal(source),
    AllOf(HasSubstr("constraints.loop"), HasSubstr("coupler_tap"), HasSubstr("coupler_tip")));
  source.parameters["constraints.loop.frame_a"] = ParameterValue(1.5);
  EXPECT_THAT(refusal(source), AllOf(HasSubstr("constraints.loop"), HasSubstr("1.5")));
}

TEST(ScenarioParameters, when_values_cannot_be_expect_refusal_that_names_them)
{
  const auto with = [](const std::string & name, const ParameterValue & value)
  {
    ScenarioSource source = four_bar_parameters();
    source.parameters[name] = value;
    return refusal(source);
  };
  EXPECT_THAT(
    with("run.step", ParameterValue(std::numeric_limits<double>::quiet_NaN())),
    AllOf(HasSubstr("'run.step'"), HasSubstr("nan"), HasSubstr("finite")));
  EXPECT_THAT(
    with("run.step", ParameterValue(-1.0)), AllOf(HasSubstr("run.step"), HasSubstr("-1")));
  EXPECT_THAT(
    with("run.step", ParameterValue(std::vector<std::uint8_t>{1})),
    AllOf(HasSubstr("'run.step'"), HasSubstr("byte_array"), HasSubstr("allowed")));
  EXPECT_THAT(
    with("initial.q", ParameterValue(1.0)),
    AllOf(HasSubstr("'initial.q.coupler'"), HasSubstr("one of them")));
  EXPECT_THAT(
    with("constraints.wall", ParameterValue("point_on_plane")),
    AllOf(HasSubstr("'constraints.wall'"), HasSubstr("below it")));
  EXPECT_THAT(
    with("constraints.loop.rows", ParameterValue("[x, z")),
    AllOf(HasSubstr("'constraints.loop.rows'"), HasSubstr("not readable as YAML")));
  EXPECT_THAT(with("system..gravity", ParameterValue(1.0)), HasSubstr("'system..gravity'"));
}

TEST(ScenarioParameters, when_the_source_cannot_be_read_expect_refusal_that_says_why)
{
  EXPECT_THAT(refusal({}), AllOf(HasSubstr("scenario"), HasSubstr("robot_description")));
  ScenarioSource source;
  source.file = "/nowhere/at_all.yaml";
  EXPECT_THAT(refusal(source), HasSubstr("/nowhere/at_all.yaml"));
  source.file = "package://no_such_package/x.yaml";
  EXPECT_THAT(refusal(source), HasSubstr("'no_such_package'"));
  source.file.clear();
  source.robot_description = "four_bar";
  EXPECT_THAT(refusal(source), AllOf(HasSubstr("'four_bar'"), HasSubstr("<robot>")));

  const TemporaryFile twice("system: {coordinates: [x], kinetic: dx^2}\nrun: {}\nrun: {}\n");
  source = {};
  source.file = twice.path();
  EXPECT_THAT(refusal(source), AllOf(HasSubstr(twice.path() + ":3"), HasSubstr("'run'")));
  const TemporaryFile list("- system\n");
  source.file = list.path();
  EXPECT_THAT(refusal(source), AllOf(HasSubstr(list.path()), HasSubstr("map")));
  const TemporaryFile bomb(
    "a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n"
    "c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\n"
    "e: [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\n");
  source.file = bomb.path();
  EXPECT_THAT(refusal(source), HasSubstr("100000"));
}

TEST(RobotDescription, when_given_expect_it_in_place_of_the_robot_of_the_file)
{
  ScenarioSource source;
  source.file = kScenarios + "four_bar.yaml";
  source.robot_description = read(kRobots + "four_bar.urdf");
  const std::string mass = "<mass value=\"4\"/>";
  source.robot_description.replace(
    source.robot_description.find(mass), mass.size(), "<mass value=\"5\"/>");
  const auto energy = [](const Scenario & scenario)
  {
    const auto simulation = scenario.make_simulation();
    EXPECT_TRUE(has_output(simulation->evaluate()));
    return simulation->potential_energy();
  };
  EXPECT_NE(energy(load_scenario(source)), energy(Scenario::load(source.file)));

  source.parameters["system.urdf"] = ParameterValue(kRobots + "four_bar.urdf");
  EXPECT_EQ(energy(load_scenario(source)), energy(Scenario::load(source.file)));
}

TEST(RobotDescription, when_it_has_formulas_of_xacro_expect_them_left_alone)
{
  ScenarioSource source;
  source.robot_description = read(kRobots + "four_bar.urdf");
  const std::size_t root = source.robot_description.find("<robot");
  ASSERT_NE(root, std::string::npos);
  source.robot_description.insert(root, "<!-- ${prefix}joint, ${-pi/2} and ${ alone -->\n");
  source.parameters["system.gravity"] = ParameterValue(std::vector<double>{0.0, 0.0, -9.81});
  const Scenario scenario = load_scenario(source);
  EXPECT_EQ(scenario.system().coordinate_count(), 3);
}

TEST(RobotDescription, when_the_file_has_no_robot_on_purpose_expect_it_unused)
{
  ScenarioSource source;
  source.robot_description = read(kRobots + "four_bar.urdf");
  for (const char * name : {"thesis_2_1.yaml", "rolling_coin.yaml"})
  {
    source.file = kScenarios + name;
    EXPECT_EQ(
      load_scenario(source).system().coordinate_names(),
      Scenario::load(source.file).system().coordinate_names());
  }
}

TEST(RobotDescription, when_the_file_has_several_robots_expect_one_for_all)
{
  const std::string robots =
    "system:\n  robots:\n"
    "    - {name: left, urdf: a.urdf, locked: {crank: 0.2}}\n"
    "    - {name: right, urdf: b.urdf, prefix: '', locked: [rocker]";
  const std::string urdf = read(kRobots + "four_bar.urdf");
  const TemporaryFile fixed(robots + "}\n");
  ScenarioSource source;
  source.file = fixed.path();
  source.robot_description = urdf;
  // Joint left_crank does not exist in this description.
  EXPECT_THAT(refusal(source), HasSubstr("left_crank"));
  source.parameters["system.locked"] = ParameterValue(std::vector<std::string>{"rocker"});
  EXPECT_THAT(load_scenario(source).system().coordinate_names(), ElementsAre("crank", "coupler"));

  const TemporaryFile floating(robots + ", base: floating}\n");
  source.file = floating.path();
  EXPECT_THAT(refusal(source), AllOf(HasSubstr("'right'"), HasSubstr("floating")));
}

TEST(ScenarioParameters, when_controls_are_left_out_expect_no_law)
{
  ScenarioSource source;
  source.file = kScenarios + "mobile_arm.yaml";
  EXPECT_NE(load_scenario(source).servo_law(), nullptr);
  source.without_controls = true;
  EXPECT_EQ(load_scenario(source).servo_law(), nullptr);
  EXPECT_EQ(load_scenario(source).make_input_law(), nullptr);
}

TEST(ScenarioParameters, when_texts_have_any_characters_expect_them_unchanged)
{
  ScenarioSource source = four_bar_parameters();
  source.parameters["observe.odd"] = ParameterValue("\"\\`\n\t'#: ä %");
  const std::string text = scenario_text(source);
  EXPECT_THAT(text, HasSubstr("\\\"\\\\`\\n\\x09'#: ä %"));
  source.parameters.erase("observe.odd");
  source.parameters["observe.tip"] = ParameterValue("px(coupler_tip)");
  EXPECT_THAT(load_scenario(source).observable_names(), ElementsAre("tip"));
}

TEST(ScenarioParameters, when_names_are_asked_for_expect_sections_alone)
{
  using constrained_dynamics_ros::is_scenario_parameter;
  EXPECT_TRUE(is_scenario_parameter("constraints.loop.type"));
  EXPECT_TRUE(is_scenario_parameter("formulation"));
  EXPECT_FALSE(is_scenario_parameter("constraintsloop.type"));
  EXPECT_FALSE(is_scenario_parameter("publish_rate"));
  EXPECT_FALSE(is_scenario_parameter(""));
}

TEST(ResolveUri, when_a_package_is_named_expect_its_share_folder)
{
  EXPECT_EQ(resolve_uri("/a/b.yaml"), "/a/b.yaml");
  EXPECT_EQ(resolve_uri("file:///a/b.yaml"), "/a/b.yaml");
  EXPECT_THAT(
    resolve_uri("package://rclcpp/package.xml"), testing::EndsWith("/share/rclcpp/package.xml"));
  EXPECT_THROW((void)resolve_uri("package://"), std::invalid_argument);
}

}  // namespace
