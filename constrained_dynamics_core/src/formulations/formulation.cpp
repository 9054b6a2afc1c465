// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/formulations/formulation.hpp"

namespace constrained_dynamics
{

FormulationData::~FormulationData() = default;
Formulation::~Formulation() = default;

Status Formulation::do_prepare(const SystemData &, FormulationData &) const noexcept CD_NONBLOCKING
{
  return Status::kOk;
}

Status Formulation::do_correct(
  const RowProblem &, const RankOptions &, FormulationData &,
  RowSolution &) const noexcept CD_NONBLOCKING
{
  return Status::kSizeMismatch;
}

}  // namespace constrained_dynamics
