// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <memory>

#include "constrained_dynamics/formulations/formulation.hpp"

namespace constrained_dynamics
{

/// The minimal Kane form: p equations of motion for the independent speeds alone,
///     (Q_II + Q_ID K + Kᵀ Q_DI + Kᵀ Q_DD K) u̇_I = h_I − Q_ID β + Kᵀ (h_D − Q_DD β),
/// and the dependent accelerations by u̇_D = K u̇_I + β (E4). The matrix is A2 Q A2ᵀ of (E5); it must
/// be positive definite, or regular if Q is unsymmetric (active forces that contain accelerations).
/// Q itself need not be. Speeds are partitioned by pivoting with hysteresis.
class CONSTRAINED_DYNAMICS_EXPORT KaneMinimal : public RowFormulation
{
public:
  const char * name() const noexcept CD_NONBLOCKING override { return "kane_minimal"; }
  std::unique_ptr<FormulationData> make_data(int speed_count, int max_row_count) const override;
  using RowFormulation::make_data;

protected:
  Status do_solve_rows(
    const RowProblem & problem, const RankOptions & options, FormulationData & data,
    RowSolution & solution) const noexcept CD_NONBLOCKING override;
};

}  // namespace constrained_dynamics
