// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "constrained_dynamics/scenario/suggestion.hpp"

namespace constrained_dynamics
{

/// A file that is larger than this is refused [bytes].
inline constexpr std::size_t kMaxScenarioSize = 1000000;
/// Deepest nesting of a scenario file.
inline constexpr int kMaxScenarioDepth = 50;
/// Most nodes, with aliases and `repeat` expanded.
inline constexpr std::size_t kMaxScenarioNodes = 100000;
/// Most text, with aliases, `repeat` and `${…}` expanded [bytes].
inline constexpr std::size_t kMaxScenarioText = 16000000;

/// A YAML document as it was written, before interpretation; each node knows its place.
struct ScenarioNode
{
  enum class Kind
  {
    kNull,
    kScalar,
    kList,
    kMap,
  };

  Kind kind = Kind::kNull;
  std::string text;                           ///< of a scalar
  std::vector<std::string> keys;              ///< of a map, as many as children
  std::vector<ScenarioNode> children;         ///< of a list or a map
  int line = 0;                               ///< from 1
  std::shared_ptr<const std::string> origin;  ///< "--set …" if the node comes from an override

  bool is_map() const { return kind == Kind::kMap; }
  bool is_list() const { return kind == Kind::kList; }
  bool is_scalar() const { return kind == Kind::kScalar; }
  /// The child of a key; null if there is none.
  const ScenarioNode * find(const std::string & key) const;
  ScenarioNode * find(const std::string & key);
  /// The value as it is shown in messages: short, on one line.
  std::string preview() const;
};

/// Any one YAML document; null root for an empty one. Throws as parse_scenario.
ScenarioNode parse_document(const std::string & text, const std::string & source);

/// Reads one YAML document.
/// @param source name of the file, for messages.
/// @throw std::invalid_argument "<source>:<line>: …" unless it is one YAML map without duplicate
/// keys and within the limits above.
ScenarioNode parse_scenario(const std::string & text, const std::string & source);

/// Applies one `path=value` to the tree; an empty value deletes the key or item.
/// @throw std::invalid_argument "--set path=value: …".
void apply_override(ScenarioNode & root, const std::string & assignment);

/// Keys of the root.
const std::vector<std::string> & scenario_keys();

/// Counts nodes and bytes of a tree as it grows.
class ScenarioBudget
{
public:
  /// Returns why the budget is exhausted; empty if it is not.
  std::string spend(std::size_t nodes, std::size_t bytes);

private:
  std::size_t nodes_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace constrained_dynamics
