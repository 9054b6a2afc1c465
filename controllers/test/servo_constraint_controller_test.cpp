// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics_controllers/servo_constraint_controller.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <iostream>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <constrained_dynamics_msgs/msg/constraint_forces.hpp>
#include <constrained_dynamics_msgs/msg/servo_references.hpp>
#include <constrained_dynamics_msgs/msg/servo_state.hpp>
#include <constrained_dynamics_msgs/srv/set_constraint_active.hpp>
#include <diagnostic_msgs/msg/diagnostic_array.hpp>
#include <geometry_msgs/msg/wrench_stamped.hpp>
#include <visualization_msgs/msg/marker_array.hpp>

#include "arm_loop.hpp"
#include "controller_harness.hpp"
#include "support/allocation_counter.hpp"

namespace constrained_dynamics_controllers::test
{

using constrained_dynamics::Scenario;
using constrained_dynamics::Status;
using constrained_dynamics_msgs::msg::ConstraintForces;
using constrained_dynamics_msgs::msg::ServoReference;
using constrained_dynamics_msgs::msg::ServoReferences;
using constrained_dynamics_msgs::msg::ServoState;
using constrained_dynamics_msgs::srv::SetConstraintActive;
using controller_interface::return_type;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

namespace
{

/// Four-bar linkage: crank driven, coupler and rocker without sensors.
Parameters four_bar_parameters()
{
  return {
    {"scenario", config_file("scenarios/four_bar_inverse.yaml")},
    {"joints", std::vector<std::string>{"crank"}},
    {"smooth_start", 0.0}};
}

}  // namespace

// ---- interfaces, torques, forces ---------------------------------------------------------------

TEST(ServoConstraintController, when_configured_expect_interfaces_of_joints)
{
  Servo harness(four_bar_parameters());
  ASSERT_TRUE(harness.configure());
  EXPECT_THAT(
    harness.controller->command_interface_configuration().names, ElementsAre("crank/effort"));
  EXPECT_THAT(
    harness.controller->state_interface_configuration().names,
    ElementsAre("crank/position", "crank/velocity"));
  std::vector<std::string> names;
  for (const auto & interface : harness.exported_states)
  {
    names.push_back(interface->get_name());
  }
  EXPECT_THAT(
    names, UnorderedElementsAre(
             "controller/loop/force.x", "controller/loop/force.y", "controller/loop/force.z",
             "controller/loop/torque.x", "controller/loop/torque.y", "controller/loop/torque.z",
             "controller/loop/multiplier.x", "controller/loop/multiplier.z"));
  names.clear();
  for (const auto & [name, interface] : harness.references)
  {
    names.push_back(name);
  }
  EXPECT_THAT(
    names, UnorderedElementsAre("controller/crank/crank", "controller/null_space/crank/effort"));
}

TEST(ServoConstraintController, when_passive_joints_are_measured_expect_their_interfaces)
{
  Servo harness(
    four_bar_parameters() + Parameters{
                              {"passive_joints", std::vector<std::string>{"rocker", "coupler"}},
                              {"measured_effort", true},
                              {"velocity_references", true}});
  ASSERT_TRUE(harness.configure());
  EXPECT_THAT(
    harness.controller->state_interface_configuration().names,
    ElementsAre(
      "crank/position", "crank/velocity", "rocker/position", "rocker/velocity", "coupler/position",
      "coupler/velocity", "crank/effort"));
  EXPECT_EQ(harness.references.count("controller/crank/crank/velocity"), 1u);
}

TEST(ServoConstraintController, when_four_bar_is_driven_expect_published_torques_and_forces)
{
  // MBDS/multibody-state-estimation: 66.0116666667 N m at t = 0.
  const Scenario scenario = Scenario::load(config_file("scenarios/four_bar_inverse.yaml"));
  Servo harness(four_bar_parameters());
  Plant plant(scenario);
  ASSERT_TRUE(harness.configure());
  harness.assign();
  harness.measure(scenario.system(), plant.state());
  ASSERT_TRUE(harness.activate());
  for (int i = 0; i < 2000; ++i)
  {
    harness.measure(scenario.system(), plant.state());
    ASSERT_EQ(harness.update(), return_type::OK);
    plant.inputs()(0) = harness.command("crank/effort");
    if (i == 0)
    {
      EXPECT_NEAR(plant.inputs()(0), 66.0116666667, 1e-8);
    }
    // The forces are those that the plant has with these inputs.
    ASSERT_EQ(plant.simulation().evaluate(), Status::kOk);
    const auto & solution = plant.simulation().workspace().solution();
    ASSERT_NEAR(
      harness.exported_state("controller/loop/multiplier.x"), solution.multipliers(0), 1e-6);
    ASSERT_NEAR(
      harness.exported_state("controller/loop/multiplier.z"), solution.multipliers(1), 1e-6);
    ASSERT_NEAR(
      harness.exported_state("controller/loop/force.x"), solution.wrenches[0].on_a.force.x(), 1e-6);
    ASSERT_EQ(plant.step(), Status::kOk);
  }
  EXPECT_NEAR(plant.inputs()(0), -36.1141425254, 0.2);
  EXPECT_NEAR(plant.state().q(0), 1.2 * (1.0 - std::cos(2.0 * plant.state().time)), 5e-3);
}

TEST(ServoConstraintController, when_robot_description_is_given_expect_it_to_be_the_robot)
{
  // No scenario file: everything by parameters.
  const Parameters parameters = {
    {"joints", std::vector<std::string>{"crank"}},
    {"constraints.loop.type", "frame_coincidence"},
    {"constraints.loop.frame_a", "coupler_tip"},
    {"constraints.loop.frame_b", "rocker_tip"},
    {"constraints.loop.rows", std::vector<std::string>{"x", "z"}},
    {"servo.crank.type", "joint"},
    {"servo.crank.joint", "crank"},
    {"servo.crank.stiffness", 225},
    {"initial.q.coupler", 1.5},
    {"initial.q.rocker", 2.5}};
  Servo harness(parameters, read_text(config_file("robots/four_bar.urdf")));
  ASSERT_TRUE(harness.configure());
  harness.assign();
  ASSERT_TRUE(harness.activate());
  ASSERT_EQ(harness.update(), return_type::OK);
  // At rest in the position of the published torques: their static part, by virtual work.
  const double static_torque = harness.command("crank/effort");
  EXPECT_TRUE(std::isfinite(static_torque));
  EXPECT_GT(std::abs(static_torque), 1.0);
  ASSERT_EQ(harness.update(), return_type::OK);
  EXPECT_NEAR(harness.command("crank/effort"), static_torque, 1e-9);
}

TEST(ServoConstraintController, when_arm_pushes_on_wall_expect_tracking_and_messages_of_the_core)
{
  ArmLoop loop(Parameters{{"publish_rate", 0.0}, {"wrench_topics", true}});
  const auto node = std::make_shared<rclcpp::Node>("listener");
  Listener<ConstraintForces> forces(node, "controller/constraint_forces");
  Listener<ServoState> servo(node, "controller/servo_state");
  Listener<sensor_msgs::msg::JointState> torques(node, "controller/torques");
  Listener<visualization_msgs::msg::MarkerArray> markers(node, "controller/markers");
  Listener<geometry_msgs::msg::WrenchStamped> wrench(node, "controller/wrench/wall");
  Listener<diagnostic_msgs::msg::DiagnosticArray> diagnostics(node, "/diagnostics");
  loop.run(3000);
  const auto all = [&]
  {
    loop.cycle();
    return forces.count > 2 && servo.count > 2 && torques.count > 2 && markers.count > 2 &&
           wrench.count > 2 && diagnostics.count > 0;
  };
  ASSERT_TRUE(loop.harness.spin_until(all, node));
  EXPECT_LT((tip_of(loop) - Eigen::Vector3d(0.6, 0.0, 0.55)).head(1).norm(), 1e-6);
  EXPECT_EQ(forces.last.status, "ok");
  EXPECT_EQ(forces.last.header.frame_id, "world");
  ASSERT_EQ(forces.last.constraints.size(), 1u);
  EXPECT_EQ(forces.last.constraints[0].name, "wall");
  EXPECT_TRUE(forces.last.constraints[0].active);
  const double push = forces.last.constraints[0].rows[0].multiplier;
  EXPECT_GT(push, 11.9);
  EXPECT_LT(push, 18.1);
  // On the tip, along the normal of the wall.
  EXPECT_NEAR(forces.last.constraints[0].wrenches[0].on_a.force.x, -push, 1e-9);
  EXPECT_EQ(servo.last.mode, "follow");
  EXPECT_THAT(torques.last.name, ElementsAre("joint_1", "joint_2", "joint_3", "joint_4"));
  ASSERT_EQ(servo.last.tasks.size(), 2u);
  EXPECT_LT(std::abs(servo.last.tasks[0].error[0]), 2e-3);
  EXPECT_LT(std::abs(servo.last.tasks[0].error[1]), 2e-3);
  EXPECT_FALSE(markers.last.markers.empty());
  EXPECT_EQ(wrench.last.header.frame_id, "tip");
  EXPECT_THAT(diagnostics.last.status[0].message, HasSubstr("mode follow"));
  EXPECT_NEAR(
    loop.harness.exported_state("controller/wall/multiplier.normal"),
    15.0 + 3.0 * std::sin(2.0 * loop.plant.state().time), 0.2);
}

// ---- things that go wrong ----------------------------------------------------------------------

TEST(ServoConstraintController, when_parameters_are_wrong_expect_refusal)
{
  const std::vector<std::pair<Parameters, const char *>> bad_at_init = {
    {{{"fallback", "sleep"}}, "fallback"},
    {{{"publish_rate", -1.0}}, "publish_rate"},
    {{{"publish_rate", kNan}}, "publish_rate"},
    {{{"ramp_time", kNan}}, "ramp_time"},
    {{{"dropout_cycles", 0}}, "dropout_cycles"},
    {{{"stop_time", 0.0}}, "stop_time"},
    {{{"reference_timeout", HUGE_VAL}}, "reference_timeout"},
    {{{"world_frame", ""}}, "world_frame"},
    {{{"joints", std::vector<std::string>{"crank", "crank"}}}, "joints"},
    {{{"deactivation", "dance"}}, "deactivation"},
    {{{"markers.force_scale", -1.0}}, "markers.force_scale"},
    {{{"markers.legend_position", std::vector<double>{1.0}}}, "markers.legend_position"},
  };
  for (const auto & [parameters, name] : bad_at_init)
  {
    testing::internal::CaptureStderr();
    {
      Servo harness(parameters);
      EXPECT_FALSE(harness.initialised) << name;
    }
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr(name));
  }
  const std::vector<std::pair<Parameters, const char *>> bad_at_configure = {
    {{}, "scenario"},
    {{{"scenario", "/nowhere.yaml"}}, "/nowhere.yaml"},
    {{{"scenario", "package://no_such_package/a.yaml"}}, "no_such_package"},
    {arm_parameters() + Parameters{{"effort_limits", std::vector<double>{1.0, 2.0}}},
     "effort_limits"},
    {arm_parameters() + Parameters{{"effort_limits", std::vector<double>{kNan}}}, "effort_limits"},
    {arm_parameters() + Parameters{{"effort_limits", std::vector<double>{0.0}}}, "effort_limits"},
    {arm_parameters() + Parameters{{"passive_joints", std::vector<std::string>{"joint_9"}}},
     "joint_9"},
    {arm_parameters() + Parameters{{"passive_joints", std::vector<std::string>{"joint_1"}}},
     "joint_1"},
    {arm_parameters() + Parameters{{"joints", std::vector<std::string>{"joint_9"}}}, "joint_9"},
    {arm_parameters() + Parameters{{"servo.curve.stiffness", -4.0}}, "stiffness"},
    {arm_parameters() + Parameters{{"servo.curve.stiffness", kNan}}, "stiffness"},
    {arm_parameters() + Parameters{{"servo.curve.colour", "red"}}, "colour"},
    {arm_parameters() + Parameters{{"constraints.wall.frame_a", "nose"}}, "nose"},
    {arm_parameters() + Parameters{{"constraints.floor.type", "carpet"}}, "carpet"},
    {arm_parameters() +
       Parameters{{"markers.force_colour", std::vector<double>{2.0, 0.0, 0.0, 1.0}}},
     "markers.force_colour"},
    {{{"scenario", config_file("scenarios/slider_crank.yaml")}}, "servo"},
  };
  for (const auto & [parameters, name] : bad_at_configure)
  {
    testing::internal::CaptureStderr();
    {
      Servo harness(parameters);
      EXPECT_TRUE(harness.initialised) << name;
      EXPECT_FALSE(harness.configure()) << name;
    }
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr(name));
  }
}

TEST(ServoConstraintController, when_a_passive_joint_is_not_determined_expect_activation_refused)
{
  testing::internal::CaptureStderr();
  {
    Servo harness(Parameters{
      {"scenario", data_file("arm_on_wall.yaml")},
      {"joints", std::vector<std::string>{"joint_1", "joint_2"}}});
    ASSERT_TRUE(harness.configure());
    const Scenario scenario = Scenario::load(data_file("arm_on_wall.yaml"));
    harness.assign();
    harness.measure(scenario.system(), scenario.initial());
    EXPECT_FALSE(harness.activate());
  }
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("joint_4"));
}

TEST(ServoConstraintController, when_an_interface_is_nan_at_activation_expect_refusal_with_its_name)
{
  testing::internal::CaptureStderr();
  {
    ArmLoop loop({}, false);
    loop.harness.set_state("joint_3/velocity", kNan);
    EXPECT_FALSE(loop.harness.activate());
    loop.harness.set_state("joint_3/velocity", 0.0);
    EXPECT_TRUE(loop.harness.activate());
  }
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("joint_3/velocity"));
}

TEST(ServoConstraintController, when_any_state_is_not_finite_expect_finite_commands_and_recovery)
{
  // Every interface, 1, 5 and 1000 cycles; the loop checks limits of effort and rate in each cycle.
  ArmLoop loop(Parameters{
    {"fallback", "damp"},
    {"fallback_damping", 10.0},
    {"recovery_time", 0.0},
    {"most_recoveries", 1000}});
  loop.run(100);
  int count = 0;
  for (const auto & [name, interface] : loop.harness.states)
  {
    for (const double bad : {kNan, HUGE_VAL, -HUGE_VAL, 1e308})
    {
      for (const int cycles : {1, 5})
      {
        for (int i = 0; i < cycles; ++i)
        {
          EXPECT_EQ(loop.cycle(0.001, name, bad), return_type::OK);
        }
        loop.run(20);
      }
    }
    for (int i = 0; i < 1000; ++i)
    {
      EXPECT_EQ(loop.cycle(0.001, name, kNan), return_type::OK);
    }
    loop.run(500);
    ++count;
  }
  EXPECT_EQ(count, 8);
  loop.run(2000);
  EXPECT_NEAR(loop.harness.exported_state("controller/wall/multiplier.normal"), 15.0, 3.5);
}

TEST(ServoConstraintController, when_fallback_is_error_expect_error_with_safe_commands)
{
  ArmLoop loop(Parameters{{"fallback", "error"}, {"dropout_cycles", 3}, {"recovery_time", 0.0}});
  loop.run(50);
  EXPECT_EQ(loop.cycle(0.001, "joint_1/position", kNan), return_type::OK);
  EXPECT_EQ(loop.cycle(0.001, "joint_1/position", kNan), return_type::OK);
  EXPECT_EQ(loop.cycle(0.001, "joint_1/position", kNan), return_type::ERROR);
  EXPECT_EQ(loop.cycle(), return_type::OK);
}

TEST(ServoConstraintController, when_time_jumps_expect_commands_held)
{
  ArmLoop loop;
  loop.run(100);
  for (const double period : {0.0, -0.001, 10.0})
  {
    const Eigen::VectorXd before = loop.plant.inputs();
    EXPECT_EQ(loop.cycle(period), return_type::OK);
    EXPECT_EQ(loop.plant.inputs(), before);
    EXPECT_EQ(loop.cycle(), return_type::OK);
  }
}

TEST(ServoConstraintController, when_deactivated_expect_zero_or_the_last_command)
{
  for (const bool hold : {false, true})
  {
    ArmLoop loop(Parameters{{"deactivation", hold ? "hold" : "zero"}});
    loop.run(10);
    const double command = loop.harness.command("joint_2/effort");
    EXPECT_NE(command, 0.0);
    loop.harness.deactivate();
    EXPECT_EQ(loop.harness.command("joint_2/effort"), hold ? command : 0.0);
    EXPECT_EQ(loop.harness.update(), return_type::OK);  // does nothing
    EXPECT_TRUE(loop.harness.activate());
    EXPECT_EQ(loop.harness.update(), return_type::OK);
  }
}

TEST(ServoConstraintController, when_lifecycle_goes_in_random_orders_expect_no_crash)
{
  const unsigned seed = std::random_device{}();
  std::cout << "seed " << seed << std::endl;
  std::mt19937 random(seed);
  const Scenario scenario = Scenario::load(config_file("scenarios/four_bar_inverse.yaml"));
  Servo harness(four_bar_parameters() + Parameters{{"markers.rate", 0.0}});
  using lifecycle_msgs::msg::State;
  const auto id = [&] { return harness.controller->get_lifecycle_state().id(); };
  int activations = 0;
  for (int i = 0; i < 1000; ++i)
  {
    switch (random() % 7)
    {
      case 0:
        (void)harness.configure();
        break;
      case 1:
        if (id() == State::PRIMARY_STATE_INACTIVE)
        {
          harness.assign();
          harness.measure(scenario.system(), scenario.initial());
          activations += harness.activate() ? 1 : 0;
        }
        else
        {
          harness.controller->get_node()->activate();
        }
        break;
      case 2:
        harness.controller->get_node()->deactivate();
        break;
      case 3:
        harness.controller->get_node()->cleanup();
        break;
      case 4:
        harness.spin();
        break;
      default:
        // A controller manager updates active controllers only; others must do nothing.
        if (random() % 8 == 0 && !harness.states.empty())
        {
          harness.set_state("crank/velocity", kNan);
        }
        EXPECT_EQ(harness.update(), return_type::OK);
        harness.set_state("crank/velocity", 0.0);
        break;
    }
    for (const auto & [name, interface] : harness.commands)
    {
      ASSERT_TRUE(std::isfinite(harness.command(name)));
    }
  }
  EXPECT_GT(activations, 10);
}

// ---- references --------------------------------------------------------------------------------

TEST(ServoConstraintController, when_references_come_by_topic_expect_them_followed_then_held)
{
  ArmLoop loop(Parameters{{"smooth_start", 0.2}, {"reference_timeout", 0.2}});
  const auto node = std::make_shared<rclcpp::Node>("commander");
  const auto publisher = node->create_publisher<ServoReferences>("controller/references", 10);
  Listener<ServoState> servo(node, "controller/servo_state");
  loop.run(10);
  ServoReferences message;
  message.references.resize(1);
  message.references[0].name = "curve";
  message.references[0].position = {0.6, 0.08, 0.5, 0.0, 0.0, 0.0, 1.0};
  message.null_space_names = {"joint_4"};
  message.null_space = {0.5};
  int cycles = 0;
  const auto arrived = [&]
  {
    publisher->publish(message);
    loop.run(10);
    cycles += 10;
    return cycles > 1500 && (tip_of(loop) - Eigen::Vector3d(0.6, 0.08, 0.5)).norm() < 1e-3;
  };
  EXPECT_TRUE(loop.harness.spin_until(arrived, node)) << tip_of(loop).transpose();
  loop.run(1000);
  EXPECT_LT((tip_of(loop) - Eigen::Vector3d(0.6, 0.08, 0.5)).norm(), 2e-3);
  const auto holds = [&]
  {
    loop.run(10);
    return !servo.last.tasks.empty() && servo.last.tasks[0].mode == "hold";
  };
  EXPECT_TRUE(loop.harness.spin_until(holds, node));
}

TEST(ServoConstraintController, when_messages_are_foreign_or_broken_expect_none_applied)
{
  ArmLoop loop(Parameters{{"world_frame", "map"}});
  loop.run(10);
  const auto node = std::make_shared<rclcpp::Node>("stranger");
  const auto publisher = node->create_publisher<ServoReferences>("controller/references", 100);
  Listener<diagnostic_msgs::msg::DiagnosticArray> diagnostics(node, "/diagnostics");
  std::vector<ServoReferences> bad(9);
  ServoReference good;
  good.name = "curve";
  good.position = {0.6, 0.3, 0.3, 0.0, 0.0, 0.0, 1.0};
  for (ServoReferences & message : bad)
  {
    message.references = {good};
  }
  bad[0].references[0].name = "nose";
  bad[1].references[0].position.resize(100000, 1.0);
  bad[2].header.frame_id = "moon";
  bad[3].references[0].position[1] = kNan;
  bad[4].references[0].position = {0.6, 0.3, 0.3, 0.0, 0.0, 0.0, 0.0};
  bad[5].references = {good, good};
  bad[6].header.stamp.sec = 1;
  bad[7].null_space_names = {"joint_9"};
  bad[7].null_space = {1.0};
  bad[8].references[0].velocity = {HUGE_VAL, 0.0, 0.0, 0.0, 0.0, 0.0};
  const auto refused = [&]
  {
    int number = 0;
    for (const auto & status : diagnostics.last.status)
    {
      for (const auto & value : status.values)
      {
        number = value.key == "references refused" ? std::stoi(value.value) : number;
      }
    }
    return number;
  };
  const auto all_refused = [&]
  {
    if (refused() == 0 && publisher->get_subscription_count() > 0 && diagnostics.count == 0)
    {
      for (const ServoReferences & message : bad)
      {
        publisher->publish(message);
      }
    }
    loop.run(1);
    return refused() >= 9;
  };
  EXPECT_TRUE(loop.harness.spin_until(all_refused, node)) << refused();
  loop.run(500);
  EXPECT_LT(std::abs(tip_of(loop).y()), 0.15);  // the scenario's curve, not what strangers say
}

TEST(ServoConstraintController, when_chained_expect_reference_interfaces_to_drive_it)
{
  ArmLoop loop(Parameters{{"smooth_start", 0.2}, {"velocity_references", true}}, false);
  ASSERT_TRUE(loop.harness.controller->set_chained_mode(true));
  ASSERT_TRUE(loop.harness.activate());
  auto & references = loop.harness.references;
  const auto set = [&](const std::string & name, double value)
  {
    ASSERT_EQ(references.count("controller/" + name), 1u) << name;
    ASSERT_TRUE(references["controller/" + name]->set_value(value));
  };
  loop.run(300);  // NaN: the scenario's own trajectory
  EXPECT_LT(std::abs(tip_of(loop).y()), 0.11);
  set("curve/y", 0.07);
  set("curve/z", 0.52);
  loop.run(1500);
  EXPECT_NEAR(tip_of(loop).y(), 0.07, 1e-3);
  EXPECT_NEAR(tip_of(loop).z(), 0.52, 1e-3);
  set("push/normal", 25.0);
  loop.run(1500);
  EXPECT_NEAR(loop.harness.exported_state("controller/wall/multiplier.normal"), 25.0, 0.2);
  set("curve/y", kNan);  // hold
  set("curve/z", 0.56);
  set("null_space/joint_4/effort", 0.3);
  loop.run(1500);
  EXPECT_NEAR(tip_of(loop).y(), 0.07, 1e-3);
  EXPECT_NEAR(tip_of(loop).z(), 0.56, 1e-3);
  for (const char * name : {"curve/z", "push/normal"})
  {
    set(name, kNan);
  }
  loop.run(1000);
  EXPECT_NEAR(tip_of(loop).z(), 0.56, 1e-3);
  EXPECT_NEAR(loop.harness.exported_state("controller/wall/multiplier.normal"), 25.0, 0.2);
}

// ---- parameters and services at run time -------------------------------------------------------

TEST(
  ServoConstraintController, when_parameters_change_live_expect_gains_taken_and_structure_refused)
{
  ArmLoop loop;
  loop.run(300);
  const auto node = loop.harness.controller->get_node();
  EXPECT_EQ(node->get_parameter("servo.curve.stiffness").as_double(), 400.0);
  EXPECT_TRUE(node->set_parameter({"servo.curve.stiffness", 900.0}).successful);
  EXPECT_TRUE(node->set_parameter({"servo.curve.damping_ratio", 2}).successful);
  loop.run(100);
  for (const rclcpp::Parameter & bad : Parameters{
         {"servo.curve.stiffness", -1.0},
         {"servo.curve.stiffness", kNan},
         {"servo.curve.stiffness", "stiff"},
         {"servo.curve.damping_ratio", 0.0}})
  {
    const auto result = node->set_parameter(bad);
    EXPECT_FALSE(result.successful);
    EXPECT_THAT(result.reason, HasSubstr(bad.get_name()));
  }
  for (const rclcpp::Parameter & bad :
       Parameters{{"scenario", "other.yaml"}, {"fallback", "zero"}, {"publish_rate", 1.0}})
  {
    EXPECT_FALSE(node->set_parameter(bad).successful) << bad.get_name();
  }
  loop.run(1000);
  EXPECT_EQ(node->get_parameter("servo.curve.stiffness").as_double(), 900.0);
}

TEST(ServoConstraintController, when_structure_was_given_by_parameters_expect_it_read_only)
{
  ArmLoop loop(Parameters{{"servo.curve.priority", 0}, {"servo.curve.stiffness", 100.0}});
  const auto node = loop.harness.controller->get_node();
  const auto result = node->set_parameter({"servo.curve.priority", 1});
  EXPECT_FALSE(result.successful);
  EXPECT_THAT(result.reason, HasSubstr("servo.curve.priority"));
  EXPECT_TRUE(node->set_parameter({"servo.curve.stiffness", 200.0}).successful);
}

TEST(ServoConstraintController, when_a_constraint_is_switched_off_expect_no_force_of_it)
{
  ArmLoop loop;
  loop.run(200);
  EXPECT_GT(loop.harness.exported_state("controller/wall/multiplier.normal"), 1.0);
  const auto node = std::make_shared<rclcpp::Node>("switcher");
  const auto client = node->create_client<SetConstraintActive>("controller/set_constraint_active");
  const auto call = [&](const std::string & name, bool active)
  {
    const auto request = std::make_shared<SetConstraintActive::Request>();
    request->name = name;
    request->active = active;
    EXPECT_TRUE(loop.harness.spin_until([&] { return client->service_is_ready(); }, node));
    auto future = client->async_send_request(request);
    EXPECT_TRUE(loop.harness.spin_until(
      [&] { return future.wait_for(std::chrono::seconds(0)) == std::future_status::ready; }, node));
    return *future.get();
  };
  const auto unknown = call("floor", false);
  EXPECT_FALSE(unknown.success);
  EXPECT_THAT(unknown.message, HasSubstr("floor"));
  EXPECT_THAT(unknown.message, HasSubstr("wall"));
  EXPECT_TRUE(call("wall", false).success);
  ASSERT_EQ(loop.plant.simulation().switch_constraint(0, false), Status::kOk);
  loop.run(200);
  EXPECT_EQ(loop.harness.exported_state("controller/wall/multiplier.normal"), 0.0);
  EXPECT_TRUE(call("wall", true).success);
}

// ---- real time ---------------------------------------------------------------------------------

TEST(ServoConstraintController, when_running_expect_no_allocation_and_no_lock_in_update)
{
  using constrained_dynamics::test::allocation_count;
  using constrained_dynamics::test::lock_count;
  ArmLoop loop(
    Parameters{{"publish_rate", 0.0}, {"wrench_topics", true}, {"markers.rate", 1000.0}});
  auto & harness = loop.harness;
  loop.run(5);
  long allocations = 0;
  long locks = 0;
  long failures = 0;
  for (int i = 0; i < 10000; ++i)
  {
    harness.measure(loop.scenario.system(), loop.plant.state());
    if (i % 100 < 7)
    {
      harness.set_state("joint_2/position", kNan);  // also in cycles that fail
    }
    const rclcpp::Time now = harness.controller->get_node()->now();
    const rclcpp::Duration period = rclcpp::Duration::from_seconds(i % 1000 == 500 ? -1.0 : 0.001);
    const long before = allocation_count();
    const long locks_before = lock_count();
    const return_type result = harness.controller->update(now, period);
    allocations += allocation_count() - before;
    locks += lock_count() - locks_before;
    failures += result == return_type::OK ? 0 : 1;
    for (int k = 0; k < 4; ++k)
    {
      loop.plant.inputs()(k) = harness.command("joint_" + std::to_string(k + 1) + "/effort");
    }
    ASSERT_TRUE(has_output(loop.plant.step()));
  }
  EXPECT_EQ(allocations, 0);
  EXPECT_EQ(locks, 0);
  EXPECT_EQ(failures, 0);
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
