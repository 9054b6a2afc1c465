// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/constraints/distance.hpp"

#include "constrained_dynamics/constraints/constraint_description.hpp"
#include "constrained_dynamics/constraints/drawn_part.hpp"
#include "constraints/validation.hpp"

namespace constrained_dynamics
{

namespace
{

// Fraction of the length below which round-off hides the direction of the rod.
constexpr double kCoincident = 1e-12;

template <class S>
Status rod_row(const RelativeMotionOf<S> & motion, double length, FrameRowOf<S> & row) noexcept
{
  using Vector3 = typename RelativeMotionOf<S>::Vector3;
  const S l = motion.position.norm();
  if (!(l > kCoincident * length))
  {
    return Status::kNonFiniteResult;
  }
  const Vector3 e = motion.position / l;
  row.position = l - length;
  row.velocity = e.dot(motion.velocity);
  row.linear = e;
  const Vector3 across = motion.velocity - row.velocity * e;
  row.bias = -(e.dot(motion.acceleration_bias) + across.squaredNorm() / l);
  return Status::kOk;
}

}  // namespace

Distance::Distance(
  std::string name, const System & system, const std::string & frame_a, const std::string & frame_b,
  double length)
: FrameConstraint(
    name, "distance", system, frame_a, frame_b, {{"distance", RowLevel::kPosition, false}}, 0,
    true),
  length_(checked_positive("constraint '" + name + "'", "length", length))
{
}

Status Distance::do_frame_rows(
  const RelativeMotion & motion, ConstraintScratch &, FrameRows & out) const noexcept CD_NONBLOCKING
{
  return rod_row(motion, length_, out.row[0]);
}

bool Distance::do_frame_rows_along(
  const RelativeMotionOf<Dual> & motion, FrameRowsOf<Dual> & out) const noexcept
{
  return rod_row(motion, length_, out.row[0]) == Status::kOk;
}

std::vector<DrawnPart> Distance::do_drawing() const
{
  DrawnPart rod;
  rod.kind = DrawnKind::kRod;
  return {rod};
}

ConstraintDescription Distance::description()
{
  ConstraintDescription description;
  description.type = "distance";
  description.python_name = "Distance";
  description.text = "A massless rod: the distance between the origins of A and B is constant.";
  description.equation = "|p_a − p_b| = length";
  description.rows = "`distance` (position)";
  description.keys =
    with_frames({describe_key("length", KeyKind::kNumber, "of the rod [m]").above(0.0)});
  description.make = [](const ConstraintArguments & given)
  {
    return std::make_shared<const Distance>(
      given.name, given.system, given.keys.text("frame_a"), given.keys.text("frame_b"),
      given.keys.number("length"));
  };
  return description;
}

}  // namespace constrained_dynamics
