// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Controllers on robots whose drives and sensors a robot profile describes.
#include <gmock/gmock.h>

#include <cmath>
#include <iostream>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <constrained_dynamics/scenario/simulated_plant.hpp>
#include <constrained_dynamics_msgs/msg/servo_state.hpp>

#include "arm_loop.hpp"
#include "constrained_dynamics_controllers/constraint_force_broadcaster.hpp"
#include "controller_harness.hpp"
#include "support/allocation_counter.hpp"

namespace constrained_dynamics_controllers::test
{

using constrained_dynamics::Scenario;
using constrained_dynamics::SimulatedPlant;
using constrained_dynamics_msgs::msg::ServoState;
using controller_interface::return_type;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace
{

std::string profile_file(const std::string & name)
{
  return data_file("profiles/" + name + ".yaml");
}

Scenario arm_with(const std::string & profile)
{
  return Scenario::load(data_file("arm_on_wall.yaml"), {"system.profile=" + profile_file(profile)});
}

Parameters profile_parameters(const std::string & profile)
{
  return {{"scenario", data_file("arm_on_wall.yaml")}, {"profile", profile_file(profile)}};
}

/// The arm with drives of one profile, and a controller that believes in another.
template <typename Controller>
struct DriveLoop
{
  DriveLoop(
    const std::string & drives, const std::string & believed, const Parameters & parameters = {})
  : plant(arm_with(drives), {}, constrained_dynamics::SimulatedPlantOptions()),
    harness(profile_parameters(believed) + parameters)
  {
    EXPECT_TRUE(harness.configure());
    harness.assign();
    measure();
    EXPECT_TRUE(harness.activate());
  }

  const constrained_dynamics::System & system() const { return plant.system(); }
  const constrained_dynamics::State & state() const { return plant.simulation().state(); }
  void measure()
  {
    harness.measure(system(), state());
    const Eigen::VectorXd & readings = plant.effort_readings();
    for (int i = 0; i < 4; ++i)
    {
      harness.set_state(interface(i), readings(i));
    }
  }
  static std::string interface(int i) { return "joint_" + std::to_string(i + 1) + "/torque"; }
  void advance()
  {
    EXPECT_EQ(plant.advance(0.001, true, [] {}), constrained_dynamics::Status::kOk);
  }
  /// The controller commands the plant.
  void cycle(const std::string & spoilt = "")
  {
    measure();
    if (!spoilt.empty())
    {
      harness.set_state(spoilt, kNan);
    }
    EXPECT_EQ(harness.update(), return_type::OK);
    for (int i = 0; i < 4; ++i)
    {
      plant.efforts()(i) = harness.command(interface(i));
    }
    advance();
  }
  Eigen::VectorXd weight() const
  {
    Eigen::VectorXd all(4);
    system().as_robot()->gravity_torque(plant.simulation().workspace().system_data(), all);
    return all;
  }
  double wall() const { return plant.simulation().workspace().solution().multipliers(0); }

  SimulatedPlant plant;
  Harness<Controller> harness;
};

using ServoLoop = DriveLoop<ServoConstraintController>;
using BroadcastLoop = DriveLoop<ConstraintForceBroadcaster>;

/// The last message about the law.
ServoState servo_state(ServoLoop & loop)
{
  const auto node = std::make_shared<rclcpp::Node>("listener");
  Listener<ServoState> listener(node, "controller/servo_state");
  EXPECT_TRUE(loop.harness.spin_until(
    [&]
    {
      loop.cycle();
      return listener.count > 2 && listener.last.sequence > 0;
    },
    node));
  return listener.last;
}

}  // namespace

TEST(DriveProfile, when_configured_expect_interfaces_of_the_profile)
{
  Harness<ServoConstraintController> harness(
    profile_parameters("arm_adds_gravity") +
    Parameters{
      {"joints", std::vector<std::string>{"joint_1", "joint_2", "joint_3", "joint_4"}},
      {"measured_effort", true}});
  ASSERT_TRUE(harness.configure());
  EXPECT_THAT(
    harness.controller->command_interface_configuration().names,
    ElementsAre("joint_1/torque", "joint_2/torque", "joint_3/torque", "joint_4/torque"));
  const std::vector<std::string> states = harness.controller->state_interface_configuration().names;
  EXPECT_THAT(states, testing::Contains("joint_3/torque"));
  EXPECT_THAT(states, testing::Contains("joint_3/position"));
}

// The arm follows its curve and pushes with 15 + 3 sin 2t N. Drives that add gravity without the
// controller knowing push with what the wall carries of the weight.
TEST(DriveProfile, when_the_profile_is_right_expect_the_desired_force_and_else_an_error_of_gravity)
{
  for (const std::string drives : {"arm_adds_gravity", "arm_adds_nothing"})
  {
    for (const std::string believed : {"arm_adds_gravity", "arm_adds_nothing"})
    {
      ServoLoop loop(drives, believed, Parameters{{"publish_rate", 0.0}});
      double worst = 0.0;
      double weightless = 0.0;  // what acts, without what was meant and the weight
      for (int i = 0; i < 1500; ++i)
      {
        loop.cycle();
        const double time = loop.state().time;
        if (i > 1200)
        {
          worst = std::max(worst, std::abs(loop.wall() - (15.0 + 3.0 * std::sin(2.0 * time))));
        }
      }
      const ServoState message = servo_state(loop);
      for (int i = 0; i < 4; ++i)
      {
        const auto k = static_cast<std::size_t>(i);
        const double error = loop.plant.simulation().inputs()(i) - message.commanded[k];
        const double gravity = loop.weight()(i);
        const double sign = drives == believed ? 0.0 : drives == "arm_adds_gravity" ? 1.0 : -1.0;
        weightless = std::max(weightless, std::abs(error - sign * gravity));
      }
      // The message may be a few cycles old: speeds of 1 rad/s turn a weight of 30 N m by 0.2 N m.
      EXPECT_LT(weightless, 0.5) << drives << " " << believed;
      if (drives == believed)
      {
        // Commands are held for a millisecond, in which the desired force changes by 6 mN.
        EXPECT_LT(worst, 0.1) << drives;
      }
      else
      {
        EXPECT_GT(worst, 3.0) << drives;
      }
      std::cout << drives << " believed " << believed << ": worst error of the force " << worst
                << " N, of efforts beyond gravity " << weightless << " N m" << std::endl;
    }
  }
}

TEST(DriveProfile, when_a_limiter_cuts_commands_expect_requested_and_granted_efforts_of_the_model)
{
  ServoLoop loop("arm_adds_gravity", "arm_adds_gravity", Parameters{{"publish_rate", 0.0}});
  for (int i = 0; i < 300; ++i)
  {
    loop.cycle();
  }
  const auto node = std::make_shared<rclcpp::Node>("listener");
  Listener<ServoState> listener(node, "controller/servo_state");
  // A limiter leaves 1 N m less of each command.
  ASSERT_TRUE(loop.harness.spin_until(
    [&]
    {
      loop.cycle();
      for (int i = 0; i < 4; ++i)
      {
        const double command = loop.harness.command(ServoLoop::interface(i));
        EXPECT_TRUE(loop.harness.commands.at(ServoLoop::interface(i))->set_value(command - 1.0));
      }
      return listener.count > 3 && listener.last.status == "limited";
    },
    node));
  for (std::size_t i = 0; i < 4; ++i)
  {
    EXPECT_NEAR(listener.last.granted[i], listener.last.requested[i] - 1.0, 1e-9);
    // The drives receive something else: the weight is theirs.
    EXPECT_EQ(
      std::abs(listener.last.drives[i] - listener.last.commanded[i]) > 1.0,
      std::abs(loop.weight()(static_cast<Eigen::Index>(i))) > 1.0)
      << i;
  }
}

TEST(DriveProfile, when_sensors_fail_expect_commands_that_keep_the_arm_where_drives_carry_it)
{
  for (const auto & [fallback, adds] : std::vector<std::pair<std::string, std::string>>{
         {"gravity", "arm_adds_gravity"},
         {"gravity", "arm_adds_nothing"},
         {"zero", "arm_adds_gravity"}})
  {
    ServoLoop loop(adds, adds, Parameters{{"fallback", fallback}, {"ramp_time", 0.01}});
    for (int i = 0; i < 1000; ++i)
    {
      loop.cycle();
    }
    const Eigen::VectorXd last_known = loop.weight();
    for (int i = 0; i < 40; ++i)
    {
      loop.cycle("joint_2/position");
    }
    for (int i = 0; i < 4; ++i)
    {
      const double command = loop.harness.command(ServoLoop::interface(i));
      if (fallback == "zero")
      {
        EXPECT_EQ(command, 0.0);
      }
      else
      {
        // At rest the wall need not carry anything; what it does is within 20 N at 0.6 m.
        const double carried = adds == "arm_adds_gravity" ? 0.0 : last_known(i);
        EXPECT_NEAR(command, carried, 12.0) << adds << i;
      }
    }
  }
}

TEST(DriveProfile, when_measured_efforts_are_those_of_the_profile_expect_a_start_without_a_jump)
{
  ServoLoop loop(
    "arm_adds_gravity", "arm_adds_gravity",
    Parameters{{"measured_effort", true}, {"ramp_time", 0.5}});
  // The plant holds itself with commands of 0; the first commands of the law are near them.
  loop.cycle();
  for (int i = 0; i < 4; ++i)
  {
    EXPECT_NEAR(loop.harness.command(ServoLoop::interface(i)), 0.0, 0.5) << i;
  }
}

TEST(DriveProfile, when_a_broadcaster_reads_efforts_expect_forces_by_the_right_profile_only)
{
  for (const std::string believed : {"arm_adds_gravity", "arm_adds_nothing"})
  {
    BroadcastLoop loop("arm_adds_gravity", believed);
    loop.plant.efforts() << 0.5, -1.0, -2.0, 0.1;
    double worst = 0.0;
    for (int i = 0; i < 200; ++i)
    {
      loop.advance();
      loop.measure();
      ASSERT_EQ(loop.harness.update(), return_type::OK);
      const double told = loop.harness.exported_state("controller/wall/multiplier.normal");
      worst = std::max(worst, std::abs(told - loop.wall()));
    }
    std::cout << believed << ": forces within " << worst << " N" << std::endl;
    EXPECT_EQ(worst < 1e-6, believed == "arm_adds_gravity");
    EXPECT_EQ(worst > 5.0, believed != "arm_adds_gravity");
  }
}

TEST(DriveProfile, when_the_profile_is_not_enough_expect_refusal_with_what_is_missing)
{
  const auto refusal = [](const std::string & profile, bool measures)
  {
    testing::internal::CaptureStderr();
    {
      Harness<ServoConstraintController> harness(Parameters{
        {"scenario", data_file("arm_on_wall.yaml")},
        {"profile", profile},
        {"measured_effort", measures}});
      EXPECT_FALSE(harness.configure());
    }
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_THAT(refusal("/nowhere/robot.yaml", false), HasSubstr("/nowhere/robot.yaml"));
  EXPECT_THAT(refusal(config_file("profiles/ur5e.yaml"), false), HasSubstr("command: adds"));
  EXPECT_THAT(refusal(config_file("profiles/kuka_iiwa.yaml"), true), HasSubstr("effort_contains"));
  EXPECT_THAT(refusal(config_file("profiles/franka_panda.yaml"), false), HasSubstr("joint_1"));
  EXPECT_THAT(refusal("package://nowhere/robot.yaml", false), HasSubstr("'nowhere'"));
}

TEST(DriveProfile, when_running_expect_no_allocation_and_no_lock_in_update)
{
  using constrained_dynamics::test::allocation_count;
  using constrained_dynamics::test::lock_count;
  ServoLoop servo(
    "arm_adds_gravity", "arm_adds_gravity",
    Parameters{{"publish_rate", 0.0}, {"measured_effort", true}, {"fallback", "zero"}});
  BroadcastLoop broadcaster(
    "arm_adds_gravity", "arm_adds_gravity", Parameters{{"publish_rate", 0.0}});
  long allocations = 0;
  long locks = 0;
  const auto count = [&](auto & loop, bool spoils)
  {
    loop.measure();
    if (spoils)
    {
      loop.harness.set_state("joint_1/position", kNan);
    }
    const rclcpp::Time now = loop.harness.controller->get_node()->now();
    const rclcpp::Duration period = rclcpp::Duration::from_seconds(0.001);
    const long before = allocation_count();
    const long locks_before = lock_count();
    (void)loop.harness.controller->update(now, period);
    allocations += allocation_count() - before;
    locks += lock_count() - locks_before;
  };
  for (int i = 0; i < 2000; ++i)
  {
    count(servo, i % 100 > 90);
    count(broadcaster, i % 50 == 7);
    broadcaster.advance();
  }
  EXPECT_EQ(allocations, 0);
  EXPECT_EQ(locks, 0);
}

}  // namespace constrained_dynamics_controllers::test

int main(int argc, char ** argv)
{
  testing::InitGoogleMock(&argc, argv);
  rclcpp::init(argc, argv);
  const int result = RUN_ALL_TESTS();
  rclcpp::shutdown();
  return result;
}
