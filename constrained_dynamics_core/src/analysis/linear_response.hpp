// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <Eigen/Core>

#include "constrained_dynamics/formulations/row_factorisation.hpp"
#include "constrained_dynamics/status.hpp"
#include "constrained_dynamics/types.hpp"
#include "formulations/dense_factors.hpp"

namespace constrained_dynamics
{

/// The matrices by which accelerations and constraint forces respond to changes (E17a):
///     Q δu̇ − Aᵀ δλ = −E,   A δu̇ = −C,
/// by the null space N = [K; 1] of the rows (E4, E5), in the order of the partition:
///     δu̇ = −H E − B C,      H = N (Nᵀ Q N)⁻¹ Nᵀ,   B = (1 − H Q) [R11⁻¹ H1ᵀ S; 0],
///     f_D = F E − Λ C,       F = (1 − Q H)_D,        Λ = (Q B)_D,
/// with f = Q δu̇ + E = Aᵀ δλ, of which the dependent part f_D is enough: f_I = −Kᵀ f_D.
/// Only the constructor allocates.
class LinearResponse
{
public:
  /// @param max_columns largest number of columns passed to `forces`.
  LinearResponse(int speed_count, int max_row_count, int max_columns);

  /// Factors the rows of a solution, see RowFactorisation::factor. A singular position keeps the
  /// rows that are left, as the solution does.
  void factor(
    const ConstMatrixRef & rows, const ConstVectorRef & row_scale, int nominal_rank,
    const RankOptions & options) noexcept CD_NONBLOCKING;
  /// Finds the matrices for the rows that were factored. Statuses: kOk, kSingularInertia.
  [[nodiscard]] Status update(const ConstMatrixRef & mass_matrix) noexcept CD_NONBLOCKING;

  RowFactorisation & factorisation() { return factorisation_; }
  const RowFactorisation & factorisation() const { return factorisation_; }
  int rank() const { return factorisation_.rank(); }
  int row_count() const { return factorisation_.row_count(); }

  /// H (n × n).
  const Eigen::MatrixXd & inverse() const { return inverse_; }
  /// out ((n + r) × columns) = [δu̇; f_D].
  void respond(const ConstMatrixRef & E, const ConstMatrixRef & C, MatrixRef out) const noexcept
    CD_NONBLOCKING;
  /// Finds `multipliers`, with minimal ‖diag(weight) λ‖ if rows are redundant.
  void find_multipliers(const ConstVectorRef & weight) noexcept CD_NONBLOCKING;
  /// Multipliers (m × r) of unit f_D.
  Eigen::Block<const Eigen::MatrixXd> multipliers() const
  {
    return multipliers_.block(0, 0, row_count(), rank());
  }
  /// out (n × columns) = f of given f_D.
  void forces(const ConstMatrixRef & dependent, MatrixRef out) const noexcept CD_NONBLOCKING;

private:
  void fill_inverse() noexcept;
  void fill_row_response() noexcept;

  RowFactorisation factorisation_;
  ReducedInertia reduced_;
  Eigen::MatrixXd inverse_;     // H
  Eigen::MatrixXd by_force_;    // [−H; F]
  Eigen::MatrixXd by_rows_;     // [−B; −Λ]
  Eigen::MatrixXd dependency_;  // K
  Eigen::MatrixXd transposed_;  // Kᵀ
  // With speeds in the order of the partition:
  Eigen::MatrixXd dependent_rows_;  // Q_D (r × n)
  Eigen::MatrixXd reduced_rows_;    // Nᵀ Q (p × n)
  Eigen::MatrixXd solved_;          // (Nᵀ Q N)⁻¹ [Nᵀ, Nᵀ Q_D] (p × (n + r))
  Eigen::MatrixXd particular_;      // R11⁻¹ H1ᵀ S (r × m)
  Eigen::MatrixXd ordered_rows_;    // B
  mutable Eigen::MatrixXd scratch_;
  Eigen::MatrixXd multipliers_;
  Eigen::VectorXd unit_;
};

}  // namespace constrained_dynamics
