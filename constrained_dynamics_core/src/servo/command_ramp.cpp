// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "servo/command_ramp.hpp"

#include <utility>

namespace constrained_dynamics
{

CommandRamp::CommandRamp(InputLimits limits, double period, double ramp_time)
: limits_(std::move(limits)),
  period_(period),
  ramp_time_(ramp_time),
  command_(Eigen::VectorXd::Zero(limits_.lower.size())),
  next_(command_),
  offset_(command_)
{
}

void CommandRamp::start(const Eigen::VectorXd * effort) noexcept
{
  ramping_ = false;
  source_ = CommandSource::kNone;
  has_command_ = effort != nullptr;
  command_.setZero();
  if (effort)
  {
    command_ = effort->cwiseMax(limits_.lower).cwiseMin(limits_.upper);
  }
}

void CommandRamp::command(
  CommandSource source, const Eigen::VectorXd & inputs, double period) noexcept
{
  if (has_command_ && source != source_)
  {
    offset_ = command_ - inputs;
    elapsed_ = 0.0;
    ramping_ = ramp_time_ > 0.0 && (offset_.array() != 0.0).any();
  }
  source_ = source;
  next_ = inputs;
  if (ramping_)
  {
    const double s = elapsed_ / ramp_time_;
    ramping_ = s < 1.0;
    if (ramping_)
    {
      next_ += (1.0 - s * s * (3.0 - 2.0 * s)) * offset_;
    }
    elapsed_ += period;
  }
  if (has_command_)
  {
    next_ =
      next_.cwiseMax(command_ - period_ * limits_.rate).cwiseMin(command_ + period_ * limits_.rate);
  }
  next_ = next_.cwiseMax(limits_.lower).cwiseMin(limits_.upper);
  if (next_.allFinite())
  {
    command_ = next_;
  }
  has_command_ = true;
}

}  // namespace constrained_dynamics
