// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <tinyxml2.h>

#include "model/robot_xml.hpp"
#include "model/xml_reader.hpp"

namespace constrained_dynamics
{
namespace
{

using tinyxml2::XMLElement;

constexpr double kPi = 3.14159265358979323846;

/// What `<compiler>` says.
struct Compiler
{
  double angle = kPi / 180.0;  ///< unit of angles [rad]
  std::string euler = "xyz";
  bool autolimits = true;
  std::string inertia_from_geom = "auto";
  double bound_mass = 0.0;
  double bound_inertia = 0.0;
  double group_low = 0.0;
  double group_high = 5.0;
};

/// One `<default>` with the class that it refines.
struct DefaultClass
{
  const XMLElement * element = nullptr;
  std::string parent;
};

Eigen::Isometry3d translation(const Eigen::Vector3d & p)
{
  Eigen::Isometry3d X = Eigen::Isometry3d::Identity();
  X.translation() = p;
  return X;
}

bool is_one_of(const std::string & text, const std::set<std::string> & words)
{
  return words.count(text) > 0;
}

/// Reads the kinematic tree of one MJCF document: bodies, joints, inertia (given, or of geometric
/// primitives), sites and linear joint equalities.
class MjcfReader
{
public:
  MjcfReader(const std::string & who, bool ignore_equality, const SizeLimits & limits)
  : xml_(who), limits_(limits), ignore_equality_(ignore_equality)
  {
  }

  RobotTree read(const std::string & text)
  {
    tinyxml2::XMLDocument document;
    const XMLElement & root = xml_.parse(text, document);
    if (std::string(root.Name()) != "mujoco")
    {
      xml_.fail(std::string("the root element is <") + root.Name() + ">; MJCF needs <mujoco>");
    }
    xml_.refuse_non_finite(root, {"name", "class", "childclass", "model"});
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
      for (const Child & child : world.children)
      {
        read_body(*child.element, -1, child.X, child.childclass, 1);
      }
    }
    if (tree_.nodes.empty())
    {
      xml_.fail("there is no <body>; at least one is needed");
    }
    for (const XMLElement * e = root.FirstChildElement("equality"); e;
         e = e->NextSiblingElement("equality"))
    {
      read_equality(*e);
    }
    return std::move(tree_);
  }

private:
  struct Child
  {
    const XMLElement * element;
    Eigen::Isometry3d X;
    std::string childclass;
  };
  struct Joint
  {
    const XMLElement * element;
    Eigen::Isometry3d X;
    std::string childclass;
  };
  struct Site
  {
    std::string name;
    Eigen::Isometry3d X;
  };
  /// What a body element holds, `<frame>`s resolved.
  struct Body
  {
    std::string name = "world";
    std::vector<Joint> joints;
    std::vector<Site> sites;
    std::vector<Child> children;
    MassProperties geom_mass;
    std::string geom_without_mass;  ///< a geom whose mass would need a mesh
    const XMLElement * inertial = nullptr;
    Eigen::Isometry3d inertial_X = Eigen::Isometry3d::Identity();
  };

  void read_section(const XMLElement & e)
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
    else if (name == "option" && e.Attribute("gravity"))
    {
      const Eigen::Vector3d g = xml_.vector3(e, "gravity", "<option>", Eigen::Vector3d::Zero());
      if (!g.isApprox(Eigen::Vector3d(0.0, 0.0, -9.81), 1e-9))
      {
        tree_.warnings.push_back("<option gravity> is not read; the scene's gravity holds");
      }
    }
    else if (is_one_of(name, {"include", "deformable", "extension"}))
    {
      xml_.fail("<" + name + "> is not supported; give one document with bodies and joints");
    }
    else if (name == "tendon" && !e.NoChildren())
    {
      tree_.warnings.push_back("<tendon> is not read; its springs and limits are not applied");
    }
    else if (name == "actuator" && !e.NoChildren())
    {
      tree_.warnings.push_back("<actuator> is not read; the scene says which joints have inputs");
    }
  }

  void read_compiler(const XMLElement & e)
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

  void read_default(const XMLElement & e, const std::string & parent, int depth)
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
    if (!defaults_.emplace(name, DefaultClass{&e, parent}).second)
    {
      xml_.fail("default class '" + name + "' is defined twice");
    }
    for (const XMLElement * child = e.FirstChildElement("default"); child;
         child = child->NextSiblingElement("default"))
    {
      read_default(*child, name, depth + 1);
    }
  }

  /// The element that gives `attribute` to `e`: itself or the default of its class; `e` if none
  /// does.
  const XMLElement & giver(
    const XMLElement & e, const char * attribute, const std::string & childclass) const
  {
    if (e.Attribute(attribute))
    {
      return e;
    }
    std::string name = xml_.text(e, "class").value_or(childclass);
    if (!name.empty() && defaults_.count(name) == 0)
    {
      xml_.fail(
        "line " + std::to_string(e.GetLineNum()) + ": default class '" + name + "' is not defined");
    }
    name = name.empty() ? "main" : name;
    for (auto found = defaults_.find(name); found != defaults_.end();
         found = defaults_.find(found->second.parent))
    {
      const XMLElement * given = found->second.element->FirstChildElement(e.Name());
      if (given && given->Attribute(attribute))
      {
        return *given;
      }
    }
    return e;
  }

  Eigen::Matrix3d read_rotation(
    const XMLElement & e, const std::string & where, const std::string & childclass) const
  {
    for (const char * kind : {"quat", "axisangle", "euler", "xyaxes", "zaxis"})
    {
      const auto given = xml_.numbers(giver(e, kind, childclass), kind, where);
      if (!given)
      {
        continue;
      }
      const std::vector<double> & x = *given;
      const std::map<std::string, std::size_t> sizes = {
        {"quat", 4}, {"axisangle", 4}, {"euler", 3}, {"xyaxes", 6}, {"zaxis", 3}};
      if (x.size() != sizes.at(kind))
      {
        xml_.fail(
          where + ": attribute '" + kind + "' needs " + std::to_string(sizes.at(kind)) +
          " numbers");
      }
      return rotation_of(kind, x, where);
    }
    return Eigen::Matrix3d::Identity();
  }

  Eigen::Matrix3d rotation_of(
    const std::string & kind, const std::vector<double> & x, const std::string & where) const
  {
    if (kind == "quat")
    {
      const Eigen::Vector4d wxyz(x[0], x[1], x[2], x[3]);
      const double norm = wxyz.stableNorm();
      if (!(norm > 1e-9) || !std::isfinite(norm))
      {
        xml_.fail(where + ": the quaternion's length is " + show(norm) + "; it must be above 0");
      }
      return Eigen::Quaterniond(x[0] / norm, x[1] / norm, x[2] / norm, x[3] / norm)
        .toRotationMatrix();
    }
    if (kind == "axisangle")
    {
      return Eigen::AngleAxisd(
               x[3] * compiler_.angle, xml_.unit(Eigen::Vector3d(x[0], x[1], x[2]), where))
        .toRotationMatrix();
    }
    if (kind == "euler")
    {
      Eigen::Matrix3d R = Eigen::Matrix3d::Identity();
      for (std::size_t i = 0; i < 3; ++i)
      {
        const char letter = compiler_.euler[i];
        const bool moving = letter >= 'x';
        const Eigen::Vector3d axis = Eigen::Vector3d::Unit(letter - (moving ? 'x' : 'X'));
        const Eigen::Matrix3d step =
          Eigen::AngleAxisd(x[i] * compiler_.angle, axis).toRotationMatrix();
        R = moving ? Eigen::Matrix3d(R * step) : Eigen::Matrix3d(step * R);
      }
      return R;
    }
    if (kind == "xyaxes")
    {
      Eigen::Matrix3d R;
      R.col(0) = xml_.unit(Eigen::Vector3d(x[0], x[1], x[2]), where);
      const Eigen::Vector3d y(x[3], x[4], x[5]);
      R.col(1) = xml_.unit(y - R.col(0).dot(y) * R.col(0), where);
      R.col(2) = R.col(0).cross(R.col(1));
      return R;
    }
    return Eigen::Quaterniond::FromTwoVectors(
             Eigen::Vector3d::UnitZ(), xml_.unit(Eigen::Vector3d(x[0], x[1], x[2]), where))
      .toRotationMatrix();
  }

  Eigen::Isometry3d read_pose(
    const XMLElement & e, const std::string & where, const std::string & childclass) const
  {
    Eigen::Isometry3d X = Eigen::Isometry3d::Identity();
    X.linear() = read_rotation(e, where, childclass);
    X.translation() =
      xml_.vector3(giver(e, "pos", childclass), "pos", where, Eigen::Vector3d::Zero());
    return X;
  }

  /// Reads everything inside a body, `<frame>` or `<worldbody>` but does not enter bodies.
  void read_contents(
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
      else if (is_one_of(name, {"composite", "flexcomp", "replicate", "attach", "include"}))
      {
        xml_.fail(where + ": <" + name + "> is not supported; write the bodies out");
      }
    }
  }

  void add_sites(const Body & body, int node)
  {
    for (const Site & site : body.sites)
    {
      tree_.frames.push_back({site.name, node, site.X});
    }
  }

  void read_body(
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
    add_sites(body, index);
    for (const Child & child : body.children)
    {
      read_body(*child.element, index, child.X, child.childclass, depth + 1);
    }
  }

  /// Puts a node for joint i of `body` between `node` and its parent.
  void add_joint(const Body & body, std::size_t i, TreeNode & node)
  {
    const XMLElement & e = *body.joints[i].element;
    const std::string & childclass = body.joints[i].childclass;
    const bool freejoint = std::string(e.Name()) == "freejoint";
    TreeNode joint;
    joint.joint = xml_.text(e, "name").value_or("");
    if (joint.joint.empty())
    {
      joint.joint =
        freejoint ? body.name : body.name + "_joint" + (i == 0 ? "" : std::to_string(i + 1));
    }
    const std::string where = "joint '" + joint.joint + "'";
    if (!joint_names_.insert(joint.joint).second)
    {
      xml_.fail(where + " is defined twice");
    }
    const std::string type =
      freejoint ? "free" : xml_.text(giver(e, "type", childclass), "type").value_or("hinge");
    const std::map<std::string, JointKind> kinds = {
      {"hinge", JointKind::kRevolute},
      {"slide", JointKind::kPrismatic},
      {"ball", JointKind::kBall},
      {"free", JointKind::kFloating}};
    if (kinds.count(type) == 0)
    {
      xml_.fail(where + ": its type is '" + type + "'; allowed are hinge, slide, ball and free");
    }
    joint.kind = kinds.at(type);
    joint.parent = node.parent;
    Eigen::Isometry3d back = Eigen::Isometry3d::Identity();
    if (joint.kind == JointKind::kFloating)
    {
      if (node.parent != -1 || body.joints.size() != 1)
      {
        xml_.fail(where + ": a free joint must be the only joint of a body in the worldbody");
      }
      // MuJoCo's coordinates of a free joint are the pose in the world, not in the body's place.
      joint.neutral = node.placement;
    }
    else
    {
      const Eigen::Vector3d p =
        body.joints[i].X *
        xml_.vector3(giver(e, "pos", childclass), "pos", where, Eigen::Vector3d::Zero());
      joint.placement = node.placement * translation(p);
      back = translation(-p);
    }
    if (is_simple(joint.kind))
    {
      joint.axis = xml_.unit(
        body.joints[i].X.linear() *
          xml_.vector3(giver(e, "axis", childclass), "axis", where, Eigen::Vector3d::UnitZ()),
        where);
      const double unit = joint.kind == JointKind::kRevolute ? compiler_.angle : 1.0;
      const double reference = unit * xml_.number(giver(e, "ref", childclass), "ref", where, 0.0);
      references_[joint.joint] = reference;
      back = simple_motion(joint.kind, joint.axis, -reference) * back;
    }
    if (!freejoint)
    {
      read_joint_properties(e, childclass, where, joint);
    }
    node.parent = static_cast<int>(tree_.nodes.size());
    node.placement = back;
    tree_.nodes.push_back(joint);
  }

  void read_joint_properties(
    const XMLElement & e, const std::string & childclass, const std::string & where,
    TreeNode & joint)
  {
    const auto number = [&](const char * name)
    { return xml_.number(giver(e, name, childclass), name, where, 0.0); };
    JointProperties & properties = joint.properties;
    properties.damping = xml_.not_negative(number("damping"), where + ": its damping");
    properties.armature = xml_.not_negative(number("armature"), where + ": its armature");
    const double stiffness = xml_.not_negative(number("stiffness"), where + ": its stiffness");
    const double friction = xml_.not_negative(number("frictionloss"), where + ": its frictionloss");
    const double unit = joint.kind == JointKind::kRevolute ? compiler_.angle : 1.0;
    if (is_simple(joint.kind))
    {
      properties.stiffness = stiffness;
      properties.rest = unit * number("springref");
      read_range(e, childclass, where, unit, properties.limits);
    }
    else if (stiffness > 0.0)
    {
      tree_.warnings.push_back(where + " states a stiffness, which is not applied");
    }
    properties.friction = friction;
    if (friction > 0.0)
    {
      tree_.warnings.push_back(
        where + " states a dry friction of " + show(friction) + ", which is not applied");
    }
    if (giver(e, "springdamper", childclass).Attribute("springdamper"))
    {
      tree_.warnings.push_back(where + " states springdamper, which is not applied");
    }
  }

  void read_range(
    const XMLElement & e, const std::string & childclass, const std::string & where, double unit,
    RigidBodySystem::Limits & limits) const
  {
    const auto pair = [&](const char * name)
    {
      const auto values = xml_.numbers(giver(e, name, childclass), name, where);
      if (values && (values->size() != 2 || !(values->front() <= values->back())))
      {
        xml_.fail(
          where + ": attribute '" + name +
          "' needs two numbers, the lower limit not above the upper limit");
      }
      return values;
    };
    const auto range = pair("range");
    const std::string limited =
      xml_.text(giver(e, "limited", childclass), "limited").value_or("auto");
    if (range && (limited == "true" || (limited == "auto" && compiler_.autolimits)))
    {
      limits.lower = unit * range->front();
      limits.upper = unit * range->back();
    }
    if (const auto force = pair("actuatorfrcrange"))
    {
      limits.effort = std::max(std::abs(force->front()), std::abs(force->back()));
    }
  }

  MassProperties read_mass(const Body & body) const
  {
    const std::string where = "body '" + body.name + "'";
    const std::string & from_geom = compiler_.inertia_from_geom;
    MassProperties mass;
    if (from_geom == "true" || (from_geom == "auto" && !body.inertial))
    {
      if (!body.geom_without_mass.empty())
      {
        xml_.fail(
          where + ": its mass would have to come from " + body.geom_without_mass +
          ", which is not read; give it an <inertial>");
      }
      mass = body.geom_mass;
    }
    else if (body.inertial)
    {
      mass = read_inertial(body, where);
    }
    if (mass.mass > 0.0 || compiler_.bound_mass > 0.0)
    {
      mass.mass = std::max(mass.mass, compiler_.bound_mass);
      mass.inertia.diagonal() = mass.inertia.diagonal().cwiseMax(compiler_.bound_inertia);
    }
    return mass;
  }

  MassProperties read_inertial(const Body & body, const std::string & where) const
  {
    const XMLElement & e = *body.inertial;
    MassProperties mass;
    mass.mass = xml_.not_negative(xml_.number(e, "mass", where), where + ": the mass");
    const Eigen::Isometry3d X = body.inertial_X * read_pose(e, where, "");
    mass.com = X.translation();
    Eigen::Matrix3d I = Eigen::Matrix3d::Zero();
    if (const auto full = xml_.numbers(e, "fullinertia", where))
    {
      if (full->size() != 6)
      {
        xml_.fail(where + ": attribute 'fullinertia' needs 6 numbers");
      }
      const std::vector<double> & x = *full;
      I << x[0], x[3], x[4], x[3], x[1], x[5], x[4], x[5], x[2];
    }
    else
    {
      I.diagonal() = xml_.vector3(e, "diaginertia", where, Eigen::Vector3d::Zero());
    }
    mass.inertia = X.linear() * I * X.linear().transpose();
    return mass;
  }

  void read_geom(
    const XMLElement & e, const Eigen::Isometry3d & X, const std::string & childclass,
    Body & body) const
  {
    const std::string where =
      "geom '" + xml_.text(e, "name").value_or("") + "' of body '" + body.name + "'";
    const auto number = [&](const char * name, std::optional<double> fallback)
    { return xml_.number(giver(e, name, childclass), name, where, fallback); };
    const double group = number("group", 0.0);
    const bool has_mass = giver(e, "mass", childclass).Attribute("mass") != nullptr;
    const double given =
      has_mass ? xml_.not_negative(number("mass", 0.0), where + ": the mass") : 0.0;
    const double density = xml_.not_negative(number("density", 1000.0), where + ": the density");
    if (body.name == "world" || !(group >= compiler_.group_low && group <= compiler_.group_high))
    {
      return;
    }
    if (has_mass ? given == 0.0 : density == 0.0)
    {
      return;
    }
    const std::string type =
      xml_.text(giver(e, "type", childclass), "type")
        .value_or(giver(e, "mesh", childclass).Attribute("mesh") ? "mesh" : "sphere");
    if (type == "plane" || type == "hfield")
    {
      return;
    }
    const bool primitive = is_one_of(type, {"sphere", "capsule", "cylinder", "box", "ellipsoid"});
    if (!primitive || xml_.text(e, "shellinertia").value_or("false") == "true")
    {
      body.geom_without_mass = where + " of type " + type;
      return;
    }
    Eigen::Isometry3d X_geom = X * read_pose(e, where, childclass);
    const Eigen::Vector3d size = read_size(e, childclass, where, type, X, X_geom);
    MassProperties shape = unit_density_shape(type, size);
    const double factor = has_mass ? given / shape.mass : density;
    shape.mass *= factor;
    shape.inertia *= factor;
    add_mass(body.geom_mass, X_geom, shape);
  }

  /// Half sizes; for sphere, capsule and cylinder radius and half length.
  Eigen::Vector3d read_size(
    const XMLElement & e, const std::string & childclass, const std::string & where,
    const std::string & type, const Eigen::Isometry3d & X, Eigen::Isometry3d & X_geom) const
  {
    std::vector<double> size =
      xml_.numbers(giver(e, "size", childclass), "size", where).value_or(std::vector<double>());
    const auto ends = xml_.numbers(giver(e, "fromto", childclass), "fromto", where);
    if (ends && type != "sphere")
    {
      if (ends->size() != 6 || size.empty())
      {
        xml_.fail(where + ": 'fromto' needs 6 numbers and a 'size'");
      }
      const Eigen::Vector3d a((*ends)[0], (*ends)[1], (*ends)[2]);
      const Eigen::Vector3d b((*ends)[3], (*ends)[4], (*ends)[5]);
      X_geom = X * translation(0.5 * (a + b));
      X_geom.linear() = X.linear() * Eigen::Quaterniond::FromTwoVectors(
                                       Eigen::Vector3d::UnitZ(), xml_.unit(b - a, where))
                                       .toRotationMatrix();
      const double half = 0.5 * (b - a).norm();
      size = type == "box" || type == "ellipsoid" ? std::vector<double>{size[0], size[0], half}
                                                  : std::vector<double>{size[0], half};
    }
    const std::size_t needed =
      type == "sphere" ? 1 : (type == "box" || type == "ellipsoid" ? 3 : 2);
    Eigen::Vector3d result = Eigen::Vector3d::Zero();
    for (std::size_t i = 0; i < needed; ++i)
    {
      if (i >= size.size() || !(size[i] > 0.0))
      {
        xml_.fail(where + ": a " + type + " needs " + std::to_string(needed) + " sizes above 0");
      }
      result(static_cast<Eigen::Index>(i)) = size[i];
    }
    return result;
  }

  static MassProperties unit_density_shape(const std::string & type, const Eigen::Vector3d & s)
  {
    MassProperties shape;
    if (type == "box" || type == "ellipsoid")
    {
      const bool box = type == "box";
      shape.mass = (box ? 8.0 : 4.0 / 3.0 * kPi) * s.prod();
      const Eigen::Vector3d squares = s.cwiseProduct(s) * shape.mass / (box ? 3.0 : 5.0);
      shape.inertia.diagonal() << squares(1) + squares(2), squares(0) + squares(2),
        squares(0) + squares(1);
      return shape;
    }
    const double r = s(0);
    const double h = s(1);
    const double ball = type == "cylinder" ? 0.0 : 4.0 / 3.0 * kPi * r * r * r;
    const double tube = type == "sphere" ? 0.0 : 2.0 * kPi * r * r * h;
    shape.mass = ball + tube;
    const double across =
      tube * (h * h / 3.0 + r * r / 4.0) + ball * (0.4 * r * r + h * h + 0.75 * h * r);
    shape.inertia.diagonal() << across, across, tube * r * r / 2.0 + ball * 0.4 * r * r;
    return shape;
  }

  void read_equality(const XMLElement & section)
  {
    for (const XMLElement * e = section.FirstChildElement(); e; e = e->NextSiblingElement())
    {
      const std::string label = std::string("<") + e->Name() + "> '" +
                                xml_.text(*e, "name").value_or("") + "' of <equality>";
      if (xml_.text(*e, "active").value_or("true") == "false" || read_coupling(*e, label))
      {
        continue;
      }
      if (!ignore_equality_)
      {
        xml_.fail(
          label +
          " is not turned into a constraint; state it as a constraint of the scene and set "
          "ignore_equality");
      }
      tree_.warnings.push_back(label + " is ignored");
    }
  }

  /// A linear equality of two joints is a mimic.
  bool read_coupling(const XMLElement & e, const std::string & label)
  {
    if (std::string(e.Name()) != "joint" || !e.Attribute("joint2"))
    {
      return false;
    }
    const std::string joint = xml_.name(e, "joint1", label);
    const std::string source = xml_.name(e, "joint2", label);
    for (const std::string & name : {joint, source})
    {
      if (references_.count(name) == 0)
      {
        xml_.fail(label + ": '" + name + "' is no joint of one degree of freedom");
      }
    }
    std::vector<double> c = xml_.numbers(e, "polycoef", label).value_or(std::vector<double>{0, 1});
    c.resize(5, 0.0);
    if (joint == source || c[2] != 0.0 || c[3] != 0.0 || c[4] != 0.0)
    {
      return false;
    }
    tree_.mimics.push_back(
      {joint, source, c[1], c[0] + references_.at(joint) - c[1] * references_.at(source)});
    for (TreeNode & node : tree_.nodes)
    {
      node.properties.mimics = node.properties.mimics || node.joint == joint;
    }
    return true;
  }

  XmlReader xml_;
  SizeLimits limits_;
  bool ignore_equality_;
  Compiler compiler_;
  std::map<std::string, DefaultClass> defaults_;
  std::set<std::string> body_names_;
  std::set<std::string> joint_names_;
  std::map<std::string, double> references_;  ///< simple joints → their coordinate in the drawing
  int body_count_ = 0;
  RobotTree tree_;
};

}  // namespace

RobotTree read_mjcf(
  const std::string & text, const std::string & who, bool ignore_equality,
  const SizeLimits & limits)
{
  return MjcfReader(who, ignore_equality, limits).read(text);
}

}  // namespace constrained_dynamics
