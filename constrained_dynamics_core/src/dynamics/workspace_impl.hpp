// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <array>
#include <memory>

#include <Eigen/Core>

#include "constrained_dynamics/dynamics/dynamics.hpp"
#include "constrained_dynamics/formulations/evaluation.hpp"

namespace constrained_dynamics
{

struct Workspace::Impl
{
  Impl(const Dynamics & of, std::shared_ptr<const ConstrainedSystem> system);

  Dynamics dynamics;  // a copy, which shares the data
  Evaluation evaluation;
  std::unique_ptr<FormulationData> formulation_data;
  // Of projections of positions and of velocities, each with a partition of its own; none of
  // velocities where they share the partition of the solve.
  std::array<std::unique_ptr<FormulationData>, 2> projection_data;
  Solution solution;
  RankReport report;

  // What is read in place of parts that are not there: NaN.
  Rows no_rows;
  SystemTerms no_terms;
  Solution no_solution;

  // Of projections.
  Eigen::VectorXd trial;
  Eigen::VectorXd best;
};

/// What functions of the rooms from here on see of a workspace.
struct WorkspaceAccess
{
  static Evaluation & evaluation(Workspace & workspace) { return workspace.impl_->evaluation; }
  static const Evaluation & evaluation(const Workspace & workspace)
  {
    return workspace.impl_->evaluation;
  }
  static FormulationData & formulation_data(Workspace & workspace)
  {
    return *workspace.impl_->formulation_data;
  }
};

}  // namespace constrained_dynamics
