// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <algorithm>
#include <set>
#include <utility>

#include "constrained_dynamics/constraints/compliant_row.hpp"
#include "constrained_dynamics/scenario/scenario_types.hpp"
#include "scenario/scenario_contacts.hpp"
#include "scenario/scenario_keys.hpp"
#include "scenario/scenario_system.hpp"

namespace constrained_dynamics
{

namespace
{

using ConstraintPointer = std::shared_ptr<const Constraint>;

const ConstraintDescription & find_type(const ScenarioReader & item)
{
  if (!item.node().is_map())
  {
    item.fail("allowed: a map with the keys name, type, …");
  }
  const ScenarioReader type = item.at("type");
  const std::vector<std::string> types = constraint_types();
  const auto found = std::find(types.begin(), types.end(), type.name());
  if (found == types.end())
  {
    type.fail("unknown type" + suggest(type.name(), types));
  }
  return scenario_constraint_types()[static_cast<std::size_t>(found - types.begin())];
}

bool is_contact(const ScenarioReader & item) { return item.at("type").name() == "contact"; }

/// Friction that acts on the rows of another item.
struct Pending
{
  ScenarioReader rows;
  std::size_t friction;
};

/// Builds the list of constraints, and the contacts and frictions among them.
class ConstraintBuilder
{
public:
  ConstraintBuilder(const System & system, std::vector<bool> & active, ScenarioContacts & contacts)
  : system_(system), active_(active), contacts_(contacts)
  {
  }

  void add(const ScenarioReader & item)
  {
    std::vector<std::string> more_keys = contact_keys();
    if (find_type(item).type != "contact")
    {
      more_keys = {"friction", "law"};
    }
    more_keys.insert(more_keys.end(), {"active", "unilateral"});
    make_at(item, [&] { add_built(item, build_constraint(item, system_, more_keys)); });
  }

  std::vector<ConstraintPointer> finish()
  {
    std::vector<std::string> names;
    for (const ConstraintPointer & constraint : result_)
    {
      names.push_back(constraint->name());
    }
    for (const Pending & pending : pending_)
    {
      const std::string name = pending.rows.name();
      const auto found = std::find(names.begin(), names.end(), name);
      if (found == names.end())
      {
        pending.rows.fail("no such constraint" + suggest(name, names));
      }
      const auto index = static_cast<std::size_t>(found - names.begin());
      contacts_.frictions[pending.friction].constraint = static_cast<int>(index);
      active_[index] = false;
    }
    return std::move(result_);
  }

private:
  /// Adds the constraint of an item: as a contact, compliant, with friction, or as it is.
  void add_built(const ScenarioReader & item, ConstraintPointer constraint)
  {
    if (is_contact(item))
    {
      if (const auto unilateral = item.find("unilateral"))
      {
        unilateral->fail_here("not needed: a contact is always unilateral");
      }
      add_contact(item, item, std::move(constraint), -1.0);
    }
    else if (const auto unilateral = item.find("unilateral"))
    {
      std::vector<std::string> keys = contact_keys();
      keys.emplace_back("side");
      unilateral->allow_keys(keys);
      const auto side = unilateral->find("side");
      add_contact(
        item, *unilateral, std::move(constraint),
        side && side->choice({"below", "above"}) == "above" ? -1.0 : 1.0);
    }
    else if (const auto law = item.find("law"))
    {
      push(
        item, std::make_shared<const CompliantRow>(constraint, read_law(*law)),
        item.boolean_or("active", true));
    }
    else if (const auto friction = item.find("friction"))
    {
      add_friction(item, *friction, std::move(constraint));
    }
    else
    {
      push(item, std::move(constraint), item.boolean_or("active", true));
    }
  }

  /// Dry friction up to a constant force on velocity rows.
  void add_friction(
    const ScenarioReader & item, const ScenarioReader & friction, ConstraintPointer constraint)
  {
    DryFriction dry = read_friction(friction, false, {"coordinate"});
    dry.constraint = static_cast<int>(result_.size());
    const auto coordinate =
      friction.node().is_map() ? friction.find("coordinate") : std::optional<ScenarioReader>();
    if (coordinate)
    {
      check_coordinate(*coordinate, coordinate->name(), system_);
      dry.coordinate = system_.coordinate_index(coordinate->name());
    }
    contacts_.frictions.push_back(dry);
    push(item, std::move(constraint), false);
  }

  /// A unilateral constraint. @param keys where its keys are.
  void add_contact(
    const ScenarioReader & item, const ScenarioReader & keys, ConstraintPointer constraint,
    double side)
  {
    std::optional<RowLaw> law;
    Contact contact = read_contact(keys, law);
    contact.side = side;
    contact.constraint = static_cast<int>(result_.size());
    const std::string name = constraint->name();
    if (law)
    {
      constraint = std::make_shared<const CompliantRow>(constraint, *law, side);
    }
    push(item, std::move(constraint), false);
    const int index = static_cast<int>(contacts_.contacts.size());
    contacts_.contacts.push_back(contact);
    const auto friction = keys.find("friction");
    if (!friction)
    {
      return;
    }
    const bool has_tangents = is_contact(item);
    DryFriction dry = read_friction(
      *friction, true,
      has_tangents ? std::vector<std::string>{} : std::vector<std::string>{"rows"});
    dry.contact = index;
    if (has_tangents)
    {
      dry.constraint = static_cast<int>(result_.size());
      push(item, make_contact_tangents(item, system_, name + "_friction"), false);
    }
    else
    {
      if (!friction->node().is_map() || !friction->has("rows"))
      {
        friction->fail_here(
          "the key 'rows' is missing: the constraint with the velocity rows of the slip");
      }
      pending_.push_back({friction->at("rows"), contacts_.frictions.size()});
    }
    contacts_.frictions.push_back(dry);
  }

  void push(const ScenarioReader & item, ConstraintPointer constraint, bool active)
  {
    if (!names_.insert(constraint->name()).second)
    {
      item.at("name").fail("the name is taken by another constraint");
    }
    active_.push_back(active);
    result_.push_back(std::move(constraint));
  }

  const System & system_;
  std::vector<bool> & active_;
  ScenarioContacts & contacts_;
  std::vector<ConstraintPointer> result_;
  std::vector<Pending> pending_;
  std::set<std::string> names_;
};

}  // namespace

std::vector<std::string> constraint_types()
{
  std::vector<std::string> types;
  for (const ConstraintDescription & description : scenario_constraint_types())
  {
    types.push_back(description.type);
  }
  return types;
}

ConstraintPointer build_constraint(
  const ScenarioReader & reader, const System & system, const std::vector<std::string> & more_keys)
{
  const ConstraintDescription & description = find_type(reader);
  std::vector<std::string> keys = {"name", "type"};
  keys.insert(keys.end(), more_keys.begin(), more_keys.end());
  reader.allow_keys(key_names(description.keys, keys));
  const std::string name = reader.at("name").name();
  const KeyValues values = read_keys(reader, description.keys, system);
  return make_at(
    reader,
    [&] {
      return description.make({name, system, values, reader.scope().names});
    });
}

std::vector<ConstraintPointer> build_constraints(
  const ScenarioReader & reader, const System & system, std::vector<bool> & active,
  ScenarioContacts & contacts)
{
  ConstraintBuilder builder(system, active, contacts);
  for (const ScenarioReader & item : reader.items())
  {
    builder.add(item);
  }
  return builder.finish();
}

}  // namespace constrained_dynamics
