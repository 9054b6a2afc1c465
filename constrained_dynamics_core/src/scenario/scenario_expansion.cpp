// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>
#include <stdexcept>

#include "scenario/scenario_reader.hpp"

namespace constrained_dynamics
{

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
    static const std::set<std::string> lists = {
      "system.robots",   "system.bodies",         "system.attachments", "system.frames",
      "system.external", "system.force_elements", "constraints"};
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

  /// Expands a map except for its parameters and definitions.
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
        "'${" + formula + "}' is not a formula over parameters and variables of 'repeat'; " +
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
      range.fail_here(std::string("invalid name of a variable: ") + error.what());
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
