// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/formula/dual.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

namespace
{

using constrained_dynamics::Dual;
using constrained_dynamics::HyperDual;
using constrained_dynamics::Jet2;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Against exact derivatives in double: a few roundings.
constexpr double kRounding = 1e-14;
/// Against stencils of fourth order in long double with h = 5e-4: h⁴ f⁽⁶⁾ / 90 for f⁽⁶⁾ of some
/// 1e4.
constexpr double kStencil = 1e-9;

double scale(double x) { return std::max(1.0, std::abs(x)); }

/// A curve through x with speed and acceleration.
struct Curve
{
  double x, speed, acceleration;
  long double at(long double t) const
  {
    return x + speed * t + 0.5L * static_cast<long double>(acceleration) * t * t;
  }
  Dual dual() const { return {x, speed}; }
  Jet2 jet() const { return {x, speed, acceleration}; }
};

template <class F>
long double first_difference(const F & f)
{
  const long double h = 5e-4L;
  return (f(-2 * h) - 8 * f(-h) + 8 * f(h) - f(2 * h)) / (12 * h);
}

template <class F>
long double second_difference(const F & f)
{
  const long double h = 5e-4L;
  return (-f(-2 * h) + 16 * f(-h) - 30 * f(0.0L) + 16 * f(h) - f(2 * h)) / (12 * h * h);
}

/// HyperDual of a generic function against Jet2: with J(v, z) the second derivative along v with
/// acceleration z, the mixed derivative along v and w is (J(v + w, 2 z) − J(v, 0) − J(w, 0))/2.
template <class F>
void expect_polarised(const F & f, const Curve & cx, const Curve & cy)
{
  const double wx = -0.6;
  const double wy = 1.1;
  const HyperDual hyper = f(
    HyperDual(cx.x, cx.speed, wx, cx.acceleration), HyperDual(cy.x, cy.speed, wy, cy.acceleration));
  const Jet2 along_v = f(Jet2(cx.x, cx.speed, 0.0), Jet2(cy.x, cy.speed, 0.0));
  const Jet2 along_w = f(Jet2(cx.x, wx, 0.0), Jet2(cy.x, wy, 0.0));
  const Jet2 along_both =
    f(Jet2(cx.x, cx.speed + wx, 2.0 * cx.acceleration),
      Jet2(cy.x, cy.speed + wy, 2.0 * cy.acceleration));
  EXPECT_EQ(hyper.value, along_v.value);
  EXPECT_NEAR(hyper.first, along_v.first, kRounding * scale(along_v.first));
  EXPECT_NEAR(hyper.second, along_w.first, kRounding * scale(along_w.first));
  const double size =
    std::abs(along_both.second) + std::abs(along_v.second) + std::abs(along_w.second);
  EXPECT_NEAR(
    hyper.mixed, 0.5 * (along_both.second - along_v.second - along_w.second),
    10.0 * kRounding * scale(size));
}

/// Dual and Jet2 of a generic function against stencils.
template <class F>
void expect_stencil(const std::string & name, const F & f, const Curve & cx, const Curve & cy)
{
  SCOPED_TRACE(name + " at " + std::to_string(cx.x) + ", " + std::to_string(cy.x));
  const auto along = [&](long double t) { return f(cx.at(t), cy.at(t)); };
  const auto value = static_cast<double>(along(0.0L));
  const auto first = static_cast<double>(first_difference(along));
  const auto second = static_cast<double>(second_difference(along));
  const Dual dual = f(cx.dual(), cy.dual());
  const Jet2 jet = f(cx.jet(), cy.jet());
  EXPECT_NEAR(dual.value, value, kRounding * scale(value));
  EXPECT_NEAR(dual.derivative, first, kStencil * scale(first));
  EXPECT_EQ(jet.value, dual.value);
  EXPECT_NEAR(jet.first, dual.derivative, kRounding * scale(first));
  EXPECT_NEAR(jet.second, second, kStencil * scale(second));
  expect_polarised(f, cx, cy);
}

/// Dual and Jet2 of a function of one argument against f' and f'' written by hand.
template <class F>
void expect_hand(
  const std::string & name, const F & f, double x, double value, double d1, double d2)
{
  SCOPED_TRACE(name + " at " + std::to_string(x));
  const Curve c{x, 0.7, -1.3};
  const Dual dual = f(c.dual());
  const Jet2 jet = f(c.jet());
  const double first = d1 * c.speed;
  const double second = d2 * c.speed * c.speed + d1 * c.acceleration;
  EXPECT_NEAR(dual.value, value, kRounding * scale(value));
  EXPECT_NEAR(dual.derivative, first, kRounding * scale(first));
  EXPECT_EQ(jet.value, dual.value);
  EXPECT_NEAR(jet.first, first, kRounding * scale(first));
  EXPECT_NEAR(jet.second, second, kRounding * scale(std::abs(d2) + std::abs(d1 * c.acceleration)));
  expect_polarised([&](const auto & a, const auto &) { return f(a); }, c, c);
}

// The name is looked up as a user's generic code would.
#define CD_UNARY(function)     \
  [](const auto & argument)    \
  {                            \
    using std::function;       \
    return function(argument); \
  }
#define CD_BINARY(function)                            \
  [](const auto & argument_a, const auto & argument_b) \
  {                                                    \
    using std::function;                               \
    return function(argument_a, argument_b);           \
  }

TEST(Dual, when_functions_of_one_argument_expect_derivatives_by_hand)
{
  for (const double x : {-0.9, -0.3, 0.0, 0.2, 0.75})
  {
    const double s = std::sin(x), c = std::cos(x), t = std::tan(x), e = std::exp(x);
    const double sh = std::sinh(x), ch = std::cosh(x), th = std::tanh(x);
    const double r = 1 / std::sqrt(1 - x * x), q = 1 / (1 + x * x);
    expect_hand("sin", CD_UNARY(sin), x, s, c, -s);
    expect_hand("cos", CD_UNARY(cos), x, c, -s, -c);
    expect_hand("tan", CD_UNARY(tan), x, t, 1 / (c * c), 2 * s / (c * c * c));
    expect_hand("asin", CD_UNARY(asin), x, std::asin(x), r, x * r * r * r);
    expect_hand("acos", CD_UNARY(acos), x, std::acos(x), -r, -x * r * r * r);
    expect_hand("atan", CD_UNARY(atan), x, std::atan(x), q, -2 * x * q * q);
    expect_hand("sinh", CD_UNARY(sinh), x, sh, ch, sh);
    expect_hand("cosh", CD_UNARY(cosh), x, ch, sh, ch);
    expect_hand("tanh", CD_UNARY(tanh), x, th, 1 - th * th, -2 * th * (1 - th * th));
    expect_hand("exp", CD_UNARY(exp), x, e, e, e);
  }
  for (const double x : {0.04, 0.5, 1.0, 7.5})
  {
    const double r = std::sqrt(x);
    expect_hand("log", CD_UNARY(log), x, std::log(x), 1 / x, -1 / (x * x));
    expect_hand("sqrt", CD_UNARY(sqrt), x, r, 0.5 / r, -0.25 / (r * r * r));
    expect_hand("abs", CD_UNARY(abs), x, x, 1.0, 0.0);
    expect_hand("fabs", CD_UNARY(fabs), -x, x, -1.0, 0.0);
    expect_hand("abs", CD_UNARY(abs), -x, x, -1.0, 0.0);
    expect_hand(
      "sign", [](const auto & z) { return sign(z); }, -x, -1.0, 0.0, 0.0);
    expect_hand(
      "sign", [](const auto & z) { return sign(z); }, x, 1.0, 0.0, 0.0);
    expect_hand(
      "step", [](const auto & z) { return step(z); }, -x, 0.0, 0.0, 0.0);
    expect_hand(
      "step", [](const auto & z) { return step(z); }, x, 1.0, 0.0, 0.0);
  }
}

template <class F>
void expect_complex_step(const std::string & name, const F & f, double x)
{
  SCOPED_TRACE(name + " at " + std::to_string(x));
  const double h = 1e-100;  // no difference is taken: only the imaginary part counts
  const double d1 = std::imag(f(std::complex<double>(x, h))) / h;
  EXPECT_NEAR(f(Dual(x, 1.0)).derivative, d1, kRounding * scale(d1));
  EXPECT_NEAR(f(Jet2(x, 1.0, 0.0)).first, d1, kRounding * scale(d1));
}

TEST(Dual, when_analytic_functions_expect_complex_step_derivatives)
{
  for (const double x : {-2.4, -0.6, 0.1, 1.3, 3.2})
  {
    expect_complex_step("sin", CD_UNARY(sin), x);
    expect_complex_step("cos", CD_UNARY(cos), x);
    expect_complex_step("tan", CD_UNARY(tan), x);
    expect_complex_step("sinh", CD_UNARY(sinh), x);
    expect_complex_step("cosh", CD_UNARY(cosh), x);
    expect_complex_step("tanh", CD_UNARY(tanh), x);
    expect_complex_step("exp", CD_UNARY(exp), x);
    expect_complex_step("log", CD_UNARY(log), std::abs(x));
    expect_complex_step("sqrt", CD_UNARY(sqrt), std::abs(x));
    const auto mixed = [](const auto & z)
    {
      using std::exp, std::sin;
      return (2.0 - z * z) / (3.0 + sin(z)) - 0.5 * exp(-z) * z + 1.0 / (z * z + 4.0);
    };
    expect_complex_step("mixed", mixed, x);
  }
}

TEST(Dual, when_operators_and_functions_of_two_arguments_expect_stencils)
{
  const std::vector<Curve> curves = {
    {1.3, 0.4, -0.9}, {0.7, -1.1, 0.3}, {2.4, 0.8, 1.7}, {1.9, 0.0, 0.6}};
  for (const Curve & x : curves)
  {
    for (const Curve & y : curves)
    {
      expect_stencil(
        "add", [](auto a, auto b) { return +a + b; }, x, y);
      expect_stencil(
        "subtract", [](auto a, auto b) { return -a - b; }, x, y);
      expect_stencil(
        "multiply", [](auto a, auto b) { return a * b * a; }, x, y);
      expect_stencil(
        "divide", [](auto a, auto b) { return a / b; }, x, y);
      expect_stencil(
        "scalars", [](auto a, auto b) { return 2 * a + b * 3 - 1 + a / 4; }, x, y);
      expect_stencil(
        "scalars", [](auto a, auto b) { return 5 - 1 / a - (b - 7) / (2 + a); }, x, y);
      const auto compound = [](auto a, auto b)
      {
        auto r = a;
        r += b;
        r *= a;
        r -= b;
        r /= b;
        r += 2;
        r -= 0.5;
        r *= 3;
        r /= 7;
        return r;
      };
      expect_stencil("compound", compound, x, y);
      expect_stencil("pow", CD_BINARY(pow), x, y);
      expect_stencil("hypot", CD_BINARY(hypot), x, y);
      expect_stencil("atan2", CD_BINARY(atan2), x, y);
      if (x.x == y.x) continue;  // a kink
      expect_stencil("min", CD_BINARY(min), x, y);
      expect_stencil("max", CD_BINARY(max), x, y);
    }
  }
  // Arguments in other quadrants.
  const Curve left{-1.2, 0.5, 0.8};
  const Curve below{-0.4, 1.5, -0.7};
  expect_stencil("atan2", CD_BINARY(atan2), left, {0.9, -0.3, 0.2});
  expect_stencil("atan2", CD_BINARY(atan2), below, left);
  expect_stencil("hypot", CD_BINARY(hypot), below, left);
  expect_stencil(
    "divide", [](auto a, auto b) { return a / b; }, left, below);
}

TEST(Dual, when_one_argument_is_a_number_expect_the_same_as_a_constant)
{
  const Jet2 x(0.8, 1.2, -0.4);
  const auto same = [](const Jet2 & a, const Jet2 & b)
  {
    EXPECT_EQ(a.value, b.value);
    EXPECT_DOUBLE_EQ(a.first, b.first);
    EXPECT_DOUBLE_EQ(a.second, b.second);
  };
  using std::max;
  using std::min;
  same(pow(2.5, x), pow(Jet2(2.5), x));
  same(pow(2, x), exp(x * std::log(2.0)) * (std::pow(2.0, 0.8) / exp(x * std::log(2.0)).value));
  same(pow(x, 3), x * x * x);
  same(pow(x, Jet2(3.0)), x * x * x);
  same(pow(x, -2), 1.0 / (x * x));
  same(atan2(x, 2.0), atan2(x, Jet2(2.0)));
  same(atan2(1, x), atan2(Jet2(1.0), x));
  same(hypot(x, 2.0), hypot(x, Jet2(2.0)));
  same(hypot(1, x), hypot(Jet2(1.0), x));
  same(min(x, 2.0), x);
  same(max(0, x), x);
  same(max(x, 3), Jet2(3.0));
}

TEST(Dual, when_integer_power_expect_exact_derivatives_at_zero_and_negative_base)
{
  const auto power = [](int n)
  {
    return [n](const auto & x)
    {
      using std::pow;
      return pow(x, n);
    };
  };
  for (const double x : {-3.0, -1.0, 0.0, 0.5, 2.0})
  {
    expect_hand("x^0", power(0), x, 1.0, 0.0, 0.0);
    expect_hand("x^1", power(1), x, x, 1.0, 0.0);
    expect_hand("x^2", power(2), x, x * x, 2 * x, 2.0);
    expect_hand("x^3", power(3), x, x * x * x, 3 * x * x, 6 * x);
    expect_hand("x^4", power(4), x, x * x * x * x, 4 * x * x * x, 12 * x * x);
    expect_hand("x^7", power(7), x, std::pow(x, 7), 7 * std::pow(x, 6), 42 * std::pow(x, 5));
    if (x == 0.0) continue;
    expect_hand("x^-1", power(-1), x, 1 / x, -1 / (x * x), 2 / (x * x * x));
    expect_hand("x^-2", power(-2), x, 1 / (x * x), -2 / (x * x * x), 6 / (x * x * x * x));
  }
  EXPECT_EQ(pow(Jet2(-3.0, 1.0, 0.0), 2).value, 9.0);
  EXPECT_EQ(pow(Jet2(-3.0, 1.0, 0.0), 3).first, 27.0);
  EXPECT_EQ(pow(Jet2(0.0, 1.0, 0.0), 2).second, 2.0);
  EXPECT_EQ(pow(Dual(0.0, 1.0), -1).value, kInfinity);
  expect_hand(
    "x^1.5", [](const auto & x) { return pow(x, 1.5); }, 4.0, 8.0, 3.0, 0.375);
  EXPECT_EQ(pow(Dual(0.0, 1.0), 0.5).derivative, kInfinity);
  EXPECT_TRUE(std::isnan(pow(Dual(-1.0, 1.0), 0.5).value));
  EXPECT_TRUE(std::isnan(pow(Dual(-1.0, 1.0), 0.5).derivative));
}

TEST(Dual, when_base_is_not_positive_and_exponent_moves_expect_nan_derivatives)
{
  for (const double x : {-2.0, 0.0})
  {
    const Jet2 p = pow(Jet2(x, 1.0, 0.0), Jet2(2.0, 1.0, 0.0));
    EXPECT_EQ(p.value, x * x);
    EXPECT_TRUE(std::isnan(p.first));
    EXPECT_TRUE(std::isnan(p.second));
  }
  EXPECT_EQ(pow(Jet2(-2.0, 1.0, 0.0), Jet2(2.0)).first, -4.0);
}

TEST(Dual, when_at_a_kink_expect_the_documented_side)
{
  const Jet2 zero(0.0, 1.0, 2.0);
  for (const Jet2 & x : {zero, -zero})
  {
    EXPECT_EQ(abs(x).value, 0.0);
    EXPECT_EQ(abs(x).first, 0.0);
    EXPECT_EQ(abs(x).second, 0.0);
    EXPECT_EQ(sign(x).value, 0.0);
    EXPECT_EQ(step(x).value, 1.0);
    EXPECT_EQ(step(x).first, 0.0);
  }
  const Jet2 a(1.0, 2.0, 3.0);
  const Jet2 b(1.0, -5.0, 7.0);
  EXPECT_EQ(min(a, b).first, 2.0);
  EXPECT_EQ(max(a, b).first, 2.0);
  EXPECT_EQ(min(b, a).second, 7.0);
  EXPECT_EQ(max(b, a).second, 7.0);
}

TEST(Dual, when_no_derivative_exists_expect_not_finite)
{
  EXPECT_EQ(sqrt(Dual(0.0, 1.0)).derivative, kInfinity);
  EXPECT_EQ(asin(Dual(1.0, 1.0)).derivative, kInfinity);
  EXPECT_EQ(acos(Dual(-1.0, 1.0)).derivative, -kInfinity);
  EXPECT_EQ(log(Dual(0.0, 1.0)).derivative, kInfinity);
  EXPECT_TRUE(std::isnan(sqrt(Dual(0.0, 0.0)).derivative));
  EXPECT_TRUE(std::isnan(hypot(Dual(0.0, 1.0), Dual(0.0, 1.0)).derivative));
  EXPECT_TRUE(std::isnan(atan2(Dual(0.0, 1.0), Dual(0.0, 1.0)).derivative));
  EXPECT_FALSE(isfinite(sqrt(Dual(0.0, 1.0))));
  EXPECT_FALSE(isfinite(sqrt(Jet2(0.0, 1.0, 0.0))));
  EXPECT_TRUE(isfinite(sqrt(Jet2(1.0, 1.0, 0.0))));
}

TEST(Dual, when_outside_the_domain_or_nan_expect_nan_everywhere)
{
  const auto expect_nan = [](const Jet2 & x)
  {
    EXPECT_TRUE(std::isnan(x.value));
    EXPECT_TRUE(std::isnan(x.first));
    EXPECT_TRUE(std::isnan(x.second));
  };
  const Jet2 one(1.0, 1.0, 1.0);
  const Jet2 nan(kNaN, kNaN, kNaN);
  expect_nan(log(-one));
  expect_nan(sqrt(-one));
  expect_nan(asin(2.0 * one));
  expect_nan(acos(-2.0 * one));
  expect_nan(pow(-one, 0.5));
  expect_nan(abs(nan));
  expect_nan(sign(nan));
  expect_nan(step(nan));
  expect_nan(min(one, nan));
  expect_nan(min(nan, one));
  expect_nan(max(one, nan));
  expect_nan(max(nan, one));
}

TEST(Dual, when_arguments_are_extreme_expect_no_false_overflow)
{
  EXPECT_DOUBLE_EQ(hypot(Dual(3e200, 1.0), Dual(4e200, 0.0)).derivative, 0.6);
  EXPECT_DOUBLE_EQ(atan2(Dual(3e-200, 3e-200), Dual(4e-200, 0.0)).derivative, 0.48);
  EXPECT_EQ(tanh(Jet2(800.0, 1.0, 1.0)).first, 0.0);
  EXPECT_EQ(tanh(Jet2(800.0, 1.0, 1.0)).second, 0.0);
  // 1 - tanh² would have lost all digits here.
  EXPECT_NEAR(tanh(Dual(20.0, 1.0)).derivative / (4.0 * std::exp(-40.0)), 1.0, 1e-14);
  EXPECT_TRUE(isfinite(atan(Jet2(1e300, 1.0, 1.0))));
}

TEST(Dual, when_compared_expect_order_of_values)
{
  const Dual a(1.0, 9.0);
  const Dual b(2.0, -9.0);
  EXPECT_TRUE(a < b && a <= b && b > a && b >= a && a != b && !(a == b));
  EXPECT_TRUE(a < 2 && 0.5 < a && a == 1 && 1 == a && a != 2.5 && 3 >= b && b > 1);
  EXPECT_TRUE(Jet2(1.0, 2.0, 3.0) == Jet2(1.0, 5.0, 6.0));
  EXPECT_FALSE(Dual(kNaN) == Dual(kNaN));
}

TEST(Dual, when_stored_expect_plain_memory)
{
  static_assert(std::is_trivially_copyable_v<Dual> && sizeof(Dual) == 2 * sizeof(double));
  static_assert(std::is_trivially_copyable_v<Jet2> && sizeof(Jet2) == 3 * sizeof(double));
  static_assert(Jet2(2.0, 1.0, 0.0) * Jet2(2.0, 1.0, 0.0) == 4.0, "usable in constant expressions");
  const Jet2 zero;
  EXPECT_EQ(zero.value, 0.0);
  EXPECT_EQ(zero.first, 0.0);
  EXPECT_EQ(zero.second, 0.0);
}

}  // namespace
