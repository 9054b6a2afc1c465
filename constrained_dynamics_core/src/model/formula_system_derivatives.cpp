// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Derivatives of the equations of motion (E17, E18) of a system given by formulas.

#include <vector>

#include <Eigen/LU>

#include "model/formula_system.hpp"

namespace constrained_dynamics::detail
{
namespace
{

/// Gradient of a program's only output.
template <class S>
std::vector<S> gradient_of(const FormulaProgram & program, const std::vector<S> & x)
{
  const std::size_t size = static_cast<std::size_t>(program.tape_size());
  std::vector<S> tape(size);
  std::vector<S> adjoint(size);
  std::vector<S> gradient(x.size());
  program.gradient(x.data(), tape.data(), adjoint.data(), 0, gradient.data());
  return gradient;
}

}  // namespace

/// A direction in which the state is moved, u̇ and τ kept: changes of q, q̇ and q̈.
struct FormulaSystem::Direction
{
  Eigen::VectorXd acceleration;        // q̈ itself
  Eigen::VectorXd q;                   // δq
  Eigen::VectorXd u;                   // δu
  Eigen::VectorXd rates;               // δq̇
  Eigen::VectorXd accelerations;       // δq̈
  Eigen::VectorXd force;               // r, the equations of motion before Cᵀ
  Eigen::VectorXd force_change;        // δr
  Eigen::VectorXd speed_force_change;  // of forces conjugate to speeds
};

// From δu = W δq̇ + ∂s/∂q δq, and from u̇ = ds/dt along (q̇, q̈, 1), both with s the speeds.
void FormulaSystem::move_coordinates(const SystemTerms & terms, Direction & along) const
{
  along.rates = along.u;
  along.accelerations = Eigen::VectorXd::Zero(n_);
  if (model_.speeds_are_rates)
  {
    return;
  }
  const std::size_t tape_size = static_cast<std::size_t>(model_.speeds.tape_size());
  std::vector<HyperDual> x(model_.variable_count());
  std::vector<HyperDual> tape(tape_size);
  std::vector<HyperDual> output(idx(n_));
  const auto evaluate = [&]
  {
    for (Eigen::Index i = 0; i < n_; ++i)
    {
      x[idx(i)] = {terms.coordinates(i), terms.rates(i), along.q(i), along.rates(i)};
      x[model_.rate(i)] = {terms.rates(i), along.acceleration(i), along.rates(i), 0.0};
    }
    x[model_.time()] = {terms.time, 1.0, 0.0, 0.0};
    model_.speeds.evaluate(x.data(), tape.data(), output.data());
  };
  along.rates.setZero();
  evaluate();
  Eigen::VectorXd change(n_);
  for (Eigen::Index i = 0; i < n_; ++i)
  {
    change(i) = along.u(i) - output[idx(i)].second;
  }
  along.rates = terms.kinematic_matrix * change;
  evaluate();
  for (Eigen::Index i = 0; i < n_; ++i)
  {
    change(i) = -output[idx(i)].mixed;
  }
  along.accelerations = terms.kinematic_matrix * change;
}

/// δW along (δq, δq̇, δt).
Eigen::MatrixXd FormulaSystem::speed_matrix_derivative(
  const SystemTerms & terms, const Eigen::VectorXd & q, const Eigen::VectorXd & rates,
  double t) const
{
  Eigen::MatrixXd result = Eigen::MatrixXd::Zero(n_, n_);
  if (model_.speeds_are_rates)
  {
    return result;
  }
  const std::size_t tape_size = static_cast<std::size_t>(model_.speeds.tape_size());
  std::vector<Dual> x(model_.variable_count());
  std::vector<Dual> tape(tape_size);
  std::vector<Dual> adjoint(tape_size);
  std::vector<Dual> gradient(model_.variable_count());
  for (Eigen::Index i = 0; i < n_; ++i)
  {
    x[idx(i)] = Dual(terms.coordinates(i), q(i));
    x[model_.rate(i)] = Dual(terms.rates(i), rates(i));
  }
  x[model_.time()] = Dual(terms.time, t);
  model_.speeds.forward(x.data(), tape.data());
  for (Eigen::Index i = 0; i < n_; ++i)
  {
    model_.speeds.reverse(tape.data(), adjoint.data(), static_cast<int>(i), gradient.data());
    for (Eigen::Index j = 0; j < n_; ++j)
    {
      result(i, j) = gradient[model_.rate(j)].derivative;
    }
  }
  return result;
}

bool FormulaSystem::do_differentiate(
  SystemData & base, const ConstVectorRef & acceleration, const ConstVectorRef & inputs,
  SystemDerivatives & out) const
{
  const SystemTerms & terms = base.terms;
  const Eigen::MatrixXd & C = terms.kinematic_matrix;
  out.resize(n_, n_);
  out.acceleration = acceleration;
  out.coordinate_acceleration = C * acceleration + terms.acceleration_bias;
  Direction along;
  along.acceleration = out.coordinate_acceleration;
  for (Eigen::Index k = 0; k < 2 * n_; ++k)
  {
    const bool by_q = k < n_;
    const Eigen::VectorXd unit = Eigen::VectorXd::Unit(n_, by_q ? k : k - n_);
    along.q = by_q ? Eigen::VectorXd(C * unit) : Eigen::VectorXd(Eigen::VectorXd::Zero(n_));
    along.u = by_q ? Eigen::VectorXd(Eigen::VectorXd::Zero(n_)) : unit;
    move_coordinates(terms, along);
    equations_along(terms, inputs, along);
    // δ(Cᵀ r) = Cᵀ (δr − δWᵀ Cᵀ r), because δC = −C δW C.
    const Eigen::MatrixXd dW = speed_matrix_derivative(terms, along.q, along.rates, 0.0);
    const Eigen::VectorXd turned = dW.transpose() * (C.transpose() * along.force);
    const Eigen::VectorXd change =
      C.transpose() * (along.force_change - turned) + along.speed_force_change;
    if (by_q)
    {
      out.residual_q.col(k) = change;
      out.rate_q.col(k) = along.rates;
      out.coordinate_acceleration_q.col(k) = along.accelerations;
    }
    else
    {
      out.residual_u.col(k - n_) = change;
      out.coordinate_acceleration_u.col(k - n_) = along.accelerations;
    }
  }
  // δq̇ = C (T δ + δu) + Ċ δ with Ċ = −C Ẇ C, and δq̇ at δu = 0 is rate_q.
  if (!model_.speeds_are_rates)
  {
    const Eigen::VectorXd still = Eigen::VectorXd::Zero(n_);
    const Eigen::MatrixXd W_dot = speed_matrix_derivative(terms, terms.rates, still, 1.0);
    // W rate_q is −∂s/∂q C.
    const Eigen::PartialPivLU<Eigen::MatrixXd> lu(C);
    out.transport = lu.solve(out.rate_q) + W_dot * C;
  }
  return true;
}

/// r and its change along a direction: Lagrange's equations with q̈, forces and inputs in them.
void FormulaSystem::equations_along(
  const SystemTerms & terms, const ConstVectorRef & inputs, Direction & along) const
{
  along.force.setZero(n_);
  along.force_change.setZero(n_);
  along.speed_force_change.setZero(n_);

  // d/dt ∂T/∂q̇ − ∂T/∂q: first along the motion (q̇, q̈, 1), second along the direction.
  std::vector<HyperDual> x(model_.variable_count());
  std::vector<Dual> y(model_.variable_count());
  for (Eigen::Index i = 0; i < n_; ++i)
  {
    const double q = terms.coordinates(i);
    const double rate = terms.rates(i);
    x[idx(i)] = {q, rate, along.q(i), along.rates(i)};
    x[model_.rate(i)] = {rate, along.acceleration(i), along.rates(i), along.accelerations(i)};
    y[idx(i)] = Dual(q, along.q(i));
    y[model_.rate(i)] = Dual(rate, along.rates(i));
    y[model_.acceleration(i)] = Dual(along.acceleration(i), along.accelerations(i));
  }
  x[model_.time()] = {terms.time, 1.0, 0.0, 0.0};
  y[model_.time()] = terms.time;
  const std::vector<HyperDual> kinetic = gradient_of(model_.kinetic, x);
  for (Eigen::Index i = 0; i < n_; ++i)
  {
    along.force(i) += kinetic[model_.rate(i)].first - kinetic[idx(i)].value;
    along.force_change(i) += kinetic[model_.rate(i)].mixed - kinetic[idx(i)].second;
  }
  if (model_.has_potential)
  {
    const std::vector<Dual> potential = gradient_of(model_.potential, y);
    for (Eigen::Index i = 0; i < n_; ++i)
    {
      along.force(i) += potential[idx(i)].value;
      along.force_change(i) += potential[idx(i)].derivative;
    }
  }
  const auto subtract =
    [&](
      const FormulaProgram & program, const std::vector<ForceTarget> & targets, const auto & weight)
  {
    std::vector<Dual> tape(static_cast<std::size_t>(program.tape_size()));
    std::vector<Dual> output(targets.size());
    program.evaluate(y.data(), tape.data(), output.data());
    for (std::size_t k = 0; k < targets.size(); ++k)
    {
      const Dual value = weight(targets[k]) * output[k];
      if (targets[k].on_speed)
      {
        along.speed_force_change(targets[k].index) -= value.derivative;
      }
      else
      {
        along.force(targets[k].index) -= value.value;
        along.force_change(targets[k].index) -= value.derivative;
      }
    }
  };
  subtract(model_.force, model_.force_targets, [](const ForceTarget &) { return 1.0; });
  subtract(
    model_.inputs, model_.input_targets, [&](const ForceTarget & to) { return inputs(to.input); });
}

// δ(Cᵀ y) = −Cᵀ δWᵀ Cᵀ y.
void FormulaSystem::do_add_coordinate_force_derivatives(
  const SystemData & data, const ConstVectorRef & y, MatrixRef out) const
{
  if (model_.constant_kinematics)
  {
    return;
  }
  const Eigen::MatrixXd & C = data.terms.kinematic_matrix;
  const Eigen::VectorXd force = C.transpose() * y;
  for (Eigen::Index k = 0; k < n_; ++k)
  {
    // W does not depend on the rates.
    const Eigen::MatrixXd dW =
      speed_matrix_derivative(data.terms, C.col(k), Eigen::VectorXd::Zero(n_), 0.0);
    out.col(k) -= C.transpose() * (dW.transpose() * force);
  }
}

}  // namespace constrained_dynamics::detail
