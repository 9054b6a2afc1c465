#include "constrained_dynamics/constraints/point_on_plane.hpp"

#include "constraints/validation.hpp"

namespace constrained_dynamics
{

PointOnPlane::PointOnPlane(
  std::string name, const System & system, const std::string & frame_a, const std::string & frame_b,
  const Eigen::Vector3d & normal, double offset)
: FrameConstraint(
    name, "point_on_plane", system, frame_a, frame_b, {{"normal", RowLevel::kPosition, false}}),
  normal_(checked_direction("constraint '" + name + "'", "normal", normal)),
  offset_(checked_finite("constraint '" + name + "'", "offset", offset))
{
}

Status PointOnPlane::do_frame_rows(
  const RelativeMotion & motion, ConstraintScratch &, FrameRows & out) const noexcept CD_NONBLOCKING
{
  FrameRow & row = out.row[0];
  row.position = normal_.dot(motion.position) - offset_;
  row.velocity = normal_.dot(motion.velocity);
  row.linear = normal_;
  row.bias = -normal_.dot(motion.acceleration_bias);
  return Status::kOk;
}

}  // namespace constrained_dynamics
