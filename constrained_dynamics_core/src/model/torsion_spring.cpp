// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <cmath>
#include <stdexcept>

#include <Eigen/Geometry>

#include "checked_values.hpp"
#include "model/spring_law.hpp"
#include "model/twist.hpp"

namespace constrained_dynamics
{

namespace
{

// η² + s² = cos²(half the swing) at which the twist is lost in rounding.
constexpr double kHalfTurn = 1e-12;

/// Rotation vector. Close to 0 by the series of asin(x)/x, whose remainder is below round-off.
template <class S>
Eigen::Matrix<S, 3, 1> rotation_vector(const UnitQuaternion<S> & q) noexcept
{
  using std::atan2;
  using std::sqrt;
  const S squared = q.epsilon.squaredNorm();
  if (squared < 1e-6)
  {
    return (2.0 + squared * (1.0 / 3.0 + squared * 3.0 / 20.0)) * q.epsilon;
  }
  const S x = sqrt(squared);
  return S(2.0 * atan2(x, q.eta) / x) * q.epsilon;
}

/// An angle taken to [−π, π].
template <class S>
S wrapped(const S & angle, double value) noexcept
{
  return angle - 2.0 * kPi * std::round(value / (2.0 * kPi));
}

double value_of(double x) noexcept { return x; }
double value_of(const Dual & x) noexcept { return x.value; }

}  // namespace

TorsionSpring::TorsionSpring(
  const std::string & name, const std::string & frame_a, const std::string & frame_b,
  const SpringLaw & law, const std::optional<Eigen::Vector3d> & axis)
: ForceElement(
    name, "torsion_spring", frame_a, frame_b,
    SpringEffort(force_element_title(name), "angle", law).scratch_size()),
  effort_(force_element_title(name), "angle", law)
{
  if (axis)
  {
    axis_ = checked_direction(force_element_title(name), "axis", *axis);
  }
  else if (!effort_.is_linear() || effort_.rest() != 0.0)
  {
    throw std::invalid_argument(
      force_element_title(name) + ": without axis only stiffness and damping are allowed");
  }
}

template <class S>
Status TorsionSpring::find(
  const RelativeMotionOf<S> & motion, S * scratch, ElementWrenchOf<S> & wrench,
  ForceElementState * state) const noexcept
{
  using Vector3 = typename RelativeMotionOf<S>::Vector3;
  const UnitQuaternion<S> q(motion.rotation);
  const Vector3 & omega = motion.angular_velocity;
  const double k = effort_.stiffness();
  const double c = effort_.damping();
  wrench.force.setZero();
  if (!axis_)  // (E42)
  {
    const Vector3 r = rotation_vector(q);
    wrench.torque = S(-k) * r - S(c) * omega;
    if constexpr (std::is_same_v<S, double>)
    {
      const double angle = r.norm();
      state->value = angle;
      state->rate = angle > 0.0 ? r.dot(omega) / angle : omega.norm();
      state->effort = k * angle + c * state->rate;
      state->energy = 0.5 * k * angle * angle;
      state->stored_power = k * r.dot(omega);
      state->damper_power = -c * omega.squaredNorm();
      state->supplied_power = 0.0;
    }
    return Status::kOk;
  }
  const Vector3 a = axis_->cast<S>();  // (E41)
  if (!(twist_size(q, a) > kHalfTurn))
  {
    return Status::kNonFiniteResult;
  }
  const Vector3 g = twist_gradient(q, a);
  const S angle = twist_angle(q, a);
  const S rate = g.dot(omega);
  const S x = wrapped(S(angle - effort_.rest()), value_of(angle) - effort_.rest());
  const S torque =
    effort_.is_linear() ? S(k * x + c * rate) : effort_.formula(angle, rate, motion.time, scratch);
  wrench.torque = -torque * g;
  if constexpr (std::is_same_v<S, double>)
  {
    state->value = angle;
    state->rate = rate;
    state->effort = torque;
    state->energy = 0.5 * k * x * x;
    state->stored_power = k * x * rate;
    state->damper_power = -c * rate * rate;
    state->supplied_power = effort_.is_linear() ? 0.0 : -torque * rate;
  }
  return Status::kOk;
}

Status TorsionSpring::do_evaluate(
  const RelativeMotion & motion, double * scratch, ElementWrench & wrench,
  ForceElementState & state) const noexcept CD_NONBLOCKING
{
  return find(motion, scratch, wrench, &state);
}

Status TorsionSpring::do_evaluate_along(
  const RelativeMotionOf<Dual> & motion, Dual * scratch,
  ElementWrenchOf<Dual> & wrench) const noexcept CD_NONBLOCKING
{
  return find(motion, scratch, wrench, nullptr);
}

ForceElementDescription TorsionSpring::description()
{
  ForceElementDescription description;
  description.type = "torsion_spring";
  description.python_name = "TorsionSpring";
  description.text =
    "A torsion spring and damper between the axes of A and B. With `axis`, the angle is the twist "
    "of the rotation of A in B about the axis: the angle of a hinge if A turns about it only. It "
    "is in [−π, π]; turns are not counted, and at a deflection of ±π the torque changes its sign. "
    "If A is turned by 180° about an axis across `axis`, the angle is undefined and the status is "
    "`non_finite_result`. Without `axis`, the torque is −`stiffness` r − `damping` ω with the "
    "rotation vector r and the angular velocity ω of A in B.";
  description.equation = "torque = stiffness (angle − rest) + damping d(angle)/dt";
  description.keys = with_frames(
    {describe_key("axis", KeyKind::kVector, "in B, any nonzero length; default: all three axes")
       .optional(),
     describe_key("stiffness", KeyKind::kNumber, "[N m/rad]").at_least(0.0).with_default(0.0),
     describe_key("damping", KeyKind::kNumber, "[N m s/rad]").at_least(0.0).with_default(0.0),
     describe_key("rest", KeyKind::kNumber, "angle without torque [rad]; only with `axis`")
       .with_default(0.0),
     describe_key(
       "torque", KeyKind::kFormula,
       "[N m], a formula over `angle`, `rate`, `t` and parameters; only with `axis`")
       .optional()});
  description.make = [](const ForceElementArguments & given)
  {
    std::optional<Eigen::Vector3d> axis;
    if (given.keys.has("axis"))
    {
      axis = given.keys.vector("axis");
    }
    return std::make_shared<const TorsionSpring>(
      given.name, given.keys.text("frame_a"), given.keys.text("frame_b"),
      spring_law(given, "torque"), axis);
  };
  return description;
}

}  // namespace constrained_dynamics
