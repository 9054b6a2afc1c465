// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/model/system.hpp"
#include "constrained_dynamics/status.hpp"
#include "constrained_dynamics/types.hpp"

namespace constrained_dynamics
{

class CompliantRow;
class FrameConstraint;
struct ConstraintDescription;
struct DrawnPart;

/// Level at which a row is given.
enum class RowLevel
{
  kPosition,      ///< φ(q, t) = 0
  kVelocity,      ///< ψ(q, u, t) = 0, linear or nonlinear in u
  kAcceleration,  ///< A u̇ + c0 = 0
};

/// Stable name of a level: "position", "velocity", "acceleration".
CONSTRAINED_DYNAMICS_EXPORT const char * to_string(RowLevel level) noexcept CD_NONBLOCKING;

/// Constant description of one row.
struct RowDescription
{
  std::string label;  ///< e.g. "x", "normal"; unique within its constraint
  RowLevel level = RowLevel::kPosition;
  bool rotational = false;  ///< φ is an angle [rad] and is scaled by the characteristic length
};

/// Views of the rows of one constraint with m rows and n speeds, to be filled:
///     (E3) A u̇ = b;  φ, φ̇ (or ψ) for drift.
struct RowBlock
{
  VectorRef position;  ///< φ (m); 0 for velocity and acceleration rows
  VectorRef velocity;  ///< φ̇ or ψ (m); 0 for acceleration rows
  MatrixRef jacobian;  ///< A (m × n)
  VectorRef bias;      ///< b (m), before stabilisation
};

/// Derivatives of the rows of one constraint with m rows, with u̇ and λ held constant (E17), to be
/// filled. Columns of `…_q` are directions of the coordinates as in SystemDerivatives.
struct RowDerivatives
{
  MatrixRef residual_q;  ///< of A u̇ − b (m × n), b before stabilisation: φ̈ or ψ̇, with u̇
  MatrixRef residual_u;  ///< ∂/∂u of the same (m × n)
  MatrixRef velocity_q;  ///< of φ̇ or ψ (m × n), 0 for acceleration rows; ∂/∂u of it is A
  MatrixRef force_q;     ///< of Aᵀ λ (n × n): add to it
  MatrixRef force_u;     ///< ∂/∂u of Aᵀ λ (n × n): add to it
};

/// Scratch memory of the rows, shared by all constraints of a workspace.
struct CONSTRAINED_DYNAMICS_EXPORT ConstraintScratch
{
  ConstraintScratch() = default;
  /// @param buffer_size the largest Constraint::scratch_size of the constraints.
  ConstraintScratch(Eigen::Index speed_count, int buffer_size);

  Matrix6X jacobian_a;  ///< 6 × n
  Matrix6X jacobian_b;  ///< 6 × n
  FrameDerivatives frame_derivatives;
  Eigen::VectorXd buffer;
};

/// Names of the two bodies on which a wrench of a constraint acts, and of the frames; either may be
/// "world".
struct WrenchBodies
{
  std::string body_a;
  std::string frame_a;
  std::string body_b;
  std::string frame_b;
};

/// The wrench on body a and on body b.
struct WrenchPair
{
  Wrench on_a;
  Wrench on_b;
};

/// A constraint on the motion, as rows that are linear in the accelerations. Constant after
/// construction and bound to the System that it was built for; may be shared by threads.
///
/// A new kind of constraint derives from this class (or from FrameConstraint, which is simpler) and
/// implements do_evaluate and, if it acts on bodies, do_wrenches. One line adds it to the
/// conformance suite. A static `description()` listed in src/constraints/registry.cpp makes it
/// available in scenario files, in Python and in the documentation (doc/extending.md).
class CONSTRAINED_DYNAMICS_EXPORT Constraint
{
public:
  virtual ~Constraint();
  Constraint(const Constraint &) = delete;
  Constraint & operator=(const Constraint &) = delete;

  const std::string & name() const { return name_; }
  /// Stable id of the kind, e.g. "knife_edge".
  const std::string & type() const { return type_; }
  int row_count() const { return static_cast<int>(rows_.size()); }
  const std::vector<RowDescription> & rows() const { return rows_; }
  /// The system this constraint was built for.
  const System & system() const { return system_; }
  /// Number of doubles needed in ConstraintScratch::buffer.
  int scratch_size() const { return scratch_size_; }

  /// Pairs of bodies between which this constraint acts: one pair for most constraints, one per
  /// joint for couplings, none if the system has no bodies or the rows do not determine them.
  const std::vector<WrenchBodies> & wrench_bodies() const { return wrench_bodies_; }

  /// Speeds for which A may have nonzero entries, at any state. By default all speeds.
  const std::vector<int> & speed_support() const { return speed_support_; }

  /// How the constraint is drawn, in addition to its forces; empty if it has no shape.
  std::vector<DrawnPart> drawing() const;

  /// Returns this constraint if it is a FrameConstraint, otherwise null. Real-time safe: yes.
  const FrameConstraint * as_frame_constraint() const noexcept CD_NONBLOCKING
  {
    return do_as_frame_constraint();
  }
  /// Returns this constraint if it is a CompliantRow, otherwise null. Real-time safe: yes.
  const CompliantRow * as_compliant_row() const noexcept CD_NONBLOCKING
  {
    return do_as_compliant_row();
  }

  /// Fills the rows at the state of the last System::update_kinematics.
  /// Statuses: kOk, kNonFiniteResult, kUserFunctionFailed. Real-time safe: yes.
  [[nodiscard]] Status evaluate(
    const SystemData & data, ConstraintScratch & scratch,
    RowBlock & rows) const noexcept CD_NONBLOCKING;

  /// The size that each row of A could have at the state of the last System::update_kinematics: its
  /// norm with absolute values in every sum, so that nothing cancels. Parts of A far below it are
  /// round-off. `jacobian` is A of this constraint, `out` has row_count() elements.
  /// Real-time safe: yes.
  void row_sizes(
    const SystemData & data, ConstraintScratch & scratch, const ConstMatrixRef & jacobian,
    VectorRef out) const noexcept CD_NONBLOCKING;

  /// Computes the wrenches that the multipliers (m) of this constraint's rows exert at the state of
  /// the last System::update_kinematics; `out` has wrench_bodies().size() elements. Real-time safe:
  /// yes.
  void wrenches(
    const SystemData & data, ConstraintScratch & scratch, const ConstVectorRef & multipliers,
    WrenchPair * out) const noexcept CD_NONBLOCKING
  {
    do_wrenches(data, scratch, multipliers, out);
  }

  /// Analytic derivatives of the rows at the state of `derivatives`, from System::differentiate,
  /// with multipliers λ (m). Returns false if the constraint has none; `differentiate` of
  /// derivatives.hpp then uses finite differences. Real-time safe: yes for the constraints of this
  /// library.
  [[nodiscard]] bool differentiate(
    const SystemData & data, const SystemDerivatives & derivatives,
    const ConstVectorRef & multipliers, ConstraintScratch & scratch, RowDerivatives & out) const
  {
    return do_differentiate(data, derivatives, multipliers, scratch, out);
  }

protected:
  /// @throw std::invalid_argument for an empty name, no rows or duplicate labels.
  Constraint(
    std::string name, std::string type, const System & system, std::vector<RowDescription> rows,
    std::vector<WrenchBodies> wrench_bodies = {}, int scratch_size = 0);

  /// Declares that A is zero except for these speeds. The constructor may call it.
  void set_speed_support(std::vector<int> speeds) { speed_support_ = std::move(speeds); }

  /// All of `rows` must be written.
  virtual Status do_evaluate(const SystemData & data, ConstraintScratch & scratch, RowBlock & rows)
    const noexcept CD_NONBLOCKING = 0;
  /// By default the norms of the rows themselves, which row_sizes uses as a lower bound.
  virtual void do_row_sizes(
    const SystemData & data, ConstraintScratch & scratch, const ConstMatrixRef & jacobian,
    VectorRef out) const noexcept CD_NONBLOCKING;
  virtual void do_wrenches(
    const SystemData & data, ConstraintScratch & scratch, const ConstVectorRef & multipliers,
    WrenchPair * out) const noexcept CD_NONBLOCKING;
  /// All of `out` is zero initially and need not be written when returning false.
  virtual bool do_differentiate(
    const SystemData & data, const SystemDerivatives & derivatives,
    const ConstVectorRef & multipliers, ConstraintScratch & scratch, RowDerivatives & out) const;
  virtual std::vector<DrawnPart> do_drawing() const;
  virtual const FrameConstraint * do_as_frame_constraint() const noexcept CD_NONBLOCKING;
  virtual const CompliantRow * do_as_compliant_row() const noexcept CD_NONBLOCKING;

private:
  std::string name_;
  std::string type_;
  const System & system_;
  std::vector<RowDescription> rows_;
  std::vector<WrenchBodies> wrench_bodies_;
  std::vector<int> speed_support_;
  int scratch_size_;
};

/// Ordered, immutable list of constraints of one system; owns them and keeps the system alive.
class CONSTRAINED_DYNAMICS_EXPORT ConstraintSet
{
public:
  /// @throw std::invalid_argument for a null system, duplicate names, or a constraint that was
  /// built for another system.
  explicit ConstraintSet(
    std::shared_ptr<const System> system,
    std::vector<std::shared_ptr<const Constraint>> constraints = {});

  const System & system() const { return *system_; }
  const std::shared_ptr<const System> & shared_system() const { return system_; }
  int size() const { return static_cast<int>(constraints_.size()); }
  const Constraint & operator[](int i) const { return *constraints_[static_cast<std::size_t>(i)]; }
  /// @throw std::invalid_argument naming the unknown name and those that exist.
  int index(const std::string & name) const;
  /// Number of rows of all constraints.
  int row_count() const { return row_count_; }
  /// First row of constraint i.
  int row_offset(int i) const { return offsets_[static_cast<std::size_t>(i)]; }
  /// "constraint/label" of a row.
  std::string row_name(int row) const;
  /// Index of the constraint that a row belongs to.
  int constraint_of_row(int row) const;
  const RowDescription & row(int row) const;
  /// Number of wrench pairs of all constraints.
  int wrench_count() const { return wrench_count_; }
  /// First wrench pair of constraint i.
  int wrench_offset(int i) const { return wrench_offsets_[static_cast<std::size_t>(i)]; }
  /// Scratch memory that is large enough for each of the constraints.
  ConstraintScratch make_scratch() const;

private:
  std::shared_ptr<const System> system_;
  std::vector<std::shared_ptr<const Constraint>> constraints_;
  std::vector<int> offsets_;
  std::vector<int> wrench_offsets_;
  int row_count_ = 0;
  int wrench_count_ = 0;
};

}  // namespace constrained_dynamics
