// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <string>
#include <vector>

#include "constrained_dynamics/constraints/constraint.hpp"
#include "constrained_dynamics/export.hpp"

namespace constrained_dynamics
{

/// A coordinate and its desired value.
struct CoordinateValue
{
  std::string coordinate;
  double value = 0.0;
};

/// Coordinates have given values: locked joints, and with RowServo joints that follow a reference.
/// Type id "joint". Works on every system.
///     φ_i = q_i − value_i,   φ̇_i = q̇_i,   A = C_i,   b = −q̈_i|u̇=0   (C_i: row of C).
/// Rows are labelled with the coordinates.
/// Force: as JointCoupling, λ_i on coordinate i.
class CONSTRAINED_DYNAMICS_EXPORT JointPosition : public Constraint
{
public:
  /// @throw std::invalid_argument for no, unknown or repeated coordinates, or values that are not
  /// finite.
  JointPosition(
    std::string name, const System & system, const std::vector<CoordinateValue> & coordinates);

  /// Its keys and documentation.
  static ConstraintDescription description();

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
  struct Row
  {
    int coordinate;
    double value;
    bool has_joint;
  };
  std::vector<Row> coordinates_;
};

}  // namespace constrained_dynamics
