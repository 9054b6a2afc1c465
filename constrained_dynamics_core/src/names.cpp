// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "names.hpp"

#include <algorithm>
#include <set>
#include <sstream>
#include <stdexcept>

namespace constrained_dynamics
{

int index_of_name(
  const std::string & what, const std::string & name, const std::vector<std::string> & names)
{
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end())
  {
    return static_cast<int>(found - names.begin());
  }
  std::ostringstream message;
  message << "unknown " << what << " '" << name << "'; ";
  if (names.empty())
  {
    message << "this system has no " << what << "s";
  }
  else
  {
    message << "known: ";
    const std::size_t shown = std::min<std::size_t>(names.size(), 40);
    for (std::size_t i = 0; i < shown; ++i)
    {
      message << (i == 0 ? "" : ", ") << names[i];
    }
    if (shown < names.size())
    {
      message << ", … (" << names.size() << " in all)";
    }
  }
  throw std::invalid_argument(message.str());
}

void check_names(const std::string & what, const std::vector<std::string> & names)
{
  std::set<std::string> seen;
  for (const std::string & name : names)
  {
    if (name.empty())
    {
      throw std::invalid_argument("a " + what + " has an empty name; a name is needed");
    }
    if (!seen.insert(name).second)
    {
      throw std::invalid_argument("duplicate " + what + " name '" + name + "'; names must differ");
    }
  }
}

}  // namespace constrained_dynamics
