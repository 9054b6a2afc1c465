// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <memory>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/dynamics/dynamics.hpp"
#include "constrained_dynamics/dynamics/state_completion.hpp"
#include "constrained_dynamics/servo/servo_runtime.hpp"
#include "servo/sample_watch.hpp"

namespace constrained_dynamics
{

/// The state of a robot from what its sensors say: values that cannot be are refused, joints
/// without sensors are found from the constraints.
class MeasuredState
{
public:
  MeasuredState(
    const std::shared_ptr<const Dynamics> & dynamics, std::vector<bool> measured_coordinates,
    std::vector<bool> measured_speeds, const ServoRuntimeOptions & options);

  /// Completes a state and begins with it. Real-time safe: no; everything else is.
  /// @throw std::invalid_argument where the constraints do not determine it.
  State start(State state, Workspace & workspace);

  /// Takes over measured values. @return kNone, or why the state is that of the last cycle still.
  /// @param period since the last cycle [s].
  ServoMiss take(
    double time, double period, const ConstVectorRef & q, const ConstVectorRef & u,
    Workspace & workspace, Status & status) noexcept;
  /// Nothing is known of this cycle.
  void forget() noexcept;

  /// Interval between samples as far as known [s].
  double sample_interval() const { return watch_.interval(); }
  /// Last complete state.
  const Eigen::VectorXd & q() const { return q_; }
  const Eigen::VectorXd & u() const { return u_; }
  /// Of this cycle, as far as known: else the last position, and no speed.
  const Eigen::VectorXd & known_q() const { return known_q_; }
  const Eigen::VectorXd & known_u() const { return known_u_; }

private:
  /// Copies measured values that can be. False: one cannot.
  bool copy_usable(const ConstVectorRef & q, const ConstVectorRef & u) noexcept;
  /// Whether no value changed for too many samples, although joints move.
  bool is_frozen(double period, const ConstVectorRef & q, const ConstVectorRef & u) noexcept;

  std::shared_ptr<const Dynamics> dynamics_;
  std::vector<bool> measured_coordinates_;
  std::vector<bool> measured_speeds_;
  double frozen_speed_;
  SampleWatch watch_;
  StateCompletion completion_;
  Eigen::VectorXd q_, u_;
  Eigen::VectorXd next_q_, next_u_;
  Eigen::VectorXd known_q_, known_u_;
  Eigen::VectorXd seen_q_, seen_u_;  // as measured in the cycle before
  bool has_seen_ = false;
};

}  // namespace constrained_dynamics
