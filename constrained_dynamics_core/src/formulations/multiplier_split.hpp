// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <Eigen/Core>

#include "constrained_dynamics/types.hpp"
#include "formulations/columns.hpp"

/// @file
/// The multipliers of redundant rows with the least norm.

namespace constrained_dynamics
{

/// Writes the Cholesky root of Bᵀ diag(D) B, whose size `gram` has. False where that is not
/// positive definite. `work` has as many elements as B has rows.
template <typename Basis>
bool factor_gram(
  const Basis & basis, const ConstVectorRef & D, VectorRef work, MatrixRef gram) noexcept
{
  const Eigen::Index m = basis.rows();
  for (Eigen::Index i = 0; i < basis.cols(); ++i)
  {
    work = D.cwiseProduct(basis.col(i));
    for (Eigen::Index j = 0; j <= i; ++j)
    {
      gram(i, j) = columns::dot(work.data(), basis.col(j).data(), m);
      gram(j, i) = gram(i, j);
    }
  }
  return columns::cholesky(gram);
}

/// Solves L Lᵀ y = residual: `residual` writes y, and `apply` takes the solution.
template <typename Residual, typename Apply>
void split(
  const ConstMatrixRef & L, VectorRef y, const Residual & residual, const Apply & apply) noexcept
{
  // Rows of very different sizes make the equations ill-conditioned: solved once more, they lose
  // nothing.
  constexpr int kPasses = 2;
  for (int pass = 0; pass < kPasses; ++pass)
  {
    residual();
    columns::divide_by_lower(L.data(), L.outerStride(), y.data(), y.size());
    columns::divide_by_lower_transpose(L.data(), L.outerStride(), y.data(), y.size());
    apply();
  }
}

/// Scratch memory of the two splits.
struct SplitWork
{
  MatrixRef gram;
  VectorRef D;     // S² W², as many as rows
  VectorRef work;  // as many as rows
};

/// λ ← λ + S H2 y with the least ‖W λ‖. Nothing where weights are beyond the range of doubles.
inline void split_by_null_space(
  const ConstMatrixRef & H2, const ConstVectorRef & scale, const ConstVectorRef & weight,
  SplitWork & with, VectorRef y, VectorRef lambda) noexcept
{
  if (!factor_gram(H2, with.D, with.work, with.gram))
  {
    return;
  }
  split(
    with.gram, y,
    [&]
    {
      with.work.array() = scale.array() * weight.array().square() * lambda.array();
      for (Eigen::Index i = 0; i < y.size(); ++i)
      {
        y(i) = columns::dot(with.work.data(), H2.col(i).data(), H2.rows());
      }
    },
    [&]
    {
      with.work.setZero();
      columns::add_product(
        with.work.data(), H2.data(), H2.outerStride(), y.data(), H2.rows(), H2.cols());
      lambda.array() -= scale.array() * with.work.array();
    });
}

/// The same with fewer directions than redundant rows: the least ‖W λ‖ with H1ᵀ S⁻¹ λ = μ is
/// λ = W⁻² S⁻¹ H1 y, (H1ᵀ S⁻² W⁻² H1) y = μ.
inline void split_by_range(
  const ConstMatrixRef & H1, const ConstVectorRef & scale, const ConstVectorRef & weight,
  SplitWork & with, const ConstVectorRef & mu, VectorRef lambda) noexcept
{
  with.D = with.D.cwiseInverse();
  if (!factor_gram(H1, with.D, with.work, with.gram))
  {
    return;
  }
  VectorRef y = with.work.head(H1.cols());
  bool is_first = true;
  split(
    with.gram, y,
    [&]
    {
      y = mu;
      for (Eigen::Index i = 0; i < y.size() && !is_first; ++i)
      {
        for (Eigen::Index row = 0; row < H1.rows(); ++row)
        {
          y(i) -= H1(row, i) * lambda(row) / scale(row);
        }
      }
    },
    [&]
    {
      if (is_first)
      {
        lambda.setZero();
        is_first = false;
      }
      for (Eigen::Index i = 0; i < y.size(); ++i)
      {
        lambda.array() += y(i) * H1.col(i).array() / (scale.array() * weight.array().square());
      }
    });
}

}  // namespace constrained_dynamics
