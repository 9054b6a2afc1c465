// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <cstddef>
#include <memory>
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

/// Derivatives of a Solution, in the order of the set; rows of inactive constraints are 0. Given
/// multipliers (Workspace::given_multipliers) are constant; the force that they exert changes with
/// the state.
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
    constraint_is_analytic;  ///< analytic or without force; others use finite differences

  /// Takes the memory for n speeds, m rows, l inputs and a number of constraints, all zero.
  void resize(
    Eigen::Index speed_count, Eigen::Index row_count, Eigen::Index input_count,
    std::size_t constraint_count);
};

struct DerivativeOptions
{
  /// Uses finite differences of the terms even if they have analytic derivatives, to check those.
  bool force_differences = false;
};

class SolutionDifferentiator;

/// Memory of `differentiate` and its last result. Created once; use one per thread.
class CONSTRAINED_DYNAMICS_EXPORT DerivativeWorkspace
{
public:
  /// Takes all memory. Real-time safe: no.
  explicit DerivativeWorkspace(const Dynamics & dynamics, const DerivativeOptions & options = {});
  ~DerivativeWorkspace();
  DerivativeWorkspace(DerivativeWorkspace &&) noexcept;
  DerivativeWorkspace & operator=(DerivativeWorkspace &&) noexcept;

  /// Result of the last `differentiate` with has_output(status); zeros before.
  const SolutionDerivatives & derivatives() const noexcept CD_NONBLOCKING;

private:
  friend struct DerivativeAccess;
  std::unique_ptr<SolutionDifferentiator> differentiator_;
};

/// Solves at a state and differentiates the solution, with inputs and external wrenches constant.
/// If a system or a constraint has no analytic derivatives, its terms (not the solution) are
/// differentiated by central differences of fourth order, with a relative accuracy of about 1e-10.
/// Afterwards `workspace` holds the solution and the rows at the state.
/// Statuses: those of Dynamics::solve; kSizeMismatch also if `out` was made for a Dynamics of other
/// sizes; kNonFiniteResult if a derivative does not exist. `out` is untouched unless
/// has_output(status). Real-time safe: yes.
[[nodiscard]] CONSTRAINED_DYNAMICS_EXPORT Status differentiate(
  const Dynamics & dynamics, double time, const ConstVectorRef & q, const ConstVectorRef & u,
  const ConstVectorRef & inputs, Workspace & workspace,
  DerivativeWorkspace & out) noexcept CD_NONBLOCKING;

/// The same with memory of its own, for single calls. Afterwards `workspace` also holds the terms.
/// Real-time safe: no (it allocates).
[[nodiscard]] CONSTRAINED_DYNAMICS_EXPORT Status differentiate(
  const Dynamics & dynamics, double time, const ConstVectorRef & q, const ConstVectorRef & u,
  const ConstVectorRef & inputs, Workspace & workspace, SolutionDerivatives & out,
  const DerivativeOptions & options = {});

/// Converts `directional` (… × n), a derivative in the directions of the speeds, to ∂/∂q at the
/// state of the workspace. @throw std::invalid_argument if nq ≠ n, where ∂/∂q does not exist.
[[nodiscard]] CONSTRAINED_DYNAMICS_EXPORT Eigen::MatrixXd by_coordinates(
  const Eigen::MatrixXd & directional, const Workspace & workspace);

}  // namespace constrained_dynamics
