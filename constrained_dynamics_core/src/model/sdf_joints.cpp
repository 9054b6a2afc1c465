// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// SDF: joints, once the poses are known, and the tree.

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "model/sdf_reader.hpp"

#include "constants.hpp"

namespace constrained_dynamics::sdf
{
namespace
{

/// SDF before 1.9 writes limits of this size where there is none.
constexpr double kNoLimit = 1e16;
/// One turn [rad].
constexpr double kTurn = 6.283185307179586;

}  // namespace

JointKind SdfReader::kind_of(const std::string & type, const std::string & where) const
{
  static const std::map<std::string, JointKind> kinds = {
    {"revolute", JointKind::kRevolute},   {"continuous", JointKind::kRevolute},
    {"prismatic", JointKind::kPrismatic}, {"fixed", JointKind::kFixed},
    {"ball", JointKind::kBall},           {"universal", JointKind::kRevolute},
    {"revolute2", JointKind::kRevolute},  {"screw", JointKind::kRevolute}};
  const auto found = kinds.find(type);
  if (found == kinds.end())
  {
    xml_.fail(
      where + ": its type is '" + type +
      "'; allowed are revolute, continuous, prismatic, fixed, ball, universal, revolute2, screw "
      "and gearbox");
  }
  return found->second;
}

std::string SdfReader::read_end(
  const XMLElement & joint, const char * end, const std::string & where) const
{
  const XMLElement * element = xml_.child(joint, end, where);
  const std::string name = element ? xml_.content(*element, where) : "";
  if (name.empty())
  {
    xml_.fail(where + " needs <" + end + ">, the name of a link or frame");
  }
  return name;
}

void SdfReader::read_joint(const XMLElement & element, const Scope & scope)
{
  SdfJoint joint;
  Entity entity;
  joint.element = &element;
  joint.scope = &scope;
  joint.name = joint.node.joint = entity.name = scope.prefix + xml_.name(element, "name", "joint");
  const std::string where = entity.label = "joint '" + entity.name + "'";
  joint.type = xml_.name(element, "type", where);
  const bool gearbox = joint.type == "gearbox";
  joint.node.kind = gearbox ? JointKind::kFixed : kind_of(joint.type, where);
  joint.parent = scope.name(read_end(element, "parent", where));
  joint.child = scope.name(read_end(element, "child", where));
  if (joint.child == "world")
  {
    xml_.fail(where + ": its child is 'world', which only a parent may be; exchange the two");
  }
  const StatedPose pose = read_pose(element, where);
  entity.X = pose.X;
  entity.reference = pose.relative_to.empty() ? joint.child : scope.name(pose.relative_to);
  entity.attached = joint.child;
  add_entity(joint_entities_, std::move(entity));
  if (gearbox)
  {
    gearboxes_.push_back({&element, joint.name, joint.parent, joint.child, &scope});
    return;
  }
  joint_order_.push_back(joint.name);
  joints_.emplace(joint.name, std::move(joint));
}

void SdfReader::resolve_joint(SdfJoint & joint)
{
  TreeNode & node = joint.node;
  const std::string where = "joint '" + joint.name + "'";
  Entity & frame = entities_[joint_entities_.at(joint.name)];
  minor_ = joint.scope->minor;
  joint.child = link_of(joint.child, where);
  Entity & child = link_entity(joint.child);
  held_.insert(joint.child);
  const bool in_world = joint.parent == "world";
  joint.parent = in_world ? joint.parent : link_of(joint.parent, where);
  if (joint.parent == joint.child)
  {
    xml_.fail(where + ": its parent and its child are the same link '" + joint.child + "'");
  }
  if (in_world && tree_.grounded.empty())
  {
    tree_.grounded = where + " holds link '" + joint.child + "' to the world";
  }
  read_axes(joint, where, frame);
  if (static_)
  {
    node.kind = JointKind::kFixed;
    joint.second.reset();
  }
  Entity & moved = node.kind == JointKind::kFixed ? child : frame;
  node.placement =
    in_world ? pose_in_model(moved) : relative_pose(link_entity(joint.parent), moved);
  joint.X_JL = node.kind == JointKind::kFixed ? joint.X_JL : relative_pose(frame, child);
}

void SdfReader::read_axes(SdfJoint & joint, const std::string & where, Entity & frame)
{
  TreeNode & node = joint.node;
  const XMLElement & element = *joint.element;
  if (!is_simple(node.kind))
  {
    const XMLElement * axis = xml_.child(element, "axis", where);
    JointProperties unused;
    if (axis && read_dynamics(*axis, where, unused) && node.kind == JointKind::kBall)
    {
      tree_.warnings.push_back(
        where + " states <dynamics> of an axis, which a ball joint has not; not applied");
    }
    return;
  }
  const bool two = joint.type == "universal" || joint.type == "revolute2";
  if (!two && element.FirstChildElement("axis2"))
  {
    tree_.warnings.push_back(where + " has one axis; <axis2> is not read");
  }
  node.joint = two ? joint.name + "_axis" : joint.name;
  read_axis(joint, "axis", where, frame, node);
  if (two)
  {
    joint.second.emplace();
    joint.second->kind = JointKind::kRevolute;
    joint.second->joint = joint.name + "_axis2";
    read_axis(joint, "axis2", where, frame, *joint.second);
  }
  if (joint.type == "screw")
  {
    add_screw(joint, where);
  }
}

void SdfReader::add_screw(SdfJoint & joint, const std::string & where)
{
  const XMLElement & element = *joint.element;
  // Travel of one turn. The older element is the angle of a unit of travel, left-handed.
  const double older = number(element, "thread_pitch", where, 0.0);
  const double travel = element.FirstChildElement("screw_thread_pitch")
                          ? number(element, "screw_thread_pitch", where, 0.0)
                          : (older == 0.0 ? 0.0 : -kTurn / older);
  if (travel == 0.0 || !std::isfinite(travel))
  {
    xml_.fail(where + " needs <screw_thread_pitch>, the travel of one turn [m], not 0");
  }
  if (static_)
  {
    return;
  }
  joint.pitch = travel;
  joint.second.emplace();
  joint.second->kind = JointKind::kPrismatic;
  joint.second->axis = joint.node.axis;
  joint.second->joint = joint.node.joint + "_slide";
  joint.second->properties.mimics = true;
  tree_.mimics.push_back(
    {joint.second->joint, joint.node.joint, travel / kTurn, 0.0, joint.node.joint + "_screw"});
}

void SdfReader::read_axis(
  const SdfJoint & joint, const char * name, const std::string & where, Entity & frame,
  TreeNode & node)
{
  const XMLElement * axis = xml_.child(*joint.element, name, where);
  if (axis == nullptr)
  {
    xml_.fail(where + " needs <" + name + "> because it is " + joint.type);
  }
  node.axis = read_direction(*axis, where, frame, *joint.scope);
  read_limits(*axis, where, joint.type, node.properties.limits);
  read_dynamics(*axis, where, node.properties);
  read_mimic(*axis, where, *joint.scope, node);
}

Eigen::Vector3d SdfReader::read_direction(
  const XMLElement & axis, const std::string & where, Entity & frame, const Scope & scope)
{
  const XMLElement * xyz = xml_.child(axis, "xyz", where);
  if (xyz == nullptr)
  {
    tree_.warnings.push_back(where + " states no <xyz> of its axis; SDF's is taken: 0 0 1");
  }
  const Eigen::Vector3d value =
    xml_.unit(xyz ? vector3(*xyz, where) : Eigen::Vector3d(Eigen::Vector3d::UnitZ()), where);
  std::string expressed_in = xyz ? xml_.text(*xyz, "expressed_in").value_or("") : "";
  // In 1.4 axes are always in the model's frame; in 1.5 and 1.6 the flag says so.
  const XMLElement * flag = axis.FirstChildElement("use_parent_model_frame");
  const bool in_model = truth_of_child(axis, "use_parent_model_frame", where, minor_ == kOldest);
  if (flag && (minor_ >= kFrameSemantics || !expressed_in.empty()))
  {
    xml_.fail(
      where +
      ": <use_parent_model_frame> is allowed before 1.7 and without expressed_in; "
      "write <xyz expressed_in=\"__model__\">");
  }
  if (expressed_in.empty() && in_model)
  {
    expressed_in = kModel;
  }
  if (expressed_in.empty() || scope.name(expressed_in) == frame.name)
  {
    return value;
  }
  const Eigen::Matrix3d R_ME = pose_in_model(scope.name(expressed_in), where).linear();
  const Eigen::Matrix3d R_MJ = pose_in_model(frame).linear();
  return xml_.unit(R_MJ.transpose() * (R_ME * value), where);
}

double SdfReader::read_limit(
  const XMLElement & limit, const char * name, const std::string & where, double fallback) const
{
  static const std::set<std::string> words = {"inf", "+inf", "-inf"};
  const XMLElement * element = xml_.child(limit, name, where);
  if (element == nullptr)
  {
    return fallback;
  }
  const std::string text = xml_.content(*element, where);
  const double value = words.count(text) > 0 ? (text[0] == '-' ? -kInfinity : kInfinity)
                                             : xml_.content_number(*element, where);
  return std::abs(value) >= kNoLimit ? std::copysign(kInfinity, value) : value;
}

void SdfReader::read_limits(
  const XMLElement & axis, const std::string & where, const std::string & type,
  RigidBodySystem::Limits & limits) const
{
  const XMLElement * limit = xml_.child(axis, "limit", where);
  if (limit == nullptr)
  {
    return;
  }
  const double lower = read_limit(*limit, "lower", where, -kInfinity);
  const double upper = read_limit(*limit, "upper", where, kInfinity);
  if (!(lower <= upper) || !(lower < kInfinity) || !(upper > -kInfinity))
  {
    xml_.fail(
      where + ": its lower limit " + show(lower) + " is above its upper limit " + show(upper) +
      ", or they leave nothing between them");
  }
  if (type != "continuous")
  {
    limits.lower = lower;
    limits.upper = upper;
  }
  // A negative value means none.
  const double velocity = read_limit(*limit, "velocity", where, kInfinity);
  const double effort = read_limit(*limit, "effort", where, kInfinity);
  limits.velocity = velocity >= 0.0 ? velocity : kInfinity;
  limits.effort = effort >= 0.0 ? effort : kInfinity;
}

bool SdfReader::read_dynamics(
  const XMLElement & axis, const std::string & where, JointProperties & properties)
{
  const XMLElement * dynamics = xml_.child(axis, "dynamics", where);
  if (dynamics == nullptr)
  {
    return false;
  }
  const auto value = [&](const char * name, const std::string & what)
  { return xml_.not_negative(number(*dynamics, name, where, 0.0), where + ": its " + what); };
  properties.damping = value("damping", "damping");
  properties.stiffness = value("spring_stiffness", "spring stiffness");
  properties.rest = number(*dynamics, "spring_reference", where, 0.0);
  const double friction = value("friction", "friction");
  properties.friction = friction;
  if (friction > 0.0)
  {
    tree_.warnings.push_back(
      where + " states a dry friction of " + show(friction) + ", which is not applied");
  }
  return properties.damping > 0.0 || properties.stiffness > 0.0 || friction > 0.0;
}

void SdfReader::read_mimic(
  const XMLElement & axis, const std::string & where, const Scope & scope, TreeNode & node)
{
  const XMLElement * mimic = xml_.child(axis, "mimic", where);
  if (mimic == nullptr || static_)
  {
    return;
  }
  const std::string source = scope.name(xml_.name(*mimic, "joint", where));
  if (const std::string of = xml_.text(*mimic, "axis").value_or("axis"); of != "axis")
  {
    xml_.fail(where + ": it mimics '" + of + "' of '" + source + "'; only 'axis' is allowed");
  }
  const XMLElement * multiplier = xml_.child(*mimic, "multiplier", where);
  if (multiplier == nullptr)
  {
    xml_.fail(where + ": <mimic> needs <multiplier>, a number");
  }
  const double factor = xml_.content_number(*multiplier, where);
  const double offset =
    number(*mimic, "offset", where, 0.0) - factor * number(*mimic, "reference", where, 0.0);
  if (!std::isfinite(offset))
  {
    xml_.fail(where + ": multiplier · reference of <mimic> is not finite");
  }
  node.properties.mimics = true;
  tree_.mimics.push_back({node.joint, source, factor, offset});
}

void SdfReader::check_mimics() const
{
  for (const RigidBodySystem::Mimic & mimic : tree_.mimics)
  {
    const auto source = joints_.find(mimic.source);
    if (
      source == joints_.end() || mimic.source == mimic.joint ||
      source->second.node.joint != mimic.source || !is_simple(source->second.node.kind))
    {
      xml_.fail(
        "joint '" + mimic.joint + "': it mimics '" + mimic.source +
        "'; it must be another joint with one degree of freedom");
    }
  }
}

std::optional<std::string> SdfReader::free_root(bool world_is_parent) const
{
  std::vector<std::string> roots;
  for (const auto & [name, index] : links_)
  {
    if (held_.count(name) == 0)
    {
      roots.push_back(name);
    }
  }
  if (world_is_parent && !roots.empty())
  {
    xml_.fail(
      "link '" + roots[0] +
      "' is not the child of any joint, while another link is fixed to the world; one root is "
      "allowed");
  }
  if (!world_is_parent && roots.empty())
  {
    xml_.fail("every link is the child of a joint: the joints form a loop, and there is no root");
  }
  if (roots.size() > 1)
  {
    xml_.fail(
      "links '" + roots[0] + "' and '" + roots[1] +
      "' are not the child of any joint; one root is allowed");
  }
  return roots.empty() ? std::nullopt : std::optional<std::string>(roots[0]);
}

void SdfReader::build_tree()
{
  const bool in_world = std::any_of(
    joints_.begin(), joints_.end(),
    [](const auto & item) { return item.second.parent == "world"; });
  const std::optional<std::string> root = free_root(in_world);
  std::map<std::string, std::vector<const SdfJoint *>> children = choose_tree(root);
  std::vector<OpenJoint<SdfJoint>> open;
  if (root)
  {
    open.emplace_back();
  }
  for (const SdfJoint * joint : children["world"])
  {
    open.push_back({joint});
  }
  visit_depth_first<SdfJoint>(
    std::move(open), children,
    [&](const OpenJoint<SdfJoint> & next)
    {
      const std::string link = next.joint ? next.joint->child : *root;
      check_depth(xml_, limits_, link, next.depth);
      return std::make_pair(link, add_link(next.joint, link, next.parent));
    });
  check_all_reached();
}

int SdfReader::add_link(const SdfJoint * joint, const std::string & link, int parent)
{
  TreeNode node;
  node.parent = parent;
  node.placement = joint ? joint->X_JL : pose_in_model(link_entity(link));
  if (joint && !joint->second && joint->X_JL.matrix() == Eigen::Matrix4d::Identity())
  {
    node = joint->node;
    node.parent = parent;
  }
  else if (joint)
  {
    // The joint frame is not the link's: an inner node moves, the link is fixed to it.
    node.parent = parent;
    for (const TreeNode * moves : {&joint->node, joint->second ? &*joint->second : nullptr})
    {
      if (moves)
      {
        TreeNode inner = *moves;
        inner.parent = node.parent;
        node.parent = static_cast<int>(tree_.nodes.size());
        tree_.nodes.push_back(std::move(inner));
      }
    }
  }
  node.link = link;
  node.mass = masses_.at(link);
  const int index = static_cast<int>(tree_.nodes.size());
  node_of_link_[link] = index;
  tree_.nodes.push_back(std::move(node));
  return index;
}

void SdfReader::check_all_reached() const
{
  for (const auto & [name, index] : links_)
  {
    if (node_of_link_.count(name) == 0)
    {
      xml_.fail("link '" + name + "' is not connected to the root: it is part of a loop of joints");
    }
  }
}

void SdfReader::add_frames()
{
  for (const std::string & name : frame_order_)
  {
    Entity & frame = entities_[frames_.at(name)];
    const std::string link = link_of(frame.attached, frame.label);
    tree_.frames.push_back(
      {frame.name, node_of_link_.at(link), relative_pose(link_entity(link), frame)});
  }
}

}  // namespace constrained_dynamics::sdf
