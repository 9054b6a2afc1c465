// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Derivatives of the equations of motion (E17, E18) of a system given by formulas.

#include <vector>

#include "model/formula_system.hpp"

namespace constrained_dynamics::detail
{

// From δu = W δq̇ + ∂s/∂q δq, and from u̇ = ds/dt along (q̇, q̈, 1), both with s the speeds.
void FormulaSystem::move_coordinates(
  const SystemTerms & terms, FormulaDerivativeScratch & along) const noexcept
{
  along.rates = along.u;
  along.accelerations.setZero();
  if (model_.speeds_are_rates)
  {
    return;
  }
  std::vector<HyperDual> & x = along.hyper_x;
  const auto evaluate = [&]
  {
    for (Eigen::Index i = 0; i < n_; ++i)
    {
      x[idx(i)] = {terms.coordinates(i), terms.rates(i), along.q(i), along.rates(i)};
      x[model_.rate(i)] = {terms.rates(i), along.acceleration(i), along.rates(i), 0.0};
      x[model_.acceleration(i)] = 0.0;
    }
    x[model_.time()] = {terms.time, 1.0, 0.0, 0.0};
    model_.speeds.evaluate(x.data(), along.hyper_tape.data(), along.hyper_output.data());
  };
  along.rates.setZero();
  evaluate();
  for (Eigen::Index i = 0; i < n_; ++i)
  {
    along.work(i) = along.u(i) - along.hyper_output[idx(i)].second;
  }
  along.rates.noalias() = terms.kinematic_matrix.lazyProduct(along.work);
  evaluate();
  for (Eigen::Index i = 0; i < n_; ++i)
  {
    along.work(i) = -along.hyper_output[idx(i)].mixed;
  }
  along.accelerations.noalias() = terms.kinematic_matrix.lazyProduct(along.work);
}

/// W, and δW along (δq, δq̇, δt).
void FormulaSystem::differentiate_speed_matrix(
  const SystemTerms & terms, const Eigen::VectorXd & q, const Eigen::VectorXd & rates, double t,
  FormulaDerivativeScratch & scratch) const noexcept
{
  if (model_.speeds_are_rates)
  {
    scratch.speed_matrix.setIdentity();
    scratch.speed_matrix_change.setZero();
    return;
  }
  std::vector<Dual> & x = scratch.x;
  for (Eigen::Index i = 0; i < n_; ++i)
  {
    x[idx(i)] = Dual(terms.coordinates(i), q(i));
    x[model_.rate(i)] = Dual(terms.rates(i), rates(i));
    x[model_.acceleration(i)] = 0.0;
  }
  x[model_.time()] = Dual(terms.time, t);
  model_.speeds.forward(x.data(), scratch.tape.data());
  for (Eigen::Index i = 0; i < n_; ++i)
  {
    model_.speeds.reverse(
      scratch.tape.data(), scratch.adjoint.data(), static_cast<int>(i), scratch.gradient.data());
    for (Eigen::Index j = 0; j < n_; ++j)
    {
      const Dual & element = scratch.gradient[model_.rate(j)];
      scratch.speed_matrix(i, j) = element.value;
      scratch.speed_matrix_change(i, j) = element.derivative;
    }
  }
}

bool FormulaSystem::do_differentiate(
  SystemData & base, const ConstVectorRef & acceleration, const ConstVectorRef & inputs,
  SystemDerivatives & out) const
{
  const SystemTerms & terms = base.terms;
  const Eigen::MatrixXd & C = terms.kinematic_matrix;
  FormulaDerivativeScratch & along = static_cast<FormulaData &>(base).derivative;
  out.resize(n_, n_);
  out.acceleration = acceleration;
  out.coordinate_acceleration = C.lazyProduct(acceleration) + terms.acceleration_bias;
  along.acceleration = out.coordinate_acceleration;
  for (Eigen::Index k = 0; k < 2 * n_; ++k)
  {
    const bool by_q = k < n_;
    const Eigen::Index column = by_q ? k : k - n_;
    along.q.setZero();
    along.u.setZero();
    if (by_q)
    {
      along.q = C.col(column);
    }
    else
    {
      along.u(column) = 1.0;
    }
    move_coordinates(terms, along);
    equations_along(terms, inputs, along);
    // δ(Cᵀ r) = Cᵀ (δr − δWᵀ Cᵀ r), because δC = −C δW C.
    differentiate_speed_matrix(terms, along.q, along.rates, 0.0, along);
    along.work.noalias() = C.transpose().lazyProduct(along.force);
    along.turned.noalias() = along.speed_matrix_change.transpose().lazyProduct(along.work);
    along.work = along.force_change - along.turned;
    auto change = (by_q ? out.residual_q : out.residual_u).col(column);
    change = C.transpose().lazyProduct(along.work) + along.speed_force_change;
    (by_q ? out.coordinate_acceleration_q : out.coordinate_acceleration_u).col(column) =
      along.accelerations;
    if (by_q)
    {
      out.rate_q.col(column) = along.rates;
    }
  }
  // δq̇ = C (T δ + δu) + Ċ δ with Ċ = −C Ẇ C, and δq̇ at δu = 0 is rate_q.
  if (!model_.speeds_are_rates)
  {
    differentiate_speed_matrix(terms, terms.rates, along.still, 1.0, along);
    out.transport = along.speed_matrix.lazyProduct(out.rate_q);
    out.transport += along.speed_matrix_change.lazyProduct(C);
  }
  return true;
}

/// r and its change along a direction: Lagrange's equations with q̈, forces and inputs in them.
void FormulaSystem::equations_along(
  const SystemTerms & terms, const ConstVectorRef & inputs,
  FormulaDerivativeScratch & along) const noexcept
{
  along.force.setZero();
  along.force_change.setZero();
  along.speed_force_change.setZero();

  // d/dt ∂T/∂q̇ − ∂T/∂q: first along the motion (q̇, q̈, 1), second along the direction.
  std::vector<HyperDual> & x = along.hyper_x;
  std::vector<Dual> & y = along.x;
  for (Eigen::Index i = 0; i < n_; ++i)
  {
    const double q = terms.coordinates(i);
    const double rate = terms.rates(i);
    x[idx(i)] = {q, rate, along.q(i), along.rates(i)};
    x[model_.rate(i)] = {rate, along.acceleration(i), along.rates(i), along.accelerations(i)};
    x[model_.acceleration(i)] = 0.0;
    y[idx(i)] = Dual(q, along.q(i));
    y[model_.rate(i)] = Dual(rate, along.rates(i));
    y[model_.acceleration(i)] = Dual(along.acceleration(i), along.accelerations(i));
  }
  x[model_.time()] = {terms.time, 1.0, 0.0, 0.0};
  y[model_.time()] = terms.time;
  model_.kinetic.gradient(
    x.data(), along.hyper_tape.data(), along.hyper_adjoint.data(), 0, along.hyper_gradient.data());
  for (Eigen::Index i = 0; i < n_; ++i)
  {
    const HyperDual & by_rate = along.hyper_gradient[model_.rate(i)];
    const HyperDual & by_coordinate = along.hyper_gradient[idx(i)];
    along.force(i) += by_rate.first - by_coordinate.value;
    along.force_change(i) += by_rate.mixed - by_coordinate.second;
  }
  if (model_.has_potential)
  {
    model_.potential.gradient(
      y.data(), along.tape.data(), along.adjoint.data(), 0, along.gradient.data());
    for (Eigen::Index i = 0; i < n_; ++i)
    {
      along.force(i) += along.gradient[idx(i)].value;
      along.force_change(i) += along.gradient[idx(i)].derivative;
    }
  }
  add_forces_along(inputs, along);
}

/// Active forces and inputs at the variables in along.x.
void FormulaSystem::add_forces_along(
  const ConstVectorRef & inputs, FormulaDerivativeScratch & along) const noexcept
{
  const auto subtract =
    [&](
      const FormulaProgram & program, const std::vector<ForceTarget> & targets, const auto & weight)
  {
    program.evaluate(along.x.data(), along.tape.data(), along.output.data());
    for (std::size_t k = 0; k < targets.size(); ++k)
    {
      const Dual value = weight(targets[k]) * along.output[k];
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
  FormulaDerivativeScratch & scratch = static_cast<const FormulaData &>(data).derivative;
  scratch.force.noalias() = C.transpose().lazyProduct(y);
  for (Eigen::Index k = 0; k < n_; ++k)
  {
    // W does not depend on the rates.
    scratch.q = C.col(k);
    differentiate_speed_matrix(data.terms, scratch.q, scratch.still, 0.0, scratch);
    scratch.turned.noalias() = scratch.speed_matrix_change.transpose().lazyProduct(scratch.force);
    out.col(k) -= C.transpose().lazyProduct(scratch.turned);
  }
}

}  // namespace constrained_dynamics::detail
