// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/constraints/formula_binding.hpp"
#include "constrained_dynamics/formula/formula.hpp"
#include "scenario/scenario_tree.hpp"

namespace constrained_dynamics
{

/// What the readers of one scenario share.
struct ScenarioScope
{
  std::string source;            ///< name of the file, for messages
  std::filesystem::path folder;  ///< where relative file names start
  FormulaContext parameters;     ///< the parameters alone
  FormulaNames names;            ///< parameters and definitions
};

/// Thrown by readers: the message names its place already.
class ScenarioError : public std::invalid_argument
{
public:
  using std::invalid_argument::invalid_argument;
};

/// Value of a formula over the names of a context.
/// @throw std::invalid_argument for formulas that cannot be read or have no finite value.
double evaluate_formula(
  const FormulaContext & context, const std::string & formula,
  const std::vector<double> & variables = {});

/// The key path of a child; a key with dots is quoted.
std::string child_path(const std::string & path, const std::string & key);
/// The key path of an item of a list: by its name where it has one, else by its index.
std::string item_path(const std::string & path, const ScenarioNode & item, std::size_t index);

/// A node with its key path: typed access whose failures name place, path, value and what is
/// allowed. Every method throws std::invalid_argument.
class ScenarioReader
{
public:
  ScenarioReader(const ScenarioNode & node, std::string path, const ScenarioScope & scope)
  : node_(&node), path_(std::move(path)), scope_(&scope)
  {
  }

  const ScenarioNode & node() const { return *node_; }
  const std::string & path() const { return path_; }
  const ScenarioScope & scope() const { return *scope_; }

  /// "<file>:<line>: <key path>: <value>: <what>".
  [[noreturn]] void fail(const std::string & what) const;
  /// Without the value.
  [[noreturn]] void fail_here(const std::string & what) const;

  // Maps.
  /// Refuses what is not a map or has other keys.
  void allow_keys(const std::vector<std::string> & keys) const;
  bool has(const std::string & key) const { return node_->find(key) != nullptr; }
  /// The child of a key that must exist.
  ScenarioReader at(const std::string & key) const;
  std::optional<ScenarioReader> find(const std::string & key) const;
  /// The children of a map with their keys.
  std::vector<std::pair<std::string, ScenarioReader>> entries() const;

  // Lists.
  std::vector<ScenarioReader> items() const;

  // Values.
  std::string string() const;
  /// A string of at least one character without line ends.
  std::string name() const;
  std::vector<std::string> names() const;
  bool boolean() const;
  double number() const;
  /// A number above 0.
  double positive() const;
  /// A number, 0 or above.
  double nonnegative() const;
  Eigen::Vector3d vector() const;
  /// The text of a formula.
  std::string formula() const;
  /// One of the given words.
  std::string choice(const std::vector<std::string> & words) const;

  double number_or(const std::string & key, double fallback) const;
  double positive_or(const std::string & key, double fallback) const;
  bool boolean_or(const std::string & key, bool fallback) const;
  std::string string_or(const std::string & key, const std::string & fallback) const;
  Eigen::Vector3d vector_or(const std::string & key, const Eigen::Vector3d & fallback) const;

private:
  const ScenarioNode * node_;
  std::string path_;
  const ScenarioScope * scope_;
};

/// Reads `parameters` and `definitions` of both places into the scope.
void read_names(const ScenarioReader & root, ScenarioScope & scope);

/// The tree with `repeat` and `${…}` expanded; `parameters` and `definitions` are left alone.
ScenarioNode expand_scenario(const ScenarioNode & root, const ScenarioScope & scope);

}  // namespace constrained_dynamics
