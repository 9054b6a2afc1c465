// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "solve_json.hpp"

#include <yaml-cpp/yaml.h>  // JSON is YAML

namespace invariance
{
namespace
{

std::vector<double> values(const YAML::Node & map)
{
  std::vector<double> out;
  if (map && map.IsMap())
  {
    for (const auto & entry : map)
    {
      if (entry.second.IsNull())
      {
        return {};
      }
      out.push_back(entry.second.as<double>());
    }
  }
  return out;
}

}  // namespace

Solved read_solve_json(const std::string & file)
{
  const YAML::Node root = YAML::LoadFile(file);
  Solved out;
  out.status = root["status"].as<std::string>();
  out.given = {
    root["time"].as<double>(), values(root["q"]), values(root["u"]), values(root["inputs"])};
  for (const auto & entry : root["u"])
  {
    out.speeds.push_back(entry.first.as<std::string>());
  }
  out.acceleration = values(root["udot"]);
  out.constraint_force = values(root["constraint_force"]);
  const YAML::Node multipliers = root["multipliers"];
  if (multipliers && multipliers.IsMap())
  {
    for (const auto & entry : multipliers)
    {
      if (!entry.second.IsNull())
      {
        out.multipliers[entry.first.as<std::string>()] = entry.second.as<double>();
      }
    }
  }
  const YAML::Node wrenches = root["wrenches"];
  if (wrenches && wrenches.IsSequence())
  {
    for (const YAML::Node & item : wrenches)
    {
      Wrench wrench;
      wrench.constraint = item["constraint"].as<std::string>();
      wrench.point = item["point"].as<std::array<double, 3>>();
      wrench.force = item["on_a"]["force"].as<std::array<double, 3>>();
      wrench.torque = item["on_a"]["torque"].as<std::array<double, 3>>();
      out.wrenches.push_back(wrench);
    }
  }
  if (root["rank"] && !root["rank"].IsNull())
  {
    out.rank = root["rank"].as<int>();
  }
  return out;
}

}  // namespace invariance
