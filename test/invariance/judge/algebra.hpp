// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include <boost/multiprecision/cpp_bin_float.hpp>

/// Small dense algebra in 50 digits.
namespace invariance
{

using Real = boost::multiprecision::number<
  boost::multiprecision::cpp_bin_float<50>, boost::multiprecision::et_off>;
using Vector = std::vector<Real>;

/// A value and how fast it changes with time.
struct Moving
{
  Real value = 0;
  Real rate = 0;

  Moving() = default;
  Moving(Real value_in, Real rate_in = 0) : value(std::move(value_in)), rate(std::move(rate_in)) {}
  Moving(int value_in) : value(value_in) {}
};

inline Moving operator-(const Moving & a) { return {-a.value, -a.rate}; }
inline Moving operator+(const Moving & a, const Moving & b)
{
  return {a.value + b.value, a.rate + b.rate};
}
inline Moving operator-(const Moving & a, const Moving & b)
{
  return {a.value - b.value, a.rate - b.rate};
}
inline Moving operator*(const Moving & a, const Moving & b)
{
  return {a.value * b.value, a.value * b.rate + a.rate * b.value};
}
inline Moving operator/(const Moving & a, const Moving & b)
{
  const Real quotient = a.value / b.value;
  return {quotient, (a.rate - quotient * b.rate) / b.value};
}
Moving sqrt(const Moving & a);

/// A vector of three of Real or Moving.
template <class S>
struct Triple
{
  std::array<S, 3> element;

  const S & operator[](int i) const { return element[static_cast<std::size_t>(i)]; }
  S & operator[](int i) { return element[static_cast<std::size_t>(i)]; }
};
using RealTriple = Triple<Real>;
using MovingTriple = Triple<Moving>;

template <class S>
Triple<S> operator+(const Triple<S> & a, const Triple<S> & b)
{
  return {{a[0] + b[0], a[1] + b[1], a[2] + b[2]}};
}
template <class S>
Triple<S> operator-(const Triple<S> & a, const Triple<S> & b)
{
  return {{a[0] - b[0], a[1] - b[1], a[2] - b[2]}};
}
template <class S>
Triple<S> operator*(const S & s, const Triple<S> & a)
{
  return {{s * a[0], s * a[1], s * a[2]}};
}
template <class S>
S dot(const Triple<S> & a, const Triple<S> & b)
{
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}
template <class S>
Triple<S> cross(const Triple<S> & a, const Triple<S> & b)
{
  return {{a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]}};
}
template <class S>
S norm(const Triple<S> & a)
{
  return sqrt(dot(a, a));
}

/// The columns of a 3 × 3 matrix.
template <class S>
struct Columns
{
  std::array<Triple<S>, 3> column;

  const Triple<S> & operator[](int i) const { return column[static_cast<std::size_t>(i)]; }
  Triple<S> & operator[](int i) { return column[static_cast<std::size_t>(i)]; }
};
using Rotation = Columns<Real>;
using MovingRotation = Columns<Moving>;

template <class S>
Triple<S> operator*(const Columns<S> & m, const Triple<S> & a)
{
  return a[0] * m[0] + a[1] * m[1] + a[2] * m[2];
}
template <class S>
Columns<S> operator*(const Columns<S> & a, const Columns<S> & b)
{
  return {{a * b[0], a * b[1], a * b[2]}};
}
/// mᵀ a.
template <class S>
Triple<S> transposed_times(const Columns<S> & m, const Triple<S> & a)
{
  return {{dot(m[0], a), dot(m[1], a), dot(m[2], a)}};
}
template <class S>
Columns<S> transpose(const Columns<S> & m)
{
  return {
    {Triple<S>{{m[0][0], m[1][0], m[2][0]}}, Triple<S>{{m[0][1], m[1][1], m[2][1]}},
     Triple<S>{{m[0][2], m[1][2], m[2][2]}}}};
}

RealTriple zero3();
RealTriple unit3(int axis);
Rotation identity3();
MovingTriple still(const RealTriple & a);
MovingRotation still(const Rotation & a);
RealTriple value(const MovingTriple & a);
RealTriple rate(const MovingTriple & a);
Rotation value(const MovingRotation & a);
/// Rz(yaw) Ry(pitch) Rx(roll).
Rotation from_rpy(const RealTriple & rpy);
/// About a unit axis, by an angle that moves.
MovingRotation about(const RealTriple & axis, const Moving & angle);

/// A matrix by rows.
struct Matrix
{
  int rows = 0;
  int cols = 0;
  Vector element;

  Matrix() = default;
  Matrix(int rows_in, int cols_in)
  : rows(rows_in), cols(cols_in), element(static_cast<std::size_t>(rows_in * cols_in))
  {
  }
  const Real & operator()(int i, int j) const
  {
    return element[static_cast<std::size_t>(i * cols + j)];
  }
  Real & operator()(int i, int j) { return element[static_cast<std::size_t>(i * cols + j)]; }
};

Vector operator*(const Matrix & m, const Vector & x);
Vector transposed_times(const Matrix & m, const Vector & x);
Real dot(const Vector & a, const Vector & b);
Real norm(const Vector & a);

/// Solves m x = rhs by Gaussian elimination with pivots chosen by rows; each column of rhs is a
/// right-hand side.
/// @return false where a pivot is below 1e-40 of the largest element of its row.
bool solve(Matrix m, Matrix & rhs);
bool solve(const Matrix & m, Vector & rhs);

/// m = Uᵀ diag(σ) Vᵀ with σ descending, by one-sided Jacobi rotations. The rows of U are the left
/// singular vectors of the directions above 1e-45 of the largest.
struct RowSvd
{
  Vector singular_values;  ///< one per row of m; zeros beyond those of U
  Matrix left;             ///< U
  Matrix rotated;          ///< U m = diag(σ) Vᵀ
};
RowSvd row_svd(const Matrix & m);

}  // namespace invariance
