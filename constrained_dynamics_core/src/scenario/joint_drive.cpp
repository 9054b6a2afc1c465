// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/scenario/joint_drive.hpp"

#include <utility>

namespace constrained_dynamics
{

JointDrive::JointDrive(
  const System & system, const std::string & joint, double bandwidth,
  std::shared_ptr<const DriveTarget> target)
: Constraint(joint + "_drive", "joint_drive", system, {{"drive", RowLevel::kAcceleration, false}}),
  coordinate_(system.coordinate_index(joint)),
  speed_(system.speed_index("d" + joint)),
  bandwidth_(bandwidth),
  target_(std::move(target))
{
  set_speed_support({speed_});
}

Status JointDrive::do_evaluate(
  const SystemData & data, ConstraintScratch &, RowBlock & rows) const noexcept CD_NONBLOCKING
{
  const double w = bandwidth_;
  const double q = data.terms.coordinates(coordinate_);
  const double u = data.terms.speeds(speed_);
  rows.position.setZero();
  rows.velocity.setZero();
  rows.jacobian.setZero();
  rows.jacobian(0, speed_) = 1.0;
  rows.bias(0) = target_->follows_position
                   ? w * w * (target_->position - q) + 2.0 * w * (target_->velocity - u)
                   : w * (target_->velocity - u);
  return Status::kOk;
}

}  // namespace constrained_dynamics
