// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include "random.hpp"
#include "runner.hpp"
#include "scenario_edit.hpp"

namespace invariance
{

/// A case of one of the sources; its scenario is null where there is none.
Case draw_case(const Settings & settings, Random & random);

}  // namespace invariance
