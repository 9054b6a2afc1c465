// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "contact/cone_modes.hpp"

#include <cmath>

#include "contact/mode_checks.hpp"
#include "contact/tolerances.hpp"

namespace constrained_dynamics
{

ConeModes::ConeModes(const ContactModel & model)
: model_(model),
  cone_(
    model.dynamics.system().speed_count(), model.contact_count() + 2 * model.friction_count() + 1),
  contacts_(static_cast<std::size_t>(model.contact_count() + model.friction_count())),
  owner_(contacts_.size(), 0),
  chosen_(
    static_cast<std::size_t>(model.contact_count()),
    static_cast<std::size_t>(model.friction_count())),
  shared_(chosen_),
  kept_(static_cast<std::size_t>(model.friction_count())),
  held_(static_cast<std::size_t>(model.contact_count()), 0),
  none_(kept_.size(), 0)
{
  const Eigen::Index n = model.dynamics.system().speed_count();
  row_.setZero(n);
  force_.setZero(n);
  zero_speeds_.setZero(n);
}

// ---- the problem
// ------------------------------------------------------------------------------

void ConeModes::add_given(int row, const Workspace & workspace) noexcept
{
  force_ += workspace.given_multipliers()(row) * workspace.rows().jacobian.row(row).transpose();
}

/// Known forces, and rows that are always satisfied.
/// @param candidate contacts whose forces are unknown; none: all normal forces are those of the
/// last solve, and only friction that sticks or begins to slide is unknown.
Status ConeModes::begin(
  const ContactView & view, const Eigen::VectorXd & inputs,
  const std::vector<char> * candidate) noexcept
{
  const Workspace & workspace = view.workspace();
  const Terms terms = workspace.terms();
  const Rows & rows = workspace.rows();
  force_ = terms.force;
  force_.noalias() += terms.input_matrix * inputs;
  for (int i = 0; i < model_.contact_count(); ++i)
  {
    const int row = model_.row_of_contact(i);
    if (view.normal(i) == NormalMode::kForce)
    {
      add_given(row, workspace);
    }
    const bool is_known = candidate != nullptr && (*candidate)[static_cast<std::size_t>(i)] == 0 &&
                          !model_.contact(i).adhesive;
    if (view.normal(i) == NormalMode::kClosed && is_known)
    {
      force_ += workspace.solution().multipliers(row) * rows.jacobian.row(row).transpose();
    }
  }
  add_known_frictions(view, candidate);
  const Status begun = cone_.begin(terms.mass_matrix, zero_speeds_, force_);
  if (begun != Status::kOk)
  {
    return begun;
  }
  const auto add_equality = [&](int row)
  {
    row_ = rows.jacobian.row(row).transpose();
    cone_.add_equality(row_, rows.bias(row), 1.0 / workspace.row_scale()(row));
  };
  const ConstraintSet & constraints = model_.dynamics.constraints();
  for (int i = 0; i < constraints.size(); ++i)
  {
    const bool is_enforced = workspace.is_active(i) && !model_.set->manages(i);
    for (int r = 0; is_enforced && r < constraints[i].row_count(); ++r)
    {
      add_equality(constraints.row_offset(i) + r);
    }
  }
  for (int i = 0; i < model_.contact_count(); ++i)
  {
    const bool is_met = candidate == nullptr || model_.contact(i).adhesive;
    if (view.normal(i) == NormalMode::kClosed && is_met)
    {
      add_equality(model_.row_of_contact(i));
    }
  }
  return Status::kOk;
}

void ConeModes::add_known_frictions(
  const ContactView & view, const std::vector<char> * candidate) noexcept
{
  for (int i = 0; i < model_.friction_count(); ++i)
  {
    const int contact = model_.friction(i).contact;
    const bool is_given = candidate == nullptr
                            ? !view.begins_to_slide(i)
                            : contact < 0 || (*candidate)[static_cast<std::size_t>(contact)] == 0;
    const SlipMode slip = view.friction(i).slip;
    const bool is_known = slip == SlipMode::kDahl || (slip == SlipMode::kSlide && is_given);
    for (int r = 0; is_known && r < model_.row_count(i); ++r)
    {
      add_given(model_.row_of_friction(i) + r, view.workspace());
    }
  }
}

ConeContact & ConeModes::add_contact(int owner, int & count) noexcept
{
  owner_[static_cast<std::size_t>(count)] = owner;
  ConeContact & to = contacts_[static_cast<std::size_t>(count++)];
  to = ConeContact{};
  return to;
}

void ConeModes::add_tangents(int friction, const Workspace & workspace, ConeContact & to) noexcept
{
  to.tangent_count = model_.row_count(friction);
  for (int r = 0; r < to.tangent_count; ++r)
  {
    const int row = model_.row_of_friction(friction) + r;
    row_ = workspace.rows().jacobian.row(row).transpose();
    to.tangent[r] =
      cone_.add_row(row_, workspace.rows().bias(row), 1.0 / workspace.row_scale()(row));
  }
}

void ConeModes::add_friction(
  const ContactView & view, int friction, bool gives_way, ConeContact & to) noexcept
{
  const DryFriction & law = model_.friction(friction);
  to.sliding = view.friction(friction).slip == SlipMode::kSlide;
  to.friction = to.sliding || gives_way ? law.kinetic : law.stiction;
  if (to.sliding)
  {
    view.slide_direction(friction, to.direction);
  }
  if (to.friction > 0.0)
  {
    add_tangents(friction, view.workspace(), to);
  }
}

/// Returns the number of contacts of the problem.
int ConeModes::add_candidates(const Question & question, const ContactView & view) noexcept
{
  const Rows & rows = view.workspace().rows();
  const auto gives_way = [&](int friction)
  { return question.gives_way[static_cast<std::size_t>(friction)] != 0; };
  int count = 0;
  for (int i = 0; i < model_.contact_count(); ++i)
  {
    const Contact & contact = model_.contact(i);
    if (question.candidate[static_cast<std::size_t>(i)] == 0 || contact.adhesive)
    {
      continue;
    }
    ConeContact & to = add_contact(i, count);
    const int row = model_.row_of_contact(i);
    row_ = -contact.side * rows.jacobian.row(row).transpose();
    const double size = 1.0 / view.workspace().row_scale()(row);
    to.normal = cone_.add_row(row_, -contact.side * rows.bias(row), size);
    const int friction = model_.set->friction_of(i);
    if (friction >= 0)
    {
      add_friction(view, friction, gives_way(friction), to);
    }
  }
  for (int i = 0; i < model_.friction_count(); ++i)
  {
    // If the normal force is not an unknown, the bound is the present one.
    const int contact = model_.friction(i).contact;
    const bool is_bounded =
      contact < 0 || view.normal(contact) == NormalMode::kForce ||
      (view.normal(contact) == NormalMode::kClosed && model_.contact(contact).adhesive);
    if (is_bounded && view.friction(i).slip == SlipMode::kStick)
    {
      ConeContact & to = add_contact(-1 - i, count);
      add_friction(view, i, gives_way(i), to);
      to.friction = view.static_bound(i);
    }
  }
  return count;
}

// ---- its solution
// ------------------------------------------------------------------------------

/// Whether friction is at its bound.
bool ConeModes::is_at_bound(const ConeContact & contact) const noexcept
{
  double length = 0.0;
  for (int r = 0; r < contact.tangent_count; ++r)
  {
    length = std::hypot(length, cone_.force(contact.tangent[r]));
  }
  const double limit =
    contact.normal >= 0 ? contact.friction * cone_.force(contact.normal) : contact.friction;
  return length >= limit * (1.0 - tolerance::kAtBound) && length > 0.0;
}

Status ConeModes::solve(int count, const ContactView & view) noexcept
{
  const Status status = cone_.solve(contacts_.data(), count);
  // Sliding uses the kinetic coefficient, which also changes the direction.
  bool changed = false;
  for (int i = 0; i < count && status != Status::kNoUniqueSolution; ++i)
  {
    ConeContact & contact = contacts_[static_cast<std::size_t>(i)];
    if (contact.sliding || contact.tangent_count == 0 || !is_at_bound(contact))
    {
      continue;
    }
    const int owner = owner_[static_cast<std::size_t>(i)];
    const int friction = owner < 0 ? -1 - owner : model_.set->friction_of(owner);
    const DryFriction & law = model_.friction(friction);
    const double kinetic =
      owner < 0 ? view.static_bound(friction) * (law.kinetic / law.stiction) : law.kinetic;
    changed = changed || kinetic != contact.friction;
    contact.friction = kinetic;
  }
  return changed ? cone_.solve(contacts_.data(), count) : status;
}

/// At its bound, friction slides; not if it rests and shares its load, because then only the choice
/// among all ways to share has put it there.
void ConeModes::read_slip(
  const ConeContact & from, const ContactView & view, int friction,
  FrictionMode & mode) const noexcept
{
  if (from.sliding || from.tangent_count == 0)
  {
    return;
  }
  double length = 0.0;
  double motion = 0.0;
  double size = 0.0;
  for (int r = 0; r < from.tangent_count; ++r)
  {
    length = std::hypot(length, cone_.force(from.tangent[r]));
    motion = std::hypot(motion, cone_.motion(from.tangent[r]));
    size += cone_.size(from.tangent[r]);
  }
  const bool rests = view.shares_stick(friction) && motion <= tolerance::kHeld * size;
  mode.slip = SlipMode::kStick;
  // Friction of a force law that does not press now slides in the direction of its acceleration.
  const bool is_free = from.normal < 0 && !(from.friction > 0.0);
  if (is_free || (is_at_bound(from) && !rests))
  {
    mode.slip = SlipMode::kSlide;
    mode.armed = false;
    for (int r = 0; r < from.tangent_count && (!is_free || motion > 0.0); ++r)
    {
      mode.direction[r] =
        is_free ? cone_.motion(from.tangent[r]) / motion : -cone_.force(from.tangent[r]) / length;
    }
  }
}

/// @param view of the last solve, with the modes before.
void ConeModes::read(int count, const ContactView & view, ContactModes & modes) const noexcept
{
  for (int i = 0; i < count; ++i)
  {
    const ConeContact & from = contacts_[static_cast<std::size_t>(i)];
    const int owner = owner_[static_cast<std::size_t>(i)];
    if (owner < 0)
    {
      read_slip(from, view, -1 - owner, modes.friction[static_cast<std::size_t>(-1 - owner)]);
      continue;
    }
    if (cone_.force(from.normal) > 0.0)
    {
      modes.normal[static_cast<std::size_t>(owner)] = NormalMode::kClosed;
      const int friction = model_.set->friction_of(owner);
      if (friction >= 0)
      {
        read_slip(from, view, friction, modes.friction[static_cast<std::size_t>(friction)]);
      }
      continue;
    }
    const bool rests = cone_.motion(from.normal) <= tolerance::kConeRest * cone_.size(from.normal);
    modes.unload(
      *model_.set, owner,
      model_.set->is_compliant(owner) ? NormalMode::kSeparating
      : rests                         ? NormalMode::kIdle
                                      : NormalMode::kOpen);
  }
}

Status ConeModes::choose(
  const Question & question, const ControlledDynamics & dynamics, ContactModes & modes) noexcept
{
  const ContactView view(model_, modes, dynamics.workspace());
  const Status begun = begin(view, dynamics.inputs(), &question.candidate);
  if (begun != Status::kOk)
  {
    return begun;
  }
  const int count = add_candidates(question, view);
  if (solve(count, view) == Status::kNoUniqueSolution)
  {
    return Status::kNoUniqueSolution;
  }
  read(count, view, modes);
  chosen_ = modes;
  read_forces(count, chosen_);
  return Status::kOk;
}

bool ConeModes::can_hold(const ContactModes & modes, const ControlledDynamics & dynamics) noexcept
{
  const ContactView view(model_, modes, dynamics.workspace());
  for (int i = 0; i < model_.contact_count(); ++i)
  {
    const int friction = model_.set->friction_of(i);
    const bool slides = friction >= 0 && view.friction(friction).slip == SlipMode::kSlide;
    held_[static_cast<std::size_t>(i)] = view.normal(i) == NormalMode::kClosed && !slides;
  }
  if (begin(view, dynamics.inputs(), &held_) != Status::kOk)
  {
    return false;
  }
  held_count_ = add_candidates({held_, none_}, view);
  if (cone_.solve(contacts_.data(), held_count_) != Status::kOk)
  {
    return false;
  }
  for (int row = 0; row < cone_.row_count(); ++row)
  {
    if (!(std::abs(cone_.motion(row)) <= tolerance::kHeld * cone_.size(row)))
    {
      return false;
    }
  }
  return true;
}

bool ConeModes::holds(const ContactModes & modes, const ControlledDynamics & dynamics) noexcept
{
  const Holding holding = forces_hold(ContactView(model_, modes, dynamics.workspace()));
  return holding == Holding::kYes || (holding == Holding::kIfShared && can_hold(modes, dynamics));
}

/// Shares of the cone problem.
void ConeModes::read_forces(int count, ContactModes & modes) const noexcept
{
  for (int i = 0; i < count; ++i)
  {
    const ConeContact & from = contacts_[static_cast<std::size_t>(i)];
    const int owner = owner_[static_cast<std::size_t>(i)];
    if (owner >= 0)
    {
      modes.load[static_cast<std::size_t>(owner)] = cone_.force(from.normal);
    }
    const int friction = owner < 0 ? -1 - owner : model_.set->friction_of(owner);
    for (int r = 0; friction >= 0 && r < from.tangent_count; ++r)
    {
      modes.friction[static_cast<std::size_t>(friction)].hold[r] = cone_.force(from.tangent[r]);
    }
  }
}

Status ConeModes::share_within_bounds(
  const ContactModes & modes, ContactForces & forces, ControlledDynamics & dynamics) noexcept
{
  const ContactView view(model_, modes, dynamics.workspace());
  if (forces_hold(view) != Holding::kIfShared || !can_hold(modes, dynamics))
  {
    return Status::kOk;
  }
  shared_ = modes;
  for (int i = 0; i < model_.contact_count(); ++i)
  {
    shared_.load[static_cast<std::size_t>(i)] = view.normal_force(i);
  }
  read_forces(held_count_, shared_);
  return forces.solve_shared(shared_, dynamics);
}

Status ConeModes::choose_by_split(
  ContactForces & forces, ControlledDynamics & dynamics, ContactModes & modes) noexcept
{
  kept_ = modes.friction;
  const ContactView view(model_, modes, dynamics.workspace());
  for (int k = 0; k < bound::kSplits; ++k)
  {
    if (begin(view, dynamics.inputs(), nullptr) != Status::kOk)
    {
      break;
    }
    int count = 0;
    for (int i = 0; i < model_.friction_count(); ++i)
    {
      const DryFriction & law = model_.friction(i);
      const bool begins = view.begins_to_slide(i);
      if (begins || view.friction(i).slip == SlipMode::kStick)
      {
        ConeContact & to = add_contact(-1 - i, count);
        to.friction = view.static_bound(i) * (begins ? law.kinetic / law.stiction : 1.0);
        add_tangents(i, dynamics.workspace(), to);
      }
    }
    if (solve(count, view) != Status::kOk)
    {
      break;
    }
    read(count, view, modes);
    modes.enforce(*model_.set, dynamics.workspace());
    const Status status = forces.solve(modes, dynamics);
    if (!has_output(status))
    {
      break;
    }
    if (holds(modes, dynamics) && slips_follow(view))
    {
      return status;
    }
  }
  modes.friction = kept_;
  modes.enforce(*model_.set, dynamics.workspace());
  return forces.solve(modes, dynamics);
}

// ---- places
// ------------------------------------------------------------------------------

/// The least displacement δᵀQδ that keeps gaps from being negative, φ + A δ = 0 on the rows that
/// are not contacts: contacts that it leaves open are surplus.
int ConeModes::surplus(const ContactModes & modes, ControlledDynamics & dynamics) noexcept
{
  const Workspace & workspace = dynamics.workspace();
  const Rows & rows = workspace.rows();
  const ConstraintSet & set = model_.dynamics.constraints();
  force_.setZero();
  if (
    dynamics.update_terms() != Status::kOk ||
    cone_.begin(workspace.terms().mass_matrix, zero_speeds_, force_) != Status::kOk)
  {
    return -1;
  }
  const auto is_candidate = [&](int i)
  {
    return modes.normal[static_cast<std::size_t>(i)] == NormalMode::kClosed &&
           !model_.contact(i).adhesive && !model_.set->is_compliant(i);
  };
  for (int row = 0; row < set.row_count(); ++row)
  {
    const int constraint = set.constraint_of_row(row);
    bool is_contact = false;
    for (int i = 0; i < model_.contact_count(); ++i)
    {
      is_contact = is_contact || (model_.contact(i).constraint == constraint && is_candidate(i));
    }
    if (workspace.is_active(constraint) && !is_contact && set.row(row).level == RowLevel::kPosition)
    {
      row_ = rows.jacobian.row(row).transpose();
      cone_.add_equality(row_, -rows.position(row), 1.0 / workspace.row_scale()(row));
    }
  }
  int count = 0;
  for (int i = 0; i < model_.contact_count(); ++i)
  {
    if (is_candidate(i))
    {
      const double side = model_.contact(i).side;
      const int row = model_.row_of_contact(i);
      row_ = -side * rows.jacobian.row(row).transpose();
      const double size = 1.0 / workspace.row_scale()(row);
      add_contact(i, count).normal = cone_.add_row(row_, side * rows.position(row), size);
    }
  }
  if (cone_.solve(contacts_.data(), count) != Status::kOk)
  {
    return -1;
  }
  int widest = -1;
  double width = tolerance::kTouch;
  for (int i = 0; i < count; ++i)
  {
    const double left = cone_.motion(contacts_[static_cast<std::size_t>(i)].normal);
    if (left > width)
    {
      width = left;
      widest = owner_[static_cast<std::size_t>(i)];
    }
  }
  return widest;
}

}  // namespace constrained_dynamics
