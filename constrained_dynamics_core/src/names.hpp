// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <string>
#include <vector>

namespace constrained_dynamics
{

/// Index of `name` in `names`.
/// @param what what the names are, e.g. "frame", for the message.
/// @throw std::invalid_argument naming the unknown name and those that exist.
int index_of_name(
  const std::string & what, const std::string & name, const std::vector<std::string> & names);

/// @throw std::invalid_argument for an empty or duplicate name.
void check_names(const std::string & what, const std::vector<std::string> & names);

}  // namespace constrained_dynamics
