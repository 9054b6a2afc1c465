// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "scenario/scenario_tree.hpp"

#include <algorithm>

#include "names.hpp"

namespace constrained_dynamics
{

const ScenarioNode * ScenarioNode::find(const std::string & key) const
{
  const auto found = std::find(keys.begin(), keys.end(), key);
  return found == keys.end() ? nullptr : &children[static_cast<std::size_t>(found - keys.begin())];
}

ScenarioNode * ScenarioNode::find(const std::string & key)
{
  return const_cast<ScenarioNode *>(static_cast<const ScenarioNode *>(this)->find(key));
}

namespace
{

/// The first items of a list, and how many it has.
std::string preview_list(const std::vector<ScenarioNode> & items)
{
  constexpr std::size_t kMost = 6;
  std::string shown;
  for (std::size_t i = 0; i < items.size() && i <= kMost; ++i)
  {
    const bool is_shown = i < kMost && items[i].kind == ScenarioNode::Kind::kScalar;
    shown += (i == 0 ? "" : ", ") + (is_shown ? items[i].preview() : "…");
  }
  return "[" + shown + "] (a list of " + std::to_string(items.size()) + ")";
}

}  // namespace

std::string ScenarioNode::preview() const
{
  constexpr std::size_t kLongest = 80;
  switch (kind)
  {
    case Kind::kNull:
      return "(nothing)";
    case Kind::kList:
      return preview_list(children);
    case Kind::kMap:
      return "(a map of " + std::to_string(children.size()) + ")";
    case Kind::kScalar:
      break;
  }
  std::string shown;
  for (const char c : text)
  {
    shown += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    if (shown.size() >= kLongest)
    {
      // Cut between characters of UTF-8, not inside one.
      while (!shown.empty() && (static_cast<unsigned char>(shown.back()) & 0xC0U) == 0x80U)
      {
        shown.pop_back();
      }
      if (!shown.empty() && static_cast<unsigned char>(shown.back()) >= 0x80U)
      {
        shown.pop_back();
      }
      return shown + "…";
    }
  }
  return shown.empty() ? "(empty)" : shown;
}

std::string ScenarioBudget::spend(std::size_t nodes, std::size_t bytes)
{
  nodes_ += nodes;
  bytes_ += bytes;
  if (nodes_ > kMaxScenarioNodes)
  {
    return "more than " + std::to_string(kMaxScenarioNodes) + " nodes";
  }
  if (bytes_ > kMaxScenarioText)
  {
    return "more than " + std::to_string(kMaxScenarioText) + " bytes of text";
  }
  return {};
}

const std::vector<std::string> & scenario_keys()
{
  static const std::vector<std::string> keys = {
    "name",    "description", "parameters",    "definitions", "system", "constraints",
    "inputs",  "formulation", "stabilisation", "initial",     "run",    "options",
    "observe", "servo",       "servo_law",     "events"};
  return keys;
}

std::string nearest_name(const std::string & name, const std::vector<std::string> & names)
{
  const std::vector<std::string> near = nearest_names(name, names);
  return near.empty() ? "" : near.front();
}

std::string suggest(const std::string & name, const std::vector<std::string> & names)
{
  if (names.empty())
  {
    return "; there are none";
  }
  constexpr std::size_t kMostListed = 30;
  const std::string nearest = nearest_name(name, names);
  return (nearest.empty() ? "" : ", did you mean '" + nearest + "'?") +
         ("; allowed: " + listed_names(names, kMostListed));
}

}  // namespace constrained_dynamics
