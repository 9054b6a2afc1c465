// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <exception>

#include <tinyxml2.h>

#include "model/xml_reader.hpp"
#include "scenario/setup_parts.hpp"

namespace constrained_dynamics
{

namespace
{

const char * const kTag = "robot_description: <ros2_control>";

using tinyxml2::XMLElement;

void read_interfaces(
  const XMLElement & joint, const char * element, std::set<std::string> & interfaces)
{
  for (const XMLElement * item = joint.FirstChildElement(element); item != nullptr;
       item = item->NextSiblingElement(element))
  {
    const char * name = item->Attribute("name");
    interfaces.insert(name != nullptr ? name : "");
  }
}

void read_tag(const XMLElement & tag, DescribedJoints & out, SetupReport & report)
{
  const XMLElement * hardware = tag.FirstChildElement("hardware");
  const XMLElement * plugin = hardware != nullptr ? hardware->FirstChildElement("plugin") : nullptr;
  if (plugin == nullptr || plugin->GetText() == nullptr)
  {
    report.error(kTag, "has no <hardware><plugin>; it names the driver of the robot");
  }
  const std::set<std::string> known(out.movable.begin(), out.movable.end());
  for (const XMLElement * joint = tag.FirstChildElement("joint"); joint != nullptr;
       joint = joint->NextSiblingElement("joint"))
  {
    const char * attribute = joint->Attribute("name");
    const std::string name = attribute != nullptr ? attribute : "";
    if (known.count(name) == 0)
    {
      report.error(
        kTag, "joint '" + name +
                "' is no joint of the robot that moves; allowed: " + join_names(out.movable));
    }
    read_interfaces(*joint, "command_interface", out.interfaces[name].commands);
    read_interfaces(*joint, "state_interface", out.interfaces[name].states);
  }
}

}  // namespace

DescribedJoints read_described_joints(const std::string & description, SetupReport & report)
{
  DescribedJoints out;
  tinyxml2::XMLDocument document;
  try
  {
    const XMLElement & robot = XmlReader("robot_description").parse(description, document);
    for (const XMLElement * joint = robot.FirstChildElement("joint"); joint != nullptr;
         joint = joint->NextSiblingElement("joint"))
    {
      const char * name = joint->Attribute("name");
      const char * type = joint->Attribute("type");
      if (name != nullptr && type != nullptr && std::string(type) != "fixed")
      {
        out.movable.emplace_back(name);
        const XMLElement * limit = joint->FirstChildElement("limit");
        double effort = 0.0;
        if (
          limit != nullptr &&
          limit->QueryDoubleAttribute("effort", &effort) == tinyxml2::XML_SUCCESS)
        {
          out.effort_limits[name] = effort;
        }
      }
    }
    for (const XMLElement * tag = robot.FirstChildElement("ros2_control"); tag != nullptr;
         tag = tag->NextSiblingElement("ros2_control"))
    {
      out.has_tag = true;
      read_tag(*tag, out, report);
    }
  }
  catch (const std::exception & error)
  {
    report.error("robot_description", error.what());
    return out;
  }
  if (!out.has_tag)
  {
    report.error(
      "robot_description",
      "has no <ros2_control> tag, so that there is no hardware; a tag names the plugin of the "
      "hardware and the interfaces of its joints");
  }
  return out;
}

}  // namespace constrained_dynamics
