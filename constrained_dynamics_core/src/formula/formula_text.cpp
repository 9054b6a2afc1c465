// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "formula/formula_text.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace constrained_dynamics::detail
{
namespace
{

char lower(char c) { return 'A' <= c && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::size_t edit_distance(std::string_view a, std::string_view b)
{
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i)
  {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j)
    {
      const std::size_t replaced = diagonal + (lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::size_t character_length(std::string_view text, std::size_t i)
{
  const auto lead = static_cast<unsigned char>(text[i]);
  const std::size_t length = lead < 0x80                   ? 1
                             : lead >= 0xC2 && lead < 0xE0 ? 2
                             : lead >= 0xE0 && lead < 0xF0 ? 3
                             : lead >= 0xF0 && lead < 0xF5 ? 4
                                                           : 0;
  if (length == 0 || i + length > text.size()) return 0;
  for (std::size_t k = 1; k < length; ++k)
  {
    if (!is_continuation(text[i + k])) return 0;
  }
  return length;
}

std::string printable(std::string_view text)
{
  std::string result;
  for (std::size_t i = 0; i < text.size();)
  {
    const std::size_t length = character_length(text, i);
    if (length == 0 || is_control(text[i]))
    {
      result += length != 0 && is_space(text[i]) ? ' ' : '?';
      ++i;
      continue;
    }
    result.append(text, i, length);
    i += length;
  }
  return result;
}

std::string quoted(std::string_view name)
{
  constexpr std::size_t kShown = 60;
  if (name.size() <= kShown) return "'" + printable(name) + "'";
  return "'" + printable(name.substr(0, kShown)) + "...'";
}

bool is_formula_identifier(std::string_view name)
{
  return !name.empty() && is_letter(name[0]) &&
         std::all_of(name.begin(), name.end(), [](char c) { return is_letter(c) || is_digit(c); });
}

bool is_formula_text(std::string_view name)
{
  return std::none_of(name.begin(), name.end(), [](char c) { return c == '`' || is_control(c); });
}

std::string suggestion(std::string_view name, const std::vector<std::string> & known)
{
  constexpr std::size_t kNear = 3;
  constexpr std::size_t kListed = 12;
  std::vector<std::pair<std::size_t, std::string>> near;
  const std::size_t limit = std::min<std::size_t>(3, name.size() / 2);
  for (const std::string & candidate : known)
  {
    const std::size_t difference = candidate.size() > name.size() ? candidate.size() - name.size()
                                                                  : name.size() - candidate.size();
    if (difference > limit) continue;
    const std::size_t distance = edit_distance(name, candidate);
    if (distance <= limit) near.emplace_back(distance, candidate);
  }
  std::stable_sort(
    near.begin(), near.end(), [](const auto & a, const auto & b) { return a.first < b.first; });
  const auto written = [](const std::string & candidate)
  { return is_formula_identifier(candidate) ? candidate : "`" + printable(candidate) + "`"; };
  std::string result;
  if (!near.empty())
  {
    for (std::size_t i = 0; i < std::min(near.size(), kNear); ++i)
    {
      result += (i == 0 ? "; did you mean " : ", ") + written(near[i].second);
    }
    return result + "?";
  }
  if (known.empty()) return "; no names are declared";
  for (std::size_t i = 0; i < std::min(known.size(), kListed); ++i)
  {
    result += (i == 0 ? "; known: " : ", ") + written(known[i]);
  }
  if (known.size() > kListed) result += ", ... (" + std::to_string(known.size()) + " in all)";
  return result;
}

[[noreturn]] void refuse(std::string_view text, std::size_t position, const std::string & message)
{
  position = std::min(position, text.size());
  const std::size_t start =
    position == 0 ? 0 : text.find_last_of('\n', position - 1) + 1;  // npos + 1 is 0
  const std::size_t end = std::min(text.find('\n', position), text.size());
  const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<long>(start), '\n');
  const auto width = [](std::string_view part)
  {
    return part.size() -
           static_cast<std::size_t>(std::count_if(part.begin(), part.end(), is_continuation));
  };

  constexpr std::size_t kBefore = 60;
  constexpr std::size_t kAfter = 30;
  std::size_t from = position - start > kBefore ? position - kBefore : start;
  while (from < position && is_continuation(text[from])) ++from;
  std::size_t to = end - position > kAfter ? position + kAfter : end;
  while (to > position && to < end && is_continuation(text[to])) --to;
  const std::string before =
    (from > start ? "..." : "") + printable(text.substr(from, position - from));
  const std::string after =
    printable(text.substr(position, to - position)) + (to < end ? "..." : "");

  std::string where = "column " + std::to_string(width(text.substr(start, position - start)) + 1);
  if (line > 1) where = "line " + std::to_string(line) + ", " + where;
  throw std::invalid_argument(
    "formula, " + where + ": " + message + "\n  " + before + after + "\n  " +
    std::string(width(before), ' ') + "^");
}

}  // namespace constrained_dynamics::detail
