// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/constraints/knife_edge.hpp"

#include <Eigen/Geometry>

#include "constraints/validation.hpp"

namespace constrained_dynamics
{

namespace
{

template <class S>
Status lateral_row(
  const RelativeMotionOf<S> & motion, const Eigen::Vector3d & axis, FrameRowOf<S> & row) noexcept
{
  using Vector3 = typename RelativeMotionOf<S>::Vector3;
  const Vector3 s = motion.rotation * axis.cast<S>();
  const Vector3 s_dot = motion.angular_velocity.cross(s);
  row.velocity = s.dot(motion.velocity);
  row.linear = s;
  row.bias = -(s_dot.dot(motion.velocity) + s.dot(motion.acceleration_bias));
  return Status::kOk;
}

}  // namespace

KnifeEdge::KnifeEdge(
  std::string name, const System & system, const std::string & frame_a, const std::string & frame_b,
  const Eigen::Vector3d & axis)
: FrameConstraint(
    name, "knife_edge", system, frame_a, frame_b, {{"lateral", RowLevel::kVelocity, false}}),
  axis_(checked_direction("constraint '" + name + "'", "axis", axis))
{
}

Status KnifeEdge::do_frame_rows(
  const RelativeMotion & motion, ConstraintScratch &, FrameRows & out) const noexcept CD_NONBLOCKING
{
  return lateral_row(motion, axis_, out.row[0]);
}

bool KnifeEdge::do_frame_rows_along(
  const RelativeMotionOf<Dual> & motion, FrameRowsOf<Dual> & out) const noexcept
{
  return lateral_row(motion, axis_, out.row[0]) == Status::kOk;
}

}  // namespace constrained_dynamics
