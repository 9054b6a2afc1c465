// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// MJCF: the document, its classes and bodies.

#include "model/mjcf_reader.hpp"

#include <optional>
#include <utility>

#include "model/included_files.hpp"
#include "model/xml_vocabulary.hpp"

namespace constrained_dynamics::mjcf
{

RobotTree MjcfReader::read()
{
  tinyxml2::XMLDocument document;
  const XMLElement & root = xml_.parse(robot_.text, document);
  if (std::string(root.Name()) != "mujoco")
  {
    xml_.fail(std::string("the root element is <") + root.Name() + ">; MJCF needs <mujoco>");
  }
  IncludedFiles included(xml_, robot_);
  included.insert(document);
  xml_.refuse_non_finite(root, {"name", "class", "childclass", "model"});
  tree_.warnings = warn_of_unknown_names(root, "mujoco", mjcf_vocabulary());
  for (const XMLElement * e = root.FirstChildElement(); e; e = e->NextSiblingElement())
  {
    read_section(*e);
  }
  for (const XMLElement * e = root.FirstChildElement("worldbody"); e;
       e = e->NextSiblingElement("worldbody"))
  {
    Body world;
    read_contents(*e, Eigen::Isometry3d::Identity(), "", world);
    add_sites(world, -1);
    for (const Placed & child : world.children)
    {
      read_body(*child.element, -1, child.X, child.childclass, 1);
    }
  }
  if (tree_.nodes.empty())
  {
    xml_.fail("there is no <body>; at least one is needed");
  }
  drawn_poses_ = drawn_poses(tree_);
  for (const XMLElement * e = root.FirstChildElement("equality"); e;
       e = e->NextSiblingElement("equality"))
  {
    read_equality(*e);
  }
  return std::move(tree_);
}

void MjcfReader::read_section(const XMLElement & e)
{
  const std::string name = e.Name();
  if (name == "compiler")
  {
    read_compiler(e);
  }
  else if (name == "default")
  {
    read_default(e, "", 1);
  }
  else if (name == "option")
  {
    read_option(e);
  }
  else if (is_one_of(name, {"deformable", "extension"}))
  {
    xml_.fail("<" + name + "> is not supported; give one document with bodies and joints");
  }
  else if (name == "tendon" && !e.NoChildren())
  {
    tendons_.push_back(&e);
    tree_.warnings.push_back("springs, friction and limits of <tendon> are not applied");
  }
  else if (name == "actuator" && !e.NoChildren())
  {
    tree_.warnings.push_back("<actuator> is not read; the scene says which joints have inputs");
  }
}

/// What would change the motion: gravity, the medium, and switches.
void MjcfReader::read_option(const XMLElement & e)
{
  const std::string where = "<option>";
  const Eigen::Vector3d usual(0.0, 0.0, -9.81);
  if (!xml_.vector3(e, "gravity", where, usual).isApprox(usual, 1e-9))
  {
    tree_.warnings.push_back("<option gravity> is not read; the scene's gravity holds");
  }
  if (
    xml_.number(e, "density", where, 0.0) != 0.0 || xml_.number(e, "viscosity", where, 0.0) != 0.0)
  {
    tree_.warnings.push_back("<option> states a medium (density, viscosity), which is not applied");
  }
  for (const XMLElement * flag = e.FirstChildElement("flag"); flag;
       flag = flag->NextSiblingElement("flag"))
  {
    for (const char * what : {"gravity", "spring", "damper", "frictionloss", "equality"})
    {
      if (xml_.text(*flag, what).value_or("enable") != "enable")
      {
        tree_.warnings.push_back(
          std::string("<flag ") + what + "> is not read; what it switches off acts here");
      }
    }
  }
}

void MjcfReader::read_compiler(const XMLElement & e)
{
  const std::string where = "<compiler>";
  if (const auto angle = xml_.text(e, "angle"))
  {
    if (!is_one_of(*angle, {"degree", "radian"}))
    {
      xml_.fail(where + ": angle is '" + *angle + "'; allowed are degree and radian");
    }
    compiler_.angle = *angle == "radian" ? 1.0 : kPi / 180.0;
  }
  if (const auto euler = xml_.text(e, "eulerseq"))
  {
    compiler_.euler = *euler;
    if (euler->size() != 3 || euler->find_first_not_of("xyzXYZ") != std::string::npos)
    {
      xml_.fail(where + ": eulerseq is '" + *euler + "'; three letters of xyzXYZ are allowed");
    }
  }
  if (xml_.text(e, "coordinate").value_or("local") != "local")
  {
    xml_.fail(where + ": only coordinate=\"local\" is allowed");
  }
  compiler_.autolimits =
    xml_.text(e, "autolimits").value_or(compiler_.autolimits ? "true" : "false") == "true";
  compiler_.inertia_from_geom =
    xml_.text(e, "inertiafromgeom").value_or(compiler_.inertia_from_geom);
  if (!is_one_of(compiler_.inertia_from_geom, {"auto", "true", "false"}))
  {
    xml_.fail(where + ": inertiafromgeom must be true, false or auto");
  }
  compiler_.bound_mass = xml_.number(e, "boundmass", where, compiler_.bound_mass);
  compiler_.bound_inertia = xml_.number(e, "boundinertia", where, compiler_.bound_inertia);
  if (xml_.number(e, "settotalmass", where, -1.0) > 0.0)
  {
    xml_.fail(where + ": settotalmass is not supported; give the masses themselves");
  }
  if (const auto range = xml_.numbers(e, "inertiagrouprange", where))
  {
    if (range->size() != 2)
    {
      xml_.fail(where + ": inertiagrouprange needs two numbers");
    }
    compiler_.group_low = range->front();
    compiler_.group_high = range->back();
  }
}

void MjcfReader::read_default(const XMLElement & e, const std::string & parent, int depth)
{
  const std::string name = xml_.text(e, "class").value_or(parent.empty() ? "main" : "");
  if (name.empty())
  {
    xml_.fail("a nested <default> needs the attribute 'class'");
  }
  if (depth > limits_.depth)
  {
    xml_.fail("default class '" + name + "' is nested too deeply");
  }
  DefaultClass & stated = defaults_[name];
  if (!stated.elements.empty() && !(parent.empty() && stated.parent.empty()))
  {
    xml_.fail("default class '" + name + "' is defined twice");
  }
  stated.elements.push_back(&e);
  stated.parent = parent;
  for (const XMLElement * child = e.FirstChildElement("default"); child;
       child = child->NextSiblingElement("default"))
  {
    read_default(*child, name, depth + 1);
  }
}

const XMLElement & MjcfReader::giver(
  const XMLElement & e, const char * attribute, const std::string & childclass,
  const char * kind) const
{
  if (e.Attribute(attribute))
  {
    return e;
  }
  std::string name = xml_.text(e, "class").value_or(childclass);
  if (!name.empty() && defaults_.count(name) == 0)
  {
    xml_.fail(XmlReader::place(e) + "default class '" + name + "' is not defined");
  }
  name = name.empty() ? "main" : name;
  for (auto found = defaults_.find(name); found != defaults_.end();
       found = defaults_.find(found->second.parent))
  {
    const std::vector<const XMLElement *> & stated = found->second.elements;
    for (auto element = stated.rbegin(); element != stated.rend(); ++element)
    {
      const XMLElement * given = (*element)->FirstChildElement(kind ? kind : e.Name());
      if (given && given->Attribute(attribute))
      {
        return *given;
      }
    }
  }
  return e;
}

void MjcfReader::read_contents(
  const XMLElement & parent, const Eigen::Isometry3d & X, const std::string & childclass,
  Body & body)
{
  const std::string where = "body '" + body.name + "'";
  for (const XMLElement * e = parent.FirstChildElement(); e; e = e->NextSiblingElement())
  {
    const std::string name = e->Name();
    if (name == "body")
    {
      body.children.push_back({e, X, childclass});
    }
    else if (name == "frame")
    {
      const std::string inner = xml_.text(*e, "childclass").value_or(childclass);
      read_contents(*e, X * read_pose(*e, where, ""), inner, body);
    }
    else if (name == "joint" || name == "freejoint")
    {
      body.joints.push_back({e, X, childclass});
    }
    else if (name == "inertial")
    {
      if (body.inertial)
      {
        xml_.fail(where + ": there are several <inertial> elements; one is allowed");
      }
      body.inertial = e;
      body.inertial_X = X;
    }
    else if (name == "geom")
    {
      read_geom(*e, X, childclass, body);
    }
    else if (name == "site")
    {
      if (const auto site = xml_.text(*e, "name"))
      {
        body.sites.push_back({*site, X * read_pose(*e, "site '" + *site + "'", childclass)});
      }
    }
    else if (is_one_of(name, {"composite", "flexcomp", "replicate", "attach"}))
    {
      xml_.fail(where + ": <" + name + "> is not supported; write the bodies out");
    }
  }
}

void MjcfReader::add_sites(const Body & body, int node)
{
  for (const Site & site : body.sites)
  {
    tree_.frames.push_back({site.name, node, site.X});
    site_names_.insert(site.name);
  }
}

void MjcfReader::read_body(
  const XMLElement & e, int parent, const Eigen::Isometry3d & X_frame,
  const std::string & outer_class, int depth)
{
  if (++body_count_ > limits_.links)
  {
    xml_.fail("there are more than " + std::to_string(limits_.links) + " bodies");
  }
  Body body;
  body.name = xml_.text(e, "name").value_or("");
  if (body.name.empty())
  {
    body.name = "body" + std::to_string(body_count_);
  }
  const std::string where = "body '" + body.name + "'";
  if (depth > limits_.depth)
  {
    xml_.fail(
      where + " is more than " + std::to_string(limits_.depth) +
      " bodies deep; that many are allowed");
  }
  if (!body_names_.insert(body.name).second)
  {
    xml_.fail(where + " is defined twice");
  }
  if (xml_.text(e, "mocap").value_or("false") == "true")
  {
    tree_.warnings.push_back(where + " is a mocap body; it is welded to the world");
  }
  if (xml_.number(e, "gravcomp", where, 0.0) != 0.0)
  {
    tree_.warnings.push_back(where + " states gravity compensation, which is not applied");
  }
  const std::string childclass = xml_.text(e, "childclass").value_or(outer_class);
  const Eigen::Isometry3d X_parent_body = X_frame * read_pose(e, where, "");
  read_contents(e, Eigen::Isometry3d::Identity(), childclass, body);

  // A hidden node for each joint, then the body itself, welded to the last of them.
  TreeNode node;
  node.link = body.name;
  node.parent = parent;
  node.placement = X_parent_body;
  for (std::size_t i = 0; i < body.joints.size(); ++i)
  {
    add_joint(body, i, node);
  }
  node.mass = read_mass(body);
  const int index = static_cast<int>(tree_.nodes.size());
  tree_.nodes.push_back(node);
  body_nodes_[body.name] = index;
  add_sites(body, index);
  for (const Placed & child : body.children)
  {
    read_body(*child.element, index, child.X, child.childclass, depth + 1);
  }
}

}  // namespace constrained_dynamics::mjcf

namespace constrained_dynamics
{

RobotTree read_mjcf(
  const RobotDescription & robot, const std::string & who, const SizeLimits & limits)
{
  return mjcf::MjcfReader(who, robot, limits).read();
}

}  // namespace constrained_dynamics
