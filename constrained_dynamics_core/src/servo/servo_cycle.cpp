// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "servo/servo_cycle.hpp"

#include <algorithm>
#include <limits>

namespace constrained_dynamics
{

Status ServoCycle::evaluate(
  double time, const ConstVectorRef & q, const ConstVectorRef & u) noexcept
{
  if (!fits())
  {
    return Status::kSizeMismatch;
  }
  if (!m_.external_null_vector.allFinite())
  {
    return Status::kNonFiniteInput;
  }
  const Status passive = form(time, q, u);
  if (!has_output(passive))
  {
    return passive;
  }
  begin_levels();
  for (std::size_t level = 0; level < law_.levels().size(); ++level)
  {
    solve_level(static_cast<int>(level));
  }
  add_null_part();
  limit();
  m_.residual = -m_.z;
  m_.residual.noalias() += m_.S_transpose.transpose() * m_.tau;
  if (!m_.tau.allFinite() || !m_.residual.allFinite())
  {
    return Status::kNonFiniteResult;
  }
  const Status solved = solve();
  if (!has_output(solved))
  {
    return solved;
  }
  report();
  m_.set_last_inputs(m_.tau);
  const Status law = m_.result.damped                             ? Status::kSingular
                     : m_.result.limited                          ? Status::kLimited
                     : m_.result.solution == ServoSolution::kNone ? Status::kInconsistent
                                                                  : Status::kOk;
  return law == Status::kOk ? solved : law;
}

Status ServoCycle::solve() noexcept
{
  if (!m_.is_solved)
  {
    m_.solved = law_.passive().solve(m_.tau, m_.reduction, m_.passive);
    m_.is_solved = true;
  }
  return m_.solved;
}

void ServoCycle::report() noexcept
{
  ServoResult & result = m_.result;
  result.inputs = m_.tau;
  result.particular = m_.limited ? m_.tau : m_.solver.solution();
  result.null_part = m_.null_part;
  if (m_.limited)
  {
    result.null_part.setZero();
  }
  report_limits();
  result.error = m_.rows.position;
  result.error_rate = m_.rows.velocity;
  result.residual = m_.residual;
  result.rank = m_.rank;
  result.null_dimension = m_.solver.open_dimension();
  result.condition = m_.condition;
  result.damped = m_.damped;
  bool all_realised = true;
  for (std::size_t i = 0; i < law_.tasks().size(); ++i)
  {
    report_errors(i);
    result.relaxed[i] = m_.enabled[i] && is_missed(i);
    all_realised = all_realised && !result.relaxed[i];
  }
  // Tasks of later levels may be relaxed: that is what levels are for.
  const std::vector<int> & first = law_.levels().front();
  const bool missed = std::any_of(
    first.begin(), first.end(),
    [&](int task) { return result.relaxed[static_cast<std::size_t>(task)]; });
  result.ideal = is_ideal_metric() && all_realised && is_ideal();
  result.solution = missed                      ? ServoSolution::kNone
                    : result.null_dimension > 0 ? ServoSolution::kMany
                                                : ServoSolution::kOne;
}

void ServoCycle::report_limits() noexcept
{
  ServoResult & result = m_.result;
  result.limited = m_.limited;
  result.cones_met = m_.cones_met;
  result.motion_limits_met = m_.motion_met;
  for (std::size_t i = 0; i < result.at_bound.size(); ++i)
  {
    result.at_bound[i] = m_.limited && m_.limits->at_bound(static_cast<int>(i));
  }
  for (int i = 0; i < m_.motion_bounds->count(); ++i)
  {
    result.at_motion_limit[static_cast<std::size_t>(m_.motion_bounds->coordinate(i))] =
      m_.limited && is_at_motion_limit(i);
  }
}

bool ServoCycle::is_missed(std::size_t task) const noexcept
{
  const Eigen::Index offset = law_.row_offset(static_cast<int>(task));
  const Eigen::Index count = law_.tasks()[task].constraint->row_count();
  const double size = m_.z.segment(offset, count).norm() +
                      m_.S_transpose.middleCols(offset, count).norm() * m_.tau.norm();
  const double rest = m_.residual.segment(offset, count).norm();
  if (!(rest > law_.options().consistency_tolerance * size))
  {
    return false;
  }
  // Round-off in z where its terms cancel, as at rest, is not an error.
  constexpr double kRoundings = 64.0 * std::numeric_limits<double>::epsilon();
  const double terms =
    m_.rows.bias.segment(offset, count).norm() +
    m_.rows.jacobian.middleRows(offset, count).norm() * m_.reduction.free_acceleration().norm();
  return rest > kRoundings * m_.condition * (size + terms);
}

void ServoCycle::report_errors(std::size_t task) noexcept
{
  ServoResult & result = m_.result;
  const ServoConstraint & constraint = *law_.tasks()[task].constraint;
  const Eigen::Index offset = law_.row_offset(static_cast<int>(task));
  const Eigen::Index count = constraint.row_count();
  if (!m_.enabled[task])
  {
    result.error.segment(offset, count).setZero();
    result.error_rate.segment(offset, count).setZero();
    result.residual.segment(offset, count).setZero();
    return;
  }
  const bool is_force = !constraint.force_rows().empty();
  for (Eigen::Index k = 0; k < count; ++k)
  {
    const std::size_t row = static_cast<std::size_t>(k);
    if (is_force)
    {
      result.error(offset + k) = m_.passive.solution().multipliers(constraint.force_rows()[row]) -
                                 m_.references[task].position(k);
    }
    else if (constraint.rows()[row].level == RowLevel::kVelocity)
    {
      // e of velocity rows is itself the error, not a rate.
      result.error(offset + k) = result.error_rate(offset + k);
    }
  }
}

}  // namespace constrained_dynamics
