// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/constraints/formula_binding.hpp"
#include "constrained_dynamics/formula/dual.hpp"
#include "constrained_dynamics/servo/reference_trajectory.hpp"

/// @file
/// What the kinds of references share: values as users give them, made complete.

namespace constrained_dynamics
{

/// "reference of servo-constraint 'hand'".
std::string owner_of(const ReferenceLayout & layout);

/// @throw std::invalid_argument "<owner>: <what> is <value>; allowed: <allowed>".
[[noreturn]] void refuse_number(
  const ReferenceLayout & layout, const std::string & what, double value,
  const std::string & allowed);
double checked_finite(const ReferenceLayout & layout, const std::string & what, double value);
double checked_positive(const ReferenceLayout & layout, const std::string & what, double value);

/// How many values of a reference are given, and what they mean.
class ValueFormat
{
public:
  /// @param what of the values, for the message, e.g. "to".
  /// @throw std::invalid_argument for a count that the servo-constraint does not know.
  ValueFormat(const ReferenceLayout & layout, const std::string & what, std::size_t count);

  int given_count() const { return given_count_; }
  /// Of a pose, the given values are x y z first.
  bool has_position() const { return has_position_; }
  bool has_quaternion() const { return rotation_ == Rotation::kQuaternion; }
  /// Completes given values. Real-time safe: yes.
  void complete(const Jet2 * given, Jet2 * values) const noexcept CD_NONBLOCKING;

private:
  enum class Rotation
  {
    kNone,
    kRollPitchYaw,
    kQuaternion,
  };
  int given_count_;
  bool is_pose_;
  bool has_position_ = true;
  Rotation rotation_ = Rotation::kNone;
};

/// Numbers made complete; the quaternion of a pose of unit length.
/// @throw std::invalid_argument for a wrong count, numbers that are not finite, quaternions of
/// length 0.
Eigen::VectorXd complete_values(
  const ReferenceLayout & layout, const std::string & what, const Eigen::VectorXd & numbers);

/// Formulas of one variable with their derivatives, evaluated with memory of the stack.
class ReferenceFormulas
{
public:
  /// @param parameter name of the variable: "t", or another word.
  /// @throw std::invalid_argument for formulas that cannot be parsed or are too large.
  ReferenceFormulas(
    const ServoConstraint & servo, const ReferenceLayout & layout, const std::string & parameter,
    const std::vector<std::string> & formulas, const FormulaNames & names);

  /// Values at x with their derivatives by it. False where they are not finite. Real-time safe:
  /// yes.
  bool evaluate(double x, Jet2 * out) const noexcept CD_NONBLOCKING;

private:
  FormulaBinding formulas_;
};

/// The rotation from one unit quaternion to another about one axis, by the shorter way.
class TurnBetween
{
public:
  TurnBetween() = default;
  TurnBetween(const Eigen::Vector4d & from, const Eigen::Vector4d & to);
  /// The quaternion at a fraction 0 to 1 of the way. Real-time safe: yes.
  void evaluate(const Jet2 & fraction, Jet2 * quaternion) const noexcept CD_NONBLOCKING;

private:
  Eigen::Vector4d from_ = Eigen::Vector4d::UnitW();
  Eigen::Vector3d rotation_vector_ = Eigen::Vector3d::Zero();
};

/// 10 x³ − 15 x⁴ + 6 x⁵, for 0 ≤ x ≤ 1.
inline Jet2 minimum_jerk_step(const Jet2 & x) noexcept
{
  return x * x * x * (10.0 + x * (-15.0 + 6.0 * x));
}

/// f(x(t)) from f and its derivatives by x.
inline Jet2 compose(const Jet2 & f, const Jet2 & x) noexcept
{
  return {f.value, f.first * x.first, f.second * x.first * x.first + f.first * x.second};
}

}  // namespace constrained_dynamics
