// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/servo/reference_trajectory.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "constants.hpp"
#include "model/kinematic_tree.hpp"
#include "servo/jet_rotation.hpp"
#include "servo/reference_values.hpp"

namespace constrained_dynamics
{

namespace
{

using Values = std::array<Jet2, ReferenceLayout::kMaximumValues>;

bool are_finite(const Jet2 * values, int count) noexcept
{
  return std::all_of(values, values + count, [](const Jet2 & x) { return isfinite(x); });
}

// ---- kinds -------------------------------------------------------------------------------------

class ConstantReference : public ReferenceTrajectory
{
public:
  ConstantReference(ReferenceLayout layout, Eigen::VectorXd values)
  : ReferenceTrajectory(std::move(layout)), values_(std::move(values))
  {
  }

protected:
  bool do_evaluate(double /*time*/, Jet2 * values) const noexcept CD_NONBLOCKING override
  {
    std::copy(values_.begin(), values_.end(), values);
    return true;
  }

private:
  Eigen::VectorXd values_;
};

class FormulaReference : public ReferenceTrajectory
{
public:
  FormulaReference(const ReferenceLayout & layout, ValueFormat format, ReferenceFormulas formulas)
  : ReferenceTrajectory(layout), format_(format), formulas_(std::move(formulas))
  {
  }

protected:
  bool do_evaluate(double time, Jet2 * values) const noexcept CD_NONBLOCKING override
  {
    Values given;
    if (!formulas_.evaluate(time, given.data()))
    {
      return false;
    }
    format_.complete(given.data(), values);
    return true;
  }

private:
  ValueFormat format_;
  ReferenceFormulas formulas_;
};

class MinimumJerk : public ReferenceTrajectory
{
public:
  MinimumJerk(
    const ReferenceLayout & layout, Eigen::VectorXd from, Eigen::VectorXd to, double begin,
    double duration)
  : ReferenceTrajectory(layout),
    from_(std::move(from)),
    to_(std::move(to)),
    begin_(begin),
    duration_(duration)
  {
    if (layout.is_pose())
    {
      turn_ = TurnBetween(from_.tail<4>(), to_.tail<4>());
    }
  }

protected:
  bool do_evaluate(double time, Jet2 * values) const noexcept CD_NONBLOCKING override
  {
    const double x = (time - begin_) / duration_;
    const bool is_under_way = x > 0.0 && x < 1.0;
    const Jet2 s =
      is_under_way ? minimum_jerk_step(Jet2(x, 1.0 / duration_, 0.0)) : Jet2(x > 0.0 ? 1.0 : 0.0);
    const Eigen::Index linear = layout().is_pose() ? 3 : from_.size();
    for (Eigen::Index i = 0; i < linear; ++i)
    {
      // Exact at both ends.
      values[i] = (1.0 - s) * from_(i) + s * to_(i);
    }
    if (layout().is_pose())
    {
      turn_.evaluate(s, values + linear);
    }
    return true;
  }

private:
  Eigen::VectorXd from_;
  Eigen::VectorXd to_;
  double begin_;
  double duration_;
  TurnBetween turn_;
};

class Lissajous : public ReferenceTrajectory
{
public:
  Lissajous(const ReferenceLayout & layout, ValueFormat format, Oscillation oscillation)
  : ReferenceTrajectory(layout), format_(format), wave_(std::move(oscillation))
  {
  }

protected:
  bool do_evaluate(double time, Jet2 * values) const noexcept CD_NONBLOCKING override
  {
    Values given;
    for (Eigen::Index i = 0; i < wave_.centre.size(); ++i)
    {
      double angle = wave_.rate(i) * time;
      if (!std::isfinite(angle))
      {
        angle = wave_.rate(i) * std::fmod(time, 2.0 * kPi / wave_.rate(i));
      }
      given[static_cast<std::size_t>(i)] =
        wave_.centre(i) +
        wave_.amplitude(i) * sin(Jet2(angle + wave_.phase(i), wave_.rate(i), 0.0));
    }
    format_.complete(given.data(), values);
    return true;
  }

private:
  ValueFormat format_;
  Oscillation wave_;
};

}  // namespace

// ---- ReferenceLayout ---------------------------------------------------------------------------

ReferenceLayout::ReferenceLayout(const ServoConstraint & servo)
: name_(servo.name()),
  position_size_(servo.position_size()),
  velocity_size_(servo.velocity_size()),
  is_pose_(servo.has_pose_reference())
{
  if (is_pose_)
  {
    kinds_.assign(7, Kind::kPose);
    for (const RowDescription & row : servo.rows())
    {
      (row.rotational ? has_orientation_rows_ : has_position_rows_) = true;
    }
    return;
  }
  for (const RowDescription & row : servo.rows())
  {
    kinds_.push_back(
      velocity_size_ == 0                ? Kind::kForce
      : row.level == RowLevel::kVelocity ? Kind::kVelocity
                                         : Kind::kPosition);
  }
  const int expected = velocity_size_ == 0 ? 0 : servo.row_count();
  if (position_size_ != servo.row_count() || velocity_size_ != expected)
  {
    throw std::invalid_argument(
      owner_of(*this) + ": its sizes are " + std::to_string(position_size_) + " and " +
      std::to_string(velocity_size_) + "; allowed: those of a pose, or one number a row");
  }
  if (value_count() > kMaximumValues)
  {
    refuse_number(
      *this, "number of values", value_count(), "at most " + std::to_string(kMaximumValues));
  }
}

bool ReferenceLayout::fits(const ServoReference & reference) const noexcept CD_NONBLOCKING
{
  return reference.position.size() == position_size_ &&
         reference.velocity.size() == velocity_size_ &&
         reference.acceleration.size() == velocity_size_;
}

bool ReferenceLayout::read(const ServoReference & reference, Jet2 * values) const noexcept
  CD_NONBLOCKING
{
  const Eigen::VectorXd & x = reference.position;
  const Eigen::VectorXd & v = reference.velocity;
  const Eigen::VectorXd & a = reference.acceleration;
  for (int i = 0; i < value_count(); ++i)
  {
    switch (kinds_[static_cast<std::size_t>(i)])
    {
      case Kind::kVelocity:
        values[i] = Jet2(v(i), a(i), 0.0);
        break;
      case Kind::kForce:
        values[i] = x(i);
        break;
      default:
        // Rates of a pose's last element come below.
        values[i] = Jet2(x(i), i < velocity_size_ ? v(i) : 0.0, i < velocity_size_ ? a(i) : 0.0);
    }
  }
  if (is_pose_)
  {
    const double length = x.tail<4>().stableNorm();
    if (!(length >= kShortestQuaternion && std::isfinite(length)))
    {
      return false;
    }
    const Eigen::Vector4d quaternion = x.tail<4>() / length;
    quaternion_from_rates(quaternion.data(), v.data() + 3, a.data() + 3, values + 3);
  }
  return are_finite(values, value_count());
}

bool ReferenceLayout::write(const Jet2 * values, ServoReference & out) const noexcept CD_NONBLOCKING
{
  double turn_rate[3] = {};
  double turn_acceleration[3] = {};
  bool finite = are_finite(values, value_count());
  if (is_pose_)
  {
    rates_of_quaternion(values + 3, turn_rate, turn_acceleration);
    for (int i = 0; i < 3; ++i)
    {
      finite = finite && std::isfinite(turn_rate[i]) && std::isfinite(turn_acceleration[i]);
    }
  }
  if (!finite)
  {
    return false;
  }
  for (int i = 0; i < value_count(); ++i)
  {
    switch (kinds_[static_cast<std::size_t>(i)])
    {
      case Kind::kVelocity:
        out.position(i) = 0.0;
        out.velocity(i) = values[i].value;
        out.acceleration(i) = values[i].first;
        break;
      case Kind::kForce:
        out.position(i) = values[i].value;
        break;
      default:
        out.position(i) = values[i].value;
        if (i < velocity_size_)
        {
          const bool turns = is_pose_ && i >= 3;
          out.velocity(i) = turns ? turn_rate[i - 3] : values[i].first;
          out.acceleration(i) = turns ? turn_acceleration[i - 3] : values[i].second;
        }
    }
  }
  return true;
}

bool ReferenceLayout::rest(ServoReference & reference) const noexcept CD_NONBLOCKING
{
  Values values;
  if (!read(reference, values.data()))
  {
    return false;
  }
  std::transform(
    values.begin(), values.end(), values.begin(), [](const Jet2 & x) { return Jet2(x.value); });
  return write(values.data(), reference);
}

// ---- ReferenceTrajectory -----------------------------------------------------------------------

ReferenceTrajectory::ReferenceTrajectory(ReferenceLayout layout) : layout_(std::move(layout)) {}

ReferenceTrajectory::~ReferenceTrajectory() = default;

bool ReferenceTrajectory::evaluate_values(double time, Jet2 * values) const noexcept CD_NONBLOCKING
{
  if (!do_evaluate(time, values))
  {
    return false;
  }
  if (layout_.is_pose() && !normalise_quaternion(values + 3))
  {
    return false;
  }
  return are_finite(values, layout_.value_count());
}

Status ReferenceTrajectory::evaluate(double time, ServoReference & out) const noexcept
  CD_NONBLOCKING
{
  if (!layout_.fits(out))
  {
    return Status::kSizeMismatch;
  }
  if (!std::isfinite(time))
  {
    return Status::kNonFiniteInput;
  }
  Values values;
  if (!evaluate_values(time, values.data()) || !layout_.write(values.data(), out))
  {
    return Status::kNonFiniteResult;
  }
  return Status::kOk;
}

// ---- making them -------------------------------------------------------------------------------

ReferencePointer make_constant_reference(
  const ServoConstraint & servo, const Eigen::VectorXd & values)
{
  const ReferenceLayout layout(servo);
  return std::make_shared<const ConstantReference>(
    layout, complete_values(layout, "values", values));
}

ReferencePointer make_formula_reference(
  const ServoConstraint & servo, const std::vector<std::string> & formulas,
  const FormulaNames & names)
{
  const ReferenceLayout layout(servo);
  const ValueFormat format(layout, "values", formulas.size());
  return std::make_shared<const FormulaReference>(
    layout, format, ReferenceFormulas(servo, layout, "t", formulas, names));
}

ReferencePointer make_minimum_jerk(
  const ServoConstraint & servo, const Eigen::VectorXd & from, const Eigen::VectorXd & to,
  double begin, double duration)
{
  const ReferenceLayout layout(servo);
  return std::make_shared<const MinimumJerk>(
    layout, complete_values(layout, "from", from), complete_values(layout, "to", to),
    checked_finite(layout, "begin", begin), checked_positive(layout, "duration", duration));
}

ReferencePointer make_lissajous(const ServoConstraint & servo, const Oscillation & oscillation)
{
  const ReferenceLayout layout(servo);
  const auto count = static_cast<std::size_t>(oscillation.centre.size());
  const ValueFormat format(layout, "centre", count);
  if (format.has_quaternion())
  {
    throw std::invalid_argument(
      owner_of(layout) + ": centre has a quaternion, which cannot oscillate number by number; " +
      "allowed: roll pitch yaw, or no orientation");
  }
  const std::pair<const char *, const Eigen::VectorXd *> parts[] = {
    {"centre", &oscillation.centre},
    {"amplitude", &oscillation.amplitude},
    {"rate", &oscillation.rate},
    {"phase", &oscillation.phase}};
  for (const auto & [what, numbers] : parts)
  {
    if (numbers->size() != oscillation.centre.size())
    {
      throw std::invalid_argument(
        owner_of(layout) + ": " + what + " has " + std::to_string(numbers->size()) +
        " values; allowed: as many as centre, " + std::to_string(count));
    }
    for (const double number : *numbers)
    {
      checked_finite(layout, what, number);
    }
  }
  return std::make_shared<const Lissajous>(layout, format, oscillation);
}

}  // namespace constrained_dynamics
