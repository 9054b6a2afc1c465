// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <memory>

#include "constrained_dynamics/formulations/formulation.hpp"
#include "constrained_dynamics/formulations/row_factorisation.hpp"
#include "constrained_dynamics/types.hpp"

namespace constrained_dynamics
{

/// The nonminimal Kane form (E4 to E8), the reference form of the seeds. Speeds are partitioned by
/// pivoting with hysteresis; T of (E6) is not factored, the equivalent reduced equations are:
///     u̇ = A2ᵀ ẇ + [β; 0],  (A2 Q A2ᵀ) ẇ = A2 (h − Q [β; 0]).
/// Q need not be positive definite, only A2 Q A2ᵀ; it need not be symmetric either (active forces
/// that contain accelerations).
class CONSTRAINED_DYNAMICS_EXPORT KaneNonminimal : public Formulation
{
public:
  const char * name() const noexcept CD_NONBLOCKING override { return "kane_nonminimal"; }
  std::unique_ptr<FormulationData> make_data(int speed_count, int max_row_count) const override;

  /// The factorisation of the last solve, for reports. @pre data was made by this class.
  static const RowFactorisation & factorisation(const FormulationData & data);

  /// Writes T (n × n) and V (n) of (E6), T u̇ = V, of the last solve with output: first the rows
  /// A1 u̇ = β, as many as the rank, then A2 Q u̇ = A2 h. Columns are in the order of the problem.
  /// @pre data was made by this class. Real-time safe: yes.
  static void equations(const FormulationData & data, MatrixRef matrix, VectorRef right) noexcept
    CD_NONBLOCKING;

protected:
  Status do_solve(
    const RowProblem & problem, const RankOptions & options, FormulationData & data,
    RowSolution & solution) const noexcept CD_NONBLOCKING override;
};

}  // namespace constrained_dynamics
