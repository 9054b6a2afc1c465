// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <memory>
#include <utility>

#include <Eigen/Core>

#include "constrained_dynamics/dynamics/dynamics.hpp"
#include "constrained_dynamics/dynamics/input_law.hpp"
#include "constrained_dynamics/formulations/formulation.hpp"
#include "dynamics/workspace_impl.hpp"

namespace constrained_dynamics
{

/// A Dynamics with the law of its inputs, on one workspace: evaluates states for contacts and
/// simulations, which call Dynamics only through it.
///
/// Only the constructor allocates. Everything else is real-time safe.
class ControlledDynamics
{
public:
  /// @param law null: τ = 0.
  /// @param needs_rows whether rows of inactive constraints are needed, as for contacts.
  ControlledDynamics(
    std::shared_ptr<const Dynamics> dynamics, std::shared_ptr<InputLaw> law, bool needs_rows);

  const Dynamics & dynamics() const { return *dynamics_; }
  const System & system() const { return dynamics_->system(); }
  InputLaw * law() const { return law_.get(); }
  /// τ of the last evaluation, also of inputs that depend on constraint forces.
  const Eigen::VectorXd & inputs() const
  {
    return has_multiplier_forces_ ? WorkspaceAccess::evaluation(workspace_).inputs : inputs_;
  }
  const Workspace & workspace() const { return workspace_; }
  Workspace & workspace() { return workspace_; }

  /// Rank and sizes of the rows around a state, see Workspace::reset. Real-time safe: no.
  RankReport analyse(const State & state) { return workspace_.reset(state); }

  /// Kinematics, rows and inputs at a state. Statuses: those of Dynamics::evaluate_rows and of the
  /// law.
  Status update(double time, const ConstVectorRef & q, const ConstVectorRef & u) noexcept
    CD_NONBLOCKING;
  /// Kinematics and rows at a state, without inputs.
  Status update_rows(double time, const ConstVectorRef & q, const ConstVectorRef & u) noexcept
    CD_NONBLOCKING
  {
    return dynamics_->evaluate_rows(time, q, u, workspace_);
  }
  /// Only the kinematics at a state.
  Status set_state(double time, const ConstVectorRef & q, const ConstVectorRef & u) noexcept
    CD_NONBLOCKING
  {
    return dynamics_->set_state(time, q, u, workspace_);
  }
  /// The terms of the system at the state of the last update.
  Status update_terms() noexcept CD_NONBLOCKING { return dynamics_->evaluate_terms(workspace_); }

  /// Motion at the state of the last `update`; with rows and terms if contacts need them. May be
  /// repeated after a change of given multipliers or active constraints.
  Status solve() noexcept CD_NONBLOCKING
  {
    const Status status = needs_rows_ ? update_terms() : Status::kOk;
    return status == Status::kOk ? dynamics_->solve(inputs_, workspace_) : status;
  }

  /// See Dynamics.
  Status project_position(
    double time, VectorRef q,
    double singular_tolerance = Dynamics::kProjectionSingularTolerance) noexcept CD_NONBLOCKING
  {
    return dynamics_->project_position(time, q, workspace_, singular_tolerance);
  }
  Status project_velocity(
    double time, const ConstVectorRef & q, VectorRef u,
    double singular_tolerance = Dynamics::kProjectionSingularTolerance) noexcept CD_NONBLOCKING
  {
    return dynamics_->project_velocity(time, q, u, workspace_, singular_tolerance);
  }

private:
  std::shared_ptr<const Dynamics> dynamics_;
  std::shared_ptr<InputLaw> law_;
  bool needs_rows_;
  bool has_multiplier_forces_;
  Workspace workspace_;
  Eigen::VectorXd inputs_;
};

inline ControlledDynamics::ControlledDynamics(
  std::shared_ptr<const Dynamics> dynamics, std::shared_ptr<InputLaw> law, bool needs_rows)
: dynamics_(std::move(dynamics)),
  law_(std::move(law)),
  needs_rows_(needs_rows),
  has_multiplier_forces_(dynamics_->formulation().multiplier_forces() != nullptr),
  workspace_(Workspace::unanalysed(*dynamics_)),
  inputs_(Eigen::VectorXd::Zero(dynamics_->system().input_count()))
{
}

inline Status ControlledDynamics::update(
  double time, const ConstVectorRef & q, const ConstVectorRef & u) noexcept CD_NONBLOCKING
{
  const Status status = needs_rows_ ? dynamics_->evaluate_rows(time, q, u, workspace_)
                                    : dynamics_->set_state(time, q, u, workspace_);
  if (status != Status::kOk || !law_)
  {
    return status;
  }
  law_->observe(workspace_);
  return law_->evaluate(dynamics_->system(), workspace_.change_system_data(), inputs_);
}

}  // namespace constrained_dynamics
