// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <memory>
#include <string>

#include "constrained_dynamics/formulations/formulation.hpp"
#include "constrained_dynamics/formulations/kane_minimal.hpp"

namespace constrained_dynamics
{

/// Along the tree of bodies of a RigidBodySystem, "articulated_body": one articulated-body
/// recursion carries the rows from the tips to the root and eliminates each where the joints it
/// touches end (E21, E22). Neither Q nor A is built, and cost grows with the number of bodies where
/// loops are local.
///
/// It refuses systems without a tree of bodies, driven speeds, and a singular tolerance above 1e-5.
/// It answers only what is clearly regular and declines (Status::kDeclined, without output) the
/// rest: given multipliers (sliding and compliant contacts), ranks that are not known yet, rows or
/// inertia that are not clearly regular, and rows that contradict each other. Automatic then falls
/// back on KaneMinimal.
class CONSTRAINED_DYNAMICS_EXPORT ArticulatedBody : public Formulation
{
public:
  const char * name() const noexcept CD_NONBLOCKING override { return "articulated_body"; }
  /// Also for a system that is refused: every solve then declines.
  std::unique_ptr<FormulationData> make_data(const ConstrainedSystem & system) const override;
  const RowFormulation & row_form() const noexcept override { return rows_; }

protected:
  Status do_solve(Evaluation & evaluation, FormulationData & data, Solution & solution)
    const noexcept CD_NONBLOCKING override;
  void do_measure(Evaluation & evaluation, FormulationData & data) const override;
  std::string do_refusal(const ConstrainedSystem & system) const override;

private:
  KaneMinimal rows_;
};

}  // namespace constrained_dynamics
