// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <memory>

#include "constrained_dynamics/dynamics/dynamics.hpp"
#include "constrained_dynamics/formulations/evaluation.hpp"

namespace constrained_dynamics
{

struct Dynamics::Impl
{
  /// @param given null: Automatic.
  Impl(
    ConstraintSet constraints, DynamicsOptions options, std::shared_ptr<const Formulation> given);

  ConstrainedSystem system;
  std::shared_ptr<const Formulation> formulation;
};

}  // namespace constrained_dynamics
