// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <string>
#include <vector>

#include <Eigen/Core>

#include "constrained_dynamics/constraints/constraint.hpp"
#include "constrained_dynamics/export.hpp"
#include "constrained_dynamics/model/rigid_body_system.hpp"

namespace constrained_dynamics
{

/// The centre of mass of everything that moves stays at a given position in the world, in chosen
/// rows out of x y z. Type id "centre_of_mass". For RigidBodySystem.
///     φ = c − position,   φ̇ = ċ = J u,   A = J,   b = −c̈|u̇=0,   c = Σ m_i c_i / Σ m_i.
/// Force: λ along the axis of the world, distributed over all bodies in proportion to their masses;
/// no wrench on a single body is reported.
class CONSTRAINED_DYNAMICS_EXPORT CentreOfMass : public Constraint
{
public:
  /// @param rows names out of x y z, each once, in any order.
  /// @param position in the world [m]; components that are not in `rows` are not used.
  /// @throw std::invalid_argument for a system that is not a RigidBodySystem or has no mass, for
  /// no, unknown or repeated rows, or a position that is not finite.
  CentreOfMass(
    std::string name, const System & system, const std::vector<std::string> & rows = all_rows(),
    const Eigen::Vector3d & position = Eigen::Vector3d::Zero());

  /// x y z.
  static std::vector<std::string> all_rows();

  /// Its keys and documentation.
  static ConstraintDescription description();

protected:
  Status do_evaluate(const SystemData & data, ConstraintScratch & scratch, RowBlock & rows)
    const noexcept CD_NONBLOCKING override;
  void do_row_sizes(
    const SystemData & data, ConstraintScratch & scratch, const ConstMatrixRef & jacobian,
    VectorRef out) const noexcept CD_NONBLOCKING override;

private:
  const RigidBodySystem & robot_;
  bool is_wrapped_;  // in a ControlStateSystem
  std::vector<int> axes_;
  Eigen::Vector3d position_;
};

}  // namespace constrained_dynamics
