// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <algorithm>
#include <exception>
#include <utility>

#include "scenario/scenario_multipliers.hpp"
#include "scenario/scenario_system_parts.hpp"

namespace constrained_dynamics
{

namespace
{

std::vector<NamedFormula> read_formulas(const ScenarioReader & reader)
{
  std::vector<NamedFormula> result;
  for (const auto & [name, formula] : reader.entries())
  {
    result.push_back({name, formula.formula()});
  }
  return result;
}

/// Coordinates named in initial.q; a value that is not a number is refused later.
Eigen::VectorXd read_regular_coordinates(
  const std::vector<std::string> & coordinates, const std::optional<ScenarioReader> & initial)
{
  if (!initial || !initial->node().is_map() || !initial->has("q"))
  {
    return {};
  }
  const ScenarioReader q = initial->at("q");
  Eigen::VectorXd result = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(coordinates.size()));
  for (const auto & [name, value] : q.entries())
  {
    const auto found = std::find(coordinates.begin(), coordinates.end(), name);
    if (found != coordinates.end())
    {
      result(found - coordinates.begin()) = value.number();
    }
  }
  return result;
}

/// Refuses a textbook system at the key that the message begins with.
[[noreturn]] void fail_in_place(const ScenarioReader & reader, const std::string & message)
{
  static const std::vector<std::pair<std::string, std::string>> keys = {
    {"kinetic", "kinetic"}, {"potential", "potential"},    {"speed", "speeds"},
    {"force on", "force"},  {"coordinate", "coordinates"}, {"input", "inputs"}};
  for (const auto & [beginning, key] : keys)
  {
    if (message.compare(0, beginning.size(), beginning) == 0 && reader.has(key))
    {
      const ScenarioReader place = reader.at(key);
      const std::size_t begin = message.find('\'');
      const std::size_t end = message.find('\'', begin == std::string::npos ? begin : begin + 1);
      const bool has_name = place.node().is_map() && end != std::string::npos;
      const auto named =
        has_name ? place.find(message.substr(begin + 1, end - begin - 1)) : std::nullopt;
      (named ? *named : place).fail_here(message);
    }
  }
  reader.fail_here(message);
}

}  // namespace

const std::vector<std::string> & textbook_keys()
{
  static const std::vector<std::string> keys = {"parameters", "definitions", "coordinates",
                                                "kinetic",    "potential",   "speeds",
                                                "force",      "inputs",      "control_states"};
  return keys;
}

ControlStates read_control_states(const ScenarioReader & reader)
{
  ControlStates states;
  if (const auto section = reader.find("control_states"))
  {
    section->allow_keys({"first", "second"});
    const auto names = [&](const char * key)
    {
      const auto list = section->find(key);
      return list ? list->names() : std::vector<std::string>();
    };
    states.first = names("first");
    states.second = names("second");
  }
  return states;
}

/// Turns controls into states where the scenario asks for it.
void wrap_control_states(
  const ScenarioReader & reader, const ControlStates & states, ScenarioSystem & system)
{
  if (states.first.empty() && states.second.empty())
  {
    return;
  }
  try
  {
    system.system = std::make_shared<const ControlStateSystem>(system.system, states);
  }
  catch (const std::exception & error)
  {
    reader.at("control_states").fail_here(error.what());
  }
}

ScenarioSystem build_textbook(
  const ScenarioReader & reader, const std::optional<ScenarioReader> & initial)
{
  constexpr std::size_t kMostCoordinates = 500;
  reader.allow_keys(textbook_keys());
  const ScenarioScope & scope = reader.scope();
  AnalyticDescription description;
  description.coordinates = reader.at("coordinates").names();
  if (description.coordinates.empty() || description.coordinates.size() > kMostCoordinates)
  {
    reader.at("coordinates")
      .fail("allowed: 1 to " + std::to_string(kMostCoordinates) + " coordinates");
  }
  description.parameters = scope.names.parameters;
  for (const auto & definition : scope.names.definitions)
  {
    description.definitions.push_back({definition.first, definition.second});
  }
  description.kinetic = reader.at("kinetic").formula();
  if (const auto potential = reader.find("potential"))
  {
    description.potential = potential->formula();
  }
  if (const auto speeds = reader.find("speeds"))
  {
    description.speeds = read_formulas(*speeds);
  }
  ScenarioSystem result;
  if (const auto force = reader.find("force"))
  {
    for (const auto & [name, formula] : force->entries())
    {
      if (calls_lambda(formula.formula()))
      {
        result.multiplier_forces.push_back({formula, name, formula.formula()});
      }
      else
      {
        description.force.push_back({name, formula.formula()});
      }
    }
  }
  if (const auto inputs = reader.find("inputs"))
  {
    for (const auto & [name, coefficients] : inputs->entries())
    {
      description.inputs.push_back({name, read_formulas(coefficients)});
    }
  }
  const ControlStates states = read_control_states(reader);
  add_control_coordinates(states.second, description);
  description.regular_coordinates = read_regular_coordinates(description.coordinates, initial);
  try
  {
    const auto system = make_analytic_system(description);
    result.textbook = system.get();
    result.system = system;
  }
  catch (const std::exception & error)
  {
    fail_in_place(reader, error.what());
  }
  wrap_control_states(reader, states, result);
  return result;
}

}  // namespace constrained_dynamics
