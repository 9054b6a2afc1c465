// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Derivatives of a RigidBodySystem (E19).

#include "constrained_dynamics/model/control_state_system.hpp"
#include "model/rigid_body_impl.hpp"

namespace constrained_dynamics
{
namespace
{

const TreeDerivatives & derivatives_of(const SystemData & data) noexcept
{
  return static_cast<const RigidBodyData &>(data).derivatives;
}

}  // namespace

const TreeDerivatives * tree_derivatives(const System & system, const SystemData & data) noexcept
  CD_NONBLOCKING
{
  if (system.as_robot() != nullptr)
  {
    return &derivatives_of(data);
  }
  return system.underlying().as_robot() != nullptr
           ? &derivatives_of(ControlStateSystem::wrapped_data(data))
           : nullptr;
}

bool RigidBodySystem::do_differentiate(
  SystemData & data, const ConstVectorRef & acceleration, const ConstVectorRef &,
  SystemDerivatives & out) const
{
  RigidBodyData & d = static_cast<RigidBodyData &>(data);
  const KinematicTree & bodies = impl_->tree;
  out.resize(coordinate_count(), speed_count());
  out.acceleration = acceleration;
  differentiate_joints(bodies, d.terms, out);
  d.derivatives.update(bodies, d, acceleration);
  d.derivatives.inverse_dynamics(out.residual_q, out.residual_u);
  out.residual_u.diagonal() += bodies.damping;
  for (const TreeSpring & spring : bodies.springs)
  {
    out.residual_q(spring.u, spring.u) += spring.stiffness;
  }
  for (const TreeWrench & wrench : d.wrenches)
  {
    Eigen::Vector3d force = wrench.force;
    Eigen::Vector3d torque = wrench.torque;
    FrameKinematics frame;
    frame_kinematics(data, wrench.frame, frame);
    if (wrench.expressed_in_frame)
    {
      force = frame.rotation * force;
      torque = frame.rotation * torque;
      bodies.frame_jacobian(d, wrench.frame, d.frame_jacobian);
      for (Eigen::Index k = 0; k < speed_count(); ++k)
      {
        const Eigen::Vector3d turn = d.frame_jacobian.col(k).tail<3>();
        out.residual_q.col(k) -=
          d.frame_jacobian.topRows<3>().transpose().lazyProduct(turn.cross(force)) +
          d.frame_jacobian.bottomRows<3>().transpose().lazyProduct(turn.cross(torque));
      }
    }
    add_frame_force_derivatives(data, wrench.frame, -force, -torque, out.residual_q);
  }
  for (std::size_t i = 0; i < bodies.elements.size(); ++i)
  {
    if (!differentiate_element(*this, d, bodies.elements[i], d.elements[i], d.element_memory, out))
    {
      return false;
    }
  }
  return true;
}

void RigidBodySystem::do_frame_derivatives(
  const SystemData & data, int frame, FrameDerivatives & out) const
{
  derivatives_of(data).frame(frame, out);
}

void RigidBodySystem::do_add_frame_force_derivatives(
  const SystemData & data, int frame, const Eigen::Vector3d & force, const Eigen::Vector3d & torque,
  MatrixRef out) const
{
  derivatives_of(data).add_frame_force(frame, force, torque, out);
}

void RigidBodySystem::do_add_coordinate_force_derivatives(
  const SystemData & data, const ConstVectorRef & y, MatrixRef out) const
{
  add_joint_force_derivatives(impl_->tree, data.terms, y, out);
}

}  // namespace constrained_dynamics
