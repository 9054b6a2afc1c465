// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <Eigen/Core>

#include "row_scratch.hpp"

namespace constrained_dynamics
{

/// The reduced equations of KaneMinimal and Reduction: the rows A1 u̇ = β of (E6) say
/// u̇ = A2ᵀ ẇ + [β; 0], and its rows A2 Q u̇ = A2 h then are (A2 Q A2ᵀ) ẇ = A2 (h − Q [β; 0]).
class KaneScratch : public RowScratch
{
public:
  KaneScratch(int speed_count, int max_row_count);

  /// `acceleration` of the rows that `begin` factored. False where A2 Q A2ᵀ is singular.
  bool solve_reduced(const RowProblem & problem) noexcept CD_NONBLOCKING;

  /// Accelerations (k × n, a row for each force) that forces (n × k) add, after `solve_reduced`:
  /// A2ᵀ (A2 Q A2ᵀ)⁻¹ A2 f. At most as many forces as `responses` has rows.
  void respond(const ConstMatrixRef & forces, MatrixRef accelerations) noexcept CD_NONBLOCKING;

  // In partition order, dependent speeds first.
  Eigen::MatrixXd mass;                  // Q
  Eigen::MatrixXd mass_a2;               // Q A2ᵀ (n × p)
  Eigen::MatrixXd dependency_transpose;  // Kᵀ (p × r)
  ReducedInertia reduced;                // A2 Q A2ᵀ (p × p)
  Eigen::VectorXd remaining;             // h − Q [β; 0]
  Eigen::VectorXd independent;           // ẇ = u̇_I
  Eigen::MatrixXd responses;             // of `respond`, at the independent speeds (k × p)
  Eigen::MatrixXd transposed;            // accelerations of `respond` (k × n)

private:
  bool is_symmetric = true;  // Q

  /// Q and A2 (h − Q [β; 0]) in partition order. Returns whether Q is symmetric to the bit.
  bool load(const RowProblem & problem) noexcept;
  /// Factors A2 Q A2ᵀ. False where it is singular.
  bool reduce_symmetric() noexcept;
  bool reduce_any() noexcept;
};

}  // namespace constrained_dynamics
