// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <memory>

#include <Eigen/Core>

#include "constrained_dynamics/constraints/constraint.hpp"
#include "constrained_dynamics/dynamics/reduction.hpp"
#include "constrained_dynamics/dynamics/workspace.hpp"
#include "constrained_dynamics/formulations/dynamics_options.hpp"
#include "constrained_dynamics/formulations/formulation.hpp"
#include "constrained_dynamics/model/system.hpp"
#include "constrained_dynamics/status.hpp"
#include "constrained_dynamics/types.hpp"

namespace constrained_dynamics
{

/// ∂φ̇/∂u, ∂ψ/∂u: A with the columns of driven speeds in place. Real-time safe: no.
CONSTRAINED_DYNAMICS_EXPORT Eigen::MatrixXd complete_jacobian(
  const System & system, const Rows & rows);

/// A constrained system: system, constraints, formulation, options. Constant after building; may be
/// shared by threads, each with a Workspace of its own. Copies share what they describe.
///
///     Workspace workspace(dynamics, state);                            // once
///     Status status = dynamics.solve(t, q, u, inputs, workspace);      // each cycle
///     workspace.solution().acceleration ...
///
/// A cycle may also be taken apart: `set_state`, then whatever is wanted at that state, in any
/// order and as often as wanted. Each part is evaluated once for each state, when it is first
/// needed.
///
/// All functions return kForeignWorkspace, and touch nothing, where the workspace was made for
/// another Dynamics. Copies of a Dynamics count as the same.
class CONSTRAINED_DYNAMICS_EXPORT Dynamics
{
public:
  /// @param formulation none stands for Automatic.
  /// @throw std::invalid_argument for options out of range, gain matrices of the wrong size, a
  /// formulation that refuses the system (Formulation::refusal), or
  /// Stabilisation::keep_independent with a formulation that has no independent speeds.
  explicit Dynamics(
    ConstraintSet constraints, DynamicsOptions options = {},
    std::shared_ptr<const Formulation> formulation = nullptr);

  const System & system() const noexcept CD_NONBLOCKING;
  const ConstraintSet & constraints() const noexcept CD_NONBLOCKING;
  const DynamicsOptions & options() const noexcept CD_NONBLOCKING;
  const Formulation & formulation() const noexcept CD_NONBLOCKING { return *formulation_; }

  /// Puts a workspace at a state and evaluates the kinematics there. Where the status is
  /// kSizeMismatch or kNonFiniteInput the workspace stays where it was. Other statuses: those of
  /// System::update_kinematics. Real-time safe: yes.
  [[nodiscard]] Status set_state(
    double time, const ConstVectorRef & q, const ConstVectorRef & u,
    Workspace & workspace) const noexcept CD_NONBLOCKING;

  /// Asks for the rows φ, φ̇, A, b at the state of the workspace. Statuses: kOk, kNoState, those of
  /// Constraint::evaluate. Real-time safe: yes.
  [[nodiscard]] Status evaluate_rows(Workspace & workspace) const noexcept CD_NONBLOCKING;
  /// `set_state`, then the rows there.
  [[nodiscard]] Status evaluate_rows(
    double time, const ConstVectorRef & q, const ConstVectorRef & u,
    Workspace & workspace) const noexcept CD_NONBLOCKING;
  /// Asks for the terms Q, P, G at the state of the workspace. Statuses: kOk, kNoState, those of
  /// System::update_dynamics. Real-time safe: yes.
  [[nodiscard]] Status evaluate_terms(Workspace & workspace) const noexcept CD_NONBLOCKING;

  /// One cycle: accelerations, multipliers, constraint forces and wrenches (E1 to E8) at a state,
  /// into workspace.solution().
  /// @param inputs τ (l). Statuses: those of set_state and of the solve below. Real-time safe: yes.
  [[nodiscard]] Status solve(
    double time, const ConstVectorRef & q, const ConstVectorRef & u, const ConstVectorRef & inputs,
    Workspace & workspace) const noexcept CD_NONBLOCKING;
  /// The same at the state of the workspace; also to solve again with other inputs, active
  /// constraints or given multipliers. Without output the solution is not changed.
  /// Statuses: those of Formulation::solve. Real-time safe: yes.
  [[nodiscard]] Status solve(const ConstVectorRef & inputs, Workspace & workspace) const noexcept
    CD_NONBLOCKING;

  /// Terms, factorisation of the rows and response to the inputs (E24) at the state of the
  /// workspace, whatever the formulation is. Statuses: kOk, kSingular; kSingularInertia,
  /// kNonFiniteInput, kNonFiniteResult, kNoState, kSizeMismatch (the reduction was made for other
  /// sizes) and those of evaluate_rows and evaluate_terms without output. Real-time safe: yes.
  [[nodiscard]] Status reduce(
    Workspace & workspace, Reduction & reduction,
    ReductionParts parts = {}) const noexcept CD_NONBLOCKING;
  /// Solves for inputs τ from a reduction at the state of the workspace, which is not done again.
  /// Statuses: those of `solve`; kNoState where the reduction is of another state. Real-time safe:
  /// yes.
  [[nodiscard]] Status solve(
    const ConstVectorRef & inputs, Reduction & reduction,
    Workspace & workspace) const noexcept CD_NONBLOCKING;

  /// Row directions below this fraction are left alone by projections: close to a singular position
  /// the correction would be rounding divided by the distance. They are met again a little later.
  static constexpr double kProjectionSingularTolerance = 1e-5;

  /// Moves q to φ(q, t) = 0 by the physically smallest correction (in the norm of Q), or by one
  /// that changes dependent speeds only (Stabilisation::keep_independent) where that converges.
  /// Newton with at most `kProjectionIterations` iterations. q is untouched unless the status is
  /// kOk. The workspace is at no state afterwards. Statuses: kOk, kNotConverged, failures of
  /// evaluation. Real-time safe: yes.
  [[nodiscard]] Status project_position(
    double time, VectorRef q, Workspace & workspace,
    double singular_tolerance = kProjectionSingularTolerance) const noexcept CD_NONBLOCKING;

  /// Moves u to φ̇ = 0 and ψ = 0. Likewise.
  [[nodiscard]] Status project_velocity(
    double time, const ConstVectorRef & q, VectorRef u, Workspace & workspace,
    double singular_tolerance = kProjectionSingularTolerance) const noexcept CD_NONBLOCKING;

  static constexpr int kProjectionIterations = 12;

private:
  friend class Workspace;

  Dynamics(
    std::shared_ptr<const ConstrainedSystem> system,
    std::shared_ptr<const Formulation> formulation);
  /// Whether a workspace was made for this Dynamics or a copy of it.
  bool owns(const Workspace & workspace) const noexcept CD_NONBLOCKING;
  /// For the inputs that the workspace has.
  Status solve(Workspace & workspace) const noexcept CD_NONBLOCKING;

  std::shared_ptr<const ConstrainedSystem> system_;
  std::shared_ptr<const Formulation> formulation_;
};

}  // namespace constrained_dynamics
