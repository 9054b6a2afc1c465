// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <Eigen/Core>

namespace constrained_dynamics
{

/// Read-only view of a contiguous vector.
using ConstVectorRef = Eigen::Ref<const Eigen::VectorXd>;
/// Writable view of a contiguous vector.
using VectorRef = Eigen::Ref<Eigen::VectorXd>;
/// Read-only view of a column-major matrix or a block of one.
using ConstMatrixRef = Eigen::Ref<const Eigen::MatrixXd>;
/// Writable view of a column-major matrix or a block of one.
using MatrixRef = Eigen::Ref<Eigen::MatrixXd>;
/// Jacobian of a frame: rows 0 to 2 linear, rows 3 to 5 angular, one column per speed.
using Matrix6X = Eigen::Matrix<double, 6, Eigen::Dynamic>;

}  // namespace constrained_dynamics
