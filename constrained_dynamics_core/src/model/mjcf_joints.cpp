// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// MJCF: poses and joints.

#include <algorithm>
#include <cmath>

#include "model/mjcf_reader.hpp"

namespace constrained_dynamics::mjcf
{

Eigen::Matrix3d MjcfReader::read_rotation(
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
        where + ": attribute '" + kind + "' needs " + std::to_string(sizes.at(kind)) + " numbers");
    }
    return rotation_of(kind, x, where);
  }
  return Eigen::Matrix3d::Identity();
}

Eigen::Matrix3d MjcfReader::rotation_of(
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

Eigen::Isometry3d MjcfReader::read_pose(
  const XMLElement & e, const std::string & where, const std::string & childclass) const
{
  Eigen::Isometry3d X = Eigen::Isometry3d::Identity();
  X.linear() = read_rotation(e, where, childclass);
  X.translation() =
    xml_.vector3(giver(e, "pos", childclass), "pos", where, Eigen::Vector3d::Zero());
  return X;
}

void MjcfReader::add_joint(const Body & body, std::size_t i, TreeNode & node)
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
    references_[joint.joint] = joint.reference = reference;
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

void MjcfReader::read_joint_properties(
  const XMLElement & e, const std::string & childclass, const std::string & where, TreeNode & joint)
{
  const auto number = [&](const char * name)
  { return xml_.number(giver(e, name, childclass), name, where, 0.0); };
  JointProperties & properties = joint.properties;
  properties.damping = xml_.not_negative(number("damping"), where + ": its damping");
  properties.armature = xml_.not_negative(number("armature"), where + ": its armature");
  if (joint.kind == JointKind::kFloating && properties.armature > 0.0)
  {
    tree_.warnings.push_back(where + " states an armature, which acts on its rotation alone here");
  }
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

void MjcfReader::read_range(
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

}  // namespace constrained_dynamics::mjcf
