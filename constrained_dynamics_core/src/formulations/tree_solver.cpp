// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "formulations/tree_solver.hpp"

#include <algorithm>
#include <cmath>

#include "clones.hpp"
#include "constrained_dynamics/model/rigid_body_system.hpp"
// The stages are headers of this source alone, so that each version of `solve` has them inlined.
#include "formulations/tree_loading.hpp"
#include "formulations/tree_motion.hpp"
#include "formulations/tree_reduction.hpp"

namespace constrained_dynamics
{

namespace
{

// Where a row is always far below the size that it could have, its own size says whether it is
// regular down to the square root of this fraction.
constexpr double kSmallestRow = 1e-4;
// Up to so many speeds the factorisation of A costs little, and where rows are redundant it keeps
// all digits. Then the recursion leaves redundant rows to it.
constexpr Eigen::Index kFewSpeeds = 20;

/// Finite, and so far from overflow that products of some of them are.
bool is_moderate(const Eigen::VectorXd & x) noexcept
{
  constexpr double kLargest = 1e100;
  double sum = 0.0;
  for (Eigen::Index i = 0; i < x.size(); ++i)
  {
    sum += std::abs(x(i));
  }
  return sum <= kLargest;
}

}  // namespace

std::shared_ptr<const TreeSolver> TreeSolver::make(const ConstraintSet & constraints)
{
  const RigidBodySystem * system = constraints.system().as_robot();
  return system ? std::shared_ptr<const TreeSolver>(new TreeSolver(constraints, system->tree()))
                : nullptr;
}

TreeSolver::TreeSolver(const ConstraintSet & constraints, const KinematicTree & tree)
: TreePattern(constraints, tree)
{
}

std::unique_ptr<TreeSolverData> TreeSolver::make_data() const
{
  auto data = std::make_unique<TreeSolverData>();
  const Eigen::Index m = static_cast<Eigen::Index>(row_at_.size());
  const Eigen::Index n = tree_.damping.size();
  const Eigen::Index spare = m;  // as many rows as there are may be redundant
  data->bodies.resize(tree_.bodies.size());
  data->joints.resize(idx(joint_count_));
  data->forces.resize(frame_terms_.size());
  data->dense_jacobian.setZero(dense_constraints_.empty() ? 0 : set_.row_count(), n);
  data->part.assign(idx(set_.size()), 0);
  data->compliance.setOnes(m);
  data->strength.setOnes(m);
  data->carry.setZero(place_count_, 6);
  data->effect.setZero(passing_count_, 6);
  data->share.setZero(passing_count_, 6);
  data->factor.setZero(m, m);
  data->diagonal.setZero(m);
  data->nominal.setZero(m);
  data->inverse_pivot.setZero(m);
  data->left.setZero(m);
  data->multipliers.setZero(m);
  data->joint_force.setZero(n);
  data->acceleration.setZero(n);
  data->column.setZero(m);
  data->dropped.assign(idx(static_cast<int>(m)), 0);
  data->null_space.setZero(m, spare);
  data->gram.setZero(spare, spare);
  data->gram_scaled.setZero(spare, spare);
  data->gram_right.setZero(spare);
  return data;
}

CD_CLONES Status TreeSolver::evaluate(
  const SystemData & system_data, ConstraintScratch & scratch, Rows & rows,
  TreeSolverData & data) const noexcept CD_NONBLOCKING
{
  const TreeData & tree_data = static_cast<const TreeData &>(system_data);
  for (std::size_t i = 0; i < frame_terms_.size(); ++i)
  {
    const FrameConstraint & frames = *frame_terms_[i].frames;
    tree_.frame_kinematics(tree_data, frames.frame_a(), data.work.a, !frames.is_point_only());
    tree_.frame_kinematics(tree_data, frames.frame_b(), data.work.b);
    const Eigen::Index first = set_.row_offset(frame_terms_[i].constraint);
    const Status status = frames.evaluate_forces(
      system_data.terms.time, scratch, data.work, rows.position.data() + first,
      rows.velocity.data() + first, rows.bias.data() + first, data.forces[i]);
    if (status != Status::kOk)
    {
      return status;
    }
  }
  for (const int c : dense_constraints_)
  {
    const Eigen::Index first = set_.row_offset(c);
    const Eigen::Index count = set_[c].row_count();
    RowBlock block{
      rows.position.segment(first, count), rows.velocity.segment(first, count),
      data.dense_jacobian.middleRows(first, count), rows.bias.segment(first, count)};
    const Status status = set_[c].evaluate(system_data, scratch, block);
    if (status != Status::kOk)
    {
      return status;
    }
  }
  return Status::kOk;
}

void TreeSolver::measure(const TreeProblem & problem, TreeSolverData & data) const noexcept
  CD_NONBLOCKING
{
  load(problem, true, data);
  if (!reduce(problem, false, data))
  {
    return;
  }
  for (std::size_t k = 0; k < row_at_.size(); ++k)
  {
    const Eigen::Index at = static_cast<Eigen::Index>(k);
    const Eigen::Index row = row_at_[k];
    const double own = problem.row_scale(row) * problem.jacobian.row(row).norm();
    const double usual = data.diagonal(at) * std::max(1.0, kSmallestRow / (own * own));
    data.nominal(at) = std::isfinite(usual) ? std::max(data.nominal(at), usual) : data.nominal(at);
  }
  data.is_measured = true;
}

bool TreeSolver::split(TreeSolverData & data) const noexcept
{
  // A dropped row is a combination of those before it: Aᵀ z = 0 with z = 1 there, and the others
  // from the factor. Of all λ + Z y the one with the least ‖W λ‖ is taken.
  const Eigen::Index d = data.dropped_count;
  const Eigen::Index m = static_cast<Eigen::Index>(row_at_.size());
  auto Z = data.null_space.leftCols(d);
  Z.setZero();
  for (Eigen::Index c = 0; c < d; ++c)
  {
    const int k = data.dropped[idx(static_cast<int>(c))];
    Z(k, c) = 1.0;
    for (int j = k - 1; j >= 0; --j)
    {
      if (data.inverse_pivot(j) == 0.0)
      {
        continue;
      }
      double sum = 0.0;
      for (const Below & b : below_[idx(j)])
      {
        sum -= data.factor(b.position, j) * Z(b.position, c);
      }
      Z(j, c) = sum;
    }
  }
  data.gram_right.head(d).setZero();
  data.gram.topLeftCorner(d, d).setZero();
  data.gram_scaled.topLeftCorner(d, d).setZero();
  for (Eigen::Index k = 0; k < m; ++k)
  {
    const double weight = 1.0 / data.compliance(k);
    const double size = 1.0 / data.strength(k);
    for (Eigen::Index j = 0; j < d; ++j)
    {
      const double z = Z(k, j);
      if (z == 0.0)
      {
        continue;
      }
      data.gram_right(j) += weight * z * data.multipliers(k);
      for (Eigen::Index i = j; i < d; ++i)
      {
        const double product = z * Z(k, i);
        data.gram(i, j) += weight * product;
        data.gram_scaled(i, j) += size * product;
      }
    }
  }
  if (!factor_small(data.gram, d) || !factor_small(data.gram_scaled, d))
  {
    return false;
  }
  solve_small(data.gram, d, data.gram_right);
  for (Eigen::Index j = 0; j < d; ++j)
  {
    data.multipliers -= data.gram_right(j) * Z.col(j);
  }
  return true;
}

CD_CLONES bool TreeSolver::solve(
  const TreeProblem & problem, ConstraintScratch & scratch, TreeSolverData & data,
  Solution & solution) const noexcept CD_NONBLOCKING
{
  if (!data.is_measured)
  {
    return false;
  }
  load(problem, false, data);
  int active = 0;
  int copied = 0;
  for (const int c : constraint_at_)
  {
    active += data.part[idx(c)] >= 0 ? 1 : 0;
    copied += data.part[idx(c)] >= 0 && data.part[idx(c)] != c ? 1 : 0;
  }
  if (
    !reduce(problem, true, data) || active - copied - data.dropped_count != problem.nominal_rank ||
    (data.drops_real_rows && data.acceleration.size() <= kFewSpeeds))
  {
    return false;
  }
  double inconsistency = 0.0;
  if (
    !find_motion(problem, data, inconsistency) || (data.dropped_count > 0 && !split(data)) ||
    !is_moderate(data.acceleration) || !is_moderate(data.multipliers))
  {
    return false;
  }

  double worst = 1.0;
  solution.acceleration = data.acceleration;
  for (std::size_t k = 0; k < row_at_.size(); ++k)
  {
    const Eigen::Index at = static_cast<Eigen::Index>(k);
    const Eigen::Index row = row_at_[k];
    solution.multipliers(row) = data.multipliers(at);
    worst = std::max(worst, std::max(data.diagonal(at), data.nominal(at)) * data.inverse_pivot(at));
    double redundancy = 0.0;
    if (data.dropped_count > 0)
    {
      const Eigen::Index d = data.dropped_count;
      const double size = 1.0 / std::sqrt(data.strength(at));
      for (Eigen::Index j = 0; j < d; ++j)
      {
        data.gram_right(j) = size * data.null_space(at, j);
      }
      divide_small(data.gram_scaled, d, data.gram_right);
      redundancy = data.gram_right.head(d).norm();
    }
    solution.redundancy(row) = redundancy;
  }
  solution.active_row_count = active;
  if (data.has_copies)
  {
    share_among_copies(problem, solution, data);
  }
  solution.rank = problem.nominal_rank;
  solution.condition = std::sqrt(worst);
  solution.inconsistency = inconsistency;
  solution.along_tree = true;
  forces(problem, scratch, data, solution);
  return true;
}

}  // namespace constrained_dynamics
