// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include "constrained_dynamics/dynamics/assembly.hpp"
#include "dense_decompositions.hpp"
#include "dynamics/workspace_impl.hpp"

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

// Regular beyond doubt.
constexpr double kWellConditioned = 1e4;

/// One analysis of the active rows around a state.
class RankAnalysis
{
public:
  RankAnalysis(const Dynamics & dynamics, FormulationData & data, Workspace & workspace)
  : dynamics_(dynamics),
    formulation_(dynamics.formulation()),
    data_(data),
    workspace_(workspace),
    evaluation_(WorkspaceAccess::evaluation(workspace)),
    of_(evaluation_.of())
  {
  }

  RankReport run(const State & state)
  {
    const Status start = evaluate(state);
    if (start != Status::kOk)
    {
      throw std::invalid_argument(
        std::string("the rows cannot be evaluated at the given state: status ") + to_string(start));
    }
    const std::vector<State> samples = find_samples(state);
    find_sizes(samples);
    find_ranks(samples);
    RankReport report = describe(samples.front());
    // On the manifold or not, the workspace is at the state that was given.
    (void)evaluate(state);
    return report;
  }

private:
  Status evaluate(const State & at)
  {
    const Status status = evaluation_.set_state(at.time, at.q, at.u);
    return status == Status::kOk ? evaluation_.ask_rows() : status;
  }

  bool assemble(State & state)
  {
    const std::vector<bool> free_q(static_cast<std::size_t>(state.q.size()), false);
    const std::vector<bool> free_u(static_cast<std::size_t>(state.u.size()), false);
    return assemble_position(dynamics_, state.time, state.q, free_q, workspace_).converged &&
           assemble_velocity(dynamics_, state.time, state.q, state.u, free_u, workspace_).converged;
  }

  /// Many rows that are independent beyond doubt at the state itself have nothing to show
  /// elsewhere, and samples of them would take minutes.
  bool needs_samples(const State & base)
  {
    constexpr int kManyRows = 100;
    if (of_.constraints.row_count() <= kManyRows || evaluate(base) != Status::kOk)
    {
      return true;
    }
    const Eigen::MatrixXd & A = evaluation_.rows.jacobian;
    Eigen::VectorXd sizes(A.rows());
    evaluation_.row_sizes(sizes);
    evaluation_.set_row_scale(sizes);
    const Eigen::VectorXd values =
      Eigen::BDCSVD<Eigen::MatrixXd>(evaluation_.row_scale.asDiagonal() * A).singularValues();
    return A.rows() > A.cols() || !(values(A.rows() - 1) * kWellConditioned > values(0));
  }

  /// States on the manifold around the given one, the nearest first.
  std::vector<State> find_samples(const State & state)
  {
    constexpr int kSamples = 8;
    // Far enough that a singular position is left by a clear margin, close enough to stay on the
    // same branch of the mechanism.
    constexpr double kSpread = 1e-2;
    constexpr unsigned kSeed = 20260101U;
    std::vector<State> samples;
    State base = state;
    const std::vector<bool> free_q(static_cast<std::size_t>(base.q.size()), false);
    const std::vector<bool> free_u(static_cast<std::size_t>(base.u.size()), false);
    assemble_position(dynamics_, base.time, base.q, free_q, workspace_);
    assemble_velocity(dynamics_, base.time, base.q, base.u, free_u, workspace_);
    samples.push_back(base);
    std::mt19937 generator(kSeed);
    std::normal_distribution<double> normal;
    const int count = needs_samples(base) ? kSamples : 0;
    for (int i = 0; i < count && evaluate(base) == Status::kOk; ++i)
    {
      State sample = base;
      Eigen::VectorXd delta(base.u.size());
      for (Eigen::Index k = 0; k < delta.size(); ++k)
      {
        delta(k) = kSpread * normal(generator);
        sample.u(k) += kSpread * (1.0 + std::abs(base.u(k))) * normal(generator);
      }
      sample.q += evaluation_.system_data->terms.kinematic_matrix * delta;
      of_.system().normalise(sample.q);
      if (evaluate(sample) == Status::kOk && assemble(sample))
      {
        samples.push_back(sample);
      }
    }
    return samples;
  }

  /// Sizes that the rows could have.
  void find_sizes(const std::vector<State> & samples)
  {
    Eigen::VectorXd sizes = Eigen::VectorXd::Zero(of_.constraints.row_count());
    Eigen::VectorXd largest = sizes;
    for (const State & sample : samples)
    {
      if (evaluate(sample) == Status::kOk)
      {
        evaluation_.row_sizes(sizes);
        largest = largest.cwiseMax(sizes);
      }
    }
    evaluation_.set_row_scale(largest);
  }

  /// Redundant rows are independent by what their states are off the manifold, times curvatures
  /// whose size is that of the rows. Of speeds only velocity rows depend, those that are nonlinear.
  /// The first state is on the manifold unless rows contradict each other or are almost dependent,
  /// and what these miss must not make them redundant.
  double rounding(bool is_first) const
  {
    constexpr double kCurvature = 10.0;
    constexpr double kOnManifold = 2e-14;
    double off = evaluation_.residual(evaluation_.rows.position, RowSubset::kPosition);
    for (const int row : of_.velocity_rows)
    {
      const double size = std::abs(evaluation_.row_scale(row) * evaluation_.rows.velocity(row));
      off = evaluation_.is_active(of_.constraint_of_row[static_cast<std::size_t>(row)])
              ? std::max(off, size)
              : off;
    }
    off = is_first ? std::min(off, kOnManifold) : off;
    return std::min(kRowRounding + kCurvature * off, of_.options.rank.singular_tolerance);
  }

  /// The active rows of a subset, scaled; `rows` tells which.
  Eigen::MatrixXd scaled(RowSubset subset, std::vector<int> & rows) const
  {
    rows.clear();
    for (int row = 0; row < of_.constraints.row_count(); ++row)
    {
      const int constraint = of_.constraint_of_row[static_cast<std::size_t>(row)];
      if (evaluation_.is_active(constraint) && of_.contains(subset, row))
      {
        rows.push_back(row);
      }
    }
    Eigen::MatrixXd matrix(static_cast<Eigen::Index>(rows.size()), of_.system().speed_count());
    for (std::size_t i = 0; i < rows.size(); ++i)
    {
      matrix.row(static_cast<Eigen::Index>(i)) =
        evaluation_.row_scale(rows[i]) * evaluation_.rows.jacobian.row(rows[i]);
    }
    return matrix;
  }

  void find_ranks(const std::vector<State> & samples)
  {
    constexpr std::size_t kNoRows = std::numeric_limits<std::size_t>::max();
    std::vector<int> rows;
    evaluation_.nominal_rank.fill(0);
    for (const State & sample : samples)
    {
      if (evaluate(sample) != Status::kOk)
      {
        continue;
      }
      std::size_t evaluated = kNoRows;
      int rank = 0;
      double condition = 1.0;
      for (const RowSubset subset : {RowSubset::kPosition, RowSubset::kVelocity, RowSubset::kAll})
      {
        const Eigen::MatrixXd matrix = scaled(subset, rows);
        // The subsets grow: with as many rows as the one before it is the same.
        if (rows.size() != evaluated && matrix.rows() > 0)
        {
          const Eigen::BDCSVD<Eigen::MatrixXd> svd(matrix);
          const Eigen::VectorXd & values = svd.singularValues();
          rank = numerical_rank(values, rounding(&sample == &samples.front()));
          condition = rank > 0 ? values(0) / values(rank - 1) : 1.0;
        }
        evaluated = rows.size();
        evaluation_.nominal(subset) = std::max(evaluation_.nominal(subset), rank);
      }
      if (rank == evaluation_.nominal(RowSubset::kAll) && condition < kWellConditioned)
      {
        formulation_.measure(evaluation_, data_);
      }
    }
  }

  RankReport describe(const State & base)
  {
    RankReport report;
    report.nominal_rank = evaluation_.nominal(RowSubset::kAll);
    report.degrees_of_freedom = of_.system().speed_count() - report.nominal_rank;
    if (evaluate(base) != Status::kOk)
    {
      return report;
    }
    std::vector<int> rows;
    const Eigen::MatrixXd matrix = scaled(RowSubset::kAll, rows);
    report.row_count = static_cast<int>(rows.size());
    if (matrix.rows() == 0)
    {
      return report;
    }
    const Eigen::BDCSVD<Eigen::MatrixXd> svd(matrix, Eigen::ComputeFullU);
    const Eigen::VectorXd & values = svd.singularValues();
    report.rank_here = numerical_rank(values, of_.options.rank.singular_tolerance);
    if (report.rank_here > 0)
    {
      report.condition = values(0) / values(report.rank_here - 1);
    }
    if (report.rank_here < matrix.rows())
    {
      Eigen::MatrixXd null_space = svd.matrixU().rightCols(matrix.rows() - report.rank_here);
      for (std::size_t i = 0; i < rows.size(); ++i)
      {
        null_space.row(static_cast<Eigen::Index>(i)) *= evaluation_.row_scale(rows[i]);
      }
      report.dependencies = dependencies_of(std::move(null_space), rows);
    }
    return report;
  }

  const Dynamics & dynamics_;
  const Formulation & formulation_;
  FormulationData & data_;
  Workspace & workspace_;
  Evaluation & evaluation_;
  const ConstrainedSystem & of_;
};

}  // namespace

const RankReport & Workspace::reset(const State & state)
{
  const System & system = impl_->evaluation.system();
  if (state.q.size() != system.coordinate_count() || state.u.size() != system.speed_count())
  {
    throw std::invalid_argument(
      "the state has " + std::to_string(state.q.size()) + " coordinates and " +
      std::to_string(state.u.size()) + " speeds; allowed: " +
      std::to_string(system.coordinate_count()) + " and " + std::to_string(system.speed_count()));
  }
  impl_->report = RankAnalysis(impl_->dynamics, *impl_->formulation_data, *this).run(state);
  return impl_->report;
}

}  // namespace constrained_dynamics
