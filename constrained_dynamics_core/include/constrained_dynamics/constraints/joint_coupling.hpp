// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <string>
#include <vector>

#include "constrained_dynamics/constraints/constraint.hpp"
#include "constrained_dynamics/export.hpp"

namespace constrained_dynamics
{

/// One term of a coupling.
struct CouplingTerm
{
  std::string coordinate;
  double coefficient = 1.0;
};

/// A linear relation between coordinates: gear, mimic joint, rack and pinion, differential. Type id
/// "joint_coupling". Works on every system.
///     φ = Σ c_i q_i − offset,   φ̇ = Σ c_i q̇_i,   A = Σ c_i C_i,   b = −Σ c_i q̈_i|u̇=0   (C_i: row
///     of C).
/// Row "coupling"; rotational if all its coordinates are angles. Force: the generalized force λ c_i
/// on coordinate i. If the coordinate belongs to a joint with one degree of freedom, this is a
/// wrench on the joint's child and the opposite on its parent: one pair per term, in the order of
/// the terms. Other coordinates report no wrench.
class CONSTRAINED_DYNAMICS_EXPORT JointCoupling : public Constraint
{
public:
  /// @throw std::invalid_argument for no terms, unknown or repeated coordinates, zero or non-finite
  /// coefficients or a non-finite offset.
  JointCoupling(
    std::string name, const System & system, const std::vector<CouplingTerm> & terms,
    double offset = 0.0);

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
  struct Term
  {
    int coordinate;
    double coefficient;
    bool has_joint;
  };
  std::vector<Term> terms_;
  double offset_;
};

}  // namespace constrained_dynamics
