// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/model/spring.hpp"

#include <cmath>
#include <stdexcept>

#include "checked_values.hpp"
#include "model/spring_law.hpp"

namespace constrained_dynamics
{

namespace
{

// Distance of two points below which their direction is lost in rounding [m].
constexpr double kCoincident = 1e-12;

constexpr int kVariables = 3;  // x, rate, t

FormulaProgram compile(
  const std::string & owner, const std::string & variable, const SpringLaw & law)
{
  FormulaContext context;
  context.add_variable(variable);
  context.add_variable("rate");
  context.add_variable("t");
  for (const auto & [name, value] : law.parameters)
  {
    if (!context.contains(name))
    {
      context.add_parameter(name, value);
    }
  }
  try
  {
    return FormulaProgram(context, {law.formula});
  }
  catch (const std::invalid_argument & error)
  {
    throw std::invalid_argument(
      owner + ": a formula over " + variable + ", rate, t and parameters is needed; " +
      error.what());
  }
}

}  // namespace

SpringEffort::SpringEffort(
  const std::string & owner, const std::string & variable, const SpringLaw & law)
: is_linear_(law.formula.empty()),
  stiffness_(checked_nonnegative(owner, "stiffness", law.stiffness)),
  damping_(checked_nonnegative(owner, "damping", law.damping)),
  rest_(checked_finite(owner, "rest", law.rest))
{
  if (is_linear_)
  {
    return;
  }
  if (stiffness_ != 0.0 || damping_ != 0.0 || rest_ != 0.0)
  {
    throw std::invalid_argument(
      owner + ": a formula replaces stiffness, damping and rest; allowed: either");
  }
  program_ = compile(owner, variable, law);
}

int SpringEffort::scratch_size() const noexcept CD_NONBLOCKING
{
  return is_linear_ ? 0 : kVariables + 1 + program_.tape_size();
}

template <class S>
S SpringEffort::formula(const S & x, const S & rate, double time, S * scratch) const noexcept
  CD_NONBLOCKING
{
  scratch[0] = x;
  scratch[1] = rate;
  scratch[2] = S(time);
  program_.evaluate(scratch, scratch + kVariables + 1, scratch + kVariables);
  return scratch[kVariables];
}

template double SpringEffort::formula(
  const double &, const double &, double, double *) const noexcept CD_NONBLOCKING;
template Dual SpringEffort::formula(const Dual &, const Dual &, double, Dual *) const noexcept
  CD_NONBLOCKING;

Spring::Spring(
  const std::string & name, const std::string & frame_a, const std::string & frame_b,
  const SpringLaw & law, bool cable)
: ForceElement(
    name, "spring", frame_a, frame_b,
    SpringEffort(force_element_title(name), "length", law).scratch_size()),
  effort_(force_element_title(name), "length", law),
  cable_(cable)
{
  checked_nonnegative(force_element_title(name), "rest", law.rest);
}

template <class S>
Status Spring::find(
  const RelativeMotionOf<S> & motion, S * scratch, ElementWrenchOf<S> & wrench,
  ForceElementState * state) const noexcept
{
  using Vector3 = typename RelativeMotionOf<S>::Vector3;
  const Vector3 & p = motion.position;
  const Vector3 & v = motion.velocity;
  const double k = effort_.stiffness();
  const double c = effort_.damping();
  const S squared = p.squaredNorm();
  const bool is_degenerate = !(squared > kCoincident * kCoincident);
  // Where the points coincide, the direction is that of the motion.
  const S length = is_degenerate ? S(0.0) : S(p.norm());
  const bool is_at_rest = !(v.squaredNorm() > 0.0);
  const S rate = is_degenerate ? (is_at_rest ? S(0.0) : S(v.norm())) : S(p.dot(v) / length);
  const S stretch = length - effort_.rest();
  const bool is_slack = effort_.is_linear() && cable_ && !(stretch > 0.0);
  S tension = S(0.0);
  if (!is_slack)
  {
    tension = effort_.is_linear() ? S(k * stretch + c * rate)
                                  : effort_.formula(length, rate, motion.time, scratch);
    tension = cable_ && tension < 0.0 ? S(0.0) : tension;
  }
  if (!is_degenerate)
  {
    wrench.force = (-tension / length) * p;
  }
  else if (effort_.is_linear() && effort_.rest() == 0.0)
  {
    wrench.force = S(-k) * p - S(c) * v;
  }
  else if (tension == 0.0)
  {
    wrench.force.setZero();
  }
  else
  {
    return Status::kNonFiniteResult;
  }
  wrench.torque.setZero();
  if constexpr (std::is_same_v<S, double>)
  {
    const double stored = is_slack ? 0.0 : k * stretch;
    state->value = length;
    state->rate = rate;
    state->effort = tension;
    state->energy = 0.5 * stored * (is_slack ? 0.0 : stretch);
    state->stored_power = stored * rate;
    const double power = -(tension - stored) * rate;
    state->damper_power = effort_.is_linear() ? power : 0.0;
    state->supplied_power = effort_.is_linear() ? 0.0 : power;
  }
  return Status::kOk;
}

Status Spring::do_evaluate(
  const RelativeMotion & motion, double * scratch, ElementWrench & wrench,
  ForceElementState & state) const noexcept CD_NONBLOCKING
{
  return find(motion, scratch, wrench, &state);
}

Status Spring::do_evaluate_along(
  const RelativeMotionOf<Dual> & motion, Dual * scratch,
  ElementWrenchOf<Dual> & wrench) const noexcept CD_NONBLOCKING
{
  return find(motion, scratch, wrench, nullptr);
}

ForceElementDescription Spring::description()
{
  ForceElementDescription description;
  description.type = "spring";
  description.python_name = "Spring";
  description.text =
    "A spring and damper between the origins of A and B, or a cable, which only pulls. Either "
    "`stiffness`, `damping` and `rest`, or `force`. A cable with `stiffness` is slack up to its "
    "rest length. Where both points coincide, the force has no direction: a linear spring with "
    "rest 0 is continued along the motion, a slack cable has no force, otherwise the status is "
    "`non_finite_result`.";
  description.equation = "tension = stiffness (l − rest) + damping l̇, l = |p_a − p_b|";
  description.keys = with_frames(
    {describe_key("stiffness", KeyKind::kNumber, "[N/m]").at_least(0.0).with_default(0.0),
     describe_key("damping", KeyKind::kNumber, "[N s/m]").at_least(0.0).with_default(0.0),
     describe_key("rest", KeyKind::kNumber, "length without tension [m]")
       .at_least(0.0)
       .with_default(0.0),
     describe_key(
       "force", KeyKind::kFormula,
       "tension [N] as a formula over `length`, `rate`, `t` and parameters")
       .optional(),
     describe_key("cable", KeyKind::kBoolean, "whether it only pulls").with_default(false)});
  description.make = [](const ForceElementArguments & given)
  {
    return std::make_shared<const Spring>(
      given.name, given.keys.text("frame_a"), given.keys.text("frame_b"),
      spring_law(given, "force"), given.keys.boolean("cable"));
  };
  return description;
}

}  // namespace constrained_dynamics
