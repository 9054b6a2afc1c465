// The parts of Simulation that change it at an instant: modes of contacts, switches, impulses.
#include <algorithm>
#include <cmath>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "constrained_dynamics/simulation.hpp"
#include "contact/contact_runtime.hpp"
#include "run_book.hpp"

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

  /// Modes for the present state, which then meets what came to be in force: a contact may be seen
  /// late, or be made to close while it was on its way out of where it had been put.
  Status decide() noexcept
  {
    Simulation & of = simulation_;
    Status status = of.decide();
    if (has_output(status))
    {
      of.x_.head(of.state_.q.size()) = of.state_.q;
      of.x_.tail(of.state_.u.size()) = of.state_.u;
      const Status settled = of.settle(of.state_.time, of.x_);
      if (has_output(settled))
      {
        of.store(of.state_.time, of.x_);
        status = worse(status, settled);
      }
    }
    return status;
  }

private:
  Simulation & simulation_;
};

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

Status Simulation::after_step() noexcept CD_NONBLOCKING
{
  Status status = apply_due_changes();
  if (!has_output(status) || contacts_->is_empty())
  {
    return status;
  }
  const Status solved = evaluate();
  if (!has_output(solved))
  {
    return solved;
  }
  if (book_ != nullptr)
  {
    book_->measure(input_values_, workspace_);
  }
  contacts_->commit(workspace_);
  bool any = false;
  const int contacts = static_cast<int>(contacts_->contacts().contacts().size());
  for (int i = 0; i < contacts_->event_count(); ++i)
  {
    bool has_ended =
      contacts_->event_function(i, workspace_) < -contacts_->event_tolerance(i, workspace_);
    if (i < contacts && contacts_->is_open(i))
    {
      has_ended = has_ended && contacts_->is_closing(i, workspace_);
    }
    contacts_->fired()[static_cast<std::size_t>(i)] = has_ended;
    any = any || has_ended;
  }
  if (!any)
  {
    return worse(status, solved);
  }
  status = worse(status, Host(*this).decide());
  return status;
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
  Host host(*this);
  Status status = Status::kOk;
  bool has_velocity = false;  // rows on acceleration level come into force without a jump
  for (const RowDescription & row : dynamics_->constraints()[constraint].rows())
  {
    has_velocity = has_velocity || row.level != RowLevel::kAcceleration;
  }
  if (active && has_velocity)
  {
    status =
      contacts_->jump(state_.time, state_.q, state_.u, no_impulse_, constraint, workspace_, host);
    if (!has_output(status))
    {
      return status;
    }
  }
  else
  {
    ContactEvent event;
    event.time = state_.time;
    event.kind = active ? ContactEventKind::kSwitchOn : ContactEventKind::kSwitchOff;
    event.constraint = constraint;
    record(event);
  }
  workspace_.set_active(constraint, active);
  return contacts_->is_empty() ? status : worse(status, host.decide());
}

Status Simulation::apply_impulse(const ConstVectorRef & impulse) noexcept CD_NONBLOCKING
{
  if (impulse.size() != no_impulse_.size())
  {
    return Status::kSizeMismatch;
  }
  Host host(*this);
  const Status status =
    contacts_->jump(state_.time, state_.q, state_.u, impulse, -1, workspace_, host);
  return !has_output(status) || contacts_->is_empty() ? status : worse(status, host.decide());
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
  while (next_change_ < schedule_.size() && schedule_[next_change_].time <= state_.time + slack)
  {
    const ScheduledChange & change = schedule_[next_change_];
    const Status status = change.constraint >= 0
                            ? switch_constraint(change.constraint, change.active)
                            : apply_impulse(change.impulse);
    if (!has_output(status))
    {
      return status;
    }
    worst = worse(worst, status);
    ++next_change_;
  }
  return worst;
}

}  // namespace constrained_dynamics
