// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iterator>
#include <map>
#include <utility>

#include "ament_prefixes.hpp"
#include "scenario/scenario_system_parts.hpp"

#ifndef CD_EXAMPLE_ROBOT_DATA
#define CD_EXAMPLE_ROBOT_DATA ""
#endif

namespace constrained_dynamics
{

namespace fs = std::filesystem;

namespace
{

Pose read_pose(const ScenarioReader & reader)
{
  reader.allow_keys({"xyz", "rpy"});
  Pose pose;
  pose.xyz = reader.vector_or("xyz", pose.xyz);
  pose.rpy = reader.vector_or("rpy", pose.rpy);
  return pose;
}

/// The folder 'robots' of example-robot-data: by its environment variable, else of a ROS 2
/// installation, else where the build found it; empty if it is not known.
fs::path robot_data_folder()
{
  const char * chosen = std::getenv("EXAMPLE_ROBOT_DATA");
  if (chosen != nullptr && *chosen != '\0')
  {
    return chosen;
  }
  std::error_code error;
  for (const fs::path & prefix : ament_prefixes())
  {
    const fs::path folder = prefix / "share" / "example-robot-data" / "robots";
    if (fs::is_directory(folder, error))
    {
      return folder;
    }
  }
  return CD_EXAMPLE_ROBOT_DATA;
}

/// A file below the folder of example-robot-data.
std::string find_robot_data(const ScenarioReader & reader, const std::string & name)
{
  const fs::path root = robot_data_folder();
  if (root.empty())
  {
    reader.fail(
      "the folder of example-robot-data is not known: install it (pip install "
      "example-robot-data) and name its share/example-robot-data/robots in the environment "
      "variable EXAMPLE_ROBOT_DATA");
  }
  std::error_code error;
  const fs::path path = root / name;
  if (!fs::is_regular_file(path, error))
  {
    reader.fail(
      "no file " + path.string() +
      "; the environment variable EXAMPLE_ROBOT_DATA names another folder 'robots'");
  }
  return path.string();
}

/// A file of an installed ROS package.
std::string find_in_packages(const ScenarioReader & reader, const std::string & name)
{
  std::error_code error;
  std::string list;
  for (const fs::path & prefix : ament_prefixes())
  {
    const fs::path path = prefix / "share" / name;
    if (fs::is_regular_file(path, error))
    {
      return path.string();
    }
    list += (list.empty() ? "" : ":") + prefix.string();
  }
  reader.fail(
    "no such file in share/ of the prefixes in AMENT_PREFIX_PATH, which is '" + list + "'");
}

/// The text of a robot's description: in place, or of a file.
RobotDescription read_document(
  const ScenarioReader & document, const std::string & key, RobotFormat format)
{
  const std::string text = document.string();
  RobotDescription robot;
  const std::size_t first = text.find_first_not_of(" \n\r\t");
  if (first != std::string::npos && text[first] == '<')
  {
    robot.text = text.substr(first);
    robot.source = document.path();
    robot.format = format;
    return robot;
  }
  const std::string path = resolve_file(document);
  try
  {
    robot = load_robot_description(path);
  }
  catch (const std::exception & error)
  {
    document.fail(error.what());
  }
  if (robot.format != format)
  {
    document.fail("the file is not " + key + "; allowed: the key of its format");
  }
  return robot;
}

/// Joints that do not move: a list, or a map to their values.
std::map<std::string, double> read_locked(const ScenarioReader & locked)
{
  std::map<std::string, double> values;
  if (locked.node().is_map())
  {
    for (const auto & [joint, value] : locked.entries())
    {
      values[joint] = value.number();
    }
  }
  else if (locked.node().is_list())
  {
    for (const std::string & joint : locked.names())
    {
      values[joint] = 0.0;
    }
  }
  else
  {
    locked.fail("allowed: a list of joints, or a map joint: value");
  }
  return values;
}

RobotDescription read_robot(const ScenarioReader & reader)
{
  static const std::vector<std::pair<std::string, RobotFormat>> formats = {
    {"urdf", RobotFormat::kUrdf}, {"mjcf", RobotFormat::kMjcf}, {"sdf", RobotFormat::kSdf}};
  std::vector<std::pair<std::string, RobotFormat>> given;
  std::copy_if(
    formats.begin(), formats.end(), std::back_inserter(given),
    [&](const auto & format) { return reader.has(format.first); });
  if (given.size() != 1)
  {
    reader.fail_here("a robot needs exactly one of the keys urdf, mjcf, sdf");
  }
  const auto & [key, format] = given[0];
  RobotDescription robot = read_document(reader.at(key), key, format);
  robot.base = read_base(reader, Base::kFixed);
  robot.pose = read_pose_or_zero(reader);
  if (const auto use = reader.find("file_constraints"))
  {
    robot.use_file_constraints = use->choice({"use", "ignore"}) == "use";
  }
  if (const auto light = reader.find("light_links"))
  {
    robot.allow_light_links = light->choice({"refuse", "allow"}) == "allow";
  }
  if (const auto locked = reader.find("locked"))
  {
    robot.locked = read_locked(*locked);
  }
  return robot;
}

}  // namespace

std::string resolve_file(const ScenarioReader & reader)
{
  const std::string name = reader.name();
  const std::string robot_data = "example-robot-data:";
  const std::string package = "package://";
  if (name.compare(0, robot_data.size(), robot_data) == 0)
  {
    return find_robot_data(reader, name.substr(robot_data.size()));
  }
  if (name.compare(0, package.size(), package) == 0)
  {
    return find_in_packages(reader, name.substr(package.size()));
  }
  std::error_code error;
  const fs::path path =
    fs::path(name).is_absolute() ? fs::path(name) : reader.scope().folder / name;
  if (!fs::is_regular_file(path, error))
  {
    reader.fail("no file " + path.string());
  }
  return path.string();
}

const std::vector<std::string> & robot_keys()
{
  static const std::vector<std::string> keys = {
    "name",   "prefix",           "urdf",         "mjcf",       "sdf", "base", "pose",
    "locked", "file_constraints", "closed_loops", "light_links"};
  return keys;
}

Pose read_pose_or_zero(const ScenarioReader & reader)
{
  const auto pose = reader.find("pose");
  return pose ? read_pose(*pose) : Pose();
}

Base read_base(const ScenarioReader & reader, Base fallback)
{
  static const std::map<std::string, Base> bases = {
    {"fixed", Base::kFixed}, {"planar", Base::kPlanar}, {"floating", Base::kFloating}};
  const auto base = reader.find("base");
  return base ? bases.at(base->choice({"fixed", "planar", "floating"})) : fallback;
}

void read_robots(
  const ScenarioReader & reader, SceneDescription & scene, std::vector<ClosedLoops> & loops)
{
  const auto add = [&](const ScenarioReader & item, RobotDescription robot)
  {
    if (const auto key = item.find("closed_loops"))
    {
      loops.push_back(read_closed_loops(*key, resolve_file(*key), robot));
    }
    scene.robots.push_back(std::move(robot));
  };
  const bool has_one = std::any_of(
    robot_keys().begin(), robot_keys().end(),
    [&](const std::string & key) { return reader.has(key); });
  if (has_one && reader.has("robots"))
  {
    reader.at("robots").fail_here("allowed: one robot directly below 'system', or 'robots'");
  }
  if (has_one)
  {
    RobotDescription robot = read_robot(reader);
    robot.name = reader.string_or("name", "");
    robot.prefix = reader.string_or("prefix", "");
    add(reader, std::move(robot));
  }
  if (const auto robots = reader.find("robots"))
  {
    for (const ScenarioReader & item : robots->items())
    {
      item.allow_keys(robot_keys());
      const std::string name = item.at("name").name();
      RobotDescription robot = read_robot(item);
      robot.name = name;
      robot.prefix = item.string_or("prefix", name + "_");
      add(item, std::move(robot));
    }
  }
}

}  // namespace constrained_dynamics
