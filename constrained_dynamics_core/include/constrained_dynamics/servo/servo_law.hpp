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
/// the use of the remaining freedom.
///
///     ServoLaw law(dynamics, {{std::make_shared<PoseServo>("hand", *system, "tool", "world")}});
///     ServoWorkspace servo(law, state);                     // once
///     servo.reference(0).position << x, y, z, 0, 0, 0, 1;
///     const Status status = law.evaluate(t, q, u, servo);   // each cycle
///     servo.result().inputs;                            // τ

namespace constrained_dynamics
{

class ServoLaw;

/// Which controls are chosen among those that realise the servo-constraints.
enum class ServoMetric
{
  /// (E15) τ = S⁺ z + (I − S⁺ S) y: the smallest controls. If z is not in the range of S, the
  /// smallest error of the rows.
  kMoorePenrose,
  /// (E15') ideal controls (Gauss' principle): the motion that deviates least, in the norm of the
  /// inertia, from the motion without controls. If z is not in the range of S, the motion closest
  /// to the rows in that norm.
  kIdeal,
};

/// Stable name: "moore_penrose", "ideal".
CONSTRAINED_DYNAMICS_EXPORT const char * to_string(ServoMetric metric) noexcept;

/// One task of a servo law.
struct ServoTask
{
  std::shared_ptr<const ServoConstraint> constraint;
  ErrorDynamics error_dynamics;
  /// 0 is the highest priority. A level is realised as far as the levels before it allow, without
  /// affecting them.
  int priority = 0;
  /// How much an error of this task counts beside those of other tasks of its level, where not all
  /// can be realised: the smallest sum of weight · ‖S τ − z‖² is found. No effect where all can.
  double weight = 1.0;

  static constexpr double kLeastWeight = 1e-6;
  static constexpr double kLargestWeight = 1e6;
};

/// Bounds of the inputs. Empty vectors: none.
struct InputLimits
{
  Eigen::VectorXd lower;  ///< (l), may be −∞
  Eigen::VectorXd upper;  ///< (l), may be ∞
  Eigen::VectorXd rate;   ///< largest |τ̇| (l), may be ∞; needs ServoOptions::period
};

/// Bounds of coordinates and of their rates, enforced by braking in time (E32): the accelerations
/// that the controls cause are limited so that each coordinate can always stop before its limit
/// with its deceleration.
struct MotionLimits
{
  /// Default deceleration: it stops a coordinate from its largest velocity within kStopTime [s]. If
  /// no largest velocity is known, it is kDeceleration [rad/s², m/s²].
  static constexpr double kStopTime = 0.3;
  static constexpr double kDeceleration = 10.0;

  bool enabled = true;           ///< false: none
  Eigen::VectorXd lower;         ///< (nq), may be −∞; empty: what the robot description states
  Eigen::VectorXd upper;         ///< (nq), may be ∞; empty: likewise
  Eigen::VectorXd velocity;      ///< largest |q̇| (nq), may be ∞; empty: likewise
  Eigen::VectorXd deceleration;  ///< (nq), finite, above 0; empty: the default above
};

/// Keeps the force of a passive contact in its friction cone, approximated by a pyramid inside the
/// cone.
struct FrictionCone
{
  std::string constraint;             ///< name in the passive set
  std::string normal;                 ///< label of its normal row
  std::vector<std::string> tangents;  ///< labels of one or two tangential rows; none: push only
  double coefficient = 0.5;           ///< μ ≥ 0
  double least_push = 0.0;            ///< smallest normal force [N], ≥ 0
  /// As Contact::side: the contact pushes if side · λ ≤ 0. −1 for heights above the ground.
  double side = -1.0;
};

struct CONSTRAINED_DYNAMICS_EXPORT ServoOptions
{
  ServoMetric metric = ServoMetric::kMoorePenrose;
  /// Directions of S below this fraction of their usual size are damped: their torque stays bounded
  /// and the status is kSingular. Each row is scaled by the usual size that ServoLaw::reset found
  /// for it.
  double singular_tolerance = 1e-3;
  /// Largest ‖S τ − z‖, relative to ‖z‖ + ‖S‖‖τ‖, for which the rows count as realised.
  double consistency_tolerance = 1e-8;
  /// Terms of y, in addition to ServoWorkspace::external_null_vector.
  std::vector<std::shared_ptr<const NullSpaceTerm>> null_space;
  InputLimits limits;
  std::vector<FrictionCone> cones;
  /// Time from one evaluation to the next [s], for rate limits.
  double period = 0.0;
  MotionLimits motion_limits;

  /// Whether there are input limits or cones.
  bool has_limits() const;
};

/// How many controls realise the servo-constraints.
enum class ServoSolution
{
  kOne,   ///< null(S) = {0}
  kMany,  ///< null(S) is free: y acts
  /// z of the first level is not in the range of S; the controls come as close as possible. Whether
  /// tasks of later levels were relaxed is in ServoResult::relaxed.
  kNone,
};

/// Stable name: "one", "many", "none".
CONSTRAINED_DYNAMICS_EXPORT const char * to_string(ServoSolution solution) noexcept;

/// What ServoLaw::evaluate found.
struct ServoResult
{
  Eigen::VectorXd inputs;      ///< τ (l)
  Eigen::VectorXd particular;  ///< its part S⁺ z (l); all of τ if controls are limited
  Eigen::VectorXd null_part;   ///< its part (I − S⁺ S) y (l); 0 if controls are limited
  Eigen::VectorXd error;       ///< e of the rows (m_s); λ − desired λ for force rows
  Eigen::VectorXd error_rate;  ///< ė (m_s); 0 for force rows
  Eigen::VectorXd residual;    ///< S τ − z (m_s): what the rows miss
  ServoSolution solution = ServoSolution::kOne;
  int rank = 0;                ///< number of directions of S that were used, over all levels
  int null_dimension = 0;      ///< dimension of null(S)
  double condition = 1.0;      ///< σ_max/σ_min of the used directions, worst of the levels
  bool damped = false;         ///< a direction was damped
  bool limited = false;        ///< a limit or cone is active
  std::vector<bool> at_bound;  ///< for each input, whether a bound or the rate limit is active
  bool cones_met = true;  ///< false: no controls within the bounds keep the forces in the cones
  /// For each coordinate, whether a limit of its position or velocity is active.
  std::vector<bool> at_motion_limit;
  /// False: the limits of position and velocity cannot be kept, because of input limits or passive
  /// constraints. The controls come as close as possible, and the tasks are relaxed to stop the
  /// robot.
  bool motion_limits_met = true;
  /// For ServoMetric::kIdeal: whether the motion equals that of ideal passive constraints (E15').
  bool ideal = false;
  /// For each task, whether it was relaxed: its rows are not met because of limits, a
  /// contradiction, or tasks of earlier levels.
  std::vector<bool> relaxed;
};

/// The variable part of a servo law: references, gains, scratch memory and result. Use one per
/// thread. The law must outlive it.
class CONSTRAINED_DYNAMICS_EXPORT ServoWorkspace
{
public:
  /// Allocates memory for a law and initialises it at a typical state of operation (see
  /// ServoLaw::reset).
  /// Real-time safe: no.
  /// @throw std::invalid_argument where rows cannot be evaluated at the state.
  ServoWorkspace(const ServoLaw & law, const State & state);
  ~ServoWorkspace();
  ServoWorkspace(ServoWorkspace &&) noexcept;
  ServoWorkspace & operator=(ServoWorkspace &&) noexcept;

  // Everything below is real-time safe.

  /// Reference of task i; set it before each evaluation.
  ServoReference & reference(int task);
  const ServoReference & reference(int task) const;
  /// Gains of task i; may change between evaluations. Matrices must keep their size.
  ErrorDynamics & error_dynamics(int task);
  /// Enables or disables task i. Until the next ServoLaw::reset, the ranks of the remaining tasks
  /// are those found in the cycle. The controls may jump (see ServoRuntime::ramp).
  void set_enabled(int task, bool enabled) noexcept CD_NONBLOCKING;
  bool is_enabled(int task) const;
  /// Weight of task i within its level (ServoTask::weight); may change between evaluations. False,
  /// and nothing changes, outside ServoTask::kLeastWeight to kLargestWeight.
  [[nodiscard]] bool set_weight(int task, double weight) noexcept CD_NONBLOCKING;
  double weight(int task) const;
  /// Part of y (l) that is given from outside, e.g. by another controller. Initially 0.
  Eigen::VectorXd & external_null_vector();

  const ServoResult & result() const;
  /// Workspace of the passive system, with the solution for the controls: forces and wrenches.
  const Workspace & dynamics() const;
  Workspace & dynamics();
  /// Rows of the tasks at the last evaluation.
  const Rows & rows() const;
  /// y of the last evaluation (l).
  const Eigen::VectorXd & null_vector() const;
  /// Discards the last controls, so that no rate limit applies to the next evaluation.
  void forget_inputs() noexcept CD_NONBLOCKING;
  /// Sets the controls from which the rate limit is measured.
  void set_last_inputs(const ConstVectorRef & inputs) noexcept CD_NONBLOCKING;

  struct Memory;

private:
  friend class ServoInputLaw;
  friend class ServoLaw;
  friend class ServoRuntime;

  /// Uninitialised: for owners that call ServoLaw::reset before the first cycle.
  explicit ServoWorkspace(const ServoLaw & law);

  std::unique_ptr<Memory> memory_;
};

/// The torques that realise servo-constraints on top of the passive constraints of a Dynamics:
///     (E14) S τ = z,   S = A_s Y,   z = b_s − A_s u̇_0,
/// one priority level after the other. Constant after construction; may be shared by threads.
class CONSTRAINED_DYNAMICS_EXPORT ServoLaw
{
public:
  /// @throw std::invalid_argument for no or null tasks, tasks of another system, duplicate names,
  /// gains of the wrong size, weights or options out of range, or cones of unknown constraints.
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

  /// Tasks of each priority level, highest priority first.
  const std::vector<std::vector<int>> & levels() const { return levels_; }

  /// Initialises a workspace at a typical state of operation: finds the ranks of the passive rows
  /// (Workspace::reset), the ranks of S and the usual sizes of its rows, and sets references as
  /// defined by ServoConstraint::start_reference. Call it again after tasks or constraints were
  /// switched, to update the ranks. Real-time safe: no.
  /// @throw std::invalid_argument if rows cannot be evaluated at the state, or if the workspace
  /// belongs to another law.
  void reset(const State & state, ServoWorkspace & workspace) const;

  /// Sets the reference of task i to the values and rates at the state of the last evaluation, with
  /// zero accelerations; used for transitions. Statuses as for ServoConstraint::measure. Real-time
  /// safe: yes.
  [[nodiscard]] Status measure(int task, ServoWorkspace & workspace) const noexcept CD_NONBLOCKING;
  /// The same with zero rates: the task stops where it is. Real-time safe: yes.
  [[nodiscard]] Status hold(int task, ServoWorkspace & workspace) const noexcept CD_NONBLOCKING;

  /// One cycle: terms, passive rows, servo rows, controls and forces. The result is untouched
  /// unless has_output(status), and workspace.dynamics() then has no solution at the new state
  /// (NaN).
  /// Statuses with output: kOk, kSingular (damped, or the passive rows are singular), kInconsistent
  /// (no controls realise the rows), kLimited. Without output: those of Dynamics::reduce and
  /// ServoConstraint::evaluate, and kSizeMismatch for gains or an external null vector of the wrong
  /// size. Real-time safe: yes.
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
