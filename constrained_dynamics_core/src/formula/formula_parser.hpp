// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#pragma once

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

/// Whether the language itself gives the name a meaning.
bool is_reserved_in_formulas(std::string_view name);

}  // namespace constrained_dynamics::detail
