// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// Derivatives of the terms of the equations at fixed u̇, λ and τ: the system's and the constraints'
// own where they have them, differences for the others.

#include <algorithm>
#include <cmath>

#include <Eigen/QR>

#include "analysis/central_differences.hpp"
#include "analysis/solution_differentiator.hpp"

namespace constrained_dynamics
{

Status SolutionDifferentiator::differentiate_terms(
  const Eigen::VectorXd & acceleration, const Eigen::VectorXd & multipliers, Terms & out)
{
  const ConstraintSet & set = dynamics_.constraints();
  const System & system = dynamics_.system();
  SystemData & data = *evaluation_.system_data;
  out.residual_q.setZero(m_, n_);
  out.residual_u.setZero(m_, n_);
  out.velocity_q.setZero(m_, n_);
  out.force_q.setZero(n_, n_);
  out.force_u.setZero(n_, n_);
  out.constraint_is_analytic.assign(static_cast<std::size_t>(set.size()), false);
  out.system_is_analytic =
    !options_.force_differences && system.differentiate(data, acceleration, inputs_, out.system);
  for (int i = 0; i < set.size() && out.system_is_analytic; ++i)
  {
    const Eigen::Index offset = set.row_offset(i);
    const Eigen::Index count = set[i].row_count();
    const Eigen::MatrixXd force_q = out.force_q;
    const Eigen::MatrixXd force_u = out.force_u;
    RowDerivatives block{
      out.residual_q.middleRows(offset, count), out.residual_u.middleRows(offset, count),
      out.velocity_q.middleRows(offset, count), out.force_q, out.force_u};
    const bool analytic =
      !workspace_.is_active(i) ||
      set[i].differentiate(
        data, out.system, multipliers.segment(offset, count), evaluation_.scratch, block);
    out.constraint_is_analytic[static_cast<std::size_t>(i)] = analytic;
    if (!analytic)
    {
      out.force_q = force_q;  // whatever the kind began with
      out.force_u = force_u;
    }
  }
  const Status status = take_differences(acceleration, multipliers, out);
  if (status != Status::kOk)
  {
    return status;
  }
  for (int i = 0; i < set.size(); ++i)
  {
    if (!workspace_.is_active(i))
    {
      for (Eigen::MatrixXd * matrix : {&out.residual_q, &out.residual_u, &out.velocity_q})
      {
        matrix->middleRows(set.row_offset(i), set[i].row_count()).setZero();
      }
    }
  }
  for (const int driven : system.driven_speeds())
  {
    out.force_q.row(driven).setZero();
    out.force_u.row(driven).setZero();
  }
  const bool finite = out.system.residual_q.allFinite() && out.system.residual_u.allFinite() &&
                      out.system.transport.allFinite() && out.residual_q.allFinite() &&
                      out.residual_u.allFinite() && out.velocity_q.allFinite() &&
                      out.force_q.allFinite() && out.force_u.allFinite();
  return finite ? Status::kOk : Status::kNonFiniteResult;
}

/// The terms without analytic derivatives, at a state, one below the other.
Status SolutionDifferentiator::evaluate_terms(
  const State & state, const Eigen::VectorXd & acceleration, const Eigen::VectorXd & multipliers,
  const Terms & terms, Eigen::VectorXd & out)
{
  const System & system = dynamics_.system();
  Status status = dynamics_.evaluate_rows(state.time, state.q, state.u, workspace_);
  if (status == Status::kOk && !terms.system_is_analytic)
  {
    status = dynamics_.evaluate_terms(workspace_);
  }
  if (status != Status::kOk)
  {
    return status;
  }
  const constrained_dynamics::Terms at = workspace_.terms();
  const Rows & rows = workspace_.rows();
  Eigen::VectorXd force = Eigen::VectorXd::Zero(n_);
  for (int i = 0; i < dynamics_.constraints().size(); ++i)
  {
    if (!terms.constraint_is_analytic[static_cast<std::size_t>(i)])
    {
      const Eigen::Index offset = dynamics_.constraints().row_offset(i);
      const Eigen::Index count = dynamics_.constraints()[i].row_count();
      force +=
        rows.jacobian.middleRows(offset, count).transpose() * multipliers.segment(offset, count);
    }
  }
  Eigen::VectorXd residual = Eigen::VectorXd::Zero(n_);
  if (!terms.system_is_analytic)
  {
    residual = at.mass_matrix * acceleration - at.force - at.input_matrix * inputs_;
  }
  out.resize(2 * n_ + 2 * at.rates.size() + 2 * m_);
  out << residual, at.rates, at.kinematic_matrix * acceleration + at.acceleration_bias,
    complete_jacobian(system, rows) * acceleration - rows.bias, rows.velocity, force;
  return Status::kOk;
}

/// Differences of fourth order for the terms that have no derivatives of their own.
Status SolutionDifferentiator::take_differences(
  const Eigen::VectorXd & acceleration, const Eigen::VectorXd & multipliers, Terms & out)
{
  const bool all_rows = std::all_of(
    out.constraint_is_analytic.begin(), out.constraint_is_analytic.end(),
    [](bool is) { return is; });
  if (out.system_is_analytic && all_rows)
  {
    return Status::kOk;
  }
  const System & system = dynamics_.system();
  const State here{time_, q_, u_};
  const Eigen::MatrixXd C = workspace_.terms().kinematic_matrix;
  const Eigen::VectorXd rates = workspace_.terms().rates;
  if (!out.system_is_analytic)
  {
    out.system.resize(system.coordinate_count(), n_);
    out.system.acceleration = acceleration;
    out.system.coordinate_acceleration = C * acceleration + workspace_.terms().acceleration_bias;
  }
  for (Eigen::Index k = 0; k < 2 * n_; ++k)
  {
    const double size = k < n_ ? 1.0 : std::max(1.0, std::abs(u_(k - n_)));
    Eigen::VectorXd derivative;
    const Status status = central_difference(
      kDifferenceStep * size,
      [&](double distance, Eigen::VectorXd & values)
      {
        const State moved = displaced(system, here, C, k, distance);
        return evaluate_terms(moved, acceleration, multipliers, out, values);
      },
      derivative);
    if (status != Status::kOk)
    {
      return status;
    }
    take_derivative(k, derivative, out);
  }
  return out.system_is_analytic ? Status::kOk : differentiate_transport(C, rates, out.system);
}

/// Puts the derivatives of evaluate_terms() in direction k of (δ, u) where they belong.
void SolutionDifferentiator::take_derivative(
  Eigen::Index k, const Eigen::VectorXd & derivative, Terms & out) const
{
  const ConstraintSet & set = dynamics_.constraints();
  const Eigen::Index nq = dynamics_.system().coordinate_count();
  const bool by_q = k < n_;
  const Eigen::Index column = by_q ? k : k - n_;
  if (!out.system_is_analytic)
  {
    (by_q ? out.system.residual_q : out.system.residual_u).col(column) = derivative.head(n_);
    if (by_q)
    {
      out.system.rate_q.col(column) = derivative.segment(n_, nq);
    }
    (by_q ? out.system.coordinate_acceleration_q : out.system.coordinate_acceleration_u)
      .col(column) = derivative.segment(n_ + nq, nq);
  }
  for (int i = 0; i < set.size(); ++i)
  {
    if (!out.constraint_is_analytic[static_cast<std::size_t>(i)])
    {
      const Eigen::Index offset = set.row_offset(i);
      const Eigen::Index count = set[i].row_count();
      (by_q ? out.residual_q : out.residual_u).col(column).segment(offset, count) =
        derivative.segment(n_ + 2 * nq + offset, count);
      if (by_q)
      {
        out.velocity_q.col(column).segment(offset, count) =
          derivative.segment(n_ + 2 * nq + m_ + offset, count);
      }
    }
  }
  (by_q ? out.force_q : out.force_u).col(column) += derivative.tail(n_);
}

/// T = C⁺ (∂q̇/∂δ − Ċ), Ċ along the motion.
Status SolutionDifferentiator::differentiate_transport(
  const Eigen::MatrixXd & C, const Eigen::VectorXd & rates, SystemDerivatives & out)
{
  // No coordinate moves further than in the other differences.
  const double speed = std::max(1.0, rates.size() > 0 ? rates.cwiseAbs().maxCoeff() : 0.0);
  Eigen::MatrixXd C_dot;
  const Status status = central_difference(
    kDifferenceStep / speed,
    [&](double ahead, Eigen::MatrixXd & value)
    {
      const Status at = dynamics_.set_state(time_ + ahead, q_ + ahead * rates, u_, workspace_);
      value = workspace_.terms().kinematic_matrix;
      return at;
    },
    C_dot);
  if (status == Status::kOk)
  {
    out.transport = Eigen::ColPivHouseholderQR<Eigen::MatrixXd>(C).solve(out.rate_q - C_dot);
  }
  return status;
}

}  // namespace constrained_dynamics
