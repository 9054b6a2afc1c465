#include "constrained_dynamics/constraints/knife_edge.hpp"

#include <Eigen/Geometry>

#include "constraints/validation.hpp"

namespace constrained_dynamics
{

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
  const Eigen::Vector3d s = motion.rotation * axis_;
  const Eigen::Vector3d s_dot = motion.angular_velocity.cross(s);
  FrameRow & row = out.row[0];
  row.velocity = s.dot(motion.velocity);
  row.linear = s;
  row.bias = -(s_dot.dot(motion.velocity) + s.dot(motion.acceleration_bias));
  return Status::kOk;
}

}  // namespace constrained_dynamics
