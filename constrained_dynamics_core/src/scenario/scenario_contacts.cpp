// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "scenario/scenario_contacts.hpp"

#include <algorithm>

#include "constrained_dynamics/constraints/contact_tangents.hpp"
#include "constrained_dynamics/constraints/joint_slip.hpp"
#include "constrained_dynamics/constraints/point_on_plane.hpp"
#include "scenario/scenario_keys.hpp"

namespace constrained_dynamics
{

namespace
{

/// A number of 0 or below, or a matrix; 0 where there is none.
Gain read_gain_or(const ScenarioReader & reader, const std::string & key)
{
  if (!reader.has(key))
  {
    return Gain(0.0);
  }
  const Gain gain = read_gain(reader.at(key));
  if (!(gain.scalar() <= 0.0))
  {
    reader.at(key).fail("allowed: a number, 0 or below, or a matrix");
  }
  return gain;
}

double nonnegative_or(const ScenarioReader & reader, const std::string & key, double fallback)
{
  return reader.has(key) ? reader.at(key).nonnegative() : fallback;
}

}  // namespace

ConstraintDescription describe_contact()
{
  ConstraintDescription description;
  description.type = "contact";
  description.text =
    "A point or a sphere at the origin of A touches a plane of B. The contact pushes and never "
    "pulls; the run opens and closes it. It also has the keys of section 5a.";
  description.equation = "gap ≥ 0, push ≥ 0, gap · push = 0; friction inside its cone";
  description.rows =
    "`normal` (position); with friction a second constraint `<name>_friction` with `tangent_1`, "
    "`tangent_2` (velocity)";
  description.keys = with_frames(
    {describe_key("normal", KeyKind::kVector, "of the plane, in B, out of the obstacle")
       .with_default(Eigen::Vector3d(Eigen::Vector3d::UnitZ())),
     describe_key("offset", KeyKind::kNumber, "of the plane from B's origin along the normal [m]")
       .with_default(0.0),
     describe_key("radius", KeyKind::kNumber, "of the sphere [m]").at_least(0.0).with_default(0.0),
     describe_key(
       "tangent", KeyKind::kVector,
       "in B: one direction of slip instead of two, for planar systems")
       .optional()});
  description.make = [](const ConstraintArguments & given)
  {
    return std::make_shared<const PointOnPlane>(
      given.name, given.system, given.keys.text("frame_a"), given.keys.text("frame_b"),
      given.keys.vector("normal"), given.keys.number("offset") + given.keys.number("radius"));
  };
  return description;
}

std::shared_ptr<const Constraint> make_contact_tangents(
  const ScenarioReader & item, const System & system, const std::string & name)
{
  const ConstraintDescription description = ContactTangents::description();
  const KeyValues values = read_keys(item, description.keys, system);
  return description.make({name, system, values, item.scope().names});
}

RowLaw read_law(const ScenarioReader & reader)
{
  const std::string kind = reader.at("kind").choice({"linear", "kelvin_voigt", "hunt_crossley"});
  RowLaw law;
  if (kind == "linear")
  {
    reader.allow_keys({"kind", "velocity_gain", "position_gain"});
    law.velocity_gain = read_gain_or(reader, "velocity_gain");
    law.position_gain = read_gain_or(reader, "position_gain");
    return law;
  }
  reader.allow_keys(
    kind == "kelvin_voigt"
      ? std::vector<std::string>{"kind", "mass", "damping", "stiffness"}
      : std::vector<std::string>{"kind", "mass", "damping", "stiffness", "exponent"});
  const double mass = reader.positive_or("mass", 1.0);
  const double damping = nonnegative_or(reader, "damping", 0.0) / mass;
  const double stiffness = nonnegative_or(reader, "stiffness", 0.0) / mass;
  if (!(stiffness > 0.0 || damping > 0.0))
  {
    // With neither, the point would sink in at the speed of the touchdown.
    reader.fail_here("neither stiffness nor damping; allowed: one of them above 0");
  }
  if (kind == "kelvin_voigt")
  {
    law.velocity_gain = -damping;
    law.position_gain = -stiffness;
    return law;
  }
  law.kind = RowLaw::Kind::kHuntCrossley;
  law.damping = damping;
  law.stiffness = stiffness;
  law.exponent = reader.positive_or("exponent", 1.5);
  return law;
}

Gain read_gain(const ScenarioReader & reader)
{
  if (!reader.node().is_list())
  {
    return Gain(reader.number());
  }
  const std::vector<ScenarioReader> rows = reader.items();
  const auto size = static_cast<Eigen::Index>(rows.size());
  Eigen::MatrixXd matrix(size, size);
  for (Eigen::Index i = 0; i < size; ++i)
  {
    const ScenarioReader & row = rows[static_cast<std::size_t>(i)];
    if (!row.node().is_list() || row.node().children.size() != rows.size())
    {
      row.fail("allowed: a list of " + std::to_string(rows.size()) + " numbers, a square matrix");
    }
    const std::vector<ScenarioReader> numbers = row.items();
    for (Eigen::Index j = 0; j < size; ++j)
    {
      matrix(i, j) = numbers[static_cast<std::size_t>(j)].number();
    }
  }
  if (size == 0)
  {
    reader.fail("allowed: a number or a square matrix");
  }
  return Gain(matrix);
}

const std::vector<std::string> & contact_keys()
{
  static const std::vector<std::string> keys = {"restitution", "tolerance", "rest_speed", "law",
                                                "adhesive",    "force",     "friction"};
  return keys;
}

Contact read_contact(const ScenarioReader & reader, std::optional<RowLaw> & law)
{
  Contact contact;
  contact.restitution = nonnegative_or(reader, "restitution", 0.0);
  if (contact.restitution > 1.0)
  {
    reader.at("restitution").fail("allowed: a number from 0 to 1");
  }
  contact.tolerance = nonnegative_or(reader, "tolerance", 0.0);
  contact.rest_speed = reader.positive_or("rest_speed", contact.rest_speed);
  const auto row_law = reader.find("law");
  const auto force = reader.find("force");
  if (
    static_cast<int>(row_law.has_value()) + static_cast<int>(force.has_value()) +
      static_cast<int>(reader.has("restitution")) >
    1)
  {
    reader.fail_here("allowed: one of restitution (rigid), law and force");
  }
  if (contact.tolerance > 0.0 && !row_law && !force)
  {
    reader.at("tolerance").fail("allowed only with law or force; a rigid contact closes at 0");
  }
  if (row_law)
  {
    law = read_law(*row_law);
  }
  contact.adhesive = reader.boolean_or("adhesive", false);
  if (contact.adhesive && !row_law)
  {
    reader.at("adhesive").fail("allowed only with law");
  }
  if (force)
  {
    force->allow_keys({"stiffness", "damping", "exponent", "damping_exponent"});
    contact.stiffness = force->at("stiffness").positive();
    contact.damping = nonnegative_or(*force, "damping", 0.0);
    contact.exponent = force->positive_or("exponent", 1.0);
    contact.damping_exponent = nonnegative_or(*force, "damping_exponent", 0.0);
  }
  return contact;
}

DryFriction read_friction(
  const ScenarioReader & reader, bool of_contact, const std::vector<std::string> & extra_keys)
{
  const std::string main = of_contact ? "coefficient" : "bound";
  DryFriction friction;
  if (!reader.node().is_map())
  {
    friction.kinetic = reader.nonnegative();
    friction.stiction = friction.kinetic;
    return friction;
  }
  std::vector<std::string> keys = {main, "static", "viscous", "creep_speed"};
  if (!of_contact)
  {
    keys.push_back("dahl_stiffness");
  }
  keys.insert(keys.end(), extra_keys.begin(), extra_keys.end());
  reader.allow_keys(keys);
  friction.kinetic = nonnegative_or(reader, main, 0.0);
  friction.stiction = nonnegative_or(reader, "static", friction.kinetic);
  if (friction.stiction < friction.kinetic)
  {
    reader.at("static").fail("allowed: at least " + main);
  }
  friction.viscous = nonnegative_or(reader, "viscous", 0.0);
  friction.creep_speed = reader.positive_or("creep_speed", friction.creep_speed);
  if (!of_contact)
  {
    friction.dahl_stiffness = nonnegative_or(reader, "dahl_stiffness", 0.0);
  }
  return friction;
}

void add_joint_frictions(
  const ScenarioReader & reader, const ScenarioSystem & system,
  std::vector<std::shared_ptr<const Constraint>> & constraints, std::vector<bool> & active,
  ScenarioContacts & contacts)
{
  const RigidBodySystem & robot = *system.robot;
  std::vector<std::pair<std::string, DryFriction>> frictions;
  if (reader.boolean_or("model_friction", true))
  {
    for (const auto & [joint, bound] : robot.joint_friction())
    {
      DryFriction friction;
      friction.kinetic = bound;
      friction.stiction = bound;
      frictions.emplace_back(joint, friction);
    }
  }
  if (const auto map = reader.find("friction"))
  {
    const std::vector<std::string> & joints = robot.joint_names();
    for (const auto & [joint, value] : map->entries())
    {
      if (std::find(joints.begin(), joints.end(), joint) == joints.end())
      {
        value.fail_here(
          "no joint '" + joint + "' with one degree of freedom" + suggest(joint, joints));
      }
      const auto stated = std::find_if(
        frictions.begin(), frictions.end(),
        [name = joint](const auto & entry) { return entry.first == name; });
      const DryFriction friction = read_friction(value, false);
      if (stated != frictions.end())
      {
        stated->second = friction;  // the file takes precedence
      }
      else
      {
        frictions.emplace_back(joint, friction);
      }
    }
  }
  for (const auto & [joint, stated] : frictions)
  {
    const std::vector<int> & driven = system.system->driven_speeds();
    if (std::find(driven.begin(), driven.end(), robot.speed_index("d" + joint)) != driven.end())
    {
      continue;
    }
    auto slip = std::make_shared<const JointSlip>(joint + "_friction", *system.system, joint);
    DryFriction friction = stated;
    friction.constraint = static_cast<int>(constraints.size());
    friction.coordinate = slip->coordinate();
    contacts.frictions.push_back(friction);
    constraints.push_back(std::move(slip));
    active.push_back(false);
  }
}

std::vector<ScheduledChange> read_events(
  const ScenarioReader & reader, const ConstraintSet & constraints, const ContactSet & contacts,
  double start)
{
  std::vector<std::string> names;
  for (int i = 0; i < constraints.size(); ++i)
  {
    names.push_back(constraints[i].name());
  }
  std::vector<ScheduledChange> changes;
  for (const ScenarioReader & item : reader.items())
  {
    item.allow_keys({"time", "switch", "active", "impulse"});
    ScheduledChange change;
    change.time = item.at("time").number();
    if (change.time < start)
    {
      item.at("time").fail("allowed: not before initial.time");
    }
    if (item.has("switch") == item.has("impulse"))
    {
      item.fail_here("allowed: one of switch and impulse");
    }
    if (const auto which = item.find("switch"))
    {
      const std::string name = which->name();
      const auto found = std::find(names.begin(), names.end(), name);
      if (found == names.end())
      {
        which->fail("no such constraint" + suggest(name, names));
      }
      change.constraint = static_cast<int>(found - names.begin());
      if (contacts.manages(change.constraint))
      {
        which->fail("a contact or friction switches this constraint; allowed: other constraints");
      }
      change.active = item.at("active").boolean();
    }
    else
    {
      if (item.has("active"))
      {
        item.at("active").fail("allowed only with switch");
      }
      const System & system = constraints.system();
      change.impulse.setZero(system.speed_count());
      for (const auto & [speed, value] : item.at("impulse").entries())
      {
        const std::vector<std::string> & speeds = system.speed_names();
        const auto found = std::find(speeds.begin(), speeds.end(), speed);
        if (found == speeds.end())
        {
          value.fail_here("no such speed" + suggest(speed, speeds));
        }
        change.impulse(found - speeds.begin()) = value.number();
      }
    }
    changes.push_back(std::move(change));
  }
  return changes;
}

}  // namespace constrained_dynamics
