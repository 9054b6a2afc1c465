#pragma once

#include <memory>
#include <optional>

#include "constrained_dynamics/dynamics.hpp"
#include "constrained_dynamics/servo_input_law.hpp"
#include "constrained_dynamics/servo_law.hpp"
#include "scenario_reader.hpp"
#include "scenario_system.hpp"

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
std::optional<ScenarioServo> read_servo(
  const ScenarioReader & root, const std::shared_ptr<const Dynamics> & dynamics,
  const RigidBodySystem * robot, bool adaptive);

}  // namespace constrained_dynamics
