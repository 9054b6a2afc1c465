// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Instants of a simulation: modes of contacts, switches, impulses.
#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "contact/tolerances.hpp"
#include "dynamics/refusal.hpp"
#include "simulation/simulation_core.hpp"

namespace constrained_dynamics
{

ContactSnapshot SimulationCore::snapshot() noexcept
{
  return {state_.time, state_.q, state_.u, modes_, ended_, controlled_};
}

/// Applies a decision to the state of the simulation and records its events.
void SimulationCore::take(const ContactDecision & decision) noexcept CD_NONBLOCKING
{
  state_.u = decision.u;
  modes_ = decision.modes;
  for (const ContactEvent & event : decision.events)
  {
    record(event);
  }
}

Status SimulationCore::decide_modes() noexcept CD_NONBLOCKING
{
  mode_status_ = decision_.decide(snapshot(), forces_, decided_);
  mode_time_ = state_.time;
  take(decided_);
  if (has_output(mode_status_))
  {
    std::fill(ended_.begin(), ended_.end(), static_cast<char>(0));
  }
  return mode_status_;
}

Status SimulationCore::decide() noexcept CD_NONBLOCKING
{
  const Status status = decide_modes();
  return has_output(status) ? worse(status, settle_state()) : status;
}

Status SimulationCore::change(const ScheduledChange * changes, std::size_t count) noexcept
  CD_NONBLOCKING
{
  const Status status = decision_.apply(snapshot(), changes, count, decided_);
  if (!has_output(status))
  {
    return status;
  }
  take(decided_);
  return has_modes() ? worse(status, decide()) : status;
}

void SimulationCore::record(const ContactEvent & event) noexcept CD_NONBLOCKING
{
  if (events_.size() < events_.capacity())
  {
    events_.push_back(event);
    return;
  }
  ++lost_events_;
}

/// Makes room for the events of a step and of the schedule: a run may allocate, its steps may not.
void SimulationCore::reserve_events()
{
  const std::size_t room = Simulation::kEventCapacity / 2 + schedule_.size() - next_change_;
  if (events_.capacity() - events_.size() < room)
  {
    events_.reserve(2 * events_.capacity() + room);
  }
}

// ---- the schedule
// ------------------------------------------------------------------------------

void SimulationCore::schedule(std::vector<ScheduledChange> changes)
{
  if (!changes.empty())
  {
    refuse_multiplier_forces(dynamics(), "scheduled changes");
  }
  const int count = dynamics().constraints().size();
  const Eigen::Index speeds = system().speed_count();
  for (const ScheduledChange & change : changes)
  {
    std::ostringstream message;
    if (!std::isfinite(change.time))
    {
      message << "a scheduled change has the time " << change.time << "; allowed: finite";
    }
    else if (
      change.constraint < -1 || change.constraint >= count ||
      (change.constraint >= 0 && model_.set->manages(change.constraint)))
    {
      message << "a scheduled change names constraint " << change.constraint << "; allowed: -1 to "
              << count - 1 << ", without those of contacts and frictions";
    }
    else if (
      change.constraint < 0 && (change.impulse.size() != speeds || !change.impulse.allFinite()))
    {
      message << "a scheduled impulse has " << change.impulse.size()
              << " elements; allowed: " << speeds << " finite ones";
    }
    if (!message.str().empty())
    {
      throw std::invalid_argument(message.str());
    }
  }
  std::stable_sort(
    changes.begin(), changes.end(),
    [](const ScheduledChange & a, const ScheduledChange & b) { return a.time < b.time; });
  schedule_ = std::move(changes);
  next_change_ = 0;
  // All of them may happen at one instant.
  decided_.events.reserve(decided_.events.capacity() + schedule_.size());
}

double SimulationCore::next_change_time() const noexcept
{
  return next_change_ < schedule_.size() ? schedule_[next_change_].time
                                         : std::numeric_limits<double>::infinity();
}

Status SimulationCore::apply_due_changes() noexcept CD_NONBLOCKING
{
  Status worst = Status::kOk;
  const double slack = tolerance::kSameTime * std::max(1.0, std::abs(state_.time));
  const auto is_due = [&](std::size_t k, double time)
  { return k < schedule_.size() && schedule_[k].time <= time + slack; };
  while (is_due(next_change_, state_.time))
  {
    // What happens at one instant is one impact.
    std::size_t end = next_change_ + 1;
    while (is_due(end, schedule_[next_change_].time))
    {
      ++end;
    }
    const Status status = change(&schedule_[next_change_], end - next_change_);
    if (!has_output(status))
    {
      return status;
    }
    worst = worse(worst, status);
    next_change_ = end;
  }
  return worst;
}

}  // namespace constrained_dynamics
