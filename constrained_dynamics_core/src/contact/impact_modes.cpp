// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <algorithm>
#include <cmath>

#include "contact/impact_data.hpp"
#include "contact/small_solve.hpp"

namespace constrained_dynamics
{

namespace
{

// Sweeps find friction within its bound to this fraction, exact equations decide afterwards.
constexpr double kConeEdge = 1e-8;
// Of what a velocity is made of: a contact that pushes misses its target by no more.
constexpr double kUnmetTarget = 1e-11;
constexpr int kModeCorrections = 24;
constexpr int kModeTrials = 3;  // where the impulses are a solution already
constexpr int kDirectionIterations = 60;

}  // namespace

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
      cone.add_equality(row_buffer, row_buffer.dot(u) + targets(row));
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
    to.normal = cone.add_row(row_buffer, row_buffer.dot(u) - contact.side * targets(row));
    to.friction = contact.friction;
    to.tangent_count = slip_rows(contact);
    for (int k = 0; k < to.tangent_count; ++k)
    {
      const int slip = row_of(contact.friction_constraint) + k;
      row_buffer = jacobian.row(slip).transpose();
      to.tangent[k] = cone.add_row(row_buffer, row_buffer.dot(u) + targets(slip));
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
    const bool rests = std::abs(cone.motion(contact.normal)) <= 1e-10 * cone.size(contact.normal);
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
    if (length >= contact.friction * x * (1.0 - kConeEdge) && length > 0.0)
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
    modes[i].slips = slip > 1e-10 * size;
  }
}

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
    RowFactorisation::kUnknownRank};
  return formulation.solve(problem, dynamics->options().rank, *formulation_data, row_solution);
}

Status ImpactSolver::Impl::solve_modes(
  const ImpactProblem & problem, const Eigen::VectorXd & impulse, bool with_targets) noexcept
{
  const auto k = static_cast<Eigen::Index>(sliding.size());
  const auto contact_of = [&](Eigen::Index i) -> const ImpactContact &
  { return problem.contacts[static_cast<std::size_t>(sliding[static_cast<std::size_t>(i)])]; };
  const auto mode_of = [&](Eigen::Index i) -> const ImpactMode &
  { return modes[static_cast<std::size_t>(sliding[static_cast<std::size_t>(i)])]; };
  const auto multiplier_of_row = [&](int row)
  {
    for (int r = 0; r < active_count; ++r)
    {
      if (active_rows(r) == row)
      {
        return row_solution.multipliers(r);
      }
    }
    return 0.0;
  };
  const auto add_friction = [&](Eigen::Index i, double x)
  {
    const ImpactContact & contact = contact_of(i);
    for (int t = 0; t < slip_rows(contact); ++t)
    {
      force -= contact.friction * mode_of(i).direction[t] * x *
               jacobian.row(row_of(contact.friction_constraint) + t).transpose();
    }
  };
  force = impulse;
  for (std::size_t i = 0; i < problem.contacts.size(); ++i)
  {
    if (modes[i].kind == ImpactMode::Kind::kGiven && with_targets)
    {
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
  friction_force = force;  // all but friction of sliding contacts
  Status status = Status::kOk;
  if (k > 0)
  {
    // Normal impulses x = x0 + D x: each unit of normal impulse brings its friction along.
    status = solve_rows(force, with_targets);
    if (!has_output(status))
    {
      return status;
    }
    for (Eigen::Index i = 0; i < k; ++i)
    {
      friction_normals(i) =
        -contact_of(i).side * multiplier_of_row(row_of(contact_of(i).constraint));
    }
    for (Eigen::Index j = 0; j < k; ++j)
    {
      force.setZero();
      add_friction(j, 1.0);
      status = solve_rows(force, false);
      if (!has_output(status))
      {
        return status;
      }
      for (Eigen::Index i = 0; i < k; ++i)
      {
        friction_matrix(i, j) =
          (i == j ? 1.0 : 0.0) +
          contact_of(i).side * multiplier_of_row(row_of(contact_of(i).constraint));
      }
      if (!(friction_matrix(j, j) > 0.0))
      {
        return Status::kNoUniqueSolution;
      }
    }
    if (solve_in_place(friction_matrix.topLeftCorner(k, k), friction_normals.head(k)) == 0.0)
    {
      return Status::kNoUniqueSolution;
    }
    force = friction_force;
    for (Eigen::Index i = 0; i < k; ++i)
    {
      add_friction(i, friction_normals(i));
    }
    gather(problem);  // brings the targets back
  }
  status = solve_rows(force, with_targets);
  if (!has_output(status) || !with_targets)
  {
    return status;
  }
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
  for (Eigen::Index i = 0; i < k; ++i)
  {
    const ImpactContact & contact = contact_of(i);
    for (int t = 0; t < slip_rows(contact); ++t)
    {
      multipliers(row_of(contact.friction_constraint) + t) =
        -contact.friction * friction_normals(i) * mode_of(i).direction[t];
    }
  }
  return status;
}

/// The modes with the directions of sliding that belong to the slip afterwards.
Status ImpactSolver::Impl::solve_directions(const ImpactProblem & problem) noexcept
{
  Status status = Status::kOk;
  directions_settled = false;
  for (int iteration = 0; iteration < kDirectionIterations && !directions_settled; ++iteration)
  {
    gather(problem);
    status = solve_modes(problem, problem.impulse, true);
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
      if (!(along >= -kImpactRounding * size && length > 1e-10 * size))
      {
        continue;  // about to stick: the direction of the force counts
      }
      // Half way, so that two directions that depend on each other do not swing.
      const double next[2] = {
        mode.direction[0] + slip[0] / length, mode.direction[1] + slip[1] / length};
      const double next_length = std::hypot(next[0], next[1]);
      for (int k = 0; k < 2; ++k)
      {
        change = std::max(change, std::abs(slip[k] / length - mode.direction[k]));
        mode.direction[k] = next[k] / next_length;
      }
    }
    directions_settled = change <= 1e-12;
  }
  return status;
}

/// Whether all unilateral conditions hold; else modes are changed towards it.
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
  const double motion = row_solution.acceleration.norm();
  for (std::size_t i = 0; i < problem.contacts.size(); ++i)
  {
    const ImpactContact & contact = problem.contacts[i];
    ImpactMode & mode = modes[i];
    const int row = row_of(contact.constraint);
    const double x = normal_impulse(contact);
    const int slips = slip_rows(contact);
    const int slip = slips > 0 ? row_of(contact.friction_constraint) : 0;
    if (mode.kind == ImpactMode::Kind::kSeparates)
    {
      const double gap_rate =
        -contact.side * (jacobian.row(row).dot(row_solution.acceleration) - targets(row));
      if (gap_rate < -kImpactRounding * (row_size(row) + jacobian.row(row).norm() * motion))
      {
        mode.kind = ImpactMode::Kind::kSticks;
        good = false;
      }
      continue;
    }
    if (mode.kind != ImpactMode::Kind::kSticks && mode.kind != ImpactMode::Kind::kSlides)
    {
      continue;
    }
    // Rows that depend on each other and contradict by less than the formulation takes notice of.
    const double miss =
      -contact.side * (jacobian.row(row).dot(row_solution.acceleration) - targets(row));
    const double size_of_miss = row_size(row) + jacobian.row(row).norm() * motion;
    good = good && std::abs(miss) <= kUnmetTarget * size_of_miss;
    if (x < -kImpactRounding * largest || miss > kUnmetTarget * size_of_miss)
    {
      mode.kind = ImpactMode::Kind::kSeparates;
      good = false;
    }
    else if (mode.kind == ImpactMode::Kind::kSticks && slips > 0)
    {
      const double length = slips == 2 ? std::hypot(multipliers(slip), multipliers(slip + 1))
                                       : std::abs(multipliers(slip));
      if (length > contact.friction * x + kImpactRounding * (largest + length))
      {
        mode.kind = ImpactMode::Kind::kSlides;
        for (int k = 0; k < slips; ++k)
        {
          mode.direction[k] = -multipliers(slip + k) / length;
        }
        good = false;
      }
    }
    else if (mode.kind == ImpactMode::Kind::kSlides)
    {
      double along = 0.0;
      double across = 0.0;
      double size = 0.0;
      for (int k = 0; k < slips; ++k)
      {
        along += slip_after(slip + k) * mode.direction[k];
        across += slip_after(slip + k) * (k == 0 ? -mode.direction[1] : mode.direction[0]);
        size += row_size(slip + k) + jacobian.row(slip + k).norm() * motion;
      }
      if (along < -kImpactRounding * size)
      {
        mode.kind = ImpactMode::Kind::kSticks;
        good = false;
      }
      good = good && !(slips == 2 && std::abs(across) > 1e-10 * size);
    }
  }
  return good;
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
  const bool is_solved = chosen == Status::kOk && cone.error() <= kConeTolerance;
  const int corrections = is_solved ? kModeTrials : kModeCorrections;
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
  // Modes that do not settle, say at the rim between sticking and sliding: the impulses themselves.
  use_cones(problem);
  gather(problem);
  status = solve_modes(problem, problem.impulse, true);
  const Status unmet = is_solved ? Status::kOk : Status::kInconsistent;
  return has_output(status) ? worse(status, unmet) : status;
}

}  // namespace constrained_dynamics
