// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "model/element_derivatives.hpp"

#include <Eigen/Geometry>

#include "model/relate.hpp"

namespace constrained_dynamics
{

namespace
{

using Vector = Eigen::Vector3d;

/// Both frames of an element in the world, with their derivatives.
struct ElementFrames
{
  FrameKinematics a;
  FrameKinematics b;
  FrameDerivatives & da;
  FrameDerivatives & db;
};

/// Change of the relative motion in axes of B along one speed.
struct MotionChange
{
  Vector position = Vector::Zero();
  Vector turn = Vector::Zero();  // rotation vector of the change of R
  Vector velocity = Vector::Zero();
  Vector angular_velocity = Vector::Zero();
};

/// By q: RelativeMotion's formulas differentiated, where axes of B turn as well.
MotionChange change_by_q(const ElementFrames & f, Eigen::Index k)
{
  const Vector d = f.a.position - f.b.position;
  const Vector turn_b = f.db.jacobian.col(k).tail<3>();
  const Vector dd = f.da.jacobian.col(k).head<3>() - f.db.jacobian.col(k).head<3>();
  const Vector dw_b = f.db.velocity_q.col(k).tail<3>();
  const Vector v = f.a.velocity - f.b.velocity - f.b.angular_velocity.cross(d);
  const Vector dv = f.da.velocity_q.col(k).head<3>() - f.db.velocity_q.col(k).head<3>() -
                    dw_b.cross(d) - f.b.angular_velocity.cross(dd);
  const Vector w = f.a.angular_velocity - f.b.angular_velocity;
  const Vector dw = f.da.velocity_q.col(k).tail<3>() - dw_b;
  const Eigen::Matrix3d R = f.b.rotation.transpose();
  return {
    R * (dd - turn_b.cross(d)), R * (f.da.jacobian.col(k).tail<3>() - turn_b),
    R * (dv - turn_b.cross(v)), R * (dw - turn_b.cross(w))};
}

/// By u: the position stays.
MotionChange change_by_u(const ElementFrames & f, Eigen::Index k)
{
  const Vector d = f.a.position - f.b.position;
  const Vector dw_b = f.db.jacobian.col(k).tail<3>();
  const Vector dv = f.da.jacobian.col(k).head<3>() - f.db.jacobian.col(k).head<3>() - dw_b.cross(d);
  const Eigen::Matrix3d R = f.b.rotation.transpose();
  MotionChange change;
  change.velocity = R * dv;
  change.angular_velocity = R * (f.da.jacobian.col(k).tail<3>() - dw_b);
  return change;
}

void set_dual(const Vector & value, const Vector & derivative, Eigen::Matrix<Dual, 3, 1> & out)
{
  for (int i = 0; i < 3; ++i)
  {
    out(i) = Dual{value(i), derivative(i)};
  }
}

RelativeMotionOf<Dual> motion_along(const RelativeMotion & motion, const MotionChange & change)
{
  RelativeMotionOf<Dual> along;
  along.time = motion.time;
  set_dual(motion.position, change.position, along.position);
  set_dual(motion.velocity, change.velocity, along.velocity);
  set_dual(motion.angular_velocity, change.angular_velocity, along.angular_velocity);
  for (int column = 0; column < 3; ++column)
  {
    const Vector axis = motion.rotation.col(column);
    Eigen::Matrix<Dual, 3, 1> turned;
    set_dual(axis, change.turn.cross(axis), turned);
    along.rotation.col(column) = turned;
  }
  return along;
}

/// Subtracts from `out` the change of J_Aᵀ (f; n) − J_Bᵀ (f; n + d × f) with f, n on A in the
/// world; the Jacobians stay.
void subtract_force_change(
  const ElementFrames & frames, const Wrench & on_a, const Vector & df, const Vector & dn,
  const Vector & dd, VectorRef out)
{
  const Vector d = frames.a.position - frames.b.position;
  const Vector on_b = dn + dd.cross(on_a.force) + d.cross(df);
  out -= frames.da.jacobian.topRows<3>().transpose().lazyProduct(df) +
         frames.da.jacobian.bottomRows<3>().transpose().lazyProduct(dn) -
         frames.db.jacobian.topRows<3>().transpose().lazyProduct(df) -
         frames.db.jacobian.bottomRows<3>().transpose().lazyProduct(on_b);
}

}  // namespace

bool differentiate_element(
  const System & system, const TreeData & data, const TreeElement & element,
  const ForceElementState & state, ElementMemory & memory, SystemDerivatives & out)
{
  ElementFrames frames{{}, {}, memory.a, memory.b};
  RelativeMotion motion;
  motion.time = data.terms.time;
  system.frame_kinematics(data, element.frame_a, frames.a);
  system.frame_kinematics(data, element.frame_b, frames.b);
  system.frame_derivatives(data, element.frame_a, frames.da);
  system.frame_derivatives(data, element.frame_b, frames.db);
  relate(frames.a, frames.b, false, false, motion);
  const Wrench & on_a = state.on_a;
  const Eigen::Matrix3d & R = frames.b.rotation;
  for (Eigen::Index k = 0; k < system.speed_count(); ++k)
  {
    for (const bool by_q : {true, false})
    {
      ElementWrenchOf<Dual> wrench;
      const MotionChange change = by_q ? change_by_q(frames, k) : change_by_u(frames, k);
      const Status status = element.element->evaluate_along(
        motion_along(motion, change), memory.scratch.data(), wrench);
      if (status != Status::kOk)
      {
        return false;
      }
      Vector df;
      Vector dn;
      Vector dd = Vector::Zero();
      for (int i = 0; i < 3; ++i)
      {
        df(i) = wrench.force(i).derivative;
        dn(i) = wrench.torque(i).derivative;
      }
      df = R * df;
      dn = R * dn;
      if (by_q)
      {
        const Vector turn = frames.db.jacobian.col(k).tail<3>();
        df += turn.cross(on_a.force);
        dn += turn.cross(on_a.torque);
        dd = frames.da.jacobian.col(k).head<3>() - frames.db.jacobian.col(k).head<3>();
      }
      subtract_force_change(
        frames, on_a, df, dn, dd, (by_q ? out.residual_q : out.residual_u).col(k));
    }
  }
  const Vector d = frames.a.position - frames.b.position;
  system.add_frame_force_derivatives(
    data, element.frame_a, -on_a.force, -on_a.torque, out.residual_q);
  system.add_frame_force_derivatives(
    data, element.frame_b, on_a.force, on_a.torque + d.cross(on_a.force), out.residual_q);
  return true;
}

}  // namespace constrained_dynamics
