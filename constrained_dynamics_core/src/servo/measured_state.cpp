// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "servo/measured_state.hpp"

#include <cmath>
#include <utility>

namespace constrained_dynamics
{

MeasuredState::MeasuredState(
  const std::shared_ptr<const Dynamics> & dynamics, std::vector<bool> measured_coordinates,
  std::vector<bool> measured_speeds, const ServoRuntimeOptions & options)
: dynamics_(dynamics),
  measured_coordinates_(std::move(measured_coordinates)),
  measured_speeds_(std::move(measured_speeds)),
  frozen_speed_(options.frozen_speed),
  watch_(options.period, options.sample_period, options.dropout_cycles),
  completion_(dynamics, measured_coordinates_, measured_speeds_),
  q_(dynamics->system().neutral_coordinates()),
  u_(Eigen::VectorXd::Zero(dynamics->system().speed_count())),
  next_q_(q_),
  next_u_(u_),
  known_q_(q_),
  known_u_(u_),
  seen_q_(q_),
  seen_u_(u_)
{
}

State MeasuredState::start(State state, Workspace & workspace)
{
  if (completion_.is_needed())
  {
    completion_.start(state, workspace);
  }
  q_ = state.q;
  u_ = state.u;
  has_seen_ = false;
  watch_.start();
  return state;
}

void MeasuredState::forget() noexcept
{
  known_q_ = q_;
  known_u_.setZero();
}

bool MeasuredState::copy_usable(const ConstVectorRef & q, const ConstVectorRef & u) noexcept
{
  next_q_ = q_;
  next_u_ = u_;
  known_u_.setZero();
  bool all = true;
  for (Eigen::Index i = 0; i < q.size(); ++i)
  {
    if (measured_coordinates_[static_cast<std::size_t>(i)])
    {
      const bool usable = std::abs(q(i)) <= ServoRuntime::kLargestCoordinate;
      next_q_(i) = usable ? q(i) : q_(i);
      all = all && usable;
    }
  }
  for (Eigen::Index i = 0; i < u.size(); ++i)
  {
    if (measured_speeds_[static_cast<std::size_t>(i)])
    {
      const bool usable = std::abs(u(i)) <= ServoRuntime::kLargestSpeed;
      next_u_(i) = usable ? u(i) : u_(i);
      known_u_(i) = usable ? u(i) : 0.0;
      all = all && usable;
    }
  }
  dynamics_->system().normalise(next_q_);
  known_q_ = completion_.is_needed() ? q_ : next_q_;
  return all;
}

bool MeasuredState::is_frozen(
  double period, const ConstVectorRef & q, const ConstVectorRef & u) noexcept
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
    moves = moves || (measured && std::abs(u(i)) > frozen_speed_);
  }
  seen_q_ = q;
  seen_u_ = u;
  has_seen_ = true;
  return frozen_speed_ > 0.0 && watch_.is_frozen(period, !same, moves);
}

ServoMiss MeasuredState::take(
  double time, double period, const ConstVectorRef & q, const ConstVectorRef & u,
  Workspace & workspace, Status & status) noexcept
{
  if (q.size() != q_.size() || u.size() != u_.size())
  {
    status = Status::kSizeMismatch;
    return ServoMiss::kState;
  }
  status = Status::kNonFiniteInput;
  if (!copy_usable(q, u))
  {
    has_seen_ = false;
    return ServoMiss::kState;
  }
  if (is_frozen(period, q, u))
  {
    forget();
    return ServoMiss::kFrozen;
  }
  if (completion_.is_needed())
  {
    status = completion_.complete(time, next_q_, next_u_, workspace);
    if (status != Status::kOk)
    {
      return ServoMiss::kCompletion;
    }
  }
  status = Status::kOk;
  q_ = next_q_;
  u_ = next_u_;
  return ServoMiss::kNone;
}

}  // namespace constrained_dynamics
