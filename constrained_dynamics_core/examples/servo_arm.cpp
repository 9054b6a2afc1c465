// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// An arm writes on a wall and pushes on it with a desired force: one cycle of the servo law a
// millisecond, as a controller would call it, on a simulated plant.
#include <cmath>
#include <iostream>

#include <constrained_dynamics/scenario/scenario.hpp>
#include <constrained_dynamics/simulation/servo_input_law.hpp>

namespace cd = constrained_dynamics;

int main()
{
  // A planar arm of three joints; its tip touches the wall x = 1.6.
  const auto scenario = cd::Scenario::load("config/scenarios/planar_wall.yaml");
  const auto simulation = scenario.make_simulation();
  const auto & law = *simulation->input_law()->as_servo();
  double worst = 0.0;
  for (int cycle = 0; cycle <= 3000; ++cycle)
  {
    if (simulation->evaluate() != cd::Status::kOk)
    {
      return 1;
    }
    const double time = simulation->state().time;
    const double push = simulation->workspace().solution().multipliers(0);
    worst = std::max(worst, std::abs(push - (20.0 + 5.0 * std::sin(2.0 * time))));
    worst = std::max(worst, law.servo().result().error.cwiseAbs().maxCoeff());
    if (cycle % 500 == 0)
    {
      std::cout << "t = " << time << " s: torques " << simulation->inputs().transpose()
                << " N m, force on the wall " << push << " N\n";
    }
    if (simulation->step() != cd::Status::kOk)
    {
      return 1;
    }
  }
  return worst < 1e-8 ? 0 : 1;
}
