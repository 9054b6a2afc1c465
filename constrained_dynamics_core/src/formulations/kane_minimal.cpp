// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/formulations/kane_minimal.hpp"

#include "kane_scratch.hpp"

namespace constrained_dynamics
{

std::unique_ptr<FormulationData> KaneMinimal::make_data(int speed_count, int max_row_count) const
{
  return std::make_unique<KaneScratch>(speed_count, max_row_count);
}

Status KaneMinimal::do_solve_rows(
  const RowProblem & problem, const RankOptions & options, FormulationData & formulation_data,
  RowSolution & solution) const noexcept CD_NONBLOCKING
{
  KaneScratch & data = static_cast<KaneScratch &>(formulation_data);
  const Status rank_status = data.begin(problem, options);
  if (!has_output(rank_status))
  {
    return rank_status;
  }
  if (!data.solve_reduced(problem))
  {
    return Status::kSingularInertia;
  }
  data.force_from_motion(problem);
  return data.finish(problem, options, rank_status, solution);
}

}  // namespace constrained_dynamics
