// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <string>
#include <vector>

#include "constrained_dynamics/export.hpp"

namespace constrained_dynamics
{

/// The name that was probably meant by one that does not exist; empty: none is near.
CONSTRAINED_DYNAMICS_EXPORT std::string nearest_name(
  const std::string & name, const std::vector<std::string> & names);

/// The end of a message about an unknown name: the nearest of the names that exist, or all of them.
CONSTRAINED_DYNAMICS_EXPORT std::string suggest(
  const std::string & name, const std::vector<std::string> & names);

}  // namespace constrained_dynamics
