// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// The parts of Simulation that change it at an instant: modes of contacts, switches, impulses.
#include <algorithm>
#include <cmath>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "constrained_dynamics/simulation/simulation.hpp"
#include "contact/contact_runtime.hpp"
#include "simulation/run_book.hpp"

namespace constrained_dynamics
{

/// What the contacts see of a simulation.
class Simulation::Host : public ContactHost
{
public:
  explicit Host(Simulation & simulation) : simulation_(simulation) {}
  Status update(double time, const ConstVectorRef & q, const ConstVectorRef & u) noexcept override
  {
    return simulation_.update(time, q, u);
  }
  const Eigen::VectorXd & input_values() const noexcept override
  {
    return simulation_.input_values_;
  }
  void record(const ContactEvent & event) noexcept override { simulation_.record(event); }

  /// Modes for the present state, which then meets what came to be in force.
  Status decide() noexcept
  {
    Simulation & of = simulation_;
    const Status status = of.decide();
    return has_output(status) ? worse(status, meet_rows()) : status;
  }

  /// Changes of one instant, and the modes that follow.
  Status change(const ScheduledChange * changes, std::size_t count) noexcept
  {
    Simulation & of = simulation_;
    const Status status = of.contacts_->jump(
      of.state_.time, of.state_.q, of.state_.u, changes, count, of.workspace_, *this);
    return !has_output(status) || of.contacts_->is_empty() ? status : worse(status, decide());
  }

  /// A fixed step to `end`: made again up to the first end of a mode in it, and on from there.
  Status step(double end) noexcept;

private:
  Status meet_rows() noexcept;
  Status lift_out() noexcept;
  Status step_from_start(double time) noexcept;
  Status go_to_first_end(double end, bool is_lost) noexcept;

  Simulation & simulation_;
};

/// The state on the rows in force, as far as they can be met. What several events in one step have
/// left below the surface is lifted out.
Status Simulation::Host::meet_rows() noexcept
{
  Simulation & of = simulation_;
  of.x_.head(of.state_.q.size()) = of.state_.q;
  of.x_.tail(of.state_.u.size()) = of.state_.u;
  const Status settled = of.settle(of.state_.time, of.x_);
  if (!has_output(settled))
  {
    return Status::kOk;  // contacts stay where they are
  }
  of.store(of.state_.time, of.x_);
  return worse(settled, lift_out());
}

Status Simulation::Host::lift_out() noexcept
{
  Simulation & of = simulation_;
  if (
    of.dynamics_->options().stabilisation.kind != Stabilisation::Kind::kProjection ||
    of.dynamics_->evaluate_rows(of.state_.time, of.state_.q, of.state_.u, of.workspace_) !=
      Status::kOk ||
    !of.contacts_->add_sunk_rows(of.workspace_))
  {
    return Status::kOk;
  }
  auto q = of.x_.head(of.state_.q.size());
  const Status lifted = of.dynamics_->project_position(of.state_.time, q, of.workspace_);
  of.contacts_->switch_rows(of.workspace_);
  if (lifted == Status::kOk && has_output(of.settle(of.state_.time, of.x_)))
  {
    of.store(of.state_.time, of.x_);
  }
  return lifted == Status::kOk ? Status::kOk : Status::kInconsistent;
}

/// The step again, to another time, solved there.
Status Simulation::Host::step_from_start(double time) noexcept
{
  Simulation & of = simulation_;
  const State & start = of.contacts_->start();
  of.state_.time = start.time;
  of.state_.q = start.q;
  of.state_.u = start.u;
  of.contacts_->watch_slips();
  const Status status = time > start.time ? of.integrate_step(start.time, time) : Status::kOk;
  return has_output(status) ? worse(status, of.evaluate()) : status;
}

/// From the end of a step in which modes have ended to the first of these ends: shorter steps from
/// the same start, by secants of the functions that have fired and by bisection. At the end the
/// state is solved and what has ended there has fired; without an end, where the motion is lost, it
/// is at the start of the step. @pre `fire` at the end of the step, unless it is lost.
Status Simulation::Host::go_to_first_end(double end, bool is_lost) noexcept
{
  // Of the step; what is closer is one event.
  constexpr double kClose = 1e-10;
  constexpr int kMostTrials = 60;
  Simulation & of = simulation_;
  ContactRuntime & contacts = *of.contacts_;
  ContactRuntime::EventValues & values = contacts.values();
  const double start = contacts.start().time;
  const double step = end - start;
  values.high.swap(values.now);
  Status status = step_from_start(start);
  if (!has_output(status) || contacts.fire(of.workspace_, values.low))
  {
    return status;
  }
  double low = 0.0;
  double high = step;
  bool is_at_high = false;
  bool has_values = !is_lost;  // at the upper end
  for (int k = 0; k < kMostTrials && high - low > kClose * step; ++k)
  {
    double next = high;
    for (std::size_t i = 0; i < values.low.size() && has_values && k % 3 != 2; ++i)
    {
      const double fall = values.low[i] - values.high[i];
      next = values.low[i] > 0.0 && values.high[i] < 0.0
               ? std::min(next, low + (high - low) * (values.low[i] / fall))
               : next;
    }
    // A little past the zero, so that the bracket closes from above.
    next += 0.5 * kClose * step;
    next = next < high ? next : 0.5 * (low + high);
    status = step_from_start(start + next);
    const bool is_solved = has_output(status) && !contacts.has_turned_back();
    is_at_high = !is_solved || contacts.fire(of.workspace_, values.now);
    if (is_at_high)
    {
      high = next;
      has_values = is_solved;
      values.high.swap(values.now);
    }
    else
    {
      low = next;
      values.low.swap(values.now);
    }
  }
  if (!is_at_high)
  {
    status = step_from_start(start + high);
  }
  if (!has_output(status))
  {
    const Status lost = status;
    static_cast<void>(step_from_start(start));
    return lost;
  }
  contacts.fire(of.workspace_, values.now);
  return status;
}

Status Simulation::Host::step(double end) noexcept
{
  // Ends of modes that are located in one step; more are decided upon together at its end.
  constexpr int kMostEnds = 8;
  Simulation & of = simulation_;
  ContactRuntime & contacts = *of.contacts_;
  Status worst = Status::kOk;
  for (int k = 0;; ++k)
  {
    contacts.keep_start(of.state_);
    Status status = step_from_start(end);
    // Beyond the end of a mode, or there is no motion.
    const bool is_lost = !has_output(status) || contacts.has_turned_back();
    const bool has_ended =
      has_output(status) && contacts.fire(of.workspace_, contacts.values().now);
    if (!is_lost && !has_ended)
    {
      contacts.commit(of.workspace_);
      of.book_step(contacts.start().time, status);
      return worse(worst, status);
    }
    if (k < kMostEnds)
    {
      status = go_to_first_end(end, is_lost);
    }
    of.book_step(contacts.start().time, status);
    worst = worse(worst, status);
    const std::size_t events = of.events_.size();
    status = has_output(status) ? decide() : status;
    if (of.book_ != nullptr)
    {
      of.book_->interrupt();
      of.book_->add_events(of.events_, std::min(events, of.events_.size()));
    }
    worst = worse(worst, status);
    if (!has_output(status) || of.state_.time >= end)
    {
      return worst;
    }
  }
}

void Simulation::record(const ContactEvent & event) noexcept CD_NONBLOCKING
{
  if (events_.size() < events_.capacity())
  {
    events_.push_back(event);
    return;
  }
  if (may_grow_)
  {
    try
    {
      events_.push_back(event);
      return;
    }
    catch (...)
    {
      // counted below
    }
  }
  ++lost_events_;
}

Status Simulation::decide() noexcept CD_NONBLOCKING
{
  Host host(*this);
  mode_status_ = contacts_->decide(state_.time, state_.q, state_.u, workspace_, host);
  return mode_status_;
}

bool Simulation::has_contacts() const { return !contacts_->is_empty(); }

bool Simulation::has_law_forces() const { return contacts_->has_law_forces(); }

Status Simulation::step_with_contacts(double next_time) noexcept CD_NONBLOCKING
{
  return Host(*this).step(next_time);
}

// ---- changes from outside
// ------------------------------------------------------------------------------

Status Simulation::switch_constraint(int constraint, bool active) noexcept CD_NONBLOCKING
{
  if (
    constraint < 0 || constraint >= dynamics_->constraints().size() ||
    contacts_->contacts().manages(constraint))
  {
    return Status::kSizeMismatch;
  }
  if (workspace_.is_active(constraint) == active)
  {
    return Status::kOk;
  }
  ScheduledChange & change = contacts_->single_change();
  change.constraint = constraint;
  change.active = active;
  return Host(*this).change(&change, 1);
}

Status Simulation::apply_impulse(const ConstVectorRef & impulse) noexcept CD_NONBLOCKING
{
  if (impulse.size() != no_impulse_.size())
  {
    return Status::kSizeMismatch;
  }
  ScheduledChange & change = contacts_->single_change();
  change.constraint = -1;
  change.impulse = impulse;
  return Host(*this).change(&change, 1);
}

void Simulation::schedule(std::vector<ScheduledChange> changes)
{
  for (const ScheduledChange & change : changes)
  {
    std::ostringstream message;
    const int count = dynamics_->constraints().size();
    if (!std::isfinite(change.time))
    {
      message << "a scheduled change has the time " << change.time << "; allowed: finite";
    }
    else if (
      change.constraint < -1 || change.constraint >= count ||
      (change.constraint >= 0 && contacts_->contacts().manages(change.constraint)))
    {
      message << "a scheduled change names constraint " << change.constraint << "; allowed: -1 to "
              << count - 1 << ", without those of contacts and frictions";
    }
    else if (
      change.constraint < 0 &&
      (change.impulse.size() != no_impulse_.size() || !change.impulse.allFinite()))
    {
      message << "a scheduled impulse has " << change.impulse.size()
              << " elements; allowed: " << no_impulse_.size() << " finite ones";
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
}

Status Simulation::apply_due_changes() noexcept CD_NONBLOCKING
{
  Status worst = Status::kOk;
  const double slack = 1e-12 * std::max(1.0, std::abs(state_.time));
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
    const Status status = Host(*this).change(&schedule_[next_change_], end - next_change_);
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
