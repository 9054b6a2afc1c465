// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <string>
#include <vector>

#include "robots.hpp"

namespace invariance
{

/// Rows of constraints between two frames.
/// @return false if the type is not one of them.
bool add_frame_rows(
  const YAML::Node & item, const std::string & name, const std::string & type,
  const Document & document, const Robots & robots, const Real & time, std::vector<Row> & rows);

}  // namespace invariance
