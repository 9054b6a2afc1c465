// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/model/robot_of.hpp"

#include "constrained_dynamics/model/control_state_system.hpp"

namespace constrained_dynamics
{

const RigidBodySystem * robot_of(const System & system)
{
  return dynamic_cast<const RigidBodySystem *>(&underlying(system));
}

}  // namespace constrained_dynamics
