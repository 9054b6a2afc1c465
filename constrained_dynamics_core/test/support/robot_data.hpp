// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <fstream>
#include <sstream>
#include <string>

namespace constrained_dynamics::test
{

/// Whether a scenario of config/scenarios has a robot of example-robot-data, which is not
/// installed.
inline bool lacks_robot(const std::string & scenario)
{
  std::ifstream file(CD_CONFIG "/scenarios/" + scenario + ".yaml");
  std::stringstream text;
  text << file.rdbuf();
  return std::string(CD_EXAMPLE_ROBOT_DATA).empty() &&
         text.str().find("example-robot-data:") != std::string::npos;
}

}  // namespace constrained_dynamics::test
