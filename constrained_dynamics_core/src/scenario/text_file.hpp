// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <string>

namespace constrained_dynamics
{

/// The text of a scenario or profile.
/// @throw std::invalid_argument naming the path unless it is a regular file of at most
/// kMaxScenarioSize bytes.
std::string read_text_file(const std::string & path);

}  // namespace constrained_dynamics
