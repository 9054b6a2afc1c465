// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "servo/servo_runtime_cycle.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>

#include "constrained_dynamics/servo/sampled_gains.hpp"
#include "servo/servo_memory.hpp"
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
  requested(commands.value()),
  granted(commands.value()),
  inverse_dynamics_(given.shared_passive()),
  latch_(options.recovery_time, options.most_recoveries),
  fallback_(commands.value())
{
  const double sample_period = std::max(options.period, options.sample_period);
  for (std::size_t i = 0; i < law->tasks().size(); ++i)
  {
    const ServoTask & task = law->tasks()[i];
    const std::string diverging =
      check_sampled_gains(*task.constraint, task.error_dynamics, sample_period);
    if (!diverging.empty())
    {
      throw std::invalid_argument(diverging);
    }
    bounds.emplace_back(*task.constraint);
    references.emplace_back(
      *task.constraint, i < trajectories.references.size() ? trajectories.references[i] : nullptr,
      i < trajectories.smooth_start.size() ? trajectories.smooth_start[i] : 0.0,
      options.references);
  }
}

void ServoRuntime::Cycle::begin(const State & given, const Eigen::VectorXd * effort)
{
  is_ready = false;
  has_begun = false;
  begun_ = state.start(given, workspace.dynamics());
  const Status status =
    law->passive().evaluate_rows(begun_.time, begun_.q, begun_.u, workspace.dynamics());
  if (status != Status::kOk)
  {
    throw std::invalid_argument(
      std::string("the constraints cannot be evaluated at the given state: status ") +
      to_string(status));
  }
  if (options.refuse_violation)
  {
    refuse_violation();
  }
  has_effort_ = effort != nullptr;
  commands.start(effort);
  time = begun_.time;
  has_begun = true;
}

void ServoRuntime::Cycle::refuse_violation() const
{
  const ConstraintSet & constraints = law->passive().constraints();
  const ConstraintViolation violation = worst_violation(
    constraints, workspace.dynamics(), options.position_tolerance, options.velocity_tolerance);
  if (violation.is_beyond())
  {
    std::ostringstream message;
    message << "the measured state violates constraint " << describe(violation, constraints)
            << "; allowed: at most " << options.position_tolerance << " (position_tolerance) and "
            << options.velocity_tolerance << " (velocity_tolerance)";
    throw std::invalid_argument(message.str());
  }
}

void ServoRuntime::Cycle::prepare()
{
  if (!has_begun)
  {
    throw std::invalid_argument("a servo runtime is prepared before it has begun at a state");
  }
  law->reset(begun_, workspace);
  counts = ServoCycleCounts{};
  refusal = RefusedReference{};
  missed = 0;
  was_cut_ = false;
  latch_.start();
  join_pending_ = true;
  first_join = true;
  workspace.external_null_vector().setZero();
  workspace.forget_inputs();
  if (has_effort_)
  {
    workspace.set_last_inputs(commands.value());
  }
  requested = commands.value();
  granted = requested;
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

Status ServoRuntime::Cycle::follow(double now, double period, bool & holds) noexcept
{
  Status status = join_pending_ ? join(now) : Status::kOk;
  holds = true;
  for (std::size_t i = 0; i < references.size() && status == Status::kOk; ++i)
  {
    const int task = static_cast<int>(i);
    status = references[i].follow(now, period, workspace.reference(task));
    holds = holds && (!workspace.is_enabled(task) || references[i].is_holding());
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
    ServoCycleReport report;
    report.mode = ServoMode::kHold;
    report.miss = ServoMiss::kPeriod;
    return report;
  }
  if (!(period > 0.0 && period <= (options.dropout_cycles + 0.5) * options.period))
  {
    state.forget();
    return miss(ServoMiss::kPeriod, Status::kNonFiniteInput);
  }
  const double now = first_join ? time : time + period;
  Status status = Status::kOk;
  const ServoMiss cause = state.take(now, period, q, u, workspace.dynamics(), status);
  if (cause != ServoMiss::kNone)
  {
    return miss(cause, status);
  }
  if (!latch_.admits(period))
  {
    ++counts.missed;
    return fall_back(latch_.is_final() ? ServoMiss::kLatched : ServoMiss::kRecovery, Status::kOk);
  }
  bool holds = false;
  status = follow(now, period, holds);
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
  time = now;
  return answer(status, period, holds);
}

ServoCycleReport ServoRuntime::Cycle::answer(Status status, double period, bool holds) noexcept
{
  latch_.rise();
  missed = 0;
  const Eigen::VectorXd & inputs = workspace.result().inputs;
  command(CommandSource::kLaw, inputs, period);
  ServoCycleReport report;
  // Relative to the torques: less than what a drive resolves.
  constexpr double kSame = 1e-9;
  report.clipped =
    !commands.is_ramping() &&
    ((commands.value() - inputs).array().abs() > kSame * (1.0 + inputs.array().abs())).any();
  report.cut = was_cut_;
  report.status =
    status == Status::kOk && (report.clipped || report.cut) ? Status::kLimited : status;
  report.violation = worst_violation(
    law->passive().constraints(), workspace.dynamics(), options.position_tolerance,
    options.velocity_tolerance);
  report.mode = commands.is_ramping()          ? ServoMode::kRamp
                : report.violation.is_beyond() ? ServoMode::kViolated
                : holds                        ? ServoMode::kHold
                                               : ServoMode::kFollow;
  counts.singular += status == Status::kSingular ? 1 : 0;
  counts.limited += report.status == Status::kLimited ? 1 : 0;
  counts.inconsistent += status == Status::kInconsistent ? 1 : 0;
  counts.violated += report.violation.is_beyond() ? 1 : 0;
  return report;
}

ServoCycleReport ServoRuntime::Cycle::miss(ServoMiss cause, Status status) noexcept
{
  ++counts.missed;
  commands.keep();
  if (cause == ServoMiss::kFrozen)
  {
    // The values have been the same for that many samples already.
    missed = std::max(missed, options.dropout_cycles - 1);
  }
  missed = std::min(missed + 1, std::numeric_limits<int>::max() - 1);
  if (missed < options.dropout_cycles && !latch_.is_fallen())
  {
    ServoCycleReport report;
    report.mode = ServoMode::kHold;
    report.status = status;
    report.miss = cause;
    report.cut = was_cut_;
    return report;
  }
  latch_.fall();
  return fall_back(cause, status);
}

ServoCycleReport ServoRuntime::Cycle::fall_back(ServoMiss cause, Status status) noexcept
{
  ++counts.fallback;
  join_pending_ = true;  // later references start from the state of the system at that time
  find_fallback();
  command(CommandSource::kFallback, fallback_, options.period);
  ServoCycleReport report;
  report.mode = ServoMode::kFallback;
  report.status = status;
  report.miss = cause;
  report.failed = options.fallback == ServoFallback::kError;
  report.cut = was_cut_;
  return report;
}

void ServoRuntime::Cycle::set_granted(const ConstVectorRef & values) noexcept
{
  // Relative to the torques: interfaces may hold single precision.
  constexpr double kSame = 1e-6;
  requested = commands.value();
  was_cut_ = false;
  if (!is_ready || values.size() != requested.size())
  {
    return;
  }
  for (Eigen::Index i = 0; i < values.size(); ++i)
  {
    granted(i) = std::isfinite(values(i)) ? values(i) : requested(i);
    was_cut_ =
      was_cut_ || std::abs(granted(i) - requested(i)) > kSame * (1.0 + std::abs(requested(i)));
  }
  counts.cut += was_cut_ ? 1 : 0;
}

RefusedValue ServoRuntime::Cycle::check_force(
  int task, const ServoReference & reference) const noexcept
{
  const std::vector<int> & rows =
    law->tasks()[static_cast<std::size_t>(task)].constraint->force_rows();
  const Reduction & reduction = workspace.memory_->reduction;
  for (std::size_t k = 0; k < rows.size() && missed == 0; ++k)
  {
    const auto response = reduction.multiplier_response().row(rows[k]);
    double lower = reduction.free_multipliers()(rows[k]);
    double upper = lower;
    for (Eigen::Index i = 0; i < response.size(); ++i)
    {
      if (response(i) != 0.0)
      {
        const double a = response(i) * commands.limits().lower(i);
        const double b = response(i) * commands.limits().upper(i);
        lower += std::min(a, b);
        upper += std::max(a, b);
      }
    }
    const Eigen::Index row = static_cast<Eigen::Index>(k);
    const double value = reference.position(row);
    if (!(value >= lower && value <= upper))
    {
      return {RefusedValue::Kind::kForce, static_cast<int>(k), value, lower, upper};
    }
  }
  return {};
}

bool ServoRuntime::Cycle::give(int task, const ServoReference & reference, bool expires) noexcept
{
  const std::size_t i = static_cast<std::size_t>(task);
  const ServoConstraint & constraint = *law->tasks()[i].constraint;
  const bool fits = reference.position.size() == constraint.position_size() &&
                    reference.velocity.size() == constraint.velocity_size() &&
                    reference.acceleration.size() == constraint.velocity_size();
  if (first_join || !fits)
  {
    return false;
  }
  if (options.check_references && reference.position.allFinite() && reference.velocity.allFinite())
  {
    RefusedValue refused = bounds[i].check(reference);
    if (refused.kind == RefusedValue::Kind::kNone)
    {
      refused = check_force(task, reference);
    }
    if (refused.kind != RefusedValue::Kind::kNone)
    {
      refusal = {task, refused};
      ++counts.refused;
      return false;
    }
  }
  return references[i].give(time, reference, workspace.reference(task), expires);
}

bool ServoRuntime::Cycle::find_rest_effort(Eigen::VectorXd & out) noexcept
{
  if (
    !has_begun ||
    !has_output(inverse_dynamics_.find_at_rest(time, state.q(), workspace.dynamics(), fallback_)))
  {
    return false;
  }
  out = fallback_.cwiseMax(commands.limits().lower).cwiseMin(commands.limits().upper);
  return out.allFinite();
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

}  // namespace constrained_dynamics
