// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <cmath>
#include <type_traits>

#include "constrained_dynamics/formula/dual_arithmetic.hpp"

/// @file
/// Elementary functions of the scalars of automatic differentiation; see dual.hpp.

namespace constrained_dynamics
{
namespace detail
{

/// f(x) from f, f' and f'' at x.value.
constexpr Dual chain(const Dual & x, double f, double d1, double /*d2*/) noexcept
{
  return {f, d1 * x.derivative};
}
constexpr Jet2 chain(const Jet2 & x, double f, double d1, double d2) noexcept
{
  return {f, d1 * x.first, d2 * x.first * x.first + d1 * x.second};
}
constexpr HyperDual chain(const HyperDual & x, double f, double d1, double d2) noexcept
{
  return {f, d1 * x.first, d1 * x.second, d2 * x.first * x.second + d1 * x.mixed};
}

/// A value whose derivatives are zero, or NaN when the value is.
template <class T>
constexpr T piecewise_constant(double f) noexcept
{
  return f == f ? T(f) : chain(T(), f, kNaN, kNaN);
}

constexpr bool has_no_derivative(const Dual & x) noexcept { return x.derivative == 0.0; }
constexpr bool has_no_derivative(const Jet2 & x) noexcept
{
  return x.first == 0.0 && x.second == 0.0;
}
constexpr bool has_no_derivative(const HyperDual & x) noexcept
{
  return x.first == 0.0 && x.second == 0.0 && x.mixed == 0.0;
}

/// x to the power of the exponent; small integer exponents by multiplication.
inline double power(double x, double exponent) noexcept
{
  if (exponent == 0.0) return 1.0;
  if (exponent == 1.0) return x;
  if (exponent == 2.0) return x * x;
  if (exponent == 3.0) return x * x * x;
  if (exponent == -1.0) return 1.0 / x;
  return std::pow(x, exponent);
}

}  // namespace detail

// ---- functions of one argument ------------------------------------------------------------------

template <class T, detail::EnableDerivativeScalar<T> = 0>
T sin(const T & x) noexcept
{
  const double s = std::sin(x.value);
  const double c = std::cos(x.value);
  return detail::chain(x, s, c, -s);
}

template <class T, detail::EnableDerivativeScalar<T> = 0>
T cos(const T & x) noexcept
{
  const double s = std::sin(x.value);
  const double c = std::cos(x.value);
  return detail::chain(x, c, -s, -c);
}

template <class T, detail::EnableDerivativeScalar<T> = 0>
T tan(const T & x) noexcept
{
  const double t = std::tan(x.value);
  const double d = 1.0 + t * t;
  return detail::chain(x, t, d, 2.0 * t * d);
}

template <class T, detail::EnableDerivativeScalar<T> = 0>
T asin(const T & x) noexcept
{
  const double d = 1.0 / std::sqrt((1.0 - x.value) * (1.0 + x.value));
  return detail::chain(x, std::asin(x.value), d, x.value * d * d * d);
}

template <class T, detail::EnableDerivativeScalar<T> = 0>
T acos(const T & x) noexcept
{
  const double d = -1.0 / std::sqrt((1.0 - x.value) * (1.0 + x.value));
  return detail::chain(x, std::acos(x.value), d, x.value * d * d * d);
}

template <class T, detail::EnableDerivativeScalar<T> = 0>
T atan(const T & x) noexcept
{
  const double d = 1.0 / (1.0 + x.value * x.value);
  return detail::chain(x, std::atan(x.value), d, -2.0 * (x.value * d) * d);
}

template <class T, detail::EnableDerivativeScalar<T> = 0>
T sinh(const T & x) noexcept
{
  const double s = std::sinh(x.value);
  return detail::chain(x, s, std::cosh(x.value), s);
}

template <class T, detail::EnableDerivativeScalar<T> = 0>
T cosh(const T & x) noexcept
{
  const double c = std::cosh(x.value);
  return detail::chain(x, c, std::sinh(x.value), c);
}

template <class T, detail::EnableDerivativeScalar<T> = 0>
T tanh(const T & x) noexcept
{
  const double t = std::tanh(x.value);
  const double sech = 1.0 / std::cosh(x.value);  // 1 - t² would cancel for large x
  return detail::chain(x, t, sech * sech, -2.0 * t * sech * sech);
}

template <class T, detail::EnableDerivativeScalar<T> = 0>
T exp(const T & x) noexcept
{
  const double e = std::exp(x.value);
  return detail::chain(x, e, e, e);
}

template <class T, detail::EnableDerivativeScalar<T> = 0>
T log(const T & x) noexcept
{
  const double d = x.value >= 0.0 ? 1.0 / x.value : detail::kNaN;
  return detail::chain(x, std::log(x.value), d, -d * d);
}

template <class T, detail::EnableDerivativeScalar<T> = 0>
T sqrt(const T & x) noexcept
{
  const double r = std::sqrt(x.value);
  const double d = 0.5 / r;
  return detail::chain(x, r, d, -0.5 * d / x.value);
}

/// |x|, with the derivatives of the side x is on.
template <class T, detail::EnableDerivativeScalar<T> = 0>
T abs(const T & x) noexcept
{
  if (x.value > 0.0) return x;
  if (x.value < 0.0) return -x;
  return detail::piecewise_constant<T>(x.value == 0.0 ? 0.0 : detail::kNaN);
}
template <class T, detail::EnableDerivativeScalar<T> = 0>
T fabs(const T & x) noexcept
{
  return abs(x);
}

/// -1, 0 or 1.
template <class T, detail::EnableDerivativeScalar<T> = 0>
T sign(const T & x) noexcept
{
  const double v = x.value;
  return detail::piecewise_constant<T>(v > 0.0 ? 1.0 : (v < 0.0 ? -1.0 : (v == 0.0 ? 0.0 : v)));
}

/// 0 for x < 0, 1 for x >= 0.
template <class T, detail::EnableDerivativeScalar<T> = 0>
T step(const T & x) noexcept
{
  const double v = x.value;
  return detail::piecewise_constant<T>(v >= 0.0 ? 1.0 : (v < 0.0 ? 0.0 : v));
}

// ---- powers -------------------------------------------------------------------------------------

/// x to a constant power. Integer exponents are exact for negative and zero x, derivatives
/// included.
template <class T, detail::EnableDerivativeScalar<T> = 0>
T pow(const T & x, double exponent) noexcept
{
  const double n = exponent;
  const double f = detail::power(x.value, n);
  // A factor of zero ends the series: without this x = 0 would give 0 * inf.
  const double d1 = n == 0.0 ? 0.0 : n * detail::power(x.value, n - 1.0);
  double d2 = 0.0;
  if constexpr (!std::is_same_v<T, Dual>)
  {
    d2 = n == 0.0 || n == 1.0 ? 0.0 : n * (n - 1.0) * detail::power(x.value, n - 2.0);
  }
  return detail::chain(x, f, d1, d2);
}

/// x to the power y, both of them moving; see the notes on top for x <= 0.
template <class T, detail::EnableDerivativeScalar<T> = 0>
T pow(const T & x, const T & y) noexcept
{
  if (detail::has_no_derivative(y)) return pow(x, y.value);
  const double f = detail::power(x.value, y.value);
  if (!(x.value > 0.0)) return detail::chain(T(), f, detail::kNaN, detail::kNaN);
  T exponent = y * log(x);  // x^y = exp(y log x); only its derivatives are used
  exponent.value = 0.0;
  return exp(exponent) * f;
}

template <class T, detail::EnableDerivativeScalar<T> = 0>
T pow(double x, const T & y) noexcept
{
  return pow(T(x), y);
}

// ---- functions of two arguments -----------------------------------------------------------------

/// sqrt(x² + y²) without overflow.
template <class T, detail::EnableDerivativeScalar<T> = 0>
T hypot(const T & x, const T & y) noexcept
{
  const double h = std::hypot(x.value, y.value);
  const double c = x.value / h;
  const double s = y.value / h;
  if constexpr (std::is_same_v<T, Dual>)
  {
    return {h, c * x.derivative + s * y.derivative};
  }
  else if constexpr (std::is_same_v<T, HyperDual>)
  {
    const double across_1 = c * y.first - s * x.first;
    const double across_2 = c * y.second - s * x.second;
    return {
      h, c * x.first + s * y.first, c * x.second + s * y.second,
      c * x.mixed + s * y.mixed + across_1 * (across_2 / h)};
  }
  else
  {
    const double across = c * y.first - s * x.first;  // rate at a right angle to the radius
    return {h, c * x.first + s * y.first, c * x.second + s * y.second + across * (across / h)};
  }
}
template <class T, detail::EnableDerivativeScalar<T> = 0>
T hypot(const T & x, double y) noexcept
{
  return hypot(x, T(y));
}
template <class T, detail::EnableDerivativeScalar<T> = 0>
T hypot(double x, const T & y) noexcept
{
  return hypot(T(x), y);
}

/// Angle of the point (x, y).
template <class T, detail::EnableDerivativeScalar<T> = 0>
T atan2(const T & y, const T & x) noexcept
{
  const double h = std::hypot(x.value, y.value);
  const double c = x.value / h;
  const double s = y.value / h;
  const double angle = std::atan2(y.value, x.value);
  if constexpr (std::is_same_v<T, Dual>)
  {
    return {angle, (c * y.derivative - s * x.derivative) / h};
  }
  else if constexpr (std::is_same_v<T, HyperDual>)
  {
    const double radial_1 = c * x.first + s * y.first;
    const double radial_2 = c * x.second + s * y.second;
    const double first = (c * y.first - s * x.first) / h;
    const double second = (c * y.second - s * x.second) / h;
    return {
      angle, first, second, (c * y.mixed - s * x.mixed - radial_1 * second - radial_2 * first) / h};
  }
  else
  {
    const double radial = c * x.first + s * y.first;
    const double first = (c * y.first - s * x.first) / h;
    return {angle, first, (c * y.second - s * x.second - 2.0 * radial * first) / h};
  }
}
template <class T, detail::EnableDerivativeScalar<T> = 0>
T atan2(const T & y, double x) noexcept
{
  return atan2(y, T(x));
}
template <class T, detail::EnableDerivativeScalar<T> = 0>
T atan2(double y, const T & x) noexcept
{
  return atan2(T(y), x);
}

namespace detail
{

template <class T>
constexpr T smaller(const T & a, const T & b) noexcept
{
  return b < a ? b : (a <= b ? a : a + b);  // the sum is NaN when either is
}

template <class T>
constexpr T larger(const T & a, const T & b) noexcept
{
  return a < b ? b : (b <= a ? a : a + b);
}

}  // namespace detail

// Not templates, so that they win over std::min and std::max after `using std::min;`.
constexpr Dual min(const Dual & a, const Dual & b) noexcept { return detail::smaller(a, b); }
constexpr Jet2 min(const Jet2 & a, const Jet2 & b) noexcept { return detail::smaller(a, b); }
constexpr Dual max(const Dual & a, const Dual & b) noexcept { return detail::larger(a, b); }
constexpr Jet2 max(const Jet2 & a, const Jet2 & b) noexcept { return detail::larger(a, b); }
constexpr HyperDual min(const HyperDual & a, const HyperDual & b) noexcept
{
  return detail::smaller(a, b);
}
constexpr HyperDual max(const HyperDual & a, const HyperDual & b) noexcept
{
  return detail::larger(a, b);
}

}  // namespace constrained_dynamics
