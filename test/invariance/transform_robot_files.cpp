// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Published robots whose URDF is written differently.

#include <tinyxml2.h>

#include <cstdlib>
#include <map>
#include <sstream>

#include "document.hpp"
#include "transformation.hpp"
#include "units.hpp"

namespace invariance
{

namespace
{

using Element = tinyxml2::XMLElement;
using NameMap = std::map<std::string, std::string>;

/// Calls `change` with every child element of a kind.
template <class Change>
void each(Element * parent, const char * kind, const Change & change)
{
  for (Element * e = parent->FirstChildElement(kind); e != nullptr; e = e->NextSiblingElement(kind))
  {
    change(e);
  }
}

void replace(Element * element, const char * attribute, const NameMap & by)
{
  const char * old = element == nullptr ? nullptr : element->Attribute(attribute);
  const auto found = old == nullptr ? by.end() : by.find(old);
  if (found != by.end())
  {
    element->SetAttribute(attribute, found->second.c_str());
  }
}

/// Multiplies the numbers of an attribute.
void scale(Element * element, const char * attribute, double factor)
{
  const char * old = element == nullptr ? nullptr : element->Attribute(attribute);
  if (old == nullptr)
  {
    return;
  }
  std::istringstream words(old);
  std::string word;
  std::string result;
  while (words >> word)
  {
    result += (result.empty() ? "" : " ") + text(factor * std::strtod(word.c_str(), nullptr));
  }
  element->SetAttribute(attribute, result.c_str());
}

/// Comments may contain what scenario files replace: `${…}`.
void remove_comments(tinyxml2::XMLNode * node)
{
  for (tinyxml2::XMLNode * child = node->FirstChild(); child != nullptr;)
  {
    tinyxml2::XMLNode * next = child->NextSibling();
    if (child->ToComment() != nullptr)
    {
      node->DeleteChild(child);
    }
    else
    {
      remove_comments(child);
    }
    child = next;
  }
}

/// A robot description without what has no mechanical meaning.
class RobotFile
{
public:
  /// @return false where the case has no URDF of its own, or one that is not read here.
  bool read(const Case & c)
  {
    const YAML::Node urdf = c.scenario["system"]["urdf"];
    if (c.source.compare(0, 6, "robot ") != 0 || !urdf)
    {
      return false;
    }
    const std::string description = Document(c.scenario, "").description(urdf.as<std::string>());
    if (document_.Parse(description.c_str(), description.size()) != tinyxml2::XML_SUCCESS)
    {
      return false;
    }
    remove_comments(&document_);
    robot = document_.FirstChildElement("robot");
    if (robot == nullptr)
    {
      return false;
    }
    for (Element * e = robot->FirstChildElement(); e != nullptr;)
    {
      Element * next = e->NextSiblingElement();
      const std::string kind = e->Name();
      if (kind != "link" && kind != "joint")
      {
        robot->DeleteChild(e);
      }
      else
      {
        for (const char * shape : {"visual", "collision"})
        {
          while (Element * drawn = e->FirstChildElement(shape))
          {
            e->DeleteChild(drawn);
          }
        }
      }
      e = next;
    }
    return true;
  }

  std::string text() const
  {
    tinyxml2::XMLPrinter printer(nullptr, true);
    document_.Print(&printer);
    return printer.CStr();
  }

  Element * robot = nullptr;

private:
  tinyxml2::XMLDocument document_;
};

bool is_prismatic(const Element * joint)
{
  const char * type = joint->Attribute("type");
  return type != nullptr && std::string(type) == "prismatic";
}

// ---- names ----------------------------------------------------------------------------------------

/// Keys of a map of the scenario.
void replace_keys(YAML::Node parent, const char * key, const NameMap & by)
{
  if (!parent[key])
  {
    return;
  }
  YAML::Node renamed(YAML::NodeType::Map);
  for (const auto & entry : parent[key])
  {
    const std::string name = entry.first.as<std::string>();
    renamed[by.count(name) > 0 ? by.at(name) : name] = entry.second;
  }
  parent[key] = renamed;
}

void rename_back(Named & values, const NameMap & old)
{
  for (std::string & name : values.names)
  {
    const auto found = old.find(name);
    name = found == old.end() ? name : found->second;
  }
}

std::optional<Changed> rename_robot(const Case & original, Random & random)
{
  RobotFile file;
  if (!file.read(original))
  {
    return std::nullopt;
  }
  NameMap links;
  NameMap joints;
  NameMap speeds;
  NameMap back;
  const auto draw = [&](const char * kind, NameMap & names)
  {
    each(
      file.robot, kind,
      [&](Element * e)
      {
        std::string word;
        for (int i = 0; i < 3; ++i)
        {
          word += static_cast<char>((random.chance(0.5) ? 'a' : 'A') + random.integer(0, 25));
        }
        names[e->Attribute("name")] = word + kind + std::to_string(names.size());
      });
  };
  draw("link", links);
  draw("joint", joints);
  for (const auto & [old, name] : joints)
  {
    if (links.count(old) > 0)
    {
      return std::
        nullopt;  // whether a frame is meant to be the joint or the link is not known here
    }
    speeds["d" + old] = "d" + name;
    back[name] = old;
    back["d" + name] = "d" + old;
  }
  each(file.robot, "link", [&](Element * e) { replace(e, "name", links); });
  each(
    file.robot, "joint",
    [&](Element * e)
    {
      replace(e, "name", joints);
      replace(e->FirstChildElement("parent"), "link", links);
      replace(e->FirstChildElement("child"), "link", links);
      replace(e->FirstChildElement("mimic"), "joint", joints);
    });
  Changed result;
  result.changed = original;
  YAML::Node scenario = result.changed.scenario;
  scenario["system"]["urdf"] = file.text();
  for (YAML::Node joint : scenario["system"]["locked"])
  {
    joint = joints.at(joint.as<std::string>());
  }
  for (YAML::Node constraint : scenario["constraints"])
  {
    const std::string frame = constraint["frame_a"].as<std::string>();
    constraint["frame_a"] = links.count(frame) > 0    ? links.at(frame)
                            : joints.count(frame) > 0 ? joints.at(frame)
                                                      : frame;
  }
  replace_keys(scenario["initial"], "q", joints);
  replace_keys(scenario["initial"], "u", speeds);
  result.undo = [back](Result & r)
  {
    for (Named * values : {&r.q, &r.u, &r.udot, &r.force, &r.inputs})
    {
      rename_back(*values, back);
    }
  };
  return result;
}

// ---- units ----------------------------------------------------------------------------------------

void convert_link(Element * link, const Units & units)
{
  Element * inertial = link->FirstChildElement("inertial");
  if (inertial == nullptr)
  {
    return;
  }
  scale(inertial->FirstChildElement("origin"), "xyz", units.length);
  scale(inertial->FirstChildElement("mass"), "value", units.mass);
  for (const char * moment : {"ixx", "ixy", "ixz", "iyy", "iyz", "izz"})
  {
    scale(inertial->FirstChildElement("inertia"), moment, units.inertia());
  }
}

void convert_joint(Element * joint, const Units & units)
{
  const double way = is_prismatic(joint) ? units.length : 1.0;
  const double effort = units.torque() / way;
  scale(joint->FirstChildElement("origin"), "xyz", units.length);
  Element * limit = joint->FirstChildElement("limit");
  scale(limit, "lower", way);
  scale(limit, "upper", way);
  scale(limit, "velocity", way / units.time);
  scale(limit, "effort", effort);
  Element * dynamics = joint->FirstChildElement("dynamics");
  scale(dynamics, "friction", effort);
  scale(dynamics, "damping", effort / way * units.time);
}

void convert_map(
  YAML::Node values, const std::set<std::string> & lengths, const Units & units, double others)
{
  for (auto entry : values)
  {
    const double way = lengths.count(entry.first.as<std::string>()) > 0 ? units.length : 1.0;
    entry.second = text(entry.second.as<double>() * way * others);
  }
}

std::optional<Changed> convert_robot(const Case & original, Random & random)
{
  RobotFile file;
  if (!file.read(original))
  {
    return std::nullopt;
  }
  const Units units = random_units(random);
  Lengths lengths{{"base_x", "base_y", "base_z"}, {"base_vx", "base_vy", "base_vz"}};
  bool couples_lengths = false;
  each(file.robot, "link", [&](Element * e) { convert_link(e, units); });
  each(
    file.robot, "joint",
    [&](Element * e)
    {
      convert_joint(e, units);
      if (is_prismatic(e))
      {
        lengths.coordinates.insert(e->Attribute("name"));
        lengths.speeds.insert(std::string("d") + e->Attribute("name"));
        couples_lengths = couples_lengths || e->FirstChildElement("mimic") != nullptr;
      }
    });
  if (couples_lengths)
  {
    return std::nullopt;  // the unit of its multiplier depends on the other joint
  }
  Changed result;
  result.changed = original;
  YAML::Node scenario = result.changed.scenario;
  scenario["system"]["urdf"] = file.text();
  scenario["system"]["gravity"] =
    node(Eigen::Vector3d(0.0, 0.0, -9.81 * units.length / (units.time * units.time)));
  for (YAML::Node frame : scenario["system"]["frames"])
  {
    frame["pose"]["xyz"] = node(Eigen::Vector3d(units.length * vector_from(frame["pose"]["xyz"])));
  }
  for (YAML::Node constraint : scenario["constraints"])
  {
    for (const char * key : {"offset", "radius"})
    {
      if (constraint[key])
      {
        constraint[key] = text(constraint[key].as<double>() * units.length);
      }
    }
  }
  convert_map(scenario["initial"]["q"], lengths.coordinates, units, 1.0);
  convert_map(scenario["initial"]["u"], lengths.speeds, units, 1.0 / units.time);
  scenario["options"]["characteristic_length"] = text(units.length);
  convert_run(scenario, units);
  result.undo = [lengths, units](Result & r) { convert_back(r, lengths, units); };
  result.detail = text(units);
  return result;
}

}  // namespace

std::vector<Transformation> robot_file_transformations()
{
  return {
    {"names of a robot file",
     "published robots with a URDF; not where a joint and a link have the same name",
     "the same by name; joints come in another order, shapes are left out",
     [](const Case & c, const Result &, Random & random) { return rename_robot(c, random); }},
    {"units of a robot file",
     "published robots with a URDF; not where a length follows another joint",
     "each quantity by its unit",
     [](const Case & c, const Result &, Random & random) { return convert_robot(c, random); }},
  };
}

}  // namespace invariance
