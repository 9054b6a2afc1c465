// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <utility>

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

/// The longest column and the square of its norm; of equally long columns the first.
template <typename Matrix>
inline std::pair<Eigen::Index, double> longest_column(const Matrix & matrix) noexcept
{
  std::pair<Eigen::Index, double> longest{0, -1.0};
  for (Eigen::Index j = 0; j < matrix.cols(); ++j)
  {
    const double * column = matrix.col(j).data();
    const double norm = columns::dot(column, column, matrix.rows());
    if (norm > longest.second)
    {
      longest = {j, norm};
    }
  }
  return longest;
}

}  // namespace constrained_dynamics
