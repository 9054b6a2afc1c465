// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/dynamics/dynamics.hpp"
#include "constrained_dynamics/export.hpp"
#include "constrained_dynamics/servo/null_space.hpp"
#include "constrained_dynamics/servo/reference_trajectory.hpp"
#include "constrained_dynamics/servo/servo_constraint.hpp"
#include "constrained_dynamics/status.hpp"
#include "constrained_dynamics/types.hpp"

/// @file
/// Servo-constraints: torques that realise desired motions and forces of a constrained system, and
/// the freedom that they leave.
///
///     ServoLaw law(dynamics, {{std::make_shared<PoseServo>("hand", *system, "tool", "world")}});
///     ServoWorkspace servo(law, state);                     // once
///     servo.reference(0).position << x, y, z, 0, 0, 0, 1;
///     const Status status = law.evaluate(t, q, u, servo);   // each cycle
///     servo.result().inputs;                            // τ

namespace constrained_dynamics
{

class ServoLaw;

/// Which of the controls that realise the servo-constraints is taken.
enum class ServoMetric
{
  /// (E15) τ = S⁺ z + (I − S⁺ S) y: the smallest controls; z out of range: the smallest error of
  /// the rows.
  kMoorePenrose,
  /// (E15') ideal controls, Gauss' principle: the motion that deviates least from that without
  /// controls, in the norm of the inertia; z out of range: the motion closest to the rows in it.
  kIdeal,
};

/// Stable name: "moore_penrose", "ideal".
CONSTRAINED_DYNAMICS_EXPORT const char * to_string(ServoMetric metric) noexcept;

/// One thing to be done.
struct ServoTask
{
  std::shared_ptr<const ServoConstraint> constraint;
  ErrorDynamics error_dynamics;
  /// 0 goes first. A level is realised as far as those before it allow, and leaves them alone.
  int priority = 0;
};

/// Bounds of the inputs. Empty vectors: none.
struct InputLimits
{
  Eigen::VectorXd lower;  ///< (l), may be −∞
  Eigen::VectorXd upper;  ///< (l), may be ∞
  Eigen::VectorXd rate;   ///< largest |change| a second (l), may be ∞; needs ServoOptions::period
};

/// Bounds of coordinates and of their rates, kept by braking in time (E32): the accelerations that
/// the controls cause are limited so that each coordinate can always be stopped, with its
/// deceleration, before its limit.
struct MotionLimits
{
  /// Deceleration that is taken where none is given: the one that stops a coordinate within this
  /// time from its largest velocity [s], or kDeceleration without one [rad/s², m/s²].
  static constexpr double kStopTime = 0.3;
  static constexpr double kDeceleration = 10.0;

  bool enabled = true;           ///< false: none
  Eigen::VectorXd lower;         ///< (nq), may be −∞; empty: what the robot description states
  Eigen::VectorXd upper;         ///< (nq), may be ∞; empty: likewise
  Eigen::VectorXd velocity;      ///< largest |q̇| (nq), may be ∞; empty: likewise
  Eigen::VectorXd deceleration;  ///< (nq), finite, above 0; empty: as said above
};

/// The force of a passive contact shall stay in its friction cone, as pyramid inside the cone.
struct FrictionCone
{
  std::string constraint;             ///< name in the passive set
  std::string normal;                 ///< label of its normal row
  std::vector<std::string> tangents;  ///< labels of one or two tangential rows; none: push only
  double coefficient = 0.5;           ///< μ ≥ 0
  double least_push = 0.0;            ///< smallest normal force [N], ≥ 0
  /// As Contact::side: it pushes where side · λ ≤ 0. −1 for heights above a ground.
  double side = -1.0;
};

struct CONSTRAINED_DYNAMICS_EXPORT ServoOptions
{
  ServoMetric metric = ServoMetric::kMoorePenrose;
  /// Directions of S below this fraction of their usual size are damped: their torque stays
  /// bounded and the status is kSingular. Rows count in units of the usual size that
  /// ServoLaw::reset found for each.
  double singular_tolerance = 1e-3;
  /// Largest ‖S τ − z‖ relative to ‖z‖ + ‖S‖‖τ‖ with which the rows count as realised.
  double consistency_tolerance = 1e-8;
  /// y, the sum of these and of ServoWorkspace::external_null_vector.
  std::vector<std::shared_ptr<const NullSpaceTerm>> null_space;
  InputLimits limits;
  std::vector<FrictionCone> cones;
  /// Time from one evaluation to the next [s], for rate limits.
  double period = 0.0;
  MotionLimits motion_limits;

  /// Whether there are limits of inputs, or cones.
  bool has_limits() const;
};

/// How many controls realise the servo-constraints.
enum class ServoSolution
{
  kOne,   ///< null(S) = {0}
  kMany,  ///< null(S) is free: y acts
  /// z of the first level is not in the range of S; the controls come closest. Tasks of later
  /// levels may be relaxed for earlier ones; ServoResult::relaxed tells.
  kNone,
};

/// Stable name: "one", "many", "none".
CONSTRAINED_DYNAMICS_EXPORT const char * to_string(ServoSolution solution) noexcept;

/// What ServoLaw::evaluate found.
struct ServoResult
{
  Eigen::VectorXd inputs;      ///< τ (l)
  Eigen::VectorXd particular;  ///< its part S⁺ z (l); of limited controls all of them
  Eigen::VectorXd null_part;   ///< its part (I − S⁺ S) y (l); of limited controls 0
  Eigen::VectorXd error;       ///< e of the rows (m_s); of force rows λ − λ desired
  Eigen::VectorXd error_rate;  ///< ė (m_s), 0 of force rows
  Eigen::VectorXd residual;    ///< S τ − z (m_s): what the rows miss
  ServoSolution solution = ServoSolution::kOne;
  int rank = 0;                ///< directions of S that were used, of all levels
  int null_dimension = 0;      ///< dimension of null(S)
  double condition = 1.0;      ///< σ_max/σ_min of the used directions, worst of the levels
  bool damped = false;         ///< a direction was damped
  bool limited = false;        ///< a limit or cone binds
  std::vector<bool> at_bound;  ///< of each input, whether a bound or the rate binds
  bool cones_met = true;  ///< false: no controls within the bounds keep the forces in the cones
  /// Of each coordinate, whether a limit of its position or velocity binds.
  std::vector<bool> at_motion_limit;
  /// False: limits of the inputs or passive constraints do not let the controls keep the limits of
  /// position and velocity. They come as close as possible, and the tasks are relaxed for a stop.
  bool motion_limits_met = true;
  /// Of ServoMetric::kIdeal: whether the motion is what ideal passive constraints would give
  /// (E15').
  bool ideal = false;
  /// Of each task, whether it was relaxed: its rows are missed because of limits, a contradiction,
  /// or tasks of earlier levels.
  std::vector<bool> relaxed;
};

/// Everything of a servo law that changes: references, gains, memory of the cycle, result. Use one
/// per thread. The law must outlive it.
class CONSTRAINED_DYNAMICS_EXPORT ServoWorkspace
{
public:
  /// Memory for a law, ready at a state as it will be in operation (see ServoLaw::reset).
  /// Real-time safe: no.
  /// @throw std::invalid_argument where rows cannot be evaluated at the state.
  ServoWorkspace(const ServoLaw & law, const State & state);
  ~ServoWorkspace();
  ServoWorkspace(ServoWorkspace &&) noexcept;
  ServoWorkspace & operator=(ServoWorkspace &&) noexcept;

  // Everything below is real-time safe.

  /// What task i follows; to be set before each evaluation.
  ServoReference & reference(int task);
  const ServoReference & reference(int task) const;
  /// Gains of task i; may change between evaluations. Matrices must keep their size.
  ErrorDynamics & error_dynamics(int task);
  /// Whether task i counts. The ranks of the remaining tasks are those found in the cycle until the
  /// next ServoLaw::reset.
  void set_enabled(int task, bool enabled) noexcept CD_NONBLOCKING;
  bool is_enabled(int task) const;
  /// Part of y that comes from outside (l), e.g. from another controller. 0 at first.
  Eigen::VectorXd & external_null_vector();

  const ServoResult & result() const;
  /// Of the passive system: its solution with the controls, forces and wrenches.
  const Workspace & dynamics() const;
  Workspace & dynamics();
  /// Rows of the tasks at the last evaluation.
  const Rows & rows() const;
  /// y of the last evaluation (l).
  const Eigen::VectorXd & null_vector() const;
  /// Forgets the last controls: the next evaluation has no rate limit.
  void forget_inputs() noexcept CD_NONBLOCKING;
  /// The controls that the rate limit counts from.
  void set_last_inputs(const ConstVectorRef & inputs) noexcept CD_NONBLOCKING;

  struct Memory;

private:
  friend class ServoInputLaw;
  friend class ServoLaw;
  friend class ServoRuntime;

  /// Not ready: for owners that call ServoLaw::reset before the first cycle.
  explicit ServoWorkspace(const ServoLaw & law);

  std::unique_ptr<Memory> memory_;
};

/// The torques that realise servo-constraints on top of the passive constraints of a Dynamics:
///     (E14) S τ = z,   S = A_s Y,   z = b_s − A_s u̇_0,
/// level by level of priority. Constant after building; may be shared by threads.
class CONSTRAINED_DYNAMICS_EXPORT ServoLaw
{
public:
  /// @throw std::invalid_argument for no or null tasks, tasks of another system, duplicate names,
  /// gains that do not fit, options out of range, unknown constraints of cones.
  ServoLaw(
    std::shared_ptr<const Dynamics> passive, std::vector<ServoTask> tasks,
    ServoOptions options = {});
  ~ServoLaw();

  const Dynamics & passive() const { return *passive_; }
  const std::shared_ptr<const Dynamics> & shared_passive() const { return passive_; }
  const std::vector<ServoTask> & tasks() const { return tasks_; }
  const ServoOptions & options() const { return options_; }
  int row_count() const { return row_count_; }
  /// First row of task i.
  int row_offset(int task) const { return offsets_[static_cast<std::size_t>(task)]; }
  /// "task/label" of a row.
  std::string row_name(int row) const;
  /// @throw std::invalid_argument naming the unknown name and those that exist.
  int task_index(const std::string & name) const;

  /// Tasks of each level of priority, the level that goes first first.
  const std::vector<std::vector<int>> & levels() const { return levels_; }

  /// Makes a workspace ready at a state as it will be in operation: finds the ranks of the passive
  /// rows (Workspace::reset), the ranks of S and the usual sizes of its rows, and sets references
  /// as ServoConstraint::start_reference says. Again after tasks or constraints were switched, to
  /// know the ranks of what is left. Real-time safe: no.
  /// @throw std::invalid_argument where rows cannot be evaluated at the state, for a workspace of
  /// another law.
  void reset(const State & state, ServoWorkspace & workspace) const;

  /// Makes the reference of task i what the task has at the state of the last evaluation, rates
  /// included, accelerations 0: for transitions. Statuses as ServoConstraint::measure. Real-time
  /// safe: yes.
  [[nodiscard]] Status measure(int task, ServoWorkspace & workspace) const noexcept CD_NONBLOCKING;
  /// Likewise, but at rest: the task stops where it is.
  [[nodiscard]] Status hold(int task, ServoWorkspace & workspace) const noexcept CD_NONBLOCKING;

  /// One cycle: terms, passive rows, servo rows, controls, forces. The result and
  /// workspace.dynamics().solution() are untouched without output.
  /// Statuses: kOk; kSingular (damped, or the passive rows are singular), kInconsistent (no
  /// controls realise the rows), kLimited, with output; those of Dynamics::reduce and
  /// ServoConstraint::evaluate without (kSizeMismatch also for gains or an external null vector of
  /// another size). Real-time safe: yes.
  [[nodiscard]] Status evaluate(
    double time, const ConstVectorRef & q, const ConstVectorRef & u,
    ServoWorkspace & workspace) const noexcept CD_NONBLOCKING;

private:
  std::shared_ptr<const Dynamics> passive_;
  std::vector<ServoTask> tasks_;
  ServoOptions options_;
  std::vector<ReferenceLayout> layouts_;
  std::vector<int> offsets_;
  std::vector<std::vector<int>> levels_;
  int row_count_ = 0;
};

}  // namespace constrained_dynamics
