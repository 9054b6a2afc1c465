// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// First guess of the modes after an instant, for each contact and friction alone.
#include <algorithm>
#include <cmath>

#include "contact/mode_decision.hpp"
#include "contact/tolerances.hpp"

namespace constrained_dynamics
{

// ---- normal direction
// ------------------------------------------------------------------------------

/// Which contacts may push after this instant.
void ModeDecision::choose_normals(const ContactSnapshot & at, ContactModes & modes) noexcept
{
  const ContactView view(model_, modes, at.dynamics.workspace());
  for (int i = 0; i < model_.contact_count(); ++i)
  {
    const auto index = static_cast<std::size_t>(i);
    const bool has_ended = at.ended[index] != 0;
    candidate_[index] = 0;
    if (model_.contact(i).stiffness > 0.0)
    {
      choose_force_law(view, i, has_ended, modes.normal[index]);
    }
    else if (model_.set->is_compliant(i))
    {
      choose_compliant(view, i, has_ended, modes.normal[index]);
    }
    else
    {
      choose_rigid(view, i, has_ended, at.time, modes);
    }
  }
}

void ModeDecision::choose_force_law(
  const ContactView & view, int contact, bool ended, NormalMode & mode) const noexcept
{
  const bool leaves = mode == NormalMode::kForce && ended;
  const bool enters = view.gap(contact) < 0.0 || (mode == NormalMode::kOpen && ended);
  mode = enters && !leaves ? NormalMode::kForce : NormalMode::kOpen;
}

void ModeDecision::choose_compliant(
  const ContactView & view, int contact, bool ended, NormalMode & mode) noexcept
{
  const bool is_adhesive = model_.contact(contact).adhesive;
  const double gap = view.gap(contact);
  const bool was_closed = mode == NormalMode::kClosed;
  const bool leaves = was_closed && ended && (is_adhesive || gap > tolerance::kLeave);
  const bool is_inside = was_closed ? !leaves : gap < 0.0 || (mode == NormalMode::kOpen && ended);
  const bool pulls = was_closed && ended && !is_adhesive && !leaves;
  const bool waits = mode == NormalMode::kSeparating && !ended;
  const bool may_push = is_inside && !pulls && !waits;
  candidate_[static_cast<std::size_t>(contact)] = may_push;
  mode = !is_inside ? NormalMode::kOpen : may_push ? NormalMode::kClosed : NormalMode::kSeparating;
}

void ModeDecision::choose_rigid(
  const ContactView & view, int contact, bool ended, double time, ContactModes & modes) noexcept
{
  const auto index = static_cast<std::size_t>(contact);
  NormalMode & mode = modes.normal[index];
  const double rate = view.gap_rate(contact);
  const double scale = 1.0 + std::abs(speeds_before_(model_.row_of_contact(contact)));
  const bool stays =
    touching_[index] != 0 && rate <= std::max(tolerance::kRest * scale, unresolved_speed_);
  const bool pulls = mode == NormalMode::kClosed && ended;
  // A contact just released is not retested; round-off would make contacts alternate. If it is
  // pressed nevertheless, its gap closes.
  const bool waits = mode == NormalMode::kOpen && !ended &&
                     time - modes.released[index] < tolerance::kInstant &&
                     rate >= -tolerance::kRest;
  modes.released[index] = pulls ? time : modes.released[index];
  const bool may_push = stays && (modes.look_ahead > 0.0 || (!pulls && !waits));
  candidate_[index] = may_push;
  // Contacts that share its load also keep it in place: it stays in touch.
  const bool is_held = stays && pulls && was_redundant_[index] != 0;
  mode = may_push ? NormalMode::kClosed : is_held ? NormalMode::kIdle : NormalMode::kOpen;
}

// ---- friction
// ------------------------------------------------------------------------------

/// Friction that slips continues to slide; friction that does not slip sticks.
void ModeDecision::choose_slips(const ContactSnapshot & at, ContactModes & modes) noexcept
{
  const ContactView view(model_, modes, at.dynamics.workspace());
  any_gives_way_ = false;
  for (int i = 0; i < model_.friction_count(); ++i)
  {
    gives_way_[static_cast<std::size_t>(i)] = 0;
    const bool has_ended = at.ended[static_cast<std::size_t>(model_.contact_count() + i)] != 0;
    choose_slip(view, i, has_ended, at.time, modes);
  }
}

void ModeDecision::choose_slip(
  const ContactView & view, int i, bool ended, double time, ContactModes & modes) noexcept
{
  const DryFriction & law = model_.friction(i);
  FrictionMode & mode = modes.friction[static_cast<std::size_t>(i)];
  double & slip_began = modes.slip_began[static_cast<std::size_t>(i)];
  const bool acts = law.contact < 0 || view.normal(law.contact) == NormalMode::kClosed ||
                    view.normal(law.contact) == NormalMode::kForce;
  if (!acts)
  {
    mode.slip = SlipMode::kNone;
    return;
  }
  if (law.dahl_stiffness > 0.0)
  {
    turn_dahl(view, i, ended, mode);
    return;
  }
  if (!model_.is_dry(i))
  {
    mode.slip = SlipMode::kSlide;
    mode.armed = false;
    return;
  }
  if (mode.slip == SlipMode::kStick && ended)
  {
    slip_began = time;
    release_stick(i, modes.look_ahead >= tolerance::kFarthestLook, mode);
    return;
  }
  const double speed = view.slip_speed(i);
  const double creep = model_.creep_speed(i);
  if (
    mode.slip == SlipMode::kSlide && !mode.armed && !ended && speed <= tolerance::kUnderWay * creep)
  {
    // The direction of a slip that has just begun comes from the accelerations at that instant,
    // which change now. So it is decided again for all contacts together, unless the slip began at
    // this instant. (If an impact has set it in motion, its direction is that of the motion.)
    if (speed <= creep && !(time - slip_began < tolerance::kInstant))
    {
      mode.slip = SlipMode::kStick;
      give_way(i);
    }
    return;
  }
  const bool has_ended = mode.slip == SlipMode::kSlide && ended &&
                         (model_.row_count(i) == 1 || speed <= tolerance::kEndOfSlip * creep ||
                          view.slip_along_direction(i) <= 0.0);
  if (speed <= creep || has_ended)
  {
    mode.slip = SlipMode::kStick;
    return;
  }
  mode.slip = SlipMode::kSlide;
  mode.armed = true;
  for (int r = 0; r < model_.row_count(i); ++r)
  {
    mode.direction[r] = view.workspace().rows().velocity(model_.row_of_friction(i) + r) / speed;
  }
}

void ModeDecision::turn_dahl(
  const ContactView & view, int i, bool ended, FrictionMode & mode) const noexcept
{
  if (mode.slip != SlipMode::kDahl)
  {
    mode.dahl_force = 0.0;
    mode.dahl_place = view.dahl_coordinate(i);
    mode.slip = SlipMode::kDahl;
  }
  mode.dahl_force = view.dahl_force(i);
  mode.dahl_place = view.dahl_coordinate(i);
  const double v = view.workspace().rows().velocity(model_.row_of_friction(i));
  mode.direction[0] = ended ? -mode.direction[0] : v < 0.0 ? -1.0 : 1.0;
}

/// Friction that can no longer stick slides against the force that held it. In a plane, the
/// direction is decided for all contacts together or, if there is no normal force any more, by the
/// accelerations. Contacts that share a load redundantly may stick in their joint problem but not
/// with the forces of the rows; then friction slides in the last attempt.
void ModeDecision::release_stick(int i, bool is_last_try, FrictionMode & mode) noexcept
{
  const int row = model_.row_of_friction(i);
  const int count = model_.row_count(i);
  if ((count == 2 && !is_last_try) || was_bounded_[static_cast<std::size_t>(i)] == 0)
  {
    give_way(i);
    return;
  }
  const double held = forces_before_.segment(row, count).norm();
  for (int r = 0; r < count; ++r)
  {
    mode.direction[r] = -forces_before_(row + r) / held;
  }
  mode.slip = SlipMode::kSlide;
  mode.armed = false;
}

void ModeDecision::give_way(int friction) noexcept
{
  gives_way_[static_cast<std::size_t>(friction)] = 1;
  any_gives_way_ = true;
}

}  // namespace constrained_dynamics
