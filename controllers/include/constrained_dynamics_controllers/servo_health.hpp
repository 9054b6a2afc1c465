// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include <constrained_dynamics/servo/servo_runtime.hpp>
#include <diagnostic_msgs/msg/diagnostic_status.hpp>
#include <realtime_tools/realtime_thread_safe_box.hpp>

namespace constrained_dynamics_controllers
{

/// What diagnostics know of a servo controller: written by the cycle, read by other threads.
class ServoHealth
{
public:
  // Real-time safe:

  void set(
    const constrained_dynamics::ServoCycleReport & report,
    const constrained_dynamics::ServoRuntime & runtime, double compute_time) noexcept;
  void set_inactive() noexcept { mode_ = constrained_dynamics::ServoMode::kInactive; }
  void count_unwritten() noexcept { unwritten_.fetch_add(1, std::memory_order_relaxed); }
  void count_refused() noexcept { refused_.fetch_add(1, std::memory_order_relaxed); }

  // Not for the cycle:

  constrained_dynamics::ServoMode mode() const { return mode_; }
  constrained_dynamics::Status status() const { return status_; }
  constrained_dynamics::ServoMiss last_miss() const { return miss_; }
  double sample_interval() const { return sample_interval_; }
  /// Things that a user should hear of, one sentence each; empty: all is well.
  /// @param runtime for names; nothing that the cycle changes is read.
  std::string complaints(const constrained_dynamics::ServoRuntime & runtime);
  void report(
    const constrained_dynamics::ServoRuntime & runtime,
    diagnostic_msgs::msg::DiagnosticStatus & status) const;

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
  std::atomic<std::uint64_t> cut_{0};
  std::atomic<std::uint64_t> violated_{0};
  std::atomic<std::uint64_t> unwritten_{0};         // commands that an interface did not take
  std::atomic<std::uint64_t> refused_{0};           // messages
  std::atomic<std::uint64_t> refused_in_cycle_{0};  // references, see ServoCycleCounts
  std::atomic<std::uint64_t> relaxed_{0};           // bit i: task i
  std::atomic<std::uint64_t> cut_inputs_{0};        // bit i: input i
  std::atomic<std::uint64_t> holding_{0};           // bit i: task i
  std::atomic<int> violated_row_{-1};
  std::atomic<double> violation_{0.0};        // its residual
  std::atomic<double> violation_rate_{0.0};   // and the rate of that
  std::atomic<double> longest_cycle_{0.0};    // [s]
  std::atomic<double> sample_interval_{0.0};  // [s]
  realtime_tools::RealtimeThreadSafeBox<constrained_dynamics::RefusedReference> refusal_;
  // Of the thread of diagnostics:
  std::uint64_t told_refusals_ = 0;
  std::uint64_t told_cuts_ = 0;
};

}  // namespace constrained_dynamics_controllers
