#include "constrained_dynamics/constraints/frame_coincidence.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <Eigen/Geometry>

#include "names.hpp"

namespace constrained_dynamics
{

namespace
{

// 1 + cos(angle) of two axes at which the direction of their misalignment is lost in rounding.
constexpr double kOppositeAxes = 1e-12;

std::vector<RowDescription> describe(
  const std::string & name, const std::vector<std::string> & rows)
{
  std::vector<RowDescription> result;
  for (const std::string & row : rows)
  {
    const int axis =
      index_of_name("constraint '" + name + "': row", row, FrameCoincidence::all_rows());
    result.push_back({row, RowLevel::kPosition, axis >= 3});
  }
  return result;
}

Eigen::Vector3d unit(int axis) { return Eigen::Vector3d::Unit(axis); }

void position_row(const RelativeMotion & motion, int axis, FrameRow & out) noexcept
{
  out.position = motion.position(axis);
  out.velocity = motion.velocity(axis);
  out.linear = unit(axis);
  out.bias = -motion.acceleration_bias(axis);
}

/// φ = 2 ε of one axis.
void quaternion_row(
  const RelativeMotion & motion, const Eigen::Quaterniond & error, int axis,
  FrameRow & out) noexcept
{
  const Eigen::Vector3d & w = motion.angular_velocity;
  const Eigen::Vector3d & w_dot = motion.angular_acceleration_bias;
  const double eta = error.w();
  const Eigen::Vector3d epsilon = error.vec();
  const double eta_dot = -0.5 * w.dot(epsilon);
  const Eigen::Vector3d epsilon_dot = 0.5 * (eta * w + w.cross(epsilon));
  out.position = 2.0 * epsilon(axis);
  out.velocity = 2.0 * epsilon_dot(axis);
  out.angular = eta * unit(axis) + epsilon.cross(unit(axis));
  const Eigen::Vector3d second =
    eta_dot * w + w.cross(epsilon_dot) + eta * w_dot + w_dot.cross(epsilon);
  out.bias = -second(axis);
}

/// φ = √(2/w) s of one axis, s = e_k × a, w = 1 + e_k · a, a = R e_k.
void aligned_axis_row(
  const RelativeMotion & motion, int free_axis, int axis, FrameRow & out) noexcept
{
  const Eigen::Vector3d & omega = motion.angular_velocity;
  const Eigen::Vector3d e_k = unit(free_axis);
  const Eigen::Vector3d a = motion.rotation.col(free_axis);
  const Eigen::Vector3d a_dot = omega.cross(a);
  const Eigen::Vector3d a_ddot = motion.angular_acceleration_bias.cross(a) + omega.cross(a_dot);
  const Eigen::Vector3d across = unit(axis).cross(e_k);  // s_i = across · a
  const double s = across.dot(a);
  const double s_dot = across.dot(a_dot);
  const double s_ddot = across.dot(a_ddot);
  const double w = 1.0 + e_k.dot(a);
  const double w_dot = e_k.dot(a_dot);
  const double w_ddot = e_k.dot(a_ddot);
  const double f = std::sqrt(2.0 / w);
  const double f_dot = -0.5 * f * w_dot / w;
  const double f_ddot = -0.5 * (f_dot * w_dot / w + f * w_ddot / w - f * w_dot * w_dot / (w * w));
  out.position = f * s;
  out.velocity = f_dot * s + f * s_dot;
  // ẋ of x = y · a is (a × y) · ω.
  out.angular = f * a.cross(across) - 0.5 * f / w * s * a.cross(e_k);
  out.bias = -(f_ddot * s + 2.0 * f_dot * s_dot + f * s_ddot);
}

}  // namespace

std::vector<std::string> FrameCoincidence::all_rows() { return {"x", "y", "z", "rx", "ry", "rz"}; }

FrameCoincidence::FrameCoincidence(
  std::string name, const System & system, const std::string & frame_a, const std::string & frame_b,
  const std::vector<std::string> & rows)
: FrameConstraint(name, "frame_coincidence", system, frame_a, frame_b, describe(name, rows))
{
  for (const std::string & row : rows)
  {
    axes_.push_back(index_of_name("row", row, all_rows()));
    rotation_count_ += axes_.back() >= 3 ? 1 : 0;
  }
  if (rotation_count_ == 2)
  {
    for (int axis = 0; axis < 3; ++axis)
    {
      if (std::find(axes_.begin(), axes_.end(), axis + 3) == axes_.end())
      {
        free_axis_ = axis;
      }
    }
  }
}

Status FrameCoincidence::do_frame_rows(
  const RelativeMotion & motion, ConstraintScratch &, FrameRows & out) const noexcept CD_NONBLOCKING
{
  Eigen::Quaterniond error = Eigen::Quaterniond::Identity();
  if (rotation_count_ == 2)
  {
    if (!(1.0 + motion.rotation(free_axis_, free_axis_) > kOppositeAxes))
    {
      return Status::kNonFiniteResult;
    }
  }
  else if (rotation_count_ > 0)
  {
    error = Eigen::Quaterniond(motion.rotation);
    if (error.w() < 0.0)
    {
      error.coeffs() = -error.coeffs();
    }
  }
  for (std::size_t i = 0; i < axes_.size(); ++i)
  {
    if (axes_[i] < 3)
    {
      position_row(motion, axes_[i], out.row[i]);
    }
    else if (rotation_count_ == 2)
    {
      aligned_axis_row(motion, free_axis_, axes_[i] - 3, out.row[i]);
    }
    else
    {
      quaternion_row(motion, error, axes_[i] - 3, out.row[i]);
    }
  }
  return Status::kOk;
}

}  // namespace constrained_dynamics
