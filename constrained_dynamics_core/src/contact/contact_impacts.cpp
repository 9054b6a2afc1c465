// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Jumps of the speeds: contacts that strike, constraints that are switched, impulses.
#include <algorithm>
#include <cmath>

#include "contact/mode_decision.hpp"
#include "contact/tolerances.hpp"

namespace constrained_dynamics
{

/// Which rigid contacts touch. Returns whether one of them strikes.
bool ModeDecision::find_touching(const ContactSnapshot & at, const ContactView & view) noexcept
{
  bool strikes = false;
  for (int i = 0; i < model_.contact_count(); ++i)
  {
    const auto index = static_cast<std::size_t>(i);
    const NormalMode mode = view.normal(i);
    const bool is_near = at.ended[index] != 0 || view.gap(i) <= tolerance::kTouch;
    touching_[index] =
      model_.is_rigid(i) && (mode == NormalMode::kClosed || mode == NormalMode::kIdle ||
                             (mode == NormalMode::kOpen && is_near));
    strikes = strikes || (touching_[index] != 0 && mode != NormalMode::kClosed &&
                          view.gap_rate(i) < -tolerance::kRest);
  }
  return strikes;
}

/// Roles of all constraints: enforced ones stay enforced, contacts that touch are unilateral.
void ModeDecision::begin_impact(const Workspace & workspace) noexcept
{
  impact_.impulse.setZero();
  impact_.restitution.setZero();
  for (int i = 0; i < model_.dynamics.constraints().size(); ++i)
  {
    impact_.roles[static_cast<std::size_t>(i)] = !model_.set->manages(i) && workspace.is_active(i)
                                                   ? ImpactRole::kEnforced
                                                   : ImpactRole::kAbsent;
  }
  for (int i = 0; i < model_.contact_count(); ++i)
  {
    if (touching_[static_cast<std::size_t>(i)] != 0)
    {
      impact_.roles[static_cast<std::size_t>(model_.contact(i).constraint)] =
        ImpactRole::kUnilateral;
    }
  }
}

/// Restitution of contacts that strike faster than their rest speed and than fixed steps can
/// resolve. It is 0 after too many impacts at one instant.
void ModeDecision::set_restitution(
  const ContactSnapshot & at, const ContactView & view, ContactModes & modes) noexcept
{
  for (int i = 0; i < model_.contact_count(); ++i)
  {
    if (touching_[static_cast<std::size_t>(i)] != 0)
    {
      unresolved_speed_ = std::max(
        unresolved_speed_,
        tolerance::kUnresolvedSteps * model_.step * std::abs(view.gap_acceleration(i)));
    }
  }
  for (int i = 0; i < model_.contact_count(); ++i)
  {
    const auto index = static_cast<std::size_t>(i);
    const Contact & contact = model_.contact(i);
    const double approach = -view.gap_rate(i);
    if (touching_[index] == 0 || !(approach > std::max(contact.rest_speed, unresolved_speed_)))
    {
      continue;
    }
    const bool is_again = at.time - modes.last_impact[index] < tolerance::kInstant;
    modes.impacts_in_a_row[index] = is_again ? modes.impacts_in_a_row[index] + 1 : 0;
    modes.last_impact[index] = at.time;
    if (modes.impacts_in_a_row[index] < bound::kChatterImpacts)
    {
      impact_.restitution(contact.constraint) = contact.restitution;
    }
  }
}

/// Impact of the contacts that touch.
Status ModeDecision::strike(const ContactSnapshot & at, ContactDecision & out) noexcept
{
  ControlledDynamics & dynamics = at.dynamics;
  const ContactView view(model_, out.modes, dynamics.workspace());
  begin_impact(dynamics.workspace());
  set_restitution(at, view, out.modes);
  const Status status =
    impact_solver_.solve(impact_, at.time, at.q, out.u, dynamics.workspace(), impact_solution_);
  if (!has_output(status))
  {
    return status;
  }
  out.u = impact_solution_.speeds;
  const Status updated = dynamics.update(at.time, at.q, out.u);
  if (updated != Status::kOk)
  {
    return updated;
  }
  record_impacts(view, at.time, out);
  return status;
}

void ModeDecision::record_impacts(
  const ContactView & view, double time, ContactDecision & out) const noexcept
{
  for (int i = 0; i < model_.contact_count(); ++i)
  {
    const int row = model_.row_of_contact(i);
    const double impulse = std::abs(impact_solution_.multipliers(row));
    if (touching_[static_cast<std::size_t>(i)] == 0 || !(impulse > 0.0))
    {
      continue;
    }
    ContactEvent event;
    event.time = time;
    event.kind = ContactEventKind::kImpact;
    event.constraint = model_.contact(i).constraint;
    event.impulse = impulse;
    const int friction = model_.set->friction_of(i);
    if (friction >= 0)
    {
      event.friction_impulse =
        impact_solution_.multipliers
          .segment(model_.row_of_friction(friction), model_.row_count(friction))
          .norm();
    }
    event.speed_before = speeds_before_(row);
    event.speed_after = view.workspace().rows().velocity(row);
    event.energy_change = impact_solution_.energy_change;
    event.restitution_scale = impact_solution_.restitution_scale;
    out.events.push_back(event);
  }
}

// ---- changes from outside
// ------------------------------------------------------------------------------

/// Returns whether the speeds may jump.
bool ModeDecision::set_changes(
  const ScheduledChange * changes, std::size_t count, const Workspace & workspace) noexcept
{
  bool jumps = false;
  for (std::size_t k = 0; k < count; ++k)
  {
    const ScheduledChange & change = changes[k];
    if (change.constraint < 0)
    {
      impact_.impulse += change.impulse;
      jumps = true;
      continue;
    }
    bool has_velocity = false;  // rows on acceleration level are enforced without a jump
    for (const RowDescription & row : model_.dynamics.constraints()[change.constraint].rows())
    {
      has_velocity = has_velocity || row.level != RowLevel::kAcceleration;
    }
    const bool strikes = change.active && has_velocity && !workspace.is_active(change.constraint);
    impact_.roles[static_cast<std::size_t>(change.constraint)] = strikes ? ImpactRole::kImpacting
                                                                 : change.active
                                                                   ? ImpactRole::kEnforced
                                                                   : ImpactRole::kAbsent;
    jumps = jumps || strikes;
  }
  return jumps;
}

Status ModeDecision::apply(
  const ContactSnapshot & at, const ScheduledChange * changes, std::size_t count,
  ContactDecision & out) noexcept CD_NONBLOCKING
{
  begin(at, out);
  Workspace & workspace = at.dynamics.workspace();
  Status status = at.dynamics.update_rows(at.time, at.q, out.u);
  if (status != Status::kOk)
  {
    return status;
  }
  for (int i = 0; i < model_.contact_count(); ++i)
  {
    const NormalMode mode = out.modes.normal[static_cast<std::size_t>(i)];
    touching_[static_cast<std::size_t>(i)] =
      model_.is_rigid(i) && (mode == NormalMode::kClosed || mode == NormalMode::kIdle);
  }
  begin_impact(workspace);
  speeds_before_ = workspace.rows().velocity;
  impact_solution_.energy_change = 0.0;
  impact_solution_.multipliers.setZero();
  if (set_changes(changes, count, workspace))
  {
    status = impact_solver_.solve(impact_, at.time, at.q, out.u, workspace, impact_solution_);
    if (!has_output(status))
    {
      return status;
    }
    out.u = impact_solution_.speeds;
  }
  for (std::size_t k = 0; k < count; ++k)
  {
    const ScheduledChange & change = changes[k];
    ContactEvent event;
    event.time = at.time;
    event.constraint = change.constraint;
    event.energy_change = impact_solution_.energy_change;
    if (change.constraint < 0)
    {
      event.kind = ContactEventKind::kImpulse;
      event.impulse = change.impulse.norm();
      out.events.push_back(event);
      continue;
    }
    if (workspace.is_active(change.constraint) == change.active)
    {
      continue;
    }
    event.kind = change.active ? ContactEventKind::kSwitchOn : ContactEventKind::kSwitchOff;
    if (change.active)
    {
      const Eigen::Index row = model_.dynamics.constraints().row_offset(change.constraint);
      const Eigen::Index rows = model_.dynamics.constraints()[change.constraint].row_count();
      event.impulse = impact_solution_.multipliers.segment(row, rows).norm();
      event.speed_before = speeds_before_.segment(row, rows).norm();
    }
    out.events.push_back(event);
    workspace.set_active(change.constraint, change.active);
  }
  return status;
}

}  // namespace constrained_dynamics
