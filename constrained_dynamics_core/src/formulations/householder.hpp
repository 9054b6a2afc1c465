// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <Eigen/Core>

#include "formulations/columns.hpp"

namespace constrained_dynamics
{

/// columns ← (I − τ v vᵀ) columns with v = [1; essential], column by column. Eigen's
/// applyHouseholderOnTheLeft takes 1.3 to 3 times as long for factors of up to 24 × 44 numbers, and
/// its ColPivHouseholderQR allocates besides whenever the size changes.
template <typename Columns, typename Essential>
inline void reflect(Columns && block, const Essential & essential, double tau) noexcept
{
  const Eigen::Index tail = block.rows() - 1;
  const double * v = essential.data();
  for (Eigen::Index j = 0; j < block.cols(); ++j)
  {
    double * column = block.col(j).data();
    const double size = tau * (column[0] + columns::dot(v, column + 1, tail));
    column[0] -= size;
    columns::add(column + 1, -size, v, tail);
  }
}

}  // namespace constrained_dynamics
