// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <Eigen/Core>

#include "constrained_dynamics/dynamics/dynamics.hpp"
#include "constrained_dynamics/export.hpp"

namespace constrained_dynamics
{

/// Whether bodies have inertia at a state and close to it.
///
/// Q must have no negative direction, xᵀ Q x < 0, and none without inertia, Q x = 0, among the
/// motions that the active rows allow: A2 Q A2ᵀ > 0 (E4 to E8). A mass matrix with accelerations of
/// forces in it, which is not symmetric, is not judged.
struct InertiaReport
{
  enum class Finding
  {
    kPositive,
    kMissing,   ///< a possible motion without inertia
    kNegative,  ///< a motion with negative kinetic energy
  };
  Finding finding = Finding::kPositive;
  Eigen::VectorXd motion;  ///< x (n), its largest element 1; empty: none
  double inertia = 0.0;    ///< xᵀ Q x
  bool nearby = false;     ///< not at the state but close to it
};

/// Looks at the state and, with the rows that are active in the workspace, at states around it.
/// Real-time safe: no.
/// @throw std::invalid_argument where the system or the rows cannot be evaluated at the state.
CONSTRAINED_DYNAMICS_EXPORT InertiaReport
analyse_inertia(const Dynamics & dynamics, const State & state, Workspace & workspace);

}  // namespace constrained_dynamics
