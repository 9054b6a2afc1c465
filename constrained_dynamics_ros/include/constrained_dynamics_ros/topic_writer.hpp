// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <utility>

namespace constrained_dynamics_ros
{

/// Sends a message; false: it was lost.
template <typename Message>
using Send = std::function<bool(const Message &)>;

/// One topic that a cycle writes at a rate of its own, without allocations.
template <typename Message>
class TopicWriter
{
public:
  /// @param message with all the memory that it will ever need: copies are as large.
  /// @param rate [Hz]; 0: every cycle.
  TopicWriter(Message message, Send<Message> send, double rate)
  : message_(std::move(message)),
    send_(std::move(send)),
    interval_(rate > 0.0 ? 1.0 / rate : 0.0),
    elapsed_(interval_)
  {
  }

  /// Whether the message is to be written and sent in this cycle. Real-time safe: yes, as
  /// everything below where `send` is. @param period since the last call [s].
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
  const Message & message() const { return message_; }
  void send() noexcept
  {
    if (!send_(message_))
    {
      lost_.fetch_add(1, std::memory_order_relaxed);
    }
  }
  /// Messages that could not be sent, e.g. because the one before was still on its way.
  std::uint64_t lost_count() const { return lost_.load(std::memory_order_relaxed); }

private:
  Message message_;
  Send<Message> send_;
  double interval_;
  double elapsed_;
  std::atomic<std::uint64_t> lost_{0};
};

}  // namespace constrained_dynamics_ros
