// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <Eigen/Core>

#include "constrained_dynamics/dynamics/dynamics.hpp"
#include "constrained_dynamics/export.hpp"

namespace constrained_dynamics
{

/// Whether every allowed motion has positive inertia, at a state and close to it.
///
/// Q must have no direction of negative inertia, xᵀ Q x < 0. Among the motions that the active rows
/// allow there must be none without inertia, Q x = 0: A2 Q A2ᵀ > 0 (E4 to E8). A mass matrix that
/// is unsymmetric because of accelerations in forces is not checked.
struct InertiaReport
{
  enum class Finding
  {
    kPositive,
    kMissing,   ///< an allowed motion without inertia
    kNegative,  ///< a motion with negative kinetic energy
  };
  Finding finding = Finding::kPositive;
  Eigen::VectorXd motion;  ///< x (n), its largest element 1; empty: none
  double inertia = 0.0;    ///< xᵀ Q x
  bool nearby = false;     ///< found close to the state, not at it
};

/// Checks the state and states around it, with the rows that are active in the workspace.
/// Real-time safe: no.
/// @throw std::invalid_argument if the system or the rows cannot be evaluated at the state.
CONSTRAINED_DYNAMICS_EXPORT InertiaReport
analyse_inertia(const Dynamics & dynamics, const State & state, Workspace & workspace);

}  // namespace constrained_dynamics
