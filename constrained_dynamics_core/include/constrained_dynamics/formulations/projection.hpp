// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <memory>

#include "constrained_dynamics/formulations/formulation.hpp"
#include "constrained_dynamics/types.hpp"

namespace constrained_dynamics
{

/// A complement N (p × n) of the rows, given by the user as a function of the state: N Aᵀ = 0.
/// Constant; may be shared by threads.
class CONSTRAINED_DYNAMICS_EXPORT Complement
{
public:
  /// Scratch memory of the evaluations of one thread.
  class CONSTRAINED_DYNAMICS_EXPORT Scratch
  {
  public:
    virtual ~Scratch();
  };

  virtual ~Complement();
  /// Number of rows p.
  virtual int row_count() const = 0;
  virtual std::unique_ptr<Scratch> make_scratch() const = 0;
  /// Writes N (p × n) at the state of `system`. Statuses: kOk, kNonFiniteResult. Real-time safe:
  /// yes.
  [[nodiscard]] virtual Status evaluate(
    const SystemData & system, Scratch & scratch,
    MatrixRef complement) const noexcept CD_NONBLOCKING = 0;
};

/// The projection method. With a complement N of the rows, N Aᵀ = 0, the equations of motion split
/// into a tangential and an orthogonal part,
///     N Q u̇ = N h,     (E12) λ = (A Q⁻¹ Aᵀ)⁺ (b − A Q⁻¹ h).
/// The first gives the motion, u̇ = Nᵀ y + u̇_0 with A u̇_0 = b and (N Q Nᵀ) y = N (h − Q u̇_0); the
/// second gives the reactions directly, not as the remainder of the motion. N is found by a
/// Householder QR of the rows, so that its rows are orthonormal, or is given by the user.
///
/// Requires a symmetric positive definite Q (E12); otherwise the status is kSingularInertia.
class CONSTRAINED_DYNAMICS_EXPORT Projection : public RowFormulation
{
public:
  /// @param complement N, evaluated by `prepare` before each solve (Dynamics does this); the
  /// statuses are then those of solve_with_complement. Null: N comes from a QR of the rows.
  explicit Projection(std::shared_ptr<const Complement> complement = nullptr);

  const char * name() const noexcept CD_NONBLOCKING override { return "projection"; }
  std::unique_ptr<FormulationData> make_data(int speed_count, int max_row_count) const override;
  using RowFormulation::make_data;

  /// Solves with a given complement N (p × n), p = n − rank, instead of one from a QR.
  /// Statuses: those of `solve`; kSizeMismatch if N is not p × n; kNonFiniteInput; kSingularInertia
  /// if its rows are linearly dependent; kInconsistent if N Aᵀ is not 0 within the relative
  /// tolerance RankOptions::consistency_tolerance. Real-time safe: yes.
  [[nodiscard]] Status solve_with_complement(
    const RowProblem & problem, const ConstMatrixRef & complement, const RankOptions & options,
    FormulationData & data, RowSolution & solution) const noexcept CD_NONBLOCKING;

  /// The given complement; null: N comes from a QR of the rows.
  const Complement * complement() const { return complement_.get(); }

protected:
  Status do_prepare(const SystemData & system, FormulationData & data) const noexcept
    CD_NONBLOCKING override;
  Status do_solve_rows(
    const RowProblem & problem, const RankOptions & options, FormulationData & data,
    RowSolution & solution) const noexcept CD_NONBLOCKING override;

private:
  std::shared_ptr<const Complement> complement_;
};

}  // namespace constrained_dynamics
