// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <tinyxml2.h>
#include <Eigen/Geometry>

#include "model/robot_xml.hpp"
#include "model/xml_reader.hpp"

namespace constrained_dynamics::sdf
{

using tinyxml2::XMLElement;

/// The oldest version of the format, 1.kOldest, and the one that brought frames and `relative_to`.
constexpr int kOldest = 4;
constexpr int kFrameSemantics = 7;

/// How a document calls the model itself.
inline const std::string kModel = "__model__";

/// A pose as the document states it: in a frame of that name; empty: the default of its owner.
struct StatedPose
{
  Eigen::Isometry3d X = Eigen::Isometry3d::Identity();
  std::string relative_to;
};

/// A link, joint or frame: whatever has a name and a pose in the model.
struct Entity
{
  std::string label;  ///< "link 'arm'", for messages
  std::string name;
  std::string reference;                                ///< its pose is in this frame
  Eigen::Isometry3d X = Eigen::Isometry3d::Identity();  ///< in the reference
  std::string attached;  ///< moves with this one; empty: it is a link
  bool visited = false;
  bool resolved = false;
  Eigen::Isometry3d X_M = Eigen::Isometry3d::Identity();  ///< in the model, all joints at 0
};

struct SdfJoint
{
  const XMLElement * element = nullptr;
  std::string type;
  std::string parent;  ///< as stated; then the link that it is attached to, or "world"
  std::string child;   ///< as stated; then the link that it is attached to
  TreeNode node;       ///< without link and parent
  Eigen::Isometry3d X_JL = Eigen::Isometry3d::Identity();  ///< the child link in the joint frame
};

/// The one model of an SDF document.
class SdfReader
{
public:
  SdfReader(const std::string & who, const SizeLimits & limits) : xml_(who), limits_(limits) {}

  RobotTree read(const std::string & text);

private:
  template <typename Function>
  static void for_each(const XMLElement & parent, const char * name, Function function)
  {
    for (const XMLElement * e = parent.FirstChildElement(name); e; e = e->NextSiblingElement(name))
    {
      function(*e);
    }
  }

  // The document.
  static std::string list(const std::vector<std::string> & names);
  void read_version(const XMLElement & root);
  const XMLElement & the_model(const XMLElement & root);
  void read_world(const XMLElement & world);
  void refuse_parts(const XMLElement & model) const;
  void count(const XMLElement & model, const char * what, int allowed) const;

  // Values.
  Eigen::Vector3d vector3(const XMLElement & element, const std::string & where) const;
  double number(
    const XMLElement & parent, const char * name, const std::string & where, double fallback) const;
  bool truth(const std::string & value, const std::string & what) const;
  bool truth_of_child(
    const XMLElement & parent, const char * name, const std::string & where, bool fallback) const;
  Eigen::Matrix3d quaternion(const std::vector<double> & x, const std::string & where) const;
  StatedPose read_pose(const XMLElement & owner, const std::string & where) const;

  // Links, frames and joints.
  /// Checks and remembers a name. From 1.7 on, all parts of a model share their names.
  void add_entity(std::map<std::string, std::size_t> & kind, Entity entity);
  void read_links(const XMLElement & model);
  void read_link(const XMLElement & element);
  MassProperties read_inertial(const XMLElement & link, const std::string & where);
  void read_frame(const XMLElement & element);
  JointKind kind_of(const std::string & type, const std::string & where) const;
  std::string read_end(const XMLElement & joint, const char * end, const std::string & where) const;
  void read_joint(const XMLElement & element);
  void read_model(const XMLElement & model);

  // Where things are.
  /// The link, frame or joint of that name. Before 1.7 they may share a name: links come first.
  Entity & find_entity(const std::string & name, const std::string & where);
  /// The pose of a named thing in the model at zero joint positions. Chains of references may be as
  /// long as the document: no recursion.
  Eigen::Isometry3d pose_in_model(const std::string & name, const std::string & where);
  Eigen::Isometry3d pose_in_model(Entity & first);
  /// `b` in `a` at zero joint positions; without rounding where the document states it directly.
  Eigen::Isometry3d relative_pose(Entity & a, Entity & b);
  /// Finite numbers may overflow when poses are multiplied.
  Eigen::Isometry3d finite(const Eigen::Isometry3d & X, const std::string & where) const;
  Entity & entity_or(const std::string & name, Entity & fallback);
  /// The link that a named thing moves with.
  std::string link_of(const std::string & name, const std::string & where);
  Entity & link_entity(const std::string & name) { return entities_[links_.at(name)]; }

  // Joints, once the poses are known.
  void resolve_joint(SdfJoint & joint);
  void read_axis(
    const XMLElement & element, const std::string & where, const std::string & type, Entity & frame,
    TreeNode & node);
  /// The unit vector of an axis in the joint frame.
  Eigen::Vector3d read_direction(
    const XMLElement & axis, const std::string & where, Entity & frame);
  /// A limit: infinite as a word, by its size, or where it is not stated.
  double read_limit(
    const XMLElement & limit, const char * name, const std::string & where, double fallback) const;
  void read_limits(
    const XMLElement & axis, const std::string & where, const std::string & type,
    RigidBodySystem::Limits & limits) const;
  /// @return whether anything but 0 is stated.
  bool read_dynamics(
    const XMLElement & axis, const std::string & where, JointProperties & properties);
  /// q = multiplier · (source − reference) + offset
  void read_mimic(const XMLElement & axis, const std::string & where, TreeNode & node);
  void check_mimics() const;

  // The tree.
  /// The link that no joint holds; none if joints hold the model to the world.
  std::optional<std::string> free_root(bool world_is_parent) const;
  /// Depth first; siblings in the order of their joints' names, as with URDF.
  void build_tree();
  /// The nodes of a link and of the joint that holds it. @return the link's node.
  int add_link(const SdfJoint * joint, const std::string & link, int parent);
  void check_all_reached() const;
  void add_frames();

  XmlReader xml_;
  SizeLimits limits_;
  int minor_ = kOldest;
  bool static_ = false;
  std::string canonical_;
  std::vector<Entity> entities_;
  std::map<std::string, std::size_t> links_;
  std::map<std::string, std::size_t> frames_;
  std::map<std::string, std::size_t> joint_entities_;
  std::vector<std::string> frame_order_;
  std::map<std::string, MassProperties> masses_;
  std::map<std::string, SdfJoint> joints_;
  std::map<std::string, std::string> holders_;  ///< child link → joint
  std::map<std::string, int> node_of_link_;
  RobotTree tree_;
};

}  // namespace constrained_dynamics::sdf
