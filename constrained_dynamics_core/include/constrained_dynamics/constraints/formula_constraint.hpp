// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <string>
#include <vector>

#include "constrained_dynamics/constraints/constraint.hpp"
#include "constrained_dynamics/constraints/formula_binding.hpp"
#include "constrained_dynamics/export.hpp"

namespace constrained_dynamics
{

/// Rows given as formulas, all on one level, for any system. Type id "formula". For the names see
/// FormulaBinding. Derivatives are exact, by automatic differentiation:
/// - position φ(q, t):     A = Σ ∂φ/∂x_k J_k,   b = −φ̈ at u̇ = 0, by second derivatives along the
///   motion; x_k are the position-like variables, J_k = ∂ẋ_k/∂u;
/// - velocity ψ(q, u, t), linear or not:   A = Σ ∂ψ/∂x_k J_k over the velocity-like variables with
///   J_k = ∂x_k/∂u,   b = −ψ̇ at u̇ = 0;
/// - acceleration, linear in the accelerations:   A u̇ + c0,   b = −c0.
/// The multipliers act along ∂ψ/∂u (Chetaev). Formulas do not say on which bodies they act, so
/// there are no wrenches, only the generalized force Aᵀ λ.
class CONSTRAINED_DYNAMICS_EXPORT FormulaConstraint : public Constraint
{
public:
  /// @param labels one per row; empty: "row_1", "row_2", …
  /// @throw std::invalid_argument naming the row: a formula that cannot be parsed, a variable above
  /// the level, a row without any variable of its level, accelerations that enter nonlinearly, a
  /// wrong number of labels.
  FormulaConstraint(
    std::string name, const System & system, RowLevel level, const std::vector<std::string> & rows,
    const FormulaNames & names = {}, const std::vector<std::string> & labels = {});

  /// Its keys and documentation.
  static ConstraintDescription description();

protected:
  Status do_evaluate(const SystemData & data, ConstraintScratch & scratch, RowBlock & rows)
    const noexcept CD_NONBLOCKING override;
  void do_row_sizes(
    const SystemData & data, ConstraintScratch & scratch, const ConstMatrixRef & jacobian,
    VectorRef out) const noexcept CD_NONBLOCKING override;
  bool do_differentiate(
    const SystemData & data, const SystemDerivatives & derivatives,
    const ConstVectorRef & multipliers, ConstraintScratch & scratch,
    RowDerivatives & out) const override;

private:
  FormulaConstraint(
    std::string name, const System & system, RowLevel level, FormulaBinding binding,
    const std::vector<std::string> & labels);

  FormulaBinding binding_;
  RowLevel level_;
};

}  // namespace constrained_dynamics
