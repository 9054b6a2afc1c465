// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <vector>

#include <Eigen/Core>

#include "contact/cone_problem.hpp"
#include "contact/contact_forces.hpp"
#include "contact/contact_modes.hpp"
#include "contact/contact_view.hpp"
#include "contact/controlled_dynamics.hpp"

namespace constrained_dynamics
{

/// Modes of all contacts together, by the cone problem of accelerations and forces; and which of
/// several contacts is surplus, by that of displacements.
///
/// Only the constructor allocates. Everything else is real-time safe.
class ConeModes
{
public:
  explicit ConeModes(const ContactModel & model);

  /// The undecided part of an instant.
  struct Question
  {
    const std::vector<char> & candidate;  ///< contacts that may push
    const std::vector<char> & gives_way;  ///< planar frictions that can no longer stick
  };
  /// Decides which candidates push, which frictions stick and how the others begin to slide.
  /// Statuses: kOk, kNoUniqueSolution, those of ConeProblem::begin. @pre solve.
  Status choose(
    const Question & question, const ControlledDynamics & dynamics, ContactModes & modes) noexcept;

  /// The modes of the last choice with its forces: closed contacts share redundant loads as in the
  /// cone problem.
  const ContactModes & chosen() const { return chosen_; }

  /// Whether closed contacts and frictions that stick can exert the forces of their rows within
  /// their bounds, however they share them. Forces of sliding contacts are those of the last solve,
  /// so that the motion is the same for every share. @pre solve.
  bool can_hold(const ContactModes & modes, const ControlledDynamics & dynamics) noexcept;
  /// Whether the forces of the modes are within their bounds, those of redundant contacts for one
  /// way to share them at least. @pre solve.
  bool holds(const ContactModes & modes, const ControlledDynamics & dynamics) noexcept;

  /// If only the shares of redundant loads break bounds, solves again with shares that do not: the
  /// motion is the same. Statuses: kOk where nothing changes, those of ContactForces::solve. @pre
  /// solve.
  Status share_within_bounds(
    const ContactModes & modes, ContactForces & forces, ControlledDynamics & dynamics) noexcept;

  /// The same for friction alone, with the normal forces of the rows: contacts that share a load
  /// redundantly distribute it differently in the cone problem and with their rows, and the
  /// direction in which slip begins depends on the distribution. The two could reverse each other's
  /// direction forever. So this is repeated with the resulting normal forces; if it does not
  /// settle, the modes are unchanged. The motion is solved afterwards. @pre solve.
  Status choose_by_split(
    ContactForces & forces, ControlledDynamics & dynamics, ContactModes & modes) noexcept;

  /// A closed contact whose row cannot be satisfied together with the others, such as one of the
  /// four feet of a table on an uneven floor; −1: none, all of them press. @pre rows of the state.
  int surplus(const ContactModes & modes, ControlledDynamics & dynamics) noexcept;

private:
  Status begin(
    const ContactView & view, const Eigen::VectorXd & inputs,
    const std::vector<char> * candidate) noexcept;
  void add_known_frictions(const ContactView & view, const std::vector<char> * candidate) noexcept;
  void add_given(int row, const Workspace & workspace) noexcept;
  int add_candidates(const Question & question, const ContactView & view) noexcept;
  ConeContact & add_contact(int owner, int & count) noexcept;
  void add_friction(
    const ContactView & view, int friction, bool gives_way, ConeContact & to) noexcept;
  void add_tangents(int friction, const Workspace & workspace, ConeContact & to) noexcept;
  Status solve(int count, const ContactView & view) noexcept;
  bool is_at_bound(const ConeContact & contact) const noexcept;
  void read(int count, const ContactView & view, ContactModes & modes) const noexcept;
  void read_slip(
    const ConeContact & from, const ContactView & view, int friction,
    FrictionMode & mode) const noexcept;
  void read_forces(int count, ContactModes & modes) const noexcept;

  const ContactModel & model_;
  ConeProblem cone_;
  std::vector<ConeContact> contacts_;
  std::vector<int> owner_;  // contact, or −1 − friction
  ContactModes chosen_;
  ContactModes shared_;
  int held_count_ = 0;  // contacts of the last question whether they can hold
  std::vector<FrictionMode> kept_;
  std::vector<char> held_;  // contacts that do not slide
  std::vector<char> none_;  // frictions that give way
  Eigen::VectorXd row_;
  Eigen::VectorXd force_;
  Eigen::VectorXd zero_speeds_;
};

}  // namespace constrained_dynamics
