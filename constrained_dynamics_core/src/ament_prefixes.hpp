// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace constrained_dynamics
{

/// The folders that ROS 2 packages are installed in, by the environment variable AMENT_PREFIX_PATH;
/// none where it is not set.
inline std::vector<std::filesystem::path> ament_prefixes()
{
  const char * variable = std::getenv("AMENT_PREFIX_PATH");
  const std::string list = variable != nullptr ? variable : "";
  std::vector<std::filesystem::path> prefixes;
  for (std::size_t begin = 0; begin < list.size();)
  {
    const std::size_t end = std::min(list.find(':', begin), list.size());
    if (end > begin)
    {
      prefixes.emplace_back(list.substr(begin, end - begin));
    }
    begin = end + 1;
  }
  return prefixes;
}

}  // namespace constrained_dynamics
