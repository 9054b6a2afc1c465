// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <Eigen/QR>
#include <Eigen/SVD>

/// @file
/// Eigen's decompositions that take long to compile, such as singular values: compiled once, in
/// dense_decompositions.cpp. Other factorisations of a control cycle are compiled where they are
/// called.

namespace Eigen
{
extern template class JacobiSVD<MatrixXd>;
extern template class BDCSVD<MatrixXd>;
extern template class HouseholderQR<MatrixXd>;
extern template class ColPivHouseholderQR<MatrixXd>;
extern template class CompleteOrthogonalDecomposition<MatrixXd>;
extern template class PartialPivLU<MatrixXd>;
extern template class PartialPivLU<MatrixXcd>;
extern template class EigenSolver<MatrixXd>;
extern template class SelfAdjointEigenSolver<MatrixXd>;
}  // namespace Eigen

namespace constrained_dynamics::detail
{

// The constructors of these solvers are templates, which the declarations above leave open.
Eigen::EigenSolver<Eigen::MatrixXd> solve_eigenvalues(
  const Eigen::MatrixXd & matrix, bool with_vectors);
Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solve_symmetric(const Eigen::MatrixXd & matrix);
Eigen::MatrixXd pseudo_inverse(const Eigen::MatrixXd & matrix);

}  // namespace constrained_dynamics::detail
