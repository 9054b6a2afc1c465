// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "servo/reference_values.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <sstream>
#include <stdexcept>
#include <utility>

#include <Eigen/Geometry>

#include "constraints/validation.hpp"
#include "model/kinematic_tree.hpp"
#include "servo/jet_rotation.hpp"

namespace constrained_dynamics
{

namespace
{

// Memory of the stack for one evaluation of formulas, in doubles: 64 kB.
constexpr int kFormulaMemory = 8192;

/// Formulas over `parameter` are formulas over the time that a definition renames.
FormulaNames with_parameter(const std::string & parameter, const FormulaNames & names)
{
  FormulaNames result = names;
  if (parameter != "t")
  {
    result.definitions.insert(result.definitions.begin(), {parameter, "t"});
  }
  return result;
}

}  // namespace

std::string owner_of(const ReferenceLayout & layout)
{
  return "reference of servo-constraint '" + layout.name() + "'";
}

void refuse_number(
  const ReferenceLayout & layout, const std::string & what, double value,
  const std::string & allowed)
{
  std::ostringstream message;
  message << owner_of(layout) << ": " << what << " is " << value << "; allowed: " << allowed;
  throw std::invalid_argument(message.str());
}

double checked_finite(const ReferenceLayout & layout, const std::string & what, double value)
{
  return checked_finite(owner_of(layout), what, value);
}

double checked_positive(const ReferenceLayout & layout, const std::string & what, double value)
{
  return checked_positive(owner_of(layout), what, value);
}

ValueFormat::ValueFormat(
  const ReferenceLayout & layout, const std::string & what, std::size_t count)
: given_count_(static_cast<int>(count)), is_pose_(layout.is_pose())
{
  std::string allowed = std::to_string(layout.value_count());
  bool known = given_count_ == layout.value_count();
  if (is_pose_)
  {
    const bool turns = layout.has_orientation_rows();
    const bool only_turns = turns && !layout.has_position_rows();
    const bool is_short = given_count_ == 3 && !(turns && !only_turns);
    known = given_count_ == 7 || given_count_ == 6 || is_short || (given_count_ == 4 && only_turns);
    allowed = std::string("x y z and a quaternion (7), x y z and roll pitch yaw (6)") +
              (only_turns ? ", a quaternion (4), roll pitch yaw (3)" : "") +
              (turns ? "" : ", x y z (3)");
    has_position_ = given_count_ >= 6 || (given_count_ == 3 && !only_turns);
    const int left = given_count_ - (has_position_ ? 3 : 0);
    rotation_ = left == 4   ? Rotation::kQuaternion
                : left == 3 ? Rotation::kRollPitchYaw
                            : Rotation::kNone;
  }
  if (!known)
  {
    throw std::invalid_argument(
      owner_of(layout) + ": " + what + " has " + std::to_string(count) +
      " values; allowed: " + allowed);
  }
}

void ValueFormat::complete(const Jet2 * given, Jet2 * values) const noexcept CD_NONBLOCKING
{
  if (!is_pose_)
  {
    std::copy(given, given + given_count_, values);
    return;
  }
  const Jet2 * rotation = given + (has_position_ ? 3 : 0);
  std::fill(values, values + 6, Jet2(0.0));
  values[6] = 1.0;
  if (has_position_)
  {
    std::copy(given, given + 3, values);
  }
  if (rotation_ == Rotation::kQuaternion)
  {
    std::copy(rotation, rotation + 4, values + 3);
  }
  else if (rotation_ == Rotation::kRollPitchYaw)
  {
    quaternion_of_roll_pitch_yaw(rotation, values + 3);
  }
}

Eigen::VectorXd complete_values(
  const ReferenceLayout & layout, const std::string & what, const Eigen::VectorXd & numbers)
{
  const ValueFormat format(layout, what, static_cast<std::size_t>(numbers.size()));
  std::array<Jet2, ReferenceLayout::kMaximumValues> given;
  std::array<Jet2, ReferenceLayout::kMaximumValues> values;
  for (Eigen::Index i = 0; i < numbers.size(); ++i)
  {
    checked_finite(layout, "value " + std::to_string(i + 1) + " of " + what, numbers(i));
    given[static_cast<std::size_t>(i)] = numbers(i);
  }
  format.complete(given.data(), values.data());
  Eigen::VectorXd result(layout.value_count());
  for (Eigen::Index i = 0; i < result.size(); ++i)
  {
    result(i) = values[static_cast<std::size_t>(i)].value;
  }
  if (layout.is_pose())
  {
    const double length = result.tail<4>().stableNorm();
    if (!(length >= kShortestQuaternion && std::isfinite(length)))
    {
      refuse_number(layout, "length of the quaternion of " + what, length, "finite and above 0");
    }
    result.tail<4>() /= length;
  }
  return result;
}

ReferenceFormulas::ReferenceFormulas(
  const ServoConstraint & servo, const ReferenceLayout & layout, const std::string & parameter,
  const std::vector<std::string> & formulas, const FormulaNames & names)
: formulas_(
    servo.system(), with_parameter(parameter, names), FormulaLevel::kTime, formulas,
    owner_of(layout))
{
  if (formulas_.jet_scratch_size() > kFormulaMemory)
  {
    refuse_number(
      layout, "memory of the formulas [numbers]", formulas_.jet_scratch_size(),
      "at most " + std::to_string(kFormulaMemory));
  }
}

bool ReferenceFormulas::evaluate(double x, Jet2 * out) const noexcept CD_NONBLOCKING
{
  double memory[kFormulaMemory];
  const Jet2 * found = formulas_.evaluate_jets(x, memory);
  if (!found)
  {
    return false;
  }
  std::copy(found, found + formulas_.output_count(), out);
  return true;
}

TurnBetween::TurnBetween(const Eigen::Vector4d & from, const Eigen::Vector4d & to) : from_(from)
{
  const Eigen::Quaterniond turn =
    (Eigen::Quaterniond(to) * Eigen::Quaterniond(from).conjugate()).normalized();
  const Jet2 quaternion[4] = {turn.x(), turn.y(), turn.z(), turn.w()};
  Jet2 vector[3];
  rotation_vector_of_quaternion(quaternion, vector);
  rotation_vector_ << vector[0].value, vector[1].value, vector[2].value;
}

void TurnBetween::evaluate(const Jet2 & fraction, Jet2 * quaternion) const noexcept CD_NONBLOCKING
{
  const Jet2 vector[3] = {
    rotation_vector_(0) * fraction, rotation_vector_(1) * fraction, rotation_vector_(2) * fraction};
  const Jet2 from[4] = {from_(0), from_(1), from_(2), from_(3)};
  quaternion_of_rotation_vector(vector, quaternion);
  multiply_quaternions(quaternion, from, quaternion);
}

}  // namespace constrained_dynamics
