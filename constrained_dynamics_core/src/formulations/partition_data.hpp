// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <algorithm>

#include "constrained_dynamics/formulations/coordinate_partition.hpp"
#include "formulations/kept_elimination.hpp"
#include "formulations/row_scratch.hpp"

/// @file
/// Scratch and arithmetic of the modes of CoordinatePartition, one class each.

namespace constrained_dynamics
{

class PartitionData : public RowScratch
{
public:
  PartitionData(int n, int m)
  : RowScratch(n, m), independent(Eigen::VectorXd::Zero(n + std::min(n, m)))
  {
  }

  /// Partitions the speeds and finds β.
  virtual Status partition(const RowProblem & problem, const RankOptions & options) noexcept
  {
    return begin(problem, options);
  }
  /// Finds u̇. False where what is left of the inertia is singular.
  virtual bool move(const RowProblem & problem) noexcept = 0;
  /// Multipliers and outputs.
  virtual Status conclude(
    const RowProblem & problem, const RankOptions & options, Status rank_status,
    RowSolution & solution) noexcept
  {
    return finish(problem, options, rank_status, solution);
  }

  virtual CoordinatePartition::Work work() const
  {
    CoordinatePartition::Work result;
    result.searches = factorisation.repartition_count();
    return result;
  }

  Eigen::VectorXd independent;  // u̇_i, or u̇ and μ
};

class FullCoordinatesData : public PartitionData
{
public:
  FullCoordinatesData(int n, int m)
  : PartitionData(n, m),
    basis(Eigen::MatrixXd::Zero(n, std::min(n, m))),
    right(Eigen::VectorXd::Zero(n + std::min(n, m))),
    lu(n + std::min(n, m))
  {
  }

  bool move(const RowProblem & problem) noexcept override
  {
    const Eigen::Index n = speed_count();
    const Eigen::Index r = rank();
    auto A1_transposed = basis.leftCols(r);
    row_basis(A1_transposed);
    // Rows of the size of the inertia; μ comes out divided by it.
    const double size = problem.mass_matrix.cwiseAbs().maxCoeff();
    const double scale = size > 0.0 ? size : 1.0;
    auto whole = lu.matrix(n + r);
    whole.topLeftCorner(n, n) = problem.mass_matrix;
    whole.topRightCorner(n, r) = -scale * A1_transposed;
    whole.bottomLeftCorner(r, n) = scale * A1_transposed.transpose();
    whole.bottomRightCorner(r, r).setZero();
    auto x = independent.head(n + r);
    auto left = right.head(n + r);
    left.head(n) = problem.force;
    left.tail(r) = scale * beta();
    if (!lu.factor(n + r))
    {
      return false;
    }
    x = left;
    lu.solve(x);
    // Reactions may be far larger than accelerations times inertia: the digits that this costs come
    // back by one step of iterative refinement.
    left.noalias() -= whole * x;
    lu.solve(left);
    x += left;
    acceleration = x.head(n);
    constraint_force.noalias() = A1_transposed * x.tail(r);
    constraint_force *= scale;
    return true;
  }

  Eigen::MatrixXd basis;  // A1ᵀ (n × r)
  Eigen::VectorXd right;
  BorderedLu lu;
};

class ReducedCoordinatesData : public PartitionData
{
public:
  ReducedCoordinatesData(int n, int m)
  : PartitionData(n, m),
    transformation(Eigen::MatrixXd::Zero(n, n)),
    mass_transformation(Eigen::MatrixXd::Zero(n, n)),
    remainder(Eigen::VectorXd::Zero(n)),
    force(Eigen::VectorXd::Zero(n)),
    reduced(n)
  {
  }

  /// K (E4).
  virtual Eigen::Block<const Eigen::MatrixXd> dependency() const noexcept
  {
    return factorisation.dependency();
  }

  bool move(const RowProblem & problem) noexcept override
  {
    const Eigen::Index r = rank();
    const Eigen::Index p = speed_count() - r;
    const Eigen::VectorXi & order = factorisation.order();
    const auto K = dependency();
    remainder.setZero();
    auto B = transformation.leftCols(p);
    B.setZero();
    for (Eigen::Index i = 0; i < r; ++i)
    {
      remainder(order(i)) = particular(i);
      B.row(order(i)) = K.row(i);
    }
    for (Eigen::Index i = 0; i < p; ++i)
    {
      B(order(r + i), i) = 1.0;
    }
    acceleration = remainder;
    force = problem.force;
    force.noalias() -= problem.mass_matrix * remainder;
    constraint_force = -force;
    if (p > 0)
    {
      auto Q_B = mass_transformation.leftCols(p);
      auto x = independent.head(p);
      Q_B.noalias() = problem.mass_matrix * B;
      reduced.matrix(p).noalias() = B.transpose() * Q_B;
      x.noalias() = B.transpose() * force;
      if (!reduced.factor(p))
      {
        return false;
      }
      reduced.solve(x);
      acceleration.noalias() += B * x;
      constraint_force.noalias() += Q_B * x;  // (E7): Q u̇ − h
    }
    return true;
  }

  /// Brings back the digits that a partition with a large K costs: one step of iterative refinement
  /// of the rows, δ_D = A_D⁻¹ (b − A u̇), and of the motion, BᵀQB δ = Bᵀ (h − Q u̇).
  template <typename Particular>
  void refine(const RowProblem & problem, const Particular & find_particular) noexcept
  {
    const Eigen::Index m = problem.rows.rows();
    const Eigen::Index r = rank();
    const Eigen::Index p = speed_count() - r;
    const Eigen::VectorXi & order = factorisation.order();
    auto missed = row_miss.head(m);
    auto correction = residual_particular.head(r);
    missed = problem.bias;
    missed.noalias() -= problem.rows * acceleration;
    find_particular(missed, correction);
    for (Eigen::Index i = 0; i < r; ++i)
    {
      acceleration(order(i)) += correction(i);
    }
    residual_force = problem.force;
    residual_force.noalias() -= problem.mass_matrix * acceleration;
    if (p > 0)
    {
      const auto B = transformation.leftCols(p);
      auto x = independent.head(p);
      x.noalias() = B.transpose() * residual_force;
      reduced.solve(x);
      acceleration.noalias() += B * x;
    }
    constraint_force = -problem.force;
    constraint_force.noalias() += problem.mass_matrix * acceleration;
  }

  Eigen::MatrixXd transformation;       // B (n × p)
  Eigen::MatrixXd mass_transformation;  // Q B (n × p)
  Eigen::VectorXd remainder;            // ℧
  Eigen::VectorXd force;
  ReducedInertia reduced;  // BᵀQB
};

/// The partition is found anew in every solve.
class EveryStepData : public ReducedCoordinatesData
{
public:
  using ReducedCoordinatesData::ReducedCoordinatesData;

  Status partition(const RowProblem & problem, const RankOptions & options) noexcept override
  {
    factorisation.reset_partition();
    return begin(problem, options);
  }
};

/// The partition is kept, and with it the pivots, as long as they are good and no row is redundant.
class SelectedData : public ReducedCoordinatesData
{
public:
  SelectedData(int n, int m) : ReducedCoordinatesData(n, m), kept(n, m) {}

  Status partition(const RowProblem & problem, const RankOptions & given) noexcept override
  {
    RankOptions options = given;
    options.partition_limit =
      std::max(options.partition_limit, CoordinatePartition::kSelectedLimit);
    const Status input = check(problem);
    if (input != Status::kOk)
    {
      return input;
    }
    uses_kept = keep(problem, options);
    if (uses_kept)
    {
      ++kept_count;
      kept.particular(problem.bias, beta());
      return Status::kOk;
    }
    const Status status = begin(problem, options);
    if (status == Status::kOk && rank() == problem.rows.rows())
    {
      kept.select(factorisation.order(), static_cast<int>(rank()));
    }
    else
    {
      kept.forget();
    }
    return status;
  }

  Eigen::Block<const Eigen::MatrixXd> dependency() const noexcept override
  {
    return uses_kept ? kept.dependency() : factorisation.dependency();
  }

  bool move(const RowProblem & problem) noexcept override
  {
    if (!ReducedCoordinatesData::move(problem))
    {
      return false;
    }
    // Below this K costs no more digits than pivoting leaves.
    constexpr double kLarge = 5.0;
    const auto K = dependency();
    if (K.size() > 0 && K.cwiseAbs().maxCoeff() > kLarge)
    {
      refine(
        problem,
        [&](const ConstVectorRef & bias, VectorRef beta_out) noexcept
        {
          if (uses_kept)
          {
            kept.particular(bias, beta_out);
          }
          else
          {
            factorisation.particular(bias, beta_out);
          }
        });
    }
    return true;
  }

  Status conclude(
    const RowProblem & problem, const RankOptions & options, Status rank_status,
    RowSolution & solution) noexcept override
  {
    if (!uses_kept)
    {
      return finish(problem, options, rank_status, solution);
    }
    kept.multipliers(constraint_force, multipliers.head(problem.rows.rows()));
    const Status status = judge(problem, options, rank_status, kept.row_size(), solution);
    if (has_output(status))
    {
      solution.condition = condition;
    }
    return status;
  }

  CoordinatePartition::Work work() const override
  {
    CoordinatePartition::Work result = ReducedCoordinatesData::work();
    result.pivot_choices = kept.pivoting_count();
    result.kept = kept_count;
    result.multiplications = kept.operation_count();
    return result;
  }

  bool keep(const RowProblem & problem, const RankOptions & options) noexcept
  {
    const Eigen::Index m = problem.rows.rows();
    if (
      problem.nominal_rank != m || problem.row_scale.size() != m ||
      !problem.row_scale.allFinite() || !kept.factor(problem.rows, problem.row_scale))
    {
      return false;
    }
    condition = kept.condition();
    const auto K = kept.dependency();
    // As RowFactorisation: the weakest direction against what the rows could have.
    const double largest = std::max(kept.row_size(), 1.0);
    return condition * largest * options.singular_tolerance <= kept.row_size() &&
           (K.size() == 0 || K.cwiseAbs().maxCoeff() <= options.partition_limit);
  }

  KeptElimination kept;
  bool uses_kept = false;
  long kept_count = 0;
  double condition = 1.0;
};

}  // namespace constrained_dynamics
