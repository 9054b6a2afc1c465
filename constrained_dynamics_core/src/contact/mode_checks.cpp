// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "contact/mode_checks.hpp"

#include <algorithm>
#include <cmath>

#include "contact/tolerances.hpp"

namespace constrained_dynamics
{

Holding forces_hold(const ContactView & view) noexcept
{
  Holding holding = Holding::kYes;
  const double rounding =
    tolerance::kForceRounding * view.workspace().solution().multipliers.cwiseAbs().maxCoeff();
  for (int i = 0; i < view.model().contact_count(); ++i)
  {
    if (
      view.normal(i) == NormalMode::kClosed && !view.model().contact(i).adhesive &&
      view.normal_force(i) < -rounding)
    {
      holding = std::max(holding, view.shares_normal(i) ? Holding::kIfShared : Holding::kNo);
    }
  }
  for (int i = 0; i < view.model().friction_count(); ++i)
  {
    if (
      view.friction(i).slip == SlipMode::kStick &&
      view.tangent_force(i) > view.static_bound(i) + rounding)
    {
      holding = std::max(holding, view.shares_stick(i) ? Holding::kIfShared : Holding::kNo);
    }
  }
  return holding;
}

bool slips_follow(const ContactView & view) noexcept
{
  const Rows & rows = view.workspace().rows();
  const Eigen::VectorXd & acceleration = view.workspace().solution().acceleration;
  for (int i = 0; i < view.model().friction_count(); ++i)
  {
    if (!view.begins_to_slide(i))
    {
      continue;
    }
    double along = 0.0;
    double length = 0.0;
    double size = 0.0;
    for (int r = 0; r < view.model().row_count(i); ++r)
    {
      const int row = view.model().row_of_friction(i) + r;
      const double slip = rows.jacobian.row(row).dot(acceleration) - rows.bias(row);
      along += view.friction(i).direction[r] * slip;
      length = std::hypot(length, slip);
      size += rows.jacobian.row(row).norm() * acceleration.norm() + std::abs(rows.bias(row));
    }
    if (along < tolerance::kAligned * length - tolerance::kForceRounding * size)
    {
      return false;
    }
  }
  return true;
}

}  // namespace constrained_dynamics
