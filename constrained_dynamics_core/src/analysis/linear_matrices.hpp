// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <Eigen/Core>

#include "constrained_dynamics/analysis/derivatives.hpp"
#include "constrained_dynamics/dynamics/dynamics.hpp"
#include "constrained_dynamics/simulation/simulation.hpp"

namespace constrained_dynamics
{

/// Directions of K below this fraction of the largest, each row having length 1, are redundant.
inline constexpr double kRedundantDirection = 1e-8;

/// F, B and K at one state (see LinearModel): all that a run needs at every step.
struct LinearMatrices
{
  SolutionDerivatives derivatives;
  Eigen::VectorXd inputs;
  Eigen::MatrixXd state_matrix;
  Eigen::MatrixXd input_matrix;
  Eigen::MatrixXd constraint_matrix;
};

/// @param law null: the inputs stay at `given_inputs`.
/// Statuses: as `differentiate`.
[[nodiscard]] Status linear_matrices(
  const Dynamics & dynamics, const State & state, const Eigen::VectorXd & given_inputs,
  InputLaw * law, Workspace & workspace, LinearMatrices & out);

}  // namespace constrained_dynamics
