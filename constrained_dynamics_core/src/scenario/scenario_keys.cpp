// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "scenario/scenario_keys.hpp"

#include "names.hpp"

namespace constrained_dynamics
{

namespace
{

NamedNumbers read_numbers_of_coordinates(const ScenarioReader & reader, const System & system)
{
  NamedNumbers numbers;
  for (const auto & [coordinate, number] : reader.entries())
  {
    check_coordinate(number, coordinate, system);
    numbers.emplace_back(coordinate, number.number());
  }
  return numbers;
}

NamedNumbers read_coordinates(const ScenarioReader & reader, const System & system)
{
  if (reader.node().is_map())
  {
    return read_numbers_of_coordinates(reader, system);
  }
  NamedNumbers zeros;
  for (const ScenarioReader & coordinate : reader.items())
  {
    check_coordinate(coordinate, coordinate.name(), system);
    zeros.emplace_back(coordinate.name(), 0.0);
  }
  return zeros;
}

NamedFormulas read_formula_map(const ScenarioReader & reader)
{
  NamedFormulas formulas;
  for (const auto & [label, formula] : reader.entries())
  {
    formulas.emplace_back(label, formula.formula());
  }
  return formulas;
}

NamedFormulas read_named_formulas(const ScenarioReader & reader)
{
  if (reader.node().is_map())
  {
    return read_formula_map(reader);
  }
  if (!reader.node().is_list())
  {
    reader.fail("allowed: a list of formulas, or a map label: formula");
  }
  NamedFormulas formulas;
  for (const ScenarioReader & formula : reader.items())
  {
    formulas.emplace_back("", formula.formula());
  }
  return formulas;
}

NamedFormulas read_formula_or_map(
  const ScenarioReader & reader, const std::vector<std::string> & labels)
{
  if (reader.node().is_map())
  {
    reader.allow_keys(labels);
    return read_formula_map(reader);
  }
  return {{"", reader.formula()}};
}

/// A value that names nothing of a system.
KeyValue read_plain_value(const ScenarioReader & reader, const KeyDescription & key)
{
  switch (key.kind)
  {
    case KeyKind::kName:
    case KeyKind::kFrame:
      return reader.name();
    case KeyKind::kNumber:
      return reader.number();
    case KeyKind::kBoolean:
      return reader.boolean();
    case KeyKind::kChoice:
      return reader.choice(key.words);
    case KeyKind::kVector:
      return reader.vector();
    case KeyKind::kNames:
      return reader.names();
    case KeyKind::kFormula:
      return reader.formula();
    case KeyKind::kFormulas:
      return read_named_formulas(reader);
    case KeyKind::kFormulaOrMap:
      return read_formula_or_map(reader, key.words);
    default:
      reader.fail_here("a key of unknown kind");
  }
}

KeyValue read_value(
  const ScenarioReader & reader, const KeyDescription & key, const System & system)
{
  switch (key.kind)
  {
    case KeyKind::kFrame:
      return read_frame(reader, system);
    case KeyKind::kCoordinate:
      check_coordinate(reader, reader.name(), system);
      return reader.name();
    case KeyKind::kNumbers:
      return read_numbers_of_coordinates(reader, system);
    case KeyKind::kNumbersOrNames:
      return read_coordinates(reader, system);
    default:
      return read_plain_value(reader, key);
  }
}

/// @param read a value of a key.
template <class Read>
KeyValues read_values(
  const ScenarioReader & item, const std::vector<KeyDescription> & keys, const Read & read)
{
  KeyValues values;
  for (const KeyDescription & key : keys)
  {
    const auto reader = key.required ? item.at(key.name) : item.find(key.name);
    if (!reader)
    {
      continue;
    }
    KeyValue value = read(*reader, key);
    const std::string problem = key_problem(key, value);
    if (!problem.empty())
    {
      reader->fail(problem);
    }
    values.give(key, std::move(value));
  }
  values.complete(keys);
  return values;
}

}  // namespace

std::vector<std::string> key_names(
  const std::vector<KeyDescription> & keys, const std::vector<std::string> & more)
{
  std::vector<std::string> names;
  for (const KeyDescription & key : keys)
  {
    names.push_back(key.name);
  }
  names.insert(names.end(), more.begin(), more.end());
  return names;
}

KeyValues read_keys(
  const ScenarioReader & item, const std::vector<KeyDescription> & keys, const System & system)
{
  return read_values(
    item, keys,
    [&](const ScenarioReader & reader, const KeyDescription & key)
    { return read_value(reader, key, system); });
}

KeyValues read_keys(const ScenarioReader & item, const std::vector<KeyDescription> & keys)
{
  return read_values(item, keys, read_plain_value);
}

std::string read_frame(const ScenarioReader & reader, const System & system)
{
  const std::string name = reader.name();
  const std::vector<std::string> & frames = system.frame_names();
  if (frames.empty())
  {
    reader.fail(
      "a textbook system has no frames; allowed: constraints of type formula, "
      "joint_coupling or prescribed_motion of a coordinate");
  }
  if (!contains(frames, name))
  {
    reader.fail("no such frame" + suggest(name, frames));
  }
  return name;
}

void check_coordinate(
  const ScenarioReader & place, const std::string & coordinate, const System & system)
{
  const std::vector<std::string> & names = system.coordinate_names();
  if (!contains(names, coordinate))
  {
    place.fail_here("no coordinate '" + coordinate + "'" + suggest(coordinate, names));
  }
}

}  // namespace constrained_dynamics
