// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/dynamics/reduction.hpp"

#include <algorithm>

#include "constrained_dynamics/dynamics/dynamics.hpp"
#include "formulations/kane_scratch.hpp"

namespace constrained_dynamics
{

Reduction::Reduction(const Dynamics & dynamics)
{
  const System & system = dynamics.system();
  const Eigen::Index n = system.speed_count();
  const Eigen::Index l = system.input_count();
  const Eigen::Index m = dynamics.constraints().row_count();
  kane_ = std::make_unique<KaneScratch>(system.speed_count(), dynamics.constraints().row_count());
  kane_->responses.setZero(n, l);
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
  const Eigen::Index most = kane_->responses.cols();
  for (Eigen::Index begin = 0; begin < forces.cols(); begin += most)
  {
    const Eigen::Index count = std::min(most, forces.cols() - begin);
    kane_->respond(forces.middleCols(begin, count), accelerations.middleCols(begin, count));
  }
}

Status Dynamics::reduce(
  Workspace & workspace, Reduction & reduction, bool with_effort) const noexcept CD_NONBLOCKING
{
  if (!workspace.given_multipliers_.allFinite())
  {
    return Status::kNonFiniteInput;
  }
  Status status = system().update_dynamics(*workspace.system_data_);
  if (status != Status::kOk)
  {
    return status;
  }
  workspace.force_ = workspace.terms().force;
  add_given(workspace.force_, workspace);
  drive(workspace);
  stabilise(workspace);
  gather(workspace.stabilised_bias_, Workspace::kAllRows, workspace);

  int & nominal = workspace.nominal_rank_[Workspace::kAllRows];
  KaneScratch & kane = *reduction.kane_;
  const RowProblem problem = row_problem(nominal, workspace);
  status = kane.begin(problem, options_.rank);
  if (!has_output(status))
  {
    return status;
  }
  if (!kane.solve_reduced(problem))
  {
    return Status::kSingularInertia;
  }
  if (nominal == Workspace::kUnknownRank)
  {
    nominal = static_cast<int>(kane.rank());
  }
  reduction.free_acceleration_ = kane.acceleration;
  if (system().driven_speeds().empty())
  {
    kane.respond(workspace.terms().input_matrix, reduction.input_response_);
  }
  else
  {
    respond_driven(workspace, reduction);
  }
  if (with_effort && system().driven_speeds().empty())
  {
    multiply(
      workspace.terms().input_matrix.transpose(), reduction.input_response_,
      reduction.effort_metric_);
  }
  if (!is_finite(reduction.input_response_) || !reduction.free_acceleration_.allFinite())
  {
    return Status::kNonFiniteResult;
  }
  reduction.rank_status_ = status;
  return status;
}

void Dynamics::respond_driven(Workspace & workspace, Reduction & reduction) const noexcept
  CD_NONBLOCKING
{
  // u̇ is linear in h and b together: an input changes h by G_j and, through the driven speeds, b.
  const SystemTerms & terms = workspace.terms();
  const std::vector<int> & driven = system().driven_speeds();
  KaneScratch & kane = *reduction.kane_;
  const int m = workspace.active_row_count_;
  auto bias = reduction.row_column_.head(m);
  for (Eigen::Index j = 0; j < terms.input_matrix.cols(); ++j)
  {
    bias.setZero();
    for (std::size_t k = 0; k < driven.size(); ++k)
    {
      const Eigen::Index speed = driven[k];
      const double acceleration = terms.input_matrix(speed, j) / terms.mass_matrix(speed, speed);
      for (int row = 0; row < m && acceleration != 0.0; ++row)
      {
        bias(row) -= workspace.rows_.driven_jacobian(
                       workspace.active_rows_(row), static_cast<Eigen::Index>(k)) *
                     acceleration;
      }
    }
    kane.factorisation.particular(bias, kane.beta());
    reduction.column_ = terms.input_matrix.col(j);
    const RowProblem column{
      terms.mass_matrix,
      reduction.column_,
      workspace.active_jacobian_.topRows(m),
      bias,
      workspace.active_scale_.head(m),
      workspace.active_weight_.head(m),
      0};
    // The reduced inertia is as it was, so it is regular.
    (void)kane.solve_reduced(column);
    reduction.input_response_.col(j) = kane.acceleration;
  }
  // Driven speeds move others by the rows, not by forces, so that Gᵀ Y is no metric: Yᵀ Q Y is.
  for (Eigen::Index j = 0; j < terms.input_matrix.cols(); ++j)
  {
    reduction.column_.noalias() = terms.mass_matrix * reduction.input_response_.col(j);
    reduction.effort_metric_.col(j).noalias() =
      reduction.input_response_.transpose() * reduction.column_;
  }
}

void Dynamics::reduce_forces(Workspace & workspace, Reduction & reduction) const noexcept
  CD_NONBLOCKING
{
  const int m = workspace.active_row_count_;
  const SystemTerms & terms = workspace.terms();
  KaneScratch & kane = *reduction.kane_;
  const auto weight = workspace.active_weight_.head(m);
  auto active = reduction.row_column_.head(m);
  const auto scatter = [&](VectorRef out) noexcept
  {
    out.setZero();
    for (int k = 0; k < m; ++k)
    {
      out(workspace.active_rows_(k)) = active(k);
    }
  };
  const auto scatter_column = [&](VectorRef out) noexcept
  {
    kane.factorisation.multipliers(reduction.column_, weight, active);  // (E8)
    scatter(out);
  };
  reduction.null_count_ = m - static_cast<int>(kane.rank());
  for (int i = 0; i < reduction.null_count_; ++i)
  {
    kane.factorisation.multiplier_null_vector(i, active);
    scatter(reduction.multiplier_null_space_.col(i));
  }
  reduction.column_ = -workspace.force_;
  reduction.column_.noalias() += terms.mass_matrix * reduction.free_acceleration_;
  scatter_column(reduction.free_multipliers_);
  for (Eigen::Index j = 0; j < reduction.input_response_.cols(); ++j)
  {
    reduction.column_ = -terms.input_matrix.col(j);
    reduction.column_.noalias() += terms.mass_matrix * reduction.input_response_.col(j);
    scatter_column(reduction.multiplier_response_.col(j));
  }
}

Status Dynamics::solve_reduced(
  const ConstVectorRef & inputs, Reduction & reduction,
  Workspace & workspace) const noexcept CD_NONBLOCKING
{
  if (inputs.size() != system().input_count())
  {
    return Status::kSizeMismatch;
  }
  if (!inputs.allFinite())
  {
    return Status::kNonFiniteInput;
  }
  KaneScratch & kane = *reduction.kane_;
  kane.acceleration = reduction.free_acceleration_;
  kane.acceleration.noalias() += reduction.input_response_ * inputs;
  // h of `reduce` holds P and given multipliers; the inputs are added for the judgement alone.
  reduction.column_ = workspace.force_;
  workspace.force_.noalias() += workspace.terms().input_matrix * inputs;
  if (!system().driven_speeds().empty())
  {
    drive(workspace);
    stabilise(workspace);
    gather(workspace.stabilised_bias_, Workspace::kAllRows, workspace);
  }
  const RowProblem problem = row_problem(workspace.nominal_rank_[Workspace::kAllRows], workspace);
  kane.force_from_motion(problem);
  const Status status =
    kane.finish(problem, options_.rank, reduction.rank_status_, workspace.row_solution_);
  workspace.force_ = reduction.column_;
  if (has_output(status))
  {
    scatter(workspace);
  }
  return status;
}

}  // namespace constrained_dynamics
