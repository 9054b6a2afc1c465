// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <algorithm>
#include <cmath>
#include <limits>

#include "dynamics/workspace_impl.hpp"
#include "servo/servo_cycle.hpp"

// Limits of inputs and forces (E25), of positions and velocities (E32).

namespace constrained_dynamics
{

void ServoCycle::limit() noexcept
{
  m_.limited = false;
  m_.cones_met = true;
  m_.motion_met = true;
  m_.is_solved = false;
  if (!m_.limits)
  {
    return;
  }
  m_.limits->begin(m_.has_last ? &m_.last : nullptr);
  m_.motion_bounds->update(m_.passive.system_data().terms);
  const bool is_kept = keeps_limits();
  if (is_kept && keeps_motion_limits())
  {
    return;
  }
  m_.limited = true;
  m_.unlimited_tau = m_.tau;
  find_forces();
  weigh_levels();
  find_directions(m_.solver, m_.ordered_S_transpose);
  form_motion_limits();
  const bool can_act = m_.limits->set_motion(m_.motion_rows, m_.motion_lower, m_.motion_upper);
  if (solve_limited() == Status::kOk)
  {
    m_.motion_met = can_act;
    return;
  }
  m_.limits->forget_motion();
  m_.tau = m_.unlimited_tau;
  m_.cones_met = is_kept || solve_limited() == Status::kOk;
  m_.motion_met = keeps_motion_limits();
  if (!m_.motion_met)
  {
    stop();
  }
}

void ServoCycle::find_directions(LevelSolver & solver, const Eigen::MatrixXd & rows) noexcept
{
  solver.find_directions(rows, m_.level_ends, m_.level_ranks, m_.directions);
  int end = 0;
  for (std::size_t level = 0; level < m_.level_ranks.size(); ++level)
  {
    end += m_.level_ranks[level];
    m_.direction_ends[level] = end;
  }
  const int all = static_cast<int>(m_.tau.size());
  m_.direction_ends[m_.level_ranks.size()] = all - solver.free_dimension();
  m_.direction_ends.back() = all;
}

Status ServoCycle::solve_limited() noexcept
{
  return m_.limits->solve(
    {m_.unlimited_tau, m_.directions, m_.direction_ends}, m_.reduction, m_.passive, m_.tau);
}

bool ServoCycle::keeps_limits() noexcept
{
  // Cones are asked last: their forces are those of the solution, which is needed anyway.
  return m_.limits->admits(m_.tau) &&
         (law_.options().cones.empty() || !m_.tau.allFinite() || !has_output(solve()) ||
          m_.limits->admits_forces(m_.passive.solution().multipliers, m_.passive));
}

void ServoCycle::find_forces() noexcept
{
  // The solution that the cones were checked with is not that of the controls.
  m_.is_solved = false;
  WorkspaceAccess::evaluation(m_.passive).forget(Evaluation::kSolution);
  if (!m_.has_forces && !law_.options().cones.empty())
  {
    m_.has_forces = law_.passive().add_forces(m_.passive, m_.reduction) == Status::kOk;
  }
}

bool ServoCycle::keeps_motion_limits() noexcept
{
  const MotionBounds & bounds = *m_.motion_bounds;
  if (bounds.count() == 0)
  {
    return true;
  }
  const Terms terms = m_.passive.terms();
  m_.motion_acceleration = m_.reduction.free_acceleration();
  m_.motion_acceleration.noalias() += m_.reduction.input_response() * m_.tau;
  for (int i = 0; i < bounds.count(); ++i)
  {
    const int coordinate = bounds.coordinate(i);
    const double value = terms.kinematic_matrix.row(coordinate).dot(m_.motion_acceleration) +
                         terms.acceleration_bias(coordinate);
    if (!(value >= bounds.lower()(i) && value <= bounds.upper()(i)))
    {
      return false;
    }
  }
  return true;
}

void ServoCycle::form_motion_limits() noexcept
{
  const Reduction & reduction = m_.reduction;
  const Terms terms = m_.passive.terms();
  const MotionBounds & bounds = *m_.motion_bounds;
  // q̈ = C (u̇_0 + Y τ) + q̈_0 of the coordinates with limits.
  for (int i = 0; i < bounds.count(); ++i)
  {
    const int coordinate = bounds.coordinate(i);
    const auto C = terms.kinematic_matrix.row(coordinate);
    m_.motion_rows.col(i).setZero();
    for (Eigen::Index k = 0; k < C.size(); ++k)
    {
      if (C(k) != 0.0)
      {
        m_.motion_rows.col(i) += C(k) * m_.Y_transpose.col(k);
      }
    }
    m_.motion_offset(i) =
      C.dot(reduction.free_acceleration()) + terms.acceleration_bias(coordinate);
  }
  m_.motion_lower = bounds.lower() - m_.motion_offset;
  m_.motion_upper = bounds.upper() - m_.motion_offset;
}

void ServoCycle::stop() noexcept
{
  (void)m_.limits->set_motion(m_.motion_rows, m_.motion_lower, m_.motion_upper);
  if (!m_.limits->relax_motion(m_.tau))
  {
    return;
  }
  m_.motion_lower = m_.motion_bounds->brake() - m_.motion_offset;  // now the desired acceleration
  m_.motion_size =
    m_.motion_rows.colwise().norm().transpose().cwiseMax(std::numeric_limits<double>::min());
  LevelSolver & solver = *m_.brake_solver;
  solver.begin(effort_metric());
  const LevelSolver::Level found = solver.solve(
    {m_.motion_rows, m_.motion_lower, m_.motion_size, -1}, law_.options().singular_tolerance);
  std::fill(m_.level_ranks.begin(), m_.level_ranks.end(), 0);
  m_.level_ranks.front() = found.rank;
  m_.level_ends.front() = static_cast<int>(m_.motion_rows.cols());
  solver.null_part(m_.y, m_.null_part);
  m_.unlimited_tau = solver.solution() + m_.null_part;
  find_directions(solver, m_.motion_rows);
  const Status stopped = solve_limited();
  m_.cones_met = m_.cones_met && (law_.options().cones.empty() || stopped == Status::kOk);
}

bool ServoCycle::is_at_motion_limit(int i) const noexcept
{
  constexpr double kNear = 1e-6;
  const double value = m_.motion_rows.col(i).dot(m_.tau) + m_.motion_offset(i);
  const double near = kNear * (1.0 + std::abs(value));
  return value >= m_.motion_bounds->upper()(i) - near ||
         value <= m_.motion_bounds->lower()(i) + near;
}

}  // namespace constrained_dynamics
