// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include "constrained_dynamics/dynamics/dynamics.hpp"
#include "constrained_dynamics/scenario/scenario.hpp"
#include "scenario/scenario_reader.hpp"
#include "scenario/scenario_system.hpp"

namespace constrained_dynamics
{

/// Reads the section `initial`.
/// @param workspace of `dynamics`; it tells which constraints are active.
/// @param assemble whether free coordinates and speeds are changed until the rows are satisfied.
State read_initial(
  const ScenarioReader & reader, const ScenarioSystem & system, const Dynamics & dynamics,
  Workspace & workspace, bool assemble);

}  // namespace constrained_dynamics
