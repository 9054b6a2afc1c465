// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "model/robot_xml.hpp"

#include <filesystem>
#include <stdexcept>

#include <tinyxml2.h>

#include "model/xml_reader.hpp"
#include "text_file.hpp"

namespace constrained_dynamics
{

std::string describe(const RobotDescription & robot)
{
  std::string text = "robot";
  if (!robot.name.empty())
  {
    text += " '" + robot.name + "'";
  }
  if (!robot.source.empty())
  {
    text += " (" + robot.source + ")";
  }
  return text;
}

void check_depth(
  const XmlReader & xml, const SizeLimits & limits, const std::string & link, int depth)
{
  if (depth > limits.depth)
  {
    xml.fail(
      "link '" + link + "' is more than " + std::to_string(limits.depth) +
      " links deep; that many are allowed");
  }
}

RobotTree read_robot(const RobotDescription & robot, const SizeLimits & limits)
{
  const std::string who = describe(robot);
  switch (robot.format)
  {
    case RobotFormat::kUrdf:
      return read_urdf(robot.text, who, limits);
    case RobotFormat::kMjcf:
      return read_mjcf(robot, who, limits);
    case RobotFormat::kSdf:
      return read_sdf(robot, who, limits);
  }
  throw std::invalid_argument(who + ": its format is unknown; allowed are URDF, MJCF and SDF");
}

RobotFormat detect_format(const std::string & text, const std::string & source)
{
  const XmlReader reader(source);
  tinyxml2::XMLDocument document;
  const std::string root = reader.parse(text, document).Name();
  if (root == "robot")
  {
    return RobotFormat::kUrdf;
  }
  if (root == "mujoco")
  {
    return RobotFormat::kMjcf;
  }
  if (root == "sdf")
  {
    return RobotFormat::kSdf;
  }
  reader.fail("the root element is <" + root + ">; allowed are <robot>, <mujoco> and <sdf>");
}

std::string read_document_file(const std::string & path)
{
  return read_text_file(path, kMaxDocumentBytes, "robot description '" + path + "'");
}

RobotDescription load_robot_description(const std::string & path)
{
  RobotDescription robot;
  robot.source = path;
  robot.text = read_document_file(path);
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  robot.folder = folder.empty() ? "." : folder.string();
  robot.format = detect_format(robot.text, path);
  return robot;
}

}  // namespace constrained_dynamics
