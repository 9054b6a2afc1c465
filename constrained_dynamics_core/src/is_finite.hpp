// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include "constrained_dynamics/types.hpp"

namespace constrained_dynamics
{

/// Whether all numbers are finite: 0 times them is 0. Several times faster than Eigen's allFinite.
inline bool is_finite(const ConstMatrixRef & numbers) noexcept
{
  return (numbers.array() * 0.0).sum() == 0.0;
}

}  // namespace constrained_dynamics
