// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <memory>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/contact/contact.hpp"
#include "constrained_dynamics/dynamics/dynamics.hpp"
#include "contact/contact_modes.hpp"

namespace constrained_dynamics
{

/// The contacts of one Dynamics with the numbers of their rows and the resolution of the
/// integrator. Constant.
struct ContactModel
{
  /// @param the_step of fixed-step integrators [s]; 0: steps adapt.
  /// @param the_least_creep slip below this says nothing, whatever the creep speeds [m/s].
  ContactModel(
    const Dynamics & the_dynamics, std::shared_ptr<const ContactSet> the_set, double the_step,
    double the_least_creep);

  const Dynamics & dynamics;
  std::shared_ptr<const ContactSet> set;
  double step;
  double least_creep;
  std::vector<int> contact_row;         ///< of each contact
  std::vector<int> friction_row;        ///< the first of each friction
  std::vector<int> friction_row_count;  ///< 1 or 2

  const Contact & contact(int i) const noexcept
  {
    return set->contacts()[static_cast<std::size_t>(i)];
  }
  const DryFriction & friction(int i) const noexcept
  {
    return set->frictions()[static_cast<std::size_t>(i)];
  }
  int contact_count() const noexcept { return static_cast<int>(contact_row.size()); }
  int friction_count() const noexcept { return static_cast<int>(friction_row.size()); }
  bool is_empty() const noexcept { return contact_row.empty() && friction_row.empty(); }
  int row_of_contact(int i) const noexcept { return contact_row[static_cast<std::size_t>(i)]; }
  int row_of_friction(int i) const noexcept { return friction_row[static_cast<std::size_t>(i)]; }
  int row_count(int i) const noexcept { return friction_row_count[static_cast<std::size_t>(i)]; }
  /// Neither compliant nor a force law.
  bool is_rigid(int i) const noexcept
  {
    return !set->is_compliant(i) && !(contact(i).stiffness > 0.0);
  }
  /// Whether there is a bound below which friction i can stick.
  bool is_dry(int i) const noexcept { return friction(i).stiction > 0.0; }
  double creep_speed(int i) const noexcept;
};

/// Directions of sliding that are held while the motion is differentiated.
struct HeldDirections
{
  std::vector<double> direction;  ///< two for each friction
  int turned = -1;                ///< the friction whose direction is turned; −1: none
  double angle = 0.0;             ///< by this [rad]
};

/// Reads numbers of contacts and frictions off an evaluation: a value for one use, nothing is
/// stored. Gaps and slips need the rows of the state, forces and accelerations its solution.
/// Real-time safe: yes.
class ContactView
{
public:
  /// @param held none: directions follow the slip.
  ContactView(
    const ContactModel & model, const ContactModes & modes, const Workspace & workspace,
    const HeldDirections * held = nullptr)
  : model_(model), modes_(modes), workspace_(workspace), held_(held)
  {
  }

  const ContactModel & model() const { return model_; }
  const ContactModes & modes() const { return modes_; }
  const Workspace & workspace() const { return workspace_; }
  NormalMode normal(int contact) const { return modes_.normal[static_cast<std::size_t>(contact)]; }
  const FrictionMode & friction(int i) const
  {
    return modes_.friction[static_cast<std::size_t>(i)];
  }
  /// See ContactModes::load.
  double load(int contact) const
  {
    return normal(contact) == NormalMode::kClosed ? modes_.load[static_cast<std::size_t>(contact)]
                                                  : 0.0;
  }

  /// What is left until the contact acts: δφ − side · φ.
  double gap(int contact) const noexcept;
  double gap_rate(int contact) const noexcept;
  /// How much faster than its row the contact separates: −side (a u̇ − b).
  double gap_acceleration(int contact) const noexcept;
  double normal_force(int contact) const noexcept;
  bool is_redundant(int contact) const noexcept;
  /// Whether other rows share the force of a closed contact, or of a friction that sticks, without
  /// the motion depending on the shares: then its force alone does not tell that its mode ends.
  bool shares_normal(int contact) const noexcept;
  bool shares_stick(int friction) const noexcept;
  bool is_open(int contact) const noexcept { return normal(contact) == NormalMode::kOpen; }
  /// Whether a gap below 0 means something: neither contacts that leave nor those that are too slow
  /// to strike and accelerate away; a decision would only open them again.
  bool is_closing(int contact) const noexcept;
  /// Half of the time in which an open contact that touches and leaves slowly comes back, for a
  /// constant acceleration; 0 where it does not leave.
  double hop(int contact) const noexcept;

  double slip_speed(int friction) const noexcept;
  double slip_along_direction(int friction) const noexcept;
  /// ψ, and its change with accelerations, along a direction in the plane.
  double slip_along(int friction, const double * s) const noexcept;
  double slip_change_along(
    int friction, const double * s, const Eigen::VectorXd & acceleration) const noexcept;
  double tangent_force(int friction) const noexcept;
  double static_bound(int friction) const noexcept;
  /// Direction of the force of sliding friction: against the slip ψ/|ψ| and, where there is next to
  /// none, the way it begins: s ∥ ψ + v s_0, with v the creep speed.
  void slide_direction(int friction, double * s) const noexcept;
  /// |ψ + v s_0|.
  double turning_speed(int friction) const noexcept;
  /// Whether it slides without having come anywhere yet: its direction is that of a decision.
  bool begins_to_slide(int friction) const noexcept;
  /// Dahl's force for a motion in one direction since the place that is remembered.
  double dahl_force(int friction) const noexcept;
  double dahl_coordinate(int friction) const noexcept
  {
    return workspace_.terms().coordinates(model_.friction(friction).coordinate);
  }

private:
  void turning_slip(int friction, double * v) const noexcept;

  const ContactModel & model_;
  const ContactModes & modes_;
  const Workspace & workspace_;
  const HeldDirections * held_;
};

}  // namespace constrained_dynamics
