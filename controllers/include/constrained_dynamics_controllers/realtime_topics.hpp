// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>

#include <constrained_dynamics_ros/constraint_publisher.hpp>
#include <constrained_dynamics_ros/topic_writer.hpp>
#include <rclcpp_lifecycle/lifecycle_node.hpp>
#include <realtime_tools/realtime_publisher.hpp>

namespace constrained_dynamics_controllers
{

/// A publisher that sends from a thread of its own. Real-time safe: no; what it returns is.
template <typename Message>
constrained_dynamics_ros::Send<Message> make_realtime_publisher(
  rclcpp_lifecycle::LifecycleNode & node, const std::string & topic, const Message & message)
{
  const typename rclcpp::Publisher<Message>::SharedPtr plain =
    node.create_publisher<Message>(topic, rclcpp::SystemDefaultsQoS());
  const auto publisher = std::make_shared<realtime_tools::RealtimePublisher<Message>>(plain);
  // The publisher's own copy takes its memory now.
  while (!publisher->try_publish(message))
  {
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  return [publisher](const Message & sent) { return publisher->try_publish(sent); };
}

/// A topic of a control cycle. @param rate [Hz]; 0: every cycle.
template <typename Message>
std::unique_ptr<constrained_dynamics_ros::TopicWriter<Message>> make_realtime_writer(
  rclcpp_lifecycle::LifecycleNode & node, const std::string & topic, Message message, double rate)
{
  auto send = make_realtime_publisher(node, topic, message);
  return std::make_unique<constrained_dynamics_ros::TopicWriter<Message>>(
    std::move(message), std::move(send), rate);
}

}  // namespace constrained_dynamics_controllers
