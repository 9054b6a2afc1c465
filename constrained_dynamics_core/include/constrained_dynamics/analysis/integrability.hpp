// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/constraints/constraint.hpp"
#include "constrained_dynamics/types.hpp"

namespace constrained_dynamics
{

/// Answer of a numerical test that may be undecided.
enum class Answer : std::uint8_t
{
  kNo,
  kYes,
  kUnknown,
};

/// "no", "yes", "unknown".
CONSTRAINED_DYNAMICS_EXPORT const char * to_string(Answer answer) noexcept;

/// What kind of row this is, as a one-form ω = Σ a_k dq_k + a_0 dt on the space of coordinates and
/// time. A row at position level is exact by its nature.
struct RowIntegrability
{
  std::string name;  ///< "constraint/label"
  RowLevel level = RowLevel::kVelocity;
  Answer linear = Answer::kUnknown;       ///< A does not depend on u
  Answer homogeneous = Answer::kUnknown;  ///< a_0 = 0
  /// dω = 0: lecture notes eqs. 3, 4.
  Answer exact = Answer::kUnknown;
  /// ω ∧ dω = 0: the row is holonomic by itself.
  Answer integrable_alone = Answer::kUnknown;
  /// μ such that μ ω is closed (eq. 5), e.g. "1/x^2" or "exp(y)"; "1" for exact rows.
  std::optional<std::string> integrating_factor;
  /// Why an answer is unknown; empty otherwise.
  std::string reason;
};

/// The rows and the set as a whole.
struct IntegrabilityReport
{
  std::vector<RowIntegrability> rows;
  /// All rows together are equivalent to position rows (Frobenius).
  Answer integrable = Answer::kUnknown;
  /// Why, in words.
  std::string reason;
  /// Rank of the rows as one-forms on (q, t) at the sample points; −1 where unknown.
  int rank = -1;
  /// Degree of nonholonomy: how many more directions the first Lie brackets of the permitted
  /// motions reach. 0 iff integrable; −1 where unknown.
  int bracket_growth = -1;
};

/// Brings q (nq) onto the position rows at time t; returns whether it could.
using PositionProjection = std::function<bool(double time, Eigen::VectorXd & q)>;

/// Options of analyse_integrability.
struct IntegrabilityOptions
{
  int points = 16;         ///< sample points of each test, 16 to 10000
  double spread = 0.5;     ///< half-width of the box of samples about (t, q), 1e-6 to 1e6
  std::uint32_t seed = 1;  ///< of the samples
};

/// Decides which rows are exact and whether the set is integrable, numerically at random points of
/// (t, q) near the given one. Rows are tested where the samples fall, the set where all position
/// rows hold, with the position rows among its forms. Derivatives are central differences with two
/// steps of Richardson's extrapolation; a relative size below 1e-6 counts as zero, above 1e-4 as
/// nonzero, anything between as unknown. Rows at acceleration level and rows nonlinear in u are
/// unknown, and a set that has one is. Everything is measured on the motions that q̇ = C u + D
/// permits, so that quaternions and speeds of any kind are welcome. Integrating factors are sought
/// among products of up to three simple functions of the coordinates: none found does not mean that
/// there is none.
/// @param project brings samples onto the position rows; may be empty where there are none.
/// @throw std::invalid_argument for wrong sizes, values that are not finite or options out of
/// range. Real-time safe: no.
CONSTRAINED_DYNAMICS_EXPORT IntegrabilityReport analyse_integrability(
  const ConstraintSet & set, double time, const ConstVectorRef & q,
  const PositionProjection & project = {}, const IntegrabilityOptions & options = {});

}  // namespace constrained_dynamics
