// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics_controllers/servo_health.hpp"

#include <string>

#include "constrained_dynamics_controllers/model_setup.hpp"

namespace constrained_dynamics_controllers
{

using constrained_dynamics::ServoMiss;
using constrained_dynamics::ServoMode;
using constrained_dynamics::Status;
using diagnostic_msgs::msg::DiagnosticStatus;

void ServoHealth::set(
  const constrained_dynamics::ServoCycleReport & report,
  const constrained_dynamics::ServoCycleCounts & counts, double compute_time) noexcept
{
  const auto relaxed = std::memory_order_relaxed;
  mode_.store(report.mode, relaxed);
  status_.store(report.status, relaxed);
  if (report.miss != ServoMiss::kNone)
  {
    miss_.store(report.miss, relaxed);
  }
  cycles_.store(counts.cycles, relaxed);
  missed_.store(counts.missed, relaxed);
  fallback_.store(counts.fallback, relaxed);
  singular_.store(counts.singular, relaxed);
  limited_.store(counts.limited, relaxed);
  inconsistent_.store(counts.inconsistent, relaxed);
  if (compute_time > longest_cycle_.load(relaxed))
  {
    longest_cycle_.store(compute_time, relaxed);
  }
}

void ServoHealth::report(DiagnosticStatus & status) const
{
  const ServoMode now = mode();
  const Status last = this->status();
  status.message =
    std::string("mode ") + to_string(now) + ", status " + constrained_dynamics::to_string(last);
  status.level = now == ServoMode::kFallback ? DiagnosticStatus::ERROR
                 : now == ServoMode::kHold || (now != ServoMode::kInactive && last != Status::kOk)
                   ? DiagnosticStatus::WARN
                   : DiagnosticStatus::OK;
  add_value(status, "mode", to_string(now));
  add_value(status, "status", constrained_dynamics::to_string(last));
  add_value(status, "cycles", cycles_.load());
  add_value(status, "missed cycles", missed_.load());
  add_value(status, "last cause", to_string(last_miss()));
  add_value(status, "fallback cycles", fallback_.load());
  add_value(status, "singular cycles", singular_.load());
  add_value(status, "limited cycles", limited_.load());
  add_value(status, "inconsistent cycles", inconsistent_.load());
  add_value(status, "commands not written", unwritten_.load());
  add_value(status, "references refused", refused_.load());
  add_value(status, "longest cycle [s]", longest_cycle_.load());
}

}  // namespace constrained_dynamics_controllers
