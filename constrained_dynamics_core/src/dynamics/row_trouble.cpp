// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors
#include "dynamics/row_trouble.hpp"

#include <algorithm>
#include <cmath>

#include "dense_decompositions.hpp"

namespace constrained_dynamics
{

namespace
{

// A row with less than this part of the largest takes no part.
constexpr double kPart = 0.1;

/// Active rows, each divided by its norm.
struct ActiveRows
{
  std::vector<int> index;
  Eigen::MatrixXd jacobian;
  Eigen::VectorXd values;
};

template <typename Select>
ActiveRows select_rows(
  const Dynamics & dynamics, const Workspace & workspace, const Eigen::VectorXd & values,
  const Select & select)
{
  const ConstraintSet & set = dynamics.constraints();
  ActiveRows rows;
  for (int row = 0; row < set.row_count(); ++row)
  {
    if (workspace.is_active(set.constraint_of_row(row)) && select(set.row(row).level))
    {
      rows.index.push_back(row);
    }
  }
  const auto count = static_cast<Eigen::Index>(rows.index.size());
  rows.jacobian.setZero(count, dynamics.system().speed_count());
  rows.values.setZero(count);
  for (Eigen::Index i = 0; i < count; ++i)
  {
    const int row = rows.index[static_cast<std::size_t>(i)];
    const double norm = workspace.rows().jacobian.row(row).norm();
    const double scale = norm > 0.0 ? 1.0 / norm : 1.0;
    rows.jacobian.row(i) = scale * workspace.rows().jacobian.row(row);
    rows.values(i) = scale * values(row);
  }
  return rows;
}

std::vector<int> large_ones(const ActiveRows & rows, const Eigen::VectorXd & sizes)
{
  std::vector<int> result;
  const double largest = sizes.size() > 0 ? sizes.cwiseAbs().maxCoeff() : 0.0;
  for (Eigen::Index i = 0; i < sizes.size(); ++i)
  {
    if (largest > 0.0 && std::abs(sizes(i)) >= kPart * largest)
    {
      result.push_back(rows.index[static_cast<std::size_t>(i)]);
    }
  }
  return result;
}

/// What is left of the values whatever A δ is added.
Eigen::VectorXd outside_of_range(const ActiveRows & rows)
{
  if (rows.values.size() == 0)
  {
    return rows.values;
  }
  Eigen::CompleteOrthogonalDecomposition<Eigen::MatrixXd> decomposition;
  decomposition.setThreshold(1e-9);
  decomposition.compute(rows.jacobian);
  return rows.values - rows.jacobian * decomposition.solve(rows.values);
}

}  // namespace

std::vector<int> rows_of_lost_directions(
  const Dynamics & dynamics, const Workspace & workspace, int rank)
{
  const ActiveRows rows =
    select_rows(dynamics, workspace, workspace.rows().position, [](RowLevel) { return true; });
  const Eigen::Index most = std::min(rows.jacobian.rows(), rows.jacobian.cols());
  if (most == 0)
  {
    return {};
  }
  const Eigen::JacobiSVD<Eigen::MatrixXd> svd(rows.jacobian, Eigen::ComputeThinU);
  // Where nothing is lost yet, the direction that is about to be.
  const Eigen::Index first =
    std::clamp<Eigen::Index>(rank < workspace.nominal_rank() ? rank : rank - 1, 0, most - 1);
  const Eigen::Index end = std::clamp<Eigen::Index>(workspace.nominal_rank(), first + 1, most);
  return large_ones(rows, svd.matrixU().middleCols(first, end - first).rowwise().norm());
}

std::vector<int> contradicting_rows(const Dynamics & dynamics, const Workspace & workspace)
{
  const ActiveRows rows =
    select_rows(dynamics, workspace, workspace.rows().bias, [](RowLevel) { return true; });
  return large_ones(rows, outside_of_range(rows));
}

std::vector<int> unmet_rows(
  const Dynamics & dynamics, const Workspace & workspace, bool & contradict)
{
  // What projections may leave.
  constexpr double kMet = 1e-9;
  const auto of_positions = [](RowLevel level) { return level == RowLevel::kPosition; };
  const auto of_velocities = [](RowLevel level) { return level != RowLevel::kAcceleration; };
  const ActiveRows positions =
    select_rows(dynamics, workspace, workspace.rows().position, of_positions);
  const ActiveRows velocities =
    select_rows(dynamics, workspace, workspace.rows().velocity, of_velocities);
  contradict = true;
  for (const ActiveRows * rows : {&positions, &velocities})
  {
    const Eigen::VectorXd left = outside_of_range(*rows);
    if (left.size() > 0 && left.cwiseAbs().maxCoeff() > kMet)
    {
      return large_ones(*rows, left);
    }
  }
  contradict = false;
  const bool has_positions =
    positions.values.size() > 0 && positions.values.cwiseAbs().maxCoeff() > kMet;
  return has_positions ? large_ones(positions, positions.values)
                       : large_ones(velocities, velocities.values);
}

}  // namespace constrained_dynamics
