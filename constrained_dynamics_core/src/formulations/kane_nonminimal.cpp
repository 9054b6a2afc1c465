// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/formulations/kane_nonminimal.hpp"

#include "kane_scratch.hpp"

namespace constrained_dynamics
{

std::unique_ptr<FormulationData> KaneNonminimal::make_data(int speed_count, int max_row_count) const
{
  return std::make_unique<KaneScratch>(speed_count, max_row_count);
}

const RowFactorisation & KaneNonminimal::factorisation(const FormulationData & data)
{
  return static_cast<const KaneScratch &>(data).factorisation;
}

void KaneNonminimal::equations(
  const FormulationData & formulation_data, MatrixRef matrix,
  VectorRef right) noexcept CD_NONBLOCKING
{
  // Letters of the seeds: T = [A1; A2 Q], V = [β; A2 h]; A1 = [I −K], A2 = [Kᵀ I] (E5, E6).
  const KaneScratch & data = static_cast<const KaneScratch &>(formulation_data);
  const Eigen::Index n = data.speed_count();
  const Eigen::Index r = data.rank();
  const Eigen::Index p = n - r;
  const Eigen::VectorXi & order = data.factorisation.order();
  const auto K = data.factorisation.dependency();
  for (Eigen::Index j = 0; j < n; ++j)
  {
    auto A1_j = matrix.col(order(j)).head(r);
    auto A2_Q_j = matrix.col(order(j)).tail(p);
    A2_Q_j = data.mass.col(j).tail(p);
    if (r > 0)
    {
      A2_Q_j.noalias() += K.transpose() * data.mass.col(j).head(r);
    }
    if (j < r)
    {
      A1_j.setZero();
      A1_j(j) = 1.0;
    }
    else
    {
      A1_j = -K.col(j - r);
    }
  }
  right.head(r) = data.particular.head(r);
  right.tail(p) = data.force.tail(p);
  if (r > 0)
  {
    right.tail(p).noalias() += K.transpose() * data.force.head(r);
  }
}

Status KaneNonminimal::do_solve(
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
