// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/dynamics/violation.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

namespace constrained_dynamics
{

ConstraintViolation worst_violation(
  const ConstraintSet & constraints, const Workspace & workspace, double position_tolerance,
  double velocity_tolerance) noexcept CD_NONBLOCKING
{
  const auto relative = [](double residual, double tolerance)
  { return tolerance > 0.0 ? residual / tolerance : 0.0; };
  ConstraintViolation worst;
  for (int row = 0; row < constraints.row_count(); ++row)
  {
    if (!workspace.is_active(constraints.constraint_of_row(row)))
    {
      continue;
    }
    const double position = std::abs(workspace.rows().position(row));
    const double velocity = std::abs(workspace.rows().velocity(row));
    const double ratio =
      std::max(relative(position, position_tolerance), relative(velocity, velocity_tolerance));
    if (ratio > worst.ratio)
    {
      worst = {row, position, velocity, ratio};
    }
  }
  return worst;
}

std::string describe(const ConstraintViolation & violation, const ConstraintSet & constraints)
{
  if (violation.row < 0)
  {
    return "";
  }
  std::ostringstream text;
  text << constraints.row_name(violation.row) << ": " << violation.position << ", rate "
       << violation.velocity;
  return text.str();
}

}  // namespace constrained_dynamics
