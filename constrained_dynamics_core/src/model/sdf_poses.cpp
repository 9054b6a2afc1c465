// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// SDF: values, and where things are in the model.

#include <cmath>
#include <set>

#include "model/sdf_reader.hpp"

#include "constants.hpp"

namespace constrained_dynamics::sdf
{
namespace
{

}  // namespace

Eigen::Vector3d SdfReader::vector3(const XMLElement & element, const std::string & where) const
{
  const std::vector<double> x = xml_.content_numbers(element, where);
  if (x.size() != 3)
  {
    xml_.fail(
      where + ": <" + element.Name() + "> has " + std::to_string(x.size()) +
      " numbers; three are needed");
  }
  return Eigen::Vector3d(x[0], x[1], x[2]);
}

double SdfReader::number(
  const XMLElement & parent, const char * name, const std::string & where, double fallback) const
{
  const XMLElement * element = xml_.child(parent, name, where);
  return element ? xml_.content_number(*element, where) : fallback;
}

bool SdfReader::truth(const std::string & value, const std::string & what) const
{
  static const std::set<std::string> yes = {"true", "True", "TRUE", "1"};
  static const std::set<std::string> no = {"false", "False", "FALSE", "0"};
  if (yes.count(value) == 0 && no.count(value) == 0)
  {
    xml_.fail(what + " is '" + value + "'; allowed are true, false, 1 and 0");
  }
  return yes.count(value) > 0;
}

bool SdfReader::truth_of_child(
  const XMLElement & parent, const char * name, const std::string & where, bool fallback) const
{
  const XMLElement * element = xml_.child(parent, name, where);
  return element ? truth(xml_.content(*element, where), where + ": <" + name + ">") : fallback;
}

Eigen::Matrix3d SdfReader::quaternion(
  const std::vector<double> & x, const std::string & where) const
{
  const Eigen::Vector4d xyzw(x[3], x[4], x[5], x[6]);
  const double length = xyzw.stableNorm();
  if (!(length > 1e-9) || !std::isfinite(length))
  {
    xml_.fail(
      where + ": the length of the quaternion in <pose> is " + show(length) +
      "; it must be above 0");
  }
  return Eigen::Quaterniond(Eigen::Vector4d(xyzw / length)).toRotationMatrix();
}

StatedPose SdfReader::read_pose(const XMLElement & owner, const std::string & where) const
{
  StatedPose pose;
  const XMLElement * element = xml_.child(owner, "pose", where);
  if (element == nullptr)
  {
    return pose;
  }
  pose.relative_to = xml_.text(*element, "relative_to").value_or("");
  const std::string frame = xml_.text(*element, "frame").value_or("");  // its name before 1.7
  if (!frame.empty() && (minor_ >= kFrameSemantics || !pose.relative_to.empty()))
  {
    xml_.fail(where + ": <pose> has the attribute frame=\"" + frame + "\"; allowed is relative_to");
  }
  pose.relative_to += frame;
  const std::string format = xml_.text(*element, "rotation_format").value_or("euler_rpy");
  const bool degrees =
    truth(xml_.text(*element, "degrees").value_or("false"), where + ": degrees of <pose>");
  if (format != "euler_rpy" && (format != "quat_xyzw" || degrees))
  {
    xml_.fail(
      where + ": rotation_format of <pose> is '" + format + "'" + (degrees ? " with degrees" : "") +
      "; allowed are euler_rpy and, without degrees, quat_xyzw");
  }
  const std::vector<double> x = xml_.content_numbers(*element, where);
  const std::size_t needed = format == "euler_rpy" ? 6 : 7;
  if (x.empty())
  {
    return pose;
  }
  if (x.size() != needed)
  {
    xml_.fail(
      where + ": <pose> has " + std::to_string(x.size()) + " numbers; " + std::to_string(needed) +
      " are needed");
  }
  const double unit = degrees ? kPi / 180.0 : 1.0;
  Pose plain;
  plain.xyz << x[0], x[1], x[2];
  plain.rpy << x[3] * unit, x[4] * unit, x[5] * unit;
  pose.X = isometry(plain);
  if (needed == 7)
  {
    pose.X.linear() = quaternion(x, where);
  }
  return pose;
}

Entity & SdfReader::find_entity(const std::string & name, const std::string & where)
{
  for (const auto * kind : {&links_, &frames_, &joint_entities_})
  {
    const auto found = kind->find(name);
    if (found != kind->end())
    {
      return entities_[found->second];
    }
  }
  xml_.fail(
    where + ": '" + name +
    "' is not defined; allowed are links, joints, frames and nested models " + "of the model and " +
    kModel);
}

Eigen::Isometry3d SdfReader::pose_in_model(Entity & first)
{
  std::vector<Entity *> chain;
  Eigen::Isometry3d X = Eigen::Isometry3d::Identity();
  for (Entity * next = &first; next != nullptr;)
  {
    if (next->resolved)
    {
      X = next->X_M;
      break;
    }
    if (next->visited)
    {
      xml_.fail(
        next->label + ": its <pose> refers, by way of '" + next->reference +
        "', to itself; a chain of relative_to must end at the model");
    }
    next->visited = true;
    chain.push_back(next);
    next = next->reference == kModel ? nullptr : &find_entity(next->reference, next->label);
  }
  for (auto link = chain.rbegin(); link != chain.rend(); ++link)
  {
    X = finite(X * (*link)->X, (*link)->label);
    (*link)->X_M = X;
    (*link)->resolved = true;
  }
  return X;
}

Eigen::Isometry3d SdfReader::pose_in_model(const std::string & name, const std::string & where)
{
  if (name == kModel)
  {
    return Eigen::Isometry3d::Identity();
  }
  return pose_in_model(find_entity(name, where));
}

Eigen::Isometry3d SdfReader::relative_pose(Entity & a, Entity & b)
{
  const Eigen::Isometry3d X_Ma = pose_in_model(a);
  const Eigen::Isometry3d X_Mb = pose_in_model(b);
  if (&entity_or(b.reference, b) == &a)
  {
    return b.X;
  }
  if (&entity_or(a.reference, a) == &b)
  {
    return a.X.inverse();
  }
  return finite(X_Ma.inverse() * X_Mb, b.label);
}

Eigen::Isometry3d SdfReader::finite(const Eigen::Isometry3d & X, const std::string & where) const
{
  if (!X.matrix().allFinite())
  {
    xml_.fail(where + ": its <pose> in the model is not finite");
  }
  return X;
}

Entity & SdfReader::entity_or(const std::string & name, Entity & fallback)
{
  return name == kModel ? fallback : find_entity(name, fallback.label);
}

std::string SdfReader::link_of(const std::string & name, const std::string & where)
{
  std::string at = name;
  for (std::size_t step = 0; step <= entities_.size(); ++step)
  {
    if (at == kModel)
    {
      return canonical_;
    }
    const Entity & found = find_entity(at, where);
    if (found.attached.empty())
    {
      return found.name;
    }
    at = found.attached;
  }
  xml_.fail(
    where + ": '" + name + "' is attached, by way of others, to itself; it must be to a link");
}

}  // namespace constrained_dynamics::sdf
