// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <cstdio>
#include <exception>
#include <memory>

#include <rclcpp/rclcpp.hpp>

#include "scenario_player.hpp"

/// Exit codes as cdyn: 0, 2 for bad input.
int main(int argc, char ** argv)
{
  rclcpp::init(argc, argv);
  std::shared_ptr<constrained_dynamics_ros::ScenarioPlayer> player;
  try
  {
    player = std::make_shared<constrained_dynamics_ros::ScenarioPlayer>(rclcpp::NodeOptions());
  }
  catch (const std::exception & error)
  {
    std::fprintf(stderr, "scenario_player: %s\n", error.what());
    rclcpp::shutdown();
    return 2;
  }
  rclcpp::spin(player);
  rclcpp::shutdown();
  return 0;
}
