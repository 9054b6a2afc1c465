// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <Eigen/Core>

#include "constrained_dynamics/dynamics/dynamics.hpp"
#include "constrained_dynamics/formulations/row_factorisation.hpp"
#include "constrained_dynamics/status.hpp"

namespace constrained_dynamics
{

/// The projection A2 of (E5) on generalized forces. A2 f is stored in n elements: those of the
/// independent speeds, and 0 at the dependent ones. This is a generalized force as well, with the
/// same power as f in every motion that the constraints allow, so that it can be projected again
/// after a change of the partition.
///
/// Only the constructor allocates.
class IndependentForces
{
public:
  explicit IndependentForces(const Dynamics & dynamics);

  /// Factors the active rows at the state of a workspace, whose rows are available.
  /// Statuses: kOk, kSingular, kNonFiniteInput. Real-time safe: yes.
  [[nodiscard]] Status factor(const Workspace & workspace) noexcept CD_NONBLOCKING;

  /// Replaces each column f (n) by A2 f. Real-time safe: yes.
  void project(MatrixRef forces) const noexcept CD_NONBLOCKING;

  /// Number of active rows, and the k-th of them.
  int row_count() const { return row_count_; }
  int row(int k) const { return rows_(k); }
  /// The active rows (row_count() × n).
  Eigen::Block<const Eigen::MatrixXd> jacobian() const
  {
    return jacobian_.block(0, 0, row_count_, jacobian_.cols());
  }
  /// 1 over the sizes that the active rows could have.
  Eigen::VectorBlock<const Eigen::VectorXd> scale() const { return scale_.head(row_count_); }
  const RowFactorisation & factorisation() const { return factorisation_; }

private:
  const Dynamics & dynamics_;
  RowFactorisation factorisation_;
  Eigen::MatrixXd jacobian_;
  Eigen::VectorXd scale_;
  Eigen::VectorXi rows_;
  int row_count_ = 0;
};

}  // namespace constrained_dynamics
