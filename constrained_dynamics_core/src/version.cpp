// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/version.hpp"

namespace constrained_dynamics
{

const char * version() noexcept { return CD_VERSION; }

}  // namespace constrained_dynamics
