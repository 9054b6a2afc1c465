// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <string>
#include <vector>

#include "constrained_dynamics/constraints/constraint.hpp"
#include "constrained_dynamics/constraints/joint_coupling.hpp"
#include "constrained_dynamics/key_description.hpp"
#include "constrained_dynamics/model/system.hpp"

namespace constrained_dynamics
{

/// The coordinates of the terms of constraint `name`.
/// @throw std::invalid_argument for no terms, and for unknown or repeated coordinates.
std::vector<int> coupled_coordinates(
  const std::string & name, const System & system, const std::vector<CouplingTerm> & terms);

/// The coefficient of a term of constraint `name`.
/// @throw std::invalid_argument if it is 0 or not finite.
double checked_coupling_coefficient(const std::string & name, const CouplingTerm & term);

/// The terms of a key.
std::vector<CouplingTerm> coupling_terms(const NamedNumbers & numbers);

/// Child and parent of every coordinate that has a joint, in order.
std::vector<WrenchBodies> joint_pairs(const System & system, const std::vector<int> & coordinates);

/// Whether every coordinate is the angle of a joint, so that its generalized force is a torque.
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
