// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constraints/key_arguments.hpp"

#include <algorithm>
#include <cctype>
#include <stdexcept>

namespace constrained_dynamics::python
{

namespace
{

[[noreturn]] void refuse(const KeyDescription & key)
{
  throw nb::type_error((key.name + ": allowed: " + key_type_text(key)).c_str());
}

template <class T>
T cast(const KeyDescription & key, nb::handle value)
{
  T result;
  if (!nb::try_cast(value, result))
  {
    refuse(key);
  }
  return result;
}

/// A word, or the member of an enumeration, e.g. RowLevel.POSITION for "position".
std::string word(const KeyDescription & key, nb::handle value)
{
  if (nb::isinstance<nb::str>(value) || !nb::hasattr(value, "name"))
  {
    return cast<std::string>(key, value);
  }
  std::string name = nb::cast<std::string>(value.attr("name"));
  std::transform(
    name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
  return name;
}

std::string formula(nb::handle value) { return nb::cast<std::string>(nb::str(value)); }

NamedFormulas formula_map(const nb::dict & map)
{
  NamedFormulas result;
  for (const auto & [label, text] : map)
  {
    result.emplace_back(nb::cast<std::string>(label), formula(text));
  }
  return result;
}

NamedNumbers number_map(const KeyDescription & key, const nb::dict & map)
{
  NamedNumbers result;
  for (const auto & [name, number] : map)
  {
    result.emplace_back(nb::cast<std::string>(name), cast<double>(key, number));
  }
  return result;
}

NamedNumbers numbers_or_names(const KeyDescription & key, nb::handle value)
{
  if (nb::isinstance<nb::dict>(value))
  {
    return number_map(key, nb::borrow<nb::dict>(value));
  }
  NamedNumbers zeros;
  for (const std::string & name : cast<std::vector<std::string>>(key, value))
  {
    zeros.emplace_back(name, 0.0);
  }
  return zeros;
}

NamedFormulas formulas(const KeyDescription & key, nb::handle value)
{
  if (nb::isinstance<nb::dict>(value))
  {
    return formula_map(nb::borrow<nb::dict>(value));
  }
  if (key.kind == KeyKind::kFormulaOrMap)
  {
    return {{"", formula(value)}};
  }
  NamedFormulas rows;
  for (const std::string & row : cast<std::vector<std::string>>(key, value))
  {
    rows.emplace_back("", row);
  }
  return rows;
}

KeyValue key_value(const KeyDescription & key, nb::handle value)
{
  switch (key.kind)
  {
    case KeyKind::kName:
    case KeyKind::kFrame:
    case KeyKind::kCoordinate:
      return cast<std::string>(key, value);
    case KeyKind::kChoice:
      return word(key, value);
    case KeyKind::kNumber:
      return cast<double>(key, value);
    case KeyKind::kBoolean:
      return cast<bool>(key, value);
    case KeyKind::kVector:
      return vector3(cast<VectorArgument>(key, value), key.name.c_str());
    case KeyKind::kNames:
      return cast<std::vector<std::string>>(key, value);
    case KeyKind::kNumbers:
      return number_map(key, cast<nb::dict>(key, value));
    case KeyKind::kNumbersOrNames:
      return numbers_or_names(key, value);
    case KeyKind::kFormula:
      return formula(value);
    case KeyKind::kFormulas:
    case KeyKind::kFormulaOrMap:
      return formulas(key, value);
  }
  refuse(key);
}

}  // namespace

KeyValues key_values(const nb::dict & given, const std::vector<KeyDescription> & keys)
{
  KeyValues values;
  std::size_t known = 0;
  std::string names;
  for (const KeyDescription & key : keys)
  {
    names += (names.empty() ? "" : ", ") + key.name;
    if (!given.contains(key.name.c_str()))
    {
      continue;
    }
    ++known;
    const nb::object value = given[key.name.c_str()];
    if (!value.is_none())
    {
      values.give(key, key_value(key, value));
    }
  }
  if (known != given.size())
  {
    throw KeyError("", "unknown key; allowed: " + names);
  }
  return values;
}

const char * python_type(const KeyDescription & key)
{
  switch (key.kind)
  {
    case KeyKind::kName:
    case KeyKind::kFrame:
    case KeyKind::kCoordinate:
      return "str";
    case KeyKind::kChoice:
      return "str | Enum";
    case KeyKind::kNumber:
      return "float";
    case KeyKind::kBoolean:
      return "bool";
    case KeyKind::kVector:
      return "ArrayLike";
    case KeyKind::kNames:
      return "Sequence[str]";
    case KeyKind::kNumbers:
      return "Mapping[str, float]";
    case KeyKind::kNumbersOrNames:
      return "Mapping[str, float] | Sequence[str]";
    case KeyKind::kFormula:
      return "str | float";
    case KeyKind::kFormulas:
      return "Sequence[str] | Mapping[str, str | float]";
    case KeyKind::kFormulaOrMap:
      return "str | float | Mapping[str, str | float]";
  }
  refuse(key);
}

nb::object default_of(const KeyDescription & key)
{
  return key.default_value ? python_value(*key.default_value) : nb::none();
}

nb::object python_value(const KeyValue & value)
{
  if (const auto * numbers = std::get_if<NamedNumbers>(&value))
  {
    nb::dict result;
    for (const auto & [name, number] : *numbers)
    {
      result[name.c_str()] = number;
    }
    return result;
  }
  if (const auto * formulas = std::get_if<NamedFormulas>(&value))
  {
    nb::list result;
    for (const auto & [label, text] : *formulas)
    {
      result.append(text);
    }
    return result;
  }
  if (const auto * vector = std::get_if<Eigen::Vector3d>(&value))
  {
    return nb::make_tuple(vector->x(), vector->y(), vector->z());
  }
  if (const auto * text = std::get_if<std::string>(&value))
  {
    return nb::cast(*text);
  }
  if (const auto * names = std::get_if<std::vector<std::string>>(&value))
  {
    return nb::cast(*names);
  }
  if (const auto * flag = std::get_if<bool>(&value))
  {
    return nb::cast(*flag);
  }
  return nb::cast(std::get<double>(value));
}

KeyValues checked_keys(
  const std::string & owner, const nb::dict & given, const std::vector<KeyDescription> & keys)
{
  try
  {
    return key_values(given, keys);
  }
  catch (const KeyError & error)
  {
    throw std::invalid_argument(
      owner + ": " + (error.key().empty() ? "" : error.key() + ": ") + error.what());
  }
}

}  // namespace constrained_dynamics::python
