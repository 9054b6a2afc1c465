// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "simulation/adaptive_stepper.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "contact/tolerances.hpp"

namespace constrained_dynamics
{

AdaptiveStepper::AdaptiveStepper(SimulationCore & of, double until)
: of_(of),
  motion_(of),
  stepper_(
    motion_, of.options_.absolute_tolerance, of.options_.relative_tolerance,
    of.options_.largest_step, static_cast<std::size_t>(of.x_.size()), of.options_.integrator),
  search_(of, stepper_),
  is_smooth_(of.model_.is_empty() && of.schedule_.empty()),
  x_(static_cast<std::size_t>(of.x_.size())),
  begin_(x_),
  slope_(x_),
  least_advance_(tolerance::kLeastPart * (until - of.state_.time)),
  stepped_from_(of.state_.time),
  advanced_from_(of.state_.time)
{
}

template <typename Function>
Status AdaptiveStepper::guarded(const Function & function)
{
  try
  {
    return function();
  }
  catch (const EvaluationFailed & failure)
  {
    return failure.status;
  }
  catch (const boost::numeric::odeint::odeint_error &)
  {
    of_.counts_.has_stalled = true;
    return Status::kNotConverged;
  }
}

double AdaptiveStepper::limit(double until, double next_change) const
{
  return std::min(until, next_change);
}

/// Settles a state and makes it that of the simulation.
void AdaptiveStepper::accept(double time)
{
  require_output(of_.settle(time, view_of(x_)));
  of_.store(time, view_of(x_));
  of_.watch_limits();
}

void AdaptiveStepper::begin_phase()
{
  of_.load(view_of(x_));
  const double time = of_.state_.time;
  stepper_.initialize(x_, time, std::min(of_.options_.step, of_.options_.largest_step));
  if (!of_.model_.is_empty())
  {
    motion_.measure_turning(x_, time);
    search_.begin(time, x_);
  }
  starts_anew_ = false;
}

Advance AdaptiveStepper::make(double limit)
{
  Advance made;
  made.status = guarded(
    [&]
    {
      if (starts_anew_)
      {
        begin_phase();
      }
      start_ = stepper_.current_time();
      const std::pair<double, double> span = stepper_.do_step(search_.turning_rate());
      ++of_.counts_.steps;
      step_end_ = span.second;
      if (!(step_end_ - span.first > tolerance::kSmallestStep * std::max(1.0, std::abs(step_end_))))
      {
        of_.counts_.has_stalled = true;
        return Status::kNotConverged;
      }
      begin_ = stepper_.begin_state();
      const double end = std::min(step_end_, limit);
      const double event =
        of_.model_.is_empty() ? std::numeric_limits<double>::infinity() : search_.find(end);
      made.time = std::min(event, end);
      made.has_ended = event <= end;
      made.may_change = made.has_ended || end < step_end_ || end >= limit;
      return Status::kOk;
    });
  return made;
}

Status AdaptiveStepper::go_to(double time)
{
  return guarded(
    [&]
    {
      stepper_.calc_state(time, x_);
      accept(time);
      return Status::kOk;
    });
}

Status AdaptiveStepper::book_until(double time)
{
  return guarded(
    [&]
    {
      book(time);
      return Status::kOk;
    });
}

/// Books the part of the step until a time.
void AdaptiveStepper::book(double time)
{
  if (!stepper_.is_stiff())
  {
    of_.book_->add_dopri_step(start_, step_end_, time, view_of(begin_), of_.workspace());
    return;
  }
  book_samples(time);
}

/// The same by samples of the dense output, without stages that lie beyond that time.
void AdaptiveStepper::book_samples(double time)
{
  const Eigen::VectorXd error =
    stepper_.is_stiff() ? stepper_.stiff_error() : of_.book_->dopri_error(step_end_ - start_);
  motion_.begin_step();
  for (const double part : RunBook::sample_places())
  {
    const double at = part < 1.0 ? start_ + part * (time - start_) : time;
    stepper_.calc_state(at, x_);
    motion_.derive(x_, slope_, at);
  }
  of_.book_->add_sampled_step(start_, time, view_of(begin_), error, of_.workspace());
}

/// Whether a slip in a plane has come to its end. The last stages of a separate step would fall on
/// the rest of that slip, whose direction is determined by errors; the step itself goes beyond.
bool AdaptiveStepper::ends_slip_in_plane() const noexcept
{
  const int contacts = of_.model_.contact_count();
  bool any = false;
  for (int i = 0; i < of_.model_.friction_count(); ++i)
  {
    any =
      any || (of_.ended_[static_cast<std::size_t>(contacts + i)] && of_.model_.row_count(i) == 2 &&
              of_.modes_.friction[static_cast<std::size_t>(i)].slip == SlipMode::kSlide);
  }
  return any;
}

Status AdaptiveStepper::arrive(const Advance & made)
{
  if (!has_output(made.status))
  {
    return made.status;
  }
  return guarded(
    [&]
    {
      if (!made.may_change)
      {
        book(step_end_);
        x_ = stepper_.current_state();
        accept(step_end_);
        if (x_ != stepper_.current_state())
        {
          stepper_.go_on(x_, step_end_, stepper_.current_time_step());
        }
        return check_progress(step_end_, false);
      }
      if (!(made.time > start_))
      {
        of_.load(view_of(x_));
      }
      else if (is_smooth_)
      {
        book(made.time);
        stepper_.calc_state(made.time, x_);
      }
      else if (made.has_ended && ends_slip_in_plane())
      {
        book_samples(made.time);
        stepper_.calc_state(made.time, x_);
      }
      else if (stepper_.is_stiff())
      {
        book(made.time);
        stepper_.step_to(made.time, x_);
      }
      else
      {
        stepper_.step_to(made.time, x_);
        of_.book_->add_dopri_step(start_, made.time, made.time, view_of(begin_), of_.workspace());
      }
      accept(made.time);
      return check_progress(made.time, true);
    });
}

/// kNotConverged where events follow each other without time passing, or steps with hardly any.
Status AdaptiveStepper::check_progress(double time, bool is_event)
{
  const double least = tolerance::kNoProgress * std::max(1.0, std::abs(start_));
  at_once_ = is_event && !(time > start_ + least) ? at_once_ + 1 : 0;
  bool goes_on = at_once_ <= bound::kEventsAtOnce;
  if (++steps_ == bound::kManySteps)
  {
    const double least_steps = bound::kManySteps * tolerance::kLeastStep * of_.options_.step;
    goes_on = goes_on && time - stepped_from_ >= std::min(least_advance_, least_steps);
    steps_ = 0;
    stepped_from_ = time;
  }
  events_ += is_event ? 1 : 0;
  if (events_ == bound::kManyEvents)
  {
    goes_on = goes_on && time - advanced_from_ >= least_advance_;
    events_ = 0;
    advanced_from_ = time;
  }
  of_.counts_.has_stalled = !goes_on;
  return goes_on ? Status::kOk : Status::kNotConverged;
}

Status AdaptiveStepper::depart(const Advance & made)
{
  if (!made.may_change)
  {
    return Status::kOk;
  }
  starts_anew_ = true;
  if (is_smooth_)
  {
    return Status::kOk;  // the end of the run
  }
  return guarded(
    [&]
    {
      of_.load(view_of(x_));
      accept(of_.state_.time);
      return Status::kOk;
    });
}

}  // namespace constrained_dynamics
