// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/dynamics/violation.hpp"
#include "constrained_dynamics/export.hpp"
#include "constrained_dynamics/servo/reference_bounds.hpp"
#include "constrained_dynamics/servo/servo_law.hpp"
#include "constrained_dynamics/servo/task_reference.hpp"
#include "constrained_dynamics/status.hpp"
#include "constrained_dynamics/types.hpp"

/// @file
/// Runs a servo law as a robot controller does: measured states in, bounded commands out, even in
/// cycles with missing or invalid measurements.

namespace constrained_dynamics
{

/// What is commanded after the law has had no output for ServoRuntimeOptions::dropout_cycles
/// cycles.
enum class ServoFallback
{
  kHold,     ///< the last command
  kGravity,  ///< efforts that hold the last known position at rest (InverseDynamics::find_at_rest)
  kDamp,     ///< the same, with damping of the joints whose speeds are known
  kZero,     ///< zero efforts
  kError,    ///< as kGravity, and the cycle is reported as failed
};

/// Mode of the runtime.
enum class ServoMode
{
  kInactive,
  kRamp,      ///< follows, while the difference from the previous command decays
  kFollow,    ///< follows
  kHold,      ///< holds the last command, or all tasks hold (TaskMode::kHold)
  kFallback,  ///< ServoFallback
  /// Follows, but the measured state violates the passive constraints beyond the tolerances of the
  /// options: the model is not where the robot is, and forces are not to be believed.
  kViolated,
};

/// Why the law had no output in a cycle.
enum class ServoMiss
{
  kNone,
  kPeriod,      ///< time stood still, went backwards or jumped ahead
  kState,       ///< a measured value is not finite or unreasonably large
  kFrozen,      ///< no measured value changed for several samples although joints move
  kCompletion,  ///< the constraints do not determine the joints without sensors
  kReference,   ///< a reference has no value
  kLaw,         ///< the law has no output
  kRecovery,    ///< all is well again, but not yet for ServoRuntimeOptions::recovery_time
  kLatched,     ///< it fell back too often, and stays there until the next start
};

/// Stable names: "hold", "gravity", "damp", "zero", "error"; "inactive", "ramp", "follow", "hold",
/// "fallback", "violated"; "none", "period", "state", "frozen", "completion", "reference", "law",
/// "recovery", "latched".
CONSTRAINED_DYNAMICS_EXPORT const char * to_string(ServoFallback fallback) noexcept;
CONSTRAINED_DYNAMICS_EXPORT const char * to_string(ServoMode mode) noexcept;
CONSTRAINED_DYNAMICS_EXPORT const char * to_string(ServoMiss miss) noexcept;

/// @throw std::invalid_argument naming the unknown name and those that exist.
CONSTRAINED_DYNAMICS_EXPORT ServoFallback servo_fallback(const std::string & name);

struct ServoRuntimeOptions
{
  double period = 0.001;   ///< nominal period of the cycle [s], above 0
  double ramp_time = 0.2;  ///< time in which a difference of efforts decays [s], ≥ 0
  ReferenceTimes references;
  /// Number of consecutive cycles without output of the law after which the fallback begins, ≥ 1. A
  /// period longer than this many nominal periods counts as such a cycle.
  int dropout_cycles = 5;
  /// Speed [rad/s, m/s] above which measured values must change from sample to sample; 0: no check.
  /// Values that are the same for dropout_cycles samples count as frozen.
  double frozen_speed = 0.01;
  /// Time between two samples of the hardware [s], ≥ 0, where that is longer than the period; 0:
  /// unknown, it is measured.
  double sample_period = 0.0;
  ServoFallback fallback = ServoFallback::kGravity;
  double fallback_damping = 0.0;  ///< of ServoFallback::kDamp [N m s/rad, N s/m], ≥ 0
  /// The fallback ends once cycles have been good for this time in a row [s], ≥ 0. Each further
  /// fallback within 10 s of the last return doubles it.
  double recovery_time = 0.1;
  /// Returns from the fallback, ≥ 0, with less than 10 s between them; the next fallback stays
  /// until the next start. So modes cannot alternate for long.
  int most_recoveries = 4;
  /// Residuals of the passive constraints up to which the model fits the robot: of positions [m,
  /// rad], of rates [m/s, rad/s]; 0: not checked.
  double position_tolerance = 0.02;
  double velocity_tolerance = 0.2;
  /// Whether `start` refuses a state that violates them.
  bool refuse_violation = false;
  /// Whether references beyond ReferenceBounds, and forces that the effort limits cannot make, are
  /// refused.
  bool check_references = true;
};

/// How a cycle went.
struct ServoCycleReport
{
  ServoMode mode = ServoMode::kInactive;
  Status status = Status::kOk;
  ServoMiss miss = ServoMiss::kNone;
  bool failed = false;  ///< true in a fallback of kind ServoFallback::kError
  /// The last command was not granted: see ServoRuntime::set_granted.
  bool cut = false;
  /// The command is not what the law asked for, because of limits of effort or rate.
  bool clipped = false;
  /// Of the passive constraints, in cycles with output of the law.
  ConstraintViolation violation;
};

/// Counters since the start.
struct ServoCycleCounts
{
  std::uint64_t cycles = 0;
  std::uint64_t missed = 0;    ///< cycles without output of the law
  std::uint64_t fallback = 0;  ///< of these, in ServoMode::kFallback
  std::uint64_t restarts = 0;  ///< how often references were joined again after a fallback
  std::uint64_t singular = 0;
  std::uint64_t limited = 0;
  std::uint64_t inconsistent = 0;
  std::uint64_t cut = 0;       ///< commands that were not granted
  std::uint64_t violated = 0;  ///< in ServoMode::kViolated
  std::uint64_t refused = 0;   ///< references
};

/// A reference that was not taken.
struct RefusedReference
{
  int task = -1;  ///< −1: none was refused
  RefusedValue what;
};

/// Drives a ServoLaw from measured states: completes them, follows references, and keeps the
/// commands finite and within effort and rate limits in every case. Allocates only in the
/// constructor and in `start`; use one per thread.
///
/// The time of the law (of trajectories and of rows with explicit time) begins with the time of
/// `start`. It advances in cycles with output and stops in all others.
class CONSTRAINED_DYNAMICS_EXPORT ServoRuntime
{
public:
  /// @param trajectories references of the tasks until others are given.
  /// @param limits of the commands (empty: none), in addition to those of the law's options.
  /// @param measured_coordinates, measured_speeds as for StateCompletion.
  /// @throw std::invalid_argument for options out of range or wrong sizes.
  ServoRuntime(
    const ServoLaw & law, const TaskTrajectories & trajectories, const InputLimits & limits,
    std::vector<bool> measured_coordinates, std::vector<bool> measured_speeds,
    const ServoRuntimeOptions & options);
  ~ServoRuntime();
  ServoRuntime(ServoRuntime &&) noexcept;
  ServoRuntime & operator=(ServoRuntime &&) noexcept;

  /// Initialises the law at a state whose unmeasured values are an initial guess. Before this call,
  /// cycles report ServoMode::kInactive and command nothing. Real-time safe: no.
  /// @param effort (l) that acts now and from which the commands start; null: the law's own.
  /// @throw std::invalid_argument if the state cannot be completed or violates the constraints
  /// (ServoRuntimeOptions::refuse_violation), or the law cannot start.
  void start(const State & state, const Eigen::VectorXd * effort = nullptr);
  /// `start` in two parts. The first one takes over the state and is quick unless joints without
  /// sensors are to be found; it throws what has to do with the state.
  void begin(const State & state, const Eigen::VectorXd * effort = nullptr);
  /// The second one analyses ranks, which takes milliseconds: another thread may do that, while no
  /// other function is called but `law` and `bounds`. Cycles are possible after it.
  void prepare();

  // Everything below is real-time safe.

  /// One cycle. @param period since the last one [s].
  /// @param q, u (nq, n) measured values; the others are ignored.
  ServoCycleReport step(double period, const ConstVectorRef & q, const ConstVectorRef & u) noexcept
    CD_NONBLOCKING;

  /// Tells what became of the command of the last cycle (l), as a limiter behind it left it; values
  /// that are not finite are unknown. The next cycle is reported as `cut` where it is less.
  void set_granted(const ConstVectorRef & granted) noexcept CD_NONBLOCKING;
  /// What was granted of the last command, or that command (l).
  const Eigen::VectorXd & granted() const;
  /// The command that `granted` belongs to (l).
  const Eigen::VectorXd & requested() const;

  /// See TaskReference::give. Also returns false before the first cycle with output, and for values
  /// out of bounds (see last_refusal).
  bool give_reference(int task, const ServoReference & reference, bool expires) noexcept
    CD_NONBLOCKING;
  void release_reference(int task) noexcept CD_NONBLOCKING;
  /// See TaskReference::resume.
  void resume_trajectory(int task) noexcept CD_NONBLOCKING;
  /// The last reference that was out of bounds since the start.
  const RefusedReference & last_refusal() const;
  const ReferenceBounds & bounds(int task) const;
  /// Sets the desired effort of input i in the null space; a value that is not finite is ignored.
  /// Efforts that expire decay ReferenceTimes::timeout after the last one was given.
  void give_null_space(int input, double value, bool expires) noexcept CD_NONBLOCKING;

  /// Enables the force tasks of a passive constraint while that constraint is active.
  void enable_forces_of(int constraint, bool active) noexcept CD_NONBLOCKING;

  /// Begins a ramp: commands continue from the last one, and its difference to what the law asks
  /// for dies away within ServoRuntimeOptions::ramp_time. Call it where tasks or constraints of the
  /// law are switched, for commands without a jump. Real-time safe: yes.
  void ramp() noexcept CD_NONBLOCKING;

  /// The command (l): always finite and within the limits.
  const Eigen::VectorXd & command() const;
  const ServoLaw & law() const;
  const std::shared_ptr<const ServoLaw> & shared_law() const;
  const ServoWorkspace & servo() const;
  ServoWorkspace & servo();
  const TaskReference & reference(int task) const;
  const ServoCycleCounts & counts() const;
  const InputLimits & limits() const;
  /// Whether references were joined since the start. Before that, none can be given.
  bool is_started() const;
  /// Time of the law [s].
  double time() const;
  /// Last complete state: q (nq), u (n).
  const Eigen::VectorXd & q() const;
  const Eigen::VectorXd & u() const;
  /// Time between two samples of the hardware as given or measured [s], at least the period.
  double sample_interval() const;
  /// The efforts that keep a position at rest, within the limits (l); false where there are none.
  /// What is commanded when the law does not run. Before `begin` there are none.
  bool find_rest_effort(Eigen::VectorXd & out) noexcept CD_NONBLOCKING;
  /// Whether the solution in servo().dynamics() is that of the last cycle.
  bool is_solved() const;

  /// Measured coordinates and speeds beyond these values are rejected.
  static constexpr double kLargestCoordinate = 1e6;
  static constexpr double kLargestSpeed = 1e5;

private:
  class Cycle;

  std::unique_ptr<Cycle> cycle_;
};

}  // namespace constrained_dynamics
