// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <vector>

#include <Eigen/Core>

#include "contact/contact_modes.hpp"
#include "contact/contact_view.hpp"
#include "contact/controlled_dynamics.hpp"
#include "contact/sliding_solver.hpp"

namespace constrained_dynamics
{

/// The motion of a phase: closed contacts and sticking frictions are enforced rows, sliding
/// friction is a given multiplier in proportion to its normal force, force laws are given
/// multipliers.
///
/// Only the constructor allocates. Everything else is real-time safe.
class ContactForces
{
public:
  explicit ContactForces(const ContactModel & model);

  /// Motion with the forces that belong to the modes. Statuses: those of Dynamics::solve, and
  /// kNoUniqueSolution (Painlevé). @pre ControlledDynamics::update, ContactModes::enforce.
  Status solve(const ContactModes & modes, ControlledDynamics & dynamics) noexcept CD_NONBLOCKING;

  /// The same where closed contacts that do not slide exert the loads of the modes exactly, also
  /// if rows that are always enforced could carry a part of them.
  Status solve_shared(const ContactModes & modes, ControlledDynamics & dynamics) noexcept
    CD_NONBLOCKING;

  /// Whether a slip has reversed in an evaluation since `watch_slips`: its end lies in between,
  /// even if the state afterwards does not show it.
  void watch_slips() noexcept { has_turned_back_ = false; }
  bool has_turned_back() const noexcept { return has_turned_back_; }

  /// Remembers directions and displacements at the end of a step. @pre rows of that state.
  void commit(ContactModes & modes, const Workspace & workspace) const noexcept CD_NONBLOCKING;

  /// Frictions that slide in a plane: the directions of their forces turn with the slip.
  const std::vector<int> & planar_slides(const ContactModes & modes) noexcept CD_NONBLOCKING;
  /// Holds the directions as they are at the state, until `release_directions`.
  void hold_directions(const ContactModes & modes, const Workspace & workspace) noexcept;
  /// Turns the held direction of one friction by an angle [rad]; −1: of none.
  void turn_direction(int friction, double angle) noexcept;
  void release_directions() noexcept { is_held_ = false; }
  /// Queries with the held directions.
  ContactView view(const ContactModes & modes, const Workspace & workspace) const noexcept
  {
    return {model_, modes, workspace, is_held_ ? &held_ : nullptr};
  }
  /// Remembers what a turn by a radian adds to ψ̇ across the slip. @pre solve.
  void set_turning(
    ContactModes & modes, int friction, double change, const Workspace & workspace) const noexcept;
  /// The fastest rate at which a slip turns towards the motion, K/|ψ| [1/s]. @pre solve.
  double turning_rate(const ContactModes & modes, const Workspace & workspace) noexcept;

private:
  void set_normal_laws(const ContactView & view, Eigen::VectorXd & given) noexcept;
  void set_frictions(const ContactView & view, Workspace & workspace) noexcept;
  void add_given(
    const ContactView & view, int friction, double bound, Workspace & workspace) const noexcept;
  Status solve_sliding(const ContactView & view, ControlledDynamics & dynamics) noexcept;
  double kinetic_bound(const ContactView & view, int friction) const noexcept;

  const ContactModel & model_;
  std::vector<double> law_force_;  // of each contact with a force law
  std::vector<int> sliding_;       // frictions whose normal force is unknown
  SlidingSolver sliding_solver_;
  bool has_turned_back_ = false;
  bool is_held_ = false;
  HeldDirections held_;
  std::vector<int> planar_;
};

}  // namespace constrained_dynamics
