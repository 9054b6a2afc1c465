// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "scenario/scenario_servo.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "constants.hpp"
#include "constrained_dynamics/constraints/constraint_description.hpp"
#include "constrained_dynamics/servo/servo_description.hpp"
#include "scenario/scenario_keys.hpp"
#include "scenario/scenario_system.hpp"

namespace constrained_dynamics
{

namespace
{

using ServoPointer = std::shared_ptr<const ServoConstraint>;

/// Keys that items of all types have.
const std::vector<std::string> & pursuit_keys()
{
  static const std::vector<std::string> keys = {
    "reference",     "smooth_start",  "priority",      "weight",          "stiffness",
    "damping_ratio", "velocity_gain", "position_gain", "first_order_gain"};
  return keys;
}

// ---- references --------------------------------------------------------------------------------

/// A number, or a list of them.
Eigen::VectorXd read_numbers(const ScenarioReader & reader)
{
  if (!reader.node().is_list())
  {
    return Eigen::VectorXd::Constant(1, reader.number());
  }
  const std::vector<ScenarioReader> items = reader.items();
  Eigen::VectorXd result(static_cast<Eigen::Index>(items.size()));
  std::transform(
    items.begin(), items.end(), result.begin(),
    [](const ScenarioReader & item) { return item.number(); });
  return result;
}

/// The same, where one number stands for all, with a default for a missing key.
Eigen::VectorXd read_numbers_or(
  const ScenarioReader & reader, const std::string & key, Eigen::Index count, double fallback)
{
  const auto found = reader.find(key);
  if (!found || !found->node().is_list())
  {
    return Eigen::VectorXd::Constant(count, found ? found->number() : fallback);
  }
  return read_numbers(*found);
}

/// Key `value` or `values`.
ScenarioReader value_or_values(const ScenarioReader & reader)
{
  if (reader.has("value") == reader.has("values"))
  {
    reader.fail_here("allowed: either 'value' or 'values'");
  }
  return reader.at(reader.has("value") ? "value" : "values");
}

std::vector<std::string> read_formula_list(const ScenarioReader & reader)
{
  if (!reader.node().is_list())
  {
    return {reader.formula()};
  }
  std::vector<std::string> result;
  for (const ScenarioReader & item : reader.items())
  {
    result.push_back(item.formula());
  }
  return result;
}

PathTiming read_timing(const ScenarioReader & reader)
{
  constexpr double kRamp = 0.5;  // [s], unless an acceleration is given
  PathTiming timing;
  timing.speed = reader.at("speed").positive();
  timing.acceleration = reader.positive_or("acceleration", 1.5 * timing.speed / kRamp);
  timing.begin = reader.number_or("begin", 0.0);
  return timing;
}

ReferencePointer read_constant(const ScenarioReader & reader, const ServoConstraint & servo)
{
  return make_constant_reference(servo, read_numbers(value_or_values(reader)));
}

ReferencePointer read_formula(const ScenarioReader & reader, const ServoConstraint & servo)
{
  return make_formula_reference(
    servo, read_formula_list(value_or_values(reader)), reader.scope().names);
}

ReferencePointer read_minimum_jerk(const ScenarioReader & reader, const ServoConstraint & servo)
{
  const Eigen::VectorXd to = read_numbers(reader.at("to"));
  const double duration = reader.at("duration").positive();
  if (const auto from = reader.find("from"))
  {
    return make_minimum_jerk(
      servo, read_numbers(*from), to, reader.number_or("begin", 0.0), duration);
  }
  if (reader.has("begin"))
  {
    reader.at("begin").fail_here(
      "allowed only with 'from'; without it the motion begins at the initial time");
  }
  return make_constant_reference(servo, to);  // read_smooth_start makes the motion
}

ReferencePointer read_oscillation(
  const ScenarioReader & reader, const ServoConstraint & servo, double more_phase)
{
  Oscillation oscillation;
  oscillation.amplitude = read_numbers(reader.at("amplitude"));
  const Eigen::Index count = oscillation.amplitude.size();
  reader.at("rate");
  oscillation.rate = read_numbers_or(reader, "rate", count, 0.0);
  oscillation.phase = read_numbers_or(reader, "phase", count, 0.0).array() + more_phase;
  oscillation.centre = read_numbers_or(reader, "centre", count, 0.0);
  return make_lissajous(servo, oscillation);
}

ReferencePointer read_lissajous(const ScenarioReader & reader, const ServoConstraint & servo)
{
  return read_oscillation(reader, servo, 0.0);
}

ReferencePointer read_cosine(const ScenarioReader & reader, const ServoConstraint & servo)
{
  return read_oscillation(reader, servo, 0.5 * kPi);
}

ReferencePointer read_polyline(const ScenarioReader & reader, const ServoConstraint & servo)
{
  std::vector<Eigen::VectorXd> points;
  for (const ScenarioReader & point : reader.at("points").items())
  {
    points.push_back(read_numbers(point));
  }
  const bool is_pose = ReferenceLayout(servo).is_pose();
  double shortest = std::numeric_limits<double>::max();
  for (std::size_t i = 0; i + 1 < points.size(); ++i)
  {
    if (points[i].size() == points[i + 1].size())
    {
      const Eigen::VectorXd way = points[i + 1] - points[i];
      const double length =
        is_pose ? way.head(std::min<Eigen::Index>(3, way.size())).norm() : way.norm();
      shortest = length > 0.0 ? std::min(shortest, length) : shortest;
    }
  }
  return make_polyline(
    servo, points, reader.positive_or("blend", shortest / 4.0), read_timing(reader));
}

ReferencePointer read_curve(const ScenarioReader & reader, const ServoConstraint & servo)
{
  return make_curve(
    servo, read_formula_list(value_or_values(reader)), reader.at("from").number(),
    reader.at("to").number(), read_timing(reader), reader.scope().names);
}

/// How a kind of reference is made; a new kind is one line in the table.
struct ReferenceRecipe
{
  std::string kind;
  std::vector<std::string> keys;  // besides kind
  std::function<ReferencePointer(const ScenarioReader &, const ServoConstraint &)> make;
};

const std::vector<ReferenceRecipe> & reference_recipes()
{
  static const std::vector<ReferenceRecipe> table = {
    {"constant", {"value", "values"}, read_constant},
    {"formula", {"value", "values"}, read_formula},
    {"minimum_jerk", {"from", "to", "begin", "duration"}, read_minimum_jerk},
    {"cosine", {"amplitude", "rate", "phase", "centre"}, read_cosine},
    {"lissajous", {"amplitude", "rate", "phase", "centre"}, read_lissajous},
    {"polyline", {"points", "blend", "speed", "acceleration", "begin"}, read_polyline},
    {"curve", {"value", "values", "from", "to", "speed", "acceleration", "begin"}, read_curve},
  };
  return table;
}

/// Whether a constraint states no desired value itself: as a servo task without a reference it
/// holds the value found at the start.
bool holds(const ScenarioReader & item)
{
  const std::string type = item.at("type").name();
  const auto joints = item.find("joints");
  return (type == "joint" && !item.has("value") && !(joints && joints->node().is_map())) ||
         (type == "centre_of_mass" && !item.has("position")) ||
         ((type == "energy" || type == "kinetic_energy") && !item.has("value"));
}

/// A type of servo task that is not a constraint.
ServoPointer read_task(
  const ScenarioReader & item, const ConstraintSet & passive,
  const ServoTaskDescription & description)
{
  std::vector<std::string> keys = pursuit_keys();
  keys.insert(keys.end(), {"name", "type"});
  item.allow_keys(key_names(description.keys, keys));
  const std::string name = item.at("name").name();
  const KeyValues values = read_keys(item, description.keys, passive.system());
  return make_at(item, [&] { return description.make({name, passive, values}); });
}

}  // namespace

ServoPointer read_servo_constraint(const ScenarioReader & item, const ConstraintSet & passive)
{
  if (!item.node().is_map())
  {
    item.fail("allowed: a map with the keys name, type, …");
  }
  const ScenarioReader type = item.at("type");
  std::vector<std::string> types;
  for (const ServoTaskDescription & description : servo_task_descriptions())
  {
    if (type.name() == description.type)
    {
      return read_task(item, passive, description);
    }
    types.push_back(description.type);
  }
  for (const ConstraintDescription & description : constraint_descriptions())
  {
    types.push_back(description.type);
  }
  if (std::find(types.begin(), types.end(), type.name()) == types.end())
  {
    type.fail("unknown type" + suggest(type.name(), types));
  }
  return std::make_shared<const RowServo>(
    build_constraint(item, passive.system(), pursuit_keys()),
    holds(item) ? StartReference::kMeasured : StartReference::kOwn);
}

ReferencePointer read_reference(const ScenarioReader & item, const ServoConstraint & servo)
{
  const auto reference = item.find("reference");
  if (!reference)
  {
    if (!servo.force_rows().empty())
    {
      item.at("reference");  // throws: the key is missing
    }
    return servo.start_reference() == StartReference::kMeasured
             ? nullptr
             : make_constant_reference(
                 servo, Eigen::VectorXd::Zero(ReferenceLayout(servo).value_count()));
  }
  if (!reference->node().is_map())
  {
    reference->fail("allowed: a map with the key kind, …");
  }
  std::vector<std::string> kinds;
  for (const ReferenceRecipe & recipe : reference_recipes())
  {
    kinds.push_back(recipe.kind);
  }
  const std::string kind = reference->at("kind").choice(kinds);
  const auto found = std::find(kinds.begin(), kinds.end(), kind);
  const ReferenceRecipe & recipe =
    reference_recipes()[static_cast<std::size_t>(found - kinds.begin())];
  std::vector<std::string> keys = recipe.keys;
  keys.emplace_back("kind");
  reference->allow_keys(keys);
  try
  {
    return recipe.make(*reference, servo);
  }
  catch (const ScenarioError &)
  {
    throw;  // names its place already
  }
  catch (const std::exception & error)
  {
    reference->fail_here(error.what());
  }
}

double read_smooth_start(const ScenarioReader & item)
{
  const auto own = item.find("smooth_start");
  const auto reference = item.find("reference");
  const bool is_motion =
    reference && reference->at("kind").name() == "minimum_jerk" && !reference->has("from");
  if (is_motion && own)
  {
    own->fail_here(
      "not needed: a minimum-jerk motion without 'from' already starts at the robot's position");
  }
  return is_motion ? reference->at("duration").positive() : own ? own->nonnegative() : 0.0;
}

}  // namespace constrained_dynamics
