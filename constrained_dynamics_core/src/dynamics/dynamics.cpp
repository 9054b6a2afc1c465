// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/dynamics/dynamics.hpp"

#include <stdexcept>
#include <string>
#include <utility>

#include "constrained_dynamics/formulations/automatic.hpp"
#include "dynamics/dynamics_impl.hpp"
#include "dynamics/workspace_impl.hpp"

namespace constrained_dynamics
{

Eigen::MatrixXd complete_jacobian(const System & system, const Rows & rows)
{
  Eigen::MatrixXd result = rows.jacobian;
  const std::vector<int> & driven = system.driven_speeds();
  for (std::size_t k = 0; k < driven.size(); ++k)
  {
    result.col(driven[k]) = rows.driven_jacobian.col(static_cast<Eigen::Index>(k));
  }
  return result;
}

Dynamics::Dynamics(
  ConstraintSet constraints, DynamicsOptions options,
  std::shared_ptr<const Formulation> formulation)
: impl_(std::make_shared<const Impl>(
    std::move(constraints), std::move(options), std::move(formulation)))
{
  const std::string refusal = impl_->formulation->refusal(impl_->system);
  const std::string name = impl_->formulation->name();
  if (!refusal.empty())
  {
    throw std::invalid_argument("formulation " + name + ": " + refusal);
  }
  if (
    impl_->system.options.stabilisation.keep_independent &&
    !impl_->formulation->has_independent_speeds())
  {
    throw std::invalid_argument(
      "stabilisation keeps independent speeds, and formulation " + name +
      " has none; allowed: coordinate_partition, coordinate_partition_selected");
  }
}

Dynamics::Impl::Impl(
  ConstraintSet constraints, DynamicsOptions options, std::shared_ptr<const Formulation> given)
: system(std::move(constraints), std::move(options)),
  formulation(given ? std::move(given) : std::make_shared<const Automatic>())
{
}

const System & Dynamics::system() const noexcept CD_NONBLOCKING { return impl_->system.system(); }

const Formulation & Dynamics::formulation() const noexcept CD_NONBLOCKING
{
  return *impl_->formulation;
}

const ConstraintSet & Dynamics::constraints() const noexcept CD_NONBLOCKING
{
  return impl_->system.constraints;
}

const DynamicsOptions & Dynamics::options() const noexcept CD_NONBLOCKING
{
  return impl_->system.options;
}

bool Dynamics::owns(const Workspace & workspace) const noexcept CD_NONBLOCKING
{
  return &workspace.impl_->evaluation.of() == &impl_->system;
}

Status Dynamics::set_state(
  double time, const ConstVectorRef & q, const ConstVectorRef & u,
  Workspace & workspace) const noexcept CD_NONBLOCKING
{
  return owns(workspace) ? workspace.impl_->evaluation.set_state(time, q, u)
                         : Status::kForeignWorkspace;
}

Status Dynamics::evaluate_rows(Workspace & workspace) const noexcept CD_NONBLOCKING
{
  return owns(workspace) ? workspace.impl_->evaluation.ask_rows() : Status::kForeignWorkspace;
}

Status Dynamics::evaluate_rows(
  double time, const ConstVectorRef & q, const ConstVectorRef & u,
  Workspace & workspace) const noexcept CD_NONBLOCKING
{
  const Status status = set_state(time, q, u, workspace);
  return status == Status::kOk ? evaluate_rows(workspace) : status;
}

Status Dynamics::evaluate_terms(Workspace & workspace) const noexcept CD_NONBLOCKING
{
  return owns(workspace) ? workspace.impl_->evaluation.ask_terms() : Status::kForeignWorkspace;
}

namespace
{

Status set_inputs(const ConstVectorRef & inputs, Evaluation & evaluation) noexcept
{
  if (inputs.size() != evaluation.inputs.size())
  {
    return Status::kSizeMismatch;
  }
  if (!inputs.allFinite())
  {
    return Status::kNonFiniteInput;
  }
  evaluation.inputs = inputs;
  return Status::kOk;
}

}  // namespace

Status Dynamics::solve(const ConstVectorRef & inputs, Workspace & workspace) const noexcept
  CD_NONBLOCKING
{
  if (!owns(workspace))
  {
    return Status::kForeignWorkspace;
  }
  const Status status = set_inputs(inputs, workspace.impl_->evaluation);
  return status == Status::kOk ? solve(workspace) : status;
}

Status Dynamics::solve(Workspace & workspace) const noexcept CD_NONBLOCKING
{
  Workspace::Impl & work = *workspace.impl_;
  Evaluation & evaluation = work.evaluation;
  const Status status =
    impl_->formulation->solve(evaluation, *work.formulation_data, work.solution);
  if (has_output(status))
  {
    evaluation.note_solution();
  }
  return status;
}

Status Dynamics::solve(
  double time, const ConstVectorRef & q, const ConstVectorRef & u, const ConstVectorRef & inputs,
  Workspace & workspace) const noexcept CD_NONBLOCKING
{
  if (!owns(workspace))
  {
    return Status::kForeignWorkspace;
  }
  // Inputs that are refused leave the workspace where it was.
  Status status = set_inputs(inputs, workspace.impl_->evaluation);
  status = status == Status::kOk ? set_state(time, q, u, workspace) : status;
  return status == Status::kOk ? solve(workspace) : status;
}

Status Dynamics::reduce(
  Workspace & workspace, Reduction & reduction, ReductionParts parts) const noexcept CD_NONBLOCKING
{
  return owns(workspace) ? reduction.reduce(workspace.impl_->evaluation, parts)
                         : Status::kForeignWorkspace;
}

Status Dynamics::add_forces(Workspace & workspace, Reduction & reduction) const noexcept
  CD_NONBLOCKING
{
  return owns(workspace) ? reduction.add_forces(workspace.impl_->evaluation)
                         : Status::kForeignWorkspace;
}

Status Dynamics::solve(const ConstVectorRef & inputs, Reduction & reduction, Workspace & workspace)
  const noexcept CD_NONBLOCKING
{
  if (!owns(workspace))
  {
    return Status::kForeignWorkspace;
  }
  Workspace::Impl & work = *workspace.impl_;
  const Status status = reduction.solve(inputs, work.evaluation);
  if (has_output(status))
  {
    work.evaluation.scatter(work.solution);
    work.evaluation.note_solution();
  }
  return status;
}

}  // namespace constrained_dynamics
