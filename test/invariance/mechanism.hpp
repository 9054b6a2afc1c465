// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <map>
#include <string>
#include <vector>

#include <yaml-cpp/yaml.h>

#include <Eigen/Geometry>

#include "scenario_edit.hpp"

namespace invariance
{

struct Inertia
{
  double mass = 1.0;
  Eigen::Vector3d com = Eigen::Vector3d::Zero();
  Eigen::Matrix3d about_com = Eigen::Matrix3d::Identity();  ///< axes of the link
};

enum class Base
{
  kFixed,
  kPlanar,
  kFloating
};

/// A robot with its base; or a free body, which has no links besides its root.
struct Robot
{
  std::string name;
  bool is_body = false;
  Base base = Base::kFixed;
  Pose pose;                                           ///< its coordinates refer to this frame
  Eigen::Vector3d position = Eigen::Vector3d::Zero();  ///< of the base (planar: x, y, angle)
  Eigen::Quaterniond orientation = Eigen::Quaterniond::Identity();
  Inertia inertia;
  std::string root_name() const { return is_body ? name : name + "_root"; }
};

/// A link and the joint that moves it.
struct Link
{
  int robot = 0;
  int parent = -1;  ///< index of a link; −1: the robot's root
  std::string name;
  std::string joint;
  bool prismatic = false;
  Pose origin;
  Eigen::Vector3d axis = Eigen::Vector3d::UnitZ();
  Inertia inertia;
  double q = 0.0;
  double input = 0.0;
  double stiffness = 0.0, rest = 0.0, damping = 0.0;
};

struct Frame
{
  std::string name;
  int link = -1;  ///< −1: the world; −2 − r: the root of robot r
  Pose pose;
};

/// How a loop is closed: the data that do not change when it is written in other rows.
struct Closure
{
  enum class Kind
  {
    kPlanarHinge,
    kPlanarWeld,
    kHinge,
    kWeld
  };
  Kind kind = Kind::kHinge;
  std::string constraint;        ///< its name
  std::string frame_a, frame_b;  ///< the hinge turns about y of both
};

/// A system of trees with its state. All data are kept as they are written, so that the written
/// scenario and the kinematics here agree to rounding.
struct Mechanism
{
  Eigen::Vector3d gravity{0.0, 0.0, -9.81};
  std::vector<Robot> robots;
  std::vector<Link> links;  ///< parents first
  std::vector<Frame> frames;
  std::vector<Closure> closures;
  std::vector<OwnNode> constraints;
  /// Rows over the speeds of constraints that are formulas, by the constraint's name. Names, units
  /// and signs in formulas are not rewritten.
  std::map<std::string, Eigen::RowVectorXd> formula_rows;
  Eigen::VectorXd u;  ///< in the order of `speeds()`
  double characteristic_length = 1.0;

  std::vector<std::string> speeds() const;
  int speed_count() const;
  /// First of the speeds of a robot's base, and the speed of a link's joint.
  int base_speed(int robot) const;
  int joint_speed(int link) const;

  /// Pose in the world of the body that a frame's `link` names.
  Eigen::Isometry3d body_pose(int link) const;
  Eigen::Isometry3d frame_pose(const Frame & frame) const;
  std::string body_name(int link) const;

  /// Velocity (rows 0 to 2) and angular velocity (rows 3 to 5) of a point of a body, world axes.
  Eigen::Matrix<double, 6, Eigen::Dynamic> jacobian(int link, const Eigen::Vector3d & point) const;

  YAML::Node scenario() const;
};

/// The mechanism in a mirror: y of the world and of every link changes its sign.
Mechanism mirrored(const Mechanism & mechanism);

}  // namespace invariance
