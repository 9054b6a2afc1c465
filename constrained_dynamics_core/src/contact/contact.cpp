// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/contact/contact.hpp"

#include <cmath>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "constrained_dynamics/constraints/compliant_row.hpp"

namespace constrained_dynamics
{

namespace
{

/// Refuses a value by name.
void require(
  bool good, const std::string & owner, const char * name, double value, const char * allowed)
{
  if (!good || !std::isfinite(value))
  {
    std::ostringstream message;
    message << owner << ": " << name << " is " << value << "; allowed: " << allowed;
    throw std::invalid_argument(message.str());
  }
}

int checked_constraint(const ConstraintSet & set, const std::string & what, int constraint)
{
  if (constraint < 0 || constraint >= set.size())
  {
    throw std::invalid_argument(
      what + " names constraint " + std::to_string(constraint) + "; allowed: 0 to " +
      std::to_string(set.size() - 1));
  }
  return constraint;
}

void check(const ConstraintSet & set, const Contact & contact)
{
  const Constraint & row = set[checked_constraint(set, "a contact", contact.constraint)];
  const std::string owner = "contact '" + row.name() + "'";
  const CompliantRow * compliant = row.as_compliant_row();
  const bool is_compliant = compliant != nullptr && compliant->is_on_position();
  if (row.row_count() != 1 || (!is_compliant && row.rows()[0].level != RowLevel::kPosition))
  {
    throw std::invalid_argument(
      owner + " has " + std::to_string(row.row_count()) + " rows of level " +
      to_string(row.rows()[0].level) + "; allowed: one position row");
  }
  require(contact.side == 1.0 || contact.side == -1.0, owner, "side", contact.side, "1 and -1");
  require(contact.tolerance >= 0.0, owner, "tolerance", contact.tolerance, "0 or above");
  require(
    contact.tolerance == 0.0 || is_compliant || contact.stiffness > 0.0, owner, "tolerance",
    contact.tolerance, "0 for a rigid contact, which would jump by it");
  require(
    contact.restitution >= 0.0 && contact.restitution <= 1.0, owner, "restitution",
    contact.restitution, "0 to 1");
  require(contact.rest_speed > 0.0, owner, "rest_speed", contact.rest_speed, "above 0");
  if (contact.adhesive && !is_compliant)
  {
    throw std::invalid_argument(owner + " is adhesive; allowed only with a law of its row");
  }
  require(contact.stiffness >= 0.0, owner, "stiffness", contact.stiffness, "0 or above");
  require(contact.damping >= 0.0, owner, "damping", contact.damping, "0 or above");
  require(contact.exponent > 0.0, owner, "exponent", contact.exponent, "above 0");
  require(
    contact.damping_exponent >= 0.0, owner, "damping_exponent", contact.damping_exponent,
    "0 or above");
}

void check(const ConstraintSet & set, std::size_t contacts, const DryFriction & friction)
{
  const Constraint & slip = set[checked_constraint(set, "a friction", friction.constraint)];
  const std::string owner = "friction '" + slip.name() + "'";
  bool fits = slip.row_count() <= 2;
  for (const RowDescription & row : slip.rows())
  {
    fits = fits && row.level == RowLevel::kVelocity;
  }
  if (!fits)
  {
    throw std::invalid_argument(
      owner + " has " + std::to_string(slip.row_count()) + " rows of level " +
      to_string(slip.rows()[0].level) + "; allowed: one or two velocity rows");
  }
  if (friction.contact < -1 || friction.contact >= static_cast<int>(contacts))
  {
    throw std::invalid_argument(
      owner + " names contact " + std::to_string(friction.contact) + "; allowed: -1 to " +
      std::to_string(static_cast<int>(contacts) - 1));
  }
  require(friction.kinetic >= 0.0, owner, "kinetic friction", friction.kinetic, "0 or above");
  require(
    friction.stiction >= friction.kinetic, owner, "static friction", friction.stiction,
    "at least the kinetic one");
  require(friction.viscous >= 0.0, owner, "viscous friction", friction.viscous, "0 or above");
  require(friction.creep_speed > 0.0, owner, "creep_speed", friction.creep_speed, "above 0");
  require(
    friction.dahl_stiffness >= 0.0, owner, "dahl_stiffness", friction.dahl_stiffness, "0 or above");
  if (
    friction.dahl_stiffness > 0.0 &&
    (friction.contact >= 0 || slip.row_count() != 1 || friction.coordinate < 0 ||
     friction.coordinate >= set.system().coordinate_count() || !(friction.kinetic > 0.0)))
  {
    throw std::invalid_argument(
      owner +
      " has Dahl's law; allowed: without a contact, with one row, a coordinate and a "
      "positive kinetic bound");
  }
}

}  // namespace

const char * to_string(ContactEventKind kind) noexcept
{
  switch (kind)
  {
    case ContactEventKind::kImpact:
      return "impact";
    case ContactEventKind::kClose:
      return "close";
    case ContactEventKind::kRelease:
      return "release";
    case ContactEventKind::kStick:
      return "stick";
    case ContactEventKind::kSlip:
      return "slip";
    case ContactEventKind::kSwitchOn:
      return "switch_on";
    case ContactEventKind::kSwitchOff:
      return "switch_off";
    case ContactEventKind::kImpulse:
      return "impulse";
  }
  return "unknown";
}

ContactSet::ContactSet(
  const ConstraintSet & constraints, std::vector<Contact> contacts,
  std::vector<DryFriction> frictions)
: contacts_(std::move(contacts)),
  frictions_(std::move(frictions)),
  friction_of_(contacts_.size(), -1),
  managed_(static_cast<std::size_t>(constraints.size()), false)
{
  const auto manage = [&](int constraint)
  {
    if (managed_[static_cast<std::size_t>(constraint)])
    {
      throw std::invalid_argument(
        "constraint '" + constraints[constraint].name() +
        "' is named by two contacts or frictions; allowed: one");
    }
    managed_[static_cast<std::size_t>(constraint)] = true;
  };
  for (const Contact & contact : contacts_)
  {
    check(constraints, contact);
    manage(contact.constraint);
    compliant_.push_back(constraints[contact.constraint].as_compliant_row() != nullptr);
  }
  for (std::size_t i = 0; i < frictions_.size(); ++i)
  {
    check(constraints, contacts_.size(), frictions_[i]);
    manage(frictions_[i].constraint);
    if (frictions_[i].contact >= 0)
    {
      int & owner = friction_of_[static_cast<std::size_t>(frictions_[i].contact)];
      if (owner >= 0)
      {
        throw std::invalid_argument(
          "contact '" +
          constraints[contacts_[static_cast<std::size_t>(frictions_[i].contact)].constraint]
            .name() +
          "' has two frictions; allowed: one");
      }
      owner = static_cast<int>(i);
    }
  }
}

}  // namespace constrained_dynamics
