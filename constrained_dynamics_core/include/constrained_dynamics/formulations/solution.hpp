// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/constraints/constraint.hpp"

namespace constrained_dynamics
{

/// The rows of all constraints at one state, in the order of the set. Rows of inactive constraints
/// are evaluated too.
///
/// The accelerations u̇_d of driven speeds (System::driven_speeds) are known. A has zeros in their
/// columns, and b contains −A_d u̇_d, with u̇_d of the last solve at this state, or 0 before a
/// solve.
struct Rows
{
  Eigen::VectorXd position;         ///< φ (m)
  Eigen::VectorXd velocity;         ///< φ̇, ψ (m)
  Eigen::MatrixXd jacobian;         ///< A (m × n)
  Eigen::VectorXd bias;             ///< b (m), without stabilisation
  Eigen::MatrixXd driven_jacobian;  ///< A_d: the columns of driven speeds, in their order
};

/// Accelerations and forces of a solve, in the order of the set. Rows of inactive constraints have
/// multiplier 0.
struct Solution
{
  Eigen::VectorXd acceleration;      ///< u̇ (n)
  Eigen::VectorXd constraint_force;  ///< F^c (n) (E7)
  Eigen::VectorXd multipliers;       ///< λ (m) (E8)
  Eigen::VectorXd redundancy;        ///< of each row; 0: irreplaceable, 1: redundant
  std::vector<WrenchPair> wrenches;  ///< indexed by ConstraintSet::wrench_offset
  int active_row_count = 0;
  int rank = 0;
  double condition = 1.0;
  double inconsistency = 0.0;
  /// Whether it was found along the tree of bodies, without Q and A (ArticulatedBody).
  bool along_tree = false;
};

}  // namespace constrained_dynamics
