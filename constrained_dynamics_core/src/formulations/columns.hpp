// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <Eigen/Core>

#include "constrained_dynamics/types.hpp"

/// @file
/// Sums over numbers that lie side by side, four at a time: a function with CD_CLONES that calls
/// these uses vectors of four where the processor has them, while Eigen's are those that all
/// processors of the architecture have. For the small matrices of a cycle, whose columns are
/// shorter than what Eigen's methods for large ones cost to begin.

namespace constrained_dynamics::columns
{

/// Four numbers.
using Pack = double __attribute__((vector_size(32), aligned(8)));
inline constexpr Eigen::Index kPack = 4;

/// Four numbers of an array, aligned or not.
struct __attribute__((packed, aligned(8), may_alias)) PackInPlace
{
  Pack four;
};
inline const PackInPlace * at(const double * x) noexcept
{
  return reinterpret_cast<const PackInPlace *>(x);
}
inline PackInPlace * at(double * x) noexcept { return reinterpret_cast<PackInPlace *>(x); }

/// aᵀ b.
inline double dot(const double * a, const double * b, Eigen::Index count) noexcept
{
  Pack packs = {0.0, 0.0, 0.0, 0.0};
  Eigen::Index i = 0;
  for (; i + kPack <= count; i += kPack)
  {
    packs += at(a + i)->four * at(b + i)->four;
  }
  double sum = (packs[0] + packs[2]) + (packs[1] + packs[3]);
  for (; i < count; ++i)
  {
    sum += a[i] * b[i];
  }
  return sum;
}

/// y ← s y.
inline void scale(double * y, double s, Eigen::Index count) noexcept
{
  Eigen::Index i = 0;
  for (; i + kPack <= count; i += kPack)
  {
    at(y + i)->four *= s;
  }
  for (; i < count; ++i)
  {
    y[i] *= s;
  }
}

/// y ← y + s x.
inline void add(double * y, double s, const double * x, Eigen::Index count) noexcept
{
  Eigen::Index i = 0;
  for (; i + kPack <= count; i += kPack)
  {
    at(y + i)->four += s * at(x + i)->four;
  }
  for (; i < count; ++i)
  {
    y[i] += s * x[i];
  }
}

/// y ← y + Σ s(j) x_j with the columns x_j at a distance of `stride`, j < columns.
template <typename Coefficient>
inline void add_columns(
  double * y, const double * x, Eigen::Index stride, const Coefficient & s, Eigen::Index count,
  Eigen::Index columns) noexcept
{
  Eigen::Index j = 0;
  for (; j + 4 <= columns; j += 4)
  {
    const double * x0 = x + j * stride;
    const double * x1 = x0 + stride;
    const double * x2 = x1 + stride;
    const double * x3 = x2 + stride;
    const double s0 = s(j);
    const double s1 = s(j + 1);
    const double s2 = s(j + 2);
    const double s3 = s(j + 3);
    Eigen::Index i = 0;
    for (; i + kPack <= count; i += kPack)
    {
      at(y + i)->four += (s0 * at(x0 + i)->four + s1 * at(x1 + i)->four) +
                         (s2 * at(x2 + i)->four + s3 * at(x3 + i)->four);
    }
    for (; i < count; ++i)
    {
      y[i] += (s0 * x0[i] + s1 * x1[i]) + (s2 * x2[i] + s3 * x3[i]);
    }
  }
  for (; j < columns; ++j)
  {
    add(y, s(j), x + j * stride, count);
  }
}

/// y ← y + X s.
inline void add_product(
  double * y, const double * x, Eigen::Index stride, const double * s, Eigen::Index count,
  Eigen::Index columns) noexcept
{
  add_columns(
    y, x, stride, [s](Eigen::Index j) { return s[j]; }, count, columns);
}

/// x ← R⁻¹ x with the upper triangle R (size × size) in columns at a distance of `stride`.
inline void divide_by_upper(
  const double * R, Eigen::Index stride, double * x, Eigen::Index size) noexcept
{
  for (Eigen::Index k = size - 1; k >= 0; --k)
  {
    x[k] /= R[k * stride + k];
    add(x, -x[k], R + k * stride, k);
  }
}

/// x ← R⁻ᵀ x.
inline void divide_by_upper_transpose(
  const double * R, Eigen::Index stride, double * x, Eigen::Index size) noexcept
{
  for (Eigen::Index k = 0; k < size; ++k)
  {
    x[k] = (x[k] - dot(R + k * stride, x, k)) / R[k * stride + k];
  }
}

/// x ← L⁻¹ x with the lower triangle L (size × size).
inline void divide_by_lower(
  const double * L, Eigen::Index stride, double * x, Eigen::Index size) noexcept
{
  for (Eigen::Index k = 0; k < size; ++k)
  {
    const double * column = L + k * stride;
    x[k] /= column[k];
    add(x + k + 1, -x[k], column + k + 1, size - k - 1);
  }
}

/// x ← L⁻ᵀ x.
inline void divide_by_lower_transpose(
  const double * L, Eigen::Index stride, double * x, Eigen::Index size) noexcept
{
  for (Eigen::Index k = size - 1; k >= 0; --k)
  {
    const double * column = L + k * stride;
    x[k] = (x[k] - dot(column + k + 1, x + k + 1, size - k - 1)) / column[k];
  }
}

/// The Cholesky root of a matrix, both in the lower triangle. False where it is not positive.
bool cholesky(MatrixRef matrix) noexcept;

/// x ← x (L Lᵀ)⁻¹ with the root L in the lower triangle: for each row of x.
void divide_rows(const ConstMatrixRef & L, MatrixRef x) noexcept;

}  // namespace constrained_dynamics::columns
