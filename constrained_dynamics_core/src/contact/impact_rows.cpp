// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

// The solution of an impact for given modes: enforced rows, and friction of sliding contacts.
#include <algorithm>
#include <cmath>

#include "contact/impact_data.hpp"
#include "contact/tolerances.hpp"

namespace constrained_dynamics
{

void ImpactSolver::Impl::gather(const ImpactProblem & problem) noexcept
{
  active_count = 0;
  const auto add = [&](int row)
  {
    active_rows(active_count) = row;
    active_jacobian.row(active_count) = jacobian.row(row);
    active_targets(active_count) = targets(row);
    active_scale(active_count) = row_scale(row);
    active_weight(active_count) = dynamics->constraints().row(row).rotational
                                    ? 1.0 / dynamics->options().characteristic_length
                                    : 1.0;
    ++active_count;
  };
  for (int row = 0; row < static_cast<int>(before.size()); ++row)
  {
    if (is_equality[static_cast<std::size_t>(row)] != 0)
    {
      add(row);
    }
  }
  sliding.clear();
  for (std::size_t i = 0; i < problem.contacts.size(); ++i)
  {
    const ImpactContact & contact = problem.contacts[i];
    const ImpactMode::Kind mode = modes[i].kind;
    if (mode == ImpactMode::Kind::kSticks || mode == ImpactMode::Kind::kSlides)
    {
      add(row_of(contact.constraint));
    }
    if (mode == ImpactMode::Kind::kSticks)
    {
      for (int k = 0; k < slip_rows(contact); ++k)
      {
        add(row_of(contact.friction_constraint) + k);
      }
    }
    if (mode == ImpactMode::Kind::kSlides)
    {
      sliding.push_back(static_cast<int>(i));
    }
  }
}

/// Q Δ = force + AᵀΛ, A Δ = c (or 0) for the gathered rows.
Status ImpactSolver::Impl::solve_rows(const Eigen::VectorXd & on, bool with_targets) noexcept
{
  if (!with_targets)
  {
    active_targets.head(active_count).setZero();
  }
  const RowProblem problem{
    mass,
    on,
    active_jacobian.topRows(active_count),
    active_targets.head(active_count),
    active_scale.head(active_count),
    active_weight.head(active_count),
    RowFactorisation::kUnknownRank,
    u.norm()};
  return formulation.solve(problem, dynamics->options().rank, *formulation_data, row_solution);
}

/// Impulses of contacts that are taken from the cone problem.
void ImpactSolver::Impl::add_given(const ImpactProblem & problem) noexcept
{
  for (std::size_t i = 0; i < problem.contacts.size(); ++i)
  {
    if (modes[i].kind != ImpactMode::Kind::kGiven)
    {
      continue;
    }
    const ImpactContact & contact = problem.contacts[i];
    const int row = row_of(contact.constraint);
    force += multipliers(row) * jacobian.row(row).transpose();
    for (int t = 0; t < slip_rows(contact); ++t)
    {
      const int slip = row_of(contact.friction_constraint) + t;
      force += multipliers(slip) * jacobian.row(slip).transpose();
    }
  }
}

/// Friction of the i-th sliding contact for a normal impulse.
void ImpactSolver::Impl::add_sliding(
  const ImpactProblem & problem, Eigen::Index i, double normal) noexcept
{
  const auto index = static_cast<std::size_t>(sliding[static_cast<std::size_t>(i)]);
  const ImpactContact & contact = problem.contacts[index];
  for (int t = 0; t < slip_rows(contact); ++t)
  {
    force -= contact.friction * modes[index].direction[t] * normal *
             jacobian.row(row_of(contact.friction_constraint) + t).transpose();
  }
}

/// Adds friction of sliding contacts, whose normal impulses are unknown, to the force.
Status ImpactSolver::Impl::solve_sliding(const ImpactProblem & problem) noexcept
{
  const auto count = static_cast<Eigen::Index>(sliding.size());
  const auto normal_of = [&](Eigen::Index i)
  {
    const ImpactContact & contact =
      problem.contacts[static_cast<std::size_t>(sliding[static_cast<std::size_t>(i)])];
    const int row = row_of(contact.constraint);
    int r = 0;
    while (r < active_count && active_rows(r) != row)
    {
      ++r;
    }
    return r < active_count ? -contact.side * row_solution.multipliers(r) : 0.0;
  };
  Status status = solve_rows(force, true);
  if (!has_output(status))
  {
    return status;
  }
  known_force = force;
  for (Eigen::Index i = 0; i < count; ++i)
  {
    sliding_solver.frictionless(i) = normal_of(i);
  }
  const auto respond = [&](Eigen::Index j, VectorRef column) noexcept
  {
    force.setZero();
    add_sliding(problem, j, 1.0);
    const Status responded = solve_rows(force, false);
    for (Eigen::Index i = 0; has_output(responded) && i < count; ++i)
    {
      column(i) = normal_of(i);
    }
    return responded;
  };
  status = sliding_solver.solve(count, SlidingSolver::Uniqueness::kEachAlone, respond);
  if (!has_output(status))
  {
    return status;
  }
  force = known_force;
  for (Eigen::Index i = 0; i < count; ++i)
  {
    add_sliding(problem, i, sliding_solver.normal(i));
  }
  gather(problem);  // restores the targets
  return status;
}

/// Q Δ = impulse + AᵀΛ with the friction of the modes, A Δ = c for the gathered rows.
Status ImpactSolver::Impl::solve_modes(
  const ImpactProblem & problem, const Eigen::VectorXd & impulse) noexcept
{
  force = impulse;
  add_given(problem);
  Status status = sliding.empty() ? Status::kOk : solve_sliding(problem);
  status = has_output(status) ? solve_rows(force, true) : status;
  if (has_output(status))
  {
    write_multipliers(problem);
  }
  return status;
}

void ImpactSolver::Impl::write_multipliers(const ImpactProblem & problem) noexcept
{
  for (std::size_t i = 0; i < problem.contacts.size(); ++i)
  {
    const ImpactContact & contact = problem.contacts[i];
    if (modes[i].kind != ImpactMode::Kind::kGiven && is_in(problem, contact))
    {
      multipliers(row_of(contact.constraint)) = 0.0;
      for (int t = 0; t < slip_rows(contact); ++t)
      {
        multipliers(row_of(contact.friction_constraint) + t) = 0.0;
      }
    }
  }
  for (int r = 0; r < active_count; ++r)
  {
    multipliers(active_rows(r)) = row_solution.multipliers(r);
  }
  for (std::size_t i = 0; i < sliding.size(); ++i)
  {
    const auto index = static_cast<std::size_t>(sliding[i]);
    const ImpactContact & contact = problem.contacts[index];
    for (int t = 0; t < slip_rows(contact); ++t)
    {
      multipliers(row_of(contact.friction_constraint) + t) =
        -contact.friction * sliding_solver.normal(static_cast<Eigen::Index>(i)) *
        modes[index].direction[t];
    }
  }
}

/// The modes with the directions of sliding that belong to the slip afterwards.
Status ImpactSolver::Impl::solve_directions(const ImpactProblem & problem) noexcept
{
  Status status = Status::kOk;
  directions_settled = false;
  for (int iteration = 0; iteration < bound::kDirectionIterations && !directions_settled;
       ++iteration)
  {
    gather(problem);
    status = solve_modes(problem, problem.impulse);
    if (!has_output(status))
    {
      return status;
    }
    double change = 0.0;
    for (const int i : sliding)
    {
      const ImpactContact & contact = problem.contacts[static_cast<std::size_t>(i)];
      ImpactMode & mode = modes[static_cast<std::size_t>(i)];
      if (slip_rows(contact) < 2)
      {
        continue;
      }
      const int row = row_of(contact.friction_constraint);
      const double slip[2] = {slip_after(row), slip_after(row + 1)};
      const double length = std::hypot(slip[0], slip[1]);
      const double along = slip[0] * mode.direction[0] + slip[1] * mode.direction[1];
      const double size = row_size(row) + row_size(row + 1);
      if (!(along >= -tolerance::kImpactRounding * size && length > tolerance::kImpactRest * size))
      {
        continue;  // about to stick: the direction of the force counts
      }
      // Half a step, so that two directions that depend on each other do not oscillate.
      const double next[2] = {
        mode.direction[0] + slip[0] / length, mode.direction[1] + slip[1] / length};
      const double next_length = std::hypot(next[0], next[1]);
      for (int k = 0; k < 2; ++k)
      {
        change = std::max(change, std::abs(slip[k] / length - mode.direction[k]));
        mode.direction[k] = next[k] / next_length;
      }
    }
    directions_settled = change <= tolerance::kDirection;
  }
  return status;
}

}  // namespace constrained_dynamics
