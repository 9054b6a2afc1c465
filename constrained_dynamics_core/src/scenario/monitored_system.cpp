// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/scenario/monitored_system.hpp"

#include <cmath>
#include <stdexcept>
#include <utility>

#include "constrained_dynamics/dynamics/violation.hpp"

namespace constrained_dynamics
{

MonitoredSystem::MonitoredSystem(Scenario scenario, const Options & options)
: scenario_(std::move(scenario)),
  options_(options),
  workspace_(Workspace::unanalysed(*scenario_.dynamics())),
  readings_(scenario_.system(), options.timeout),
  inverse_dynamics_(scenario_.dynamics()),
  state_(scenario_.initial())
{
  if (scenario_.profile() && options_.use_effort)
  {
    drives_ = std::make_unique<DriveConversion>(*scenario_.profile(), scenario_.system());
    scenario_.profile()->require_effort_contents();
  }
  scenario_.switch_constraints(workspace_);
  acceleration_.setZero(state_.u.size());
  inputs_.setZero(scenario_.system().input_count());
  solved_speeds_.setZero(state_.u.size());
}

std::string MonitoredSystem::update(JointReadings::Time now)
{
  if (!readings_.has_values())
  {
    return "no joint states with a joint of this robot came yet";
  }
  State next = state_;
  const std::string old = readings_.read(now, next.q, next.u);
  if (!old.empty())
  {
    return "no value of '" + old + "' for more than " + std::to_string(options_.timeout) + " s";
  }
  if (!has_state_)
  {
    start_time_ = readings_.newest();
  }
  next.time = 1e-9 * static_cast<double>(readings_.newest() - start_time_);
  prepare_completion();
  const std::string problem = complete(next);
  if (!problem.empty())
  {
    return problem;
  }
  filter_acceleration(next);
  Status status = find_inputs(now, next);
  if (has_output(status))
  {
    status = dynamics().solve(next.time, next.q, solved_speeds_, inputs_, workspace_);
  }
  status_ = status;
  if (!has_output(status))
  {
    return "no forces: status '" + std::string(to_string(status)) + "'";
  }
  state_ = next;
  has_state_ = true;
  return "";
}

void MonitoredSystem::prepare_completion()
{
  const std::vector<bool> speeds = readings_.measured_speeds();
  if (
    completion_ && measured_coordinates_ == readings_.measured_coordinates() &&
    measured_speeds_ == speeds)
  {
    return;
  }
  completion_ = std::make_unique<StateCompletion>(
    scenario_.dynamics(), readings_.measured_coordinates(), speeds);
  measured_coordinates_ = readings_.measured_coordinates();
  measured_speeds_ = speeds;
  has_state_ = false;
}

std::string MonitoredSystem::complete(State & state)
{
  if (has_state_ && has_output(completion_->complete(state.time, state.q, state.u, workspace_)))
  {
    return "";
  }
  // The first state, or one far from the last: search from the start.
  try
  {
    if (completion_->is_needed())
    {
      completion_->start(state, workspace_);
    }
    workspace_.reset(state);
  }
  catch (const std::invalid_argument & error)
  {
    return error.what();
  }
  return "";
}

void MonitoredSystem::filter_acceleration(const State & state)
{
  const double step = state.time - state_.time;
  if (!has_state_)
  {
    acceleration_.setZero();
    return;
  }
  if (!(step > 0.0))
  {
    return;
  }
  const double weight = step / (step + options_.acceleration_filter);
  acceleration_ += weight * ((state.u - state_.u) / step - acceleration_);
}

Status MonitoredSystem::find_inputs(JointReadings::Time now, const State & state)
{
  solved_speeds_ = state.u;
  has_measured_effort_ =
    options_.use_effort && readings_.read_effort(now, inputs_) && inputs_.size() > 0;
  if (has_measured_effort_ && drives_)
  {
    const Status status = dynamics().set_state(state.time, state.q, state.u, workspace_);
    return status == Status::kOk
             ? drives_->net_effort(workspace_.system_data(), inputs_, acceleration_, inputs_)
             : status;
  }
  if (has_measured_effort_)
  {
    return Status::kOk;
  }
  switch (options_.without_effort)
  {
    case InputSource::kStatic:
      solved_speeds_.setZero();
      return inverse_dynamics_.find_at_rest(state.time, state.q, workspace_, inputs_);
    case InputSource::kInverseDynamics:
      return inverse_dynamics_.find(
        state.time, state.q, state.u, acceleration_, workspace_, inputs_);
    case InputSource::kZero:
      inputs_.setZero();
      return Status::kOk;
  }
  return Status::kOk;
}

Eigen::VectorXd MonitoredSystem::rates() const
{
  // q̇ = C u + D (E1); the forces may have been solved for other speeds.
  const Terms terms = workspace_.terms();
  return terms.kinematic_matrix * state_.u + terms.kinematic_drift;
}

std::string MonitoredSystem::set_active(const std::string & name, bool active)
{
  int index = 0;
  try
  {
    index = dynamics().constraints().index(name);
  }
  catch (const std::invalid_argument & error)
  {
    return error.what();
  }
  if (workspace_.is_active(index) == active)
  {
    return "";
  }
  workspace_.set_active(index, active);
  if (!has_state_)
  {
    return "";
  }
  // Without it the passive joints must still be determined; with it they must be able to satisfy
  // it.
  State state = state_;
  try
  {
    if (completion_->is_needed())
    {
      completion_->start(state, workspace_);
    }
    workspace_.reset(state);
  }
  catch (const std::invalid_argument & error)
  {
    workspace_.set_active(index, !active);
    workspace_.reset(state_);
    return "constraint '" + name + "' cannot be switched " + (active ? "on" : "off") + ": " +
           error.what();
  }
  state_ = state;
  return "";
}

std::vector<std::string> MonitoredSystem::completed_names() const
{
  std::vector<std::string> names;
  for (std::size_t i = 0; i < measured_coordinates_.size(); ++i)
  {
    if (!measured_coordinates_[i])
    {
      names.push_back(scenario_.system().coordinate_names()[i]);
    }
  }
  return names;
}

std::string MonitoredSystem::worst_violation(
  double position_tolerance, double velocity_tolerance) const
{
  const ConstraintViolation worst = constrained_dynamics::worst_violation(
    dynamics().constraints(), workspace_, position_tolerance, velocity_tolerance);
  return worst.is_beyond() ? describe(worst, dynamics().constraints()) : "";
}

}  // namespace constrained_dynamics
