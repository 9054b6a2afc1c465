// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

namespace constrained_dynamics
{

/// columns ← (I − τ v vᵀ) columns with v = [1; essential]: column by column, which for the small
/// matrices here takes less time than Eigen's products of blocks.
template <typename Columns, typename Essential>
inline void reflect(Columns && columns, const Essential & essential, double tau) noexcept
{
  const auto tail = columns.rows() - 1;
  for (decltype(columns.cols()) j = 0; j < columns.cols(); ++j)
  {
    auto column = columns.col(j);
    auto rest = column.tail(tail);
    const double size = tau * (column(0) + essential.dot(rest));
    column(0) -= size;
    rest -= size * essential;
  }
}

}  // namespace constrained_dynamics
