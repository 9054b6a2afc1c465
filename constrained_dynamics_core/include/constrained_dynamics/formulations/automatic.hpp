// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <memory>

#include "constrained_dynamics/formulations/articulated_body.hpp"
#include "constrained_dynamics/formulations/kane_minimal.hpp"

namespace constrained_dynamics
{

/// The fastest robust path, "auto": ArticulatedBody where there is a tree of bodies. Where that
/// declines, for all other systems, and where rows and terms were asked for at this state already,
/// KaneMinimal, which judges by a factorisation of A itself.
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
