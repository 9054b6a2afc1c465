// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "dense_decompositions.hpp"

namespace Eigen
{
template class JacobiSVD<MatrixXd>;
template class BDCSVD<MatrixXd>;
template class ColPivHouseholderQR<MatrixXd>;
}  // namespace Eigen
