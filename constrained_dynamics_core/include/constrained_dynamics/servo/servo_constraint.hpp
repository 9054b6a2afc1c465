// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/constraints/constraint.hpp"
#include "constrained_dynamics/constraints/stabilisation.hpp"
#include "constrained_dynamics/export.hpp"
#include "constrained_dynamics/model/system.hpp"
#include "constrained_dynamics/status.hpp"
#include "constrained_dynamics/types.hpp"

namespace constrained_dynamics
{

/// Reference of a servo-constraint at one instant. Sizes are set once by
/// ServoConstraint::make_reference.
struct ServoReference
{
  /// Desired values of position rows; for a pose x y z qx qy qz qw; for forces the multipliers.
  Eigen::VectorXd position;
  /// Their rates, and desired values of velocity rows; for a pose velocity and angular velocity.
  Eigen::VectorXd velocity;
  /// Second derivatives of position rows, first derivatives of velocity rows.
  Eigen::VectorXd acceleration;
};

/// How ServoLaw::reset initialises the reference of a servo-constraint.
enum class StartReference
{
  /// It is not changed, and is zero unless set: the rows define the desired value themselves, as
  /// the formula E − E_f of an energy does.
  kOwn,
  /// It becomes the present value: the task holds it until the reference is set.
  kMeasured,
};

/// The desired dynamics of the errors:
///     ë = Θ1 ė + Θ2 e of position rows,   ė = Θ e of velocity rows.            (E23)
/// Numbers must be negative. Matrices apply to the rows of one servo-constraint, in their order,
/// and must have eigenvalues with negative real parts.
struct CONSTRAINED_DYNAMICS_EXPORT ErrorDynamics
{
  Gain velocity = -20.0;     ///< Θ1 [1/s]
  Gain position = -100.0;    ///< Θ2 [1/s²]
  Gain first_order = -10.0;  ///< Θ [1/s]

  /// Θ2 = −stiffness, Θ1 = −2 ratio √stiffness, Θ = −√stiffness.
  /// @param stiffness [1/s²], above 0. @param damping_ratio above 0; 1: critical.
  /// @throw std::invalid_argument outside these ranges.
  static ErrorDynamics from_stiffness(double stiffness, double damping_ratio = 1.0);
  /// @throw std::invalid_argument for numbers that are not negative, or matrices that are not
  /// square, not finite or not stable.
  static ErrorDynamics from_gains(Gain velocity, Gain position, Gain first_order);

  /// Sets numbers as from_stiffness does, without its checks. Real-time safe: yes.
  void set_stiffness(double stiffness, double damping_ratio) noexcept CD_NONBLOCKING;
  /// Stiffness and damping ratio, if the gains are of the form of from_stiffness; otherwise none.
  std::optional<std::pair<double, double>> stiffness_and_damping_ratio() const;
};

/// A task of the controls, as rows whose error e the controls drive to zero. Constant after
/// construction and bound to the System that it was built for; may be shared by threads. The
/// reference is given at every evaluation.
class CONSTRAINED_DYNAMICS_EXPORT ServoConstraint
{
public:
  virtual ~ServoConstraint();
  ServoConstraint(const ServoConstraint &) = delete;
  ServoConstraint & operator=(const ServoConstraint &) = delete;

  const std::string & name() const { return name_; }
  /// Stable id of the kind, e.g. "pose".
  const std::string & type() const { return type_; }
  int row_count() const { return static_cast<int>(rows_.size()); }
  const std::vector<RowDescription> & rows() const { return rows_; }
  const System & system() const { return system_; }
  /// Number of doubles needed in ConstraintScratch::buffer.
  int scratch_size() const { return scratch_size_; }
  /// Sizes of the reference: of the values, and of first and second derivatives.
  int position_size() const { return position_size_; }
  int velocity_size() const { return velocity_size_; }
  StartReference start_reference() const { return start_reference_; }
  /// Rows of the passive set whose multipliers this servo-constraint controls; empty: it controls a
  /// motion.
  const std::vector<int> & force_rows() const { return force_rows_; }
  /// Whether the reference is the motion of a frame: x y z qx qy qz qw.
  bool has_pose_reference() const { return position_size_ == 7 && velocity_size_ == 6; }
  /// Frames A and B of a pose reference; −1, −1 for other references.
  std::pair<int, int> frames() const { return do_frames(); }
  /// Names of the values of a reference: the row labels, or x y z qx qy qz qw for a pose.
  std::vector<std::string> value_names() const;
  /// Names of their rates: the row labels, or x y z rx ry rz for a pose.
  std::vector<std::string> rate_names() const;

  /// A reference of zeros (the identity for a pose). Real-time safe: no.
  ServoReference make_reference() const;

  /// Fills the rows at the state of the last System::update_kinematics: `position` and `velocity`
  /// are e and ė (0 and e for velocity rows), and A u̇ = b makes their next derivative zero.
  /// Statuses: kOk, kSizeMismatch, kNonFiniteInput (the reference), those of
  /// Constraint::evaluate. Real-time safe: yes.
  [[nodiscard]] Status evaluate(
    const SystemData & data, ConstraintScratch & scratch, const ServoReference & reference,
    RowBlock & rows) const noexcept CD_NONBLOCKING;

  /// Finds the reference that has zero error now: present values and rates, accelerations 0. `out`
  /// is untouched on failure. Statuses as for `evaluate`. Real-time safe: yes.
  [[nodiscard]] Status measure(
    const SystemData & data, ConstraintScratch & scratch, RowBlock & rows,
    ServoReference & out) const noexcept CD_NONBLOCKING;

protected:
  /// @param force_rows see `force_rows`: none, or one per row.
  /// @throw std::invalid_argument for an empty name, no rows, duplicate labels, or a wrong number
  /// of force rows.
  ServoConstraint(
    std::string name, std::string type, const System & system, std::vector<RowDescription> rows,
    int position_size, int velocity_size, int scratch_size,
    StartReference start_reference = StartReference::kMeasured, std::vector<int> force_rows = {});

  virtual Status do_evaluate(
    const SystemData & data, ConstraintScratch & scratch, const ServoReference & reference,
    RowBlock & rows) const noexcept CD_NONBLOCKING = 0;
  /// `rows` is scratch.
  virtual Status do_measure(
    const SystemData & data, ConstraintScratch & scratch, RowBlock & rows,
    ServoReference & out) const noexcept CD_NONBLOCKING = 0;
  virtual void do_reset(ServoReference & reference) const;
  virtual std::pair<int, int> do_frames() const { return {-1, -1}; }

private:
  std::string name_;
  std::string type_;
  const System & system_;
  std::vector<RowDescription> rows_;
  int position_size_;
  int velocity_size_;
  int scratch_size_;
  StartReference start_reference_;
  std::vector<int> force_rows_;
};

/// Any constraint as a servo-constraint: the φ, φ̇ or ψ that a passive constraint keeps at zero
/// follows the reference r, row by row:
///     e = φ − r,  ė = φ̇ − ṙ,  b ← b + r̈;      e = ψ − r,  b ← b + ṙ (velocity rows).
/// Examples are a coordinate (JointCoupling of one coordinate), a distance, a formula of q, u and
/// t, and an energy. The type id is that of the constraint. Rows must be on position or velocity
/// level.
class CONSTRAINED_DYNAMICS_EXPORT RowServo : public ServoConstraint
{
public:
  /// @param start kMeasured for rows that are a quantity which follows the reference, such as the
  /// position of a tip. @throw std::invalid_argument for null, or acceleration rows.
  explicit RowServo(
    std::shared_ptr<const Constraint> constraint, StartReference start = StartReference::kOwn);

  const Constraint & constraint() const { return *constraint_; }

protected:
  Status do_evaluate(
    const SystemData & data, ConstraintScratch & scratch, const ServoReference & reference,
    RowBlock & rows) const noexcept CD_NONBLOCKING override;
  Status do_measure(
    const SystemData & data, ConstraintScratch & scratch, RowBlock & rows,
    ServoReference & out) const noexcept CD_NONBLOCKING override;

private:
  std::shared_ptr<const Constraint> constraint_;
};

/// Desired multipliers of a passive constraint, e.g. the normal force of a contact or the internal
/// force of a closed loop. The rows are forces, not accelerations, and linear in the controls:
/// λ_i(τ) = reference. Signs are as reported. Type id "force".
class CONSTRAINED_DYNAMICS_EXPORT ForceServo : public ServoConstraint
{
public:
  /// @param constraint name in the set. @param labels of its rows; empty: all of them.
  /// @throw std::invalid_argument for unknown or repeated names.
  ForceServo(
    std::string name, const ConstraintSet & passive, const std::string & constraint,
    const std::vector<std::string> & labels = {});

protected:
  /// The rows have no motion error; the law reads λ itself.
  Status do_evaluate(
    const SystemData & data, ConstraintScratch & scratch, const ServoReference & reference,
    RowBlock & rows) const noexcept CD_NONBLOCKING override;
  Status do_measure(
    const SystemData & data, ConstraintScratch & scratch, RowBlock & rows,
    ServoReference & out) const noexcept CD_NONBLOCKING override;

private:
  ForceServo(
    std::string name, const ConstraintSet & passive,
    std::pair<std::vector<RowDescription>, std::vector<int>> rows);
};

}  // namespace constrained_dynamics
