// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <cmath>
#include <limits>
#include <type_traits>

/// @file
/// Scalars for forward automatic differentiation along one or two directions; no allocation, no
/// templates to choose, real-time safe throughout.
///
/// | type   | carries                              | use                              |
/// |--------|--------------------------------------|----------------------------------|
/// | `Dual` | f, f'                                | directional derivative, Jacobian |
/// | `Jet2` | f, df/dt, d²f/dt² along a curve x(t) | φ, φ̇, φ̈ in one evaluation        |
/// | `HyperDual` | f, two first derivatives, the mixed second | derivatives of derivatives |
///
/// A function written for any scalar works when it finds its mathematics by argument-dependent
/// lookup:
///
///     template <class S> S height(const S & angle) { using std::sin; return 0.4 * sin(angle); }
///
/// Kinks and singular points:
/// - `abs` and `sign` at 0 have derivative 0 (the middle of both sides); `sign(0)` is 0, `step(0)`
///   is 1.
/// - `min` and `max` of equal values are their first argument, with its derivatives.
/// - Where a derivative does not exist (`sqrt`, `hypot`, `atan2` and broken powers at 0, `asin` and
///   `acos` at ±1) it is infinite or NaN, as IEEE arithmetic gives it; never a made-up number.
/// - Outside the domain of a function value and derivatives are NaN, and NaN arguments of `min`,
///   `max`, `sign` and `step` give NaN.
/// - `pow(x, y)` with y's derivatives exactly zero is the power with constant exponent: integer y
///   works for negative and zero x. With a moving exponent and x <= 0 the derivatives are NaN.

namespace constrained_dynamics
{

/// Value and first derivative along one direction.
struct Dual
{
  double value = 0.0;
  double derivative = 0.0;

  constexpr Dual() noexcept = default;
  /// A constant. Implicit, so that generic code may mix scalars and literals.
  constexpr Dual(double constant) noexcept : value(constant) {}  // NOLINT
  constexpr Dual(double value_in, double derivative_in) noexcept
  : value(value_in), derivative(derivative_in)
  {
  }
};

/// Value, first and second derivative along a curve x(t) (not Taylor coefficients: `second` is
/// d²/dt²).
struct Jet2
{
  double value = 0.0;
  double first = 0.0;
  double second = 0.0;

  constexpr Jet2() noexcept = default;
  /// A constant. Implicit, so that generic code may mix scalars and literals.
  constexpr Jet2(double constant) noexcept : value(constant) {}  // NOLINT
  constexpr Jet2(double value_in, double first_in, double second_in) noexcept
  : value(value_in), first(first_in), second(second_in)
  {
  }
};

/// Value, the derivatives along two directions and the mixed second derivative. Values may move
/// along a curve in one of them: then `mixed` of a variable is not zero.
struct HyperDual
{
  double value = 0.0;
  double first = 0.0;   ///< along the first direction
  double second = 0.0;  ///< along the second direction
  double mixed = 0.0;   ///< along both

  constexpr HyperDual() noexcept = default;
  /// A constant. Implicit, so that generic code may mix scalars and literals.
  constexpr HyperDual(double constant) noexcept : value(constant) {}  // NOLINT
  constexpr HyperDual(double value_in, double first_in, double second_in, double mixed_in) noexcept
  : value(value_in), first(first_in), second(second_in), mixed(mixed_in)
  {
  }
};

namespace detail
{

template <class T>
inline constexpr bool kIsDerivativeScalar =
  std::is_same_v<T, Dual> || std::is_same_v<T, Jet2> || std::is_same_v<T, HyperDual>;

/// Enables a function for the scalars of this file alone.
template <class T>
using EnableDerivativeScalar = std::enable_if_t<kIsDerivativeScalar<T>, int>;

inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

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

// ---- arithmetic -------------------------------------------------------------------------------

constexpr Dual operator-(const Dual & x) noexcept { return {-x.value, -x.derivative}; }
constexpr Jet2 operator-(const Jet2 & x) noexcept { return {-x.value, -x.first, -x.second}; }

constexpr Dual operator+(const Dual & a, const Dual & b) noexcept
{
  return {a.value + b.value, a.derivative + b.derivative};
}
constexpr Jet2 operator+(const Jet2 & a, const Jet2 & b) noexcept
{
  return {a.value + b.value, a.first + b.first, a.second + b.second};
}
constexpr Dual operator+(const Dual & a, double b) noexcept { return {a.value + b, a.derivative}; }
constexpr Jet2 operator+(const Jet2 & a, double b) noexcept
{
  return {a.value + b, a.first, a.second};
}

constexpr Dual operator-(const Dual & a, const Dual & b) noexcept
{
  return {a.value - b.value, a.derivative - b.derivative};
}
constexpr Jet2 operator-(const Jet2 & a, const Jet2 & b) noexcept
{
  return {a.value - b.value, a.first - b.first, a.second - b.second};
}
constexpr Dual operator-(const Dual & a, double b) noexcept { return {a.value - b, a.derivative}; }
constexpr Jet2 operator-(const Jet2 & a, double b) noexcept
{
  return {a.value - b, a.first, a.second};
}
constexpr Dual operator-(double a, const Dual & b) noexcept { return {a - b.value, -b.derivative}; }
constexpr Jet2 operator-(double a, const Jet2 & b) noexcept
{
  return {a - b.value, -b.first, -b.second};
}

constexpr Dual operator*(const Dual & a, const Dual & b) noexcept
{
  return {a.value * b.value, a.derivative * b.value + a.value * b.derivative};
}
constexpr Jet2 operator*(const Jet2 & a, const Jet2 & b) noexcept
{
  return {
    a.value * b.value, a.first * b.value + a.value * b.first,
    a.second * b.value + 2.0 * a.first * b.first + a.value * b.second};
}
constexpr Dual operator*(const Dual & a, double b) noexcept
{
  return {a.value * b, a.derivative * b};
}
constexpr Jet2 operator*(const Jet2 & a, double b) noexcept
{
  return {a.value * b, a.first * b, a.second * b};
}

constexpr Dual operator/(const Dual & a, const Dual & b) noexcept
{
  const double quotient = a.value / b.value;
  return {quotient, (a.derivative - quotient * b.derivative) / b.value};
}
constexpr Jet2 operator/(const Jet2 & a, const Jet2 & b) noexcept
{
  const double quotient = a.value / b.value;
  const double first = (a.first - quotient * b.first) / b.value;
  return {quotient, first, (a.second - 2.0 * first * b.first - quotient * b.second) / b.value};
}
constexpr Dual operator/(const Dual & a, double b) noexcept
{
  return {a.value / b, a.derivative / b};
}
constexpr Jet2 operator/(const Jet2 & a, double b) noexcept
{
  return {a.value / b, a.first / b, a.second / b};
}

constexpr HyperDual operator-(const HyperDual & x) noexcept
{
  return {-x.value, -x.first, -x.second, -x.mixed};
}
constexpr HyperDual operator+(const HyperDual & a, const HyperDual & b) noexcept
{
  return {a.value + b.value, a.first + b.first, a.second + b.second, a.mixed + b.mixed};
}
constexpr HyperDual operator+(const HyperDual & a, double b) noexcept
{
  return {a.value + b, a.first, a.second, a.mixed};
}
constexpr HyperDual operator-(const HyperDual & a, const HyperDual & b) noexcept { return a + -b; }
constexpr HyperDual operator-(const HyperDual & a, double b) noexcept { return a + -b; }
constexpr HyperDual operator-(double a, const HyperDual & b) noexcept { return -b + a; }
constexpr HyperDual operator*(const HyperDual & a, const HyperDual & b) noexcept
{
  return {
    a.value * b.value, a.first * b.value + a.value * b.first,
    a.second * b.value + a.value * b.second,
    a.mixed * b.value + a.first * b.second + a.second * b.first + a.value * b.mixed};
}
constexpr HyperDual operator*(const HyperDual & a, double b) noexcept
{
  return {a.value * b, a.first * b, a.second * b, a.mixed * b};
}
constexpr HyperDual operator/(const HyperDual & a, const HyperDual & b) noexcept
{
  const double quotient = a.value / b.value;
  const double first = (a.first - quotient * b.first) / b.value;
  const double second = (a.second - quotient * b.second) / b.value;
  return {
    quotient, first, second,
    (a.mixed - first * b.second - second * b.first - quotient * b.mixed) / b.value};
}
constexpr HyperDual operator/(const HyperDual & a, double b) noexcept
{
  return {a.value / b, a.first / b, a.second / b, a.mixed / b};
}

template <class T, detail::EnableDerivativeScalar<T> = 0>
constexpr T operator+(const T & x) noexcept
{
  return x;
}
template <class T, detail::EnableDerivativeScalar<T> = 0>
constexpr T operator+(double a, const T & b) noexcept
{
  return b + a;
}
template <class T, detail::EnableDerivativeScalar<T> = 0>
constexpr T operator*(double a, const T & b) noexcept
{
  return b * a;
}
template <class T, detail::EnableDerivativeScalar<T> = 0>
constexpr T operator/(double a, const T & b) noexcept
{
  return T(a) / b;
}

constexpr Dual & operator+=(Dual & a, const Dual & b) noexcept { return a = a + b; }
constexpr Jet2 & operator+=(Jet2 & a, const Jet2 & b) noexcept { return a = a + b; }
constexpr Dual & operator-=(Dual & a, const Dual & b) noexcept { return a = a - b; }
constexpr Jet2 & operator-=(Jet2 & a, const Jet2 & b) noexcept { return a = a - b; }
constexpr Dual & operator*=(Dual & a, const Dual & b) noexcept { return a = a * b; }
constexpr Jet2 & operator*=(Jet2 & a, const Jet2 & b) noexcept { return a = a * b; }
constexpr Dual & operator/=(Dual & a, const Dual & b) noexcept { return a = a / b; }
constexpr Jet2 & operator/=(Jet2 & a, const Jet2 & b) noexcept { return a = a / b; }
constexpr Dual & operator*=(Dual & a, double b) noexcept { return a = a * b; }
constexpr Jet2 & operator*=(Jet2 & a, double b) noexcept { return a = a * b; }
constexpr Dual & operator/=(Dual & a, double b) noexcept { return a = a / b; }
constexpr Jet2 & operator/=(Jet2 & a, double b) noexcept { return a = a / b; }
constexpr HyperDual & operator+=(HyperDual & a, const HyperDual & b) noexcept { return a = a + b; }
constexpr HyperDual & operator-=(HyperDual & a, const HyperDual & b) noexcept { return a = a - b; }
constexpr HyperDual & operator*=(HyperDual & a, const HyperDual & b) noexcept { return a = a * b; }
constexpr HyperDual & operator/=(HyperDual & a, const HyperDual & b) noexcept { return a = a / b; }

// ---- comparisons: of values; derivatives play no part --------------------------------------

#define CONSTRAINED_DYNAMICS_COMPARE(op)                        \
  template <class T, detail::EnableDerivativeScalar<T> = 0>     \
  constexpr bool operator op(const T & a, const T & b) noexcept \
  {                                                             \
    return a.value op b.value;                                  \
  }                                                             \
  template <class T, detail::EnableDerivativeScalar<T> = 0>     \
  constexpr bool operator op(const T & a, double b) noexcept    \
  {                                                             \
    return a.value op b;                                        \
  }                                                             \
  template <class T, detail::EnableDerivativeScalar<T> = 0>     \
  constexpr bool operator op(double a, const T & b) noexcept    \
  {                                                             \
    return a op b.value;                                        \
  }
CONSTRAINED_DYNAMICS_COMPARE(==)
CONSTRAINED_DYNAMICS_COMPARE(!=)
CONSTRAINED_DYNAMICS_COMPARE(<)
CONSTRAINED_DYNAMICS_COMPARE(<=)
CONSTRAINED_DYNAMICS_COMPARE(>)
CONSTRAINED_DYNAMICS_COMPARE(>=)
#undef CONSTRAINED_DYNAMICS_COMPARE

/// True when value and all derivatives are finite.
inline bool isfinite(const Dual & x) noexcept
{
  return std::isfinite(x.value) && std::isfinite(x.derivative);
}
inline bool isfinite(const Jet2 & x) noexcept
{
  return std::isfinite(x.value) && std::isfinite(x.first) && std::isfinite(x.second);
}
inline bool isfinite(const HyperDual & x) noexcept
{
  return std::isfinite(x.value) && std::isfinite(x.first) && std::isfinite(x.second) &&
         std::isfinite(x.mixed);
}

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

static_assert(std::is_trivially_copyable_v<Dual> && std::is_trivially_copyable_v<Jet2>);
static_assert(std::is_trivially_copyable_v<HyperDual>);

}  // namespace constrained_dynamics
