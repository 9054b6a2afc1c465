// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <array>
#include <string>

#include <Eigen/Core>

#include "checked_values.hpp"
#include "constrained_dynamics/model/rigid_body_system.hpp"

namespace constrained_dynamics
{

/// @throw std::invalid_argument for a system that is no RigidBodySystem.
const RigidBodySystem & checked_robot(const std::string & owner, const System & system);

/// Two unit vectors that are right-handed with the unit vector `direction`: z gives x and y.
std::array<Eigen::Vector3d, 2> orthonormal_pair(const Eigen::Vector3d & direction);

}  // namespace constrained_dynamics
