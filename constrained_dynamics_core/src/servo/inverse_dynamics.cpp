// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/servo/inverse_dynamics.hpp"

#include <algorithm>
#include <utility>

#include <Eigen/Cholesky>

#include "constrained_dynamics/dynamics/reduction.hpp"

namespace constrained_dynamics
{

struct InverseDynamics::Memory
{
  explicit Memory(const Dynamics & dynamics)
  : workspace(Workspace::unanalysed(dynamics)),
    reduction(dynamics),
    rest(Eigen::VectorXd::Zero(dynamics.system().speed_count())),
    missing(rest),
    force(rest),
    inputs(Eigen::VectorXd::Zero(dynamics.system().input_count())),
    metric(Eigen::MatrixXd::Identity(inputs.size(), inputs.size())),
    factor(inputs.size())
  {
  }

  Workspace workspace;
  Reduction reduction;
  Eigen::VectorXd rest;
  Eigen::VectorXd missing;  // acceleration
  Eigen::VectorXd force;
  Eigen::VectorXd inputs;
  Eigen::MatrixXd metric;  // H
  Eigen::LDLT<Eigen::MatrixXd> factor;
};

InverseDynamics::InverseDynamics(std::shared_ptr<const Dynamics> dynamics)
: dynamics_(std::move(dynamics)), memory_(std::make_unique<Memory>(*dynamics_))
{
}

InverseDynamics::~InverseDynamics() = default;
InverseDynamics::InverseDynamics(InverseDynamics &&) noexcept = default;
InverseDynamics & InverseDynamics::operator=(InverseDynamics &&) noexcept = default;

const Workspace & InverseDynamics::workspace() const { return memory_->workspace; }

Status InverseDynamics::find_at_rest(
  double time, const ConstVectorRef & q, const Workspace & active,
  VectorRef out) noexcept CD_NONBLOCKING
{
  return find(time, q, memory_->rest, memory_->rest, active, out);
}

Status InverseDynamics::find(
  double time, const ConstVectorRef & q, const ConstVectorRef & u,
  const ConstVectorRef & acceleration, const Workspace & active,
  VectorRef out) noexcept CD_NONBLOCKING
{
  // Directions that the inputs hardly move at all get no input.
  constexpr double kRegularisation = 1e-12;
  Memory & m = *memory_;
  if (acceleration.size() != m.rest.size() || out.size() != m.inputs.size())
  {
    return Status::kSizeMismatch;
  }
  for (int i = 0; i < dynamics_->constraints().size(); ++i)
  {
    if (m.workspace.is_active(i) != active.is_active(i))
    {
      m.workspace.set_active(i, active.is_active(i));
    }
  }
  Status status = dynamics_->set_state(time, q, u, m.workspace);
  if (status != Status::kOk)
  {
    return status;
  }
  status = dynamics_->reduce(m.workspace, m.reduction);
  if (!has_output(status) || m.inputs.size() == 0)
  {
    return status;
  }
  // min ‖u̇_0 + Y τ − u̇‖ in the norm of Q:  H τ = Yᵀ Q (u̇ − u̇_0),  H = Yᵀ Q Y  (E24)
  m.missing = acceleration - m.reduction.free_acceleration();
  m.force.noalias() = m.workspace.terms().mass_matrix * m.missing;
  m.inputs.noalias() = m.reduction.input_response().transpose() * m.force;
  m.metric = m.reduction.effort_metric();
  const double size = m.metric.diagonal().cwiseAbs().maxCoeff();
  m.metric.diagonal().array() += std::max(kRegularisation * size, 1e-300);
  m.factor.compute(m.metric);
  m.factor.solveInPlace(m.inputs);
  if (!m.inputs.allFinite())
  {
    return Status::kNonFiniteResult;
  }
  out = m.inputs;
  return status;
}

}  // namespace constrained_dynamics
