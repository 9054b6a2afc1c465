// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <string>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/export.hpp"
#include "constrained_dynamics/servo/servo_constraint.hpp"
#include "constrained_dynamics/status.hpp"

namespace constrained_dynamics
{

/// A value of a reference that cannot be meant.
struct RefusedValue
{
  /// Of which kind the value is.
  enum class Kind
  {
    kNone,   ///< nothing is wrong
    kValue,  ///< a value, see ServoConstraint::value_names
    kRate,   ///< a rate, see ServoConstraint::rate_names
    kReach,  ///< distance of a point from where the robot is mounted [m]
    kForce,  ///< a multiplier, beyond what the effort limits can make here
  };
  Kind kind = Kind::kNone;
  int index = 0;  ///< of the value or rate
  double value = 0.0;
  double lower = 0.0;  ///< allowed
  double upper = 0.0;  ///< allowed
};

/// Which references of a servo-constraint can be meant: values of joints lie within the limits of
/// the robot description and their rates within its velocity limits; points lie within the reach of
/// the robot (the length of its stretched chain); nothing is larger than kLargestValue. Constant;
/// may be shared by threads.
class CONSTRAINED_DYNAMICS_EXPORT ReferenceBounds
{
public:
  explicit ReferenceBounds(const ServoConstraint & servo);

  /// What is wrong with a reference of the right sizes. Real-time safe: yes.
  RefusedValue check(const ServoReference & reference) const noexcept CD_NONBLOCKING;
  /// "'joint_1' is 90; allowed: -2.9 to 2.9, the limits of the robot description". Empty for kNone.
  std::string explain(const RefusedValue & refused) const;

  /// Bound of values and rates that nothing else limits.
  static constexpr double kLargestValue = 1e6;

private:
  void bound_joints(const ServoConstraint & servo);
  void bound_reach(const ServoConstraint & servo);

  std::vector<std::string> names_;
  std::vector<std::string> rate_names_;
  Eigen::VectorXd lower_, upper_;  // of the values
  Eigen::VectorXd rate_;           // largest |rate|
  bool has_reach_ = false;
  Eigen::Vector3d centre_ = Eigen::Vector3d::Zero();  // in the frame of the reference [m]
  double reach_ = 0.0;                                // [m]
};

}  // namespace constrained_dynamics
