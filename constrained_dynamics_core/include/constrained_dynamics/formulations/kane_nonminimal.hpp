// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <memory>

#include "constrained_dynamics/formulations/formulation.hpp"
#include "constrained_dynamics/formulations/row_factorisation.hpp"
#include "constrained_dynamics/types.hpp"

namespace constrained_dynamics
{

/// The nonminimal Kane form: n equations of motion for all speeds,
///     (E6) T u̇ = V,   T = [A1; A2 Q],   V = [β; A2 h],   A1 = [I −K],   A2 = [Kᵀ I].
/// T is formed and factorised directly (LU with row exchanges), without exploiting the symmetry of
/// Q. Speeds are partitioned by pivoting with hysteresis. Q need be neither positive definite nor
/// symmetric (active forces that contain accelerations); T is regular if and only if A2 Q A2ᵀ is.
///
/// KaneMinimal solves only p = n − rank equations and is faster. The two share the partition, K and
/// β, but nothing else.
class CONSTRAINED_DYNAMICS_EXPORT KaneNonminimal : public RowFormulation
{
public:
  const char * name() const noexcept CD_NONBLOCKING override { return "kane_nonminimal"; }
  std::unique_ptr<FormulationData> make_data(int speed_count, int max_row_count) const override;
  using RowFormulation::make_data;

  /// The factorisation of the last solve, for reports. @pre data was made by this class.
  static const RowFactorisation & factorisation(const FormulationData & data);

  /// Writes T (n × n) and V (n) of (E6), T u̇ = V, of the last solve with output: first the rows
  /// A1 u̇ = β, as many as the rank, then A2 Q u̇ = A2 h. Columns are in the order of the problem.
  /// @pre data was made by this class. Real-time safe: yes.
  static void equations(const FormulationData & data, MatrixRef matrix, VectorRef right) noexcept
    CD_NONBLOCKING;

protected:
  Status do_solve_rows(
    const RowProblem & problem, const RankOptions & options, FormulationData & data,
    RowSolution & solution) const noexcept CD_NONBLOCKING override;
};

}  // namespace constrained_dynamics
