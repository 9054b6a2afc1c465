// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/constraints/constraint.hpp"
#include "constrained_dynamics/contact/impact.hpp"
#include "constrained_dynamics/export.hpp"
#include "constrained_dynamics/status.hpp"

/// @file
/// Constraints that are enforced and released during a motion: unilateral contacts, dry friction
/// and their events.

namespace constrained_dynamics
{

/// A unilateral constraint on one position row (or on one CompliantRow): one side is admissible,
/// and it pushes but never pulls.
///
/// Rigid (a position row): the row is released until φ reaches 0; then there is an impact with
/// restitution e (E13). The contact stays closed while it pushes. Compliant (a CompliantRow):
/// velocities are continuous. While φ exceeds the tolerance, the row is enforced with its own law,
/// unless that would pull. Force law (stiffness > 0): no row is enforced; the force k δⁿ + c δᵐ δ̇
/// of the penetration δ acts, and never pulls.
struct Contact
{
  int constraint = 0;
  double side = 1.0;         ///< +1: φ ≤ 0 is admissible; −1: φ ≥ 0 is
  double tolerance = 0.0;    ///< δφ ≥ 0: free while side · φ ≤ δφ; rigid: 0
  double restitution = 0.0;  ///< e, 0 to 1
  /// Impacts slower than this [m/s, rad/s] have e = 0, so that accumulating bounces (Zeno) end in a
  /// closed contact.
  double rest_speed = 1e-6;
  /// A compliant contact stays enforced during penetration even if it pulls (as in thesis 5.2).
  bool adhesive = false;
  double stiffness = 0.0;         ///< k; above 0: a force law
  double damping = 0.0;           ///< c
  double exponent = 1.0;          ///< n
  double damping_exponent = 0.0;  ///< m; 0: Kelvin-Voigt, n: Hunt-Crossley
};

/// Dry friction on one or two velocity rows (the slip ψ): it sticks while the force stays within
/// its bound; otherwise it slides, with the force against the slip.
struct DryFriction
{
  int constraint = 0;         ///< the velocity rows
  int contact = -1;           ///< index of the contact whose normal force bounds it; −1: none
  double stiction = 0.0;      ///< μ_s; without a contact the bound itself [N, N m]
  double kinetic = 0.0;       ///< μ_k ≤ μ_s, likewise
  double viscous = 0.0;       ///< adds −viscous · ψ while it slides (without a contact: always)
  double creep_speed = 1e-9;  ///< |ψ| up to this counts as no slip
  /// If above 0: Dahl's law dF/dx = −σ (1 − F sgn(ψ)/F_c) replaces stick and slip, with the kinetic
  /// bound F_c. Only without a contact and for one row that is the rate of a coordinate.
  double dahl_stiffness = 0.0;
  int coordinate = -1;  ///< the coordinate of Dahl's displacement
};

/// The contacts and frictions of one Dynamics. Constant; may be shared by threads.
class CONSTRAINED_DYNAMICS_EXPORT ContactSet
{
public:
  /// @throw std::invalid_argument naming constraint, value and what is allowed.
  ContactSet(
    const ConstraintSet & constraints, std::vector<Contact> contacts,
    std::vector<DryFriction> frictions = {});

  const std::vector<Contact> & contacts() const { return contacts_; }
  const std::vector<DryFriction> & frictions() const { return frictions_; }
  /// The friction of a contact; −1: none.
  int friction_of(int contact) const { return friction_of_[static_cast<std::size_t>(contact)]; }
  /// Whether contact i is compliant (its row is a CompliantRow).
  bool is_compliant(int contact) const { return compliant_[static_cast<std::size_t>(contact)]; }
  /// Whether a contact or friction switches this constraint.
  bool manages(int constraint) const { return managed_[static_cast<std::size_t>(constraint)]; }

private:
  std::vector<Contact> contacts_;
  std::vector<DryFriction> frictions_;
  std::vector<int> friction_of_;
  std::vector<bool> compliant_;
  std::vector<bool> managed_;
};

enum class ContactEventKind : std::uint8_t
{
  kImpact,     ///< speeds jumped
  kClose,      ///< a contact closed without a jump, or stays closed after an impact
  kRelease,    ///< a contact opened
  kStick,      ///< friction holds
  kSlip,       ///< friction starts to slide, or reverses
  kSwitchOn,   ///< a constraint was switched on
  kSwitchOff,  ///< a constraint was switched off
  kImpulse,    ///< an impulse was applied
};

/// Stable name: "impact", "close", "release", "stick", "slip", "switch_on", "switch_off",
/// "impulse".
CONSTRAINED_DYNAMICS_EXPORT const char * to_string(ContactEventKind kind) noexcept;

/// An event at one instant.
struct ContactEvent
{
  double time = 0.0;  ///< [s]
  ContactEventKind kind = ContactEventKind::kImpact;
  int constraint = -1;  ///< that the event belongs to; −1: none (applied impulses)
  /// Magnitude of the impulse of the constraint's rows, or of the applied impulse.
  double impulse = 0.0;
  double friction_impulse = 0.0;   ///< of the contact's friction
  double speed_before = 0.0;       ///< φ̇ or |ψ| before
  double speed_after = 0.0;        ///< and after
  double energy_change = 0.0;      ///< of the whole impact [J]
  double restitution_scale = 1.0;  ///< see ImpactSolution
};

/// A change at a given time: a switched constraint or an applied impulse.
struct ScheduledChange
{
  double time = 0.0;
  int constraint = -1;  ///< −1: an impulse
  bool active = true;
  Eigen::VectorXd impulse;  ///< (n), for impulses
};

}  // namespace constrained_dynamics
