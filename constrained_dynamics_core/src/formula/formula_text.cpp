// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "formula/formula_text.hpp"

#include <algorithm>
#include <stdexcept>

#include "names.hpp"

namespace constrained_dynamics::detail
{

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
  if (known.empty()) return "; no names are declared";
  const auto written = [](std::vector<std::string> names)
  {
    for (std::string & each : names)
    {
      if (!is_formula_identifier(each)) each = "`" + printable(each) + "`";
    }
    return names;
  };
  std::vector<std::string> near = nearest_names(name, known);
  if (near.empty()) return "; known: " + listed_names(written(known), kListed);
  near.resize(std::min(near.size(), kNear));
  return "; did you mean " + listed_names(written(near), kNear) + "?";
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
