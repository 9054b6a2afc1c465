// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <cmath>

namespace constrained_dynamics
{

/// A row whose part beside other rows is below this fraction of it depends on them.
inline constexpr double kDependent = 1e-9;
/// Largest violation of a row as a fraction of the terms that it sums.
inline constexpr double kFeasibility = 1e-9;

inline bool is_bound(double value) { return std::isfinite(value); }

}  // namespace constrained_dynamics
