// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <cstddef>
#include <string>

namespace constrained_dynamics
{

/// The text of the file `path`; `title` is what messages call it.
/// @throw std::invalid_argument naming the title unless it is a regular file of at most
/// `most_bytes` that can be read.
std::string read_text_file(
  const std::string & path, std::size_t most_bytes, const std::string & title);

/// The same with the path as the title.
std::string read_text_file(const std::string & path, std::size_t most_bytes);

}  // namespace constrained_dynamics
