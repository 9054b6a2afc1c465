// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "contact/contact_events.hpp"

#include <algorithm>

#include "contact/tolerances.hpp"

namespace constrained_dynamics
{

namespace
{

double normal_event(const ContactView & view, int i) noexcept
{
  switch (view.normal(i))
  {
    case NormalMode::kOpen:
      return view.gap(i);
    case NormalMode::kClosed:
      if (view.model().contact(i).adhesive)
      {
        return -view.gap(i);
      }
      // A compliant row returns to the surface, where its law ends although it still pushes.
      return view.model().set->is_compliant(i)
               ? std::min(view.normal_force(i), tolerance::kTouch - view.gap(i))
               : view.normal_force(i);
    case NormalMode::kIdle:
      return view.gap(i) + tolerance::kTouch;
    case NormalMode::kSeparating:
      return std::min(-view.gap(i), view.gap_acceleration(i));
    case NormalMode::kForce:
      return -view.gap(i);
  }
  return 0.0;
}

double friction_event(const ContactView & view, int i) noexcept
{
  const double along = view.slip_along_direction(i);
  const double creep = view.model().creep_speed(i);
  switch (view.friction(i).slip)
  {
    case SlipMode::kNone:
      return 1.0;
    case SlipMode::kStick:
      return view.static_bound(i) - view.tangent_force(i);
    case SlipMode::kDahl:
      return along + creep;
    case SlipMode::kSlide:
      return !view.model().is_dry(i) ? 1.0 : view.friction(i).armed ? along - creep : along + creep;
  }
  return 0.0;
}

}  // namespace

double event_function(const ContactView & view, int i) noexcept
{
  const int contacts = view.model().contact_count();
  return i < contacts ? normal_event(view, i) : friction_event(view, i - contacts);
}

bool shares_load(const ContactView & view, int i) noexcept
{
  const int contacts = view.model().contact_count();
  return i < contacts ? view.shares_normal(i) : view.shares_stick(i - contacts);
}

double event_tolerance(const ContactView & view, int i) noexcept
{
  const int contacts = view.model().contact_count();
  const bool is_force =
    i < contacts ? view.normal(i) == NormalMode::kClosed && !view.model().contact(i).adhesive
                 : view.friction(i - contacts).slip == SlipMode::kStick;
  const Workspace & workspace = view.workspace();
  // If contacts touch without pressing, all their forces are round-off of the acting forces.
  return is_force
           ? tolerance::kForceRounding * workspace.solution().multipliers.cwiseAbs().maxCoeff() +
               tolerance::kAppliedRounding * workspace.terms().force.cwiseAbs().maxCoeff()
           : 0.0;
}

bool mark_ended(
  const ContactView & view, std::vector<char> & ended, std::vector<double> & values) noexcept
{
  bool any = false;
  const int contacts = view.model().contact_count();
  for (int i = 0; i < event_count(view.model()); ++i)
  {
    const auto index = static_cast<std::size_t>(i);
    values[index] = event_function(view, i);
    ended[index] = values[index] < -event_tolerance(view, i) &&
                   !(i < contacts && view.is_open(i) && !view.is_closing(i));
    any = any || ended[index] != 0;
  }
  return any;
}

}  // namespace constrained_dynamics
