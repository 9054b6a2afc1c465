// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/formulations/articulated_body.hpp"

#include <cstdint>
#include <sstream>

#include "constrained_dynamics/formulations/evaluation.hpp"
#include "formulations/tree_solver.hpp"

namespace constrained_dynamics
{

namespace
{

// For this tolerance, rows that the recursion accepts are regular with a margin of two digits.
constexpr double kLargestTolerance = 1e-5;

class ArticulatedBodyData : public FormulationData
{
public:
  std::shared_ptr<const TreeSolver> solver;  // none where there is no tree
  std::unique_ptr<TreeSolverData> tree;
  std::uint64_t stamp = 0;  // of the state whose row forces `tree` has

  /// φ, φ̇ and b of the evaluation and the forces of the rows on bodies.
  Status evaluate(Evaluation & evaluation) noexcept
  {
    if (stamp == evaluation.stamp() && evaluation.has(Evaluation::kRowValues))
    {
      return Status::kOk;
    }
    const Status status =
      solver->evaluate(*evaluation.system_data, evaluation.scratch, evaluation.rows, *tree);
    if (status == Status::kOk)
    {
      evaluation.note_row_values();
      stamp = evaluation.stamp();
    }
    return status;
  }

  static TreeProblem problem(const Evaluation & evaluation) noexcept
  {
    return {
      *evaluation.system_data,
      evaluation.inputs,
      evaluation.rows.jacobian,
      evaluation.stabilised_bias,
      evaluation.active,
      evaluation.row_scale,
      evaluation.of().multiplier_compliance,
      evaluation.nominal(RowSubset::kAll)};
  }
};

}  // namespace

std::string ArticulatedBody::do_refusal(const ConstrainedSystem & system) const
{
  if (system.system().as_robot() == nullptr)
  {
    return "the system is no tree of bodies; allowed: systems of robots and bodies whose controls "
           "are no states";
  }
  if (!system.system().driven_speeds().empty())
  {
    return "the system has driven speeds; allowed: none";
  }
  if (!(system.options.rank.singular_tolerance <= kLargestTolerance))
  {
    std::ostringstream text;
    text << "the singular tolerance is " << system.options.rank.singular_tolerance
         << "; allowed: up to " << kLargestTolerance;
    return text.str();
  }
  return "";
}

std::unique_ptr<FormulationData> ArticulatedBody::make_data(const ConstrainedSystem & system) const
{
  auto data = std::make_unique<ArticulatedBodyData>();
  if (refusal(system).empty())
  {
    data->solver = TreeSolver::make(system.constraints);
    data->tree = data->solver->make_data();
  }
  return data;
}

Status ArticulatedBody::do_solve(
  Evaluation & evaluation, FormulationData & formulation_data,
  Solution & solution) const noexcept CD_NONBLOCKING
{
  ArticulatedBodyData & data = static_cast<ArticulatedBodyData &>(formulation_data);
  if (
    !data.solver || evaluation.nominal(RowSubset::kAll) == RowFactorisation::kUnknownRank ||
    (evaluation.given_multipliers.array() != 0.0).any())
  {
    return Status::kDeclined;
  }
  if (!evaluation.has(Evaluation::kKinematics))
  {
    return Status::kNoState;
  }
  const Status status = data.evaluate(evaluation);
  if (status != Status::kOk)
  {
    return status;
  }
  evaluation.stabilise();
  const TreeProblem problem = ArticulatedBodyData::problem(evaluation);
  return data.solver->solve(problem, evaluation.scratch, *data.tree, solution) ? Status::kOk
                                                                               : Status::kDeclined;
}

void ArticulatedBody::do_measure(Evaluation & evaluation, FormulationData & formulation_data) const
{
  ArticulatedBodyData & data = static_cast<ArticulatedBodyData &>(formulation_data);
  if (data.solver && data.evaluate(evaluation) == Status::kOk)
  {
    evaluation.stabilise();
    data.solver->measure(ArticulatedBodyData::problem(evaluation), *data.tree);
  }
}

}  // namespace constrained_dynamics
