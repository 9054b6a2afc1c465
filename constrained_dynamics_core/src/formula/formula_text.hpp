// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

/// @file
/// Characters and names in formulas, and messages about them.

namespace constrained_dynamics::detail
{

// Characters by hand: the functions of <cctype> follow the locale.
inline bool is_digit(char c) { return '0' <= c && c <= '9'; }
inline bool is_letter(char c)
{
  return ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') || c == '_';
}
inline bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
inline bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }
inline bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0u) == 0x80u; }

/// Bytes of the UTF-8 character at `i`; 0 when there is none.
std::size_t character_length(std::string_view text, std::size_t i);

/// Fit for a message of one line: what cannot be printed becomes '?', white space a blank.
std::string printable(std::string_view text);

/// A quoted name for messages; shortened if long, free of what cannot be printed.
std::string quoted(std::string_view name);

/// Whether a name can be written without backquotes.
bool is_formula_identifier(std::string_view name);

/// Whether a name can be written in backquotes: it has none itself, nor control characters.
bool is_formula_text(std::string_view name);

/// "; did you mean a, b?" with the names nearest to `name`, or "; known: a, b, c".
std::string suggestion(std::string_view name, const std::vector<std::string> & known);

/// Refuses a formula: the message, the line and column, and the line with a caret under the place.
/// @throw std::invalid_argument always.
[[noreturn]] void refuse(std::string_view text, std::size_t position, const std::string & message);

}  // namespace constrained_dynamics::detail
