// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors
// Runs of Simulation, but for those with located events.
#include <algorithm>
#include <cmath>
#include <sstream>
#include <stdexcept>
#include <utility>

#include <boost/numeric/odeint/stepper/controlled_runge_kutta.hpp>
#include <boost/numeric/odeint/stepper/dense_output_runge_kutta.hpp>
#include <boost/numeric/odeint/stepper/generation.hpp>
#include <boost/numeric/odeint/stepper/runge_kutta_dopri5.hpp>
#include <boost/numeric/odeint/util/unwrap_reference.hpp>

#include "constrained_dynamics/simulation/simulation.hpp"
#include "contact/contact_runtime.hpp"
#include "dynamics/row_trouble.hpp"
#include "simulation/output_times.hpp"
#include "simulation/run_book.hpp"

namespace constrained_dynamics
{

namespace
{

/// Leaves Boost.odeint where an evaluation fails.
struct EvaluationFailed
{
  Status status;
};

}  // namespace

RunResult Simulation::run(double until, double output_interval, const Observer & observer)
{
  if (!(output_interval > 0.0 && std::isfinite(output_interval)))
  {
    std::ostringstream message;
    message << "output interval is " << output_interval << "; allowed: finite and above 0";
    throw std::invalid_argument(message.str());
  }
  if (!(until >= state_.time && std::isfinite(until)))
  {
    std::ostringstream message;
    message << "end of the run is " << until << " s; allowed: finite and not before " << state_.time
            << " s";
    throw std::invalid_argument(message.str());
  }
  counts_ = RunResult{};
  naming_.fill(Naming::kNothing);
  // Books, and memory for events, are of runs and not of steps outside of them, however a run ends.
  LimitWatch limits(dynamics_->system());
  struct Running
  {
    explicit Running(Simulation & simulation) : of(simulation) { of.may_grow_ = true; }
    ~Running()
    {
      of.may_grow_ = false;
      of.book_ = nullptr;
      of.limits_ = nullptr;
    }
    Simulation & of;
  };
  const Running running(*this);
  book_ = run_book_.get();
  book_->open();
  limits_ = options_.watch_limits ? &limits : nullptr;
  Status status = apply_due_changes();
  bool goes_on = true;
  status = has_output(status) ? worse(status, evaluate()) : status;
  if (has_output(status))
  {
    book_->start(state_.time, stage_, input_values_, workspace_);
    watch_limits();
    status = show_solved(status, observer, goes_on);
  }
  if (!has_output(status))
  {
    return finish(status, false);
  }
  if (!goes_on || state_.time >= until)
  {
    return finish(Status::kOk, true);
  }
  if (options_.integrator != Integrator::kDopri5)
  {
    return run_fixed(until, output_interval, observer);
  }
  return contacts_->is_empty() && schedule_.empty() ? run_adaptive(until, output_interval, observer)
                                                    : run_events(until, output_interval, observer);
}

// ---- outputs and the end
// ------------------------------------------------------------------------------

bool Simulation::has_finite_output() const
{
  const Solution & solution = workspace_.solution();
  return state_.q.allFinite() && state_.u.allFinite() && input_values_.allFinite() &&
         solution.acceleration.allFinite() && solution.multipliers.allFinite() &&
         solution.constraint_force.allFinite() && workspace_.rows().position.allFinite() &&
         workspace_.rows().velocity.allFinite() && std::isfinite(kinetic_energy()) &&
         std::isfinite(potential_energy()) &&
         std::all_of(
           solution.wrenches.begin(), solution.wrenches.end(),
           [](const WrenchPair & pair)
           { return pair.on_a.force.allFinite() && pair.on_a.torque.allFinite(); });
}

Status Simulation::show(const Observer & observer, bool & goes_on)
{
  return show_solved(evaluate(), observer, goes_on);
}

Status Simulation::show_solved(Status solved, const Observer & observer, bool & goes_on)
{
  if (!has_output(solved))
  {
    return solved;
  }
  if (!has_finite_output())
  {
    return Status::kNonFiniteResult;
  }
  shown_time_ = state_.time;
  goes_on = observer(*this);
  return solved;
}

void Simulation::watch_limits() noexcept
{
  if (limits_ != nullptr)
  {
    limits_->look(state_.time, state_.q, state_.u);
  }
}

bool Simulation::is_interrupted(const Observer & observer)
{
  if (!stop_requested_.exchange(false))
  {
    return false;
  }
  bool goes_on = true;
  if (state_.time > shown_time_)
  {
    static_cast<void>(show(observer, goes_on));
  }
  return true;
}

/// Names the rows that statuses were about; each once in a run.
void Simulation::name_rows()
{
  const auto name = [this](Trouble kind, RowTrouble & out, const auto & find)
  {
    if (naming_[kind] != Naming::kDue)
    {
      return;
    }
    naming_[kind] = Naming::kDone;
    const Eigen::VectorXd & x = trouble_state_[kind];
    out.time = trouble_time_[kind];
    if (
      dynamics_->evaluate_rows(
        out.time, x.head(state_.q.size()), x.tail(state_.u.size()), workspace_) == Status::kOk)
    {
      out.rows = find();
    }
  };
  name(
    kSingularTrouble, counts_.singular_rows,
    [this] { return rows_of_lost_directions(*dynamics_, workspace_, trouble_rank_); });
  name(
    kInconsistentTrouble, counts_.inconsistent_rows,
    [this] { return contradicting_rows(*dynamics_, workspace_); });
  name(
    kUnmetTrouble, counts_.unmet_rows,
    [this]
    {
      bool contradict = false;
      std::vector<int> rows = unmet_rows(*dynamics_, workspace_, contradict);
      rows_contradict_ = contradict;
      return rows;
    });
}

RunResult Simulation::finish(Status status, bool completed)
{
  // Of a run that was not stopped by a failure the state has just been solved.
  if (completed || status == Status::kInterrupted)
  {
    stage_.head(state_.q.size()) = state_.q;
    stage_.tail(state_.u.size()) = state_.u;
    book_->measure(input_values_, workspace_);
    book_->reach(state_.time, stage_, slopes_[0], workspace_);
    book_->finish(state_.time);
  }
  const bool is_not_met =
    status == Status::kNotConverged && naming_[kUnmetTrouble] != Naming::kNothing;
  name_rows();
  counts_.status = is_not_met && rows_contradict_ ? Status::kInconsistent : status;
  counts_.completed = completed;
  counts_.time = state_.time;
  counts_.energy = book_->balance();
  counts_.step_error = book_->step_error();
  const bool balances =
    !counts_.energy.available || counts_.energy.relative_error() <= options_.error_tolerance;
  counts_.is_accurate = balances && counts_.step_error <= options_.error_tolerance;
  if (completed && status == Status::kOk && !counts_.is_accurate)
  {
    counts_.status = Status::kInaccurate;
  }
  if (limits_ != nullptr)
  {
    counts_.exceeded_limits = limits_->exceeded();
  }
  return counts_;
}

// ---- fixed steps
// ------------------------------------------------------------------------------

RunResult Simulation::run_fixed(double until, double output_interval, const Observer & observer)
{
  start_time_ = state_.time;
  step_index_ = 0;
  OutputTimes output(state_.time, until, output_interval);
  // A step may be longer than the run.
  const double slack = 1e-9 * std::min(options_.step, until - state_.time);
  while (state_.time < until - slack)
  {
    if (is_interrupted(observer))
    {
      return finish(Status::kInterrupted, false);
    }
    // The grid of steps, with a shorter step where the end lies between.
    double next_time = start_time_ + static_cast<double>(step_index_ + 1) * options_.step;
    if (next_time > until - slack)
    {
      next_time = until;
    }
    if (!(next_time > state_.time))
    {
      return finish(Status::kNotConverged, false);  // the step is a rounding of the time
    }
    Status status = fixed_step(state_.time, next_time);
    if (has_output(status))
    {
      ++step_index_;
      const std::size_t events = events_.size();
      status = apply_due_changes();
      watch_limits();
      book_->add_events(events_, std::min(events, events_.size()));
    }
    if (!has_output(status))
    {
      return finish(status, false);
    }
    name_rows();
    // Output belongs to the first step that reaches its time.
    if (state_.time >= output.next() - slack)
    {
      while (output.next() < until && state_.time >= output.next() - slack)
      {
        output.advance();
      }
      bool goes_on = true;
      status = show(observer, goes_on);
      if (!has_output(status))
      {
        return finish(status, false);
      }
      if (!goes_on)
      {
        return finish(Status::kOk, true);
      }
    }
  }
  return finish(Status::kOk, true);
}

// ---- adaptive steps
// ------------------------------------------------------------------------------

RunResult Simulation::run_adaptive(double until, double output_interval, const Observer & observer)
{
  // Relative to the time: below it a step is a few roundings of the clock.
  constexpr double kSmallestStep = 1e-14;
  using StateVector = std::vector<double>;
  namespace odeint = boost::numeric::odeint;
  const auto view = [](StateVector & x)
  { return Eigen::Map<Eigen::VectorXd>(x.data(), static_cast<Eigen::Index>(x.size())); };
  StateVector x(static_cast<std::size_t>(x_.size()));
  StateVector begin(x.size());
  view(x).head(state_.q.size()) = state_.q;
  view(x).tail(state_.u.size()) = state_.u;

  const auto system = [&](const StateVector & at, StateVector & slope, double time)
  {
    slope.resize(at.size());
    const Eigen::Map<const Eigen::VectorXd> in(at.data(), static_cast<Eigen::Index>(at.size()));
    const Status status = stage_derivative(time, in, view(slope));
    if (!has_output(status))
    {
      throw EvaluationFailed{status};
    }
    book_->record_stage(view(slope));
  };
  auto stepper = odeint::make_dense_output(
    options_.absolute_tolerance, options_.relative_tolerance, options_.largest_step,
    odeint::runge_kutta_dopri5<StateVector>());
  OutputTimes output(state_.time, until, output_interval);
  stepper.initialize(x, state_.time, std::min(options_.step, options_.largest_step));
  book_->expect_first();
  try
  {
    while (true)
    {
      if (is_interrupted(observer))
      {
        return finish(Status::kInterrupted, false);
      }
      begin = stepper.current_state();
      const std::pair<double, double> span = stepper.do_step(system);
      ++counts_.steps;
      if (!(span.second - span.first > kSmallestStep * std::max(1.0, std::abs(span.second))))
      {
        return finish(Status::kNotConverged, false);
      }
      const auto book_until = [&](double time)
      { book_->add_dopri_step(span.first, span.second, time, view(begin), workspace_); };
      while (span.second >= output.next())
      {
        const double time = output.next();
        stepper.calc_state(time, x);
        Status status = settle(time, view(x));
        if (!has_output(status))
        {
          return finish(status, false);
        }
        store(time, view(x));
        bool goes_on = true;
        status = show(observer, goes_on);
        if (!has_output(status))
        {
          return finish(status, false);
        }
        if (!goes_on || time >= until)
        {
          watch_limits();
          book_until(time);
          return finish(Status::kOk, true);
        }
        output.advance();
      }
      book_until(span.second);
      x = stepper.current_state();
      const Status status = settle(span.second, view(x));
      if (!has_output(status))
      {
        return finish(status, false);
      }
      store(span.second, view(x));
      watch_limits();
      name_rows();
      if (x != stepper.current_state())
      {
        stepper.initialize(x, span.second, stepper.current_time_step());
        book_->expect_first();
      }
    }
  }
  catch (const EvaluationFailed & failure)
  {
    return finish(failure.status, false);
  }
  catch (const odeint::odeint_error &)
  {
    return finish(Status::kNotConverged, false);
  }
}

}  // namespace constrained_dynamics
