// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "formula/formula_parser.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <stdexcept>
#include <utility>
#include <vector>

#include "constants.hpp"
#include "constrained_dynamics/formula/formula.hpp"
#include "formula/formula_text.hpp"

namespace constrained_dynamics::detail
{

namespace
{

struct Function
{
  std::string_view name;
  int operation;
  int arity;
};

constexpr std::array<Function, 20> kFunctions = {{
  {"sin", kSin, 1},   {"cos", kCos, 1},   {"tan", kTan, 1},   {"asin", kAsin, 1},
  {"acos", kAcos, 1}, {"atan", kAtan, 1}, {"sinh", kSinh, 1}, {"cosh", kCosh, 1},
  {"tanh", kTanh, 1}, {"exp", kExp, 1},   {"log", kLog, 1},   {"sqrt", kSqrt, 1},
  {"abs", kAbs, 1},   {"sign", kSign, 1}, {"step", kStep, 1}, {"atan2", kAtan2, 2},
  {"pow", kPower, 2}, {"min", kMin, 2},   {"max", kMax, 2},   {"hypot", kHypot, 2},
}};

const Function * find_function(std::string_view name)
{
  const auto * found = std::find_if(
    kFunctions.begin(), kFunctions.end(), [&](const Function & f) { return f.name == name; });
  return found == kFunctions.end() ? nullptr : found;
}

/// Recursive descent, with a bound on the depth. Builds nodes as it reads.
class Parser
{
public:
  Parser(std::string_view text, const FormulaSymbols & symbols, FormulaGraph & graph)
  : text_(text), symbols_(symbols), graph_(graph)
  {
  }

  /// Node of the whole text.
  int parse()
  {
    if (text_.size() > static_cast<std::size_t>(kMaxFormulaLength))
    {
      refuse(
        text_, static_cast<std::size_t>(kMaxFormulaLength),
        "formula has " + std::to_string(text_.size()) + " characters; at most " +
          std::to_string(kMaxFormulaLength) + " are allowed");
    }
    skip_space();
    if (at_end()) fail(position_, "empty formula; expected " + std::string(kOperand));
    const int node = sum();
    if (!at_end()) fail_operator("the end of the formula");
    return node;
  }

  /// One more than the largest index of a variable that was used.
  int variable_count() const { return variable_count_; }

private:
  static constexpr const char * kOperand = "a number, a name, a function, '(', '-' or '+'";

  /// One level of nesting as long as it lives.
  class Level
  {
  public:
    Level(Parser & parser, std::size_t position) : parser_(parser)
    {
      if (++parser_.depth_ > kMaxFormulaDepth)
      {
        parser_.fail(
          position, "nested deeper than " + std::to_string(kMaxFormulaDepth) +
                      " levels, which is the most allowed");
      }
    }
    Level(const Level &) = delete;
    Level & operator=(const Level &) = delete;
    ~Level() { --parser_.depth_; }

  private:
    Parser & parser_;
  };

  [[noreturn]] void fail(std::size_t position, const std::string & message) const
  {
    refuse(text_, position, message);
  }

  bool at_end() const { return position_ >= text_.size(); }
  char peek() const { return at_end() ? '\0' : text_[position_]; }
  bool next_is(char c) const { return !at_end() && text_[position_] == c; }
  void skip_space()
  {
    while (!at_end() && is_space(text_[position_])) ++position_;
  }
  void advance()
  {
    ++position_;
    skip_space();
  }

  /// What stands at the present place, for messages.
  std::string found() const
  {
    if (at_end()) return "the end of the formula";
    const char c = peek();
    if (is_letter(c)) return "name " + quoted(identifier_at(position_));
    if (is_digit(c)) return "a number";
    if (c == '`') return "a back-quoted name";
    const std::size_t length = character_length(text_, position_);
    if (length > 0 && !is_control(c))
      return "'" + std::string(text_.substr(position_, length)) + "'";
    constexpr const char * kHex = "0123456789ABCDEF";
    const auto byte = static_cast<unsigned char>(c);
    return std::string("the byte 0x") + kHex[byte >> 4] + kHex[byte & 15];
  }

  std::string_view identifier_at(std::size_t start) const
  {
    std::size_t end = start;
    while (end < text_.size() && (is_letter(text_[end]) || is_digit(text_[end]))) ++end;
    return text_.substr(start, end - start);
  }

  [[noreturn]] void fail_operator(const std::string & closing) const
  {
    std::string message = "expected an operator (+ - * / ^) or " + closing + ", found " + found();
    const char c = peek();
    if (is_letter(c) || is_digit(c) || c == '(' || c == '`') message += "; products need '*'";
    fail(position_, message);
  }

  // ---- nodes ----

  int add(std::size_t position, const FormulaNode & node)
  {
    const int result = graph_.add(node);
    if (result < 0)
    {
      fail(
        position, "more than " + std::to_string(kMaxFormulaNodes) +
                    " nodes, which is the most allowed for formulas and definitions together");
    }
    return result;
  }

  int constant(std::size_t position, double value)
  {
    return add(position, {kConstant, 0, 0, value});
  }

  int variable(std::size_t position, int index)
  {
    variable_count_ = std::max(variable_count_, index + 1);
    return add(position, {kVariable, index, 0, 0.0});
  }

  const FormulaNode & node(int i) const { return graph_.nodes()[static_cast<std::size_t>(i)]; }
  bool is_constant(int i) const { return node(i).operation == kConstant; }
  bool is_constant(int i, double value) const
  {
    return is_constant(i) && node(i).constant == value;
  }

  /// Node of an operation. Only rewrites that keep every bit of every result: folding of constants,
  /// x*1, x/1, x^1, x^0, --x, and one order for a+b and b+a.
  int operation(std::size_t position, int op, int a, int b)
  {
    double exponent = 0.0;
    if (op == kPower && is_constant(b))
    {
      op = kConstantPower;
      exponent = node(b).constant;
      b = a;
      if (exponent == 0.0) return constant(position, 1.0);
      if (exponent == 1.0) return a;
    }
    if (is_constant(a) && is_constant(b))
    {
      const double value = apply(op, node(a).constant, node(b).constant, exponent);
      if (!std::isfinite(value))
      {
        fail(position, "this constant part of the formula is not a finite number");
      }
      return constant(position, value);
    }
    if (op == kMultiply && is_constant(a, 1.0)) return b;
    if ((op == kMultiply || op == kDivide) && is_constant(b, 1.0)) return a;
    if (op == kNegate && node(a).operation == kNegate) return node(a).a;
    if ((op == kAdd || op == kMultiply) && a > b) std::swap(a, b);
    return add(position, {op, a, b, exponent});
  }

  // ---- grammar ----

  int sum()
  {
    int left = product();
    while (next_is('+') || next_is('-'))
    {
      const std::size_t position = position_;
      const int op = peek() == '+' ? kAdd : kSubtract;
      advance();
      left = operation(position, op, left, product());
    }
    return left;
  }

  int product()
  {
    int left = signed_power();
    while (next_is('*') || next_is('/'))
    {
      const std::size_t position = position_;
      const int op = peek() == '*' ? kMultiply : kDivide;
      advance();
      if (op == kMultiply && next_is('*')) fail(position, "powers are written with '^'");
      left = operation(position, op, left, signed_power());
    }
    return left;
  }

  int signed_power()
  {
    if (!next_is('-') && !next_is('+')) return power();
    const std::size_t position = position_;
    const bool negative = peek() == '-';
    const Level level(*this, position);
    advance();
    const int value = signed_power();
    return negative ? operation(position, kNegate, value, value) : value;
  }

  int power()
  {
    const int base = primary();
    if (!next_is('^')) return base;
    const std::size_t position = position_;
    const Level level(*this, position);
    advance();
    return operation(position, kPower, base, signed_power());
  }

  int primary()
  {
    if (!at_end())
    {
      const char c = peek();
      if (c == '(') return parenthesis();
      if (
        is_digit(c) || (c == '.' && position_ + 1 < text_.size() && is_digit(text_[position_ + 1])))
      {
        return number();
      }
      if (is_letter(c) || c == '`') return named();
    }
    fail(position_, "expected " + std::string(kOperand) + ", found " + found());
  }

  int parenthesis()
  {
    const Level level(*this, position_);
    const std::size_t open = position_;
    advance();
    const int inner = sum();
    if (at_end()) fail(open, "this '(' is never closed");
    if (!next_is(')')) fail_operator("')'");
    advance();
    return inner;
  }

  int number()
  {
    const std::size_t start = position_;
    const auto digits = [this]
    {
      while (is_digit(peek())) ++position_;
    };
    digits();
    if (next_is('.')) ++position_;
    digits();
    if (next_is('e') || next_is('E'))
    {
      ++position_;
      if (next_is('-') || next_is('+')) ++position_;
      if (!is_digit(peek()))
        fail(position_, "expected the digits of an exponent, found " + found());
      digits();
    }
    double value = 0.0;
    const char * const first = text_.data() + start;
    const char * const last = text_.data() + position_;
    const auto [end, error] = std::from_chars(first, last, value);
    if (error != std::errc() || end != last || !std::isfinite(value))
    {
      fail(
        start, "number " + quoted(text_.substr(start, position_ - start)) +
                 " is outside the range of double precision (4.9e-324 to 1.8e308)");
    }
    skip_space();
    return constant(start, value);
  }

  /// A name with or without backquotes; moves behind it.
  std::string name()
  {
    if (!next_is('`'))
    {
      const std::string_view identifier = identifier_at(position_);
      position_ += identifier.size();
      skip_space();
      return std::string(identifier);
    }
    const std::size_t end = text_.find('`', position_ + 1);
    if (end == std::string_view::npos) fail(position_, "this backquote is never closed");
    const std::string_view result = text_.substr(position_ + 1, end - position_ - 1);
    if (result.empty()) fail(position_, "empty name between backquotes");
    position_ = end;
    advance();
    return std::string(result);
  }

  int named()
  {
    const std::size_t start = position_;
    const bool back_quoted = next_is('`');
    const std::string word = name();
    if (!back_quoted)
    {
      if (const Function * function = find_function(word)) return call(start, *function);
      if (word == "pi") return constant(start, kPi);
      if (word == "nan" || word == "inf") fail(start, quoted(word) + ": numbers must be finite");
    }
    const auto found_symbol = symbols_.find(word);
    if (found_symbol == symbols_.end()) fail_unknown(start, word);
    const FormulaSymbol & symbol = found_symbol->second;
    if (symbol.kind == FormulaSymbol::Kind::kIndexedFunction)
    {
      return indexed_call(start, word, symbol);
    }
    if (next_is('('))
    {
      fail(start, quoted(word) + " is not a function; products need '*'");
    }
    switch (symbol.kind)
    {
      case FormulaSymbol::Kind::kVariable:
        return variable(start, symbol.index);
      case FormulaSymbol::Kind::kParameter:
        return constant(start, symbol.value);
      default:
        return symbol.index;
    }
  }

  [[noreturn]] void fail_unknown(std::size_t start, const std::string & word) const
  {
    const bool called = next_is('(');
    std::vector<std::string> known;
    for (const auto & [symbol_name, symbol] : symbols_)
    {
      const bool is_function = symbol.kind == FormulaSymbol::Kind::kIndexedFunction;
      if (is_function == called) known.push_back(symbol_name);
    }
    if (called)
    {
      for (const Function & function : kFunctions) known.emplace_back(function.name);
    }
    fail(
      start,
      (called ? "unknown function " : "unknown name ") + quoted(word) + suggestion(word, known));
  }

  int call(std::size_t start, const Function & function)
  {
    const std::string word(function.name);
    const std::string usage = function.arity == 1 ? word + "(...)" : word + "(..., ...)";
    if (!next_is('(')) fail(start, "function '" + word + "' needs its arguments: " + usage);
    const Level level(*this, position_);
    const std::size_t open = position_;
    advance();
    const std::string takes = "'" + word + "' takes " + std::to_string(function.arity) +
                              (function.arity == 1 ? " argument" : " arguments");
    if (next_is(')')) fail(position_, takes + ", found none");
    std::array<int, 2> arguments = {0, 0};
    int count = 0;
    while (true)
    {
      const int argument = sum();
      if (count < function.arity) arguments[static_cast<std::size_t>(count)] = argument;
      ++count;
      if (!next_is(',')) break;
      if (count == function.arity) fail(position_, takes + ", found more");
      advance();
    }
    if (at_end()) fail(open, "this '(' is never closed");
    if (!next_is(')')) fail_operator(count < function.arity ? "','" : "')'");
    if (count < function.arity) fail(position_, takes + ", found " + std::to_string(count));
    advance();
    const int second = function.arity == 1 ? arguments[0] : arguments[1];
    return operation(start, function.operation, arguments[0], second);
  }

  int indexed_call(std::size_t start, const std::string & word, const FormulaSymbol & symbol)
  {
    const std::string takes = quoted(word) + " takes one name, as in " + printable(word) +
                              "(tool), or two, which are joined by '/'";
    if (!next_is('(')) fail(start, takes);
    advance();
    const std::size_t argument_start = position_;
    if (!is_letter(peek()) && !next_is('`')) fail(position_, takes + "; found " + found());
    std::string argument = name();
    if (next_is(','))
    {
      advance();
      if (!is_letter(peek()) && !next_is('`')) fail(position_, takes + "; found " + found());
      argument += "/" + name();
    }
    if (!next_is(')'))
    {
      fail(
        position_, takes + "; expected ')', found " + found() +
                     "; names with other characters than letters, digits and _ need backquotes");
    }
    std::optional<int> index;
    try
    {
      const FormulaContext::IndexedFunction resolve = symbol.resolve;  // a copy: it may add symbols
      index = resolve(word, argument);
    }
    catch (const std::invalid_argument & error)
    {
      fail(argument_start, error.what());
    }
    if (!index) fail(argument_start, quoted(word) + " does not accept " + quoted(argument));
    if (!(0 <= *index && *index < kMaxFormulaVariables))
    {
      fail(
        argument_start, quoted(word) + " of " + quoted(argument) + " gave variable index " +
                          std::to_string(*index) + "; allowed are 0 to " +
                          std::to_string(kMaxFormulaVariables - 1));
    }
    advance();
    return variable(start, *index);
  }

  std::string_view text_;
  const FormulaSymbols & symbols_;
  FormulaGraph & graph_;
  std::size_t position_ = 0;
  int depth_ = 0;
  int variable_count_ = 0;
};

}  // namespace

bool is_reserved_in_formulas(std::string_view name)
{
  return name == "pi" || name == "nan" || name == "inf" || find_function(name) != nullptr;
}

ParsedFormula parse_formula(
  std::string_view text, const FormulaSymbols & symbols, FormulaGraph & graph)
{
  Parser parser(text, symbols, graph);
  const int node = parser.parse();
  return {node, parser.variable_count()};
}

}  // namespace constrained_dynamics::detail
