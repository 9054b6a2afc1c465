// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include <rclcpp_lifecycle/lifecycle_node.hpp>
#include <realtime_tools/realtime_publisher.hpp>

namespace constrained_dynamics_controllers
{

/// One topic that a control cycle writes at a rate of its own, without allocations.
template <typename Message>
class CyclicPublisher
{
public:
  /// @param message with all the memory that it will ever need: copies are as large.
  /// @param rate [Hz]; 0: every cycle.
  CyclicPublisher(
    rclcpp_lifecycle::LifecycleNode & node, const std::string & topic, Message message, double rate)
  : message_(std::move(message)), interval_(rate > 0.0 ? 1.0 / rate : 0.0), elapsed_(interval_)
  {
    const typename rclcpp::Publisher<Message>::SharedPtr publisher =
      node.create_publisher<Message>(topic, rclcpp::SystemDefaultsQoS());
    publisher_ = std::make_unique<realtime_tools::RealtimePublisher<Message>>(publisher);
    // The publisher's own copy takes its memory now.
    while (!publisher_->try_publish(message_))
    {
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }

  /// Whether the message is to be written and published in this cycle. Real-time safe: yes, as
  /// everything below. @param period since the last call [s].
  bool is_due(double period) noexcept
  {
    // Half a period early is nearer than half a period late.
    elapsed_ += period;
    if (elapsed_ + 0.5 * period < interval_)
    {
      return false;
    }
    elapsed_ = elapsed_ < 2.0 * interval_ ? elapsed_ - interval_ : 0.0;
    return true;
  }
  Message & message() { return message_; }
  void publish() noexcept
  {
    if (!publisher_->try_publish(message_))
    {
      lost_.fetch_add(1, std::memory_order_relaxed);
    }
  }
  /// Messages that were due while the one before was still being sent.
  std::uint64_t lost_count() const { return lost_.load(std::memory_order_relaxed); }

private:
  Message message_;
  double interval_;
  double elapsed_;
  std::unique_ptr<realtime_tools::RealtimePublisher<Message>> publisher_;
  std::atomic<std::uint64_t> lost_{0};
};

}  // namespace constrained_dynamics_controllers
