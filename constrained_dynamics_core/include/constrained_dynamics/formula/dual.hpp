// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

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
/// A generic function works if it finds mathematical functions by argument-dependent lookup:
///
///     template <class S> S height(const S & angle) { using std::sin; return 0.4 * sin(angle); }
///
/// Kinks and singular points:
/// - `abs` and `sign` at 0 have derivative 0 (the middle of both sides); `sign(0)` is 0, `step(0)`
///   is 1.
/// - `min` and `max` of equal values are their first argument, with its derivatives.
/// - Where a derivative does not exist (`sqrt`, `hypot`, `atan2` and broken powers at 0, `asin` and
/// `acos` at ±1) it is infinite or NaN, as IEEE arithmetic gives it.
/// - Outside the domain of a function, value and derivatives are NaN. NaN arguments of `min`,
///   `max`, `sign` and `step` give NaN.
/// - `pow(x, y)` with y's derivatives exactly zero is the power with constant exponent: integer y
///   works for negative and zero x. With a moving exponent and x <= 0 the derivatives are NaN.

#include "constrained_dynamics/formula/dual_arithmetic.hpp"  // IWYU pragma: export
#include "constrained_dynamics/formula/dual_functions.hpp"   // IWYU pragma: export
