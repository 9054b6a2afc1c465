// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/formulations/evaluation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace constrained_dynamics
{

namespace
{

/// bias(rows) += Γ values(rows), for a gain over these rows.
void add_gain(
  const Gain & gain, const std::vector<int> & rows, const Eigen::VectorXd & values,
  Eigen::VectorXd & bias)
{
  for (std::size_t i = 0; i < rows.size(); ++i)
  {
    double sum = 0.0;
    if (gain.is_matrix())
    {
      for (std::size_t j = 0; j < rows.size(); ++j)
      {
        sum += gain.matrix()(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) *
               values(rows[j]);
      }
    }
    else
    {
      sum = gain.scalar() * values(rows[i]);
    }
    bias(rows[i]) += sum;
  }
}

}  // namespace

Evaluation::Evaluation(std::shared_ptr<const ConstrainedSystem> of) : of_(std::move(of))
{
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  const ConstraintSet & set = of_->constraints;
  const Eigen::Index n = system().speed_count();
  const Eigen::Index m = set.row_count();
  const Eigen::Index driven = static_cast<Eigen::Index>(system().driven_speeds().size());
  system_data = system().make_data();
  scratch = set.make_scratch();
  rows.position.setConstant(m, kNaN);
  rows.velocity.setConstant(m, kNaN);
  rows.jacobian.setConstant(m, n, kNaN);
  rows.bias.setConstant(m, kNaN);
  rows.driven_jacobian.setConstant(m, driven, kNaN);
  inputs.setZero(system().input_count());
  active.assign(static_cast<std::size_t>(set.size()), true);
  given_multipliers.setZero(m);
  row_scale.setOnes(m);
  for (int row = 0; row < set.row_count(); ++row)
  {
    for (const RowSubset subset : {RowSubset::kPosition, RowSubset::kVelocity, RowSubset::kAll})
    {
      nominal(subset) += of_->contains(subset, row) ? 1 : 0;
    }
    if (set.row(row).rotational)
    {
      row_scale(row) = of_->options.characteristic_length;
    }
  }
  stabilised_bias.setZero(m);
  force.setZero(n);
  active_rows.setZero(m);
  active_jacobian.setZero(m, n);
  active_bias.setZero(m);
  active_scale.setOnes(m);
  active_weight.setOnes(m);
  row_solution.resize(n, m);
  row_work_.setZero(m);
  resting_bias_.setZero(driven > 0 ? m : 0);
  driven_acceleration_.setZero(driven);
  zero_speeds_.setZero(n);
}

// ---- parts -------------------------------------------------------------------------------------

void Evaluation::note_row_values() noexcept
{
  if (!has(kJacobian) && jacobian_is_written_)
  {
    // φ, φ̇ and b are there without A: then A must not be of another state.
    rows.jacobian.setConstant(std::numeric_limits<double>::quiet_NaN());
    jacobian_is_written_ = false;
  }
  parts_ |= kRowValues;
}

Status Evaluation::set_state(
  double time, const ConstVectorRef & q, const ConstVectorRef & u) noexcept CD_NONBLOCKING
{
  const Status status = system().update_kinematics(time, q, u, *system_data);
  if (status == Status::kSizeMismatch || status == Status::kNonFiniteInput)
  {
    return status;  // found before anything was written
  }
  ++stamp_;
  parts_ = status == Status::kOk ? unsigned{kKinematics} : 0U;
  return status;
}

Status Evaluation::ask_rows() noexcept CD_NONBLOCKING
{
  if (has(kJacobian))
  {
    return Status::kOk;
  }
  if (!has(kKinematics))
  {
    return Status::kNoState;
  }
  const Status status = evaluate_rows(true);
  if (status != Status::kOk)
  {
    forget(kRowValues);
    return status;
  }
  parts_ |= kJacobian | kRowValues;
  if (!is_sized_)
  {
    row_sizes(row_work_);
    set_row_scale(row_work_);
  }
  return Status::kOk;
}

Status Evaluation::ask_position_rows() noexcept CD_NONBLOCKING
{
  if (!has(kKinematics))
  {
    return Status::kNoState;
  }
  forget(kJacobian | kRowValues);
  return evaluate_rows(false);
}

Status Evaluation::evaluate_rows(bool with_all) noexcept CD_NONBLOCKING
{
  const ConstraintSet & set = of_->constraints;
  const std::vector<int> & driven = system().driven_speeds();
  jacobian_is_written_ = true;
  for (int i = 0; i < set.size(); ++i)
  {
    if (!with_all && !of_->has_position_rows[static_cast<std::size_t>(i)])
    {
      continue;
    }
    const Eigen::Index offset = set.row_offset(i);
    const Eigen::Index count = set[i].row_count();
    RowBlock block{
      rows.position.segment(offset, count), rows.velocity.segment(offset, count),
      rows.jacobian.middleRows(offset, count), rows.bias.segment(offset, count)};
    const Status status = set[i].evaluate(*system_data, scratch, block);
    if (status != Status::kOk)
    {
      return status;
    }
    for (std::size_t k = 0; k < driven.size(); ++k)
    {
      auto column = rows.jacobian.col(driven[k]).segment(offset, count);
      rows.driven_jacobian.col(static_cast<Eigen::Index>(k)).segment(offset, count) = column;
      column.setZero();
    }
    if (!driven.empty())
    {
      resting_bias_.segment(offset, count) = rows.bias.segment(offset, count);
    }
  }
  return Status::kOk;
}

Status Evaluation::ask_terms() noexcept CD_NONBLOCKING
{
  if (has(kTerms))
  {
    return Status::kOk;
  }
  if (!has(kKinematics))
  {
    return Status::kNoState;
  }
  const Status status = system().update_dynamics(*system_data);
  parts_ |= status == Status::kOk ? unsigned{kTerms} : 0U;
  return status;
}

Status Evaluation::ask_rows_and_terms() noexcept CD_NONBLOCKING
{
  if (!given_multipliers.allFinite())
  {
    return Status::kNonFiniteInput;
  }
  const Status status = ask_rows();
  return status == Status::kOk ? ask_terms() : status;
}

// ---- sizes -------------------------------------------------------------------------------------

void Evaluation::row_sizes(VectorRef out) noexcept CD_NONBLOCKING
{
  const ConstraintSet & set = of_->constraints;
  for (int i = 0; i < set.size(); ++i)
  {
    const Eigen::Index offset = set.row_offset(i);
    const Eigen::Index count = set[i].row_count();
    set[i].row_sizes(
      *system_data, scratch, rows.jacobian.middleRows(offset, count), out.segment(offset, count));
  }
}

void Evaluation::set_row_scale(const ConstVectorRef & sizes) noexcept CD_NONBLOCKING
{
  // Rows without any size are as good as zero whatever they are scaled by.
  row_scale = (sizes.array() > 0.0).select(sizes.cwiseInverse(), 1.0);
  is_sized_ = true;
}

double Evaluation::residual(const Eigen::VectorXd & values, RowSubset subset) const noexcept
  CD_NONBLOCKING
{
  double largest = 0.0;
  for (int row = 0; row < of_->constraints.row_count(); ++row)
  {
    if (
      is_active(of_->constraint_of_row[static_cast<std::size_t>(row)]) &&
      of_->contains(subset, row))
    {
      const double size = std::abs(row_scale(row) * values(row));
      if (!std::isfinite(size))
      {
        return std::numeric_limits<double>::infinity();  // which a comparison would pass over
      }
      largest = std::max(largest, size);
    }
  }
  return largest;
}

// ---- problems of rows --------------------------------------------------------------------------

void Evaluation::gather(const Eigen::VectorXd & bias, RowSubset subset) noexcept CD_NONBLOCKING
{
  int k = 0;
  for (int row = 0; row < of_->constraints.row_count(); ++row)
  {
    const int constraint = of_->constraint_of_row[static_cast<std::size_t>(row)];
    if (!is_active(constraint) || !of_->contains(subset, row))
    {
      continue;
    }
    active_rows(k) = row;
    active_bias(k) = bias(row);
    active_scale(k) = row_scale(row);
    active_weight(k) = of_->multiplier_weight(row);
    ++k;
  }
  active_row_count = k;
  // Column by column, as they lie in memory.
  for (Eigen::Index j = 0; j < rows.jacobian.cols(); ++j)
  {
    for (int i = 0; i < k; ++i)
    {
      active_jacobian(i, j) = rows.jacobian(active_rows(i), j);
    }
  }
}

RowProblem Evaluation::gathered_problem(RowSubset subset) const noexcept CD_NONBLOCKING
{
  const int m = active_row_count;
  const SystemTerms & terms = system_data->terms;
  return {
    terms.mass_matrix,
    force,
    active_jacobian.topRows(m),
    active_bias.head(m),
    active_scale.head(m),
    active_weight.head(m),
    nominal(subset),
    terms.speeds.squaredNorm()};
}

void Evaluation::gather_driven() noexcept CD_NONBLOCKING
{
  const std::vector<int> & driven = system().driven_speeds();
  if (!driven.empty())
  {
    for (std::size_t k = 0; k < driven.size(); ++k)
    {
      const Eigen::Index i = driven[k];
      driven_acceleration_(static_cast<Eigen::Index>(k)) =
        force(i) / system_data->terms.mass_matrix(i, i);
    }
    rows.bias = resting_bias_;
    rows.bias.noalias() -= rows.driven_jacobian * driven_acceleration_;
  }
  stabilise();
  gather(stabilised_bias, RowSubset::kAll);
}

RowProblem Evaluation::motion_problem() noexcept CD_NONBLOCKING
{
  force = system_data->terms.force;
  force.noalias() += system_data->terms.input_matrix * inputs;
  add_given(force);
  gather_driven();
  return gathered_problem(RowSubset::kAll);
}

RowProblem Evaluation::passive_problem() noexcept CD_NONBLOCKING
{
  force = system_data->terms.force;
  add_given(force);
  gather_driven();
  return gathered_problem(RowSubset::kAll);
}

RowProblem Evaluation::correction_problem(const Eigen::VectorXd & values, RowSubset subset) noexcept
  CD_NONBLOCKING
{
  force.setZero();
  stabilised_bias = -values;
  gather(stabilised_bias, subset);
  return gathered_problem(subset);
}

const Eigen::VectorXd & Evaluation::masked(const Eigen::VectorXd & values) noexcept CD_NONBLOCKING
{
  for (Eigen::Index row = 0; row < values.size(); ++row)
  {
    const int constraint = of_->constraint_of_row[static_cast<std::size_t>(row)];
    row_work_(row) = is_active(constraint) ? values(row) : 0.0;
  }
  return row_work_;
}

void Evaluation::stabilise() noexcept CD_NONBLOCKING
{
  stabilised_bias = rows.bias;
  const Stabilisation & stabilisation = of_->options.stabilisation;
  if (stabilisation.kind != Stabilisation::Kind::kBaumgarte)
  {
    return;
  }
  // Rows that are switched off must not act through a gain matrix.
  const Eigen::VectorXd & velocity = masked(rows.velocity);
  add_gain(stabilisation.velocity_gain, of_->position_rows, velocity, stabilised_bias);
  add_gain(stabilisation.nonholonomic_gain, of_->velocity_rows, velocity, stabilised_bias);
  add_gain(stabilisation.position_gain, of_->position_rows, masked(rows.position), stabilised_bias);
}

void Evaluation::add_given(VectorRef to) const noexcept CD_NONBLOCKING
{
  for (int row = 0; row < of_->constraints.row_count(); ++row)
  {
    const double given = given_multipliers(row);
    if (given != 0.0)
    {
      to += given * rows.jacobian.row(row).transpose();
    }
  }
}

void Evaluation::scatter(Solution & to) noexcept CD_NONBLOCKING
{
  const ConstraintSet & set = of_->constraints;
  to.acceleration = row_solution.acceleration;
  to.constraint_force = row_solution.constraint_force;
  add_given(to.constraint_force);
  to.multipliers = given_multipliers;
  to.redundancy.setZero();
  for (int k = 0; k < active_row_count; ++k)
  {
    to.multipliers(active_rows(k)) += row_solution.multipliers(k);
    to.redundancy(active_rows(k)) = row_solution.redundancy(k);
  }
  to.active_row_count = active_row_count;
  to.rank = row_solution.rank;
  to.condition = row_solution.condition;
  to.inconsistency = row_solution.inconsistency;
  to.along_tree = false;
  for (int i = 0; i < set.size(); ++i)
  {
    if (!set[i].wrench_bodies().empty())
    {
      set[i].wrenches(
        *system_data, scratch, to.multipliers.segment(set.row_offset(i), set[i].row_count()),
        to.wrenches.data() + set.wrench_offset(i));
    }
  }
}

void Evaluation::note_rank(RowSubset subset, int rank) noexcept CD_NONBLOCKING
{
  if (nominal(subset) == RowFactorisation::kUnknownRank)
  {
    nominal(subset) = rank;
  }
}

}  // namespace constrained_dynamics
