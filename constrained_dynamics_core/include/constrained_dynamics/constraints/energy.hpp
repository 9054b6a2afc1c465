// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <memory>
#include <string>

#include "constrained_dynamics/constraints/constraint.hpp"
#include "constrained_dynamics/export.hpp"
#include "constrained_dynamics/model/rigid_body_system.hpp"

namespace constrained_dynamics
{

/// Kind of energy.
enum class EnergyKind
{
  kKinetic,  ///< T, of bodies and armatures
  kTotal,    ///< T + V, V of gravity and springs
};

/// Stable name, which is also the type id: "kinetic_energy", "energy".
CONSTRAINED_DYNAMICS_EXPORT const char * to_string(EnergyKind kind) noexcept CD_NONBLOCKING;

/// The energy of a robot has a given value; a nonlinear velocity row. Type ids "energy" and
/// "kinetic_energy". For RigidBodySystem.
///     ψ = E − value,   A = (Q u)ᵀ,   b = −Ṫ|u̇=0 − V̇,                              (E28)
/// whatever forces act: dampers and inputs change u̇, not the row. The row is computed from the
/// motions of the bodies, without Q. It vanishes at rest (A = 0), where a servo-constraint reports
/// kSingular. Force: λ Q u, along the momentum; its power is λ 2 T. No wrench on a single body is
/// reported.
class CONSTRAINED_DYNAMICS_EXPORT Energy : public Constraint
{
public:
  /// @param value [J].
  /// @throw std::invalid_argument for a system that is not a RigidBodySystem, or a value that is
  /// not finite.
  Energy(std::string name, const System & system, EnergyKind kind, double value = 0.0);

  /// Keys and documentation of the type for a kind; it builds with make_energy_constraint.
  static ConstraintDescription description(EnergyKind kind);

protected:
  Status do_evaluate(const SystemData & data, ConstraintScratch & scratch, RowBlock & rows)
    const noexcept CD_NONBLOCKING override;

private:
  const RigidBodySystem & robot_;
  bool is_wrapped_;  // in a ControlStateSystem
  EnergyKind kind_;
  double value_;
};

/// The same for a RigidBodySystem (an Energy) and for a textbook system given by formulas (a
/// FormulaConstraint of its kinetic and potential energy, label "energy").
/// @throw std::invalid_argument for other systems, or a value that is not finite.
CONSTRAINED_DYNAMICS_EXPORT std::shared_ptr<const Constraint> make_energy_constraint(
  const std::string & name, const System & system, EnergyKind kind, double value = 0.0);

}  // namespace constrained_dynamics
