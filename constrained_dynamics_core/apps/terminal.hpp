// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <string>
#include <vector>

namespace cdyn
{

/// Writes a report for people to the standard output. On a terminal, lines that begin with "status"
/// are green or red, those that begin with "warning" yellow, and headings bold; not if the
/// environment variable NO_COLOR is set.
/// @throw std::runtime_error if writing fails.
void write_report(const std::string & text);

/// Writes "cdyn: <text>" to the standard error; its first word is red on a terminal.
void complain(const std::string & text);

/// Writes a line "cdyn: warning: <text>" for each warning to the standard error; its first words
/// are yellow on a terminal.
void warn(const std::vector<std::string> & warnings);

}  // namespace cdyn
