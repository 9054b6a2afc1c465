// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <stdexcept>
#include <string>

#include <Eigen/Core>

#include "checked_values.hpp"

namespace constrained_dynamics
{

/// Standard deviations, 0 where none are given.
/// @throw std::invalid_argument for another number than `size`, or a value that is negative or not
/// finite.
inline Eigen::VectorXd checked_deviations(
  const std::string & owner, const std::string & what, const Eigen::VectorXd & given,
  Eigen::Index size)
{
  if (given.size() == 0)
  {
    return Eigen::VectorXd::Zero(size);
  }
  if (given.size() != size)
  {
    throw std::invalid_argument(
      owner + ": " + what + " has " + std::to_string(given.size()) +
      " elements; allowed: " + std::to_string(size) + ", or none");
  }
  for (const double value : given)
  {
    checked_nonnegative(owner, what, value);
  }
  return given;
}

}  // namespace constrained_dynamics
