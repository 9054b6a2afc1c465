// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "urdf.hpp"

#include <tinyxml2.h>

#include <cstdlib>
#include <set>

namespace invariance
{
namespace
{

using Element = tinyxml2::XMLElement;

std::string attribute(const Element * element, const char * name, const char * otherwise)
{
  const char * found = element == nullptr ? nullptr : element->Attribute(name);
  return found == nullptr ? otherwise : found;
}

Real number(const Element * element, const char * name, const char * otherwise)
{
  return Real(std::strtod(attribute(element, name, otherwise).c_str(), nullptr));
}

RealTriple triple(const Element * element, const char * name, const char * otherwise)
{
  const std::string text = attribute(element, name, otherwise);
  const char * place = text.c_str();
  RealTriple out = zero3();
  for (int i = 0; i < 3; ++i)
  {
    char * end = nullptr;
    out[i] = std::strtod(place, &end);
    place = end;
  }
  return out;
}

Placement origin(const Element * parent)
{
  const Element * element = parent->FirstChildElement("origin");
  Placement out;
  if (element != nullptr)
  {
    out.position = triple(element, "xyz", "0 0 0");
    out.rotation = from_rpy(triple(element, "rpy", "0 0 0"));
  }
  return out;
}

}  // namespace

UrdfRobot read_urdf(const std::string & text)
{
  tinyxml2::XMLDocument document;
  if (document.Parse(text.c_str(), text.size()) != tinyxml2::XML_SUCCESS)
  {
    throw std::invalid_argument(std::string("URDF: ") + document.ErrorStr());
  }
  const Element * robot = document.FirstChildElement("robot");
  if (robot == nullptr)
  {
    throw std::invalid_argument("URDF: no <robot>");
  }
  UrdfRobot out;
  for (const Element * e = robot->FirstChildElement("link"); e != nullptr;
       e = e->NextSiblingElement("link"))
  {
    UrdfLink & link = out.links[attribute(e, "name", "")];
    const Element * inertial = e->FirstChildElement("inertial");
    if (inertial != nullptr)
    {
      link.has_inertia = true;
      link.inertial = origin(inertial);
      link.mass = number(inertial->FirstChildElement("mass"), "value", "0");
      const Element * inertia = inertial->FirstChildElement("inertia");
      const char * const names[3][3] = {
        {"ixx", "ixy", "ixz"}, {"ixy", "iyy", "iyz"}, {"ixz", "iyz", "izz"}};
      for (int i = 0; i < 3; ++i)
      {
        for (int j = 0; j < 3; ++j)
        {
          link.inertia[i][j] = number(inertia, names[i][j], "0");
        }
      }
    }
  }
  std::set<std::string> children;
  for (const Element * e = robot->FirstChildElement("joint"); e != nullptr;
       e = e->NextSiblingElement("joint"))
  {
    UrdfJoint & joint = out.joints[attribute(e, "name", "")];
    joint.type = attribute(e, "type", "");
    joint.parent = attribute(e->FirstChildElement("parent"), "link", "");
    joint.child = attribute(e->FirstChildElement("child"), "link", "");
    joint.origin = origin(e);
    joint.axis = triple(e->FirstChildElement("axis"), "xyz", "1 0 0");
    const Real length = norm(joint.axis);
    if (length > 0)
    {
      joint.axis = Real(1 / length) * joint.axis;
    }
    const Element * dynamics = e->FirstChildElement("dynamics");
    joint.damping = number(dynamics, "damping", "0");
    joint.friction = number(dynamics, "friction", "0");
    const Element * mimic = e->FirstChildElement("mimic");
    joint.mimic = attribute(mimic, "joint", "");
    joint.multiplier = number(mimic, "multiplier", "1");
    joint.offset = number(mimic, "offset", "0");
    children.insert(joint.child);
  }
  for (const auto & entry : out.links)
  {
    if (children.count(entry.first) == 0)
    {
      out.root = entry.first;
    }
  }
  if (out.root.empty() && out.links.count("") == 0)
  {
    throw std::invalid_argument("URDF: no root link");
  }
  return out;
}

}  // namespace invariance
