// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/analysis/derivatives.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include <Eigen/LU>

#include "analysis/dense_products.hpp"
#include "analysis/solution_differentiator.hpp"
#include "dynamics/refusal.hpp"

namespace constrained_dynamics
{

namespace
{

/// 0 for finite numbers, NaN otherwise.
double probe(const Eigen::MatrixXd & x) noexcept { return (0.0 * x).sum(); }

bool is_finite(const SolutionDerivatives & d) noexcept
{
  const double sum = probe(d.acceleration_q) + probe(d.acceleration_u) +
                     probe(d.acceleration_input) + probe(d.acceleration_force) +
                     probe(d.multipliers_q) + probe(d.multipliers_u) + probe(d.multipliers_input) +
                     probe(d.constraint_force_q) + probe(d.constraint_force_u) +
                     probe(d.constraint_force_input) + probe(d.transport) + probe(d.velocity_q);
  return sum == 0.0;
}

}  // namespace

void SolutionDerivatives::resize(
  Eigen::Index speed_count, Eigen::Index row_count, Eigen::Index input_count,
  std::size_t constraint_count)
{
  const Eigen::Index n = speed_count;
  for (Eigen::MatrixXd * matrix :
       {&acceleration_q, &acceleration_u, &acceleration_force, &constraint_force_q,
        &constraint_force_u, &transport})
  {
    matrix->setZero(n, n);
  }
  for (Eigen::MatrixXd * matrix :
       {&multipliers_q, &multipliers_u, &position_q, &velocity_q, &velocity_u})
  {
    matrix->setZero(row_count, n);
  }
  acceleration_input.setZero(n, input_count);
  constraint_force_input.setZero(n, input_count);
  multipliers_input.setZero(row_count, input_count);
  system_is_analytic = false;
  constraint_is_analytic.assign(constraint_count, false);
}

SolutionDifferentiator::SolutionDifferentiator(
  const Dynamics & dynamics, const DerivativeOptions & options)
: options_(options),
  n_(dynamics.system().speed_count()),
  nq_(dynamics.system().coordinate_count()),
  m_(dynamics.constraints().row_count()),
  l_(dynamics.system().input_count()),
  response_(static_cast<int>(n_), static_cast<int>(m_), static_cast<int>(2 * n_ + l_)),
  kinematic_factors_(static_cast<int>(nq_), static_cast<int>(n_))
{
  refuse_multiplier_forces(dynamics, "derivatives and linear models");
  q_.setZero(nq_);
  moved_q_.setZero(nq_);
  rates_.setZero(nq_);
  inputs_.setZero(l_);
  for (Eigen::VectorXd * vector : {&u_, &moved_u_, &acceleration_, &eta_})
  {
    vector->setZero(n_);
  }
  for (Eigen::VectorXi * vector : {&active_, &place_})
  {
    vector->setZero(m_);
  }
  for (Eigen::VectorXd * vector :
       {&scale_, &size_, &weight_, &multipliers_, &range_multipliers_, &row_multipliers_, &given_})
  {
    vector->setZero(m_);
  }
  mass_matrix_.setZero(n_, n_);
  moving_.setZero(n_);
  jacobian_.setZero(m_, n_);
  complete_jacobian_.setZero(m_, n_);
  terms_.resize(dynamics);
  turned_.resize(dynamics);
  const Eigen::Index columns = 2 * n_ + l_;
  by_state_.forces.setZero(n_, columns);
  by_state_.rows.setZero(m_, columns);
  by_force_.forces.setZero(n_, n_);
  by_force_.rows.setZero(m_, n_);
  response_of_.setZero(n_ + std::min(n_, m_), columns);
  force_change_.setZero(n_, columns);
  row_change_.setZero(m_, columns);
  dependent_.setZero(std::min(n_, m_), n_);
  eta_dependent_.setZero(std::min(n_, m_));
  null_space_.setZero(m_, m_);
  null_gram_.setZero(m_, m_);
  null_change_.setZero(m_, n_);
  const Eigen::Index terms = 2 * n_ + 2 * nq_ + 2 * m_;
  values_.setZero(terms);
  derivative_.setZero(terms);
  kinematic_matrix_.setZero(nq_, n_);
  kinematic_change_.setZero(nq_, n_);
  const std::size_t constraints = static_cast<std::size_t>(dynamics.constraints().size());
  next_.resize(n_, m_, l_, constraints);
  result_.resize(n_, m_, l_, constraints);
}

bool SolutionDifferentiator::fits(const Dynamics & dynamics) const noexcept
{
  return dynamics.system().speed_count() == n_ && dynamics.system().coordinate_count() == nq_ &&
         dynamics.system().input_count() == l_ && dynamics.constraints().row_count() == m_ &&
         static_cast<std::size_t>(dynamics.constraints().size()) ==
           result_.constraint_is_analytic.size();
}

/// Whether the derivatives of the system come with Q.
bool SolutionDifferentiator::finds_inertia(const Call & call) const noexcept
{
  return call.dynamics.system().as_robot() != nullptr && !options_.force_differences;
}

/// The solution, and what derivatives need beside it.
Status SolutionDifferentiator::solve_here(const Call & call) noexcept
{
  const Status solved = call.dynamics.solve(time_, q_, u_, inputs_, call.workspace);
  if (!has_output(solved))
  {
    return solved;
  }
  Status status = call.evaluation.ask_rows();
  if (status == Status::kOk && !finds_inertia(call))
  {
    status = call.evaluation.ask_terms();
  }
  return status == Status::kOk ? solved : status;
}

Status SolutionDifferentiator::run(
  const Dynamics & dynamics, double time, const ConstVectorRef & q, const ConstVectorRef & u,
  const ConstVectorRef & inputs, Workspace & workspace) noexcept CD_NONBLOCKING
{
  if (!fits(dynamics) || q.size() != nq_ || u.size() != n_ || inputs.size() != l_)
  {
    return Status::kSizeMismatch;
  }
  Evaluation & evaluation = WorkspaceAccess::evaluation(workspace);
  const Call call{dynamics, workspace, evaluation, evaluation.of()};
  time_ = time;
  q_ = q;
  u_ = u;
  inputs_ = inputs;
  const Status solved = solve_here(call);
  if (!has_output(solved))
  {
    return solved;
  }
  gather(call);
  Status status = differentiate_terms(call, acceleration_, terms_);
  if (status == Status::kOk)
  {
    status = response_.update(mass_matrix_);
  }
  if (status == Status::kOk)
  {
    solve(call, next_);
    status = redundant_ ? turn_multipliers(call, next_) : status;
  }
  if (status == Status::kOk && !is_finite(next_))
  {
    status = Status::kNonFiniteResult;
  }
  if (moved_ && has_output(status))
  {
    const Status again = solve_here(call);  // differences moved the workspace
    status = has_output(again) ? status : again;
  }
  if (status != Status::kOk)
  {
    return status;
  }
  std::swap(result_, next_);
  return solved;
}

/// The active rows at the state, factored as the solution had them, and the solution's numbers.
void SolutionDifferentiator::gather(const Call & call) noexcept
{
  const Rows & rows = call.evaluation.rows;
  const Solution & solution = call.workspace.solution();
  const std::vector<int> & driven = call.dynamics.system().driven_speeds();
  acceleration_ = solution.acceleration;
  given_ = call.evaluation.given_multipliers;
  if (!finds_inertia(call))
  {
    mass_matrix_ = call.evaluation.system_data->terms.mass_matrix;
  }
  moved_ = false;
  count_ = 0;
  for (Eigen::Index row = 0; row < m_; ++row)
  {
    const bool active =
      call.workspace.is_active(call.of.constraint_of_row[static_cast<std::size_t>(row)]);
    place_(row) = active ? static_cast<int>(count_) : -1;
    if (!active)
    {
      continue;
    }
    active_(count_) = static_cast<int>(row);
    scale_(count_) = call.evaluation.row_scale(row);
    size_(count_) = 1.0 / scale_(count_);
    weight_(count_) = call.of.multiplier_weight(row);
    multipliers_(count_) = solution.multipliers(row);
    ++count_;
  }
  for (Eigen::Index j = 0; j < n_; ++j)
  {
    for (Eigen::Index k = 0; k < count_; ++k)
    {
      jacobian_(k, j) = rows.jacobian(active_(k), j);
    }
  }
  complete_jacobian_.topRows(count_) = jacobian_.topRows(count_);
  for (std::size_t i = 0; i < driven.size(); ++i)
  {
    for (Eigen::Index k = 0; k < count_; ++k)
    {
      complete_jacobian_(k, driven[i]) =
        rows.driven_jacobian(active_(k), static_cast<Eigen::Index>(i));
    }
  }
  response_.factor(
    jacobian_.topRows(count_), scale_.head(count_), call.workspace.nominal_rank(),
    call.dynamics.options().rank);
  redundant_ = response_.rank() < count_;
  // The multipliers that lie in the range of the rows: Dynamics::solve leaves out combinations of
  // rows that vanish on the manifold, so their forces do not count when leaving it.
  range_multipliers_.head(count_) = multipliers_.head(count_);
  if (redundant_)
  {
    Eigen::VectorXd & force = eta_;  // free until the multipliers are turned
    force = solution.constraint_force;
    for (Eigen::Index row = 0; row < m_; ++row)
    {
      if (place_(row) < 0 && given_(row) != 0.0)
      {
        force -= given_(row) * rows.jacobian.row(row).transpose();
      }
    }
    response_.factorisation().multipliers(
      force, size_.head(count_), range_multipliers_.head(count_));
  }
  spread_multipliers(range_multipliers_);
}

/// Multipliers of all rows: those of the active ones, and those that are given to the others.
void SolutionDifferentiator::spread_multipliers(const Eigen::VectorXd & active) noexcept
{
  for (Eigen::Index row = 0; row < m_; ++row)
  {
    row_multipliers_(row) = place_(row) >= 0 ? active(place_(row)) : given_(row);
  }
}

/// Whether a constraint is active or exerts given multipliers.
bool SolutionDifferentiator::acts(const Call & call, int constraint) const noexcept
{
  const ConstraintSet & set = call.dynamics.constraints();
  const Eigen::Index offset = set.row_offset(constraint);
  return call.workspace.is_active(constraint) ||
         (given_.segment(offset, set[constraint].row_count()).array() != 0.0).any();
}

/// Derivatives of φ, φ̇ and ψ.
void SolutionDifferentiator::differentiate_rows(
  const Call & call, SolutionDerivatives & out) const noexcept
{
  out.velocity_q = terms_.velocity_q;
  out.position_q.setZero();
  out.velocity_u.setZero();
  for (Eigen::Index k = 0; k < count_; ++k)
  {
    const int row = active_(k);
    const RowLevel level = call.of.level_of_row[static_cast<std::size_t>(row)];
    if (level == RowLevel::kPosition)
    {
      out.position_q.row(row) = complete_jacobian_.row(k);
    }
    if (level != RowLevel::kAcceleration)
    {
      out.velocity_u.row(row) = complete_jacobian_.row(k);
    }
  }
}

/// target(row i) −= Σ_j Γ_ij values(row j), for the active rows of `rows`.
void SolutionDifferentiator::subtract_gain(
  const Gain & gain, const std::vector<int> & rows, const Eigen::MatrixXd & values,
  MatrixRef target) const noexcept
{
  for (std::size_t i = 0; i < rows.size(); ++i)
  {
    const int place = place_(rows[i]);
    if (place < 0)
    {
      continue;
    }
    if (!gain.is_matrix())
    {
      target.row(place) -= gain.scalar() * values.row(rows[i]);
      continue;
    }
    for (std::size_t j = 0; j < rows.size(); ++j)
    {
      const double factor =
        gain.matrix()(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j));
      target.row(place) -= factor * values.row(rows[j]);
    }
  }
}

// (E17) E = ∂e − ∂(Aᵀ) λ and C = ∂(A u̇ − b), with stabilisation, e = Q u̇ − P − G τ.
void SolutionDifferentiator::fill_sides(
  const Call & call, const SolutionDerivatives & rows) noexcept
{
  const System & system = call.dynamics.system();
  Eigen::MatrixXd & E = by_state_.forces;
  E.leftCols(n_) = terms_.system.residual_q - terms_.force_q;
  E.middleCols(n_, n_) = terms_.system.residual_u - terms_.force_u;
  E.rightCols(l_) = -call.evaluation.system_data->terms.input_matrix;
  auto by_q = by_state_.rows.leftCols(n_);
  auto by_u = by_state_.rows.middleCols(n_, n_);
  for (Eigen::Index j = 0; j < n_; ++j)
  {
    for (Eigen::Index k = 0; k < count_; ++k)
    {
      by_q(k, j) = terms_.residual_q(active_(k), j);
      by_u(k, j) = terms_.residual_u(active_(k), j);
    }
  }
  const Stabilisation & stabilisation = call.dynamics.options().stabilisation;
  if (stabilisation.kind == Stabilisation::Kind::kBaumgarte)
  {
    const std::vector<int> & position = call.of.position_rows;
    const std::vector<int> & velocity = call.of.velocity_rows;
    subtract_gain(stabilisation.velocity_gain, position, rows.velocity_q, by_q);
    subtract_gain(stabilisation.velocity_gain, position, rows.velocity_u, by_u);
    subtract_gain(stabilisation.position_gain, position, rows.position_q, by_q);
    subtract_gain(stabilisation.nonholonomic_gain, velocity, rows.velocity_q, by_q);
    subtract_gain(stabilisation.nonholonomic_gain, velocity, rows.velocity_u, by_u);
  }
  by_state_.rows.rightCols(l_).setZero();
  if (system.driven_speeds().empty())
  {
    return;
  }
  // Driven speeds are accelerated by their own forces alone.
  by_force_.forces.setZero();
  by_force_.forces.diagonal().setConstant(-1.0);
  by_force_.rows.setZero();
  for (const int speed : system.driven_speeds())
  {
    const double inertia = mass_matrix_(speed, speed);
    for (Side * side : {&by_state_, &by_force_})
    {
      for (Eigen::Index j = 0; j < side->rows.cols(); ++j)
      {
        side->rows.col(j).head(count_) -=
          side->forces(speed, j) / inertia * complete_jacobian_.col(speed).head(count_);
      }
    }
  }
}

/// δu̇ and f_D, the part of δF^c that δλ causes, and δλ of the active rows.
void SolutionDifferentiator::respond() noexcept
{
  const Eigen::Index r = response_.rank();
  auto response = response_of_.topRows(n_ + r);
  response_.respond(by_state_.forces, by_state_.rows.topRows(count_), response);
  const auto dependent = response.bottomRows(r);
  auto change = row_change_.topRows(count_);
  change.setZero();
  if (r == 0)
  {
    force_change_.setZero();
    return;
  }
  response_.forces(dependent, force_change_);
  add_product(1.0, response_.multipliers(), dependent, change);
}

/// Changes of the multipliers of active rows as those of all rows.
void SolutionDifferentiator::spread(
  const ConstMatrixRef & changes, Eigen::MatrixXd & multipliers) const noexcept
{
  multipliers.setZero();
  for (Eigen::Index j = 0; j < changes.cols(); ++j)
  {
    for (Eigen::Index k = 0; k < count_; ++k)
    {
      multipliers(active_(k), j) = changes(k, j);
    }
  }
}

void SolutionDifferentiator::solve(const Call & call, SolutionDerivatives & out) noexcept
{
  out.system_is_analytic = terms_.system_is_analytic;
  out.constraint_is_analytic = terms_.constraint_is_analytic;
  out.transport = terms_.system.transport;
  differentiate_rows(call, out);
  fill_sides(call, out);
  response_.find_multipliers(weight_.head(count_));
  respond();
  const auto accelerations = response_of_.topRows(n_);
  const auto multipliers = row_change_.topRows(count_);
  out.acceleration_q = accelerations.leftCols(n_);
  out.acceleration_u = accelerations.middleCols(n_, n_);
  out.acceleration_input = accelerations.rightCols(l_);
  out.constraint_force_q = terms_.force_q + force_change_.leftCols(n_);
  out.constraint_force_u = terms_.force_u + force_change_.middleCols(n_, n_);
  out.constraint_force_input = force_change_.rightCols(l_);
  spread(multipliers.leftCols(n_), out.multipliers_q);
  spread(multipliers.middleCols(n_, n_), out.multipliers_u);
  spread(multipliers.rightCols(l_), out.multipliers_input);
  out.acceleration_force = response_.inverse();
  if (!call.dynamics.system().driven_speeds().empty())
  {
    response_.respond(by_force_.forces, by_force_.rows.topRows(count_), out.acceleration_force);
  }
}

// ---- public --------------------------------------------------------------------------------

struct DerivativeAccess
{
  static SolutionDifferentiator & differentiator(DerivativeWorkspace & workspace)
  {
    return *workspace.differentiator_;
  }
};

DerivativeWorkspace::DerivativeWorkspace(
  const Dynamics & dynamics, const DerivativeOptions & options)
: differentiator_(std::make_unique<SolutionDifferentiator>(dynamics, options))
{
}

DerivativeWorkspace::~DerivativeWorkspace() = default;
DerivativeWorkspace::DerivativeWorkspace(DerivativeWorkspace &&) noexcept = default;
DerivativeWorkspace & DerivativeWorkspace::operator=(DerivativeWorkspace &&) noexcept = default;

const SolutionDerivatives & DerivativeWorkspace::derivatives() const noexcept CD_NONBLOCKING
{
  return differentiator_->result();
}

Status differentiate(
  const Dynamics & dynamics, double time, const ConstVectorRef & q, const ConstVectorRef & u,
  const ConstVectorRef & inputs, Workspace & workspace,
  DerivativeWorkspace & out) noexcept CD_NONBLOCKING
{
  return DerivativeAccess::differentiator(out).run(dynamics, time, q, u, inputs, workspace);
}

Status differentiate(
  const Dynamics & dynamics, double time, const ConstVectorRef & q, const ConstVectorRef & u,
  const ConstVectorRef & inputs, Workspace & workspace, SolutionDerivatives & out,
  const DerivativeOptions & options)
{
  SolutionDifferentiator differentiator(dynamics, options);
  const Status status = differentiator.run(dynamics, time, q, u, inputs, workspace);
  if (has_output(status))
  {
    const Status terms = dynamics.evaluate_terms(workspace);
    if (terms != Status::kOk)
    {
      return terms;
    }
    out = std::move(differentiator.result());
  }
  return status;
}

}  // namespace constrained_dynamics
