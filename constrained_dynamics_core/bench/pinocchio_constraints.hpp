// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <pinocchio/constraints.hpp>

#include <pinocchio/algorithm/proximal.hpp>

#include "pinocchio_model.hpp"

namespace constrained_dynamics::bench
{

/// A workload's robot with its closures as Pinocchio's rigid constraints.
struct PinocchioProblem
{
  explicit PinocchioProblem(const Workload & workload);

  PinocchioModel robot;
  pinocchio::Data data;
  pinocchio::RigidConstraintModelVector constraints;
  pinocchio::RigidConstraintDataVector constraint_data;
};

}  // namespace constrained_dynamics::bench
