// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "servo/servo_cycle.hpp"

#include <algorithm>

#include "clones.hpp"
#include "formulations/columns.hpp"

// The rows of the tasks, S τ = z (E14).

namespace constrained_dynamics
{

namespace
{

/// bias += Θ values.
void add_gain(const Gain & gain, const ConstVectorRef & values, VectorRef bias) noexcept
{
  if (gain.is_matrix())
  {
    bias.noalias() += gain.matrix() * values;
  }
  else
  {
    bias += gain.scalar() * values;
  }
}

bool has_size(const Gain & gain, Eigen::Index rows) noexcept
{
  return !gain.is_matrix() || (gain.matrix().rows() == rows && gain.matrix().cols() == rows);
}

}  // namespace

bool ServoCycle::fits() const noexcept
{
  const std::vector<ServoTask> & tasks = law_.tasks();
  if (
    m_.gains.size() != tasks.size() || m_.rows.bias.size() != law_.row_count() ||
    m_.external_null_vector.size() != law_.passive().system().input_count())
  {
    return false;
  }
  for (std::size_t i = 0; i < tasks.size(); ++i)
  {
    const ErrorDynamics & gains = m_.gains[i];
    const Eigen::Index rows = tasks[i].constraint->row_count();
    if (
      !has_size(gains.velocity, rows) || !has_size(gains.position, rows) ||
      !has_size(gains.first_order, rows))
    {
      return false;
    }
  }
  return true;
}

RowBlock ServoCycle::rows_of(std::size_t task) noexcept
{
  const Eigen::Index offset = law_.row_offset(static_cast<int>(task));
  const Eigen::Index count = law_.tasks()[task].constraint->row_count();
  Rows & rows = m_.rows;
  return {
    rows.position.segment(offset, count), rows.velocity.segment(offset, count),
    rows.jacobian.middleRows(offset, count), rows.bias.segment(offset, count)};
}

Status ServoCycle::evaluate_rows() noexcept
{
  for (std::size_t i = 0; i < law_.tasks().size(); ++i)
  {
    if (!m_.enabled[i])
    {
      continue;
    }
    RowBlock block = rows_of(i);
    const Status status = law_.tasks()[i].constraint->evaluate(
      m_.passive.system_data(), m_.scratch, m_.references[i], block);
    if (status != Status::kOk)
    {
      return status;
    }
  }
  return Status::kOk;
}

Status ServoCycle::form(double time, const ConstVectorRef & q, const ConstVectorRef & u) noexcept
{
  const Dynamics & dynamics = law_.passive();
  Status status = dynamics.set_state(time, q, u, m_.passive);
  if (status != Status::kOk)
  {
    return status;
  }
  const Status reduced =
    dynamics.reduce(m_.passive, m_.reduction, {is_ideal_metric(), m_.has_force_tasks});
  m_.has_forces = m_.has_force_tasks;
  if (!has_output(reduced))
  {
    return reduced;
  }
  m_.Y_transpose = m_.reduction.input_response().transpose();
  status = evaluate_rows();
  if (status != Status::kOk)
  {
    return status;
  }
  m_.z = m_.rows.bias;
  for (std::size_t i = 0; i < law_.tasks().size(); ++i)
  {
    form_task(i);
  }
  if (!is_finite(m_.S_transpose) || !m_.z.allFinite())
  {
    return Status::kNonFiniteResult;
  }
  return reduced;
}

void ServoCycle::form_task(std::size_t task) noexcept
{
  const ServoConstraint & constraint = *law_.tasks()[task].constraint;
  if (!m_.enabled[task])
  {
    const Eigen::Index offset = law_.row_offset(static_cast<int>(task));
    m_.z.segment(offset, constraint.row_count()).setZero();
    m_.S_transpose.middleCols(offset, constraint.row_count()).setZero();
  }
  else if (constraint.force_rows().empty())
  {
    form_motion(task);
  }
  else
  {
    form_force(task);
  }
}

void ServoCycle::form_force(std::size_t task) noexcept
{
  Eigen::Index row = law_.row_offset(static_cast<int>(task));
  Eigen::Index k = 0;
  for (const int passive_row : law_.tasks()[task].constraint->force_rows())
  {
    m_.S_transpose.col(row) = m_.reduction.multiplier_response().row(passive_row).transpose();
    m_.z(row) = m_.references[task].position(k) - m_.reduction.free_multipliers()(passive_row);
    ++row;
    ++k;
  }
}

void ServoCycle::form_motion(std::size_t task) noexcept
{
  const ServoConstraint & constraint = *law_.tasks()[task].constraint;
  const ErrorDynamics & gains = m_.gains[task];
  const Eigen::Index offset = law_.row_offset(static_cast<int>(task));
  const Eigen::Index count = constraint.row_count();
  auto z = m_.z.segment(offset, count);
  // Levels are told by which of e and ė belongs to a row; the other gain meets a zero.
  bool position = false;
  bool velocity = false;
  for (const RowDescription & row : constraint.rows())
  {
    position = position || row.level == RowLevel::kPosition;
    velocity = velocity || row.level == RowLevel::kVelocity;
  }
  // The desired motion of the errors (E23) is part of b_s.
  if (position)
  {
    add_gain(gains.velocity, m_.rows.velocity.segment(offset, count), z);
    add_gain(gains.position, m_.rows.position.segment(offset, count), z);
  }
  else if (velocity)
  {
    add_gain(gains.first_order, m_.rows.velocity.segment(offset, count), z);
  }
  add_responses(offset, count);
}

CD_CLONES void ServoCycle::add_responses(Eigen::Index offset, Eigen::Index count) noexcept
{
  for (Eigen::Index row = offset; row < offset + count; ++row)
  {
    add_response(row);
  }
}

void ServoCycle::add_response(Eigen::Index row) noexcept
{
  // A joint touches one speed, a hand those of an arm: only these are summed where they are few.
  const Eigen::Index n = m_.Y_transpose.cols();
  const Eigen::Index l = m_.Y_transpose.rows();
  const double * A = m_.rows.jacobian.data() + row;
  const Eigen::Index step = m_.rows.jacobian.outerStride();
  const double * Y = m_.Y_transpose.data();
  double * S = m_.S_transpose.data() + row * l;
  double moving = 0.0;
  Eigen::Index touched = 0;
  for (Eigen::Index j = 0; j < n; ++j)
  {
    const double a = A[j * step];
    moving += a * m_.reduction.free_acceleration()(j);
    touched += a != 0.0 ? 1 : 0;
  }
  m_.z(row) -= moving;
  std::fill_n(S, l, 0.0);
  if (2 * touched > n)
  {
    columns::add_columns(
      S, Y, l, [&](Eigen::Index j) { return A[j * step]; }, l, n);
    return;
  }
  for (Eigen::Index j = 0; j < n; ++j)
  {
    if (A[j * step] != 0.0)
    {
      columns::add(S, A[j * step], Y + j * l, l);
    }
  }
}

}  // namespace constrained_dynamics
