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

class Evaluation;
class RowFormulation;
class SystemData;
struct ConstrainedSystem;
struct Solution;

/// Scratch of one formulation and one thread.
class CONSTRAINED_DYNAMICS_EXPORT FormulationData
{
public:
  virtual ~FormulationData();
};

/// A way from the constrained system at one state (an Evaluation) to accelerations and forces.
/// Constant; may be shared by threads, each with a FormulationData of its own. All formulations
/// agree to rounding.
///
/// Most formulations solve rows and derive from RowFormulation, which needs less.
class CONSTRAINED_DYNAMICS_EXPORT Formulation
{
public:
  virtual ~Formulation();

  /// Stable id, e.g. "kane_nonminimal".
  virtual const char * name() const noexcept CD_NONBLOCKING = 0;

  /// Scratch for a constrained system. Real-time safe: no.
  virtual std::unique_ptr<FormulationData> make_data(const ConstrainedSystem & system) const = 0;

  /// Accelerations and forces at the state of the evaluation, for its inputs, active constraints
  /// and given multipliers. Asks the evaluation for the parts that it needs and for no others.
  /// Statuses: kOk; kSingular and kInconsistent with outputs; kSingularInertia (also where the
  /// formulation does not exist for this Q), kNonFiniteInput, kNonFiniteResult, kSizeMismatch,
  /// kNoState, kDeclined and those of the evaluation without. Real-time safe: yes.
  [[nodiscard]] Status solve(Evaluation & evaluation, FormulationData & data, Solution & solution)
    const noexcept CD_NONBLOCKING
  {
    return do_solve(evaluation, data, solution);
  }

  /// Takes note of a state where the rows are regular and evaluated. Called by the rank analysis,
  /// for formulations that compare later states with it; most need nothing.
  void measure(Evaluation & evaluation, FormulationData & data) const
  {
    do_measure(evaluation, data);
  }

  /// The form that solves problems given by their rows alone, such as projections: the formulation
  /// itself where it is a RowFormulation.
  virtual const RowFormulation & row_form() const noexcept = 0;

  /// Whether the formulation chooses independent speeds that RowFormulation::correct can leave
  /// alone.
  virtual bool has_independent_speeds() const noexcept { return false; }

protected:
  virtual Status do_solve(Evaluation & evaluation, FormulationData & data, Solution & solution)
    const noexcept CD_NONBLOCKING = 0;
  virtual void do_measure(Evaluation & evaluation, FormulationData & data) const;
};

/// What a RowFormulation solves: find u̇ and λ with
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
  double speed_square = 0.0;  ///< ‖u‖² (impacts: ‖u‖), what S b of rows between bodies can be
};

/// What a RowFormulation gives, at its full sizes n and m_max; the first m multipliers are valid.
struct CONSTRAINED_DYNAMICS_EXPORT RowSolution
{
  Eigen::VectorXd acceleration;      ///< u̇ (n)
  Eigen::VectorXd constraint_force;  ///< F^c = Q u̇ − h (n) (E7)
  Eigen::VectorXd multipliers;       ///< λ (E8)
  Eigen::VectorXd redundancy;        ///< of each row, see RowFactorisation::redundancy
  int rank = 0;
  double condition = 1.0;
  double inconsistency = 0.0;  ///< A u̇ − b of the worst row, relative; see RankOptions

  /// Takes the memory.
  void resize(Eigen::Index speed_count, Eigen::Index max_row_count);
};

/// A formulation that needs the terms Q, P, G and the rows A, b, and nothing else of the system.
class CONSTRAINED_DYNAMICS_EXPORT RowFormulation : public Formulation
{
public:
  /// Scratch for n speeds and at most `max_row_count` rows. Real-time safe: no.
  virtual std::unique_ptr<FormulationData> make_data(int speed_count, int max_row_count) const = 0;
  std::unique_ptr<FormulationData> make_data(const ConstrainedSystem & system) const override;

  /// Takes from the state what the formulation needs besides the problem, for the next solve with
  /// these data: a complement that the user gives, for instance; most need nothing.
  /// @param system at the state of the problem. Statuses: kOk, kNonFiniteResult. Real-time safe:
  /// yes.
  [[nodiscard]] Status prepare(const SystemData & system, FormulationData & data) const noexcept
    CD_NONBLOCKING
  {
    return do_prepare(system, data);
  }

  using Formulation::solve;
  /// Solves a problem that is given by its rows. Statuses: kOk; kSingular and kInconsistent with
  /// outputs; kSingularInertia (also where the formulation does not exist for this Q),
  /// kNonFiniteInput, kNonFiniteResult and kSizeMismatch without. Real-time safe: yes.
  [[nodiscard]] Status solve(
    const RowProblem & problem, const RankOptions & options, FormulationData & data,
    RowSolution & solution) const noexcept CD_NONBLOCKING
  {
    return do_solve_rows(problem, options, data, solution);
  }

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

  const RowFormulation & row_form() const noexcept override { return *this; }

protected:
  Status do_solve(Evaluation & evaluation, FormulationData & data, Solution & solution)
    const noexcept CD_NONBLOCKING override;
  virtual Status do_prepare(const SystemData & system, FormulationData & data) const noexcept
    CD_NONBLOCKING;
  virtual Status do_solve_rows(
    const RowProblem & problem, const RankOptions & options, FormulationData & data,
    RowSolution & solution) const noexcept CD_NONBLOCKING = 0;
  /// Those that choose no independent speeds need none.
  virtual Status do_correct(
    const RowProblem & problem, const RankOptions & options, FormulationData & data,
    RowSolution & solution) const noexcept CD_NONBLOCKING;
};

}  // namespace constrained_dynamics
