// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/servo/null_space.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <stdexcept>

namespace constrained_dynamics
{

namespace
{

double checked(const char * what, double value, double low, double high)
{
  if (!(value >= low && value <= high))
  {
    std::ostringstream message;
    message << what << " of a null-space term is " << value << "; allowed: " << low << " to "
            << high;
    throw std::invalid_argument(message.str());
  }
  return value;
}

constexpr double kLargest = 1e12;

}  // namespace

NullSpaceTerm::~NullSpaceTerm() = default;

JointDamping::JointDamping(
  const System & system, double damping, const std::vector<std::string> & speeds)
: damping_(checked("damping", damping, 0.0, kLargest))
{
  for (const std::string & name : speeds.empty() ? system.speed_names() : speeds)
  {
    speeds_.push_back(system.speed_index(name));
  }
}

void JointDamping::add(const SystemData & data, VectorRef force) const noexcept CD_NONBLOCKING
{
  for (const int speed : speeds_)
  {
    force(speed) -= damping_ * data.terms.speeds(speed);
  }
}

Posture::Posture(
  const System & system, const std::vector<std::pair<std::string, double>> & desired,
  double stiffness, double damping)
: stiffness_(checked("stiffness", stiffness, 0.0, kLargest)),
  damping_(checked("damping", damping, 0.0, kLargest))
{
  for (const auto & [name, value] : desired)
  {
    desired_.emplace_back(
      system.coordinate_index(name),
      checked("the desired value of a coordinate", value, -kLargest, kLargest));
  }
}

void Posture::add(const SystemData & data, VectorRef force) const noexcept CD_NONBLOCKING
{
  const SystemTerms & terms = data.terms;
  for (const auto & [coordinate, value] : desired_)
  {
    const double pull =
      stiffness_ * (value - terms.coordinates(coordinate)) - damping_ * terms.rates(coordinate);
    force += pull * terms.kinematic_matrix.row(coordinate).transpose();
  }
}

GivenForce::GivenForce(
  const System & system, const std::vector<std::pair<std::string, double>> & forces)
{
  for (const auto & [name, value] : forces)
  {
    forces_.emplace_back(
      system.coordinate_index(name),
      checked("the force on a coordinate", value, -kLargest, kLargest));
  }
}

void GivenForce::add(const SystemData & data, VectorRef force) const noexcept CD_NONBLOCKING
{
  for (const auto & [coordinate, value] : forces_)
  {
    force += value * data.terms.kinematic_matrix.row(coordinate).transpose();
  }
}

AwayFromLimits::AwayFromLimits(const RigidBodySystem & system, double margin, double force)
: margin_(checked("margin", margin, 1e-6, 0.5)), force_(checked("force", force, 1e-12, kLargest))
{
  for (std::size_t i = 0; i < system.limits().size(); ++i)
  {
    const RigidBodySystem::Limits & limits = system.limits()[i];
    if (std::isfinite(limits.lower) && std::isfinite(limits.upper) && limits.lower < limits.upper)
    {
      bounds_.push_back({static_cast<int>(i), limits.lower, limits.upper});
    }
  }
  if (bounds_.empty())
  {
    throw std::invalid_argument(
      "no coordinate of the system has both bounds; allowed: a robot whose description states "
      "joint limits");
  }
}

void AwayFromLimits::add(const SystemData & data, VectorRef force) const noexcept CD_NONBLOCKING
{
  const SystemTerms & terms = data.terms;
  for (const Bound & bound : bounds_)
  {
    const double q = terms.coordinates(bound.coordinate);
    const double near = margin_ * (bound.upper - bound.lower);
    // 0 at the margin, 1 at the bound and beyond, with a continuous slope.
    const auto push = [&](double distance) noexcept
    {
      const double depth = std::clamp(1.0 - distance / near, 0.0, 1.0);
      return depth * depth;
    };
    const double pull = force_ * (push(q - bound.lower) - push(bound.upper - q));
    if (pull != 0.0)
    {
      force += pull * terms.kinematic_matrix.row(bound.coordinate).transpose();
    }
  }
}

}  // namespace constrained_dynamics
