// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <chrono>
#include <csignal>
#include <memory>

#include <rclcpp/rclcpp.hpp>

#include "constraint_monitor.hpp"

namespace
{

volatile std::sig_atomic_t is_asked_to_end = 0;

void ask_to_end(int /*signal*/) { is_asked_to_end = 1; }

}  // namespace

int main(int argc, char ** argv)
{
  // rclcpp's own handlers would end the context first, and the node could not leave its lifecycle.
  rclcpp::init(argc, argv, rclcpp::InitOptions(), rclcpp::SignalHandlerOptions::None);
  std::signal(SIGINT, ask_to_end);
  std::signal(SIGTERM, ask_to_end);
  const auto monitor =
    std::make_shared<constrained_dynamics_ros::ConstraintMonitor>(rclcpp::NodeOptions());
  rclcpp::executors::SingleThreadedExecutor executor;
  executor.add_node(monitor->get_node_base_interface());
  while (rclcpp::ok() && is_asked_to_end == 0)
  {
    executor.spin_once(std::chrono::milliseconds(100));
  }
  monitor->shutdown();
  rclcpp::shutdown();
  return 0;
}
