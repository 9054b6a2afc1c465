// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <algorithm>
#include <cmath>

#include "contact/contact_runtime.hpp"

namespace constrained_dynamics
{

namespace
{

// Impacts of one contact that follow each other faster than this are chatter [s] …
constexpr double kChatterTime = 1e-10;
// … and after this many of them there is no restitution any more.
constexpr int kChatterImpacts = 8;
// How far ahead the motion is looked at where an instant is decided again [s]; four times as far
// each time, to the most.
constexpr double kFirstLook = 1e-9;
constexpr double kFarthestLook = 1e-4;
// Two-dimensional slip that turns by more than a right angle in a step has not ended.
constexpr double kEndOfSlip = 1e3;

}  // namespace

void ContactRuntime::reset(Workspace & workspace) noexcept CD_NONBLOCKING
{
  std::fill(normal_.begin(), normal_.end(), Normal::kOpen);
  for (std::size_t i = 0; i < friction_.size(); ++i)
  {
    friction_[i] = FrictionState{};
  }
  std::fill(fired_.begin(), fired_.end(), static_cast<char>(0));
  std::fill(impacts_in_a_row_.begin(), impacts_in_a_row_.end(), 0);
  std::fill(last_impact_.begin(), last_impact_.end(), -1e300);
  std::fill(let_go_.begin(), let_go_.end(), -1e300);
  last_decision_ = -1e300;
  std::fill(gave_way_.begin(), gave_way_.end(), -1e300);
  workspace.given_multipliers().setZero();
  switch_rows(workspace);
}

void ContactRuntime::switch_rows(Workspace & workspace) const noexcept CD_NONBLOCKING
{
  for (std::size_t i = 0; i < normal_.size(); ++i)
  {
    workspace.set_active(set_->contacts()[i].constraint, normal_[i] == Normal::kClosed);
  }
  for (std::size_t i = 0; i < friction_.size(); ++i)
  {
    workspace.set_active(set_->frictions()[i].constraint, friction_[i].slip == Slip::kStick);
  }
}

void ContactRuntime::withdraw_rows(Workspace & workspace) const noexcept CD_NONBLOCKING
{
  for (const Contact & contact : set_->contacts())
  {
    workspace.set_active(contact.constraint, false);
  }
  for (const DryFriction & friction : set_->frictions())
  {
    workspace.set_active(friction.constraint, false);
  }
}

bool ContactRuntime::add_sunk_rows(Workspace & workspace) const noexcept CD_NONBLOCKING
{
  bool any = false;
  for (std::size_t i = 0; i < normal_.size(); ++i)
  {
    const int contact = static_cast<int>(i);
    const bool is_sunk =
      normal_[i] != Normal::kClosed && is_rigid(contact) && gap(contact, workspace) < -kTouch;
    any = any || is_sunk;
    if (is_sunk)
    {
      workspace.set_active(set_->contacts()[i].constraint, true);
    }
  }
  return any;
}

bool ContactRuntime::has_rows() const noexcept CD_NONBLOCKING
{
  return std::find(normal_.begin(), normal_.end(), Normal::kClosed) != normal_.end() ||
         std::any_of(
           friction_.begin(), friction_.end(),
           [](const FrictionState & state) { return state.slip == Slip::kStick; });
}

/// ½ uᵀ Q u. @pre solve at the same q.
double ContactRuntime::kinetic_energy(
  const ConstVectorRef & u, const Workspace & workspace) const noexcept
{
  double sum = 0.0;
  for (Eigen::Index i = 0; i < u.size(); ++i)
  {
    sum += 0.5 * u(i) * workspace.terms().mass_matrix.row(i).dot(u);
  }
  return sum;
}

/// Roles of all constraints: what is in force stays so, contacts that touch are unilateral.
void ContactRuntime::begin_impact(const Workspace & workspace) noexcept
{
  impact_.impulse.setZero();
  impact_.restitution.setZero();
  for (int i = 0; i < dynamics_->constraints().size(); ++i)
  {
    const bool is_managed = set_->manages(i);
    impact_.roles[static_cast<std::size_t>(i)] =
      !is_managed && workspace.is_active(i) ? ImpactRole::kInForce : ImpactRole::kAbsent;
  }
  for (std::size_t i = 0; i < normal_.size(); ++i)
  {
    if (touching_[i] != 0)
    {
      impact_.roles[static_cast<std::size_t>(set_->contacts()[i].constraint)] =
        ImpactRole::kUnilateral;
    }
  }
}

/// Impact of the contacts that touch.
Status ContactRuntime::strike(
  double time, const ConstVectorRef & q, VectorRef u, Workspace & workspace,
  ContactHost & host) noexcept
{
  begin_impact(workspace);
  // Fixed steps cannot see bounces that last no longer than a few of them.
  unseen_ = 0.0;
  for (std::size_t i = 0; i < normal_.size(); ++i)
  {
    if (touching_[i] != 0)
    {
      unseen_ =
        std::max(unseen_, 4.0 * step_ * std::abs(gap_acceleration(static_cast<int>(i), workspace)));
    }
  }
  for (std::size_t i = 0; i < normal_.size(); ++i)
  {
    const Contact & contact = set_->contacts()[i];
    const double approach = -gap_rate(static_cast<int>(i), workspace);
    if (touching_[i] == 0 || !(approach > std::max(contact.rest_speed, unseen_)))
    {
      continue;
    }
    impacts_in_a_row_[i] = time - last_impact_[i] < kChatterTime ? impacts_in_a_row_[i] + 1 : 0;
    last_impact_[i] = time;
    if (impacts_in_a_row_[i] < kChatterImpacts)
    {
      impact_.restitution(contact.constraint) = contact.restitution;
    }
  }
  speeds_before_ = workspace.rows().velocity;
  const Status status = impact_solver_.solve(impact_, time, q, u, workspace, impact_solution_);
  if (!has_output(status))
  {
    return status;
  }
  u = impact_solution_.speeds;
  const Status updated = host.update(time, q, u);
  if (updated != Status::kOk)
  {
    return updated;
  }
  for (std::size_t i = 0; i < normal_.size(); ++i)
  {
    const int row = row_of_contact(static_cast<int>(i));
    const double impulse = std::abs(impact_solution_.multipliers(row));
    if (touching_[i] == 0 || !(impulse > 0.0))
    {
      continue;
    }
    ContactEvent event;
    event.time = time;
    event.kind = ContactEventKind::kImpact;
    event.constraint = set_->contacts()[i].constraint;
    event.impulse = impulse;
    const int friction = set_->friction_of(static_cast<int>(i));
    if (friction >= 0)
    {
      event.friction_impulse =
        impact_solution_.multipliers.segment(row_of_friction(friction), row_count(friction)).norm();
    }
    event.speed_before = speeds_before_(row);
    event.speed_after = workspace.rows().velocity(row);
    event.energy_change = impact_solution_.energy_change;
    event.restitution_scale = impact_solution_.restitution_scale;
    host.record(event);
  }
  return status;
}

/// Which contacts may push after this instant.
void ContactRuntime::choose_normals(double time, const Workspace & workspace) noexcept
{
  for (std::size_t i = 0; i < normal_.size(); ++i)
  {
    const int contact = static_cast<int>(i);
    const bool is_compliant = set_->is_compliant(contact);
    const bool has_fired = fired_[i] != 0;
    const Normal before = normal_[i];
    candidate_[i] = 0;
    if (set_->contacts()[i].stiffness > 0.0)
    {
      normal_[i] = gap(contact, workspace) < 0.0 || (before == Normal::kOpen && has_fired)
                     ? Normal::kForce
                     : Normal::kOpen;
      if (before == Normal::kForce && has_fired)
      {
        normal_[i] = Normal::kOpen;
      }
      continue;
    }
    if (is_compliant)
    {
      const bool is_adhesive = set_->contacts()[i].adhesive;
      const bool leaves = before == Normal::kClosed && has_fired &&
                          (is_adhesive || gap(contact, workspace) > 0.5 * kTouch);
      const bool is_inside = before == Normal::kClosed ? !leaves
                                                       : gap(contact, workspace) < 0.0 ||
                                                           (before == Normal::kOpen && has_fired);
      const bool pulls = before == Normal::kClosed && has_fired && !is_adhesive && !leaves;
      const bool waits = before == Normal::kSeparating && !has_fired;
      candidate_[i] = is_inside && !pulls && !waits;
      normal_[i] = !is_inside           ? Normal::kOpen
                   : candidate_[i] != 0 ? Normal::kClosed
                                        : Normal::kSeparating;
      continue;
    }
    const double scale = 1.0 + std::abs(speeds_before_(row_of_contact(contact)));
    const bool stays =
      touching_[i] != 0 && gap_rate(contact, workspace) <= std::max(kStays * scale, unseen_);
    const bool pulls = before == Normal::kClosed && has_fired;
    // What was let go at this instant is not asked again because another is: forces that are
    // rounding would pass between them for ever. Where it is pressed after all its gap closes.
    const bool waits = before == Normal::kOpen && !has_fired && time - let_go_[i] < kChatterTime &&
                       gap_rate(contact, workspace) >= -kStays;
    let_go_[i] = pulls ? time : let_go_[i];
    candidate_[i] = stays && (look_ahead_ > 0.0 || (!pulls && !waits));
    // Where others share its load they also hold it where it is, and it touches on.
    const bool is_held =
      stays && pulls && workspace.solution().redundancy(row_of_contact(contact)) > kRedundant;
    normal_[i] = candidate_[i] != 0 ? Normal::kClosed : is_held ? Normal::kIdle : Normal::kOpen;
  }
}

/// First guess: what slips slides on, what does not sticks.
void ContactRuntime::choose_slips(double time, const Workspace & workspace) noexcept
{
  any_gives_way_ = false;
  for (std::size_t i = 0; i < friction_.size(); ++i)
  {
    const int k = static_cast<int>(i);
    const DryFriction & friction = set_->frictions()[i];
    FrictionState & state = friction_[i];
    const bool has_fired = fired_[normal_.size() + i] != 0;
    const int row = row_of_friction(k);
    gives_way_[i] = 0;
    const bool acts = friction.contact < 0 ||
                      normal_[static_cast<std::size_t>(friction.contact)] == Normal::kClosed ||
                      normal_[static_cast<std::size_t>(friction.contact)] == Normal::kForce;
    const double speed = slip_speed(k, workspace);
    if (!acts)
    {
      state.slip = Slip::kNone;
      continue;
    }
    if (friction.dahl_stiffness > 0.0)
    {
      if (state.slip != Slip::kDahl)
      {
        state.dahl_force = 0.0;
        state.dahl_place = workspace.terms().coordinates(friction.coordinate);
        state.slip = Slip::kDahl;
      }
      state.dahl_force = dahl_force(k, workspace);
      state.dahl_place = workspace.terms().coordinates(friction.coordinate);
      const double v = workspace.rows().velocity(row);
      state.direction[0] = has_fired ? -state.direction[0] : v < 0.0 ? -1.0 : 1.0;
      continue;
    }
    if (!is_dry(k))
    {
      state.slip = Slip::kSlide;
      state.armed = false;
      continue;
    }
    if (state.slip == Slip::kStick && has_fired)
    {
      const double held = tangent_force(k, workspace);
      const bool is_last_try = look_ahead_ >= kFarthestLook;
      gave_way_[i] = time;
      if ((row_count(k) == 2 && !is_last_try) || !(static_bound(k, workspace) > 0.0))
      {
        // Which way it gives way in a plane is a matter of all contacts together; where nothing
        // presses any more, one of the accelerations. Contacts that share a load redundantly may
        // hold in their problem and not with the split of the rows: then it slides at the last try.
        gives_way_[i] = 1;
        any_gives_way_ = true;
        continue;
      }
      // It slides away against the force that held it.
      for (int r = 0; r < row_count(k); ++r)
      {
        state.direction[r] = -workspace.solution().multipliers(row + r) / held;
      }
      state.slip = Slip::kSlide;
      state.armed = false;
      continue;
    }
    if (state.slip == Slip::kSlide && !state.armed && !has_fired)
    {
      // Slip that has only just begun has a direction by the accelerations of its moment, and what
      // changes now changes those: all contacts together decide again, unless it gave way just now.
      if (speed <= creep_speed(k) && !(time - gave_way_[i] < kChatterTime))
      {
        state.slip = Slip::kStick;
        gives_way_[i] = 1;
        any_gives_way_ = true;
      }
      continue;
    }
    const double along = slip_along_direction(k, workspace);
    const bool has_ended =
      state.slip == Slip::kSlide && has_fired &&
      (row_count(k) == 1 || speed <= kEndOfSlip * creep_speed(k) || along <= 0.0);
    if (speed > creep_speed(k) && !has_ended)
    {
      state.slip = Slip::kSlide;
      state.armed = true;
      for (int r = 0; r < row_count(k); ++r)
      {
        state.direction[r] = workspace.rows().velocity(row + r) / speed;
      }
      continue;
    }
    state.slip = Slip::kStick;
  }
}

/// What slipped before the contacts that close now were met, and does not any more, sticks: feet
/// that a step has put below the ground do not stand still together.
void ContactRuntime::stop_slips(Workspace & workspace) noexcept
{
  for (std::size_t i = 0; i < friction_.size(); ++i)
  {
    const int k = static_cast<int>(i);
    FrictionState & state = friction_[i];
    if (
      state.slip == Slip::kSlide && state.armed && is_dry(k) &&
      slip_speed(k, workspace) <= set_->frictions()[i].creep_speed)
    {
      state.slip = Slip::kStick;
    }
  }
  switch_rows(workspace);
}

/// Whether the modes agree with their forces.
bool ContactRuntime::holds(const Workspace & workspace) const noexcept
{
  const double largest = workspace.solution().multipliers.cwiseAbs().maxCoeff();
  for (std::size_t i = 0; i < normal_.size(); ++i)
  {
    if (
      normal_[i] == Normal::kClosed && !set_->contacts()[i].adhesive &&
      normal_force(static_cast<int>(i), workspace) < -kForceRounding * largest)
    {
      return false;
    }
  }
  for (std::size_t i = 0; i < friction_.size(); ++i)
  {
    const int k = static_cast<int>(i);
    if (
      friction_[i].slip == Slip::kStick &&
      tangent_force(k, workspace) > static_bound(k, workspace) + kForceRounding * largest)
    {
      return false;
    }
  }
  return true;
}

/// Solves with the rows of the modes. Where contacts share a load redundantly the split of the rows
/// may pull at one of them although others do not: those touch without force.
Status ContactRuntime::solve_pressing(const ContactHost & host, Workspace & workspace) noexcept
{
  while (true)
  {
    switch_rows(workspace);
    const Status status = solve(host.input_values(), workspace);
    if (!has_output(status))
    {
      return status;
    }
    int most = -1;
    double pull = kForceRounding * workspace.solution().multipliers.cwiseAbs().maxCoeff();
    for (std::size_t i = 0; i < normal_.size(); ++i)
    {
      const int contact = static_cast<int>(i);
      if (
        normal_[i] == Normal::kClosed && is_rigid(contact) &&
        workspace.solution().redundancy(row_of_contact(contact)) > kRedundant &&
        -normal_force(contact, workspace) > pull)
      {
        most = contact;
        pull = -normal_force(contact, workspace);
      }
    }
    if (most < 0)
    {
      return status;
    }
    normal_[static_cast<std::size_t>(most)] = Normal::kIdle;
    const int friction = set_->friction_of(most);
    if (friction >= 0)
    {
      friction_[static_cast<std::size_t>(friction)].slip = Slip::kNone;
    }
  }
}

/// To the state a little later, with the modes as they are, solved.
void ContactRuntime::go_ahead(
  double time, const ConstVectorRef & q, const ConstVectorRef & u, Workspace & workspace,
  ContactHost & host) noexcept
{
  ahead_.q = q + look_ahead_ * workspace.terms().rates;
  ahead_.u = u + look_ahead_ * workspace.solution().acceleration;
  dynamics_->system().normalise(ahead_.q);
  // Where there is no motion the cone problem says so.
  if (host.update(time + look_ahead_, ahead_.q, ahead_.u) == Status::kOk)
  {
    static_cast<void>(solve(host.input_values(), workspace));
  }
}

void ContactRuntime::record_changes(
  double time, const Workspace & workspace, ContactHost & host) noexcept
{
  const auto is_closed = [](Normal mode)
  { return mode == Normal::kClosed || mode == Normal::kForce; };
  for (std::size_t i = 0; i < normal_.size(); ++i)
  {
    if (is_closed(normal_[i]) != is_closed(old_normal_[i]))
    {
      ContactEvent event;
      event.time = time;
      event.kind = is_closed(normal_[i]) ? ContactEventKind::kClose : ContactEventKind::kRelease;
      event.constraint = set_->contacts()[i].constraint;
      event.speed_before = speeds_before_(row_of_contact(static_cast<int>(i)));
      event.speed_after = workspace.rows().velocity(row_of_contact(static_cast<int>(i)));
      event.energy_change = energy_change_;
      host.record(event);
    }
  }
  for (std::size_t i = 0; i < friction_.size(); ++i)
  {
    const Slip now = friction_[i].slip;
    const FrictionState & before = old_friction_[i];
    const int k = static_cast<int>(i);
    const bool turned = now == Slip::kSlide && before.slip == Slip::kSlide && is_dry(k) &&
                        fired_[normal_.size() + i] != 0 &&
                        friction_[i].direction[0] * before.direction[0] +
                            friction_[i].direction[1] * before.direction[1] <
                          0.0;
    if (
      (now == before.slip && !turned) || (now != Slip::kStick && now != Slip::kSlide) || !is_dry(k))
    {
      continue;
    }
    ContactEvent event;
    event.time = time;
    event.kind = now == Slip::kStick ? ContactEventKind::kStick : ContactEventKind::kSlip;
    event.constraint = set_->frictions()[i].constraint;
    event.speed_before = speeds_before_.segment(row_of_friction(k), row_count(k)).norm();
    event.speed_after = slip_speed(k, workspace);
    event.energy_change = energy_change_;
    host.record(event);
  }
}

Status ContactRuntime::decide(
  double time, const ConstVectorRef & q, VectorRef u, Workspace & workspace,
  ContactHost & host) noexcept CD_NONBLOCKING
{
  old_normal_ = normal_;
  old_friction_ = friction_;
  Status status = host.update(time, q, u);
  // The forces of the modes that end say which way friction gives way.
  status = status == Status::kOk ? solve(host.input_values(), workspace) : status;
  if (!has_output(status))
  {
    return status;
  }
  // Forces that are about to change their sign are 0 at this instant, and say nothing about which
  // contacts press after it. What is decided again at once is decided by the motion ahead.
  const bool is_again = time - last_decision_ < kChatterTime;
  look_ahead_ = is_again ? std::clamp(4.0 * look_ahead_, kFirstLook, kFarthestLook) : 0.0;
  last_decision_ = time;
  bool strikes = false;
  unseen_ = 0.0;
  energy_change_ = -kinetic_energy(u, workspace);
  speeds_before_ = workspace.rows().velocity;
  for (std::size_t i = 0; i < normal_.size(); ++i)
  {
    const int contact = static_cast<int>(i);
    const Normal mode = normal_[i];
    const double rate = gap_rate(contact, workspace);
    const bool is_near = fired_[i] != 0 || gap(contact, workspace) <= kTouch;
    touching_[i] = is_rigid(contact) && (mode == Normal::kClosed || mode == Normal::kIdle ||
                                         (mode == Normal::kOpen && is_near));
    strikes = strikes || (touching_[i] != 0 && mode != Normal::kClosed && rate < -kStays);
  }
  Status worst = Status::kOk;
  if (strikes)
  {
    worst = strike(time, q, u, workspace, host);
    if (!has_output(worst))
    {
      return worst;
    }
  }
  choose_normals(time, workspace);
  choose_slips(time, workspace);
  switch_rows(workspace);
  // What closes or stops slipping now had up to its tolerance of velocity left.
  const Status projected = dynamics_->project_velocity(time, q, u, workspace);
  if (projected != Status::kOk && projected != Status::kNotConverged)
  {
    return projected;
  }
  worst = projected == Status::kOk ? worst : worse(worst, Status::kInconsistent);
  status = host.update(time, q, u);
  if (status != Status::kOk)
  {
    return status;
  }
  energy_change_ += kinetic_energy(u, workspace);
  stop_slips(workspace);
  status = solve(host.input_values(), workspace);
  if (!has_output(status) && status != Status::kNoUniqueSolution)
  {
    return status;
  }
  if (!has_output(status) || any_gives_way_ || look_ahead_ > 0.0 || !holds(workspace))
  {
    if (look_ahead_ > 0.0)
    {
      go_ahead(time, q, u, workspace, host);
    }
    const Status chosen = choose_by_cones(host, workspace);
    if (chosen != Status::kOk)
    {
      return chosen;
    }
    status = look_ahead_ > 0.0 ? host.update(time, q, u) : Status::kOk;
    if (status != Status::kOk)
    {
      return status;
    }
    status = solve_pressing(host, workspace);
    if (!has_output(status))
    {
      return status;
    }
  }
  if (!(look_ahead_ > 0.0) && !slips_follow(workspace))
  {
    status = choose_by_split(host, workspace);
    if (!has_output(status))
    {
      return status;
    }
  }
  worst = worse(worst, status);
  record_changes(time, workspace, host);
  std::fill(fired_.begin(), fired_.end(), static_cast<char>(0));
  return worst;
}

Status ContactRuntime::jump(
  double time, const ConstVectorRef & q, VectorRef u, const ScheduledChange * changes,
  std::size_t count, Workspace & workspace, ContactHost & host) noexcept CD_NONBLOCKING
{
  Status status = host.update(time, q, u);
  if (status != Status::kOk)
  {
    return status;
  }
  for (std::size_t i = 0; i < normal_.size(); ++i)
  {
    touching_[i] = is_rigid(static_cast<int>(i)) &&
                   (normal_[i] == Normal::kClosed || normal_[i] == Normal::kIdle);
  }
  begin_impact(workspace);
  speeds_before_ = workspace.rows().velocity;
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
    bool has_velocity = false;  // rows on acceleration level come into force without a jump
    for (const RowDescription & row : dynamics_->constraints()[change.constraint].rows())
    {
      has_velocity = has_velocity || row.level != RowLevel::kAcceleration;
    }
    const bool strikes = change.active && has_velocity && !workspace.is_active(change.constraint);
    impact_.roles[static_cast<std::size_t>(change.constraint)] = strikes ? ImpactRole::kImpacting
                                                                 : change.active
                                                                   ? ImpactRole::kInForce
                                                                   : ImpactRole::kAbsent;
    jumps = jumps || strikes;
  }
  impact_solution_.energy_change = 0.0;
  impact_solution_.multipliers.setZero();
  if (jumps)
  {
    status = impact_solver_.solve(impact_, time, q, u, workspace, impact_solution_);
    if (!has_output(status))
    {
      return status;
    }
    u = impact_solution_.speeds;
  }
  for (std::size_t k = 0; k < count; ++k)
  {
    const ScheduledChange & change = changes[k];
    ContactEvent event;
    event.time = time;
    event.constraint = change.constraint;
    event.energy_change = impact_solution_.energy_change;
    if (change.constraint < 0)
    {
      event.kind = ContactEventKind::kImpulse;
      event.impulse = change.impulse.norm();
      host.record(event);
      continue;
    }
    if (workspace.is_active(change.constraint) == change.active)
    {
      continue;
    }
    event.kind = change.active ? ContactEventKind::kSwitchOn : ContactEventKind::kSwitchOff;
    if (change.active)
    {
      const Eigen::Index row = dynamics_->constraints().row_offset(change.constraint);
      const Eigen::Index rows = dynamics_->constraints()[change.constraint].row_count();
      event.impulse = impact_solution_.multipliers.segment(row, rows).norm();
      event.speed_before = speeds_before_.segment(row, rows).norm();
    }
    host.record(event);
    workspace.set_active(change.constraint, change.active);
  }
  return status;
}

}  // namespace constrained_dynamics
