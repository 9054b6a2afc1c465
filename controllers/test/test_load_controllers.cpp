#include <gmock/gmock.h>

#include <memory>

#include <controller_manager/controller_manager.hpp>
#include <hardware_interface/resource_manager.hpp>
#include <rclcpp/rclcpp.hpp>
#include <ros2_control_test_assets/descriptions.hpp>

TEST(Plugins, when_a_controller_manager_loads_them_expect_controllers)
{
  const auto executor = std::make_shared<rclcpp::executors::SingleThreadedExecutor>();
  controller_manager::ControllerManager manager(
    executor, ros2_control_test_assets::minimal_robot_urdf, true, "test_controller_manager");
  EXPECT_NE(
    manager.load_controller("servo", "constrained_dynamics/ServoConstraintController"), nullptr);
  EXPECT_NE(
    manager.load_controller("broadcaster", "constrained_dynamics/ConstraintForceBroadcaster"),
    nullptr);
}

int main(int argc, char ** argv)
{
  testing::InitGoogleMock(&argc, argv);
  rclcpp::init(argc, argv);
  const int result = RUN_ALL_TESTS();
  rclcpp::shutdown();
  return result;
}
