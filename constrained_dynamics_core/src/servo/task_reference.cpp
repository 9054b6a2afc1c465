// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/servo/task_reference.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "constrained_dynamics/formula/dual.hpp"

namespace constrained_dynamics
{

/// Values from outside as a trajectory, so that SmoothStart can join it. Only the cycle's thread
/// knows it.
class TaskReference::Given : public ReferenceTrajectory
{
public:
  explicit Given(const ServoConstraint & servo)
  : ReferenceTrajectory(ReferenceLayout(servo)),
    values_(static_cast<std::size_t>(layout().value_count())),
    next_(values_.size()),
    decays_(values_.size(), false),
    stays_(!servo.force_rows().empty())
  {
    for (std::size_t i = 0; i < values_.size() && !layout().is_pose() && !stays_; ++i)
    {
      decays_[i] = servo.rows()[i].level == RowLevel::kVelocity;
    }
    if (layout().is_pose())
    {
      values_.back().value = 1.0;  // unit quaternion
    }
  }

  /// Takes values over. @param step gets how far they are from those before.
  bool set(const ServoReference & reference, double & step) noexcept
  {
    if (!layout().fits(reference) || !layout().read(reference, next_.data()))
    {
      return false;
    }
    step = distance(values_, next_);
    std::swap(values_, next_);
    return true;
  }
  bool is_force() const { return stays_; }

  /// Comes to rest.
  void coast(double period, double stop_time) noexcept
  {
    if (stays_)
    {
      return;
    }
    const double left = std::exp(-period / stop_time);
    for (std::size_t i = 0; i < values_.size(); ++i)
    {
      Jet2 & value = values_[i];
      if (decays_[i])
      {
        value.value *= left;
        value.first = -value.value / stop_time;
        value.second = 0.0;
      }
      else
      {
        value.value += value.first * stop_time * (1.0 - left);
        value.first *= left;
        value.second = -value.first / stop_time;
      }
    }
  }

protected:
  bool do_evaluate(double /*time*/, Jet2 * values) const noexcept override
  {
    std::copy(values_.begin(), values_.end(), values);
    return true;
  }

private:
  /// Largest difference of values; of poses distance of the points, or angle if that is larger.
  double distance(const std::vector<Jet2> & a, const std::vector<Jet2> & b) const noexcept
  {
    double largest = 0.0;
    double square = 0.0;
    double product = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i)
    {
      const double difference = b[i].value - a[i].value;
      largest = std::max(largest, std::abs(difference));
      square += i < 3 ? difference * difference : 0.0;
      product += i < 3 ? 0.0 : a[i].value * b[i].value;
    }
    if (!layout().is_pose())
    {
      return largest;
    }
    return std::max(std::sqrt(square), 2.0 * std::acos(std::min(1.0, std::abs(product))));
  }

  std::vector<Jet2> values_;
  std::vector<Jet2> next_;
  std::vector<bool> decays_;  // values of velocity rows
  bool stays_;                // forces
};

TaskReference::TaskReference(
  const ServoConstraint & servo, ReferencePointer trajectory, double smooth_start,
  const ReferenceTimes & times)
: times_(times), given_(std::make_shared<Given>(servo))
{
  if (trajectory)
  {
    own_ = std::make_unique<SmoothStart>(
      std::move(trajectory), std::max(smooth_start, times.smooth_start));
  }
  join_ = std::make_unique<SmoothStart>(given_, times.smooth_start);
}

Status TaskReference::hold(double time, const ServoReference & measured) noexcept CD_NONBLOCKING
{
  double step = 0.0;
  if (!given_->set(measured, step))
  {
    return Status::kNonFiniteInput;
  }
  coasting_ = true;
  return join_->start(time, measured);
}

Status TaskReference::restart(double time, const ServoReference & measured) noexcept CD_NONBLOCKING
{
  source_ = own_ ? Source::kTrajectory : Source::kHold;
  return own_ ? own_->start(time, measured) : hold(time, measured);
}

Status TaskReference::rejoin(double time, const ServoReference & measured) noexcept CD_NONBLOCKING
{
  if (source_ == Source::kTrajectory)
  {
    return own_->start(time, measured);
  }
  return is_stale() || source_ == Source::kHold ? hold(time, measured)
                                                : join_->start(time, measured);
}

bool TaskReference::give(
  double time, const ServoReference & reference, const ServoReference & current,
  bool expires) noexcept CD_NONBLOCKING
{
  double step = 0.0;
  if (!given_->set(reference, step))
  {
    return false;
  }
  const double largest = given_->is_force() ? times_.largest_force_step : times_.largest_step;
  if (source_ != Source::kGiven || coasting_ || (largest > 0.0 && step > largest))
  {
    if (join_->start(time, current) != Status::kOk)
    {
      return false;
    }
  }
  source_ = Source::kGiven;
  coasting_ = false;
  expires_ = expires;
  age_ = 0.0;
  return true;
}

void TaskReference::release() noexcept CD_NONBLOCKING
{
  coasting_ = coasting_ || source_ == Source::kGiven;
}

Status TaskReference::resume(double time, const ServoReference & current) noexcept CD_NONBLOCKING
{
  if (source_ == Source::kTrajectory || !own_)
  {
    release();
    return Status::kOk;
  }
  const Status status = own_->start(time, current);
  if (status == Status::kOk)
  {
    source_ = Source::kTrajectory;
  }
  return status;
}

TaskMode TaskReference::mode() const
{
  return source_ == Source::kTrajectory ? TaskMode::kTrajectory
         : coasting_                    ? TaskMode::kHold
                                        : TaskMode::kGiven;
}

const char * to_string(TaskMode mode) noexcept
{
  switch (mode)
  {
    case TaskMode::kTrajectory:
      return "trajectory";
    case TaskMode::kGiven:
      return "given";
    case TaskMode::kHold:
      return "hold";
  }
  return "unknown";
}

Status TaskReference::follow(double time, double period, ServoReference & out) noexcept
  CD_NONBLOCKING
{
  if (source_ == Source::kTrajectory)
  {
    return own_->evaluate(time, out);
  }
  age_ += period;
  if (expires_ && times_.timeout > 0.0 && age_ > times_.timeout)
  {
    release();
    if (times_.resume && own_ && source_ == Source::kGiven)
    {
      const Status status = resume(time, out);
      return status == Status::kOk ? own_->evaluate(time, out) : status;
    }
  }
  if (coasting_)
  {
    given_->coast(period, times_.stop_time);
  }
  return join_->evaluate(time, out);
}

}  // namespace constrained_dynamics
