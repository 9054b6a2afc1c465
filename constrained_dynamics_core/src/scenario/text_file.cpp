// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "scenario/text_file.hpp"

#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "scenario/scenario_tree.hpp"

namespace constrained_dynamics
{

std::string read_text_file(const std::string & path)
{
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status))
  {
    throw std::invalid_argument(path + ": no such file");
  }
  if (fs::is_directory(status))
  {
    throw std::invalid_argument(path + ": a folder; allowed: a file");
  }
  if (!fs::is_regular_file(status))
  {
    throw std::invalid_argument(path + ": not a regular file");
  }
  const std::uintmax_t size = fs::file_size(path, error);
  if (error || size > kMaxScenarioSize)
  {
    throw std::invalid_argument(
      path + ": allowed: at most " + std::to_string(kMaxScenarioSize) + " bytes");
  }
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file || file.bad() || (text.str().empty() && size > 0))
  {
    if (size > 0)
    {
      throw std::invalid_argument(path + ": the file cannot be read");
    }
  }
  return text.str();
}

}  // namespace constrained_dynamics
