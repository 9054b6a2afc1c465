// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/constraints/point_on_plane.hpp"

#include "constrained_dynamics/constraints/constraint_description.hpp"
#include "constrained_dynamics/constraints/drawn_part.hpp"
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
  // NOLINTNEXTLINE(performance-unnecessary-copy-initialization): another type for other scalars
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

std::vector<DrawnPart> PointOnPlane::do_drawing() const
{
  DrawnPart plane;
  plane.kind = DrawnKind::kPlane;
  plane.direction = normal_;
  plane.offset = offset_;
  return {plane};
}

ConstraintDescription PointOnPlane::description()
{
  ConstraintDescription description;
  description.type = "point_on_plane";
  description.python_name = "PointOnPlane";
  description.text =
    "The origin of A stays on a plane that is fixed in B. The force can push and pull.";
  description.equation = "n · R_bᵀ (p_a − p_b) = offset";
  description.rows = "`normal` (position)";
  description.keys = with_frames(
    {describe_key("normal", KeyKind::kVector, "of the plane, in B, any nonzero length"),
     describe_key("offset", KeyKind::kNumber, "of the plane from B's origin along the normal [m]")
       .with_default(0.0)});
  description.make = [](const ConstraintArguments & given)
  {
    return std::make_shared<const PointOnPlane>(
      given.name, given.system, given.keys.text("frame_a"), given.keys.text("frame_b"),
      given.keys.vector("normal"), given.keys.number("offset"));
  };
  return description;
}

}  // namespace constrained_dynamics
