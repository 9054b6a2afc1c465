// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <tinyxml2.h>
#include <Eigen/Geometry>

#include "constants.hpp"
#include "model/robot_xml.hpp"
#include "model/xml_reader.hpp"

namespace constrained_dynamics::mjcf
{

using tinyxml2::XMLElement;

/// What `<compiler>` says.
struct Compiler
{
  double angle = kPi / 180.0;  ///< unit of angles [rad]
  std::string euler = "xyz";
  bool autolimits = true;
  std::string inertia_from_geom = "auto";
  double bound_mass = 0.0;
  double bound_inertia = 0.0;
  double group_low = 0.0;
  double group_high = 5.0;
};

/// A class of `<default>` with the class that it refines. The outermost may be stated several
/// times; what is stated last holds.
struct DefaultClass
{
  std::vector<const XMLElement *> elements;
  std::string parent;
};

inline Eigen::Isometry3d translation(const Eigen::Vector3d & p)
{
  Eigen::Isometry3d X = Eigen::Isometry3d::Identity();
  X.translation() = p;
  return X;
}

inline bool is_one_of(const std::string & text, const std::set<std::string> & words)
{
  return words.count(text) > 0;
}

/// Reads the kinematic tree of one MJCF document: bodies, joints, inertia (given, or of geometric
/// primitives), sites and equalities.
class MjcfReader
{
public:
  MjcfReader(const std::string & who, const RobotDescription & robot, const SizeLimits & limits)
  : xml_(who), limits_(limits), robot_(robot)
  {
  }

  RobotTree read();

private:
  /// A body or joint inside of `<frame>`s, with their pose and class.
  struct Placed
  {
    const XMLElement * element;
    Eigen::Isometry3d X;
    std::string childclass;
  };
  struct Site
  {
    std::string name;
    Eigen::Isometry3d X;
  };
  /// What a body element holds, `<frame>`s resolved.
  struct Body
  {
    std::string name = "world";
    std::vector<Placed> joints;
    std::vector<Site> sites;
    std::vector<Placed> children;
    MassProperties geom_mass;
    std::string geom_without_mass;  ///< a geom whose mass would need a mesh
    const XMLElement * inertial = nullptr;
    Eigen::Isometry3d inertial_X = Eigen::Isometry3d::Identity();
  };

  // The document and its classes.
  void read_section(const XMLElement & e);
  void read_option(const XMLElement & e);
  void read_compiler(const XMLElement & e);
  void read_default(const XMLElement & e, const std::string & parent, int depth);
  /// The element that gives `attribute` to `e`: itself or the default of its class; `e` if none
  /// does. @param kind how `<default>` calls such elements; null: as the element is called.
  const XMLElement & giver(
    const XMLElement & e, const char * attribute, const std::string & childclass,
    const char * kind = nullptr) const;

  // Poses.
  Eigen::Matrix3d read_rotation(
    const XMLElement & e, const std::string & where, const std::string & childclass) const;
  Eigen::Matrix3d rotation_of(
    const std::string & kind, const std::vector<double> & x, const std::string & where) const;
  Eigen::Isometry3d read_pose(
    const XMLElement & e, const std::string & where, const std::string & childclass) const;

  // Bodies.
  /// Reads everything inside a body, `<frame>` or `<worldbody>` but does not enter bodies.
  void read_contents(
    const XMLElement & parent, const Eigen::Isometry3d & X, const std::string & childclass,
    Body & body);
  void add_sites(const Body & body, int node);
  void read_body(
    const XMLElement & e, int parent, const Eigen::Isometry3d & X_frame,
    const std::string & outer_class, int depth);

  // Joints.
  /// Puts a node for joint i of `body` between `node` and its parent.
  void add_joint(const Body & body, std::size_t i, TreeNode & node);
  void read_joint_properties(
    const XMLElement & e, const std::string & childclass, const std::string & where,
    TreeNode & joint);
  void read_range(
    const XMLElement & e, const std::string & childclass, const std::string & where, double unit,
    RigidBodySystem::Limits & limits) const;

  // Mass and inertia.
  MassProperties read_mass(const Body & body) const;
  MassProperties read_inertial(const Body & body, const std::string & where) const;
  void read_geom(
    const XMLElement & e, const Eigen::Isometry3d & X, const std::string & childclass,
    Body & body) const;
  /// Half sizes; for sphere, capsule and cylinder radius and half length.
  Eigen::Vector3d read_size(
    const XMLElement & e, const std::string & childclass, const std::string & where,
    const std::string & type, const Eigen::Isometry3d & X, Eigen::Isometry3d & X_geom) const;
  static MassProperties unit_density_shape(const std::string & type, const Eigen::Vector3d & s);

  // Constraints.
  /// A place on a body: a node of the tree, −1: the world.
  struct Place
  {
    int node = -1;
    Eigen::Isometry3d X = Eigen::Isometry3d::Identity();
  };
  void read_equality(const XMLElement & section);
  /// @return false if the kind of equality is not supported.
  bool read_constraint(const XMLElement & e, TreeConstraint & constraint);
  void read_connect(const XMLElement & e, TreeConstraint & constraint);
  void read_weld(const XMLElement & e, TreeConstraint & constraint);
  /// Whether the two sites are given instead of bodies; then they are the frames.
  bool read_sites(const XMLElement & e, TreeConstraint & constraint) const;
  /// The nodes of body1 and body2; −1: the world.
  std::pair<int, int> read_bodies(const XMLElement & e, const std::string & where) const;
  /// The pose of node 2 in node 1, as the document draws them.
  Eigen::Isometry3d drawn_relative(int node1, int node2) const;
  /// Adds the two frames of a constraint, and states them.
  void add_ends(const Place & a, const Place & b, TreeConstraint & constraint);
  /// terms − their value in the drawing = polynomial of (of − its value in the drawing).
  void read_polynomial(const XMLElement & e, TreeConstraint & constraint) const;
  void read_joints(const XMLElement & e, TreeConstraint & constraint) const;
  void read_tendons(const XMLElement & e, TreeConstraint & constraint) const;
  NamedNumbers read_fixed_tendon(const std::string & name, const std::string & where) const;
  void check_joint(const std::string & name, const std::string & where) const;
  /// A linear equality of two joints is a mimic.
  bool add_mimic(const TreeConstraint & constraint, bool has_name);

  XmlReader xml_;
  SizeLimits limits_;
  const RobotDescription & robot_;
  Compiler compiler_;
  std::map<std::string, DefaultClass> defaults_;
  std::set<std::string> body_names_;
  std::set<std::string> joint_names_;
  std::map<std::string, double> references_;  ///< simple joints → their coordinate in the drawing
  std::map<std::string, int> body_nodes_;
  std::set<std::string> site_names_;
  std::vector<const XMLElement *> tendons_;     ///< sections
  std::vector<Eigen::Isometry3d> drawn_poses_;  ///< of the nodes
  std::map<std::string, int> equality_counts_;  ///< by kind
  std::set<std::string> equality_names_;
  int body_count_ = 0;
  RobotTree tree_;
};

}  // namespace constrained_dynamics::mjcf
