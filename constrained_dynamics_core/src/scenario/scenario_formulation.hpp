// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <memory>
#include <optional>

#include "constrained_dynamics/dynamics/dynamics.hpp"
#include "constrained_dynamics/formulations/formulation.hpp"
#include "constrained_dynamics/model/system.hpp"
#include "scenario/scenario_reader.hpp"
#include "scenario/scenario_signals.hpp"

namespace constrained_dynamics
{

/// What the options of a formulation may refer to.
struct FormulationScope
{
  const System & system;
  const SignalNames & names;
};

/// The formulation of the key `formulation`: none ("auto"), an id, or a map with the id as `kind`
/// and its options.
std::shared_ptr<const Formulation> build_formulation(
  const std::optional<ScenarioReader> & reader, const FormulationScope & scope);

/// Refuses options that do not fit the constrained system at its initial state.
void check_formulation(
  const std::optional<ScenarioReader> & reader, const Dynamics & dynamics, const State & initial,
  Workspace & workspace);

}  // namespace constrained_dynamics
