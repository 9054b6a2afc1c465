// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/constraints/point_on_plane.hpp"

#include "constraints/validation.hpp"

namespace constrained_dynamics
{

namespace
{

template <class S>
Status normal_row(
  const RelativeMotionOf<S> & motion, const Eigen::Vector3d & normal, double offset,
  FrameRowOf<S> & row) noexcept
{
  const typename RelativeMotionOf<S>::Vector3 n = normal.cast<S>();
  row.position = n.dot(motion.position) - offset;
  row.velocity = n.dot(motion.velocity);
  row.linear = n;
  row.bias = -n.dot(motion.acceleration_bias);
  return Status::kOk;
}

}  // namespace

PointOnPlane::PointOnPlane(
  std::string name, const System & system, const std::string & frame_a, const std::string & frame_b,
  const Eigen::Vector3d & normal, double offset)
: FrameConstraint(
    name, "point_on_plane", system, frame_a, frame_b, {{"normal", RowLevel::kPosition, false}}, 0,
    true),
  normal_(checked_direction("constraint '" + name + "'", "normal", normal)),
  offset_(checked_finite("constraint '" + name + "'", "offset", offset))
{
}

Status PointOnPlane::do_frame_rows(
  const RelativeMotion & motion, ConstraintScratch &, FrameRows & out) const noexcept CD_NONBLOCKING
{
  return normal_row(motion, normal_, offset_, out.row[0]);
}

bool PointOnPlane::do_frame_rows_along(
  const RelativeMotionOf<Dual> & motion, FrameRowsOf<Dual> & out) const noexcept
{
  return normal_row(motion, normal_, offset_, out.row[0]) == Status::kOk;
}

}  // namespace constrained_dynamics
