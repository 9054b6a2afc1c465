// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <nanobind/nanobind.h>

namespace constrained_dynamics::python
{

/// Binds robot profiles, the estimation of forces, commands and identification.
void bind_real_robots(nanobind::module_ & module);

}  // namespace constrained_dynamics::python
