// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "servo/level_solver.hpp"

// What leaving the solution of the levels costs each of them.

namespace constrained_dynamics
{

void LevelSolver::find_directions(
  const Eigen::MatrixXd & transposed, const std::vector<int> & row_ends,
  const std::vector<int> & ranks, Eigen::MatrixXd & directions) noexcept CD_NONBLOCKING
{
  // Level k misses ‖y_k‖ more than it must, y_k = R_k x_k + Σ_j<k K_kj x_j, where x is counted from
  // the solution: with S_k B U = [L_k1 … L_kk 0], L_kk = Q_k R_k and K_kj = Q_kᵀ L_kj.
  auto D = directions.topLeftCorner(total_, total_);  // x = D y
  D.setIdentity();
  Eigen::Index begin = 0;
  for (std::size_t level = 0; level < ranks.size(); ++level)
  {
    const Eigen::Index first = level > 0 ? row_ends[level - 1] : 0;
    const Eigen::Index m = row_ends[level] - first;
    const Eigen::Index r = ranks[level];
    if (r == 0)
    {
      continue;
    }
    transform(transposed.middleCols(first, m));
    tall_.matrix(m, r) = rows_.block(begin, 0, r, m).transpose();
    tall_.factor(m, r);
    auto K = row_work_.topLeftCorner(begin, r);  // transposed
    for (Eigen::Index j = 0; j < begin; ++j)
    {
      along_.head(m) = rows_.row(j).head(m).transpose();
      tall_.apply_transpose(along_.head(m));
      K.row(j) = along_.head(r).transpose();
    }
    for (Eigen::Index j = 0; j < begin + r; ++j)
    {
      auto x = D.col(j).segment(begin, r);
      if (j < begin)
      {
        x.noalias() = -K.transpose() * D.col(j).head(begin);
      }
      tall_.divide(x);
    }
    begin += r;
  }
  for (Eigen::Index j = 0; j < total_; ++j)
  {
    reflect_back(D.col(j));
  }
  if (!is_identity_)
  {
    root_.topLeftCorner(total_, total_) = D;
    directions.leftCols(total_).noalias() =
      basis_.leftCols(total_) * root_.topLeftCorner(total_, total_);
    directions.rightCols(free_) = free_basis_.leftCols(free_);
  }
}

}  // namespace constrained_dynamics
