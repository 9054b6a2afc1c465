// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics_controllers/servo_constraint_controller.hpp"
#include "controller_harness.hpp"

namespace constrained_dynamics_controllers::test
{

inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
using Servo = Harness<ServoConstraintController>;

inline Parameters operator+(Parameters a, const Parameters & b)
{
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

inline Parameters arm_parameters()
{
  return {
    {"scenario", data_file("arm_on_wall.yaml")},
    {"torque_rate", std::vector<double>{2000.0}},
    {"ramp_time", 0.1}};
}

/// The arm on the wall in closed loop with the core's simulation.
class ArmLoop
{
public:
  explicit ArmLoop(const Parameters & parameters = {}, bool start = true)
  : scenario(constrained_dynamics::Scenario::load(data_file("arm_on_wall.yaml"))),
    plant(scenario),
    harness(arm_parameters() + parameters)
  {
    EXPECT_TRUE(harness.configure());
    harness.assign();
    harness.measure(scenario.system(), plant.state());
    if (start)
    {
      EXPECT_TRUE(harness.activate());
    }
  }

  controller_interface::return_type cycle(
    double period = 0.001, const std::string & spoilt = "", double value = 0.0)
  {
    harness.measure(scenario.system(), plant.state());
    if (!spoilt.empty())
    {
      harness.set_state(spoilt, value);
    }
    const controller_interface::return_type result = harness.update(period);
    for (int i = 0; i < 4; ++i)
    {
      const double command = harness.command("joint_" + std::to_string(i + 1) + "/effort");
      EXPECT_TRUE(std::isfinite(command));
      EXPECT_LE(std::abs(command), kLimits[i]);
      if (has_command)
      {
        EXPECT_LE(std::abs(command - plant.inputs()(i)), 2.0 * (1.0 + 1e-9));
      }
      plant.inputs()(i) = command;
    }
    has_command = true;
    EXPECT_TRUE(has_output(plant.step()));
    return result;
  }
  void run(int cycles)
  {
    for (int i = 0; i < cycles; ++i)
    {
      ASSERT_EQ(cycle(), controller_interface::return_type::OK);
    }
  }

  static constexpr double kLimits[] = {80.0, 80.0, 50.0, 20.0};
  constrained_dynamics::Scenario scenario;
  Plant plant;
  Servo harness;
  bool has_command = false;
};

inline Eigen::Vector3d tip_of(const ArmLoop & loop)
{
  const auto & system = loop.scenario.system();
  const auto data = system.make_data();
  constrained_dynamics::FrameKinematics frame;
  EXPECT_EQ(
    system.update_kinematics(0.0, loop.plant.state().q, loop.plant.state().u, *data),
    constrained_dynamics::Status::kOk);
  system.frame_kinematics(*data, system.frame_index("tip"), frame);
  return frame.position;
}

/// What a node receives.
template <typename Message>
struct Listener
{
  Listener(const rclcpp::Node::SharedPtr & node, const std::string & topic)
  : subscription(node->create_subscription<Message>(
      topic, rclcpp::SystemDefaultsQoS(),
      [this](const typename Message::ConstSharedPtr message)
      {
        last = *message;
        ++count;
      }))
  {
  }
  Message last;
  int count = 0;
  typename rclcpp::Subscription<Message>::SharedPtr subscription;
};

}  // namespace constrained_dynamics_controllers::test
