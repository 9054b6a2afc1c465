// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <string>
#include <vector>

#include "constrained_dynamics/export.hpp"
#include "constrained_dynamics/servo/reference_bounds.hpp"
#include "constrained_dynamics/servo/servo_constraint.hpp"

namespace constrained_dynamics
{

/// A reference as it arrives from outside. Each list is empty or has
/// - one value per row of the servo-constraint, in the order of its rows; or
/// - of a pose x y z qx qy qz qw (rates: x y z rx ry rz), whatever its rows are.
/// By row, a pose has positions only if all of its rows are along x, y or z.
struct GivenReference
{
  std::vector<double> position;
  std::vector<double> velocity;
  std::vector<double> acceleration;

  /// Nothing is given: the task is to go back to its trajectory.
  bool is_empty() const { return position.empty() && velocity.empty() && acceleration.empty(); }
};

/// Makes a given reference complete. What is left out is 0, of `position` as well: see
/// GivenReference::position. Real-time safe: no.
/// @param bounds null: none.
/// @return empty, or what is wrong: the thing, its value and what is allowed. Then `out` is not to
/// be used.
CONSTRAINED_DYNAMICS_EXPORT std::string complete_reference(
  const ServoConstraint & servo, const ReferenceBounds * bounds, const GivenReference & given,
  ServoReference & out);

}  // namespace constrained_dynamics
