// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <algorithm>
#include <stdexcept>

#include "scenario/scenario_tree.hpp"

namespace constrained_dynamics
{

namespace
{

/// The parts of a path; back-quoted parts may contain dots.
std::vector<std::string> split_path(const std::string & path)
{
  std::vector<std::string> parts(1);
  bool quoted = false;
  for (const char c : path)
  {
    if (c == '`')
    {
      quoted = !quoted;
    }
    else if (c == '.' && !quoted)
    {
      parts.emplace_back();
    }
    else
    {
      parts.back() += c;
    }
  }
  if (quoted)
  {
    throw std::invalid_argument("a backquote is not closed");
  }
  if (parts.size() > static_cast<std::size_t>(kMaxScenarioDepth))
  {
    throw std::invalid_argument("the path is too long");
  }
  for (const std::string & part : parts)
  {
    if (part.empty())
    {
      throw std::invalid_argument("an empty part in the path");
    }
  }
  return parts;
}

/// Position of the first '=' outside backquotes.
std::size_t find_assignment(const std::string & assignment)
{
  bool quoted = false;
  for (std::size_t i = 0; i < assignment.size(); ++i)
  {
    if (assignment[i] == '`')
    {
      quoted = !quoted;
    }
    else if (assignment[i] == '=' && !quoted)
    {
      return i;
    }
  }
  return std::string::npos;
}

/// An item of a list by its `name` or index.
ScenarioNode & find_item(ScenarioNode & list, const std::string & part, const std::string & path)
{
  std::vector<std::string> names;
  for (ScenarioNode & item : list.children)
  {
    const ScenarioNode * name = item.find("name");
    if (name != nullptr && name->is_scalar())
    {
      if (name->text == part)
      {
        return item;
      }
      names.push_back(name->text);
    }
  }
  const bool is_index =
    part.size() <= 6 && part.find_first_not_of("0123456789") == std::string::npos;
  if (is_index && std::stoul(part) < list.children.size())
  {
    return list.children[std::stoul(part)];
  }
  throw std::invalid_argument(
    "'" + path + "' has no item '" + part + "'" + suggest(part, names) + "; or an index below " +
    std::to_string(list.children.size()));
}

/// Turns `x` and `parameters.x` into the path of the map that holds the parameter.
std::vector<std::string> find_parameter(
  const ScenarioNode & root, const std::vector<std::string> & parts)
{
  const std::vector<std::string> & keys = scenario_keys();
  const bool is_short =
    parts.size() == 1 && std::find(keys.begin(), keys.end(), parts[0]) == keys.end();
  const bool is_top = parts.size() == 2 && parts[0] == "parameters";
  const bool is_system = parts.size() == 3 && parts[0] == "system" && parts[1] == "parameters";
  if (!is_short && !is_top && !is_system)
  {
    return parts;
  }
  const std::string & name = parts.back();
  std::vector<std::string> known;
  const ScenarioNode * system = root.find("system");
  const ScenarioNode * top_map = root.find("parameters");
  const ScenarioNode * system_map = system != nullptr ? system->find("parameters") : nullptr;
  if (top_map != nullptr && top_map->find(name) != nullptr)
  {
    return {"parameters", name};
  }
  if (system_map != nullptr && system_map->find(name) != nullptr)
  {
    return {"system", "parameters", name};
  }
  for (const ScenarioNode * map : {top_map, system_map})
  {
    if (map != nullptr)
    {
      known.insert(known.end(), map->keys.begin(), map->keys.end());
    }
  }
  std::string what = "the file has no parameter '" + name + "'";
  if (is_short)
  {
    what = "'" + name + "' is neither a key of the file nor one of its parameters";
    known.insert(known.end(), keys.begin(), keys.end());
  }
  throw std::invalid_argument(what + suggest(name, known));
}

void set_origin(ScenarioNode & node, const std::shared_ptr<const std::string> & origin)
{
  node.origin = origin;
  for (ScenarioNode & child : node.children)
  {
    set_origin(child, origin);
  }
}

/// The node at the beginning of a path, which must exist; `path` is for messages.
ScenarioNode & find_child(ScenarioNode & node, const std::string & part, const std::string & path)
{
  if (node.is_list())
  {
    return find_item(node, part, path);
  }
  ScenarioNode * child = node.is_map() ? node.find(part) : nullptr;
  if (child == nullptr)
  {
    throw std::invalid_argument(
      (path.empty() ? "the file" : "'" + path + "'") + " has no key '" + part + "'" +
      suggest(part, node.keys));
  }
  return *child;
}

/// Takes a key out of its map, or an item out of its list.
void remove_at(ScenarioNode & root, const std::vector<std::string> & parts)
{
  ScenarioNode * parent = &root;
  std::string path;
  for (std::size_t i = 0; i + 1 < parts.size(); ++i)
  {
    parent = &find_child(*parent, parts[i], path);
    path += (i > 0 ? "." : "") + parts[i];
  }
  const ScenarioNode & child = find_child(*parent, parts.back(), path);
  const auto index = &child - parent->children.data();
  parent->children.erase(parent->children.begin() + index);
  if (parent->is_map())
  {
    parent->keys.erase(parent->keys.begin() + index);
  }
}

}  // namespace

void apply_override(ScenarioNode & root, const std::string & assignment)
{
  const auto origin = std::make_shared<const std::string>("--set " + assignment);
  const std::size_t equals = find_assignment(assignment);
  if (equals == std::string::npos || equals == 0)
  {
    throw std::invalid_argument(*origin + ": allowed: PATH=VALUE, or PATH= to delete");
  }
  try
  {
    const std::vector<std::string> parts =
      find_parameter(root, split_path(assignment.substr(0, equals)));
    const std::string text = assignment.substr(equals + 1);
    if (text.size() > kMaxScenarioSize)
    {
      throw std::invalid_argument("the value is too long");
    }
    if (text.find_first_not_of(" \t") == std::string::npos)
    {
      remove_at(root, parts);
      return;
    }
    ScenarioNode value = parse_document(text, "value");
    set_origin(value, origin);

    ScenarioNode * node = &root;
    std::string path;
    for (std::size_t i = 0; i < parts.size(); ++i)
    {
      if (node->is_list())
      {
        node = &find_item(*node, parts[i], path);
      }
      else
      {
        if (node->is_scalar())
        {
          throw std::invalid_argument("'" + path + "' is a value and has no keys");
        }
        node->kind = ScenarioNode::Kind::kMap;
        ScenarioNode * child = node->find(parts[i]);
        if (child == nullptr)
        {
          node->keys.push_back(parts[i]);
          node->children.emplace_back();
          child = &node->children.back();
          child->origin = origin;
        }
        node = child;
      }
      path += (i > 0 ? "." : "") + parts[i];
    }
    *node = std::move(value);
  }
  catch (const std::invalid_argument & error)
  {
    throw std::invalid_argument(*origin + ": " + error.what());
  }
}

}  // namespace constrained_dynamics
