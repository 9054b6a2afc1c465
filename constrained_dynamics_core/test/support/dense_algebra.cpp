// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "support/dense_algebra.hpp"

#include <algorithm>
#include <vector>

#include <Eigen/Dense>

namespace constrained_dynamics::test
{

using Eigen::MatrixXd;
using Eigen::VectorXd;

MatrixXd inverse_of(const MatrixXd & matrix) { return matrix.inverse(); }

MatrixXd pseudo_inverse(const MatrixXd & matrix)
{
  return matrix.completeOrthogonalDecomposition().pseudoInverse();
}

MatrixXd solve_least_squares(const MatrixXd & matrix, const MatrixXd & right, double threshold)
{
  Eigen::CompleteOrthogonalDecomposition<MatrixXd> decomposition(matrix);
  if (threshold > 0.0)
  {
    decomposition.setThreshold(threshold);
  }
  return decomposition.solve(right);
}

MatrixXd solve_definite(const MatrixXd & matrix, const MatrixXd & right)
{
  return matrix.ldlt().solve(right);
}

MatrixXd solve_regular(const MatrixXd & matrix, const MatrixXd & right)
{
  return matrix.fullPivLu().solve(right);
}

Eigen::Index rank_of(const MatrixXd & matrix) { return matrix.fullPivLu().rank(); }

MatrixXd kernel_of(const MatrixXd & matrix, double threshold)
{
  Eigen::FullPivLU<MatrixXd> lu(matrix);
  if (threshold > 0.0)
  {
    lu.setThreshold(threshold);
  }
  return lu.kernel();
}

MatrixXd null_space(const MatrixXd & matrix, double threshold)
{
  const Eigen::JacobiSVD<MatrixXd> svd(matrix, Eigen::ComputeFullV);
  const Eigen::Index rank =
    (svd.singularValues().array() > threshold * svd.singularValues()(0)).count();
  return svd.matrixV().rightCols(matrix.cols() - rank);
}

VectorXd singular_values(const MatrixXd & matrix)
{
  return Eigen::JacobiSVD<MatrixXd>(matrix).singularValues();
}

VectorXd symmetric_eigenvalues(const MatrixXd & matrix)
{
  return Eigen::SelfAdjointEigenSolver<MatrixXd>(matrix).eigenvalues();
}

Eigen::VectorXd non_negative_rest(const Eigen::MatrixXd & M, const Eigen::VectorXd & r)
{
  const Eigen::Index count = M.cols();
  Eigen::VectorXd mu = Eigen::VectorXd::Zero(count);
  std::vector<Eigen::Index> set;
  for (int step = 0; step < 20 * (static_cast<int>(count) + 1); ++step)
  {
    const Eigen::VectorXd slope = M.transpose() * (r - M * mu);
    Eigen::Index next = -1;
    for (Eigen::Index i = 0; i < count; ++i)
    {
      const bool is_in = std::find(set.begin(), set.end(), i) != set.end();
      const double size = 1e-13 * (1.0 + M.col(i).norm() * r.norm());
      next = !is_in && slope(i) > size && (next < 0 || slope(i) > slope(next)) ? i : next;
    }
    if (next < 0)
    {
      break;
    }
    set.push_back(next);
    for (;;)
    {
      const Eigen::MatrixXd part = M(Eigen::all, set);
      const Eigen::VectorXd best = part.colPivHouseholderQr().solve(r);
      double fraction = 1.0;
      for (std::size_t k = 0; k < set.size(); ++k)
      {
        const Eigen::Index place = static_cast<Eigen::Index>(k);
        const double now = mu(set[k]);
        fraction = best(place) <= 0.0 ? std::min(fraction, now / (now - best(place))) : fraction;
      }
      std::vector<Eigen::Index> kept;
      for (std::size_t k = 0; k < set.size(); ++k)
      {
        mu(set[k]) += fraction * (best(static_cast<Eigen::Index>(k)) - mu(set[k]));
        if (mu(set[k]) > 1e-14)
        {
          kept.push_back(set[k]);
        }
        else
        {
          mu(set[k]) = 0.0;
        }
      }
      const bool is_done = kept.size() == set.size();
      set = kept;
      if (is_done || set.empty())
      {
        break;
      }
    }
  }
  return r - M * mu;
}

}  // namespace constrained_dynamics::test
