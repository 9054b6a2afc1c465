// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <string>
#include <vector>

#include <Eigen/Geometry>

#include "workload.hpp"

namespace constrained_dynamics::bench
{

/// A moving body and the joint that carries it; links that are fixed to it are merged into it.
struct TreeBody
{
  enum class Joint
  {
    kRevolute,
    kPrismatic,
    kFloating,
    kOther,
  };
  std::string joint_name;
  Joint joint = Joint::kOther;
  Eigen::Vector3d axis = Eigen::Vector3d::Zero();  ///< of a revolute or prismatic joint
  int parent = -1;                                 ///< index of a body, −1: the world
  Eigen::Isometry3d placement = Eigen::Isometry3d::Identity();  ///< in the parent, joint at 0
  double mass = 0.0;
  Eigen::Vector3d com = Eigen::Vector3d::Zero();
  Eigen::Matrix3d inertia = Eigen::Matrix3d::Zero();  ///< about com
};

/// A place in the frame of the body that carries it.
struct TreePlace
{
  int body = -1;  ///< −1: the world
  Eigen::Isometry3d placement = Eigen::Isometry3d::Identity();
};

/// The robot of a workload in numbers, for peers that are fed body by body. Parents come first.
struct BodyTree
{
  explicit BodyTree(const Workload & workload);

  std::vector<TreeBody> bodies;
  struct TreeClosure
  {
    bool is_weld;  ///< otherwise a point
    TreePlace a;
    TreePlace b;
  };
  std::vector<TreeClosure> closures;  ///< twice where the workload is redundant

  /// Whether all joints are revolute, prismatic or a floating base.
  bool is_simple() const;
};

/// State of the floating base: pose, velocity of its origin and angular velocity in world axes.
struct BaseMotion
{
  BaseMotion(const Workload & workload, const TreeBody & body);

  /// Speeds' derivatives of the workload's system from the accelerations in world axes.
  void set_acceleration(
    const Eigen::Vector3d & linear, const Eigen::Vector3d & angular, Eigen::VectorXd & out) const;

  Eigen::Isometry3d pose;
  Eigen::Vector3d velocity;
  Eigen::Vector3d angular_velocity;

private:
  int first_speed_;
};

}  // namespace constrained_dynamics::bench
