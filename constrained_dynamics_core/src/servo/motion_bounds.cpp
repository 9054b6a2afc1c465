// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "servo/motion_bounds.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <stdexcept>
#include <string>

#include "constants.hpp"
#include "constrained_dynamics/model/rigid_body_system.hpp"

namespace constrained_dynamics
{

namespace
{

// The remaining margin to the largest rate decays within 10 ms, or two periods if these are longer.
constexpr double kDecay = 100.0;
constexpr double kPeriods = 2.0;
// Fraction of the largest velocity that is reserved for changes of the motion while controls are
// held: per second of period, and its maximum.
constexpr double kHeldMargin = 20.0;
constexpr double kMostMargin = 0.05;
// The last part of the approach to a limit is slower than the decay, so that the decay can follow.
constexpr double kDecayOverStiffness = 4.0;

// Accelerations below this fraction of the deceleration are ignored.
constexpr double kRestTolerance = 1e-10;

/// One number per coordinate: the given values, or `fallback` for each.
template <class Fallback>
Eigen::VectorXd values(
  const char * name, const Eigen::VectorXd & given, const System & system,
  const Fallback & fallback)
{
  const Eigen::Index count = system.coordinate_count();
  Eigen::VectorXd result(count);
  if (given.size() != 0 && given.size() != count)
  {
    std::ostringstream message;
    message << "servo motion limit " << name << " has " << given.size()
            << " values; allowed: one a coordinate, " << count;
    throw std::invalid_argument(message.str());
  }
  for (Eigen::Index i = 0; i < count; ++i)
  {
    result(i) = given.size() != 0 ? given(i) : fallback(i);
  }
  return result;
}

}  // namespace

MotionBounds::MotionBounds(const System & system, const MotionLimits & limits, double period)
: decay_(period > 0.0 ? std::min(kDecay, 1.0 / (kPeriods * period)) : kDecay),
  stiffness_(decay_ / kDecayOverStiffness)
{
  const RigidBodySystem * robot = system.underlying().as_robot();
  const auto stated = [&](Eigen::Index i) -> RigidBodySystem::Limits
  {
    const auto index = static_cast<std::size_t>(i);
    return robot != nullptr && limits.enabled && index < robot->limits().size()
             ? robot->limits()[index]
             : RigidBodySystem::Limits{};
  };
  // A description without a limit contains 0.
  const auto is_range = [](const RigidBodySystem::Limits & l) { return l.lower < l.upper; };
  const Eigen::VectorXd lower = values(
    "lower", limits.lower, system,
    [&](Eigen::Index i) { return is_range(stated(i)) ? stated(i).lower : -kInfinity; });
  const Eigen::VectorXd upper = values(
    "upper", limits.upper, system,
    [&](Eigen::Index i) { return is_range(stated(i)) ? stated(i).upper : kInfinity; });
  const Eigen::VectorXd velocity = values(
    "velocity", limits.velocity, system,
    [&](Eigen::Index i) { return stated(i).velocity > 0.0 ? stated(i).velocity : kInfinity; });
  const Eigen::VectorXd deceleration = values(
    "deceleration", limits.deceleration, system,
    [&](Eigen::Index i)
    {
      return std::isfinite(velocity(i)) ? velocity(i) / MotionLimits::kStopTime
                                        : MotionLimits::kDeceleration;
    });
  const double reach = 1.0 - std::min(kHeldMargin * period, kMostMargin);
  for (Eigen::Index i = 0; i < system.coordinate_count() && limits.enabled; ++i)
  {
    const std::string & name = system.coordinate_names()[static_cast<std::size_t>(i)];
    std::ostringstream message;
    message << "servo motion limits of '" << name << "': ";
    if (!(lower(i) < upper(i)))
    {
      message << "lower " << lower(i) << " and upper " << upper(i) << "; allowed: lower < upper";
      throw std::invalid_argument(message.str());
    }
    if (!(velocity(i) > 0.0))
    {
      message << "velocity " << velocity(i) << "; allowed: above 0";
      throw std::invalid_argument(message.str());
    }
    if (!(deceleration(i) > 0.0 && std::isfinite(deceleration(i))))
    {
      message << "deceleration " << deceleration(i) << "; allowed: finite and above 0";
      throw std::invalid_argument(message.str());
    }
    if (std::isfinite(lower(i)) || std::isfinite(upper(i)) || std::isfinite(velocity(i)))
    {
      bounds_.push_back(
        {static_cast<int>(i), lower(i), upper(i), reach * velocity(i), deceleration(i)});
    }
  }
  lower_.setZero(count());
  upper_.setZero(count());
  brake_.setZero(count());
}

double MotionBounds::most(const Bound & bound, double distance, double rate) const noexcept
{
  const double a = bound.deceleration;
  double result = decay_ * (bound.velocity - rate);
  if (distance < kInfinity)
  {
    const double close = a / (stiffness_ * stiffness_);
    double limit = std::max(stiffness_ * distance, -bound.velocity);
    double slope = stiffness_;
    if (distance > close)
    {
      limit = std::sqrt(a * (2.0 * distance - close));
      slope = a / limit;
    }
    result = std::min(result, decay_ * (limit - rate) - slope * rate);
  }
  return std::max(result, -2.0 * a);
}

void MotionBounds::update(const SystemTerms & terms) noexcept CD_NONBLOCKING
{
  for (std::size_t k = 0; k < bounds_.size(); ++k)
  {
    const Bound & bound = bounds_[k];
    const auto i = static_cast<Eigen::Index>(k);
    const double q = terms.coordinates(bound.coordinate);
    const double rate = terms.rates(bound.coordinate);
    upper_(i) = most(bound, bound.upper - q, rate);
    lower_(i) = -most(bound, q - bound.lower, -rate);
    if (lower_(i) > upper_(i))
    {
      // Already beyond a limit: the direction of the motion decides.
      (rate > 0.0 ? lower_(i) : upper_(i)) = rate > 0.0 ? upper_(i) : lower_(i);
    }
    // At rest at a limit, round-off is not a motion towards it.
    lower_(i) -= kRestTolerance * bound.deceleration;
    upper_(i) += kRestTolerance * bound.deceleration;
    brake_(i) = std::clamp(-decay_ * rate, -bound.deceleration, bound.deceleration);
  }
}

}  // namespace constrained_dynamics
