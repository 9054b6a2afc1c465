// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "constrained_dynamics/contact/contact.hpp"
#include "constrained_dynamics/dynamics/dynamics.hpp"

namespace constrained_dynamics
{

/// Mode of the normal direction of a contact within a phase.
enum class NormalMode : std::uint8_t
{
  kOpen,
  kClosed,      ///< its row is enforced
  kIdle,        ///< touches without force: other rows carry its load
  kSeparating,  ///< compliant and inside, but its law would pull
  kForce,       ///< a force law acts
};

/// Mode of a friction within a phase.
enum class SlipMode : std::uint8_t
{
  kNone,
  kStick,  ///< its rows are enforced
  kSlide,  ///< a force in proportion to the normal force, against the slip
  kDahl,   ///< Dahl's law
};

/// Mode of one friction, with its memory from step to step.
struct FrictionMode
{
  SlipMode slip = SlipMode::kNone;
  bool armed = false;                ///< has moved, so that its end can be detected
  double direction[2] = {1.0, 0.0};  ///< of the slip
  double hold[2] = {0.0, 0.0};       ///< of a stick, like ContactModes::load
  double dahl_force = 0.0;           ///< at the last step [N]
  double dahl_place = 0.0;           ///< coordinate there
  double turning = 0.0;              ///< K of a unit of force, see ContactForces::turning_rate
};

/// The modes of all contacts and frictions at an instant: plain data. Within a phase they are
/// constant and the motion is smooth.
struct ContactModes
{
  ContactModes(std::size_t contact_count, std::size_t friction_count)
  : normal(contact_count, NormalMode::kOpen),
    friction(friction_count),
    load(contact_count, 0.0),
    slip_began(friction_count, kNever),
    impacts_in_a_row(contact_count, 0),
    last_impact(contact_count, kNever),
    released(contact_count, kNever)
  {
  }

  static constexpr double kNever = -1e300;  ///< [s]

  std::vector<NormalMode> normal;
  std::vector<FrictionMode> friction;
  /// Normal forces [N]. Contacts that share a load redundantly do so as close to these as possible.
  /// All 0 is the least norm, which need not be admissible where another share is.
  std::vector<double> load;

  // Recent events, so that decisions at one instant do not repeat forever.
  double last_decision = kNever;      ///< [s]
  double look_ahead = 0.0;            ///< of the last decision [s]
  std::vector<double> slip_began;     ///< when a friction could not stick any longer [s]
  std::vector<int> impacts_in_a_row;  ///< of one instant
  std::vector<double> last_impact;    ///< [s]
  std::vector<double> released;       ///< when a contact would have pulled [s]

  /// All contacts open, without memory.
  void reset() noexcept
  {
    std::fill(normal.begin(), normal.end(), NormalMode::kOpen);
    std::fill(friction.begin(), friction.end(), FrictionMode{});
    share_evenly();
    last_decision = kNever;
    look_ahead = 0.0;
    std::fill(slip_began.begin(), slip_began.end(), kNever);
    std::fill(impacts_in_a_row.begin(), impacts_in_a_row.end(), 0);
    std::fill(last_impact.begin(), last_impact.end(), kNever);
    std::fill(released.begin(), released.end(), kNever);
  }

  /// Redundant loads are shared with the least norm.
  void share_evenly() noexcept
  {
    std::fill(load.begin(), load.end(), 0.0);
    for (FrictionMode & mode : friction)
    {
      mode.hold[0] = 0.0;
      mode.hold[1] = 0.0;
    }
  }

  /// Whether rows of contacts or frictions are enforced.
  bool has_rows() const noexcept
  {
    return std::find(normal.begin(), normal.end(), NormalMode::kClosed) != normal.end() ||
           std::any_of(
             friction.begin(), friction.end(),
             [](const FrictionMode & mode) { return mode.slip == SlipMode::kStick; });
  }
  /// Whether forces act that are not those of enforced rows.
  bool has_law_forces() const noexcept
  {
    return std::find(normal.begin(), normal.end(), NormalMode::kForce) != normal.end() ||
           std::any_of(
             friction.begin(), friction.end(),
             [](const FrictionMode & mode)
             { return mode.slip == SlipMode::kSlide || mode.slip == SlipMode::kDahl; });
  }

  /// Opens a contact, or leaves it idle, without its friction.
  void unload(const ContactSet & set, int contact, NormalMode mode) noexcept
  {
    normal[static_cast<std::size_t>(contact)] = mode;
    const int of = set.friction_of(contact);
    if (of >= 0)
    {
      friction[static_cast<std::size_t>(of)].slip = SlipMode::kNone;
    }
  }

  /// Enforces the rows of the modes and no others of the contacts. Real-time safe: yes.
  void enforce(const ContactSet & set, Workspace & workspace) const noexcept
  {
    for (std::size_t i = 0; i < normal.size(); ++i)
    {
      workspace.set_active(set.contacts()[i].constraint, normal[i] == NormalMode::kClosed);
    }
    for (std::size_t i = 0; i < friction.size(); ++i)
    {
      workspace.set_active(set.frictions()[i].constraint, friction[i].slip == SlipMode::kStick);
    }
  }
};

/// Enforces no row of contacts and frictions, until ContactModes::enforce. Real-time safe: yes.
inline void release_all_rows(const ContactSet & set, Workspace & workspace) noexcept
{
  for (const Contact & contact : set.contacts())
  {
    workspace.set_active(contact.constraint, false);
  }
  for (const DryFriction & friction : set.frictions())
  {
    workspace.set_active(friction.constraint, false);
  }
}

}  // namespace constrained_dynamics
