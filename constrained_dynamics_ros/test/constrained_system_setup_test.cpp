// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// The simulated hardware from outside: parameters, life cycle, sensors.
#include <gmock/gmock.h>

#include <cmath>
#include <string>
#include <vector>

#include "hardware_bench.hpp"

using namespace constrained_dynamics_ros::test;  // NOLINT: helpers of these tests
using lifecycle_msgs::msg::State;
using testing::AllOf;
using testing::HasSubstr;

namespace
{

const auto * const kRos = testing::AddGlobalTestEnvironment(new RosEnvironment);

Tag four_bar(std::map<std::string, std::string> parameters = {})
{
  Tag tag;
  tag.parameters = std::move(parameters);
  tag.parameters.emplace("scenario", scenario("four_bar.yaml"));
  tag.joints = {
    {"crank", {}, {"position", "velocity", "effort"}, {}}, {"rocker", {}, {"position"}, {}}};
  return tag;
}

/// What is logged when a tag is refused; empty if it is not.
std::string refusal(const Tag & tag, const std::string & file = "four_bar.urdf")
{
  const LogCapture log;
  constrained_dynamics_ros::ConstrainedSystem system;
  hardware_interface::HardwareComponentParams params;
  params.hardware_info =
    hardware_interface::parse_control_resources_from_urdf(robot(file, tag)).at(0);
  params.hardware_info.rw_rate = Bench::kRate;
  params.clock = std::make_shared<rclcpp::Clock>(RCL_STEADY_TIME);
  const bool is_refused = system.init(params) != hardware_interface::CallbackReturn::SUCCESS;
  return is_refused ? log.text() + "." : "";
}

TEST(Setup, when_loaded_by_its_name_expect_it_to_run)
{
  hardware_interface::ResourceManagerParams params;
  params.robot_description = robot("four_bar.urdf", four_bar());
  params.clock = std::make_shared<rclcpp::Clock>(RCL_STEADY_TIME);
  params.activate_all = true;
  params.update_rate = 1000;
  hardware_interface::ResourceManager manager(params, true);
  ASSERT_EQ(manager.system_components_size(), 1U);
  ASSERT_TRUE(manager.state_interface_exists("crank/position"));
  const auto read = manager.read(params.clock->now(), rclcpp::Duration::from_seconds(0.01));
  EXPECT_EQ(read.result, hardware_interface::return_type::OK);
  EXPECT_NE(manager.claim_state_interface("crank/position").get_optional().value(), 0.3);
}

TEST(Setup, when_the_tag_says_the_constraints_expect_no_file_needed)
{
  Tag tag = four_bar();
  tag.parameters = {
    {"constraints",
     "- {name: loop, type: frame_coincidence, frame_a: coupler_tip, frame_b: rocker_tip, rows: [x, "
     "z]}"},
    {"initial", "{q: {coupler: pi/2, rocker: 2.5}, solve: [coupler, rocker]}"}};
  tag.joints[0].initial["position"] = "0.3";
  Bench bench(robot("four_bar.urdf", tag));
  Bench file(robot("four_bar.urdf", four_bar()));
  ASSERT_TRUE(bench.run(0.2));
  ASSERT_TRUE(file.run(0.2));
  EXPECT_NE(bench.state("crank/position"), 0.3);
  EXPECT_EQ(bench.state("crank/position"), file.state("crank/position"));
}

TEST(Setup, when_the_tag_has_initial_values_expect_them)
{
  Tag tag = four_bar();
  tag.joints[0].initial = {{"position", "0.5"}, {"velocity", "-0.25"}};
  Bench bench(robot("four_bar.urdf", tag), false);
  EXPECT_EQ(bench.state("crank/position"), 0.5);
  EXPECT_EQ(bench.state("crank/velocity"), -0.25);
}

TEST(Setup, when_parameters_cannot_be_expect_refusal_that_names_them)
{
  struct Case
  {
    std::string name;
    std::string value;
    std::string expected;
  };
  const std::vector<Case> cases = {
    {"scenario", "/nowhere.yaml", "/nowhere.yaml"},
    {"step", "fast", "'fast'"},
    {"step", "0", "above 0"},
    {"step", "-0.001", "'-0.001'"},
    {"step", "nan", "'nan'"},
    {"step", "inf", "'inf'"},
    {"step", "0.01", "period"},
    {"largest_period", "0", "largest_period"},
    {"noise.position", "-1", "noise.position"},
    {"noise.velocity", "a lot", "'a lot'"},
    {"noise.effort", "nan", "noise.effort"},
    {"delay", "-0.1", "delay"},
    {"delay", "1e9", "delay"},
    {"dropout", "1.5", "1.5"},
    {"dropout", "[0, 1]", "[[begin, end]"},
    {"dropout", "[[2, 1]]", "begin < end"},
    {"dropout", "[[0, x]]", "'x'"},
    {"dropout", "[[0, 1]", "YAML"},
    {"dropout_values", "zero", "frozen, nan"},
    {"seed", "-1", "'-1'"},
    {"wait_for_controller", "perhaps", "true, false"},
    {"nois.position", "0.1", "noise.position"},
    {"constraints", "- {name: a, type: nothing}", "constraints.a.type"},
    {"initial.q.crank", "[1", "initial.q.crank"},
    {"run.step", "-3", "run.step"},
  };
  EXPECT_EQ(refusal(four_bar()), "");
  EXPECT_EQ(refusal(four_bar({{"status_publish_rate", "10"}})), "");
  for (const Case & c : cases)
  {
    Tag tag = four_bar();
    tag.parameters[c.name] = c.value;
    EXPECT_THAT(refusal(tag), HasSubstr(c.expected)) << c.name << " = " << c.value;
  }
}

TEST(Setup, when_interfaces_cannot_be_expect_refusal_that_names_them)
{
  Tag tag = four_bar();
  tag.joints[0].states.push_back("temperature");
  EXPECT_THAT(refusal(tag), AllOf(HasSubstr("crank/temperature"), HasSubstr("acceleration")));
  tag = four_bar();
  tag.joints[0].commands = {"acceleration"};
  EXPECT_THAT(refusal(tag), AllOf(HasSubstr("crank/acceleration"), HasSubstr("effort")));
  tag = four_bar({{"system.actuated", "[rocker]"}});
  tag.joints[0].commands = {"effort"};
  EXPECT_THAT(refusal(tag), AllOf(HasSubstr("crank/effort"), HasSubstr("allowed: rocker")));
  tag = four_bar({{"scenario", ""}, {"system.locked", "[crank]"}});
  EXPECT_THAT(refusal(tag), AllOf(HasSubstr("'crank'"), HasSubstr("coupler, rocker")));
  tag = four_bar();
  tag.more = "<sensor name=\"lop\"><state_interface name=\"force.x\"/></sensor>";
  EXPECT_THAT(refusal(tag), AllOf(HasSubstr("'lop'"), HasSubstr("allowed: loop")));
  tag.more = "<sensor name=\"loop\"><state_interface name=\"force\"/></sensor>";
  EXPECT_THAT(refusal(tag), AllOf(HasSubstr("loop/force"), HasSubstr("force.x")));
  tag.more = "<gpio name=\"lamp\"><command_interface name=\"on\"/></gpio>";
  EXPECT_THAT(refusal(tag), HasSubstr("'lamp'"));
  tag = four_bar({{"drive_bandwidth", "1000"}});
  tag.joints[0].commands = {"position"};
  EXPECT_THAT(refusal(tag), AllOf(HasSubstr("drive_bandwidth"), HasSubstr("500")));
  tag = four_bar();
  tag.joints[0].initial["position"] = "5.0e";
  EXPECT_THAT(refusal(tag), HasSubstr("initial.q.crank"));
}

TEST(LifeCycle, when_not_active_expect_time_to_stand_still)
{
  Bench bench(robot("four_bar.urdf", four_bar()), false);
  EXPECT_EQ(bench.state("crank/position"), 0.3);
  ASSERT_TRUE(bench.run(0.1));
  EXPECT_EQ(bench.state("crank/position"), 0.3);
  ASSERT_TRUE(bench.set_state(State::PRIMARY_STATE_ACTIVE));
  ASSERT_TRUE(bench.run(0.1));
  const double position = bench.state("crank/position");
  const double velocity = bench.state("crank/velocity");
  EXPECT_NE(position, 0.3);
  ASSERT_TRUE(bench.set_state(State::PRIMARY_STATE_INACTIVE));
  ASSERT_TRUE(bench.run(0.1));
  EXPECT_EQ(bench.state("crank/position"), position);
  ASSERT_TRUE(bench.set_state(State::PRIMARY_STATE_ACTIVE));
  ASSERT_TRUE(bench.cycle());
  EXPECT_NEAR(bench.state("crank/position"), position + velocity / Bench::kRate, 1e-3);
  EXPECT_NE(bench.state("crank/position"), position);
}

TEST(LifeCycle, when_configured_again_expect_the_initial_state)
{
  Bench bench(robot("four_bar.urdf", four_bar({{"noise.position", "0.01"}})));
  std::vector<double> first;
  std::vector<double> second;
  for (std::vector<double> * run : {&first, &second})
  {
    ASSERT_TRUE(bench.set_state(State::PRIMARY_STATE_UNCONFIGURED));
    ASSERT_TRUE(bench.set_state(State::PRIMARY_STATE_INACTIVE));
    ASSERT_TRUE(bench.set_state(State::PRIMARY_STATE_ACTIVE));
    for (int i = 0; i < 50; ++i)
    {
      ASSERT_TRUE(bench.cycle());
      run->push_back(bench.state("crank/position"));
    }
  }
  EXPECT_EQ(first, second);  // the noise, too, begins anew
}

// ---- sensors -----------------------------------------------------------------------------------

TEST(Sensors, when_noise_is_given_expect_its_deviation_and_no_bias)
{
  // The robot stands still: all that changes is noise.
  const auto parameters = [](const std::string & seed)
  {
    return std::map<std::string, std::string>{
      {"noise.position", "0.02"}, {"noise.velocity", "0.3"}, {"seed", seed}};
  };
  Bench bench(robot("four_bar.urdf", four_bar(parameters("42"))), false);
  Bench same(robot("four_bar.urdf", four_bar(parameters("42"))), false);
  Bench other(robot("four_bar.urdf", four_bar(parameters("43"))), false);
  const int count = 4000;
  const std::vector<std::pair<std::string, double>> interfaces = {
    {"crank/position", 0.02}, {"crank/velocity", 0.3}, {"crank/effort", 0.0}};
  std::map<std::string, double> sum;
  std::map<std::string, double> squares;
  int equal = 0;
  for (int i = 0; i < count; ++i)
  {
    for (Bench * each : {&bench, &same, &other})
    {
      ASSERT_TRUE(each->cycle());
    }
    for (const auto & [name, deviation] : interfaces)
    {
      const double error = bench.state(name) - (name == "crank/position" ? 0.3 : 0.0);
      sum[name] += error;
      squares[name] += error * error;
    }
    ASSERT_EQ(bench.state("crank/position"), same.state("crank/position"));
    equal += bench.state("crank/position") == other.state("crank/position") ? 1 : 0;
  }
  EXPECT_EQ(equal, 0);
  for (const auto & [name, deviation] : interfaces)
  {
    // Five deviations of the estimates.
    EXPECT_LE(std::abs(sum[name] / count), 5.0 * deviation / std::sqrt(count)) << name;
    EXPECT_NEAR(
      std::sqrt(squares[name] / count), deviation, 5.0 * deviation / std::sqrt(2.0 * count))
      << name;
  }
}

TEST(Sensors, when_they_are_late_expect_the_state_of_then)
{
  Bench now(robot("four_bar.urdf", four_bar()));
  Bench late(robot("four_bar.urdf", four_bar({{"delay", "0.02"}})));
  std::vector<double> positions;
  for (int i = 0; i < 100; ++i)
  {
    positions.push_back(now.state("crank/position"));
    ASSERT_EQ(
      late.state("crank/position"), positions[static_cast<std::size_t>(std::max(0, i - 10))])
      << i;
    ASSERT_TRUE(now.cycle());
    ASSERT_TRUE(late.cycle());
  }
  EXPECT_NE(positions.back(), positions.front());
}

TEST(Sensors, when_they_drop_out_by_chance_expect_nan_as_often)
{
  Bench bench(robot("four_bar.urdf", four_bar({{"dropout", "0.2"}, {"seed", "7"}})));
  const int count = 4000;
  int dropouts = 0;
  for (int i = 0; i < count; ++i)
  {
    ASSERT_TRUE(bench.cycle());
    const bool drops_out = std::isnan(bench.state("crank/position"));
    ASSERT_EQ(std::isnan(bench.state("crank/velocity")), drops_out);
    dropouts += drops_out ? 1 : 0;
  }
  EXPECT_NEAR(dropouts, 0.2 * count, 5.0 * std::sqrt(0.2 * 0.8 * count));
}

TEST(Sensors, when_windows_are_given_expect_dropouts_within_them)
{
  const std::string windows = "[[0.1, 0.12], [0.2, 0.3]]";
  Bench good(robot("four_bar.urdf", four_bar()));
  Bench nan(robot("four_bar.urdf", four_bar({{"dropout", windows}})));
  Bench frozen(
    robot("four_bar.urdf", four_bar({{"dropout", windows}, {"dropout_values", "frozen"}})));
  double last = 0.3;
  for (int i = 1; i <= 200; ++i)
  {
    for (Bench * each : {&good, &nan, &frozen})
    {
      ASSERT_TRUE(each->cycle());
    }
    const double time = static_cast<double>(i) / Bench::kRate;
    const bool inside = (time > 0.0999 && time < 0.1199) || (time > 0.1999 && time < 0.2999);
    const double position = good.state("crank/position");
    ASSERT_EQ(std::isnan(nan.state("crank/position")), inside) << time;
    last = inside ? last : position;
    ASSERT_EQ(frozen.state("crank/position"), last) << time;
  }
}

}  // namespace
