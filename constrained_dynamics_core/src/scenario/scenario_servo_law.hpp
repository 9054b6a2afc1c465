// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <memory>
#include <optional>

#include "constrained_dynamics/dynamics/dynamics.hpp"
#include "constrained_dynamics/servo/servo_law.hpp"
#include "constrained_dynamics/simulation/servo_input_law.hpp"
#include "scenario/scenario_reader.hpp"
#include "scenario/scenario_system.hpp"

namespace constrained_dynamics
{

/// The sections `servo` and `servo_law`.
struct ScenarioServo
{
  std::shared_ptr<const ServoLaw> law;
  ServoDrive drive;
};

/// Reads them; none where the file has no `servo`.
/// @param adaptive whether the run has an adaptive integrator, which cannot hold controls.
/// @param stops constraints at the ends of joints, which the law does not know.
std::optional<ScenarioServo> read_servo(
  const ScenarioReader & root, const std::shared_ptr<const Dynamics> & dynamics,
  const RigidBodySystem * robot, bool adaptive, const std::vector<int> & stops);

}  // namespace constrained_dynamics
