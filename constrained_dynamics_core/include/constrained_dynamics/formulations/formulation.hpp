// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <memory>
#include <string>

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
class MultiplierForces;
struct Solution;

/// Scratch memory of one formulation for one thread.
class CONSTRAINED_DYNAMICS_EXPORT FormulationData
{
public:
  virtual ~FormulationData();
};

/// A method that computes accelerations and forces of the constrained system at one state (an
/// Evaluation). Constant; threads may share it, each with its own FormulationData. All formulations
/// agree to round-off.
///
/// Most formulations solve a row problem and derive from RowFormulation, which is simpler.
class CONSTRAINED_DYNAMICS_EXPORT Formulation
{
public:
  virtual ~Formulation();

  /// Stable id, e.g. "kane_nonminimal".
  virtual const char * name() const noexcept CD_NONBLOCKING = 0;

  /// Says why the formulation cannot solve a constrained system at any state; empty if it may.
  std::string refusal(const ConstrainedSystem & system) const { return do_refusal(system); }

  /// Allocates scratch memory for a constrained system that is not refused. Real-time safe: no.
  virtual std::unique_ptr<FormulationData> make_data(const ConstrainedSystem & system) const = 0;

  /// Computes accelerations and forces at the state of the evaluation, for its inputs, active
  /// constraints and given multipliers. Requests only those parts of the evaluation that it needs.
  /// Statuses with output: kOk, kSingular, kInconsistent. Without output: kSingularInertia (also if
  /// the formulation does not exist for this Q), kNonFiniteInput, kNonFiniteResult, kSizeMismatch,
  /// kNoState, kDeclined and those of the evaluation. Real-time safe: yes.
  [[nodiscard]] Status solve(Evaluation & evaluation, FormulationData & data, Solution & solution)
    const noexcept CD_NONBLOCKING
  {
    return do_solve(evaluation, data, solution);
  }

  /// Records a state at which the rows are regular and evaluated. The rank analysis calls this for
  /// formulations that compare later states with it; most do nothing.
  void measure(Evaluation & evaluation, FormulationData & data) const
  {
    do_measure(evaluation, data);
  }

  /// The formulation that solves problems given by rows alone, such as projections. A
  /// RowFormulation returns itself.
  virtual const RowFormulation & row_form() const noexcept = 0;

  /// Whether the formulation chooses independent speeds that RowFormulation::correct can keep.
  virtual bool has_independent_speeds() const noexcept { return false; }

  /// The forces that depend on constraint forces, if the formulation solves for such
  /// (MultiplierFormulation); null otherwise.
  virtual std::shared_ptr<const MultiplierForces> multiplier_forces() const { return nullptr; }

protected:
  virtual Status do_solve(Evaluation & evaluation, FormulationData & data, Solution & solution)
    const noexcept CD_NONBLOCKING = 0;
  virtual void do_measure(Evaluation & evaluation, FormulationData & data) const;
  virtual std::string do_refusal(const ConstrainedSystem & system) const;
};

/// The problem of a RowFormulation: find u̇ and λ with
///     (E2) Q u̇ = h + Aᵀ λ,  h = P + G τ,     (E3) A u̇ = b.
struct RowProblem
{
  ConstMatrixRef mass_matrix;        ///< Q (n × n)
  ConstVectorRef force;              ///< h (n)
  ConstMatrixRef rows;               ///< A (m × n)
  ConstVectorRef bias;               ///< b (m)
  ConstVectorRef row_scale;          ///< S (m): 1 over the sizes that rows could have
  ConstVectorRef multiplier_weight;  ///< (m): ‖diag(weight) λ‖ is minimal for redundant rows
  int nominal_rank;                  ///< of A on the manifold, or RowFactorisation::kUnknownRank
  double speed_square = 0.0;  ///< ‖u‖² (impacts: ‖u‖), largest S b of rows between bodies
};

/// Solution of a RowProblem, with its full sizes n and m_max; the first m multipliers are valid.
struct CONSTRAINED_DYNAMICS_EXPORT RowSolution
{
  Eigen::VectorXd acceleration;      ///< u̇ (n)
  Eigen::VectorXd constraint_force;  ///< F^c = Q u̇ − h (n) (E7)
  Eigen::VectorXd multipliers;       ///< λ (E8)
  Eigen::VectorXd redundancy;        ///< of each row, see RowFactorisation::redundancy
  int rank = 0;
  double condition = 1.0;
  double inconsistency = 0.0;  ///< A u̇ − b of the worst row, relative; see RankOptions

  /// Allocates the memory. Real-time safe: no.
  void resize(Eigen::Index speed_count, Eigen::Index max_row_count);
};

/// A formulation that needs only the terms Q, P, G and the rows A, b of a system.
class CONSTRAINED_DYNAMICS_EXPORT RowFormulation : public Formulation
{
public:
  /// Allocates scratch memory for n speeds and at most `max_row_count` rows. Real-time safe: no.
  virtual std::unique_ptr<FormulationData> make_data(int speed_count, int max_row_count) const = 0;
  std::unique_ptr<FormulationData> make_data(const ConstrainedSystem & system) const override;

  /// Evaluates what the formulation needs in addition to the problem, for the next solve with these
  /// data, e.g. a complement given by the user. Most formulations need nothing.
  /// @param system at the state of the problem. Statuses: kOk, kNonFiniteResult. Real-time safe:
  /// yes.
  [[nodiscard]] Status prepare(const SystemData & system, FormulationData & data) const noexcept
    CD_NONBLOCKING
  {
    return do_prepare(system, data);
  }

  using Formulation::solve;
  /// Solves a problem that is given by its rows. Statuses with output: kOk, kSingular,
  /// kInconsistent. Without output: kSingularInertia (also if the formulation does not exist for
  /// this Q), kNonFiniteInput, kNonFiniteResult, kSizeMismatch. Real-time safe: yes.
  [[nodiscard]] Status solve(
    const RowProblem & problem, const RankOptions & options, FormulationData & data,
    RowSolution & solution) const noexcept CD_NONBLOCKING
  {
    return do_solve_rows(problem, options, data, solution);
  }

  /// Finds the change of speeds δ with A δ = b that does not change the independent speeds, δ_I = 0
  /// and δ_D = β (E4). Writes only solution.acceleration and the rank. Q, h and the weights are not
  /// used, but must have the right sizes. @pre has_independent_speeds().
  /// Statuses with output: kOk, kSingular. Without output: kNonFiniteInput, kNonFiniteResult,
  /// kSizeMismatch. Real-time safe: yes.
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
  /// Needed only by formulations that choose independent speeds.
  virtual Status do_correct(
    const RowProblem & problem, const RankOptions & options, FormulationData & data,
    RowSolution & solution) const noexcept CD_NONBLOCKING;
};

}  // namespace constrained_dynamics
