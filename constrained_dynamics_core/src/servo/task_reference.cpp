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

  bool set(const ServoReference & reference) noexcept
  {
    if (!layout().fits(reference) || !layout().read(reference, next_.data()))
    {
      return false;
    }
    std::swap(values_, next_);
    return true;
  }

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
  if (!given_->set(measured))
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
  if (!given_->set(reference))
  {
    return false;
  }
  if (source_ != Source::kGiven || coasting_)
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
  }
  if (coasting_)
  {
    given_->coast(period, times_.stop_time);
  }
  return join_->evaluate(time, out);
}

}  // namespace constrained_dynamics
