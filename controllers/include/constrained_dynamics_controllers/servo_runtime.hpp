// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <Eigen/Core>

#include <constrained_dynamics/dynamics/state_completion.hpp>
#include <constrained_dynamics/servo/servo_law.hpp>
#include <constrained_dynamics/simulation/servo_input_law.hpp>
#include <constrained_dynamics/status.hpp>
#include <constrained_dynamics_ros/inverse_dynamics.hpp>

#include "constrained_dynamics_controllers/task_reference.hpp"

/// @file
/// A servo law as a controller needs it, without ROS: what to command in cycles in which something
/// is missing.

namespace constrained_dynamics_controllers
{

/// What is commanded once the law has had no answer for RuntimeOptions::dropout_cycles cycles.
enum class Fallback
{
  kHold,     ///< the last command
  kGravity,  ///< what keeps the position, as far as known, at rest (InverseDynamics::find_at_rest)
  kDamp,     ///< the same, minus damping of the joints whose speeds are known
  kZero,     ///< nothing
  kError,    ///< as kGravity, and the cycle is reported as failed
};

/// What the runtime does.
enum class Mode
{
  kInactive,
  kRamp,      ///< follows, while the difference to the command before dies away
  kFollow,    ///< follows
  kHold,      ///< the last command, or references at rest because they are stale
  kFallback,  ///< Fallback
};

/// Why a cycle had no answer of the law.
enum class Cause
{
  kNone,
  kPeriod,      ///< time stood still, ran back or made a leap
  kState,       ///< a measured value is not finite or absurdly large
  kFrozen,      ///< no measured value changed although joints move
  kCompletion,  ///< the constraints do not tell the state of the joints without sensors
  kReference,   ///< a reference has no value
  kLaw,         ///< the law has no output
};

/// Stable names: "hold", "gravity", "damp", "zero", "error"; "inactive", "ramp", "follow", "hold",
/// "fallback"; "none", "period", "state", "frozen", "completion", "reference", "law".
const char * to_string(Fallback fallback) noexcept;
const char * to_string(Mode mode) noexcept;
const char * to_string(Cause cause) noexcept;

/// @throw std::invalid_argument naming the unknown name and those that exist.
Fallback fallback_from_string(const std::string & name);

struct RuntimeOptions
{
  double period = 0.001;   ///< nominal, of the cycle [s], above 0
  double ramp_time = 0.2;  ///< in which a difference of torques dies away [s], ≥ 0
  ReferenceTimes references;
  /// Cycles in a row without an answer of the law after which the fallback begins, ≥ 1. A period of
  /// more than this many nominal ones counts as such a cycle.
  int dropout_cycles = 5;
  /// Speed [rad/s, m/s] above which measured values must change; 0: they need not.
  double frozen_speed = 0.01;
  Fallback fallback = Fallback::kGravity;
  double fallback_damping = 0.0;  ///< of Fallback::kDamp [N m s/rad, N s/m], ≥ 0
};

/// How a cycle went.
struct CycleReport
{
  Mode mode = Mode::kInactive;
  constrained_dynamics::Status status = constrained_dynamics::Status::kOk;
  Cause cause = Cause::kNone;
  bool failed = false;  ///< Fallback::kError took place
};

/// How often things happened since the start.
struct CycleCounts
{
  std::uint64_t cycles = 0;
  std::uint64_t missed = 0;    ///< without an answer of the law
  std::uint64_t fallback = 0;  ///< of these, in Mode::kFallback
  std::uint64_t restarts = 0;  ///< references joined once more after a fallback
  std::uint64_t singular = 0;
  std::uint64_t limited = 0;
  std::uint64_t inconsistent = 0;
};

/// Drives a ServoLaw from measured states: completes them, follows references, keeps the commands
/// finite and within effort and rate limits whatever happens. Memory is taken once; one a thread.
///
/// The time of the law (of trajectories and of rows with explicit time) begins with the scenario's
/// and goes on in cycles that have an answer: in all others it waits.
class ServoRuntime
{
public:
  /// @param drive references of the scenario; its period and `outside` are not used.
  /// @param limits of the commands (empty: none), in addition to those of the law's options.
  /// @param measured_coordinates, measured_speeds as StateCompletion.
  /// @throw std::invalid_argument for options out of range, sizes that do not fit.
  ServoRuntime(
    const constrained_dynamics::ServoLaw & law, const constrained_dynamics::ServoDrive & drive,
    constrained_dynamics::InputLimits limits, std::vector<bool> measured_coordinates,
    std::vector<bool> measured_speeds, const RuntimeOptions & options);

  /// Prepares the law at a state; what is not measured is a guess. Real-time safe: no.
  /// @param effort (l) that acts now, which the commands begin with; null: the law's own.
  /// @throw std::invalid_argument where the state cannot be completed or the law cannot start.
  void start(const constrained_dynamics::State & state, const Eigen::VectorXd * effort = nullptr);

  // Everything below is real-time safe.

  /// One cycle. @param period since the last one [s].
  /// @param q, u measured values; others are ignored and may be anything.
  CycleReport step(
    double period, const constrained_dynamics::ConstVectorRef & q,
    const constrained_dynamics::ConstVectorRef & u) noexcept CD_NONBLOCKING;

  /// See TaskReference::give. False also before the first good cycle.
  bool give_reference(
    int task, const constrained_dynamics::ServoReference & reference,
    bool expires) noexcept CD_NONBLOCKING;
  void release_reference(int task) noexcept CD_NONBLOCKING;
  /// Wish for input i in the null space; one that is not finite changes nothing. Those that expire
  /// die away ReferenceTimes::timeout after the last one was given.
  void give_null_space(int input, double value, bool expires) noexcept CD_NONBLOCKING;

  /// Servo-constraints of the forces of a passive constraint count while that is active.
  void enable_forces_of(int constraint, bool active) noexcept CD_NONBLOCKING;

  /// What to command (l): always finite and within the limits.
  const Eigen::VectorXd & command() const { return command_; }
  const constrained_dynamics::ServoLaw & law() const { return *law_; }
  const std::shared_ptr<const constrained_dynamics::ServoLaw> & shared_law() const { return law_; }
  const constrained_dynamics::ServoWorkspace & servo() const { return workspace_; }
  constrained_dynamics::ServoWorkspace & servo() { return workspace_; }
  const TaskReference & reference(int task) const
  {
    return references_[static_cast<std::size_t>(task)];
  }
  const CycleCounts & counts() const { return counts_; }
  const constrained_dynamics::InputLimits & limits() const { return limits_; }
  /// Whether references were joined since the start; before that none can be given.
  bool is_started() const { return !first_join_; }
  /// Time of the law [s].
  double time() const { return time_; }
  /// Last complete state.
  const Eigen::VectorXd & q() const { return q_; }
  const Eigen::VectorXd & u() const { return u_; }
  /// Whether the solution in servo().dynamics() is that of the last cycle.
  bool is_solved() const { return missed_ == 0 && counts_.cycles > 0; }

  /// Measured coordinates and speeds beyond these are not believed.
  static constexpr double kLargestCoordinate = 1e6;
  static constexpr double kLargestSpeed = 1e5;

private:
  /// Takes over a measured state; kNone or why not.
  Cause take_state(
    double time, const constrained_dynamics::ConstVectorRef & q,
    const constrained_dynamics::ConstVectorRef & u, constrained_dynamics::Status & status) noexcept;
  bool is_frozen(
    const constrained_dynamics::ConstVectorRef & q,
    const constrained_dynamics::ConstVectorRef & u) noexcept;
  constrained_dynamics::Status join(double time) noexcept;
  CycleReport miss(Cause cause, constrained_dynamics::Status status) noexcept;
  void find_fallback() noexcept;
  /// What the commands are made of.
  enum class Target
  {
    kNone,
    kLaw,
    kFallback,
  };
  /// Commands a target; where it is another one than before, the difference dies away within the
  /// ramp time.
  void command(Target target, const Eigen::VectorXd & inputs, double period) noexcept;
  void age_null_space(double period) noexcept;

  RuntimeOptions options_;
  constrained_dynamics::InputLimits limits_;
  std::shared_ptr<const constrained_dynamics::ServoLaw> law_;
  std::vector<bool> measured_coordinates_;
  std::vector<bool> measured_speeds_;
  constrained_dynamics::ServoWorkspace workspace_;
  constrained_dynamics::StateCompletion completion_;
  constrained_dynamics_ros::InverseDynamics inverse_dynamics_;
  std::vector<TaskReference> references_;
  std::vector<int> force_constraint_;  // of each task: whose forces it is about, −1: of none
  double null_space_age_ = 0.0;
  bool null_space_expires_ = false;

  double time_ = 0.0;
  Eigen::VectorXd q_, u_;              // last complete state
  Eigen::VectorXd next_q_, next_u_;    // of this cycle
  Eigen::VectorXd known_q_, known_u_;  // of it, as far as known: else the last, and 0
  Eigen::VectorXd seen_q_, seen_u_;    // as measured in the cycle before
  bool has_seen_ = false;
  int unchanged_ = 0;

  Eigen::VectorXd command_;
  Eigen::VectorXd next_command_;
  Eigen::VectorXd fallback_;
  Eigen::VectorXd offset_;
  bool has_command_ = false;
  Target target_ = Target::kNone;
  double ramp_elapsed_ = 0.0;
  bool ramping_ = false;
  bool join_pending_ = true;
  bool first_join_ = true;
  int missed_ = 0;
  CycleCounts counts_;
};

}  // namespace constrained_dynamics_controllers
