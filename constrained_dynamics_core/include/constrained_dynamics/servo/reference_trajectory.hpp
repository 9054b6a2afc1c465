// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <memory>
#include <string>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/constraints/formula_binding.hpp"
#include "constrained_dynamics/export.hpp"
#include "constrained_dynamics/formula/dual.hpp"
#include "constrained_dynamics/servo/servo_constraint.hpp"
#include "constrained_dynamics/status.hpp"

/// @file
/// What a servo-constraint follows as a function of time.
///
///     const auto path = make_minimum_jerk(servo, from, to, 0.0, 2.0);
///     SmoothStart reference(path, 0.5);                 // one per thread
///     reference.start(t0, measured);                     // from where the robot is
///     reference.evaluate(t, workspace.reference(0));     // each cycle
///
/// Values. Of rows: one number each, in their order; the desired φ of position rows, ψ of velocity
/// rows, λ of force rows. Of a pose: x y z, roll pitch yaw as in Pose or a quaternion x y z w, in
/// this order; the counts tell: 7 or 6 for any rows, 3 (x y z) for rows of position alone, 4
/// (quaternion) or 3 (roll pitch yaw) for rows of orientation alone. What is left out is zero.
///
/// Position, velocity and acceleration belong together at every time, and are continuous (but for
/// formulas that are not). What has a begin and an end rests before and after.

namespace constrained_dynamics
{

/// How the numbers of a reference are to be read.
class CONSTRAINED_DYNAMICS_EXPORT ReferenceLayout
{
public:
  /// Most values of a reference.
  static constexpr int kMaximumValues = 512;

  /// @throw std::invalid_argument for more than kMaximumValues values.
  explicit ReferenceLayout(const ServoConstraint & servo);

  /// Values of a complete reference: one a row, 7 of a pose (with quaternion).
  int value_count() const { return static_cast<int>(kinds_.size()); }
  bool is_pose() const { return is_pose_; }
  /// Of a pose, whether there are rows of position, of orientation.
  bool has_position_rows() const { return has_position_rows_; }
  bool has_orientation_rows() const { return has_orientation_rows_; }
  /// Name of the servo-constraint, for messages.
  const std::string & name() const { return name_; }

  /// Whether the sizes are those of the servo-constraint. Real-time safe: yes, as all below.
  bool fits(const ServoReference & reference) const noexcept CD_NONBLOCKING;
  /// The complete values, with their rates, of a reference that fits. False where they are not
  /// finite or a quaternion has no length.
  [[nodiscard]] bool read(const ServoReference & reference, Jet2 * values) const noexcept
    CD_NONBLOCKING;
  /// Writes complete values; those of a pose have a unit quaternion. False, with nothing written,
  /// where they are not finite.
  [[nodiscard]] bool write(const Jet2 * values, ServoReference & out) const noexcept CD_NONBLOCKING;
  /// Keeps the values of a reference that fits and drops their rates: a measured reference becomes
  /// one that holds. False, with nothing written, as `read`.
  [[nodiscard]] bool rest(ServoReference & reference) const noexcept CD_NONBLOCKING;

private:
  enum class Kind
  {
    kPosition,
    kVelocity,
    kForce,
    kPose,
  };
  std::vector<Kind> kinds_;
  std::string name_;
  int position_size_;
  int velocity_size_;
  bool is_pose_;
  bool has_position_rows_ = false;
  bool has_orientation_rows_ = false;
};

/// A reference as a function of time. Constant; may be shared by threads. A kind of one's own
/// derives from it.
class CONSTRAINED_DYNAMICS_EXPORT ReferenceTrajectory
{
public:
  virtual ~ReferenceTrajectory();
  ReferenceTrajectory(const ReferenceTrajectory &) = delete;
  ReferenceTrajectory & operator=(const ReferenceTrajectory &) = delete;

  const ReferenceLayout & layout() const { return layout_; }

  /// The reference at a time [s]; `out` is untouched on failure.
  /// Statuses: kOk, kSizeMismatch, kNonFiniteInput (the time), kNonFiniteResult. Real-time safe:
  /// yes.
  [[nodiscard]] Status evaluate(double time, ServoReference & out) const noexcept CD_NONBLOCKING;

  /// The same as complete values with their rates (layout().value_count()), the quaternion of a
  /// pose of unit length. False where they are not finite. Real-time safe: yes.
  [[nodiscard]] bool evaluate_values(double time, Jet2 * values) const noexcept CD_NONBLOCKING;

protected:
  explicit ReferenceTrajectory(ReferenceLayout layout);

  /// Fills all values at a finite time; a quaternion may have any length but 0. Need not check
  /// that the values are finite. False where there are none.
  virtual bool do_evaluate(double time, Jet2 * values) const noexcept CD_NONBLOCKING = 0;

private:
  ReferenceLayout layout_;
};

using ReferencePointer = std::shared_ptr<const ReferenceTrajectory>;

/// What the tasks of a servo law follow. Empty vectors: nothing of that kind.
struct TaskTrajectories
{
  /// Of each task; null: it holds what it finds at the start, or has the value that its rows say
  /// (ServoConstraint::start_reference).
  std::vector<ReferencePointer> references;
  /// Time in which each reference is joined from where the system is at the start [s], ≥ 0; 0: at
  /// once.
  std::vector<double> smooth_start;
};

// All below throw std::invalid_argument naming the servo-constraint, the value and what is allowed
// for counts that do not fit and numbers that are not finite or out of range.

/// Stays at values.
CONSTRAINED_DYNAMICS_EXPORT ReferencePointer
make_constant_reference(const ServoConstraint & servo, const Eigen::VectorXd & values);

/// Formulas over `t`, parameters and definitions, one a value. Derivatives are exact.
CONSTRAINED_DYNAMICS_EXPORT ReferencePointer make_formula_reference(
  const ServoConstraint & servo, const std::vector<std::string> & formulas,
  const FormulaNames & names = {});

/// From rest at `from` to rest at `to` with the smallest integral of jerk²:
///     x = from + (to − from) (10 s³ − 15 s⁴ + 6 s⁵),   s = (t − begin)/duration;
/// orientations by the shortest rotation, about one axis.
/// @param duration [s], above 0.
CONSTRAINED_DYNAMICS_EXPORT ReferencePointer make_minimum_jerk(
  const ServoConstraint & servo, const Eigen::VectorXd & from, const Eigen::VectorXd & to,
  double begin, double duration);

/// centre_i + amplitude_i sin(rate_i t + phase_i), value by value; of poses not for quaternions.
struct Oscillation
{
  Eigen::VectorXd centre;
  Eigen::VectorXd amplitude;
  Eigen::VectorXd rate;   ///< [rad/s]
  Eigen::VectorXd phase;  ///< [rad]
};
CONSTRAINED_DYNAMICS_EXPORT ReferencePointer
make_lissajous(const ServoConstraint & servo, const Oscillation & oscillation);

/// How a path is run through: from rest to `speed`, and to rest at its end, with continuous
/// acceleration of at most `acceleration` along the path. Short paths are run more slowly.
struct PathTiming
{
  double speed = 0.0;         ///< above 0
  double acceleration = 0.0;  ///< above 0
  double begin = 0.0;         ///< [s]
};

/// Straight through way-points; corners are rounded from `blend` before to `blend` behind them (at
/// most to the middle between way-points), so that the path is twice continuously differentiable.
/// There the direction changes from one to the other as 3x² − 2x³ does, and the speed is below the
/// given one: acceleration is at most 1.5 speed²/blend. Lengths are those of the values, of poses
/// of x y z; the orientation turns from one way-point to the next at rest in between (shortest
/// rotation).
/// @param points at least two, none equal to the next. @param blend above 0.
CONSTRAINED_DYNAMICS_EXPORT ReferencePointer make_polyline(
  const ServoConstraint & servo, const std::vector<Eigen::VectorXd> & points, double blend,
  const PathTiming & timing);

/// Along a curve given by formulas over the parameter `s`, from s = `from` to s = `to`, at a given
/// speed (arc length of the values, of poses of x y z). The points are exactly on the curve; the
/// speed is exact to some 1e-6 for smooth curves.
/// @throw std::invalid_argument also where the curve stands still or has no finite derivatives.
CONSTRAINED_DYNAMICS_EXPORT ReferencePointer make_curve(
  const ServoConstraint & servo, const std::vector<std::string> & formulas, double from, double to,
  const PathTiming & timing, const FormulaNames & names = {});

/// Joins a trajectory from where the robot is: the difference between both, with its first two
/// derivatives, goes to zero within a duration as a polynomial of degree 5; that of orientations as
/// rotation vector. At the start the reference is what was measured, at the end and behind it the
/// trajectory, both exactly with two derivatives. Without a start it is the trajectory itself.
/// Use one per thread; memory is taken once.
class CONSTRAINED_DYNAMICS_EXPORT SmoothStart
{
public:
  /// @param duration [s]; 0: no transition.
  /// @throw std::invalid_argument for null, or a duration that is negative or not finite.
  explicit SmoothStart(ReferencePointer trajectory, double duration = 0.0);

  const ReferenceTrajectory & trajectory() const { return *trajectory_; }
  double duration() const { return duration_; }

  /// Begins a transition, also while another is under way.
  /// @param measured position, velocity and acceleration at `time`.
  /// Statuses: kOk, kSizeMismatch, kNonFiniteInput, kNonFiniteResult (the trajectory); nothing
  /// changes on failure. Real-time safe: yes.
  [[nodiscard]] Status start(double time, const ServoReference & measured) noexcept CD_NONBLOCKING;

  /// As ReferenceTrajectory::evaluate. Before the start it rests at the measured position.
  /// Real-time safe: yes.
  [[nodiscard]] Status evaluate(double time, ServoReference & out) const noexcept CD_NONBLOCKING;

private:
  bool add_difference(double elapsed, Jet2 * values) const noexcept CD_NONBLOCKING;

  ReferencePointer trajectory_;
  double duration_;
  double start_ = 0.0;
  bool is_started_ = false;
  std::vector<Jet2> difference_;  // at the start; of a pose x y z and rotation vector
  std::vector<Jet2> held_;        // measured values, at rest
};

}  // namespace constrained_dynamics
