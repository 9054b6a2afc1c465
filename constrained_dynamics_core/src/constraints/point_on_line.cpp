#include "constrained_dynamics/constraints/point_on_line.hpp"

#include "constraints/validation.hpp"

namespace constrained_dynamics
{

PointOnLine::PointOnLine(
  std::string name, const System & system, const std::string & frame_a, const std::string & frame_b,
  const Eigen::Vector3d & direction)
: FrameConstraint(
    name, "point_on_line", system, frame_a, frame_b,
    {{"normal_1", RowLevel::kPosition, false}, {"normal_2", RowLevel::kPosition, false}}),
  normals_(orthonormal_pair(checked_direction("constraint '" + name + "'", "direction", direction)))
{
}

Status PointOnLine::do_frame_rows(
  const RelativeMotion & motion, ConstraintScratch &, FrameRows & out) const noexcept CD_NONBLOCKING
{
  for (std::size_t i = 0; i < normals_.size(); ++i)
  {
    FrameRow & row = out.row[i];
    row.position = normals_[i].dot(motion.position);
    row.velocity = normals_[i].dot(motion.velocity);
    row.linear = normals_[i];
    row.bias = -normals_[i].dot(motion.acceleration_bias);
  }
  return Status::kOk;
}

}  // namespace constrained_dynamics
