// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

#include <string>
#include <string_view>

#include "formula/formula_graph.hpp"

/// @file
/// From text to nodes. Setup only: allocates and throws.

namespace constrained_dynamics::detail
{

struct ParsedFormula
{
  int node;            // of the whole text
  int variable_count;  // one more than the largest index of a variable in it
};

/// Adds the nodes of a formula to the graph. @throw std::invalid_argument that shows the place
ParsedFormula parse_formula(
  std::string_view text, const FormulaSymbols & symbols, FormulaGraph & graph);

/// A quoted name for messages; shortened if long, free of what cannot be printed.
std::string quoted(std::string_view name);

/// Whether a name can be written without backquotes.
bool is_formula_identifier(std::string_view name);

/// Whether a name can be written in backquotes: it has none itself, nor control characters.
bool is_formula_text(std::string_view name);

/// Whether the language itself gives the name a meaning.
bool is_reserved_in_formulas(std::string_view name);

}  // namespace constrained_dynamics::detail
