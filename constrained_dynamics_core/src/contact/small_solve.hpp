// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <cmath>
#include <utility>

#include "constrained_dynamics/types.hpp"

namespace constrained_dynamics
{

/// Gaussian elimination with row pivoting in place, for a few unknowns: matrix x = rhs, the
/// solution in `rhs`. Returns the determinant; 0 where it is lost in rounding, and then no
/// solution. Real-time safe: yes (Eigen's decomposition would take memory for its permutation).
inline double solve_in_place(MatrixRef matrix, VectorRef rhs) noexcept
{
  const Eigen::Index n = matrix.rows();
  const double size = n > 0 ? matrix.cwiseAbs().maxCoeff() : 1.0;
  double determinant = 1.0;
  for (Eigen::Index k = 0; k < n; ++k)
  {
    Eigen::Index best = k;
    for (Eigen::Index i = k + 1; i < n; ++i)
    {
      best = std::abs(matrix(i, k)) > std::abs(matrix(best, k)) ? i : best;
    }
    if (!(std::abs(matrix(best, k)) > 1e-13 * size))
    {
      return 0.0;
    }
    if (best != k)
    {
      matrix.row(k).swap(matrix.row(best));
      std::swap(rhs(k), rhs(best));
      determinant = -determinant;
    }
    determinant *= matrix(k, k);
    for (Eigen::Index i = k + 1; i < n; ++i)
    {
      const double factor = matrix(i, k) / matrix(k, k);
      matrix.row(i).tail(n - k) -= factor * matrix.row(k).tail(n - k);
      rhs(i) -= factor * rhs(k);
    }
  }
  for (Eigen::Index k = n - 1; k >= 0; --k)
  {
    rhs(k) = (rhs(k) - matrix.row(k).tail(n - k - 1).dot(rhs.tail(n - k - 1))) / matrix(k, k);
  }
  return determinant;
}

}  // namespace constrained_dynamics
