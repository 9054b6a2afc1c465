// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/analysis/derivatives.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <Eigen/QR>

#include "analysis/solution_differentiator.hpp"
#include "constrained_dynamics/formulations/row_factorisation.hpp"

namespace constrained_dynamics
{

namespace
{

/// target(rows_i) −= Σ_j Γ_ij values(rows_j), row by row.
void subtract_gain(
  const Gain & gain, const std::vector<int> & rows, const Eigen::MatrixXd & values,
  Eigen::MatrixXd & target)
{
  for (std::size_t i = 0; i < rows.size(); ++i)
  {
    if (!gain.is_matrix())
    {
      target.row(rows[i]) -= gain.scalar() * values.row(rows[i]);
      continue;
    }
    for (std::size_t j = 0; j < rows.size(); ++j)
    {
      const double factor =
        gain.matrix()(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j));
      target.row(rows[i]) -= factor * values.row(rows[j]);
    }
  }
}

}  // namespace

SolutionDifferentiator::SolutionDifferentiator(
  const Dynamics & dynamics, Workspace & workspace, const DerivativeOptions & options)
: dynamics_(dynamics),
  workspace_(workspace),
  evaluation_(WorkspaceAccess::evaluation(workspace)),
  of_(evaluation_.of()),
  options_(options),
  n_(dynamics.system().speed_count()),
  m_(dynamics.constraints().row_count())
{
}

Status SolutionDifferentiator::solve_here()
{
  // By rows and terms, which are needed afterwards, whatever the formulation is.
  Status status = dynamics_.evaluate_rows(time_, q_, u_, workspace_);
  status = status == Status::kOk ? dynamics_.evaluate_terms(workspace_) : status;
  return status == Status::kOk ? dynamics_.solve(inputs_, workspace_) : status;
}

Status SolutionDifferentiator::run(
  double time, const ConstVectorRef & q, const ConstVectorRef & u, const ConstVectorRef & inputs,
  SolutionDerivatives & out)
{
  time_ = time;
  q_ = q;
  u_ = u;
  inputs_ = inputs;
  const Status status = solve_here();
  if (!has_output(status))
  {
    return status;
  }
  gather();
  Terms terms;
  Status step = differentiate_terms(
    workspace_.solution().acceleration, row_multipliers(range_multipliers_), terms);
  if (step != Status::kOk)
  {
    return step;
  }
  SolutionDerivatives result;
  step = solve(terms, result);
  if (step != Status::kOk)
  {
    return step;
  }
  // Differences moved the workspace.
  step = solve_here();
  if (!has_output(step))
  {
    return step;
  }
  out = std::move(result);
  return status;
}

/// The active rows at the state, factored as the solution had them.
void SolutionDifferentiator::gather()
{
  active_.clear();
  for (int row = 0; row < m_; ++row)
  {
    const int constraint = of_.constraint_of_row[static_cast<std::size_t>(row)];
    if (workspace_.is_active(constraint))
    {
      active_.push_back(row);
    }
  }
  const Eigen::Index count = static_cast<Eigen::Index>(active_.size());
  const Eigen::MatrixXd complete = complete_jacobian(dynamics_.system(), workspace_.rows());
  jacobian_.resize(count, n_);
  complete_jacobian_.resize(count, n_);
  scale_.resize(count);
  weight_.resize(count);
  multipliers_.resize(count);
  for (Eigen::Index k = 0; k < count; ++k)
  {
    const int row = active_[static_cast<std::size_t>(k)];
    jacobian_.row(k) = workspace_.rows().jacobian.row(row);
    complete_jacobian_.row(k) = complete.row(row);
    scale_(k) = workspace_.row_scale()(row);
    weight_(k) = of_.multiplier_weight(row);
    multipliers_(k) = workspace_.solution().multipliers(row);
  }
  mass_matrix_ = workspace_.terms().mass_matrix;
  input_matrix_ = workspace_.terms().input_matrix;
  factorisation_ =
    std::make_unique<RowFactorisation>(static_cast<int>(n_), std::max(static_cast<int>(count), 1));
  // Sizes fit and numbers are finite: they come from a solution. A singular position keeps the rows
  // that are left, as the solution does.
  static_cast<void>(
    factorisation_->factor(jacobian_, scale_, workspace_.nominal_rank(), dynamics_.options().rank));
  redundant_ = factorisation_->rank() < count;
  // The multipliers that lie in the range of the rows: Dynamics::solve leaves out combinations of
  // rows that vanish on the manifold, so their forces do not count when leaving it.
  range_multipliers_ = multipliers_;
  if (redundant_)
  {
    factorisation_->multipliers(
      workspace_.solution().constraint_force, scale_.cwiseInverse(), range_multipliers_);
  }
}

/// Multipliers of all rows from those of the active ones.
Eigen::VectorXd SolutionDifferentiator::row_multipliers(const Eigen::VectorXd & active) const
{
  Eigen::VectorXd result = Eigen::VectorXd::Zero(m_);
  for (std::size_t k = 0; k < active_.size(); ++k)
  {
    result(active_[k]) = active(static_cast<Eigen::Index>(k));
  }
  return result;
}

/// The derivatives of b that stabilisation adds.
void SolutionDifferentiator::stabilise(
  const SolutionDerivatives & rows, Eigen::MatrixXd & residual_q,
  Eigen::MatrixXd & residual_u) const
{
  const Stabilisation & stabilisation = dynamics_.options().stabilisation;
  if (stabilisation.kind != Stabilisation::Kind::kBaumgarte)
  {
    return;
  }
  subtract_gain(stabilisation.velocity_gain, of_.position_rows, rows.velocity_q, residual_q);
  subtract_gain(stabilisation.velocity_gain, of_.position_rows, rows.velocity_u, residual_u);
  subtract_gain(stabilisation.position_gain, of_.position_rows, rows.position_q, residual_q);
  subtract_gain(stabilisation.nonholonomic_gain, of_.velocity_rows, rows.velocity_q, residual_q);
  subtract_gain(stabilisation.nonholonomic_gain, of_.velocity_rows, rows.velocity_u, residual_u);
}

/// Derivatives of φ, φ̇ and ψ.
void SolutionDifferentiator::differentiate_rows(
  const Terms & terms, SolutionDerivatives & out) const
{
  out.velocity_q = terms.velocity_q;
  out.position_q.setZero(m_, n_);
  out.velocity_u.setZero(m_, n_);
  for (std::size_t k = 0; k < active_.size(); ++k)
  {
    const int row = active_[k];
    const RowLevel level = of_.level_of_row[static_cast<std::size_t>(row)];
    const auto jacobian = complete_jacobian_.row(static_cast<Eigen::Index>(k));
    if (level == RowLevel::kPosition)
    {
      out.position_q.row(row) = jacobian;
    }
    if (level != RowLevel::kAcceleration)
    {
      out.velocity_u.row(row) = jacobian;
    }
  }
}

/// The solutions δu̇ of (E17) for right sides of forces and rows, a column each:
///     Q δu̇ − Aᵀ δλ = force_side,   A δu̇ = row_side,
/// by the null space of the rows (E4, E5).
Eigen::MatrixXd SolutionDifferentiator::solve_accelerations(
  const Eigen::MatrixXd & force_side, const Eigen::MatrixXd & row_side)
{
  const Eigen::Index r = factorisation_->rank();
  const Eigen::Index p = n_ - r;
  const Eigen::VectorXi & order = factorisation_->order();
  Eigen::MatrixXd basis = Eigen::MatrixXd::Zero(n_, p);  // A2ᵀ
  for (Eigen::Index i = 0; i < r && p > 0; ++i)  // without columns there are no rows to refer to
  {
    basis.row(order(i)) = factorisation_->dependency().row(i);
  }
  for (Eigen::Index i = 0; i < p; ++i)
  {
    basis(order(r + i), i) = 1.0;
  }
  Eigen::MatrixXd change = Eigen::MatrixXd::Zero(n_, force_side.cols());
  Eigen::VectorXd beta(r);
  for (Eigen::Index column = 0; column < change.cols() && r > 0; ++column)
  {
    factorisation_->particular(row_side.col(column), beta);
    for (Eigen::Index i = 0; i < r; ++i)
    {
      change(order(i), column) = beta(i);
    }
  }
  if (p > 0)
  {
    const Eigen::PartialPivLU<Eigen::MatrixXd> inertia(basis.transpose() * mass_matrix_ * basis);
    const Eigen::MatrixXd reduced = basis.transpose() * (force_side - mass_matrix_ * change);
    change += basis * inertia.solve(reduced);
  }
  return change;
}

// (E17) with the right sides −∂e + ∂(Aᵀ) λ and −∂(A u̇ − b), e = Q u̇ − P − G τ.
Status SolutionDifferentiator::solve(const Terms & terms, SolutionDerivatives & out)
{
  out.system_is_analytic = terms.system_is_analytic;
  out.constraint_is_analytic = terms.constraint_is_analytic;
  out.transport = terms.system.transport;
  differentiate_rows(terms, out);
  Eigen::MatrixXd residual_q = terms.residual_q;
  Eigen::MatrixXd residual_u = terms.residual_u;
  stabilise(out, residual_q, residual_u);

  // Right sides: by q, by u, by a generalized force.
  Eigen::MatrixXd force_side(n_, 3 * n_);
  force_side << terms.force_q - terms.system.residual_q, terms.force_u - terms.system.residual_u,
    Eigen::MatrixXd::Identity(n_, n_);
  const Eigen::Index count = static_cast<Eigen::Index>(active_.size());
  Eigen::MatrixXd row_side = Eigen::MatrixXd::Zero(count, 3 * n_);
  for (Eigen::Index k = 0; k < count; ++k)
  {
    const int row = active_[static_cast<std::size_t>(k)];
    row_side.row(k).head(n_) = -residual_q.row(row);
    row_side.row(k).segment(n_, n_) = -residual_u.row(row);
  }
  for (const int driven : dynamics_.system().driven_speeds())
  {
    row_side -=
      complete_jacobian_.col(driven) * force_side.row(driven) / mass_matrix_(driven, driven);
  }
  const Eigen::MatrixXd change = solve_accelerations(force_side, row_side);  // δu̇
  // δF^c = Q δu̇ + ∂e; by a force: Q δu̇ − 1.
  Eigen::MatrixXd force_change = mass_matrix_ * change;
  force_change.leftCols(n_) += terms.system.residual_q;
  force_change.middleCols(n_, n_) += terms.system.residual_u;
  force_change.rightCols(n_) -= Eigen::MatrixXd::Identity(n_, n_);
  Eigen::MatrixXd multiplier_change;
  const Status status = differentiate_multipliers(terms, force_change, multiplier_change);
  if (status != Status::kOk)
  {
    return status;
  }
  out.acceleration_q = change.leftCols(n_);
  out.acceleration_u = change.middleCols(n_, n_);
  out.acceleration_force = change.rightCols(n_);
  out.acceleration_input = out.acceleration_force * input_matrix_;
  out.constraint_force_q = force_change.leftCols(n_);
  out.constraint_force_u = force_change.middleCols(n_, n_);
  out.constraint_force_input = force_change.rightCols(n_) * input_matrix_;
  Eigen::MatrixXd all = Eigen::MatrixXd::Zero(m_, 3 * n_);
  for (Eigen::Index k = 0; k < count; ++k)
  {
    all.row(active_[static_cast<std::size_t>(k)]) = multiplier_change.row(k);
  }
  out.multipliers_q = all.leftCols(n_);
  out.multipliers_u = all.middleCols(n_, n_);
  out.multipliers_input = all.rightCols(n_) * input_matrix_;
  if (input_matrix_.cols() == 0)
  {
    out.multipliers_input.resize(m_, 0);
  }
  const bool finite = change.allFinite() && all.allFinite();
  return finite ? Status::kOk : Status::kNonFiniteResult;
}

// Aᵀ δλ = δF^c − ∂(Aᵀ) λ. With redundant rows the split with the least ‖W λ‖ also turns with the
// left null space Z of A: from ZᵀW²λ = 0 and Aᵀ δZ = −∂(Aᵀ) Z follows ZᵀW² δλ = Zᵀ ∂(A) η, A η =
// W²λ.
Status SolutionDifferentiator::differentiate_multipliers(
  const Terms & terms, const Eigen::MatrixXd & force_change, Eigen::MatrixXd & out)
{
  const Eigen::Index count = static_cast<Eigen::Index>(active_.size());
  out.setZero(count, 3 * n_);
  if (count == 0)
  {
    return Status::kOk;
  }
  Terms turned = terms;
  Eigen::VectorXd eta = Eigen::VectorXd::Zero(n_);
  const Eigen::VectorXd weight_squared = weight_.cwiseAbs2();
  if (redundant_)
  {
    const Eigen::Index r = factorisation_->rank();
    Eigen::VectorXd dependent(r);
    factorisation_->particular(weight_squared.cwiseProduct(multipliers_), dependent);
    for (Eigen::Index i = 0; i < r; ++i)
    {
      eta(factorisation_->order()(i)) = dependent(i);
    }
    Status status = solve_here();
    if (!has_output(status))
    {
      return status;
    }
    const Eigen::VectorXd acceleration = workspace_.solution().acceleration + eta;
    status = differentiate_terms(acceleration, row_multipliers(multipliers_), turned);
    if (status != Status::kOk)
    {
      return status;
    }
  }
  Eigen::MatrixXd side = force_change;
  side.leftCols(n_) -= turned.force_q;
  side.middleCols(n_, n_) -= turned.force_u;
  Eigen::VectorXd column(count);
  for (Eigen::Index k = 0; k < 3 * n_; ++k)
  {
    factorisation_->multipliers(side.col(k), weight_, column);
    out.col(k) = column;
  }
  if (redundant_)
  {
    const Eigen::ColPivHouseholderQR<Eigen::MatrixXd> qr(scale_.asDiagonal() * jacobian_);
    const Eigen::MatrixXd complete = qr.householderQ();
    const Eigen::MatrixXd Z =
      scale_.asDiagonal() * complete.rightCols(count - factorisation_->rank());
    Eigen::MatrixXd turning = Eigen::MatrixXd::Zero(count, 2 * n_);  // ∂(A) η
    for (Eigen::Index k = 0; k < count; ++k)
    {
      const int row = active_[static_cast<std::size_t>(k)];
      turning.row(k) << turned.residual_q.row(row) - terms.residual_q.row(row),
        turned.residual_u.row(row) - terms.residual_u.row(row);
    }
    const Eigen::MatrixXd gram = Z.transpose() * weight_squared.asDiagonal() * Z;
    out.leftCols(2 * n_) += Z * gram.ldlt().solve(Z.transpose() * turning);
  }
  return Status::kOk;
}

Status differentiate(
  const Dynamics & dynamics, double time, const ConstVectorRef & q, const ConstVectorRef & u,
  const ConstVectorRef & inputs, Workspace & workspace, SolutionDerivatives & out,
  const DerivativeOptions & options)
{
  return SolutionDifferentiator(dynamics, workspace, options).run(time, q, u, inputs, out);
}

Eigen::MatrixXd by_coordinates(const Eigen::MatrixXd & directional, const Workspace & workspace)
{
  const Eigen::MatrixXd & C = workspace.terms().kinematic_matrix;
  if (C.rows() != C.cols())
  {
    throw std::invalid_argument(
      "derivatives by coordinates are asked for a system with " + std::to_string(C.rows()) +
      " coordinates and " + std::to_string(C.cols()) + " speeds; allowed: as many of both");
  }
  if (directional.rows() == 0)
  {
    return Eigen::MatrixXd(0, C.cols());  // Eigen's solvers refer to the first element
  }
  return Eigen::PartialPivLU<Eigen::MatrixXd>(C.transpose())
    .solve(directional.transpose())
    .transpose();
}

}  // namespace constrained_dynamics
