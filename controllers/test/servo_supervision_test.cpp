// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <gmock/gmock.h>

#include <chrono>
#include <cmath>
#include <iostream>
#include <string>
#include <vector>

#include <constrained_dynamics_msgs/msg/servo_references.hpp>
#include <constrained_dynamics_msgs/msg/servo_state.hpp>
#include <diagnostic_msgs/msg/diagnostic_array.hpp>

#include "arm_loop.hpp"
#include "constrained_dynamics_controllers/servo_parameters.hpp"
#include "controller_harness.hpp"

// What a user hears of a controller that has slow hardware, a wrong model, a limiter behind it, or
// parameters and references that cannot be meant.

namespace constrained_dynamics_controllers::test
{

using constrained_dynamics::Scenario;
using constrained_dynamics_msgs::msg::ServoReferences;
using constrained_dynamics_msgs::msg::ServoState;
using controller_interface::return_type;
using diagnostic_msgs::msg::DiagnosticArray;
using ::testing::AllOf;
using ::testing::HasSubstr;

namespace
{

/// Value of a key of the last diagnostics.
std::string value_of(const DiagnosticArray & message, const std::string & key)
{
  for (const auto & status : message.status)
  {
    for (const auto & value : status.values)
    {
      if (value.key == key)
      {
        return value.value;
      }
    }
  }
  return "";
}

/// What configuring with parameters logs; empty if it succeeds.
std::string refusal(const Parameters & parameters)
{
  testing::internal::CaptureStderr();
  bool is_configured = false;
  {
    Servo harness(parameters);
    is_configured = harness.configure();
  }
  const std::string log = testing::internal::GetCapturedStderr();
  return is_configured ? "" : log;
}

std::string task_mode(const ServoState & message, const std::string & task)
{
  for (const auto & item : message.tasks)
  {
    if (item.name == task)
    {
      return item.mode;
    }
  }
  return "";
}

}  // namespace

// ---- slow hardware -----------------------------------------------------------------------------

TEST(SlowHardware, when_read_and_written_every_tenth_cycle_expect_no_fallback)
{
  for (const int ratio : {2, 10})
  {
    ArmLoop loop;
    auto & harness = loop.harness;
    const auto node = std::make_shared<rclcpp::Node>("listener");
    Listener<ServoState> servo(node, "controller/servo_state");
    for (int i = 0; i < 3000; ++i)
    {
      if (i % ratio == 0)
      {
        harness.measure(loop.scenario.system(), loop.plant.state());
      }
      ASSERT_EQ(harness.update(), return_type::OK);
      for (int k = 0; k < 4 && i % ratio == 0; ++k)
      {
        loop.plant.inputs()(k) = harness.command("joint_" + std::to_string(k + 1) + "/effort");
      }
      ASSERT_TRUE(has_output(loop.plant.step()));
    }
    const auto follows = [&]
    {
      (void)harness.update();
      return servo.last.mode == "follow";
    };
    EXPECT_TRUE(harness.spin_until(follows, node)) << servo.last.mode;
    EXPECT_LT(std::abs(tip_of(loop).y()), 0.11);
  }
}

TEST(SlowHardware, when_the_description_has_a_rate_expect_its_period)
{
  const auto description = [](const std::string & rate)
  {
    return "<robot name='r'><link name='base'/><link name='arm'/>"
           "<joint name='elbow' type='continuous'><parent link='base'/><child link='arm'/></joint>"
           "<ros2_control name='s' type='system' " +
           rate +
           "><hardware><plugin>p</plugin></hardware>"
           "<joint name='elbow'><command_interface name='effort'/>"
           "<state_interface name='position'/></joint></ros2_control></robot>";
  };
  EXPECT_DOUBLE_EQ(hardware_period(description("rw_rate='100'"), {"elbow"}), 0.01);
  EXPECT_EQ(hardware_period(description("rw_rate='100'"), {"wrist"}), 0.0);
  EXPECT_EQ(hardware_period(description(""), {"elbow"}), 0.0);
  EXPECT_EQ(hardware_period("", {"elbow"}), 0.0);
}

// ---- a wrong model -----------------------------------------------------------------------------

TEST(WrongGeometry, when_the_wall_is_elsewhere_expect_activation_refused_or_mode_violated)
{
  const Scenario robot = Scenario::load(data_file("arm_on_wall.yaml"));
  for (const bool refuses : {true, false})
  {
    testing::internal::CaptureStderr();
    std::string mode;
    std::string row;
    {
      Servo harness(
        arm_parameters() +
        Parameters{
          {"constraints.wall.offset", -0.82}, {"violated_start", refuses ? "refuse" : "warn"}});
      ASSERT_TRUE(harness.configure());
      harness.assign();
      harness.measure(robot.system(), robot.initial());
      EXPECT_EQ(harness.activate(), !refuses);
      const auto node = std::make_shared<rclcpp::Node>("listener");
      Listener<ServoState> servo(node, "controller/servo_state");
      Listener<DiagnosticArray> diagnostics(node, "/diagnostics");
      const auto told = [&]
      {
        (void)harness.update();
        mode = servo.last.mode;
        row = value_of(diagnostics.last, "violated constraint");
        return mode == "violated" && row == "wall/normal";
      };
      if (!refuses)
      {
        EXPECT_TRUE(harness.spin_until(told, node)) << mode << " " << row;
        EXPECT_NEAR(servo.last.violation, 11.0, 0.01);
      }
    }
    const std::string log = testing::internal::GetCapturedStderr();
    EXPECT_THAT(log, AllOf(HasSubstr("wall/normal: 0.22"), HasSubstr("position_tolerance")));
  }
}

// ---- commands that are not granted -------------------------------------------------------------

TEST(Granted, when_a_limiter_takes_something_expect_it_told)
{
  testing::internal::CaptureStderr();
  {
    ArmLoop loop;
    loop.run(300);
    const auto node = std::make_shared<rclcpp::Node>("listener");
    Listener<ServoState> servo(node, "controller/servo_state");
    Listener<DiagnosticArray> diagnostics(node, "/diagnostics");
    const auto told = [&]
    {
      loop.cycle();
      // As the limiter of the controller manager does.
      EXPECT_TRUE(loop.harness.commands["joint_2/effort"]->set_value(1.0));
      return servo.last.status == "limited" &&
             value_of(diagnostics.last, "inputs not granted") == "joint_2";
    };
    EXPECT_TRUE(loop.harness.spin_until(told, node)) << servo.last.status;
    ASSERT_EQ(servo.last.granted.size(), 4u);
    EXPECT_EQ(servo.last.granted[1], 1.0);
    EXPECT_GT(std::abs(servo.last.requested[1]), 2.0);
    EXPECT_EQ(servo.last.granted[0], servo.last.requested[0]);
  }
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("not granted, of joint_2"));
}

// ---- references --------------------------------------------------------------------------------

TEST(References, when_given_by_row_and_then_empty_expect_them_followed_and_the_trajectory_again)
{
  ArmLoop loop(Parameters{{"smooth_start", 0.2}});
  const auto node = std::make_shared<rclcpp::Node>("commander");
  const auto publisher = node->create_publisher<ServoReferences>("controller/references", 10);
  Listener<ServoState> servo(node, "controller/servo_state");
  loop.run(10);
  ServoReferences message;
  message.references.resize(1);
  message.references[0].name = "curve";
  message.references[0].position = {0.08, 0.5};
  int cycles = 0;
  const auto arrived = [&]
  {
    publisher->publish(message);
    loop.run(10);
    cycles += 10;
    return cycles > 1500 && std::abs(tip_of(loop).y() - 0.08) < 1e-3 &&
           std::abs(tip_of(loop).z() - 0.5) < 1e-3;
  };
  EXPECT_TRUE(loop.harness.spin_until(arrived, node)) << tip_of(loop).transpose();
  EXPECT_EQ(task_mode(servo.last, "curve"), "given");
  EXPECT_EQ(task_mode(servo.last, "push"), "trajectory");
  EXPECT_EQ(servo.last.mode, "follow");
  message.references[0].position.clear();
  const auto returned = [&]
  {
    publisher->publish(message);
    loop.run(10);
    return task_mode(servo.last, "curve") == "trajectory";
  };
  EXPECT_TRUE(loop.harness.spin_until(returned, node));
}

TEST(References, when_they_cannot_be_meant_expect_refusal_with_thing_value_and_range)
{
  testing::internal::CaptureStderr();
  {
    ArmLoop loop;
    loop.run(100);
    const auto node = std::make_shared<rclcpp::Node>("stranger");
    const auto publisher = node->create_publisher<ServoReferences>("controller/references", 10);
    Listener<DiagnosticArray> diagnostics(node, "/diagnostics");
    ServoReferences message;
    message.references.resize(1);
    int count = 0;
    const auto refused = [&]
    {
      message.references[0].name = count % 2 == 0 ? "curve" : "push";
      message.references[0].position =
        count % 2 == 0 ? std::vector<double>{90.0, 0.5} : std::vector<double>{1000.0};
      ++count;
      publisher->publish(message);
      loop.run(10);
      const std::string number = value_of(diagnostics.last, "references refused");
      return !number.empty() && std::stoi(number) > 2000 / 10;
    };
    EXPECT_TRUE(loop.harness.spin_until(refused, node));
    EXPECT_LT(std::abs(tip_of(loop).y()), 0.15);
  }
  EXPECT_THAT(
    testing::internal::GetCapturedStderr(),
    AllOf(
      HasSubstr("reference of 'curve'"), HasSubstr("m from where the robot is mounted"),
      HasSubstr("reference of 'push' is refused: 'normal' is 1000; allowed: ")));
}

// ---- parameters --------------------------------------------------------------------------------

TEST(Parameters, when_a_name_is_misspelt_expect_refusal_with_the_nearest)
{
  EXPECT_THAT(
    refusal(arm_parameters() + Parameters{{"ramptime", 0.1}}),
    AllOf(HasSubstr("'ramptime' is unknown"), HasSubstr("did you mean 'ramp_time'")));
  EXPECT_THAT(
    refusal(arm_parameters() + Parameters{{"constraint.wall.offset", -0.6}}),
    HasSubstr("did you mean 'constraints.wall.offset'"));
  EXPECT_EQ(refusal(arm_parameters() + Parameters{{"speed_of_another_node", 0.1}}), "");
}

TEST(Parameters, when_gains_diverge_at_the_rate_expect_refusal_at_configuration_and_later)
{
  EXPECT_THAT(
    refusal(arm_parameters() + Parameters{{"sample_period", 0.1}}),
    AllOf(HasSubstr("'curve'"), HasSubstr("stiffness 400"), HasSubstr("10 Hz")));
  ArmLoop loop;
  const auto node = loop.harness.controller->get_node();
  const auto result = node->set_parameter({"servo.curve.stiffness", 1e6});
  EXPECT_FALSE(result.successful);
  EXPECT_THAT(
    result.reason,
    AllOf(HasSubstr("servo.curve.stiffness"), HasSubstr("1000 Hz"), HasSubstr("allowed")));
  EXPECT_TRUE(node->set_parameter({"servo.curve.stiffness", 1e4}).successful);
}

TEST(Parameters, when_rows_are_booleans_expect_y_and_n)
{
  // As rcl reads "rows: [y]".
  Servo harness(arm_parameters() + Parameters{{"servo.curve.rows", std::vector<bool>{true}}});
  ASSERT_TRUE(harness.configure());
  const auto & law = *Scenario::load(data_file("arm_on_wall.yaml")).servo_law();
  EXPECT_EQ(law.tasks().size(), 2u);
  EXPECT_EQ(harness.references.count("controller/curve/y"), 1u);
}

// ---- activation and deactivation ---------------------------------------------------------------

TEST(Activation, when_commands_have_no_value_yet_expect_finite_ones_before_the_first_cycle)
{
  ArmLoop loop({}, false);
  for (const auto & [name, interface] : loop.harness.commands)
  {
    ASSERT_TRUE(interface->set_value(kNan));
  }
  ASSERT_TRUE(loop.harness.activate());
  for (const auto & [name, interface] : loop.harness.commands)
  {
    EXPECT_TRUE(std::isfinite(loop.harness.command(name))) << name;
  }
  // They carry the arm, which stays at rest.
  for (int i = 0; i < 4; ++i)
  {
    loop.plant.inputs()(i) = loop.harness.command("joint_" + std::to_string(i + 1) + "/effort");
  }
  for (int i = 0; i < 100; ++i)
  {
    ASSERT_TRUE(has_output(loop.plant.step()));
  }
  EXPECT_LT(loop.plant.state().u.norm(), 1e-6);
}

TEST(Deactivation, when_nothing_else_is_said_expect_efforts_that_carry_the_arm)
{
  ArmLoop loop;
  loop.run(1000);
  loop.harness.deactivate();
  for (int i = 0; i < 4; ++i)
  {
    loop.plant.inputs()(i) = loop.harness.command("joint_" + std::to_string(i + 1) + "/effort");
  }
  const double height = tip_of(loop).z();
  for (int i = 0; i < 200; ++i)
  {
    ASSERT_TRUE(has_output(loop.plant.step()));
  }
  // It coasts with the speed that it had, some 0.1 m/s, and does not fall: 0.2 m in 0.2 s.
  EXPECT_NEAR(tip_of(loop).z(), height, 0.05);
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
