// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <Eigen/QR>
#include <Eigen/SVD>

/// Eigen's decompositions of MatrixXd that set-up and analysis use: compiled once, in
/// dense_decompositions.cpp, because a singular value decomposition takes many seconds to compile.
/// What a control cycle calls is compiled where it is called.
namespace Eigen
{
extern template class JacobiSVD<MatrixXd>;
extern template class BDCSVD<MatrixXd>;
extern template class ColPivHouseholderQR<MatrixXd>;
}  // namespace Eigen
