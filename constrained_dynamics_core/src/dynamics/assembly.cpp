// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/dynamics/assembly.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <stdexcept>

#include "dense_decompositions.hpp"
#include "dynamics/workspace_impl.hpp"

namespace constrained_dynamics
{

namespace
{

/// One nonlinear system of equations r(x) = 0 over the rows of a workspace.
struct RowEquations
{
  /// Evaluates the rows at x; throws where that is impossible at the start, false later.
  std::function<Status(const Eigen::VectorXd & x)> evaluate;
  /// x ⊕ δ, with δ a vector of speeds.
  std::function<void(Eigen::VectorXd & x, const Eigen::VectorXd & delta)> advance;
  /// Residuals and which rows take part.
  std::function<const Eigen::VectorXd &()> residuals;
  std::vector<int> rows;
  /// Columns span the δ that are allowed at the state evaluated last.
  std::function<Eigen::MatrixXd()> directions;
};

Eigen::VectorXd pick(const Eigen::VectorXd & values, const std::vector<int> & rows)
{
  Eigen::VectorXd result(static_cast<Eigen::Index>(rows.size()));
  for (std::size_t i = 0; i < rows.size(); ++i)
  {
    result(static_cast<Eigen::Index>(i)) = values(rows[i]);
  }
  return result;
}

/// Gauss-Newton with backtracking; directions whose singular value is below `cut` of the largest
/// are left out, which is what redundant rows beside their manifold need.
int iterate(
  const RowEquations & equations, const Evaluation & evaluation, double cut, double tolerance,
  Eigen::VectorXd & x)
{
  constexpr int kIterations = 200;
  constexpr int kHalvings = 20;
  // Rows that cannot be met are given up where so many iterations gain less than a tenth.
  constexpr int kPatience = 5;
  double patience_from = std::numeric_limits<double>::infinity();
  if (equations.evaluate(x) != Status::kOk)
  {
    return 0;
  }
  int iteration = 0;
  for (; iteration < kIterations; ++iteration)
  {
    const Eigen::VectorXd r = pick(equations.residuals(), equations.rows);
    const double before = r.norm();
    if (r.size() == 0 || r.cwiseAbs().maxCoeff() <= 0.01 * tolerance)
    {
      break;
    }
    if (iteration % kPatience == 0)
    {
      if (!(before < 0.9 * patience_from))
      {
        break;
      }
      patience_from = before;
    }
    const Eigen::MatrixXd jacobian = complete_jacobian(evaluation.system(), evaluation.rows);
    Eigen::MatrixXd rows(r.size(), jacobian.cols());
    for (Eigen::Index i = 0; i < r.size(); ++i)
    {
      rows.row(i) = jacobian.row(equations.rows[static_cast<std::size_t>(i)]);
    }
    const Eigen::MatrixXd directions = equations.directions();
    if (directions.cols() == 0)
    {
      break;
    }
    Eigen::BDCSVD<Eigen::MatrixXd> svd(
      rows * directions, Eigen::ComputeThinU | Eigen::ComputeThinV);
    svd.setThreshold(cut);
    const Eigen::VectorXd delta = -directions * svd.solve(r);
    if (!delta.allFinite())
    {
      break;
    }
    double fraction = 1.0;
    bool improved = false;
    Eigen::VectorXd trial;
    for (int k = 0; k < kHalvings && !improved; ++k, fraction *= 0.5)
    {
      trial = x;
      equations.advance(trial, fraction * delta);
      improved = equations.evaluate(trial) == Status::kOk &&
                 pick(equations.residuals(), equations.rows).norm() < before;
      if (!improved)
      {
        // The advance must start from the terms of x again.
        if (equations.evaluate(x) != Status::kOk)
        {
          return iteration;
        }
      }
    }
    if (!improved)
    {
      break;
    }
    x = trial;
  }
  return iteration;
}

AssemblyResult assemble(
  const RowEquations & equations, const Evaluation & evaluation, double tolerance,
  const char * what, Eigen::VectorXd & x)
{
  const Status start = equations.evaluate(x);
  if (start != Status::kOk)
  {
    throw std::invalid_argument(
      std::string("the rows cannot be evaluated at the given ") + what + ": status " +
      to_string(start));
  }
  AssemblyResult best;
  best.residual = std::numeric_limits<double>::infinity();
  Eigen::VectorXd best_x = x;
  for (const double cut : {1e-10, 1e-6, 1e-3})
  {
    Eigen::VectorXd trial = x;
    const int iterations = iterate(equations, evaluation, cut, tolerance, trial);
    if (equations.evaluate(trial) != Status::kOk)
    {
      continue;
    }
    const Eigen::VectorXd r = pick(equations.residuals(), equations.rows);
    Eigen::Index worst = 0;
    const double residual = r.size() > 0 ? r.cwiseAbs().maxCoeff(&worst) : 0.0;
    if (residual < best.residual)
    {
      best.residual = residual;
      best.iterations = iterations;
      best.worst_row =
        r.size() > 0
          ? evaluation.of().constraints.row_name(equations.rows[static_cast<std::size_t>(worst)])
          : std::string();
      best_x = trial;
    }
    if (best.residual <= tolerance)
    {
      best.converged = true;
      break;
    }
  }
  x = best_x;
  return best;
}

std::vector<int> active_rows(const Evaluation & evaluation, RowSubset subset)
{
  std::vector<int> rows;
  const ConstrainedSystem & of = evaluation.of();
  for (int row = 0; row < of.constraints.row_count(); ++row)
  {
    if (
      of.contains(subset, row) &&
      evaluation.is_active(of.constraint_of_row[static_cast<std::size_t>(row)]))
    {
      rows.push_back(row);
    }
  }
  return rows;
}

void check_size(const char * what, std::size_t size, int wanted)
{
  if (size != static_cast<std::size_t>(wanted))
  {
    throw std::invalid_argument(
      std::string(what) + " has size " + std::to_string(size) +
      "; allowed: " + std::to_string(wanted));
  }
}

}  // namespace

AssemblyResult assemble_position(
  const Dynamics & dynamics, double time, Eigen::VectorXd & q, const std::vector<bool> & held,
  Workspace & workspace, double tolerance)
{
  const System & system = dynamics.system();
  check_size("q", static_cast<std::size_t>(q.size()), system.coordinate_count());
  check_size("held", held.size(), system.coordinate_count());
  system.normalise(q);

  Evaluation & evaluation = WorkspaceAccess::evaluation(workspace);
  RowEquations equations;
  equations.rows = active_rows(evaluation, RowSubset::kPosition);
  equations.evaluate = [&](const Eigen::VectorXd & x)
  {
    const Status status = evaluation.set_rest(time, x);
    return status == Status::kOk ? evaluation.ask_position_rows() : status;
  };
  equations.advance = [&](Eigen::VectorXd & x, const Eigen::VectorXd & delta)
  {
    x += evaluation.system_data->terms.kinematic_matrix * delta;
    system.normalise(x);
  };
  equations.residuals = [&]() -> const Eigen::VectorXd & { return evaluation.rows.position; };
  equations.directions = [&]() -> Eigen::MatrixXd
  {
    const Eigen::MatrixXd & c = evaluation.system_data->terms.kinematic_matrix;
    Eigen::MatrixXd fixed(std::count(held.begin(), held.end(), true), c.cols());
    Eigen::Index k = 0;
    for (std::size_t i = 0; i < held.size(); ++i)
    {
      if (held[i])
      {
        fixed.row(k++) = c.row(static_cast<Eigen::Index>(i));
      }
    }
    if (k == 0)
    {
      return Eigen::MatrixXd::Identity(c.cols(), c.cols());
    }
    Eigen::JacobiSVD<Eigen::MatrixXd> svd(fixed, Eigen::ComputeFullV);
    svd.setThreshold(1e-10);
    return svd.matrixV().rightCols(c.cols() - svd.rank());
  };
  return assemble(equations, evaluation, tolerance, "coordinates", q);
}

AssemblyResult assemble_velocity(
  const Dynamics & dynamics, double time, const Eigen::VectorXd & q, Eigen::VectorXd & u,
  const std::vector<bool> & held, Workspace & workspace, double tolerance)
{
  const System & system = dynamics.system();
  check_size("u", static_cast<std::size_t>(u.size()), system.speed_count());
  check_size("held", held.size(), system.speed_count());

  Evaluation & evaluation = WorkspaceAccess::evaluation(workspace);
  RowEquations equations;
  equations.rows = active_rows(evaluation, RowSubset::kVelocity);
  equations.evaluate = [&](const Eigen::VectorXd & x)
  {
    const Status status = evaluation.set_state(time, q, x);
    return status == Status::kOk ? evaluation.ask_rows() : status;
  };
  equations.advance = [](Eigen::VectorXd & x, const Eigen::VectorXd & delta) { x += delta; };
  equations.residuals = [&]() -> const Eigen::VectorXd & { return evaluation.rows.velocity; };
  equations.directions = [&]() -> Eigen::MatrixXd
  {
    const Eigen::Index n = system.speed_count();
    Eigen::MatrixXd free = Eigen::MatrixXd::Zero(n, std::count(held.begin(), held.end(), false));
    Eigen::Index k = 0;
    for (Eigen::Index i = 0; i < n; ++i)
    {
      if (!held[static_cast<std::size_t>(i)])
      {
        free(i, k++) = 1.0;
      }
    }
    return free;
  };
  return assemble(equations, evaluation, tolerance, "speeds", u);
}

}  // namespace constrained_dynamics
