#include <algorithm>
#include <exception>
#include <functional>
#include <set>
#include <utility>

#include "constrained_dynamics/constraints/distance.hpp"
#include "constrained_dynamics/constraints/formula_constraint.hpp"
#include "constrained_dynamics/constraints/frame_coincidence.hpp"
#include "constrained_dynamics/constraints/joint_coupling.hpp"
#include "constrained_dynamics/constraints/knife_edge.hpp"
#include "constrained_dynamics/constraints/point_on_line.hpp"
#include "constrained_dynamics/constraints/point_on_plane.hpp"
#include "constrained_dynamics/constraints/prescribed_motion.hpp"
#include "constrained_dynamics/constraints/rolling.hpp"
#include "scenario_system.hpp"

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
    {"prescribed_motion", {"coordinate", "frame_a", "frame_b", "motion"}, make_prescribed_motion},
    {"knife_edge", {"frame_a", "frame_b", "axis"}, make_knife_edge},
    {"rolling",
     {"frame_a", "frame_b", "radius", "normal", "axis", "semi_axes", "keep_contact"},
     make_rolling},
    {"formula", {"level", "rows"}, make_formula},
  };
  return table;
}

ConstraintPointer build_one(const ScenarioReader & reader, const System & system)
{
  if (!reader.node().is_map())
  {
    reader.fail("allowed: a map with the keys name, type, …");
  }
  const ScenarioReader type = reader.at("type");
  std::vector<std::string> types;
  for (const Recipe & recipe : recipes())
  {
    types.push_back(recipe.type);
  }
  const auto found = std::find(types.begin(), types.end(), type.name());
  if (found == types.end())
  {
    type.fail("unknown type" + suggest(type.name(), types));
  }
  const Recipe & recipe = recipes()[static_cast<std::size_t>(found - types.begin())];
  std::vector<std::string> keys = {"name", "type", "active"};
  keys.insert(keys.end(), recipe.keys.begin(), recipe.keys.end());
  reader.allow_keys(keys);
  return recipe.make({reader, system, reader.at("name").name()});
}

}  // namespace

std::vector<ConstraintPointer> build_constraints(
  const ScenarioReader & reader, const System & system, std::vector<bool> & active)
{
  std::vector<ConstraintPointer> result;
  std::set<std::string> names;
  for (const ScenarioReader & item : reader.items())
  {
    ConstraintPointer constraint;
    try
    {
      constraint = build_one(item, system);
    }
    catch (const ScenarioError &)
    {
      throw;  // says its place already
    }
    catch (const std::exception & error)
    {
      item.fail_here(error.what());
    }
    if (!names.insert(constraint->name()).second)
    {
      item.at("name").fail("the name is taken by another constraint");
    }
    active.push_back(item.boolean_or("active", true));
    result.push_back(std::move(constraint));
  }
  return result;
}

}  // namespace constrained_dynamics
