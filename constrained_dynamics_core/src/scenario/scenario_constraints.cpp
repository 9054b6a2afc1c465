// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <algorithm>
#include <exception>
#include <functional>
#include <set>
#include <utility>

#include "constrained_dynamics/constraints/centre_of_mass.hpp"
#include "constrained_dynamics/constraints/compliant_row.hpp"
#include "constrained_dynamics/constraints/contact_tangents.hpp"
#include "constrained_dynamics/constraints/distance.hpp"
#include "constrained_dynamics/constraints/energy.hpp"
#include "constrained_dynamics/constraints/formula_constraint.hpp"
#include "constrained_dynamics/constraints/frame_coincidence.hpp"
#include "constrained_dynamics/constraints/joint_coupling.hpp"
#include "constrained_dynamics/constraints/joint_position.hpp"
#include "constrained_dynamics/constraints/knife_edge.hpp"
#include "constrained_dynamics/constraints/point_on_line.hpp"
#include "constrained_dynamics/constraints/point_on_plane.hpp"
#include "constrained_dynamics/constraints/prescribed_motion.hpp"
#include "constrained_dynamics/constraints/rolling.hpp"
#include "scenario/scenario_contacts.hpp"
#include "scenario/scenario_system.hpp"

namespace constrained_dynamics
{

namespace
{

using ConstraintPointer = std::shared_ptr<const Constraint>;

/// One item of the list, with what a factory needs.
struct Item
{
  ScenarioReader reader;
  const System & system;
  std::string name;

  /// Refuses a frame that does not exist.
  std::string frame(const std::string & key) const
  {
    const ScenarioReader frame = reader.at(key);
    const std::string text = frame.name();
    const std::vector<std::string> & frames = system.frame_names();
    if (frames.empty())
    {
      frame.fail(
        "a textbook system has no frames; allowed: constraints of type formula, "
        "joint_coupling or prescribed_motion of a coordinate");
    }
    if (std::find(frames.begin(), frames.end(), text) == frames.end())
    {
      frame.fail("no such frame" + suggest(text, frames));
    }
    return text;
  }
  std::string frame_a() const { return frame("frame_a"); }
  std::string frame_b() const { return reader.has("frame_b") ? frame("frame_b") : "world"; }
  /// Refuses a coordinate that does not exist.
  void check_coordinate(const ScenarioReader & place, const std::string & coordinate) const
  {
    const std::vector<std::string> & names = system.coordinate_names();
    if (std::find(names.begin(), names.end(), coordinate) == names.end())
    {
      place.fail_here("no coordinate '" + coordinate + "'" + suggest(coordinate, names));
    }
  }
  const FormulaNames & names() const { return reader.scope().names; }
};

ConstraintPointer make_frame_coincidence(const Item & item)
{
  const auto rows = item.reader.find("rows");
  return std::make_shared<const FrameCoincidence>(
    item.name, item.system, item.frame_a(), item.frame_b(),
    rows ? rows->names() : FrameCoincidence::all_rows());
}

ConstraintPointer make_point_on_plane(const Item & item)
{
  return std::make_shared<const PointOnPlane>(
    item.name, item.system, item.frame_a(), item.frame_b(), item.reader.at("normal").vector(),
    item.reader.number_or("offset", 0.0));
}

ConstraintPointer make_point_on_line(const Item & item)
{
  return std::make_shared<const PointOnLine>(
    item.name, item.system, item.frame_a(), item.frame_b(), item.reader.at("direction").vector());
}

ConstraintPointer make_distance(const Item & item)
{
  return std::make_shared<const Distance>(
    item.name, item.system, item.frame_a(), item.frame_b(), item.reader.at("length").positive());
}

ConstraintPointer make_joint_coupling(const Item & item)
{
  std::vector<CouplingTerm> terms;
  for (const auto & [coordinate, coefficient] : item.reader.at("terms").entries())
  {
    item.check_coordinate(coefficient, coordinate);
    terms.push_back({coordinate, coefficient.number()});
  }
  return std::make_shared<const JointCoupling>(
    item.name, item.system, terms, item.reader.number_or("offset", 0.0));
}

/// `joint: name` with `value`, or `joints`: a list of names or a map name: value.
ConstraintPointer make_joint(const Item & item)
{
  std::vector<CoordinateValue> coordinates;
  const auto add = [&](const ScenarioReader & place, const std::string & coordinate, double value)
  {
    item.check_coordinate(place, coordinate);
    coordinates.push_back({coordinate, value});
  };
  if (item.reader.has("joint") == item.reader.has("joints"))
  {
    item.reader.fail_here("allowed: either 'joint' or 'joints'");
  }
  if (const auto joint = item.reader.find("joint"))
  {
    add(*joint, joint->name(), item.reader.number_or("value", 0.0));
    return std::make_shared<const JointPosition>(item.name, item.system, coordinates);
  }
  if (item.reader.has("value"))
  {
    item.reader.at("value").fail_here("belongs to 'joint'; write joints: {name: value, …}");
  }
  const ScenarioReader joints = item.reader.at("joints");
  if (joints.node().is_map())
  {
    for (const auto & [coordinate, value] : joints.entries())
    {
      add(value, coordinate, value.number());
    }
  }
  else
  {
    for (const ScenarioReader & one : joints.items())
    {
      add(one, one.name(), 0.0);
    }
  }
  return std::make_shared<const JointPosition>(item.name, item.system, coordinates);
}

ConstraintPointer make_centre_of_mass(const Item & item)
{
  const auto rows = item.reader.find("rows");
  return std::make_shared<const CentreOfMass>(
    item.name, item.system, rows ? rows->names() : CentreOfMass::all_rows(),
    item.reader.vector_or("position", Eigen::Vector3d::Zero()));
}

ConstraintPointer make_energy(const Item & item)
{
  const bool kinetic = item.reader.at("type").name() == to_string(EnergyKind::kKinetic);
  return make_energy_constraint(
    item.name, item.system, kinetic ? EnergyKind::kKinetic : EnergyKind::kTotal,
    item.reader.number_or("value", 0.0));
}

ConstraintPointer make_prescribed_motion(const Item & item)
{
  const ScenarioReader motion = item.reader.at("motion");
  if (item.reader.has("coordinate"))
  {
    if (item.reader.has("frame_a") || item.reader.has("frame_b"))
    {
      item.reader.fail_here("allowed: either 'coordinate' or 'frame_a' (and 'frame_b')");
    }
    const ScenarioReader coordinate = item.reader.at("coordinate");
    item.check_coordinate(coordinate, coordinate.name());
    return std::make_shared<const PrescribedCoordinate>(
      item.name, item.system, coordinate.name(), motion.formula(), item.names());
  }
  if (!item.reader.has("frame_a"))
  {
    item.reader.fail_here("the key 'coordinate' or 'frame_a' is missing");
  }
  motion.allow_keys({"x", "y", "z"});
  std::vector<PrescribedComponent> components;
  for (const auto & [axis, formula] : motion.entries())
  {
    components.push_back({axis, formula.formula()});
  }
  return std::make_shared<const PrescribedPosition>(
    item.name, item.system, item.frame_a(), item.frame_b(), components, item.names());
}

ConstraintPointer make_knife_edge(const Item & item)
{
  return std::make_shared<const KnifeEdge>(
    item.name, item.system, item.frame_a(), item.frame_b(), item.reader.at("axis").vector());
}

ConstraintPointer make_rolling(const Item & item)
{
  RollingGeometry geometry;
  if (const auto semi_axes = item.reader.find("semi_axes"))
  {
    geometry.semi_axes = semi_axes->vector();
    for (const char * other : {"radius", "axis"})
    {
      if (item.reader.has(other))
      {
        item.reader.at(other).fail_here("allowed: either semi_axes, or radius and axis");
      }
    }
  }
  else
  {
    geometry.radius = item.reader.at("radius").positive();
  }
  geometry.normal = item.reader.vector_or("normal", geometry.normal);
  if (const auto axis = item.reader.find("axis"))
  {
    geometry.axis = axis->vector();
  }
  geometry.keep_contact = item.reader.boolean_or("keep_contact", true);
  return std::make_shared<const Rolling>(
    item.name, item.system, item.frame_a(), item.frame_b(), geometry);
}

/// The normal row; its tangents follow in build_constraints.
ConstraintPointer make_contact(const Item & item)
{
  const double radius = item.reader.has("radius") ? item.reader.at("radius").nonnegative() : 0.0;
  return std::make_shared<const PointOnPlane>(
    item.name, item.system, item.frame_a(), item.frame_b(),
    item.reader.vector_or("normal", Eigen::Vector3d::UnitZ()),
    item.reader.number_or("offset", 0.0) + radius);
}

ConstraintPointer make_contact_tangents(const Item & item, const std::string & name)
{
  std::vector<Eigen::Vector3d> directions;
  if (const auto tangent = item.reader.find("tangent"))
  {
    directions.push_back(tangent->vector());
  }
  return std::make_shared<const ContactTangents>(
    name, item.system, item.frame_a(), item.frame_b(),
    item.reader.vector_or("normal", Eigen::Vector3d::UnitZ()),
    item.reader.has("radius") ? item.reader.at("radius").nonnegative() : 0.0, directions);
}

ConstraintPointer make_formula(const Item & item)
{
  static const std::vector<std::pair<std::string, RowLevel>> levels = {
    {"position", RowLevel::kPosition},
    {"velocity", RowLevel::kVelocity},
    {"acceleration", RowLevel::kAcceleration}};
  const std::string level =
    item.reader.at("level").choice({"position", "velocity", "acceleration"});
  const auto found = std::find_if(
    levels.begin(), levels.end(), [&](const auto & entry) { return entry.first == level; });
  std::vector<std::string> rows;
  std::vector<std::string> labels;
  const ScenarioReader reader = item.reader.at("rows");
  if (reader.node().is_map())
  {
    for (const auto & [label, formula] : reader.entries())
    {
      labels.push_back(label);
      rows.push_back(formula.formula());
    }
  }
  else if (reader.node().is_list())
  {
    for (const ScenarioReader & formula : reader.items())
    {
      rows.push_back(formula.formula());
    }
  }
  else
  {
    reader.fail("allowed: a list of formulas, or a map label: formula");
  }
  return std::make_shared<const FormulaConstraint>(
    item.name, item.system, found->second, rows, item.names(), labels);
}

/// How a type is made; a new type is one line in the table.
struct Recipe
{
  std::string type;
  std::vector<std::string> keys;  // besides name, type, active
  std::function<ConstraintPointer(const Item &)> make;
};

const std::vector<Recipe> & recipes()
{
  static const std::vector<Recipe> table = {
    {"frame_coincidence", {"frame_a", "frame_b", "rows"}, make_frame_coincidence},
    {"point_on_plane", {"frame_a", "frame_b", "normal", "offset"}, make_point_on_plane},
    {"point_on_line", {"frame_a", "frame_b", "direction"}, make_point_on_line},
    {"distance", {"frame_a", "frame_b", "length"}, make_distance},
    {"joint_coupling", {"terms", "offset"}, make_joint_coupling},
    {"joint", {"joint", "joints", "value"}, make_joint},
    {"centre_of_mass", {"rows", "position"}, make_centre_of_mass},
    {"energy", {"value"}, make_energy},
    {"kinetic_energy", {"value"}, make_energy},
    {"prescribed_motion", {"coordinate", "frame_a", "frame_b", "motion"}, make_prescribed_motion},
    {"knife_edge", {"frame_a", "frame_b", "axis"}, make_knife_edge},
    {"rolling",
     {"frame_a", "frame_b", "radius", "normal", "axis", "semi_axes", "keep_contact"},
     make_rolling},
    {"contact",
     {"frame_a", "frame_b", "normal", "offset", "radius", "tangent", "restitution", "tolerance",
      "rest_speed", "law", "adhesive", "force"},
     make_contact},
    {"formula", {"level", "rows"}, make_formula},
  };
  return table;
}

ConstraintPointer build_one(
  const ScenarioReader & reader, const System & system, const std::vector<std::string> & more_keys)
{
  if (!reader.node().is_map())
  {
    reader.fail("allowed: a map with the keys name, type, …");
  }
  const ScenarioReader type = reader.at("type");
  const std::vector<std::string> types = constraint_types();
  const auto found = std::find(types.begin(), types.end(), type.name());
  if (found == types.end())
  {
    type.fail("unknown type" + suggest(type.name(), types));
  }
  const Recipe & recipe = recipes()[static_cast<std::size_t>(found - types.begin())];
  std::vector<std::string> keys = {"name", "type"};
  keys.insert(keys.end(), more_keys.begin(), more_keys.end());
  keys.insert(keys.end(), recipe.keys.begin(), recipe.keys.end());
  reader.allow_keys(keys);
  return recipe.make({reader, system, reader.at("name").name()});
}

/// A friction whose rows are those of another item.
struct Pending
{
  ScenarioReader rows;
  std::size_t friction;
};

/// Builds the list and what comes and goes of it.
class ConstraintBuilder
{
public:
  ConstraintBuilder(const System & system, std::vector<bool> & active, ScenarioContacts & contacts)
  : system_(system), active_(active), contacts_(contacts)
  {
  }

  void add(const ScenarioReader & item)
  {
    ConstraintPointer constraint;
    try
    {
      constraint = build_one(item, system_, {"active", "unilateral", "friction", "law"});
      const bool is_contact = item.at("type").name() == "contact";
      if (is_contact && item.has("unilateral"))
      {
        item.at("unilateral").fail_here("a contact is unilateral already");
      }
      if (is_contact)
      {
        add_contact(item, item, constraint, -1.0);
        return;
      }
      if (const auto unilateral = item.find("unilateral"))
      {
        std::vector<std::string> keys = contact_keys();
        keys.emplace_back("side");
        unilateral->allow_keys(keys);
        const auto side = unilateral->find("side");
        add_contact(
          item, *unilateral, constraint,
          side && side->choice({"below", "above"}) == "above" ? -1.0 : 1.0);
        return;
      }
      if (const auto law = item.find("law"))
      {
        constraint = std::make_shared<const CompliantRow>(constraint, read_law(*law));
        push(item, constraint, item.boolean_or("active", true));
        return;
      }
      if (const auto friction = item.find("friction"))
      {
        DryFriction dry = read_friction(*friction, false, {"coordinate"});
        dry.constraint = static_cast<int>(result_.size());
        if (
          const auto coordinate =
            friction->node().is_map() ? friction->find("coordinate") : std::nullopt)
        {
          const Item checker{item, system_, constraint->name()};
          checker.check_coordinate(*coordinate, coordinate->name());
          dry.coordinate = system_.coordinate_index(coordinate->name());
        }
        contacts_.frictions.push_back(dry);
        push(item, constraint, false);
        return;
      }
    }
    catch (const ScenarioError &)
    {
      throw;  // says its place already
    }
    catch (const std::exception & error)
    {
      item.fail_here(error.what());
    }
    push(item, constraint, item.boolean_or("active", true));
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
    const bool has_tangents = item.at("type").name() == "contact";
    DryFriction dry = read_friction(
      *friction, true,
      has_tangents ? std::vector<std::string>{} : std::vector<std::string>{"rows"});
    dry.contact = index;
    if (has_tangents)
    {
      dry.constraint = static_cast<int>(result_.size());
      push(item, make_contact_tangents(Item{item, system_, name}, name + "_friction"), false);
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
  for (const Recipe & recipe : recipes())
  {
    types.push_back(recipe.type);
  }
  return types;
}

ConstraintPointer build_constraint(
  const ScenarioReader & reader, const System & system, const std::vector<std::string> & more_keys)
{
  return build_one(reader, system, more_keys);
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
