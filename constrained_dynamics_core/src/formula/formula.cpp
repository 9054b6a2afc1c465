// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/formula/formula.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "formula/formula_graph.hpp"
#include "formula/formula_parser.hpp"
#include "formula/formula_text.hpp"

namespace constrained_dynamics
{

namespace
{

using detail::FormulaContextData;
using detail::FormulaGraph;
using detail::FormulaNode;
using detail::FormulaSymbol;
using detail::ParsedFormula;
using detail::quoted;

void check_new_name(const FormulaContextData & data, const std::string & name)
{
  if (name.empty() || name.size() > static_cast<std::size_t>(kMaxFormulaName))
  {
    throw std::invalid_argument(
      "formula name " + quoted(name) + " has " + std::to_string(name.size()) + " bytes; 1 to " +
      std::to_string(kMaxFormulaName) + " are allowed");
  }
  if (!detail::is_formula_text(name))
  {
    throw std::invalid_argument(
      "formula name " + quoted(name) + " has a backquote or a control character");
  }
  if (FormulaContext::is_reserved(name))
  {
    throw std::invalid_argument(
      "formula name " + quoted(name) +
      " is reserved; pi, nan, inf and the names of functions "
      "cannot be declared");
  }
  if (data.symbols.count(name) != 0)
  {
    throw std::invalid_argument("formula name " + quoted(name) + " is declared already");
  }
}

}  // namespace

// ---- FormulaContext
// ------------------------------------------------------------------------------

FormulaContext::FormulaContext() : data_(std::make_unique<FormulaContextData>()) {}
FormulaContext::FormulaContext(const FormulaContext & other)
: data_(std::make_unique<FormulaContextData>(*other.data_))
{
  data_->parsing = false;
}
FormulaContext & FormulaContext::operator=(const FormulaContext & other)
{
  data_ = std::make_unique<FormulaContextData>(*other.data_);
  data_->parsing = false;
  return *this;
}
FormulaContext::~FormulaContext() = default;

int FormulaContext::add_variable(const std::string & name)
{
  const int index = data_->variable_count;
  add_variable(name, index);
  return index;
}

void FormulaContext::add_variable(const std::string & name, int index)
{
  check_new_name(*data_, name);
  if (!(0 <= index && index < kMaxFormulaVariables))
  {
    throw std::invalid_argument(
      "formula variable " + quoted(name) + " has index " + std::to_string(index) +
      "; allowed are 0 to " + std::to_string(kMaxFormulaVariables - 1));
  }
  data_->symbols[name] = {FormulaSymbol::Kind::kVariable, index, 0.0, nullptr};
  data_->variable_count = std::max(data_->variable_count, index + 1);
}

void FormulaContext::add_parameter(const std::string & name, double value)
{
  check_new_name(*data_, name);
  if (!std::isfinite(value))
  {
    throw std::invalid_argument(
      "formula parameter " + quoted(name) + " is " + std::to_string(value) + "; it must be finite");
  }
  data_->symbols[name] = {FormulaSymbol::Kind::kParameter, 0, value, nullptr};
}

void FormulaContext::add_definition(const std::string & name, const std::string & expression)
{
  check_new_name(*data_, name);
  if (data_->parsing)
  {
    throw std::invalid_argument(
      "formula definition " + quoted(name) + " cannot be added while another one is parsed");
  }
  const int size = data_->graph.size();
  data_->parsing = true;
  try
  {
    const ParsedFormula parsed = detail::parse_formula(expression, data_->symbols, data_->graph);
    check_new_name(*data_, name);  // again: an indexed function may have declared it
    data_->symbols[name] = {FormulaSymbol::Kind::kDefinition, parsed.node, 0.0, nullptr};
    data_->variable_count = std::max(data_->variable_count, parsed.variable_count);
  }
  catch (const std::invalid_argument & error)
  {
    data_->graph.truncate(size);
    data_->parsing = false;
    throw std::invalid_argument("definition of " + quoted(name) + ": " + error.what());
  }
  catch (...)
  {
    data_->graph.truncate(size);
    data_->parsing = false;
    throw;
  }
  data_->parsing = false;
}

void FormulaContext::add_indexed_function(const std::string & name, IndexedFunction resolve)
{
  check_new_name(*data_, name);
  if (!resolve)
  {
    throw std::invalid_argument("indexed function " + quoted(name) + " has nothing to call");
  }
  data_->symbols[name] = {FormulaSymbol::Kind::kIndexedFunction, 0, 0.0, std::move(resolve)};
}

int FormulaContext::variable_count() const noexcept { return data_->variable_count; }

std::optional<int> FormulaContext::find_variable(const std::string & name) const
{
  const auto found = data_->symbols.find(name);
  const bool is_variable =
    found != data_->symbols.end() && found->second.kind == FormulaSymbol::Kind::kVariable;
  return is_variable ? std::optional<int>(found->second.index) : std::nullopt;
}

bool FormulaContext::contains(const std::string & name) const
{
  return is_reserved(name) || data_->symbols.count(name) != 0;
}

bool FormulaContext::is_reserved(const std::string & name)
{
  return detail::is_reserved_in_formulas(name);
}

bool FormulaContext::is_identifier(const std::string & name)
{
  return detail::is_formula_identifier(name);
}

// ---- FormulaProgram
// ------------------------------------------------------------------------------

namespace detail
{

struct FormulaCompiler
{
  static const FormulaContextData & data(const FormulaContext & context) { return *context.data_; }

  /// Which nodes the marked ones need; users come after their operands.
  static void mark_operands(const std::vector<FormulaNode> & nodes, std::vector<bool> & needed)
  {
    for (std::size_t i = nodes.size(); i-- > 0;)
    {
      if (!needed[i] || nodes[i].operation == kConstant || nodes[i].operation == kVariable)
        continue;
      needed[static_cast<std::size_t>(nodes[i].a)] = true;
      needed[static_cast<std::size_t>(nodes[i].b)] = true;
    }
  }

  /// Copies the needed nodes; `roots` become indices of the copy.
  static std::vector<FormulaNode> extract(
    const std::vector<FormulaNode> & nodes, std::vector<int> & roots)
  {
    std::vector<bool> needed(nodes.size(), false);
    for (const int root : roots) needed[static_cast<std::size_t>(root)] = true;
    mark_operands(nodes, needed);
    std::vector<int> place(nodes.size(), 0);
    std::vector<FormulaNode> result;
    for (std::size_t i = 0; i < nodes.size(); ++i)
    {
      if (!needed[i]) continue;
      place[i] = static_cast<int>(result.size());
      FormulaNode node = nodes[i];
      if (node.operation != kConstant && node.operation != kVariable)
      {
        node.a = place[static_cast<std::size_t>(node.a)];
        node.b = place[static_cast<std::size_t>(node.b)];
      }
      result.push_back(node);
    }
    for (int & root : roots) root = place[static_cast<std::size_t>(root)];
    return result;
  }
};

}  // namespace detail

FormulaProgram::FormulaProgram(
  const FormulaContext & context, const std::vector<std::string> & expressions)
{
  if (expressions.size() > static_cast<std::size_t>(kMaxFormulaOutputs))
  {
    throw std::invalid_argument(
      "formula program has " + std::to_string(expressions.size()) + " outputs; at most " +
      std::to_string(kMaxFormulaOutputs) + " are allowed");
  }
  const FormulaContextData & data = detail::FormulaCompiler::data(context);
  FormulaGraph graph = data.graph;
  std::vector<int> roots;
  int used_variables = 0;
  for (const std::string & expression : expressions)
  {
    const ParsedFormula parsed = detail::parse_formula(expression, data.symbols, graph);
    roots.push_back(parsed.node);
    used_variables = std::max(used_variables, parsed.variable_count);
  }
  variable_count_ = std::max(data.variable_count, used_variables);
  nodes_ = detail::FormulaCompiler::extract(graph.nodes(), roots);
  for (const int root : roots)
  {
    Output output{root, {}, {}};
    std::vector<bool> needed(nodes_.size(), false);
    needed[static_cast<std::size_t>(root)] = true;
    detail::FormulaCompiler::mark_operands(nodes_, needed);
    for (std::size_t i = 0; i < nodes_.size(); ++i)
    {
      if (!needed[i]) continue;
      output.used.push_back(static_cast<int>(i));
      if (nodes_[i].operation == detail::kVariable) output.variables.push_back(nodes_[i].a);
    }
    std::sort(output.variables.begin(), output.variables.end());
    outputs_.push_back(std::move(output));
  }
}

}  // namespace constrained_dynamics
