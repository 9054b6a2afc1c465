// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// A constraint of one's own: a function written once, for any scalar type; derivatives come by
// automatic differentiation. Here a nonlinear one: a body keeps its speed, vx² + vy² = c², under
// gravity.
#include <cmath>
#include <iostream>

#include <constrained_dynamics/constraints/function_constraint.hpp>
#include <constrained_dynamics/model/rigid_body_system.hpp>
#include <constrained_dynamics/simulation/simulation.hpp>

namespace cd = constrained_dynamics;

int main()
{
  cd::SceneDescription scene;
  scene.bodies.push_back(
    {"body", 1.0, {0, 0, 0}, Eigen::Matrix3d::Identity(), cd::Base::kPlanar, {}});
  scene.gravity = {0.0, -9.81, 0.0};
  auto system = std::make_shared<cd::RigidBodySystem>(scene);
  const double c = 5.0;
  auto constant_speed = cd::make_function_constraint(
    "constant_speed", *system, cd::RowLevel::kVelocity, 1,
    [c](const auto & /*t*/, const auto * /*q*/, const auto * u, auto * out)
    { out[0] = (u[0] * u[0] + u[1] * u[1] - c * c) / (2.0 * c); });

  cd::DynamicsOptions options;
  options.stabilisation = cd::Stabilisation::projection();
  cd::Simulation simulation(
    std::make_shared<cd::Dynamics>(cd::ConstraintSet(system, {constant_speed}), options));
  const double a = M_PI / 3;  // direction of flight at the start
  simulation.start(
    {0.0, Eigen::Vector3d::Zero(), Eigen::Vector3d(c * std::cos(a), c * std::sin(a), 0.0)});
  const cd::RunResult result =
    simulation.run(0.5, 0.5, [](const cd::Simulation &) { return true; });
  std::cout << "force along the flight " << simulation.workspace().solution().multipliers(0)
            << " N\n";

  // Exact: the sine of the direction is tanh(atanh(sin a) − g t/c), the force m g times that.
  const double sine = std::tanh(std::atanh(std::sin(a)) - 9.81 * 0.5 / c);
  return result.completed && std::abs(simulation.state().u(1) / c - sine) < 1e-10 ? 0 : 1;
}
