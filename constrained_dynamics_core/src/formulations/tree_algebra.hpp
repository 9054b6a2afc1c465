// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <cmath>

#include <Eigen/Core>

/// @file
/// Small algebra of the recursion along the tree. Written out because the compiler makes better
/// code of it than of Eigen's blocks (doc/performance.md).

namespace constrained_dynamics
{

/// Smallest inertia of a joint, relative to its body's: below, it is rounding.
inline constexpr double kSmallestInertia = 1e-13;

/// A symmetric matrix of size 3 by its six elements xx yy zz yx zx zy.
struct Symmetric3
{
  double xx, yy, zz, yx, zx, zy;

  Eigen::Vector3d operator*(const Eigen::Vector3d & v) const noexcept
  {
    return {
      xx * v(0) + yx * v(1) + zx * v(2), yx * v(0) + yy * v(1) + zy * v(2),
      zx * v(0) + zy * v(1) + zz * v(2)};
  }
  /// Adds u wᵀ, where w is a multiple of u.
  void add_square(const Eigen::Vector3d & u, const Eigen::Vector3d & w) noexcept
  {
    xx += u(0) * w(0);
    yy += u(1) * w(1);
    zz += u(2) * w(2);
    yx += u(1) * w(0);
    zx += u(2) * w(0);
    zy += u(2) * w(1);
  }
  void add(const Symmetric3 & other) noexcept
  {
    xx += other.xx;
    yy += other.yy;
    zz += other.zz;
    yx += other.yx;
    zx += other.zx;
    zy += other.zy;
  }
  double trace() const noexcept { return xx + yy + zz; }
  Eigen::Matrix3d full() const noexcept
  {
    Eigen::Matrix3d matrix;
    matrix << xx, yx, zx, yx, yy, zy, zx, zy, zz;
    return matrix;
  }
};

/// Cholesky of the leading block of a small matrix, in its lower triangle, the diagonal inverted.
/// False where it is not positive definite to rounding. With six solves it takes 0.18 µs for 3 and
/// 0.50 µs for 6 speeds; Eigen's LLT of such a block takes 0.33 and 0.82 µs.
template <typename Matrix>
bool factor_small(Matrix & D, Eigen::Index size) noexcept
{
  for (Eigen::Index j = 0; j < size; ++j)
  {
    const double before = D(j, j);
    double pivot = before;
    for (Eigen::Index k = 0; k < j; ++k)
    {
      pivot -= D(j, k) * D(j, k);
    }
    if (!(pivot > kSmallestInertia * before))
    {
      return false;
    }
    const double inverse = 1.0 / std::sqrt(pivot);
    D(j, j) = inverse;
    for (Eigen::Index i = j + 1; i < size; ++i)
    {
      double sum = D(i, j);
      for (Eigen::Index k = 0; k < j; ++k)
      {
        sum -= D(i, k) * D(j, k);
      }
      D(i, j) = sum * inverse;
    }
  }
  return true;
}

/// x ← G⁻¹ x with the root G of factor_small.
template <typename Matrix, typename Vector>
void divide_small(const Matrix & G, Eigen::Index size, Vector & x) noexcept
{
  for (Eigen::Index i = 0; i < size; ++i)
  {
    for (Eigen::Index k = 0; k < i; ++k)
    {
      x(i) -= G(i, k) * x(k);
    }
    x(i) *= G(i, i);
  }
}

/// x ← (G Gᵀ)⁻¹ x.
template <typename Matrix, typename Vector>
void solve_small(const Matrix & G, Eigen::Index size, Vector & x) noexcept
{
  divide_small(G, size, x);
  for (Eigen::Index i = size - 1; i >= 0; --i)
  {
    for (Eigen::Index k = i + 1; k < size; ++k)
    {
      x(i) -= G(k, i) * x(k);
    }
    x(i) *= G(i, i);
  }
}

/// A matrix that is known to be symmetric.
inline Symmetric3 symmetric(const Eigen::Matrix3d & A) noexcept
{
  return {A(0, 0), A(1, 1), A(2, 2), A(1, 0), A(2, 0), A(2, 1)};
}

/// R A Rᵀ.
inline Symmetric3 turned(const Eigen::Matrix3d & R, const Eigen::Matrix3d & A) noexcept
{
  const Eigen::Matrix3d B = R.lazyProduct(A);
  const auto element = [&](int i, int j)
  { return B(i, 0) * R(j, 0) + B(i, 1) * R(j, 1) + B(i, 2) * R(j, 2); };
  return {element(0, 0), element(1, 1), element(2, 2), element(1, 0), element(2, 0), element(2, 1)};
}

}  // namespace constrained_dynamics
