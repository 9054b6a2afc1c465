// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <string>

#include "constrained_dynamics/constraints/stabilisation.hpp"
#include "constrained_dynamics/dynamics/dynamics.hpp"
#include "constrained_dynamics/scenario/scenario.hpp"
#include "scenario/scenario_reader.hpp"

namespace constrained_dynamics
{

/// A number for messages, with six digits.
std::string format_number(double value);

/// Reads the section `stabilisation`. @param step of the integrator [s].
Stabilisation read_stabilisation(const ScenarioReader & reader, double step);

/// Reads the section `options`; stabilisation is left as it is.
DynamicsOptions read_options(const ScenarioReader & reader);

/// Reads the section `run`. @param time initial time [s].
RunSettings read_run(const ScenarioReader & reader, double time);

/// Restitution of the stops that `run.limits` makes. @param root the whole scenario.
double read_stop_restitution(const ScenarioReader & root);

}  // namespace constrained_dynamics
