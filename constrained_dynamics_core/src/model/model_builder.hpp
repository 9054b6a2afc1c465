// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <string>
#include <vector>

#include <Eigen/Geometry>

#include <pinocchio/multibody.hpp>

#include "model/robot_model.hpp"
#include "model/robot_tree.hpp"

namespace constrained_dynamics
{

/// Adds robots, bodies, attachments and frames to a pinocchio::Model. Masses are summed up here and
/// handed to the Model at the end, so that sums of links do not depend on Pinocchio's rounding.
class ModelBuilder
{
public:
  explicit ModelBuilder(const SceneDescription & description);

  /// Starts from a Model; nothing may have been added before.
  void adopt(const pinocchio::Model & model);
  /// Adds the scene, checks the bodies and hands the result out.
  RobotModel build();

private:
  /// Where a node is: on which joint, and how; joint −1 is the world.
  struct Place
  {
    int joint = -1;
    Eigen::Isometry3d X = Eigen::Isometry3d::Identity();
    std::string link = "world";  ///< nearest link at or above the node
  };

  /// A named frame: joint −1 is the world.
  struct PlacedFrame
  {
    std::string name;
    std::string body;
    Place place;
    bool is_link = false;
    int id = -1;  ///< in the Model; −1: still to be added
  };

  void add_robot(const RobotDescription & robot);
  void add_body(const FreeBody & body);
  Place add_node(const TreeNode & node, const Place & parent, const std::string & who);
  void add_joint(const TreeNode & node, const Place & place, const Place & parent);
  void add_link_frame(const std::string & base, const std::string & link, const Place & place);
  void add_attachments_and_frames();
  void add_attachment(const Attachment & attachment);
  void add_frame(const FrameDescription & frame);
  template <typename Thing>
  std::vector<const Thing *> pass(
    const std::vector<const Thing *> & things, void (ModelBuilder::*add)(const Thing &));
  void add_armature();
  void check_bodies() const;
  void name_inner_bodies();
  void finish();
  void append_neutral(JointKind kind, const Eigen::Isometry3d & pose);
  bool has_frame(const std::string & name) const;
  const PlacedFrame & frame(const std::string & name) const;

  void adopt_joint(pinocchio::JointIndex joint, JointKind kind);
  void adopt_frames();

  const SceneDescription & description_;
  pinocchio::Model model_;
  RobotModel robot_;
  std::vector<MassProperties> masses_;  // of the bodies of joints 1 …
  std::vector<std::string> where_;      // the robot of each joint, for messages
  std::vector<bool> may_be_light_;      // whether the body of each joint may have no mass
  std::vector<PlacedFrame> frames_;
  std::size_t adopted_ = 0;  // joints that came with a Model
};

}  // namespace constrained_dynamics
