// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// A four-bar linkage: a robot description opens the loop, a constraint closes it.
// Prints the accelerations at rest under gravity and the force in the joint that was cut.
#include <cmath>
#include <iostream>

#include <constrained_dynamics/constraints/frame_coincidence.hpp>
#include <constrained_dynamics/dynamics/dynamics.hpp>
#include <constrained_dynamics/model/rigid_body_system.hpp>

namespace cd = constrained_dynamics;

int main()
{
  auto system = cd::RigidBodySystem::from_urdf_file("config/robots/four_bar.urdf");
  auto loop = std::make_shared<cd::FrameCoincidence>(
    "loop", *system, "coupler_tip", "rocker_tip", std::vector<std::string>{"x", "z"});
  cd::Dynamics dynamics(cd::ConstraintSet(system, {loop}));

  const Eigen::Vector3d q(0.0, M_PI / 2, M_PI - std::atan(2.0 / 3.0));  // crank, coupler, rocker
  const Eigen::Vector3d u = Eigen::Vector3d::Zero();
  cd::Workspace workspace(dynamics, {0.0, q, u});  // once, at a state as it will be in operation

  const Eigen::VectorXd torques = Eigen::VectorXd::Zero(system->input_count());
  const cd::Status status = dynamics.solve(0.0, q, u, torques, workspace);  // each cycle

  const cd::Solution & solution = workspace.solution();
  std::cout << "status         " << cd::to_string(status) << "\n"
            << "accelerations  " << solution.acceleration.transpose() << " rad/s²\n"
            << "multipliers    " << solution.multipliers.transpose() << " N\n"
            << "force on the coupler's tip  " << solution.wrenches[0].on_a.force.transpose()
            << " N\n";

  // By hand: inertia 41/9 kg m² and torque of gravity −4.5 · 9.81 N m, both seen from the crank.
  const bool right = std::abs(solution.acceleration(0) + 4.5 * 9.81 / (41.0 / 9.0)) < 1e-12;
  return status == cd::Status::kOk && right ? 0 : 1;
}
