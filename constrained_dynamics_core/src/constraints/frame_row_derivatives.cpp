// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

/// @file
/// Derivatives of the rows of a FrameConstraint (E17, E19a).

#include <Eigen/Geometry>

#include "constrained_dynamics/constraints/frame_constraint.hpp"
#include "model/relate.hpp"
#include "model/rigid_body_derivatives.hpp"

namespace constrained_dynamics
{

namespace
{

// The first 12 of the changes that FramePairRows numbers: those of the state.
constexpr int kStateSize = 12;

/// Complete accelerations in place of those at u̇ = 0: then −b is φ̈ (or ψ̇).
void complete_accelerations(
  const TreeDerivatives & tree, int frame_a, int frame_b, const FrameWork & work,
  RelativeMotion & motion) noexcept
{
  const FrameKinematics & b = work.b;
  Eigen::Vector3d a_a, alpha_a, a_b, alpha_b;
  tree.frame_acceleration(frame_a, a_a, alpha_a);
  tree.frame_acceleration(frame_b, a_b, alpha_b);
  const Eigen::Vector3d d = work.a.position - b.position;
  const Eigen::Vector3d v = b.rotation.lazyProduct(motion.velocity);
  const Eigen::Vector3d & w_b = b.angular_velocity;
  const Eigen::Vector3d a = a_a - a_b - alpha_b.cross(d) - w_b.cross(w_b.cross(d) + 2.0 * v);
  const Eigen::Vector3d alpha = alpha_a - alpha_b - w_b.cross(work.a.angular_velocity);
  motion.acceleration_bias = b.rotation.transpose().lazyProduct(a);
  motion.angular_acceleration_bias = b.rotation.transpose().lazyProduct(alpha);
}

/// The motion moved along one of the 12 numbers of its state.
RelativeMotionOf<Dual> motion_along(const RelativeMotion & motion, int direction) noexcept
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

/// Derivatives of the rows by the motion, whose accelerations are complete. `rows_along` gives them
/// over dual numbers. False where there are none.
template <class RowsAlong>
bool differentiate_rows(
  const RelativeMotion & motion, const ConstVectorRef & multipliers, bool point_only,
  const RowsAlong & rows_along, FramePairRows & out) noexcept
{
  const int m = out.count;
  for (int direction = 0; direction < kStateSize; ++direction)
  {
    if (point_only && (direction / 3) % 2 == 1)
    {
      continue;  // rotations and angular velocities
    }
    FrameRowsOf<Dual> rows;
    rows.clear(m);
    if (!rows_along(motion_along(motion, direction), rows))
    {
      return false;
    }
    out.wrench.setZero();
    for (int i = 0; i < m; ++i)
    {
      const FrameRowOf<Dual> & row = rows.row[static_cast<std::size_t>(i)];
      out.residual(i, direction) = -row.bias.derivative;
      out.velocity_rows(i, direction) = row.velocity.derivative;
      for (int axis = 0; axis < 6; ++axis)
      {
        const Dual & coefficient = axis < 3 ? row.linear(axis) : row.angular(axis - 3);
        out.residual(i, kStateSize + axis) = coefficient.value;
        out.wrench(axis) += multipliers(i) * coefficient.value;
        out.wrench_change(axis, direction) += multipliers(i) * coefficient.derivative;
      }
    }
  }
  out.has_constant_wrench = (out.wrench_change.array() == 0.0).all();
  return true;
}

}  // namespace

bool FrameConstraint::do_differentiate(
  const SystemData & data, const SystemDerivatives &, const ConstVectorRef & multipliers,
  ConstraintScratch &, RowDerivatives & out) const
{
  const TreeDerivatives * tree = tree_derivatives(system(), data);
  if (tree == nullptr)
  {
    return false;
  }
  FrameWork work;
  find_motions(data, work);
  RelativeMotion & motion = work.motion;
  relate(work.a, work.b, b_is_fixed_, false, motion);
  motion.time = data.terms.time;
  complete_accelerations(*tree, frame_a_, frame_b_, work, motion);
  FramePairRows rows;
  rows.frame_a = frame_a_;
  rows.frame_b = frame_b_;
  rows.count = row_count();
  rows.rotation_b = work.b.rotation;
  rows.position_b = work.b.position;
  rows.position = motion.position;
  rows.velocity = motion.velocity;
  rows.angular_velocity = motion.angular_velocity;
  rows.angular_acceleration = motion.angular_acceleration_bias;
  rows.residual.setZero();
  rows.velocity_rows.setZero();
  rows.wrench.setZero();
  rows.wrench_change.setZero();
  const auto rows_along = [this](const RelativeMotionOf<Dual> & along, FrameRowsOf<Dual> & result)
  { return do_frame_rows_along(along, result); };
  if (!differentiate_rows(motion, multipliers, point_only_, rows_along, rows))
  {
    return false;
  }
  tree->frame_pair(rows, out.residual_q, out.residual_u, out.velocity_q, out.force_q, out.force_u);
  return true;
}

}  // namespace constrained_dynamics
