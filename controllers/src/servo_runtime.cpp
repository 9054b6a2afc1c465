// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics_controllers/servo_runtime.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace constrained_dynamics_controllers
{

using constrained_dynamics::ConstVectorRef;
using constrained_dynamics::InputLimits;
using constrained_dynamics::ServoDrive;
using constrained_dynamics::ServoLaw;
using constrained_dynamics::ServoOptions;
using constrained_dynamics::ServoReference;
using constrained_dynamics::Status;

namespace
{

constexpr double kInfinity = std::numeric_limits<double>::infinity();

[[noreturn]] void refuse(const std::string & what, double value, const std::string & allowed)
{
  std::ostringstream message;
  message << what << " is " << value << "; allowed: " << allowed;
  throw std::invalid_argument(message.str());
}

RuntimeOptions checked(const RuntimeOptions & options)
{
  const auto positive = [](const char * name, double value)
  {
    if (!(value > 0.0 && std::isfinite(value)))
    {
      refuse(name, value, "finite and above 0");
    }
  };
  const auto nonnegative = [](const char * name, double value)
  {
    if (!(value >= 0.0 && std::isfinite(value)))
    {
      refuse(name, value, "finite and not negative");
    }
  };
  positive("period of the cycle", options.period);
  positive("stop_time", options.references.stop_time);
  nonnegative("ramp_time", options.ramp_time);
  nonnegative("smooth_start", options.references.smooth_start);
  nonnegative("reference_timeout", options.references.timeout);
  nonnegative("frozen_speed", options.frozen_speed);
  nonnegative("fallback_damping", options.fallback_damping);
  if (options.dropout_cycles < 1)
  {
    refuse("dropout_cycles", options.dropout_cycles, "at least 1");
  }
  return options;
}

/// The tighter of two bounds, element by element; empty: none.
Eigen::VectorXd tighter(
  const Eigen::VectorXd & a, const Eigen::VectorXd & b, Eigen::Index size, double sign)
{
  Eigen::VectorXd result = Eigen::VectorXd::Constant(size, sign * kInfinity);
  for (const Eigen::VectorXd * bound : {&a, &b})
  {
    if (bound->size() == 0)
    {
      continue;
    }
    if (bound->size() != size)
    {
      refuse(
        "number of limits", static_cast<double>(bound->size()),
        "none, or one an input, " + std::to_string(size));
    }
    result = sign > 0.0 ? result.cwiseMin(*bound).eval() : result.cwiseMax(*bound).eval();
  }
  return result;
}

InputLimits merge(const InputLimits & a, const InputLimits & b, Eigen::Index size)
{
  return {
    tighter(a.lower, b.lower, size, -1.0), tighter(a.upper, b.upper, size, 1.0),
    tighter(a.rate, b.rate, size, 1.0)};
}

/// The same law, which knows the limits of the commands: where they bind, servo-constraints give
/// way in the order of their priority.
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

const char * to_string(Fallback fallback) noexcept
{
  switch (fallback)
  {
    case Fallback::kHold:
      return "hold";
    case Fallback::kGravity:
      return "gravity";
    case Fallback::kDamp:
      return "damp";
    case Fallback::kZero:
      return "zero";
    case Fallback::kError:
      return "error";
  }
  return "unknown";
}

const char * to_string(Mode mode) noexcept
{
  switch (mode)
  {
    case Mode::kInactive:
      return "inactive";
    case Mode::kRamp:
      return "ramp";
    case Mode::kFollow:
      return "follow";
    case Mode::kHold:
      return "hold";
    case Mode::kFallback:
      return "fallback";
  }
  return "unknown";
}

const char * to_string(Cause cause) noexcept
{
  switch (cause)
  {
    case Cause::kNone:
      return "none";
    case Cause::kPeriod:
      return "period";
    case Cause::kState:
      return "state";
    case Cause::kFrozen:
      return "frozen";
    case Cause::kCompletion:
      return "completion";
    case Cause::kReference:
      return "reference";
    case Cause::kLaw:
      return "law";
  }
  return "unknown";
}

Fallback fallback_from_string(const std::string & name)
{
  for (const Fallback fallback :
       {Fallback::kHold, Fallback::kGravity, Fallback::kDamp, Fallback::kZero, Fallback::kError})
  {
    if (name == to_string(fallback))
    {
      return fallback;
    }
  }
  throw std::invalid_argument(
    "fallback is '" + name + "'; allowed: hold, gravity, damp, zero, error");
}

ServoRuntime::ServoRuntime(
  const ServoLaw & law, const ServoDrive & drive, InputLimits limits,
  std::vector<bool> measured_coordinates, std::vector<bool> measured_speeds,
  const RuntimeOptions & options)
: options_(checked(options)),
  limits_(merge(law.options().limits, limits, law.passive().system().input_count())),
  law_(make_law(law, limits_, options.period)),
  measured_coordinates_(std::move(measured_coordinates)),
  measured_speeds_(std::move(measured_speeds)),
  workspace_(*law_),
  completion_(law.shared_passive(), measured_coordinates_, measured_speeds_),
  inverse_dynamics_(law.shared_passive())
{
  const constrained_dynamics::System & system = law_->passive().system();
  const std::size_t count = law_->tasks().size();
  for (std::size_t i = 0; i < count; ++i)
  {
    references_.emplace_back(
      *law_->tasks()[i].constraint, i < drive.references.size() ? drive.references[i] : nullptr,
      i < drive.smooth_start.size() ? drive.smooth_start[i] : 0.0, options_.references);
  }
  for (const constrained_dynamics::ServoTask & task : law_->tasks())
  {
    const auto * force =
      dynamic_cast<const constrained_dynamics::ForceServo *>(task.constraint.get());
    force_constraint_.push_back(
      force ? law_->passive().constraints().constraint_of_row(force->passive_rows().front()) : -1);
  }
  q_ = system.neutral_coordinates();
  u_.setZero(system.speed_count());
  next_q_ = seen_q_ = known_q_ = q_;
  next_u_ = seen_u_ = known_u_ = u_;
  command_.setZero(system.input_count());
  next_command_ = fallback_ = offset_ = command_;
}

void ServoRuntime::start(const constrained_dynamics::State & state, const Eigen::VectorXd * effort)
{
  constrained_dynamics::State complete = state;
  if (completion_.is_needed())
  {
    completion_.start(complete, workspace_.dynamics());
  }
  law_->prepare(complete, workspace_);
  time_ = complete.time;
  q_ = complete.q;
  u_ = complete.u;
  counts_ = CycleCounts{};
  missed_ = 0;
  unchanged_ = 0;
  has_seen_ = false;
  join_pending_ = true;
  first_join_ = true;
  ramping_ = false;
  target_ = Target::kNone;
  workspace_.external_null_vector().setZero();
  workspace_.forget_inputs();
  has_command_ = effort != nullptr;
  command_.setZero();
  if (effort)
  {
    command_ = effort->cwiseMax(limits_.lower).cwiseMin(limits_.upper);
    workspace_.set_last_inputs(command_);
  }
}

bool ServoRuntime::is_frozen(const ConstVectorRef & q, const ConstVectorRef & u) noexcept
{
  bool same = has_seen_;
  bool moves = false;
  for (Eigen::Index i = 0; i < q.size(); ++i)
  {
    same = same && (!measured_coordinates_[static_cast<std::size_t>(i)] || q(i) == seen_q_(i));
  }
  for (Eigen::Index i = 0; i < u.size(); ++i)
  {
    const bool measured = measured_speeds_[static_cast<std::size_t>(i)];
    same = same && (!measured || u(i) == seen_u_(i));
    moves = moves || (measured && std::abs(u(i)) > options_.frozen_speed);
  }
  seen_q_ = q;
  seen_u_ = u;
  has_seen_ = true;
  unchanged_ = same && moves && options_.frozen_speed > 0.0
                 ? std::min(unchanged_ + 1, options_.dropout_cycles)
                 : 0;
  return unchanged_ >= options_.dropout_cycles;
}

Cause ServoRuntime::take_state(
  double time, const ConstVectorRef & q, const ConstVectorRef & u, Status & status) noexcept
{
  status = Status::kNonFiniteInput;
  if (q.size() != q_.size() || u.size() != u_.size())
  {
    status = Status::kSizeMismatch;
    return Cause::kState;
  }
  next_q_ = q_;
  next_u_ = u_;
  known_u_.setZero();
  bool known = true;
  for (Eigen::Index i = 0; i < q.size(); ++i)
  {
    if (measured_coordinates_[static_cast<std::size_t>(i)])
    {
      const bool usable = std::abs(q(i)) <= kLargestCoordinate;
      next_q_(i) = usable ? q(i) : q_(i);
      known = known && usable;
    }
  }
  for (Eigen::Index i = 0; i < u.size(); ++i)
  {
    if (measured_speeds_[static_cast<std::size_t>(i)])
    {
      const bool usable = std::abs(u(i)) <= kLargestSpeed;
      next_u_(i) = usable ? u(i) : u_(i);
      known_u_(i) = usable ? u(i) : 0.0;
      known = known && usable;
    }
  }
  law_->passive().system().normalise(next_q_);
  known_q_ = completion_.is_needed() ? q_ : next_q_;
  if (!known)
  {
    has_seen_ = false;
    return Cause::kState;
  }
  if (is_frozen(q, u))
  {
    missed_ = std::max(missed_, options_.dropout_cycles - 1);
    known_q_ = q_;
    known_u_.setZero();
    return Cause::kFrozen;
  }
  if (completion_.is_needed())
  {
    status = completion_.complete(time, next_q_, next_u_, workspace_.dynamics());
    if (status != Status::kOk)
    {
      return Cause::kCompletion;
    }
  }
  status = Status::kOk;
  q_ = next_q_;
  u_ = next_u_;
  return Cause::kNone;
}

Status ServoRuntime::join(double time) noexcept
{
  Status status = law_->passive().evaluate_rows(time, q_, u_, workspace_.dynamics());
  for (std::size_t i = 0; i < references_.size() && status == Status::kOk; ++i)
  {
    const int task = static_cast<int>(i);
    status = law_->measure(task, workspace_);
    if (status == Status::kOk)
    {
      const ServoReference & measured = workspace_.reference(task);
      status = first_join_ ? references_[i].restart(time, measured)
                           : references_[i].rejoin(time, measured);
    }
  }
  if (status == Status::kOk)
  {
    counts_.restarts += first_join_ ? 0 : 1;
    first_join_ = false;
    join_pending_ = false;
  }
  return status;
}

CycleReport ServoRuntime::step(
  double period, const ConstVectorRef & q, const ConstVectorRef & u) noexcept CD_NONBLOCKING
{
  ++counts_.cycles;
  Status status = Status::kNonFiniteInput;
  if (!(period > 0.0 && period <= (options_.dropout_cycles + 0.5) * options_.period))
  {
    if (period == 0.0)
    {
      // No time has passed, e.g. a simulation that is paused: nothing is missing.
      ++counts_.missed;
      return {Mode::kHold, Status::kOk, Cause::kPeriod, false};
    }
    known_q_ = q_;
    known_u_.setZero();
    return miss(Cause::kPeriod, status);
  }
  const double time = first_join_ ? time_ : time_ + period;
  const Cause cause = take_state(time, q, u, status);
  if (cause != Cause::kNone)
  {
    return miss(cause, status);
  }
  if (join_pending_)
  {
    status = join(time);
    if (status != Status::kOk)
    {
      return miss(Cause::kReference, status);
    }
  }
  bool stale = false;
  for (std::size_t i = 0; i < references_.size(); ++i)
  {
    status = references_[i].follow(time, period, workspace_.reference(static_cast<int>(i)));
    if (status != Status::kOk)
    {
      return miss(Cause::kReference, status);
    }
    stale = stale || references_[i].is_stale();
  }
  age_null_space(period);
  if (ramping_ || target_ != Target::kLaw)
  {
    // A ramp goes to what the law really wants; the rate is limited after it.
    workspace_.forget_inputs();
  }
  status = law_->evaluate(time, q_, u_, workspace_);
  if (!has_output(status) || !workspace_.result().inputs.allFinite())
  {
    return miss(Cause::kLaw, status);
  }
  missed_ = 0;
  time_ = time;
  counts_.singular += status == Status::kSingular ? 1 : 0;
  counts_.limited += status == Status::kLimited ? 1 : 0;
  counts_.inconsistent += status == Status::kInconsistent ? 1 : 0;
  command(Target::kLaw, workspace_.result().inputs, period);
  return {
    ramping_ ? Mode::kRamp
    : stale  ? Mode::kHold
             : Mode::kFollow,
    status, Cause::kNone, false};
}

CycleReport ServoRuntime::miss(Cause cause, Status status) noexcept
{
  ++counts_.missed;
  has_command_ = true;  // 0, if there was no other
  missed_ = std::min(missed_ + 1, std::numeric_limits<int>::max() - 1);
  if (missed_ < options_.dropout_cycles)
  {
    return {Mode::kHold, status, cause, false};
  }
  ++counts_.fallback;
  join_pending_ = true;  // what comes later begins anew from where the system is then
  find_fallback();
  command(Target::kFallback, fallback_, options_.period);
  return {Mode::kFallback, status, cause, options_.fallback == Fallback::kError};
}

void ServoRuntime::find_fallback() noexcept
{
  switch (options_.fallback)
  {
    case Fallback::kHold:
      fallback_ = command_;
      return;
    case Fallback::kZero:
      fallback_.setZero();
      return;
    case Fallback::kGravity:
    case Fallback::kDamp:
    case Fallback::kError:
      break;
  }
  const Status status =
    inverse_dynamics_.find_at_rest(time_, known_q_, workspace_.dynamics(), fallback_);
  if (!has_output(status))
  {
    fallback_ = command_;
  }
  else if (options_.fallback == Fallback::kDamp)
  {
    fallback_.noalias() -= options_.fallback_damping *
                           (inverse_dynamics_.workspace().terms().input_matrix.transpose() * known_u_);
  }
}

void ServoRuntime::command(Target target, const Eigen::VectorXd & inputs, double period) noexcept
{
  if (has_command_ && target != target_)
  {
    offset_ = command_ - inputs;
    ramp_elapsed_ = 0.0;
    ramping_ = options_.ramp_time > 0.0 && (offset_.array() != 0.0).any();
  }
  target_ = target;
  next_command_ = inputs;
  if (ramping_)
  {
    const double s = ramp_elapsed_ / options_.ramp_time;
    ramping_ = s < 1.0;
    if (ramping_)
    {
      next_command_ += (1.0 - s * s * (3.0 - 2.0 * s)) * offset_;
    }
    ramp_elapsed_ += period;
  }
  if (has_command_)
  {
    const double cycle = options_.period;
    next_command_ = next_command_.cwiseMax(command_ - cycle * limits_.rate)
                      .cwiseMin(command_ + cycle * limits_.rate);
  }
  next_command_ = next_command_.cwiseMax(limits_.lower).cwiseMin(limits_.upper);
  if (next_command_.allFinite())
  {
    command_ = next_command_;
  }
  has_command_ = true;
  workspace_.set_last_inputs(command_);
}

bool ServoRuntime::give_reference(int task, const ServoReference & reference, bool expires) noexcept
  CD_NONBLOCKING
{
  return is_started() && references_[static_cast<std::size_t>(task)].give(
                           time_, reference, workspace_.reference(task), expires);
}

void ServoRuntime::release_reference(int task) noexcept CD_NONBLOCKING
{
  references_[static_cast<std::size_t>(task)].release();
}

void ServoRuntime::give_null_space(int input, double value, bool expires) noexcept CD_NONBLOCKING
{
  if (std::isfinite(value))
  {
    workspace_.external_null_vector()(input) = value;
    null_space_expires_ = expires;
    null_space_age_ = 0.0;
  }
}

void ServoRuntime::enable_forces_of(int constraint, bool active) noexcept CD_NONBLOCKING
{
  for (std::size_t i = 0; i < force_constraint_.size(); ++i)
  {
    if (force_constraint_[i] == constraint)
    {
      workspace_.set_enabled(static_cast<int>(i), active);
    }
  }
}

void ServoRuntime::age_null_space(double period) noexcept
{
  null_space_age_ += period;
  const double timeout = options_.references.timeout;
  if (null_space_expires_ && timeout > 0.0 && null_space_age_ > timeout)
  {
    workspace_.external_null_vector() *= std::exp(-period / options_.references.stop_time);
  }
}

}  // namespace constrained_dynamics_controllers
