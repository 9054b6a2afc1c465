// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <memory>

#include <rclcpp/rclcpp.hpp>

#include "constraint_monitor.hpp"

int main(int argc, char ** argv)
{
  rclcpp::init(argc, argv);
  const auto monitor =
    std::make_shared<constrained_dynamics_ros::ConstraintMonitor>(rclcpp::NodeOptions());
  rclcpp::spin(monitor->get_node_base_interface());
  rclcpp::shutdown();
  return 0;
}
