// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/servo/servo_runtime.hpp"

#include <cmath>
#include <utility>

#include "servo/servo_runtime_cycle.hpp"

namespace constrained_dynamics
{

ServoRuntime::ServoRuntime(
  const ServoLaw & law, const TaskTrajectories & trajectories, const InputLimits & limits,
  std::vector<bool> measured_coordinates, std::vector<bool> measured_speeds,
  const ServoRuntimeOptions & options)
: cycle_(std::make_unique<Cycle>(
    law, trajectories, limits, std::move(measured_coordinates), std::move(measured_speeds),
    options))
{
}

ServoRuntime::~ServoRuntime() = default;
ServoRuntime::ServoRuntime(ServoRuntime &&) noexcept = default;
ServoRuntime & ServoRuntime::operator=(ServoRuntime &&) noexcept = default;

void ServoRuntime::start(const State & state, const Eigen::VectorXd * effort)
{
  cycle_->begin(state, effort);
  cycle_->prepare();
}

void ServoRuntime::begin(const State & state, const Eigen::VectorXd * effort)
{
  cycle_->begin(state, effort);
}

void ServoRuntime::prepare() { cycle_->prepare(); }

ServoCycleReport ServoRuntime::step(
  double period, const ConstVectorRef & q, const ConstVectorRef & u) noexcept CD_NONBLOCKING
{
  return cycle_->step(period, q, u);
}

bool ServoRuntime::give_reference(int task, const ServoReference & reference, bool expires) noexcept
  CD_NONBLOCKING
{
  return cycle_->give(task, reference, expires);
}

void ServoRuntime::release_reference(int task) noexcept CD_NONBLOCKING
{
  cycle_->references[static_cast<std::size_t>(task)].release();
}

void ServoRuntime::resume_trajectory(int task) noexcept CD_NONBLOCKING
{
  if (is_started())
  {
    // Where the trajectory has no value now, the task stays as it is.
    (void)cycle_->references[static_cast<std::size_t>(task)].resume(
      time(), servo().reference(task));
  }
}

void ServoRuntime::set_granted(const ConstVectorRef & granted) noexcept CD_NONBLOCKING
{
  cycle_->set_granted(granted);
}

bool ServoRuntime::find_rest_effort(Eigen::VectorXd & out) noexcept CD_NONBLOCKING
{
  return cycle_->find_rest_effort(out);
}

void ServoRuntime::give_null_space(int input, double value, bool expires) noexcept CD_NONBLOCKING
{
  if (std::isfinite(value))
  {
    servo().external_null_vector()(input) = value;
    cycle_->null_space_expires = expires;
    cycle_->null_space_age = 0.0;
  }
}

void ServoRuntime::enable_forces_of(int constraint, bool active) noexcept CD_NONBLOCKING
{
  const ConstraintSet & constraints = law().passive().constraints();
  for (std::size_t i = 0; i < law().tasks().size(); ++i)
  {
    const std::vector<int> & rows = law().tasks()[i].constraint->force_rows();
    if (!rows.empty() && constraints.constraint_of_row(rows.front()) == constraint)
    {
      servo().set_enabled(static_cast<int>(i), active);
    }
  }
}

void ServoRuntime::ramp() noexcept CD_NONBLOCKING { cycle_->commands.restart(); }

const Eigen::VectorXd & ServoRuntime::granted() const { return cycle_->granted; }
const Eigen::VectorXd & ServoRuntime::requested() const { return cycle_->requested; }
const RefusedReference & ServoRuntime::last_refusal() const { return cycle_->refusal; }
const ReferenceBounds & ServoRuntime::bounds(int task) const
{
  return cycle_->bounds[static_cast<std::size_t>(task)];
}
double ServoRuntime::sample_interval() const { return cycle_->state.sample_interval(); }
const Eigen::VectorXd & ServoRuntime::command() const { return cycle_->commands.value(); }
const ServoLaw & ServoRuntime::law() const { return *cycle_->law; }
const std::shared_ptr<const ServoLaw> & ServoRuntime::shared_law() const { return cycle_->law; }
const ServoWorkspace & ServoRuntime::servo() const { return cycle_->workspace; }
ServoWorkspace & ServoRuntime::servo() { return cycle_->workspace; }
const TaskReference & ServoRuntime::reference(int task) const
{
  return cycle_->references[static_cast<std::size_t>(task)];
}
const ServoCycleCounts & ServoRuntime::counts() const { return cycle_->counts; }
const InputLimits & ServoRuntime::limits() const { return cycle_->commands.limits(); }
bool ServoRuntime::is_started() const { return !cycle_->first_join; }
double ServoRuntime::time() const { return cycle_->time; }
const Eigen::VectorXd & ServoRuntime::q() const { return cycle_->state.q(); }
const Eigen::VectorXd & ServoRuntime::u() const { return cycle_->state.u(); }
bool ServoRuntime::is_solved() const { return cycle_->missed == 0 && cycle_->counts.cycles > 0; }

}  // namespace constrained_dynamics
