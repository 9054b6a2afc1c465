// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <memory>
#include <string>

#include "constrained_dynamics/constraints/constraint.hpp"
#include "constrained_dynamics/constraints/stabilisation.hpp"
#include "constrained_dynamics/export.hpp"

namespace constrained_dynamics
{

/// Prescribed motion of the penetration x of a compliant contact. It is not a spring: the law
/// prescribes the motion, and the multiplier is the force that enforces it.
///     linear:         ẍ = Δ1 ẋ + Δ2 x        (thesis 328; Kelvin-Voigt with Δ1 = −c/m, Δ2 = −k/m)
///     Hunt-Crossley:  ẍ = −(c ẋ + k) xⁿ      (thesis 368, per unit of mass), for x > 0
struct RowLaw
{
  enum class Kind
  {
    kLinear,
    kHuntCrossley,
  };
  Kind kind = Kind::kLinear;
  Gain velocity_gain;      ///< Δ1 [1/s], or Δ of velocity rows: a number ≤ 0 or a matrix
  Gain position_gain;      ///< Δ2 [1/s²]
  double stiffness = 0.0;  ///< k ≥ 0
  double damping = 0.0;    ///< c ≥ 0
  double exponent = 1.5;   ///< n > 0
};

/// The rows of another constraint with a prescribed motion, for contacts and constraints that are
/// enforced without a velocity jump (thesis 5.4 to 5.7). Type id "compliant_row".
///
/// Position rows x = side · φ get b ← b + side · law(x, ẋ); velocity rows ψ get b ← b + Δ1 ψ
/// (thesis 329). The rows are on acceleration level, so that projections do not change them; φ and
/// φ̇ are filled nevertheless. A contact needs one position row.
class CONSTRAINED_DYNAMICS_EXPORT CompliantRow : public Constraint
{
public:
  /// @param side +1: penetration is φ > 0; −1: φ < 0.
  /// @throw std::invalid_argument for rows of mixed or acceleration level, Hunt-Crossley on rows
  /// other than position rows, numbers that are positive or not finite, or matrices of the wrong
  /// size.
  CompliantRow(std::shared_ptr<const Constraint> row, const RowLaw & law, double side = 1.0);

  const Constraint & row() const { return *row_; }
  const RowLaw & law() const { return law_; }
  bool is_on_position() const { return !is_velocity_; }
  double side() const { return side_; }

protected:
  /// As the constraint whose rows these are.
  std::vector<DrawnPart> do_drawing() const override;
  const CompliantRow * do_as_compliant_row() const noexcept CD_NONBLOCKING override { return this; }
  Status do_evaluate(const SystemData & data, ConstraintScratch & scratch, RowBlock & rows)
    const noexcept CD_NONBLOCKING override;
  void do_row_sizes(
    const SystemData & data, ConstraintScratch & scratch, const ConstMatrixRef & jacobian,
    VectorRef out) const noexcept CD_NONBLOCKING override;
  void do_wrenches(
    const SystemData & data, ConstraintScratch & scratch, const ConstVectorRef & multipliers,
    WrenchPair * out) const noexcept CD_NONBLOCKING override;

private:
  std::shared_ptr<const Constraint> row_;
  RowLaw law_;
  double side_;
  bool is_velocity_;
};

}  // namespace constrained_dynamics
