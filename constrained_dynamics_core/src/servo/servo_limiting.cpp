// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <cmath>

#include "dynamics/workspace_impl.hpp"
#include "servo/servo_cycle.hpp"

// Limits of inputs and forces (E25), of positions and velocities (E32).

namespace constrained_dynamics
{

LimitedControls::Levels ServoCycle::tasks_of_levels() const noexcept
{
  return {m_.ordered_S, m_.ordered_z,   m_.level_ends, static_cast<int>(law_.levels().size()),
          m_.y,         effort_metric()};
}

void ServoCycle::limit() noexcept
{
  m_.limited = false;
  m_.cones_met = true;
  m_.weighed = false;
  m_.is_solved = false;
  if (m_.limits)
  {
    m_.limits->begin(m_.has_last ? &m_.last : nullptr);
  }
  if (m_.limits && !keeps_limits())
  {
    find_forces();
    weigh_levels();
    const Status status = m_.limits->solve(tasks_of_levels(), m_.reduction, m_.passive, m_.tau);
    m_.limited = true;
    m_.cones_met = status == Status::kOk;
  }
  m_.motion_limited = false;
  m_.motion_met = true;
  if (m_.motion_limits)
  {
    m_.motion_bounds->update(m_.passive.system_data().terms);
    if (!keeps_motion_limits())
    {
      limit_motion();
    }
  }
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
    // As the cycle began, so that it succeeds as then.
    (void)law_.passive().reduce(m_.passive, m_.reduction, {is_ideal_metric(), true});
    m_.has_forces = true;
  }
}

bool ServoCycle::keeps_motion_limits() noexcept
{
  const MotionBounds & bounds = *m_.motion_bounds;
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

void ServoCycle::limit_motion() noexcept
{
  const Reduction & reduction = m_.reduction;
  const Terms terms = m_.passive.terms();
  const MotionBounds & bounds = *m_.motion_bounds;
  LimitedControls & limits = *m_.motion_limits;
  // q̈ = C (u̇_0 + Y τ) + q̈_0 of the coordinates with limits.
  for (int i = 0; i < bounds.count(); ++i)
  {
    const int coordinate = bounds.coordinate(i);
    const auto C = terms.kinematic_matrix.row(coordinate);
    m_.motion_rows.row(i).noalias() = C * reduction.input_response();
    m_.motion_offset(i) =
      C.dot(reduction.free_acceleration()) + terms.acceleration_bias(coordinate);
  }
  m_.motion_lower = bounds.lower() - m_.motion_offset;
  m_.motion_upper = bounds.upper() - m_.motion_offset;
  limits.begin(m_.has_last ? &m_.last : nullptr);
  m_.limited = true;
  m_.motion_limited = true;
  m_.motion_met = limits.set_motion(m_.motion_rows, m_.motion_lower, m_.motion_upper);
  find_forces();
  weigh_levels();
  if (limits.solve(tasks_of_levels(), reduction, m_.passive, m_.tau) == Status::kOk)
  {
    return;
  }
  // No controls keep the limits: those that miss them least, and among these a stop.
  m_.motion_met = false;
  if (limits.relax_motion(m_.tau))
  {
    m_.motion_lower = bounds.brake() - m_.motion_offset;  // now the desired acceleration
    const Status stopped = limits.solve(
      {m_.motion_rows, m_.motion_lower, m_.motion_ends, 1, m_.y, effort_metric()}, reduction,
      m_.passive, m_.tau);
    m_.cones_met = m_.cones_met && (law_.options().cones.empty() || stopped == Status::kOk);
  }
}

bool ServoCycle::is_at_motion_limit(int i) const noexcept
{
  constexpr double kNear = 1e-6;
  const double value = m_.motion_rows.row(i).dot(m_.tau) + m_.motion_offset(i);
  const double near = kNear * (1.0 + std::abs(value));
  return value >= m_.motion_bounds->upper()(i) - near ||
         value <= m_.motion_bounds->lower()(i) + near;
}

}  // namespace constrained_dynamics
