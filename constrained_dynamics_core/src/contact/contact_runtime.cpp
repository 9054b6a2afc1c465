// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "contact/contact_runtime.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "contact/small_solve.hpp"

namespace constrained_dynamics
{

ContactRuntime::ContactRuntime(
  const Dynamics & dynamics, std::shared_ptr<const ContactSet> contacts)
: dynamics_(&dynamics),
  set_(std::move(contacts)),
  normal_(set_->contacts().size(), Normal::kOpen),
  old_normal_(normal_),
  friction_(set_->frictions().size()),
  old_friction_(friction_),
  fired_(normal_.size() + friction_.size(), 0),
  touching_(normal_.size(), 0),
  candidate_(normal_.size(), 0),
  gives_way_(friction_.size(), 0),
  gave_way_(friction_.size(), -1e300),
  law_force_(normal_.size(), 0.0),
  impacts_in_a_row_(normal_.size(), 0),
  last_impact_(normal_.size(), -1e300),
  let_go_(normal_.size(), -1e300),
  cone_(
    dynamics.system().speed_count(), static_cast<int>(normal_.size() + 2 * friction_.size()) + 1),
  cone_contacts_(normal_.size() + friction_.size()),
  cone_owner_(cone_contacts_.size(), 0),
  cone_friction_(friction_),
  impact_solver_(dynamics, normal_.size()),
  impact_(dynamics),
  impact_solution_(dynamics, normal_.size())
{
  const auto k = static_cast<Eigen::Index>(friction_.size());
  const Eigen::Index n = dynamics.system().speed_count();
  sliding_.reserve(friction_.size());
  base_normals_.setZero(k);
  unknown_normals_.setZero(k);
  sliding_matrix_.setZero(k, k);
  row_buffer_.setZero(n);
  force_.setZero(n);
  zero_speeds_.setZero(n);
  speeds_before_.setZero(dynamics.constraints().row_count());
  single_change_.impulse.setZero(n);
  start_.q.setZero(dynamics.system().coordinate_count());
  start_.u.setZero(n);
  ahead_ = start_;
  values_.now.assign(fired_.size(), 0.0);
  values_.low = values_.now;
  values_.high = values_.now;
  held_.assign(2 * friction_.size(), 0.0);
  planar_.reserve(friction_.size());
  for (std::size_t i = 0; i < normal_.size(); ++i)
  {
    const Contact & contact = set_->contacts()[i];
    const int friction = set_->friction_of(static_cast<int>(i));
    ImpactContact impact;
    impact.constraint = contact.constraint;
    impact.side = contact.side;
    if (friction >= 0)
    {
      impact.friction_constraint = set_->frictions()[static_cast<std::size_t>(friction)].constraint;
      impact.friction = set_->frictions()[static_cast<std::size_t>(friction)].kinetic;
    }
    impact_.contacts.push_back(impact);
  }
}

// ---- numbers of one contact or friction
// ------------------------------------------------------------------------------

int ContactRuntime::row_of_contact(int contact) const noexcept
{
  return dynamics_->constraints().row_offset(
    set_->contacts()[static_cast<std::size_t>(contact)].constraint);
}

int ContactRuntime::row_of_friction(int friction) const noexcept
{
  return dynamics_->constraints().row_offset(
    set_->frictions()[static_cast<std::size_t>(friction)].constraint);
}

int ContactRuntime::row_count(int friction) const noexcept
{
  return dynamics_->constraints()[set_->frictions()[static_cast<std::size_t>(friction)].constraint]
    .row_count();
}

/// What is left until the contact acts: δφ − side · φ.
double ContactRuntime::gap(int i, const Workspace & workspace) const noexcept
{
  const Contact & contact = set_->contacts()[static_cast<std::size_t>(i)];
  return contact.tolerance - contact.side * workspace.rows().position(row_of_contact(i));
}

double ContactRuntime::gap_rate(int i, const Workspace & workspace) const noexcept
{
  const Contact & contact = set_->contacts()[static_cast<std::size_t>(i)];
  return -contact.side * workspace.rows().velocity(row_of_contact(i));
}

/// How much faster than its row the contact separates: −side (a u̇ − b).
double ContactRuntime::gap_acceleration(int i, const Workspace & workspace) const noexcept
{
  const Contact & contact = set_->contacts()[static_cast<std::size_t>(i)];
  const int row = row_of_contact(i);
  return -contact.side *
         (workspace.rows().jacobian.row(row).dot(workspace.solution().acceleration) -
          workspace.rows().bias(row));
}

double ContactRuntime::normal_force(int i, const Workspace & workspace) const noexcept
{
  const Contact & contact = set_->contacts()[static_cast<std::size_t>(i)];
  return -contact.side * workspace.solution().multipliers(row_of_contact(i));
}

double ContactRuntime::slip_speed(int i, const Workspace & workspace) const noexcept
{
  return workspace.rows().velocity.segment(row_of_friction(i), row_count(i)).norm();
}

double ContactRuntime::tangent_force(int i, const Workspace & workspace) const noexcept
{
  return workspace.solution().multipliers.segment(row_of_friction(i), row_count(i)).norm();
}

double ContactRuntime::static_bound(int i, const Workspace & workspace) const noexcept
{
  const DryFriction & friction = set_->frictions()[static_cast<std::size_t>(i)];
  // What pulls (an adhesive contact) holds nothing.
  return friction.contact < 0
           ? friction.stiction
           : friction.stiction * std::max(0.0, normal_force(friction.contact, workspace));
}

/// Whether there is a bound below which it can stick.
bool ContactRuntime::is_dry(int i) const noexcept
{
  return set_->frictions()[static_cast<std::size_t>(i)].stiction > 0.0;
}

double ContactRuntime::creep_speed(int i) const noexcept
{
  return std::max(set_->frictions()[static_cast<std::size_t>(i)].creep_speed, least_creep_);
}

/// Against the slip, ψ/|ψ|, and where there is next to none the way it begins: s ∥ ψ + v s_0, with
/// v the creep speed.
void ContactRuntime::slide_direction(int i, const Workspace & workspace, double * s) const noexcept
{
  const FrictionState & state = friction_[static_cast<std::size_t>(i)];
  s[0] = state.direction[0];
  s[1] = state.direction[1];
  if (row_count(i) == 1)
  {
    return;  // held within a phase, so that the motion is smooth beyond the end of the slip
  }
  if (is_held_)
  {
    const double turn = turned_ == i ? turned_by_ : 0.0;
    const double * held = held_.data() + 2 * i;
    s[0] = std::cos(turn) * held[0] - std::sin(turn) * held[1];
    s[1] = std::sin(turn) * held[0] + std::cos(turn) * held[1];
    return;
  }
  double v[2];
  turning_slip(i, workspace, v);
  const double length = std::hypot(v[0], v[1]);
  if (v[0] * s[0] + v[1] * s[1] > 0.0)
  {
    s[0] = v[0] / length;
    s[1] = v[1] / length;
  }
}

void ContactRuntime::turning_slip(int i, const Workspace & workspace, double * v) const noexcept
{
  for (int r = 0; r < 2; ++r)
  {
    v[r] = workspace.rows().velocity(row_of_friction(i) + r) +
           creep_speed(i) * friction_[static_cast<std::size_t>(i)].direction[r];
  }
}

double ContactRuntime::slip_along_direction(int i, const Workspace & workspace) const noexcept
{
  double along = 0.0;
  for (int r = 0; r < row_count(i); ++r)
  {
    along += friction_[static_cast<std::size_t>(i)].direction[r] *
             workspace.rows().velocity(row_of_friction(i) + r);
  }
  return along;
}

double ContactRuntime::turning_speed(int i, const Workspace & workspace) const noexcept
{
  double v[2];
  turning_slip(i, workspace, v);
  return std::hypot(v[0], v[1]);
}

const std::vector<int> & ContactRuntime::planar_slides() noexcept CD_NONBLOCKING
{
  planar_.clear();
  for (std::size_t i = 0; i < friction_.size(); ++i)
  {
    const int k = static_cast<int>(i);
    if (
      friction_[i].slip == Slip::kSlide && row_count(k) == 2 && set_->frictions()[i].kinetic > 0.0)
    {
      planar_.push_back(k);
    }
  }
  return planar_;
}

void ContactRuntime::hold_directions(const Workspace & workspace) noexcept
{
  is_held_ = false;
  for (const int i : planar_slides())
  {
    slide_direction(i, workspace, held_.data() + 2 * i);
  }
  is_held_ = true;
  turned_ = -1;
}

double ContactRuntime::slip_along(
  int i, const double * s, const Workspace & workspace) const noexcept
{
  const int row = row_of_friction(i);
  return s[0] * workspace.rows().velocity(row) + s[1] * workspace.rows().velocity(row + 1);
}

double ContactRuntime::slip_change_along(
  int i, const double * s, const Eigen::VectorXd & acceleration,
  const Workspace & workspace) const noexcept
{
  const int row = row_of_friction(i);
  return s[0] * workspace.rows().jacobian.row(row).dot(acceleration) +
         s[1] * workspace.rows().jacobian.row(row + 1).dot(acceleration);
}

double ContactRuntime::kinetic_bound(int i, const Workspace & workspace) const noexcept
{
  const DryFriction & friction = set_->frictions()[static_cast<std::size_t>(i)];
  if (friction.contact < 0)
  {
    return friction.kinetic;
  }
  const auto contact = static_cast<std::size_t>(friction.contact);
  const double force = normal_[contact] == Normal::kForce
                         ? law_force_[contact]
                         : std::max(0.0, normal_force(friction.contact, workspace));
  return friction.kinetic * force;
}

void ContactRuntime::set_turning(int i, double change, const Workspace & workspace) noexcept
{
  const double bound = kinetic_bound(i, workspace);
  friction_[static_cast<std::size_t>(i)].turning =
    bound > 0.0 ? std::max(0.0, change) / bound : 0.0;
}

double ContactRuntime::turning_rate(const Workspace & workspace) noexcept
{
  double rate = 0.0;
  for (const int i : planar_slides())
  {
    rate = std::max(
      rate, friction_[static_cast<std::size_t>(i)].turning * kinetic_bound(i, workspace) /
              turning_speed(i, workspace));
  }
  return rate;
}

/// Dahl's force for a motion in one direction since the place that is remembered.
double ContactRuntime::dahl_force(int i, const Workspace & workspace) const noexcept
{
  const DryFriction & friction = set_->frictions()[static_cast<std::size_t>(i)];
  const FrictionState & state = friction_[static_cast<std::size_t>(i)];
  const double moved = workspace.terms().coordinates(friction.coordinate) - state.dahl_place;
  const double end = -friction.kinetic * state.direction[0];
  const double decay = friction.dahl_stiffness * state.direction[0] * moved / friction.kinetic;
  // Trial stages may lie far behind the turning point: there the law goes on along its tangent.
  const double left = decay > -1.0 ? std::exp(-decay) : -decay * std::exp(1.0);
  return end + (state.dahl_force - end) * left;
}

/// The multipliers of a friction that does not stick, for a bound of its dry part.
void ContactRuntime::add_given(int i, double bound, Workspace & workspace) const noexcept
{
  const DryFriction & friction = set_->frictions()[static_cast<std::size_t>(i)];
  const int row = row_of_friction(i);
  double s[2];
  slide_direction(i, workspace, s);
  for (int k = 0; k < row_count(i); ++k)
  {
    workspace.given_multipliers()(row + k) =
      -bound * s[k] - friction.viscous * workspace.rows().velocity(row + k);
  }
}

bool ContactRuntime::has_law_forces() const noexcept
{
  return std::any_of(
           normal_.begin(), normal_.end(), [](Normal mode) { return mode == Normal::kForce; }) ||
         std::any_of(
           friction_.begin(), friction_.end(),
           [](const FrictionState & state)
           { return state.slip == Slip::kSlide || state.slip == Slip::kDahl; });
}

// ---- the motion of a phase
// ------------------------------------------------------------------------------

Status ContactRuntime::solve(const ConstVectorRef & inputs, Workspace & workspace) noexcept
  CD_NONBLOCKING
{
  Eigen::VectorXd & given = workspace.given_multipliers();
  for (std::size_t i = 0; i < normal_.size(); ++i)
  {
    const int contact = static_cast<int>(i);
    const Contact & law = set_->contacts()[i];
    law_force_[i] = 0.0;
    if (normal_[i] == Normal::kForce)
    {
      const double depth = std::max(0.0, -gap(contact, workspace));
      const double elastic = law.stiffness * std::pow(depth, law.exponent);
      const double damped =
        depth > 0.0 || law.damping_exponent > 0.0
          ? -law.damping * std::pow(depth, law.damping_exponent) * gap_rate(contact, workspace)
          : 0.0;
      law_force_[i] = std::max(0.0, elastic + damped);
    }
    given(row_of_contact(contact)) = -law.side * law_force_[i];
  }
  sliding_.clear();
  for (std::size_t i = 0; i < friction_.size(); ++i)
  {
    const int k = static_cast<int>(i);
    const DryFriction & friction = set_->frictions()[i];
    given.segment(row_of_friction(k), row_count(k)).setZero();
    if (friction_[i].slip == Slip::kDahl)
    {
      given(row_of_friction(k)) =
        dahl_force(k, workspace) - friction.viscous * workspace.rows().velocity(row_of_friction(k));
    }
    if (friction_[i].slip != Slip::kSlide)
    {
      continue;
    }
    has_turned_back_ = has_turned_back_ || (is_dry(k) && friction_[i].armed &&
                                            slip_along_direction(k, workspace) < -creep_speed(k));
    const Normal normal =
      friction.contact < 0 ? Normal::kForce : normal_[static_cast<std::size_t>(friction.contact)];
    if (normal == Normal::kClosed && friction.kinetic > 0.0)
    {
      sliding_.push_back(k);
    }
    add_given(
      k,
      friction.contact < 0 ? friction.kinetic
      : normal == Normal::kForce
        ? friction.kinetic * law_force_[static_cast<std::size_t>(friction.contact)]
        : 0.0,
      workspace);
  }
  // On rows and terms, which decisions look at.
  Status status = dynamics_->evaluate_terms(workspace);
  status = status == Status::kOk ? dynamics_->solve(inputs, workspace) : status;
  return sliding_.empty() || !has_output(status) ? status : solve_sliding(inputs, workspace);
}

/// Normal forces x = x0 + D x of sliding contacts: each unit of x brings its friction along.
Status ContactRuntime::solve_sliding(const ConstVectorRef & inputs, Workspace & workspace) noexcept
{
  const auto count = static_cast<Eigen::Index>(sliding_.size());
  const auto friction_at = [&](Eigen::Index i) { return sliding_[static_cast<std::size_t>(i)]; };
  const auto contact_at = [&](Eigen::Index i)
  { return set_->frictions()[static_cast<std::size_t>(friction_at(i))].contact; };
  // An adhesive contact that pulls does not rub.
  const auto coefficient = [&](Eigen::Index i)
  {
    const bool pulls =
      base_normals_(i) < 0.0 && set_->contacts()[static_cast<std::size_t>(contact_at(i))].adhesive;
    return pulls ? 0.0 : set_->frictions()[static_cast<std::size_t>(friction_at(i))].kinetic;
  };
  // Where contacts carry each other's load the split is a convention, and says nothing about
  // whether the motion is unique.
  bool is_redundant = false;
  for (Eigen::Index i = 0; i < count; ++i)
  {
    base_normals_(i) = normal_force(contact_at(i), workspace);
    is_redundant =
      is_redundant || workspace.solution().redundancy(row_of_contact(contact_at(i))) > kRedundant;
  }
  for (Eigen::Index j = 0; j < count; ++j)
  {
    const double unit = std::max(1.0, std::abs(base_normals_(j)));
    add_given(friction_at(j), coefficient(j) * unit, workspace);
    const Status status = dynamics_->solve(inputs, workspace);
    if (!has_output(status))
    {
      return status;
    }
    for (Eigen::Index i = 0; i < count; ++i)
    {
      const double change = (normal_force(contact_at(i), workspace) - base_normals_(i)) / unit;
      sliding_matrix_(i, j) = (i == j ? 1.0 : 0.0) - change;
    }
    add_given(friction_at(j), 0.0, workspace);
  }
  unknown_normals_.head(count) = base_normals_.head(count);
  // The determinant is 1 without friction; where it has changed its sign on the way to this
  // friction there is none or more than one motion (Painlevé: friction presses the bodies
  // together).
  const double determinant =
    solve_in_place(sliding_matrix_.topLeftCorner(count, count), unknown_normals_.head(count));
  if (is_redundant ? determinant == 0.0 : !(determinant > 1e-12))
  {
    return Status::kNoUniqueSolution;
  }
  for (Eigen::Index i = 0; i < count; ++i)
  {
    add_given(friction_at(i), coefficient(i) * unknown_normals_(i), workspace);
  }
  return dynamics_->solve(inputs, workspace);
}

// ---- events
// ------------------------------------------------------------------------------

double ContactRuntime::event_function(int i, const Workspace & workspace) const noexcept
  CD_NONBLOCKING
{
  const int contacts = static_cast<int>(normal_.size());
  if (i < contacts)
  {
    switch (normal_[static_cast<std::size_t>(i)])
    {
      case Normal::kOpen:
        return gap(i, workspace);
      case Normal::kClosed:
        if (set_->contacts()[static_cast<std::size_t>(i)].adhesive)
        {
          return -gap(i, workspace);
        }
        // A compliant row comes back to the edge, and its law ends there although it still pushes.
        return set_->is_compliant(i)
                 ? std::min(normal_force(i, workspace), kTouch - gap(i, workspace))
                 : normal_force(i, workspace);
      case Normal::kIdle:
        return gap(i, workspace) + kTouch;
      case Normal::kSeparating:
        return std::min(-gap(i, workspace), gap_acceleration(i, workspace));
      case Normal::kForce:
        return -gap(i, workspace);
    }
    return 0.0;
  }
  const int k = i - contacts;
  const FrictionState & state = friction_[static_cast<std::size_t>(k)];
  const double along = slip_along_direction(k, workspace);
  const double creep = creep_speed(k);
  switch (state.slip)
  {
    case Slip::kNone:
      return 1.0;
    case Slip::kStick:
      return static_bound(k, workspace) - tangent_force(k, workspace);
    case Slip::kDahl:
      return along + creep;
    case Slip::kSlide:
      return !is_dry(k) ? 1.0 : state.armed ? along - creep : along + creep;
  }
  return 0.0;
}

double ContactRuntime::event_tolerance(int i, const Workspace & workspace) const noexcept
  CD_NONBLOCKING
{
  const int contacts = static_cast<int>(normal_.size());
  const bool is_force = i < contacts
                          ? normal_[static_cast<std::size_t>(i)] == Normal::kClosed &&
                              !set_->contacts()[static_cast<std::size_t>(i)].adhesive
                          : friction_[static_cast<std::size_t>(i - contacts)].slip == Slip::kStick;
  // Where contacts touch without pressing all their forces are rounding of those that act.
  constexpr double kRounding = 1e-14;
  return is_force ? kForceRounding * workspace.solution().multipliers.cwiseAbs().maxCoeff() +
                      kRounding * workspace.terms().force.cwiseAbs().maxCoeff()
                  : 0.0;
}

bool ContactRuntime::fire(const Workspace & workspace, std::vector<double> & values) noexcept
  CD_NONBLOCKING
{
  bool any = false;
  const int contacts = static_cast<int>(normal_.size());
  for (int i = 0; i < event_count(); ++i)
  {
    const auto index = static_cast<std::size_t>(i);
    values[index] = event_function(i, workspace);
    fired_[index] = values[index] < -event_tolerance(i, workspace) &&
                    !(i < contacts && is_open(i) && !is_closing(i, workspace));
    any = any || fired_[index] != 0;
  }
  return any;
}

double ContactRuntime::hop(int contact, const Workspace & workspace) const noexcept CD_NONBLOCKING
{
  const double rate = gap_rate(contact, workspace);
  const double acceleration = gap_acceleration(contact, workspace);
  return rate > 0.0 && acceleration < 0.0 ? -rate / acceleration : 0.0;
}

void ContactRuntime::commit(const Workspace & workspace) noexcept CD_NONBLOCKING
{
  for (std::size_t i = 0; i < friction_.size(); ++i)
  {
    const int k = static_cast<int>(i);
    FrictionState & state = friction_[i];
    const DryFriction & friction = set_->frictions()[i];
    if (state.slip == Slip::kDahl)
    {
      state.dahl_force = dahl_force(k, workspace);
      state.dahl_place = workspace.terms().coordinates(friction.coordinate);
      continue;
    }
    if (state.slip != Slip::kSlide)
    {
      continue;
    }
    state.armed = state.armed || slip_along_direction(k, workspace) > 2.0 * creep_speed(k);
    if (state.armed && row_count(k) == 2)
    {
      double s[2];
      slide_direction(k, workspace, s);
      state.direction[0] = s[0];
      state.direction[1] = s[1];
    }
  }
}

}  // namespace constrained_dynamics
