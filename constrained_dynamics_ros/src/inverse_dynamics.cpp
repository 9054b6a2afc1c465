// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics_ros/inverse_dynamics.hpp"

#include <algorithm>
#include <utility>

namespace constrained_dynamics_ros
{

using constrained_dynamics::ConstVectorRef;
using constrained_dynamics::Status;
using constrained_dynamics::VectorRef;
using constrained_dynamics::Workspace;

InverseDynamics::InverseDynamics(std::shared_ptr<const constrained_dynamics::Dynamics> dynamics)
: dynamics_(std::move(dynamics)),
  workspace_(Workspace::unanalysed(*dynamics_)),
  reduction_(*dynamics_)
{
  const Eigen::Index n = dynamics_->system().speed_count();
  const Eigen::Index l = dynamics_->system().input_count();
  rest_.setZero(n);
  missing_.setZero(n);
  force_.setZero(n);
  inputs_.setZero(l);
  metric_.setIdentity(l, l);
  factor_ = Eigen::LDLT<Eigen::MatrixXd>(l);
}

Status InverseDynamics::find_at_rest(
  double time, const ConstVectorRef & q, const Workspace & active,
  VectorRef out) noexcept CD_NONBLOCKING
{
  return find(time, q, rest_, rest_, active, out);
}

Status InverseDynamics::find(
  double time, const ConstVectorRef & q, const ConstVectorRef & u,
  const ConstVectorRef & acceleration, const Workspace & active,
  VectorRef out) noexcept CD_NONBLOCKING
{
  // Directions that the inputs hardly move at all get no input.
  constexpr double kRegularisation = 1e-12;
  if (acceleration.size() != rest_.size() || out.size() != inputs_.size())
  {
    return Status::kSizeMismatch;
  }
  for (int i = 0; i < dynamics_->constraints().size(); ++i)
  {
    if (workspace_.is_active(i) != active.is_active(i))
    {
      workspace_.set_active(i, active.is_active(i));
    }
  }
  Status status = dynamics_->set_state(time, q, u, workspace_);
  if (status != Status::kOk)
  {
    return status;
  }
  status = dynamics_->reduce(workspace_, reduction_);
  if (!has_output(status))
  {
    return status;
  }
  if (inputs_.size() == 0)
  {
    return status;
  }
  // min ‖u̇_0 + Y τ − u̇‖ in the norm of Q:  H τ = Yᵀ Q (u̇ − u̇_0),  H = Yᵀ Q Y  (E24)
  missing_ = acceleration - reduction_.free_acceleration();
  force_.noalias() = workspace_.terms().mass_matrix * missing_;
  inputs_.noalias() = reduction_.input_response().transpose() * force_;
  metric_ = reduction_.effort_metric();
  const double size = metric_.diagonal().cwiseAbs().maxCoeff();
  metric_.diagonal().array() += std::max(kRegularisation * size, 1e-300);
  factor_.compute(metric_);
  factor_.solveInPlace(inputs_);
  if (!inputs_.allFinite())
  {
    return Status::kNonFiniteResult;
  }
  out = inputs_;
  return status;
}

}  // namespace constrained_dynamics_ros
