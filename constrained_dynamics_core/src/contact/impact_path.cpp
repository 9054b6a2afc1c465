// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <array>
#include <cmath>

#include "contact/impact_data.hpp"
#include "contact/tolerances.hpp"

namespace constrained_dynamics
{

/// Whether a velocity row misses its target although the linear equations hold.
bool ImpactSolver::Impl::is_nonlinear(const ImpactProblem & problem, Workspace & workspace) noexcept
{
  path_stage = u + row_solution.acceleration;
  if (dynamics->evaluate_rows(time, q, path_stage, workspace) != Status::kOk)
  {
    return true;
  }
  const Eigen::VectorXd & after = workspace.rows().velocity;
  const double change = row_solution.acceleration.norm();
  for (int row = 0; row < static_cast<int>(before.size()); ++row)
  {
    const int constraint = dynamics->constraints().constraint_of_row(row);
    if (
      problem.roles[static_cast<std::size_t>(constraint)] == ImpactRole::kAbsent ||
      dynamics->constraints().row(row).level != RowLevel::kVelocity)
    {
      continue;
    }
    const double linear = slip_after(row);
    const double size = row_size(row) + jacobian.row(row).norm() * change + std::abs(after(row));
    if (std::abs(after(row) - linear) > tolerance::kNonlinear * size)
    {
      return true;
    }
  }
  return false;
}

/// Q du = A(q,u)ᵀ dΛ + I ds with ψ = (1 − s) ψ⁻ for the rows that the linear solution chose.
Status ImpactSolver::Impl::follow_path(
  const ImpactProblem & problem, Workspace & workspace) noexcept
{
  // Rows nonlinear in u have no restitution.
  set_targets(problem, 0.0);
  path_speeds = u;
  path_multipliers.setZero();
  const auto slope = [&](const Eigen::VectorXd & at)
  {
    Status status = dynamics->evaluate_rows(time, q, at, workspace);
    if (status != Status::kOk)
    {
      return status;
    }
    jacobian = workspace.rows().jacobian;
    gather(problem);
    return solve_modes(problem, problem.impulse);
  };
  constexpr double h = 1.0 / bound::kPathSteps;
  constexpr std::array<double, 4> kPlace = {0.0, 0.5, 0.5, 1.0};
  constexpr std::array<double, 4> kWeight = {1.0 / 6.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 6.0};
  Status status = Status::kOk;
  for (int step = 0; step < bound::kPathSteps; ++step)
  {
    path_slope.setZero();
    path_rate.setZero();
    for (std::size_t stage = 0; stage < kPlace.size(); ++stage)
    {
      path_stage = path_speeds;
      if (stage > 0)
      {
        path_stage += h * kPlace[stage] * row_solution.acceleration;
      }
      status = slope(path_stage);
      if (!has_output(status))
      {
        return status;
      }
      path_slope += kWeight[stage] * row_solution.acceleration;
      path_rate += kWeight[stage] * multipliers;
    }
    path_speeds += h * path_slope;
    path_multipliers += h * path_rate;
  }
  // Newton removes the residuals that the integration left.
  for (int k = 0; k < bound::kPathCorrections; ++k)
  {
    status = dynamics->evaluate_rows(time, q, path_speeds, workspace);
    if (status != Status::kOk)
    {
      return status;
    }
    jacobian = workspace.rows().jacobian;
    gather(problem);
    for (int r = 0; r < active_count; ++r)
    {
      const int row = active_rows(r);
      active_targets(r) = before(row) + targets(row) - workspace.rows().velocity(row);
    }
    status = solve_rows(zero_speeds, true);
    if (!has_output(status))
    {
      return status;
    }
    path_speeds += row_solution.acceleration;
    for (int r = 0; r < active_count; ++r)
    {
      path_multipliers(active_rows(r)) += row_solution.multipliers(r);
    }
  }
  row_solution.acceleration = path_speeds - u;
  multipliers = path_multipliers;
  path_dependent = true;
  return status;
}

/// K with δ(friction) = −K δu⁺ for sliding in a plane: the direction s = ψ/|ψ| of the slip after
/// the impact turns by (1 − s sᵀ) δψ/|ψ|.
void ImpactSolver::Impl::set_turning(const ImpactProblem & problem) noexcept
{
  has_turning = false;
  for (std::size_t i = 0; i < problem.contacts.size(); ++i)
  {
    const ImpactContact & contact = problem.contacts[i];
    if (modes[i].kind != ImpactMode::Kind::kSlides || slip_rows(contact) < 2)
    {
      continue;
    }
    const int row = row_of(contact.friction_constraint);
    const double slip = std::hypot(slip_after(row), slip_after(row + 1));
    if (!(slip > tolerance::kImpactRest * (row_size(row) + row_size(row + 1))))
    {
      continue;  // about to stick: the direction is not differentiable
    }
    if (!has_turning)
    {
      turning.setZero();
      has_turning = true;
    }
    const double size = contact.friction * normal_impulse(contact) / slip;
    const double across[2] = {-modes[i].direction[1], modes[i].direction[0]};
    row_buffer = across[0] * jacobian.row(row).transpose();
    row_buffer += across[1] * jacobian.row(row + 1).transpose();
    for (Eigen::Index k = 0; k < row_buffer.size(); ++k)
    {
      turning.col(k) += size * row_buffer(k) * row_buffer;
    }
  }
}

Status ImpactSolver::derivatives(
  const ImpactProblem & problem, MatrixRef by_speeds, MatrixRef by_impulse) noexcept CD_NONBLOCKING
{
  Impl & data = *impl_;
  const Eigen::Index n = data.u.size();
  if (
    by_speeds.rows() != n || by_speeds.cols() != n || by_impulse.rows() != n ||
    by_impulse.cols() != n)
  {
    return Status::kSizeMismatch;
  }
  bool has_given = data.path_dependent;
  for (std::size_t i = 0; i < problem.contacts.size(); ++i)
  {
    has_given = has_given || data.modes[i].kind == ImpactMode::Kind::kGiven;
  }
  if (has_given)
  {
    return Status::kNotConverged;
  }
  // (Q + K) δΔ = δI − K δu⁻ + …: the rotation of the slip acts like an inertia.
  data.plain_mass = data.mass;
  if (data.has_turning)
  {
    data.mass += data.turning;
  }
  Status status = Status::kOk;
  for (Eigen::Index j = 0; j < n && has_output(status); ++j)
  {
    // c = factor · A e_j, no impulse
    data.targets = data.factors.cwiseProduct(data.jacobian.col(j));
    data.gather(problem);
    data.moved_speeds.setZero();
    if (data.has_turning)
    {
      data.moved_speeds -= data.turning.col(j);
    }
    status = data.solve_modes(problem, data.moved_speeds);
    if (!has_output(status))
    {
      break;
    }
    data.result_a.col(j) = data.row_solution.acceleration;
    data.result_a(j, j) += 1.0;
    data.targets.setZero();
    data.gather(problem);
    data.moved_speeds.setZero();
    data.moved_speeds(j) = 1.0;
    status = data.solve_modes(problem, data.moved_speeds);
    if (has_output(status))
    {
      data.result_b.col(j) = data.row_solution.acceleration;
    }
  }
  data.mass = data.plain_mass;
  if (!has_output(status))
  {
    return status;
  }
  by_speeds = data.result_a;
  by_impulse = data.result_b;
  return Status::kOk;
}

Status ImpactSolver::position_derivative(
  const ImpactProblem & problem, double time, const ConstVectorRef & q, const ConstVectorRef & u,
  Workspace & workspace, MatrixRef out) noexcept CD_NONBLOCKING
{
  constexpr double h = tolerance::kPositionDifference;
  constexpr std::array<double, 4> kShift = {-2.0, -1.0, 1.0, 2.0};
  constexpr std::array<double, 4> kWeight = {1.0 / 12.0, -2.0 / 3.0, 2.0 / 3.0, -1.0 / 12.0};
  Impl & data = *impl_;
  const Eigen::Index n = data.u.size();
  if (out.rows() != n || out.cols() != n)
  {
    return Status::kSizeMismatch;
  }
  Status status = data.load(problem, time, q, u, workspace);
  if (status != Status::kOk)
  {
    return status;
  }
  data.kinematic = workspace.terms().kinematic_matrix;
  status = data.solve_loaded(problem);
  if (!has_output(status))
  {
    return status;
  }
  if (data.is_nonlinear(problem, workspace))
  {
    return Status::kNotConverged;
  }
  data.result_a.setZero();
  for (Eigen::Index j = 0; j < n; ++j)
  {
    for (std::size_t k = 0; k < kShift.size(); ++k)
    {
      data.moved = q + h * kShift[k] * data.kinematic.col(j);
      data.dynamics->system().normalise(data.moved);
      status = data.load(problem, time, data.moved, u, workspace);
      if (status != Status::kOk)
      {
        return status;
      }
      data.targets = data.factors.cwiseProduct(data.before);
      status = data.solve_directions(problem);
      if (!has_output(status))
      {
        return status;
      }
      data.result_a.col(j) += kWeight[k] / h * data.row_solution.acceleration;
    }
  }
  // The last solution is that at q again, for `derivatives`.
  status = data.load(problem, time, q, u, workspace);
  status = status == Status::kOk ? data.solve_loaded(problem) : status;
  if (!has_output(status))
  {
    return status;
  }
  data.set_turning(problem);
  out = data.result_a;
  return Status::kOk;
}

}  // namespace constrained_dynamics
