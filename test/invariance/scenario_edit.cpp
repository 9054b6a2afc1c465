// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "scenario_edit.hpp"

#include <cctype>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <stdexcept>

namespace invariance
{

Eigen::Isometry3d Pose::isometry() const
{
  Eigen::Isometry3d result = Eigen::Isometry3d::Identity();
  result.translation() = xyz;
  result.linear() = (Eigen::AngleAxisd(rpy.z(), Eigen::Vector3d::UnitZ()) *
                     Eigen::AngleAxisd(rpy.y(), Eigen::Vector3d::UnitY()) *
                     Eigen::AngleAxisd(rpy.x(), Eigen::Vector3d::UnitX()))
                      .toRotationMatrix();
  return result;
}

Pose pose_of(const Eigen::Isometry3d & isometry)
{
  const Eigen::Matrix3d R = isometry.linear();
  Pose pose;
  pose.xyz = isometry.translation();
  const double cosine = std::hypot(R(2, 1), R(2, 2));
  if (cosine > 1e-8)
  {
    pose.rpy << std::atan2(R(2, 1), R(2, 2)), std::atan2(-R(2, 0), cosine),
      std::atan2(R(1, 0), R(0, 0));
  }
  else
  {
    pose.rpy << std::atan2(-R(1, 2), R(1, 1)), std::atan2(-R(2, 0), cosine), 0.0;
  }
  return pose;
}

std::string text(double value)
{
  char buffer[40];
  std::snprintf(buffer, sizeof buffer, "%.17g", value);
  return buffer;
}

YAML::Node flow_list(const std::vector<std::string> & words)
{
  YAML::Node result(YAML::NodeType::Sequence);
  for (const std::string & word : words)
  {
    result.push_back(word);
  }
  result.SetStyle(YAML::EmitterStyle::Flow);
  return result;
}

YAML::Node node(const Eigen::Vector3d & vector)
{
  return flow_list({text(vector.x()), text(vector.y()), text(vector.z())});
}

YAML::Node node(const Pose & pose)
{
  YAML::Node result(YAML::NodeType::Map);
  result["xyz"] = node(pose.xyz);
  result["rpy"] = node(pose.rpy);
  result.SetStyle(YAML::EmitterStyle::Flow);
  return result;
}

Eigen::Vector3d vector_from(const YAML::Node & node)
{
  return {node[0].as<double>(), node[1].as<double>(), node[2].as<double>()};
}

Pose pose_from(const YAML::Node & node)
{
  Pose pose;
  if (node && node["xyz"])
  {
    pose.xyz = vector_from(node["xyz"]);
  }
  if (node && node["rpy"])
  {
    pose.rpy = vector_from(node["rpy"]);
  }
  return pose;
}

bool is_plain(const YAML::Node & node)
{
  if (!node || node.IsNull())
  {
    return true;
  }
  if (node.IsScalar())
  {
    double value = 0.0;
    return YAML::convert<double>::decode(node, value);
  }
  for (const auto & item : node)
  {
    if (!is_plain(node.IsMap() ? item.second : static_cast<const YAML::Node &>(item)))
    {
      return false;
    }
  }
  return true;
}

std::string string_of(const YAML::Node & map, const char * key, const std::string & otherwise)
{
  return map[key] ? map[key].as<std::string>() : otherwise;
}

std::vector<std::string> strings_of(const YAML::Node & list)
{
  std::vector<std::string> result;
  for (const YAML::Node & item : list)
  {
    result.push_back(item.as<std::string>());
  }
  return result;
}

namespace
{

/// Calls `change` with every scalar below the node.
void each_scalar(YAML::Node node, const std::function<void(YAML::Node &)> & change)
{
  if (!node.IsDefined())
  {
    return;
  }
  if (node.IsScalar())
  {
    change(node);
  }
  else if (node.IsMap())
  {
    for (auto item : node)
    {
      each_scalar(item.second, change);
    }
  }
  else if (node.IsSequence())
  {
    for (auto item : node)
    {
      each_scalar(item, change);
    }
  }
}

bool is_word_character(char c)
{
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// Where the word stands as a whole, from a place on; npos: nowhere.
std::size_t find_word(const std::string & text, const std::string & word, std::size_t from)
{
  for (std::size_t at = text.find(word, from); at != std::string::npos;
       at = text.find(word, at + 1))
  {
    const bool starts = at == 0 || !is_word_character(text[at - 1]);
    const std::size_t after = at + word.size();
    if (starts && (after == text.size() || !is_word_character(text[after])))
    {
      return at;
    }
  }
  return std::string::npos;
}

void make_absolute(YAML::Node robot, const std::filesystem::path & folder)
{
  for (const char * key : {"urdf", "mjcf", "sdf"})
  {
    if (!robot[key])
    {
      continue;
    }
    const std::string value = robot[key].as<std::string>();
    const bool is_file =
      value.find('<') == std::string::npos && value.find(':') == std::string::npos;
    if (is_file && !std::filesystem::path(value).is_absolute())
    {
      robot[key] = std::filesystem::weakly_canonical(folder / value).string();
    }
  }
}

}  // namespace

YAML::Node load_scenario(const std::string & file)
{
  YAML::Node scenario = YAML::LoadFile(file);
  const std::filesystem::path folder = std::filesystem::path(file).parent_path();
  make_absolute(scenario["system"], folder);
  if (scenario["system"]["robots"])
  {
    for (YAML::Node robot : scenario["system"]["robots"])
    {
      make_absolute(robot, folder);
    }
  }
  scenario.remove("observe");
  scenario.remove("description");
  return scenario;
}

void write_scenario(const YAML::Node & scenario, const std::string & file)
{
  std::ofstream out(file);
  YAML::Emitter emitter(out);
  emitter << scenario;
  out << "\n";
  if (!out)
  {
    throw std::runtime_error(file + " cannot be written");
  }
}

void add_frame(
  YAML::Node & scenario, const std::string & name, const std::string & parent, const Pose & pose)
{
  YAML::Node frame;
  frame["name"] = name;
  frame["parent"] = parent;
  frame["pose"] = node(pose);
  scenario["system"]["frames"].push_back(frame);
}

bool mentions(const YAML::Node & node, const std::string & word)
{
  bool found = false;
  each_scalar(
    node, [&](YAML::Node & scalar)
    { found = found || find_word(scalar.Scalar(), word, 0) != std::string::npos; });
  return found;
}

std::string unused_name(const YAML::Node & scenario, const std::string & stem)
{
  std::string name = stem;
  for (int i = 2; mentions(scenario, name); ++i)
  {
    name = stem + std::to_string(i);
  }
  return name;
}

void replace_word(YAML::Node node, const std::string & word, const std::string & by)
{
  each_scalar(
    node,
    [&](YAML::Node & scalar)
    {
      std::string value = scalar.Scalar();
      std::size_t at = find_word(value, word, 0);
      if (at == std::string::npos)
      {
        return;
      }
      while (at != std::string::npos)
      {
        value.replace(at, word.size(), by);
        at = find_word(value, word, at + by.size());
      }
      scalar = value;
    });
}

int constraint_index(const YAML::Node & scenario, const std::string & name)
{
  const YAML::Node constraints = scenario["constraints"];
  for (std::size_t i = 0; constraints && i < constraints.size(); ++i)
  {
    if (constraints[i]["name"].as<std::string>() == name)
    {
      return static_cast<int>(i);
    }
  }
  return -1;
}

std::vector<std::string> row_labels(const YAML::Node & constraint)
{
  const std::string type = constraint["type"].as<std::string>();
  const YAML::Node rows = constraint["rows"];
  if (type == "frame_coincidence")
  {
    return rows ? strings_of(rows) : std::vector<std::string>{"x", "y", "z", "rx", "ry", "rz"};
  }
  if (type == "centre_of_mass")
  {
    return rows ? strings_of(rows) : std::vector<std::string>{"x", "y", "z"};
  }
  if (type == "formula")
  {
    std::vector<std::string> labels;
    for (const auto & row : rows)
    {
      labels.push_back(
        rows.IsMap() ? row.first.as<std::string>() : "row_" + std::to_string(labels.size() + 1));
    }
    return labels;
  }
  if (type == "point_on_plane")
  {
    return {"normal"};
  }
  if (type == "point_on_line")
  {
    return {"normal_1", "normal_2"};
  }
  if (type == "distance")
  {
    return {"distance"};
  }
  if (type == "joint_coupling")
  {
    return {"coupling"};
  }
  if (type == "knife_edge")
  {
    return {"lateral"};
  }
  return {};
}

}  // namespace invariance
