#include "constrained_dynamics/constraints/rolling.hpp"

#include <stdexcept>

#include <Eigen/Geometry>

#include "constraints/validation.hpp"

namespace constrained_dynamics
{

namespace
{

// Sine of the tilt below which a disk lies flat: its contact point is lost in rounding.
constexpr double kFlat = 1e-8;

RollingGeometry checked_geometry(const std::string & name, RollingGeometry geometry)
{
  const std::string owner = "constraint '" + name + "'";
  checked_positive(owner, "radius", geometry.radius);
  geometry.normal = checked_direction(owner, "normal", geometry.normal);
  if (geometry.axis)
  {
    geometry.axis = checked_direction(owner, "axis", *geometry.axis);
  }
  if (geometry.semi_axes)
  {
    for (const double length : *geometry.semi_axes)
    {
      checked_positive(owner, "a semi-axis", length);
    }
    if (geometry.axis)
    {
      throw std::invalid_argument(
        owner + ": has semi-axes and an axis; allowed: an ellipsoid or a disk");
    }
  }
  return geometry;
}

std::vector<RowDescription> describe(bool keep_contact)
{
  std::vector<RowDescription> rows;
  if (keep_contact)
  {
    rows.push_back({"normal", RowLevel::kPosition, false});
  }
  rows.push_back({"along", RowLevel::kVelocity, false});
  rows.push_back({"lateral", RowLevel::kVelocity, false});
  return rows;
}

/// The contact point and the directions of the rows, with their rates.
struct Contact
{
  Eigen::Vector3d arm;  // ρ
  Eigen::Vector3d arm_rate;
  Eigen::Vector3d along;
  Eigen::Vector3d along_rate;
  Eigen::Vector3d lateral;
  Eigen::Vector3d lateral_rate;
};

Status disk_contact(
  const RelativeMotion & motion, const RollingGeometry & geometry, Contact & out) noexcept
{
  const Eigen::Vector3d & n = geometry.normal;
  const Eigen::Vector3d k = motion.rotation * *geometry.axis;
  const Eigen::Vector3d k_dot = motion.angular_velocity.cross(k);
  const Eigen::Vector3d k_cross_n = k.cross(n);
  const double sigma = k_cross_n.norm();
  if (!(sigma > kFlat))
  {
    return Status::kNonFiniteResult;
  }
  out.along = k_cross_n / sigma;
  const Eigen::Vector3d turning = k_dot.cross(n);
  out.along_rate = (turning - out.along.dot(turning) * out.along) / sigma;
  out.lateral = n.cross(out.along);
  out.lateral_rate = n.cross(out.along_rate);
  out.arm = -geometry.radius * out.along.cross(k);
  out.arm_rate = -geometry.radius * (out.along_rate.cross(k) + out.along.cross(k_dot));
  return Status::kOk;
}

/// The arm of an ellipsoid; the directions are those of a sphere.
void ellipsoid_contact(
  const RelativeMotion & motion, const RollingGeometry & geometry, Contact & out) noexcept
{
  const Eigen::Vector3d s_squared = geometry.semi_axes->cwiseAbs2();
  const Eigen::Vector3d mu = -(motion.rotation.transpose() * geometry.normal);
  const Eigen::Vector3d omega_a = motion.rotation.transpose() * motion.angular_velocity;
  const Eigen::Vector3d mu_dot = mu.cross(omega_a);
  const double epsilon = mu.cwiseProduct(*geometry.semi_axes).norm();
  const double epsilon_dot = mu.dot(s_squared.cwiseProduct(mu_dot)) / epsilon;
  const Eigen::Vector3d x = s_squared.cwiseProduct(mu) / epsilon;
  const Eigen::Vector3d x_dot =
    s_squared.cwiseProduct(mu_dot - mu * (epsilon_dot / epsilon)) / epsilon;
  out.arm = motion.rotation * x;
  out.arm_rate = motion.angular_velocity.cross(out.arm) + motion.rotation * x_dot;
}

/// The row e · (v + ω × ρ).
void contact_row(
  const RelativeMotion & motion, const Contact & contact, const Eigen::Vector3d & e,
  const Eigen::Vector3d & e_rate, FrameRow & out) noexcept
{
  const Eigen::Vector3d & omega = motion.angular_velocity;
  const Eigen::Vector3d slip = motion.velocity + omega.cross(contact.arm);
  const Eigen::Vector3d slip_rate = motion.acceleration_bias +
                                    motion.angular_acceleration_bias.cross(contact.arm) +
                                    omega.cross(contact.arm_rate);
  out.velocity = e.dot(slip);
  out.linear = e;
  out.angular = contact.arm.cross(e);
  out.bias = -(e_rate.dot(slip) + e.dot(slip_rate));
}

}  // namespace

Rolling::Rolling(
  std::string name, const System & system, const std::string & frame_a, const std::string & frame_b,
  const RollingGeometry & geometry)
: FrameConstraint(name, "rolling", system, frame_a, frame_b, describe(geometry.keep_contact)),
  geometry_(checked_geometry(name, geometry)),
  tangents_(orthonormal_pair(geometry_.normal))
{
}

Status Rolling::do_frame_rows(
  const RelativeMotion & motion, ConstraintScratch &, FrameRows & out) const noexcept CD_NONBLOCKING
{
  const Eigen::Vector3d & n = geometry_.normal;
  const Eigen::Vector3d zero = Eigen::Vector3d::Zero();
  Contact contact{-geometry_.radius * n, zero, tangents_[0], zero, tangents_[1], zero};
  if (geometry_.semi_axes)
  {
    ellipsoid_contact(motion, geometry_, contact);
  }
  if (geometry_.axis)
  {
    const Status status = disk_contact(motion, geometry_, contact);
    if (status != Status::kOk)
    {
      return status;
    }
  }
  std::size_t i = 0;
  if (geometry_.keep_contact)
  {
    contact_row(motion, contact, n, zero, out.row[i]);
    out.row[i].position = n.dot(motion.position + contact.arm);
    ++i;
  }
  contact_row(motion, contact, contact.along, contact.along_rate, out.row[i++]);
  contact_row(motion, contact, contact.lateral, contact.lateral_rate, out.row[i]);
  out.wrench_point = motion.position + contact.arm;
  return Status::kOk;
}

}  // namespace constrained_dynamics
