// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/scenario/scenario_merge.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <stdexcept>
#include <utility>

namespace constrained_dynamics
{

namespace
{

/// Lists of items that have a name.
constexpr std::array<const char *, 8> kNamedLists = {
  "constraints",        "servo",         "system.robots",   "system.bodies",
  "system.attachments", "system.frames", "system.external", "system.force_elements"};
/// Lists of items that have none.
constexpr std::array<const char *, 3> kNamelessLists = {
  "servo_law.null_space", "servo_law.cones", "events"};
/// Keys that name a robot.
constexpr std::array<const char *, 4> kRobotKeys = {"urdf", "mjcf", "sdf", "robots"};

template <std::size_t size>
bool is_listed(const std::array<const char *, size> & names, const std::string & name)
{
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_list_path(const std::string & path)
{
  return is_listed(kNamedLists, path) || is_listed(kNamelessLists, path);
}

[[noreturn]] void refuse(const std::string & name, const std::string & what)
{
  throw std::invalid_argument("parameter '" + name + "': " + what);
}

// ---- merging -----------------------------------------------------------------------------------

/// An item of a list by its name or index; null if there is none.
TextTree * find_item(TextTree & list, const std::string & key)
{
  for (TextTree & item : list.children)
  {
    const TextTree * name = item.find("name");
    if (name != nullptr && name->text == key)
    {
      return &item;
    }
  }
  const bool is_index =
    !key.empty() && key.size() <= 6 && key.find_first_not_of("0123456789") == std::string::npos;
  return is_index && std::stoul(key) < list.children.size() ? &list.children[std::stoul(key)]
                                                            : nullptr;
}

void merge(const std::string & path, const TextTree & from, TextTree & to);

void merge_item(
  const std::string & path, const std::string & key, const TextTree & from, TextTree & to)
{
  if (!from.is_map())
  {
    refuse(path + "." + key, "it is an item of a list; allowed: parameters below it");
  }
  TextTree * item = find_item(to, key);
  if (item == nullptr)
  {
    item = &to.children.emplace_back(TextTree::map());
    if (is_listed(kNamedLists, path))
    {
      item->at("name") = TextTree::value(key);
    }
  }
  merge(path + "." + key, from, *item);
}

void merge_list(const std::string & path, const TextTree & from, TextTree & to)
{
  if (!to.is_list())
  {
    to = TextTree::list();
  }
  for (std::size_t i = 0; i < from.children.size(); ++i)
  {
    const TextTree & item = from.children[i];
    const TextTree * name = item.find("name");
    if (from.is_map())
    {
      merge_item(path, from.keys[i], item, to);
    }
    else if (name != nullptr && name->is_value())
    {
      merge_item(path, name->text, item, to);
    }
    else
    {
      to.children.push_back(item);
    }
  }
}

/// Writes `from` over `to`, key by key.
void merge(const std::string & path, const TextTree & from, TextTree & to)
{
  if (is_list_path(path) && (from.is_map() || from.is_list()))
  {
    merge_list(path, from, to);
  }
  else if (from.is_map())
  {
    if (!to.is_map())
    {
      to = TextTree::map();
    }
    for (std::size_t i = 0; i < from.keys.size(); ++i)
    {
      const std::string & key = from.keys[i];
      merge(path.empty() ? key : path + "." + key, from.children[i], to.at(key));
    }
  }
  else
  {
    to = from;
  }
}

// ---- the robot ---------------------------------------------------------------------------------

/// The key that a robot description belongs to, by its root element.
const char * robot_key(const std::string & description)
{
  constexpr std::array<std::pair<const char *, const char *>, 3> kRoots = {
    {{"urdf", "<robot"}, {"mjcf", "<mujoco"}, {"sdf", "<sdf"}}};
  const char * key = nullptr;
  std::size_t first = std::string::npos;
  for (const auto & [name, root] : kRoots)
  {
    const std::size_t found = description.find(root);
    if (found < first)
    {
      first = found;
      key = name;
    }
  }
  if (key == nullptr)
  {
    throw std::invalid_argument(
      "robot_description: '" + description.substr(0, 60) +
      "'; allowed: URDF (<robot>), MJCF (<mujoco>) or SDF (<sdf>)");
  }
  return key;
}

/// Merges several robots into one that has all their joints, with their prefixes.
void unite_robots(TextTree & system)
{
  const TextTree robots = std::move(*system.find("robots"));
  system.erase("robots");
  TextTree & locked = system.at("locked") = TextTree::map();
  for (const TextTree & robot : robots.children)
  {
    const TextTree * base = robot.find("base");
    const TextTree * name = robot.find("name");
    const TextTree * given_prefix = robot.find("prefix");
    if (base != nullptr && base->text != "fixed")
    {
      throw std::invalid_argument(
        "robot_description: the scenario has several robots, and the base of '" +
        (name == nullptr ? "" : name->text) + "' is " + base->text +
        "; one description can replace several robots only if all are fixed");
    }
    const std::string prefix = given_prefix != nullptr ? given_prefix->text
                               : name != nullptr       ? name->text + "_"
                                                       : "";
    if (const TextTree * joints = robot.find("locked"))
    {
      for (std::size_t i = 0; i < joints->children.size(); ++i)
      {
        const bool has_value = joints->is_map();
        locked.at(prefix + (has_value ? joints->keys[i] : joints->children[i].text)) =
          has_value ? joints->children[i] : TextTree::value("0");
      }
    }
  }
}

/// Escapes `${…}` in a description, which scenario readers would take for a formula: the brace
/// becomes an XML character reference.
std::string without_formulas(std::string description)
{
  const std::string reference = "$&#123;";
  for (std::size_t at = description.find("${"); at != std::string::npos;
       at = description.find("${", at + reference.size()))
  {
    description.replace(at, 2, reference);
  }
  return description;
}

}  // namespace

const std::vector<std::string> & scenario_sections()
{
  static const std::vector<std::string> sections = {
    "system",      "constraints", "servo",  "servo_law", "stabilisation",
    "formulation", "initial",     "run",    "options",   "parameters",
    "definitions", "inputs",      "events", "observe"};
  return sections;
}

void merge_scenario(const TextTree & changes, TextTree & scenario) { merge("", changes, scenario); }

bool names_robot(const TextTree & scenario)
{
  const TextTree * system = scenario.find("system");
  return system != nullptr && std::any_of(
                                kRobotKeys.begin(), kRobotKeys.end(),
                                [&](const char * key) { return system->find(key) != nullptr; });
}

void use_robot_description(const std::string & description, TextTree & root)
{
  TextTree & system = root.at("system");
  if (!system.is_map())
  {
    system = TextTree::map();
  }
  if (system.find("coordinates") != nullptr)
  {
    return;
  }
  if (!names_robot(root) && system.find("bodies") != nullptr)
  {
    return;
  }
  TextTree * robot = &system;
  if (TextTree * robots = system.find("robots"))
  {
    if (robots->is_list() && robots->children.size() == 1)
    {
      robot = &robots->children.front();
    }
    else
    {
      unite_robots(system);
    }
  }
  for (const char * key : {"urdf", "mjcf", "sdf"})
  {
    robot->erase(key);
  }
  robot->at(robot_key(description)) = TextTree::value(without_formulas(description));
}

void use_robot_profile(const std::string & path, TextTree & root)
{
  TextTree & system = root.at("system");
  if (system.is_null())
  {
    system = TextTree::map();
  }
  system.at("profile") = TextTree::value(std::filesystem::absolute(path).string());
}

void remove_controls(TextTree & root)
{
  root.erase("inputs");
  root.erase("servo");
  root.erase("servo_law");
  if (TextTree * initial = root.find("initial"))
  {
    initial->erase("servo");
  }
}

}  // namespace constrained_dynamics
