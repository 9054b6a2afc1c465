// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <string>

#include "constrained_dynamics/constraints/constraint.hpp"
#include "constrained_dynamics/export.hpp"

namespace constrained_dynamics
{

/// The speed of a joint with one degree of freedom, ψ = u_j. Joint friction acts on it; while it is
/// enforced, the joint is locked. Type id "joint_slip". Row: the joint's name. Force: the joint's
/// wrench.
class CONSTRAINED_DYNAMICS_EXPORT JointSlip : public Constraint
{
public:
  /// @param joint a coordinate whose rate is a speed.
  /// @throw std::invalid_argument for a coordinate that does not exist or whose rate is not a
  /// speed.
  JointSlip(std::string name, const System & system, const std::string & joint);

  int coordinate() const { return coordinate_; }

  /// Its keys and documentation.
  static ConstraintDescription description();

protected:
  Status do_evaluate(const SystemData & data, ConstraintScratch & scratch, RowBlock & rows)
    const noexcept CD_NONBLOCKING override;
  void do_wrenches(
    const SystemData & data, ConstraintScratch & scratch, const ConstVectorRef & multipliers,
    WrenchPair * out) const noexcept CD_NONBLOCKING override;

private:
  int coordinate_;
  int speed_;
};

}  // namespace constrained_dynamics
