// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <Eigen/Core>

/// @file
/// Eigen's decompositions, compiled once: each of them costs a test source some seconds to compile.

namespace constrained_dynamics::test
{

/// By LU with partial pivoting.
Eigen::MatrixXd inverse_of(const Eigen::MatrixXd & matrix);

/// By a complete orthogonal decomposition.
Eigen::MatrixXd pseudo_inverse(const Eigen::MatrixXd & matrix);

/// The shortest of the x with the least ‖matrix x − right‖, likewise. @param threshold 0: Eigen's.
Eigen::MatrixXd solve_least_squares(
  const Eigen::MatrixXd & matrix, const Eigen::MatrixXd & right, double threshold = 0.0);

/// matrix⁻¹ right of a symmetric, definite matrix, by LDLᵀ.
Eigen::MatrixXd solve_definite(const Eigen::MatrixXd & matrix, const Eigen::MatrixXd & right);

/// matrix⁻¹ right by LU with complete pivoting.
Eigen::MatrixXd solve_regular(const Eigen::MatrixXd & matrix, const Eigen::MatrixXd & right);

/// Rank and a basis of the null space, not orthonormal, likewise. @param threshold 0: Eigen's.
Eigen::Index rank_of(const Eigen::MatrixXd & matrix);
Eigen::MatrixXd kernel_of(const Eigen::MatrixXd & matrix, double threshold = 0.0);

/// An orthonormal basis of the null space, by an SVD. @param threshold relative to the largest
/// singular value.
Eigen::MatrixXd null_space(const Eigen::MatrixXd & matrix, double threshold = 1e-9);

/// The least ‖M μ − r‖ with μ ≥ 0, by the method of Lawson and Hanson. Returns r − M μ.
Eigen::VectorXd non_negative_rest(const Eigen::MatrixXd & M, const Eigen::VectorXd & r);

/// Falling.
Eigen::VectorXd singular_values(const Eigen::MatrixXd & matrix);

/// Of a symmetric matrix, rising.
Eigen::VectorXd symmetric_eigenvalues(const Eigen::MatrixXd & matrix);

}  // namespace constrained_dynamics::test
