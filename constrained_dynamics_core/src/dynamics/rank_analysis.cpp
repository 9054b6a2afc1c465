// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <Eigen/SVD>

#include "constrained_dynamics/dynamics/assembly.hpp"
#include "constrained_dynamics/dynamics/dynamics.hpp"

namespace constrained_dynamics
{

namespace
{

/// Directions of rows that are scaled to 1 over the size that they could have.
int numerical_rank(const Eigen::VectorXd & singular_values, double tolerance)
{
  const double reference = std::max(singular_values(0), 1.0);
  return static_cast<int>((singular_values.array() > tolerance * reference).count());
}

/// Rows in terms of the others from a basis of the left null space (one column a dependency), by
/// elimination from the last row upwards, so that later rows are told by earlier ones.
std::vector<RankReport::Dependency> dependencies_of(
  Eigen::MatrixXd null_space, const std::vector<int> & rows)
{
  constexpr double kNegligible = 1e-7;
  std::vector<RankReport::Dependency> result;
  Eigen::Index column = 0;
  std::vector<Eigen::Index> pivots;
  for (Eigen::Index row = null_space.rows() - 1; row >= 0 && column < null_space.cols(); --row)
  {
    Eigen::Index best = 0;
    const double size =
      null_space.row(row).tail(null_space.cols() - column).cwiseAbs().maxCoeff(&best);
    if (size <= kNegligible)
    {
      continue;
    }
    null_space.col(column).swap(null_space.col(column + best));
    null_space.col(column) /= null_space(row, column);
    for (Eigen::Index other = 0; other < null_space.cols(); ++other)
    {
      if (other != column)
      {
        null_space.col(other) -= null_space(row, other) * null_space.col(column);
      }
    }
    pivots.push_back(row);
    ++column;
  }
  for (std::size_t k = 0; k < pivots.size(); ++k)
  {
    const auto z = null_space.col(static_cast<Eigen::Index>(k));
    RankReport::Dependency dependency;
    dependency.row = rows[static_cast<std::size_t>(pivots[k])];
    for (Eigen::Index i = 0; i < z.size(); ++i)
    {
      if (i != pivots[k] && std::abs(z(i)) > kNegligible * z.cwiseAbs().maxCoeff())
      {
        dependency.others.push_back(rows[static_cast<std::size_t>(i)]);
        dependency.coefficients.push_back(-z(i));
      }
    }
    result.push_back(dependency);
  }
  return result;
}

}  // namespace

RankReport Dynamics::analyse(const State & state, Workspace & workspace) const
{
  constexpr int kSamples = 8;
  // Far enough that a singular position is left by a clear margin, close enough to stay on the same
  // branch of the mechanism.
  constexpr double kSpread = 1e-2;
  constexpr unsigned kSeed = 20260101U;
  constexpr double kWellConditioned = 1e4;  // regular beyond doubt
  const Eigen::Index n = system().speed_count();
  const std::vector<bool> free_q(static_cast<std::size_t>(system().coordinate_count()), false);
  const std::vector<bool> free_u(static_cast<std::size_t>(n), false);
  const auto evaluate = [&](const State & at)
  { return update_rows(at.time, at.q, at.u, workspace); };
  const Status start = evaluate(state);
  if (start != Status::kOk)
  {
    throw std::invalid_argument(
      std::string("the rows cannot be evaluated at the given state: status ") + to_string(start));
  }

  // States on the manifold around the given one.
  std::vector<State> samples;
  State base = state;
  assemble_position(*this, base.time, base.q, free_q, workspace);
  assemble_velocity(*this, base.time, base.q, base.u, free_u, workspace);
  samples.push_back(base);
  // Many rows that are independent beyond doubt at the state itself have nothing to show elsewhere,
  // and samples of them would take minutes.
  constexpr int kManyRows = 100;
  int sample_count = kSamples;
  if (constraints_.row_count() > kManyRows && evaluate(base) == Status::kOk)
  {
    const Eigen::MatrixXd & A = workspace.rows_.jacobian;
    Eigen::VectorXd sizes(A.rows());
    row_sizes(workspace, sizes);
    set_row_scale(sizes, workspace);
    const Eigen::VectorXd values =
      Eigen::BDCSVD<Eigen::MatrixXd>(workspace.row_scale_.asDiagonal() * A).singularValues();
    sample_count =
      A.rows() <= n && values(A.rows() - 1) * kWellConditioned > values(0) ? 0 : kSamples;
  }
  std::mt19937 generator(kSeed);
  std::normal_distribution<double> normal;
  for (int i = 0; i < sample_count; ++i)
  {
    if (evaluate(base) != Status::kOk)
    {
      break;
    }
    State sample = base;
    Eigen::VectorXd delta(n);
    for (Eigen::Index k = 0; k < n; ++k)
    {
      delta(k) = kSpread * normal(generator);
      sample.u(k) += kSpread * (1.0 + std::abs(base.u(k))) * normal(generator);
    }
    sample.q += workspace.terms().kinematic_matrix * delta;
    system().normalise(sample.q);
    if (evaluate(sample) != Status::kOk)
    {
      continue;
    }
    if (!assemble_position(*this, sample.time, sample.q, free_q, workspace).converged)
    {
      continue;
    }
    if (assemble_velocity(*this, sample.time, sample.q, sample.u, free_u, workspace).converged)
    {
      samples.push_back(sample);
    }
  }

  // Sizes that the rows could have, then ranks of the rows scaled by them.
  Eigen::VectorXd sizes = Eigen::VectorXd::Zero(constraints_.row_count());
  Eigen::VectorXd largest = sizes;
  for (const State & sample : samples)
  {
    if (evaluate(sample) == Status::kOk)
    {
      row_sizes(workspace, sizes);
      largest = largest.cwiseMax(sizes);
    }
  }
  set_row_scale(largest, workspace);
  // Redundant rows are independent by what their states are off the manifold, times curvatures
  // whose size is that of the rows. Of speeds only velocity rows depend, those that are nonlinear.
  // The first state is on the manifold unless rows contradict each other or are almost dependent,
  // and what these miss must not make them redundant.
  const auto rounding = [&](bool is_first)
  {
    constexpr double kCurvature = 10.0;
    constexpr double kOnManifold = 2e-14;
    double off = residual(workspace.rows_.position, Workspace::kPositionRows, workspace);
    for (const int row : velocity_rows_)
    {
      const double size = std::abs(workspace.row_scale_(row) * workspace.rows_.velocity(row));
      off = workspace.is_active(constraint_of_row_[static_cast<std::size_t>(row)])
              ? std::max(off, size)
              : off;
    }
    off = is_first ? std::min(off, kOnManifold) : off;
    return std::min(kRowRounding + kCurvature * off, options_.rank.singular_tolerance);
  };
  const auto scaled = [&](Workspace::Subset subset, std::vector<int> * rows)
  {
    rows->clear();
    for (int row = 0; row < constraints_.row_count(); ++row)
    {
      const int constraint = constraint_of_row_[static_cast<std::size_t>(row)];
      if (workspace.is_active(constraint) && in_subset(row, subset))
      {
        rows->push_back(row);
      }
    }
    Eigen::MatrixXd matrix(static_cast<Eigen::Index>(rows->size()), n);
    for (std::size_t i = 0; i < rows->size(); ++i)
    {
      const int row = (*rows)[i];
      matrix.row(static_cast<Eigen::Index>(i)) =
        workspace.row_scale_(row) * workspace.rows_.jacobian.row(row);
    }
    return matrix;
  };
  constexpr std::size_t kNoRows = std::numeric_limits<std::size_t>::max();
  std::vector<int> rows;
  workspace.nominal_rank_.fill(0);
  for (const State & sample : samples)
  {
    if (evaluate(sample) != Status::kOk)
    {
      continue;
    }
    std::size_t evaluated = kNoRows;
    int rank = 0;
    double condition = 1.0;
    for (int subset = 0; subset < Workspace::kSubsetCount; ++subset)
    {
      const Eigen::MatrixXd matrix = scaled(static_cast<Workspace::Subset>(subset), &rows);
      // The subsets grow: with as many rows as the one before it is the same.
      if (rows.size() != evaluated && matrix.rows() > 0)
      {
        const Eigen::BDCSVD<Eigen::MatrixXd> svd(matrix);
        const Eigen::VectorXd & values = svd.singularValues();
        rank = numerical_rank(values, rounding(&sample == &samples.front()));
        condition = rank > 0 ? values(0) / values(rank - 1) : 1.0;
      }
      evaluated = rows.size();
      int & nominal = workspace.nominal_rank_[static_cast<std::size_t>(subset)];
      nominal = std::max(nominal, rank);
    }
    if (rank == workspace.nominal_rank_[Workspace::kAllRows] && condition < kWellConditioned)
    {
      measure_tree(workspace);
    }
  }

  RankReport report;
  report.nominal_rank = workspace.nominal_rank_[Workspace::kAllRows];
  report.degrees_of_freedom = static_cast<int>(n) - report.nominal_rank;
  if (evaluate(base) == Status::kOk)
  {
    const Eigen::MatrixXd matrix = scaled(Workspace::kAllRows, &rows);
    report.row_count = static_cast<int>(rows.size());
    if (matrix.rows() > 0)
    {
      const Eigen::BDCSVD<Eigen::MatrixXd> svd(matrix, Eigen::ComputeFullU);
      const Eigen::VectorXd & values = svd.singularValues();
      report.rank_here = numerical_rank(values, options_.rank.singular_tolerance);
      if (report.rank_here > 0)
      {
        report.condition = values(0) / values(report.rank_here - 1);
      }
      if (report.rank_here < matrix.rows())
      {
        Eigen::MatrixXd null_space = svd.matrixU().rightCols(matrix.rows() - report.rank_here);
        for (std::size_t i = 0; i < rows.size(); ++i)
        {
          null_space.row(static_cast<Eigen::Index>(i)) *= workspace.row_scale_(rows[i]);
        }
        report.dependencies = dependencies_of(std::move(null_space), rows);
      }
    }
  }
  return report;
}

}  // namespace constrained_dynamics
