// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constraints/validation.hpp"

#include <stdexcept>

#include <Eigen/Geometry>

namespace constrained_dynamics
{

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
