// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/dynamics/workspace.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "dynamics/dynamics_impl.hpp"
#include "dynamics/workspace_impl.hpp"

namespace constrained_dynamics
{

namespace
{

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// Every number of it NaN, in the sizes that it has.
void blank(SystemTerms & terms)
{
  terms.time = kNaN;
  for (Eigen::VectorXd * vector :
       {&terms.coordinates, &terms.speeds, &terms.kinematic_drift, &terms.rates,
        &terms.acceleration_bias, &terms.force})
  {
    vector->setConstant(kNaN);
  }
  for (Eigen::MatrixXd * matrix :
       {&terms.kinematic_matrix, &terms.mass_matrix, &terms.input_matrix})
  {
    matrix->setConstant(kNaN);
  }
}

void blank(Solution & solution)
{
  for (Eigen::VectorXd * vector :
       {&solution.acceleration, &solution.constraint_force, &solution.multipliers,
        &solution.redundancy})
  {
    vector->setConstant(kNaN);
  }
  for (WrenchPair & pair : solution.wrenches)
  {
    for (Wrench * wrench : {&pair.on_a, &pair.on_b})
    {
      wrench->point.setConstant(kNaN);
      wrench->force.setConstant(kNaN);
      wrench->torque.setConstant(kNaN);
    }
  }
  solution.condition = kNaN;
  solution.inconsistency = kNaN;
}

}  // namespace

Workspace::Impl::Impl(const Dynamics & of, std::shared_ptr<const ConstrainedSystem> system)
: dynamics(of), evaluation(std::move(system))
{
  const Formulation & formulation = dynamics.formulation();
  const Eigen::Index n = dynamics.system().speed_count();
  const Eigen::Index m = dynamics.constraints().row_count();
  formulation_data = formulation.make_data(evaluation.of());
  const bool shares_partition =
    dynamics.options().stabilisation.keep_independent &&
    evaluation.nominal(RowSubset::kVelocity) == evaluation.nominal(RowSubset::kAll);
  for (const RowSubset subset : {RowSubset::kPosition, RowSubset::kVelocity})
  {
    if (!(subset == RowSubset::kVelocity && shares_partition))
    {
      projection_data[static_cast<std::size_t>(subset)] =
        formulation.row_form().make_data(static_cast<int>(n), static_cast<int>(m));
    }
  }
  solution.acceleration.setZero(n);
  solution.constraint_force.setZero(n);
  solution.multipliers.setZero(m);
  solution.redundancy.setZero(m);
  solution.wrenches.resize(static_cast<std::size_t>(dynamics.constraints().wrench_count()));
  no_solution = solution;
  blank(no_solution);
  no_terms = evaluation.system_data->terms;
  blank(no_terms);
  no_rows = evaluation.rows;  // nothing has been evaluated yet
  const Eigen::Index longest = std::max<Eigen::Index>(n, dynamics.system().coordinate_count());
  trial.setZero(longest);
  best.setZero(longest);
}

Workspace::Workspace(const Dynamics & dynamics)
: impl_(std::make_unique<Impl>(
    dynamics, std::shared_ptr<const ConstrainedSystem>(dynamics.impl_, &dynamics.impl_->system)))
{
}

Workspace::Workspace(const Dynamics & dynamics, const State & state) : Workspace(dynamics)
{
  reset(state);
}

Workspace Workspace::unanalysed(const Dynamics & dynamics) { return Workspace(dynamics); }

Workspace::~Workspace() = default;
Workspace::Workspace(Workspace &&) noexcept = default;
Workspace & Workspace::operator=(Workspace &&) noexcept = default;

const RankReport & Workspace::rank_report() const noexcept { return impl_->report; }

Terms Workspace::terms() const noexcept CD_NONBLOCKING
{
  const Evaluation & evaluation = impl_->evaluation;
  const SystemTerms & all = evaluation.system_data->terms;
  const SystemTerms & motion = evaluation.has(Evaluation::kKinematics) ? all : impl_->no_terms;
  const SystemTerms & dynamic = evaluation.has(Evaluation::kTerms) ? all : impl_->no_terms;
  return {
    motion.time,
    motion.coordinates,
    motion.speeds,
    motion.kinematic_matrix,
    motion.kinematic_drift,
    motion.rates,
    motion.acceleration_bias,
    dynamic.mass_matrix,
    dynamic.force,
    dynamic.input_matrix};
}

const Rows & Workspace::rows() const noexcept CD_NONBLOCKING
{
  return impl_->evaluation.has(Evaluation::kRowValues) ? impl_->evaluation.rows : impl_->no_rows;
}

const Solution & Workspace::solution() const noexcept CD_NONBLOCKING
{
  return impl_->evaluation.has(Evaluation::kSolution) ? impl_->solution : impl_->no_solution;
}

const SystemData & Workspace::system_data() const noexcept CD_NONBLOCKING
{
  return *impl_->evaluation.system_data;
}

SystemData & Workspace::change_system_data() noexcept CD_NONBLOCKING
{
  impl_->evaluation.forget(Evaluation::kTerms);
  return *impl_->evaluation.system_data;
}

const Eigen::VectorXd & Workspace::row_scale() const noexcept CD_NONBLOCKING
{
  return impl_->evaluation.row_scale;
}

int Workspace::nominal_rank() const noexcept CD_NONBLOCKING
{
  return impl_->evaluation.nominal(RowSubset::kAll);
}

bool Workspace::is_active(int constraint) const noexcept CD_NONBLOCKING
{
  return impl_->evaluation.is_active(constraint);
}

void Workspace::set_active(int constraint, bool active) noexcept CD_NONBLOCKING
{
  Evaluation & evaluation = impl_->evaluation;
  if (evaluation.is_active(constraint) != active)
  {
    evaluation.active[static_cast<std::size_t>(constraint)] = active;
    evaluation.nominal_rank.fill(RowFactorisation::kUnknownRank);
  }
}

Eigen::VectorXd & Workspace::given_multipliers() noexcept CD_NONBLOCKING
{
  return impl_->evaluation.given_multipliers;
}

const Eigen::VectorXd & Workspace::given_multipliers() const noexcept CD_NONBLOCKING
{
  return impl_->evaluation.given_multipliers;
}

const FormulationData & Workspace::formulation_data() const noexcept
{
  return *impl_->formulation_data;
}

}  // namespace constrained_dynamics
