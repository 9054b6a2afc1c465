// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <cmath>
#include <stdexcept>

#include <Eigen/Geometry>

#include "constrained_dynamics/constraints/constraint_description.hpp"
#include "constrained_dynamics/constraints/joint_constraint.hpp"
#include "constraints/coincidence_rows.hpp"
#include "constraints/validation.hpp"

namespace constrained_dynamics
{

namespace
{

// [1] Cosine of the given axes above which they count as not perpendicular.
constexpr double kPerpendicular = 1e-6;

template <class S>
void universal_rows(
  const RelativeMotionOf<S> & motion, const Eigen::Vector3d & axis_a,
  const Eigen::Vector3d & axis_b, FrameRowsOf<S> & out) noexcept
{
  using Vector3 = typename RelativeMotionOf<S>::Vector3;
  for (int i = 0; i < 3; ++i)
  {
    position_row(motion, i, out.row[static_cast<std::size_t>(i)]);
  }
  const Vector3 & omega = motion.angular_velocity;
  const Vector3 b = axis_b.cast<S>();
  const Vector3 s = motion.rotation * axis_a.cast<S>();
  const Vector3 s_dot = omega.cross(s);
  FrameRowOf<S> & row = out.row[3];
  row.position = b.dot(s);
  row.angular = s.cross(b);
  row.velocity = row.angular.dot(omega);
  row.bias = -(row.angular.dot(motion.angular_acceleration_bias) + s_dot.cross(b).dot(omega));
}

}  // namespace

UniversalJoint::UniversalJoint(
  std::string name, const System & system, const std::string & frame_a, const std::string & frame_b,
  const Eigen::Vector3d & axis_a, const Eigen::Vector3d & axis_b)
: FrameConstraint(
    name, "universal", system, frame_a, frame_b,
    {{"x", RowLevel::kPosition, false},
     {"y", RowLevel::kPosition, false},
     {"z", RowLevel::kPosition, false},
     {"cross", RowLevel::kPosition, true}}),
  JointCoordinates({"angle_b", "angle_a"}),
  axis_a_(checked_direction("constraint '" + name + "'", "axis_a", axis_a)),
  axis_b_(checked_direction("constraint '" + name + "'", "axis_b", axis_b))
{
  if (!(std::abs(axis_a_.dot(axis_b_)) <= kPerpendicular))
  {
    throw std::invalid_argument(
      "constraint '" + name + "': axis_a and axis_b are not perpendicular: the cosine of their " +
      "angle is " + std::to_string(axis_a_.dot(axis_b_)));
  }
}

Status UniversalJoint::do_frame_rows(
  const RelativeMotion & motion, ConstraintScratch &, FrameRows & out) const noexcept CD_NONBLOCKING
{
  universal_rows(motion, axis_a_, axis_b_, out);
  return Status::kOk;
}

bool UniversalJoint::do_frame_rows_along(
  const RelativeMotionOf<Dual> & motion, FrameRowsOf<Dual> & out) const noexcept
{
  universal_rows(motion, axis_a_, axis_b_, out);
  return true;
}

double UniversalJoint::do_coordinate(const SystemData & data, int index) const noexcept
  CD_NONBLOCKING
{
  RelativeMotion motion;
  relative_motion(data, motion);
  if (index == 0)
  {
    const Eigen::Vector3d s = motion.rotation * axis_a_;
    return std::atan2(axis_b_.dot(axis_a_.cross(s)), axis_a_.dot(s));
  }
  const Eigen::Vector3d b = motion.rotation.transpose() * axis_b_;
  return index == 1 ? std::atan2(axis_a_.dot(b.cross(axis_b_)), axis_b_.dot(b)) : 0.0;
}

ConstraintDescription UniversalJoint::description()
{
  ConstraintDescription description;
  description.type = "universal";
  description.python_name = "Universal";
  description.text =
    "A universal joint: the origins coincide, and an axis of A stays perpendicular to an axis of "
    "B. The rotation of A in B is Rot(axis_b, angle_b) Rot(axis_a, angle_a). Coordinates: "
    "`angle_b`, `angle_a`.";
  description.equation = "R_bᵀ (p_a − p_b) = 0, axis_b · R_bᵀ R_a axis_a = 0";
  description.rows = "`x`, `y`, `z`, `cross` (position)";
  description.keys = with_frames(
    {describe_key("axis_a", KeyKind::kVector, "in A, any nonzero length")
       .with_default(Eigen::Vector3d(1.0, 0.0, 0.0)),
     describe_key("axis_b", KeyKind::kVector, "in B, perpendicular to axis_a as given")
       .with_default(Eigen::Vector3d(0.0, 1.0, 0.0))});
  description.make = [](const ConstraintArguments & given)
  {
    return std::make_shared<const UniversalJoint>(
      given.name, given.system, given.keys.text("frame_a"), given.keys.text("frame_b"),
      given.keys.vector("axis_a"), given.keys.vector("axis_b"));
  };
  return description;
}

}  // namespace constrained_dynamics
