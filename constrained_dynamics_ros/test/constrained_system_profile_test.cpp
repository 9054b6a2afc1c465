// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// The simulated hardware as a robot whose drives a profile describes.
#include <gmock/gmock.h>

#include <cmath>
#include <string>
#include <vector>

#include <Eigen/Core>

#include <constrained_dynamics/model/rigid_body_system.hpp>
#include <constrained_dynamics/scenario/scenario.hpp>
#include <constrained_dynamics/servo/inverse_dynamics.hpp>

#include "hardware_bench.hpp"
#include "support/allocation_counter.hpp"

using constrained_dynamics::Scenario;
using constrained_dynamics::Status;
using constrained_dynamics::Workspace;
using namespace constrained_dynamics_ros::test;  // NOLINT: helpers of these tests

namespace
{

const auto * const kRos = testing::AddGlobalTestEnvironment(new RosEnvironment);

std::string profile(const std::string & name)
{
  return std::string(CD_DATA_DIR) + "/profiles/" + name + ".yaml";
}

Tag four_bar(const std::string & command, const std::string & effort)
{
  Tag tag;
  tag.parameters = {
    {"scenario", scenario("four_bar.yaml")},
    {"system.actuated", "[crank]"},
    {"step", "0.001"},
    {"profile", profile("crank_adds_gravity")},
    {"delay", "0"}};
  tag.joints = {
    {"crank", {command}, {"position", "velocity", effort}, {}},
    {"rocker", {}, {"position", "velocity"}, {}}};
  return tag;
}

/// What the crank needs at rest, and what of that a drive carries that knows the open chain.
struct Balance
{
  Balance()
  {
    const Scenario model = Scenario::load(scenario("four_bar.yaml"), {"system.actuated=[crank]"});
    Workspace workspace(*model.dynamics(), model.initial());
    constrained_dynamics::InverseDynamics inverse(model.dynamics());
    Eigen::VectorXd inputs(model.system().input_count());
    EXPECT_EQ(inverse.find_at_rest(0.0, model.initial().q, workspace, inputs), Status::kOk);
    effort = inputs(model.system().input_index("crank"));
    Eigen::VectorXd weight(model.system().speed_count());
    model.system().as_robot()->gravity_torque(workspace.system_data(), weight);
    gravity = weight(model.system().speed_index("dcrank"));
  }
  double effort = 0.0;
  double gravity = 0.0;
};

}  // namespace

TEST(ConstrainedSystemProfile, when_the_drive_adds_gravity_expect_rest_for_what_is_left)
{
  const Balance balance;
  ASSERT_GT(std::abs(balance.gravity), 1.0);
  Bench bench(robot("four_bar.urdf", four_bar("torque", "torque")));
  ASSERT_TRUE(bench.claim({"crank/torque"}));
  bench.command("crank/torque", balance.effort - balance.gravity);
  ASSERT_EQ(
    bench.system().write(rclcpp::Time(), rclcpp::Duration(0, 0)),
    hardware_interface::return_type::OK);
  const double begin = bench.state("crank/position");
  ASSERT_TRUE(bench.run(0.5));
  EXPECT_NEAR(bench.state("crank/position"), begin, 1e-7);
  // The sensor leaves gravity out, at rest and in motion.
  EXPECT_NEAR(bench.state("crank/torque"), balance.effort - balance.gravity, 1e-6);
}

// A command that does not know of the drive's gravity is too large by exactly that.
TEST(ConstrainedSystemProfile, when_a_command_contains_gravity_expect_twice_of_it)
{
  const Balance balance;
  Bench with(robot("four_bar.urdf", four_bar("torque", "torque")));
  Tag plain = four_bar("effort", "effort");
  plain.parameters.erase("profile");
  Bench without(robot("four_bar.urdf", plain));
  ASSERT_TRUE(with.claim({"crank/torque"}));
  ASSERT_TRUE(without.claim({"crank/effort"}));
  with.command("crank/torque", balance.effort);
  without.command("crank/effort", balance.effort + balance.gravity);
  for (Bench * bench : {&with, &without})
  {
    ASSERT_EQ(
      bench->system().write(rclcpp::Time(), rclcpp::Duration(0, 0)),
      hardware_interface::return_type::OK);
    ASSERT_TRUE(bench->run(0.02));
  }
  // Within 20 ms g(q) and viscous friction change by less than a tenth of what moves the crank.
  const double moved = without.state("crank/velocity");
  ASSERT_GT(std::abs(moved), 0.01);
  EXPECT_NEAR(with.state("crank/velocity"), moved, 0.1 * std::abs(moved));
}

TEST(ConstrainedSystemProfile, when_positions_are_commanded_expect_readings_without_gravity)
{
  const Balance balance;
  Bench bench(robot("four_bar.urdf", four_bar("position", "torque")));
  ASSERT_TRUE(bench.claim({"crank/position"}));
  bench.command("crank/position", bench.state("crank/position"));
  ASSERT_TRUE(bench.run(0.3));
  EXPECT_NEAR(bench.state("crank/torque"), balance.effort - balance.gravity, 1e-4);
}

TEST(ConstrainedSystemProfile, when_interfaces_or_profile_do_not_fit_expect_refusal_with_names)
{
  const auto refusal = [](const Tag & tag)
  {
    LogCapture log;
    try
    {
      Bench bench(robot("four_bar.urdf", tag), false);
    }
    catch (const std::exception &)
    {
      // the resource manager may refuse it as well
    }
    return LogCapture::text();
  };
  using testing::HasSubstr;
  EXPECT_THAT(refusal(four_bar("effort", "torque")), HasSubstr("position, velocity, torque"));
  EXPECT_THAT(
    refusal(four_bar("torque", "effort")), HasSubstr("position, velocity, acceleration, torque"));
  Tag missing = four_bar("torque", "torque");
  missing.parameters["profile"] = "/nowhere/robot.yaml";
  EXPECT_THAT(refusal(missing), HasSubstr("/nowhere/robot.yaml"));
  Tag silent = four_bar("effort", "effort");
  silent.parameters["profile"] = std::string(CD_CONFIG_DIR) + "/profiles/kuka_iiwa.yaml";
  EXPECT_THAT(refusal(silent), HasSubstr("effort_contains"));
}

TEST(ConstrainedSystemProfile, when_the_profile_states_a_delay_expect_older_values)
{
  Tag tag = four_bar("torque", "torque");
  Bench prompt(robot("four_bar.urdf", tag));
  tag.parameters.erase("delay");
  Bench late(robot("four_bar.urdf", tag));
  for (Bench * bench : {&prompt, &late})
  {
    ASSERT_TRUE(bench->claim({"crank/torque"}));
    bench->command("crank/torque", 0.0);
    ASSERT_TRUE(bench->run(0.1));
  }
  // 2 ms are one cycle at 500 Hz.
  const double before = prompt.state("crank/position");
  EXPECT_NE(late.state("crank/position"), before);
  ASSERT_TRUE(late.cycle());
  EXPECT_DOUBLE_EQ(late.state("crank/position"), before);
}

TEST(ConstrainedSystemProfile, when_running_expect_no_allocation)
{
  using constrained_dynamics::test::allocation_count;
  Bench bench(robot("four_bar.urdf", four_bar("torque", "torque")));
  ASSERT_TRUE(bench.claim({"crank/torque"}));
  bench.command("crank/torque", 1.0);
  ASSERT_TRUE(bench.run(0.02));
  const rclcpp::Duration period = rclcpp::Duration::from_seconds(0.002);
  const rclcpp::Time now;
  const long before = allocation_count();
  for (int i = 0; i < 200; ++i)
  {
    (void)bench.system().read(now, period);
    (void)bench.system().write(now, period);
  }
  EXPECT_EQ(allocation_count(), before);
}
