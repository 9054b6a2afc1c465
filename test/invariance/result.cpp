// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "result.hpp"

#include <algorithm>
#include <stdexcept>

namespace invariance
{

int Named::index(const std::string & name) const
{
  const auto found = std::find(names.begin(), names.end(), name);
  return found == names.end() ? -1 : static_cast<int>(found - names.begin());
}

double Named::at(const std::string & name) const { return const_cast<Named *>(this)->at(name); }

double & Named::at(const std::string & name)
{
  const int i = index(name);
  if (i < 0)
  {
    throw std::out_of_range("the result has no value of the name '" + name + "'");
  }
  return values(i);
}

void Named::add(const std::string & name, double value)
{
  names.push_back(name);
  values.conservativeResize(values.size() + 1);
  values(values.size() - 1) = value;
}

namespace
{

Named read_named(const YAML::Node & json)
{
  Named result;
  if (!json || !json.IsMap())
  {
    return result;
  }
  result.values.resize(static_cast<Eigen::Index>(json.size()));
  for (const auto & item : json)
  {
    if (item.second.IsNull())
    {
      return {};  // a value that does not exist: neither does the solution
    }
    result.values(static_cast<Eigen::Index>(result.names.size())) = item.second.as<double>();
    result.names.push_back(item.first.as<std::string>());
  }
  return result;
}

Eigen::Vector3d read_vector(const YAML::Node & json)
{
  return {json[0].as<double>(), json[1].as<double>(), json[2].as<double>()};
}

int read_integer(const YAML::Node & json) { return json && !json.IsNull() ? json.as<int>() : -1; }

}  // namespace

Result read_result(const YAML::Node & json)
{
  Result result;
  result.status = json["status"].as<std::string>();
  result.time = json["time"] && !json["time"].IsNull() ? json["time"].as<double>() : 0.0;
  result.q = read_named(json["q"]);
  result.u = read_named(json["u"]);
  result.udot = read_named(json["udot"]);
  result.inputs = read_named(json["inputs"]);
  result.multipliers = read_named(json["multipliers"]);
  result.force = read_named(json["constraint_force"]);
  result.observe = read_named(json["observe"]);
  result.rank = read_integer(json["rank"]);
  result.nominal_rank = read_integer(json["nominal_rank"]);
  result.row_count = read_integer(json["row_count"]);
  if (json["inconsistency"] && !json["inconsistency"].IsNull())
  {
    result.inconsistency = json["inconsistency"].as<double>();
  }
  if (json["wrenches"] && json["wrenches"].IsSequence())
  {
    for (const YAML::Node & item : json["wrenches"])
    {
      if (item["on_a"].IsMap() && item["on_a"]["force"].IsSequence())
      {
        result.wrenches.push_back(
          {item["constraint"].as<std::string>(), read_vector(item["point"]),
           read_vector(item["on_a"]["force"]), read_vector(item["on_a"]["torque"])});
      }
    }
  }
  if (json["dependencies"] && json["dependencies"].IsSequence())
  {
    for (const YAML::Node & item : json["dependencies"])
    {
      result.dependent_rows.push_back(item["row"].as<std::string>());
      for (const auto & term : item["terms"])
      {
        result.dependent_rows.push_back(term.first.as<std::string>());
      }
    }
  }
  return result;
}

}  // namespace invariance
