// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <atomic>
#include <cstdint>

#include <constrained_dynamics/servo/servo_runtime.hpp>
#include <diagnostic_msgs/msg/diagnostic_status.hpp>

namespace constrained_dynamics_controllers
{

/// What diagnostics know of a servo controller: written by the cycle, read by other threads.
class ServoHealth
{
public:
  // Real-time safe:

  void set(
    const constrained_dynamics::ServoCycleReport & report,
    const constrained_dynamics::ServoCycleCounts & counts, double compute_time) noexcept;
  void set_inactive() noexcept { mode_ = constrained_dynamics::ServoMode::kInactive; }
  void count_unwritten() noexcept { unwritten_.fetch_add(1, std::memory_order_relaxed); }
  void count_refused() noexcept { refused_.fetch_add(1, std::memory_order_relaxed); }

  // Not for the cycle:

  constrained_dynamics::ServoMode mode() const { return mode_; }
  constrained_dynamics::Status status() const { return status_; }
  constrained_dynamics::ServoMiss last_miss() const { return miss_; }
  void report(diagnostic_msgs::msg::DiagnosticStatus & status) const;

private:
  std::atomic<constrained_dynamics::ServoMode> mode_{constrained_dynamics::ServoMode::kInactive};
  std::atomic<constrained_dynamics::Status> status_{constrained_dynamics::Status::kOk};
  std::atomic<constrained_dynamics::ServoMiss> miss_{constrained_dynamics::ServoMiss::kNone};
  std::atomic<std::uint64_t> cycles_{0};
  std::atomic<std::uint64_t> missed_{0};
  std::atomic<std::uint64_t> fallback_{0};
  std::atomic<std::uint64_t> singular_{0};
  std::atomic<std::uint64_t> limited_{0};
  std::atomic<std::uint64_t> inconsistent_{0};
  std::atomic<std::uint64_t> unwritten_{0};  // commands that an interface did not take
  std::atomic<std::uint64_t> refused_{0};    // messages
  std::atomic<double> longest_cycle_{0.0};   // [s]
};

}  // namespace constrained_dynamics_controllers
