// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/dynamics/dynamics.hpp"
#include "constrained_dynamics/export.hpp"
#include "constrained_dynamics/types.hpp"

/// @file
/// Results of a solve for each constraint, in the form used by messages and reports.

namespace constrained_dynamics
{

/// One row of a constraint.
struct RowRecord
{
  double multiplier = 0.0;         ///< λ, in the unit of the row
  double position_residual = 0.0;  ///< φ; 0 of velocity and acceleration rows
  double velocity_residual = 0.0;  ///< φ̇ or ψ; 0 of acceleration rows
  double redundancy = 0.0;         ///< 0: irreplaceable, 1: fully replaceable by other rows
};

/// The force of a constraint between two bodies: both wrenches about one point, in the world.
struct WrenchRecord
{
  Eigen::Vector3d point = Eigen::Vector3d::Zero();        ///< [m]
  Eigen::Vector3d force_on_a = Eigen::Vector3d::Zero();   ///< [N]
  Eigen::Vector3d torque_on_a = Eigen::Vector3d::Zero();  ///< [N m]
  Eigen::Vector3d force_on_b = Eigen::Vector3d::Zero();   ///< [N]
  Eigen::Vector3d torque_on_b = Eigen::Vector3d::Zero();  ///< [N m]
};

/// One constraint.
struct ConstraintRecord
{
  bool active = true;
  bool redundant = false;  ///< a row of it is_redundant
  std::vector<RowRecord> rows;
  std::vector<WrenchRecord> wrenches;
};

/// Row `row` of the last solve. Real-time safe: yes.
CONSTRAINED_DYNAMICS_EXPORT RowRecord
row_record(const Workspace & workspace, int row) noexcept CD_NONBLOCKING;

/// A pair of wrenches, both about the point of the first. Real-time safe: yes.
CONSTRAINED_DYNAMICS_EXPORT WrenchRecord
wrench_record(const WrenchPair & pair) noexcept CD_NONBLOCKING;

/// Whether other rows can replace this one. Only the sum of the forces of such rows is physical.
/// Real-time safe: yes.
CONSTRAINED_DYNAMICS_EXPORT bool is_redundant(const RowRecord & row) noexcept CD_NONBLOCKING;

/// All constraints at the last solve. Real-time safe: no.
CONSTRAINED_DYNAMICS_EXPORT std::vector<ConstraintRecord> constraint_records(
  const ConstraintSet & constraints, const Workspace & workspace);

}  // namespace constrained_dynamics
