// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "constrained_dynamics/constraints/compliant_row.hpp"
#include "constrained_dynamics/constraints/constraint_description.hpp"
#include "constrained_dynamics/contact/contact.hpp"
#include "scenario/scenario_reader.hpp"
#include "scenario/scenario_system.hpp"

namespace constrained_dynamics
{

/// The type "contact" of scenario files: a PointOnPlane that pushes and never pulls. Its keys of a
/// unilateral constraint are read by read_contact.
ConstraintDescription describe_contact();

/// The slip rows of a contact, on which its friction acts. @param item of the contact.
std::shared_ptr<const Constraint> make_contact_tangents(
  const ScenarioReader & item, const System & system, const std::string & name);

/// Keys of a unilateral constraint, below `unilateral` or directly in a `contact`.
const std::vector<std::string> & contact_keys();

/// Reads these keys. @param law receives the law of the row if the contact has one.
Contact read_contact(const ScenarioReader & reader, std::optional<RowLaw> & law);

/// Reads a law of rows: `kind` and its numbers.
RowLaw read_law(const ScenarioReader & reader);

/// A number or a square matrix.
Gain read_gain(const ScenarioReader & reader);

/// Reads a dry friction: `coefficient` (of a contact) or `bound`, `static`, `viscous`,
/// `creep_speed`, `dahl_stiffness`.
/// @param extra_keys further keys that are allowed.
DryFriction read_friction(
  const ScenarioReader & reader, bool of_contact, const std::vector<std::string> & extra_keys = {});

/// Friction of joints: `system.friction` and what the robot descriptions state; none where a drive
/// imposes the motion. @param reader the section `system`. @pre system.robot is not null.
void add_joint_frictions(
  const ScenarioReader & reader, const ScenarioSystem & system,
  std::vector<std::shared_ptr<const Constraint>> & constraints, std::vector<bool> & active,
  ScenarioContacts & contacts);

/// Reads the section `events`.
/// @param start time before which nothing can happen [s].
std::vector<ScheduledChange> read_events(
  const ScenarioReader & reader, const ConstraintSet & constraints, const ContactSet & contacts,
  double start);

}  // namespace constrained_dynamics
