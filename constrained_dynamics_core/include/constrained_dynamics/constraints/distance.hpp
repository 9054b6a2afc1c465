// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <string>
#include <vector>

#include "constrained_dynamics/constraints/frame_constraint.hpp"

namespace constrained_dynamics
{

/// A massless rod: the origins of frames A and B keep their distance. Type id "distance".
/// With ℓ = |p| and e = p / ℓ:
///     φ = ℓ − length,   φ̇ = e · v,   b = −(e · v̇ + (|v|² − (e · v)²) / ℓ),   c_v = e.
/// Row "distance". Force: λ e on A (λ > 0 pushes the points apart), the opposite on B.
/// Where the points (nearly) coincide, ℓ ≤ 1e-12 length, e is undefined: kNonFiniteResult.
class CONSTRAINED_DYNAMICS_EXPORT Distance : public FrameConstraint
{
public:
  /// @param length of the rod [m], positive.
  /// @throw std::invalid_argument for a length that is not positive and finite, and as
  /// FrameConstraint does.
  Distance(
    std::string name, const System & system, const std::string & frame_a,
    const std::string & frame_b, double length);

  double length() const { return length_; }  ///< [m]

  /// Its keys and documentation.
  static ConstraintDescription description();

protected:
  std::vector<DrawnPart> do_drawing() const override;
  Status do_frame_rows(const RelativeMotion & motion, ConstraintScratch & scratch, FrameRows & out)
    const noexcept CD_NONBLOCKING override;
  bool do_frame_rows_along(
    const RelativeMotionOf<Dual> & motion, FrameRowsOf<Dual> & out) const noexcept override;

private:
  double length_;
};

}  // namespace constrained_dynamics
