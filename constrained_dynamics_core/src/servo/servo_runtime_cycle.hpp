// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <memory>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/servo/inverse_dynamics.hpp"
#include "constrained_dynamics/servo/servo_runtime.hpp"
#include "servo/command_ramp.hpp"
#include "servo/fallback_latch.hpp"
#include "servo/measured_state.hpp"

namespace constrained_dynamics
{

/// What a runtime holds, and its cycle.
class ServoRuntime::Cycle
{
public:
  Cycle(
    const ServoLaw & given, const TaskTrajectories & trajectories, const InputLimits & limits,
    std::vector<bool> measured_coordinates, std::vector<bool> measured_speeds,
    const ServoRuntimeOptions & runtime_options);

  void begin(const State & state, const Eigen::VectorXd * effort);
  void prepare();
  ServoCycleReport step(double period, const ConstVectorRef & q, const ConstVectorRef & u) noexcept;
  void set_granted(const ConstVectorRef & values) noexcept;
  bool give(int task, const ServoReference & reference, bool expires) noexcept;
  bool find_rest_effort(Eigen::VectorXd & out) noexcept;

  ServoRuntimeOptions options;
  CommandRamp commands;
  std::shared_ptr<const ServoLaw> law;
  ServoWorkspace workspace;
  MeasuredState state;
  std::vector<TaskReference> references;
  std::vector<ReferenceBounds> bounds;
  ServoCycleCounts counts;
  RefusedReference refusal;
  Eigen::VectorXd requested;  // the command before this cycle's
  Eigen::VectorXd granted;
  double time = 0.0;
  double null_space_age = 0.0;
  bool null_space_expires = false;
  bool has_begun = false;  // `begin` was called
  bool is_ready = false;   // `prepare` was called
  bool first_join = true;
  int missed = 0;  // cycles in a row

private:
  /// @throw std::invalid_argument for a state that violates the constraints.
  void refuse_violation() const;
  /// References begin from where the system is.
  Status join(double now) noexcept;
  /// What the tasks follow in this cycle. @param holds whether all of them hold.
  Status follow(double now, double period, bool & holds) noexcept;
  void age_null_space(double period) noexcept;
  /// The law has an answer.
  ServoCycleReport answer(Status status, double period, bool holds) noexcept;
  ServoCycleReport miss(ServoMiss cause, Status status) noexcept;
  ServoCycleReport fall_back(ServoMiss cause, Status status) noexcept;
  /// Whether efforts within the limits can make the forces of a reference, where the system is.
  RefusedValue check_force(int task, const ServoReference & reference) const noexcept;
  void find_fallback() noexcept;
  void command(CommandSource source, const Eigen::VectorXd & inputs, double period) noexcept
  {
    commands.command(source, inputs, period);
    workspace.set_last_inputs(commands.value());
  }

  State begun_;              // the state of `begin`, complete
  bool has_effort_ = false;  // that acts, at the beginning
  InverseDynamics inverse_dynamics_;
  FallbackLatch latch_;
  Eigen::VectorXd fallback_;
  bool join_pending_ = true;
  bool was_cut_ = false;
};

}  // namespace constrained_dynamics
