// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <tinyxml2.h>

#include "model/drake_tags.hpp"
#include "model/robot_xml.hpp"
#include "model/xml_reader.hpp"

namespace constrained_dynamics
{
namespace
{

using tinyxml2::XMLElement;

struct UrdfJoint
{
  TreeNode node;  ///< without link and parent
  std::string parent;
  std::string child;
};

/// The parts of one URDF document.
class UrdfReader
{
public:
  UrdfReader(const std::string & who, const SizeLimits & limits) : xml_(who), limits_(limits) {}

  RobotTree read(const std::string & text)
  {
    tinyxml2::XMLDocument document;
    const XMLElement & root = xml_.parse(text, document);
    if (std::string(root.Name()) != "robot")
    {
      xml_.fail(std::string("the root element is <") + root.Name() + ">; URDF needs <robot>");
    }
    count_links(root);
    for (const XMLElement * e = root.FirstChildElement("link"); e;
         e = e->NextSiblingElement("link"))
    {
      read_link(*e);
    }
    if (links_.empty())
    {
      xml_.fail("there is no <link>; at least one is needed");
    }
    for (const XMLElement * e = root.FirstChildElement("joint"); e;
         e = e->NextSiblingElement("joint"))
    {
      read_joint(*e);
    }
    check_mimics();
    build_tree();
    read_drake_tags(
      xml_, root, true,
      [this](const std::string & name, const std::string & where) { return node_of(name, where); },
      tree_);
    return std::move(tree_);
  }

private:
  void count_links(const XMLElement & root) const
  {
    int count = 0;
    for (const XMLElement * e = root.FirstChildElement("link"); e;
         e = e->NextSiblingElement("link"))
    {
      ++count;
    }
    if (count > limits_.links)
    {
      xml_.fail(
        "there are " + std::to_string(count) + " links; at most " + std::to_string(limits_.links) +
        " are allowed");
    }
  }

  Pose read_origin(const XMLElement & parent, const std::string & where) const
  {
    Pose pose;
    if (const XMLElement * origin = xml_.child(parent, "origin", where))
    {
      pose.xyz = xml_.vector3(*origin, "xyz", where, pose.xyz);
      pose.rpy = xml_.vector3(*origin, "rpy", where, pose.rpy);
    }
    return pose;
  }

  void read_link(const XMLElement & element)
  {
    const std::string name = xml_.name(element, "name", "link");
    const std::string where = "link '" + name + "'";
    MassProperties mass;
    if (const XMLElement * inertial = xml_.child(element, "inertial", where))
    {
      const XMLElement * mass_element = xml_.child(*inertial, "mass", where);
      const XMLElement * inertia = xml_.child(*inertial, "inertia", where);
      if (mass_element == nullptr || inertia == nullptr)
      {
        xml_.fail(where + ": <inertial> needs <mass> and <inertia>");
      }
      mass.mass =
        xml_.not_negative(xml_.number(*mass_element, "value", where), where + ": the mass");
      const double xy = xml_.number(*inertia, "ixy", where);
      const double xz = xml_.number(*inertia, "ixz", where);
      const double yz = xml_.number(*inertia, "iyz", where);
      Eigen::Matrix3d I;
      I << xml_.number(*inertia, "ixx", where), xy, xz,  //
        xy, xml_.number(*inertia, "iyy", where), yz,     //
        xz, yz, xml_.number(*inertia, "izz", where);
      const Eigen::Isometry3d X = isometry(read_origin(*inertial, where));
      mass.com = X.translation();
      mass.inertia = X.linear() * I * X.linear().transpose();
    }
    if (!links_.emplace(name, mass).second)
    {
      xml_.fail(where + " is defined twice");
    }
  }

  static JointKind kind_of(const std::string & type, bool & known)
  {
    static const std::map<std::string, JointKind> kinds = {
      {"revolute", JointKind::kRevolute},   {"continuous", JointKind::kRevolute},
      {"prismatic", JointKind::kPrismatic}, {"fixed", JointKind::kFixed},
      {"planar", JointKind::kPlanar},       {"floating", JointKind::kFloating}};
    const auto found = kinds.find(type);
    known = found != kinds.end();
    return known ? found->second : JointKind::kFixed;
  }

  std::string read_end(const XMLElement & joint, const char * end, const std::string & where) const
  {
    const XMLElement * element = xml_.child(joint, end, where);
    if (element == nullptr)
    {
      xml_.fail(where + " needs <" + end + " link=\"…\"/>");
    }
    const std::string link = xml_.name(*element, "link", where);
    if (links_.count(link) == 0)
    {
      xml_.fail(where + ": its " + end + " link '" + link + "' is not defined");
    }
    return link;
  }

  void read_joint(const XMLElement & element)
  {
    UrdfJoint joint;
    joint.node.joint = xml_.name(element, "name", "joint");
    const std::string where = "joint '" + joint.node.joint + "'";
    const std::string type = xml_.name(element, "type", where);
    bool known = false;
    joint.node.kind = kind_of(type, known);
    if (!known)
    {
      xml_.fail(
        where + ": its type is '" + type +
        "'; allowed are revolute, continuous, prismatic, fixed, planar and floating");
    }
    joint.parent = read_end(element, "parent", where);
    joint.child = read_end(element, "child", where);
    joint.node.placement = isometry(read_origin(element, where));
    read_axis(element, where, joint.node);
    read_limits(element, where, type, joint.node.properties.limits);
    read_dynamics(element, where, joint.node);
    read_mimic(element, where, joint.node);
    const std::string child = joint.child;
    const auto holder = holders_.emplace(child, joint.node.joint);
    if (!holder.second)
    {
      xml_.fail(
        "link '" + child + "' is the child of joints '" + holder.first->second + "' and '" +
        joint.node.joint + "'; a link has one parent, loops are closed by constraints");
    }
    if (!joints_.emplace(joint.node.joint, std::move(joint)).second)
    {
      xml_.fail(where + " is defined twice");
    }
  }

  void read_axis(const XMLElement & element, const std::string & where, TreeNode & node)
  {
    const XMLElement * axis = xml_.child(element, "axis", where);
    // Without axis, URDF's is x. Fixed and floating joints have none, and exporters write 0 0 0.
    const Eigen::Vector3d value =
      axis ? xml_.vector3(*axis, "xyz", where, Eigen::Vector3d::UnitX()) : Eigen::Vector3d::UnitX();
    if (is_simple(node.kind))
    {
      node.axis = xml_.unit(value, where);
    }
    if (node.kind != JointKind::kPlanar)
    {
      return;
    }
    if (axis == nullptr)
    {
      tree_.warnings.push_back(where + " states no axis; its plane is taken as x, y of its frame");
    }
    else if (!xml_.unit(value, where).isApprox(Eigen::Vector3d::UnitZ(), 1e-9))
    {
      xml_.fail(
        where + ": the axis of a planar joint is (" + show(value.x()) + ", " + show(value.y()) +
        ", " + show(value.z()) + "); only 0 0 1 is allowed, turn the joint's origin instead");
    }
  }

  void read_limits(
    const XMLElement & element, const std::string & where, const std::string & type,
    RigidBodySystem::Limits & limits) const
  {
    const XMLElement * limit = xml_.child(element, "limit", where);
    if (limit == nullptr || type == "fixed")
    {
      return;
    }
    const double lower = xml_.number(*limit, "lower", where, 0.0);
    const double upper = xml_.number(*limit, "upper", where, 0.0);
    if (!(lower <= upper))
    {
      xml_.fail(
        where + ": its lower limit " + show(lower) + " is above its upper limit " + show(upper));
    }
    if (type == "revolute" || type == "prismatic")
    {
      limits.lower = lower;
      limits.upper = upper;
    }
    const double infinity = std::numeric_limits<double>::infinity();
    limits.velocity = xml_.not_negative(
      xml_.number(*limit, "velocity", where, infinity), where + ": its velocity limit");
    limits.effort = xml_.not_negative(
      xml_.number(*limit, "effort", where, infinity), where + ": its effort limit");
  }

  void read_dynamics(const XMLElement & element, const std::string & where, TreeNode & node)
  {
    const XMLElement * dynamics = xml_.child(element, "dynamics", where);
    if (dynamics == nullptr)
    {
      return;
    }
    node.properties.damping =
      xml_.not_negative(xml_.number(*dynamics, "damping", where, 0.0), where + ": its damping");
    const double friction =
      xml_.not_negative(xml_.number(*dynamics, "friction", where, 0.0), where + ": its friction");
    node.properties.friction = friction;
    if (friction > 0.0 && node.kind != JointKind::kFixed)
    {
      tree_.warnings.push_back(
        where + " states a dry friction of " + show(friction) + ", which is not applied");
    }
  }

  void read_mimic(const XMLElement & element, const std::string & where, TreeNode & node)
  {
    const XMLElement * mimic = xml_.child(element, "mimic", where);
    if (mimic == nullptr || node.kind == JointKind::kFixed)
    {
      return;
    }
    if (!is_simple(node.kind))
    {
      xml_.fail(where + ": only joints with one degree of freedom can mimic another");
    }
    node.properties.mimics = true;
    tree_.mimics.push_back(
      {node.joint, xml_.name(*mimic, "joint", where), xml_.number(*mimic, "multiplier", where, 1.0),
       xml_.number(*mimic, "offset", where, 0.0)});
  }

  /// A coupling to a joint that does not exist cannot be meant; some published robots have them.
  void check_mimics()
  {
    std::vector<RigidBodySystem::Mimic> valid;
    for (const RigidBodySystem::Mimic & mimic : tree_.mimics)
    {
      const auto source = joints_.find(mimic.source);
      const std::string where = "joint '" + mimic.joint + "': it mimics '" + mimic.source + "'";
      if (source == joints_.end())
      {
        tree_.warnings.push_back(where + ", which is not defined; it is free");
        joints_.at(mimic.joint).node.properties.mimics = false;
        continue;
      }
      if (mimic.source == mimic.joint || !is_simple(source->second.node.kind))
      {
        xml_.fail(where + "; it must be another joint with one degree of freedom");
      }
      valid.push_back(mimic);
    }
    tree_.mimics = valid;
  }

  std::string root_link() const
  {
    std::vector<std::string> roots;
    for (const auto & [name, mass] : links_)
    {
      if (holders_.count(name) == 0)
      {
        roots.push_back(name);
      }
    }
    if (roots.empty())
    {
      xml_.fail("every link is the child of a joint: the joints form a loop, and there is no root");
    }
    if (roots.size() > 1)
    {
      xml_.fail(
        "links '" + roots[0] + "' and '" + roots[1] +
        "' are not the child of any joint; one root is allowed");
    }
    return roots.front();
  }

  /// Depth first; siblings in the order of their joints' names, as Pinocchio orders them.
  void build_tree()
  {
    std::map<std::string, std::vector<const UrdfJoint *>> children;
    for (const auto & [name, joint] : joints_)
    {
      children[joint.parent].push_back(&joint);
    }
    const std::string root = root_link();
    visit_depth_first<UrdfJoint>(
      {{}}, children,
      [&](const OpenJoint<UrdfJoint> & next)
      {
        TreeNode node = next.joint ? next.joint->node : TreeNode();
        node.link = next.joint ? next.joint->child : root;
        node.parent = next.parent;
        node.mass = links_.at(node.link);
        check_depth(xml_, limits_, node.link, next.depth);
        tree_.nodes.push_back(node);
        return std::make_pair(node.link, static_cast<int>(tree_.nodes.size()) - 1);
      });
    if (tree_.nodes.size() < links_.size())
    {
      std::set<std::string> reached;
      for (const TreeNode & node : tree_.nodes)
      {
        reached.insert(node.link);
      }
      for (const auto & [name, mass] : links_)
      {
        if (reached.count(name) == 0)
        {
          xml_.fail(
            "link '" + name + "' is not connected to the root '" + root +
            "': it is part of a loop of joints");
        }
      }
    }
  }

  int node_of(const std::string & link, const std::string & where) const
  {
    const auto found = std::find_if(
      tree_.nodes.begin(), tree_.nodes.end(),
      [&](const TreeNode & node) { return node.link == link; });
    if (found == tree_.nodes.end() && link != "world")
    {
      xml_.fail(where + ": there is no link '" + link + "'");
    }
    return found == tree_.nodes.end() ? -1 : static_cast<int>(found - tree_.nodes.begin());
  }

  XmlReader xml_;
  SizeLimits limits_;
  std::map<std::string, MassProperties> links_;
  std::map<std::string, UrdfJoint> joints_;
  std::map<std::string, std::string> holders_;  ///< child link → joint
  RobotTree tree_;
};

}  // namespace

RobotTree read_urdf(const std::string & text, const std::string & who, const SizeLimits & limits)
{
  return UrdfReader(who, limits).read(text);
}

}  // namespace constrained_dynamics
