// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "system.hpp"

namespace invariance
{

enum class JointType
{
  kRevolute,
  kPrismatic,
  kPlanar,
  kFloating,
};

/// A joint and the body that it moves, which has the joint's index.
struct Joint
{
  std::string name;
  JointType type = JointType::kRevolute;
  int parent = -1;  ///< joint whose body carries it; −1: the world
  Placement placement;
  RealTriple axis = unit3(0);
  int q = 0;
  int u = 0;
};

/// How a point of a body moves: v = Σ J_k u_k over the columns, ω likewise. Rates are those with
/// u̇ = 0, so that the rate of the velocity is the acceleration there. Sizes: every sum in absolute
/// values, so that they do not change if the world is rotated or shifted. A lever is the distance
/// from the joint to the point along the bodies between.
struct PointMotion
{
  MovingTriple position = still(zero3());
  MovingTriple velocity = still(zero3());
  MovingTriple omega = still(zero3());
  std::vector<int> columns;           ///< speeds that move it, root first
  std::vector<MovingTriple> linear;   ///< J_k of each of them
  std::vector<MovingTriple> angular;  ///< zero for slides
  Vector linear_size;
  Vector angular_size;
  Real velocity_size = 0;
  Real omega_size = 0;
  Real acceleration_size = 0;
  Real alpha_size = 0;
  Real reach = 0;  ///< way from the first joint that moves it [m]
};

struct FrameMotion : PointMotion
{
  MovingRotation rotation = still(identity3());
};

/// Robots and bodies, by geometry: a joint's axis and place in the world give its column of every
/// Jacobian; first derivatives in time give the forces required by the motion at u̇ = 0; Q and P
/// follow body by body from Newton's and Euler's equations.
class Robots : public System
{
public:
  Robots(const Document & document, const State & state);

  Variable variable(const std::string & name) const override;
  Terms terms() const override;
  bool add_rows(
    const YAML::Node & item, const std::string & name, const std::string & type,
    std::vector<Row> & rows) const override;
  bool is_angle(const std::string & coordinate) const override;
  std::vector<Coupling> couplings() const override { return couplings_; }

  FrameMotion frame(const std::string & name) const;
  const Vector & speed_values() const { return u_; }  ///< u

private:
  struct Attached
  {
    int joint = -1;
    Placement placement;
  };
  struct Mass
  {
    int joint;
    Real mass;
    RealTriple centre;  // in the body
    Rotation inertia;   // about the centre, axes of the body
  };
  struct Spring
  {
    int q;
    int u;
    Real stiffness;
    Real rest;
  };
  struct Column
  {
    bool angular = false;
    MovingTriple axis;
    MovingTriple origin;
    int joint = -1;
    Real way = 0;  // from the joint before it
  };
  struct BodyPose
  {
    MovingRotation rotation;
    MovingTriple position;
    std::vector<int> columns;
  };

  int add_joint(Joint joint);
  void add_robot(const YAML::Node & item, bool alone);
  void add_body(const YAML::Node & item);
  Rotation inertia_of(const YAML::Node & node) const;
  void place_waiting();
  const Joint & simple_joint(const std::string & name) const;
  void add_joint_terms(const YAML::Node & system);
  void choose_inputs(const YAML::Node & system);
  void move();
  PointMotion point(int joint, const RealTriple & offset) const;
  const Attached & attached(const std::string & frame) const;
  Variable coordinate(int index) const;
  void add_external(const YAML::Node & item, Terms & out) const;
  Row energy_row(const std::string & name, bool total, const Real & wanted) const;
  void add_centre_of_mass(
    const YAML::Node & item, const std::string & name, std::vector<Row> & rows) const;

  const Document & document_;
  Real time_ = 0;
  Vector q_;
  Vector u_;
  Vector tau_;
  RealTriple gravity_ = zero3();
  bool model_damping_ = true;
  bool model_friction_ = true;
  std::vector<Joint> joints_;
  std::vector<Mass> masses_;
  std::vector<Spring> springs_;
  Vector joint_damping_;
  Vector armature_;
  std::vector<int> actuated_;
  std::set<std::string> mimics_;
  std::vector<Coupling> couplings_;
  std::map<std::string, Attached> frames_;
  std::vector<std::pair<YAML::Node, bool>> waiting_;  // frames and (true) attachments
  std::vector<Column> columns_;
  std::vector<BodyPose> poses_;
};

}  // namespace invariance
