// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include "constrained_dynamics/export.hpp"

namespace constrained_dynamics
{

/// Version of the library that is linked at run time, as "major.minor.patch". Real-time safe: yes.
CONSTRAINED_DYNAMICS_EXPORT const char * version() noexcept;

}  // namespace constrained_dynamics
