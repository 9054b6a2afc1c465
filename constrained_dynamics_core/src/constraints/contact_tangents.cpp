// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/constraints/contact_tangents.hpp"

#include <stdexcept>

#include <Eigen/Geometry>

#include "constrained_dynamics/constraints/constraint_description.hpp"
#include "constraints/validation.hpp"

namespace constrained_dynamics
{

namespace
{

std::vector<RowDescription> describe(std::size_t direction_count)
{
  std::vector<RowDescription> rows = {{"tangent_1", RowLevel::kVelocity, false}};
  if (direction_count == 0)
  {
    rows.push_back({"tangent_2", RowLevel::kVelocity, false});
  }
  return rows;
}

double checked_radius(const std::string & owner, double radius)
{
  return radius == 0.0 ? 0.0 : checked_positive(owner, "radius", radius);
}

}  // namespace

ContactTangents::ContactTangents(
  std::string name, const System & system, const std::string & frame_a, const std::string & frame_b,
  const Eigen::Vector3d & normal, double radius, const std::vector<Eigen::Vector3d> & directions)
: FrameConstraint(name, "contact_tangents", system, frame_a, frame_b, describe(directions.size()))
{
  const std::string owner = "constraint '" + name + "'";
  const Eigen::Vector3d n = checked_direction(owner, "normal", normal);
  arm_ = -checked_radius(owner, radius) * n;
  directions_ = orthonormal_pair(n);
  if (directions.size() > 1)
  {
    throw std::invalid_argument(
      owner + " has " + std::to_string(directions.size()) + " tangents; allowed: none or one");
  }
  if (!directions.empty())
  {
    const Eigen::Vector3d e = checked_direction(owner, "tangent", directions[0]);
    directions_[0] = checked_direction(owner, "tangent beside the normal", e - n.dot(e) * n);
  }
}

Status ContactTangents::do_frame_rows(
  const RelativeMotion & motion, ConstraintScratch &, FrameRows & out) const noexcept CD_NONBLOCKING
{
  const Eigen::Vector3d slip = motion.velocity + motion.angular_velocity.cross(arm_);
  const Eigen::Vector3d slip_rate =
    motion.acceleration_bias + motion.angular_acceleration_bias.cross(arm_);
  for (std::size_t i = 0; i < static_cast<std::size_t>(row_count()); ++i)
  {
    const Eigen::Vector3d & e = directions_[i];
    FrameRow & row = out.row[i];
    row.velocity = e.dot(slip);
    row.linear = e;
    row.angular = arm_.cross(e);
    row.bias = -e.dot(slip_rate);
  }
  out.wrench_point = motion.position + arm_;
  return Status::kOk;
}

ConstraintDescription ContactTangents::description()
{
  ConstraintDescription description;
  description.type = "contact_tangents";
  description.python_name = "ContactTangents";
  description.text =
    "The slip of a point or a sphere at the origin of A on a plane of B. Friction acts on it; "
    "while "
    "it is enforced, the contact sticks.";
  description.equation = "contact velocity along the tangents = 0";
  description.rows = "`tangent_1`, `tangent_2` (velocity)";
  description.keys = with_frames(
    {describe_key("normal", KeyKind::kVector, "of the plane, in B, any nonzero length")
       .with_default(Eigen::Vector3d(Eigen::Vector3d::UnitZ())),
     describe_key("radius", KeyKind::kNumber, "of a sphere about A [m]")
       .at_least(0.0)
       .with_default(0.0),
     describe_key("tangent", KeyKind::kVector, "in B: one direction of slip instead of two")
       .optional()});
  description.make = [](const ConstraintArguments & given)
  {
    std::vector<Eigen::Vector3d> directions;
    if (given.keys.has("tangent"))
    {
      directions.push_back(given.keys.vector("tangent"));
    }
    return std::make_shared<const ContactTangents>(
      given.name, given.system, given.keys.text("frame_a"), given.keys.text("frame_b"),
      given.keys.vector("normal"), given.keys.number("radius"), directions);
  };
  return description;
}

}  // namespace constrained_dynamics
