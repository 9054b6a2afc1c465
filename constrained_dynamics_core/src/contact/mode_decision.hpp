// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <cstddef>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/contact/contact.hpp"
#include "constrained_dynamics/contact/impact.hpp"
#include "contact/cone_modes.hpp"
#include "contact/contact_forces.hpp"
#include "contact/contact_modes.hpp"
#include "contact/contact_view.hpp"
#include "contact/controlled_dynamics.hpp"

namespace constrained_dynamics
{

/// Input of a decision: one instant.
struct ContactSnapshot
{
  double time;
  const Eigen::VectorXd & q;
  const Eigen::VectorXd & u;
  const ContactModes & modes;       ///< until this instant
  const std::vector<char> & ended;  ///< event functions that have ended
  /// Evaluates this state and, if modes are decided again, one a little ahead.
  ControlledDynamics & dynamics;
};

/// Result of a decision. Sizes are set once.
struct ContactDecision
{
  explicit ContactDecision(const ContactModel & model);

  ContactModes modes;  ///< from this instant on
  Eigen::VectorXd u;   ///< speeds, which jump where contacts strike or begin to stick
  std::vector<ContactEvent> events;
};

/// Finds the modes that follow an instant, the jump of the speeds and the events: a function of the
/// snapshot. On return the snapshot's workspace is solved with the new modes; if there is no
/// motion, `out` is the last attempt.
///
/// Only the constructor allocates. Everything else is real-time safe.
class ModeDecision
{
public:
  explicit ModeDecision(const ContactModel & model);

  /// Modes for the state and what has ended. Statuses: those of ContactForces::solve and of
  /// ImpactSolver::solve.
  Status decide(const ContactSnapshot & at, ContactForces & forces, ContactDecision & out) noexcept
    CD_NONBLOCKING;

  /// Constraints that are switched and impulses that are applied, all at one instant, with the
  /// contacts as they are: one impact, shared by everything that is enforced after it. Switches the
  /// constraints in the snapshot's workspace. Statuses: those of ImpactSolver::solve; nothing is
  /// changed without output.
  Status apply(
    const ContactSnapshot & at, const ScheduledChange * changes, std::size_t count,
    ContactDecision & out) noexcept CD_NONBLOCKING;

  /// See ConeModes.
  bool can_hold(const ContactModes & modes, const ControlledDynamics & dynamics) noexcept
  {
    return cones_.can_hold(modes, dynamics);
  }
  Status share_within_bounds(
    const ContactModes & modes, ContactForces & forces, ControlledDynamics & dynamics) noexcept
  {
    return cones_.share_within_bounds(modes, forces, dynamics);
  }

  /// The closed contact that is surplus, see ConeModes; −1: none.
  int surplus(const ContactModes & modes, ControlledDynamics & dynamics) noexcept
  {
    return cones_.surplus(modes, dynamics);
  }

private:
  // mode_decision.cpp
  static void begin(const ContactSnapshot & at, ContactDecision & out) noexcept;
  void look_ahead(
    const ContactSnapshot & at, const ContactView & view, ContactModes & modes) const noexcept;
  void keep_forces(const ContactView & view) noexcept;
  Status settle_speeds(const ContactSnapshot & at, ContactDecision & out) noexcept;
  void stop_slips(const ContactView & view, ContactModes & modes) const noexcept;
  Status choose_together(
    const ContactSnapshot & at, ContactForces & forces, ContactDecision & out) noexcept;
  Status solve_chosen(
    ContactForces & forces, ControlledDynamics & dynamics, ContactModes & modes) noexcept;
  Status solve_pressing(
    ContactForces & forces, ControlledDynamics & dynamics, ContactModes & modes) noexcept;
  void record_changes(const ContactSnapshot & at, ContactDecision & out) const noexcept;

  // mode_choice.cpp
  void choose_normals(const ContactSnapshot & at, ContactModes & modes) noexcept;
  void choose_force_law(
    const ContactView & view, int contact, bool ended, NormalMode & mode) const noexcept;
  void choose_compliant(
    const ContactView & view, int contact, bool ended, NormalMode & mode) noexcept;
  void choose_rigid(
    const ContactView & view, int contact, bool ended, double time, ContactModes & modes) noexcept;
  void choose_slips(const ContactSnapshot & at, ContactModes & modes) noexcept;
  void choose_slip(
    const ContactView & view, int friction, bool ended, double time, ContactModes & modes) noexcept;
  void turn_dahl(
    const ContactView & view, int friction, bool ended, FrictionMode & mode) const noexcept;
  void release_stick(int friction, bool is_last_try, FrictionMode & mode) noexcept;
  void give_way(int friction) noexcept;

  // contact_impacts.cpp
  bool find_touching(const ContactSnapshot & at, const ContactView & view) noexcept;
  void begin_impact(const Workspace & workspace) noexcept;
  void set_restitution(
    const ContactSnapshot & at, const ContactView & view, ContactModes & modes) noexcept;
  Status strike(const ContactSnapshot & at, ContactDecision & out) noexcept;
  void record_impacts(const ContactView & view, double time, ContactDecision & out) const noexcept;
  bool set_changes(
    const ScheduledChange * changes, std::size_t count, const Workspace & workspace) noexcept;

  const ContactModel & model_;
  ConeModes cones_;
  ImpactSolver impact_solver_;
  ImpactProblem impact_;
  ImpactSolution impact_solution_;

  // Of one decision.
  std::vector<char> touching_;
  std::vector<char> candidate_;
  std::vector<char> gives_way_;  // planar frictions that cannot stick any longer
  bool any_gives_way_ = false;
  double energy_change_ = 0.0;     // [J]
  double unresolved_speed_ = 0.0;  // of bounces that fixed steps do not resolve [m/s]
  // Before it.
  Eigen::VectorXd speeds_before_;    // of all rows
  Eigen::VectorXd forces_before_;    // multipliers of all rows
  std::vector<char> was_redundant_;  // contacts
  std::vector<char> was_bounded_;    // frictions with a normal force that could hold them
  State ahead_;
  ContactModes evenly_shared_;
};

}  // namespace constrained_dynamics
