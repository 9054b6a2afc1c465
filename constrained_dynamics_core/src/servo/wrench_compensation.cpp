// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/servo/wrench_compensation.hpp"

#include <stdexcept>

#include "checked_values.hpp"
#include "constraints/validation.hpp"
#include "servo/frame_motion.hpp"

namespace constrained_dynamics
{

WrenchCompensation::WrenchCompensation(const System & system, const Payload & tool)
: robot_(&checked_robot("wrench compensation", system)),
  frame_(system.frame_index(tool.frame)),
  mass_(checked_nonnegative("tool '" + tool.name + "'", "mass", tool.mass)),
  moment_(tool.mass * tool.com),
  jacobian_(Matrix6X::Zero(6, system.speed_count()))
{
  if (!tool.com.allFinite() || !tool.inertia.allFinite())
  {
    throw std::invalid_argument("tool '" + tool.name + "': com or inertia is not finite");
  }
  const Eigen::Vector3d & c = tool.com;
  inertia_ =
    tool.inertia + tool.mass * (c.squaredNorm() * Eigen::Matrix3d::Identity() - c * c.transpose());
}

Status WrenchCompensation::compensate(
  const SystemData & data, const ConstVectorRef & acceleration, const ConstVectorRef & reading,
  WrenchVector & out) noexcept CD_NONBLOCKING
{
  if (
    reading.size() != 6 || acceleration.size() != jacobian_.cols() ||
    data.terms.speeds.size() != jacobian_.cols())
  {
    return Status::kSizeMismatch;
  }
  if (!reading.allFinite() || !acceleration.allFinite())
  {
    return Status::kNonFiniteInput;
  }
  const FrameMotion motion(*robot_, data, frame_, acceleration, jacobian_);
  WrenchVector external = reading - offset_;
  external.head<3>() += motion.force(mass_, moment_);
  external.tail<3>() += motion.torque(moment_, inertia_);
  if (!external.allFinite())
  {
    return Status::kNonFiniteResult;
  }
  out = external;
  return Status::kOk;
}

Status WrenchCompensation::tare(
  const SystemData & data, const ConstVectorRef & acceleration,
  const ConstVectorRef & reading) noexcept CD_NONBLOCKING
{
  WrenchVector left;
  const Status status = compensate(data, acceleration, reading, left);
  if (status == Status::kOk)
  {
    offset_ += left;
  }
  return status;
}

}  // namespace constrained_dynamics
