// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <memory>

#include "constrained_dynamics/formulations/formulation.hpp"

namespace constrained_dynamics
{

/// The Udwadia-Kalaba equation (E10): the free motion a and its smallest correction,
///     u̇ = a + R⁻¹ (A R⁻¹)⁺ (b − A a),  a = Q⁻¹ h,
/// which is the same for every root RᵀR = Q; here R is the Cholesky root instead of Q^½.
///
/// The free motion may be far larger than the constrained one. One step of iterative refinement
/// recovers the digits lost in the difference.
///
/// Requires a symmetric positive definite Q; otherwise the status is kSingularInertia.
class CONSTRAINED_DYNAMICS_EXPORT UdwadiaKalaba : public RowFormulation
{
public:
  const char * name() const noexcept CD_NONBLOCKING override { return "udwadia_kalaba"; }
  std::unique_ptr<FormulationData> make_data(int speed_count, int max_row_count) const override;
  using RowFormulation::make_data;

protected:
  Status do_solve_rows(
    const RowProblem & problem, const RankOptions & options, FormulationData & data,
    RowSolution & solution) const noexcept CD_NONBLOCKING override;
};

}  // namespace constrained_dynamics
