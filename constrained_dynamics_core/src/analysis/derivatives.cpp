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

#include "analysis/derivatives_internal.hpp"
#include "constrained_dynamics/formulations/row_factorisation.hpp"

namespace constrained_dynamics
{

namespace
{

// Step of the fourth-order differences: their error h⁴ and their rounding ε/h are both below 1e-12
// for terms that vary over lengths, angles and speeds of about 1.
constexpr double kStep = 1e-3;

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
  double time, const Eigen::VectorXd & q, const Eigen::VectorXd & u,
  const Eigen::VectorXd & acceleration, const Eigen::VectorXd & multipliers, const Terms & terms,
  Eigen::VectorXd & out)
{
  const System & system = dynamics_.system();
  Status status = dynamics_.evaluate_rows(time, q, u, workspace_);
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
  const ConstraintSet & set = dynamics_.constraints();
  const System & system = dynamics_.system();
  const Eigen::Index nq = system.coordinate_count();
  const Eigen::MatrixXd C = workspace_.terms().kinematic_matrix;
  const Eigen::VectorXd rates = workspace_.terms().rates;
  if (!out.system_is_analytic)
  {
    out.system.resize(nq, n_);
    out.system.acceleration = acceleration;
    out.system.coordinate_acceleration = C * acceleration + workspace_.terms().acceleration_bias;
  }
  // f'(0) from f(±h), f(±2h).
  constexpr double kNodes[] = {-2.0, -1.0, 1.0, 2.0};
  constexpr double kWeights[] = {1.0 / 12.0, -8.0 / 12.0, 8.0 / 12.0, -1.0 / 12.0};
  Eigen::VectorXd values;
  for (Eigen::Index k = 0; k < 2 * n_; ++k)
  {
    const bool by_q = k < n_;
    const Eigen::Index column = by_q ? k : k - n_;
    const double step = by_q ? kStep : kStep * std::max(1.0, std::abs(u_(column)));
    Eigen::VectorXd sum;
    for (int node = 0; node < 4; ++node)
    {
      Eigen::VectorXd q = q_;
      Eigen::VectorXd u = u_;
      if (by_q)
      {
        q += kNodes[node] * step * C.col(column);
        system.normalise(q);
      }
      else
      {
        u(column) += kNodes[node] * step;
      }
      const Status status = evaluate_terms(time_, q, u, acceleration, multipliers, out, values);
      if (status != Status::kOk)
      {
        return status;
      }
      const Eigen::VectorXd part = kWeights[node] / step * values;
      sum = node == 0 ? part : Eigen::VectorXd(sum + part);
    }
    if (!out.system_is_analytic)
    {
      (by_q ? out.system.residual_q : out.system.residual_u).col(column) = sum.head(n_);
      if (by_q)
      {
        out.system.rate_q.col(column) = sum.segment(n_, nq);
      }
      (by_q ? out.system.coordinate_acceleration_q : out.system.coordinate_acceleration_u)
        .col(column) = sum.segment(n_ + nq, nq);
    }
    for (int i = 0; i < set.size(); ++i)
    {
      if (!out.constraint_is_analytic[static_cast<std::size_t>(i)])
      {
        const Eigen::Index offset = set.row_offset(i);
        const Eigen::Index count = set[i].row_count();
        (by_q ? out.residual_q : out.residual_u).col(column).segment(offset, count) =
          sum.segment(n_ + 2 * nq + offset, count);
        if (by_q)
        {
          out.velocity_q.col(column).segment(offset, count) =
            sum.segment(n_ + 2 * nq + m_ + offset, count);
        }
      }
    }
    (by_q ? out.force_q : out.force_u).col(column) += sum.tail(n_);
  }
  if (!out.system_is_analytic)
  {
    // T = C⁺ (∂q̇/∂δ − Ċ), Ċ along the motion.
    Eigen::MatrixXd C_dot = Eigen::MatrixXd::Zero(nq, n_);
    // No coordinate moves further than in the other differences.
    const double step = kStep / std::max(1.0, nq > 0 ? rates.cwiseAbs().maxCoeff() : 0.0);
    for (int node = 0; node < 4; ++node)
    {
      const double ahead = kNodes[node] * step;
      Eigen::VectorXd q = q_ + ahead * rates;
      const Status status = dynamics_.set_state(time_ + ahead, q, u_, workspace_);
      if (status != Status::kOk)
      {
        return status;
      }
      C_dot += kWeights[node] / step * workspace_.terms().kinematic_matrix;
    }
    out.system.transport =
      Eigen::ColPivHouseholderQR<Eigen::MatrixXd>(C).solve(out.system.rate_q - C_dot);
  }
  return Status::kOk;
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
  subtract_gain(
    stabilisation.nonholonomic_gain, of_.velocity_rows, rows.velocity_q, residual_q);
  subtract_gain(
    stabilisation.nonholonomic_gain, of_.velocity_rows, rows.velocity_u, residual_u);
}

// (E17): Q δu̇ − Aᵀ δλ = −∂e + ∂(Aᵀ) λ,  A δu̇ = −∂(A u̇ − b), e = Q u̇ − P − G τ, by the null space
// of the rows (E4, E5).
Status SolutionDifferentiator::solve(const Terms & terms, SolutionDerivatives & out)
{
  const Eigen::Index count = static_cast<Eigen::Index>(active_.size());
  const Eigen::Index l = input_matrix_.cols();
  out.system_is_analytic = terms.system_is_analytic;
  out.constraint_is_analytic = terms.constraint_is_analytic;
  out.transport = terms.system.transport;
  out.velocity_q = terms.velocity_q;
  out.position_q.setZero(m_, n_);
  out.velocity_u.setZero(m_, n_);
  for (Eigen::Index k = 0; k < count; ++k)
  {
    const int row = active_[static_cast<std::size_t>(k)];
    const RowLevel level = of_.level_of_row[static_cast<std::size_t>(row)];
    if (level == RowLevel::kPosition)
    {
      out.position_q.row(row) = complete_jacobian_.row(k);
    }
    if (level != RowLevel::kAcceleration)
    {
      out.velocity_u.row(row) = complete_jacobian_.row(k);
    }
  }
  Eigen::MatrixXd residual_q = terms.residual_q;
  Eigen::MatrixXd residual_u = terms.residual_u;
  stabilise(out, residual_q, residual_u);

  // Right sides: by q, by u, by a generalized force.
  Eigen::MatrixXd force_side(n_, 3 * n_);
  force_side << terms.force_q - terms.system.residual_q, terms.force_u - terms.system.residual_u,
    Eigen::MatrixXd::Identity(n_, n_);
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
  Eigen::MatrixXd change = Eigen::MatrixXd::Zero(n_, 3 * n_);  // δu̇
  Eigen::VectorXd beta(r);
  for (Eigen::Index column = 0; column < 3 * n_ && r > 0; ++column)
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
  if (l == 0)
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
