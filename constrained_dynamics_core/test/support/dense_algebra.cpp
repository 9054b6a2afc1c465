// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "support/dense_algebra.hpp"

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

}  // namespace constrained_dynamics::test
