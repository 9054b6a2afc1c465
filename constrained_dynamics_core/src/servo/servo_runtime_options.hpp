// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include "constrained_dynamics/servo/servo_runtime.hpp"

namespace constrained_dynamics
{

/// @throw std::invalid_argument naming an option that is out of range.
const ServoRuntimeOptions & checked(const ServoRuntimeOptions & options);

/// The tighter limits of both, one per input, ±∞: none.
/// @throw std::invalid_argument for another number of limits.
InputLimits tighter(const InputLimits & a, const InputLimits & b, Eigen::Index input_count);

}  // namespace constrained_dynamics
