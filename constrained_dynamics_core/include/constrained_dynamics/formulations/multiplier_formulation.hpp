// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <memory>
#include <string>

#include <Eigen/Core>

#include "constrained_dynamics/export.hpp"
#include "constrained_dynamics/formulations/formulation.hpp"
#include "constrained_dynamics/formulations/multiplier_forces.hpp"
#include "constrained_dynamics/status.hpp"

namespace constrained_dynamics
{

/// A formulation with forces that depend on constraint forces (E45). λ is affine in forces, λ_s =
/// λ_0 + R y, so that the unknowns are the multipliers in use alone:
///     (E46) F(x) = λ_0 + R y(x) − x = 0,   x = λ_s.
/// One solve of the inner formulation gives λ_0, one each a column of R, and one the motion at
/// y(x). F is solved by Newton's method: affine forces take one step.
///
/// Statuses in addition to those of Formulation::solve: kNoUniqueSolution where 1 − R y′ is
/// singular, or changes the sign of its determinant with the signs of the multipliers, so that F
/// has no solution or several (self-locking friction, Painlevé); kNotConverged after 50 steps.
///
///     auto with_friction = std::make_shared<MultiplierFormulation>(make_formulation("auto"), f);
///     Dynamics dynamics(constraints, options, with_friction);
///
/// Contacts, dry friction, scheduled changes, servo laws and derivatives refuse such dynamics by
/// name.
class CONSTRAINED_DYNAMICS_EXPORT MultiplierFormulation : public Formulation
{
public:
  /// @throw std::invalid_argument if one of the two is null.
  MultiplierFormulation(
    std::shared_ptr<const Formulation> inner, std::shared_ptr<const MultiplierForces> forces);

  /// Name of the inner formulation.
  const char * name() const noexcept CD_NONBLOCKING override { return inner_->name(); }
  const MultiplierForces & forces() const noexcept CD_NONBLOCKING { return *forces_; }
  std::shared_ptr<const MultiplierForces> multiplier_forces() const override { return forces_; }

  std::unique_ptr<FormulationData> make_data(const ConstrainedSystem & system) const override;
  const RowFormulation & row_form() const noexcept override { return inner_->row_form(); }
  bool has_independent_speeds() const noexcept override { return inner_->has_independent_speeds(); }

  /// y (p) of (E45) of the last solve with output. @param data made by this formulation
  /// (Workspace::formulation_data).
  static const Eigen::VectorXd & values(const FormulationData & data) noexcept CD_NONBLOCKING;
  /// B (n × p) of (E45) of the last solve with output.
  static const Eigen::MatrixXd & directions(const FormulationData & data) noexcept CD_NONBLOCKING;

protected:
  Status do_solve(Evaluation & evaluation, FormulationData & data, Solution & solution)
    const noexcept CD_NONBLOCKING override;
  std::string do_refusal(const ConstrainedSystem & system) const override;

private:
  std::shared_ptr<const Formulation> inner_;
  std::shared_ptr<const MultiplierForces> forces_;
};

}  // namespace constrained_dynamics
