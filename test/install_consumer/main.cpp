// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Uses the installed library as a stranger would; returns 0 only when its answers are right.
#include <cmath>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/constraints/constraint.hpp"
#include "constrained_dynamics/constraints/formula_constraint.hpp"
#include "constrained_dynamics/constraints/point_on_plane.hpp"
#include "constrained_dynamics/dynamics/dynamics.hpp"
#include "constrained_dynamics/model/analytic_system.hpp"
#include "constrained_dynamics/model/rigid_body_system.hpp"
#include "constrained_dynamics/status.hpp"
#include "constrained_dynamics/version.hpp"

namespace cd = constrained_dynamics;

namespace
{

constexpr double kGravity = 9.81;     // m/s²
constexpr double kTolerance = 1e-12;  // some hundred roundings of numbers of size 10

bool check(const char * what, const Eigen::VectorXd & got, const Eigen::VectorXd & expected)
{
  const bool good =
    got.size() == expected.size() && (got - expected).cwiseAbs().maxCoeff() <= kTolerance;
  std::printf("%s: %s\n", what, good ? "right" : "wrong");
  return good;
}

bool version_is_known()
{
  const std::string version = cd::version();
  std::printf("constrained_dynamics_core %s\n", version.c_str());
  return !version.empty();
}

/// One solve from a state at rest.
bool solve(
  std::shared_ptr<const cd::System> system, std::shared_ptr<const cd::Constraint> constraint,
  const Eigen::VectorXd & q, Eigen::VectorXd & acceleration, Eigen::VectorXd & constraint_force)
{
  const cd::Dynamics dynamics(cd::ConstraintSet(std::move(system), {std::move(constraint)}));
  cd::Workspace workspace = cd::Workspace::unanalysed(dynamics);
  const Eigen::VectorXd u = Eigen::VectorXd::Zero(dynamics.system().speed_count());
  const Eigen::VectorXd inputs = Eigen::VectorXd::Zero(dynamics.system().input_count());
  const cd::Status status = dynamics.solve(0.0, q, u, inputs, workspace);
  acceleration = workspace.solution().acceleration;
  constraint_force = workspace.solution().constraint_force;
  return status == cd::Status::kOk;
}

/// A pendulum in x and z, from formulas: it accelerates by the tangential part of gravity, and the
/// rod carries the rest.
bool pendulum_is_right()
{
  cd::AnalyticDescription description;
  description.coordinates = {"x", "z"};
  description.parameters = {{"m", 2.0}, {"g", kGravity}};
  description.kinetic = "m/2*(dx^2 + dz^2)";
  description.potential = "m*g*z";
  const std::shared_ptr<const cd::System> system = cd::make_analytic_system(description);
  const auto rod = std::make_shared<cd::FormulaConstraint>(
    "rod", *system, cd::RowLevel::kPosition, std::vector<std::string>{"x^2 + z^2 - 1"});

  const Eigen::Vector2d radial(0.6, -0.8);
  const Eigen::Vector2d gravity(0.0, -kGravity);
  const Eigen::Vector2d expected = gravity - radial * radial.dot(gravity);
  Eigen::VectorXd acceleration;
  Eigen::VectorXd force;
  const bool solved = solve(system, rod, radial, acceleration, force);
  return check("acceleration of the pendulum", acceleration, expected) &&
         check("force of the rod", force, 2.0 * (expected - gravity)) && solved;
}

/// A ball that rests on a table, from rigid-body dynamics: the table carries its weight.
bool ball_on_table_is_right()
{
  cd::FreeBody ball;
  ball.name = "ball";
  ball.mass = 3.0;
  ball.inertia = 0.1 * Eigen::Matrix3d::Identity();
  cd::SceneDescription scene;
  scene.bodies = {ball};
  scene.gravity = Eigen::Vector3d(0.0, 0.0, -kGravity);
  const auto system = std::make_shared<const cd::RigidBodySystem>(scene);
  const auto table =
    std::make_shared<cd::PointOnPlane>("table", *system, "ball", "world", Eigen::Vector3d::UnitZ());

  Eigen::VectorXd expected_force = Eigen::VectorXd::Zero(6);
  expected_force[2] = ball.mass * kGravity;
  Eigen::VectorXd acceleration;
  Eigen::VectorXd force;
  const bool solved = solve(system, table, system->neutral_coordinates(), acceleration, force);
  return check("acceleration of the ball", acceleration, Eigen::VectorXd::Zero(6)) &&
         check("force of the table", force, expected_force) && solved;
}

}  // namespace

int main()
{
  // One line for each thing that a consumer must be able to do.
  try
  {
    bool good = true;
    good = version_is_known() && good;
    good = pendulum_is_right() && good;
    good = ball_on_table_is_right() && good;
    return good ? 0 : 1;
  }
  catch (const std::exception & error)
  {
    std::printf("refused: %s\n", error.what());
    return 1;
  }
}
