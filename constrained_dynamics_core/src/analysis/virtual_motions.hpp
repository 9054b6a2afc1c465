// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <Eigen/Core>

#include "constrained_dynamics/dynamics/dynamics.hpp"

// The virtual motions that the active rows allow, for analyses.

namespace constrained_dynamics
{

// Directions below this fraction of the largest count as absent.
inline constexpr double kNegligible = 1e-9;

/// Rows scaled to length 1; rows of zeros stay as they are.
Eigen::MatrixXd unit_rows(Eigen::MatrixXd rows);

/// An orthonormal basis of all x with `rows` x = 0; only the directions of the rows count. Rows
/// below the threshold, relative to the largest, are redundant.
Eigen::MatrixXd null_space(const Eigen::MatrixXd & rows, double threshold = kNegligible);

/// A of the active rows, at the state of the workspace.
Eigen::MatrixXd active_rows(const Dynamics & dynamics, const Workspace & workspace);

}  // namespace constrained_dynamics
