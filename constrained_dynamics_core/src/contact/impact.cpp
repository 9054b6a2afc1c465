// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/contact/impact.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "contact/impact_data.hpp"
#include "contact/tolerances.hpp"

namespace constrained_dynamics
{

ImpactProblem::ImpactProblem(const Dynamics & dynamics)
: roles(static_cast<std::size_t>(dynamics.constraints().size()), ImpactRole::kEnforced),
  restitution(Eigen::VectorXd::Zero(dynamics.constraints().size())),
  impulse(Eigen::VectorXd::Zero(dynamics.system().speed_count()))
{
}

ImpactProblem::ImpactProblem(const Dynamics & dynamics, const Workspace & workspace)
: ImpactProblem(dynamics)
{
  for (std::size_t i = 0; i < roles.size(); ++i)
  {
    roles[i] =
      workspace.is_active(static_cast<int>(i)) ? ImpactRole::kEnforced : ImpactRole::kAbsent;
  }
}

ImpactSolution::ImpactSolution(const Dynamics & dynamics, std::size_t contact_count)
: speeds(Eigen::VectorXd::Zero(dynamics.system().speed_count())),
  multipliers(Eigen::VectorXd::Zero(dynamics.constraints().row_count())),
  constraint_impulse(Eigen::VectorXd::Zero(dynamics.system().speed_count())),
  wrenches(static_cast<std::size_t>(dynamics.constraints().wrench_count())),
  outcomes(contact_count, ContactOutcome::kAbsent)
{
}

ImpactSolver::Impl::Impl(const Dynamics & the_dynamics, std::size_t contact_limit)
: dynamics(&the_dynamics),
  formulation_data(formulation.make_data(
    the_dynamics.system().speed_count(), the_dynamics.constraints().row_count())),
  cone(the_dynamics.system().speed_count(), std::max(1, the_dynamics.constraints().row_count())),
  cone_contacts(contact_limit),
  modes(contact_limit),
  sliding_solver(contact_limit)
{
  const Eigen::Index n = dynamics->system().speed_count();
  const Eigen::Index m = dynamics->constraints().row_count();
  row_solution.acceleration.setZero(n);
  row_solution.constraint_force.setZero(n);
  row_solution.multipliers.setZero(m);
  row_solution.redundancy.setZero(m);
  is_equality.assign(static_cast<std::size_t>(m), 0);
  sliding.reserve(contact_limit);
  scratch = dynamics->constraints().make_scratch();
  q.setZero(dynamics->system().coordinate_count());
  moved = q;
  moved_speeds.setZero(n);
  u.setZero(n);
  mass.setZero(n, n);
  jacobian.setZero(m, n);
  row_scale.setOnes(m);
  before.setZero(m);
  factors.setZero(m);
  targets.setZero(m);
  kinematic.setZero(q.size(), n);
  row_size.setZero(m);
  active_rows.setZero(m);
  active_jacobian.setZero(m, n);
  active_targets.setZero(m);
  active_scale.setOnes(m);
  active_weight.setOnes(m);
  multipliers.setZero(m);
  zero_speeds.setZero(n);
  force.setZero(n);
  row_buffer.setZero(n);
  known_force.setZero(n);
  path_speeds.setZero(n);
  path_slope.setZero(n);
  path_stage.setZero(n);
  path_multipliers.setZero(m);
  path_rate.setZero(m);
  turning.setZero(n, n);
  plain_mass.setZero(n, n);
  result_a.setZero(n, n);
  result_b.setZero(n, n);
}

ImpactSolver::ImpactSolver(const Dynamics & dynamics, std::size_t max_contacts)
: impl_(std::make_unique<Impl>(dynamics, max_contacts))
{
}
ImpactSolver::~ImpactSolver() = default;
ImpactSolver::ImpactSolver(ImpactSolver &&) noexcept = default;
ImpactSolver & ImpactSolver::operator=(ImpactSolver &&) noexcept = default;

Status ImpactSolver::Impl::load(
  const ImpactProblem & problem, double at_time, const ConstVectorRef & at_q,
  const ConstVectorRef & at_u, Workspace & workspace) noexcept
{
  if (
    at_q.size() != q.size() || at_u.size() != u.size() || problem.impulse.size() != u.size() ||
    problem.contacts.size() > modes.size() ||
    problem.roles.size() != static_cast<std::size_t>(dynamics->constraints().size()))
  {
    return Status::kSizeMismatch;
  }
  if (!problem.impulse.allFinite() || !problem.restitution.allFinite())
  {
    return Status::kNonFiniteInput;
  }
  Status status = dynamics->evaluate_rows(at_time, at_q, at_u, workspace);
  status = status == Status::kOk ? dynamics->evaluate_terms(workspace) : status;
  if (status != Status::kOk)
  {
    return status;
  }
  time = at_time;
  q = at_q;
  u = at_u;
  mass = workspace.terms().mass_matrix;
  jacobian = workspace.rows().jacobian;
  row_scale = workspace.row_scale();
  before = workspace.rows().velocity;
  path_dependent = false;
  const double speed = u.norm();
  for (Eigen::Index row = 0; row < before.size(); ++row)
  {
    // Not the size that it has: a row that is round-off would have no rounding of its own.
    const double size = std::max(jacobian.row(row).norm(), 1.0 / row_scale(row));
    row_size(row) = size * speed + std::abs(before(row));
  }
  if (!row_size.allFinite())
  {
    return Status::kNonFiniteResult;  // squares of such speeds are beyond all numbers
  }
  for (int i = 0; i < dynamics->constraints().size(); ++i)
  {
    const ImpactRole role = problem.roles[static_cast<std::size_t>(i)];
    for (int k = 0; k < dynamics->constraints()[i].row_count(); ++k)
    {
      is_equality[static_cast<std::size_t>(row_of(i) + k)] =
        role == ImpactRole::kEnforced || role == ImpactRole::kImpacting;
    }
  }
  return Status::kOk;
}

/// c of (E13), with every restitution multiplied by `scale`.
void ImpactSolver::Impl::set_targets(const ImpactProblem & problem, double scale) noexcept
{
  restitution_scale = scale;
  factors.setZero();
  for (int i = 0; i < dynamics->constraints().size(); ++i)
  {
    if (problem.roles[static_cast<std::size_t>(i)] == ImpactRole::kImpacting)
    {
      factors.segment(row_of(i), dynamics->constraints()[i].row_count())
        .setConstant(-(1.0 + scale * problem.restitution(i)));
    }
  }
  for (const ImpactContact & contact : problem.contacts)
  {
    if (!is_in(problem, contact))
    {
      continue;
    }
    const int row = row_of(contact.constraint);
    const bool approaches = contact.side * before(row) > 0.0;
    factors(row) = -(1.0 + (approaches ? scale * problem.restitution(contact.constraint) : 0.0));
    for (int k = 0; k < slip_rows(contact); ++k)
    {
      factors(row_of(contact.friction_constraint) + k) = -1.0;
    }
  }
  // A velocity that is rounding of 0 would make redundant rows contradict each other by rounding.
  targets = (before.array().abs() > tolerance::kApproachRounding * row_size.array())
              .select(factors.cwiseProduct(before), 0.0);
}

bool ImpactSolver::Impl::bounces(const ImpactProblem & problem) const noexcept
{
  for (const ImpactContact & contact : problem.contacts)
  {
    if (is_in(problem, contact) && factors(row_of(contact.constraint)) < -1.0)
    {
      return true;
    }
  }
  return false;
}

double ImpactSolver::Impl::energy_change() const noexcept
{
  // ½ (u⁺ + u⁻)ᵀ Q (u⁺ − u⁻)
  double sum = 0.0;
  const Eigen::VectorXd & change = row_solution.acceleration;
  for (Eigen::Index i = 0; i < u.size(); ++i)
  {
    sum += (u(i) + 0.5 * change(i)) * mass.row(i).dot(change);
  }
  return sum;
}

bool ImpactSolver::Impl::is_scleronomic(const ImpactProblem & problem) const noexcept
{
  for (Eigen::Index row = 0; row < before.size(); ++row)
  {
    const int constraint = dynamics->constraints().constraint_of_row(static_cast<int>(row));
    if (
      problem.roles[static_cast<std::size_t>(constraint)] != ImpactRole::kAbsent &&
      !(std::abs(before(row) - jacobian.row(row).dot(u)) <=
        tolerance::kScleronomic * row_size(row)))
    {
      return false;
    }
  }
  return true;
}

/// min(1, ‖v‖/‖E v‖) in the norm of W⁺ over the rows that act.
double ImpactSolver::Impl::scale_for_energy(const ImpactProblem & problem) noexcept
{
  gather(problem);
  force.setZero();
  const auto square = [&](bool with_restitution)
  {
    gather(problem);
    double sum = 0.0;
    for (int r = 0; r < active_count; ++r)
    {
      const int row = active_rows(r);
      // c = −(1 + e) v: v itself, or e v.
      active_targets(r) = targets(row) == 0.0 ? 0.0
                          : with_restitution  ? -targets(row) - before(row)
                                              : before(row);
    }
    if (!has_output(solve_rows(force, true)))
    {
      return 0.0;
    }
    for (int r = 0; r < active_count; ++r)
    {
      sum += active_targets(r) * row_solution.multipliers(r);
    }
    return sum;
  };
  const double restored = square(true);
  const double approached = square(false);
  return restored > 0.0 && approached >= 0.0 ? std::sqrt(approached / restored) : 0.0;
}

/// Modes and speeds for the state that is loaded, with restitutions that do not raise the energy.
Status ImpactSolver::Impl::solve_loaded(const ImpactProblem & problem) noexcept
{
  Status status = Status::kOk;
  const bool keeps_energy = problem.impulse.squaredNorm() == 0.0 && is_scleronomic(problem);
  double kinetic = 0.0;
  for (Eigen::Index i = 0; i < u.size(); ++i)
  {
    kinetic += 0.5 * u(i) * mass.row(i).dot(u);
  }
  double scale = 1.0;
  without_friction = false;
  for (int k = 0; k < bound::kEnergyIterations; ++k)
  {
    set_targets(problem, scale);
    status = solve_chosen(problem);
    if (!has_output(status))
    {
      return status;
    }
    if (status == Status::kInconsistent && scale > 0.0 && bounces(problem))
    {
      scale = 0.0;  // no way to bounce, say between two walls
      continue;
    }
    if (!keeps_energy || energy_change() <= tolerance::kImpactRounding * kinetic)
    {
      break;
    }
    if (scale == 0.0)
    {
      if (without_friction)
      {
        break;
      }
      without_friction = true;  // what the sweeps left of friction gives energy: none then
      continue;
    }
    const double factor = scale_for_energy(problem);
    // Another set of contacts, or friction, may need more than the factor of this one.
    scale *=
      factor < 1.0 - tolerance::kSameFactor ? factor * (1.0 - tolerance::kFactorMargin) : 0.5;
    if (k + bound::kLastWithoutRestitution >= bound::kEnergyIterations)
    {
      scale = 0.0;
    }
  }
  return status;
}

Status ImpactSolver::solve(
  const ImpactProblem & problem, double time, const ConstVectorRef & q, const ConstVectorRef & u,
  Workspace & workspace, ImpactSolution & out) noexcept CD_NONBLOCKING
{
  Impl & data = *impl_;
  Status status = data.load(problem, time, q, u, workspace);
  if (status != Status::kOk)
  {
    return status;
  }
  status = data.solve_loaded(problem);
  if (!has_output(status))
  {
    return status;
  }
  if (data.is_nonlinear(problem, workspace))
  {
    status = data.follow_path(problem, workspace);
    if (!has_output(status))
    {
      return status;
    }
  }
  if (!data.row_solution.acceleration.allFinite() || !data.multipliers.allFinite())
  {
    return Status::kNonFiniteResult;
  }
  data.set_turning(problem);
  data.write(problem, workspace, out);
  return status;
}

void ImpactSolver::Impl::write(
  const ImpactProblem & problem, Workspace & workspace, ImpactSolution & out) noexcept
{
  out.speeds = u + row_solution.acceleration;
  out.multipliers = multipliers;
  out.constraint_impulse.noalias() = mass * row_solution.acceleration;
  out.constraint_impulse -= problem.impulse;
  out.energy_change = energy_change();
  out.restitution_scale = path_dependent ? 1.0 : restitution_scale;
  out.rank = row_solution.rank;
  out.inconsistency = row_solution.inconsistency;
  out.path_dependent = path_dependent;
  for (std::size_t i = 0; i < problem.contacts.size() && i < out.outcomes.size(); ++i)
  {
    const bool pushes = std::abs(multipliers(row_of(problem.contacts[i].constraint))) > 0.0;
    switch (modes[i].kind)
    {
      case ImpactMode::Kind::kAbsent:
        out.outcomes[i] = ContactOutcome::kAbsent;
        break;
      case ImpactMode::Kind::kSeparates:
        out.outcomes[i] = ContactOutcome::kSeparates;
        break;
      case ImpactMode::Kind::kSlides:
        out.outcomes[i] = ContactOutcome::kSlides;
        break;
      case ImpactMode::Kind::kSticks:
        out.outcomes[i] = pushes ? ContactOutcome::kPushes : ContactOutcome::kSeparates;
        break;
      case ImpactMode::Kind::kGiven:
        out.outcomes[i] = !pushes          ? ContactOutcome::kSeparates
                          : modes[i].slips ? ContactOutcome::kSlides
                                           : ContactOutcome::kPushes;
    }
  }
  for (int i = 0; i < dynamics->constraints().size(); ++i)
  {
    const Constraint & constraint = dynamics->constraints()[i];
    if (!constraint.wrench_bodies().empty())
    {
      constraint.wrenches(
        workspace.system_data(), scratch, multipliers.segment(row_of(i), constraint.row_count()),
        out.wrenches.data() + dynamics->constraints().wrench_offset(i));
    }
  }
}

ImpactSolution solve_impact(
  const Dynamics & dynamics, const ImpactProblem & problem, const State & state, Status * status)
{
  ImpactSolver solver(dynamics, problem.contacts.size());
  solver.check(problem);
  Workspace workspace = Workspace::unanalysed(dynamics);
  ImpactSolution solution(dynamics, problem.contacts.size());
  const Status result = solver.solve(problem, state.time, state.q, state.u, workspace, solution);
  if (!has_output(result))
  {
    throw std::invalid_argument(
      std::string("impact: there is no solution at this state: status ") + to_string(result));
  }
  if (status != nullptr)
  {
    *status = result;
  }
  return solution;
}

}  // namespace constrained_dynamics
