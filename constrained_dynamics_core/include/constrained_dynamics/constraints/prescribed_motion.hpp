// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <string>
#include <vector>

#include "constrained_dynamics/constraints/formula_binding.hpp"
#include "constrained_dynamics/constraints/frame_constraint.hpp"
#include "constrained_dynamics/export.hpp"

namespace constrained_dynamics
{

/// A coordinate follows a function of time (rheonomic). Type id "prescribed_motion".
///     φ = q_i − f(t),   φ̇ = q̇_i − f',   A = C_i,   b = −(q̈_i|u̇=0 − f'').
/// The row is labelled with the coordinate. It does work: its power is λ f'(t).
/// Force: as JointCoupling.
class CONSTRAINED_DYNAMICS_EXPORT PrescribedCoordinate : public Constraint
{
public:
  /// @param formula of `t`, parameters and definitions.
  /// @throw std::invalid_argument for an unknown coordinate or a formula that cannot be parsed or
  /// uses anything else.
  PrescribedCoordinate(
    std::string name, const System & system, const std::string & coordinate,
    const std::string & formula, const FormulaNames & names = {});

protected:
  Status do_evaluate(const SystemData & data, ConstraintScratch & scratch, RowBlock & rows)
    const noexcept CD_NONBLOCKING override;
  void do_wrenches(
    const SystemData & data, ConstraintScratch & scratch, const ConstVectorRef & multipliers,
    WrenchPair * out) const noexcept CD_NONBLOCKING override;
  bool do_differentiate(
    const SystemData & data, const SystemDerivatives & derivatives,
    const ConstVectorRef & multipliers, ConstraintScratch & scratch,
    RowDerivatives & out) const override;

private:
  PrescribedCoordinate(
    std::string name, const System & system, const std::string & coordinate,
    FormulaBinding formula);

  FormulaBinding formula_;
  int coordinate_;
};

/// One component of a prescribed position.
struct PrescribedComponent
{
  std::string axis;     ///< "x", "y" or "z" of B
  std::string formula;  ///< f(t) [m]
};

/// The origin of frame A follows functions of time in frame B (rheonomic). Type id
/// "prescribed_motion".
///     φ_i = p_i − f_i(t),   φ̇_i = v_i − f_i',   b_i = −(v̇_i − f_i''),   c_v = e_i.
/// Rows are labelled x, y, z. Force: λ_i along e_i of B on A at its origin; it does work.
class CONSTRAINED_DYNAMICS_EXPORT PrescribedPosition : public FrameConstraint
{
public:
  /// @throw std::invalid_argument for no, unknown or repeated axes, formulas that cannot be parsed
  /// or use more than `t`, parameters and definitions, and as FrameConstraint does.
  PrescribedPosition(
    std::string name, const System & system, const std::string & frame_a,
    const std::string & frame_b, const std::vector<PrescribedComponent> & components,
    const FormulaNames & names = {});

protected:
  Status do_frame_rows(const RelativeMotion & motion, ConstraintScratch & scratch, FrameRows & out)
    const noexcept CD_NONBLOCKING override;
  bool do_frame_rows_along(
    const RelativeMotionOf<Dual> & motion, FrameRowsOf<Dual> & out) const noexcept override;

private:
  PrescribedPosition(
    std::string name, const System & system, const std::string & frame_a,
    const std::string & frame_b, const std::vector<PrescribedComponent> & components,
    FormulaBinding formulas);

  FormulaBinding formulas_;
  std::vector<int> axes_;
};

/// Keys and documentation of the type "prescribed_motion": a PrescribedCoordinate or a
/// PrescribedPosition.
CONSTRAINED_DYNAMICS_EXPORT ConstraintDescription describe_prescribed_motion();

}  // namespace constrained_dynamics
