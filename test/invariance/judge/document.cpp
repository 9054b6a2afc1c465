// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "document.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

namespace invariance
{

Placement operator*(const Placement & a, const Placement & b)
{
  return {a.rotation * b.rotation, a.rotation * b.position + a.position};
}

void require_known(
  const YAML::Node & map, const std::string & where, const std::vector<std::string> & known)
{
  for (const auto & entry : map)
  {
    const std::string key = entry.first.as<std::string>();
    if (std::find(known.begin(), known.end(), key) == known.end())
    {
      throw Unsupported(where + "." + key);
    }
  }
}

std::string text_of(const YAML::Node & map, const std::string & key, const std::string & otherwise)
{
  const YAML::Node node = map[key];
  return node ? node.as<std::string>() : otherwise;
}

Document::Document(const std::string & file)
: Document(YAML::LoadFile(file), std::filesystem::path(file).parent_path().string())
{
}

Document::Document(const YAML::Node & root, const std::string & folder) : folder_(folder)
{
  require_known(
    root, "scenario",
    {"name", "description", "parameters", "definitions", "system", "constraints", "inputs",
     "formulation", "stabilisation", "initial", "run", "options", "observe", "events", "servo",
     "servo_law"});
  const YAML::Node raw_system = root["system"];
  for (const YAML::Node & place : {root, raw_system})
  {
    for (const auto & entry : place["parameters"])
    {
      names.parameters[entry.first.as<std::string>()] = number(entry.second);
    }
  }
  for (const YAML::Node & place : {root, raw_system})
  {
    for (const auto & entry : place["definitions"])
    {
      names.definitions[entry.first.as<std::string>()] =
        parse_formula(entry.second.as<std::string>());
    }
  }
  system = YAML::Node(YAML::NodeType::Map);
  for (const auto & entry : raw_system)
  {
    const std::string key = entry.first.as<std::string>();
    // Lists are resolved item by item, with the variables of their `repeat`.
    const bool has_items = key == "robots" || key == "bodies" || key == "attachments" ||
                           key == "frames" || key == "external";
    system[key] = has_items ? entry.second : substitute(entry.second, names);
  }
  constraints = items(root["constraints"]);
  events = items(root["events"]);
  const YAML::Node empty(YAML::NodeType::Map);
  const auto section = [&](const char * key)
  { return root[key] ? substitute(root[key], names) : empty; };
  stabilisation = section("stabilisation");
  options = section("options");
  run = section("run");
}

Real Document::number(const YAML::Node & node) const
{
  return number_of(node.as<std::string>(), names);
}

Real Document::number(const YAML::Node & map, const std::string & key, const Real & otherwise) const
{
  const YAML::Node node = map[key];
  return node ? number(node) : otherwise;
}

bool Document::truth(const YAML::Node & map, const std::string & key, bool otherwise) const
{
  const YAML::Node node = map[key];
  return node ? node.as<bool>() : otherwise;
}

RealTriple Document::triple(const YAML::Node & node) const
{
  return {{number(node[0]), number(node[1]), number(node[2])}};
}

RealTriple Document::triple(
  const YAML::Node & map, const std::string & key, const RealTriple & otherwise) const
{
  const YAML::Node node = map[key];
  return node ? triple(node) : otherwise;
}

Placement Document::pose(const YAML::Node & map, const std::string & key) const
{
  Placement out;
  const YAML::Node node = map[key];
  if (node)
  {
    require_known(node, key, {"xyz", "rpy"});
    out.position = triple(node, "xyz", zero3());
    out.rotation = from_rpy(triple(node, "rpy", zero3()));
  }
  return out;
}

YAML::Node Document::substitute(const YAML::Node & node, const Names & over) const
{
  const auto replaced = [&](const std::string & text)
  {
    std::string out;
    std::size_t begin = 0;
    while (true)
    {
      const std::size_t open = text.find("${", begin);
      const std::size_t close = open == std::string::npos ? open : text.find('}', open);
      if (close == std::string::npos)
      {
        return out + text.substr(begin);
      }
      const double value =
        number_of(text.substr(open + 2, close - open - 2), over).convert_to<double>();
      char buffer[32];
      std::snprintf(buffer, sizeof(buffer), "%.17g", value);
      out += text.substr(begin, open - begin) + buffer;
      begin = close + 1;
    }
  };
  switch (node.Type())
  {
    case YAML::NodeType::Scalar:
      return YAML::Node(replaced(node.Scalar()));
    case YAML::NodeType::Sequence:
    {
      YAML::Node out(YAML::NodeType::Sequence);
      for (const YAML::Node & item : node)
      {
        out.push_back(substitute(item, over));
      }
      return out;
    }
    case YAML::NodeType::Map:
    {
      YAML::Node out(YAML::NodeType::Map);
      for (const auto & entry : node)
      {
        out[replaced(entry.first.as<std::string>())] = substitute(entry.second, over);
      }
      return out;
    }
    default:
      return node;
  }
}

std::vector<YAML::Node> Document::items(const YAML::Node & list) const
{
  std::vector<YAML::Node> out;
  if (!list)
  {
    return out;
  }
  for (const YAML::Node & item : list)
  {
    std::vector<std::pair<std::string, std::pair<int, int>>> ranges;
    const YAML::Node repeat = item["repeat"];
    if (repeat)
    {
      for (const auto & entry : repeat)
      {
        ranges.push_back(
          {entry.first.as<std::string>(),
           {number(entry.second[0]).convert_to<int>(), number(entry.second[1]).convert_to<int>()}});
      }
    }
    const std::function<void(std::size_t, const Names &)> expand =
      [&](std::size_t depth, const Names & over)
    {
      if (depth == ranges.size())
      {
        YAML::Node made = substitute(item, over);
        made.remove("repeat");
        out.push_back(made);
        return;
      }
      for (int i = ranges[depth].second.first; i <= ranges[depth].second.second; ++i)
      {
        Names inner = over;
        inner.parameters[ranges[depth].first] = i;
        expand(depth + 1, inner);
      }
    };
    expand(0, names);
  }
  return out;
}

std::string Document::description(const std::string & text) const
{
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && text[first] == '<')
  {
    return text;
  }
  const std::string scheme = "example-robot-data:";
  std::filesystem::path path;
  if (text.compare(0, scheme.size(), scheme) == 0)
  {
    const char * given = std::getenv("EXAMPLE_ROBOT_DATA");
    path = std::filesystem::path(given != nullptr ? given : CD_EXAMPLE_ROBOT_DATA) /
           text.substr(scheme.size());
  }
  else if (text.find("://") != std::string::npos)
  {
    throw Unsupported("the place '" + text + "' of a robot description");
  }
  else
  {
    path = std::filesystem::path(folder_) / text;
  }
  std::ifstream stream(path);
  if (!stream)
  {
    throw std::invalid_argument("robot description '" + path.string() + "' cannot be read");
  }
  std::ostringstream content;
  content << stream.rdbuf();
  return content.str();
}

}  // namespace invariance
