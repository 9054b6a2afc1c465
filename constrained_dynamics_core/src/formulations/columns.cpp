// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "formulations/columns.hpp"

#include <cmath>

#include "clones.hpp"

namespace constrained_dynamics::columns
{

CD_CLONES bool cholesky(MatrixRef matrix) noexcept
{
  const Eigen::Index n = matrix.rows();
  const Eigen::Index stride = matrix.outerStride();
  double * L = matrix.data();
  for (Eigen::Index k = 0; k < n; ++k)
  {
    double * column = L + k * stride;
    if (!(column[k] > 0.0))
    {
      return false;
    }
    column[k] = std::sqrt(column[k]);
    scale(column + k + 1, 1.0 / column[k], n - k - 1);
    for (Eigen::Index j = k + 1; j < n; ++j)
    {
      add(L + j * stride + j, -column[j], column + j, n - j);
    }
  }
  return true;
}

CD_CLONES void divide_rows(const ConstMatrixRef & L, MatrixRef x) noexcept
{
  const Eigen::Index n = L.rows();
  const Eigen::Index count = x.rows();
  const Eigen::Index stride = x.outerStride();
  double * X = x.data();
  // Column k of x at a time, which is element k of every right side.
  for (Eigen::Index k = 0; k < n; ++k)
  {
    add_columns(
      X + k * stride, X, stride, [&](Eigen::Index j) { return -L(k, j); }, count, k);
    scale(X + k * stride, 1.0 / L(k, k), count);
  }
  for (Eigen::Index k = n - 1; k >= 0; --k)
  {
    add_columns(
      X + k * stride, X + (k + 1) * stride, stride,
      [&](Eigen::Index j) { return -L(k + 1 + j, k); }, count, n - k - 1);
    scale(X + k * stride, 1.0 / L(k, k), count);
  }
}

}  // namespace constrained_dynamics::columns
