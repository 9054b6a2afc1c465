// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "pinocchio_constraints.hpp"

namespace constrained_dynamics::bench
{

PinocchioProblem::PinocchioProblem(const Workload & workload) : robot(workload), data(robot.model)
{
  for (const PinocchioModel::JointClosure & closure : robot.closures)
  {
    constraints.emplace_back(
      closure.is_weld ? pinocchio::CONTACT_6D : pinocchio::CONTACT_3D, robot.model, closure.joint_a,
      closure.placement_a, closure.joint_b, closure.placement_b, pinocchio::LOCAL);
    constraint_data.emplace_back(constraints.back());
  }
}

}  // namespace constrained_dynamics::bench
