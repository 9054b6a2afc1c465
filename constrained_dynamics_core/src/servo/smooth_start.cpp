// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "constrained_dynamics/servo/reference_trajectory.hpp"
#include "constraints/validation.hpp"
#include "servo/jet_rotation.hpp"

namespace constrained_dynamics
{

namespace
{

using Values = std::array<Jet2, ReferenceLayout::kMaximumValues>;

}  // namespace

SmoothStart::SmoothStart(ReferencePointer trajectory, double duration)
: trajectory_(std::move(trajectory)), duration_(duration)
{
  if (!trajectory_)
  {
    throw std::invalid_argument("a smooth start has no trajectory; allowed: a reference");
  }
  const std::string owner =
    "smooth start of servo-constraint '" + trajectory_->layout().name() + "'";
  if (duration != 0.0)
  {
    checked_positive(owner, "duration", duration);
  }
  const auto count = static_cast<std::size_t>(trajectory_->layout().value_count());
  difference_.resize(count);
  held_.resize(count);
}

Status SmoothStart::start(double time, const ServoReference & measured) noexcept CD_NONBLOCKING
{
  const ReferenceLayout & layout = trajectory_->layout();
  if (!layout.fits(measured))
  {
    return Status::kSizeMismatch;
  }
  Values now;
  if (!std::isfinite(time) || !layout.read(measured, now.data()))
  {
    return Status::kNonFiniteInput;
  }
  Values desired;
  if (!trajectory_->evaluate_values(time, desired.data()))
  {
    return Status::kNonFiniteResult;
  }
  const auto count = static_cast<std::size_t>(layout.value_count());
  Values difference;
  for (std::size_t i = 0; i < count; ++i)
  {
    difference[i] = now[i] - desired[i];
  }
  if (layout.is_pose())
  {
    // The rotation that leads from the trajectory to the robot, in axes of the reference.
    const Jet2 back[4] = {-desired[3], -desired[4], -desired[5], desired[6]};
    Jet2 turn[4];
    multiply_quaternions(now.data() + 3, back, turn);
    rotation_vector_of_quaternion(turn, difference.data() + 3);
    difference[6] = 0.0;
  }
  if (!std::all_of(
        difference.begin(), difference.begin() + static_cast<std::ptrdiff_t>(count),
        [](const Jet2 & x) { return isfinite(x); }))
  {
    return Status::kNonFiniteInput;
  }
  std::copy_n(difference.begin(), count, difference_.begin());
  std::transform(
    now.begin(), now.begin() + static_cast<std::ptrdiff_t>(count), held_.begin(),
    [](const Jet2 & x) { return Jet2(x.value); });
  start_ = time;
  is_started_ = duration_ > 0.0;
  return Status::kOk;
}

bool SmoothStart::add_difference(double elapsed, Jet2 * values) const noexcept CD_NONBLOCKING
{
  const double T = duration_;
  const Jet2 x(elapsed / T, 1.0 / T, 0.0);
  // Polynomials of degree 5 whose value, first and second derivative at 0 is 1, all else 0.
  const Jet2 cube = x * x * x;
  const Jet2 value = 1.0 - cube * (10.0 - x * (15.0 - 6.0 * x));
  const Jet2 first = T * (x - cube * (6.0 - x * (8.0 - 3.0 * x)));
  const Jet2 second = T * T * 0.5 * (x * x - cube * (3.0 - x * (3.0 - x)));
  const auto fade = [&](const Jet2 & at_start)
  { return at_start.value * value + at_start.first * first + at_start.second * second; };
  const bool is_pose = trajectory_->layout().is_pose();
  const std::size_t linear = is_pose ? 3 : difference_.size();
  for (std::size_t i = 0; i < linear; ++i)
  {
    values[i] += fade(difference_[i]);
  }
  if (!is_pose)
  {
    return true;
  }
  const Jet2 vector[3] = {fade(difference_[3]), fade(difference_[4]), fade(difference_[5])};
  Jet2 turn[4];
  quaternion_of_rotation_vector(vector, turn);
  multiply_quaternions(turn, values + 3, values + 3);
  return normalise_quaternion(values + 3);
}

Status SmoothStart::evaluate(double time, ServoReference & out) const noexcept CD_NONBLOCKING
{
  const double elapsed = time - start_;
  if (!is_started_ || !std::isfinite(time) || elapsed >= duration_)
  {
    return trajectory_->evaluate(time, out);
  }
  const ReferenceLayout & layout = trajectory_->layout();
  if (!layout.fits(out))
  {
    return Status::kSizeMismatch;
  }
  Values values;
  if (elapsed < 0.0)
  {
    std::copy(held_.begin(), held_.end(), values.begin());
  }
  else if (
    !trajectory_->evaluate_values(time, values.data()) || !add_difference(elapsed, values.data()))
  {
    return Status::kNonFiniteResult;
  }
  return layout.write(values.data(), out) ? Status::kOk : Status::kNonFiniteResult;
}

}  // namespace constrained_dynamics
