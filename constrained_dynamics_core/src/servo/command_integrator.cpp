// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/servo/command_integrator.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>

#include "checked_values.hpp"

namespace constrained_dynamics
{

namespace
{

const Dynamics & checked(const std::shared_ptr<const Dynamics> & dynamics)
{
  if (!dynamics)
  {
    throw std::invalid_argument("command integrator: the dynamics is null");
  }
  return *dynamics;
}

/// Scales the deviation from `to` back to the bound; values that are not commanded become `to`.
/// Returns whether the bound binds.
bool keep_near(
  const ConstVectorRef & to, const std::vector<bool> & is_commanded, double bound,
  VectorRef values) noexcept
{
  double largest = 0.0;
  for (Eigen::Index i = 0; i < values.size(); ++i)
  {
    const bool counts = is_commanded[static_cast<std::size_t>(i)];
    values(i) = counts ? values(i) : to(i);
    largest = std::max(largest, std::abs(values(i) - to(i)));
  }
  if (largest > bound)
  {
    values = to + bound / largest * (values - to);
  }
  return largest > bound;
}

}  // namespace

CommandIntegrator::CommandIntegrator(
  std::shared_ptr<const Dynamics> dynamics, const CommandIntegratorOptions & options)
: dynamics_(std::move(dynamics)),
  options_(options),
  workspace_(Workspace::unanalysed(checked(dynamics_))),
  q_(dynamics_->system().neutral_coordinates()),
  u_(Eigen::VectorXd::Zero(dynamics_->system().speed_count())),
  next_q_(q_),
  next_u_(u_),
  rates_(q_)
{
  checked_positive("command integrator", "join_time", options.join_time);
  checked_positive("command integrator", "position_bound", options.position_bound);
  checked_positive("command integrator", "velocity_bound", options.velocity_bound);
  const System & system = dynamics_->system();
  is_commanded_speed_.assign(static_cast<std::size_t>(system.speed_count()), false);
  for (int i = 0; i < system.coordinate_count(); ++i)
  {
    is_commanded_.push_back(system.has_joint(i));
    for (const int speed : system.speeds_of_coordinate(i))
    {
      const std::size_t k = static_cast<std::size_t>(speed);
      is_commanded_speed_[k] = is_commanded_speed_[k] || is_commanded_.back();
    }
  }
}

void CommandIntegrator::start(const State & state)
{
  workspace_.reset(state);
  q_ = state.q;
  u_ = state.u;
  Status status = dynamics_->project_position(state.time, q_, workspace_);
  if (status == Status::kOk)
  {
    status = dynamics_->project_velocity(state.time, q_, u_, workspace_);
  }
  has_started_ = status == Status::kOk;
  if (!has_started_)
  {
    throw std::invalid_argument(
      std::string(
        "command integrator: the constraints cannot be satisfied near the state: status ") +
      to_string(status));
  }
}

Status CommandIntegrator::update(
  double time, double period, const ConstVectorRef & q, const ConstVectorRef & u,
  const ConstVectorRef & acceleration) noexcept CD_NONBLOCKING
{
  if (!has_started_)
  {
    return Status::kNoState;
  }
  if (q.size() != q_.size() || u.size() != u_.size() || acceleration.size() != u_.size())
  {
    return Status::kSizeMismatch;
  }
  if (
    !q.allFinite() || !u.allFinite() || !acceleration.allFinite() || !std::isfinite(time) ||
    !(period > 0.0 && std::isfinite(period)))
  {
    return Status::kNonFiniteInput;
  }
  // (E54)
  const double join = -std::expm1(-period / options_.join_time);
  next_u_ = u_ + period * acceleration;
  next_u_ += join * (u - next_u_);
  bool is_limited = keep_near(u, is_commanded_speed_, options_.velocity_bound, next_u_);
  Status status = dynamics_->set_state(time, q_, next_u_, workspace_);
  if (status != Status::kOk)
  {
    return status;
  }
  rates_ = workspace_.terms().rates;
  next_q_ = q_ + period * rates_;
  next_q_ += join * (q - next_q_);
  is_limited = keep_near(q, is_commanded_, options_.position_bound, next_q_) || is_limited;
  dynamics_->system().normalise(next_q_);
  status = dynamics_->project_position(time, next_q_, workspace_);
  if (status == Status::kOk)
  {
    status = dynamics_->project_velocity(time, next_q_, next_u_, workspace_);
  }
  if (status != Status::kOk)
  {
    return status;
  }
  q_ = next_q_;
  u_ = next_u_;
  return is_limited ? Status::kLimited : Status::kOk;
}

}  // namespace constrained_dynamics
