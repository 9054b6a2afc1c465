// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include "constrained_dynamics/export.hpp"
#include "constrained_dynamics/model/rigid_body_system.hpp"
#include "constrained_dynamics/model/system.hpp"

namespace constrained_dynamics
{

/// The robots of a system, also of one with states of controls; null: it is no RigidBodySystem.
CONSTRAINED_DYNAMICS_EXPORT const RigidBodySystem * robot_of(const System & system);

}  // namespace constrained_dynamics
