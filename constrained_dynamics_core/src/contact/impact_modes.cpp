// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <algorithm>
#include <cmath>

#include "contact/impact_data.hpp"
#include "contact/tolerances.hpp"

namespace constrained_dynamics
{

Status ImpactSolver::Impl::choose_modes(const ImpactProblem & problem) noexcept
{
  for (ImpactMode & mode : modes)
  {
    mode.kind = ImpactMode::Kind::kAbsent;
  }
  bool any = false;
  for (const ImpactContact & contact : problem.contacts)
  {
    any = any || is_in(problem, contact);
  }
  if (!any)
  {
    return Status::kOk;
  }
  const Status begun = cone.begin(mass, u, problem.impulse);
  if (begun != Status::kOk)
  {
    return begun;
  }
  for (int row = 0; row < static_cast<int>(before.size()); ++row)
  {
    if (is_equality[static_cast<std::size_t>(row)] != 0)
    {
      row_buffer = jacobian.row(row).transpose();
      cone.add_equality(row_buffer, row_buffer.dot(u) + targets(row), 1.0 / row_scale(row));
    }
  }
  int count = 0;
  for (const ImpactContact & contact : problem.contacts)
  {
    if (!is_in(problem, contact))
    {
      continue;
    }
    ConeContact & to = cone_contacts[static_cast<std::size_t>(count++)];
    to = ConeContact{};
    const int row = row_of(contact.constraint);
    row_buffer = -contact.side * jacobian.row(row).transpose();
    to.normal = cone.add_row(
      row_buffer, row_buffer.dot(u) - contact.side * targets(row), 1.0 / row_scale(row));
    to.friction = contact.friction;
    to.tangent_count = slip_rows(contact);
    for (int k = 0; k < to.tangent_count; ++k)
    {
      const int slip = row_of(contact.friction_constraint) + k;
      row_buffer = jacobian.row(slip).transpose();
      to.tangent[k] =
        cone.add_row(row_buffer, row_buffer.dot(u) + targets(slip), 1.0 / row_scale(slip));
    }
  }
  return cone.solve(cone_contacts.data(), count);
}

/// Modes from what the cone problem found. @param include_idle rows without force and without
/// motion are kept as rows, so that redundant contacts share the load.
void ImpactSolver::Impl::read_modes(const ImpactProblem & problem, bool include_idle) noexcept
{
  int count = 0;
  for (std::size_t i = 0; i < problem.contacts.size(); ++i)
  {
    if (!is_in(problem, problem.contacts[i]))
    {
      modes[i].kind = ImpactMode::Kind::kAbsent;
      continue;
    }
    const ConeContact & contact = cone_contacts[static_cast<std::size_t>(count++)];
    ImpactMode & to = modes[i];
    const double x = cone.force(contact.normal);
    const bool rests =
      std::abs(cone.motion(contact.normal)) <= tolerance::kConeRest * cone.size(contact.normal);
    to.kind =
      x > 0.0 || (include_idle && rests) ? ImpactMode::Kind::kSticks : ImpactMode::Kind::kSeparates;
    if (contact.tangent_count == 0 || to.kind == ImpactMode::Kind::kSeparates)
    {
      continue;
    }
    double length = 0.0;
    for (int k = 0; k < contact.tangent_count; ++k)
    {
      length = std::hypot(length, cone.force(contact.tangent[k]));
    }
    if (length >= contact.friction * x * (1.0 - tolerance::kImpactBound) && length > 0.0)
    {
      to.kind = ImpactMode::Kind::kSlides;
      for (int k = 0; k < contact.tangent_count; ++k)
      {
        to.direction[k] = -cone.force(contact.tangent[k]) / length;
      }
    }
  }
}

void ImpactSolver::Impl::use_cones(const ImpactProblem & problem) noexcept
{
  multipliers.setZero();
  int count = 0;
  for (std::size_t i = 0; i < problem.contacts.size(); ++i)
  {
    const ImpactContact & contact = problem.contacts[i];
    if (!is_in(problem, contact))
    {
      continue;
    }
    const ConeContact & from = cone_contacts[static_cast<std::size_t>(count++)];
    modes[i].kind = ImpactMode::Kind::kGiven;
    multipliers(row_of(contact.constraint)) = -contact.side * cone.force(from.normal);
    double slip = 0.0;
    double size = 0.0;
    for (int k = 0; k < from.tangent_count; ++k)
    {
      multipliers(row_of(contact.friction_constraint) + k) = cone.force(from.tangent[k]);
      slip = std::hypot(slip, cone.motion(from.tangent[k]));
      size += cone.size(from.tangent[k]);
    }
    modes[i].slips = slip > tolerance::kConeRest * size;
  }
}

// ---- corrections
// ------------------------------------------------------------------------------

/// Returns whether all unilateral conditions hold; otherwise changes modes accordingly.
bool ImpactSolver::Impl::correct_modes(const ImpactProblem & problem) noexcept
{
  double largest = 0.0;
  for (const ImpactContact & contact : problem.contacts)
  {
    if (is_in(problem, contact))
    {
      largest = std::max(largest, std::abs(normal_impulse(contact)));
    }
  }
  bool good = true;
  for (std::size_t i = 0; i < problem.contacts.size(); ++i)
  {
    const ImpactContact & contact = problem.contacts[i];
    ImpactMode & mode = modes[i];
    if (mode.kind == ImpactMode::Kind::kSeparates)
    {
      good = correct_separating(contact, mode) && good;
    }
    else if (mode.kind == ImpactMode::Kind::kSticks || mode.kind == ImpactMode::Kind::kSlides)
    {
      good = correct_pushing(contact, largest, mode) && good;
    }
  }
  return good;
}

/// A contact that separates more slowly than its target pushes.
bool ImpactSolver::Impl::correct_separating(
  const ImpactContact & contact, ImpactMode & mode) const noexcept
{
  const int row = row_of(contact.constraint);
  const double motion = row_solution.acceleration.norm();
  const double gap_rate =
    -contact.side * (jacobian.row(row).dot(row_solution.acceleration) - targets(row));
  if (gap_rate < -tolerance::kImpactRounding * (row_size(row) + jacobian.row(row).norm() * motion))
  {
    mode.kind = ImpactMode::Kind::kSticks;
    return false;
  }
  return true;
}

/// A contact that pulls separates, and so does one that leaves although its row is enforced:
/// dependent rows may contradict each other by less than the formulation detects.
bool ImpactSolver::Impl::correct_pushing(
  const ImpactContact & contact, double largest, ImpactMode & mode) const noexcept
{
  const int row = row_of(contact.constraint);
  const double motion = row_solution.acceleration.norm();
  const double miss =
    -contact.side * (jacobian.row(row).dot(row_solution.acceleration) - targets(row));
  const double allowed =
    tolerance::kUnmetTarget * (row_size(row) + jacobian.row(row).norm() * motion);
  if (normal_impulse(contact) < -tolerance::kImpactRounding * largest || miss > allowed)
  {
    mode.kind = ImpactMode::Kind::kSeparates;
    return false;
  }
  return correct_slip(contact, largest, mode) && std::abs(miss) <= allowed;
}

/// Friction beyond its bound slides; sliding against its own direction sticks.
bool ImpactSolver::Impl::correct_slip(
  const ImpactContact & contact, double largest, ImpactMode & mode) const noexcept
{
  const int slips = slip_rows(contact);
  if (slips == 0)
  {
    return true;
  }
  const int slip = row_of(contact.friction_constraint);
  if (mode.kind == ImpactMode::Kind::kSticks)
  {
    const double length = slips == 2 ? std::hypot(multipliers(slip), multipliers(slip + 1))
                                     : std::abs(multipliers(slip));
    if (
      length <=
      contact.friction * normal_impulse(contact) + tolerance::kImpactRounding * (largest + length))
    {
      return true;
    }
    mode.kind = ImpactMode::Kind::kSlides;
    for (int k = 0; k < slips; ++k)
    {
      mode.direction[k] = -multipliers(slip + k) / length;
    }
    return false;
  }
  const double motion = row_solution.acceleration.norm();
  double along = 0.0;
  double across = 0.0;
  double size = 0.0;
  for (int k = 0; k < slips; ++k)
  {
    along += slip_after(slip + k) * mode.direction[k];
    across += slip_after(slip + k) * (k == 0 ? -mode.direction[1] : mode.direction[0]);
    size += row_size(slip + k) + jacobian.row(slip + k).norm() * motion;
  }
  if (along < -tolerance::kImpactRounding * size)
  {
    mode.kind = ImpactMode::Kind::kSticks;
    return false;
  }
  return !(slips == 2 && std::abs(across) > tolerance::kImpactRest * size);
}

/// Finds modes and speeds for the present targets.
Status ImpactSolver::Impl::solve_chosen(const ImpactProblem & problem) noexcept
{
  multipliers.setZero();
  const Status chosen = choose_modes(problem);
  if (!has_output(chosen) && chosen != Status::kNotConverged)
  {
    return chosen;
  }
  const bool is_solved = chosen == Status::kOk && cone.error() <= tolerance::kCone;
  const int corrections = is_solved ? bound::kModeTrials : bound::kModeCorrections;
  Status status = Status::kOk;
  for (const bool include_idle : {true, false})
  {
    read_modes(problem, include_idle);
    for (int k = 0; k < corrections; ++k)
    {
      status = solve_directions(problem);
      if (!has_output(status))
      {
        break;
      }
      if (correct_modes(problem) && directions_settled)
      {
        return worse(status, chosen == Status::kInconsistent ? chosen : Status::kOk);
      }
    }
  }
  // Modes that do not settle, e.g. between sticking and sliding: use the impulses themselves.
  use_cones(problem);
  gather(problem);
  status = solve_modes(problem, problem.impulse);
  const Status unmet = is_solved ? Status::kOk : Status::kInconsistent;
  return has_output(status) ? worse(status, unmet) : status;
}

}  // namespace constrained_dynamics
