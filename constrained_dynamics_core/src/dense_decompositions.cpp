// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "dense_decompositions.hpp"

namespace Eigen
{
template class JacobiSVD<MatrixXd>;
template class BDCSVD<MatrixXd>;
template class HouseholderQR<MatrixXd>;
template class ColPivHouseholderQR<MatrixXd>;
template class CompleteOrthogonalDecomposition<MatrixXd>;
template class PartialPivLU<MatrixXd>;
template class PartialPivLU<MatrixXcd>;
template class EigenSolver<MatrixXd>;
template class SelfAdjointEigenSolver<MatrixXd>;
}  // namespace Eigen

namespace constrained_dynamics::detail
{

Eigen::EigenSolver<Eigen::MatrixXd> solve_eigenvalues(
  const Eigen::MatrixXd & matrix, bool with_vectors)
{
  return Eigen::EigenSolver<Eigen::MatrixXd>(matrix, with_vectors);
}

Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solve_symmetric(const Eigen::MatrixXd & matrix)
{
  return Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd>(matrix);
}

Eigen::MatrixXd pseudo_inverse(const Eigen::MatrixXd & matrix)
{
  return matrix.completeOrthogonalDecomposition().pseudoInverse();
}

}  // namespace constrained_dynamics::detail
