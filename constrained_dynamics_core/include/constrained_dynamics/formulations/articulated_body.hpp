// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <memory>
#include <string>

#include "constrained_dynamics/formulations/formulation.hpp"
#include "constrained_dynamics/formulations/kane_minimal.hpp"

namespace constrained_dynamics
{

/// Recursion along the tree of bodies of a RigidBodySystem, "articulated_body". One
/// articulated-body recursion carries the rows from the tips to the root and eliminates each row at
/// the body above the last joint that it involves (E21, E22). Neither Q nor A is formed, and the
/// cost is linear in the number of bodies if loops are local.
///
/// It refuses systems without a tree of bodies, driven speeds, and a singular tolerance above 1e-5.
/// It solves only problems that are clearly regular and declines the rest (Status::kDeclined,
/// without output): given multipliers (sliding and compliant contacts), unknown ranks, rows or
/// inertia that are nearly singular, and rows that contradict each other. Automatic then falls back
/// on KaneMinimal.
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
