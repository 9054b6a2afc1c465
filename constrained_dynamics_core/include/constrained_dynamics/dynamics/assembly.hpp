// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <string>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/dynamics/dynamics.hpp"

namespace constrained_dynamics
{

/// How an assembly ended.
struct AssemblyResult
{
  bool converged = false;
  double residual = 0.0;  ///< largest remaining |φ| or |ψ|, in the row's unit
  std::string worst_row;  ///< "constraint/label" of that row
  int iterations = 0;
};

/// Moves the coordinates that are not held until the active position rows are satisfied, φ(q,
/// t) = 0. Converges from distant starting points and with redundant rows. Real-time safe: no.
/// @param held one flag per coordinate: true keeps its value.
/// @param tolerance largest |φ| that is accepted, in the row's unit.
/// @throw std::invalid_argument for wrong sizes, or values at which rows cannot be evaluated.
CONSTRAINED_DYNAMICS_EXPORT AssemblyResult assemble_position(
  const Dynamics & dynamics, double time, Eigen::VectorXd & q, const std::vector<bool> & held,
  Workspace & workspace, double tolerance = 1e-12);

/// Changes the speeds that are not held until the active rows are satisfied, φ̇ = 0 and ψ = 0.
/// Parameters and exceptions are as above. Real-time safe: no.
/// @param held one flag per speed.
CONSTRAINED_DYNAMICS_EXPORT AssemblyResult assemble_velocity(
  const Dynamics & dynamics, double time, const Eigen::VectorXd & q, Eigen::VectorXd & u,
  const std::vector<bool> & held, Workspace & workspace, double tolerance = 1e-12);

}  // namespace constrained_dynamics
