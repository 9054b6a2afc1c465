// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <array>
#include <string>

#include <Eigen/Core>

#include "constrained_dynamics/model/rigid_body_system.hpp"

namespace constrained_dynamics
{

/// The unit vector along `vector`.
/// @param owner e.g. "constraint 'wall'"; @param what e.g. "normal".
/// @throw std::invalid_argument for a vector that is zero or not finite.
Eigen::Vector3d checked_direction(
  const std::string & owner, const std::string & what, const Eigen::Vector3d & vector);

/// @throw std::invalid_argument for a value that is not finite.
double checked_finite(const std::string & owner, const std::string & what, double value);

/// @throw std::invalid_argument for a value that is not positive and finite.
double checked_positive(const std::string & owner, const std::string & what, double value);

/// @throw std::invalid_argument for a system that is no RigidBodySystem.
const RigidBodySystem & checked_robot(const std::string & owner, const System & system);

/// Two unit vectors that are right-handed with the unit vector `direction`: z gives x and y.
std::array<Eigen::Vector3d, 2> orthonormal_pair(const Eigen::Vector3d & direction);

}  // namespace constrained_dynamics
