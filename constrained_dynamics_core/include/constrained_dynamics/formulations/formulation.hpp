// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <memory>

#include <Eigen/Core>

#include "constrained_dynamics/formulations/row_factorisation.hpp"
#include "constrained_dynamics/status.hpp"
#include "constrained_dynamics/types.hpp"

namespace constrained_dynamics
{

class SystemData;

/// What a formulation solves: find u̇ and λ with
///     (E2) Q u̇ = h + Aᵀ λ,  h = P + G τ,     (E3) A u̇ = b.
struct RowProblem
{
  ConstMatrixRef mass_matrix;        ///< Q (n × n)
  ConstVectorRef force;              ///< h (n)
  ConstMatrixRef rows;               ///< A (m × n)
  ConstVectorRef bias;               ///< b (m)
  ConstVectorRef row_scale;          ///< S (m): 1 over the sizes that rows could have
  ConstVectorRef multiplier_weight;  ///< (m): ‖diag(weight) λ‖ is least among redundant rows
  int nominal_rank;                  ///< of A on the manifold, or RowFactorisation::kUnknownRank
  double speed_square = 0.0;  ///< ‖u‖²: S b of rows between bodies is of this size at most
};

/// What a formulation gives, at its full sizes n and m_max; the first m multipliers are valid.
struct RowSolution
{
  Eigen::VectorXd acceleration;      ///< u̇ (n)
  Eigen::VectorXd constraint_force;  ///< F^c = Q u̇ − h (n) (E7)
  Eigen::VectorXd multipliers;       ///< λ (E8)
  Eigen::VectorXd redundancy;        ///< of each row, see RowFactorisation::redundancy
  int rank = 0;
  double condition = 1.0;
  double inconsistency = 0.0;  ///< ‖A u̇ − b‖, relative; see RankOptions
};

/// Scratch of one formulation and one thread.
class CONSTRAINED_DYNAMICS_EXPORT FormulationData
{
public:
  virtual ~FormulationData();
};

/// A way from rows to accelerations and forces. Constant, may be shared by threads, each with a
/// FormulationData of its own. All formulations agree to rounding.
class CONSTRAINED_DYNAMICS_EXPORT Formulation
{
public:
  virtual ~Formulation();

  /// Stable id, e.g. "kane_nonminimal".
  virtual const char * name() const noexcept CD_NONBLOCKING = 0;

  /// Scratch for n speeds and at most `max_row_count` rows. Real-time safe: no.
  virtual std::unique_ptr<FormulationData> make_data(int speed_count, int max_row_count) const = 0;

  /// Takes from the state what the formulation needs besides the problem, for the next solve with
  /// these data: a complement that the user gives, for instance; most need nothing.
  /// @param system at the state of the problem. Statuses: kOk, kNonFiniteResult. Real-time safe:
  /// yes.
  [[nodiscard]] Status prepare(const SystemData & system, FormulationData & data) const noexcept
    CD_NONBLOCKING
  {
    return do_prepare(system, data);
  }

  /// Solves the problem. Statuses: kOk; kSingular and kInconsistent with outputs; kSingularInertia
  /// (also where the formulation does not exist for this Q), kNonFiniteInput, kNonFiniteResult and
  /// kSizeMismatch without. Real-time safe: yes.
  [[nodiscard]] Status solve(
    const RowProblem & problem, const RankOptions & options, FormulationData & data,
    RowSolution & solution) const noexcept CD_NONBLOCKING
  {
    return do_solve(problem, options, data, solution);
  }

  /// Whether the formulation chooses independent speeds that `correct` can leave alone.
  virtual bool has_independent_speeds() const noexcept { return false; }

  /// The change of speeds δ with A δ = b that leaves the independent speeds alone, δ_I = 0 and
  /// δ_D = β (E4), into solution.acceleration; of the solution only that and the rank are written.
  /// Q, h and the weights are not used, but must have their sizes. @pre has_independent_speeds().
  /// Statuses: kOk and kSingular with outputs; kNonFiniteInput, kNonFiniteResult and kSizeMismatch
  /// without. Real-time safe: yes.
  [[nodiscard]] Status correct(
    const RowProblem & problem, const RankOptions & options, FormulationData & data,
    RowSolution & solution) const noexcept CD_NONBLOCKING
  {
    return do_correct(problem, options, data, solution);
  }

protected:
  virtual Status do_prepare(const SystemData & system, FormulationData & data) const noexcept
    CD_NONBLOCKING;
  virtual Status do_solve(
    const RowProblem & problem, const RankOptions & options, FormulationData & data,
    RowSolution & solution) const noexcept CD_NONBLOCKING = 0;
  /// Those that choose no independent speeds need none.
  virtual Status do_correct(
    const RowProblem & problem, const RankOptions & options, FormulationData & data,
    RowSolution & solution) const noexcept CD_NONBLOCKING;
};

}  // namespace constrained_dynamics
