// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

/// @file
/// Derivatives of the rows of a FrameConstraint (E17).

#include <Eigen/Geometry>

#include "constrained_dynamics/constraints/frame_constraint.hpp"

namespace constrained_dynamics
{

namespace
{

// The motion of A in B as 18 numbers: p, rotation vector, v, ω, v̇, ω̇; rows depend on all of them.
constexpr int kMotionSize = 18;
constexpr int kStateSize = 12;  // without the accelerations
using RowMatrix = Eigen::Matrix<double, Eigen::Dynamic, kMotionSize>;

/// The motion of both frames in the world and its derivatives.
struct FramePair
{
  FrameKinematics a;
  FrameKinematics b;
  FrameDerivatives da;
  FrameDerivatives db;
};

/// Column k of the derivatives of the 18 numbers, from RelativeMotion's formulas; by q or by u.
Eigen::Matrix<double, kMotionSize, 1> motion_change(
  const FramePair & pair, Eigen::Index k, bool by_q)
{
  using Vector = Eigen::Vector3d;
  const FrameKinematics & a = pair.a;
  const FrameKinematics & b = pair.b;
  const auto part = [&](const Matrix6X & by_coordinates, const Matrix6X & by_speeds, int row)
  { return Vector((by_q ? by_coordinates : by_speeds).col(k).segment<3>(row)); };
  const Vector none = Vector::Zero();
  const Vector dp_a = by_q ? Vector(pair.da.jacobian.col(k).head<3>()) : none;
  const Vector dp_b = by_q ? Vector(pair.db.jacobian.col(k).head<3>()) : none;
  const Vector turn_a = by_q ? Vector(pair.da.jacobian.col(k).tail<3>()) : none;
  const Vector turn_b = by_q ? Vector(pair.db.jacobian.col(k).tail<3>()) : none;
  const Vector dv_a = part(pair.da.velocity_q, pair.da.jacobian, 0);
  const Vector dv_b = part(pair.db.velocity_q, pair.db.jacobian, 0);
  const Vector dw_a = part(pair.da.velocity_q, pair.da.jacobian, 3);
  const Vector dw_b = part(pair.db.velocity_q, pair.db.jacobian, 3);
  const Vector dacc_a = part(pair.da.acceleration_q, pair.da.acceleration_u, 0);
  const Vector dacc_b = part(pair.db.acceleration_q, pair.db.acceleration_u, 0);
  const Vector dalpha_a = part(pair.da.acceleration_q, pair.da.acceleration_u, 3);
  const Vector dalpha_b = part(pair.db.acceleration_q, pair.db.acceleration_u, 3);

  const Vector & w_b = b.angular_velocity;
  const Vector & alpha_b = pair.db.angular_acceleration;
  const Vector d = a.position - b.position;
  const Vector dd = dp_a - dp_b;
  const Vector v = a.velocity - b.velocity - w_b.cross(d);
  const Vector dv = dv_a - dv_b - dw_b.cross(d) - w_b.cross(dd);
  const Vector w = a.angular_velocity - w_b;
  const Vector acceleration = pair.da.acceleration - pair.db.acceleration - alpha_b.cross(d) -
                              w_b.cross(w_b.cross(d)) - 2.0 * w_b.cross(v);
  const Vector d_acceleration =
    dacc_a - dacc_b - dalpha_b.cross(d) - alpha_b.cross(dd) - dw_b.cross(w_b.cross(d)) -
    w_b.cross(dw_b.cross(d) + w_b.cross(dd)) - 2.0 * dw_b.cross(v) - 2.0 * w_b.cross(dv);
  const Vector alpha = pair.da.angular_acceleration - alpha_b - w_b.cross(a.angular_velocity);
  const Vector d_alpha = dalpha_a - dalpha_b - dw_b.cross(a.angular_velocity) - w_b.cross(dw_a);

  const Eigen::Matrix3d R = b.rotation.transpose();
  Eigen::Matrix<double, kMotionSize, 1> change;
  change << R * (dd - turn_b.cross(d)), R * (turn_a - turn_b), R * (dv - turn_b.cross(v)),
    R * (dw_a - dw_b - turn_b.cross(w)), R * (d_acceleration - turn_b.cross(acceleration)),
    R * (d_alpha - turn_b.cross(alpha));
  return change;
}

/// Complete accelerations in place of those at u̇ = 0: then −b is φ̈ (or ψ̇).
void complete_accelerations(const FramePair & pair, RelativeMotion & motion)
{
  const FrameKinematics & b = pair.b;
  const Eigen::Vector3d d = pair.a.position - b.position;
  const Eigen::Vector3d v = b.rotation * motion.velocity;
  const Eigen::Vector3d & w_b = b.angular_velocity;
  motion.acceleration_bias =
    b.rotation.transpose() *
    (pair.da.acceleration - pair.db.acceleration - pair.db.angular_acceleration.cross(d) -
     w_b.cross(w_b.cross(d)) - 2.0 * w_b.cross(v));
  motion.angular_acceleration_bias =
    b.rotation.transpose() * (pair.da.angular_acceleration - pair.db.angular_acceleration -
                              w_b.cross(pair.a.angular_velocity));
}

/// Derivatives of the rows by the 18 numbers, and the wrench Σ λ (c_v; c_ω) in B with its
/// derivatives.
struct RowGradients
{
  RowMatrix residual;  // of φ̈, ψ̇
  RowMatrix velocity;  // of φ̇, ψ
  Eigen::Matrix<double, 6, 1> wrench;
  Eigen::Matrix<double, 6, kMotionSize> wrench_change;
};

/// The motion with complete accelerations, moved along one of the 12 numbers of its state.
RelativeMotionOf<Dual> motion_along(const RelativeMotion & motion, int direction)
{
  RelativeMotionOf<Dual> along;
  along.time = motion.time;
  along.position = motion.position.cast<Dual>();
  along.rotation = motion.rotation.cast<Dual>();
  along.velocity = motion.velocity.cast<Dual>();
  along.angular_velocity = motion.angular_velocity.cast<Dual>();
  along.acceleration_bias = motion.acceleration_bias.cast<Dual>();
  along.angular_acceleration_bias = motion.angular_acceleration_bias.cast<Dual>();
  const int axis = direction % 3;
  if (direction < 3)
  {
    along.position(axis).derivative = 1.0;
  }
  else if (direction < 6)
  {
    const Eigen::Vector3d e = Eigen::Vector3d::Unit(axis);
    for (int column = 0; column < 3; ++column)
    {
      const Eigen::Vector3d turned = e.cross(motion.rotation.col(column));
      for (int row = 0; row < 3; ++row)
      {
        along.rotation(row, column).derivative = turned(row);
      }
    }
  }
  else
  {
    (direction < 9 ? along.velocity : along.angular_velocity)(axis).derivative = 1.0;
  }
  return along;
}

/// Returns false if the rows have no derivative in some direction.
template <class RowsAlong>
bool find_gradients(
  const RelativeMotion & motion, const ConstVectorRef & multipliers, const RowsAlong & rows_along,
  RowGradients & out)
{
  const Eigen::Index m = multipliers.size();
  out.residual.setZero(m, kMotionSize);
  out.velocity.setZero(m, kMotionSize);
  out.wrench_change.setZero();
  for (int direction = 0; direction < kStateSize; ++direction)
  {
    FrameRowsOf<Dual> rows;
    rows.clear(static_cast<int>(m));
    if (!rows_along(motion_along(motion, direction), rows))
    {
      return false;
    }
    out.wrench.setZero();
    for (Eigen::Index i = 0; i < m; ++i)
    {
      const FrameRowOf<Dual> & row = rows.row[static_cast<std::size_t>(i)];
      out.residual(i, direction) = -row.bias.derivative;
      out.velocity(i, direction) = row.velocity.derivative;
      for (int axis = 0; axis < 6; ++axis)
      {
        const Dual & coefficient = axis < 3 ? row.linear(axis) : row.angular(axis - 3);
        out.residual(i, kStateSize + axis) = coefficient.value;
        out.wrench(axis) += multipliers(i) * coefficient.value;
        out.wrench_change(axis, direction) += multipliers(i) * coefficient.derivative;
      }
    }
  }
  return true;
}

/// Change of Aᵀ λ = J_Aᵀ (f; g) − J_Bᵀ (f; g + d × f), where f, g is the wrench in the world, for
/// column k of a change of the motion; the Jacobians are held constant.
Eigen::VectorXd force_change(
  const FramePair & pair, const RowGradients & gradients,
  const Eigen::Matrix<double, kMotionSize, 1> & change, Eigen::Index k, bool by_q)
{
  const Eigen::Matrix3d & R = pair.b.rotation;
  const Eigen::Vector3d d = pair.a.position - pair.b.position;
  const Eigen::Vector3d f = R * gradients.wrench.head<3>();
  const Eigen::Vector3d g = R * gradients.wrench.tail<3>();
  const Eigen::Matrix<double, 6, 1> own = gradients.wrench_change * change;
  Eigen::Vector3d df = R * own.head<3>();
  Eigen::Vector3d dg = R * own.tail<3>();
  Eigen::Vector3d dd = Eigen::Vector3d::Zero();
  if (by_q)
  {
    const Eigen::Vector3d turn = pair.db.jacobian.col(k).tail<3>();
    df += turn.cross(f);
    dg += turn.cross(g);
    dd = pair.da.jacobian.col(k).head<3>() - pair.db.jacobian.col(k).head<3>();
  }
  const Eigen::Vector3d on_b = dg + dd.cross(f) + d.cross(df);
  return pair.da.jacobian.topRows<3>().transpose() * df +
         pair.da.jacobian.bottomRows<3>().transpose() * dg -
         pair.db.jacobian.topRows<3>().transpose() * df -
         pair.db.jacobian.bottomRows<3>().transpose() * on_b;
}

}  // namespace

bool FrameConstraint::do_differentiate(
  const SystemData & data, const SystemDerivatives &, const ConstVectorRef & multipliers,
  ConstraintScratch &, RowDerivatives & out) const
{
  FramePair pair;
  RelativeMotion motion;
  relative_motion(data, motion);
  system().frame_kinematics(data, frame_a_, pair.a);
  system().frame_kinematics(data, frame_b_, pair.b);
  system().frame_derivatives(data, frame_a_, pair.da);
  system().frame_derivatives(data, frame_b_, pair.db);
  complete_accelerations(pair, motion);
  RowGradients gradients;
  const auto rows_along = [this](const RelativeMotionOf<Dual> & along, FrameRowsOf<Dual> & rows)
  { return do_frame_rows_along(along, rows); };
  if (!find_gradients(motion, multipliers, rows_along, gradients))
  {
    return false;
  }
  for (Eigen::Index k = 0; k < system().speed_count(); ++k)
  {
    const Eigen::Matrix<double, kMotionSize, 1> by_q = motion_change(pair, k, true);
    const Eigen::Matrix<double, kMotionSize, 1> by_u = motion_change(pair, k, false);
    out.residual_q.col(k) = gradients.residual * by_q;
    out.residual_u.col(k) = gradients.residual * by_u;
    out.velocity_q.col(k) = gradients.velocity * by_q;
    out.force_q.col(k) += force_change(pair, gradients, by_q, k, true);
    out.force_u.col(k) += force_change(pair, gradients, by_u, k, false);
  }
  const Eigen::Vector3d d = pair.a.position - pair.b.position;
  const Eigen::Vector3d f = pair.b.rotation * gradients.wrench.head<3>();
  const Eigen::Vector3d g = pair.b.rotation * gradients.wrench.tail<3>();
  system().add_frame_force_derivatives(data, frame_a_, f, g, out.force_q);
  system().add_frame_force_derivatives(data, frame_b_, -f, -(g + d.cross(f)), out.force_q);
  return true;
}

}  // namespace constrained_dynamics
