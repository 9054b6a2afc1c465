// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "analysis/dense_products.hpp"

#include "clones.hpp"

namespace constrained_dynamics
{

namespace
{

constexpr int kChunk = 64;

/// Nonzero elements of a column, some at a time.
struct Chunk
{
  double value[kChunk];
  const double * column[kChunk];  // of M
  int count;
};

/// Adds `Rows` elements of the sum of the chunk's columns, beginning at a row.
template <int Rows>
inline void add_rows(const Chunk & chunk, Eigen::Index row, double * out) noexcept
{
  double sum[Rows];
  for (int r = 0; r < Rows; ++r)
  {
    sum[r] = out[row + r];
  }
  for (int k = 0; k < chunk.count; ++k)
  {
    const double * column = chunk.column[k] + row;
    const double value = chunk.value[k];
    for (int r = 0; r < Rows; ++r)
    {
      sum[r] += value * column[r];
    }
  }
  for (int r = 0; r < Rows; ++r)
  {
    out[row + r] = sum[r];
  }
}

inline void add_columns(const Chunk & chunk, Eigen::Index rows, double * out) noexcept
{
  Eigen::Index row = 0;
  for (; row + 16 <= rows; row += 16)
  {
    add_rows<16>(chunk, row, out);
  }
  for (; row + 4 <= rows; row += 4)
  {
    add_rows<4>(chunk, row, out);
  }
  for (; row < rows; ++row)
  {
    add_rows<1>(chunk, row, out);
  }
}

}  // namespace

CD_CLONES void add_product(
  double factor, const ConstMatrixRef & M, const ConstMatrixRef & X,
  MatrixRef out) noexcept CD_NONBLOCKING
{
  const Eigen::Index inner = X.rows();
  const double * matrix = M.data();
  const Eigen::Index stride = M.outerStride();
  Chunk chunk;
  for (Eigen::Index j = 0; j < X.cols(); ++j)
  {
    const double * x = X.data() + j * X.outerStride();
    double * column = out.data() + j * out.outerStride();
    chunk.count = 0;
    for (Eigen::Index k = 0; k < inner; ++k)
    {
      if (x[k] == 0.0)
      {
        continue;
      }
      chunk.value[chunk.count] = factor * x[k];
      chunk.column[chunk.count] = matrix + k * stride;
      if (++chunk.count == kChunk)
      {
        add_columns(chunk, M.rows(), column);
        chunk.count = 0;
      }
    }
    add_columns(chunk, M.rows(), column);
  }
}

}  // namespace constrained_dynamics
