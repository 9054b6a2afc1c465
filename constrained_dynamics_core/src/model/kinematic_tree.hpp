// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <memory>
#include <vector>

#include <Eigen/Core>
#include <Eigen/Geometry>

#include "constrained_dynamics/model/force_element.hpp"
#include "constrained_dynamics/model/system.hpp"
#include "constrained_dynamics/types.hpp"
#include "model/joint_kind.hpp"

namespace constrained_dynamics
{

struct RobotModel;

/// Shortest quaternion that still has a direction; products of its elements do not underflow.
constexpr double kShortestQuaternion = 1e-150;

/// Rates of a quaternion (x y z w) that turns with ω in its own axes: q̇ = ½ q ⊗ ω as a matrix.
Eigen::Matrix<double, 4, 3> quaternion_rates(const Eigen::Vector4d & q) noexcept;

/// A joint with the rigid body that it moves. The axes of the body are turned so that the axis of a
/// revolute or prismatic joint is z; for the other joints they are those of the Model.
struct TreeBody
{
  JointKind kind = JointKind::kRevolute;
  int parent = -1;                                         ///< a smaller index; −1: the world
  int q = 0;                                               ///< first coordinate
  int u = 0;                                               ///< first speed
  int nu = 1;                                              ///< number of speeds
  Eigen::Matrix3d rotation = Eigen::Matrix3d::Identity();  ///< at q = 0, in axes of the parent
  Eigen::Vector3d position = Eigen::Vector3d::Zero();      ///< at q = 0, in axes of the parent [m]
  double mass = 0.0;                                       ///< [kg]
  Eigen::Vector3d moment = Eigen::Vector3d::Zero();        ///< mass · centre of mass [kg m]
  Eigen::Matrix3d inertia = Eigen::Matrix3d::Zero();       ///< about the origin [kg m²]
};

/// Where a frame is on its body; the world is body −1.
struct TreeFramePlace
{
  int body = -1;
  Eigen::Matrix3d rotation = Eigen::Matrix3d::Identity();
  Eigen::Vector3d position = Eigen::Vector3d::Zero();
};

/// Motion of a body about its origin O, the joint's origin; everything in axes of the world.
struct BodyMotion
{
  Eigen::Matrix3d rotation = Eigen::Matrix3d::Identity();
  Eigen::Vector3d position = Eigen::Vector3d::Zero();
  Eigen::Vector3d arm = Eigen::Vector3d::Zero();  ///< from the parent's origin to O
  Eigen::Vector3d angular_velocity = Eigen::Vector3d::Zero();
  Eigen::Vector3d velocity = Eigen::Vector3d::Zero();                   ///< of O
  Eigen::Vector3d angular_acceleration_bias = Eigen::Vector3d::Zero();  ///< u̇ = 0
  Eigen::Vector3d acceleration_bias = Eigen::Vector3d::Zero();          ///< of O, u̇ = 0
};

/// Force −stiffness (q − rest) on a simple joint.
struct TreeSpring
{
  Eigen::Index q;
  Eigen::Index u;
  double stiffness;
  double rest;
};

/// An external wrench at the origin of a frame.
struct TreeWrench
{
  int frame;
  bool expressed_in_frame;
  Eigen::Vector3d force;
  Eigen::Vector3d torque;
};

/// A force element between two frames of the tree.
struct TreeElement
{
  int frame_a;
  int frame_b;
  std::shared_ptr<const ForceElement> element;
};

/// The variable part of a tree: motions of the bodies, external wrenches and force elements.
class TreeData : public SystemData
{
public:
  TreeData(
    int coordinate_count, int speed_count, int input_count, std::size_t body_count,
    const std::vector<TreeWrench> & outside);

  std::vector<BodyMotion> motions;
  std::vector<TreeWrench> wrenches;
  std::vector<ForceElementState> elements;  ///< at the last update
  Eigen::VectorXd element_scratch;
  mutable std::vector<Eigen::Vector3d> moments;  ///< scratch of sums along the tree
  mutable std::vector<Eigen::Vector3d> momenta;  ///< scratch of sums along the tree
};

/// Arrays derived once from a pinocchio::Model: the kinematics of all bodies in one pass, and the
/// forces on them that are not constraint forces. The Model's algorithms fill neither the biases of
/// all frames nor the terms of the recursion in one pass. Real-time safe except for the
/// constructor.
class KinematicTree
{
public:
  KinematicTree() = default;
  explicit KinematicTree(const RobotModel & robot);

  /// Takes the memory that the force elements need. Real-time safe: no.
  void prepare_elements(TreeData & data) const;

  /// Motions, rates, C, the bias of q̈ and the states of the force elements for the time,
  /// coordinates and speeds in data.terms. Statuses: kOk, kNonFiniteInput for a quaternion without
  /// direction, kNonFiniteResult, also for a force element whose direction is undefined.
  Status update(TreeData & data) const noexcept CD_NONBLOCKING;

  /// Motion of a frame at the last update, on request without its rotation.
  void frame_kinematics(
    const TreeData & data, int frame, FrameKinematics & out,
    bool with_rotation = true) const noexcept CD_NONBLOCKING;
  /// Jacobian (6 × n) of a frame's origin and angular velocity; all of `out` is written.
  void frame_jacobian(const TreeData & data, int frame, Matrix6X & out) const noexcept
    CD_NONBLOCKING;
  /// System::frame_reach; `out` is 6 × n, of which rows 0 and 1 are written.
  void frame_reach(const TreeData & data, int frame, Matrix6X & out) const noexcept CD_NONBLOCKING;
  /// Spatial velocity (6 × n, about the world's origin) of the body of each speed at unit speed.
  void spatial_jacobian(const TreeData & data, Matrix6X & out) const noexcept CD_NONBLOCKING;
  /// Adds the generalized force of a force and a torque about a point of the world on a body.
  void add_generalized_force(
    const TreeData & data, int body, const Eigen::Vector3d & point, const Eigen::Vector3d & force,
    const Eigen::Vector3d & torque, VectorRef out) const noexcept CD_NONBLOCKING;
  /// An external wrench in world axes, with the point where it acts.
  void world_wrench(const TreeData & data, const TreeWrench & wrench, Wrench & out) const noexcept
    CD_NONBLOCKING;
  /// What each body needs to move with accelerations u̇ (n) beyond gravity, external wrenches and
  /// force elements: forces and torques about the origins of the bodies. `out` has one element for
  /// each body.
  void required_wrenches(
    const TreeData & data, const ConstVectorRef & acceleration,
    std::vector<Wrench> & out) const noexcept CD_NONBLOCKING;
  /// Adds to each wrench those of all bodies that the joint carries.
  void sum_to_joints(const TreeData & data, std::vector<Wrench> & wrenches) const noexcept
    CD_NONBLOCKING;
  /// Calls act(body, point, force, torque) for the wrench on each of both bodies of each force
  /// element; body −1 is the world.
  template <typename Act>
  void visit_element_wrenches(const TreeData & data, Act && act) const noexcept;
  /// Dampers and springs on the speeds.
  void joint_force(const TreeData & data, VectorRef out) const noexcept CD_NONBLOCKING;
  /// Generalized force that holds the tree still against gravity.
  void gravity_torque(const TreeData & data, VectorRef out) const noexcept CD_NONBLOCKING;
  /// Σ mass · position over all bodies [kg m].
  Eigen::Vector3d mass_moment(const TreeData & data) const noexcept CD_NONBLOCKING;
  /// First derivative of mass_moment, and the second at u̇ = 0.
  void mass_moment_rates(const TreeData & data, Eigen::Vector3d & first, Eigen::Vector3d & second)
    const noexcept CD_NONBLOCKING;
  /// Jacobian (3 × n) of the derivative of mass_moment; all of `out` is written.
  void mass_jacobian(const TreeData & data, MatrixRef out) const noexcept CD_NONBLOCKING;
  double kinetic_energy(const TreeData & data) const noexcept CD_NONBLOCKING;
  /// (E28) Q u (n), armature included: the derivative of the kinetic energy by the speeds.
  void momentum(const TreeData & data, VectorRef out) const noexcept CD_NONBLOCKING;
  /// (E28) Derivative of the kinetic energy at u̇ = 0.
  double kinetic_power_bias(const TreeData & data) const noexcept CD_NONBLOCKING;
  /// Of gravity, springs and force elements.
  double potential_energy(const TreeData & data) const noexcept CD_NONBLOCKING;
  /// Its derivative.
  double potential_power(const TreeData & data) const noexcept CD_NONBLOCKING;

  /// Generalized forces on the speeds of body i that a force and a torque about its origin exert.
  template <typename Out>
  void project(
    std::size_t i, const BodyMotion & motion, const Eigen::Vector3d & force,
    const Eigen::Vector3d & torque, Out && add) const noexcept;

  std::vector<TreeBody> bodies;
  std::vector<Eigen::Matrix3d> turns;  ///< axes of each body in those of the Model's joint
  std::vector<TreeFramePlace> frames;
  Eigen::Vector3d gravity = Eigen::Vector3d::Zero();
  Eigen::VectorXd damping;
  Eigen::VectorXd armature;
  std::vector<TreeSpring> springs;
  std::vector<TreeElement> elements;
  std::vector<Eigen::Index> actuated;  ///< speed of each input
  double total_mass = 0.0;

private:
  Status update_elements(TreeData & data) const noexcept CD_NONBLOCKING;
  /// Calls visit(i, moment) from the tips to the roots with Σ mass · (position − origin of body i)
  /// over body i and everything below it.
  template <typename Visit>
  void visit_carried_moments(const TreeData & data, Visit && visit) const noexcept;
  /// Motion of a joint of several degrees of freedom relative to its parent; false if a quaternion
  /// has no direction.
  bool update_joint(const TreeBody & body, TreeData & data) const noexcept;
  /// Linear and angular velocity of a joint of several degrees of freedom from its speeds, in world
  /// axes. @param rotation of the moved body.
  void joint_velocity(
    const TreeBody & body, const Eigen::Matrix3d & rotation, const ConstVectorRef & speeds,
    Eigen::Vector3d & linear, Eigen::Vector3d & angular) const noexcept;
  /// Motion `m`, in the world, of a body behind such a joint, from the motion `p` of its parent.
  void carry_joint(
    const TreeBody & body, const BodyMotion & p, const SystemTerms & terms,
    BodyMotion & m) const noexcept;
  /// The same for a body behind a joint of one degree of freedom.
  void move_simple(const TreeBody & body, const BodyMotion & p, SystemTerms & terms, BodyMotion & m)
    const noexcept;
  void fill_columns(
    std::size_t body, const BodyMotion & motion, const Eigen::Vector3d & point,
    Matrix6X & out) const noexcept;
  std::vector<double> carried_mass_;  // of each body with everything below it
};

template <typename Out>
void KinematicTree::project(
  std::size_t i, const BodyMotion & motion, const Eigen::Vector3d & force,
  const Eigen::Vector3d & torque, Out && add) const noexcept
{
  const TreeBody & body = bodies[i];
  const Eigen::Matrix3d & R = motion.rotation;
  switch (body.kind)
  {
    case JointKind::kRevolute:
      add(body.u, R.col(2).dot(torque));
      return;
    case JointKind::kPrismatic:
      add(body.u, R.col(2).dot(force));
      return;
    case JointKind::kPlanar:
      add(body.u, R.col(0).dot(force));
      add(body.u + 1, R.col(1).dot(force));
      add(body.u + 2, R.col(2).dot(torque));
      return;
    case JointKind::kBall:
      for (int k = 0; k < 3; ++k)
      {
        add(body.u + k, R.col(k).dot(torque));
      }
      return;
    case JointKind::kTranslation:
      for (int k = 0; k < 3; ++k)
      {
        add(body.u + k, R.col(k).dot(force));
      }
      return;
    default:
      for (int k = 0; k < 3; ++k)
      {
        add(body.u + k, R.col(k).dot(force));
        add(body.u + 3 + k, R.col(k).dot(torque));
      }
  }
}

template <typename Act>
void KinematicTree::visit_element_wrenches(const TreeData & data, Act && act) const noexcept
{
  for (std::size_t i = 0; i < elements.size(); ++i)
  {
    const Wrench & on_a = data.elements[i].on_a;
    act(
      frames[static_cast<std::size_t>(elements[i].frame_a)].body, on_a.point, on_a.force,
      on_a.torque);
    act(
      frames[static_cast<std::size_t>(elements[i].frame_b)].body, on_a.point,
      Eigen::Vector3d(-on_a.force), Eigen::Vector3d(-on_a.torque));
  }
}

inline void KinematicTree::frame_kinematics(
  const TreeData & data, int frame, FrameKinematics & out,
  bool with_rotation) const noexcept CD_NONBLOCKING
{
  const TreeFramePlace & f = frames[static_cast<std::size_t>(frame)];
  if (f.body < 0)
  {
    out = FrameKinematics{};
    out.rotation = f.rotation;
    out.position = f.position;
    return;
  }
  const BodyMotion & m = data.motions[static_cast<std::size_t>(f.body)];
  const Eigen::Vector3d r = m.rotation.lazyProduct(f.position);
  const Eigen::Vector3d carried = m.angular_velocity.cross(r);
  if (with_rotation)
  {
    out.rotation.noalias() = m.rotation.lazyProduct(f.rotation);
  }
  out.position = m.position + r;
  out.velocity = m.velocity + carried;
  out.angular_velocity = m.angular_velocity;
  out.acceleration_bias =
    m.acceleration_bias + m.angular_acceleration_bias.cross(r) + m.angular_velocity.cross(carried);
  out.angular_acceleration_bias = m.angular_acceleration_bias;
}

}  // namespace constrained_dynamics
