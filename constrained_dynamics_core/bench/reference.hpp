// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <Eigen/Core>

#include "workload.hpp"

namespace constrained_dynamics::bench
{

/// What a workload's accelerations are, and how far off one may be.
struct Reference
{
  Eigen::VectorXd acceleration;  ///< u̇, by long double arithmetic from the terms Q, P, A, b
  /// max(1e-11, 100 ε κ(A R⁻¹) κ(Q)^½) with Q = Rᵀ R and κ over the rank of the rows.
  double error_limit = 0.0;
};

Reference reference_of(const Workload & workload);

/// ‖a − b‖ / ‖b‖, by the largest element.
double relative_error(const Eigen::VectorXd & a, const Eigen::VectorXd & b);

}  // namespace constrained_dynamics::bench
