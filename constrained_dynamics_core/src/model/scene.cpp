// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "model/scene.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "model/robot_xml.hpp"
#include "model/xml_reader.hpp"
#include "names.hpp"

namespace constrained_dynamics
{
namespace
{

[[noreturn]] void fail(const std::string & who, const std::string & message)
{
  throw std::invalid_argument(who + ": " + message);
}

void check_pose(const std::string & who, const Pose & pose)
{
  if (!pose.xyz.allFinite() || !pose.rpy.allFinite())
  {
    fail(who, "its pose is not finite");
  }
}

MassProperties checked_mass(
  const std::string & who, double mass, const Eigen::Vector3d & com,
  const Eigen::Matrix3d & inertia)
{
  if (!(mass >= 0.0) || !std::isfinite(mass))
  {
    fail(who, "its mass is " + show(mass) + " kg; finite values from 0 on are allowed");
  }
  if (!com.allFinite() || !inertia.allFinite())
  {
    fail(who, "its centre of mass or inertia is not finite");
  }
  if (!((inertia - inertia.transpose()).norm() <= 1e-9 * inertia.norm()))
  {
    fail(who, "its inertia matrix is not symmetric");
  }
  return {mass, com, 0.5 * (inertia + inertia.transpose())};
}

JointKind base_kind(Base base)
{
  return base == Base::kFixed    ? JointKind::kFixed
         : base == Base::kPlanar ? JointKind::kPlanar
                                 : JointKind::kFloating;
}

/// Where a node is: on which joint of the scene, and how.
struct Place
{
  int joint = -1;
  Eigen::Isometry3d X = Eigen::Isometry3d::Identity();
  std::string link = "world";  ///< nearest link at or above the node
};

class Assembler
{
public:
  explicit Assembler(const SceneDescription & description) : description_(description)
  {
    scene_.frames.push_back({"world", "world", -1, Eigen::Isometry3d::Identity()});
  }

  Scene assemble()
  {
    if (description_.robots.empty() && description_.bodies.empty())
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
    if (scene_.links.size() > static_cast<std::size_t>(description_.size_limits.links))
    {
      fail(
        "the scene", "there are " + std::to_string(scene_.links.size()) + " links; at most " +
                       std::to_string(description_.size_limits.links) + " are allowed");
    }
    add_attachments_and_frames();
    for (const SceneJoint & joint : scene_.joints)
    {
      // Between two joints of the same MJCF body there is nothing that could have a mass.
      if (!joint.child_link.empty())
      {
        check_mass_properties(joint.where + ": link '" + joint.child_link + "'", joint.mass);
      }
    }
    name_inner_bodies();
    return std::move(scene_);
  }

private:
  void add_robot(const RobotDescription & robot)
  {
    const std::string who = describe(robot);
    check_pose(who, robot.pose);
    RobotTree tree = read_robot(robot, description_.size_limits);
    lock_joints(robot, who, tree);
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
      const Place & parent = node.parent < 0 ? root : places[static_cast<std::size_t>(node.parent)];
      places.push_back(add_node(node, parent, who));
      add_link_frame(base.joint, node.link, places.back());
    }
    for (const TreeFrame & frame : tree.frames)
    {
      const Place & place = frame.node < 0 ? root : places[static_cast<std::size_t>(frame.node)];
      scene_.frames.push_back(
        {robot.prefix + frame.name, place.link, place.joint, place.X * frame.placement});
    }
    for (const RigidBodySystem::Mimic & mimic : tree.mimics)
    {
      scene_.mimics.push_back(
        {robot.prefix + mimic.joint, robot.prefix + mimic.source, mimic.multiplier, mimic.offset});
    }
    for (const std::string & warning : tree.warnings)
    {
      scene_.warnings.push_back(who + ": " + warning);
    }
  }

  static void lock_joints(const RobotDescription & robot, const std::string & who, RobotTree & tree)
  {
    for (const auto & [name, value] : robot.locked)
    {
      TreeNode * found = nullptr;
      for (TreeNode & node : tree.nodes)
      {
        found = node.joint == name && node.kind != JointKind::kFixed ? &node : found;
      }
      if (found == nullptr || !is_simple(found->kind))
      {
        fail(who, "joint '" + name + "' is locked but is no joint of one degree of freedom");
      }
      if (!std::isfinite(value))
      {
        fail(who, "joint '" + name + "' is locked at " + show(value) + "; it must be finite");
      }
      found->placement = found->placement * simple_motion(found->kind, found->axis, value);
      found->kind = JointKind::kFixed;
    }
    std::vector<RigidBodySystem::Mimic> left;
    for (const RigidBodySystem::Mimic & mimic : tree.mimics)
    {
      if (robot.locked.count(mimic.joint) > 0)
      {
        continue;
      }
      if (robot.locked.count(mimic.source) > 0)
      {
        fail(
          who, "joint '" + mimic.joint + "' mimics the locked joint '" + mimic.source +
                 "'; lock it too");
      }
      left.push_back(mimic);
    }
    tree.mimics = left;
  }

  static void require_single_root(const std::string & who, const RobotTree & tree)
  {
    if (!tree.grounded.empty())
    {
      fail(who, tree.grounded + "; only a fixed base is allowed then");
    }
    int roots = 0;
    for (const TreeNode & node : tree.nodes)
    {
      roots += node.parent < 0 ? 1 : 0;
      if (node.parent < 0 && node.kind != JointKind::kFixed)
      {
        fail(
          who, "its root moves by joint '" + node.joint +
                 "' already; only a fixed base is allowed then");
      }
    }
    if (roots != 1)
    {
      fail(
        who, "it has " + std::to_string(roots) +
               " bodies in the world; a planar or floating base needs one");
    }
  }

  Place add_node(const TreeNode & node, const Place & parent, const std::string & who)
  {
    Place place;
    place.link = node.link.empty() ? parent.link : node.link;
    place.joint = parent.joint;
    place.X = parent.X * node.placement;
    if (node.kind != JointKind::kFixed)
    {
      SceneJoint joint;
      joint.name = node.joint;
      joint.kind = node.kind;
      joint.parent = parent.joint;
      joint.placement = place.X;
      joint.axis = node.axis;
      joint.neutral = node.neutral;
      joint.properties = node.properties;
      joint.parent_link = parent.link;
      joint.where = who;
      place.joint = static_cast<int>(scene_.joints.size());
      place.X = Eigen::Isometry3d::Identity();
      scene_.joints.push_back(joint);
    }
    if (place.joint >= 0)
    {
      SceneJoint & joint = scene_.joints[static_cast<std::size_t>(place.joint)];
      joint.child_link = joint.child_link.empty() ? node.link : joint.child_link;
      add_mass(joint.mass, place.X, node.mass);
    }
    return place;
  }

  /// A link called "world" is the world only where it is at rest at the world's origin.
  void add_link_frame(const std::string & base, const std::string & link, const Place & place)
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
      scene_.warnings.push_back(
        "link 'world' is not the world; its frame is called '" + name + "'");
    }
    scene_.links.push_back(name);
    scene_.frames.push_back({name, name, place.joint, place.X});
  }

  void add_body(const FreeBody & body)
  {
    const std::string who = "body '" + body.name + "'";
    check_pose(who, body.pose);
    if (body.base == Base::kFixed)
    {
      fail(who, "its base is fixed; allowed are planar and floating");
    }
    TreeNode node;
    node.link = body.name;
    node.joint = body.name;
    node.kind = base_kind(body.base);
    node.placement = isometry(body.pose);
    node.mass = checked_mass(who, body.mass, body.com, body.inertia);
    const Place place = add_node(node, Place(), "free body");
    scene_.links.push_back(body.name);
    scene_.frames.push_back({body.name, body.name, place.joint, place.X});
  }

  /// Attachments and frames may hang on each other in any order: pass over those that are left
  /// until none can be placed.
  void add_attachments_and_frames()
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
      attachments = pass(attachments, &Assembler::add_attachment);
      frames = pass(frames, &Assembler::add_frame);
      progress = attachments.size() + frames.size() < left;
    }
    if (!attachments.empty() || !frames.empty())
    {
      const std::string name = attachments.empty() ? frames[0]->name : attachments[0]->name;
      const std::string parent = attachments.empty() ? frames[0]->parent : attachments[0]->parent;
      try
      {
        scene_.frame(parent);
      }
      catch (const std::invalid_argument & error)
      {
        fail("parent of '" + name + "'", error.what());
      }
    }
  }

  /// Adds the things whose parents are there already; returns the others.
  template <typename Thing>
  std::vector<const Thing *> pass(
    const std::vector<const Thing *> & things, void (Assembler::*add)(const Thing &))
  {
    std::vector<const Thing *> left;
    for (const Thing * thing : things)
    {
      if (scene_.has_frame(thing->parent))
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

  void add_attachment(const Attachment & attachment)
  {
    const std::string who = "attachment '" + attachment.name + "'";
    check_pose(who, attachment.pose);
    const SceneFrame parent = scene_.frame(attachment.parent);
    const MassProperties mass =
      checked_mass(who, attachment.mass, attachment.com, attachment.inertia);
    const Eigen::Isometry3d X = parent.placement * isometry(attachment.pose);
    if (parent.joint >= 0)
    {
      add_mass(scene_.joints[static_cast<std::size_t>(parent.joint)].mass, X, mass);
    }
    scene_.frames.push_back({attachment.name, parent.body, parent.joint, X});
  }

  void add_frame(const FrameDescription & frame)
  {
    check_pose("frame '" + frame.name + "'", frame.pose);
    const SceneFrame parent = scene_.frame(frame.parent);
    scene_.frames.push_back(
      {frame.name, parent.body, parent.joint, parent.placement * isometry(frame.pose)});
  }

  /// The joints of one MJCF body act between its parent and itself.
  void name_inner_bodies()
  {
    for (std::size_t i = scene_.joints.size(); i-- > 0;)
    {
      const SceneJoint & joint = scene_.joints[i];
      if (joint.parent >= 0)
      {
        SceneJoint & parent = scene_.joints[static_cast<std::size_t>(joint.parent)];
        parent.child_link = parent.child_link.empty() ? joint.child_link : parent.child_link;
      }
    }
  }

  const SceneDescription & description_;
  Scene scene_;
};

}  // namespace

bool Scene::has_frame(const std::string & name) const
{
  return std::any_of(
    frames.begin(), frames.end(), [&](const SceneFrame & frame) { return frame.name == name; });
}

const SceneFrame & Scene::frame(const std::string & name) const
{
  std::vector<std::string> names;
  for (const SceneFrame & frame : frames)
  {
    if (frame.name == name)
    {
      return frame;
    }
    names.push_back(frame.name);
  }
  return frames[static_cast<std::size_t>(index_of_name("frame", name, names))];
}

Scene assemble_scene(const SceneDescription & description)
{
  return Assembler(description).assemble();
}

}  // namespace constrained_dynamics
