// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <limits>

namespace constrained_dynamics
{

inline constexpr double kPi = 3.14159265358979323846;
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace constrained_dynamics
