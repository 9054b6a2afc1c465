// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/dynamics/dynamics.hpp"
#include "constrained_dynamics/export.hpp"
#include "constrained_dynamics/status.hpp"
#include "constrained_dynamics/types.hpp"

/// @file
/// Derivatives of the constrained system (E17): of u̇, λ and F^c with respect to q, u and τ.

namespace constrained_dynamics
{

/// Derivatives of a Solution, in the order of the set; rows of inactive constraints are 0.
///
/// Columns of `…_q` are directions of the coordinates: column k is the derivative along δq = C e_k,
/// the motion of speed k. The elements of a quaternion cannot be varied independently, so ∂/∂q
/// itself is not defined for them; where nq = n, by_coordinates computes it.
///
/// du̇ and dF^c are always well defined along directions that satisfy the rows. Along directions
/// that violate them, they are well defined if no row is redundant. With redundant rows they are
/// derivatives of what Dynamics::solve computes, which ignores contradictions. dλ is unique without
/// redundant rows. With them it is the derivative of the minimum-norm multipliers (section 4 of
/// doc/equations.md), along directions that keep the rows redundant.
struct SolutionDerivatives
{
  Eigen::MatrixXd acceleration_q;          ///< of u̇ (n × n)
  Eigen::MatrixXd acceleration_u;          ///< ∂u̇/∂u (n × n)
  Eigen::MatrixXd acceleration_input;      ///< ∂u̇/∂τ (n × l)
  Eigen::MatrixXd acceleration_force;      ///< of u̇ by a generalized force (n × n)
  Eigen::MatrixXd multipliers_q;           ///< of λ (m × n)
  Eigen::MatrixXd multipliers_u;           ///< ∂λ/∂u (m × n)
  Eigen::MatrixXd multipliers_input;       ///< ∂λ/∂τ (m × l)
  Eigen::MatrixXd constraint_force_q;      ///< of F^c (n × n)
  Eigen::MatrixXd constraint_force_u;      ///< ∂F^c/∂u (n × n)
  Eigen::MatrixXd constraint_force_input;  ///< ∂F^c/∂τ (n × l)

  Eigen::MatrixXd transport;   ///< T (n × n): δ̇ = T δ + δu (E18)
  Eigen::MatrixXd position_q;  ///< of φ (m × n); 0 for velocity and acceleration rows
  Eigen::MatrixXd velocity_q;  ///< of φ̇ or ψ (m × n); 0 for acceleration rows
  Eigen::MatrixXd velocity_u;  ///< ∂φ̇/∂u or ∂ψ/∂u (m × n); 0 for acceleration rows

  bool system_is_analytic = false;  ///< whether the system's part is analytic
  std::vector<bool>
    constraint_is_analytic;  ///< analytic or inactive; others use finite differences
};

struct DerivativeOptions
{
  /// Uses finite differences of the terms even if they have analytic derivatives, to check those.
  bool force_differences = false;
};

/// Solves at a state and differentiates the solution, with inputs and external wrenches constant.
/// If a system or a constraint has no analytic derivatives, its terms (not the solution) are
/// differentiated by central differences of fourth order, with a relative accuracy of about 1e-10.
/// Afterwards `workspace` holds the solution at the state.
/// Statuses: those of Dynamics::solve; kNonFiniteResult if a derivative does not exist. `out` is
/// untouched unless has_output(status). Real-time safe: no (it allocates).
[[nodiscard]] CONSTRAINED_DYNAMICS_EXPORT Status differentiate(
  const Dynamics & dynamics, double time, const ConstVectorRef & q, const ConstVectorRef & u,
  const ConstVectorRef & inputs, Workspace & workspace, SolutionDerivatives & out,
  const DerivativeOptions & options = {});

/// Converts `directional` (… × n), a derivative in the directions of the speeds, to ∂/∂q at the
/// state of the workspace. @throw std::invalid_argument if nq ≠ n, where ∂/∂q does not exist.
[[nodiscard]] CONSTRAINED_DYNAMICS_EXPORT Eigen::MatrixXd by_coordinates(
  const Eigen::MatrixXd & directional, const Workspace & workspace);

}  // namespace constrained_dynamics
