// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "scenario/scenario_reader.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <stdexcept>

namespace constrained_dynamics
{

namespace
{

/// A plain decimal number, as opposed to a formula.
std::optional<double> plain_number(const std::string & text)
{
  if (
    text.empty() || text.size() > 100 ||
    text.find_first_not_of("0123456789+-.eE") != std::string::npos)
  {
    return std::nullopt;
  }
  char * end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (end != text.c_str() + text.size())
  {
    return std::nullopt;
  }
  return value;
}

}  // namespace

std::string child_path(const std::string & path, const std::string & key)
{
  const std::string part = key.find('.') == std::string::npos ? key : "`" + key + "`";
  return path.empty() ? part : path + "." + part;
}

std::string item_path(const std::string & path, const ScenarioNode & item, std::size_t index)
{
  const ScenarioNode * name = item.is_map() ? item.find("name") : nullptr;
  return child_path(
    path, name != nullptr && name->is_scalar() && !name->text.empty() ? name->preview()
                                                                      : std::to_string(index));
}

double evaluate_formula(
  const FormulaContext & context, const std::string & formula,
  const std::vector<double> & variables)
{
  const FormulaProgram program(context, {formula});
  std::vector<double> values(static_cast<std::size_t>(program.variable_count()));
  std::copy_n(variables.begin(), std::min(values.size(), variables.size()), values.begin());
  std::vector<double> tape(static_cast<std::size_t>(program.tape_size()));
  double result = 0.0;
  program.evaluate(values.data(), tape.data(), &result);
  if (!std::isfinite(result))
  {
    throw std::invalid_argument("the value is not finite");
  }
  return result;
}

void ScenarioReader::fail(const std::string & what) const
{
  fail_here(node_->preview() + ": " + what);
}

void ScenarioReader::fail_here(const std::string & what) const
{
  const std::string place =
    node_->origin != nullptr ? *node_->origin : scope_->source + ":" + std::to_string(node_->line);
  throw ScenarioError(place + ": " + (path_.empty() ? std::string() : path_ + ": ") + what);
}

void ScenarioReader::allow_keys(const std::vector<std::string> & keys) const
{
  if (!node_->is_map())
  {
    std::string list;
    for (const std::string & key : keys)
    {
      list += (list.empty() ? "" : ", ") + key;
    }
    fail("allowed: a map with keys from " + list);
  }
  for (std::size_t i = 0; i < node_->keys.size(); ++i)
  {
    const std::string & key = node_->keys[i];
    if (std::find(keys.begin(), keys.end(), key) == keys.end())
    {
      ScenarioReader(node_->children[i], child_path(path_, key), *scope_)
        .fail_here("unknown key" + suggest(key, keys));
    }
  }
}

ScenarioReader ScenarioReader::at(const std::string & key) const
{
  const ScenarioNode * child = node_->find(key);
  if (child == nullptr)
  {
    fail_here("the key '" + key + "' is missing");
  }
  return {*child, child_path(path_, key), *scope_};
}

std::optional<ScenarioReader> ScenarioReader::find(const std::string & key) const
{
  const ScenarioNode * child = node_->find(key);
  if (child == nullptr)
  {
    return std::nullopt;
  }
  return ScenarioReader(*child, child_path(path_, key), *scope_);
}

std::vector<std::pair<std::string, ScenarioReader>> ScenarioReader::entries() const
{
  if (!node_->is_map())
  {
    fail("allowed: a map");
  }
  std::vector<std::pair<std::string, ScenarioReader>> result;
  for (std::size_t i = 0; i < node_->keys.size(); ++i)
  {
    const std::string & key = node_->keys[i];
    result.emplace_back(key, ScenarioReader(node_->children[i], child_path(path_, key), *scope_));
  }
  return result;
}

std::vector<ScenarioReader> ScenarioReader::items() const
{
  if (!node_->is_list())
  {
    fail("allowed: a list");
  }
  std::vector<ScenarioReader> result;
  for (std::size_t i = 0; i < node_->children.size(); ++i)
  {
    const ScenarioNode & item = node_->children[i];
    result.emplace_back(item, item_path(path_, item, i), *scope_);
  }
  return result;
}

std::string ScenarioReader::string() const
{
  if (!node_->is_scalar())
  {
    fail("allowed: a string");
  }
  return node_->text;
}

std::string ScenarioReader::name() const
{
  if (
    !node_->is_scalar() || node_->text.empty() ||
    std::any_of(
      node_->text.begin(), node_->text.end(),
      [](char c) { return static_cast<unsigned char>(c) < 0x20; }))
  {
    fail("allowed: a name");
  }
  return node_->text;
}

std::vector<std::string> ScenarioReader::names() const
{
  if (!node_->is_list())
  {
    fail("allowed: a list of names");
  }
  std::vector<std::string> result;
  for (const ScenarioReader & item : items())
  {
    result.push_back(item.name());
  }
  return result;
}

bool ScenarioReader::boolean() const { return choice({"true", "false"}) == "true"; }

double ScenarioReader::number() const
{
  if (!node_->is_scalar())
  {
    fail("allowed: a number or a formula over the parameters");
  }
  const std::optional<double> plain = plain_number(node_->text);
  if (plain)
  {
    if (!std::isfinite(*plain))
    {
      fail("allowed: a finite number");
    }
    return *plain;
  }
  try
  {
    return evaluate_formula(scope_->parameters, node_->text);
  }
  catch (const std::invalid_argument & error)
  {
    fail(std::string("allowed: a finite number or a formula over the parameters; ") + error.what());
  }
}

double ScenarioReader::positive() const
{
  const double value = number();
  if (!(value > 0.0))
  {
    fail("allowed: a number above 0");
  }
  return value;
}

double ScenarioReader::nonnegative() const
{
  const double value = number();
  if (!(value >= 0.0))
  {
    fail("allowed: a number not below 0");
  }
  return value;
}

Eigen::Vector3d ScenarioReader::vector() const
{
  if (!node_->is_list() || node_->children.size() != 3)
  {
    fail("allowed: a list of 3 numbers");
  }
  const std::vector<ScenarioReader> numbers = items();
  return {numbers[0].number(), numbers[1].number(), numbers[2].number()};
}

std::string ScenarioReader::formula() const
{
  if (!node_->is_scalar() || node_->text.empty())
  {
    fail("allowed: a formula");
  }
  return node_->text;
}

std::string ScenarioReader::choice(const std::vector<std::string> & words) const
{
  if (!node_->is_scalar() || std::find(words.begin(), words.end(), node_->text) == words.end())
  {
    std::string list;
    for (const std::string & word : words)
    {
      list += (list.empty() ? "" : ", ") + word;
    }
    fail("allowed: " + list);
  }
  return node_->text;
}

double ScenarioReader::number_or(const std::string & key, double fallback) const
{
  return has(key) ? at(key).number() : fallback;
}

double ScenarioReader::positive_or(const std::string & key, double fallback) const
{
  return has(key) ? at(key).positive() : fallback;
}

bool ScenarioReader::boolean_or(const std::string & key, bool fallback) const
{
  return has(key) ? at(key).boolean() : fallback;
}

std::string ScenarioReader::string_or(const std::string & key, const std::string & fallback) const
{
  return has(key) ? at(key).string() : fallback;
}

Eigen::Vector3d ScenarioReader::vector_or(
  const std::string & key, const Eigen::Vector3d & fallback) const
{
  return has(key) ? at(key).vector() : fallback;
}

void read_names(const ScenarioReader & root, ScenarioScope & scope)
{
  const auto system = root.find("system");
  const auto each = [&](const char * key, const auto & read)
  {
    if (const auto top = root.find(key))
    {
      for (const auto & [name, reader] : top->entries())
      {
        read(name, reader);
      }
    }
    if (system && system->node().is_map() && system->has(key))
    {
      for (const auto & [name, reader] : system->at(key).entries())
      {
        read(name, reader);
      }
    }
  };
  const auto check_name = [&](const std::string & name, const ScenarioReader & reader)
  {
    if (!FormulaContext::is_identifier(name) || name.size() > kMaxFormulaName)
    {
      reader.fail_here("allowed as a name: letters, digits and _, not starting with a digit");
    }
    if (FormulaContext::is_reserved(name))
    {
      reader.fail_here("the name is reserved; allowed: any other");
    }
  };
  each(
    "parameters",
    [&](const std::string & name, const ScenarioReader & reader)
    {
      check_name(name, reader);
      if (scope.parameters.contains(name))
      {
        reader.fail_here("the parameter is given twice, here and in the other 'parameters'");
      }
      const double value = reader.number();
      scope.parameters.add_parameter(name, value);
      scope.names.parameters.emplace_back(name, value);
    });
  std::set<std::string> definitions;
  each(
    "definitions",
    [&](const std::string & name, const ScenarioReader & reader)
    {
      check_name(name, reader);
      if (scope.parameters.contains(name) || !definitions.insert(name).second)
      {
        reader.fail_here("the name is taken by another definition or parameter");
      }
      scope.names.definitions.emplace_back(name, reader.formula());
    });
}

}  // namespace constrained_dynamics
