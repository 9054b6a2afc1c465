// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "simulation/moreau_step.hpp"

#include "dynamics/workspace_impl.hpp"

namespace constrained_dynamics
{

MoreauStep::MoreauStep(SimulationCore & of)
: of_(of),
  percussion_(of.model_),
  projects_(of.dynamics().options().stabilisation.kind == Stabilisation::Kind::kProjection),
  x_(of.x_),
  slope_(of.x_),
  speeds_(of.state_.u),
  turn_(of.state_.u),
  correction_(of.state_.u),
  axes_(of.system()),
  turning_(Eigen::VectorXd::Zero(of.state_.u.size())),
  bias_(Eigen::VectorXd::Zero(of.dynamics().constraints().row_count()))
{
  for (int i = 0; i < of.dynamics().constraints().size(); ++i)
  {
    has_rows_ = has_rows_ || !of.model_.set->manages(i);
  }
}

void MoreauStep::begin() noexcept CD_NONBLOCKING
{
  percussion_.reset();
  if (
    !of_.model_.is_empty() &&
    of_.controlled_.update(of_.state_.time, of_.state_.q, of_.state_.u) == Status::kOk)
  {
    static_cast<void>(percussion_.solve(of_.options_.step, of_.controlled_, speeds_));
  }
}

/// The motion with half of b, in slope_: the projection at the end of the step turns the speeds by
/// the other half. With all of it, speeds would grow.
Status MoreauStep::find_halved_slope(double time) noexcept
{
  ControlledDynamics & dynamics = of_.controlled_;
  Status status = dynamics.update(time, of_.state_.q, of_.state_.u);
  status = status == Status::kOk ? of_.dynamics().evaluate_rows(of_.workspace()) : status;
  if (status != Status::kOk)
  {
    return status;
  }
  // In axes that do not turn, A (u̇ + c) = b + A c, of which half is left: A u̇ = ½ (b − A c).
  Evaluation & evaluation = WorkspaceAccess::evaluation(of_.workspace());
  Rows & rows = evaluation.rows;
  bias_ = rows.bias;
  for (Eigen::Index row = 0; row < bias_.size(); ++row)
  {
    if (evaluation.of().contains(RowSubset::kVelocity, static_cast<int>(row)))
    {
      rows.bias(row) = 0.5 * (bias_(row) - rows.jacobian.row(row).dot(turning_));
    }
  }
  status = dynamics.solve();
  rows.bias = bias_;
  if (status != Status::kOk)
  {
    return status;
  }
  ++of_.counts_.evaluations;
  slope_.head(of_.state_.q.size()) = of_.workspace().terms().rates;
  slope_.tail(of_.state_.u.size()) = of_.workspace().solution().acceleration;
  if (of_.book_ != nullptr)
  {
    // Books compare states, which have turned by both halves.
    status = dynamics.solve();
    turn_ = of_.workspace().solution().acceleration - slope_.tail(turn_.size());
    of_.book_->measure(dynamics.inputs(), of_.workspace());
  }
  return status;
}

/// The motion without contacts, in slope_; without any contacts that is all there is.
Status MoreauStep::find_slope(double time) noexcept
{
  of_.workspace().given_multipliers().setZero();
  turn_.setZero();
  if (has_rows_ && projects_ && find_halved_slope(time) == Status::kOk)
  {
    return Status::kOk;
  }
  const Status status = of_.stage_derivative(time, x_, slope_);
  if (status == Status::kSingular)
  {
    // The derivative may be that of neighbours.
    const Status updated = of_.controlled_.update(time, of_.state_.q, of_.state_.u);
    return updated == Status::kOk ? status : updated;
  }
  return status;
}

/// Speeds at the end of the step, in speeds_.
Status MoreauStep::find_percussions(double h) noexcept
{
  ControlledDynamics & dynamics = of_.controlled_;
  if (of_.book_ == nullptr)
  {
    const Status updated = dynamics.update(of_.state_.time, of_.state_.q, of_.state_.u);
    if (updated != Status::kOk)
    {
      return updated;
    }
    slope_.head(of_.state_.q.size()) = of_.workspace().terms().rates;
  }
  ++of_.counts_.evaluations;
  const Status status = percussion_.solve(h, dynamics, speeds_);
  if (status == Status::kInconsistent)
  {
    ++of_.counts_.inconsistent_evaluations;
  }
  return status;
}

Status MoreauStep::make(double end) noexcept CD_NONBLOCKING
{
  const double time = of_.state_.time;
  const double h = end - time;
  const Eigen::Index nq = of_.state_.q.size();
  const Eigen::Index n = of_.state_.u.size();
  const bool has_contacts = !of_.model_.is_empty();
  of_.load(x_);
  axes_.turning(of_.state_.u, turning_);
  // Books need a solution; otherwise the problem of the contacts is all that has to be solved.
  Status status = !has_contacts || of_.book_ != nullptr ? find_slope(time) : Status::kOk;
  if (!has_output(status))
  {
    return status;
  }
  if (has_contacts)
  {
    status = worse(status, find_percussions(h));
    if (!has_output(status))
    {
      return status;
    }
    slope_.tail(n) = (speeds_ - of_.state_.u) / h - turning_;
  }
  else
  {
    speeds_ = of_.state_.u + h * (slope_.tail(n) + turning_);
  }
  if (of_.book_ != nullptr)
  {
    // One stage does not tell inputs that are held from others: all count as continuous.
    of_.book_->keep_stage(1, of_.controlled_.inputs());
    of_.book_->keep_stage(0, of_.controlled_.inputs());
    slope_.tail(n) += turn_;
    // A step in which contacts change has no slope that could be compared with its neighbours'.
    const bool is_smooth = !has_contacts || !changes();
    if (!is_smooth)
    {
      of_.book_->interrupt();
    }
    of_.book_->reach(time, x_, slope_, of_.workspace());
    if (!is_smooth)
    {
      of_.book_->interrupt();
    }
  }
  // Coordinates follow the speeds at the end.
  correction_ = h * (speeds_ - of_.state_.u);
  Eigen::VectorXd & lift = of_.settled_;  // its memory
  if (has_contacts && projects_ && percussion_.drift_correction(lift.head(n)))
  {
    correction_ += lift.head(n);
  }
  x_.head(nq) += h * slope_.head(nq);
  x_.head(nq).noalias() += of_.workspace().terms().kinematic_matrix * correction_;
  x_.tail(n) = speeds_;
  axes_.carry(of_.state_.q, x_.head(nq), x_.tail(n));
  if (has_rows_ || !has_contacts)
  {
    status = worse(status, of_.settle(end, x_));
  }
  else
  {
    of_.system().normalise(x_.head(nq));
  }
  if (!has_output(status) || !x_.allFinite())
  {
    return has_output(status) ? Status::kNonFiniteResult : status;
  }
  if (has_contacts)
  {
    record(end);
    percussion_.commit();
  }
  of_.store(end, x_);
  return status;
}

// ---- events
// ------------------------------------------------------------------------------

/// Whether contacts strike, close, open, stick or slip in this step.
bool MoreauStep::changes() const noexcept
{
  bool any = false;
  for (int i = 0; i < of_.model_.contact_count(); ++i)
  {
    const Percussion::Outcome & now = percussion_.outcome(i);
    const Percussion::Outcome & last = percussion_.last_outcome(i);
    any =
      any || (now.pushes && now.strikes) || now.pushes != last.pushes || now.slides != last.slides;
  }
  return any;
}

/// What changed in this step, and its work.
void MoreauStep::record(double end) noexcept
{
  for (int i = 0; i < of_.model_.contact_count(); ++i)
  {
    const Percussion::Outcome & now = percussion_.outcome(i);
    const Percussion::Outcome & last = percussion_.last_outcome(i);
    const bool is_impact = now.pushes && now.strikes;
    if (is_impact)
    {
      record_one(end, ContactEventKind::kImpact, i, true);
    }
    if (now.pushes && !last.pushes && !(now.rate_after > 0.0))
    {
      record_one(end, ContactEventKind::kClose, i, false);
    }
    if (last.pushes && !now.pushes && !(last.rate_after > 0.0))
    {
      record_one(end, ContactEventKind::kRelease, i, false);
    }
    const int friction = of_.model_.set->friction_of(i);
    if (friction >= 0 && now.pushes && (!last.pushes || last.slides != now.slides))
    {
      record_one(end, now.slides ? ContactEventKind::kSlip : ContactEventKind::kStick, i, false);
    }
  }
  if (of_.book_ != nullptr)
  {
    of_.book_->add_percussions(percussion_.normal_work(), percussion_.friction_work());
  }
}

void MoreauStep::record_one(double end, ContactEventKind kind, int contact, bool is_impact) noexcept
{
  const Percussion::Outcome & outcome = percussion_.outcome(contact);
  const bool is_slip = kind == ContactEventKind::kSlip || kind == ContactEventKind::kStick;
  ContactEvent event;
  event.time = end;
  event.kind = kind;
  event.constraint = is_slip ? of_.model_.friction(of_.model_.set->friction_of(contact)).constraint
                             : of_.model_.contact(contact).constraint;
  if (is_impact)
  {
    const double side = of_.model_.contact(contact).side;
    event.impulse = outcome.impulse;
    event.friction_impulse = outcome.friction_impulse;
    event.speed_before = -side * outcome.rate_before;
    event.speed_after = -side * outcome.rate_after;
    event.energy_change = percussion_.normal_work() + percussion_.friction_work();
    event.restitution_scale = percussion_.restitution_scale();
  }
  of_.record(event);
}

}  // namespace constrained_dynamics
