// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <gmock/gmock.h>

#include <chrono>
#include <fstream>
#include <future>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <controller_manager/controller_manager.hpp>
#include <lifecycle_msgs/msg/state.hpp>
#include <rclcpp/rclcpp.hpp>
#include <ros2_control_test_assets/descriptions.hpp>

namespace
{

std::string four_bar_description()
{
  std::ifstream file(std::string(CONFIG_FOLDER) + "/robots/four_bar.urdf");
  std::stringstream text;
  text << file.rdbuf();
  std::string description = text.str();
  const std::string control = R"(
  <ros2_control name="mock" type="system">
    <hardware><plugin>mock_components/GenericSystem</plugin></hardware>
    <joint name="crank">
      <command_interface name="effort"/>
      <state_interface name="position"><param name="initial_value">0.0</param></state_interface>
      <state_interface name="velocity"><param name="initial_value">0.0</param></state_interface>
      <state_interface name="effort"><param name="initial_value">0.0</param></state_interface>
    </joint>
  </ros2_control>
)";
  return description.insert(description.rfind("</robot>"), control);
}

}  // namespace

TEST(Plugins, when_a_controller_manager_loads_them_expect_controllers)
{
  const auto executor = std::make_shared<rclcpp::executors::SingleThreadedExecutor>();
  controller_manager::ControllerManager manager(
    executor, ros2_control_test_assets::minimal_robot_urdf, true, "test_controller_manager");
  EXPECT_NE(
    manager.load_controller("servo", "constrained_dynamics_controllers/ServoConstraintController"),
    nullptr);
  EXPECT_NE(
    manager.load_controller(
      "broadcaster", "constrained_dynamics_controllers/ConstraintForceBroadcaster"),
    nullptr);
  EXPECT_NE(
    manager.load_controller(
      "external", "constrained_dynamics_controllers/ExternalForceBroadcaster"),
    nullptr);
}

TEST(Plugins, when_a_controller_manager_runs_them_expect_all_active)
{
  const auto executor = std::make_shared<rclcpp::executors::SingleThreadedExecutor>();
  controller_manager::ControllerManager manager(
    executor, four_bar_description(), true, "test_controller_manager");
  const std::string parameters = std::string(DATA_FOLDER) + "/four_bar_controllers.yaml";
  for (const char * name : {"servo", "broadcaster", "external"})
  {
    manager.set_parameter(
      rclcpp::Parameter(std::string(name) + ".params_file", std::vector<std::string>{parameters}));
  }
  const auto servo =
    manager.load_controller("servo", "constrained_dynamics_controllers/ServoConstraintController");
  const auto broadcaster = manager.load_controller(
    "broadcaster", "constrained_dynamics_controllers/ConstraintForceBroadcaster");
  const auto external = manager.load_controller(
    "external", "constrained_dynamics_controllers/ExternalForceBroadcaster");
  ASSERT_NE(servo, nullptr);
  ASSERT_NE(broadcaster, nullptr);
  ASSERT_NE(external, nullptr);
  ASSERT_EQ(manager.configure_controller("servo"), controller_interface::return_type::OK);
  ASSERT_EQ(manager.configure_controller("broadcaster"), controller_interface::return_type::OK);
  ASSERT_EQ(manager.configure_controller("external"), controller_interface::return_type::OK);
  auto switching = std::async(
    std::launch::async,
    [&]
    {
      return manager.switch_controller(
        {"servo", "broadcaster", "external"}, {},
        controller_manager_msgs::srv::SwitchController::Request::STRICT, true,
        rclcpp::Duration::from_seconds(5.0));
    });
  const rclcpp::Duration period = rclcpp::Duration::from_seconds(0.01);
  int cycles_after = 0;
  for (int i = 0; i < 5000 && cycles_after < 50; ++i)
  {
    const rclcpp::Time now = manager.get_trigger_clock()->now();
    manager.read(now, period);
    ASSERT_EQ(manager.update(now, period), controller_interface::return_type::OK);
    manager.write(now, period);
    const bool done = switching.wait_for(std::chrono::milliseconds(1)) == std::future_status::ready;
    cycles_after += done ? 1 : 0;
  }
  ASSERT_EQ(switching.get(), controller_interface::return_type::OK);
  EXPECT_EQ(servo->get_lifecycle_state().id(), lifecycle_msgs::msg::State::PRIMARY_STATE_ACTIVE);
  EXPECT_EQ(
    broadcaster->get_lifecycle_state().id(), lifecycle_msgs::msg::State::PRIMARY_STATE_ACTIVE);
  EXPECT_EQ(external->get_lifecycle_state().id(), lifecycle_msgs::msg::State::PRIMARY_STATE_ACTIVE);
}

int main(int argc, char ** argv)
{
  testing::InitGoogleMock(&argc, argv);
  rclcpp::init(argc, argv);
  const int result = RUN_ALL_TESTS();
  rclcpp::shutdown();
  return result;
}
