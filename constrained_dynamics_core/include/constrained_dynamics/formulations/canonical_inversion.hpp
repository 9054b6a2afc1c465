// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <memory>

#include <Eigen/Core>

#include "constrained_dynamics/formulations/formulation.hpp"
#include "constrained_dynamics/types.hpp"

namespace constrained_dynamics
{

/// Canonical generalized inversion (E9), with the Cholesky root R of the inertia, RᵀR = Q:
///     R u̇ = (A R⁻¹)⁺ b + (I − (A R⁻¹)⁺ (A R⁻¹)) R⁻ᵀ h.
/// The first term, the constraint part, satisfies the rows. The second, the momentum part, is the
/// part of the free motion that the rows allow. They are orthogonal. The pseudo-inverse is computed
/// by a Householder QR of the rows that remain after the rank decision.
///
/// Requires a symmetric positive definite Q; otherwise the status is kSingularInertia.
class CONSTRAINED_DYNAMICS_EXPORT CanonicalInversion : public RowFormulation
{
public:
  const char * name() const noexcept CD_NONBLOCKING override { return "canonical_inversion"; }
  std::unique_ptr<FormulationData> make_data(int speed_count, int max_row_count) const override;
  using RowFormulation::make_data;

  /// Constraint part of R u̇ (n) of the last solve with output. @pre data was made by this class.
  static const Eigen::VectorXd & constraint_part(const FormulationData & data);
  /// Momentum part of R u̇ (n), likewise: R u̇ = constraint part + momentum part.
  static const Eigen::VectorXd & momentum_part(const FormulationData & data);
  /// Writes the root R (n × n, upper triangular) of the last solve with output. Real-time safe:
  /// yes.
  static void root(const FormulationData & data, MatrixRef root) noexcept CD_NONBLOCKING;

  /// Accelerations in canonical speeds w = R u: ẇ = R u̇ + Ṙ u for the last solve with output.
  /// @param root_rate Ṙ (n × n), for instance of cholesky_root_rate. @param u speeds (n).
  /// @param canonical_acceleration ẇ (n). Real-time safe: yes.
  static void canonical_acceleration(
    const FormulationData & data, const ConstMatrixRef & root_rate, const ConstVectorRef & u,
    VectorRef canonical_acceleration) noexcept CD_NONBLOCKING;

protected:
  Status do_solve_rows(
    const RowProblem & problem, const RankOptions & options, FormulationData & data,
    RowSolution & solution) const noexcept CD_NONBLOCKING override;
};

/// Rate of the Cholesky root, from Q̇ = Ṙᵀ R + Rᵀ Ṙ: Ṙ = Φ(R⁻ᵀ Q̇ R⁻¹) R, where Φ keeps the upper
/// triangle and half of the diagonal.
/// @param root R (n × n), upper triangular, regular. @param mass_matrix_rate Q̇ (n × n), symmetric.
/// @param root_rate Ṙ (n × n); must not alias another argument. Real-time safe: yes.
CONSTRAINED_DYNAMICS_EXPORT void cholesky_root_rate(
  const ConstMatrixRef & root, const ConstMatrixRef & mass_matrix_rate,
  MatrixRef root_rate) noexcept CD_NONBLOCKING;

}  // namespace constrained_dynamics
