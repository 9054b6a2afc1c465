// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <memory>
#include <string>

#include <Eigen/Core>

#include <constrained_dynamics/servo/robot_profile.hpp>
#include <constrained_dynamics/servo/servo_runtime.hpp>

namespace constrained_dynamics_controllers
{

/// Efforts of a model as commands to drives: the same numbers, or converted by a robot profile.
class DriveCommands
{
public:
  /// @param profile null: none. @param system must outlive this object. @param fallback of the
  /// runtime. @param period between two commands [s].
  /// @throw std::invalid_argument as DriveConversion, and if the profile does not state what drives
  /// add to a command.
  DriveCommands(
    const constrained_dynamics::RobotProfile * profile, const constrained_dynamics::System & system,
    constrained_dynamics::ServoFallback fallback, double period);

  /// Name of the command interfaces.
  const std::string & interface() const { return interface_; }

  // Real-time safe:

  /// Converts what a runtime commands after a cycle. In a fallback, speeds count as unknown: see
  /// DriveConversion::rest_command; and zero is a command of zero, not of what cancels gravity.
  void convert(
    const constrained_dynamics::ServoRuntime & runtime,
    const constrained_dynamics::ServoCycleReport & report) noexcept;
  /// Converts efforts (l) of a robot at rest, without a limit of their rate.
  void convert_at_rest(
    const constrained_dynamics::SystemData & data, const Eigen::VectorXd & effort) noexcept;
  /// What the drives receive (l), as last converted.
  const Eigen::VectorXd & command() const { return command_; }
  /// Rates are limited from these commands (l) on.
  void start_from(const Eigen::VectorXd & commands) noexcept;
  /// Turns what became of the last command (l) into efforts of the model.
  void restore(Eigen::VectorXd & commands) const noexcept;
  /// Turns measured efforts (l) at rest into efforts of the model; false where that is impossible.
  bool read(const constrained_dynamics::SystemData & data, Eigen::VectorXd & effort) noexcept;

private:
  void take(constrained_dynamics::Status status) noexcept;

  std::unique_ptr<constrained_dynamics::DriveConversion> conversion_;  // null: no profile
  std::string interface_;
  constrained_dynamics::ServoFallback fallback_;
  double period_;
  Eigen::VectorXd command_;
  Eigen::VectorXd offset_;  // of commands to efforts of the model
  Eigen::VectorXd rest_;    // accelerations of 0
};

}  // namespace constrained_dynamics_controllers
