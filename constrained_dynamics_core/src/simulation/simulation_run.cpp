// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Runs of a simulation: the event loop, outputs, the end.
#include <algorithm>
#include <cmath>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "dynamics/row_trouble.hpp"
#include "simulation/adaptive_stepper.hpp"
#include "simulation/fixed_stepper.hpp"
#include "simulation/simulation_core.hpp"

namespace constrained_dynamics
{

namespace
{

void check_run(double time, double until, double output_interval)
{
  std::ostringstream message;
  if (!(output_interval > 0.0 && std::isfinite(output_interval)))
  {
    message << "output interval is " << output_interval << "; allowed: finite and above 0";
  }
  else if (!(until >= time && std::isfinite(until)))
  {
    message << "end of the run is " << until << " s; allowed: finite and not before " << time
            << " s";
  }
  if (!message.str().empty())
  {
    throw std::invalid_argument(message.str());
  }
}

}  // namespace

RunResult SimulationCore::run(
  double until, double output_interval, const Simulation::Observer & observer)
{
  check_run(state_.time, until, output_interval);
  counts_ = RunResult{};
  naming_.fill(Naming::kNothing);
  // Books belong to runs and not to single steps, however a run ends.
  LimitWatch limits(system());
  struct Running
  {
    ~Running()
    {
      of.book_ = nullptr;
      of.limits_ = nullptr;
    }
    SimulationCore & of;
  };
  const Running running{*this};
  book_ = run_book_.get();
  book_->open();
  limits_ = options_.watch_limits ? &limits : nullptr;
  reserve_events();
  Status status = apply_due_changes();
  bool goes_on = true;
  status = has_output(status) ? worse(status, evaluate()) : status;
  if (has_output(status))
  {
    book_->start(state_.time, x_, controlled_.inputs(), workspace());
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
  const OutputTimes output(state_.time, until, output_interval);
  if (is_adaptive())
  {
    AdaptiveStepper adaptive(*this, until);
    return loop(adaptive, until, output, observer);
  }
  fixed_->begin(state_.time, until - state_.time);
  return loop(*fixed_, until, output, observer);
}

/// The event loop, for all steppers.
template <typename Stepper>
RunResult SimulationCore::loop(
  Stepper & stepper, double until, OutputTimes output, const Simulation::Observer & observer)
{
  while (!stepper.reaches(state_.time, until))
  {
    if (is_interrupted(observer))
    {
      return finish(Status::kInterrupted, false);
    }
    reserve_events();
    const Advance made = stepper.make(stepper.limit(until, next_change_time()));
    bool goes_on = true;
    Status status = made.status;
    if (has_output(status))
    {
      status = show_between(stepper, made.time, output, observer, goes_on);
    }
    status = has_output(status) && goes_on ? pass(stepper, made) : status;
    if (!has_output(status))
    {
      return finish(status, false);
    }
    if (!goes_on)
    {
      break;
    }
    name_rows();
    if (!made.may_change || !stepper.reaches(state_.time, output.next()))
    {
      continue;
    }
    // Output belongs to the first step that reaches its time.
    while (output.next() < until && stepper.reaches(state_.time, output.next()))
    {
      output.advance();
    }
    status = show(observer, goes_on);
    if (!has_output(status))
    {
      return finish(status, false);
    }
    if (!goes_on)
    {
      break;
    }
  }
  return finish(Status::kOk, true);
}

/// Outputs within the step that was made.
template <typename Stepper>
Status SimulationCore::show_between(
  Stepper & stepper, double end, OutputTimes & output, const Simulation::Observer & observer,
  bool & goes_on)
{
  Status status = Status::kOk;
  for (double time = stepper.next_output(output, end); time < end && has_output(status);
       time = stepper.next_output(output, end))
  {
    status = stepper.go_to(time);
    status = has_output(status) ? show(observer, goes_on) : status;
    if (has_output(status) && !goes_on)
    {
      return stepper.book_until(time);
    }
    output.advance();
  }
  return status;
}

// ---- outputs and the end
// ------------------------------------------------------------------------------

bool SimulationCore::has_finite_output() const
{
  const Solution & solution = workspace().solution();
  return state_.q.allFinite() && state_.u.allFinite() && controlled_.inputs().allFinite() &&
         solution.acceleration.allFinite() && solution.multipliers.allFinite() &&
         solution.constraint_force.allFinite() && workspace().rows().position.allFinite() &&
         workspace().rows().velocity.allFinite() && std::isfinite(face_.kinetic_energy()) &&
         std::isfinite(face_.potential_energy()) &&
         std::all_of(
           solution.wrenches.begin(), solution.wrenches.end(),
           [](const WrenchPair & pair)
           { return pair.on_a.force.allFinite() && pair.on_a.torque.allFinite(); });
}

Status SimulationCore::show(const Simulation::Observer & observer, bool & goes_on)
{
  return show_solved(evaluate(), observer, goes_on);
}

Status SimulationCore::show_solved(
  Status solved, const Simulation::Observer & observer, bool & goes_on)
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
  goes_on = observer(face_);
  return solved;
}

void SimulationCore::watch_limits() noexcept
{
  if (limits_ != nullptr)
  {
    limits_->look(state_.time, state_.q, state_.u);
  }
}

bool SimulationCore::is_interrupted(const Simulation::Observer & observer)
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
void SimulationCore::name_rows()
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
      controlled_.update_rows(out.time, x.head(state_.q.size()), x.tail(state_.u.size())) ==
      Status::kOk)
    {
      out.rows = find();
    }
  };
  name(
    kSingularTrouble, counts_.singular_rows,
    [this] { return rows_of_lost_directions(dynamics(), workspace(), trouble_rank_); });
  name(
    kInconsistentTrouble, counts_.inconsistent_rows,
    [this] { return contradicting_rows(dynamics(), workspace()); });
  name(
    kUnmetTrouble, counts_.unmet_rows,
    [this]
    {
      bool contradict = false;
      std::vector<int> rows = unmet_rows(dynamics(), workspace(), contradict);
      rows_contradict_ = contradict;
      return rows;
    });
}

RunResult SimulationCore::finish(Status status, bool completed)
{
  // Of a run that was not stopped by a failure the state has just been solved.
  if (completed || status == Status::kInterrupted)
  {
    load(x_);
    book_->measure(controlled_.inputs(), workspace());
    book_->reach(state_.time, x_, slope_, workspace());
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

}  // namespace constrained_dynamics
