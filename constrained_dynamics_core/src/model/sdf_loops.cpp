// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// SDF: joints that close loops, and gearboxes.

#include <algorithm>
#include <cmath>

#include "model/sdf_reader.hpp"

namespace constrained_dynamics::sdf
{
namespace
{

/// How far directions that are stated in different frames may differ.
constexpr double kSameDirection = 1e-9;
/// Largest cosine between the axes of a universal joint that closes a loop: that of the constraint.
constexpr double kPerpendicularAxes = 1e-6;

/// The rows in which the two frames of a joint coincide, with z along its axis.
const std::map<std::string, std::vector<std::string>> & rows_of_types()
{
  static const std::map<std::string, std::vector<std::string>> rows = {
    {"revolute", {"x", "y", "z", "rx", "ry"}},
    {"continuous", {"x", "y", "z", "rx", "ry"}},
    {"prismatic", {"x", "y", "rx", "ry", "rz"}},
    {"ball", {"x", "y", "z"}},
    {"fixed", {"x", "y", "z", "rx", "ry", "rz"}}};
  return rows;
}

}  // namespace

std::map<std::string, std::vector<const SdfJoint *>> SdfReader::choose_tree(
  const std::optional<std::string> & root)
{
  std::map<std::string, std::vector<const SdfJoint *>> children;
  std::set<std::string> reached = {root.value_or("world")};
  std::set<std::string> level = reached;
  while (!level.empty())
  {
    std::set<std::string> next;
    for (const std::string & name : joint_order_)
    {
      const SdfJoint & joint = joints_.at(name);
      if (level.count(joint.parent) == 0)
      {
        continue;
      }
      if (reached.insert(joint.child).second)
      {
        children[joint.parent].push_back(&joint);
        next.insert(joint.child);
      }
      else
      {
        cut_.push_back(&joint);
      }
    }
    level = std::move(next);
  }
  for (auto & [parent, joints] : children)
  {
    std::sort(
      joints.begin(), joints.end(),
      [](const SdfJoint * a, const SdfJoint * b) { return a->name < b->name; });
  }
  return children;
}

void SdfReader::state_type(const SdfJoint & joint, TreeConstraint & constraint)
{
  const auto rows = rows_of_types().find(joint.type);
  if (rows != rows_of_types().end())
  {
    constraint.rows = rows->second;
    return;
  }
  if (joint.type == "screw")
  {
    // Its slide is not a coordinate, so that nothing is coupled with it.
    const auto & slide = joint.second->joint;
    tree_.mimics.erase(
      std::remove_if(
        tree_.mimics.begin(), tree_.mimics.end(),
        [&](const RigidBodySystem::Mimic & mimic) { return mimic.joint == slide; }),
      tree_.mimics.end());
    constraint.type = "screw";
    constraint.keys = {{"pitch", joint.pitch}};
    return;
  }
  // universal, revolute2: the first axis is fixed in the parent, the second in the child.
  const double cosine = joint.node.axis.dot(joint.second->axis);
  if (!(std::abs(cosine) <= kPerpendicularAxes))
  {
    xml_.fail(
      "joint '" + joint.name + "' closes a loop and is " + joint.type +
      "; the cosine between its " + "axes is " + show(cosine) +
      ", allowed is 0. Which joint closes the loop depends on the " + "order of the joints");
  }
  constraint.type = "universal";
  constraint.keys = {{"axis_a", joint.second->axis}, {"axis_b", joint.node.axis}};
}

void SdfReader::close_loop(const SdfJoint & joint)
{
  if (static_)
  {
    return;
  }
  const std::string & name = joint.name;
  TreeConstraint constraint;
  constraint.name = name;
  constraint.source = "joint '" + name + "', which closes a loop,";
  state_type(joint, constraint);
  for (const RigidBodySystem::Mimic & mimic : tree_.mimics)
  {
    const bool second = joint.second && mimic.joint == joint.second->joint;
    if (mimic.joint == joint.node.joint || mimic.source == name || second)
    {
      xml_.fail(
        "joint '" + mimic.joint + "' mimics '" + mimic.source + "', but '" + name +
        "' closes a loop and has no coordinate");
    }
  }
  constraint.frame_a = name + "_a";
  constraint.frame_b = name + "_b";
  Eigen::Isometry3d X_axis = Eigen::Isometry3d::Identity();
  if (is_simple(joint.node.kind) && constraint.type != "universal")
  {
    X_axis.linear() = axes_with_z(joint.node.axis);
  }
  tree_.frames.push_back(
    {constraint.frame_a, node_of_link_.at(joint.child), joint.X_JL.inverse() * X_axis});
  tree_.frames.push_back(
    {constraint.frame_b, joint.parent == "world" ? -1 : node_of_link_.at(joint.parent),
     joint.node.placement * X_axis});
  tree_.constraints.push_back(std::move(constraint));
  warn_about_unused(joint);
}

void SdfReader::warn_about_unused(const SdfJoint & joint)
{
  const JointProperties & stated = joint.node.properties;
  if (
    std::isfinite(stated.limits.lower) || std::isfinite(stated.limits.upper) ||
    stated.damping > 0.0 || stated.friction > 0.0 || stated.stiffness > 0.0)
  {
    tree_.warnings.push_back(
      "joint '" + joint.name +
      "' closes a loop; its limits, damping, friction and spring are not applied");
  }
}

std::pair<std::string, double> SdfReader::angle_between(
  const std::string & from, const std::string & to, const Eigen::Vector3d & direction,
  const std::string & where)
{
  for (const std::string & name : joint_order_)
  {
    const SdfJoint & joint = joints_.at(name);
    const bool forward = joint.parent == from && joint.child == to;
    const bool backward = joint.parent == to && joint.child == from;
    const bool in_tree = std::find(cut_.begin(), cut_.end(), &joint) == cut_.end();
    if (!(forward || backward) || !in_tree || joint.node.kind != JointKind::kRevolute)
    {
      continue;
    }
    const Eigen::Vector3d axis =
      pose_in_model(entities_[joint_entities_.at(name)]).linear() * joint.node.axis;
    const double cosine = axis.dot(direction);
    if (!joint.second && std::abs(std::abs(cosine) - 1.0) <= kSameDirection)
    {
      return {name, (cosine > 0.0 ? 1.0 : -1.0) * (forward ? 1.0 : -1.0)};
    }
  }
  xml_.fail(
    where + ": between links '" + from + "' and '" + to +
    "' there is no revolute joint of the tree about its axis");
}

void SdfReader::add_gearbox(const Gearbox & gearbox)
{
  const std::string where = "joint '" + gearbox.name + "'";
  const XMLElement & element = *gearbox.element;
  const XMLElement * reference = xml_.child(element, "gearbox_reference_body", where);
  if (reference == nullptr)
  {
    xml_.fail(where + " needs <gearbox_reference_body>, a link");
  }
  minor_ = gearbox.scope->minor;
  const std::string base = link_of(gearbox.scope->name(xml_.content(*reference, where)), where);
  const double ratio = number(element, "gearbox_ratio", where, 1.0);
  if (ratio == 0.0)
  {
    xml_.fail(where + ": <gearbox_ratio> is 0; it must not be");
  }
  Entity & frame = entities_[joint_entities_.at(gearbox.name)];
  const auto angle = [&](const std::string & link, const char * name)
  {
    const XMLElement * axis = xml_.child(element, name, where);
    if (axis == nullptr)
    {
      xml_.fail(where + " needs <" + name + "> because it is gearbox");
    }
    const Eigen::Vector3d direction =
      pose_in_model(frame).linear() * read_direction(*axis, where, frame, *gearbox.scope);
    return angle_between(base, link_of(link, where), direction, where);
  };
  if (static_)
  {
    return;
  }
  const auto parent = angle(gearbox.parent, "axis");
  const auto child = angle(gearbox.child, "axis2");
  TreeConstraint constraint;
  constraint.name = gearbox.name;
  constraint.source = where + ", a gearbox,";
  constraint.terms = {{child.first, child.second}};
  constraint.of = {{parent.first, parent.second}};
  constraint.polynomial = {0.0, -ratio};
  tree_.constraints.push_back(std::move(constraint));
}

}  // namespace constrained_dynamics::sdf
