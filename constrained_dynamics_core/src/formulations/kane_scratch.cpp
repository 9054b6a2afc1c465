// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "kane_scratch.hpp"

namespace constrained_dynamics
{

KaneScratch::KaneScratch(int speed_count, int max_row_count)
: RowScratch(speed_count, max_row_count),
  mass(Eigen::MatrixXd::Zero(speed_count, speed_count)),
  force(Eigen::VectorXd::Zero(speed_count)),
  mass_a2(Eigen::MatrixXd::Zero(speed_count, speed_count)),
  reduced(speed_count),
  remaining(Eigen::VectorXd::Zero(speed_count)),
  independent(Eigen::VectorXd::Zero(speed_count)),
  responses(Eigen::MatrixXd::Zero(speed_count, 0))
{
}

bool KaneScratch::solve_reduced(const RowProblem & problem) noexcept CD_NONBLOCKING
{
  // Letters of the seeds: Q, h; n speeds, r of them dependent and p independent.
  const ConstMatrixRef & Q = problem.mass_matrix;
  const Eigen::Index n = Q.rows();
  const Eigen::Index r = rank();
  const Eigen::Index p = n - r;
  const Eigen::VectorXi & order = factorisation.order();
  const auto K = factorisation.dependency();
  for (Eigen::Index j = 0; j < n; ++j)
  {
    for (Eigen::Index i = 0; i < n; ++i)
    {
      mass(i, j) = Q(order(i), order(j));
    }
    force(j) = problem.force(order(j));
  }

  // Q A2ᵀ with A2 = [Kᵀ I] (E5), then A2 Q A2ᵀ and A2 (h − Q [β; 0]).
  auto Q_A2 = mass_a2.leftCols(p);
  auto A2_Q_A2 = reduced.matrix(p);
  auto w = independent.head(p);
  Q_A2 = mass.rightCols(p);
  remaining = force;
  remaining.noalias() -= mass.leftCols(r) * beta();
  w = remaining.tail(p);
  if (r > 0)
  {
    Q_A2.noalias() += mass.leftCols(r) * K;
    A2_Q_A2.noalias() = K.transpose() * Q_A2.topRows(r);
    A2_Q_A2 += Q_A2.bottomRows(p);
    w.noalias() += K.transpose() * remaining.head(r);
  }
  else
  {
    A2_Q_A2 = Q_A2.bottomRows(p);
  }
  if (!reduced.factor(p))
  {
    return false;
  }
  reduced.solve(w);
  expand(w);
  return true;
}

void KaneScratch::respond(const ConstMatrixRef & forces, MatrixRef accelerations) noexcept
  CD_NONBLOCKING
{
  const Eigen::Index r = rank();
  const Eigen::Index p = speed_count() - r;
  const Eigen::Index count = forces.cols();
  const Eigen::VectorXi & order = factorisation.order();
  const auto K = factorisation.dependency();
  auto w = responses.topLeftCorner(p, count);
  for (Eigen::Index j = 0; j < count; ++j)
  {
    for (Eigen::Index i = 0; i < p; ++i)
    {
      w(i, j) = forces(order(r + i), j);
    }
    for (Eigen::Index k = 0; k < r; ++k)
    {
      const double dependent = forces(order(k), j);
      if (dependent != 0.0)
      {
        w.col(j) += dependent * K.row(k).transpose();
      }
    }
  }
  reduced.solve_columns(w);
  for (Eigen::Index j = 0; j < count; ++j)
  {
    for (Eigen::Index i = 0; i < p; ++i)
    {
      accelerations(order(r + i), j) = w(i, j);
    }
    for (Eigen::Index k = 0; k < r; ++k)
    {
      accelerations(order(k), j) = K.row(k).dot(w.col(j));
    }
  }
}

}  // namespace constrained_dynamics
