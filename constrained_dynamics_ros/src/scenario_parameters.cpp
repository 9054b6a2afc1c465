// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics_ros/scenario_parameters.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <utility>
#include <vector>

#include <constrained_dynamics/scenario/scenario_merge.hpp>
#include <constrained_dynamics/scenario/text_tree.hpp>

namespace constrained_dynamics_ros
{

using constrained_dynamics::read_yaml;
using constrained_dynamics::TextTree;

namespace
{

bool is_section(const std::string & name)
{
  const std::vector<std::string> & sections = constrained_dynamics::scenario_sections();
  return std::find(sections.begin(), sections.end(), name) != sections.end();
}

[[noreturn]] void refuse(const std::string & name, const std::string & what)
{
  throw std::invalid_argument("parameter '" + name + "': " + what);
}

// ---- parameters as a tree ----------------------------------------------------------------------

TextTree from_number(const std::string & name, double number)
{
  char text[32];
  std::snprintf(text, sizeof(text), "%.17g", number);
  if (!std::isfinite(number))
  {
    refuse(name, std::string(text) + "; allowed: a finite number");
  }
  return TextTree::value(text);
}

TextTree from_string(const std::string & name, const std::string & text)
{
  const std::size_t begin = text.find_first_not_of(" \n");
  const bool is_yaml = begin != std::string::npos && (text[begin] == '[' || text[begin] == '{');
  const bool is_map = is_section(name) && name != "formulation";
  return is_yaml || is_map ? read_yaml(text, "parameter '" + name + "'") : TextTree::value(text);
}

template <typename T, typename Convert>
TextTree from_array(const std::vector<T> & values, const Convert & convert)
{
  TextTree list = TextTree::list();
  for (const T & value : values)
  {
    list.children.push_back(convert(value));
  }
  return list;
}

/// Whether the values of a parameter are names of rows, as of constraints.<name>.rows.
bool expects_rows(const std::string & name)
{
  const std::string key = name.substr(name.rfind('.') + 1);
  return key == "rows" || key == "tangents";
}

TextTree from_parameter(const std::string & name, const rclcpp::ParameterValue & value)
{
  // Parameter files are YAML 1.1, where unquoted y and n are booleans; rows are never that.
  const auto truth = [&](bool is)
  {
    return expects_rows(name) ? TextTree::value(is ? "y" : "n")
                              : TextTree::value(is ? "true" : "false");
  };
  const auto whole = [](std::int64_t number) { return TextTree::value(std::to_string(number)); };
  const auto number = [&](double x) { return from_number(name, x); };
  const auto string = [&](const std::string & text) { return from_string(name, text); };
  switch (value.get_type())
  {
    case rclcpp::ParameterType::PARAMETER_BOOL:
      return truth(value.get<bool>());
    case rclcpp::ParameterType::PARAMETER_INTEGER:
      return whole(value.get<std::int64_t>());
    case rclcpp::ParameterType::PARAMETER_DOUBLE:
      return number(value.get<double>());
    case rclcpp::ParameterType::PARAMETER_STRING:
      return string(value.get<std::string>());
    case rclcpp::ParameterType::PARAMETER_BOOL_ARRAY:
      return from_array(value.get<std::vector<bool>>(), truth);
    case rclcpp::ParameterType::PARAMETER_INTEGER_ARRAY:
      return from_array(value.get<std::vector<std::int64_t>>(), whole);
    case rclcpp::ParameterType::PARAMETER_DOUBLE_ARRAY:
      return from_array(value.get<std::vector<double>>(), number);
    case rclcpp::ParameterType::PARAMETER_STRING_ARRAY:
      return from_array(value.get<std::vector<std::string>>(), string);
    case rclcpp::ParameterType::PARAMETER_NOT_SET:
    case rclcpp::ParameterType::PARAMETER_BYTE_ARRAY:
      break;
  }
  refuse(
    name, rclcpp::to_string(value.get_type()) +
            "; allowed: a boolean, a number, a string, or an array of one of them");
}

std::vector<std::string> split(const std::string & name)
{
  std::vector<std::string> parts;
  std::stringstream stream(name);
  for (std::string part; std::getline(stream, part, '.');)
  {
    if (part.empty())
    {
      refuse(name, "a part of the name is empty");
    }
    parts.push_back(part);
  }
  return parts;
}

/// Adds the tree of one parameter to those of others.
void combine(const std::string & name, TextTree from, TextTree & to)
{
  if (to.is_null())
  {
    to = std::move(from);
    return;
  }
  if (!from.is_map() || !to.is_map())
  {
    refuse(name, "another parameter, above or below it, has a value as well; allowed: one of them");
  }
  for (std::size_t i = 0; i < from.keys.size(); ++i)
  {
    combine(name, std::move(from.children[i]), to.at(from.keys[i]));
  }
}

/// The parameters that belong to a scenario, as one tree of maps.
TextTree parameter_tree(const ParameterMap & parameters)
{
  TextTree root = TextTree::map();
  for (const auto & [name, value] : parameters)
  {
    if (
      !is_scenario_parameter(name) || value.get_type() == rclcpp::ParameterType::PARAMETER_NOT_SET)
    {
      continue;
    }
    const std::vector<std::string> parts = split(name);
    TextTree tree = from_parameter(name, value);
    for (auto part = parts.rbegin(); part != parts.rend(); ++part)
    {
      TextTree map = TextTree::map();
      map.at(*part) = std::move(tree);
      tree = std::move(map);
    }
    combine(name, std::move(tree), root);
  }
  return root;
}

bool has_boolean(const ParameterMap & parameters)
{
  return std::any_of(
    parameters.begin(), parameters.end(),
    [](const auto & parameter)
    {
      const rclcpp::ParameterType type = parameter.second.get_type();
      return type == rclcpp::ParameterType::PARAMETER_BOOL ||
             type == rclcpp::ParameterType::PARAMETER_BOOL_ARRAY;
    });
}

std::string read_file(const std::string & path)
{
  std::ifstream file(path);
  std::stringstream text;
  if (!file || !(text << file.rdbuf()))
  {
    throw std::invalid_argument(
      "scenario: '" + path + "' cannot be read; allowed: a scenario file");
  }
  return text.str();
}

}  // namespace

bool is_scenario_parameter(const std::string & name)
{
  return is_section(name.substr(0, name.find('.')));
}

std::string scenario_text(const ScenarioSource & source)
{
  const TextTree parameters = parameter_tree(source.parameters);
  TextTree root = TextTree::map();
  if (!source.file.empty())
  {
    const std::string path = resolve_uri(source.file);
    root = read_yaml(read_file(path), path);
    if (!root.is_map())
    {
      throw std::invalid_argument(path + ": allowed: a map with the key 'system'");
    }
    if (root.find("name") == nullptr)
    {
      root.at("name") = TextTree::value(std::filesystem::path(path).stem().string());
    }
  }
  else if (source.robot_description.empty() && parameters.find("system") == nullptr)
  {
    throw std::invalid_argument(
      "scenario: there is neither a scenario file nor a robot_description nor a parameter below "
      "'system'; allowed: at least one of them");
  }
  if (!source.robot_description.empty() && !constrained_dynamics::names_robot(parameters))
  {
    constrained_dynamics::use_robot_description(source.robot_description, root);
  }
  constrained_dynamics::merge_scenario(parameters, root);
  if (!source.profile.empty())
  {
    constrained_dynamics::use_robot_profile(resolve_uri(source.profile), root);
  }
  if (source.without_controls)
  {
    constrained_dynamics::remove_controls(root);
  }
  return constrained_dynamics::write_yaml(root);
}

constrained_dynamics::Scenario load_scenario(
  const ScenarioSource & source, const constrained_dynamics::ScenarioLoadOptions & options)
{
  const std::string text = scenario_text(source);
  const std::filesystem::path file = resolve_uri(source.file);
  const std::string folder = file.has_parent_path() ? file.parent_path().string() : ".";
  try
  {
    return constrained_dynamics::Scenario::from_text(text, {}, folder, options);
  }
  catch (const std::invalid_argument & error)
  {
    // "scenario:<line>: <key path>: …", where the line is one of a text that the user never saw.
    std::string what = error.what();
    const std::string begin = "scenario:";
    if (what.compare(0, begin.size(), begin) == 0)
    {
      const std::size_t end = what.find_first_not_of("0123456789", begin.size());
      what = end == std::string::npos ? what : what.substr(end);
    }
    const bool names_boolean =
      what.find("true") != std::string::npos || what.find("false") != std::string::npos;
    throw std::invalid_argument(
      (source.file.empty() ? "scenario" : "scenario '" + source.file + "'") + what +
      (names_boolean && has_boolean(source.parameters)
         ? " (unquoted y, n, yes, no, on and off are booleans in parameter files: quote them)"
         : ""));
  }
}

std::string resolve_uri(const std::string & uri)
{
  const std::string package_scheme = "package://";
  const std::string file_scheme = "file://";
  if (uri.compare(0, file_scheme.size(), file_scheme) == 0)
  {
    return uri.substr(file_scheme.size());
  }
  if (uri.compare(0, package_scheme.size(), package_scheme) != 0)
  {
    return uri;
  }
  const std::string rest = uri.substr(package_scheme.size());
  const std::string package = rest.substr(0, rest.find('/'));
  const char * prefixes = std::getenv("AMENT_PREFIX_PATH");
  std::stringstream stream(prefixes == nullptr ? "" : prefixes);
  for (std::string prefix; std::getline(stream, prefix, ':');)
  {
    const std::filesystem::path share = std::filesystem::path(prefix) / "share" / package;
    if (!package.empty() && !prefix.empty() && std::filesystem::is_directory(share))
    {
      return share.string() + rest.substr(package.size());
    }
  }
  throw std::invalid_argument(
    "'" + uri + "': there is no package '" + package + "' in AMENT_PREFIX_PATH");
}

}  // namespace constrained_dynamics_ros
