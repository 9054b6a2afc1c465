// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "contact/contact_view.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "contact/tolerances.hpp"

namespace constrained_dynamics
{

ContactModel::ContactModel(
  const Dynamics & the_dynamics, std::shared_ptr<const ContactSet> the_set, double the_step,
  double the_least_creep)
: dynamics(the_dynamics), set(std::move(the_set)), step(the_step), least_creep(the_least_creep)
{
  const ConstraintSet & constraints = dynamics.constraints();
  for (const Contact & contact : set->contacts())
  {
    contact_row.push_back(constraints.row_offset(contact.constraint));
  }
  for (const DryFriction & friction : set->frictions())
  {
    friction_row.push_back(constraints.row_offset(friction.constraint));
    friction_row_count.push_back(constraints[friction.constraint].row_count());
  }
}

double ContactModel::creep_speed(int i) const noexcept
{
  return std::max(friction(i).creep_speed, least_creep);
}

// ---- normal direction
// ------------------------------------------------------------------------------

double ContactView::gap(int i) const noexcept
{
  const Contact & contact = model_.contact(i);
  return contact.tolerance - contact.side * workspace_.rows().position(model_.row_of_contact(i));
}

double ContactView::gap_rate(int i) const noexcept
{
  return -model_.contact(i).side * workspace_.rows().velocity(model_.row_of_contact(i));
}

double ContactView::gap_acceleration(int i) const noexcept
{
  const int row = model_.row_of_contact(i);
  return -model_.contact(i).side *
         (workspace_.rows().jacobian.row(row).dot(workspace_.solution().acceleration) -
          workspace_.rows().bias(row));
}

double ContactView::normal_force(int i) const noexcept
{
  return -model_.contact(i).side * workspace_.solution().multipliers(model_.row_of_contact(i));
}

bool ContactView::is_redundant(int i) const noexcept
{
  return workspace_.solution().redundancy(model_.row_of_contact(i)) > tolerance::kRedundant;
}

bool ContactView::shares_normal(int i) const noexcept
{
  const int of = model_.set->friction_of(i);
  // Friction that slides goes with its normal force, and the motion with both.
  return normal(i) == NormalMode::kClosed && !model_.contact(i).adhesive && is_redundant(i) &&
         (of < 0 || friction(of).slip != SlipMode::kSlide);
}

bool ContactView::shares_stick(int i) const noexcept
{
  const int contact = model_.friction(i).contact;
  const auto redundancy =
    workspace_.solution().redundancy.segment(model_.row_of_friction(i), model_.row_count(i));
  return friction(i).slip == SlipMode::kStick && (redundancy.maxCoeff() > tolerance::kRedundant ||
                                                  (contact >= 0 && shares_normal(contact)));
}

bool ContactView::is_closing(int i) const noexcept
{
  const double rate = gap_rate(i);
  return rate < -tolerance::kRest || (rate < 0.0 && !(gap_acceleration(i) > 0.0));
}

double ContactView::hop(int i) const noexcept
{
  const double rate = gap_rate(i);
  const double acceleration = gap_acceleration(i);
  return rate > 0.0 && acceleration < 0.0 ? -rate / acceleration : 0.0;
}

// ---- friction
// ------------------------------------------------------------------------------

double ContactView::slip_speed(int i) const noexcept
{
  return workspace_.rows().velocity.segment(model_.row_of_friction(i), model_.row_count(i)).norm();
}

double ContactView::slip_along_direction(int i) const noexcept
{
  double along = 0.0;
  for (int r = 0; r < model_.row_count(i); ++r)
  {
    along += friction(i).direction[r] * workspace_.rows().velocity(model_.row_of_friction(i) + r);
  }
  return along;
}

double ContactView::slip_along(int i, const double * s) const noexcept
{
  const int row = model_.row_of_friction(i);
  return s[0] * workspace_.rows().velocity(row) + s[1] * workspace_.rows().velocity(row + 1);
}

double ContactView::slip_change_along(
  int i, const double * s, const Eigen::VectorXd & acceleration) const noexcept
{
  const int row = model_.row_of_friction(i);
  return s[0] * workspace_.rows().jacobian.row(row).dot(acceleration) +
         s[1] * workspace_.rows().jacobian.row(row + 1).dot(acceleration);
}

double ContactView::tangent_force(int i) const noexcept
{
  return workspace_.solution()
    .multipliers.segment(model_.row_of_friction(i), model_.row_count(i))
    .norm();
}

double ContactView::static_bound(int i) const noexcept
{
  const DryFriction & law = model_.friction(i);
  // An adhesive contact that pulls holds nothing.
  return law.contact < 0 ? law.stiction : law.stiction * std::max(0.0, normal_force(law.contact));
}

void ContactView::slide_direction(int i, double * s) const noexcept
{
  s[0] = friction(i).direction[0];
  s[1] = friction(i).direction[1];
  if (model_.row_count(i) == 1)
  {
    return;  // constant within a phase, so that the motion is smooth beyond the end of the slip
  }
  if (held_ != nullptr)
  {
    const double turn = held_->turned == i ? held_->angle : 0.0;
    const double * held = held_->direction.data() + 2 * i;
    s[0] = std::cos(turn) * held[0] - std::sin(turn) * held[1];
    s[1] = std::sin(turn) * held[0] + std::cos(turn) * held[1];
    return;
  }
  double v[2];
  turning_slip(i, v);
  const double length = std::hypot(v[0], v[1]);
  if (v[0] * s[0] + v[1] * s[1] > 0.0)
  {
    s[0] = v[0] / length;
    s[1] = v[1] / length;
  }
}

void ContactView::turning_slip(int i, double * v) const noexcept
{
  for (int r = 0; r < 2; ++r)
  {
    v[r] = workspace_.rows().velocity(model_.row_of_friction(i) + r) +
           model_.creep_speed(i) * friction(i).direction[r];
  }
}

double ContactView::turning_speed(int i) const noexcept
{
  double v[2];
  turning_slip(i, v);
  return std::hypot(v[0], v[1]);
}

bool ContactView::begins_to_slide(int i) const noexcept
{
  return friction(i).slip == SlipMode::kSlide && !friction(i).armed && model_.is_dry(i) &&
         slip_speed(i) <= model_.creep_speed(i);
}

double ContactView::dahl_force(int i) const noexcept
{
  const DryFriction & law = model_.friction(i);
  const FrictionMode & mode = friction(i);
  const double moved = dahl_coordinate(i) - mode.dahl_place;
  const double end = -law.kinetic * mode.direction[0];
  const double decay = law.dahl_stiffness * mode.direction[0] * moved / law.kinetic;
  // Trial stages may lie far behind the turning point: there the law goes on along its tangent.
  const double left = decay > -1.0 ? std::exp(-decay) : -decay * std::exp(1.0);
  return end + (mode.dahl_force - end) * left;
}

}  // namespace constrained_dynamics
