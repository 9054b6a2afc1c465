// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "simulation/fixed_stepper.hpp"

#include <algorithm>

#include "contact/tolerances.hpp"
#include "simulation/moreau_step.hpp"

namespace constrained_dynamics
{

FixedStepper::FixedStepper(SimulationCore & of)
: of_(of),
  start_(of.state_),
  x_(of.x_),
  stage_(of.x_),
  slopes_(StepScheme::kMostStages, of.x_),
  low_(of.ended_.size(), 0.0),
  high_(low_),
  now_(low_)
{
}

void FixedStepper::begin(double time, double span) noexcept
{
  grid_start_ = time;
  grid_index_ = 0;
  // A step may be longer than the run.
  slack_ = tolerance::kGrid * std::min(of_.options_.step, span);
  ends_ = 0;
  is_new_step_ = true;
}

double FixedStepper::next_time() const noexcept
{
  return grid_start_ + static_cast<double>(grid_index_ + 1) * of_.options_.step;
}

double FixedStepper::limit(double until, double /*next_change*/) const noexcept
{
  const double next = next_time();
  return next > until - slack_ ? until : next;
}

// ---- one step
// ------------------------------------------------------------------------------

Advance FixedStepper::make(double end) noexcept CD_NONBLOCKING
{
  if (is_new_step_ && of_.controlled_.law() != nullptr)
  {
    of_.controlled_.law()->begin_step(of_.state_.time);
  }
  is_new_step_ = false;
  start_.time = of_.state_.time;
  start_.q = of_.state_.q;
  start_.u = of_.state_.u;
  Advance made;
  if (!(end > start_.time))
  {
    made.status = Status::kNotConverged;  // the step is below the round-off of the time
    return made;
  }
  if (of_.is_moreau())
  {
    made.status = of_.moreau_->make(end);
  }
  else if (of_.model_.is_empty())
  {
    made.status = integrate(start_.time, end);
  }
  else
  {
    made.status = step_from_start(end);
    // Beyond the end of a mode, or there is no motion.
    const bool is_lost = !has_output(made.status) || of_.forces_.has_turned_back();
    const bool has_ended = has_output(made.status) && mark_ended(now_);
    made.has_ended = is_lost || has_ended;
    if (made.has_ended && ends_++ < bound::kEndsOfStep)
    {
      made.status = go_to_first_end(end, is_lost);
    }
  }
  made.time = of_.state_.time;
  made.may_change = made.time >= end;
  return made;
}

Status FixedStepper::arrive(const Advance & made) noexcept CD_NONBLOCKING
{
  if (!has_output(made.status))
  {
    return made.status;
  }
  if (!made.has_ended && of_.has_modes())
  {
    of_.forces_.commit(of_.modes_, of_.workspace());
  }
  if (of_.book_ != nullptr && made.time > start_.time)
  {
    const StepScheme & scheme = scheme_of(of_.options_.integrator);
    of_.book_->add_step(made.time - start_.time, scheme.weight, scheme.stages);
  }
  if (made.may_change)
  {
    ++of_.counts_.steps;
    ++grid_index_;
    ends_ = 0;
    is_new_step_ = true;
  }
  return made.status;
}

Status FixedStepper::depart(const Advance & /*made*/) noexcept CD_NONBLOCKING
{
  of_.watch_limits();
  return Status::kOk;
}

/// One step of the scheme with the modes as they are.
Status FixedStepper::integrate(double time, double next_time) noexcept CD_NONBLOCKING
{
  const StepScheme & scheme = scheme_of(of_.options_.integrator);
  const double h = next_time - time;
  Status worst = Status::kOk;
  of_.load(x_);
  for (int i = 0; i < scheme.stages; ++i)
  {
    stage_ = x_;
    for (int j = 0; j < i; ++j)
    {
      if (scheme.stage[i][j] != 0.0)
      {
        stage_ += h * scheme.stage[i][j] * slopes_[static_cast<std::size_t>(j)];
      }
    }
    const Status status =
      of_.stage_derivative(time + scheme.time[i] * h, stage_, slopes_[static_cast<std::size_t>(i)]);
    if (!has_output(status))
    {
      return status;
    }
    worst = worse(worst, status);
    if (of_.book_ != nullptr)
    {
      of_.book_->keep_stage(i, of_.controlled_.inputs());
    }
    if (of_.book_ != nullptr && i == 0)
    {
      of_.book_->reach(time, stage_, slopes_[0], of_.workspace());
    }
  }
  for (int i = 0; i < scheme.stages; ++i)
  {
    if (scheme.weight[i] != 0.0)
    {
      x_ += h * scheme.weight[i] * slopes_[static_cast<std::size_t>(i)];
    }
  }
  const Status status = of_.settle(next_time, x_);
  if (!has_output(status))
  {
    return status;
  }
  if (!x_.allFinite())
  {
    return Status::kNonFiniteResult;
  }
  of_.store(next_time, x_);
  return worse(worst, status);
}

// ---- ends of modes in a step
// ------------------------------------------------------------------------------

bool FixedStepper::mark_ended(std::vector<double> & values) noexcept CD_NONBLOCKING
{
  return constrained_dynamics::mark_ended(of_.view(), of_.ended_, values);
}

/// The step again, to another time, solved there.
Status FixedStepper::step_from_start(double time) noexcept CD_NONBLOCKING
{
  of_.state_.time = start_.time;
  of_.state_.q = start_.q;
  of_.state_.u = start_.u;
  of_.forces_.watch_slips();
  const Status status = time > start_.time ? integrate(start_.time, time) : Status::kOk;
  return has_output(status) ? worse(status, of_.evaluate()) : status;
}

/// Part of a step to the first zero of an event function, by secants or by halves.
double FixedStepper::next_trial(
  double low, double high, double step, bool by_secants) const noexcept
{
  double next = high;
  for (std::size_t i = 0; i < low_.size() && by_secants; ++i)
  {
    const double fall = low_[i] - high_[i];
    next = low_[i] > 0.0 && high_[i] < 0.0 ? std::min(next, low + (high - low) * (low_[i] / fall))
                                           : next;
  }
  // A little past the zero, so that the bracket closes from above.
  next += 0.5 * tolerance::kSameEnd * step;
  return next < high ? next : 0.5 * (low + high);
}

/// From the end of a step in which modes have ended to the first of these ends: shorter steps from
/// the same start, by secants of the event functions and by bisection. Afterwards the state is
/// solved and the modes that have ended are marked. If there is no end because the motion is lost,
/// the state is that at the start of the step. @pre mark_ended at the end of the step, unless it is
/// lost.
Status FixedStepper::go_to_first_end(double end, bool is_lost) noexcept CD_NONBLOCKING
{
  const double start = start_.time;
  const double step = end - start;
  high_.swap(now_);
  Status status = step_from_start(start);
  if (!has_output(status) || mark_ended(low_))
  {
    return status;
  }
  double low = 0.0;
  double high = step;
  bool is_at_high = false;
  bool has_values = !is_lost;  // at the upper end
  for (int k = 0; k < bound::kEndTrials && high - low > tolerance::kSameEnd * step; ++k)
  {
    const double next = next_trial(low, high, step, has_values && k % 3 != 2);
    status = step_from_start(start + next);
    const bool is_solved = has_output(status) && !of_.forces_.has_turned_back();
    is_at_high = !is_solved || mark_ended(now_);
    if (is_at_high)
    {
      high = next;
      has_values = is_solved;
      high_.swap(now_);
    }
    else
    {
      low = next;
      low_.swap(now_);
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
  mark_ended(now_);
  return status;
}

}  // namespace constrained_dynamics
