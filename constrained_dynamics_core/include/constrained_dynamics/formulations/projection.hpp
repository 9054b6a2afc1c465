// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <memory>

#include "constrained_dynamics/formulations/formulation.hpp"
#include "constrained_dynamics/types.hpp"

namespace constrained_dynamics
{

/// A complement N of the rows that the user gives, as a function of the state: N Aᵀ = 0 (p × n).
/// Constant, may be shared by threads.
class CONSTRAINED_DYNAMICS_EXPORT Complement
{
public:
  /// What the evaluations of one thread change.
  class CONSTRAINED_DYNAMICS_EXPORT Scratch
  {
  public:
    virtual ~Scratch();
  };

  virtual ~Complement();
  /// p
  virtual int row_count() const = 0;
  virtual std::unique_ptr<Scratch> make_scratch() const = 0;
  /// Writes N (p × n) at the state of `system`. Statuses: kOk, kNonFiniteResult. Real-time safe:
  /// yes.
  [[nodiscard]] virtual Status evaluate(
    const SystemData & system, Scratch & scratch,
    MatrixRef complement) const noexcept CD_NONBLOCKING = 0;
};

/// The projection method: with a complement N of the rows, N Aᵀ = 0, the equations of motion fall
/// into a tangent and an orthogonal part,
///     N Q u̇ = N h,     (E12) λ = (A Q⁻¹ Aᵀ)⁺ (b − A Q⁻¹ h).
/// The first gives the motion, u̇ = Nᵀ y + u̇_0 with A u̇_0 = b and (N Q Nᵀ) y = N (h − Q u̇_0); the
/// second gives the reactions by themselves, not as what the motion leaves. Here N comes from a
/// Householder QR of the rows, so that its rows are orthonormal, or from the user.
///
/// Exists for symmetric positive definite Q only (E12), else kSingularInertia.
class CONSTRAINED_DYNAMICS_EXPORT Projection : public RowFormulation
{
public:
  /// @param complement N for every solve after a `prepare`, which Dynamics does; then the statuses
  /// are those of solve_with_complement. Null: from a QR of the rows.
  explicit Projection(std::shared_ptr<const Complement> complement = nullptr);

  const char * name() const noexcept CD_NONBLOCKING override { return "projection"; }
  std::unique_ptr<FormulationData> make_data(int speed_count, int max_row_count) const override;
  using RowFormulation::make_data;

  /// Solves with the complement N (p × n) of the user instead of one from a QR; p = n − rank.
  /// Statuses: those of `solve`; kSizeMismatch where N is not p × n, kNonFiniteInput,
  /// kSingularInertia where its rows depend on each other, and kInconsistent where N Aᵀ is not 0
  /// within RankOptions::consistency_tolerance, relative. Real-time safe: yes.
  [[nodiscard]] Status solve_with_complement(
    const RowProblem & problem, const ConstMatrixRef & complement, const RankOptions & options,
    FormulationData & data, RowSolution & solution) const noexcept CD_NONBLOCKING;

  /// Null: from a QR of the rows.
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
