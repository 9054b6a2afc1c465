// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/key_description.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace constrained_dynamics
{

namespace
{

std::string number_text(double value)
{
  char buffer[40];
  std::snprintf(buffer, sizeof(buffer), "%.12g", value);
  return buffer;
}

std::string joined(const std::vector<std::string> & words, const char * separator)
{
  std::string result;
  for (const std::string & word : words)
  {
    result += (result.empty() ? "" : separator) + word;
  }
  return result;
}

/// The range in words: "a number above 0", "a number from 0 to 1".
std::string range_text(const KeyDescription & key)
{
  const bool has_minimum = std::isfinite(key.minimum);
  const bool has_maximum = std::isfinite(key.maximum);
  std::string text = "a number";
  if (has_minimum && has_maximum && !key.above_minimum)
  {
    return text + " from " + number_text(key.minimum) + " to " + number_text(key.maximum);
  }
  if (has_minimum)
  {
    text += (key.above_minimum ? " above " : " not below ") + number_text(key.minimum);
  }
  if (has_maximum)
  {
    text += (has_minimum ? ", not above " : " not above ") + number_text(key.maximum);
  }
  return text;
}

/// The range in signs: "number > 0", "number, 0 to 1".
std::string range_signs(const KeyDescription & key)
{
  std::string text = "number";
  if (std::isfinite(key.minimum) && std::isfinite(key.maximum) && !key.above_minimum)
  {
    return text + ", " + number_text(key.minimum) + " to " + number_text(key.maximum);
  }
  if (std::isfinite(key.minimum))
  {
    text += (key.above_minimum ? " > " : " ≥ ") + number_text(key.minimum);
  }
  if (std::isfinite(key.maximum))
  {
    text += " ≤ " + number_text(key.maximum);
  }
  return text;
}

/// Writes a value as a scenario file has it.
struct ValueWriter
{
  std::string operator()(const std::string & value) const { return value; }
  std::string operator()(double value) const { return number_text(value); }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(const Eigen::Vector3d & value) const
  {
    return "[" + number_text(value.x()) + ", " + number_text(value.y()) + ", " +
           number_text(value.z()) + "]";
  }
  std::string operator()(const std::vector<std::string> & value) const
  {
    return "[" + joined(value, ", ") + "]";
  }
  std::string operator()(const NamedNumbers & value) const
  {
    std::vector<std::string> items;
    for (const auto & [name, number] : value)
    {
      items.push_back(name + ": " + number_text(number));
    }
    return "{" + joined(items, ", ") + "}";
  }
  std::string operator()(const NamedFormulas & value) const
  {
    std::vector<std::string> items;
    for (const auto & [name, formula] : value)
    {
      items.push_back(name.empty() ? formula : name + ": " + formula);
    }
    return "[" + joined(items, ", ") + "]";
  }
};

bool is_finite(const KeyValue & value)
{
  if (const auto * number = std::get_if<double>(&value))
  {
    return std::isfinite(*number);
  }
  if (const auto * vector = std::get_if<Eigen::Vector3d>(&value))
  {
    return vector->allFinite();
  }
  if (const auto * numbers = std::get_if<NamedNumbers>(&value))
  {
    return std::all_of(
      numbers->begin(), numbers->end(),
      [](const auto & entry) { return std::isfinite(entry.second); });
  }
  return true;
}

}  // namespace

KeyDescription describe_key(
  std::string name, KeyKind kind, std::string text, std::vector<std::string> words)
{
  KeyDescription key;
  key.name = std::move(name);
  key.kind = kind;
  key.text = std::move(text);
  key.words = std::move(words);
  return key;
}

std::vector<KeyDescription> with_frames(const std::vector<KeyDescription> & more)
{
  std::vector<KeyDescription> keys = {
    describe_key("frame_a", KeyKind::kFrame, "frame A"),
    describe_key("frame_b", KeyKind::kFrame, "frame B").with_default("world")};
  keys.insert(keys.end(), more.begin(), more.end());
  return keys;
}

KeyDescription KeyDescription::optional() const
{
  KeyDescription key = *this;
  key.required = false;
  return key;
}

KeyDescription KeyDescription::with_default(KeyValue value) const
{
  KeyDescription key = optional();
  key.default_value = std::move(value);
  return key;
}

KeyDescription KeyDescription::at_least(double lowest) const
{
  KeyDescription key = *this;
  key.minimum = lowest;
  return key;
}

KeyDescription KeyDescription::above(double bound) const
{
  KeyDescription key = at_least(bound);
  key.above_minimum = true;
  return key;
}

KeyDescription KeyDescription::at_most(double highest) const
{
  KeyDescription key = *this;
  key.maximum = highest;
  return key;
}

std::string key_problem(const KeyDescription & key, const KeyValue & value)
{
  if (!is_finite(value))
  {
    return key.kind == KeyKind::kNumber ? "allowed: a finite number" : "allowed: finite numbers";
  }
  if (const auto * number = std::get_if<double>(&value))
  {
    const bool high_enough = key.above_minimum ? *number > key.minimum : *number >= key.minimum;
    return high_enough && *number <= key.maximum ? "" : "allowed: " + range_text(key);
  }
  if (key.kind == KeyKind::kChoice)
  {
    const auto & word = std::get<std::string>(value);
    const bool exists = std::find(key.words.begin(), key.words.end(), word) != key.words.end();
    return exists ? "" : "allowed: " + joined(key.words, ", ");
  }
  return "";
}

std::string key_type_text(const KeyDescription & key)
{
  const std::string words = "`" + joined(key.words, " ") + "`";
  switch (key.kind)
  {
    case KeyKind::kName:
      return "name";
    case KeyKind::kFrame:
      return "frame";
    case KeyKind::kCoordinate:
      return "coordinate";
    case KeyKind::kNumber:
      return range_signs(key);
    case KeyKind::kBoolean:
      return "boolean";
    case KeyKind::kChoice:
      return "`" + joined(key.words, "`, `") + "`";
    case KeyKind::kVector:
      return "vector";
    case KeyKind::kNames:
      return key.words.empty() ? "list of names" : "list out of " + words;
    case KeyKind::kNumbers:
      return "map coordinate → number";
    case KeyKind::kNumbersOrNames:
      return "map coordinate → number, or list of coordinates";
    case KeyKind::kFormula:
      return "formula";
    case KeyKind::kFormulas:
      return "list of formulas, or map label → formula";
    case KeyKind::kFormulaOrMap:
      return "formula, or map out of " + words + " → formula";
  }
  return "";
}

std::string key_default_text(const KeyDescription & key)
{
  if (key.default_value)
  {
    return "`" + std::visit(ValueWriter(), *key.default_value) + "`";
  }
  return key.required ? "required" : "optional";
}

std::string key_table(const std::vector<KeyDescription> & keys)
{
  std::string table = "| key | value | default | meaning |\n|---|---|---|---|\n";
  for (const KeyDescription & key : keys)
  {
    table += "| `" + key.name + "` | " + key_type_text(key) + " | " + key_default_text(key) +
             " | " + key.text + " |\n";
  }
  return table;
}

void KeyValues::give(const KeyDescription & key, KeyValue value)
{
  const std::string problem = key_problem(key, value);
  if (!problem.empty())
  {
    throw KeyError(key.name, std::visit(ValueWriter(), value) + ": " + problem);
  }
  entries_.push_back({key.name, std::move(value), true});
}

void KeyValues::complete(const std::vector<KeyDescription> & keys)
{
  for (const KeyDescription & key : keys)
  {
    if (has(key.name))
    {
      continue;
    }
    if (key.required)
    {
      throw KeyError("", "the key '" + key.name + "' is missing");
    }
    if (key.default_value)
    {
      entries_.push_back({key.name, *key.default_value, false});
    }
  }
}

const KeyValues::Entry * KeyValues::find(const std::string & key) const
{
  const auto found = std::find_if(
    entries_.begin(), entries_.end(), [&](const Entry & entry) { return entry.key == key; });
  return found == entries_.end() ? nullptr : &*found;
}

const KeyValue & KeyValues::at(const std::string & key) const
{
  const Entry * entry = find(key);
  if (entry == nullptr)
  {
    throw std::out_of_range("the key '" + key + "' has no value");
  }
  return entry->value;
}

bool KeyValues::has(const std::string & key) const { return find(key) != nullptr; }

bool KeyValues::is_given(const std::string & key) const
{
  const Entry * entry = find(key);
  return entry != nullptr && entry->given;
}

const std::string & KeyValues::text(const std::string & key) const
{
  return std::get<std::string>(at(key));
}

double KeyValues::number(const std::string & key) const { return std::get<double>(at(key)); }

bool KeyValues::boolean(const std::string & key) const { return std::get<bool>(at(key)); }

const Eigen::Vector3d & KeyValues::vector(const std::string & key) const
{
  return std::get<Eigen::Vector3d>(at(key));
}

const std::vector<std::string> & KeyValues::names(const std::string & key) const
{
  return std::get<std::vector<std::string>>(at(key));
}

const NamedNumbers & KeyValues::numbers(const std::string & key) const
{
  return std::get<NamedNumbers>(at(key));
}

const NamedFormulas & KeyValues::formulas(const std::string & key) const
{
  return std::get<NamedFormulas>(at(key));
}

std::vector<std::string> KeyValues::keys() const
{
  std::vector<std::string> result;
  for (const Entry & entry : entries_)
  {
    result.push_back(entry.key);
  }
  return result;
}

}  // namespace constrained_dynamics
