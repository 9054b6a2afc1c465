// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace constrained_dynamics
{

/// Index of `name` in `names`.
/// @param what what the names are, e.g. "frame", for the message.
/// @throw std::invalid_argument naming the unknown name and those that exist.
int index_of_name(
  const std::string & what, const std::string & name, const std::vector<std::string> & names);

/// Index of `name` in `names`; -1: it is not there.
int find_name(const std::vector<std::string> & names, const std::string & name);

/// Whether `name` is among `names`.
bool contains(const std::vector<std::string> & names, const std::string & name);

/// @throw std::invalid_argument for an empty or duplicate name.
void check_names(const std::string & what, const std::vector<std::string> & names);

/// The names that may have been meant by one that does not exist, nearest first; empty: none is
/// near. The case of letters does not matter.
std::vector<std::string> nearest_names(
  std::string_view name, const std::vector<std::string> & names);

/// "a, b, c"; if there are more than `most`, the first of them and their number.
std::string listed_names(const std::vector<std::string> & names, std::size_t most);

}  // namespace constrained_dynamics
