// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "contact/contact_forces.hpp"

#include <algorithm>
#include <cmath>

#include "contact/mode_checks.hpp"
#include "contact/tolerances.hpp"

namespace constrained_dynamics
{

ContactForces::ContactForces(const ContactModel & model)
: model_(model),
  law_force_(static_cast<std::size_t>(model.contact_count()), 0.0),
  sliding_solver_(static_cast<std::size_t>(model.friction_count()))
{
  const auto frictions = static_cast<std::size_t>(model.friction_count());
  sliding_.reserve(frictions);
  planar_.reserve(frictions);
  held_.direction.assign(2 * frictions, 0.0);
}

Status ContactForces::solve(const ContactModes & modes, ControlledDynamics & dynamics) noexcept
  CD_NONBLOCKING
{
  Workspace & workspace = dynamics.workspace();
  const ContactView at = view(modes, workspace);
  set_normal_laws(at, workspace.given_multipliers());
  set_frictions(at, workspace);
  const Status status = dynamics.solve();
  return sliding_.empty() || !has_output(status) ? status : solve_sliding(at, dynamics);
}

Status ContactForces::solve_shared(
  const ContactModes & modes, ControlledDynamics & dynamics) noexcept CD_NONBLOCKING
{
  Status status = solve(modes, dynamics);
  Workspace & workspace = dynamics.workspace();
  if (!has_output(status) || forces_hold(view(modes, workspace)) == Holding::kYes)
  {
    return status;
  }
  // What the other rows exert beside these loads. Given it, no row needs to carry anything else.
  for (int i = 0; i < model_.contact_count(); ++i)
  {
    const int friction = model_.set->friction_of(i);
    const bool sticks =
      friction >= 0 && modes.friction[static_cast<std::size_t>(friction)].slip == SlipMode::kStick;
    const bool is_held = modes.normal[static_cast<std::size_t>(i)] == NormalMode::kClosed &&
                         !model_.contact(i).adhesive && (friction < 0 || sticks);
    if (is_held)
    {
      workspace.set_active(model_.contact(i).constraint, false);
    }
    if (is_held && sticks)
    {
      workspace.set_active(model_.friction(friction).constraint, false);
    }
  }
  status = solve(modes, dynamics);
  const ConstraintSet & set = model_.dynamics.constraints();
  const auto give = [&](bool as_solved)
  {
    for (int row = 0; row < set.row_count(); ++row)
    {
      const int constraint = set.constraint_of_row(row);
      if (workspace.is_active(constraint) && !model_.set->manages(constraint))
      {
        workspace.given_multipliers()(row) =
          as_solved ? workspace.solution().multipliers(row) : 0.0;
      }
    }
  };
  give(has_output(status));
  modes.enforce(*model_.set, workspace);
  status = solve(modes, dynamics);
  give(false);
  return status;
}

/// k δⁿ + c δᵐ δ̇ of the penetration δ, never pulling.
void ContactForces::set_normal_laws(const ContactView & view, Eigen::VectorXd & given) noexcept
{
  for (int i = 0; i < model_.contact_count(); ++i)
  {
    const Contact & law = model_.contact(i);
    double & force = law_force_[static_cast<std::size_t>(i)];
    force = 0.0;
    if (view.normal(i) == NormalMode::kForce)
    {
      const double depth = std::max(0.0, -view.gap(i));
      const double elastic = law.stiffness * std::pow(depth, law.exponent);
      const double damped =
        depth > 0.0 || law.damping_exponent > 0.0
          ? -law.damping * std::pow(depth, law.damping_exponent) * view.gap_rate(i)
          : 0.0;
      force = std::max(0.0, elastic + damped);
    }
    given(model_.row_of_contact(i)) = -law.side * (force + view.load(i));
  }
}

/// Forces of Dahl's law and of sliding as far as they are known; the others are collected.
void ContactForces::set_frictions(const ContactView & view, Workspace & workspace) noexcept
{
  Eigen::VectorXd & given = workspace.given_multipliers();
  sliding_.clear();
  for (int i = 0; i < model_.friction_count(); ++i)
  {
    const DryFriction & law = model_.friction(i);
    const FrictionMode & mode = view.friction(i);
    const int row = model_.row_of_friction(i);
    for (int k = 0; k < model_.row_count(i); ++k)
    {
      given(row + k) = mode.slip == SlipMode::kStick ? mode.hold[k] : 0.0;
    }
    if (mode.slip == SlipMode::kDahl)
    {
      given(row) = view.dahl_force(i) - law.viscous * workspace.rows().velocity(row);
    }
    if (mode.slip != SlipMode::kSlide)
    {
      continue;
    }
    has_turned_back_ = has_turned_back_ || (model_.is_dry(i) && mode.armed &&
                                            view.slip_along_direction(i) < -model_.creep_speed(i));
    const NormalMode normal = law.contact < 0 ? NormalMode::kForce : view.normal(law.contact);
    if (normal == NormalMode::kClosed && law.kinetic > 0.0)
    {
      sliding_.push_back(i);
    }
    const double bound = law.contact < 0 ? law.kinetic
                         : normal == NormalMode::kForce
                           ? law.kinetic * law_force_[static_cast<std::size_t>(law.contact)]
                           : 0.0;
    add_given(view, i, bound, workspace);
  }
}

/// The multipliers of a friction that slides, for a bound of its dry part.
void ContactForces::add_given(
  const ContactView & view, int i, double bound, Workspace & workspace) const noexcept
{
  const int row = model_.row_of_friction(i);
  double s[2];
  view.slide_direction(i, s);
  for (int k = 0; k < model_.row_count(i); ++k)
  {
    workspace.given_multipliers()(row + k) =
      -bound * s[k] - model_.friction(i).viscous * workspace.rows().velocity(row + k);
  }
}

/// Frictions whose normal forces are unknown.
Status ContactForces::solve_sliding(
  const ContactView & view, ControlledDynamics & dynamics) noexcept
{
  Workspace & workspace = dynamics.workspace();
  const auto count = static_cast<Eigen::Index>(sliding_.size());
  const auto friction_at = [&](Eigen::Index i) { return sliding_[static_cast<std::size_t>(i)]; };
  const auto contact_at = [&](Eigen::Index i) { return model_.friction(friction_at(i)).contact; };
  // If contacts share a load, its distribution is a convention and does not show uniqueness.
  bool is_redundant = false;
  for (Eigen::Index i = 0; i < count; ++i)
  {
    sliding_solver_.frictionless(i) = view.normal_force(contact_at(i));
    is_redundant = is_redundant || view.is_redundant(contact_at(i));
  }
  // An adhesive contact that pulls has no friction.
  const auto coefficient = [&](Eigen::Index i)
  {
    const bool pulls =
      sliding_solver_.frictionless(i) < 0.0 && model_.contact(contact_at(i)).adhesive;
    return pulls ? 0.0 : model_.friction(friction_at(i)).kinetic;
  };
  const auto respond = [&](Eigen::Index j, VectorRef column) noexcept
  {
    const double unit = std::max(1.0, std::abs(sliding_solver_.frictionless(j)));
    add_given(view, friction_at(j), coefficient(j) * unit, workspace);
    const Status status = dynamics.solve();
    for (Eigen::Index i = 0; has_output(status) && i < count; ++i)
    {
      column(i) = (view.normal_force(contact_at(i)) - sliding_solver_.frictionless(i)) / unit;
    }
    add_given(view, friction_at(j), 0.0, workspace);
    return status;
  };
  const Status status = sliding_solver_.solve(
    count,
    is_redundant ? SlidingSolver::Uniqueness::kSolvable : SlidingSolver::Uniqueness::kOrientation,
    respond);
  if (!has_output(status))
  {
    return status;
  }
  for (Eigen::Index i = 0; i < count; ++i)
  {
    add_given(view, friction_at(i), coefficient(i) * sliding_solver_.normal(i), workspace);
  }
  return dynamics.solve();
}

void ContactForces::commit(ContactModes & modes, const Workspace & workspace) const noexcept
  CD_NONBLOCKING
{
  const ContactView view(model_, modes, workspace);
  for (int i = 0; i < model_.friction_count(); ++i)
  {
    FrictionMode & mode = modes.friction[static_cast<std::size_t>(i)];
    if (mode.slip == SlipMode::kDahl)
    {
      mode.dahl_force = view.dahl_force(i);
      mode.dahl_place = view.dahl_coordinate(i);
      continue;
    }
    if (mode.slip != SlipMode::kSlide)
    {
      continue;
    }
    mode.armed =
      mode.armed || view.slip_along_direction(i) > tolerance::kUnderWay * model_.creep_speed(i);
    if (mode.armed && model_.row_count(i) == 2)
    {
      double s[2];
      view.slide_direction(i, s);
      mode.direction[0] = s[0];
      mode.direction[1] = s[1];
    }
  }
}

// ---- directions of slip in a plane
// ------------------------------------------------------------------------------

const std::vector<int> & ContactForces::planar_slides(const ContactModes & modes) noexcept
  CD_NONBLOCKING
{
  planar_.clear();
  for (int i = 0; i < model_.friction_count(); ++i)
  {
    if (
      modes.friction[static_cast<std::size_t>(i)].slip == SlipMode::kSlide &&
      model_.row_count(i) == 2 && model_.friction(i).kinetic > 0.0)
    {
      planar_.push_back(i);
    }
  }
  return planar_;
}

void ContactForces::hold_directions(
  const ContactModes & modes, const Workspace & workspace) noexcept
{
  is_held_ = false;
  const ContactView following = view(modes, workspace);
  for (const int i : planar_slides(modes))
  {
    following.slide_direction(i, held_.direction.data() + 2 * i);
  }
  is_held_ = true;
  held_.turned = -1;
}

void ContactForces::turn_direction(int friction, double angle) noexcept
{
  held_.turned = friction;
  held_.angle = angle;
}

double ContactForces::kinetic_bound(const ContactView & view, int i) const noexcept
{
  const DryFriction & law = model_.friction(i);
  if (law.contact < 0)
  {
    return law.kinetic;
  }
  const double force = view.normal(law.contact) == NormalMode::kForce
                         ? law_force_[static_cast<std::size_t>(law.contact)]
                         : std::max(0.0, view.normal_force(law.contact));
  return law.kinetic * force;
}

void ContactForces::set_turning(
  ContactModes & modes, int i, double change, const Workspace & workspace) const noexcept
{
  const double bound = kinetic_bound(view(modes, workspace), i);
  modes.friction[static_cast<std::size_t>(i)].turning =
    bound > 0.0 ? std::max(0.0, change) / bound : 0.0;
}

double ContactForces::turning_rate(const ContactModes & modes, const Workspace & workspace) noexcept
{
  const ContactView at = view(modes, workspace);
  double rate = 0.0;
  for (const int i : planar_slides(modes))
  {
    rate = std::max(rate, at.friction(i).turning * kinetic_bound(at, i) / at.turning_speed(i));
  }
  return rate;
}

}  // namespace constrained_dynamics
