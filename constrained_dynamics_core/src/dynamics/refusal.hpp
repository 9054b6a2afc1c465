// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <stdexcept>
#include <string>

#include "constrained_dynamics/dynamics/dynamics.hpp"
#include "constrained_dynamics/formulations/formulation.hpp"

namespace constrained_dynamics
{

/// Refuses dynamics with forces that depend on constraint forces (E45) where these are left out.
/// @throw std::invalid_argument naming `user`.
inline void refuse_multiplier_forces(const Dynamics & dynamics, const std::string & user)
{
  if (dynamics.formulation().multiplier_forces() != nullptr)
  {
    throw std::invalid_argument(
      user +
      " cannot be used with forces that depend on constraint forces ('lambda' in 'force', "
      "'inputs' or 'external')");
  }
}

}  // namespace constrained_dynamics
