// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/formulations/udwadia_kalaba.hpp"

#include "row_scratch.hpp"

namespace constrained_dynamics
{

namespace
{

class UdwadiaKalabaData : public RootScratch
{
public:
  UdwadiaKalabaData(int n, int m)
  : RootScratch(n, m), free(Eigen::VectorXd::Zero(n)), correction(Eigen::VectorXd::Zero(n))
  {
  }

  /// Adds the acceleration of (E10) for the rows A1 u̇ = beta and the force h.
  void add_motion(const ConstVectorRef & beta_now, const ConstVectorRef & force) noexcept
  {
    const Eigen::Index n = speed_count();
    const Eigen::Index r = rank();
    free = force;
    inertia.divide_by_transpose(free);
    inertia.divide(free);
    auto x = correction.head(r);
    x = beta_now;
    x.noalias() -= basis.leftCols(r).transpose() * free;
    range.divide_by_transpose(x);
    correction.tail(n - r).setZero();
    range.apply(correction);
    inertia.divide(correction);
    acceleration += free + correction;
  }

  Eigen::VectorXd free;  // a
  Eigen::VectorXd correction;
};

}  // namespace

std::unique_ptr<FormulationData> UdwadiaKalaba::make_data(int speed_count, int max_row_count) const
{
  return std::make_unique<UdwadiaKalabaData>(speed_count, max_row_count);
}

Status UdwadiaKalaba::do_solve_rows(
  const RowProblem & problem, const RankOptions & options, FormulationData & formulation_data,
  RowSolution & solution) const noexcept CD_NONBLOCKING
{
  UdwadiaKalabaData & data = static_cast<UdwadiaKalabaData &>(formulation_data);
  const Status rank_status = data.begin(problem, options);
  if (!has_output(rank_status))
  {
    return rank_status;
  }
  if (!data.factor_root(problem))
  {
    return Status::kSingularInertia;
  }
  data.acceleration.setZero();
  data.add_motion(data.beta(), problem.force);  // (E10)
  data.residual(problem);
  data.add_motion(data.residual_particular.head(data.rank()), data.residual_force);
  data.force_from_motion(problem);
  return data.finish(problem, options, rank_status, solution);
}

}  // namespace constrained_dynamics
