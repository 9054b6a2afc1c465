// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <Eigen/Core>

#include "constrained_dynamics/servo/servo_law.hpp"

namespace constrained_dynamics
{

/// What the commands are made of.
enum class CommandSource
{
  kNone,
  kLaw,
  kFallback,
};

/// Commands within limits of effort and rate. Where their source changes, the difference dies away
/// within the ramp time. Real-time safe: yes, but for the constructor.
class CommandRamp
{
public:
  /// @param limits one per input, ±∞: none. @param period of a cycle [s].
  /// @param ramp_time [s], ≥ 0.
  CommandRamp(InputLimits limits, double period, double ramp_time);

  /// Restarts. @param effort that acts now; null: unknown, the first command has no ramp.
  void start(const Eigen::VectorXd * effort) noexcept;
  /// The command so far, 0 if there was none, counts as one: the next source is ramped to.
  void keep() noexcept { has_command_ = true; }
  /// The next command counts as one of another source.
  void restart() noexcept { source_ = CommandSource::kNone; }
  /// @param period since the last command [s].
  void command(CommandSource source, const Eigen::VectorXd & inputs, double period) noexcept;

  const Eigen::VectorXd & value() const { return command_; }
  const InputLimits & limits() const { return limits_; }
  CommandSource source() const { return source_; }
  bool is_ramping() const { return ramping_; }

private:
  InputLimits limits_;
  double period_;
  double ramp_time_;
  Eigen::VectorXd command_;
  Eigen::VectorXd next_;
  Eigen::VectorXd offset_;
  CommandSource source_ = CommandSource::kNone;
  double elapsed_ = 0.0;
  bool ramping_ = false;
  bool has_command_ = false;
};

}  // namespace constrained_dynamics
