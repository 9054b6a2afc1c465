// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "algebra.hpp"

#include <algorithm>
#include <numeric>

namespace invariance
{
namespace
{

std::size_t at(int i) { return static_cast<std::size_t>(i); }

/// A matrix with the same products of rows and as few columns as its rank: Householder's
/// reflections of the columns, the largest row first, until less than 1e-45 of the largest row is
/// left.
Matrix compressed(Matrix work)
{
  const int rows = work.rows;
  const int cols = work.cols;
  std::vector<bool> used(at(rows), false);
  Real largest = 0;
  int rank = 0;
  for (; rank < std::min(rows, cols); ++rank)
  {
    int pivot = -1;
    Real square = 0;
    for (int i = 0; i < rows; ++i)
    {
      Real sum = 0;
      for (int j = rank; j < cols && !used[at(i)]; ++j)
      {
        sum += work(i, j) * work(i, j);
      }
      if (sum > square)
      {
        square = sum;
        pivot = i;
      }
    }
    largest = std::max(largest, square);
    if (pivot < 0 || square <= largest * Real("1e-90"))
    {
      break;
    }
    used[at(pivot)] = true;
    Vector v(at(cols));
    for (int j = rank; j < cols; ++j)
    {
      v[at(j)] = work(pivot, j);
    }
    const Real length = sqrt(square);
    const Real head = v[at(rank)];
    v[at(rank)] += head < 0 ? Real(-length) : length;
    const Real factor = 1 / (square + abs(head) * length);  // 2 / vᵀv
    for (int i = 0; i < rows; ++i)
    {
      Real along = 0;
      for (int j = rank; j < cols; ++j)
      {
        along += v[at(j)] * work(i, j);
      }
      along *= factor;
      for (int j = rank; j < cols; ++j)
      {
        work(i, j) -= along * v[at(j)];
      }
    }
  }
  Matrix out(rows, rank);
  for (int i = 0; i < rows; ++i)
  {
    for (int j = 0; j < rank; ++j)
    {
      out(i, j) = work(i, j);
    }
  }
  return out;
}

/// work = Qᵀ R with R square in the first rows of `work`; returns Q, whose rows are orthonormal.
/// Householder's reflections of the rows.
Matrix triangularise(Matrix & work)
{
  const int rows = work.rows;
  const int cols = work.cols;
  std::vector<Vector> reflectors;
  const auto reflect = [rows](const Vector & v, Matrix & target)
  {
    Vector along(at(target.cols));
    Real square = 0;
    for (int i = 0; i < rows; ++i)
    {
      if (v[at(i)] == 0)
      {
        continue;
      }
      square += v[at(i)] * v[at(i)];
      for (int j = 0; j < target.cols; ++j)
      {
        along[at(j)] += v[at(i)] * target(i, j);
      }
    }
    if (square == 0)
    {
      return;
    }
    for (int i = 0; i < rows; ++i)
    {
      const Real factor = 2 * v[at(i)] / square;
      for (int j = 0; j < target.cols && factor != 0; ++j)
      {
        target(i, j) -= factor * along[at(j)];
      }
    }
  };
  for (int c = 0; c < cols; ++c)
  {
    Vector v(at(rows));
    Real square = 0;
    for (int i = c; i < rows; ++i)
    {
      v[at(i)] = work(i, c);
      square += v[at(i)] * v[at(i)];
    }
    v[at(c)] += v[at(c)] < 0 ? Real(-sqrt(square)) : sqrt(square);
    reflect(v, work);
    reflectors.push_back(std::move(v));
  }
  Matrix columns(rows, cols);  // Qᵀ: the reflections of the first unit vectors
  for (int j = 0; j < cols; ++j)
  {
    columns(j, j) = 1;
  }
  for (std::size_t k = reflectors.size(); k-- > 0;)
  {
    reflect(reflectors[k], columns);
  }
  Matrix out(cols, rows);
  for (int i = 0; i < rows; ++i)
  {
    for (int j = 0; j < cols; ++j)
    {
      out(j, i) = columns(i, j);
    }
  }
  return out;
}

}  // namespace

Moving sqrt(const Moving & a)
{
  const Real root = sqrt(a.value);
  return {root, a.rate / (2 * root)};
}

RealTriple zero3() { return {{Real(0), Real(0), Real(0)}}; }

RealTriple unit3(int axis)
{
  RealTriple out = zero3();
  out[axis] = 1;
  return out;
}

Rotation identity3() { return {{unit3(0), unit3(1), unit3(2)}}; }

MovingTriple still(const RealTriple & a) { return {{Moving(a[0]), Moving(a[1]), Moving(a[2])}}; }

MovingRotation still(const Rotation & a) { return {{still(a[0]), still(a[1]), still(a[2])}}; }

RealTriple value(const MovingTriple & a) { return {{a[0].value, a[1].value, a[2].value}}; }

RealTriple rate(const MovingTriple & a) { return {{a[0].rate, a[1].rate, a[2].rate}}; }

Rotation value(const MovingRotation & a) { return {{value(a[0]), value(a[1]), value(a[2])}}; }

Rotation from_rpy(const RealTriple & rpy)
{
  if (rpy[0] == 0 && rpy[1] == 0 && rpy[2] == 0)
  {
    return identity3();
  }
  const MovingRotation roll = about(unit3(0), Moving(rpy[0]));
  const MovingRotation pitch = about(unit3(1), Moving(rpy[1]));
  const MovingRotation yaw = about(unit3(2), Moving(rpy[2]));
  return value(yaw * (pitch * roll));
}

MovingRotation about(const RealTriple & axis, const Moving & angle)
{
  const Real sine = sin(angle.value);
  const Real cosine = cos(angle.value);
  const Moving s(sine, cosine * angle.rate);
  const Moving c(cosine, -sine * angle.rate);
  const MovingTriple a = still(axis);
  MovingRotation out;
  for (int j = 0; j < 3; ++j)  // Rodrigues, column by column
  {
    const MovingTriple e = still(unit3(j));
    out[j] = c * e + (a[j] * (Moving(1) - c)) * a + s * cross(a, e);
  }
  return out;
}

Vector operator*(const Matrix & m, const Vector & x)
{
  Vector out(at(m.rows));
  for (int i = 0; i < m.rows; ++i)
  {
    for (int j = 0; j < m.cols; ++j)
    {
      out[at(i)] += m(i, j) * x[at(j)];
    }
  }
  return out;
}

Vector transposed_times(const Matrix & m, const Vector & x)
{
  Vector out(at(m.cols));
  for (int i = 0; i < m.rows; ++i)
  {
    for (int j = 0; j < m.cols; ++j)
    {
      out[at(j)] += m(i, j) * x[at(i)];
    }
  }
  return out;
}

Real dot(const Vector & a, const Vector & b)
{
  Real sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
  {
    sum += a[i] * b[i];
  }
  return sum;
}

Real norm(const Vector & a) { return sqrt(dot(a, a)); }

bool solve(Matrix m, Matrix & rhs)
{
  const int n = m.rows;
  Vector scale(at(n));
  for (int i = 0; i < n; ++i)
  {
    for (int j = 0; j < n; ++j)
    {
      scale[at(i)] = std::max<Real>(scale[at(i)], abs(m(i, j)));
    }
    if (scale[at(i)] == 0)
    {
      return false;
    }
  }
  const Real least("1e-40");
  for (int k = 0; k < n; ++k)
  {
    int pivot = k;
    Real best = 0;
    for (int i = k; i < n; ++i)
    {
      const Real size = abs(m(i, k)) / scale[at(i)];
      if (size > best)
      {
        best = size;
        pivot = i;
      }
    }
    if (!(best > least))
    {
      return false;
    }
    if (pivot != k)
    {
      for (int j = 0; j < n; ++j)
      {
        std::swap(m(k, j), m(pivot, j));
      }
      for (int j = 0; j < rhs.cols; ++j)
      {
        std::swap(rhs(k, j), rhs(pivot, j));
      }
      std::swap(scale[at(k)], scale[at(pivot)]);
    }
    for (int i = k + 1; i < n; ++i)
    {
      if (m(i, k) == 0)
      {
        continue;
      }
      const Real factor = m(i, k) / m(k, k);
      for (int j = k + 1; j < n; ++j)
      {
        m(i, j) -= factor * m(k, j);
      }
      for (int j = 0; j < rhs.cols; ++j)
      {
        rhs(i, j) -= factor * rhs(k, j);
      }
    }
  }
  for (int j = 0; j < rhs.cols; ++j)
  {
    for (int i = n - 1; i >= 0; --i)
    {
      for (int k = i + 1; k < n; ++k)
      {
        rhs(i, j) -= m(i, k) * rhs(k, j);
      }
      rhs(i, j) /= m(i, i);
    }
  }
  return true;
}

bool solve(const Matrix & m, Vector & rhs)
{
  Matrix columns(m.rows, 1);
  columns.element = rhs;
  const bool done = solve(m, columns);
  rhs = columns.element;
  return done;
}

RowSvd row_svd(const Matrix & m)
{
  // Rotations work on a square matrix of the size of the rank, however many rows there are.
  Matrix work = compressed(m);
  Matrix left = triangularise(work);
  const int rows = work.cols;
  const int cols = work.cols;
  Vector square(at(rows));
  Real largest = 0;
  for (int i = 0; i < rows; ++i)
  {
    for (int j = 0; j < cols; ++j)
    {
      square[at(i)] += work(i, j) * work(i, j);
    }
    largest = std::max(largest, square[at(i)]);
  }
  // Rows below 1e-45 of the largest are zero; rows count as orthogonal below a cosine of 1e-42.
  const Real nothing = largest * Real("1e-90");
  const Real cosine_squared("1e-84");
  const int sweeps = 60;
  for (int sweep = 0; sweep < sweeps; ++sweep)
  {
    bool rotated = false;
    for (int i = 0; i < rows; ++i)
    {
      for (int k = i + 1; k < rows; ++k)
      {
        if (square[at(i)] <= nothing || square[at(k)] <= nothing)
        {
          continue;
        }
        Real product = 0;
        for (int j = 0; j < cols; ++j)
        {
          product += work(i, j) * work(k, j);
        }
        if (product * product <= cosine_squared * square[at(i)] * square[at(k)])
        {
          continue;
        }
        rotated = true;
        const Real zeta = (square[at(k)] - square[at(i)]) / (2 * product);
        const Real root = abs(zeta) + sqrt(1 + zeta * zeta);
        const Real t = (zeta < 0 ? Real(-1) : Real(1)) / root;
        const Real c = 1 / sqrt(1 + t * t);
        const Real s = c * t;
        const auto rotate = [&](Matrix & target)
        {
          for (int j = 0; j < target.cols; ++j)
          {
            const Real x = target(i, j);
            const Real y = target(k, j);
            target(i, j) = c * x - s * y;
            target(k, j) = s * x + c * y;
          }
        };
        rotate(work);
        rotate(left);
        for (const int row : {i, k})
        {
          square[at(row)] = 0;
          for (int j = 0; j < cols; ++j)
          {
            square[at(row)] += work(row, j) * work(row, j);
          }
        }
      }
    }
    if (!rotated)
    {
      break;
    }
  }
  std::vector<int> order(at(rows));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(
    order.begin(), order.end(), [&](int a, int b) { return square[at(a)] > square[at(b)]; });
  RowSvd out{Vector(at(m.rows)), Matrix(rows, m.rows), Matrix(rows, m.cols)};
  for (int i = 0; i < rows; ++i)
  {
    const int from = order[at(i)];
    out.singular_values[at(i)] = sqrt(square[at(from)]);
    for (int k = 0; k < m.rows; ++k)
    {
      out.left(i, k) = left(from, k);
      for (int j = 0; j < m.cols; ++j)
      {
        out.rotated(i, j) += left(from, k) * m(k, j);
      }
    }
  }
  return out;
}

}  // namespace invariance
