// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "text_file.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace constrained_dynamics
{

std::string read_text_file(
  const std::string & path, std::size_t most_bytes, const std::string & title)
{
  namespace fs = std::filesystem;
  const auto refuse = [&title](const std::string & reason)
  { throw std::invalid_argument(title + ": " + reason); };
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status))
  {
    refuse("no such file");
  }
  if (fs::is_directory(status))
  {
    refuse("a folder; allowed: a file");
  }
  if (!fs::is_regular_file(status))
  {
    refuse("not a regular file");
  }
  const std::uintmax_t size = fs::file_size(path, error);
  if (!error && size > most_bytes)
  {
    refuse(
      "the file has " + std::to_string(size) + " bytes; allowed: at most " +
      std::to_string(most_bytes));
  }
  std::ifstream file(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (error || !file.is_open() || file.bad() || text.size() != size)
  {
    refuse("the file cannot be read");
  }
  return text;
}

std::string read_text_file(const std::string & path, std::size_t most_bytes)
{
  return read_text_file(path, most_bytes, path);
}

}  // namespace constrained_dynamics
