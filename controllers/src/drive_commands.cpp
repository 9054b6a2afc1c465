// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics_controllers/drive_commands.hpp"

#include <hardware_interface/types/hardware_interface_type_values.hpp>

namespace constrained_dynamics_controllers
{

using constrained_dynamics::ServoFallback;
using constrained_dynamics::ServoMode;

DriveCommands::DriveCommands(
  const constrained_dynamics::RobotProfile * profile, const constrained_dynamics::System & system,
  ServoFallback fallback, double period)
: interface_(profile ? profile->command_interface : hardware_interface::HW_IF_EFFORT),
  fallback_(fallback),
  period_(period),
  command_(Eigen::VectorXd::Zero(system.input_count())),
  offset_(command_),
  rest_(Eigen::VectorXd::Zero(system.speed_count()))
{
  if (profile)
  {
    profile->require_command_terms();
    conversion_ = std::make_unique<constrained_dynamics::DriveConversion>(*profile, system);
  }
}

void DriveCommands::take(constrained_dynamics::Status status) noexcept
{
  // Without output the last command stays as it is.
  if (has_output(status))
  {
    offset_ = conversion_->offset();
  }
}

void DriveCommands::convert(
  const constrained_dynamics::ServoRuntime & runtime,
  const constrained_dynamics::ServoCycleReport & report) noexcept
{
  if (!conversion_)
  {
    command_ = runtime.command();
    return;
  }
  const bool falls_back = report.mode == ServoMode::kFallback;
  if (falls_back && fallback_ == ServoFallback::kZero)
  {
    command_.setZero();
    offset_.setZero();
    conversion_->reset(command_);
    return;
  }
  const constrained_dynamics::Workspace & workspace = runtime.servo().dynamics();
  take(
    falls_back
      ? conversion_->rest_command(workspace.system_data(), runtime.command(), period_, command_)
      : conversion_->command(
          workspace.system_data(), runtime.command(), workspace.solution().acceleration, period_,
          command_));
}

void DriveCommands::convert_at_rest(
  const constrained_dynamics::SystemData & data, const Eigen::VectorXd & effort) noexcept
{
  if (!conversion_)
  {
    command_ = effort;
    return;
  }
  take(conversion_->rest_command(data, effort, 0.0, command_));
}

void DriveCommands::start_from(const Eigen::VectorXd & commands) noexcept
{
  if (conversion_)
  {
    conversion_->reset(commands);
  }
}

void DriveCommands::restore(Eigen::VectorXd & commands) const noexcept { commands -= offset_; }

bool DriveCommands::read(
  const constrained_dynamics::SystemData & data, Eigen::VectorXd & effort) noexcept
{
  return !conversion_ || has_output(conversion_->net_effort(data, effort, rest_, effort));
}

}  // namespace constrained_dynamics_controllers
