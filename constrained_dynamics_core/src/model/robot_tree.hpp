// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <limits>
#include <string>
#include <vector>

#include <Eigen/Core>
#include <Eigen/Geometry>

#include "constrained_dynamics/model/rigid_body_system.hpp"

namespace constrained_dynamics
{

/// Kinds of joints that a tree may have.
enum class JointKind
{
  kFixed,
  kRevolute,
  kPrismatic,
  kPlanar,
  kFloating,
  kBall,
};

/// Number of coordinates and speeds of a joint.
int coordinates_of(JointKind kind);
int speeds_of(JointKind kind);
inline bool is_simple(JointKind kind)
{
  return kind == JointKind::kRevolute || kind == JointKind::kPrismatic;
}

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

/// A link together with the joint that holds it: X_parent_link = placement · motion(q).
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

/// A robot as its description gives it, before merging; nodes in depth-first order.
struct RobotTree
{
  /// Where the description puts the whole robot; base and root nodes count from here.
  Eigen::Isometry3d placement = Eigen::Isometry3d::Identity();
  /// What holds the robot to the world whatever its base is, for messages; empty: nothing.
  std::string grounded;
  std::vector<TreeNode> nodes;
  std::vector<TreeFrame> frames;
  std::vector<RigidBodySystem::Mimic> mimics;
  std::vector<std::string> warnings;
};

/// Largest document that is read.
constexpr std::size_t kMaxDocumentBytes = 10u * 1024u * 1024u;

/// Rz(yaw) Ry(pitch) Rx(roll), then the translation.
Eigen::Isometry3d isometry(const Pose & pose);
/// Motion of a simple joint at a value.
Eigen::Isometry3d simple_motion(JointKind kind, const Eigen::Vector3d & axis, double value);

/// The mass and inertia of `b`, placed at X_ab, added to `a`.
void add_mass(MassProperties & a, const Eigen::Isometry3d & X_ab, const MassProperties & b);

/// @throw std::invalid_argument, starting with `who`, unless mass and inertia belong to a body that
/// can exist and move: mass > 0, principal moments ≥ 0, not all 0, none above the sum of the other
/// two. A slender rod (one principal moment 0) passes.
void check_mass_properties(const std::string & who, const MassProperties & mass);

}  // namespace constrained_dynamics
