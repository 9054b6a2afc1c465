// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/analysis/linearisation.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <utility>

#include <Eigen/Eigenvalues>
#include <Eigen/QR>

namespace constrained_dynamics
{

namespace
{

// Directions of K below this fraction of the largest, each row having length 1, are redundant.
constexpr double kRedundant = 1e-8;
// What counts as 0 in the questions of equilibrium and steady motion.
constexpr double kStill = 1e-9;
constexpr double kUnaccelerated = 1e-6;
constexpr double kUnchanging = 1e-5;
// Time by which the motion is followed to see whether the model changes [s].
constexpr double kAhead = 1e-5;

/// F, B and K at one state: all that a run needs at every step.
struct Matrices
{
  SolutionDerivatives derivatives;
  Eigen::VectorXd inputs;
  Eigen::MatrixXd state_matrix;
  Eigen::MatrixXd input_matrix;
  Eigen::MatrixXd constraint_matrix;
};

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

/// Derivatives (n × 2n) of the generalized force that follows from a law of the state, by central
/// differences of fourth order.
Status differentiate_law(
  const System & system, const State & at, InputLaw & law, SystemData & data, Eigen::MatrixXd & out)
{
  constexpr double kStep = 1e-3;
  constexpr double kNodes[] = {-2.0, -1.0, 1.0, 2.0};
  constexpr double kWeights[] = {1.0 / 12.0, -8.0 / 12.0, 8.0 / 12.0, -1.0 / 12.0};
  const Eigen::Index n = system.speed_count();
  const Eigen::MatrixXd C = data.terms.kinematic_matrix;
  Eigen::VectorXd inputs = Eigen::VectorXd::Zero(system.input_count());
  Eigen::VectorXd force;
  out.setZero(n, 2 * n);
  for (Eigen::Index k = 0; k < 2 * n; ++k)
  {
    for (int node = 0; node < 4; ++node)
    {
      Eigen::VectorXd q = at.q;
      Eigen::VectorXd u = at.u;
      if (k < n)
      {
        q += kNodes[node] * kStep * C.col(k);
        system.normalise(q);
      }
      else
      {
        u(k - n) += kNodes[node] * kStep;
      }
      const Status status = force_of_law(system, at, q, u, law, data, inputs, force);
      if (status != Status::kOk)
      {
        return status;
      }
      out.col(k) += kWeights[node] / kStep * force;
    }
  }
  return Status::kOk;
}

Status linear_matrices(
  const Dynamics & dynamics, const State & state, const Eigen::VectorXd & given_inputs,
  InputLaw * law, Workspace & workspace, Matrices & out)
{
  const System & system = dynamics.system();
  const Eigen::Index n = system.speed_count();
  const Eigen::Index m = dynamics.constraints().row_count();
  out.inputs = given_inputs;
  Eigen::MatrixXd feedback = Eigen::MatrixXd::Zero(n, 2 * n);
  if (law != nullptr)
  {
    SystemData & data = workspace.change_system_data();  // at other states until `differentiate`
    out.inputs.setZero(system.input_count());
    Status status = system.update_kinematics(state.time, state.q, state.u, data);
    if (status == Status::kOk)
    {
      status = differentiate_law(system, state, *law, data, feedback);
    }
    // External wrenches of the state itself again.
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

/// Rows of length 1; rows that are not there stay 0.
Eigen::MatrixXd unit_rows(Eigen::MatrixXd rows)
{
  for (Eigen::Index i = 0; i < rows.rows(); ++i)
  {
    const double length = rows.row(i).norm();
    if (length > 0.0)
    {
      rows.row(i) /= length;
    }
  }
  return rows;
}

Eigen::MatrixXd kernel_basis(const Eigen::MatrixXd & constraint_matrix)
{
  const Eigen::Index size = constraint_matrix.cols();
  if (constraint_matrix.rows() == 0)
  {
    return Eigen::MatrixXd::Identity(size, size);
  }
  Eigen::ColPivHouseholderQR<Eigen::MatrixXd> qr;
  qr.setThreshold(kRedundant);
  qr.compute(unit_rows(constraint_matrix).transpose());
  const Eigen::MatrixXd complete = qr.householderQ();
  return complete.rightCols(size - qr.rank());
}

/// By falling real part, of a pair the one with the positive imaginary part first.
bool sorted_eigenvalues(const Eigen::MatrixXd & matrix, Eigen::VectorXcd & out)
{
  out.resize(0);
  if (matrix.rows() == 0)
  {
    return true;
  }
  const Eigen::EigenSolver<Eigen::MatrixXd> solver(matrix, false);
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

/// exp(matrix), by scaling to norm below 1/2, a Taylor series and squaring.
Eigen::MatrixXd exponential(const Eigen::MatrixXd & matrix)
{
  const double norm = matrix.cwiseAbs().rowwise().sum().maxCoeff();
  const int halvings = norm > 0.5 ? static_cast<int>(std::ceil(std::log2(norm / 0.5))) : 0;
  const Eigen::MatrixXd scaled = matrix / std::pow(2.0, halvings);
  Eigen::MatrixXd result = Eigen::MatrixXd::Identity(matrix.rows(), matrix.cols());
  Eigen::MatrixXd term = result;
  for (int k = 1; k <= 16; ++k)  // 0.5^17 / 17! is below rounding
  {
    term = (term * scaled / k).eval();
    result += term;
  }
  for (int k = 0; k < halvings; ++k)
  {
    result = (result * result).eval();
  }
  return result;
}

/// How fast u̇ and the model on the manifold change along the motion. Rows may turn against each
/// other without changing what they allow, so projectors are compared, not K.
double variation_along(
  const Dynamics & dynamics, const LinearModel & model, InputLaw * law, Workspace & workspace,
  const Eigen::VectorXd & rates)
{
  State ahead = model.state;
  ahead.time += kAhead;
  ahead.q += kAhead * rates;
  ahead.u += kAhead * model.acceleration;
  dynamics.system().normalise(ahead.q);
  Matrices there;
  if (!has_output(linear_matrices(dynamics, ahead, model.inputs, law, workspace, there)))
  {
    return std::numeric_limits<double>::infinity();
  }
  // Speeds that stand still for a moment only: a pendulum at the bottom.
  const Eigen::VectorXd jump = workspace.solution().acceleration - model.acceleration;
  const Eigen::MatrixXd basis = kernel_basis(there.constraint_matrix);
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
  Matrices matrices;
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
  model.basis = kernel_basis(model.constraint_matrix);
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
    const Eigen::MatrixXd after =
      part * size * exponential(model.state_matrix * (part * step)) * model.basis;
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

namespace
{

/// The part of x with K x = 0.
Eigen::VectorXd on_manifold(const Eigen::MatrixXd & constraint_matrix, const Eigen::VectorXd & x)
{
  if (constraint_matrix.rows() == 0)
  {
    return x;
  }
  const Eigen::MatrixXd rows = unit_rows(constraint_matrix);
  Eigen::CompleteOrthogonalDecomposition<Eigen::MatrixXd> inverse;
  inverse.setThreshold(kRedundant);
  inverse.compute(rows);
  return x - inverse.solve(rows * x);
}

/// Sums of logarithms of growth with their times.
class Growth
{
public:
  void add(double time, double logarithm)
  {
    time_.push_back(time);
    sum_.push_back((sum_.empty() ? 0.0 : sum_.back()) + logarithm);
  }
  /// Mean rate between two places; place −1 is the start.
  double rate(double start, long from, long to) const
  {
    const double before = from < 0 ? 0.0 : sum_[static_cast<std::size_t>(from)];
    const double begin = from < 0 ? start : time_[static_cast<std::size_t>(from)];
    return (sum_[static_cast<std::size_t>(to)] - before) /
           (time_[static_cast<std::size_t>(to)] - begin);
  }
  long size() const { return static_cast<long>(sum_.size()); }
  double time(long i) const { return time_[static_cast<std::size_t>(i)]; }

private:
  std::vector<double> time_;
  std::vector<double> sum_;
};

void summarise(
  const Growth & growth, double start, const LyapunovOptions & options, LyapunovResult & result)
{
  if (growth.size() < 2)
  {
    return;
  }
  const long last = growth.size() - 1;
  const long from = static_cast<long>(options.transient * static_cast<double>(growth.size())) - 1;
  const long middle = std::min(last - 1, (from + last) / 2);
  result.exponent = growth.rate(start, from, last);
  result.first_half = growth.rate(start, from, std::max(middle, from + 1));
  result.second_half = growth.rate(start, middle, last);
  for (int i = 1; i <= options.sample_count; ++i)
  {
    const long at = from + (last - from) * i / options.sample_count;
    if (at > from)
    {
      result.sample_time.push_back(growth.time(at));
      result.sample_exponent.push_back(growth.rate(start, from, at));
    }
  }
}

}  // namespace

LyapunovResult largest_lyapunov_exponent(
  Simulation & simulation, double until, InputLaw * law, const LyapunovOptions & options)
{
  if (!(options.transient >= 0.0 && options.transient < 1.0))
  {
    std::ostringstream message;
    message << "transient is " << options.transient << "; allowed: at least 0, below 1";
    throw std::invalid_argument(message.str());
  }
  if (options.sample_count < 1)
  {
    throw std::invalid_argument(
      "sample_count is " + std::to_string(options.sample_count) + "; allowed: at least 1");
  }
  const Dynamics & dynamics = simulation.dynamics();
  const Eigen::VectorXd inputs = simulation.inputs();
  const double start = simulation.state().time;
  LyapunovResult result;
  result.time = start;
  Matrices at;
  result.status =
    linear_matrices(dynamics, simulation.state(), inputs, law, simulation.workspace(), at);
  if (!has_output(result.status))
  {
    return result;
  }
  // All directions take part, none of them by a round number.
  Eigen::VectorXd x(at.state_matrix.rows());
  for (Eigen::Index i = 0; i < x.size(); ++i)
  {
    x(i) = std::cos(1.0 + 2.3 * static_cast<double>(i));
  }
  x = on_manifold(at.constraint_matrix, x);
  if (!(x.norm() > 0.0))
  {
    throw std::invalid_argument("the constraints leave no motion, so nothing can grow");
  }
  x.normalize();

  Growth growth;
  double step = 0.0;
  while (simulation.state().time + 1.5 * step < until)
  {
    // One step of the classical Runge-Kutta scheme over two steps of the simulation.
    Matrices node[2];
    const double begin = simulation.state().time;
    for (Matrices & matrices : node)
    {
      Status status = simulation.step();
      if (has_output(status))
      {
        status = linear_matrices(
          dynamics, simulation.state(), inputs, law, simulation.workspace(), matrices);
      }
      if (!has_output(status))
      {
        result.status = status;
        summarise(growth, start, options, result);
        return result;
      }
    }
    const double h = simulation.state().time - begin;
    step = 0.5 * h;
    const Eigen::VectorXd k1 = at.state_matrix * x;
    const Eigen::VectorXd k2 = node[0].state_matrix * (x + 0.5 * h * k1);
    const Eigen::VectorXd k3 = node[0].state_matrix * (x + 0.5 * h * k2);
    const Eigen::VectorXd k4 = node[1].state_matrix * (x + h * k3);
    x = on_manifold(node[1].constraint_matrix, x + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4));
    const double length = x.norm();
    growth.add(simulation.state().time, std::log(length));
    x /= length;
    at = std::move(node[1]);
    result.time = simulation.state().time;
  }
  if (growth.size() < 2)
  {
    std::ostringstream message;
    message << "the run ends at " << until << " s; a Lyapunov exponent needs four steps at least";
    throw std::invalid_argument(message.str());
  }
  summarise(growth, start, options, result);
  result.completed = true;
  return result;
}

}  // namespace constrained_dynamics
