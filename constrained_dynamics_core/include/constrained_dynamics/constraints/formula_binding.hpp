// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <string>
#include <utility>
#include <vector>

#include "constrained_dynamics/constraints/constraint.hpp"
#include "constrained_dynamics/export.hpp"
#include "constrained_dynamics/formula/dual.hpp"
#include "constrained_dynamics/formula/formula.hpp"
#include "constrained_dynamics/model/system.hpp"
#include "constrained_dynamics/status.hpp"

namespace constrained_dynamics
{

/// Names that a user adds to those of the system.
struct FormulaNames
{
  std::vector<std::pair<std::string, double>> parameters;
  /// Named sub-expressions; each may use those before it.
  std::vector<std::pair<std::string, std::string>> definitions;
};

/// Part of the state that a formula may use; each level includes those before it.
enum class FormulaLevel
{
  kTime,          ///< t alone
  kPosition,      ///< coordinates and positions of frames
  kVelocity,      ///< rates, speeds and velocities of frames
  kAcceleration,  ///< accelerations
};

/// Formulas of the state of a System: finds the variables that the formulas use and supplies their
/// values in real time. Constant after construction; may be shared by threads.
///
/// | name | variable | level |
/// |---|---|---|
/// | `t` | time | |
/// | `x` | coordinate x | position |
/// | `dx` | its rate ẋ | velocity |
/// | `w` | speed w | velocity |
/// | `ddx`, `dw` | ẍ, ẇ | acceleration |
/// | `px(f)`, `py(f)`, `pz(f)` | position of frame f in the world | position |
/// | `vx(f)`, `vy(f)`, `vz(f)` | velocity of its origin, world axes | velocity |
/// | `wx(f)`, `wy(f)`, `wz(f)` | angular velocity, world axes | velocity |
///
/// If a name has several meanings, the first of coordinate, speed, rate, acceleration applies.
/// Unused variables cost nothing.
class CONSTRAINED_DYNAMICS_EXPORT FormulaBinding
{
public:
  /// @param owner what the formulas belong to, for messages, e.g. "constraint 'thread'".
  /// @throw std::invalid_argument naming owner and formula: formulas that cannot be parsed,
  /// variables above `level`, parameters or definitions whose name is taken.
  FormulaBinding(
    const System & system, const FormulaNames & names, FormulaLevel level,
    const std::vector<std::string> & formulas, const std::string & owner);

  int output_count() const noexcept CD_NONBLOCKING { return program_.output_count(); }
  int variable_count() const noexcept CD_NONBLOCKING { return program_.variable_count(); }
  const FormulaProgram & program() const noexcept CD_NONBLOCKING { return program_; }
  const System & system() const noexcept CD_NONBLOCKING { return *system_; }
  const std::vector<std::string> & formulas() const { return formulas_; }
  /// Name of variable i, as it is written in formulas.
  const std::string & variable_name(int i) const;
  /// Level of variable i; kTime for `t`.
  FormulaLevel variable_level(int i) const;
  /// Whether output i uses a variable of exactly this level.
  bool uses(int output, FormulaLevel level) const;

  /// Number of scratch doubles that evaluate() needs.
  int value_scratch_size() const noexcept CD_NONBLOCKING;
  /// Number of scratch doubles that evaluate_rates() and evaluate_jets() need.
  int jet_scratch_size() const noexcept CD_NONBLOCKING;
  /// Number of scratch doubles that gradients() needs.
  int gradient_scratch_size() const noexcept CD_NONBLOCKING;
  /// Number of scratch doubles that differentiate_rows() needs.
  int derivative_scratch_size() const noexcept CD_NONBLOCKING;

  // All functions below evaluate at the state of the last System::update_kinematics, with the
  // accelerations at u̇ = 0. Real-time safe: yes. Statuses: kOk, kNonFiniteResult.

  /// Values of the formulas; `out` has output_count() elements and is untouched on failure.
  [[nodiscard]] Status evaluate(
    const SystemData & data, double * scratch, double * out) const noexcept CD_NONBLOCKING;

  /// Values and derivatives along the motion at u̇ = 0. Returns a pointer to output_count()
  /// elements inside `scratch`; null if one is not finite.
  const Dual * evaluate_rates(const SystemData & data, double * scratch) const noexcept
    CD_NONBLOCKING;

  /// Values, first and second derivatives along the motion at u̇ = 0, of formulas of level
  /// kPosition. Returns a pointer to output_count() elements inside `scratch`; null if one is not
  /// finite.
  const Jet2 * evaluate_jets(const SystemData & data, double * scratch) const noexcept
    CD_NONBLOCKING;

  /// The same for formulas of level kTime, which need no state.
  const Jet2 * evaluate_jets(double time, double * scratch) const noexcept CD_NONBLOCKING;

  /// Partial derivatives of the formulas. Returns a pointer to output_count() × variable_count()
  /// elements, one formula after the other, inside `scratch`; null if one is not finite.
  const double * gradients(const SystemData & data, double * scratch) const noexcept CD_NONBLOCKING;

  /// ∂/∂u of rows with the given gradients (from gradients()), counting the variables of one level:
  /// of φ̇ for kPosition, of ψ for kVelocity, ∂/∂u̇ for kAcceleration. `out` is output_count() × n.
  /// Uses scratch.jacobian_a.
  void speed_jacobian(
    const SystemData & data, FormulaLevel level, const double * gradients,
    ConstraintScratch & scratch, MatrixRef out) const noexcept CD_NONBLOCKING;

  /// Norms of the rows of speed_jacobian with absolute values in every sum of the formulas and of
  /// the chain rule (see Constraint::row_sizes); `out` has output_count() elements. Uses
  /// jet_scratch_size() + gradient_scratch_size() doubles of scratch.buffer, and both Jacobians.
  void row_sizes(
    const SystemData & data, FormulaLevel level, ConstraintScratch & scratch,
    VectorRef out) const noexcept CD_NONBLOCKING;

  /// Derivatives of the formulas taken as rows of `level` (kPosition to kAcceleration) with
  /// multipliers λ; see RowDerivatives. `derivatives` come from System::differentiate, which must
  /// have returned true. Uses derivative_scratch_size() doubles of scratch.buffer, and
  /// scratch.frame_derivatives. Real-time safe: yes.
  void differentiate_rows(
    const SystemData & data, const SystemDerivatives & derivatives, FormulaLevel level,
    const ConstVectorRef & multipliers, ConstraintScratch & scratch, RowDerivatives & out) const;

private:
  class Compiler;
  class RowDifferentiator;

  enum class Kind
  {
    kTime,
    kCoordinate,
    kRate,
    kSpeed,
    kCoordinateAcceleration,
    kSpeedAcceleration,
    kFramePosition,
    kFrameVelocity,
    kFrameAngularVelocity,
    kUnused,
  };
  struct Variable
  {
    Kind kind = Kind::kUnused;
    int index = 0;      // coordinate, speed or frame
    int component = 0;  // of a frame quantity
    std::string name;
  };
  /// Value, d/dt and d²/dt² at u̇ = 0; NaN where a derivative is not available.
  struct Numbers
  {
    double value;
    double first;
    double second;
  };

  static FormulaLevel level_of(Kind kind);
  static std::vector<Variable> all_variables(const System & system);
  template <class Assign>
  void load(const SystemData & data, Assign assign) const noexcept CD_NONBLOCKING;

  const System * system_;
  std::vector<std::string> formulas_;
  FormulaProgram program_;
  std::vector<Variable> variables_;  // used ones, those of one frame side by side, then one unused
};

}  // namespace constrained_dynamics
