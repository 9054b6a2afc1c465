// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <Eigen/Core>
#include <Eigen/Geometry>

#include "constrained_dynamics/model/rigid_body_system.hpp"
#include "model/joint_kind.hpp"

namespace constrained_dynamics
{

/// Mass, centre of mass and inertia about it, in the frame of a link.
struct MassProperties
{
  double mass = 0.0;
  Eigen::Vector3d com = Eigen::Vector3d::Zero();
  Eigen::Matrix3d inertia = Eigen::Matrix3d::Zero();
};

/// What a description says about a joint besides its geometry.
struct JointProperties
{
  RigidBodySystem::Limits limits;
  double damping = 0.0;
  double friction = 0.0;  ///< dry
  double armature = 0.0;
  double stiffness = 0.0;
  double rest = 0.0;
  bool mimics = false;
};

/// A link and the joint that connects it to its parent: X_parent_link = placement · motion(q).
struct TreeNode
{
  std::string link;  ///< empty for an inner node between two joints of the same body
  int parent = -1;   ///< index of a node with a smaller index; −1: the world
  JointKind kind = JointKind::kFixed;
  std::string joint;  ///< empty if kFixed
  Eigen::Isometry3d placement = Eigen::Isometry3d::Identity();
  Eigen::Vector3d axis = Eigen::Vector3d::UnitZ();  ///< unit, in the joint frame
  /// Pose of a floating joint in the description (its neutral coordinates).
  Eigen::Isometry3d neutral = Eigen::Isometry3d::Identity();
  /// Coordinate of a simple joint in the description.
  double reference = 0.0;
  JointProperties properties;
  MassProperties mass;
};

/// A massless frame on a node.
struct TreeFrame
{
  std::string name;
  int node = -1;
  Eigen::Isometry3d placement = Eigen::Isometry3d::Identity();
};

/// A constraint that a description states. If it has frames of the tree, they coincide in `rows`,
/// or, if it has a type, its keys say more; otherwise Σ terms = Σ_k polynomial[k] (Σ of)^k over
/// joints of the tree.
struct TreeConstraint
{
  std::string name;
  std::string source;  ///< the element, for messages
  bool active = true;
  std::string frame_a;
  std::string frame_b;
  std::vector<std::string> rows;
  std::string type;  ///< of two frames, e.g. "universal"; empty: frame_coincidence
  std::vector<std::pair<std::string, KeyValue>> keys;  ///< of that type, besides the frames
  NamedNumbers terms;
  NamedNumbers of;
  std::vector<double> polynomial;  ///< at most kPolynomialSize coefficients
};

/// Coefficients of the largest polynomial that a coupling may have.
constexpr std::size_t kPolynomialSize = 5;

/// A robot as described, before links are merged; nodes in depth-first order.
struct RobotTree
{
  /// Where the description puts the whole robot; base and root nodes count from here.
  Eigen::Isometry3d placement = Eigen::Isometry3d::Identity();
  /// What fixes the robot to the world regardless of its base, for messages; empty: nothing.
  std::string grounded;
  std::vector<TreeNode> nodes;
  std::vector<TreeFrame> frames;
  std::vector<RigidBodySystem::Mimic> mimics;
  std::vector<TreeConstraint> constraints;
  std::vector<std::string> warnings;
};

/// A joint whose child link has not been added to the tree yet; null: the root link.
template <typename Joint>
struct OpenJoint
{
  const Joint * joint = nullptr;
  int parent = -1;  ///< node
  int depth = 1;    ///< in links from the root
};

/// Visits links depth first. `children` gives the joints on a link in their order; `add` adds the
/// link of an OpenJoint and returns its name and node.
template <typename Joint, typename Add>
void visit_depth_first(
  std::vector<OpenJoint<Joint>> open,
  const std::map<std::string, std::vector<const Joint *>> & children, Add && add)
{
  std::reverse(open.begin(), open.end());
  while (!open.empty())
  {
    const OpenJoint<Joint> next = open.back();
    open.pop_back();
    const std::pair<std::string, int> added = add(next);
    const auto below = children.find(added.first);
    if (below == children.end())
    {
      continue;
    }
    for (auto joint = below->second.rbegin(); joint != below->second.rend(); ++joint)
    {
      open.push_back({*joint, added.second, next.depth + 1});
    }
  }
}

/// Largest document that is read.
constexpr std::size_t kMaxDocumentBytes = std::size_t{10} * 1024 * 1024;

/// Rz(yaw) Ry(pitch) Rx(roll), then the translation.
Eigen::Isometry3d isometry(const Pose & pose);
/// Motion of a simple joint at a value.
Eigen::Isometry3d simple_motion(JointKind kind, const Eigen::Vector3d & axis, double value);

/// Axes whose z is the given unit vector; the vector itself where it is an axis already, so that
/// nothing is rounded there.
Eigen::Matrix3d axes_with_z(const Eigen::Vector3d & z);

/// The mass and inertia of `b`, placed at X_ab, added to `a`.
void add_mass(MassProperties & a, const Eigen::Isometry3d & X_ab, const MassProperties & b);

/// @throw std::invalid_argument, starting with `who`, unless mass and inertia belong to a body that
/// can exist and move: mass > 0, principal moments ≥ 0, not all 0, none above the sum of the other
/// two. A slender rod (one principal moment 0) passes. @param may_be_light mass and all moments may
/// be 0.
void check_mass_properties(const std::string & who, const MassProperties & mass, bool may_be_light);

/// Mass properties of an attachment or a free body as given by a caller.
/// @throw std::invalid_argument, starting with `who`, unless finite, symmetric and not negative.
MassProperties checked_mass(
  const std::string & who, double mass, const Eigen::Vector3d & com,
  const Eigen::Matrix3d & inertia);

/// Fixes the joints that `robot` locks, and drops their mimics and couplings.
/// @throw std::invalid_argument, starting with `who`, naming the joint that cannot be locked.
void lock_joints(const RobotDescription & robot, const std::string & who, RobotTree & tree);

/// Replaces the joints that `robot` replaces.
/// @throw std::invalid_argument, starting with `who`, naming the joint that cannot be replaced.
void replace_joints(const RobotDescription & robot, const std::string & who, RobotTree & tree);

/// Pose of each node in the frame that the roots count from, with all joints as the description
/// draws them.
std::vector<Eigen::Isometry3d> drawn_poses(const RobotTree & tree);

/// The constraint as a type with keys, for a robot with this prefix.
/// @throw std::invalid_argument, starting with `who`, if it couples nothing.
FileConstraint file_constraint(
  const std::string & who, const std::string & prefix, const TreeConstraint & constraint);

/// @throw std::invalid_argument, starting with `who`, unless one body alone, fixed in the
/// description, can be put on a planar or floating base.
void require_single_root(const std::string & who, const RobotTree & tree);

}  // namespace constrained_dynamics
