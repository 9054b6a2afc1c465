// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/constraints/rolling.hpp"

#include <stdexcept>

#include <Eigen/Geometry>

#include "constrained_dynamics/constraints/constraint_description.hpp"
#include "constrained_dynamics/constraints/drawn_part.hpp"
#include "constraints/validation.hpp"

namespace constrained_dynamics
{

namespace
{

// Sine of the tilt below which a disk lies flat: round-off hides its contact point.
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
template <class S>
struct Contact
{
  using Vector3 = Eigen::Matrix<S, 3, 1>;

  Vector3 arm;  // ρ
  Vector3 arm_rate;
  Vector3 along;
  Vector3 along_rate;
  Vector3 lateral;
  Vector3 lateral_rate;
};

template <class S>
Status disk_contact(
  const RelativeMotionOf<S> & motion, const RollingGeometry & geometry, Contact<S> & out) noexcept
{
  using Vector3 = typename Contact<S>::Vector3;
  const Vector3 n = geometry.normal.cast<S>();
  const Vector3 k = motion.rotation * geometry.axis->cast<S>();
  const Vector3 k_dot = motion.angular_velocity.cross(k);
  const Vector3 k_cross_n = k.cross(n);
  const S sigma = k_cross_n.norm();
  if (!(sigma > kFlat))
  {
    return Status::kNonFiniteResult;
  }
  out.along = k_cross_n / sigma;
  const Vector3 turning = k_dot.cross(n);
  out.along_rate = (turning - out.along.dot(turning) * out.along) / sigma;
  out.lateral = n.cross(out.along);
  out.lateral_rate = n.cross(out.along_rate);
  out.arm = S(-geometry.radius) * out.along.cross(k);
  out.arm_rate = S(-geometry.radius) * (out.along_rate.cross(k) + out.along.cross(k_dot));
  return Status::kOk;
}

/// The arm of an ellipsoid; the directions are those of a sphere.
template <class S>
void ellipsoid_contact(
  const RelativeMotionOf<S> & motion, const RollingGeometry & geometry, Contact<S> & out) noexcept
{
  using Vector3 = typename Contact<S>::Vector3;
  const Vector3 s = geometry.semi_axes->cast<S>();
  const Vector3 s_squared = s.cwiseProduct(s);
  const Vector3 mu = -(motion.rotation.transpose() * geometry.normal.cast<S>());
  const Vector3 omega_a = motion.rotation.transpose() * motion.angular_velocity;
  const Vector3 mu_dot = mu.cross(omega_a);
  const Vector3 s_mu = s.cwiseProduct(mu);
  const S epsilon = s_mu.norm();
  const Vector3 s_squared_mu = s_squared.cwiseProduct(mu);
  const S epsilon_dot = s_squared_mu.dot(mu_dot) / epsilon;
  const Vector3 x = s_squared_mu / epsilon;
  const Vector3 x_dot = (s_squared.cwiseProduct(mu_dot) - x * epsilon_dot) / epsilon;
  out.arm = motion.rotation * x;
  out.arm_rate = motion.angular_velocity.cross(out.arm) + motion.rotation * x_dot;
}

/// The row e · (v + ω × ρ).
template <class S>
void contact_row(
  const RelativeMotionOf<S> & motion, const Contact<S> & contact,
  const typename Contact<S>::Vector3 & e, const typename Contact<S>::Vector3 & e_rate,
  FrameRowOf<S> & out) noexcept
{
  using Vector3 = typename Contact<S>::Vector3;
  const Vector3 & omega = motion.angular_velocity;
  const Vector3 slip = motion.velocity + omega.cross(contact.arm);
  const Vector3 slip_rate = motion.acceleration_bias +
                            motion.angular_acceleration_bias.cross(contact.arm) +
                            omega.cross(contact.arm_rate);
  out.velocity = e.dot(slip);
  out.linear = e;
  out.angular = contact.arm.cross(e);
  out.bias = -(e_rate.dot(slip) + e.dot(slip_rate));
}

template <class S>
Status contact_rows(
  const RelativeMotionOf<S> & motion, const RollingGeometry & geometry,
  const std::array<Eigen::Vector3d, 2> & tangents, FrameRowsOf<S> & out) noexcept
{
  using Vector3 = typename Contact<S>::Vector3;
  const Vector3 n = geometry.normal.cast<S>();
  const Vector3 zero = Vector3::Zero();
  Contact<S> contact{S(-geometry.radius) * n,        zero, tangents[0].template cast<S>(), zero,
                     tangents[1].template cast<S>(), zero};
  if (geometry.semi_axes)
  {
    ellipsoid_contact(motion, geometry, contact);
  }
  if (geometry.axis)
  {
    const Status status = disk_contact(motion, geometry, contact);
    if (status != Status::kOk)
    {
      return status;
    }
  }
  std::size_t i = 0;
  if (geometry.keep_contact)
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
  return contact_rows(motion, geometry_, tangents_, out);
}

bool Rolling::do_frame_rows_along(
  const RelativeMotionOf<Dual> & motion, FrameRowsOf<Dual> & out) const noexcept
{
  return contact_rows(motion, geometry_, tangents_, out) == Status::kOk;
}

std::vector<DrawnPart> Rolling::do_drawing() const
{
  DrawnPart body;
  body.kind = geometry_.semi_axes ? DrawnKind::kEllipsoid
              : geometry_.axis    ? DrawnKind::kDisk
                                  : DrawnKind::kSphere;
  body.size = geometry_.semi_axes.value_or(Eigen::Vector3d::Constant(geometry_.radius));
  body.direction = geometry_.axis.value_or(Eigen::Vector3d::UnitZ());
  DrawnPart plane;
  plane.kind = DrawnKind::kPlane;
  plane.direction = geometry_.normal;
  return {body, plane};
}

namespace
{

std::shared_ptr<const Constraint> make_rolling(const ConstraintArguments & given)
{
  const KeyValues & keys = given.keys;
  RollingGeometry geometry;
  if (keys.has("semi_axes"))
  {
    geometry.semi_axes = keys.vector("semi_axes");
    for (const char * other : {"radius", "axis"})
    {
      if (keys.has(other))
      {
        throw KeyError(other, "allowed: either semi_axes, or radius and axis");
      }
    }
  }
  else if (!keys.has("radius"))
  {
    throw KeyError("", "the key 'radius' is missing");
  }
  else
  {
    geometry.radius = keys.number("radius");
  }
  geometry.normal = keys.vector("normal");
  if (keys.has("axis"))
  {
    geometry.axis = keys.vector("axis");
  }
  geometry.keep_contact = keys.boolean("keep_contact");
  return std::make_shared<const Rolling>(
    given.name, given.system, keys.text("frame_a"), keys.text("frame_b"), geometry);
}

}  // namespace

ConstraintDescription Rolling::description()
{
  ConstraintDescription description;
  description.type = "rolling";
  description.python_name = "Rolling";
  description.text =
    "A sphere, a thin disk (`axis`) or an ellipsoid (`semi_axes` instead of `radius`), with its "
    "centre at the origin of A, rolls without slip on a plane through the origin of B.";
  description.equation = "contact height = 0, contact velocity = 0";
  description.rows = "`normal` (position, with `keep_contact`), `along`, `lateral` (velocity)";
  description.keys = with_frames(
    {describe_key("radius", KeyKind::kNumber, "of the sphere or disk [m]").above(0.0).optional(),
     describe_key("normal", KeyKind::kVector, "of the plane, in B, towards the body")
       .with_default(Eigen::Vector3d(Eigen::Vector3d::UnitZ())),
     describe_key("axis", KeyKind::kVector, "of a disk, in A, any nonzero length").optional(),
     describe_key("semi_axes", KeyKind::kVector, "of an ellipsoid along the axes of A [m], > 0")
       .optional(),
     describe_key("keep_contact", KeyKind::kBoolean, "whether the body stays on the plane")
       .with_default(true)});
  description.make = make_rolling;
  return description;
}

}  // namespace constrained_dynamics
