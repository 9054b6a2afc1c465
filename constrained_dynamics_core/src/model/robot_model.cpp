// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Builds the pinocchio::Model of a scene from what the readers of the files return.

#include "model/robot_model.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include <pinocchio/multibody.hpp>

#include "checked_values.hpp"
#include "model/model_builder.hpp"
#include "model/robot_xml.hpp"
#include "model/xml_reader.hpp"
#include "names.hpp"

namespace constrained_dynamics
{
namespace
{

void check_pose(const std::string & who, const Pose & pose)
{
  if (!pose.xyz.allFinite() || !pose.rpy.allFinite())
  {
    throw_invalid(who, "its pose is not finite");
  }
}

JointKind base_kind(Base base)
{
  return base == Base::kFixed    ? JointKind::kFixed
         : base == Base::kPlanar ? JointKind::kPlanar
                                 : JointKind::kFloating;
}

pinocchio::SE3 to_pinocchio(const Eigen::Isometry3d & X)
{
  return pinocchio::SE3(X.linear(), X.translation());
}

pinocchio::JointModel joint_model(JointKind kind, const Eigen::Vector3d & a)
{
  switch (kind)
  {
    case JointKind::kRevolute:
      if (a == Eigen::Vector3d::UnitX()) return pinocchio::JointModelRX();
      if (a == Eigen::Vector3d::UnitY()) return pinocchio::JointModelRY();
      if (a == Eigen::Vector3d::UnitZ()) return pinocchio::JointModelRZ();
      return pinocchio::JointModelRevoluteUnaligned(a);
    case JointKind::kPrismatic:
      if (a == Eigen::Vector3d::UnitX()) return pinocchio::JointModelPX();
      if (a == Eigen::Vector3d::UnitY()) return pinocchio::JointModelPY();
      if (a == Eigen::Vector3d::UnitZ()) return pinocchio::JointModelPZ();
      return pinocchio::JointModelPrismaticUnaligned(a);
    case JointKind::kPlanar:
      return pinocchio::JointModelPlanar();
    case JointKind::kBall:
      return pinocchio::JointModelSpherical();
    default:
      return pinocchio::JointModelFreeFlyer();
  }
}

}  // namespace

ModelBuilder::ModelBuilder(const SceneDescription & description) : description_(description)
{
  if (!description.gravity.allFinite())
  {
    throw std::invalid_argument("the gravity of the scene is not finite");
  }
  model_.gravity.linear(description.gravity);
  model_.gravity.angular().setZero();
  frames_.push_back({"world", "world", Place(), false, 0});
}

RobotModel ModelBuilder::build()
{
  if (description_.robots.empty() && description_.bodies.empty() && robot_.joints.empty())
  {
    throw std::invalid_argument("the scene has no robot and no body; at least one is needed");
  }
  for (const RobotDescription & robot : description_.robots)
  {
    add_robot(robot);
  }
  for (const FreeBody & body : description_.bodies)
  {
    add_body(body);
  }
  if (robot_.links.size() > static_cast<std::size_t>(description_.size_limits.links))
  {
    throw_invalid(
      "the scene", "there are " + std::to_string(robot_.links.size()) + " links; at most " +
                     std::to_string(description_.size_limits.links) + " are allowed");
  }
  add_attachments_and_frames();
  check_bodies();
  name_inner_bodies();
  add_armature();
  finish();
  return std::move(robot_);
}

void ModelBuilder::add_robot(const RobotDescription & robot)
{
  const std::string who = describe(robot);
  check_pose(who, robot.pose);
  RobotTree tree = read_robot(robot, description_.size_limits);
  lock_joints(robot, who, tree);
  replace_joints(robot, who, tree);
  const auto first_joint = static_cast<std::ptrdiff_t>(robot_.joints.size());
  if (robot.base != Base::kFixed)
  {
    require_single_root(who, tree);
  }
  TreeNode base;
  base.kind = base_kind(robot.base);
  base.joint = robot.name.empty() ? "base" : robot.name;
  base.placement = isometry(robot.pose) * tree.placement;
  const Place root = add_node(base, Place(), who);
  std::vector<Place> places;
  for (TreeNode & node : tree.nodes)
  {
    node.link = node.link.empty() ? "" : robot.prefix + node.link;
    node.joint = robot.prefix + node.joint;
    // A joint that follows no other has an input.
    node.properties.mimics = node.properties.mimics && robot.use_file_constraints;
    const Place & parent = node.parent < 0 ? root : places[static_cast<std::size_t>(node.parent)];
    places.push_back(add_node(node, parent, who));
    add_link_frame(base.joint, node.link, places.back());
  }
  std::fill(may_be_light_.begin() + first_joint, may_be_light_.end(), robot.allow_light_links);
  for (const TreeFrame & frame : tree.frames)
  {
    Place place = frame.node < 0 ? root : places[static_cast<std::size_t>(frame.node)];
    place.X = place.X * frame.placement;
    frames_.push_back({robot.prefix + frame.name, place.link, place});
  }
  for (const RigidBodySystem::Mimic & mimic : tree.mimics)
  {
    if (!robot.use_file_constraints)
    {
      robot_.warnings.push_back(
        who + ": the coupling of joint '" + mimic.joint + "' to '" + mimic.source + "' is ignored");
      continue;
    }
    robot_.mimics.push_back(
      {robot.prefix + mimic.joint, robot.prefix + mimic.source, mimic.multiplier, mimic.offset,
       mimic.name.empty() ? "" : robot.prefix + mimic.name});
  }
  for (const TreeConstraint & constraint : tree.constraints)
  {
    if (robot.use_file_constraints)
    {
      robot_.file_constraints.push_back(file_constraint(who, robot.prefix, constraint));
    }
    else
    {
      robot_.warnings.push_back(who + ": " + constraint.source + " is ignored");
    }
  }
  for (const std::string & warning : tree.warnings)
  {
    robot_.warnings.push_back(who + ": " + warning);
  }
}

ModelBuilder::Place ModelBuilder::add_node(
  const TreeNode & node, const Place & parent, const std::string & who)
{
  Place place;
  place.link = node.link.empty() ? parent.link : node.link;
  place.joint = parent.joint;
  place.X = parent.X * node.placement;
  if (node.kind != JointKind::kFixed)
  {
    add_joint(node, place, parent);
    where_.push_back(who);
    may_be_light_.push_back(false);
    place.joint = static_cast<int>(robot_.joints.size()) - 1;
    place.X = Eigen::Isometry3d::Identity();
  }
  if (place.joint >= 0)
  {
    JointNotes & joint = robot_.joints[static_cast<std::size_t>(place.joint)];
    joint.child_link = joint.child_link.empty() ? node.link : joint.child_link;
    add_mass(masses_[static_cast<std::size_t>(place.joint)], place.X, node.mass);
  }
  return place;
}

void ModelBuilder::add_joint(const TreeNode & node, const Place & place, const Place & parent)
{
  const pinocchio::JointModel joint = joint_model(node.kind, node.axis);
  const JointProperties & properties = node.properties;
  const double infinity = std::numeric_limits<double>::infinity();
  const auto speeds = [&](double value) { return Eigen::VectorXd::Constant(joint.nv(), value); };
  const auto coordinates = [&](double value)
  { return Eigen::VectorXd::Constant(joint.nq(), value); };
  const bool simple = is_simple(node.kind);
  // Only joints of one degree of freedom have limits.
  model_.addJoint(
    static_cast<pinocchio::JointIndex>(parent.joint + 1), joint, to_pinocchio(place.X), node.joint,
    speeds(simple ? properties.limits.effort : infinity),
    speeds(simple ? properties.limits.velocity : infinity),
    coordinates(simple ? properties.limits.lower : -infinity),
    coordinates(simple ? properties.limits.upper : infinity), speeds(properties.friction),
    speeds(properties.damping));
  model_.armature.tail(joint.nv()).setConstant(properties.armature);
  if (node.kind == JointKind::kFloating)
  {
    // In axes that turn, a constant inertia of the translation would bend the way of the body.
    model_.armature.tail<6>().head<3>().setZero();
  }
  robot_.joints.push_back(
    {node.kind, "", parent.link, properties.stiffness, properties.rest, properties.mimics});
  masses_.emplace_back();
  append_neutral(node.kind, node.neutral);
  if (simple)
  {
    robot_.neutral.tail<1>()(0) = node.reference;
  }
}

void ModelBuilder::append_neutral(JointKind kind, const Eigen::Isometry3d & pose)
{
  const int nq = coordinates_of(kind);
  robot_.neutral.conservativeResize(robot_.neutral.size() + nq);
  robot_.neutral.tail(nq).setZero();
  if (has_quaternion(kind))
  {
    robot_.neutral.tail<4>() = Eigen::Quaterniond(pose.linear()).coeffs();
  }
  if (kind == JointKind::kFloating)
  {
    robot_.neutral.tail<7>().head<3>() = pose.translation();
  }
}

// A link called "world" is the world only where it is at rest at the world's origin.
void ModelBuilder::add_link_frame(
  const std::string & base, const std::string & link, const Place & place)
{
  if (link.empty())
  {
    return;
  }
  std::string name = link;
  if (name == "world")
  {
    if (place.joint < 0 && place.X.matrix() == Eigen::Matrix4d::Identity())
    {
      return;
    }
    name = base + "_world";
    robot_.warnings.push_back("link 'world' is not the world; its frame is called '" + name + "'");
  }
  robot_.links.push_back(name);
  frames_.push_back({name, name, place, true});
}

void ModelBuilder::add_body(const FreeBody & body)
{
  const std::string who = "body '" + body.name + "'";
  check_pose(who, body.pose);
  if (body.base == Base::kFixed)
  {
    throw_invalid(who, "its base is fixed; allowed are planar and floating");
  }
  TreeNode node;
  node.link = body.name;
  node.joint = body.name;
  node.kind = base_kind(body.base);
  node.placement = isometry(body.pose);
  node.mass = checked_mass(who, body.mass, body.com, body.inertia);
  const Place place = add_node(node, Place(), "free body");
  robot_.links.push_back(body.name);
  frames_.push_back({body.name, body.name, place, true});
}

// Attachments and frames may refer to each other in any order: repeat until no more can be placed.
void ModelBuilder::add_attachments_and_frames()
{
  std::vector<const Attachment *> attachments;
  std::vector<const FrameDescription *> frames;
  for (const Attachment & attachment : description_.attachments)
  {
    attachments.push_back(&attachment);
  }
  for (const FrameDescription & frame : description_.frames)
  {
    frames.push_back(&frame);
  }
  bool progress = true;
  while (progress)
  {
    const std::size_t left = attachments.size() + frames.size();
    attachments = pass(attachments, &ModelBuilder::add_attachment);
    frames = pass(frames, &ModelBuilder::add_frame);
    progress = attachments.size() + frames.size() < left;
  }
  if (!attachments.empty() || !frames.empty())
  {
    const std::string name = attachments.empty() ? frames[0]->name : attachments[0]->name;
    const std::string parent = attachments.empty() ? frames[0]->parent : attachments[0]->parent;
    try
    {
      frame(parent);
    }
    catch (const std::invalid_argument & error)
    {
      throw_invalid("parent of '" + name + "'", error.what());
    }
  }
}

/// Adds the items whose parents exist already; returns the others.
template <typename Thing>
std::vector<const Thing *> ModelBuilder::pass(
  const std::vector<const Thing *> & things, void (ModelBuilder::*add)(const Thing &))
{
  std::vector<const Thing *> left;
  for (const Thing * thing : things)
  {
    if (has_frame(thing->parent))
    {
      (this->*add)(*thing);
    }
    else
    {
      left.push_back(thing);
    }
  }
  return left;
}

void ModelBuilder::add_attachment(const Attachment & attachment)
{
  const std::string who = "attachment '" + attachment.name + "'";
  check_pose(who, attachment.pose);
  PlacedFrame placed = frame(attachment.parent);
  const MassProperties mass =
    checked_mass(who, attachment.mass, attachment.com, attachment.inertia);
  placed.place.X = placed.place.X * isometry(attachment.pose);
  if (placed.place.joint >= 0)
  {
    add_mass(masses_[static_cast<std::size_t>(placed.place.joint)], placed.place.X, mass);
  }
  frames_.push_back({attachment.name, placed.body, placed.place});
}

void ModelBuilder::add_frame(const FrameDescription & description)
{
  check_pose("frame '" + description.name + "'", description.pose);
  PlacedFrame placed = frame(description.parent);
  placed.place.X = placed.place.X * isometry(description.pose);
  frames_.push_back({description.name, placed.body, placed.place});
}

void ModelBuilder::check_bodies() const
{
  for (std::size_t i = 0; i < robot_.joints.size(); ++i)
  {
    // No mass can sit between two joints of the same MJCF body, and a given Model may chain joints
    // without bodies between them.
    const bool carries = !model_.children[i + 1].empty();
    const bool is_empty = masses_[i].mass == 0.0 && masses_[i].inertia.isZero(0.0);
    const bool is_inner = i < adopted_ ? carries && is_empty : robot_.joints[i].child_link.empty();
    if (!is_inner)
    {
      check_mass_properties(
        where_[i] + ": link '" + robot_.joints[i].child_link + "'", masses_[i], may_be_light_[i]);
    }
  }
}

// The joints of one MJCF body act between its parent and itself.
void ModelBuilder::name_inner_bodies()
{
  for (std::size_t i = robot_.joints.size(); i-- > 0;)
  {
    const pinocchio::JointIndex parent = model_.parents[i + 1];
    if (parent > 0)
    {
      std::string & link = robot_.joints[parent - 1].child_link;
      link = link.empty() ? robot_.joints[i].child_link : link;
    }
  }
}

void ModelBuilder::add_armature()
{
  std::vector<std::string> names;
  std::vector<int> speeds;
  for (std::size_t i = 0; i < robot_.joints.size(); ++i)
  {
    if (is_simple(robot_.joints[i].kind))
    {
      names.push_back(model_.names[i + 1]);
      speeds.push_back(model_.idx_vs[i + 1]);
    }
  }
  for (const auto & [name, value] : description_.armature)
  {
    const int k = index_of_name("joint with one degree of freedom", name, names);
    if (!(value >= 0.0) || !std::isfinite(value))
    {
      throw std::invalid_argument(
        "the armature of joint '" + name + "' is " + show(value) +
        "; finite values from 0 on are allowed");
    }
    model_.armature(speeds[static_cast<std::size_t>(k)]) += value;
  }
}

void ModelBuilder::finish()
{
  for (std::size_t i = 0; i < robot_.joints.size(); ++i)
  {
    const MassProperties & mass = masses_[i];
    model_.inertias[i + 1] = pinocchio::Inertia(mass.mass, mass.com, mass.inertia);
    for (std::size_t k = 0; k <= i; ++k)
    {
      if (model_.names[k] == model_.names[i + 1])
      {
        throw std::invalid_argument(
          where_[i] + ": joint '" + model_.names[i + 1] +
          "' exists already in the scene; names of robots, joints and bodies must differ");
      }
    }
  }
  for (PlacedFrame & frame : frames_)
  {
    if (frame.id < 0)
    {
      const pinocchio::Frame added(
        frame.name, static_cast<pinocchio::JointIndex>(frame.place.joint + 1), 0,
        to_pinocchio(frame.place.X), frame.is_link ? pinocchio::BODY : pinocchio::OP_FRAME);
      frame.id = static_cast<int>(model_.addFrame(added, false));
    }
    robot_.frames.push_back({frame.name, frame.body, static_cast<std::size_t>(frame.id)});
  }
  robot_.model = std::make_shared<const pinocchio::Model>(model_);
}

bool ModelBuilder::has_frame(const std::string & name) const
{
  return std::any_of(
    frames_.begin(), frames_.end(), [&](const PlacedFrame & f) { return f.name == name; });
}

const ModelBuilder::PlacedFrame & ModelBuilder::frame(const std::string & name) const
{
  std::vector<std::string> names;
  for (const PlacedFrame & frame : frames_)
  {
    if (frame.name == name)
    {
      return frame;
    }
    names.push_back(frame.name);
  }
  return frames_[static_cast<std::size_t>(index_of_name("frame", name, names))];
}

RobotModel build_model(const SceneDescription & description)
{
  return ModelBuilder(description).build();
}

}  // namespace constrained_dynamics
