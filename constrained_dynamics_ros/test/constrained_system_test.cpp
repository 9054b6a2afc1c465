// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// The physics of the simulated hardware: motion, commands, modes.
#include <gmock/gmock.h>

#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <Eigen/Core>

#include <constrained_dynamics/scenario/scenario.hpp>

#include "hardware_bench.hpp"
#include "support/allocation_counter.hpp"

using constrained_dynamics::Scenario;
using constrained_dynamics::Workspace;
using namespace constrained_dynamics_ros::test;  // NOLINT: helpers of these tests
using lifecycle_msgs::msg::State;

namespace
{

const auto * const kRos = testing::AddGlobalTestEnvironment(new RosEnvironment);

/// The four-bar linkage with commands for its crank.
Tag four_bar(const std::vector<std::string> & commands)
{
  Tag tag;
  tag.parameters = {{"scenario", scenario("four_bar.yaml")}, {"step", "0.001"}};
  tag.joints = {
    {"crank", commands, {"position", "velocity", "acceleration", "effort"}, {}},
    {"coupler", {}, {"position", "velocity", "effort"}, {}},
    {"rocker", {}, {"position", "velocity"}, {}}};
  return tag;
}

/// The core's own four-bar linkage.
struct FourBar
{
  FourBar()
  : scenario(Scenario::load(test_file())), workspace(*scenario.dynamics(), scenario.initial())
  {
  }
  static std::string test_file()
  {
    return constrained_dynamics_ros::test::scenario("four_bar.yaml");
  }

  /// The state that the interfaces show.
  constrained_dynamics::State measured(Bench & bench) const
  {
    constrained_dynamics::State state = scenario.initial();
    const auto & names = scenario.system().coordinate_names();
    for (std::size_t i = 0; i < names.size(); ++i)
    {
      state.q(static_cast<Eigen::Index>(i)) = bench.state(names[i] + "/position");
      state.u(static_cast<Eigen::Index>(i)) = bench.state(names[i] + "/velocity");
    }
    return state;
  }
  /// Accelerations for efforts of the crank.
  Eigen::VectorXd acceleration(const constrained_dynamics::State & state, double effort)
  {
    Eigen::VectorXd inputs = Eigen::VectorXd::Zero(scenario.system().input_count());
    inputs(scenario.system().input_index("crank")) = effort;
    EXPECT_TRUE(
      has_output(scenario.dynamics()->solve(state.time, state.q, state.u, inputs, workspace)));
    return workspace.solution().acceleration;
  }
  double energy(const constrained_dynamics::State & state)
  {
    EXPECT_TRUE(
      has_output(scenario.dynamics()->evaluate_rows(state.time, state.q, state.u, workspace)));
    EXPECT_TRUE(has_output(scenario.dynamics()->evaluate_terms(workspace)));
    return scenario.system().kinetic_energy(workspace.system_data()) +
           scenario.system().potential_energy(workspace.system_data());
  }
  double violation() const
  {
    return std::max(
      workspace.rows().position.cwiseAbs().maxCoeff(),
      workspace.rows().velocity.cwiseAbs().maxCoeff());
  }

  Scenario scenario;
  Workspace workspace;
};

TEST(ConstrainedSystem, when_a_four_bar_linkage_falls_expect_closed_loop_and_constant_energy)
{
  Bench bench(robot("four_bar.urdf", four_bar({})));
  FourBar model;
  const double begin = model.energy(model.measured(bench));
  double travelled = 0.0;
  double fastest = 0.0;
  for (int i = 0; i < 1000; ++i)
  {
    ASSERT_TRUE(bench.cycle());
    if (i % 20 == 0)
    {
      const double energy = model.energy(model.measured(bench));
      ASSERT_LT(model.violation(), 1e-9);
      ASSERT_NEAR(energy, begin, 1e-6);
      ASSERT_EQ(bench.state("coupler/effort"), 0.0);
    }
    travelled = std::max(travelled, std::abs(bench.state("crank/position") - 0.3));
    fastest = std::max(fastest, std::abs(bench.state("crank/velocity")));
  }
  EXPECT_GT(travelled, 1.0);
  EXPECT_GT(fastest, 1.0);
}

TEST(ConstrainedSystem, when_effort_balances_gravity_expect_rest)
{
  Bench bench(robot("four_bar.urdf", four_bar({"effort"})));
  FourBar model;
  const auto state = model.measured(bench);
  // u̇ is affine in the effort.
  const double without = model.acceleration(state, 0.0)(0);
  const double with_one = model.acceleration(state, 1.0)(0);
  const double effort = -without / (with_one - without);
  ASSERT_GT(std::abs(effort), 1.0);
  ASSERT_TRUE(bench.claim({"crank/effort"}));
  bench.command("crank/effort", effort);
  const rclcpp::Duration no_time(0, 0);
  ASSERT_EQ(bench.system().write(rclcpp::Time(), no_time), hardware_interface::return_type::OK);
  ASSERT_TRUE(bench.run(0.5));
  EXPECT_NEAR(bench.state("crank/position"), 0.3, 1e-7);
  EXPECT_NEAR(bench.state("crank/velocity"), 0.0, 1e-6);
  EXPECT_DOUBLE_EQ(bench.state("crank/effort"), effort);
}

TEST(ConstrainedSystem, when_effort_is_commanded_expect_the_motion_of_the_core)
{
  Bench bench(robot("four_bar.urdf", four_bar({"effort"})));
  FourBar model;
  ASSERT_TRUE(bench.claim({"crank/effort"}));
  bench.command("crank/effort", 20.0);
  ASSERT_EQ(
    bench.system().write(rclcpp::Time(), rclcpp::Duration(0, 0)),
    hardware_interface::return_type::OK);
  ASSERT_TRUE(bench.run(0.4));

  const Scenario scenario =
    Scenario::load(FourBar::test_file(), {"inputs={crank: 20}", "run.step=0.001"});
  const auto simulation = scenario.make_simulation();
  ASSERT_TRUE(simulation->run(0.4, 0.4, [](const auto &) { return true; }).completed);
  const auto state = model.measured(bench);
  EXPECT_LT((state.q - simulation->state().q).norm(), 1e-12);
  EXPECT_LT((state.u - simulation->state().u).norm(), 1e-12);
  EXPECT_NEAR(bench.state("crank/acceleration"), model.acceleration(state, 20.0)(0), 1e-9);
}

TEST(ConstrainedSystem, when_a_constraint_is_a_sensor_expect_its_force)
{
  Tag tag = four_bar({});
  tag.more =
    "<sensor name=\"loop\"><state_interface name=\"force.x\"/><state_interface name=\"torque.y\"/>"
    "<state_interface name=\"multiplier.z\"/></sensor>";
  Bench bench(robot("four_bar.urdf", tag));
  FourBar model;
  ASSERT_TRUE(bench.run(0.3));
  (void)model.acceleration(model.measured(bench), 0.0);
  const auto & solution = model.workspace.solution();
  EXPECT_NEAR(bench.state("loop/force.x"), solution.wrenches[0].on_a.force.x(), 1e-9);
  EXPECT_NEAR(bench.state("loop/torque.y"), 0.0, 1e-9);
  EXPECT_NEAR(bench.state("loop/multiplier.z"), solution.multipliers(1), 1e-9);
  EXPECT_GT(std::abs(bench.state("loop/force.x")), 1.0);
}

TEST(ConstrainedSystem, when_wheels_are_driven_expect_rolling_without_slip)
{
  Tag tag;
  tag.parameters = {{"scenario", scenario("mobile_arm.yaml")}};
  tag.joints = {
    {"left_wheel_joint", {"effort"}, {"position", "velocity"}, {}},
    {"right_wheel_joint", {"effort"}, {"position", "velocity"}, {}}};
  for (int i = 1; i <= 6; ++i)
  {
    tag.joints.push_back({"arm_" + std::to_string(i), {"position"}, {"position", "velocity"}, {}});
  }
  Bench bench(robot("mobile_arm.urdf", tag));
  ASSERT_TRUE(bench.has_state("base_x/position"));
  ASSERT_TRUE(bench.has_state("base_theta/position"));
  ASSERT_TRUE(bench.has_state("base_wz/velocity"));
  ASSERT_FALSE(bench.has_state("tool/position"));
  ASSERT_TRUE(bench.claim({"left_wheel_joint/effort", "right_wheel_joint/effort"}));
  bench.command("left_wheel_joint/effort", 0.8);
  bench.command("right_wheel_joint/effort", 1.0);
  double way = 0.0;
  for (int i = 0; i < 500; ++i)
  {
    const double before_x = bench.state("base_x/position");
    const double before_y = bench.state("base_y/position");
    ASSERT_TRUE(bench.cycle());
    const double mean =
      (bench.state("left_wheel_joint/velocity") + bench.state("right_wheel_joint/velocity")) / 2.0;
    ASSERT_NEAR(bench.state("base_vx/velocity"), 0.1 * mean, 1e-9);
    ASSERT_NEAR(bench.state("base_vy/velocity"), 0.0, 1e-9);
    way += std::hypot(
      bench.state("base_x/position") - before_x, bench.state("base_y/position") - before_y);
  }
  const double turned =
    (bench.state("left_wheel_joint/position") + bench.state("right_wheel_joint/position")) / 2.0;
  EXPECT_GT(way, 0.05);
  EXPECT_NEAR(way, 0.1 * turned, 1e-4);
  EXPECT_GT(bench.state("base_theta/position"), 1e-3);
  // The arm, that no controller commands, holds.
  EXPECT_NEAR(bench.state("arm_2/position"), 0.4, 0.01);
}

TEST(ConstrainedSystem, when_a_stop_is_hit_expect_it_to_hold)
{
  Tag tag = four_bar({});
  tag.parameters["constraints"] =
    "- {name: stop, type: joint_coupling, terms: {crank: 1}, offset: 0.1, unilateral: {side: "
    "above}}";
  Bench bench(robot("four_bar.urdf", tag));
  double lowest = 1.0;
  for (int i = 0; i < 500; ++i)
  {
    ASSERT_TRUE(bench.cycle());
    lowest = std::min(lowest, bench.state("crank/position"));
  }
  EXPECT_NEAR(lowest, 0.1, 5e-3);  // modes change at the end of a step
  EXPECT_NEAR(bench.state("crank/position"), 0.1, 5e-3);
}

// ---- modes -------------------------------------------------------------------------------------

TEST(Modes, when_a_position_is_commanded_expect_a_critically_damped_approach)
{
  Tag tag = four_bar({"position", "velocity", "effort"});
  tag.parameters["drive_bandwidth"] = "50";
  Bench bench(robot("four_bar.urdf", tag));
  ASSERT_TRUE(bench.claim({"crank/position"}));
  bench.command("crank/position", 0.5);
  ASSERT_TRUE(bench.cycle());  // writes
  ASSERT_TRUE(bench.run(0.06));
  // e = (1 + ω t) exp(−ω t) e0, whatever the robot weighs.
  EXPECT_NEAR(bench.state("crank/position"), 0.5 - 0.2 * (1.0 + 3.0) * std::exp(-3.0), 1e-5);
  ASSERT_TRUE(bench.run(0.6));
  EXPECT_NEAR(bench.state("crank/position"), 0.5, 1e-8);
  // The drive holds the weight of the linkage.
  FourBar model;
  const auto state = model.measured(bench);
  const double without = model.acceleration(state, 0.0)(0);
  const double gain = model.acceleration(state, 1.0)(0) - without;
  EXPECT_NEAR(bench.state("crank/effort"), -without / gain, 1e-4);
  (void)model.energy(state);
  EXPECT_LT(model.violation(), 1e-9);
}

TEST(Modes, when_a_velocity_is_commanded_expect_it)
{
  Bench bench(robot("four_bar.urdf", four_bar({"velocity"})));
  ASSERT_TRUE(bench.claim({"crank/velocity"}));
  bench.command("crank/velocity", 1.5);
  ASSERT_TRUE(bench.run(0.3));
  EXPECT_NEAR(bench.state("crank/velocity"), 1.5, 1e-6);
  EXPECT_NEAR(bench.state("crank/acceleration"), 0.0, 1e-4);
  FourBar model;
  (void)model.energy(model.measured(bench));
  EXPECT_LT(model.violation(), 1e-9);
}

TEST(Modes, when_position_and_velocity_are_commanded_expect_a_ramp_without_lag)
{
  Bench bench(robot("four_bar.urdf", four_bar({"position", "velocity"})));
  ASSERT_TRUE(bench.claim({"crank/position", "crank/velocity"}));
  double desired = 0.3;
  for (int i = 0; i < 200; ++i)
  {
    desired = 0.3 + 1.0 * (i + 1) / Bench::kRate;
    bench.command("crank/position", desired);
    bench.command("crank/velocity", 1.0);
    ASSERT_TRUE(bench.cycle());
  }
  // Commands hold for a period: the drive is behind by one, and a part of another.
  EXPECT_NEAR(bench.state("crank/position"), desired, 1.0 / Bench::kRate * 1.6);
  EXPECT_NEAR(bench.state("crank/velocity"), 1.0, 0.15);
}

TEST(Modes, when_switched_while_it_moves_expect_no_jump)
{
  Bench bench(robot("four_bar.urdf", four_bar({"position", "velocity", "effort"})));
  ASSERT_TRUE(bench.claim({"crank/velocity"}));
  bench.command("crank/velocity", 1.0);
  ASSERT_TRUE(bench.run(0.2));
  const double position = bench.state("crank/position");
  ASSERT_TRUE(bench.claim({"crank/effort"}, {"crank/velocity"}));
  bench.command("crank/effort", 0.0);
  ASSERT_TRUE(bench.cycle());
  EXPECT_NEAR(bench.state("crank/position"), position + 1.0 / Bench::kRate, 1e-4);
  EXPECT_NEAR(bench.state("crank/velocity"), 1.0, 0.1);
  EXPECT_EQ(bench.state("crank/effort"), 0.0);
  // No command yet, and the interface has an old or no value: it stops close to where it is.
  ASSERT_TRUE(bench.claim({"crank/position"}, {"crank/effort"}));
  ASSERT_TRUE(bench.run(0.5));
  EXPECT_NEAR(bench.state("crank/position"), position + 1.0 / Bench::kRate, 0.02);
  EXPECT_NEAR(bench.state("crank/velocity"), 0.0, 1e-6);
}

TEST(Modes, when_commands_exclude_each_other_expect_refusal)
{
  Bench bench(robot("four_bar.urdf", four_bar({"position", "velocity", "effort"})));
  LogCapture log;
  EXPECT_FALSE(bench.claim({"crank/position", "crank/effort"}));
  EXPECT_THAT(log.text(), testing::HasSubstr("'crank'"));
  EXPECT_TRUE(bench.claim({"crank/effort"}));
  EXPECT_FALSE(bench.claim({"crank/position"}));
  EXPECT_TRUE(bench.claim({"crank/position"}, {"crank/effort"}));
}

TEST(Modes, when_a_command_is_not_finite_expect_the_last_one_held_and_counted)
{
  Bench bench(robot("four_bar.urdf", four_bar({"effort"})));
  ASSERT_TRUE(bench.claim({"crank/effort"}));
  bench.command("crank/effort", 12.0);
  ASSERT_TRUE(bench.run(0.01));
  // Warnings of tests before this one may hold back its own for a second.
  std::this_thread::sleep_for(std::chrono::milliseconds(1050));
  LogCapture log;
  bench.command("crank/effort", std::numeric_limits<double>::quiet_NaN());
  ASSERT_TRUE(bench.run(0.01));
  bench.command("crank/effort", -std::numeric_limits<double>::infinity());
  ASSERT_TRUE(bench.run(0.01));
  EXPECT_EQ(bench.state("crank/effort"), 12.0);
  EXPECT_EQ(bench.system().counts().bad_commands, 10U);
  EXPECT_THAT(
    log.text(), testing::AllOf(testing::HasSubstr("crank/effort"), testing::HasSubstr("nan")));
}

TEST(Modes, when_no_controller_commands_expect_waiting_unless_it_shall_not)
{
  Bench waiting(robot("four_bar.urdf", four_bar({"effort"})));
  ASSERT_TRUE(waiting.run(0.2));
  EXPECT_EQ(waiting.state("crank/position"), 0.3);
  ASSERT_TRUE(waiting.claim({"crank/effort"}));
  ASSERT_TRUE(waiting.run(0.2));
  EXPECT_NE(waiting.state("crank/position"), 0.3);
  const double position = waiting.state("crank/position");
  ASSERT_TRUE(waiting.claim({}, {"crank/effort"}));
  ASSERT_TRUE(waiting.run(0.2));
  EXPECT_EQ(waiting.state("crank/position"), position);

  Tag tag = four_bar({"effort"});
  tag.parameters["wait_for_controller"] = "false";
  Bench falling(robot("four_bar.urdf", tag));
  ASSERT_TRUE(falling.run(0.2));
  EXPECT_NE(falling.state("crank/position"), 0.3);
  // Nothing is left of the effort of a controller that is gone.
  ASSERT_TRUE(falling.claim({"crank/effort"}));
  falling.command("crank/effort", 12.0);
  ASSERT_TRUE(falling.run(0.01));
  EXPECT_EQ(falling.state("crank/effort"), 12.0);
  ASSERT_TRUE(falling.claim({}, {"crank/effort"}));
  ASSERT_TRUE(falling.run(0.01));
  EXPECT_EQ(falling.state("crank/effort"), 0.0);
}

// ---- the cycle ---------------------------------------------------------------------------------

TEST(Cycle, when_it_runs_expect_no_allocation_and_no_lock)
{
  Tag tag = four_bar({"position", "effort"});
  tag.parameters["noise.position"] = "0.001";
  tag.parameters["delay"] = "0.005";
  tag.parameters["dropout"] = "0.1";
  tag.parameters["constraints"] =
    "- {name: stop, type: joint_coupling, terms: {crank: 1}, offset: 0.29, unilateral: {side: "
    "above}}";
  Bench bench(robot("four_bar.urdf", tag));
  ASSERT_TRUE(bench.claim({"crank/effort"}));
  bench.command("crank/effort", 1.0);
  ASSERT_TRUE(bench.cycle());
  constrained_dynamics_ros::ConstrainedSystem & system = bench.system();
  const rclcpp::Time time(1, 0);
  const rclcpp::Duration period = rclcpp::Duration::from_seconds(0.002);
  using constrained_dynamics::test::allocation_count;
  using constrained_dynamics::test::lock_count;
  ASSERT_TRUE(constrained_dynamics::test::counts_allocations());
  const std::vector<std::string> position = {"crank/position"};
  const std::vector<std::string> effort = {"crank/effort"};
  ASSERT_EQ(
    system.prepare_command_mode_switch(position, effort), hardware_interface::return_type::OK);
  const long allocations = allocation_count();
  const long locks = lock_count();
  for (int i = 0; i < 200; ++i)
  {
    (void)system.read(time, period);
    (void)system.write(time, period);
    if (i == 100)
    {
      (void)system.perform_command_mode_switch(position, effort);
    }
  }
  EXPECT_EQ(allocation_count(), allocations);
  EXPECT_EQ(lock_count(), locks);
}

TEST(Cycle, when_periods_vary_expect_the_same_motion)
{
  Bench even(robot("four_bar.urdf", four_bar({})));
  Bench uneven(robot("four_bar.urdf", four_bar({})));
  ASSERT_TRUE(even.run(0.2));
  // 0.2 s in pieces that are no whole steps.
  double left = 0.2;
  for (int i = 0; left > 1e-12; ++i)
  {
    const double period = std::min(left, 0.0007 + 0.0013 * (i % 3));
    ASSERT_TRUE(uneven.cycle(period));
    left -= period;
  }
  EXPECT_EQ(uneven.state("crank/position"), even.state("crank/position"));
  ASSERT_TRUE(even.cycle(0.0));
  ASSERT_TRUE(even.cycle(-1.0));
  EXPECT_EQ(uneven.state("crank/position"), even.state("crank/position"));
}

TEST(Cycle, when_a_period_is_very_long_expect_it_cut)
{
  Bench bench(robot("four_bar.urdf", four_bar({})));
  Bench other(robot("four_bar.urdf", four_bar({})));
  ASSERT_TRUE(bench.cycle(1000.0));
  ASSERT_TRUE(other.run(0.1));
  EXPECT_EQ(bench.state("crank/position"), other.state("crank/position"));
  EXPECT_EQ(bench.system().counts().cut_periods, 1U);
}

TEST(Cycle, when_the_solver_fails_expect_error_and_the_last_state)
{
  Tag tag = four_bar({});
  tag.parameters["system"] =
    "{external: [{name: gust, frame: crank_rod, force: [\"log(0.1 - t)\", 0, 0]}]}";
  Bench bench(robot("four_bar.urdf", tag));
  ASSERT_TRUE(bench.run(0.09));
  const rclcpp::Duration period = rclcpp::Duration::from_seconds(1.0 / Bench::kRate);
  LogCapture log;
  for (int i = 0; i < 20; ++i)
  {
    const bool can_go_on =
      bench.system().read(rclcpp::Time(), period) == hardware_interface::return_type::OK;
    EXPECT_EQ(can_go_on, i < 4) << i;
    EXPECT_TRUE(std::isfinite(bench.state("crank/position")));
    EXPECT_TRUE(std::isfinite(bench.state("crank/velocity")));
  }
  EXPECT_THAT(log.text(), testing::HasSubstr("cannot go on at 0.099"));
  EXPECT_FALSE(bench.cycle());
  EXPECT_EQ(bench.state_id(), State::PRIMARY_STATE_UNCONFIGURED);
  // From there it can begin again.
  EXPECT_TRUE(bench.set_state(State::PRIMARY_STATE_INACTIVE));
  EXPECT_TRUE(bench.set_state(State::PRIMARY_STATE_ACTIVE));
  EXPECT_TRUE(bench.run(0.05));
}

}  // namespace
