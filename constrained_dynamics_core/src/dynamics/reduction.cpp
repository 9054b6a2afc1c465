// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/dynamics/reduction.hpp"

#include <algorithm>

#include "constrained_dynamics/dynamics/dynamics.hpp"
#include "constrained_dynamics/formulations/evaluation.hpp"
#include "dynamics/refusal.hpp"
#include "formulations/kane_scratch.hpp"

namespace constrained_dynamics
{

Reduction::Reduction(const Dynamics & dynamics)
{
  refuse_multiplier_forces(dynamics, "the response to inputs");
  const System & system = dynamics.system();
  const Eigen::Index n = system.speed_count();
  const Eigen::Index l = system.input_count();
  const Eigen::Index m = dynamics.constraints().row_count();
  kane_ = std::make_unique<KaneScratch>(system.speed_count(), dynamics.constraints().row_count());
  kane_->responses.setZero(l, n);
  kane_->transposed.setZero(l, n);
  free_acceleration_.setZero(n);
  input_response_.setZero(n, l);
  free_multipliers_.setZero(m);
  multiplier_response_.setZero(m, l);
  multiplier_null_space_.setZero(m, m);
  effort_metric_.setZero(l, l);
  column_.setZero(n);
  row_column_.setZero(m);
}

Reduction::~Reduction() = default;
Reduction::Reduction(Reduction &&) noexcept = default;
Reduction & Reduction::operator=(Reduction &&) noexcept = default;

void Reduction::respond(const ConstMatrixRef & forces, MatrixRef accelerations) noexcept
  CD_NONBLOCKING
{
  // In parts of at most as many columns as there is memory for.
  Eigen::MatrixXd & transposed = kane_->transposed;
  const Eigen::Index most = transposed.rows();
  for (Eigen::Index begin = 0; begin < forces.cols(); begin += most)
  {
    const Eigen::Index count = std::min(most, forces.cols() - begin);
    kane_->respond(forces.middleCols(begin, count), transposed.topRows(count));
    accelerations.middleCols(begin, count) = transposed.topRows(count).transpose();
  }
}

Status Reduction::reduce(Evaluation & evaluation, ReductionParts parts) noexcept CD_NONBLOCKING
{
  of_ = nullptr;
  const System & system = evaluation.of().system();
  if (
    free_acceleration_.size() != system.speed_count() ||
    input_response_.cols() != system.input_count() ||
    free_multipliers_.size() != evaluation.of().constraints.row_count())
  {
    return Status::kSizeMismatch;
  }
  Status status = evaluation.ask_rows_and_terms();
  if (status != Status::kOk)
  {
    return status;
  }
  const SystemTerms & terms = evaluation.system_data->terms;
  const RowProblem problem = evaluation.passive_problem();
  status = kane_->begin(problem, evaluation.of().options.rank);
  if (!has_output(status))
  {
    return status;
  }
  if (!kane_->solve_reduced(problem))
  {
    return Status::kSingularInertia;
  }
  evaluation.note_rank(RowSubset::kAll, static_cast<int>(kane_->rank()));
  free_acceleration_ = kane_->acceleration;
  if (evaluation.system().driven_speeds().empty())
  {
    respond(terms.input_matrix, input_response_);
    if (parts.effort)
    {
      multiply(terms.input_matrix.transpose(), input_response_, effort_metric_);
    }
  }
  else
  {
    respond_driven(evaluation);
  }
  if (!is_finite(input_response_) || !free_acceleration_.allFinite())
  {
    return Status::kNonFiniteResult;
  }
  rank_status_ = status;
  of_ = &evaluation;
  stamp_ = evaluation.stamp();
  if (parts.forces)
  {
    find_forces(evaluation);
  }
  return status;
}

void Reduction::respond_driven(const Evaluation & evaluation) noexcept CD_NONBLOCKING
{
  // u̇ is linear in h and b together: an input changes h by G_j and, through the driven speeds, b.
  const SystemTerms & terms = evaluation.system_data->terms;
  const std::vector<int> & driven = evaluation.system().driven_speeds();
  const int m = evaluation.active_row_count;
  auto bias = row_column_.head(m);
  for (Eigen::Index j = 0; j < terms.input_matrix.cols(); ++j)
  {
    bias.setZero();
    for (std::size_t k = 0; k < driven.size(); ++k)
    {
      const Eigen::Index speed = driven[k];
      const double acceleration = terms.input_matrix(speed, j) / terms.mass_matrix(speed, speed);
      for (int row = 0; row < m && acceleration != 0.0; ++row)
      {
        bias(row) -= evaluation.rows.driven_jacobian(
                       evaluation.active_rows(row), static_cast<Eigen::Index>(k)) *
                     acceleration;
      }
    }
    kane_->factorisation.particular(bias, kane_->beta());
    column_ = terms.input_matrix.col(j);
    const RowProblem column{
      terms.mass_matrix,
      column_,
      evaluation.active_jacobian.topRows(m),
      bias,
      evaluation.active_scale.head(m),
      evaluation.active_weight.head(m),
      0};
    // The reduced inertia is as it was, so it is regular.
    (void)kane_->solve_reduced(column);
    input_response_.col(j) = kane_->acceleration;
  }
  // Driven speeds move others by the rows, not by forces, so that Gᵀ Y is no metric: Yᵀ Q Y is.
  for (Eigen::Index j = 0; j < terms.input_matrix.cols(); ++j)
  {
    column_.noalias() = terms.mass_matrix * input_response_.col(j);
    effort_metric_.col(j).noalias() = input_response_.transpose() * column_;
  }
}

Status Reduction::add_forces(const Evaluation & evaluation) noexcept CD_NONBLOCKING
{
  if (of_ != &evaluation || stamp_ != evaluation.stamp())
  {
    return Status::kNoState;
  }
  find_forces(evaluation);
  return Status::kOk;
}

void Reduction::find_forces(const Evaluation & evaluation) noexcept CD_NONBLOCKING
{
  const int m = evaluation.active_row_count;
  const Eigen::Index r = kane_->rank();
  const SystemTerms & terms = evaluation.system_data->terms;
  const auto weight = evaluation.active_weight.head(m);
  const Eigen::VectorXi & order = kane_->factorisation.order();
  auto active = row_column_.head(m);
  const auto scatter = [&](VectorRef out) noexcept
  {
    out.setZero();
    for (int k = 0; k < m; ++k)
    {
      out(evaluation.active_rows(k)) = active(k);
    }
  };
  null_count_ = m - static_cast<int>(r);
  for (int i = 0; i < null_count_; ++i)
  {
    kane_->factorisation.multiplier_null_vector(i, active);
    scatter(multiplier_null_space_.col(i));
  }
  column_ = -evaluation.force;
  column_.noalias() += terms.mass_matrix * free_acceleration_;
  kane_->factorisation.multipliers(column_, weight, active);  // (E8)
  scatter(free_multipliers_);
  // λ is linear in the forces Q Y − G, and those at the dependent speeds determine it.
  multiplier_response_.setZero();
  for (Eigen::Index k = 0; k < r && input_response_.cols() > 0; ++k)
  {
    column_.setZero();
    column_(order(k)) = 1.0;
    kane_->factorisation.multipliers(column_, weight, active);
    auto forces = kane_->transposed.col(0);
    column_ = terms.mass_matrix.row(order(k)).transpose();
    forces.noalias() = input_response_.transpose() * column_;
    forces -= terms.input_matrix.row(order(k)).transpose();
    for (int i = 0; i < m; ++i)
    {
      multiplier_response_.row(evaluation.active_rows(i)) += active(i) * forces.transpose();
    }
  }
}

Status Reduction::solve(const ConstVectorRef & inputs, Evaluation & evaluation) noexcept
  CD_NONBLOCKING
{
  if (inputs.size() != input_response_.cols())
  {
    return Status::kSizeMismatch;
  }
  if (!inputs.allFinite())
  {
    return Status::kNonFiniteInput;
  }
  if (of_ != &evaluation || stamp_ != evaluation.stamp())
  {
    return Status::kNoState;
  }
  kane_->acceleration = free_acceleration_;
  kane_->acceleration.noalias() += input_response_ * inputs;
  // h of `reduce` holds P and given multipliers; the inputs are added for the judgement alone.
  column_ = evaluation.force;
  evaluation.force.noalias() += evaluation.system_data->terms.input_matrix * inputs;
  if (!evaluation.system().driven_speeds().empty())
  {
    evaluation.gather_driven();
  }
  const RowProblem problem = evaluation.gathered_problem(RowSubset::kAll);
  kane_->force_from_motion(problem);
  const Status status =
    kane_->finish(problem, evaluation.of().options.rank, rank_status_, evaluation.row_solution);
  evaluation.force = column_;
  return status;
}

}  // namespace constrained_dynamics
