// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/dynamics/dynamics.hpp"
#include "constrained_dynamics/export.hpp"

namespace constrained_dynamics
{

/// Equations of motion that no input can influence, at one state.
///
/// With A2ᵀ (n × p) a basis of the virtual motions that the active rows allow, and N the left null
/// space of A2 G, the rows of W = Nᵀ A2 give (E27) W (Q u̇ − P) = 0 for every τ: p − g constraints
/// of second order on the motion, g = rank A2 G. A planned motion must satisfy them. Controls that
/// are states (ControlStateSystem) count as inputs, with their effect and their rates.
struct UnderactuationReport
{
  int degrees_of_freedom = 0;  ///< p = n − r
  int input_rank = 0;          ///< g
  /// W (p − g × n): virtual motions along which neither inputs nor constraints do work, in reduced
  /// echelon form, the largest element of a row 1. It has no rows if the system has no inputs: then
  /// all its equations of motion are of this kind.
  Eigen::MatrixXd motions;
  Eigen::MatrixXd inertia;  ///< W Q (p − g × n), the coefficients of u̇
  Eigen::VectorXd force;    ///< W P (p − g)
};

/// Analyses the system with the rows that are active in the workspace. Real-time safe: no.
/// @throw std::invalid_argument if the system or the rows cannot be evaluated at the state.
CONSTRAINED_DYNAMICS_EXPORT UnderactuationReport
analyse_underactuation(const Dynamics & dynamics, const State & state, Workspace & workspace);

}  // namespace constrained_dynamics
