// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "contact/mode_decision.hpp"

#include <algorithm>

#include "contact/contact_events.hpp"
#include "contact/mode_checks.hpp"
#include "contact/tolerances.hpp"

namespace constrained_dynamics
{

namespace
{

/// ½ uᵀ Q u. @pre terms of the state.
double kinetic_energy(const Eigen::VectorXd & u, const Workspace & workspace) noexcept
{
  double sum = 0.0;
  for (Eigen::Index i = 0; i < u.size(); ++i)
  {
    sum += 0.5 * u(i) * workspace.terms().mass_matrix.row(i).dot(u);
  }
  return sum;
}

}  // namespace

ContactDecision::ContactDecision(const ContactModel & model)
: modes(
    static_cast<std::size_t>(model.contact_count()),
    static_cast<std::size_t>(model.friction_count())),
  u(Eigen::VectorXd::Zero(model.dynamics.system().speed_count()))
{
  // Each contact may strike and close, each friction change; and one change from outside.
  events.reserve(static_cast<std::size_t>(2 * model.contact_count() + model.friction_count() + 1));
}

ModeDecision::ModeDecision(const ContactModel & model)
: model_(model),
  cones_(model),
  impact_solver_(model.dynamics, static_cast<std::size_t>(model.contact_count())),
  impact_(model.dynamics),
  impact_solution_(model.dynamics, static_cast<std::size_t>(model.contact_count())),
  touching_(static_cast<std::size_t>(model.contact_count()), 0),
  candidate_(touching_),
  gives_way_(static_cast<std::size_t>(model.friction_count()), 0),
  was_redundant_(touching_),
  was_bounded_(gives_way_),
  evenly_shared_(touching_.size(), gives_way_.size())
{
  speeds_before_.setZero(model.dynamics.constraints().row_count());
  forces_before_ = speeds_before_;
  ahead_.q.setZero(model.dynamics.system().coordinate_count());
  ahead_.u.setZero(model.dynamics.system().speed_count());
  for (int i = 0; i < model.contact_count(); ++i)
  {
    const int friction = model.set->friction_of(i);
    ImpactContact impact;
    impact.constraint = model.contact(i).constraint;
    impact.side = model.contact(i).side;
    if (friction >= 0)
    {
      impact.friction_constraint = model.friction(friction).constraint;
      impact.friction = model.friction(friction).kinetic;
    }
    impact_.contacts.push_back(impact);
  }
}

void ModeDecision::begin(const ContactSnapshot & at, ContactDecision & out) noexcept
{
  out.modes = at.modes;
  out.u = at.u;
  out.events.clear();
}

Status ModeDecision::decide(
  const ContactSnapshot & at, ContactForces & forces, ContactDecision & out) noexcept CD_NONBLOCKING
{
  begin(at, out);
  ContactModes & modes = out.modes;
  ControlledDynamics & dynamics = at.dynamics;
  const ContactView view(model_, modes, dynamics.workspace());
  Status status = dynamics.update(at.time, at.q, out.u);
  status = status == Status::kOk ? forces.solve(modes, dynamics) : status;
  if (!has_output(status))
  {
    return status;
  }
  keep_forces(view);
  modes.share_evenly();
  look_ahead(at, view, modes);
  energy_change_ = -kinetic_energy(out.u, dynamics.workspace());
  unresolved_speed_ = 0.0;
  Status worst = Status::kOk;
  if (find_touching(at, view))
  {
    worst = strike(at, out);
    if (!has_output(worst))
    {
      return worst;
    }
  }
  choose_normals(at, modes);
  choose_slips(at, modes);
  status = settle_speeds(at, out);
  if (!has_output(status))
  {
    return status;
  }
  worst = worse(worst, status);
  status = forces.solve(modes, dynamics);
  if (!has_output(status) && status != Status::kNoUniqueSolution)
  {
    return status;
  }
  const bool is_again = modes.look_ahead > 0.0;
  if (!has_output(status) || any_gives_way_ || is_again || !cones_.holds(modes, dynamics))
  {
    status = choose_together(at, forces, out);
    if (!has_output(status))
    {
      return status;
    }
  }
  if (!is_again && !slips_follow(view))
  {
    status = cones_.choose_by_split(forces, dynamics, modes);
    if (!has_output(status))
    {
      return status;
    }
  }
  record_changes(at, out);
  return worse(worst, status);
}

/// Forces that are about to change their sign are 0 at this instant and do not determine which
/// contacts press after it. If modes are decided again at the same instant, the motion ahead
/// decides; likewise if redundant contacts can no longer share their loads: each of them would have
/// several forces at this instant.
void ModeDecision::look_ahead(
  const ContactSnapshot & at, const ContactView & view, ContactModes & modes) const noexcept
{
  const bool is_again = at.time - modes.last_decision < tolerance::kInstant;
  bool is_shared = false;
  for (int i = 0; i < event_count(model_); ++i)
  {
    is_shared = is_shared || (at.ended[static_cast<std::size_t>(i)] != 0 && shares_load(view, i));
  }
  modes.look_ahead = is_again ? std::clamp(
                                  tolerance::kLookGrowth * modes.look_ahead, tolerance::kFirstLook,
                                  tolerance::kFarthestLook)
                     : is_shared ? tolerance::kFirstLook
                                 : 0.0;
  modes.last_decision = at.time;
}

/// Keeps the forces of the modes that end: they determine the direction in which friction slides.
void ModeDecision::keep_forces(const ContactView & view) noexcept
{
  speeds_before_ = view.workspace().rows().velocity;
  forces_before_ = view.workspace().solution().multipliers;
  for (int i = 0; i < model_.contact_count(); ++i)
  {
    was_redundant_[static_cast<std::size_t>(i)] = view.is_redundant(i);
  }
  for (int i = 0; i < model_.friction_count(); ++i)
  {
    was_bounded_[static_cast<std::size_t>(i)] = view.static_bound(i) > 0.0;
  }
}

/// Rows that close or stop slipping now may still have a velocity up to their tolerance.
/// Statuses: kOk, kInconsistent, failures.
Status ModeDecision::settle_speeds(const ContactSnapshot & at, ContactDecision & out) noexcept
{
  ControlledDynamics & dynamics = at.dynamics;
  out.modes.enforce(*model_.set, dynamics.workspace());
  const Status projected = dynamics.project_velocity(at.time, at.q, out.u);
  if (projected != Status::kOk && projected != Status::kNotConverged)
  {
    return projected;
  }
  Status updated = dynamics.update(at.time, at.q, out.u);
  updated = updated == Status::kOk ? dynamics.update_terms() : updated;
  if (updated != Status::kOk)
  {
    return updated;
  }
  energy_change_ += kinetic_energy(out.u, dynamics.workspace());
  stop_slips(ContactView(model_, out.modes, dynamics.workspace()), out.modes);
  out.modes.enforce(*model_.set, dynamics.workspace());
  return projected == Status::kOk ? Status::kOk : Status::kInconsistent;
}

/// Friction that slipped before the closing contacts were satisfied, and no longer slips, sticks:
/// feet that a step has put below the ground do not come to rest together.
void ModeDecision::stop_slips(const ContactView & view, ContactModes & modes) const noexcept
{
  for (int i = 0; i < model_.friction_count(); ++i)
  {
    FrictionMode & mode = modes.friction[static_cast<std::size_t>(i)];
    if (
      mode.slip == SlipMode::kSlide && mode.armed && model_.is_dry(i) &&
      view.slip_speed(i) <= model_.friction(i).creep_speed)
    {
      mode.slip = SlipMode::kStick;
    }
  }
}

/// Decides the modes of all contacts together, at this instant or, if they are decided again, a
/// little ahead. The solution is at this instant.
Status ModeDecision::choose_together(
  const ContactSnapshot & at, ContactForces & forces, ContactDecision & out) noexcept
{
  ControlledDynamics & dynamics = at.dynamics;
  const Workspace & workspace = dynamics.workspace();
  const double ahead = out.modes.look_ahead;
  if (ahead > 0.0)
  {
    ahead_.q = at.q + ahead * workspace.terms().rates;
    ahead_.u = out.u + ahead * workspace.solution().acceleration;
    dynamics.system().normalise(ahead_.q);
    // If there is no motion, the cone problem returns that status.
    if (dynamics.update(at.time + ahead, ahead_.q, ahead_.u) == Status::kOk)
    {
      static_cast<void>(forces.solve(out.modes, dynamics));
    }
  }
  Status chosen = dynamics.update_terms();
  chosen =
    chosen == Status::kOk ? cones_.choose({candidate_, gives_way_}, dynamics, out.modes) : chosen;
  if (chosen != Status::kOk)
  {
    return chosen;
  }
  const Status updated = ahead > 0.0 ? dynamics.update(at.time, at.q, out.u) : Status::kOk;
  return updated == Status::kOk ? solve_chosen(forces, dynamics, out.modes) : updated;
}

/// Solves with the modes of the cone problem. Of redundant contacts the split of the rows may break
/// bounds that the cone problem keeps: then the loads are shared as there.
Status ModeDecision::solve_chosen(
  ContactForces & forces, ControlledDynamics & dynamics, ContactModes & modes) noexcept
{
  const ContactView view(model_, modes, dynamics.workspace());
  Status status = solve_pressing(forces, dynamics, modes);
  if (!has_output(status) || (cones_.holds(modes, dynamics) && slips_follow(view)))
  {
    return status;
  }
  evenly_shared_ = modes;
  modes = cones_.chosen();
  modes.enforce(*model_.set, dynamics.workspace());
  status = forces.solve(modes, dynamics);
  if (has_output(status) && cones_.holds(modes, dynamics) && slips_follow(view))
  {
    return status;
  }
  modes = evenly_shared_;
  modes.enforce(*model_.set, dynamics.workspace());
  return forces.solve(modes, dynamics);
}

/// Solves with the rows of the modes. If contacts share a load redundantly, the minimum-norm forces
/// may pull at one of them although others press: that one becomes idle.
Status ModeDecision::solve_pressing(
  ContactForces & forces, ControlledDynamics & dynamics, ContactModes & modes) noexcept
{
  const ContactView view(model_, modes, dynamics.workspace());
  while (true)
  {
    modes.enforce(*model_.set, dynamics.workspace());
    const Status status = forces.solve(modes, dynamics);
    if (!has_output(status) || cones_.holds(modes, dynamics))
    {
      return status;
    }
    int most = -1;
    double pull =
      tolerance::kForceRounding * dynamics.workspace().solution().multipliers.cwiseAbs().maxCoeff();
    for (int i = 0; i < model_.contact_count(); ++i)
    {
      if (
        view.normal(i) == NormalMode::kClosed && model_.is_rigid(i) && view.is_redundant(i) &&
        -view.normal_force(i) > pull)
      {
        most = i;
        pull = -view.normal_force(i);
      }
    }
    if (most < 0)
    {
      return status;
    }
    modes.unload(*model_.set, most, NormalMode::kIdle);
  }
}

void ModeDecision::record_changes(const ContactSnapshot & at, ContactDecision & out) const noexcept
{
  const ContactView view(model_, out.modes, at.dynamics.workspace());
  const auto is_closed = [](NormalMode mode)
  { return mode == NormalMode::kClosed || mode == NormalMode::kForce; };
  const auto record =
    [&](ContactEventKind kind, int constraint, double speed_before, double speed_after)
  {
    ContactEvent event;
    event.time = at.time;
    event.kind = kind;
    event.constraint = constraint;
    event.speed_before = speed_before;
    event.speed_after = speed_after;
    event.energy_change = energy_change_;
    out.events.push_back(event);
  };
  for (int i = 0; i < model_.contact_count(); ++i)
  {
    const bool closes = is_closed(view.normal(i));
    if (closes != is_closed(at.modes.normal[static_cast<std::size_t>(i)]))
    {
      const int row = model_.row_of_contact(i);
      record(
        closes ? ContactEventKind::kClose : ContactEventKind::kRelease,
        model_.contact(i).constraint, speeds_before_(row), view.workspace().rows().velocity(row));
    }
  }
  for (int i = 0; i < model_.friction_count(); ++i)
  {
    const FrictionMode & now = view.friction(i);
    const FrictionMode & before = at.modes.friction[static_cast<std::size_t>(i)];
    const bool has_ended = at.ended[static_cast<std::size_t>(model_.contact_count() + i)] != 0;
    const bool has_turned =
      now.slip == SlipMode::kSlide && before.slip == SlipMode::kSlide && has_ended &&
      now.direction[0] * before.direction[0] + now.direction[1] * before.direction[1] < 0.0;
    const bool is_event = now.slip == SlipMode::kStick || now.slip == SlipMode::kSlide;
    if (is_event && model_.is_dry(i) && (now.slip != before.slip || has_turned))
    {
      record(
        now.slip == SlipMode::kStick ? ContactEventKind::kStick : ContactEventKind::kSlip,
        model_.friction(i).constraint,
        speeds_before_.segment(model_.row_of_friction(i), model_.row_count(i)).norm(),
        view.slip_speed(i));
    }
  }
}

}  // namespace constrained_dynamics
