// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <memory>

#include "constrained_dynamics/export.hpp"
#include "constrained_dynamics/servo/reference_trajectory.hpp"
#include "constrained_dynamics/servo/servo_constraint.hpp"
#include "constrained_dynamics/status.hpp"

namespace constrained_dynamics
{

/// Times of the transitions between references.
struct ReferenceTimes
{
  double smooth_start = 1.0;  ///< [s]; shortest transition to another source of references
  double stop_time = 0.2;     ///< [s], above 0; time constant with which rates decay
  double timeout = 0.5;       ///< [s]; age at which given references are stale; 0: never
  /// Whether a task whose references are stale goes back to its trajectory; else it holds.
  bool resume = false;
  /// A given value that is farther than this from the one given before is joined as one of another
  /// source is, not followed at once: [m, rad, or the unit of the row], 0: never.
  double largest_step = 0.1;
  double largest_force_step = 20.0;  ///< the same of forces [N, N m]
};

/// What a task follows.
enum class TaskMode
{
  kTrajectory,  ///< that of the scenario
  kGiven,       ///< what is given from outside
  kHold,        ///< it rests: nothing is given, or not any more
};

/// Stable name: "trajectory", "given", "hold".
CONSTRAINED_DYNAMICS_EXPORT const char * to_string(TaskMode mode) noexcept;

/// Selects the reference of one servo-constraint: the trajectory of the scenario, a reference given
/// from outside, or a hold. Transitions between them have no jump. A reference that is no longer
/// given comes to rest: rates and the values of velocity rows decay, forces stay constant.
/// Allocates only in the constructor; use one per thread.
class CONSTRAINED_DYNAMICS_EXPORT TaskReference
{
public:
  /// @param trajectory of the scenario; null: none, it holds until a reference is given.
  /// @param smooth_start of the scenario [s]; the larger of this and ReferenceTimes applies.
  TaskReference(
    const ServoConstraint & servo, ReferencePointer trajectory, double smooth_start,
    const ReferenceTimes & times);

  // Everything below is real-time safe.

  /// Discards references from outside, and starts a transition from the measured values to the
  /// trajectory or to rest.
  [[nodiscard]] Status restart(double time, const ServoReference & measured) noexcept
    CD_NONBLOCKING;
  /// Continues from the measured values: starts a new transition to the current source; a hold
  /// holds the measured values.
  [[nodiscard]] Status rejoin(double time, const ServoReference & measured) noexcept CD_NONBLOCKING;
  /// Sets a reference from outside. Returns false and changes nothing if it has the wrong size, is
  /// not finite or has a quaternion of length 0.
  /// @param current the reference of the last cycle. @param expires whether it becomes stale after
  /// ReferenceTimes::timeout.
  bool give(
    double time, const ServoReference & reference, const ServoReference & current,
    bool expires) noexcept CD_NONBLOCKING;
  /// Ends the reference from outside: the task comes to rest.
  void release() noexcept CD_NONBLOCKING;
  /// Goes back to the trajectory of the scenario, which is joined from `current`, the reference of
  /// the last cycle; without one it comes to rest.
  [[nodiscard]] Status resume(double time, const ServoReference & current) noexcept CD_NONBLOCKING;
  /// The reference of a cycle; `out` is that of the last one, and untouched on failure.
  [[nodiscard]] Status follow(double time, double period, ServoReference & out) noexcept
    CD_NONBLOCKING;

  /// Whether a reference from outside is followed, or held after it ended.
  bool is_given() const { return source_ == Source::kGiven; }
  /// Whether it holds because the reference from outside ended or became stale.
  bool is_stale() const { return source_ == Source::kGiven && coasting_; }
  TaskMode mode() const;
  bool is_holding() const { return mode() == TaskMode::kHold; }

private:
  enum class Source
  {
    kTrajectory,
    kHold,  // nothing was ever given
    kGiven,
  };
  class Given;

  Status hold(double time, const ServoReference & measured) noexcept CD_NONBLOCKING;

  ReferenceTimes times_;
  std::unique_ptr<SmoothStart> own_;  // null: no trajectory
  std::shared_ptr<Given> given_;
  std::unique_ptr<SmoothStart> join_;
  Source source_ = Source::kHold;
  bool coasting_ = true;
  bool expires_ = true;
  double age_ = 0.0;
};

}  // namespace constrained_dynamics
