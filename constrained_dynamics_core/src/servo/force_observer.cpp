// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/servo/force_observer.hpp"

#include <cmath>
#include <utility>

namespace constrained_dynamics
{

ForceObserver::ForceObserver(
  std::shared_ptr<const Dynamics> dynamics, const std::vector<bool> & measured_coordinates,
  const std::vector<bool> & measured_speeds, double acceleration_filter,
  const RobotProfile * profile)
: dynamics_(std::move(dynamics)),
  acceleration_filter_(acceleration_filter),
  measured_coordinates_(measured_coordinates),
  measured_speeds_(measured_speeds),
  workspace_(Workspace::unanalysed(*dynamics_)),
  completion_(dynamics_, measured_coordinates, measured_speeds),
  inverse_dynamics_(dynamics_),
  drives_(
    profile ? std::make_unique<DriveConversion>(*profile, dynamics_->system())
            : std::unique_ptr<DriveConversion>()),
  q_(dynamics_->system().neutral_coordinates()),
  u_(Eigen::VectorXd::Zero(dynamics_->system().speed_count())),
  next_q_(q_),
  next_u_(u_),
  effort_(Eigen::VectorXd::Zero(dynamics_->system().input_count())),
  last_u_(u_),
  acceleration_(u_)
{
}

void ForceObserver::start(State state)
{
  dynamics_->system().normalise(state.q);
  if (completion_.is_needed())
  {
    completion_.start(state, workspace_);
  }
  workspace_.reset(state);
  time_ = state.time;
  q_ = state.q;
  u_ = state.u;
  acceleration_.setZero();
  has_last_ = false;
}

Status ForceObserver::update(
  double period, const Eigen::VectorXd & q, const Eigen::VectorXd & u,
  const Eigen::VectorXd * effort) noexcept CD_NONBLOCKING
{
  next_q_ = q_;
  next_u_ = u_;
  for (std::size_t i = 0; i < measured_coordinates_.size(); ++i)
  {
    const Eigen::Index k = static_cast<Eigen::Index>(i);
    next_q_(k) = measured_coordinates_[i] ? q(k) : q_(k);
  }
  for (std::size_t i = 0; i < measured_speeds_.size(); ++i)
  {
    const Eigen::Index k = static_cast<Eigen::Index>(i);
    next_u_(k) = measured_speeds_[i] ? u(k) : u_(k);
  }
  if (!next_q_.allFinite() || !next_u_.allFinite() || (effort && !effort->allFinite()))
  {
    has_last_ = false;
    return Status::kNonFiniteInput;
  }
  dynamics_->system().normalise(next_q_);
  time_ += period > 0.0 && std::isfinite(period) ? period : 0.0;
  if (completion_.is_needed())
  {
    const Status status = completion_.complete(time_, next_q_, next_u_, workspace_);
    if (status != Status::kOk)
    {
      has_last_ = false;
      return status;
    }
  }
  q_ = next_q_;
  u_ = next_u_;
  filter_acceleration(period);
  if (effort && !drives_)
  {
    effort_ = *effort;
    return dynamics_->solve(time_, q_, u_, effort_, workspace_);
  }
  Status status = Status::kOk;
  if (effort)
  {
    status = dynamics_->set_state(time_, q_, u_, workspace_);
    if (status == Status::kOk)
    {
      status = drives_->net_effort(workspace_.system_data(), *effort, acceleration_, effort_);
    }
  }
  else
  {
    status = inverse_dynamics_.find(time_, q_, u_, acceleration_, workspace_, effort_);
  }
  return has_output(status) ? dynamics_->solve(time_, q_, u_, effort_, workspace_) : status;
}

void ForceObserver::filter_acceleration(double period) noexcept CD_NONBLOCKING
{
  if (has_last_ && period > 0.0)
  {
    // First-order filter over differences of speeds.
    const double weight = period / (period + acceleration_filter_);
    acceleration_ += weight * ((u_ - last_u_) / period - acceleration_);
  }
  last_u_ = u_;
  has_last_ = true;
}

}  // namespace constrained_dynamics
