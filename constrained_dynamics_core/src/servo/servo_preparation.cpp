// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <algorithm>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "constrained_dynamics/servo/servo_law.hpp"
#include "servo/servo_scratch.hpp"

// What a ServoLaw finds out before its first cycle.

namespace constrained_dynamics
{

void ServoLaw::prepare(const State & state, ServoWorkspace & workspace) const
{
  constexpr int kSamples = 8;
  constexpr double kSpread = 1e-2;  // as Workspace::reset
  // Usual sizes: far enough from a singular state that the law may start at.
  constexpr double kFarSpread = 0.3;
  constexpr unsigned kSeed = 20260102U;
  // Rows that vanish at rest (energies) are measured at speeds of this size.
  constexpr double kSpeed = 1.0;
  constexpr double kVanishing = 0.1;
  workspace.workspace_.reset(state);
  workspace.forget_inputs();
  workspace.row_size_.setZero();
  std::fill(workspace.nominal_rank_.begin(), workspace.nominal_rank_.end(), -1);
  workspace.prepared_enabled_ = workspace.enabled_;
  for (std::size_t i = 0; i < workspace.prepared_active_.size(); ++i)
  {
    workspace.prepared_active_[i] = workspace.workspace_.is_active(static_cast<int>(i));
  }
  Status status = form(state.time, state.q, state.u, workspace);
  if (!has_output(status))
  {
    throw std::invalid_argument(
      std::string("the servo-constraints cannot be evaluated at the given state: status ") +
      to_string(status));
  }
  for (std::size_t i = 0; i < tasks_.size(); ++i)
  {
    if (tasks_[i].constraint->start_reference() == StartReference::kOwn)
    {
      continue;
    }
    status = measure(static_cast<int>(i), workspace);
    if (status != Status::kOk)
    {
      throw std::invalid_argument(
        "servo-constraint '" + tasks_[i].constraint->name() +
        "' cannot be evaluated at the given state: status " + to_string(status));
    }
  }
  ServoWorkspace::Scratch & work = *workspace.work_;
  // Sizes in the metric that controls count in.
  const auto sizes = [&]() -> Eigen::VectorXd
  {
    begin_levels(workspace);
    return work.solver.open_rows(work.S).rowwise().norm();
  };
  const Eigen::VectorXd here = sizes();
  // What rows could be if the passive constraints left them alone; of forces what any of them is.
  Eigen::VectorXd possible = workspace.rows_.jacobian.rowwise().norm() *
                             work.solver.open_rows(workspace.reduction_.input_response()).norm();
  possible = possible.cwiseMax(here.maxCoeff());
  std::vector<State> samples{state};
  std::mt19937 generator(kSeed);
  std::normal_distribution<double> normal;
  Eigen::VectorXd moving = Eigen::VectorXd::Zero(row_count_);
  const Eigen::MatrixXd C = workspace.workspace_.terms().kinematic_matrix;
  for (int i = 0; i < 2 * kSamples; ++i)
  {
    const bool far = i >= kSamples;
    State sample = state;
    Eigen::VectorXd delta(state.u.size());
    for (Eigen::Index k = 0; k < delta.size(); ++k)
    {
      delta(k) = (far ? kFarSpread : kSpread) * normal(generator);
      sample.u(k) += kSpeed * normal(generator);
    }
    sample.q += C * delta;
    passive_->system().normalise(sample.q);
    Workspace & passive = workspace.workspace_;
    if (
      passive_->project_position(sample.time, sample.q, passive) == Status::kOk &&
      passive_->project_velocity(sample.time, sample.q, sample.u, passive) == Status::kOk &&
      has_output(form(sample.time, sample.q, sample.u, workspace)))
    {
      moving = moving.cwiseMax(sizes());
      if (!far)
      {
        samples.push_back(std::move(sample));
      }
    }
  }
  for (Eigen::Index row = 0; row < row_count_; ++row)
  {
    const double usual = here(row) >= kVanishing * moving(row) ? here(row) : moving(row);
    workspace.row_size_(row) = std::max(usual, kServoRounding * possible(row));
  }
  // Ranks, level by level, as they are as a rule: the largest seen.
  std::vector<int> largest(levels_.size(), 0);
  for (const State & sample : samples)
  {
    if (!has_output(form(sample.time, sample.q, sample.u, workspace)))
    {
      continue;
    }
    begin_levels(workspace);
    for (std::size_t level = 0; level < levels_.size(); ++level)
    {
      const int before = work.rank;
      solve_level(static_cast<int>(level), workspace);
      largest[level] = std::max(largest[level], work.rank - before);
    }
  }
  workspace.nominal_rank_ = largest;
  // `hold` and `measure` speak of the given state.
  (void)form(state.time, state.q, state.u, workspace);
}

Status ServoLaw::measure(int task, ServoWorkspace & workspace) const noexcept CD_NONBLOCKING
{
  const std::size_t i = static_cast<std::size_t>(task);
  const ServoConstraint & constraint = *tasks_[i].constraint;
  const Eigen::Index offset = offsets_[i];
  const Eigen::Index count = constraint.row_count();
  Rows & rows = workspace.rows_;
  RowBlock block{
    rows.position.segment(offset, count), rows.velocity.segment(offset, count),
    rows.jacobian.middleRows(offset, count), rows.bias.segment(offset, count)};
  return constraint.measure(
    workspace.workspace_.system_data(), workspace.scratch_, block, workspace.references_[i]);
}

Status ServoLaw::hold(int task, ServoWorkspace & workspace) const noexcept CD_NONBLOCKING
{
  const Status status = measure(task, workspace);
  if (status != Status::kOk)
  {
    return status;
  }
  const std::size_t i = static_cast<std::size_t>(task);
  return layouts_[i].rest(workspace.references_[i]) ? Status::kOk : Status::kNonFiniteResult;
}

}  // namespace constrained_dynamics
