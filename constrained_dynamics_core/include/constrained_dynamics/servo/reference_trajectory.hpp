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
/// References of servo-constraints as functions of time.
///
///     const auto path = make_minimum_jerk(servo, from, to, 0.0, 2.0);
///     SmoothStart reference(path, 0.5);                 // one per thread
///     reference.start(t0, measured);                     // from where the robot is
///     reference.evaluate(t, workspace.reference(0));     // each cycle
///
/// Values. Rows have one number each, in their order: the desired φ of position rows, ψ of velocity
/// rows, λ of force rows. A pose has x y z, then roll pitch yaw as in Pose or a quaternion x y z w.
/// The number of values decides: 7 or 6 for any rows, 3 (x y z) for position rows alone, 4
/// (quaternion) or 3 (roll pitch yaw) for orientation rows alone. Omitted values are zero.
///
/// Position, velocity and acceleration are consistent at every time, and continuous unless a
/// formula is not. A trajectory with a beginning and an end rests before and after it.

namespace constrained_dynamics
{

/// Meaning of the numbers of a reference.
class CONSTRAINED_DYNAMICS_EXPORT ReferenceLayout
{
public:
  /// Largest number of values of a reference.
  static constexpr int kMaximumValues = 512;

  /// @throw std::invalid_argument for more than kMaximumValues values.
  explicit ReferenceLayout(const ServoConstraint & servo);

  /// Number of values of a complete reference: one per row, or 7 for a pose (with quaternion).
  int value_count() const { return static_cast<int>(kinds_.size()); }
  bool is_pose() const { return is_pose_; }
  /// Whether a pose has position rows, and whether it has orientation rows.
  bool has_position_rows() const { return has_position_rows_; }
  bool has_orientation_rows() const { return has_orientation_rows_; }
  /// Name of the servo-constraint, for messages.
  const std::string & name() const { return name_; }

  /// Returns whether the sizes are those of the servo-constraint. Real-time safe: yes, like all
  /// functions below.
  bool fits(const ServoReference & reference) const noexcept CD_NONBLOCKING;
  /// Reads the complete values and their rates from a reference that `fits`. Returns false if they
  /// are not finite or a quaternion has length 0.
  [[nodiscard]] bool read(const ServoReference & reference, Jet2 * values) const noexcept
    CD_NONBLOCKING;
  /// Writes complete values; the quaternion of a pose is normalised. Returns false and writes
  /// nothing if they are not finite.
  [[nodiscard]] bool write(const Jet2 * values, ServoReference & out) const noexcept CD_NONBLOCKING;
  /// Keeps the values of a reference that `fits` and sets their rates to zero: a measured reference
  /// becomes a hold. Returns false and writes nothing where `read` would return false.
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

/// A reference as a function of time. Constant; may be shared by threads. Derive from it for your
/// own kinds of trajectories.
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

  /// The same as complete values with their rates (layout().value_count() of them); the quaternion
  /// of a pose has unit length. Returns false if they are not finite. Real-time safe: yes.
  [[nodiscard]] bool evaluate_values(double time, Jet2 * values) const noexcept CD_NONBLOCKING;

protected:
  explicit ReferenceTrajectory(ReferenceLayout layout);

  /// Fills all values at a finite time; a quaternion may have any nonzero length. The values need
  /// not be checked to be finite. Returns false if there are no values.
  virtual bool do_evaluate(double time, Jet2 * values) const noexcept CD_NONBLOCKING = 0;

private:
  ReferenceLayout layout_;
};

using ReferencePointer = std::shared_ptr<const ReferenceTrajectory>;

/// References of the tasks of a servo law. A vector may be empty: then no task has one.
struct TaskTrajectories
{
  /// One per task; null: the task holds its value at the start, or the value that its rows define
  /// (ServoConstraint::start_reference).
  std::vector<ReferencePointer> references;
  /// Duration [s] of the transition from the state at the start to each reference, ≥ 0; 0: none.
  std::vector<double> smooth_start;
};

// All functions below throw std::invalid_argument for wrong counts and for numbers that are not
// finite or out of range. The message names the servo-constraint, the value and what is allowed.

/// Stays at constant values.
CONSTRAINED_DYNAMICS_EXPORT ReferencePointer
make_constant_reference(const ServoConstraint & servo, const Eigen::VectorXd & values);

/// Formulas of `t`, parameters and definitions, one per value. Derivatives are exact.
CONSTRAINED_DYNAMICS_EXPORT ReferencePointer make_formula_reference(
  const ServoConstraint & servo, const std::vector<std::string> & formulas,
  const FormulaNames & names = {});

/// From rest at `from` to rest at `to` with the smallest integral of jerk²:
///     x = from + (to − from) (10 s³ − 15 s⁴ + 6 s⁵),   s = (t − begin)/duration;
/// orientations follow the shortest rotation, about one axis.
/// @param duration [s], above 0.
CONSTRAINED_DYNAMICS_EXPORT ReferencePointer make_minimum_jerk(
  const ServoConstraint & servo, const Eigen::VectorXd & from, const Eigen::VectorXd & to,
  double begin, double duration);

/// centre_i + amplitude_i sin(rate_i t + phase_i), value by value; not for quaternions of poses.
struct Oscillation
{
  Eigen::VectorXd centre;
  Eigen::VectorXd amplitude;
  Eigen::VectorXd rate;   ///< [rad/s]
  Eigen::VectorXd phase;  ///< [rad]
};
CONSTRAINED_DYNAMICS_EXPORT ReferencePointer
make_lissajous(const ServoConstraint & servo, const Oscillation & oscillation);

/// Timing along a path: from rest up to `speed`, and to rest at its end, with a continuous
/// acceleration of at most `acceleration` along the path. Short paths do not reach `speed`.
struct PathTiming
{
  double speed = 0.0;         ///< above 0
  double acceleration = 0.0;  ///< above 0
  double begin = 0.0;         ///< [s]
};

/// Straight lines through way-points. Corners are rounded from `blend` before to `blend` after them
/// (at most to the middle between way-points), so that the path is twice continuously
/// differentiable. In a corner the direction changes as 3x² − 2x³, the speed is below the given
/// one, and the acceleration is at most 1.5 speed²/blend. Lengths are measured in the values, for
/// poses in x y z. The orientation of a pose follows the shortest rotation from one way-point to
/// the next and is at rest at each.
/// @param points at least two, none equal to the next. @param blend above 0.
CONSTRAINED_DYNAMICS_EXPORT ReferencePointer make_polyline(
  const ServoConstraint & servo, const std::vector<Eigen::VectorXd> & points, double blend,
  const PathTiming & timing);

/// Follows a curve given by formulas of the parameter `s`, from s = `from` to s = `to`, at a given
/// speed (arc length in the values, for poses in x y z). The points are exactly on the curve; the
/// speed is accurate to about 1e-6 for smooth curves.
/// @throw std::invalid_argument also if the curve has zero or no finite derivatives with respect to
/// s.
CONSTRAINED_DYNAMICS_EXPORT ReferencePointer make_curve(
  const ServoConstraint & servo, const std::vector<std::string> & formulas, double from, double to,
  const PathTiming & timing, const FormulaNames & names = {});

/// Makes the transition from the measured motion to a trajectory: their difference, with its first
/// two derivatives, goes to zero within a duration as a polynomial of degree 5. The difference of
/// orientations is a rotation vector. The reference begins as what was measured and ends as the
/// trajectory, both exactly with two derivatives. Without a call to `start` it is the trajectory
/// itself. Use one per thread; allocates only in the constructor.
class CONSTRAINED_DYNAMICS_EXPORT SmoothStart
{
public:
  /// @param duration [s]; 0: no transition.
  /// @throw std::invalid_argument for null, or a duration that is negative or not finite.
  explicit SmoothStart(ReferencePointer trajectory, double duration = 0.0);

  const ReferenceTrajectory & trajectory() const { return *trajectory_; }
  double duration() const { return duration_; }

  /// Begins a transition, even if another is in progress.
  /// @param measured position, velocity and acceleration at `time`.
  /// Statuses: kOk, kSizeMismatch, kNonFiniteInput, kNonFiniteResult (the trajectory); nothing
  /// changes on failure. Real-time safe: yes.
  [[nodiscard]] Status start(double time, const ServoReference & measured) noexcept CD_NONBLOCKING;

  /// As ReferenceTrajectory::evaluate. Before the time of `start` it rests at the measured
  /// position.
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
