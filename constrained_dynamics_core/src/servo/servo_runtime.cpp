// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/servo/servo_runtime.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "constrained_dynamics/servo/inverse_dynamics.hpp"
#include "servo/command_ramp.hpp"
#include "servo/measured_state.hpp"
#include "servo/servo_runtime_options.hpp"

namespace constrained_dynamics
{

namespace
{

/// The same law, which knows the limits of the commands: where they bind, tasks are relaxed in the
/// order of their priority.
std::shared_ptr<const ServoLaw> make_law(
  const ServoLaw & law, const InputLimits & limits, double period)
{
  ServoOptions options = law.options();
  const bool bounded = limits.lower.array().isFinite().any() ||
                       limits.upper.array().isFinite().any() ||
                       limits.rate.array().isFinite().any();
  options.limits = bounded ? limits : InputLimits{};
  options.period = period;
  return std::make_shared<const ServoLaw>(law.shared_passive(), law.tasks(), options);
}

}  // namespace

/// What a runtime holds, and its cycle.
class ServoRuntime::Cycle
{
public:
  Cycle(
    const ServoLaw & given, const TaskTrajectories & trajectories, const InputLimits & limits,
    std::vector<bool> measured_coordinates, std::vector<bool> measured_speeds,
    const ServoRuntimeOptions & runtime_options);

  void start(const State & state, const Eigen::VectorXd * effort);
  ServoCycleReport step(double period, const ConstVectorRef & q, const ConstVectorRef & u) noexcept;
  void age_null_space(double period) noexcept;

  ServoRuntimeOptions options;
  CommandRamp commands;
  std::shared_ptr<const ServoLaw> law;
  ServoWorkspace workspace;
  MeasuredState state;
  std::vector<TaskReference> references;
  ServoCycleCounts counts;
  double time = 0.0;
  double null_space_age = 0.0;
  bool null_space_expires = false;
  bool is_ready = false;  // `start` was called
  bool first_join = true;
  int missed = 0;  // cycles in a row

private:
  /// References begin from where the system is.
  Status join(double now) noexcept;
  /// What the tasks follow in this cycle.
  Status follow(double now, double period, bool & stale) noexcept;
  ServoCycleReport miss(ServoMiss cause, Status status) noexcept;
  void find_fallback() noexcept;
  void command(CommandSource source, const Eigen::VectorXd & inputs, double period) noexcept
  {
    commands.command(source, inputs, period);
    workspace.set_last_inputs(commands.value());
  }

  InverseDynamics inverse_dynamics_;
  Eigen::VectorXd fallback_;
  bool join_pending_ = true;
};

ServoRuntime::Cycle::Cycle(
  const ServoLaw & given, const TaskTrajectories & trajectories, const InputLimits & limits,
  std::vector<bool> measured_coordinates, std::vector<bool> measured_speeds,
  const ServoRuntimeOptions & runtime_options)
: options(checked(runtime_options)),
  commands(
    tighter(given.options().limits, limits, given.passive().system().input_count()), options.period,
    options.ramp_time),
  law(make_law(given, commands.limits(), options.period)),
  workspace(*law),
  state(
    given.shared_passive(), std::move(measured_coordinates), std::move(measured_speeds), options),
  inverse_dynamics_(given.shared_passive()),
  fallback_(commands.value())
{
  for (std::size_t i = 0; i < law->tasks().size(); ++i)
  {
    references.emplace_back(
      *law->tasks()[i].constraint,
      i < trajectories.references.size() ? trajectories.references[i] : nullptr,
      i < trajectories.smooth_start.size() ? trajectories.smooth_start[i] : 0.0,
      options.references);
  }
}

void ServoRuntime::Cycle::start(const State & given, const Eigen::VectorXd * effort)
{
  is_ready = false;
  const State complete = state.start(given, workspace.dynamics());
  law->reset(complete, workspace);
  time = complete.time;
  counts = ServoCycleCounts{};
  missed = 0;
  join_pending_ = true;
  first_join = true;
  workspace.external_null_vector().setZero();
  workspace.forget_inputs();
  commands.start(effort);
  if (effort)
  {
    workspace.set_last_inputs(commands.value());
  }
  is_ready = true;
}

Status ServoRuntime::Cycle::join(double now) noexcept
{
  Status status = law->passive().evaluate_rows(now, state.q(), state.u(), workspace.dynamics());
  for (std::size_t i = 0; i < references.size() && status == Status::kOk; ++i)
  {
    const int task = static_cast<int>(i);
    status = law->measure(task, workspace);
    if (status == Status::kOk)
    {
      const ServoReference & measured = workspace.reference(task);
      status =
        first_join ? references[i].restart(now, measured) : references[i].rejoin(now, measured);
    }
  }
  if (status == Status::kOk)
  {
    counts.restarts += first_join ? 0 : 1;
    first_join = false;
    join_pending_ = false;
  }
  return status;
}

Status ServoRuntime::Cycle::follow(double now, double period, bool & stale) noexcept
{
  Status status = join_pending_ ? join(now) : Status::kOk;
  for (std::size_t i = 0; i < references.size() && status == Status::kOk; ++i)
  {
    status = references[i].follow(now, period, workspace.reference(static_cast<int>(i)));
    stale = stale || references[i].is_stale();
  }
  return status;
}

ServoCycleReport ServoRuntime::Cycle::step(
  double period, const ConstVectorRef & q, const ConstVectorRef & u) noexcept
{
  if (!is_ready)
  {
    return {};
  }
  ++counts.cycles;
  if (period == 0.0)
  {
    // No time has passed, e.g. a simulation that is paused: nothing is missing.
    ++counts.missed;
    return {ServoMode::kHold, Status::kOk, ServoMiss::kPeriod, false};
  }
  if (!(period > 0.0 && period <= (options.dropout_cycles + 0.5) * options.period))
  {
    state.forget();
    return miss(ServoMiss::kPeriod, Status::kNonFiniteInput);
  }
  const double now = first_join ? time : time + period;
  Status status = Status::kOk;
  const ServoMiss cause = state.take(now, q, u, workspace.dynamics(), status);
  if (cause != ServoMiss::kNone)
  {
    return miss(cause, status);
  }
  bool stale = false;
  status = follow(now, period, stale);
  if (status != Status::kOk)
  {
    return miss(ServoMiss::kReference, status);
  }
  age_null_space(period);
  if (commands.is_ramping() || commands.source() != CommandSource::kLaw)
  {
    // A ramp goes to what the law really asks for; the rate is limited after it.
    workspace.forget_inputs();
  }
  status = law->evaluate(now, state.q(), state.u(), workspace);
  if (!has_output(status) || !workspace.result().inputs.allFinite())
  {
    return miss(ServoMiss::kLaw, status);
  }
  missed = 0;
  time = now;
  counts.singular += status == Status::kSingular ? 1 : 0;
  counts.limited += status == Status::kLimited ? 1 : 0;
  counts.inconsistent += status == Status::kInconsistent ? 1 : 0;
  command(CommandSource::kLaw, workspace.result().inputs, period);
  return {
    commands.is_ramping() ? ServoMode::kRamp
    : stale               ? ServoMode::kHold
                          : ServoMode::kFollow,
    status, ServoMiss::kNone, false};
}

ServoCycleReport ServoRuntime::Cycle::miss(ServoMiss cause, Status status) noexcept
{
  ++counts.missed;
  commands.keep();
  if (cause == ServoMiss::kFrozen)
  {
    // The values have been the same for that many cycles already.
    missed = std::max(missed, options.dropout_cycles - 1);
  }
  missed = std::min(missed + 1, std::numeric_limits<int>::max() - 1);
  if (missed < options.dropout_cycles)
  {
    return {ServoMode::kHold, status, cause, false};
  }
  ++counts.fallback;
  join_pending_ = true;  // later references start from the state of the system at that time
  find_fallback();
  command(CommandSource::kFallback, fallback_, options.period);
  return {ServoMode::kFallback, status, cause, options.fallback == ServoFallback::kError};
}

void ServoRuntime::Cycle::find_fallback() noexcept
{
  switch (options.fallback)
  {
    case ServoFallback::kHold:
      fallback_ = commands.value();
      return;
    case ServoFallback::kZero:
      fallback_.setZero();
      return;
    case ServoFallback::kGravity:
    case ServoFallback::kDamp:
    case ServoFallback::kError:
      break;
  }
  const Status status =
    inverse_dynamics_.find_at_rest(time, state.known_q(), workspace.dynamics(), fallback_);
  if (!has_output(status))
  {
    fallback_ = commands.value();
  }
  else if (options.fallback == ServoFallback::kDamp)
  {
    fallback_.noalias() -=
      options.fallback_damping *
      (inverse_dynamics_.workspace().terms().input_matrix.transpose() * state.known_u());
  }
}

void ServoRuntime::Cycle::age_null_space(double period) noexcept
{
  null_space_age += period;
  const double timeout = options.references.timeout;
  if (null_space_expires && timeout > 0.0 && null_space_age > timeout)
  {
    workspace.external_null_vector() *= std::exp(-period / options.references.stop_time);
  }
}

// ---- ServoRuntime ------------------------------------------------------------------------------

ServoRuntime::ServoRuntime(
  const ServoLaw & law, const TaskTrajectories & trajectories, const InputLimits & limits,
  std::vector<bool> measured_coordinates, std::vector<bool> measured_speeds,
  const ServoRuntimeOptions & options)
: cycle_(std::make_unique<Cycle>(
    law, trajectories, limits, std::move(measured_coordinates), std::move(measured_speeds),
    options))
{
}

ServoRuntime::~ServoRuntime() = default;
ServoRuntime::ServoRuntime(ServoRuntime &&) noexcept = default;
ServoRuntime & ServoRuntime::operator=(ServoRuntime &&) noexcept = default;

void ServoRuntime::start(const State & state, const Eigen::VectorXd * effort)
{
  cycle_->start(state, effort);
}

ServoCycleReport ServoRuntime::step(
  double period, const ConstVectorRef & q, const ConstVectorRef & u) noexcept CD_NONBLOCKING
{
  return cycle_->step(period, q, u);
}

bool ServoRuntime::give_reference(int task, const ServoReference & reference, bool expires) noexcept
  CD_NONBLOCKING
{
  return is_started() && cycle_->references[static_cast<std::size_t>(task)].give(
                           time(), reference, servo().reference(task), expires);
}

void ServoRuntime::release_reference(int task) noexcept CD_NONBLOCKING
{
  cycle_->references[static_cast<std::size_t>(task)].release();
}

void ServoRuntime::give_null_space(int input, double value, bool expires) noexcept CD_NONBLOCKING
{
  if (std::isfinite(value))
  {
    servo().external_null_vector()(input) = value;
    cycle_->null_space_expires = expires;
    cycle_->null_space_age = 0.0;
  }
}

void ServoRuntime::enable_forces_of(int constraint, bool active) noexcept CD_NONBLOCKING
{
  const ConstraintSet & constraints = law().passive().constraints();
  for (std::size_t i = 0; i < law().tasks().size(); ++i)
  {
    const std::vector<int> & rows = law().tasks()[i].constraint->force_rows();
    if (!rows.empty() && constraints.constraint_of_row(rows.front()) == constraint)
    {
      servo().set_enabled(static_cast<int>(i), active);
    }
  }
}

const Eigen::VectorXd & ServoRuntime::command() const { return cycle_->commands.value(); }
const ServoLaw & ServoRuntime::law() const { return *cycle_->law; }
const std::shared_ptr<const ServoLaw> & ServoRuntime::shared_law() const { return cycle_->law; }
const ServoWorkspace & ServoRuntime::servo() const { return cycle_->workspace; }
ServoWorkspace & ServoRuntime::servo() { return cycle_->workspace; }
const TaskReference & ServoRuntime::reference(int task) const
{
  return cycle_->references[static_cast<std::size_t>(task)];
}
const ServoCycleCounts & ServoRuntime::counts() const { return cycle_->counts; }
const InputLimits & ServoRuntime::limits() const { return cycle_->commands.limits(); }
bool ServoRuntime::is_started() const { return !cycle_->first_join; }
double ServoRuntime::time() const { return cycle_->time; }
const Eigen::VectorXd & ServoRuntime::q() const { return cycle_->state.q(); }
const Eigen::VectorXd & ServoRuntime::u() const { return cycle_->state.u(); }
bool ServoRuntime::is_solved() const { return cycle_->missed == 0 && cycle_->counts.cycles > 0; }

}  // namespace constrained_dynamics
