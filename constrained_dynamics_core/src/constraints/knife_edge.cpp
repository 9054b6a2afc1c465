// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/constraints/knife_edge.hpp"

#include <Eigen/Geometry>

#include "constrained_dynamics/constraints/constraint_description.hpp"
#include "constrained_dynamics/constraints/drawn_part.hpp"
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

std::vector<DrawnPart> KnifeEdge::do_drawing() const
{
  DrawnPart blade;
  blade.kind = DrawnKind::kBlade;
  blade.direction = axis_;
  return {blade};
}

ConstraintDescription KnifeEdge::description()
{
  ConstraintDescription description;
  description.type = "knife_edge";
  description.python_name = "KnifeEdge";
  description.text =
    "A blade, a skate or a thin wheel: the origin of A cannot move along an axis that is fixed in "
    "A. It does not keep A on a surface.";
  description.equation = "axis · v_a = 0: no motion sideways";
  description.rows = "`lateral` (velocity)";
  description.keys = with_frames({describe_key(
    "axis", KeyKind::kVector, "in A, any nonzero length: the direction of no motion")});
  description.make = [](const ConstraintArguments & given)
  {
    return std::make_shared<const KnifeEdge>(
      given.name, given.system, given.keys.text("frame_a"), given.keys.text("frame_b"),
      given.keys.vector("axis"));
  };
  return description;
}

}  // namespace constrained_dynamics
