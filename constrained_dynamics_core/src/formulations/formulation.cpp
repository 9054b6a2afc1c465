// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/formulations/formulation.hpp"

#include "constrained_dynamics/formulations/evaluation.hpp"

namespace constrained_dynamics
{

FormulationData::~FormulationData() = default;
Formulation::~Formulation() = default;

std::string Formulation::do_refusal(const ConstrainedSystem &) const { return ""; }

void Formulation::do_measure(Evaluation &, FormulationData &) const {}

void RowSolution::resize(Eigen::Index speed_count, Eigen::Index max_row_count)
{
  acceleration.setZero(speed_count);
  constraint_force.setZero(speed_count);
  multipliers.setZero(max_row_count);
  redundancy.setZero(max_row_count);
}

std::unique_ptr<FormulationData> RowFormulation::make_data(const ConstrainedSystem & system) const
{
  return make_data(system.system().speed_count(), system.constraints.row_count());
}

Status RowFormulation::do_solve(
  Evaluation & evaluation, FormulationData & data,
  Solution & solution) const noexcept CD_NONBLOCKING
{
  Status status = evaluation.ask_rows_and_terms();
  if (status != Status::kOk)
  {
    return status;
  }
  const RowProblem problem = evaluation.motion_problem();
  status = do_prepare(*evaluation.system_data, data);
  if (status != Status::kOk)
  {
    return status;
  }
  status = do_solve_rows(problem, evaluation.of().options.rank, data, evaluation.row_solution);
  if (has_output(status))
  {
    evaluation.note_rank(RowSubset::kAll, evaluation.row_solution.rank);
    evaluation.scatter(solution);
  }
  return status;
}

Status RowFormulation::do_prepare(const SystemData &, FormulationData &) const noexcept
  CD_NONBLOCKING
{
  return Status::kOk;
}

Status RowFormulation::do_correct(
  const RowProblem &, const RankOptions &, FormulationData &,
  RowSolution &) const noexcept CD_NONBLOCKING
{
  return Status::kSizeMismatch;
}

}  // namespace constrained_dynamics
