// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors
#pragma once

#include <cmath>

#include "constrained_dynamics/formula/dual.hpp"

namespace constrained_dynamics::detail
{

/// A number with the size that it could have: the same expression with every sum taken in absolute
/// values. Where |value| is far below `size`, terms have cancelled and rounding is what is left.
/// A scalar of FormulaProgram: the sizes of its gradients are those of derivatives.
struct Sized
{
  double value = 0.0;
  double size = 0.0;

  constexpr Sized() noexcept = default;
  Sized(double constant) noexcept : value(constant), size(std::abs(constant)) {}  // NOLINT
  constexpr Sized(double value_in, double size_in) noexcept : value(value_in), size(size_in) {}
};

inline Sized operator-(const Sized & x) noexcept { return {-x.value, x.size}; }
inline Sized operator+(const Sized & a, const Sized & b) noexcept
{
  return {a.value + b.value, a.size + b.size};
}
inline Sized operator-(const Sized & a, const Sized & b) noexcept
{
  return {a.value - b.value, a.size + b.size};
}
inline Sized operator*(const Sized & a, const Sized & b) noexcept
{
  return {a.value * b.value, a.size * b.size};
}
inline Sized operator/(const Sized & a, const Sized & b) noexcept
{
  return {a.value / b.value, a.size / std::abs(b.value)};
}
inline Sized & operator+=(Sized & a, const Sized & b) noexcept { return a = a + b; }
inline Sized & operator-=(Sized & a, const Sized & b) noexcept { return a = a - b; }

inline bool operator==(const Sized & a, const Sized & b) noexcept { return a.value == b.value; }
inline bool operator<(const Sized & a, const Sized & b) noexcept { return a.value < b.value; }
inline bool operator<=(const Sized & a, const Sized & b) noexcept { return a.value <= b.value; }
inline bool operator>=(const Sized & a, const Sized & b) noexcept { return a.value >= b.value; }

#define CONSTRAINED_DYNAMICS_SIZED(function) \
  inline Sized function(const Sized & x) noexcept { return Sized(std::function(x.value)); }
CONSTRAINED_DYNAMICS_SIZED(sin)
CONSTRAINED_DYNAMICS_SIZED(cos)
CONSTRAINED_DYNAMICS_SIZED(tan)
CONSTRAINED_DYNAMICS_SIZED(asin)
CONSTRAINED_DYNAMICS_SIZED(acos)
CONSTRAINED_DYNAMICS_SIZED(atan)
CONSTRAINED_DYNAMICS_SIZED(sinh)
CONSTRAINED_DYNAMICS_SIZED(cosh)
CONSTRAINED_DYNAMICS_SIZED(tanh)
CONSTRAINED_DYNAMICS_SIZED(exp)
CONSTRAINED_DYNAMICS_SIZED(log)
CONSTRAINED_DYNAMICS_SIZED(sqrt)
#undef CONSTRAINED_DYNAMICS_SIZED

inline Sized abs(const Sized & x) noexcept { return {std::abs(x.value), x.size}; }
inline Sized sign(const Sized & x) noexcept { return Sized(sign(Dual(x.value)).value); }
inline Sized step(const Sized & x) noexcept { return Sized(step(Dual(x.value)).value); }
inline Sized pow(const Sized & x, double exponent) noexcept
{
  const double value = power(x.value, exponent);
  return {value, exponent > 0.0 ? power(x.size, exponent) : std::abs(value)};
}
inline Sized pow(const Sized & x, const Sized & y) noexcept { return pow(x, y.value); }
inline Sized hypot(const Sized & x, const Sized & y) noexcept
{
  return {std::hypot(x.value, y.value), std::hypot(x.size, y.size)};
}
inline Sized atan2(const Sized & y, const Sized & x) noexcept
{
  return Sized(std::atan2(y.value, x.value));
}
inline Sized min(const Sized & a, const Sized & b) noexcept { return smaller(a, b); }
inline Sized max(const Sized & a, const Sized & b) noexcept { return larger(a, b); }

}  // namespace constrained_dynamics::detail
