// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <tinyxml2.h>
#include <Eigen/Geometry>

#include "model/included_files.hpp"
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

/// A model whose names are read. Those of nested models are behind the name of the model, "arm::".
struct Scope
{
  std::string prefix;
  std::string model = kModel;  ///< the frame that `__model__` stands for
  int minor = kOldest;         ///< version of its document
  std::string folder;          ///< of its file
  int depth = 1;               ///< in models
  int file_depth = 1;          ///< in files

  /// A name that a part of this model states, as the whole document knows it.
  std::string name(const std::string & stated) const;
};

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
  std::string name;
  const XMLElement * element = nullptr;
  std::string type;
  std::string parent;  ///< as stated; then the link that it is attached to, or "world"
  std::string child;   ///< as stated; then the link that it is attached to
  const Scope * scope = nullptr;
  TreeNode node;                   ///< without link and parent
  std::optional<TreeNode> second;  ///< of a joint of two axes, or of a screw: moves with `node`
  Eigen::Isometry3d X_JL = Eigen::Isometry3d::Identity();  ///< the child link in the joint frame
  double pitch = 0.0;                                      ///< of a screw: travel of one turn [m]
};

/// `theta2 = −ratio theta1` of two links about axes of a third one.
struct Gearbox
{
  const XMLElement * element = nullptr;
  std::string name;
  std::string parent;
  std::string child;
  const Scope * scope = nullptr;
};

/// The one model of an SDF document, with those that are nested in it or included.
class SdfReader
{
public:
  SdfReader(const std::string & who, const RobotDescription & robot, const SizeLimits & limits)
  : xml_(who), limits_(limits), robot_(robot), included_(xml_, robot)
  {
  }

  RobotTree read();

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
  void warn_of_names(const XMLElement & root);
  const XMLElement & the_model(const XMLElement & root);
  void read_world(const XMLElement & world);
  void count(const XMLElement & model, const char * what, int allowed);

  // Nested models.
  /// Reads the links, frames, joints and nested models of a model. @return its canonical link.
  std::string read_parts(const XMLElement & model, const Scope & scope);
  /// @param owner the `<model>`, or the `<include>`, that states name and pose.
  /// @param outer the model around it. @param scope the same with the document of `model`.
  void read_nested(
    const XMLElement & model, const XMLElement & owner, const Scope & outer, Scope scope);
  void read_include(const XMLElement & include, const Scope & outer);
  const Scope & keep(Scope scope);

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
  /// @return the canonical link; empty if the model has no links of its own.
  std::string read_links(const XMLElement & model, const Scope & scope);
  void read_link(const XMLElement & element, const Scope & scope);
  MassProperties read_inertial(const XMLElement & link, const std::string & where);
  void read_frame(const XMLElement & element, const Scope & scope);
  JointKind kind_of(const std::string & type, const std::string & where) const;
  std::string read_end(const XMLElement & joint, const char * end, const std::string & where) const;
  void read_joint(const XMLElement & element, const Scope & scope);
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
  void read_axes(SdfJoint & joint, const std::string & where, Entity & frame);
  /// @param name `axis` or `axis2`.
  void read_axis(
    const SdfJoint & joint, const char * name, const std::string & where, Entity & frame,
    TreeNode & node);
  /// A screw turns and slides; the slide mimics the turn.
  void add_screw(SdfJoint & joint, const std::string & where);
  /// The unit vector of an axis in the joint frame.
  Eigen::Vector3d read_direction(
    const XMLElement & axis, const std::string & where, Entity & frame, const Scope & scope);
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
  void read_mimic(
    const XMLElement & axis, const std::string & where, const Scope & scope, TreeNode & node);
  void check_mimics() const;

  // The tree.
  /// The link that no joint holds; none if joints hold the model to the world.
  std::optional<std::string> free_root(bool world_is_parent) const;
  /// Depth first; siblings in the order of their joints' names, as with URDF.
  void build_tree();
  /// The joints of the tree, by their parents. Breadth first: a link that is the child of several
  /// joints is held by the one with the fewest joints to the root; of several such, by that which
  /// the document states first. The others close loops.
  std::map<std::string, std::vector<const SdfJoint *>> choose_tree(
    const std::optional<std::string> & root);
  /// The nodes of a link and of the joint that holds it. @return the link's node.
  int add_link(const SdfJoint * joint, const std::string & link, int parent);
  void check_all_reached() const;
  void add_frames();

  // Loops.
  void close_loop(const SdfJoint & joint);
  /// Rows of the loop, or its type and keys.
  void state_type(const SdfJoint & joint, TreeConstraint & constraint);
  void warn_about_unused(const SdfJoint & joint);
  void add_gearbox(const Gearbox & gearbox);
  /// The angle from link `from` to link `to` about a direction in the model: a joint and its sign.
  std::pair<std::string, double> angle_between(
    const std::string & from, const std::string & to, const Eigen::Vector3d & direction,
    const std::string & where);

  XmlReader xml_;
  SizeLimits limits_;
  const RobotDescription & robot_;
  IncludedFiles included_;
  std::list<tinyxml2::XMLDocument> documents_;
  std::list<Scope> scopes_;
  std::map<std::string, int> counts_;
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
  std::vector<std::string> joint_order_;  ///< as the document states them
  std::vector<Gearbox> gearboxes_;
  std::vector<const SdfJoint *> cut_;  ///< joints that close loops
  std::set<std::string> held_;         ///< links that are the child of a joint
  std::vector<std::pair<const XMLElement *, const Scope *>> models_;
  std::map<std::string, int> node_of_link_;
  RobotTree tree_;
};

}  // namespace constrained_dynamics::sdf
