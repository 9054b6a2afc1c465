// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <vector>

#include "constrained_dynamics/constraints/constraint.hpp"
#include "constrained_dynamics/model/system.hpp"

namespace constrained_dynamics
{

/// Child and parent of every coordinate that has a joint, in order.
std::vector<WrenchBodies> joint_pairs(const System & system, const std::vector<int> & coordinates);

/// Whether every coordinate belongs to a joint that is turned by torque alone.
bool are_angles(const System & system, const std::vector<int> & coordinates);

/// All speeds that the rates of the coordinates depend on.
std::vector<int> speeds_of_coordinates(const System & system, const std::vector<int> & coordinates);

/// The wrenches of a generalized force on a coordinate that has a joint. Real-time safe: yes.
void fill_joint_pair(
  const System & system, const SystemData & data, int coordinate, double generalized_force,
  WrenchPair & out) noexcept CD_NONBLOCKING;

/// Adds the part w q_i of row `row` that is Σ w_i q_i − f(t) to its derivatives, and the force λ w
/// on coordinate i to `force` (nq). Real-time safe: yes.
void differentiate_coordinate_term(
  const SystemDerivatives & derivatives, int coordinate, double weight, double multiplier,
  Eigen::Index row, RowDerivatives & out, VectorRef force) noexcept CD_NONBLOCKING;

}  // namespace constrained_dynamics
