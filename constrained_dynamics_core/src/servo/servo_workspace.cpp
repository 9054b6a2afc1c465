// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <algorithm>

#include "constrained_dynamics/servo/servo_law.hpp"
#include "servo/servo_memory.hpp"

namespace constrained_dynamics
{

namespace
{

int largest_level(const ServoLaw & law)
{
  int largest = 1;
  for (const std::vector<int> & level : law.levels())
  {
    int rows = 0;
    for (const int task : level)
    {
      rows += law.tasks()[static_cast<std::size_t>(task)].constraint->row_count();
    }
    largest = std::max(largest, rows);
  }
  return largest;
}

bool desires_forces(const ServoLaw & law)
{
  const std::vector<ServoTask> & tasks = law.tasks();
  return std::any_of(
    tasks.begin(), tasks.end(),
    [](const ServoTask & task) { return !task.constraint->force_rows().empty(); });
}

ServoResult make_result(const ServoLaw & law)
{
  const System & system = law.passive().system();
  const Eigen::Index l = system.input_count();
  const Eigen::Index m = law.row_count();
  ServoResult result;
  result.inputs.setZero(l);
  result.particular.setZero(l);
  result.null_part.setZero(l);
  result.error.setZero(m);
  result.error_rate.setZero(m);
  result.residual.setZero(m);
  result.relaxed.assign(law.tasks().size(), false);
  result.at_bound.assign(static_cast<std::size_t>(l), false);
  result.at_motion_limit.assign(static_cast<std::size_t>(system.coordinate_count()), false);
  return result;
}

}  // namespace

// ---- Memory ------------------------------------------------------------------------------------

ServoWorkspace::Memory::Memory(const ServoLaw & law)
: Memory(
    law, law.passive().system().input_count(), law.row_count(),
    law.passive().system().speed_count())
{
}

ServoWorkspace::Memory::Memory(
  const ServoLaw & law, int input_count, int row_count, int speed_count)
: enabled(law.tasks().size(), true),
  external_null_vector(Eigen::VectorXd::Zero(input_count)),
  last(Eigen::VectorXd::Zero(input_count)),
  nominal_rank(law.levels().size(), -1),
  prepared_enabled(enabled),
  prepared_active(static_cast<std::size_t>(law.passive().constraints().size()), true),
  row_size(Eigen::VectorXd::Zero(row_count)),
  passive(Workspace::unanalysed(law.passive())),
  y(Eigen::VectorXd::Zero(input_count)),
  result(make_result(law)),
  reduction(law.passive()),
  has_force_tasks(desires_forces(law)),
  Y_transpose(Eigen::MatrixXd::Zero(input_count, speed_count)),
  S_transpose(Eigen::MatrixXd::Zero(input_count, row_count)),
  z(Eigen::VectorXd::Zero(row_count)),
  tau(Eigen::VectorXd::Zero(input_count)),
  unlimited_tau(Eigen::VectorXd::Zero(input_count)),
  null_part(Eigen::VectorXd::Zero(input_count)),
  force(Eigen::VectorXd::Zero(speed_count)),
  solver(input_count, largest_level(law)),
  ordered_S_transpose(Eigen::MatrixXd::Zero(input_count, row_count)),
  ordered_z(Eigen::VectorXd::Zero(row_count)),
  ordered_size(Eigen::VectorXd::Ones(row_count)),
  level_ends(law.levels().size(), 0),
  level_ranks(law.levels().size(), 0),
  level_A(Eigen::MatrixXd::Zero(speed_count, row_count)),
  response(Eigen::MatrixXd::Zero(speed_count, row_count)),
  gram(Eigen::MatrixXd::Zero(row_count, row_count)),
  motion(Eigen::VectorXd::Zero(speed_count)),
  weights(Eigen::VectorXd::Zero(row_count)),
  residual(Eigen::VectorXd::Zero(row_count))
{
  int buffer = 0;
  for (const ServoTask & task : law.tasks())
  {
    references.push_back(task.constraint->make_reference());
    gains.push_back(task.error_dynamics);
    weights_of_tasks.push_back(task.weight);
    buffer = std::max(buffer, task.constraint->scratch_size());
  }
  scratch = ConstraintScratch(speed_count, buffer);
  rows.position.setZero(row_count);
  rows.velocity.setZero(row_count);
  rows.jacobian.setZero(row_count, speed_count);
  rows.bias.setZero(row_count);
  make_limits(law);
}

void ServoWorkspace::Memory::make_limits(const ServoLaw & law)
{
  const ServoOptions & options = law.options();
  motion_bounds =
    std::make_unique<MotionBounds>(law.passive().system(), options.motion_limits, options.period);
  const int count = motion_bounds->count();
  if (!options.has_limits() && count == 0)
  {
    return;
  }
  directions.setZero(tau.size(), tau.size());
  direction_ends.assign(level_ends.size() + 2, 0);
  limits = std::make_unique<LimitedControls>(
    law.passive().constraints(), options, static_cast<int>(direction_ends.size()), count);
  motion_rows.setZero(tau.size(), count);
  motion_offset.setZero(count);
  motion_lower.setZero(count);
  motion_upper.setZero(count);
  motion_acceleration.setZero(force.size());
  motion_size.setZero(count);
  if (count > 0)
  {
    brake_solver = std::make_unique<LevelSolver>(static_cast<int>(tau.size()), count);
  }
}

bool ServoWorkspace::Memory::is_prepared() const noexcept CD_NONBLOCKING
{
  for (std::size_t i = 0; i < prepared_active.size(); ++i)
  {
    if (passive.is_active(static_cast<int>(i)) != prepared_active[i])
    {
      return false;
    }
  }
  return enabled == prepared_enabled;
}

void ServoWorkspace::Memory::set_last_inputs(const ConstVectorRef & inputs) noexcept CD_NONBLOCKING
{
  if (inputs.size() == last.size() && inputs.allFinite())
  {
    last = inputs;
    has_last = true;
  }
}

// ---- ServoWorkspace ----------------------------------------------------------------------------

ServoWorkspace::ServoWorkspace(const ServoLaw & law) : memory_(std::make_unique<Memory>(law)) {}

ServoWorkspace::ServoWorkspace(const ServoLaw & law, const State & state) : ServoWorkspace(law)
{
  law.reset(state, *this);
}

ServoWorkspace::~ServoWorkspace() = default;
ServoWorkspace::ServoWorkspace(ServoWorkspace &&) noexcept = default;
ServoWorkspace & ServoWorkspace::operator=(ServoWorkspace &&) noexcept = default;

ServoReference & ServoWorkspace::reference(int task)
{
  return memory_->references[static_cast<std::size_t>(task)];
}

const ServoReference & ServoWorkspace::reference(int task) const
{
  return memory_->references[static_cast<std::size_t>(task)];
}

ErrorDynamics & ServoWorkspace::error_dynamics(int task)
{
  return memory_->gains[static_cast<std::size_t>(task)];
}

void ServoWorkspace::set_enabled(int task, bool enabled) noexcept CD_NONBLOCKING
{
  memory_->enabled[static_cast<std::size_t>(task)] = enabled;
}

bool ServoWorkspace::is_enabled(int task) const
{
  return memory_->enabled[static_cast<std::size_t>(task)];
}

bool ServoWorkspace::set_weight(int task, double weight) noexcept CD_NONBLOCKING
{
  if (!(weight >= ServoTask::kLeastWeight && weight <= ServoTask::kLargestWeight))
  {
    return false;
  }
  memory_->weights_of_tasks[static_cast<std::size_t>(task)] = weight;
  return true;
}

double ServoWorkspace::weight(int task) const
{
  return memory_->weights_of_tasks[static_cast<std::size_t>(task)];
}

Eigen::VectorXd & ServoWorkspace::external_null_vector() { return memory_->external_null_vector; }

const ServoResult & ServoWorkspace::result() const { return memory_->result; }

const Workspace & ServoWorkspace::dynamics() const { return memory_->passive; }

Workspace & ServoWorkspace::dynamics() { return memory_->passive; }

const Rows & ServoWorkspace::rows() const { return memory_->rows; }

const Eigen::VectorXd & ServoWorkspace::null_vector() const { return memory_->y; }

void ServoWorkspace::forget_inputs() noexcept CD_NONBLOCKING { memory_->has_last = false; }

void ServoWorkspace::set_last_inputs(const ConstVectorRef & inputs) noexcept CD_NONBLOCKING
{
  memory_->set_last_inputs(inputs);
}

}  // namespace constrained_dynamics
