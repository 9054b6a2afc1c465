// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <algorithm>
#include <cmath>
#include <limits>

#include "dynamics/dynamics_impl.hpp"
#include "dynamics/workspace_impl.hpp"

namespace constrained_dynamics
{

namespace
{

// Newton goes on until nothing improves, or until the rows, scaled to the size of the unknowns'
// changes, are met to some roundings of 1.
constexpr double kProjectionFloor = 4.0 * std::numeric_limits<double>::epsilon();
// What may be left then; more means that the rows cannot be met. Unknowns far above 1 leave
// roundings of their own.
constexpr double kProjectionTolerance = 1e-9;
constexpr double kProjectionRounding = 1e3 * std::numeric_limits<double>::epsilon();
// With less than this of Newton's correction nothing comes closer to rows that can be met.
constexpr double kSmallestFraction = 1e-4;

/// The fraction of a correction to try next where one was too long: a residual of (1 − s) r + c s²
/// is least at s = r/(2c).
double shorter(double fraction, double residual, double left) noexcept
{
  const double c = (left - (1.0 - fraction) * residual) / (fraction * fraction);
  return std::clamp(0.5 * residual / c, 0.1 * fraction, 0.5 * fraction);
}

/// Newton on the rows of a subset whose residuals are `values`.
struct Newton
{
  Evaluation & evaluation;
  const RowFormulation & formulation;
  FormulationData & data;
  RowSubset subset;
  const Eigen::VectorXd & values;
  double singular_tolerance;

  /// @param x unknowns. @param trial, best memory of their size. @param evaluate rows at the
  /// unknowns. @param advance by row_solution.acceleration.
  template <typename Evaluate, typename Advance>
  Status run(
    bool keep_independent, VectorRef x, VectorRef trial, VectorRef best, const Evaluate & evaluate,
    const Advance & advance) noexcept
  {
    trial = x;
    double best_residual = std::numeric_limits<double>::infinity();
    double fraction = 1.0;  // of Newton's correction
    const auto is_met = [&]() noexcept
    {
      return best_residual <=
             kProjectionTolerance + kProjectionRounding * best.cwiseAbs().maxCoeff();
    };
    for (int i = 0; i <= Dynamics::kProjectionIterations; ++i)
    {
      Status status = evaluate(trial);
      if (status != Status::kOk)
      {
        return status;
      }
      const double left = evaluation.residual(values, subset);
      const bool is_enough = left < 0.5 * best_residual;
      const bool is_better = left < best_residual;
      const double before = best_residual;
      if (is_better)
      {
        best_residual = left;
        best = trial;
      }
      if (
        left <= kProjectionFloor || i == Dynamics::kProjectionIterations ||
        !std::isfinite(best_residual) || (!is_enough && is_met()))
      {
        break;
      }
      fraction = is_better ? 1.0 : shorter(fraction, before, left);
      if (fraction < kSmallestFraction)
      {
        break;
      }
      if (!is_better)
      {
        trial = best;
        status = evaluate(trial);
        if (status != Status::kOk)
        {
          return status;
        }
      }
      status = correct(i == 0, keep_independent);
      if (!has_output(status))
      {
        return status;
      }
      evaluation.row_solution.acceleration *= fraction;
      advance(trial);
    }
    if (!is_met())
    {
      return Status::kNotConverged;
    }
    x = best;
    return Status::kOk;
  }

private:
  /// The correction of the speeds, into row_solution.acceleration. The inertia of the first
  /// iteration serves all.
  Status correct(bool is_first, bool keep_independent) noexcept
  {
    if (is_first && !keep_independent)
    {
      const Status status = evaluation.ask_terms();
      if (status != Status::kOk)
      {
        return status;
      }
    }
    RankOptions rank = evaluation.of().options.rank;
    rank.singular_tolerance = std::max(rank.singular_tolerance, singular_tolerance);
    rank.redundancy_tolerance = std::max(rank.redundancy_tolerance, rank.singular_tolerance);
    const RowProblem problem = evaluation.correction_problem(values, subset);
    RowSolution & solution = evaluation.row_solution;
    const Status status = keep_independent ? formulation.correct(problem, rank, data, solution)
                                           : formulation.solve(problem, rank, data, solution);
    if (has_output(status))
    {
      evaluation.note_rank(subset, solution.rank);
    }
    return status;
  }
};

template <typename Evaluate, typename Advance>
Status project(
  Newton newton, VectorRef x, Eigen::VectorXd & trial, Eigen::VectorXd & best,
  const Evaluate & evaluate, const Advance & advance) noexcept
{
  const bool keep_independent = newton.evaluation.of().options.stabilisation.keep_independent;
  const auto run = [&](bool keep) noexcept
  { return newton.run(keep, x, trial.head(x.size()), best.head(x.size()), evaluate, advance); };
  Status status = run(keep_independent);
  // Rows need not have a solution with the independent coordinates as they are: one Euler
  // parameter beyond 1, for instance.
  if (keep_independent && status == Status::kNotConverged)
  {
    status = run(false);
  }
  // The last trial need not be what was found.
  newton.evaluation.forget(~0U);
  return status;
}

}  // namespace

Status Dynamics::project_position(
  double time, VectorRef q, Workspace & workspace,
  double singular_tolerance) const noexcept CD_NONBLOCKING
{
  if (!owns(workspace))
  {
    return Status::kForeignWorkspace;
  }
  Workspace::Impl & work = *workspace.impl_;
  Evaluation & evaluation = work.evaluation;
  if (q.size() != system().coordinate_count())
  {
    return Status::kSizeMismatch;
  }
  if (impl_->system.position_rows.empty())
  {
    return Status::kOk;
  }
  return project(
    Newton{
      evaluation, formulation().row_form(),
      *work.projection_data[static_cast<std::size_t>(RowSubset::kPosition)], RowSubset::kPosition,
      evaluation.rows.position, singular_tolerance},
    q, work.trial, work.best,
    [&](const ConstVectorRef & trial) noexcept
    {
      const Status status = evaluation.set_rest(time, trial);
      return status == Status::kOk ? evaluation.ask_position_rows() : status;
    },
    [&](VectorRef trial) noexcept
    {
      trial.noalias() +=
        evaluation.system_data->terms.kinematic_matrix * evaluation.row_solution.acceleration;
      system().normalise(trial);
    });
}

Status Dynamics::project_velocity(
  double time, const ConstVectorRef & q, VectorRef u, Workspace & workspace,
  double singular_tolerance) const noexcept CD_NONBLOCKING
{
  if (!owns(workspace))
  {
    return Status::kForeignWorkspace;
  }
  Workspace::Impl & work = *workspace.impl_;
  Evaluation & evaluation = work.evaluation;
  if (u.size() != system().speed_count())
  {
    return Status::kSizeMismatch;
  }
  if (impl_->system.position_rows.empty() && impl_->system.velocity_rows.empty())
  {
    return Status::kOk;
  }
  const std::unique_ptr<FormulationData> & own =
    work.projection_data[static_cast<std::size_t>(RowSubset::kVelocity)];
  return project(
    Newton{
      evaluation, formulation().row_form(), own ? *own : *work.formulation_data,
      RowSubset::kVelocity, evaluation.rows.velocity, singular_tolerance},
    u, work.trial, work.best,
    [&](const ConstVectorRef & trial) noexcept
    {
      const Status status = evaluation.set_state(time, q, trial);
      return status == Status::kOk ? evaluation.ask_rows() : status;
    },
    [&](VectorRef trial) noexcept { trial += evaluation.row_solution.acceleration; });
}

}  // namespace constrained_dynamics
