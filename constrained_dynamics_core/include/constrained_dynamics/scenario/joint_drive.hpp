// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <memory>
#include <string>

#include "constrained_dynamics/constraints/constraint.hpp"
#include "constrained_dynamics/export.hpp"

namespace constrained_dynamics
{

/// Target of a drive, written between steps by the simulating thread.
struct DriveTarget
{
  bool follows_position = true;  ///< else the velocity alone
  double position = 0.0;         ///< p [rad, m]
  double velocity = 0.0;         ///< v [rad/s, m/s]
};

/// A stiff drive of a joint with one degree of freedom, as a constraint on acceleration level:
///     u̇ = ω² (p − q) + 2 ω (v − u)      follows a position (critically damped)
///     u̇ = ω (v − u)                     follows a velocity.
/// Its multiplier is the required effort of the motor, including the effects of loops, contacts and
/// the inertia of the robot.
class CONSTRAINED_DYNAMICS_EXPORT JointDrive : public Constraint
{
public:
  /// @param bandwidth ω [1/s], above 0.
  /// @throw std::invalid_argument for a joint that does not have one degree of freedom.
  JointDrive(
    const System & system, const std::string & joint, double bandwidth,
    std::shared_ptr<const DriveTarget> target);

protected:
  Status do_evaluate(const SystemData & data, ConstraintScratch & scratch, RowBlock & rows)
    const noexcept CD_NONBLOCKING override;

private:
  int coordinate_;
  int speed_;
  double bandwidth_;
  std::shared_ptr<const DriveTarget> target_;
};

}  // namespace constrained_dynamics
