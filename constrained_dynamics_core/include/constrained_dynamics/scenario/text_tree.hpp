// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <string>
#include <vector>

#include "constrained_dynamics/export.hpp"

namespace constrained_dynamics
{

/// The content of a YAML document without interpretation: values are texts, and maps keep their
/// order.
struct CONSTRAINED_DYNAMICS_EXPORT TextTree
{
  enum class Kind
  {
    kNull,
    kValue,
    kList,
    kMap,
  };

  Kind kind = Kind::kNull;
  std::string text;                ///< of a value
  std::vector<std::string> keys;   ///< of a map, as many as children
  std::vector<TextTree> children;  ///< of a list or a map

  static TextTree value(std::string text);
  static TextTree list() { return TextTree{Kind::kList, {}, {}, {}}; }
  static TextTree map() { return TextTree{Kind::kMap, {}, {}, {}}; }

  bool is_null() const { return kind == Kind::kNull; }
  bool is_value() const { return kind == Kind::kValue; }
  bool is_list() const { return kind == Kind::kList; }
  bool is_map() const { return kind == Kind::kMap; }

  /// The child of a key; null if this is not a map or has no such key.
  const TextTree * find(const std::string & key) const;
  TextTree * find(const std::string & key);
  /// The child of a key of a map; created if there is none.
  TextTree & at(const std::string & key);
  void erase(const std::string & key);
};

/// Reads one YAML document.
/// @throw std::invalid_argument "<source>:<line>: <what is wrong>" for a document that cannot be
/// parsed, has a duplicate key, or expands to more than 100 000 nodes.
CONSTRAINED_DYNAMICS_EXPORT TextTree
read_yaml(const std::string & text, const std::string & source);

/// Writes a document from which read_yaml restores the same tree.
CONSTRAINED_DYNAMICS_EXPORT std::string write_yaml(const TextTree & tree);

}  // namespace constrained_dynamics
