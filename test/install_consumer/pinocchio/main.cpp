// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Hands a pinocchio::Model over, and calls an algorithm of Pinocchio at the state of the system;
// returns 0 only when both agree.
#include <cmath>
#include <cstdio>
#include <exception>
#include <memory>

#include <pinocchio/algorithm/center-of-mass.hpp>

#include "constrained_dynamics/model/pinocchio.hpp"

namespace cd = constrained_dynamics;

int main()
{
  try
  {
    pinocchio::Model model;
    const pinocchio::SE3 lifted(Eigen::Matrix3d::Identity(), Eigen::Vector3d(0.0, 0.0, 0.5));
    const auto shoulder =
      model.addJoint(0, pinocchio::JointModelSpherical(), pinocchio::SE3::Identity(), "shoulder");
    model.appendBodyToJoint(shoulder, pinocchio::Inertia::FromSphere(2.0, 0.1), lifted);
    const auto elbow = model.addJoint(shoulder, pinocchio::JointModelRUBY(), lifted, "elbow");
    model.appendBodyToJoint(elbow, pinocchio::Inertia::FromSphere(1.0, 0.1), lifted);

    const std::shared_ptr<const cd::RigidBodySystem> system = cd::make_rigid_body_system(model);
    const std::unique_ptr<cd::SystemData> data = system->make_data();
    Eigen::VectorXd q = system->neutral_coordinates();
    q(system->coordinate_index("elbow")) = 1.2;
    const Eigen::VectorXd u = Eigen::VectorXd::Zero(system->speed_count());
    if (system->update_kinematics(0.0, q, u, *data) != cd::Status::kOk)
    {
      return 1;
    }
    const Eigen::Vector3d peer = pinocchio::centerOfMass(
      cd::pinocchio_model(*system), cd::pinocchio_data(*data), cd::pinocchio_q(*data));
    const double error = (system->centre_of_mass(*data) - peer).norm();
    const bool good = std::isfinite(error) && error <= 1e-14;
    std::printf("centre of mass of the model: %s\n", good ? "right" : "wrong");
    return good ? 0 : 1;
  }
  catch (const std::exception & error)
  {
    std::printf("refused: %s\n", error.what());
    return 1;
  }
}
