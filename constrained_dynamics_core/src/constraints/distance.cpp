#include "constrained_dynamics/constraints/distance.hpp"

#include "constraints/validation.hpp"

namespace constrained_dynamics
{

namespace
{

// Fraction of the length below which the direction of the rod is lost in rounding.
constexpr double kCoincident = 1e-12;

}  // namespace

Distance::Distance(
  std::string name, const System & system, const std::string & frame_a, const std::string & frame_b,
  double length)
: FrameConstraint(
    name, "distance", system, frame_a, frame_b, {{"distance", RowLevel::kPosition, false}}),
  length_(checked_positive("constraint '" + name + "'", "length", length))
{
}

Status Distance::do_frame_rows(
  const RelativeMotion & motion, ConstraintScratch &, FrameRows & out) const noexcept CD_NONBLOCKING
{
  const double l = motion.position.norm();
  if (!(l > kCoincident * length_))
  {
    return Status::kNonFiniteResult;
  }
  const Eigen::Vector3d e = motion.position / l;
  FrameRow & row = out.row[0];
  row.position = l - length_;
  row.velocity = e.dot(motion.velocity);
  row.linear = e;
  const Eigen::Vector3d across = motion.velocity - row.velocity * e;
  row.bias = -(e.dot(motion.acceleration_bias) + across.squaredNorm() / l);
  return Status::kOk;
}

}  // namespace constrained_dynamics
