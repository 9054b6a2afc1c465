// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "model/robot_tree.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <stdexcept>

#include <Eigen/Eigenvalues>

#include "checked_values.hpp"
#include "model/xml_reader.hpp"

namespace constrained_dynamics
{
namespace
{

/// Drops couplings whose joints are all locked; refuses those of which some are.
void drop_locked_couplings(
  const RobotDescription & robot, const std::string & who, RobotTree & tree)
{
  std::vector<TreeConstraint> left;
  for (TreeConstraint & constraint : tree.constraints)
  {
    NamedNumbers joints = constraint.terms;
    joints.insert(joints.end(), constraint.of.begin(), constraint.of.end());
    const auto locked = [&](const auto & term) { return robot.locked.count(term.first) > 0; };
    const auto first = std::find_if(joints.begin(), joints.end(), locked);
    if (first == joints.end())
    {
      left.push_back(std::move(constraint));
    }
    else if (!std::all_of(joints.begin(), joints.end(), locked))
    {
      throw_invalid(
        who, constraint.source + " couples the locked joint '" + first->first +
               "' with others; lock them too");
    }
  }
  tree.constraints = std::move(left);
}

/// Turns the joint of a node into two about axes of its frame, e.g. "xy".
void make_universal(const std::string & name, const std::string & axes, int index, RobotTree & tree)
{
  const auto axis = [&](std::size_t k)
  { return Eigen::Vector3d(Eigen::Vector3d::Unit(axes.at(k) - 'x')); };
  const auto coordinate = [&](std::size_t k)
  { return name + "_" + static_cast<char>(axes.at(k) - 'x' + 'X'); };
  TreeNode first = tree.nodes[static_cast<std::size_t>(index)];
  first.link.clear();
  first.mass = MassProperties();
  first.kind = JointKind::kRevolute;
  first.joint = coordinate(0);
  first.axis = axis(0);
  for (TreeNode & node : tree.nodes)
  {
    node.parent += node.parent >= index ? 1 : 0;
  }
  for (TreeFrame & frame : tree.frames)
  {
    frame.node += frame.node >= index ? 1 : 0;
  }
  tree.nodes.insert(tree.nodes.begin() + index, std::move(first));
  TreeNode & second = tree.nodes[static_cast<std::size_t>(index) + 1];
  second.parent = index;
  second.placement.setIdentity();
  second.kind = JointKind::kRevolute;
  second.joint = coordinate(1);
  second.axis = axis(1);
}

}  // namespace

Eigen::Isometry3d isometry(const Pose & pose)
{
  Eigen::Isometry3d X = Eigen::Isometry3d::Identity();
  X.linear() = (Eigen::AngleAxisd(pose.rpy.z(), Eigen::Vector3d::UnitZ()) *
                Eigen::AngleAxisd(pose.rpy.y(), Eigen::Vector3d::UnitY()) *
                Eigen::AngleAxisd(pose.rpy.x(), Eigen::Vector3d::UnitX()))
                 .toRotationMatrix();
  X.translation() = pose.xyz;
  return X;
}

Eigen::Isometry3d simple_motion(JointKind kind, const Eigen::Vector3d & axis, double value)
{
  Eigen::Isometry3d X = Eigen::Isometry3d::Identity();
  if (kind == JointKind::kRevolute)
  {
    X.linear() = Eigen::AngleAxisd(value, axis).toRotationMatrix();
  }
  else if (kind == JointKind::kPrismatic)
  {
    X.translation() = value * axis;
  }
  return X;
}

Eigen::Matrix3d axes_with_z(const Eigen::Vector3d & z)
{
  Eigen::Matrix3d R;
  for (int k = 0; k < 3; ++k)
  {
    if (z == Eigen::Vector3d::Unit(k))
    {
      R << Eigen::Vector3d::Unit((k + 1) % 3), Eigen::Vector3d::Unit((k + 2) % 3), z;
      return R;
    }
  }
  const Eigen::Vector3d x = z.unitOrthogonal();
  R << x, z.cross(x), z;
  return R;
}

void add_mass(MassProperties & a, const Eigen::Isometry3d & X_ab, const MassProperties & b)
{
  const Eigen::Matrix3d R = X_ab.linear();
  const Eigen::Matrix3d inertia_b = R * b.inertia * R.transpose();
  const double mass = a.mass + b.mass;
  if (!(mass > 0.0))
  {
    a.inertia += inertia_b;
    return;
  }
  // Parallel-axis theorem with the reduced mass of the two: no difference of large numbers.
  const Eigen::Vector3d com_b = X_ab * b.com;
  const Eigen::Vector3d d = com_b - a.com;
  const double reduced = a.mass * (b.mass / mass);
  a.inertia +=
    inertia_b + reduced * (d.squaredNorm() * Eigen::Matrix3d::Identity() - d * d.transpose());
  a.com += (b.mass / mass) * d;
  a.mass = mass;
}

void check_mass_properties(const std::string & who, const MassProperties & mass, bool may_be_light)
{
  const char * const hint = ", unless light links are allowed (light_links: allow)";
  const bool enough = may_be_light ? mass.mass >= 0.0 : mass.mass > 0.0;
  if (!enough || !std::isfinite(mass.mass))
  {
    std::ostringstream text;
    text << who << ": its mass is " << mass.mass
         << " kg (with everything that is fixed to it); a moving body needs a finite mass "
         << (may_be_light ? "from 0 on" : "above 0") << (mass.mass == 0.0 ? hint : "");
    throw std::invalid_argument(text.str());
  }
  if (!mass.inertia.allFinite() || !mass.com.allFinite())
  {
    throw std::invalid_argument(who + ": its centre of mass or inertia is not finite");
  }
  const Eigen::SelfAdjointEigenSolver<Eigen::Matrix3d> solver(mass.inertia, Eigen::EigenvaluesOnly);
  const Eigen::Vector3d & moments = solver.eigenvalues();  // ascending
  // Descriptions have about six digits, so thin plates and rods violate the bounds by that much.
  const double slack = 1e-6 * moments(2);
  std::ostringstream text;
  text << who << ": the principal moments of its inertia about its centre of mass are "
       << moments(0) << ", " << moments(1) << ", " << moments(2)
       << " kg m² (with everything that is fixed to it); ";
  if (!(moments(2) > 0.0) && !(may_be_light && moments.isZero(0.0)))
  {
    throw std::invalid_argument(
      text.str() + "a moving body needs a largest one above 0" + (moments.isZero(0.0) ? hint : ""));
  }
  if (!(moments(0) >= -slack))
  {
    throw std::invalid_argument(text.str() + "none may be negative");
  }
  if (!(moments(2) <= moments(0) + moments(1) + slack))
  {
    throw std::invalid_argument(text.str() + "none may exceed the sum of the other two");
  }
}

MassProperties checked_mass(
  const std::string & who, double mass, const Eigen::Vector3d & com,
  const Eigen::Matrix3d & inertia)
{
  if (!(mass >= 0.0) || !std::isfinite(mass))
  {
    throw_invalid(who, "its mass is " + show(mass) + " kg; finite values from 0 on are allowed");
  }
  if (!com.allFinite() || !inertia.allFinite())
  {
    throw_invalid(who, "its centre of mass or inertia is not finite");
  }
  if (!((inertia - inertia.transpose()).norm() <= 1e-9 * inertia.norm()))
  {
    throw_invalid(who, "its inertia matrix is not symmetric");
  }
  return {mass, com, 0.5 * (inertia + inertia.transpose())};
}

void lock_joints(const RobotDescription & robot, const std::string & who, RobotTree & tree)
{
  for (const auto & [name, value] : robot.locked)
  {
    TreeNode * found = nullptr;
    for (TreeNode & node : tree.nodes)
    {
      found = node.joint == name && node.kind != JointKind::kFixed ? &node : found;
    }
    if (found == nullptr || !is_simple(found->kind))
    {
      throw_invalid(
        who, "joint '" + name + "' is locked but is not a joint with one degree of freedom");
    }
    if (!std::isfinite(value))
    {
      throw_invalid(
        who, "joint '" + name + "' is locked at " + show(value) + "; it must be finite");
    }
    found->placement = found->placement * simple_motion(found->kind, found->axis, value);
    found->kind = JointKind::kFixed;
  }
  std::vector<RigidBodySystem::Mimic> left;
  for (const RigidBodySystem::Mimic & mimic : tree.mimics)
  {
    if (robot.locked.count(mimic.joint) > 0)
    {
      continue;
    }
    if (robot.locked.count(mimic.source) > 0)
    {
      throw_invalid(
        who,
        "joint '" + mimic.joint + "' mimics the locked joint '" + mimic.source + "'; lock it too");
    }
    left.push_back(mimic);
  }
  tree.mimics = left;
  drop_locked_couplings(robot, who, tree);
}

void replace_joints(const RobotDescription & robot, const std::string & who, RobotTree & tree)
{
  for (const auto & [name, kind] : robot.replaced)
  {
    const auto found = std::find_if(
      tree.nodes.begin(), tree.nodes.end(),
      [&name = name](const TreeNode & node)
      { return node.joint == name && is_simple(node.kind) && !node.properties.mimics; });
    const bool is_source = std::any_of(
      tree.mimics.begin(), tree.mimics.end(),
      [&name = name](const auto & mimic) { return mimic.source == name; });
    if (found == tree.nodes.end() || is_source)
    {
      throw_invalid(
        who, "joint '" + name +
               "' is replaced but is not a joint with one degree of freedom without <mimic>");
    }
    found->properties = JointProperties();
    found->reference = 0.0;
    if (kind == "ball")
    {
      found->kind = JointKind::kBall;
    }
    else
    {
      make_universal(name, kind, static_cast<int>(found - tree.nodes.begin()), tree);
    }
  }
}

void require_single_root(const std::string & who, const RobotTree & tree)
{
  if (!tree.grounded.empty())
  {
    throw_invalid(who, tree.grounded + "; only a fixed base is allowed then");
  }
  int roots = 0;
  for (const TreeNode & node : tree.nodes)
  {
    roots += node.parent < 0 ? 1 : 0;
    if (node.parent < 0 && node.kind != JointKind::kFixed)
    {
      throw_invalid(
        who,
        "its root moves by joint '" + node.joint + "' already; only a fixed base is allowed then");
    }
  }
  if (roots != 1)
  {
    throw_invalid(
      who, "it has " + std::to_string(roots) +
             " bodies in the world; a planar or floating base needs one");
  }
}

}  // namespace constrained_dynamics
