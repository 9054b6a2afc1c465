// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <stdexcept>

#include "constrained_dynamics/servo/servo_description.hpp"
#include "constraints/validation.hpp"
#include "names.hpp"

namespace constrained_dynamics
{

// Kinds with a source of their own.

namespace
{

NullSpaceDescription describe_damping()
{
  NullSpaceDescription description;
  description.kind = "damping";
  description.text = "f = −damping · u: motions that the tasks leave free come to rest.";
  description.keys = {
    describe_key("damping", KeyKind::kNumber, "of each speed [N·s/m or N·m·s/rad]").at_least(0.0),
    describe_key("speeds", KeyKind::kNames, "speeds that are damped; default: all").optional()};
  description.make = [](const NullSpaceArguments & given)
  {
    return std::make_shared<const JointDamping>(
      given.system, given.keys.number("damping"),
      given.keys.has("speeds") ? given.keys.names("speeds") : std::vector<std::string>{});
  };
  return description;
}

NullSpaceDescription describe_posture()
{
  NullSpaceDescription description;
  description.kind = "posture";
  description.text = "f = Cᵀ stiffness (desired − q) − damping u, for the given coordinates.";
  description.keys = {
    describe_key("q", KeyKind::kNumbers, "desired values [m or rad]"),
    describe_key("stiffness", KeyKind::kNumber, "[N/m or N·m/rad]").at_least(0.0),
    describe_key("damping", KeyKind::kNumber, "of their rates").at_least(0.0).with_default(0.0)};
  description.make = [](const NullSpaceArguments & given)
  {
    return std::make_shared<const Posture>(
      given.system, given.keys.numbers("q"), given.keys.number("stiffness"),
      given.keys.number("damping"));
  };
  return description;
}

NullSpaceDescription describe_given_force()
{
  NullSpaceDescription description;
  description.kind = "force";
  description.text =
    "f = Cᵀ forces, constant. What is measured goes to `ServoRuntime::give_null_space`.";
  description.keys = {describe_key("forces", KeyKind::kNumbers, "on coordinates [N or N·m]")};
  description.make = [](const NullSpaceArguments & given)
  { return std::make_shared<const GivenForce>(given.system, given.keys.numbers("forces")); };
  return description;
}

NullSpaceDescription describe_away_from_limits()
{
  NullSpaceDescription description;
  description.kind = "away_from_limits";
  description.text =
    "Pushes coordinates away from the bounds of the robot description. Only for robots.";
  description.keys = {
    describe_key("margin", KeyKind::kNumber, "fraction of the range, at most 0.5")
      .with_default(0.1),
    describe_key("force", KeyKind::kNumber, "at the bound [N or N·m]").above(0.0)};
  description.make = [](const NullSpaceArguments & given)
  {
    return std::make_shared<const AwayFromLimits>(
      checked_robot("away_from_limits", given.system), given.keys.number("margin"),
      given.keys.number("force"));
  };
  return description;
}

NullSpaceDescription describe_minus_controls()
{
  NullSpaceDescription description;
  description.kind = "minus_controls";
  description.text = "y = −τ, if controls are states (`system.control_states`).";
  description.make = [](const NullSpaceArguments & given)
  {
    std::vector<std::string> speeds;
    for (const int speed : given.system.driven_speeds())
    {
      speeds.push_back(given.system.speed_names()[static_cast<std::size_t>(speed)]);
    }
    if (speeds.empty())
    {
      throw KeyError(
        "",
        "the controls are not states (system.control_states); allowed: damping, posture, "
        "force, away_from_limits");
    }
    return std::make_shared<const JointDamping>(given.system, 1.0, speeds);
  };
  return description;
}

}  // namespace

/// A new kind of null-space term is one entry in this list.
const std::vector<NullSpaceDescription> & null_space_descriptions()
{
  static const std::vector<NullSpaceDescription> all = {
    describe_damping(),          describe_posture(),        describe_given_force(),
    describe_away_from_limits(), describe_minus_controls(),
  };
  return all;
}

const NullSpaceDescription & null_space_description(const std::string & kind)
{
  const std::vector<NullSpaceDescription> & all = null_space_descriptions();
  std::vector<std::string> kinds;
  for (const NullSpaceDescription & description : all)
  {
    kinds.push_back(description.kind);
  }
  return all[static_cast<std::size_t>(index_of_name("kind of null-space term", kind, kinds))];
}

std::shared_ptr<const NullSpaceTerm> make_null_space_term(
  const std::string & kind, const System & system, KeyValues keys)
{
  const NullSpaceDescription & description = null_space_description(kind);
  try
  {
    keys.complete(description.keys);
    return description.make({system, keys});
  }
  catch (const KeyError & error)
  {
    throw std::invalid_argument(
      "null-space term '" + kind + "': " + (error.key().empty() ? "" : error.key() + ": ") +
      error.what());
  }
}

}  // namespace constrained_dynamics
