// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "checked_values.hpp"

#include <cmath>
#include <limits>
#include <sstream>
#include <stdexcept>

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

double checked_nonnegative(const std::string & owner, const std::string & what, double value)
{
  if (!(value >= 0.0 && std::isfinite(value)))
  {
    throw std::invalid_argument(
      owner + ": " + what + " is " + number(value) + "; it must be finite and not negative");
  }
  return value;
}

}  // namespace constrained_dynamics
