// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "constrained_dynamics/constraints/constraint.hpp"
#include "constrained_dynamics/constraints/joint_coupling.hpp"
#include "constrained_dynamics/export.hpp"

namespace constrained_dynamics
{

/// A sum of coordinates is a polynomial of another: a cam, a tendon, a linkage by its measured
/// curve. Type id "polynomial_coupling". Works on every system.
///     y = Σ c_i q_i,   x = Σ d_i q_i,   p(x) = p_0 + p_1 x + … + p_4 x⁴,
///     φ = y − p(x),   φ̇ = Σ w_i q̇_i,   w = c − p'(x) d,
///     A = Σ w_i C_i,   b = −Σ w_i q̈_i|u̇=0 + p''(x) ẋ²   (C_i: row of C).
/// Row "coupling"; rotational if all its coordinates are angles. Force: the generalized force λ w_i
/// on coordinate i, with wrenches as of JointCoupling: one pair per coordinate, those of y first.
class CONSTRAINED_DYNAMICS_EXPORT PolynomialCoupling : public Constraint
{
public:
  /// @param terms of y, @param of those of x. @param coefficients p_0 … p_4.
  /// @throw std::invalid_argument for sums without terms, coordinates that are unknown or repeated
  /// within a sum, zero or non-finite coefficients of a sum, and a non-finite p_k.
  PolynomialCoupling(
    std::string name, const System & system, const std::vector<CouplingTerm> & terms,
    const std::vector<CouplingTerm> & of, const std::array<double, 5> & coefficients);

  /// Its keys and documentation.
  static ConstraintDescription description();

protected:
  Status do_evaluate(const SystemData & data, ConstraintScratch & scratch, RowBlock & rows)
    const noexcept CD_NONBLOCKING override;
  void do_row_sizes(
    const SystemData & data, ConstraintScratch & scratch, const ConstMatrixRef & jacobian,
    VectorRef out) const noexcept CD_NONBLOCKING override;
  void do_wrenches(
    const SystemData & data, ConstraintScratch & scratch, const ConstVectorRef & multipliers,
    WrenchPair * out) const noexcept CD_NONBLOCKING override;
  bool do_differentiate(
    const SystemData & data, const SystemDerivatives & derivatives,
    const ConstVectorRef & multipliers, ConstraintScratch & scratch,
    RowDerivatives & out) const override;

private:
  /// A coordinate of either sum.
  struct Term
  {
    int coordinate;
    double y;  ///< c
    double x;  ///< d
    bool has_joint;
  };
  /// x, ẋ and p with its first three derivatives.
  struct Point
  {
    double x = 0.0;
    double rate = 0.0;
    std::array<double, 4> p{};
  };
  Point evaluate_polynomial(const SystemTerms & terms) const noexcept CD_NONBLOCKING;

  std::vector<Term> terms_;
  std::array<double, 5> coefficients_;
};

}  // namespace constrained_dynamics
