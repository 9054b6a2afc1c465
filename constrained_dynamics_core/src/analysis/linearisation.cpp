// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/analysis/linearisation.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <utility>

#include <unsupported/Eigen/MatrixFunctions>

#include "analysis/linear_matrices.hpp"
#include "analysis/virtual_motions.hpp"
#include "dense_decompositions.hpp"

namespace constrained_dynamics
{

namespace
{

// What counts as zero in the tests for equilibrium and steady motion.
constexpr double kStill = 1e-9;
constexpr double kUnaccelerated = 1e-6;
constexpr double kUnchanging = 1e-5;
// Time by which the motion is followed to see whether the model changes [s].
constexpr double kAhead = 1e-5;

/// By decreasing real part; of a conjugate pair the positive imaginary part comes first.
bool sorted_eigenvalues(const Eigen::MatrixXd & matrix, Eigen::VectorXcd & out)
{
  out.resize(0);
  if (matrix.rows() == 0)
  {
    return true;
  }
  const Eigen::EigenSolver<Eigen::MatrixXd> solver = detail::solve_eigenvalues(matrix, false);
  if (solver.info() != Eigen::Success)
  {
    return false;
  }
  out = solver.eigenvalues();
  std::sort(
    out.data(), out.data() + out.size(),
    [](const std::complex<double> & a, const std::complex<double> & b)
    { return a.real() != b.real() ? a.real() > b.real() : a.imag() > b.imag(); });
  return true;
}

/// How fast u̇ and the model on the manifold change along the motion. The rows of K may change
/// without changing what they allow, so projectors are compared instead of K.
double variation_along(
  const Dynamics & dynamics, const LinearModel & model, InputLaw * law, Workspace & workspace,
  const Eigen::VectorXd & rates)
{
  State ahead = model.state;
  ahead.time += kAhead;
  ahead.q += kAhead * rates;
  ahead.u += kAhead * model.acceleration;
  dynamics.system().normalise(ahead.q);
  LinearMatrices there;
  if (!has_output(linear_matrices(dynamics, ahead, model.inputs, law, workspace, there)))
  {
    return std::numeric_limits<double>::infinity();
  }
  // Speeds that are stationary only for an instant, such as a pendulum at its lowest point.
  const Eigen::VectorXd jump = workspace.solution().acceleration - model.acceleration;
  const Eigen::MatrixXd basis = null_space(there.constraint_matrix, kRedundantDirection);
  const Eigen::MatrixXd before = model.basis * model.basis.transpose();
  const Eigen::MatrixXd after = basis * basis.transpose();
  const Eigen::MatrixXd motion_before = before * model.state_matrix * before;
  const Eigen::MatrixXd motion_after = after * there.state_matrix * after;
  return std::max(
           {jump.norm() / (1.0 + model.state.u.norm()), (after - before).norm(),
            (motion_after - motion_before).norm() / (1.0 + motion_before.norm())}) /
         kAhead;
}

}  // namespace

Status linearise(
  const Dynamics & dynamics, const State & state, const Eigen::VectorXd & inputs, InputLaw * law,
  Workspace & workspace, LinearModel & out)
{
  LinearMatrices matrices;
  Status status = linear_matrices(dynamics, state, inputs, law, workspace, matrices);
  if (!has_output(status))
  {
    return status;
  }
  LinearModel model;
  model.state = state;
  model.inputs = matrices.inputs;
  model.acceleration = workspace.solution().acceleration;
  const Eigen::VectorXd rates = workspace.terms().rates;
  model.derivatives = std::move(matrices.derivatives);
  model.state_matrix = std::move(matrices.state_matrix);
  model.input_matrix = std::move(matrices.input_matrix);
  model.constraint_matrix = std::move(matrices.constraint_matrix);
  model.basis = null_space(model.constraint_matrix, kRedundantDirection);
  model.reduced_matrix = model.basis.transpose() * model.state_matrix * model.basis;
  model.reduced_input_matrix = model.basis.transpose() * model.input_matrix;
  model.variation = variation_along(dynamics, model, law, workspace, rates);
  if (
    !sorted_eigenvalues(model.state_matrix, model.eigenvalues) ||
    !sorted_eigenvalues(model.reduced_matrix, model.reduced_eigenvalues))
  {
    return Status::kNotConverged;
  }
  model.largest_speed = state.u.size() > 0 ? state.u.cwiseAbs().maxCoeff() : 0.0;
  model.largest_acceleration = state.u.size() > 0 ? model.acceleration.cwiseAbs().maxCoeff() : 0.0;
  const bool unaccelerated = model.largest_acceleration <= kUnaccelerated;
  model.is_equilibrium = unaccelerated && model.largest_speed <= kStill;
  model.is_steady = unaccelerated && model.variation <= kUnchanging;
  out = std::move(model);
  return status;
}

Status linear_step(
  const LinearModel & model, double step, double size, Simulation & simulation, LinearStep & out)
{
  const Dynamics & dynamics = simulation.dynamics();
  const Eigen::Index n = dynamics.system().speed_count();
  LinearStep result;
  result.step = step;
  result.size = size;
  for (const double part : {1.0, 0.5})
  {
    simulation.start(model.state);
    const double end = model.state.time + part * step;
    const RunResult run = simulation.run(end, part * step, [](const Simulation &) { return true; });
    if (!run.completed)
    {
      return run.status;
    }
    const State reference = simulation.state();
    const Eigen::MatrixXd exponent = model.state_matrix * (part * step);
    const Eigen::MatrixXd propagator = exponent.exp();
    const Eigen::MatrixXd after = part * size * propagator * model.basis;
    Workspace & workspace = simulation.workspace();
    Status status = dynamics.evaluate_rows(reference.time, reference.q, reference.u, workspace);
    const Eigen::MatrixXd C = workspace.terms().kinematic_matrix;
    double & position = part == 1.0 ? result.position : result.position_of_half;
    double & velocity = part == 1.0 ? result.velocity : result.velocity_of_half;
    for (Eigen::Index k = 0; k < after.cols() && status == Status::kOk; ++k)
    {
      Eigen::VectorXd q = reference.q + C * after.col(k).head(n);
      dynamics.system().normalise(q);
      status =
        dynamics.evaluate_rows(reference.time, q, reference.u + after.col(k).tail(n), workspace);
      for (int row = 0; row < dynamics.constraints().row_count(); ++row)
      {
        if (workspace.is_active(dynamics.constraints().constraint_of_row(row)))
        {
          position = std::max(position, std::abs(workspace.rows().position(row)));
          velocity = std::max(velocity, std::abs(workspace.rows().velocity(row)));
        }
      }
    }
    if (status != Status::kOk)
    {
      return status;
    }
  }
  out = result;
  return Status::kOk;
}

}  // namespace constrained_dynamics
