// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/constraints/point_on_line.hpp"

#include <Eigen/Geometry>

#include "constrained_dynamics/constraints/constraint_description.hpp"
#include "constrained_dynamics/constraints/drawn_part.hpp"
#include "constraints/validation.hpp"

namespace constrained_dynamics
{

namespace
{

template <class S>
Status normal_rows(
  const RelativeMotionOf<S> & motion, const std::array<Eigen::Vector3d, 2> & normals,
  FrameRowsOf<S> & out) noexcept
{
  for (std::size_t i = 0; i < normals.size(); ++i)
  {
    const typename RelativeMotionOf<S>::Vector3 e = normals[i].cast<S>();
    FrameRowOf<S> & row = out.row[i];
    row.position = e.dot(motion.position);
    row.velocity = e.dot(motion.velocity);
    row.linear = e;
    row.bias = -e.dot(motion.acceleration_bias);
  }
  return Status::kOk;
}

}  // namespace

PointOnLine::PointOnLine(
  std::string name, const System & system, const std::string & frame_a, const std::string & frame_b,
  const Eigen::Vector3d & direction)
: FrameConstraint(
    name, "point_on_line", system, frame_a, frame_b,
    {{"normal_1", RowLevel::kPosition, false}, {"normal_2", RowLevel::kPosition, false}}, 0, true),
  normals_(orthonormal_pair(checked_direction("constraint '" + name + "'", "direction", direction)))
{
}

Eigen::Vector3d PointOnLine::direction() const { return normals_[0].cross(normals_[1]); }

Status PointOnLine::do_frame_rows(
  const RelativeMotion & motion, ConstraintScratch &, FrameRows & out) const noexcept CD_NONBLOCKING
{
  return normal_rows(motion, normals_, out);
}

bool PointOnLine::do_frame_rows_along(
  const RelativeMotionOf<Dual> & motion, FrameRowsOf<Dual> & out) const noexcept
{
  return normal_rows(motion, normals_, out) == Status::kOk;
}

std::vector<DrawnPart> PointOnLine::do_drawing() const
{
  DrawnPart line;
  line.kind = DrawnKind::kLine;
  line.direction = direction();
  return {line};
}

ConstraintDescription PointOnLine::description()
{
  ConstraintDescription description;
  description.type = "point_on_line";
  description.python_name = "PointOnLine";
  description.text = "The origin of A stays on a line through the origin of B that is fixed in B.";
  description.equation = "R_bᵀ (p_a − p_b) ∥ direction";
  description.rows = "`normal_1`, `normal_2` (position)";
  description.keys = with_frames(
    {describe_key("direction", KeyKind::kVector, "of the line, in B, any nonzero length")});
  description.make = [](const ConstraintArguments & given)
  {
    return std::make_shared<const PointOnLine>(
      given.name, given.system, given.keys.text("frame_a"), given.keys.text("frame_b"),
      given.keys.vector("direction"));
  };
  return description;
}

}  // namespace constrained_dynamics
