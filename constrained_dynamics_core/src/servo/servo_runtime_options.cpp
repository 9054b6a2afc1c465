// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "servo/servo_runtime_options.hpp"

#include <cmath>
#include <sstream>
#include <stdexcept>
#include <string>

#include "constants.hpp"

namespace constrained_dynamics
{

namespace
{

[[noreturn]] void refuse(const std::string & what, double value, const std::string & allowed)
{
  std::ostringstream message;
  message << what << " is " << value << "; allowed: " << allowed;
  throw std::invalid_argument(message.str());
}

/// The tighter of two bounds, element by element; empty: none.
Eigen::VectorXd tighter(
  const Eigen::VectorXd & a, const Eigen::VectorXd & b, Eigen::Index size, double sign)
{
  Eigen::VectorXd result = Eigen::VectorXd::Constant(size, sign * kInfinity);
  for (const Eigen::VectorXd * bound : {&a, &b})
  {
    if (bound->size() == 0)
    {
      continue;
    }
    if (bound->size() != size)
    {
      refuse(
        "number of limits", static_cast<double>(bound->size()),
        "none, or one per input, " + std::to_string(size));
    }
    result = sign > 0.0 ? result.cwiseMin(*bound).eval() : result.cwiseMax(*bound).eval();
  }
  return result;
}

}  // namespace

const ServoRuntimeOptions & checked(const ServoRuntimeOptions & options)
{
  const auto positive = [](const char * name, double value)
  {
    if (!(value > 0.0 && std::isfinite(value)))
    {
      refuse(name, value, "finite and above 0");
    }
  };
  const auto nonnegative = [](const char * name, double value)
  {
    if (!(value >= 0.0 && std::isfinite(value)))
    {
      refuse(name, value, "finite and not negative");
    }
  };
  positive("period of the cycle", options.period);
  positive("stop_time", options.references.stop_time);
  nonnegative("ramp_time", options.ramp_time);
  nonnegative("smooth_start", options.references.smooth_start);
  nonnegative("reference_timeout", options.references.timeout);
  nonnegative("frozen_speed", options.frozen_speed);
  nonnegative("fallback_damping", options.fallback_damping);
  nonnegative("sample_period", options.sample_period);
  nonnegative("recovery_time", options.recovery_time);
  nonnegative("position_tolerance", options.position_tolerance);
  nonnegative("velocity_tolerance", options.velocity_tolerance);
  nonnegative("reference_step", options.references.largest_step);
  nonnegative("force_step", options.references.largest_force_step);
  if (options.most_recoveries < 0)
  {
    refuse("most_recoveries", options.most_recoveries, "not negative");
  }
  if (options.dropout_cycles < 1)
  {
    refuse("dropout_cycles", options.dropout_cycles, "at least 1");
  }
  return options;
}

InputLimits tighter(const InputLimits & a, const InputLimits & b, Eigen::Index input_count)
{
  return {
    tighter(a.lower, b.lower, input_count, -1.0), tighter(a.upper, b.upper, input_count, 1.0),
    tighter(a.rate, b.rate, input_count, 1.0)};
}

const char * to_string(ServoFallback fallback) noexcept
{
  switch (fallback)
  {
    case ServoFallback::kHold:
      return "hold";
    case ServoFallback::kGravity:
      return "gravity";
    case ServoFallback::kDamp:
      return "damp";
    case ServoFallback::kZero:
      return "zero";
    case ServoFallback::kError:
      return "error";
  }
  return "unknown";
}

const char * to_string(ServoMode mode) noexcept
{
  switch (mode)
  {
    case ServoMode::kInactive:
      return "inactive";
    case ServoMode::kRamp:
      return "ramp";
    case ServoMode::kFollow:
      return "follow";
    case ServoMode::kHold:
      return "hold";
    case ServoMode::kFallback:
      return "fallback";
    case ServoMode::kViolated:
      return "violated";
  }
  return "unknown";
}

const char * to_string(ServoMiss cause) noexcept
{
  switch (cause)
  {
    case ServoMiss::kNone:
      return "none";
    case ServoMiss::kPeriod:
      return "period";
    case ServoMiss::kState:
      return "state";
    case ServoMiss::kFrozen:
      return "frozen";
    case ServoMiss::kCompletion:
      return "completion";
    case ServoMiss::kReference:
      return "reference";
    case ServoMiss::kLaw:
      return "law";
    case ServoMiss::kRecovery:
      return "recovery";
    case ServoMiss::kLatched:
      return "latched";
  }
  return "unknown";
}

ServoFallback servo_fallback(const std::string & name)
{
  for (const ServoFallback fallback :
       {ServoFallback::kHold, ServoFallback::kGravity, ServoFallback::kDamp, ServoFallback::kZero,
        ServoFallback::kError})
  {
    if (name == to_string(fallback))
    {
      return fallback;
    }
  }
  throw std::invalid_argument(
    "fallback is '" + name + "'; allowed: hold, gravity, damp, zero, error");
}

}  // namespace constrained_dynamics
