// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics_controllers/servo_health.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include "constrained_dynamics_controllers/model_setup.hpp"

namespace constrained_dynamics_controllers
{

using constrained_dynamics::ServoMiss;
using constrained_dynamics::ServoMode;
using constrained_dynamics::ServoRuntime;
using constrained_dynamics::Status;
using diagnostic_msgs::msg::DiagnosticStatus;

namespace
{

constexpr std::size_t kBits = 64;

template <typename IsSet>
std::uint64_t bits_of(std::size_t count, const IsSet & is_set) noexcept
{
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < std::min(count, kBits); ++i)
  {
    bits |= is_set(i) ? std::uint64_t{1} << i : 0;
  }
  return bits;
}

std::string names_of(std::uint64_t bits, const std::vector<std::string> & names)
{
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kBits); ++i)
  {
    if ((bits >> i & 1U) != 0)
    {
      text += (text.empty() ? "" : ", ") + names[i];
    }
  }
  return text;
}

std::vector<std::string> task_names(const ServoRuntime & runtime)
{
  std::vector<std::string> names;
  for (const constrained_dynamics::ServoTask & task : runtime.law().tasks())
  {
    names.push_back(task.constraint->name());
  }
  return names;
}

const std::vector<std::string> & input_names(const ServoRuntime & runtime)
{
  return runtime.law().passive().system().input_names();
}

}  // namespace

void ServoHealth::set(
  const constrained_dynamics::ServoCycleReport & report, const ServoRuntime & runtime,
  double compute_time) noexcept
{
  const auto relaxed = std::memory_order_relaxed;
  const constrained_dynamics::ServoCycleCounts & counts = runtime.counts();
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
  violated_.store(counts.violated, relaxed);
  sample_interval_.store(runtime.sample_interval(), relaxed);
  violated_row_.store(report.violation.is_beyond() ? report.violation.row : -1, relaxed);
  violation_.store(report.violation.position, relaxed);
  violation_rate_.store(report.violation.velocity, relaxed);
  const std::vector<bool> & relaxed_tasks = runtime.servo().result().relaxed;
  relaxed_.store(
    bits_of(relaxed_tasks.size(), [&](std::size_t i) { return relaxed_tasks[i]; }), relaxed);
  holding_.store(
    bits_of(
      relaxed_tasks.size(),
      [&](std::size_t i) { return runtime.reference(static_cast<int>(i)).is_holding(); }),
    relaxed);
  if (report.cut)
  {
    // Relative to the torques, as ServoRuntime::set_granted.
    constexpr double kSame = 1e-6;
    const Eigen::VectorXd & asked = runtime.requested();
    const Eigen::VectorXd & granted = runtime.granted();
    cut_inputs_.store(
      bits_of(
        static_cast<std::size_t>(asked.size()),
        [&](std::size_t k)
        {
          const auto i = static_cast<Eigen::Index>(k);
          return std::abs(asked(i) - granted(i)) > kSame * (1.0 + std::abs(asked(i)));
        }),
      relaxed);
  }
  cut_.store(counts.cut, relaxed);
  if (counts.refused != refused_in_cycle_.load(relaxed) && refusal_.try_set(runtime.last_refusal()))
  {
    refused_in_cycle_.store(counts.refused, relaxed);
  }
  if (compute_time > longest_cycle_.load(relaxed))
  {
    longest_cycle_.store(compute_time, relaxed);
  }
}

std::string ServoHealth::complaints(const ServoRuntime & runtime)
{
  std::ostringstream text;
  const auto sentence = [&]() -> std::ostringstream &
  {
    text << (text.str().empty() ? "" : ". ");
    return text;
  };
  const int row = violated_row_;
  if (mode() != ServoMode::kInactive && row >= 0)
  {
    sentence() << "the measured state violates constraint "
               << runtime.law().passive().constraints().row_name(row) << " by " << violation_
               << ", rate " << violation_rate_ << ": forces are not to be believed";
  }
  const std::uint64_t cuts = cut_;
  if (cuts > told_cuts_)
  {
    sentence() << cuts - told_cuts_ << " commands were not granted, of "
               << names_of(cut_inputs_, input_names(runtime))
               << ": the limiter of the controller manager took something of them";
  }
  told_cuts_ = cuts;
  const std::uint64_t refusals = refused_in_cycle_;
  if (refusals > told_refusals_)
  {
    const constrained_dynamics::RefusedReference refusal = refusal_.get();
    if (refusal.task >= 0)
    {
      const auto task = static_cast<std::size_t>(refusal.task);
      sentence() << "reference of '" << task_names(runtime)[task]
                 << "' is refused: " << runtime.bounds(refusal.task).explain(refusal.what);
    }
  }
  told_refusals_ = refusals;
  return text.str();
}

void ServoHealth::report(const ServoRuntime & runtime, DiagnosticStatus & status) const
{
  const ServoMode now = mode();
  const Status last = this->status();
  status.message =
    std::string("mode ") + to_string(now) + ", status " + constrained_dynamics::to_string(last);
  const bool warns = now == ServoMode::kHold || now == ServoMode::kViolated || last != Status::kOk;
  status.level = now == ServoMode::kFallback            ? DiagnosticStatus::ERROR
                 : now != ServoMode::kInactive && warns ? DiagnosticStatus::WARN
                                                        : DiagnosticStatus::OK;
  const int row = violated_row_;
  add_value(status, "mode", to_string(now));
  add_value(status, "status", constrained_dynamics::to_string(last));
  add_value(status, "tasks that hold", names_of(holding_, task_names(runtime)));
  add_value(status, "tasks relaxed", names_of(relaxed_, task_names(runtime)));
  add_value(
    status, "violated constraint",
    row < 0 ? "" : runtime.law().passive().constraints().row_name(row));
  add_value(status, "residual", violation_.load());
  add_value(status, "cycles", cycles_.load());
  add_value(status, "missed cycles", missed_.load());
  add_value(status, "last cause", to_string(last_miss()));
  add_value(status, "fallback cycles", fallback_.load());
  add_value(status, "singular cycles", singular_.load());
  add_value(status, "limited cycles", limited_.load());
  add_value(status, "inconsistent cycles", inconsistent_.load());
  add_value(status, "violated cycles", violated_.load());
  add_value(status, "commands not granted", cut_.load());
  add_value(status, "inputs not granted", names_of(cut_inputs_, input_names(runtime)));
  add_value(status, "commands not written", unwritten_.load());
  add_value(status, "references refused", refused_.load() + refused_in_cycle_.load());
  add_value(status, "time between samples [s]", sample_interval_.load());
  add_value(status, "longest cycle [s]", longest_cycle_.load());
}

}  // namespace constrained_dynamics_controllers
