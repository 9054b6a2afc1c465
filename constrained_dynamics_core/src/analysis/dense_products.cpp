// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "analysis/dense_products.hpp"

#include "clones.hpp"
#include "formulations/columns.hpp"

namespace constrained_dynamics
{

namespace
{

constexpr int kChunk = 64;
constexpr Eigen::Index kLanes = columns::kPack;

// Packs: the compiler keeps arrays of doubles in memory, where sums take four times as long.
using columns::Pack;

/// Nonzero elements of a column, some at a time.
struct Chunk
{
  double value[kChunk];
  const double * column[kChunk];  // of M
  int count;
};

/// Adds 4 · `Blocks` elements of the sum of the chunk's columns, beginning at a row.
template <int Blocks>
inline void add_rows(const Chunk & chunk, Eigen::Index row, double * out) noexcept
{
  Pack sum[Blocks];
  for (int b = 0; b < Blocks; ++b)
  {
    sum[b] = columns::at(out + row + kLanes * b)->four;
  }
  for (int k = 0; k < chunk.count; ++k)
  {
    const double * column = chunk.column[k] + row;
    for (int b = 0; b < Blocks; ++b)
    {
      sum[b] += chunk.value[k] * columns::at(column + kLanes * b)->four;
    }
  }
  for (int b = 0; b < Blocks; ++b)
  {
    columns::at(out + row + kLanes * b)->four = sum[b];
  }
}

/// The same for the last rows, fewer than four: together with those before them where there are.
inline void add_last_rows(
  const Chunk & chunk, Eigen::Index row, Eigen::Index rows, double * out) noexcept
{
  if (rows >= kLanes)
  {
    Pack sum = {0.0, 0.0, 0.0, 0.0};
    for (int k = 0; k < chunk.count; ++k)
    {
      sum += chunk.value[k] * columns::at(chunk.column[k] + rows - kLanes)->four;
    }
    for (Eigen::Index r = row; r < rows; ++r)
    {
      out[r] += sum[r - rows + kLanes];
    }
    return;
  }
  for (Eigen::Index r = row; r < rows; ++r)
  {
    double sum = 0.0;
    for (int k = 0; k < chunk.count; ++k)
    {
      sum += chunk.value[k] * chunk.column[k][r];
    }
    out[r] += sum;
  }
}

inline void add_columns(const Chunk & chunk, Eigen::Index rows, double * out) noexcept
{
  Eigen::Index row = 0;
  for (; row + 4 * kLanes <= rows; row += 4 * kLanes)
  {
    add_rows<4>(chunk, row, out);
  }
  if (row + 2 * kLanes <= rows)
  {
    add_rows<2>(chunk, row, out);
    row += 2 * kLanes;
  }
  if (row + kLanes <= rows)
  {
    add_rows<1>(chunk, row, out);
    row += kLanes;
  }
  if (row < rows)
  {
    add_last_rows(chunk, row, rows, out);
  }
}

}  // namespace

CD_CLONES void add_product(
  double factor, const ConstMatrixRef & M, const ConstMatrixRef & X,
  MatrixRef out) noexcept CD_NONBLOCKING
{
  const Eigen::Index inner = X.rows();
  const Eigen::Index rows = M.rows();
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
      chunk.value[chunk.count] = factor * x[k];
      chunk.column[chunk.count] = matrix + k * stride;
      chunk.count += x[k] != 0.0 ? 1 : 0;
      if (chunk.count == kChunk)
      {
        add_columns(chunk, rows, column);
        chunk.count = 0;
      }
    }
    add_columns(chunk, rows, column);
  }
}

}  // namespace constrained_dynamics
