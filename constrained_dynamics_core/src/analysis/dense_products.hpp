// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <Eigen/Core>

#include "constrained_dynamics/status.hpp"
#include "constrained_dynamics/types.hpp"

namespace constrained_dynamics
{

/// out += factor · M X. Zeros of X cost almost nothing: derivatives along a tree have many. A full
/// product costs a little less than Eigen's. Real-time safe: yes.
void add_product(
  double factor, const ConstMatrixRef & M, const ConstMatrixRef & X,
  MatrixRef out) noexcept CD_NONBLOCKING;

}  // namespace constrained_dynamics
