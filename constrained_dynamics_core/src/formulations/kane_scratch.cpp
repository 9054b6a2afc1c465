// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "kane_scratch.hpp"

#include <algorithm>

#include "clones.hpp"
#include "formulations/columns.hpp"

namespace constrained_dynamics
{

KaneScratch::KaneScratch(int speed_count, int max_row_count)
: RowScratch(speed_count, max_row_count),
  mass(Eigen::MatrixXd::Zero(speed_count, speed_count)),
  mass_a2(Eigen::MatrixXd::Zero(speed_count, speed_count)),
  dependency_transpose(Eigen::MatrixXd::Zero(speed_count, std::min(speed_count, max_row_count))),
  reduced(speed_count),
  remaining(Eigen::VectorXd::Zero(speed_count)),
  independent(Eigen::VectorXd::Zero(speed_count)),
  responses(Eigen::MatrixXd::Zero(0, speed_count)),
  transposed(Eigen::MatrixXd::Zero(0, speed_count))
{
}

bool KaneScratch::solve_reduced(const RowProblem & problem) noexcept CD_NONBLOCKING
{
  auto w = independent.head(speed_count() - rank());
  is_symmetric = load(problem);
  if (!(is_symmetric ? reduce_symmetric() : reduce_any()))
  {
    return false;
  }
  reduced.solve(w);
  expand(w);
  return true;
}

CD_CLONES bool KaneScratch::load(const RowProblem & problem) noexcept
{
  // Letters of the seeds: Q, h; n speeds, r of them dependent and p independent.
  const ConstMatrixRef & Q = problem.mass_matrix;
  const Eigen::Index n = Q.rows();
  const Eigen::Index r = rank();
  const Eigen::Index p = n - r;
  const int * order = factorisation.order().data();
  const auto K = factorisation.dependency();
  bool symmetric = true;
  for (Eigen::Index j = 0; j < n; ++j)
  {
    const double * from = Q.data() + order[j] * Q.outerStride();
    double * to = mass.data() + j * mass.outerStride();
    for (Eigen::Index i = 0; i < n; ++i)
    {
      to[i] = from[order[i]];
    }
    for (Eigen::Index i = 0; i < j; ++i)
    {
      symmetric = symmetric && to[i] == mass(j, i);
    }
    remaining(j) = problem.force(order[j]);
  }
  auto w = independent.head(p);
  columns::add_columns(
    remaining.data(), mass.data(), mass.outerStride(),
    [&](Eigen::Index k) { return -particular(k); }, n, r);
  w = remaining.tail(p);
  for (Eigen::Index j = 0; j < p; ++j)
  {
    w(j) += columns::dot(K.data() + j * K.outerStride(), remaining.data(), r);
  }
  return symmetric;
}

CD_CLONES bool KaneScratch::reduce_symmetric() noexcept
{
  // With A2 = [Kᵀ I] (E5): Kᵀ (Q_DD K + Q_DI) + Q_ID K + Q_II.
  const Eigen::Index r = rank();
  const Eigen::Index p = speed_count() - r;
  const Eigen::Index stride = mass.outerStride();
  const auto K = factorisation.dependency();
  auto A2_Q_A2 = reduced.matrix(p);
  for (Eigen::Index i = 0; i < p; ++i)
  {
    for (Eigen::Index k = 0; k < r; ++k)
    {
      dependency_transpose(i, k) = K(k, i);
    }
  }
  for (Eigen::Index j = 0; j < p; ++j)
  {
    const double * K_j = K.data() + j * K.outerStride();
    double * Q_A2 = mass_a2.data();  // Q_DD K + Q_DI of this column
    double * column = A2_Q_A2.data() + j * A2_Q_A2.outerStride() + j;
    const double * Q_j = mass.data() + (r + j) * stride;
    std::copy_n(Q_j, r, Q_A2);
    std::copy_n(Q_j + r + j, p - j, column);
    if (r == 0)
    {
      continue;
    }
    columns::add_product(Q_A2, mass.data(), stride, K_j, r, r);
    columns::add_product(column, mass.data() + r + j, stride, K_j, p - j, r);
    columns::add_product(
      column, dependency_transpose.data() + j, dependency_transpose.outerStride(), Q_A2, p - j, r);
  }
  for (Eigen::Index j = 0; j < p; ++j)
  {
    for (Eigen::Index i = j + 1; i < p; ++i)
    {
      A2_Q_A2(j, i) = A2_Q_A2(i, j);
    }
  }
  return reduced.factor(p);
}

bool KaneScratch::reduce_any() noexcept
{
  const Eigen::Index r = rank();
  const Eigen::Index p = speed_count() - r;
  const auto K = factorisation.dependency();
  auto Q_A2 = mass_a2.leftCols(p);
  auto A2_Q_A2 = reduced.matrix(p);
  Q_A2 = mass.rightCols(p);
  if (r > 0)
  {
    Q_A2.noalias() += mass.leftCols(r) * K;
    A2_Q_A2.noalias() = K.transpose() * Q_A2.topRows(r);
    A2_Q_A2 += Q_A2.bottomRows(p);
  }
  else
  {
    A2_Q_A2 = Q_A2.bottomRows(p);
  }
  return reduced.factor(p);
}

CD_CLONES void KaneScratch::respond(const ConstMatrixRef & forces, MatrixRef accelerations) noexcept
  CD_NONBLOCKING
{
  // A row for each force, so that what belongs to one speed lies side by side.
  const Eigen::Index r = rank();
  const Eigen::Index p = speed_count() - r;
  const Eigen::Index count = forces.cols();
  const int * order = factorisation.order().data();
  const auto K = factorisation.dependency();
  auto w = responses.topLeftCorner(count, p);
  for (Eigen::Index i = 0; i < p; ++i)
  {
    w.col(i) = forces.row(order[r + i]).transpose();
  }
  for (Eigen::Index k = 0; k < r; ++k)
  {
    // Most inputs act on one speed.
    for (Eigen::Index j = 0; j < count; ++j)
    {
      const double dependent = forces(order[k], j);
      for (Eigen::Index i = 0; i < p && dependent != 0.0; ++i)
      {
        w(j, i) += dependent * K(k, i);
      }
    }
  }
  if (is_symmetric)
  {
    columns::divide_rows(reduced.matrix(p), w);
  }
  else
  {
    for (Eigen::Index begin = 0; begin < count; begin += mass_a2.cols())
    {
      auto part = w.middleRows(begin, std::min(mass_a2.cols(), count - begin));
      auto right = mass_a2.topLeftCorner(p, part.rows());
      right = part.transpose();
      reduced.solve_columns(right);
      part = right.transpose();
    }
  }
  for (Eigen::Index i = 0; i < p; ++i)
  {
    accelerations.col(order[r + i]) = w.col(i);
  }
  for (Eigen::Index k = 0; k < r; ++k)
  {
    auto dependent = accelerations.col(order[k]);
    dependent.setZero();
    columns::add_columns(
      dependent.data(), w.data(), w.outerStride(), [&](Eigen::Index i) { return K(k, i); }, count,
      p);
  }
}

}  // namespace constrained_dynamics
