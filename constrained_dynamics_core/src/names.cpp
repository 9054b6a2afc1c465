// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "names.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>
#include <utility>

namespace constrained_dynamics
{
namespace
{

char lower(char c) { return 'A' <= c && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// How many letters must be replaced, inserted or left out, or neighbours exchanged (restricted
/// Damerau-Levenshtein distance), to turn one word into the other; the case does not matter.
std::size_t edit_distance(std::string_view a, std::string_view b)
{
  std::vector<std::size_t> before;
  std::vector<std::size_t> last;
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  const auto same = [&](std::size_t i, std::size_t j) { return lower(a[i]) == lower(b[j]); };
  for (std::size_t i = 1; i <= a.size(); ++i)
  {
    before = std::exchange(last, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j)
    {
      const std::size_t replaced = last[j - 1] + (same(i - 1, j - 1) ? 0 : 1);
      row[j] = std::min({replaced, last[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && same(i - 1, j - 2) && same(i - 2, j - 1))
      {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
  }
  return row[b.size()];
}

}  // namespace

int find_name(const std::vector<std::string> & names, const std::string & name)
{
  const auto found = std::find(names.begin(), names.end(), name);
  return found == names.end() ? -1 : static_cast<int>(found - names.begin());
}

bool contains(const std::vector<std::string> & names, const std::string & name)
{
  return find_name(names, name) >= 0;
}

int index_of_name(
  const std::string & what, const std::string & name, const std::vector<std::string> & names)
{
  const int found = find_name(names, name);
  if (found >= 0)
  {
    return found;
  }
  constexpr std::size_t kMostListed = 40;
  throw std::invalid_argument(
    "unknown " + what + " '" + name + "'; " +
    (names.empty() ? "this system has no " + what + "s"
                   : "known: " + listed_names(names, kMostListed)));
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

std::vector<std::string> nearest_names(
  std::string_view name, const std::vector<std::string> & names)
{
  constexpr std::size_t kLongest = 64;  // bounds the work on hostile input
  // A third of the letters may be wrong; names of one letter are near only if the case differs.
  const std::size_t limit = name.size() < 2 ? 0 : std::max<std::size_t>(1, name.size() / 3);
  std::vector<std::pair<std::size_t, std::string>> near;
  for (const std::string & known : names)
  {
    if (name.size() > kLongest || known.size() > kLongest) continue;
    const std::size_t distance = edit_distance(name, known);
    if (distance <= limit) near.emplace_back(distance, known);
  }
  std::stable_sort(
    near.begin(), near.end(), [](const auto & a, const auto & b) { return a.first < b.first; });
  std::vector<std::string> result;
  for (auto & [distance, known] : near) result.push_back(std::move(known));
  return result;
}

std::string listed_names(const std::vector<std::string> & names, std::size_t most)
{
  std::string result;
  for (std::size_t i = 0; i < std::min(names.size(), most); ++i)
  {
    result += (i == 0 ? "" : ", ") + names[i];
  }
  if (names.size() > most) result += ", … (" + std::to_string(names.size()) + " in all)";
  return result;
}

}  // namespace constrained_dynamics
