// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors
#pragma once

#include <vector>

#include "constrained_dynamics/dynamics/dynamics.hpp"

namespace constrained_dynamics
{

/// Which rows a status is about, for messages. All of them at the state of the workspace, whose
/// rows must have been evaluated; not real-time safe.

/// The rows of the directions that `rank` lacks to the nominal rank.
CONSTRAINED_DYNAMICS_EXPORT std::vector<int> rows_of_lost_directions(
  const Dynamics & dynamics, const Workspace & workspace, int rank);

/// The rows of A u̇ = b that no u̇ meets together.
CONSTRAINED_DYNAMICS_EXPORT std::vector<int> contradicting_rows(
  const Dynamics & dynamics, const Workspace & workspace);

/// The position rows, or where these are met the velocity rows, that no small correction meets.
/// @param contradict set to whether they exclude each other to first order; else Newton failed.
std::vector<int> unmet_rows(
  const Dynamics & dynamics, const Workspace & workspace, bool & contradict);

}  // namespace constrained_dynamics
