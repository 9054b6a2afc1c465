// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// What a RigidBodySystem adds to the Model: names of coordinates, forces and inputs.

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "model/rigid_body_impl.hpp"
#include "model/spring_law.hpp"
#include "model/xml_reader.hpp"
#include "names.hpp"

namespace constrained_dynamics
{
namespace
{

void append(
  std::vector<std::string> & names, const std::string & joint,
  const std::vector<const char *> & suffixes)
{
  for (const char * suffix : suffixes)
  {
    names.push_back(joint + suffix);
  }
}

void append_names(
  JointKind kind, const std::string & joint, std::vector<std::string> & coordinates,
  std::vector<std::string> & speeds)
{
  switch (kind)
  {
    case JointKind::kPlanar:
      append(coordinates, joint, {"_x", "_y", "_theta"});
      append(speeds, joint, {"_vx", "_vy", "_wz"});
      return;
    case JointKind::kFloating:
      append(coordinates, joint, {"_x", "_y", "_z", "_qx", "_qy", "_qz", "_qw"});
      append(speeds, joint, {"_vx", "_vy", "_vz", "_wx", "_wy", "_wz"});
      return;
    case JointKind::kBall:
      append(coordinates, joint, {"_qx", "_qy", "_qz", "_qw"});
      append(speeds, joint, {"_wx", "_wy", "_wz"});
      return;
    case JointKind::kTranslation:
      append(coordinates, joint, {"_x", "_y", "_z"});
      append(speeds, joint, {"_vx", "_vy", "_vz"});
      return;
    default:
      coordinates.push_back(joint);
      speeds.push_back("d" + joint);
  }
}

double checked(const std::string & what, const std::string & joint, double value)
{
  if (!(value >= 0.0) || !std::isfinite(value))
  {
    throw std::invalid_argument(
      "the " + what + " of joint '" + joint + "' is " + show(value) +
      "; finite values from 0 on are allowed");
  }
  return value;
}

}  // namespace

RigidBodySystem::Impl::Impl(
  RobotModel model, const SceneDescription & description, bool use_damping)
: robot(std::move(model)),
  tree(robot),
  parts(configuration_parts(robot)),
  joint_friction(stated_friction(robot)),
  limits(coordinate_limits(robot))
{
  if (!use_damping)
  {
    tree.damping.setZero();
  }
  add_joints();
  for (const FrameNotes & frame : robot.frames)
  {
    frame_names.push_back(frame.name);
  }
  add_forces(description);
  choose_inputs(description);
}

void RigidBodySystem::Impl::add_joints()
{
  const std::vector<std::string> names = constrained_dynamics::joint_names(robot);
  for (std::size_t i = 0; i < robot.joints.size(); ++i)
  {
    const JointNotes & joint = robot.joints[i];
    const TreeBody & body = tree.bodies[i];
    const bool simple = is_simple(joint.kind);
    append_names(joint.kind, names[i], coordinate_names, speed_names);
    joints.push_back({names[i], joint.child_link, joint.parent_link});
    joint_of_coordinate.resize(coordinate_names.size(), simple ? static_cast<int>(i) : -1);
    if (simple)
    {
      joint_names.push_back(names[i]);
      if (joint.stiffness > 0.0)
      {
        tree.springs.push_back({body.q, body.u, joint.stiffness, joint.rest});
      }
    }
  }
}

const TreeBody & RigidBodySystem::Impl::simple_joint(const std::string & name) const
{
  const int k = index_of_name("joint with one degree of freedom", name, joint_names);
  std::size_t i = 0;
  for (int simple = -1; i < tree.bodies.size(); ++i)
  {
    simple += is_simple(tree.bodies[i].kind) ? 1 : 0;
    if (simple == k)
    {
      break;
    }
  }
  return tree.bodies[i];
}

void RigidBodySystem::Impl::add_forces(const SceneDescription & description)
{
  for (const JointSpring & spring : description.springs)
  {
    const TreeBody & joint = simple_joint(spring.joint);
    if (!std::isfinite(spring.rest))
    {
      throw std::invalid_argument(
        "the rest of the spring of joint '" + spring.joint + "' is not finite");
    }
    tree.springs.push_back(
      {joint.q, joint.u, checked("stiffness", spring.joint, spring.stiffness), spring.rest});
  }
  for (const auto & [name, value] : description.dampers)
  {
    tree.damping(simple_joint(name).u) += checked("damper", name, value);
  }
  for (const ExternalWrench & wrench : description.external_wrenches)
  {
    if (!wrench.force.allFinite() || !wrench.torque.allFinite())
    {
      throw std::invalid_argument("external wrench '" + wrench.name + "' is not finite");
    }
    wrench_names.push_back(wrench.name);
    wrenches.push_back(
      {index_of_name("frame", wrench.frame, frame_names), wrench.expressed_in_frame, wrench.force,
       wrench.torque});
  }
  check_names("external wrench", wrench_names);
  add_elements(description);
}

void RigidBodySystem::Impl::add_elements(const SceneDescription & description)
{
  std::vector<std::string> names;
  for (const std::shared_ptr<const ForceElement> & element : description.force_elements)
  {
    if (!element)
    {
      throw std::invalid_argument("a force element is null");
    }
    const std::string owner = element_owner(element->name()) + ": ";
    const int a = index_of_name(owner + "frame", element->frame_a(), frame_names);
    const int b = index_of_name(owner + "frame", element->frame_b(), frame_names);
    const std::string & body = robot.frames[static_cast<std::size_t>(a)].body;
    if (body == robot.frames[static_cast<std::size_t>(b)].body)
    {
      throw std::invalid_argument(
        owner + "frames '" + element->frame_a() + "' and '" + element->frame_b() +
        "' belong to one body, '" + body + "'; two bodies are needed");
    }
    names.push_back(element->name());
    tree.elements.push_back({a, b, element});
  }
  check_names("force element", names);
  elements = description.force_elements;
}

void RigidBodySystem::Impl::choose_inputs(const SceneDescription & description)
{
  if (!description.actuated)
  {
    std::size_t simple = 0;
    for (std::size_t i = 0; i < robot.joints.size(); ++i)
    {
      if (!is_simple(robot.joints[i].kind))
      {
        continue;
      }
      if (!robot.joints[i].mimics)
      {
        tree.actuated.push_back(tree.bodies[i].u);
        input_names.push_back(joint_names[simple]);
      }
      ++simple;
    }
    return;
  }
  for (const std::string & name : *description.actuated)
  {
    const auto speed = std::find(speed_names.begin(), speed_names.end(), name);
    tree.actuated.push_back(
      speed != speed_names.end() ? static_cast<Eigen::Index>(speed - speed_names.begin())
                                 : static_cast<Eigen::Index>(simple_joint(name).u));
    input_names.push_back(name);
  }
}

}  // namespace constrained_dynamics
