// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <sstream>
#include <stdexcept>
#include <string>

#include <Eigen/Core>

namespace constrained_dynamics
{

/// @throw std::invalid_argument always: the owner, a colon, and the parts one after the other.
template <typename... Parts>
[[noreturn]] void throw_invalid(const std::string & owner, const Parts &... parts)
{
  std::ostringstream message;
  message << owner << ": ";
  (message << ... << parts);
  throw std::invalid_argument(message.str());
}

/// The unit vector along `vector`.
/// @param owner e.g. "constraint 'wall'"; @param what e.g. "normal".
/// @throw std::invalid_argument for a vector that is zero or not finite.
Eigen::Vector3d checked_direction(
  const std::string & owner, const std::string & what, const Eigen::Vector3d & vector);

/// @throw std::invalid_argument for a value that is not finite.
double checked_finite(const std::string & owner, const std::string & what, double value);

/// @throw std::invalid_argument for a value that is not positive and finite.
double checked_positive(const std::string & owner, const std::string & what, double value);

/// @throw std::invalid_argument for a value that is negative or not finite.
double checked_nonnegative(const std::string & owner, const std::string & what, double value);

}  // namespace constrained_dynamics
