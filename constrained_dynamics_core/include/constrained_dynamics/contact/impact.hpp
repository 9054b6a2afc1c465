// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/dynamics/dynamics.hpp"
#include "constrained_dynamics/export.hpp"
#include "constrained_dynamics/status.hpp"
#include "constrained_dynamics/types.hpp"

/// @file
/// Jumps of the speeds (E13): applied impulses, constraints that are switched on, and impacts.

namespace constrained_dynamics
{

/// Role of a constraint in an impact.
enum class ImpactRole : std::uint8_t
{
  kAbsent,     ///< nothing
  kEnforced,   ///< A (u⁺ − u⁻) = 0
  kImpacting,  ///< φ̇⁺ = −e φ̇⁻, or ψ⁺ = −e ψ⁻, two-sided; e = 0: suddenly applied
  kUnilateral,  ///< pushes with φ̇⁺ = −e φ̇⁻, or separates at least that fast without force
};

/// A constraint with one row that is unilateral in an impact, with its friction.
struct ImpactContact
{
  int constraint = 0;
  double side = 1.0;             ///< +1: φ ≤ 0 is admissible; −1: φ ≥ 0 is
  int friction_constraint = -1;  ///< one or two velocity rows: the slip; −1: frictionless
  double friction = 0.0;  ///< μ ≥ 0: |Λ_t| ≤ μ |Λ_n|, against the slip after the impact
};

/// An impact of the constraints of a Dynamics. Sizes are set once.
struct CONSTRAINED_DYNAMICS_EXPORT ImpactProblem
{
  /// All constraints are enforced, without restitution and impulse.
  explicit ImpactProblem(const Dynamics & dynamics);
  /// The active constraints are enforced, the others absent.
  ImpactProblem(const Dynamics & dynamics, const Workspace & workspace);

  std::vector<ImpactRole> roles;        ///< of each constraint
  Eigen::VectorXd restitution;          ///< e of each constraint, 0 to 1
  std::vector<ImpactContact> contacts;  ///< of those that are ImpactRole::kUnilateral
  Eigen::VectorXd impulse;              ///< I (n): applied generalized impulse
};

/// Outcome of a unilateral contact.
enum class ContactOutcome : std::uint8_t
{
  kAbsent,     ///< its role is not unilateral
  kSeparates,  ///< no impulse
  kPushes,     ///< pushes; if it has friction, the slip stops
  kSlides,     ///< pushes, and friction is at its bound
};

/// Result of an impact. Sizes are set once.
struct CONSTRAINED_DYNAMICS_EXPORT ImpactSolution
{
  explicit ImpactSolution(const Dynamics & dynamics, std::size_t contact_count = 0);

  Eigen::VectorXd speeds;              ///< u⁺ (n)
  Eigen::VectorXd multipliers;         ///< Λ (m), in the order of the set [N s, N m s]
  Eigen::VectorXd constraint_impulse;  ///< Aᵀ Λ = Q (u⁺ − u⁻) − I (n)
  std::vector<WrenchPair> wrenches;    ///< impulses on the bodies, see ConstraintSet::wrench_offset
  std::vector<ContactOutcome> outcomes;  ///< of each ImpactProblem::contacts
  double energy_change = 0.0;            ///< of the kinetic energy [J]
  /// Factor below 1 by which all restitutions were multiplied so that the energy does not increase.
  double restitution_scale = 1.0;
  int rank = 0;
  double inconsistency = 0.0;  ///< of the rows, see RankOptions
  /// Whether rows are nonlinear in u: the speeds then follow the path on which all ψ go to zero in
  /// proportion.
  bool path_dependent = false;
};

/// Solves impacts of one Dynamics (E13). Use one solver per thread.
///
/// With Δ = u⁺ − u⁻ this is the problem of a Formulation: Q Δ = I + AᵀΛ, A Δ = c, with c = 0 for
/// enforced rows and c = −(1 + e) φ̇⁻ for impacting ones. The contacts that push, stick and slide
/// are found with the Delassus matrix (doc/equations.md); the solution is then computed from their
/// rows.
///
/// Unequal e, or friction with restitution, may increase the kinetic energy although no row
/// contains the time and no impulse is applied. All e are then scaled down together, and the factor
/// is reported.
class CONSTRAINED_DYNAMICS_EXPORT ImpactSolver
{
public:
  /// @param max_contacts largest number of ImpactProblem::contacts.
  explicit ImpactSolver(const Dynamics & dynamics, std::size_t max_contacts = 0);
  ~ImpactSolver();
  ImpactSolver(ImpactSolver &&) noexcept;
  ImpactSolver & operator=(ImpactSolver &&) noexcept;

  /// Checks the preconditions of `solve`.
  /// @throw std::invalid_argument for wrong sizes, e outside [0, 1], friction that is negative or
  /// not finite, unilateral constraints with more than one row, or friction constraints without one
  /// or two velocity rows.
  void check(const ImpactProblem & problem) const;

  /// Computes the speeds after the impact. `out` is untouched unless has_output(status). Afterwards
  /// the workspace holds the rows of another state.
  /// Statuses: kOk; kSingular; kInconsistent (rows contradict each other; penetration cannot be
  /// prevented; or friction impulses satisfy their law only approximately, and the best ones found
  /// are returned); kNotConverged; failures of evaluation; kSingularInertia (unilateral contacts
  /// need Q > 0); kNonFiniteInput, kNonFiniteResult, kSizeMismatch.
  /// @pre check(problem) would not throw. Real-time safe: yes.
  [[nodiscard]] Status solve(
    const ImpactProblem & problem, double time, const ConstVectorRef & q, const ConstVectorRef & u,
    Workspace & workspace, ImpactSolution & out) noexcept CD_NONBLOCKING;

  /// Derivatives of the last solution, with contacts that push, stick and slide as they did:
  /// ∂u⁺/∂u⁻ and ∂u⁺/∂I (n × n each). They are exact if rows are linear in u, and include the
  /// change of the slip direction in three dimensions. A restitution_scale below 1 is held
  /// constant. Statuses as for `solve`; both matrices are untouched unless has_output(status).
  /// Real-time safe: yes.
  /// @param problem that of the last `solve`. kNotConverged for path-dependent impacts.
  [[nodiscard]] Status derivatives(
    const ImpactProblem & problem, MatrixRef by_speeds,
    MatrixRef by_impulse) noexcept CD_NONBLOCKING;

  /// ∂u⁺/∂q · C (n × n): column j is the derivative along speed j, by central differences of order
  /// 4, with contacts that push, stick and slide as they do at q. Statuses as above; not for
  /// path-dependent impacts. Real-time safe: yes.
  [[nodiscard]] Status position_derivative(
    const ImpactProblem & problem, double time, const ConstVectorRef & q, const ConstVectorRef & u,
    Workspace & workspace, MatrixRef out) noexcept CD_NONBLOCKING;

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Solves one impact at a state, with a temporary solver. Real-time safe: no.
/// @throw std::invalid_argument as ImpactSolver::check, and if there is no solution, with its
/// status. A status with output is stored in `status` if that is given.
CONSTRAINED_DYNAMICS_EXPORT ImpactSolution solve_impact(
  const Dynamics & dynamics, const ImpactProblem & problem, const State & state,
  Status * status = nullptr);

}  // namespace constrained_dynamics
