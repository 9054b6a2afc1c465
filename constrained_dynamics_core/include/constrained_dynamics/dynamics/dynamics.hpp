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

/// ∂φ̇/∂u and ∂ψ/∂u (m × n): A with the columns of driven speeds filled in. Real-time safe: no.
CONSTRAINED_DYNAMICS_EXPORT Eigen::MatrixXd complete_jacobian(
  const System & system, const Rows & rows);

/// A constrained system: system, constraints, formulation and options. Constant after construction;
/// threads may share it, each with its own Workspace. Copies share the same data.
///
///     Workspace workspace(dynamics, state);                            // once
///     Status status = dynamics.solve(t, q, u, inputs, workspace);      // each cycle
///     workspace.solution().acceleration ...
///
/// A cycle may also be split: `set_state`, then any of the functions at that state, in any order
/// and any number of times. Each part is evaluated once per state, when it is first needed.
///
/// All functions return kForeignWorkspace, and change nothing, if the workspace was made for
/// another Dynamics. Copies of a Dynamics count as the same.
class CONSTRAINED_DYNAMICS_EXPORT Dynamics
{
public:
  /// @param formulation null: Automatic.
  /// @throw std::invalid_argument for options out of range, gain matrices of the wrong size, a
  /// formulation that refuses the system (Formulation::refusal), or
  /// Stabilisation::keep_independent with a formulation that has no independent speeds.
  explicit Dynamics(
    ConstraintSet constraints, DynamicsOptions options = {},
    std::shared_ptr<const Formulation> formulation = nullptr);

  const System & system() const noexcept CD_NONBLOCKING;
  const ConstraintSet & constraints() const noexcept CD_NONBLOCKING;
  const DynamicsOptions & options() const noexcept CD_NONBLOCKING;
  const Formulation & formulation() const noexcept CD_NONBLOCKING;

  /// Sets the state of a workspace and evaluates the kinematics there. If the status is
  /// kSizeMismatch or kNonFiniteInput, the workspace keeps its previous state. Other statuses:
  /// those of System::update_kinematics. Real-time safe: yes.
  [[nodiscard]] Status set_state(
    double time, const ConstVectorRef & q, const ConstVectorRef & u,
    Workspace & workspace) const noexcept CD_NONBLOCKING;

  /// Evaluates the rows φ, φ̇, A, b at the state of the workspace, unless they are available.
  /// Statuses: kOk, kNoState, those of Constraint::evaluate. Real-time safe: yes.
  [[nodiscard]] Status evaluate_rows(Workspace & workspace) const noexcept CD_NONBLOCKING;
  /// Calls `set_state`, then evaluates the rows. Real-time safe: yes.
  [[nodiscard]] Status evaluate_rows(
    double time, const ConstVectorRef & q, const ConstVectorRef & u,
    Workspace & workspace) const noexcept CD_NONBLOCKING;
  /// Evaluates the terms Q, P, G at the state of the workspace, unless they are available.
  /// Statuses: kOk, kNoState, those of System::update_dynamics. Real-time safe: yes.
  [[nodiscard]] Status evaluate_terms(Workspace & workspace) const noexcept CD_NONBLOCKING;

  /// One cycle: computes accelerations, multipliers, constraint forces and wrenches (E1 to E8) at a
  /// state and stores them in workspace.solution().
  /// @param inputs τ (l). Statuses: those of set_state and of the solve below. Real-time safe: yes.
  [[nodiscard]] Status solve(
    double time, const ConstVectorRef & q, const ConstVectorRef & u, const ConstVectorRef & inputs,
    Workspace & workspace) const noexcept CD_NONBLOCKING;
  /// The same at the state of the workspace. Use it also to solve again with other inputs, active
  /// constraints or given multipliers. The solution is not changed unless has_output(status).
  /// Statuses: those of Formulation::solve. Real-time safe: yes.
  [[nodiscard]] Status solve(const ConstVectorRef & inputs, Workspace & workspace) const noexcept
    CD_NONBLOCKING;

  /// Computes the response to the inputs (E24) at the state of the workspace, for any formulation.
  /// Statuses with output: kOk, kSingular. Without output: kSingularInertia, kNonFiniteInput,
  /// kNonFiniteResult, kNoState, kSizeMismatch (the reduction was made for other sizes) and those
  /// of evaluate_rows and evaluate_terms. Real-time safe: yes.
  [[nodiscard]] Status reduce(
    Workspace & workspace, Reduction & reduction,
    ReductionParts parts = {}) const noexcept CD_NONBLOCKING;
  /// Adds ReductionParts::forces to a reduction at the state of the workspace. Statuses: kOk;
  /// kNoState if the reduction belongs to another state. Real-time safe: yes.
  [[nodiscard]] Status add_forces(Workspace & workspace, Reduction & reduction) const noexcept
    CD_NONBLOCKING;
  /// Solves for inputs τ (l) by reusing a reduction at the state of the workspace. Statuses: those
  /// of `solve`; kNoState if the reduction belongs to another state. Real-time safe: yes.
  [[nodiscard]] Status solve(
    const ConstVectorRef & inputs, Reduction & reduction,
    Workspace & workspace) const noexcept CD_NONBLOCKING;

  /// Projections ignore row directions below this fraction: close to a singular position the
  /// correction would be round-off divided by the distance. The rows are satisfied again a little
  /// later.
  static constexpr double kProjectionSingularTolerance = 1e-5;

  /// Moves q (nq) to φ(q, t) = 0 by the smallest correction in the norm of Q, or by a correction
  /// along dependent speeds only (Stabilisation::keep_independent) if that converges. Uses at most
  /// `kProjectionIterations` Newton iterations. q is untouched unless the status is kOk. The
  /// workspace has no state afterwards. Statuses: kOk, kNotConverged, failures of evaluation.
  /// Real-time safe: yes.
  [[nodiscard]] Status project_position(
    double time, VectorRef q, Workspace & workspace,
    double singular_tolerance = kProjectionSingularTolerance) const noexcept CD_NONBLOCKING;

  /// Moves u (n) to φ̇ = 0 and ψ = 0 in the same way. Real-time safe: yes.
  [[nodiscard]] Status project_velocity(
    double time, const ConstVectorRef & q, VectorRef u, Workspace & workspace,
    double singular_tolerance = kProjectionSingularTolerance) const noexcept CD_NONBLOCKING;

  static constexpr int kProjectionIterations = 12;

private:
  friend class Workspace;
  struct Impl;

  /// Whether a workspace was made for this Dynamics or a copy of it.
  bool owns(const Workspace & workspace) const noexcept CD_NONBLOCKING;
  /// Solves for the inputs stored in the workspace.
  Status solve(Workspace & workspace) const noexcept CD_NONBLOCKING;

  std::shared_ptr<const Impl> impl_;
};

}  // namespace constrained_dynamics
