// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constraints/validation.hpp"

#include <cmath>
#include <limits>
#include <sstream>
#include <stdexcept>

#include <Eigen/Geometry>

namespace constrained_dynamics
{

namespace
{

std::string number(double value)
{
  std::ostringstream text;
  text.precision(std::numeric_limits<double>::max_digits10);
  text << value;
  return text.str();
}

}  // namespace

Eigen::Vector3d checked_direction(
  const std::string & owner, const std::string & what, const Eigen::Vector3d & vector)
{
  const double length = vector.stableNorm();
  if (!(length > 0.0 && std::isfinite(length)))
  {
    throw std::invalid_argument(
      owner + ": " + what + " is [" + number(vector.x()) + ", " + number(vector.y()) + ", " +
      number(vector.z()) + "]; it must be finite and not zero");
  }
  const Eigen::Vector3d scaled = vector / vector.cwiseAbs().maxCoeff();
  return scaled.normalized();
}

double checked_finite(const std::string & owner, const std::string & what, double value)
{
  if (!std::isfinite(value))
  {
    throw std::invalid_argument(
      owner + ": " + what + " is " + number(value) + "; it must be finite");
  }
  return value;
}

double checked_positive(const std::string & owner, const std::string & what, double value)
{
  if (!(value > 0.0 && std::isfinite(value)))
  {
    throw std::invalid_argument(
      owner + ": " + what + " is " + number(value) + "; it must be positive and finite");
  }
  return value;
}

const RigidBodySystem & checked_robot(const std::string & owner, const System & system)
{
  const RigidBodySystem * robot = system.underlying().as_robot();
  if (!robot)
  {
    throw std::invalid_argument(
      owner + ": the system is not a RigidBodySystem; allowed: systems of robots and bodies");
  }
  return *robot;
}

std::array<Eigen::Vector3d, 2> orthonormal_pair(const Eigen::Vector3d & direction)
{
  Eigen::Index nearest = 0;
  direction.cwiseAbs().maxCoeff(&nearest);
  const Eigen::Vector3d seed = Eigen::Vector3d::Unit((nearest + 1) % 3);
  const Eigen::Vector3d first = (seed - seed.dot(direction) * direction).normalized();
  return {first, direction.cross(first)};
}

}  // namespace constrained_dynamics
