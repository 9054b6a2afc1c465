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
    fail("allowed: a map with keys out of " + list);
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
        reader.fail_here("the parameter is given twice, also in the other 'parameters'");
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

namespace
{

/// Expands `${…}` and `repeat`.
class Expander
{
public:
  explicit Expander(const ScenarioScope & scope) : scope_(scope)
  {
    contexts_.push_back(scope.parameters);
  }

  ScenarioNode expand(const ScenarioNode & node, const std::string & path)
  {
    ScenarioNode result;
    result.kind = node.kind;
    result.line = node.line;
    result.origin = node.origin;
    result.text = substitute(node.text, node, path);
    spend(1, result.text.size(), node, path);
    std::set<std::string> keys;
    for (std::size_t i = 0; i < node.keys.size(); ++i)
    {
      const std::string key = substitute(node.keys[i], node.children[i], path);
      spend(0, key.size(), node, path);
      if (!keys.insert(key).second)
      {
        fail(node.children[i], child_path(path, key), "the key appears twice");
      }
      result.keys.push_back(key);
      result.children.push_back(expand(node.children[i], child_path(path, key)));
    }
    for (std::size_t i = 0; node.is_list() && i < node.children.size(); ++i)
    {
      const ScenarioNode & item = node.children[i];
      const std::string where = item_path(path, item, i);
      if (item.is_map() && item.find("repeat") != nullptr && may_repeat(path))
      {
        repeat(item, where, result);
      }
      else
      {
        result.children.push_back(expand(item, where));
      }
    }
    return result;
  }

  ScenarioNode expand_root(const ScenarioNode & root) { return expand_but_names(root, ""); }

private:
  static constexpr long kMostRepeats = 10000;

  static bool may_repeat(const std::string & path)
  {
    static const std::set<std::string> lists = {"system.robots",      "system.bodies",
                                                "system.attachments", "system.frames",
                                                "system.external",    "constraints"};
    return lists.count(path) > 0;
  }

  [[noreturn]] void fail(
    const ScenarioNode & node, const std::string & path, const std::string & what) const
  {
    ScenarioReader(node, path, scope_).fail(what);
  }

  void spend(
    std::size_t nodes, std::size_t bytes, const ScenarioNode & node, const std::string & path)
  {
    const std::string problem = budget_.spend(nodes, bytes);
    if (!problem.empty())
    {
      fail(node, path, problem + " after 'repeat' and '${…}', the most allowed");
    }
  }

  /// A map whose parameters and definitions stay as they are.
  ScenarioNode expand_but_names(const ScenarioNode & node, const std::string & path)
  {
    ScenarioNode result;
    result.kind = node.kind;
    result.line = node.line;
    result.origin = node.origin;
    result.keys = node.keys;
    for (std::size_t i = 0; i < node.keys.size(); ++i)
    {
      const std::string & key = node.keys[i];
      const std::string where = child_path(path, key);
      const ScenarioNode & child = node.children[i];
      if (key == "parameters" || key == "definitions")
      {
        result.children.push_back(child);
      }
      else if (path.empty() && key == "system" && child.is_map())
      {
        result.children.push_back(expand_but_names(child, where));
      }
      else
      {
        result.children.push_back(expand(child, where));
      }
    }
    return result;
  }

  std::string substitute(
    const std::string & text, const ScenarioNode & node, const std::string & path) const
  {
    std::size_t begin = text.find("${");
    if (begin == std::string::npos)
    {
      return text;
    }
    std::string result;
    std::size_t done = 0;
    while (begin != std::string::npos)
    {
      const std::size_t end = text.find('}', begin);
      if (end == std::string::npos)
      {
        fail(node, path, "'${' without '}'");
      }
      const std::string formula = text.substr(begin + 2, end - begin - 2);
      result += text.substr(done, begin - done) + value_of(formula, node, path);
      if (result.size() > kMaxScenarioText)
      {
        fail(node, path, "too much text after '${…}'");
      }
      done = end + 1;
      begin = text.find("${", done);
    }
    return result + text.substr(done);
  }

  std::string value_of(
    const std::string & formula, const ScenarioNode & node, const std::string & path) const
  {
    double value = 0.0;
    try
    {
      value = evaluate_formula(contexts_.back(), formula, variables_);
    }
    catch (const std::invalid_argument & error)
    {
      fail(
        node, path,
        "'${" + formula + "}' is no formula over parameters and variables of 'repeat'; " +
          error.what());
    }
    char buffer[40];
    const bool is_whole = std::abs(value) < 1e15 && value == std::round(value);
    std::snprintf(
      buffer, sizeof(buffer), is_whole ? "%.0f" : "%.17g", is_whole ? value + 0.0 : value);
    return std::string(buffer) == "-0" ? "0" : buffer;
  }

  void repeat(const ScenarioNode & item, const std::string & path, ScenarioNode & list)
  {
    const ScenarioReader reader(*item.find("repeat"), child_path(path, "repeat"), scope_);
    if (!reader.node().is_map() || reader.node().keys.empty())
    {
      reader.fail("allowed: {variable: [first, last]}");
    }
    ScenarioNode plain = item;
    const auto index = static_cast<std::ptrdiff_t>(
      std::find(plain.keys.begin(), plain.keys.end(), "repeat") - plain.keys.begin());
    plain.keys.erase(plain.keys.begin() + index);
    plain.children.erase(plain.children.begin() + index);
    loop(reader.entries(), 0, plain, path, list);
  }

  void loop(
    const std::vector<std::pair<std::string, ScenarioReader>> & ranges, std::size_t level,
    const ScenarioNode & item, const std::string & path, ScenarioNode & list)
  {
    if (level == ranges.size())
    {
      list.children.push_back(expand(item, path));
      return;
    }
    const auto & [variable, range] = ranges[level];
    if (!range.node().is_list() || range.node().children.size() != 2)
    {
      range.fail("allowed: [first, last]");
    }
    long bounds[2];
    for (std::size_t k = 0; k < 2; ++k)
    {
      const ScenarioReader bound = range.items()[k];
      const std::string formula = bound.formula();
      double value = 0.0;
      try
      {
        value = evaluate_formula(contexts_.back(), formula, variables_);
      }
      catch (const std::invalid_argument & error)
      {
        bound.fail(std::string("allowed: a whole number or a formula; ") + error.what());
      }
      if (!(std::abs(value) < 1e9 && value == std::round(value)))
      {
        bound.fail("allowed: a whole number");
      }
      bounds[k] = std::lround(value);
    }
    FormulaContext context = contexts_.back();
    try
    {
      context.add_variable(variable, static_cast<int>(level));
    }
    catch (const std::invalid_argument & error)
    {
      range.fail_here(std::string("bad name of a variable: ") + error.what());
    }
    contexts_.push_back(context);
    variables_.push_back(0.0);
    for (long i = bounds[0]; i <= bounds[1]; ++i)
    {
      if (++repeats_ > kMostRepeats)
      {
        range.fail("allowed: at most " + std::to_string(kMostRepeats) + " repetitions in a file");
      }
      variables_.back() = static_cast<double>(i);
      loop(ranges, level + 1, item, path, list);
    }
    contexts_.pop_back();
    variables_.pop_back();
  }

  const ScenarioScope & scope_;
  ScenarioBudget budget_;
  std::vector<FormulaContext> contexts_;  // with one more variable of 'repeat' each
  std::vector<double> variables_;
  long repeats_ = 0;
};

}  // namespace

ScenarioNode expand_scenario(const ScenarioNode & root, const ScenarioScope & scope)
{
  return Expander(scope).expand_root(root);
}

}  // namespace constrained_dynamics
