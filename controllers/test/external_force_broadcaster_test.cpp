// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics_controllers/external_force_broadcaster.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <constrained_dynamics/scenario/simulated_plant.hpp>
#include <constrained_dynamics_msgs/msg/external_forces.hpp>

#include "arm_loop.hpp"
#include "controller_harness.hpp"
#include "support/allocation_counter.hpp"

namespace constrained_dynamics_controllers::test
{

using constrained_dynamics::Scenario;
using constrained_dynamics::SimulatedPlant;
using constrained_dynamics::Status;
using constrained_dynamics_msgs::msg::ExternalForces;
using controller_interface::return_type;
using ::testing::HasSubstr;

namespace
{

using External = Harness<ExternalForceBroadcaster>;

const Eigen::Vector3d kForce(7.0, 3.0, -4.0);
const Eigen::Vector3d kTorque(0.2, 0.3, -0.1);

std::string arm_file() { return config_file("robots/mobile_arm.urdf"); }

/// Rotors: without them damping by efforts that are held for 1 ms makes the light wrist unstable.
const std::vector<std::string> kJoints = {
  "left_wheel_joint", "right_wheel_joint", "arm_1", "arm_2", "arm_3", "arm_4", "arm_5", "arm_6"};
constexpr double kRotor = 0.3;    // [kg m²]
constexpr double kDamping = 6.0;  // [N m s/rad]

std::string rotors()
{
  std::string text;
  for (const std::string & joint : kJoints)
  {
    text += (text.empty() ? "" : ", ") + joint + ": " + std::to_string(kRotor);
  }
  return text;
}

Parameters rotor_parameters()
{
  Parameters parameters;
  for (const std::string & joint : kJoints)
  {
    parameters.emplace_back("system.armature." + joint, kRotor);
  }
  return parameters;
}

/// An arm of six joints on a base that stands still, with a wrench at its tool if asked for.
Scenario arm(bool pushed)
{
  return Scenario::from_text(
    "system: {urdf: " + arm_file() + ", armature: {" + rotors() + "}" +
    (pushed ? ", external: [{name: push, frame: tool, force: [7, 3, -4], "
              "torque: [0.2, 0.3, -0.1]}]"
            : "") +
    "}\ninitial: {q: {arm_2: 0.4, arm_3: 1.3, arm_5: 1.44}}\nrun: {step: 0.001}\n");
}

/// The arm carries its weight and damps its motion; a broadcaster watches it.
struct PushedArm
{
  explicit PushedArm(const Parameters & parameters, bool pushed = true)
  : plant(arm(pushed), {}, constrained_dynamics::SimulatedPlantOptions()),
    harness(parameters + rotor_parameters(), read_text(arm_file()))
  {
    EXPECT_TRUE(harness.configure());
    harness.assign();
    measure();
    EXPECT_TRUE(harness.activate());
  }
  void measure()
  {
    harness.measure(plant.system(), plant.simulation().state());
    const std::vector<std::string> & inputs = plant.system().input_names();
    for (std::size_t i = 0; i < inputs.size(); ++i)
    {
      harness.set_state(inputs[i] + "/effort", plant.efforts()(static_cast<Eigen::Index>(i)));
    }
  }
  void drive()
  {
    const auto & simulation = plant.simulation();
    Eigen::VectorXd weight(plant.system().speed_count());
    plant.system().as_robot()->gravity_torque(simulation.workspace().system_data(), weight);
    plant.efforts() = weight - kDamping * simulation.state().u;
    EXPECT_EQ(plant.advance(0.001, true, [] {}), Status::kOk);
    measure();
  }
  void cycle()
  {
    drive();
    EXPECT_EQ(harness.update(), return_type::OK);
  }
  double shown(const std::string & name) const
  {
    return harness.exported_state("controller/" + name);
  }

  SimulatedPlant plant;
  External harness;
};

Parameters tool_parameters()
{
  return {{"frames", std::vector<std::string>{"tool"}}, {"publish_rate", 0.0}};
}

}  // namespace

TEST(ExternalForceBroadcaster, when_the_tool_is_pushed_expect_the_wrench_after_its_time_constant)
{
  PushedArm robot(tool_parameters());
  // 1 − exp(−50 t): 63 % after 20 ms, 99.9 % after 140 ms.
  for (int i = 0; i < 20; ++i)
  {
    robot.cycle();
  }
  EXPECT_NEAR(robot.shown("tool/force.x") / kForce.x(), 1.0 - std::exp(-1.0), 0.05);
  for (int i = 0; i < 200; ++i)
  {
    robot.cycle();
  }
  const Eigen::Vector3d force(
    robot.shown("tool/force.x"), robot.shown("tool/force.y"), robot.shown("tool/force.z"));
  const Eigen::Vector3d torque(
    robot.shown("tool/torque.x"), robot.shown("tool/torque.y"), robot.shown("tool/torque.z"));
  std::cout << "force within " << (force - kForce).norm() << " N of " << kForce.norm()
            << " N, torque within " << (torque - kTorque).norm() << " N m" << std::endl;
  // Efforts are those of the step before, in which the arm moves by less than 1 mm.
  EXPECT_LT((force - kForce).norm(), 0.05);
  EXPECT_LT((torque - kTorque).norm(), 0.02);
  EXPECT_EQ(robot.shown("contact"), 1.0);
}

TEST(ExternalForceBroadcaster, when_nothing_touches_the_arm_expect_no_contact)
{
  PushedArm robot(tool_parameters(), false);
  for (int i = 0; i < 300; ++i)
  {
    robot.cycle();
    ASSERT_EQ(robot.shown("contact"), 0.0) << i;
    ASSERT_LT(std::abs(robot.shown("darm_2/external_force")), 0.05);
  }
}

TEST(ExternalForceBroadcaster, when_a_message_is_sent_expect_forces_deviations_and_covariance)
{
  PushedArm robot(tool_parameters());
  const auto node = std::make_shared<rclcpp::Node>("listener");
  Listener<ExternalForces> listener(node, "controller/external_forces");
  ASSERT_TRUE(robot.harness.spin_until(
    [&]
    {
      robot.cycle();
      return listener.count > 2 && listener.last.sequence > 300;
    },
    node));
  const ExternalForces & message = listener.last;
  EXPECT_EQ(message.status, "ok");
  EXPECT_EQ(message.header.frame_id, "world");
  EXPECT_EQ(message.names.size(), 8u);
  EXPECT_TRUE(message.contact);
  ASSERT_TRUE(message.has_wrenches);
  ASSERT_EQ(message.wrenches.size(), 1u);
  EXPECT_EQ(message.wrenches[0].frame, "tool");
  EXPECT_NEAR(message.wrenches[0].wrench.force.z, kForce.z(), 0.05);
  EXPECT_GT(message.wrenches[0].covariance[0], 0.0);
  EXPECT_NEAR(message.wrenches[0].covariance[1], message.wrenches[0].covariance[6], 1e-12);
  for (std::size_t i = 0; i < 8; ++i)
  {
    EXPECT_TRUE(message.independent[i]);
    EXPECT_GT(message.deviation[i], 0.0);
  }
}

TEST(ExternalForceBroadcaster, when_a_sample_is_not_finite_expect_the_last_estimate)
{
  PushedArm robot(tool_parameters());
  for (int i = 0; i < 200; ++i)
  {
    robot.cycle();
  }
  const double force = robot.shown("tool/force.x");
  robot.drive();
  robot.harness.set_state("arm_1/velocity", kNan);
  EXPECT_EQ(robot.harness.update(), return_type::OK);
  EXPECT_EQ(robot.shown("tool/force.x"), force);
  for (int i = 0; i < 5; ++i)
  {
    robot.cycle();
    EXPECT_NEAR(robot.shown("tool/force.x"), force, 0.05);
  }
}

// The force on the wall is a constraint's: it is not external. A push along the wall is.
TEST(ExternalForceBroadcaster, when_a_constraint_absorbs_a_force_expect_only_what_moves_the_arm)
{
  for (const bool along : {false, true})
  {
    const std::string push = along ? "[0, 6, 0]" : "[30, 0, 0]";
    SimulatedPlant plant(
      Scenario::load(
        data_file("arm_on_wall.yaml"),
        {"system.external=[{name: push, frame: tip, force: " + push + "}]"}),
      {}, constrained_dynamics::SimulatedPlantOptions());
    External harness(Parameters{
      {"scenario", data_file("arm_on_wall.yaml")}, {"effort_noise", std::vector<double>{0.02}}});
    ASSERT_TRUE(harness.configure());
    harness.assign();
    harness.measure(plant.system(), plant.simulation().state());
    ASSERT_TRUE(harness.activate());
    double largest = 0.0;
    for (int i = 0; i < 150; ++i)
    {
      Eigen::VectorXd weight(4);
      const auto & workspace = plant.simulation().workspace();
      plant.system().as_robot()->gravity_torque(workspace.system_data(), weight);
      plant.efforts() = weight - kDamping * plant.simulation().state().u;
      ASSERT_EQ(plant.advance(0.001, true, [] {}), Status::kOk);
      harness.measure(plant.system(), plant.simulation().state());
      for (int k = 0; k < 4; ++k)
      {
        harness.set_state("joint_" + std::to_string(k + 1) + "/effort", plant.efforts()(k));
      }
      ASSERT_EQ(harness.update(), return_type::OK);
      largest =
        std::max(largest, std::abs(harness.exported_state("controller/djoint_1/external_force")));
    }
    EXPECT_EQ(harness.exported_state("controller/contact"), along ? 1.0 : 0.0);
    // 6 N at 0.6 m from the axis of joint_1.
    EXPECT_NEAR(largest, along ? 3.6 : 0.0, 0.3);
  }
}

TEST(ExternalForceBroadcaster, when_parameters_are_wrong_expect_refusal_with_names_and_ranges)
{
  const auto refusal = [](const rclcpp::Parameter & parameter)
  {
    testing::internal::CaptureStderr();
    {
      External harness({parameter}, read_text(arm_file()));
      EXPECT_FALSE(harness.configure());
    }
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_THAT(refusal({"frames", std::vector<std::string>{"tol"}}), HasSubstr("tol"));
  EXPECT_THAT(refusal({"gain", kNan}), HasSubstr("gain"));
  EXPECT_THAT(refusal({"threshold", 0.0}), HasSubstr("threshold"));
  EXPECT_THAT(
    refusal({"speed_noise", std::vector<double>{-1.0}}),
    testing::AllOf(HasSubstr("'speed_noise'"), HasSubstr("-1"), HasSubstr("0 and above")));
  EXPECT_THAT(
    refusal({"effort_noise", std::vector<double>{0.1, 0.1}}),
    testing::AllOf(HasSubstr("'effort_noise' has 2"), HasSubstr("8 inputs")));
  EXPECT_THAT(refusal({"model_noise", std::vector<double>{kNan}}), HasSubstr("'model_noise'"));
}

TEST(ExternalForceBroadcaster, when_running_expect_no_allocation_and_no_lock_in_update)
{
  using constrained_dynamics::test::allocation_count;
  using constrained_dynamics::test::lock_count;
  PushedArm robot(tool_parameters());
  long allocations = 0;
  long locks = 0;
  for (int i = 0; i < 2000; ++i)
  {
    robot.drive();
    if (i % 50 == 7)
    {
      robot.harness.set_state("arm_1/velocity", kNan);
    }
    const rclcpp::Time now = robot.harness.controller->get_node()->now();
    const rclcpp::Duration period = rclcpp::Duration::from_seconds(0.001);
    const long before = allocation_count();
    const long locks_before = lock_count();
    (void)robot.harness.controller->update(now, period);
    allocations += allocation_count() - before;
    locks += lock_count() - locks_before;
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
