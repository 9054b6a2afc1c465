// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/formulations/automatic.hpp"

#include "constrained_dynamics/formulations/evaluation.hpp"

namespace constrained_dynamics
{

namespace
{

class AutomaticData : public FormulationData
{
public:
  std::unique_ptr<FormulationData> tree;
  std::unique_ptr<FormulationData> rows;
};

}  // namespace

std::unique_ptr<FormulationData> Automatic::make_data(const ConstrainedSystem & system) const
{
  auto data = std::make_unique<AutomaticData>();
  data->tree = tree_.make_data(system);
  data->rows = rows_.make_data(system);
  return data;
}

Status Automatic::do_solve(
  Evaluation & evaluation, FormulationData & formulation_data,
  Solution & solution) const noexcept CD_NONBLOCKING
{
  AutomaticData & data = static_cast<AutomaticData &>(formulation_data);
  if (!evaluation.has(Evaluation::kJacobian | Evaluation::kTerms))
  {
    const Status status = tree_.solve(evaluation, *data.tree, solution);
    if (status != Status::kDeclined)
    {
      return status;
    }
  }
  return rows_.solve(evaluation, *data.rows, solution);
}

void Automatic::do_measure(Evaluation & evaluation, FormulationData & formulation_data) const
{
  tree_.measure(evaluation, *static_cast<AutomaticData &>(formulation_data).tree);
}

}  // namespace constrained_dynamics
