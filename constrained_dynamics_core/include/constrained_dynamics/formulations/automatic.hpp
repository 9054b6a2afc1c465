// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <memory>

#include "constrained_dynamics/formulations/articulated_body.hpp"
#include "constrained_dynamics/formulations/kane_minimal.hpp"

namespace constrained_dynamics
{

/// The fastest robust formulation, "auto": ArticulatedBody for trees of bodies. KaneMinimal, which
/// decides on ranks by factorising A, is used where ArticulatedBody declines, for all other
/// systems, and if rows and terms were already evaluated at this state.
class CONSTRAINED_DYNAMICS_EXPORT Automatic : public Formulation
{
public:
  const char * name() const noexcept CD_NONBLOCKING override { return "auto"; }
  std::unique_ptr<FormulationData> make_data(const ConstrainedSystem & system) const override;
  const RowFormulation & row_form() const noexcept override { return rows_; }

protected:
  Status do_solve(Evaluation & evaluation, FormulationData & data, Solution & solution)
    const noexcept CD_NONBLOCKING override;
  void do_measure(Evaluation & evaluation, FormulationData & data) const override;

private:
  ArticulatedBody tree_;
  KaneMinimal rows_;
};

}  // namespace constrained_dynamics
