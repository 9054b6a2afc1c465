// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "scenario/scenario_tree.hpp"

#include <algorithm>

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

namespace
{

/// Edit distance (Levenshtein).
std::size_t edit_distance(const std::string & a, const std::string & b)
{
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j)
  {
    row[j] = j;
  }
  for (std::size_t i = 1; i <= a.size(); ++i)
  {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j)
    {
      const std::size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, changed});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string nearest_name(const std::string & name, const std::vector<std::string> & names)
{
  constexpr std::size_t kLongest = 64;
  std::string nearest;
  std::size_t best = std::max<std::size_t>(1, name.size() / 3) + 1;
  for (const std::string & known : names)
  {
    if (name.size() <= kLongest && known.size() <= kLongest)
    {
      const std::size_t d = edit_distance(name, known);
      if (d < best)
      {
        best = d;
        nearest = known;
      }
    }
  }
  return nearest;
}

std::string suggest(const std::string & name, const std::vector<std::string> & names)
{
  if (names.empty())
  {
    return "; there are none";
  }
  constexpr std::size_t kMostShown = 30;
  const std::string nearest = nearest_name(name, names);
  std::string all;
  for (std::size_t i = 0; i < names.size() && i <= kMostShown; ++i)
  {
    all += i == kMostShown ? ", … (" + std::to_string(names.size()) + " in all)"
                           : (i > 0 ? ", " : "") + names[i];
  }
  return (nearest.empty() ? "" : ", did you mean '" + nearest + "'?") + ("; allowed: " + all);
}

}  // namespace constrained_dynamics
