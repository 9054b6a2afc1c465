// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <cmath>
#include <limits>
#include <type_traits>

/// @file
/// The scalars of automatic differentiation, their arithmetic and comparisons; see dual.hpp.

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

/// Enables a function only for the scalars of this file.
template <class T>
using EnableDerivativeScalar = std::enable_if_t<kIsDerivativeScalar<T>, int>;

inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

}  // namespace detail

// ---- arithmetic: first what differs for each scalar, then what all have in common --------------

constexpr Dual operator-(const Dual & x) noexcept { return {-x.value, -x.derivative}; }
constexpr Dual operator+(const Dual & a, const Dual & b) noexcept
{
  return {a.value + b.value, a.derivative + b.derivative};
}
constexpr Dual operator+(const Dual & a, double b) noexcept { return {a.value + b, a.derivative}; }
constexpr Dual operator*(const Dual & a, const Dual & b) noexcept
{
  return {a.value * b.value, a.derivative * b.value + a.value * b.derivative};
}
constexpr Dual operator*(const Dual & a, double b) noexcept
{
  return {a.value * b, a.derivative * b};
}
constexpr Dual operator/(const Dual & a, const Dual & b) noexcept
{
  const double quotient = a.value / b.value;
  return {quotient, (a.derivative - quotient * b.derivative) / b.value};
}
constexpr Dual operator/(const Dual & a, double b) noexcept
{
  return {a.value / b, a.derivative / b};
}

constexpr Jet2 operator-(const Jet2 & x) noexcept { return {-x.value, -x.first, -x.second}; }
constexpr Jet2 operator+(const Jet2 & a, const Jet2 & b) noexcept
{
  return {a.value + b.value, a.first + b.first, a.second + b.second};
}
constexpr Jet2 operator+(const Jet2 & a, double b) noexcept
{
  return {a.value + b, a.first, a.second};
}
constexpr Jet2 operator*(const Jet2 & a, const Jet2 & b) noexcept
{
  return {
    a.value * b.value, a.first * b.value + a.value * b.first,
    a.second * b.value + 2.0 * a.first * b.first + a.value * b.second};
}
constexpr Jet2 operator*(const Jet2 & a, double b) noexcept
{
  return {a.value * b, a.first * b, a.second * b};
}
constexpr Jet2 operator/(const Jet2 & a, const Jet2 & b) noexcept
{
  const double quotient = a.value / b.value;
  const double first = (a.first - quotient * b.first) / b.value;
  return {quotient, first, (a.second - 2.0 * first * b.first - quotient * b.second) / b.value};
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
constexpr T operator-(const T & a, const T & b) noexcept
{
  return a + -b;
}
template <class T, detail::EnableDerivativeScalar<T> = 0>
constexpr T operator-(const T & a, double b) noexcept
{
  return a + -b;
}
template <class T, detail::EnableDerivativeScalar<T> = 0>
constexpr T operator-(double a, const T & b) noexcept
{
  return -b + a;
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

#define CONSTRAINED_DYNAMICS_ASSIGN(op)                     \
  template <class T, detail::EnableDerivativeScalar<T> = 0> \
  constexpr T & operator op##=(T & a, const T & b) noexcept \
  {                                                         \
    return a = a op b;                                      \
  }                                                         \
  template <class T, detail::EnableDerivativeScalar<T> = 0> \
  constexpr T & operator op##=(T & a, double b) noexcept    \
  {                                                         \
    return a = a op b;                                      \
  }
CONSTRAINED_DYNAMICS_ASSIGN(+)
CONSTRAINED_DYNAMICS_ASSIGN(-)
CONSTRAINED_DYNAMICS_ASSIGN(*)
CONSTRAINED_DYNAMICS_ASSIGN(/)
#undef CONSTRAINED_DYNAMICS_ASSIGN

// ---- comparisons of values; derivatives are ignored ----------------------------------------

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

static_assert(std::is_trivially_copyable_v<Dual> && std::is_trivially_copyable_v<Jet2>);
static_assert(std::is_trivially_copyable_v<HyperDual>);

}  // namespace constrained_dynamics
