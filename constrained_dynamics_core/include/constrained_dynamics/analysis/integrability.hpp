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

/// Properties of a row as a one-form ω = Σ a_k dq_k + a_0 dt on the space of coordinates and time.
/// A row on position level is always exact.
struct RowIntegrability
{
  std::string name;  ///< "constraint/label"
  RowLevel level = RowLevel::kVelocity;
  Answer linear = Answer::kUnknown;       ///< A does not depend on u
  Answer homogeneous = Answer::kUnknown;  ///< a_0 = 0
  /// dω = 0: lecture notes eqs. 3, 4.
  Answer exact = Answer::kUnknown;
  /// ω ∧ dω = 0: the row alone is holonomic.
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
  /// Whether all rows together are equivalent to position rows (Frobenius).
  Answer integrable = Answer::kUnknown;
  /// The reason, in words.
  std::string reason;
  /// Rank of the rows as one-forms on (q, t) at the sample points; −1 where unknown.
  int rank = -1;
  /// Degree of nonholonomy: number of additional directions reached by the first Lie brackets of
  /// the allowed motions. 0 if and only if integrable; −1 if unknown.
  int bracket_growth = -1;
};

/// Moves q (nq) to a point where the position rows hold at time t; returns whether it succeeded.
using PositionProjection = std::function<bool(double time, Eigen::VectorXd & q)>;

/// Options of analyse_integrability.
struct IntegrabilityOptions
{
  int points = 16;         ///< sample points of each test, 16 to 10000
  double spread = 0.5;     ///< half-width of the box of samples about (t, q), 1e-6 to 1e6
  std::uint32_t seed = 1;  ///< of the samples
};

/// Decides which rows are exact and whether the set is integrable, numerically at random points of
/// (t, q) near the given one. Single rows are tested at the samples themselves. The set is tested
/// at points where all position rows hold, and includes them. Derivatives are central differences
/// with two steps of Richardson extrapolation. A relative size below 1e-6 counts as zero, above
/// 1e-4 as nonzero, and anything between as unknown. The answer is unknown for rows on acceleration
/// level, for rows that are nonlinear in u, and for sets that contain one of these. Everything is
/// evaluated along the motions q̇ = C u + D, so that quaternions and any choice of speeds are
/// allowed. Integrating factors are sought among products of up to three simple functions of the
/// coordinates; finding none does not prove that there is none.
/// @param project moves samples to points where the position rows hold; may be empty if there are
/// none.
/// @throw std::invalid_argument for wrong sizes, values that are not finite or options out of
/// range. Real-time safe: no.
CONSTRAINED_DYNAMICS_EXPORT IntegrabilityReport analyse_integrability(
  const ConstraintSet & set, double time, const ConstVectorRef & q,
  const PositionProjection & project = {}, const IntegrabilityOptions & options = {});

}  // namespace constrained_dynamics
