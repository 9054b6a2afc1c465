// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/export.hpp"

/// @file
/// Keys of types that are described in one place: constraints, servo tasks and null-space terms.
/// The reader of scenario files, the Python functions and the documentation are derived from these
/// descriptions.

namespace constrained_dynamics
{

/// The kind of value that a key takes.
enum class KeyKind
{
  kName,            ///< a word
  kFrame,           ///< the name of a frame of the system
  kCoordinate,      ///< the name of a coordinate of the system
  kNumber,          ///< a finite number within the range of the key
  kBoolean,         ///< true or false
  kChoice,          ///< one of the words of the key
  kVector,          ///< three finite numbers
  kNames,           ///< a list of words, restricted to the words of the key if it has any
  kNumbers,         ///< a map from coordinates to finite numbers
  kNumbersOrNames,  ///< the same, or a list of coordinates, whose values are then 0
  kFormula,         ///< a formula
  kFormulas,        ///< a list of formulas, or a map from labels to formulas
  kFormulaOrMap,    ///< one formula, or a map from the words of the key to formulas
};

using NamedNumbers = std::vector<std::pair<std::string, double>>;
/// The names are empty where a list, or a single formula, was given.
using NamedFormulas = std::vector<std::pair<std::string, std::string>>;

/// A value, by kind: text (kName, kFrame, kCoordinate, kChoice, kFormula), number, boolean, vector,
/// list of names, map to numbers, formulas.
using KeyValue = std::variant<
  std::string, double, bool, Eigen::Vector3d, std::vector<std::string>, NamedNumbers,
  NamedFormulas>;

/// One key: its name, what is allowed, and its meaning. The functions below make one; a key is
/// required unless `optional` or `with_default` says otherwise.
struct CONSTRAINED_DYNAMICS_EXPORT KeyDescription
{
  std::string name;
  KeyKind kind = KeyKind::kNumber;
  std::string text;                       ///< meaning, a part of a sentence, with the unit
  bool required = true;                   ///< whether it must be given
  std::optional<KeyValue> default_value;  ///< used if the key is not given
  std::vector<std::string> words;         ///< of kChoice, kNames, kFormulaOrMap
  double minimum = -std::numeric_limits<double>::infinity();  ///< of kNumber
  double maximum = std::numeric_limits<double>::infinity();   ///< of kNumber
  bool above_minimum = false;  ///< whether the minimum itself is excluded

  /// The key may be left out; then there is no value.
  KeyDescription optional() const;
  /// The key may be left out; then it has this value.
  KeyDescription with_default(KeyValue value) const;
  KeyDescription at_least(double lowest) const;
  KeyDescription above(double bound) const;
  KeyDescription at_most(double highest) const;
};

CONSTRAINED_DYNAMICS_EXPORT KeyDescription
describe_key(std::string name, KeyKind kind, std::string text, std::vector<std::string> words = {});

/// The keys `frame_a` and `frame_b` (default world), then `more`.
CONSTRAINED_DYNAMICS_EXPORT std::vector<KeyDescription> with_frames(
  const std::vector<KeyDescription> & more);

/// Describes what is wrong with a value, e.g. "allowed: a number above 0"; empty if nothing is. It
/// checks ranges and choices; the caller checks that frames and coordinates exist.
CONSTRAINED_DYNAMICS_EXPORT std::string key_problem(
  const KeyDescription & key, const KeyValue & value);

/// Describes the value of a key for the documentation, e.g. "number > 0", "list out of `x y z`".
CONSTRAINED_DYNAMICS_EXPORT std::string key_type_text(const KeyDescription & key);

/// "required", "optional", or the default as it is written in a scenario file.
CONSTRAINED_DYNAMICS_EXPORT std::string key_default_text(const KeyDescription & key);

/// A table in Markdown: key, value, default, meaning.
CONSTRAINED_DYNAMICS_EXPORT std::string key_table(const std::vector<KeyDescription> & keys);

/// An error in a key that only the type itself can detect, e.g. two keys that exclude each other.
/// Readers add the position of the key.
class CONSTRAINED_DYNAMICS_EXPORT KeyError : public std::invalid_argument
{
public:
  /// @param key empty: the error is in the combination of keys.
  KeyError(std::string key, const std::string & what)
  : std::invalid_argument(what), key_(std::move(key))
  {
  }
  const std::string & key() const { return key_; }

private:
  std::string key_;
};

/// The values of a set of keys: those that were given, and defaults for the others. Getters throw
/// std::out_of_range for a key without a value and std::bad_variant_access for a value of another
/// kind. Both are programming errors in the type, not input errors.
class CONSTRAINED_DYNAMICS_EXPORT KeyValues
{
public:
  /// Stores a given value. @throw KeyError if key_problem reports a problem.
  void give(const KeyDescription & key, KeyValue value);
  /// Adds the defaults. @throw KeyError for a required key without value.
  void complete(const std::vector<KeyDescription> & keys);

  /// Whether there is a value, given or default.
  bool has(const std::string & key) const;
  /// Whether a value was given.
  bool is_given(const std::string & key) const;

  const std::string & text(const std::string & key) const;
  double number(const std::string & key) const;
  bool boolean(const std::string & key) const;
  const Eigen::Vector3d & vector(const std::string & key) const;
  const std::vector<std::string> & names(const std::string & key) const;
  const NamedNumbers & numbers(const std::string & key) const;
  const NamedFormulas & formulas(const std::string & key) const;

  /// The keys with values, in the order in which they were added.
  std::vector<std::string> keys() const;

private:
  struct Entry
  {
    std::string key;
    KeyValue value;
    bool given;
  };
  const Entry * find(const std::string & key) const;
  const KeyValue & at(const std::string & key) const;

  std::vector<Entry> entries_;
};

}  // namespace constrained_dynamics
