// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "analysis/linear_matrices.hpp"

#include "analysis/central_differences.hpp"

namespace constrained_dynamics
{
namespace
{

/// P + G τ at the state of `at` with inputs and external wrenches that the law gives at (q, u).
Status force_of_law(
  const System & system, const State & at, const Eigen::VectorXd & q, const Eigen::VectorXd & u,
  InputLaw & law, SystemData & data, Eigen::VectorXd & inputs, Eigen::VectorXd & out)
{
  Status status = system.update_kinematics(at.time, q, u, data);
  if (status == Status::kOk)
  {
    status = law.evaluate(system, data, inputs);
  }
  if (status == Status::kOk)
  {
    status = system.update_kinematics(at.time, at.q, at.u, data);
  }
  if (status == Status::kOk)
  {
    status = system.update_dynamics(data);
  }
  if (status == Status::kOk)
  {
    out = data.terms.force + data.terms.input_matrix * inputs;
  }
  return status;
}

/// Derivatives (n × 2n) of the generalized force that follows from a law of the state.
Status differentiate_law(
  const System & system, const State & at, InputLaw & law, SystemData & data, Eigen::MatrixXd & out)
{
  const Eigen::Index n = system.speed_count();
  const Eigen::MatrixXd C = data.terms.kinematic_matrix;
  Eigen::VectorXd inputs = Eigen::VectorXd::Zero(system.input_count());
  Eigen::VectorXd force;
  Eigen::VectorXd derivative;
  out.resize(n, 2 * n);
  for (Eigen::Index k = 0; k < 2 * n; ++k)
  {
    const Status status = central_difference(
      kDifferenceStep,
      [&](double distance)
      {
        const State moved = displaced(system, at, C, k, distance);
        return force_of_law(system, at, moved.q, moved.u, law, data, inputs, force);
      },
      force, derivative);
    if (status != Status::kOk)
    {
      return status;
    }
    out.col(k) = derivative;
  }
  return Status::kOk;
}

}  // namespace

Status linear_matrices(
  const Dynamics & dynamics, const State & state, const Eigen::VectorXd & given_inputs,
  InputLaw * law, Workspace & workspace, LinearMatrices & out)
{
  const System & system = dynamics.system();
  const Eigen::Index n = system.speed_count();
  const Eigen::Index m = dynamics.constraints().row_count();
  out.inputs = given_inputs;
  Eigen::MatrixXd feedback = Eigen::MatrixXd::Zero(n, 2 * n);
  if (law != nullptr)
  {
    SystemData & data = workspace.change_system_data();  // other states until `differentiate`
    out.inputs.setZero(system.input_count());
    Status status = system.update_kinematics(state.time, state.q, state.u, data);
    if (status == Status::kOk)
    {
      status = differentiate_law(system, state, *law, data, feedback);
    }
    // Restores the external wrenches of the state itself.
    Eigen::VectorXd force;
    if (status == Status::kOk)
    {
      status = force_of_law(system, state, state.q, state.u, *law, data, out.inputs, force);
    }
    if (status != Status::kOk)
    {
      return status;
    }
  }
  SolutionDerivatives & d = out.derivatives;
  const Status status =
    differentiate(dynamics, state.time, state.q, state.u, out.inputs, workspace, d);
  if (!has_output(status))
  {
    return status;
  }
  const Eigen::MatrixXd driven = d.acceleration_force * feedback;
  out.state_matrix.resize(2 * n, 2 * n);
  out.state_matrix << d.transport, Eigen::MatrixXd::Identity(n, n),
    d.acceleration_q + driven.leftCols(n), d.acceleration_u + driven.rightCols(n);
  out.input_matrix.setZero(2 * n, system.input_count());
  if (system.input_count() > 0)
  {
    out.input_matrix.bottomRows(n) = d.acceleration_input;
  }
  out.constraint_matrix.setZero(2 * m, 2 * n);
  out.constraint_matrix.topLeftCorner(m, n) = d.position_q;
  out.constraint_matrix.bottomLeftCorner(m, n) = d.velocity_q;
  out.constraint_matrix.bottomRightCorner(m, n) = d.velocity_u;
  return status;
}

}  // namespace constrained_dynamics
