// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <string>
#include <vector>

#include "model/robot_tree.hpp"

namespace constrained_dynamics
{

/// A joint together with the rigid body that it moves: all links that are fixed to each other, in
/// the joint's frame.
struct SceneJoint
{
  std::string name;
  JointKind kind = JointKind::kRevolute;
  int parent = -1;  ///< index of a joint before this one; −1: the world
  Eigen::Isometry3d placement = Eigen::Isometry3d::Identity();  ///< in the parent joint's frame
  Eigen::Vector3d axis = Eigen::Vector3d::UnitZ();
  Eigen::Isometry3d neutral = Eigen::Isometry3d::Identity();
  JointProperties properties;
  MassProperties mass;
  std::string child_link;   ///< the link that the joint holds
  std::string parent_link;  ///< the link that the joint sits on; "world" if none
  std::string where;        ///< the robot, for messages
};

/// A named frame: joint −1 is the world.
struct SceneFrame
{
  std::string name;
  std::string body;
  int joint = -1;
  Eigen::Isometry3d placement = Eigen::Isometry3d::Identity();
};

/// A scene with fixed links merged: what the equations of motion need. Frame 0 is the world.
struct Scene
{
  std::vector<SceneJoint> joints;  ///< depth first
  std::vector<SceneFrame> frames;
  std::vector<std::string> links;
  std::vector<RigidBodySystem::Mimic> mimics;
  std::vector<std::string> warnings;

  bool has_frame(const std::string & name) const;
  /// @throw std::invalid_argument naming the unknown frame and those that exist.
  const SceneFrame & frame(const std::string & name) const;
};

/// Reads, places, locks, merges and checks everything of a description that is a body or a frame.
/// @throw std::invalid_argument naming the thing, the value and what is allowed.
Scene assemble_scene(const SceneDescription & description);

}  // namespace constrained_dynamics
