// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/dynamics/dynamics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>

#include "constrained_dynamics/formulations/automatic.hpp"
#include "formulations/tree_solver.hpp"

namespace constrained_dynamics
{

namespace
{

void check_range(const char * name, double value, double low, double high)
{
  if (!(low <= value && value <= high))
  {
    std::ostringstream message;
    message << "option " << name << " is " << value << "; allowed: " << low << " to " << high;
    throw std::invalid_argument(message.str());
  }
}

void check_gain_size(const char * name, const Gain & gain, std::size_t rows)
{
  if (gain.is_matrix() && gain.matrix().rows() != static_cast<Eigen::Index>(rows))
  {
    std::ostringstream message;
    message << "stabilisation gain " << name << " is a " << gain.matrix().rows() << " × "
            << gain.matrix().cols() << " matrix; allowed: a number or a matrix of size " << rows;
    throw std::invalid_argument(message.str());
  }
}

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

Eigen::MatrixXd complete_jacobian(const System & system, const Rows & rows)
{
  Eigen::MatrixXd result = rows.jacobian;
  const std::vector<int> & driven = system.driven_speeds();
  for (std::size_t k = 0; k < driven.size(); ++k)
  {
    result.col(driven[k]) = rows.driven_jacobian.col(static_cast<Eigen::Index>(k));
  }
  return result;
}

Workspace::Workspace(const Dynamics & dynamics)
{
  const System & system = dynamics.system();
  const ConstraintSet & set = dynamics.constraints();
  const Eigen::Index n = system.speed_count();
  const Eigen::Index m = set.row_count();
  system_data_ = system.make_data();
  scratch_.jacobian_a.setZero(6, n);
  scratch_.jacobian_b.setZero(6, n);
  int buffer = 0;
  for (int i = 0; i < set.size(); ++i)
  {
    buffer = std::max(buffer, set[i].scratch_size());
  }
  scratch_.buffer.setZero(buffer);
  formulation_data_ = dynamics.formulation().make_data(system.speed_count(), set.row_count());
  if (dynamics.tree_)
  {
    tree_data_ = dynamics.tree_->make_data();
  }
  rows_.position.setZero(m);
  rows_.velocity.setZero(m);
  rows_.jacobian.setZero(m, n);
  rows_.bias.setZero(m);
  const Eigen::Index driven = static_cast<Eigen::Index>(system.driven_speeds().size());
  rows_.driven_jacobian.setZero(m, driven);
  resting_bias_.setZero(driven > 0 ? m : 0);
  driven_acceleration_.setZero(driven);
  solution_.acceleration.setZero(n);
  solution_.constraint_force.setZero(n);
  solution_.multipliers.setZero(m);
  solution_.redundancy.setZero(m);
  solution_.wrenches.resize(static_cast<std::size_t>(set.wrench_count()));
  active_.assign(static_cast<std::size_t>(set.size()), true);
  given_multipliers_.setZero(m);
  for (int row = 0; row < set.row_count(); ++row)
  {
    const RowLevel level = set.row(row).level;
    nominal_rank_[kPositionRows] += level == RowLevel::kPosition ? 1 : 0;
    nominal_rank_[kVelocityRows] += level != RowLevel::kAcceleration ? 1 : 0;
    nominal_rank_[kAllRows] += 1;
  }
  const bool shares_partition = dynamics.options().stabilisation.keep_independent &&
                                nominal_rank_[kVelocityRows] == nominal_rank_[kAllRows];
  for (const Subset subset : {kPositionRows, kVelocityRows})
  {
    if (!(subset == kVelocityRows && shares_partition))
    {
      projection_data_[subset] =
        dynamics.formulation().make_data(system.speed_count(), set.row_count());
    }
  }
  active_rows_.setZero(m);
  active_jacobian_.setZero(m, n);
  active_bias_.setZero(m);
  active_scale_.setOnes(m);
  active_weight_.setOnes(m);
  row_scale_.setOnes(m);
  for (int row = 0; row < set.row_count(); ++row)
  {
    if (set.row(row).rotational)
    {
      row_scale_(row) = dynamics.options().characteristic_length;
    }
  }
  stabilised_bias_.setZero(m);
  gain_work_.setZero(m);
  force_.setZero(n);
  row_solution_.acceleration.setZero(n);
  row_solution_.constraint_force.setZero(n);
  row_solution_.multipliers.setZero(m);
  row_solution_.redundancy.setZero(m);
  zero_speeds_.setZero(n);
  const Eigen::Index longest = std::max<Eigen::Index>(n, system.coordinate_count());
  trial_.setZero(longest);
  best_.setZero(longest);
}

Workspace::~Workspace() = default;
Workspace::Workspace(Workspace &&) noexcept = default;
Workspace & Workspace::operator=(Workspace &&) noexcept = default;

void Workspace::set_active(int constraint, bool active) noexcept CD_NONBLOCKING
{
  const std::size_t i = static_cast<std::size_t>(constraint);
  if (active_[i] != active)
  {
    active_[i] = active;
    nominal_rank_.fill(kUnknownRank);
  }
}

Dynamics::Dynamics(
  ConstraintSet constraints, DynamicsOptions options,
  std::shared_ptr<const Formulation> formulation)
: constraints_(std::move(constraints)),
  options_(std::move(options)),
  formulation_(std::move(formulation))
{
  if (!formulation_)
  {
    formulation_ = std::make_shared<Automatic>();
  }
  // What the tree takes for regular is so with a margin of two digits for this tolerance.
  constexpr double kLargestTolerance = 1e-5;
  if (
    dynamic_cast<const Automatic *>(formulation_.get()) && system().driven_speeds().empty() &&
    options_.rank.singular_tolerance <= kLargestTolerance)
  {
    tree_ = TreeSolver::make(constraints_);
  }
  const RankOptions & rank = options_.rank;
  check_range("singular_tolerance", rank.singular_tolerance, 1e-15, 1e-2);
  check_range("redundancy_tolerance", rank.redundancy_tolerance, rank.singular_tolerance, 0.5);
  check_range("consistency_tolerance", rank.consistency_tolerance, 1e-15, 1.0);
  check_range("partition_limit", rank.partition_limit, 1.0, 1e6);
  check_range("characteristic_length", options_.characteristic_length, 1e-6, 1e6);

  multiplier_weight_.setOnes(constraints_.row_count());
  has_position_rows_.assign(static_cast<std::size_t>(constraints_.size()), false);
  for (int row = 0; row < constraints_.row_count(); ++row)
  {
    const RowDescription & description = constraints_.row(row);
    constraint_of_row_.push_back(constraints_.constraint_of_row(row));
    level_of_row_.push_back(description.level);
    if (description.level == RowLevel::kPosition)
    {
      position_rows_.push_back(row);
      has_position_rows_[static_cast<std::size_t>(constraint_of_row_.back())] = true;
    }
    if (description.level == RowLevel::kVelocity)
    {
      velocity_rows_.push_back(row);
    }
    if (description.rotational)
    {
      multiplier_weight_(row) = 1.0 / options_.characteristic_length;
    }
  }
  multiplier_compliance_ = multiplier_weight_.cwiseAbs2().cwiseInverse();
  const Stabilisation & stabilisation = options_.stabilisation;
  check_gain_size("velocity_gain (Γ1)", stabilisation.velocity_gain, position_rows_.size());
  check_gain_size("position_gain (Γ2)", stabilisation.position_gain, position_rows_.size());
  check_gain_size("nonholonomic_gain (Γ)", stabilisation.nonholonomic_gain, velocity_rows_.size());
  if (stabilisation.keep_independent && !formulation_->has_independent_speeds())
  {
    throw std::invalid_argument(
      std::string("stabilisation keeps independent speeds, and formulation ") +
      formulation_->name() +
      " has none; allowed: coordinate_partition, coordinate_partition_selected");
  }
}

void Dynamics::row_sizes(Workspace & workspace, VectorRef out) const noexcept CD_NONBLOCKING
{
  for (int i = 0; i < constraints_.size(); ++i)
  {
    const Eigen::Index offset = constraints_.row_offset(i);
    const Eigen::Index count = constraints_[i].row_count();
    constraints_[i].row_sizes(
      *workspace.system_data_, workspace.scratch_,
      workspace.rows_.jacobian.middleRows(offset, count), out.segment(offset, count));
  }
}

void Dynamics::set_row_scale(const ConstVectorRef & sizes, Workspace & workspace) noexcept
  CD_NONBLOCKING
{
  // Rows without any size are as good as zero whatever they are scaled by.
  workspace.row_scale_ = (sizes.array() > 0.0).select(sizes.cwiseInverse(), 1.0);
  workspace.is_sized_ = true;
}

Status Dynamics::evaluate_rows(Workspace::Subset subset, Workspace & workspace) const noexcept
  CD_NONBLOCKING
{
  Rows & rows = workspace.rows_;
  for (int i = 0; i < constraints_.size(); ++i)
  {
    if (subset == Workspace::kPositionRows && !has_position_rows_[static_cast<std::size_t>(i)])
    {
      continue;
    }
    const Eigen::Index offset = constraints_.row_offset(i);
    const Eigen::Index count = constraints_[i].row_count();
    RowBlock block{
      rows.position.segment(offset, count), rows.velocity.segment(offset, count),
      rows.jacobian.middleRows(offset, count), rows.bias.segment(offset, count)};
    const Status status =
      constraints_[i].evaluate(*workspace.system_data_, workspace.scratch_, block);
    if (status != Status::kOk)
    {
      return status;
    }
    const std::vector<int> & driven = system().driven_speeds();
    for (std::size_t k = 0; k < driven.size(); ++k)
    {
      auto column = rows.jacobian.col(driven[k]).segment(offset, count);
      rows.driven_jacobian.col(static_cast<Eigen::Index>(k)).segment(offset, count) = column;
      column.setZero();
    }
    if (!driven.empty())
    {
      workspace.resting_bias_.segment(offset, count) = rows.bias.segment(offset, count);
    }
  }
  if (!workspace.is_sized_ && subset == Workspace::kAllRows)
  {
    row_sizes(workspace, workspace.gain_work_);
    set_row_scale(workspace.gain_work_, workspace);
  }
  return Status::kOk;
}

Status Dynamics::update_rows(
  double time, const ConstVectorRef & q, const ConstVectorRef & u,
  Workspace & workspace) const noexcept CD_NONBLOCKING
{
  const Status status = system().update_kinematics(time, q, u, *workspace.system_data_);
  return status == Status::kOk ? evaluate_rows(Workspace::kAllRows, workspace) : status;
}

Status Dynamics::update_position_rows(
  double time, const ConstVectorRef & q, Workspace & workspace) const noexcept CD_NONBLOCKING
{
  const Status status =
    system().update_kinematics(time, q, workspace.zero_speeds_, *workspace.system_data_);
  return status == Status::kOk ? evaluate_rows(Workspace::kPositionRows, workspace) : status;
}

bool Dynamics::in_subset(int row, Workspace::Subset subset) const noexcept CD_NONBLOCKING
{
  const RowLevel level = level_of_row_[static_cast<std::size_t>(row)];
  switch (subset)
  {
    case Workspace::kPositionRows:
      return level == RowLevel::kPosition;
    case Workspace::kVelocityRows:
      return level != RowLevel::kAcceleration;
    default:
      return true;
  }
}

void Dynamics::gather(const Eigen::VectorXd & bias, Workspace::Subset subset, Workspace & workspace)
  const noexcept CD_NONBLOCKING
{
  int k = 0;
  for (int row = 0; row < constraints_.row_count(); ++row)
  {
    const int constraint = constraint_of_row_[static_cast<std::size_t>(row)];
    if (!workspace.is_active(constraint) || !in_subset(row, subset))
    {
      continue;
    }
    workspace.active_rows_(k) = row;
    workspace.active_bias_(k) = bias(row);
    workspace.active_scale_(k) = workspace.row_scale_(row);
    workspace.active_weight_(k) = multiplier_weight_(row);
    ++k;
  }
  workspace.active_row_count_ = k;
  // Column by column, as they lie in memory.
  for (Eigen::Index j = 0; j < workspace.rows_.jacobian.cols(); ++j)
  {
    for (int i = 0; i < k; ++i)
    {
      workspace.active_jacobian_(i, j) = workspace.rows_.jacobian(workspace.active_rows_(i), j);
    }
  }
}

RowProblem Dynamics::row_problem(int nominal_rank, const Workspace & workspace) const noexcept
  CD_NONBLOCKING
{
  const int m = workspace.active_row_count_;
  return {
    workspace.terms().mass_matrix,
    workspace.force_,
    workspace.active_jacobian_.topRows(m),
    workspace.active_bias_.head(m),
    workspace.active_scale_.head(m),
    workspace.active_weight_.head(m),
    nominal_rank,
    workspace.terms().speeds.squaredNorm()};
}

Status Dynamics::solve_gathered(
  Workspace::Subset subset, const RankOptions & rank, FormulationData & data, bool keep_independent,
  Workspace & workspace) const noexcept CD_NONBLOCKING
{
  int & nominal = workspace.nominal_rank_[subset];
  const RowProblem problem = row_problem(nominal, workspace);
  const Status status = keep_independent
                          ? formulation_->correct(problem, rank, data, workspace.row_solution_)
                          : formulation_->solve(problem, rank, data, workspace.row_solution_);
  if (has_output(status) && nominal == Workspace::kUnknownRank)
  {
    nominal = workspace.row_solution_.rank;
  }
  return status;
}

/// What driven speeds do by inputs and P alone is known to the rows: b ← b − A_d u̇_d.
void Dynamics::drive(Workspace & workspace) const noexcept CD_NONBLOCKING
{
  const std::vector<int> & driven = system().driven_speeds();
  if (driven.empty())
  {
    return;
  }
  for (std::size_t k = 0; k < driven.size(); ++k)
  {
    const Eigen::Index i = driven[k];
    workspace.driven_acceleration_(static_cast<Eigen::Index>(k)) =
      workspace.force_(i) / workspace.terms().mass_matrix(i, i);
  }
  workspace.rows_.bias = workspace.resting_bias_;
  workspace.rows_.bias.noalias() -=
    workspace.rows_.driven_jacobian * workspace.driven_acceleration_;
}

void Dynamics::stabilise(Workspace & workspace) const noexcept CD_NONBLOCKING
{
  workspace.stabilised_bias_ = workspace.rows_.bias;
  const Stabilisation & stabilisation = options_.stabilisation;
  if (stabilisation.kind != Stabilisation::Kind::kBaumgarte)
  {
    return;
  }
  const Rows & rows = workspace.rows_;
  // Rows that are switched off must not act through a gain matrix.
  const auto masked = [&](const Eigen::VectorXd & values) -> const Eigen::VectorXd &
  {
    for (Eigen::Index row = 0; row < values.size(); ++row)
    {
      const int constraint = constraint_of_row_[static_cast<std::size_t>(row)];
      workspace.gain_work_(row) = workspace.is_active(constraint) ? values(row) : 0.0;
    }
    return workspace.gain_work_;
  };
  Eigen::VectorXd & bias = workspace.stabilised_bias_;
  add_gain(stabilisation.velocity_gain, position_rows_, masked(rows.velocity), bias);
  add_gain(stabilisation.nonholonomic_gain, velocity_rows_, workspace.gain_work_, bias);
  add_gain(stabilisation.position_gain, position_rows_, masked(rows.position), bias);
}

void Dynamics::add_given(VectorRef force, const Workspace & workspace) const noexcept CD_NONBLOCKING
{
  for (int row = 0; row < constraints_.row_count(); ++row)
  {
    const double given = workspace.given_multipliers_(row);
    if (given != 0.0 && !workspace.is_active(constraint_of_row_[static_cast<std::size_t>(row)]))
    {
      force += given * workspace.rows_.jacobian.row(row).transpose();
    }
  }
}

void Dynamics::scatter(Workspace & workspace) const noexcept CD_NONBLOCKING
{
  const RowSolution & from = workspace.row_solution_;
  Solution & to = workspace.solution_;
  to.acceleration = from.acceleration;
  to.constraint_force = from.constraint_force;
  add_given(to.constraint_force, workspace);
  to.multipliers = workspace.given_multipliers_;
  to.redundancy.setZero();
  for (int k = 0; k < workspace.active_row_count_; ++k)
  {
    to.multipliers(workspace.active_rows_(k)) = from.multipliers(k);
    to.redundancy(workspace.active_rows_(k)) = from.redundancy(k);
  }
  to.active_row_count = workspace.active_row_count_;
  to.rank = from.rank;
  to.condition = from.condition;
  to.inconsistency = from.inconsistency;
  to.along_tree = false;
  for (int i = 0; i < constraints_.size(); ++i)
  {
    const Constraint & constraint = constraints_[i];
    if (!constraint.wrench_bodies().empty())
    {
      constraint.wrenches(
        *workspace.system_data_, workspace.scratch_,
        to.multipliers.segment(constraints_.row_offset(i), constraint.row_count()),
        to.wrenches.data() + constraints_.wrench_offset(i));
    }
  }
}

Status Dynamics::solve_rows(const ConstVectorRef & inputs, Workspace & workspace) const noexcept
  CD_NONBLOCKING
{
  if (inputs.size() != system().input_count())
  {
    return Status::kSizeMismatch;
  }
  if (!inputs.allFinite())
  {
    return Status::kNonFiniteInput;
  }
  const Status dynamics_status = system().update_dynamics(*workspace.system_data_);
  return dynamics_status == Status::kOk ? solve_again(inputs, workspace) : dynamics_status;
}

Status Dynamics::solve_again(const ConstVectorRef & inputs, Workspace & workspace) const noexcept
  CD_NONBLOCKING
{
  if (inputs.size() != system().input_count())
  {
    return Status::kSizeMismatch;
  }
  if (!inputs.allFinite() || !workspace.given_multipliers_.allFinite())
  {
    return Status::kNonFiniteInput;
  }
  workspace.force_ = workspace.terms().force;
  workspace.force_.noalias() += workspace.terms().input_matrix * inputs;
  add_given(workspace.force_, workspace);
  drive(workspace);
  stabilise(workspace);
  gather(workspace.stabilised_bias_, Workspace::kAllRows, workspace);
  const Status prepared =
    formulation_->prepare(*workspace.system_data_, *workspace.formulation_data_);
  if (prepared != Status::kOk)
  {
    return prepared;
  }
  const Status status = solve_gathered(
    Workspace::kAllRows, options_.rank, *workspace.formulation_data_, false, workspace);
  if (has_output(status))
  {
    scatter(workspace);
  }
  return status;
}

TreeProblem Dynamics::tree_problem(
  const ConstVectorRef & inputs, Workspace & workspace) const noexcept CD_NONBLOCKING
{
  return {*workspace.system_data_, inputs,
          workspace.rows_,         workspace.stabilised_bias_,
          workspace.active_,       workspace.row_scale_,
          multiplier_compliance_,  workspace.nominal_rank_[Workspace::kAllRows]};
}

bool Dynamics::solve_tree(const ConstVectorRef & inputs, Workspace & workspace, Status & status)
  const noexcept CD_NONBLOCKING
{
  const int nominal = workspace.nominal_rank_[Workspace::kAllRows];
  if (
    !tree_ || nominal == Workspace::kUnknownRank ||
    (workspace.given_multipliers_.array() != 0.0).any())
  {
    return false;
  }
  status = tree_->evaluate(
    *workspace.system_data_, workspace.scratch_, workspace.rows_, *workspace.tree_data_);
  if (status != Status::kOk)
  {
    return true;
  }
  stabilise(workspace);
  const TreeProblem problem = tree_problem(inputs, workspace);
  return tree_->solve(problem, workspace.scratch_, *workspace.tree_data_, workspace.solution_);
}

void Dynamics::measure_tree(Workspace & workspace) const
{
  if (!tree_)
  {
    return;
  }
  const Eigen::VectorXd inputs = Eigen::VectorXd::Zero(system().input_count());
  const TreeProblem problem = tree_problem(inputs, workspace);
  if (
    tree_->evaluate(
      *workspace.system_data_, workspace.scratch_, workspace.rows_, *workspace.tree_data_) ==
    Status::kOk)
  {
    tree_->measure(problem, *workspace.tree_data_);
  }
}

Status Dynamics::update_kinematics(
  double time, const ConstVectorRef & q, const ConstVectorRef & u,
  Workspace & workspace) const noexcept CD_NONBLOCKING
{
  return system().update_kinematics(time, q, u, *workspace.system_data_);
}

Status Dynamics::solve_updated(const ConstVectorRef & inputs, Workspace & workspace) const noexcept
  CD_NONBLOCKING
{
  if (inputs.size() != system().input_count())
  {
    return Status::kSizeMismatch;
  }
  if (!inputs.allFinite())
  {
    return Status::kNonFiniteInput;
  }
  Status status = Status::kOk;
  if (solve_tree(inputs, workspace, status))
  {
    return status;
  }
  status = evaluate_rows(Workspace::kAllRows, workspace);
  return status == Status::kOk ? solve_rows(inputs, workspace) : status;
}

Status Dynamics::solve(
  double time, const ConstVectorRef & q, const ConstVectorRef & u, const ConstVectorRef & inputs,
  Workspace & workspace) const noexcept CD_NONBLOCKING
{
  const Status status = update_kinematics(time, q, u, workspace);
  return status == Status::kOk ? solve_updated(inputs, workspace) : status;
}

double Dynamics::residual(
  const Eigen::VectorXd & values, Workspace::Subset subset,
  const Workspace & workspace) const noexcept CD_NONBLOCKING
{
  double largest = 0.0;
  for (int row = 0; row < constraints_.row_count(); ++row)
  {
    const int constraint = constraint_of_row_[static_cast<std::size_t>(row)];
    if (workspace.is_active(constraint) && in_subset(row, subset))
    {
      const double size = std::abs(workspace.row_scale_(row) * values(row));
      if (!std::isfinite(size))
      {
        return std::numeric_limits<double>::infinity();  // which a comparison would pass over
      }
      largest = std::max(largest, size);
    }
  }
  return largest;
}

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

}  // namespace

template <typename Evaluate, typename Advance>
Status Dynamics::project(
  Workspace::Subset subset, const Eigen::VectorXd & values, double singular_tolerance, VectorRef x,
  Workspace & workspace, const Evaluate & evaluate,
  const Advance & advance) const noexcept CD_NONBLOCKING
{
  const auto newton = [&](bool keep_independent) noexcept
  {
    return project(
      keep_independent, subset, values, singular_tolerance, x, workspace, evaluate, advance);
  };
  const bool keep_independent = options_.stabilisation.keep_independent;
  const Status status = newton(keep_independent);
  // Rows need not have a solution with the independent coordinates as they are: one Euler
  // parameter beyond 1, for instance.
  return keep_independent && status == Status::kNotConverged ? newton(false) : status;
}

template <typename Evaluate, typename Advance>
Status Dynamics::project(
  bool keep_independent, Workspace::Subset subset, const Eigen::VectorXd & values,
  double singular_tolerance, VectorRef x, Workspace & workspace, const Evaluate & evaluate,
  const Advance & advance) const noexcept CD_NONBLOCKING
{
  RankOptions rank = options_.rank;
  rank.singular_tolerance = std::max(rank.singular_tolerance, singular_tolerance);
  rank.redundancy_tolerance = std::max(rank.redundancy_tolerance, rank.singular_tolerance);
  const std::unique_ptr<FormulationData> & own = workspace.projection_data_[subset];
  FormulationData & data = own ? *own : *workspace.formulation_data_;
  auto trial = workspace.trial_.head(x.size());
  auto best = workspace.best_.head(x.size());
  trial = x;
  double best_residual = std::numeric_limits<double>::infinity();
  double fraction = 1.0;  // of Newton's correction
  const auto is_met = [&]() noexcept
  {
    return best_residual <= kProjectionTolerance + kProjectionRounding * best.cwiseAbs().maxCoeff();
  };
  for (int i = 0; i <= kProjectionIterations; ++i)
  {
    Status status = evaluate(trial);
    if (status != Status::kOk)
    {
      return status;
    }
    const double left = residual(values, subset, workspace);
    const bool is_enough = left < 0.5 * best_residual;
    const bool is_better = left < best_residual;
    const double before = best_residual;
    if (is_better)
    {
      best_residual = left;
      best = trial;
    }
    if (
      left <= kProjectionFloor || i == kProjectionIterations || !std::isfinite(best_residual) ||
      (!is_enough && is_met()))
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
    if (i == 0 && !keep_independent)
    {
      status = system().update_dynamics(*workspace.system_data_);
      if (status != Status::kOk)
      {
        return status;
      }
      workspace.force_.setZero();
    }
    // With h = 0 the formulation gives the solution of A δ = −φ with the least δᵀ Q δ, or the one
    // that leaves independent speeds alone, which needs neither.
    workspace.stabilised_bias_ = -values;
    gather(workspace.stabilised_bias_, subset, workspace);
    status = solve_gathered(subset, rank, data, keep_independent, workspace);
    if (!has_output(status))
    {
      return status;
    }
    workspace.row_solution_.acceleration *= fraction;
    advance(trial);
  }
  if (!is_met())
  {
    return Status::kNotConverged;
  }
  x = best;
  return Status::kOk;
}

Status Dynamics::project_position(
  double time, VectorRef q, Workspace & workspace,
  double singular_tolerance) const noexcept CD_NONBLOCKING
{
  if (q.size() != system().coordinate_count())
  {
    return Status::kSizeMismatch;
  }
  if (position_rows_.empty())
  {
    return Status::kOk;
  }
  return project(
    Workspace::kPositionRows, workspace.rows_.position, singular_tolerance, q, workspace,
    [&](const ConstVectorRef & trial) noexcept
    { return update_position_rows(time, trial, workspace); },
    [&](VectorRef trial) noexcept
    {
      trial.noalias() += workspace.terms().kinematic_matrix * workspace.row_solution_.acceleration;
      system().normalise(trial);
    });
}

Status Dynamics::project_velocity(
  double time, const ConstVectorRef & q, VectorRef u, Workspace & workspace,
  double singular_tolerance) const noexcept CD_NONBLOCKING
{
  if (u.size() != system().speed_count())
  {
    return Status::kSizeMismatch;
  }
  if (position_rows_.empty() && velocity_rows_.empty())
  {
    return Status::kOk;
  }
  return project(
    Workspace::kVelocityRows, workspace.rows_.velocity, singular_tolerance, u, workspace,
    [&](const ConstVectorRef & trial) noexcept { return update_rows(time, q, trial, workspace); },
    [&](VectorRef trial) noexcept { trial += workspace.row_solution_.acceleration; });
}

}  // namespace constrained_dynamics
