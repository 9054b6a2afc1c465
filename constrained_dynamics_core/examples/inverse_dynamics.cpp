// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Inverse dynamics of a four-bar linkage: the torque at the crank that makes it follow
// 1.2 (1 − cos 2t), against torques that others have published.
#include <cmath>
#include <iostream>
#include <utility>
#include <vector>

#include <constrained_dynamics/scenario/scenario.hpp>
#include <constrained_dynamics/simulation/simulation.hpp>

namespace cd = constrained_dynamics;

int main()
{
  const auto scenario = cd::Scenario::load("config/scenarios/four_bar_inverse.yaml");
  const auto simulation = scenario.make_simulation();
  const std::vector<std::pair<double, double>> published = {
    {0.0, 66.0116666667},
    {0.5, 24.7597562669},
    {1.0, -16.8751538593},
    {2.0, -36.1141425254},
    {3.0, 64.217648137}};
  bool agrees = true;
  for (const auto & [time, torque] : published)
  {
    const cd::RunResult result =
      simulation->run(time, 10.0, [](const cd::Simulation &) { return true; });
    if (!result.completed || simulation->evaluate() != cd::Status::kOk)
    {
      return 1;
    }
    std::cout << "t = " << time << " s: torque " << simulation->inputs()(0) << " N m, published "
              << torque << "\n";
    agrees = agrees && std::abs(simulation->inputs()(0) - torque) < 1e-9 * std::abs(torque);
  }
  return agrees ? 0 : 1;
}
