// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Modes of contacts where forces decide, the cone problem of accelerations; and where places do.
#include <cmath>

#include "contact/contact_runtime.hpp"

namespace constrained_dynamics
{

namespace
{

// Splits of redundant loads over the contacts that are tried until slip begins along its direction.
constexpr int kMostSplits = 30;
// … which is when the cosine between the two has come to this.
constexpr double kAligned = 0.999;

}  // namespace

/// Forces that are known and rows that are met whatever the contacts do. With a split the normal
/// forces are those of the last solve, and only friction that sticks or begins to slide is asked
/// for; without it all forces of candidates are.
Status ContactRuntime::begin_cones(
  const ContactHost & host, const Workspace & workspace, bool with_split) noexcept
{
  const Terms terms = workspace.terms();
  const Rows & rows = workspace.rows();
  force_ = terms.force;
  force_.noalias() += terms.input_matrix * host.input_values();
  for (std::size_t i = 0; i < normal_.size(); ++i)
  {
    if (normal_[i] == Normal::kForce)
    {
      const int row = row_of_contact(static_cast<int>(i));
      force_ += workspace.given_multipliers()(row) * rows.jacobian.row(row).transpose();
    }
  }
  for (std::size_t i = 0; i < friction_.size(); ++i)
  {
    const int k = static_cast<int>(i);
    const int contact = set_->frictions()[i].contact;
    const bool is_given = with_split
                            ? !begins_to_slide(k, workspace)
                            : contact < 0 || candidate_[static_cast<std::size_t>(contact)] == 0;
    const bool is_known =
      friction_[i].slip == Slip::kDahl || (friction_[i].slip == Slip::kSlide && is_given);
    for (int r = 0; is_known && r < row_count(k); ++r)
    {
      const int row = row_of_friction(k) + r;
      force_ += workspace.given_multipliers()(row) * rows.jacobian.row(row).transpose();
    }
  }
  const Status begun = cone_.begin(terms.mass_matrix, zero_speeds_, force_);
  if (begun != Status::kOk)
  {
    return begun;
  }
  for (int i = 0; i < dynamics_->constraints().size(); ++i)
  {
    for (int r = 0;
         workspace.is_active(i) && !set_->manages(i) && r < dynamics_->constraints()[i].row_count();
         ++r)
    {
      const int row = dynamics_->constraints().row_offset(i) + r;
      row_buffer_ = rows.jacobian.row(row).transpose();
      cone_.add_equality(row_buffer_, rows.bias(row));
    }
  }
  for (std::size_t i = 0; i < normal_.size(); ++i)
  {
    if (normal_[i] == Normal::kClosed && (with_split || set_->contacts()[i].adhesive))
    {
      const int row = row_of_contact(static_cast<int>(i));
      row_buffer_ = rows.jacobian.row(row).transpose();
      cone_.add_equality(row_buffer_, rows.bias(row));
    }
  }
  return Status::kOk;
}

void ContactRuntime::add_tangents(
  int friction, const Workspace & workspace, ConeContact & to) noexcept
{
  const Rows & rows = workspace.rows();
  to.tangent_count = row_count(friction);
  for (int r = 0; r < to.tangent_count; ++r)
  {
    const int row = row_of_friction(friction) + r;
    row_buffer_ = rows.jacobian.row(row).transpose();
    to.tangent[r] = cone_.add_row(row_buffer_, rows.bias(row));
  }
}

Status ContactRuntime::solve_cones(int count, const Workspace & workspace) noexcept
{
  const Status status = cone_.solve(cone_contacts_.data(), count);
  // What slides does so with the kinetic coefficient, which also changes its direction.
  bool changed = false;
  for (int i = 0; i < count && status != Status::kNoUniqueSolution; ++i)
  {
    ConeContact & contact = cone_contacts_[static_cast<std::size_t>(i)];
    const int owner = cone_owner_[static_cast<std::size_t>(i)];
    const int friction = owner < 0 ? -1 - owner : set_->friction_of(owner);
    if (contact.sliding || contact.tangent_count == 0 || !is_at_rim(contact))
    {
      continue;
    }
    const DryFriction & law = set_->frictions()[static_cast<std::size_t>(friction)];
    const double kinetic =
      owner < 0 ? static_bound(friction, workspace) * (law.kinetic / law.stiction) : law.kinetic;
    changed = changed || kinetic != contact.friction;
    contact.friction = kinetic;
  }
  return changed ? cone_.solve(cone_contacts_.data(), count) : status;
}

/// Modes by the cone problem of accelerations and forces over all candidates.
Status ContactRuntime::choose_by_cones(const ContactHost & host, Workspace & workspace) noexcept
{
  const Rows & rows = workspace.rows();
  const Status begun = begin_cones(host, workspace, false);
  if (begun != Status::kOk)
  {
    return begun;
  }
  int count = 0;
  const auto add_friction = [&](int friction, ConeContact & to)
  {
    const FrictionState & state = friction_[static_cast<std::size_t>(friction)];
    const DryFriction & law = set_->frictions()[static_cast<std::size_t>(friction)];
    to.sliding = state.slip == Slip::kSlide;
    const bool moves = to.sliding || gives_way_[static_cast<std::size_t>(friction)] != 0;
    to.friction = moves ? law.kinetic : law.stiction;
    if (to.sliding)
    {
      slide_direction(friction, workspace, to.direction);
    }
    if (to.friction > 0.0)
    {
      add_tangents(friction, workspace, to);
    }
  };
  for (std::size_t i = 0; i < normal_.size(); ++i)
  {
    if (candidate_[i] == 0)
    {
      continue;
    }
    const int contact = static_cast<int>(i);
    const double side = set_->contacts()[i].side;
    const int row = row_of_contact(contact);
    if (set_->contacts()[i].adhesive)
    {
      continue;
    }
    ConeContact & to = cone_contacts_[static_cast<std::size_t>(count)];
    to = ConeContact{};
    row_buffer_ = -side * rows.jacobian.row(row).transpose();
    to.normal = cone_.add_row(row_buffer_, -side * rows.bias(row));
    const int friction = set_->friction_of(contact);
    if (friction >= 0)
    {
      add_friction(friction, to);
    }
    cone_owner_[static_cast<std::size_t>(count++)] = contact;
  }
  for (std::size_t i = 0; i < friction_.size(); ++i)
  {
    // Where the normal force is not one of the unknowns its bound is that of the moment.
    const int contact = set_->frictions()[i].contact;
    const bool is_bounded = contact < 0 ||
                            normal_[static_cast<std::size_t>(contact)] == Normal::kForce ||
                            (normal_[static_cast<std::size_t>(contact)] == Normal::kClosed &&
                             set_->contacts()[static_cast<std::size_t>(contact)].adhesive);
    if (is_bounded && friction_[i].slip == Slip::kStick)
    {
      ConeContact & to = cone_contacts_[static_cast<std::size_t>(count)];
      to = ConeContact{};
      add_friction(static_cast<int>(i), to);
      to.friction = static_bound(static_cast<int>(i), workspace);
      cone_owner_[static_cast<std::size_t>(count++)] = -1 - static_cast<int>(i);
    }
  }
  const Status status = solve_cones(count, workspace);
  if (status == Status::kNoUniqueSolution)
  {
    return status;
  }
  read_cones(count);
  return Status::kOk;
}

/// Whether it slides without having come anywhere yet: its direction is that of a decision.
bool ContactRuntime::begins_to_slide(int friction, const Workspace & workspace) const noexcept
{
  const FrictionState & state = friction_[static_cast<std::size_t>(friction)];
  return state.slip == Slip::kSlide && !state.armed && is_dry(friction) &&
         slip_speed(friction, workspace) <= creep_speed(friction);
}

/// Whether what begins to slide is accelerated along its direction. @pre solve.
bool ContactRuntime::slips_follow(const Workspace & workspace) const noexcept
{
  const Rows & rows = workspace.rows();
  const Eigen::VectorXd & acceleration = workspace.solution().acceleration;
  for (std::size_t i = 0; i < friction_.size(); ++i)
  {
    const int k = static_cast<int>(i);
    double along = 0.0;
    double length = 0.0;
    double size = 0.0;
    for (int r = 0; begins_to_slide(k, workspace) && r < row_count(k); ++r)
    {
      const int row = row_of_friction(k) + r;
      const double slip = rows.jacobian.row(row).dot(acceleration) - rows.bias(row);
      along += friction_[i].direction[r] * slip;
      length = std::hypot(length, slip);
      size += rows.jacobian.row(row).norm() * acceleration.norm() + std::abs(rows.bias(row));
    }
    if (along < kAligned * length - kForceRounding * size)
    {
      return false;
    }
  }
  return true;
}

/// Contacts that share a load redundantly split it in one way in the cone problem and in another
/// with their rows, and the direction in which slip begins depends on the split: what the first
/// sends one way the second may send back, at once and for ever. Slip then begins, or does not, by
/// the normal forces of the rows, in a problem of friction alone, which in turn change with it.
/// Where that does not settle the modes remain as they were. @pre solve.
Status ContactRuntime::choose_by_split(const ContactHost & host, Workspace & workspace) noexcept
{
  cone_friction_ = friction_;
  for (int k = 0; k < kMostSplits; ++k)
  {
    if (begin_cones(host, workspace, true) != Status::kOk)
    {
      break;
    }
    int count = 0;
    for (std::size_t i = 0; i < friction_.size(); ++i)
    {
      const int friction = static_cast<int>(i);
      const DryFriction & law = set_->frictions()[i];
      const bool begins = begins_to_slide(friction, workspace);
      if (begins || friction_[i].slip == Slip::kStick)
      {
        ConeContact & to = cone_contacts_[static_cast<std::size_t>(count)];
        to = ConeContact{};
        to.friction =
          static_bound(friction, workspace) * (begins ? law.kinetic / law.stiction : 1.0);
        add_tangents(friction, workspace, to);
        cone_owner_[static_cast<std::size_t>(count++)] = -1 - friction;
      }
    }
    if (solve_cones(count, workspace) != Status::kOk)
    {
      break;
    }
    read_cones(count);
    switch_rows(workspace);
    const Status status = solve(host.input_values(), workspace);
    if (!has_output(status))
    {
      break;
    }
    if (holds(workspace) && slips_follow(workspace))
    {
      return status;
    }
  }
  friction_ = cone_friction_;
  switch_rows(workspace);
  return solve(host.input_values(), workspace);
}

/// Whether friction is at its bound.
bool ContactRuntime::is_at_rim(const ConeContact & contact) const noexcept
{
  double length = 0.0;
  for (int r = 0; r < contact.tangent_count; ++r)
  {
    length = std::hypot(length, cone_.force(contact.tangent[r]));
  }
  const double bound =
    contact.normal >= 0 ? contact.friction * cone_.force(contact.normal) : contact.friction;
  return length >= bound * (1.0 - 1e-9) && length > 0.0;
}

void ContactRuntime::read_cones(int count) noexcept
{
  const auto read_slip = [&](int friction, const ConeContact & from)
  {
    FrictionState & state = friction_[static_cast<std::size_t>(friction)];
    if (from.sliding || from.tangent_count == 0)
    {
      return;
    }
    double length = 0.0;
    double motion = 0.0;
    for (int r = 0; r < from.tangent_count; ++r)
    {
      length = std::hypot(length, cone_.force(from.tangent[r]));
      motion = std::hypot(motion, cone_.motion(from.tangent[r]));
    }
    state.slip = Slip::kStick;
    if (from.normal < 0 && !(from.friction > 0.0))
    {
      // A force law that does not press at the moment: free to slide, the way it begins to.
      state.slip = Slip::kSlide;
      state.armed = false;
      for (int r = 0; motion > 0.0 && r < from.tangent_count; ++r)
      {
        state.direction[r] = cone_.motion(from.tangent[r]) / motion;
      }
      return;
    }
    if (is_at_rim(from))
    {
      state.slip = Slip::kSlide;
      state.armed = false;
      for (int r = 0; r < from.tangent_count; ++r)
      {
        state.direction[r] = -cone_.force(from.tangent[r]) / length;
      }
    }
  };
  for (int i = 0; i < count; ++i)
  {
    const ConeContact & from = cone_contacts_[static_cast<std::size_t>(i)];
    const int owner = cone_owner_[static_cast<std::size_t>(i)];
    if (owner < 0)
    {
      read_slip(-1 - owner, from);
      continue;
    }
    const std::size_t contact = static_cast<std::size_t>(owner);
    const double x = cone_.force(from.normal);
    const double w = cone_.motion(from.normal);
    const int friction = set_->friction_of(owner);
    if (x > 0.0)
    {
      normal_[contact] = Normal::kClosed;
      if (friction >= 0)
      {
        read_slip(friction, from);
      }
      continue;
    }
    const bool rests = w <= 1e-10 * cone_.size(from.normal);
    normal_[contact] = set_->is_compliant(owner) ? Normal::kSeparating
                       : rests                   ? Normal::kIdle
                                                 : Normal::kOpen;
    if (friction >= 0)
    {
      friction_[static_cast<std::size_t>(friction)].slip = Slip::kNone;
    }
  }
}

/// The least displacement δᵀQδ that keeps gaps from being negative, φ + A δ = 0 on the rows that
/// are not contacts: what it leaves open is surplus.
int ContactRuntime::open_surplus(Workspace & workspace) noexcept CD_NONBLOCKING
{
  const Rows & rows = workspace.rows();
  const ConstraintSet & set = dynamics_->constraints();
  force_.setZero();
  if (
    dynamics_->evaluate_terms(workspace) != Status::kOk ||
    cone_.begin(workspace.terms().mass_matrix, zero_speeds_, force_) != Status::kOk)
  {
    return -1;
  }
  const auto is_surplus_candidate = [&](std::size_t i)
  {
    return normal_[i] == Normal::kClosed && !set_->contacts()[i].adhesive &&
           !set_->is_compliant(static_cast<int>(i));
  };
  for (int row = 0; row < set.row_count(); ++row)
  {
    const int constraint = set.constraint_of_row(row);
    bool is_contact = false;
    for (std::size_t i = 0; i < normal_.size(); ++i)
    {
      is_contact =
        is_contact || (set_->contacts()[i].constraint == constraint && is_surplus_candidate(i));
    }
    if (workspace.is_active(constraint) && !is_contact && set.row(row).level == RowLevel::kPosition)
    {
      row_buffer_ = rows.jacobian.row(row).transpose();
      cone_.add_equality(row_buffer_, -rows.position(row));
    }
  }
  int count = 0;
  for (std::size_t i = 0; i < normal_.size(); ++i)
  {
    if (is_surplus_candidate(i))
    {
      const int contact = static_cast<int>(i);
      const double side = set_->contacts()[i].side;
      ConeContact & to = cone_contacts_[static_cast<std::size_t>(count)];
      to = ConeContact{};
      row_buffer_ = -side * rows.jacobian.row(row_of_contact(contact)).transpose();
      to.normal = cone_.add_row(row_buffer_, side * rows.position(row_of_contact(contact)));
      cone_owner_[static_cast<std::size_t>(count++)] = contact;
    }
  }
  if (cone_.solve(cone_contacts_.data(), count) != Status::kOk)
  {
    return -1;
  }
  int widest = -1;
  double width = kTouch;
  for (int i = 0; i < count; ++i)
  {
    const double left = cone_.motion(cone_contacts_[static_cast<std::size_t>(i)].normal);
    if (left > width)
    {
      width = left;
      widest = cone_owner_[static_cast<std::size_t>(i)];
    }
  }
  if (widest >= 0)
  {
    normal_[static_cast<std::size_t>(widest)] = Normal::kOpen;
    const int friction = set_->friction_of(widest);
    if (friction >= 0)
    {
      friction_[static_cast<std::size_t>(friction)].slip = Slip::kNone;
    }
    switch_rows(workspace);
  }
  return widest;
}

}  // namespace constrained_dynamics
