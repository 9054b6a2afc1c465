// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Derivatives of the terms of the equations at fixed u̇, λ and τ: the system's and the constraints'
// own where they have them, differences for the others.

#include <algorithm>
#include <cmath>

#include "analysis/central_differences.hpp"
#include "analysis/solution_differentiator.hpp"
#include "model/rigid_body_derivatives.hpp"

namespace constrained_dynamics
{

void TermDerivatives::resize(const Dynamics & dynamics)
{
  const Eigen::Index n = dynamics.system().speed_count();
  const Eigen::Index m = dynamics.constraints().row_count();
  system.resize(dynamics.system().coordinate_count(), n);
  for (Eigen::MatrixXd * matrix : {&residual_q, &residual_u, &velocity_q})
  {
    matrix->setZero(m, n);
  }
  force_q.setZero(n, n);
  force_u.setZero(n, n);
  constraint_is_analytic.assign(static_cast<std::size_t>(dynamics.constraints().size()), false);
}

/// Uses row_multipliers_.
Status SolutionDifferentiator::differentiate_terms(
  const Call & call, const Eigen::VectorXd & acceleration, TermDerivatives & out) noexcept
{
  differentiate_analytic(call, acceleration, out);
  const bool all_rows = std::all_of(
    out.constraint_is_analytic.begin(), out.constraint_is_analytic.end(),
    [](bool is) { return is; });
  if (!out.system_is_analytic || !all_rows)
  {
    moved_ = true;
    const Status status = take_differences(call, acceleration, out);
    if (status != Status::kOk)
    {
      return status;
    }
  }
  for (const int driven : call.dynamics.system().driven_speeds())
  {
    out.force_q.row(driven).setZero();
    out.force_u.row(driven).setZero();
  }
  return Status::kOk;
}

void SolutionDifferentiator::differentiate_analytic(
  const Call & call, const Eigen::VectorXd & acceleration, TermDerivatives & out) noexcept
{
  const ConstraintSet & set = call.dynamics.constraints();
  SystemData & data = *call.evaluation.system_data;
  for (Eigen::MatrixXd * matrix :
       {&out.residual_q, &out.residual_u, &out.velocity_q, &out.force_q, &out.force_u})
  {
    matrix->setZero();
  }
  std::fill(out.constraint_is_analytic.begin(), out.constraint_is_analytic.end(), false);
  out.system_is_analytic =
    !options_.force_differences &&
    call.dynamics.system().differentiate(data, acceleration, inputs_, out.system);
  if (finds_inertia(call))
  {
    mass_matrix_ = tree_derivatives(call.dynamics.system(), data)->mass_matrix();
  }
  for (int i = 0; i < set.size() && out.system_is_analytic; ++i)
  {
    const Eigen::Index offset = set.row_offset(i);
    const Eigen::Index count = set[i].row_count();
    RowDerivatives block{
      out.residual_q.middleRows(offset, count), out.residual_u.middleRows(offset, count),
      out.velocity_q.middleRows(offset, count), out.force_q, out.force_u};
    out.constraint_is_analytic[static_cast<std::size_t>(i)] =
      !acts(call, i) ||
      set[i].differentiate(
        data, out.system, row_multipliers_.segment(offset, count), call.evaluation.scratch, block);
    if (!call.workspace.is_active(i))
    {
      // Its force acts, its rows do not.
      block.residual_q.setZero();
      block.residual_u.setZero();
      block.velocity_q.setZero();
    }
  }
}

/// The terms without analytic derivatives at the state of the workspace, one below the other, into
/// `values_`.
Status SolutionDifferentiator::evaluate_terms(
  const Call & call, const Eigen::VectorXd & acceleration, const TermDerivatives & terms) noexcept
{
  Status status = call.evaluation.ask_rows();
  if (status == Status::kOk && !terms.system_is_analytic)
  {
    status = call.evaluation.ask_terms();
  }
  if (status != Status::kOk)
  {
    return status;
  }
  const SystemTerms & at = call.evaluation.system_data->terms;
  const Rows & rows = call.evaluation.rows;
  const std::vector<int> & driven = call.dynamics.system().driven_speeds();
  auto force = values_.tail(n_);
  auto residual = values_.head(n_);
  auto row_residual = values_.segment(n_ + 2 * nq_, m_);
  values_.setZero();
  if (!terms.system_is_analytic)
  {
    residual = at.mass_matrix.lazyProduct(acceleration) - at.force;
    for (Eigen::Index k = 0; k < inputs_.size(); ++k)
    {
      residual -= inputs_(k) * at.input_matrix.col(k);
    }
  }
  values_.segment(n_, nq_) = at.rates;
  values_.segment(n_ + nq_, nq_) =
    at.kinematic_matrix.lazyProduct(acceleration) + at.acceleration_bias;
  row_residual = rows.jacobian.lazyProduct(acceleration) - rows.bias;
  for (std::size_t k = 0; k < driven.size(); ++k)
  {
    row_residual +=
      acceleration(driven[k]) * rows.driven_jacobian.col(static_cast<Eigen::Index>(k));
  }
  values_.segment(n_ + 2 * nq_ + m_, m_) = rows.velocity;
  for (int i = 0; i < call.dynamics.constraints().size(); ++i)
  {
    if (!terms.constraint_is_analytic[static_cast<std::size_t>(i)])
    {
      const Eigen::Index offset = call.dynamics.constraints().row_offset(i);
      const Eigen::Index count = call.dynamics.constraints()[i].row_count();
      force += rows.jacobian.middleRows(offset, count)
                 .transpose()
                 .lazyProduct(row_multipliers_.segment(offset, count));
    }
  }
  return Status::kOk;
}

/// Differences of fourth order for the terms that have no derivatives of their own.
Status SolutionDifferentiator::take_differences(
  const Call & call, const Eigen::VectorXd & acceleration, TermDerivatives & out) noexcept
{
  const SystemTerms & terms = call.evaluation.system_data->terms;
  kinematic_matrix_ = terms.kinematic_matrix;
  rates_ = terms.rates;
  if (!out.system_is_analytic)
  {
    out.system.resize(nq_, n_);
    out.system.acceleration = acceleration;
    out.system.coordinate_acceleration =
      kinematic_matrix_.lazyProduct(acceleration) + terms.acceleration_bias;
  }
  for (Eigen::Index k = 0; k < 2 * n_; ++k)
  {
    const double size = k < n_ ? 1.0 : std::max(1.0, std::abs(u_(k - n_)));
    const Status status = central_difference(
      kDifferenceStep * size,
      [&](double distance)
      {
        displace(call.dynamics.system(), k, distance);
        const Status at = call.evaluation.set_state(time_, moved_q_, moved_u_);
        return at == Status::kOk ? evaluate_terms(call, acceleration, out) : at;
      },
      values_, derivative_);
    if (status != Status::kOk)
    {
      return status;
    }
    take_derivative(call, k, out);
  }
  return out.system_is_analytic ? Status::kOk : differentiate_transport(call, out.system);
}

/// Sets moved_q_ and moved_u_: the state moved by a distance in direction k of (δ, u), δ in the
/// directions of the speeds.
void SolutionDifferentiator::displace(
  const System & system, Eigen::Index k, double distance) noexcept
{
  moved_q_ = q_;
  moved_u_ = u_;
  if (k < n_)
  {
    moved_q_ += distance * kinematic_matrix_.col(k);
    system.normalise(moved_q_);
  }
  else
  {
    moved_u_(k - n_) += distance;
  }
}

/// Puts the derivatives of evaluate_terms() in direction k of (δ, u) where they belong.
void SolutionDifferentiator::take_derivative(
  const Call & call, Eigen::Index k, TermDerivatives & out) const noexcept
{
  const ConstraintSet & set = call.dynamics.constraints();
  const bool by_q = k < n_;
  const Eigen::Index column = by_q ? k : k - n_;
  if (!out.system_is_analytic)
  {
    (by_q ? out.system.residual_q : out.system.residual_u).col(column) = derivative_.head(n_);
    if (by_q)
    {
      out.system.rate_q.col(column) = derivative_.segment(n_, nq_);
    }
    (by_q ? out.system.coordinate_acceleration_q : out.system.coordinate_acceleration_u)
      .col(column) = derivative_.segment(n_ + nq_, nq_);
  }
  for (int i = 0; i < set.size(); ++i)
  {
    if (!out.constraint_is_analytic[static_cast<std::size_t>(i)] && call.workspace.is_active(i))
    {
      const Eigen::Index offset = set.row_offset(i);
      const Eigen::Index count = set[i].row_count();
      (by_q ? out.residual_q : out.residual_u).col(column).segment(offset, count) =
        derivative_.segment(n_ + 2 * nq_ + offset, count);
      if (by_q)
      {
        out.velocity_q.col(column).segment(offset, count) =
          derivative_.segment(n_ + 2 * nq_ + m_ + offset, count);
      }
    }
  }
  (by_q ? out.force_q : out.force_u).col(column) += derivative_.tail(n_);
}

/// T = C⁺ (∂q̇/∂δ − Ċ), Ċ along the motion.
Status SolutionDifferentiator::differentiate_transport(
  const Call & call, SystemDerivatives & out) noexcept
{
  // No coordinate moves further than in the other differences.
  const double speed = std::max(1.0, nq_ > 0 ? rates_.cwiseAbs().maxCoeff() : 0.0);
  const Eigen::MatrixXd & C_now = call.evaluation.system_data->terms.kinematic_matrix;
  double ahead = 0.0;
  const Status status = central_difference(
    kDifferenceStep / speed,
    [&](double distance)
    {
      ahead = distance;
      moved_q_ = q_ + ahead * rates_;
      return call.evaluation.set_state(time_ + ahead, moved_q_, u_);
    },
    C_now, kinematic_change_);
  if (status != Status::kOk)
  {
    return status;
  }
  // Speeds that move no coordinate (controls that are states) have columns of zeros.
  Eigen::Index count = 0;
  for (Eigen::Index k = 0; k < n_; ++k)
  {
    if ((kinematic_matrix_.col(k).array() == 0.0).all())
    {
      continue;
    }
    if (count == nq_)
    {
      return Status::kSingularKinematics;
    }
    moving_(count) = static_cast<int>(k);
    kinematic_factors_.matrix(nq_, n_).col(count++) = kinematic_matrix_.col(k);
  }
  kinematic_factors_.factor(nq_, count);
  for (Eigen::Index k = 0; k < n_; ++k)
  {
    moved_q_ = out.rate_q.col(k) - kinematic_change_.col(k);
    kinematic_factors_.apply_transpose(moved_q_);
    kinematic_factors_.divide(moved_q_.head(count));
    for (Eigen::Index i = 0; i < count; ++i)
    {
      out.transport(moving_(i), k) = moved_q_(i);
    }
  }
  return Status::kOk;
}

}  // namespace constrained_dynamics
