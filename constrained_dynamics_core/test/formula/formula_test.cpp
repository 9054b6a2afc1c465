// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 The constrained_dynamics contributors

#include "constrained_dynamics/formula/formula.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <clocale>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <locale>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "support/allocation_counter.hpp"

namespace
{

using constrained_dynamics::Dual;
using constrained_dynamics::FormulaContext;
using constrained_dynamics::FormulaProgram;
using constrained_dynamics::Jet2;
using constrained_dynamics::kMaxFormulaDepth;
using constrained_dynamics::kMaxFormulaLength;
using constrained_dynamics::kMaxFormulaNodes;
using constrained_dynamics::kMaxFormulaOutputs;
using ::testing::HasSubstr;

/// Two ways to the same derivative in double precision, relative to the sum of the moduli.
constexpr double kAgreement = 1e-12;

std::size_t count(int n) { return static_cast<std::size_t>(n); }

/// A program with its scratch memory.
template <class S>
struct Evaluation
{
  explicit Evaluation(const FormulaProgram & program_in)
  : program(program_in),
    tape(count(program.tape_size())),
    adjoint(count(program.tape_size())),
    outputs(count(program.output_count())),
    gradient(count(program.variable_count()))
  {
  }
  void evaluate(const std::vector<S> & x)
  {
    program.evaluate(x.data(), tape.data(), outputs.data());
  }
  void reverse(int output)
  {
    program.reverse(tape.data(), adjoint.data(), output, gradient.data());
  }

  const FormulaProgram & program;
  std::vector<S> tape, adjoint, outputs, gradient;
};

/// x, y, z are variables 0 to 2; a = 2.5 and b = -0.75 parameters; s = x + y a definition; p(tool)
/// and p(left/tool) are variables 3 and 4.
FormulaContext example_context()
{
  FormulaContext context;
  context.add_variable("x");
  context.add_variable("y");
  context.add_variable("z");
  context.add_parameter("a", 2.5);
  context.add_parameter("b", -0.75);
  context.add_definition("s", "x + y");
  context.add_indexed_function(
    "p",
    [](const std::string & function, const std::string & argument) -> std::optional<int>
    {
      EXPECT_EQ(function, "p");
      if (argument == "tool") return 3;
      if (argument == "left/tool") return 4;
      if (argument == "bad") return -7;
      if (argument == "huge") return 1 << 30;
      if (argument == "throws") throw std::invalid_argument("no frame throws");
      return std::nullopt;
    });
  return context;
}

double value_of(const std::string & formula, double x = 0.0, double y = 0.0, double z = 0.0)
{
  const FormulaProgram program(example_context(), {formula});
  Evaluation<double> evaluation(program);
  std::vector<double> variables = {x, y, z, 30.0, 40.0};
  variables.resize(count(program.variable_count()));
  evaluation.evaluate(variables);
  return evaluation.outputs[0];
}

std::string message_of(const FormulaContext & context, const std::string & formula)
{
  try
  {
    const FormulaProgram program(context, {formula});
  }
  catch (const std::invalid_argument & error)
  {
    return error.what();
  }
  return "accepted";
}

// ---- language
// -------------------------------------------------------------------------------------

TEST(Formula, when_operators_mix_expect_precedence_of_mathematics)
{
  const double x = 1.7, y = -0.6, z = 2.3;
  const std::vector<std::pair<std::string, double>> table = {
    {"x + y*z", x + y * z},
    {"(x + y)*z", (x + y) * z},
    {"x - y - z", x - y - z},
    {"x - (y - z)", x - (y - z)},
    {"x/y/z", x / y / z},
    {"x/(y/z)", x / (y / z)},
    {"x/y*z", x / y * z},
    {"x*y/z", x * y / z},
    {"-x^2", -(x * x)},
    {"(-x)^2", x * x},
    {"2^-1", 0.5},
    {"2^-x", std::pow(2, -x)},
    {"2^3^2", 512.0},
    {"(2^3)^2", 64.0},
    {"2^-2^2", std::pow(2, -4)},
    {"x^-2", std::pow(x, -2)},
    {"-x*y", -x * y},
    {"x*-y", x * -y},
    {"x - -y", x + y},
    {"x--y", x + y},
    {"x+-y", x - y},
    {"+x", x},
    {"-+-x", x},
    {"--x", x},
    {"-x - -y*-z", -x - y * z},
    {"2*x^2*3", 2 * (x * x) * 3},
    {"x^2/y^2", x * x / (y * y)},
    {"-2^2", -4.0},
    {"x + y^2*z - 4/z", x + y * y * z - 4 / z},
    {"((((x))))", x},
    {"sin(x)^2 + cos(x)^2*1", std::sin(x) * std::sin(x) + std::cos(x) * std::cos(x)},
    {"-sin(x)", -std::sin(x)},
    {"2^sin(x)", std::pow(2, std::sin(x))},
    {" x\t+\n\r y ", x + y},
  };
  for (const auto & [formula, expected] : table)
  {
    EXPECT_EQ(value_of(formula, x, y, z), expected) << formula;
  }
}

TEST(Formula, when_numbers_expect_their_double)
{
  const std::vector<std::pair<std::string, double>> table = {
    {"1", 1.0},
    {"1.5e-3", 1.5e-3},
    {".5", 0.5},
    {"1.", 1.0},
    {"1.e2", 100.0},
    {"0.1", 0.1},
    {"1E+2", 100.0},
    {"00012", 12.0},
    {"1e308", 1e308},
    {"5e-324", 5e-324},
    {"0e999", 0.0},
    {"pi", 3.14159265358979323846},
    {"a", 2.5},
    {"b", -0.75},
    {"-b", 0.75},
    {"b^2", 0.5625},
    {"123456789012345678901234567890", 123456789012345678901234567890.0}};
  for (const auto & [formula, expected] : table) EXPECT_EQ(value_of(formula), expected) << formula;
}

TEST(Formula, when_the_locale_has_a_comma_expect_the_same_numbers)
{
  class Comma : public std::numpunct<char>
  {
  protected:
    char do_decimal_point() const override { return ','; }
  };
  const std::locale before = std::locale::global(std::locale(std::locale(), new Comma));
  const std::string c_before = std::setlocale(LC_ALL, nullptr);
  for (const char * name : {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE"})
  {
    if (std::setlocale(LC_ALL, name) != nullptr) break;
  }
  const double value = value_of("1.5e0 + .25");
  const std::string message = message_of(example_context(), "1,5");
  std::setlocale(LC_ALL, c_before.c_str());
  std::locale::global(before);
  EXPECT_EQ(value, 1.75);
  EXPECT_THAT(message, HasSubstr("found ','"));
}

TEST(Formula, when_functions_expect_their_values)
{
  const double x = 0.37, y = 1.9;
  const std::vector<std::pair<std::string, double>> table = {
    {"sin(x)", std::sin(x)},
    {"cos(x)", std::cos(x)},
    {"tan(x)", std::tan(x)},
    {"asin(x)", std::asin(x)},
    {"acos(x)", std::acos(x)},
    {"atan(x)", std::atan(x)},
    {"sinh(x)", std::sinh(x)},
    {"cosh(x)", std::cosh(x)},
    {"tanh(x)", std::tanh(x)},
    {"exp(x)", std::exp(x)},
    {"log(x)", std::log(x)},
    {"sqrt(x)", std::sqrt(x)},
    {"abs(-x)", x},
    {"sign(-x)", -1.0},
    {"sign(x)", 1.0},
    {"sign(z)", 0.0},
    {"step(-x)", 0.0},
    {"step(z)", 1.0},
    {"step(x)", 1.0},
    {"atan2(x, y)", std::atan2(x, y)},
    {"atan2(-x, -y)", std::atan2(-x, -y)},
    {"pow(x, y)", std::pow(x, y)},
    {"x^y", std::pow(x, y)},
    {"pow(x, 2)", x * x},
    {"min(x, y)", x},
    {"max(x, y)", y},
    {"hypot(x, y)", std::hypot(x, y)},
    {"p(tool)", 30.0},
    {"p(`tool`) + p( `left/tool` )", 70.0},
    {"s*s", (x + y) * (x + y)},
    {"`x` + `s`", x + (x + y)}};
  for (const auto & [formula, expected] : table)
  {
    EXPECT_EQ(value_of(formula, x, y), expected) << formula;
  }
}

TEST(Formula, when_names_are_not_identifiers_expect_them_in_backquotes)
{
  FormulaContext context;
  context.add_variable("left-knee");
  context.add_variable("arm/wrist.1 x");
  context.add_variable("θ");
  const FormulaProgram program(context, {"`left-knee`*2 + `arm/wrist.1 x`^2 - `θ`"});
  Evaluation<double> evaluation(program);
  evaluation.evaluate({3.0, 5.0, 1.0});
  EXPECT_EQ(evaluation.outputs[0], 30.0);
  EXPECT_THAT(
    message_of(context, "`left-knee` + `left-kne`"), HasSubstr("did you mean `left-knee`?"));
  EXPECT_THAT(message_of(context, "`θ` + + × "), HasSubstr("column 9: expected a number"));
  EXPECT_TRUE(FormulaContext::is_identifier("_a9"));
  EXPECT_FALSE(FormulaContext::is_identifier("9a"));
  EXPECT_FALSE(FormulaContext::is_identifier(""));
  EXPECT_FALSE(FormulaContext::is_identifier("a-b"));
}

// ---- errors
// ---------------------------------------------------------------------------------------

struct Refusal
{
  std::string formula;
  std::vector<std::string> parts;
};

TEST(Formula, when_input_is_wrong_expect_a_message_that_says_where_and_what)
{
  const std::string operand = "a number, a name, a function, '(', '-' or '+'";
  const std::vector<Refusal> refusals = {
    {"", {"column 1", "empty formula", operand}},
    {"  \n ", {"empty formula"}},
    {"x +", {"column 4", "expected " + operand, "found the end of the formula", "x +\n     ^"}},
    {"x + * y", {"column 5", "found '*'", "      ^"}},
    {"* x", {"column 1", "found '*'"}},
    {"x y", {"column 3", "expected an operator", "found name 'y'", "products need '*'"}},
    {"2x", {"column 2", "found name 'x'", "products need '*'"}},
    {"2(x)", {"column 2", "found '('", "products need '*'"}},
    {"(x)(y)", {"column 4", "products need '*'"}},
    {"x 2", {"column 3", "found a number"}},
    {"(x + y", {"column 1", "'(' is never closed"}},
    {"x + y)", {"column 6", "found ')'", "or the end of the formula"}},
    {"(x + y]", {"column 7", "found ']'", "or ')'"}},
    {"()", {"column 2", "found ')'"}},
    {"sin", {"column 1", "function 'sin' needs its arguments: sin(...)"}},
    {"atan2 + 1", {"atan2(..., ...)"}},
    {"sin x", {"column 1", "sin(...)"}},
    {"sin()", {"column 5", "'sin' takes 1 argument, found none"}},
    {"sin(x, y)", {"column 6", "'sin' takes 1 argument, found more"}},
    {"atan2(x)", {"column 8", "'atan2' takes 2 arguments, found 1"}},
    {"hypot(x, y, z)", {"column 11", "'hypot' takes 2 arguments, found more"}},
    {"max(x, )", {"column 8", "found ')'"}},
    {"sin(x", {"column 4", "'(' is never closed"}},
    {"min(x; y)", {"column 6", "found ';'", "','"}},
    {"unknown", {"column 1", "unknown name 'unknown'", "known: a, b, s, x, y, z"}},
    {"X + y", {"column 1", "unknown name 'X'", "did you mean x"}},
    {"sine(x)", {"unknown function 'sine'", "did you mean sin"}},
    {"Sqrt(x)", {"unknown function 'Sqrt'", "did you mean sqrt"}},
    {"sqtr(x)", {"unknown function 'sqtr'", "did you mean sqrt?"}},
    {"cso(x)", {"unknown function 'cso'", "did you mean cos"}},
    {"x(y)", {"column 1", "'x' is not a function"}},
    {"a(2)", {"'a' is not a function"}},
    {"`nope`", {"unknown name 'nope'"}},
    {"`x", {"column 1", "backquote is never closed"}},
    {"``", {"empty name"}},
    {"nan", {"'nan': numbers must be finite"}},
    {"x + inf", {"column 5", "'inf': numbers must be finite"}},
    {"NaN", {"unknown name 'NaN'"}},
    {"1e999", {"column 1", "'1e999'", "outside the range", "1.8e308"}},
    {"1e-999", {"outside the range"}},
    {"1e", {"column 3", "digits of an exponent", "found the end"}},
    {"1e+x", {"column 4", "digits of an exponent", "found name 'x'"}},
    {"1.2.3", {"column 4", "found '.'"}},
    {".", {"column 1", "found '.'"}},
    {"0x10", {"column 2", "found name 'x10'"}},
    {"x ** 2", {"column 3", "'^'"}},
    {"x = 2", {"found '='"}},
    {"x % 2", {"column 3", "found '%'"}},
    {"x × y", {"column 3", "found '×'"}},
    {"x + \x01", {"found the byte 0x01"}},
    {"x + \xff", {"found the byte 0xFF", "x + ?"}},
    {std::string("x\0y", 3), {"column 2", "the byte 0x00"}},
    {"1/0", {"column 2", "not a finite number"}},
    {"x*log(0)", {"column 3", "not a finite number"}},
    {"sqrt(-1)", {"not a finite number"}},
    {"1e308*10", {"not a finite number"}},
    {"a/(b + 0.75)", {"column 2", "not a finite number"}},
    {"p", {"'p' takes one name", "p(tool)"}},
    {"p()", {"column 3", "'p' takes one name", "found ')'"}},
    {"p(2)", {"column 3", "takes one name"}},
    {"p(x+y)", {"column 4", "expected ')'", "found '+'", "backquotes"}},
    {"p(hand)", {"column 3", "'p' does not accept 'hand'"}},
    {"p(bad)", {"variable index -7", "0 to 99999"}},
    {"p(huge)", {"variable index 1073741824"}},
    {"p(throws)", {"column 3", "no frame throws"}},
    {"x +\n  y*w", {"line 2, column 5", "unknown name 'w'; known: a, b", "\n    y*w\n      ^"}},
    {"x,y", {"column 2", "found ','"}},
  };
  for (const Refusal & refusal : refusals)
  {
    const std::string message = message_of(example_context(), refusal.formula);
    for (const std::string & part : refusal.parts)
    {
      EXPECT_THAT(message, HasSubstr(part)) << "formula: " << refusal.formula;
    }
  }
}

TEST(Formula, when_the_formula_is_long_expect_a_window_around_the_place)
{
  std::string formula;
  for (int i = 0; i < 1000; ++i) formula += "x + ";
  const std::string message = message_of(example_context(), formula + "wrong" + " + y" + formula);
  EXPECT_LT(message.size(), 400u);
  EXPECT_THAT(message, HasSubstr("column 4001"));
  EXPECT_THAT(message, HasSubstr("...x + x + "));
  const std::size_t caret = message.rfind('^') - message.rfind('\n');
  const std::size_t shown =
    message.rfind("wrong + y") - message.rfind('\n', message.rfind("wrong + y"));
  EXPECT_EQ(caret, shown);
}

void expect_refused(const std::function<void()> & action, const std::string & part)
{
  try
  {
    action();
    ADD_FAILURE() << "accepted; expected: " << part;
  }
  catch (const std::invalid_argument & error)
  {
    EXPECT_THAT(error.what(), HasSubstr(part));
  }
}

TEST(FormulaContext, when_names_are_wrong_expect_refusal_and_no_change)
{
  FormulaContext c = example_context();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  const auto none = [](const std::string &, const std::string &) { return std::optional<int>(); };
  expect_refused([&] { c.add_variable("x"); }, "'x' is declared already");
  expect_refused([&] { c.add_parameter("x", 1.0); }, "'x' is declared already");
  expect_refused([&] { c.add_definition("a", "x"); }, "'a' is declared already");
  expect_refused([&] { c.add_indexed_function("s", none); }, "'s' is declared already");
  for (const char * name : {"pi", "sin", "step", "hypot", "nan", "inf"})
  {
    expect_refused([&] { c.add_variable(name); }, "is reserved");
    EXPECT_TRUE(FormulaContext::is_reserved(name));
    EXPECT_TRUE(c.contains(name));
  }
  expect_refused([&] { c.add_variable(""); }, "0 bytes; 1 to 255");
  expect_refused([&] { c.add_variable(std::string(256, 'n')); }, "256 bytes; 1 to 255");
  expect_refused([&] { c.add_variable("a`b"); }, "backquote");
  expect_refused([&] { c.add_variable("a\nb"); }, "control character");
  expect_refused([&] { c.add_variable("v", -1); }, "index -1; allowed are 0 to 99999");
  expect_refused([&] { c.add_variable("v", 100000); }, "index 100000");
  expect_refused([&] { c.add_parameter("v", nan); }, "must be finite");
  expect_refused([&] { c.add_parameter("v", inf); }, "must be finite");
  expect_refused([&] { c.add_definition("v", "v + 1"); }, "definition of 'v': formula, column 1");
  expect_refused([&] { c.add_definition("v", "x*y*z + p(left)"); }, "definition of 'v'");
  expect_refused([&] { c.add_indexed_function("v", nullptr); }, "nothing to call");
  EXPECT_FALSE(c.contains("v"));
  EXPECT_EQ(c.variable_count(), 3);
  c.add_definition("v", "2*s");
  EXPECT_EQ(FormulaProgram(c, {"v"}).tape_size(), 5);  // x, y, x + y, 2, their product
}

TEST(FormulaContext, when_asked_expect_variables_and_counts)
{
  FormulaContext context;
  EXPECT_EQ(context.variable_count(), 0);
  EXPECT_EQ(context.add_variable("q"), 0);
  context.add_variable("far", 9);
  context.add_variable("again", 9);
  EXPECT_EQ(context.add_variable("next"), 10);
  EXPECT_EQ(context.variable_count(), 11);
  EXPECT_EQ(context.find_variable("far"), 9);
  EXPECT_EQ(context.find_variable("again"), 9);
  EXPECT_EQ(context.find_variable("other"), std::nullopt);
  context.add_parameter("g", 9.81);
  EXPECT_EQ(context.find_variable("g"), std::nullopt);
  EXPECT_TRUE(context.contains("g"));
  FormulaContext copy = context;
  copy.add_variable("only in the copy");
  EXPECT_FALSE(context.contains("only in the copy"));
  context = copy;
  EXPECT_TRUE(context.contains("only in the copy"));
}

TEST(FormulaContext, when_a_function_makes_variables_on_demand_expect_them_counted)
{
  FormulaContext context;
  context.add_variable("x");
  std::vector<std::string> made;
  context.add_indexed_function(
    "px",
    [&](const std::string &, const std::string & frame) -> std::optional<int>
    {
      const auto found = std::find(made.begin(), made.end(), frame);
      const auto place = found - made.begin();
      if (found == made.end()) made.push_back(frame);
      return 1 + static_cast<int>(place);
    });
  const FormulaProgram program(context, {"px(tool)*x", "px(base) - px(tool)", "x"});
  EXPECT_EQ(made, (std::vector<std::string>{"tool", "base"}));
  EXPECT_EQ(program.variable_count(), 3);
  EXPECT_EQ(program.variables_of(0), (std::vector<int>{0, 1}));
  EXPECT_EQ(program.variables_of(1), (std::vector<int>{1, 2}));
  EXPECT_TRUE(program.depends_on(2, 0));
  EXPECT_FALSE(program.depends_on(2, 1));
  EXPECT_FALSE(program.depends_on(3, 0));
  EXPECT_FALSE(program.depends_on(-1, 0));
  EXPECT_FALSE(program.depends_on(0, -1));
  EXPECT_FALSE(program.depends_on(0, 100));
}

TEST(FormulaProgram, when_second_derivatives_are_asked_for_expect_all_that_may_differ_from_zero)
{
  FormulaContext context;
  for (const char * name : {"a", "x", "y", "z", "w"})
  {
    context.add_variable(name);
  }
  using Sets = std::vector<std::vector<int>>;
  const std::vector<std::pair<std::string, Sets>> cases = {
    {"a*x + 3*y - z/2", {{}, {}, {}, {}}},  // a is not among those asked for
    {"x*y + z^2", {{1}, {0}, {2}, {}}},
    {"(a*x + y)^2 + (z - w)^2", {{0, 1}, {0, 1}, {2, 3}, {2, 3}}},
    {"sin(x)*y", {{0, 1}, {0}, {}, {}}},
    {"x/y", {{1}, {0, 1}, {}, {}}},
    {"exp(x + y) + z*w*z", {{0, 1}, {0, 1}, {2, 3}, {2}}},
    {"abs(x) + max(y, z) + step(w)*x", {{3}, {}, {}, {0}}},
    {"hypot(x, w) + atan2(y, z) + x^y", {{0, 1, 3}, {0, 1, 2}, {1, 2}, {0, 3}}},
  };
  for (const auto & [formula, sets] : cases)
  {
    const FormulaProgram program(context, {formula});
    const Sets found = program.coupled_variables(0, 1, 4);
    EXPECT_EQ(found, sets) << formula;
    // Whatever is outside is zero at any point.
    std::vector<Dual> tape(static_cast<std::size_t>(program.tape_size()));
    std::vector<Dual> adjoint(tape.size());
    std::vector<Dual> gradient(5);
    for (std::size_t k = 0; k < 4; ++k)
    {
      std::vector<Dual> point = {1.1, 0.7, 1.9, 0.3, 2.3};
      point[1 + k].derivative = 1.0;
      program.gradient(point.data(), tape.data(), adjoint.data(), 0, gradient.data());
      for (std::size_t l = 0; l < 4; ++l)
      {
        const bool listed =
          std::find(found[k].begin(), found[k].end(), static_cast<int>(l)) != found[k].end();
        EXPECT_TRUE(listed || gradient[1 + l].derivative == 0.0) << formula << k << l;
      }
    }
  }
}

TEST(FormulaContext, when_a_function_declares_names_while_parsed_expect_a_sound_context)
{
  FormulaContext context;
  context.add_variable("x");
  context.add_indexed_function(
    "px",
    [&](const std::string &, const std::string & frame) -> std::optional<int>
    {
      if (frame == "clash") context.add_variable("clash_definition");
      if (frame == "nested") context.add_definition("inner", "x^2");
      const std::string name = "px of " + frame;
      if (!context.contains(name)) context.add_variable(name);
      return context.find_variable(name);
    });
  context.add_definition("twice", "2*px(tool) + px(tool)");
  EXPECT_EQ(context.variable_count(), 2);
  expect_refused([&] { context.add_definition("outer", "px(nested)"); }, "while another one");
  expect_refused(
    [&] { context.add_definition("clash_definition", "px(clash)"); }, "is declared already");
  const FormulaProgram program(context, {"twice*x"});
  Evaluation<double> evaluation(program);
  std::vector<double> variables(count(program.variable_count()), 0.0);
  variables[0] = 2.0;
  variables[1] = 5.0;
  evaluation.evaluate(variables);
  EXPECT_EQ(evaluation.outputs[0], 30.0);
}

// ---- limits and hostile inputs
// --------------------------------------------------------------------

std::string repeated(const std::string & part, int times)
{
  std::string result;
  result.reserve(part.size() * count(times));
  for (int i = 0; i < times; ++i) result += part;
  return result;
}

TEST(FormulaLimits, when_nested_deeper_than_the_limit_expect_refusal_with_the_figure)
{
  const FormulaContext c = example_context();
  const int n = kMaxFormulaDepth;
  const std::string figure = "nested deeper than 200";
  EXPECT_EQ(value_of(repeated("(", n) + "x" + repeated(")", n), 3.0), 3.0);
  EXPECT_THAT(message_of(c, repeated("(", n + 1) + "x" + repeated(")", n + 1)), HasSubstr(figure));
  EXPECT_EQ(value_of(repeated("-", n) + "x", 3.0), 3.0);
  for (const char * part : {"(", "-", "+", "sin(", "x^", "2^-", "-(", "atan2(x,", "((-"})
  {
    for (const int times : {n + 1, 1000, 8000})
    {
      EXPECT_THAT(message_of(c, repeated(part, times) + "x"), HasSubstr(figure)) << part;
    }
  }
}

TEST(FormulaLimits, when_longer_than_the_limit_expect_refusal_with_the_figure)
{
  const FormulaContext c = example_context();
  EXPECT_EQ(value_of(std::string(count(kMaxFormulaLength - 1), ' ') + "x", 3.0), 3.0);
  for (const char * part : {" ", "x+", "(", "-", "\n", "`", "9", "\xff"})
  {
    const std::string formula = repeated(part, 1000000);
    EXPECT_THAT(message_of(c, formula), HasSubstr("characters; at most 65536")) << part;
  }
  EXPECT_THAT(
    message_of(c, std::string(count(kMaxFormulaLength), ' ') + "x"), HasSubstr("has 65537 char"));
}

TEST(FormulaLimits, when_the_sum_is_very_long_expect_its_value_or_the_figure)
{
  const FormulaContext c = example_context();
  const int terms = kMaxFormulaNodes;  // x, and one node less than terms for the sums
  EXPECT_EQ(value_of("x" + repeated("+x", terms - 1 - 2), 0.5), 0.5 * (terms - 2));
  const std::string too_long = "x" + repeated("+x", terms + 5);
  EXPECT_THAT(message_of(c, too_long), HasSubstr("more than 20000 nodes"));
  EXPECT_EQ(value_of("1" + repeated("+1", 15000)), 15001.0);  // folded as it is read
  EXPECT_THAT(message_of(c, repeated("9", 60000)), HasSubstr("outside the range"));
  EXPECT_EQ(value_of("0." + repeated("1", 60000)), 1.0 / 9.0);
  EXPECT_THAT(message_of(c, repeated("n", 60000)), HasSubstr("unknown name 'nnnn"));
  EXPECT_LT(message_of(c, repeated("n", 60000)).size(), 500u);
}

TEST(FormulaLimits, when_definitions_double_again_and_again_expect_a_small_tape)
{
  FormulaContext context;
  context.add_variable("x");
  context.add_definition("d0", "x");
  for (int i = 1; i <= 1000; ++i)
  {
    const std::string before = "d" + std::to_string(i - 1);
    context.add_definition("d" + std::to_string(i), "(" + before + " + " + before + ")/2");
  }
  const FormulaProgram program(context, {"d1000"});
  EXPECT_EQ(program.tape_size(), 2002);
  Evaluation<Dual> evaluation(program);
  evaluation.evaluate({Dual(0.3, 1.0)});
  evaluation.reverse(0);
  EXPECT_EQ(evaluation.outputs[0].value, 0.3);
  EXPECT_EQ(evaluation.outputs[0].derivative, 1.0);
  EXPECT_EQ(evaluation.gradient[0].value, 1.0);
  EXPECT_EQ(evaluation.gradient[0].derivative, 0.0);
}

TEST(FormulaLimits, when_definitions_fill_the_graph_expect_the_context_to_stay_usable)
{
  FormulaContext context = example_context();
  const std::string big = "x" + repeated("*x", kMaxFormulaNodes - 100);
  context.add_definition("big", big);
  expect_refused(
    [&] { context.add_definition("bigger", "y" + repeated("*y", 200)); }, "more than 20000 nodes");
  context.add_definition("small", "y*y");
  EXPECT_EQ(FormulaProgram(context, {"small"}).tape_size(), 2);
}

TEST(FormulaLimits, when_outputs_are_too_many_expect_refusal_with_the_figure)
{
  const FormulaContext c = example_context();
  std::vector<std::string> rows(count(kMaxFormulaOutputs), "x");
  EXPECT_EQ(FormulaProgram(c, rows).output_count(), kMaxFormulaOutputs);
  rows.push_back("y");
  expect_refused([&] { FormulaProgram(c, rows); }, "1025 outputs; at most 1024");
}

// ---- tape
// -------------------------------------------------------------------------------------------

TEST(FormulaProgram, when_parts_are_equal_expect_them_once)
{
  const FormulaContext c = example_context();
  EXPECT_EQ(FormulaProgram(c, {"sin(x)*y", "y*sin(x)", "sin(x)"}).tape_size(), 4);
  EXPECT_EQ(FormulaProgram(c, {"x + y", "s", "y + x"}).tape_size(), 3);
  EXPECT_EQ(FormulaProgram(c, {"x - y", "y - x"}).tape_size(), 4);
  EXPECT_EQ(FormulaProgram(c, {"2*a - b^2*sin(pi/a)"}).tape_size(), 1);
  EXPECT_EQ(FormulaProgram(c, {"x^2", "pow(x, 2)", "x^(1 + 1)"}).tape_size(), 2);
  EXPECT_EQ(FormulaProgram(c, {"1*x", "x*1", "x/1", "x^1", "--x", "+x"}).tape_size(), 1);
  EXPECT_EQ(FormulaProgram(c, {"x^0"}).tape_size(), 1);
  EXPECT_EQ(FormulaProgram(c, {"min(x, y)", "min(y, x)"}).tape_size(), 4);
  EXPECT_EQ(FormulaProgram(c, {"0*x"}).tape_size(), 3);            // stays: NaN must come through
  EXPECT_EQ(FormulaProgram(c, {"x*0", "x*(-0)"}).tape_size(), 5);  // -0 is another number
  EXPECT_EQ(FormulaProgram(c, {}).tape_size(), 0);
  EXPECT_EQ(FormulaProgram().output_count(), 0);
  EXPECT_EQ(FormulaProgram().variable_count(), 0);
}

TEST(FormulaProgram, when_powers_are_integer_expect_derivatives_at_zero_and_below)
{
  const FormulaProgram program(example_context(), {"x^2", "x^3", "x^(-1)", "y^4 + x^2"});
  for (const double x : {-2.0, 0.0, 1.5})
  {
    Evaluation<Dual> e(program);
    e.evaluate({Dual(x, 1.0), Dual(0.0, 1.0), Dual(0.0)});
    e.reverse(0);
    EXPECT_EQ(e.outputs[0].value, x * x);
    EXPECT_EQ(e.gradient[0].value, 2 * x);
    EXPECT_EQ(e.gradient[0].derivative, 2.0);
    e.reverse(1);
    EXPECT_EQ(e.outputs[1].value, x * x * x);
    EXPECT_EQ(e.gradient[0].value, 3 * x * x);
    EXPECT_EQ(e.gradient[0].derivative, 6 * x);
    e.reverse(3);
    EXPECT_EQ(e.gradient[0].value, 2 * x);
    EXPECT_EQ(e.gradient[1].value, 0.0);
    EXPECT_EQ(e.gradient[1].derivative, 0.0);
    if (x == 0.0) continue;
    e.reverse(2);
    EXPECT_EQ(e.gradient[0].value, -1 / (x * x));
    EXPECT_DOUBLE_EQ(e.gradient[0].derivative, 2 / (x * x * x));
  }
}

TEST(FormulaProgram, when_a_neighbour_is_singular_expect_a_clean_gradient)
{
  const FormulaProgram program(example_context(), {"x*y + x^2", "sqrt(x)/y + log(x)*x"});
  Evaluation<double> e(program);
  e.evaluate({0.0, 0.0, 0.0});
  e.reverse(1);
  EXPECT_FALSE(std::isfinite(e.gradient[0]));
  e.reverse(0);
  EXPECT_EQ(e.gradient, (std::vector<double>{0.0, 0.0, 0.0}));
}

TEST(FormulaProgram, when_out_of_domain_expect_nan_value_and_gradient)
{
  const std::vector<std::string> rows = {
    "log(x)",       "sqrt(x)",       "asin(x - 1)",     "acos(x)",        "x^0.5", "abs(log(x))",
    "sign(log(x))", "step(sqrt(x))", "min(sqrt(x), 1)", "max(1, log(x))", "x^y"};
  const FormulaProgram program(example_context(), rows);
  Evaluation<double> e(program);
  e.evaluate({-1.5, 0.5, 0.0});
  for (int i = 0; i < program.output_count(); ++i)
  {
    e.reverse(i);
    EXPECT_TRUE(std::isnan(e.outputs[count(i)])) << rows[count(i)];
    EXPECT_TRUE(std::isnan(e.gradient[0])) << rows[count(i)];
  }
}

TEST(FormulaProgram, when_at_a_kink_expect_the_documented_side_in_reverse)
{
  const FormulaProgram program(
    example_context(), {"abs(x)", "min(x, y)", "max(x, y)", "sign(x)", "step(x)"});
  Evaluation<double> e(program);
  e.evaluate({0.0, 0.0, 0.0});
  const std::vector<std::vector<double>> expected = {
    {0.0, 0.0, 0.0}, {1.0, 0.0, 0.0}, {1.0, 0.0, 0.0}, {0.0, 0.0, 0.0}, {0.0, 0.0, 0.0}};
  for (int i = 0; i < program.output_count(); ++i)
  {
    e.reverse(i);
    EXPECT_EQ(e.gradient, expected[count(i)]) << i;
  }
}

TEST(FormulaProgram, when_the_output_does_not_exist_expect_nan)
{
  const FormulaProgram program(example_context(), {"x"});
  for (const int output : {-1, 1})
  {
    Evaluation<double> e(program);
    e.evaluate({1.0, 2.0, 3.0});
    e.reverse(output);
    for (const double g : e.gradient) EXPECT_TRUE(std::isnan(g));
  }
}

// ---- derivatives
// ------------------------------------------------------------------------------------

/// Sum of moduli against which a difference of two sums is judged; at least 1.
double magnitude(const std::vector<double> & a, const std::vector<double> & b)
{
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += std::abs(a[i] * b[i]);
  return std::max(1.0, sum);
}

double dot(const std::vector<double> & a, const std::vector<double> & b)
{
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

/// Every way to a derivative of every output, along direction v with acceleration w, against the
/// others.
void expect_ways_agree(
  const FormulaProgram & program, const std::vector<double> & x, const std::vector<double> & v,
  const std::vector<double> & w)
{
  Evaluation<double> plain(program);
  Evaluation<Dual> dual(program);
  Evaluation<Jet2> jet(program);
  std::vector<Dual> x_dual;
  std::vector<Jet2> x_jet;
  for (std::size_t i = 0; i < x.size(); ++i)
  {
    x_dual.emplace_back(x[i], v[i]);
    x_jet.emplace_back(x[i], v[i], w[i]);
  }
  plain.evaluate(x);
  dual.evaluate(x_dual);
  jet.evaluate(x_jet);
  for (int k = 0; k < program.output_count(); ++k)
  {
    SCOPED_TRACE("output " + std::to_string(k));
    plain.reverse(k);
    dual.reverse(k);
    std::vector<double> hessian_v;
    for (std::size_t i = 0; i < x.size(); ++i)
    {
      const double g = plain.gradient[i];
      EXPECT_NEAR(dual.gradient[i].value, g, kAgreement * std::max(1.0, std::abs(g)));
      hessian_v.push_back(dual.gradient[i].derivative);
    }
    const double first = dot(plain.gradient, v);
    const double second = dot(hessian_v, v) + dot(plain.gradient, w);
    const double first_scale = magnitude(plain.gradient, v);
    const double second_scale = magnitude(hessian_v, v) + magnitude(plain.gradient, w);
    EXPECT_EQ(dual.outputs[count(k)].value, plain.outputs[count(k)]);
    EXPECT_EQ(jet.outputs[count(k)].value, plain.outputs[count(k)]);
    EXPECT_NEAR(dual.outputs[count(k)].derivative, first, kAgreement * first_scale);
    EXPECT_NEAR(jet.outputs[count(k)].first, first, kAgreement * first_scale);
    EXPECT_NEAR(jet.outputs[count(k)].second, second, kAgreement * second_scale);
  }
}

TEST(FormulaDerivatives, when_every_function_and_operator_expect_all_ways_to_agree)
{
  const std::vector<std::string> rows = {
    "x + y",       "x - y",       "x*y",         "x/y",           "-x",
    "x^y",         "pow(y, x)",   "x^2.5",       "y^(-3)",        "2^x",
    "sin(x)",      "cos(x)",      "tan(x)",      "asin(z)",       "acos(z)",
    "atan(x)",     "sinh(x)",     "cosh(x)",     "tanh(x)",       "exp(x)",
    "log(x)",      "sqrt(x)",     "abs(x)",      "abs(-x*y)",     "sign(x)*x",
    "step(x)*y^2", "atan2(x, y)", "atan2(z, x)", "min(x*y, y^2)", "max(x*y, y^2)",
    "hypot(x, y)", "x^y^z",       "s*sin(s)",    "(x*y + z)^7"};
  const FormulaProgram program(example_context(), rows);
  expect_ways_agree(program, {0.7, 1.9, -0.35}, {0.8, -1.1, 0.4}, {0.3, 0.9, -1.6});
  expect_ways_agree(program, {2.1, 0.4, 0.6}, {-0.2, 0.5, 1.4}, {1.3, -0.1, 0.0});
}

TEST(FormulaDerivatives, when_written_by_hand_expect_gradient_and_hessian)
{
  const FormulaProgram program(example_context(), {"x^2*sin(y) + exp(x*z)/y"});
  const double x = 0.6, y = 1.3, z = -0.8;
  const double e = std::exp(x * z), s = std::sin(y), c = std::cos(y);
  const std::vector<double> gradient = {2 * x * s + z * e / y, x * x * c - e / (y * y), x * e / y};
  const double xx = 2 * s + z * z * e / y, xy = 2 * x * c - z * e / (y * y);
  const double xz = e / y + x * z * e / y, yy = -x * x * s + 2 * e / (y * y * y);
  const double yz = -x * e / (y * y), zz = x * x * e / y;
  const std::vector<std::vector<double>> hessian = {{xx, xy, xz}, {xy, yy, yz}, {xz, yz, zz}};
  for (std::size_t column = 0; column < 3; ++column)
  {
    Evaluation<Dual> evaluation(program);
    std::vector<Dual> variables = {x, y, z};
    variables[column].derivative = 1.0;
    program.gradient(
      variables.data(), evaluation.tape.data(), evaluation.adjoint.data(), 0,
      evaluation.gradient.data());
    EXPECT_DOUBLE_EQ(program.output(evaluation.tape.data(), 0).derivative, gradient[column]);
    for (std::size_t row = 0; row < 3; ++row)
    {
      EXPECT_NEAR(evaluation.gradient[row].value, gradient[row], 1e-14);
      EXPECT_NEAR(evaluation.gradient[row].derivative, hessian[row][column], 1e-14);
    }
  }
}

TEST(FormulaDerivatives, when_compared_with_differences_expect_gradient_and_hessian)
{
  const FormulaProgram program(
    example_context(), {"atan2(x*y, 1 + z^2)*hypot(x, y) + tanh(x - y)^3/(2 + cos(z))"});
  const std::vector<double> x = {0.4, 1.1, -0.7};
  Evaluation<double> e(program);
  const double h = 1e-4;  // fourth order: h⁴ and rounding / h are both some 1e-12
  const auto shifted = [&](std::size_t i, double by)
  {
    std::vector<double> moved = x;
    moved[i] += by;
    e.evaluate(moved);
    e.reverse(0);
  };
  for (std::size_t i = 0; i < 3; ++i)
  {
    double first = 0.0;
    std::vector<double> second(3, 0.0);
    for (const auto & [steps, weight] :
         std::vector<std::pair<int, double>>{{-2, 1.0}, {-1, -8.0}, {1, 8.0}, {2, -1.0}})
    {
      shifted(i, steps * h);
      first += weight * e.outputs[0] / (12 * h);
      for (std::size_t j = 0; j < 3; ++j) second[j] += weight * e.gradient[j] / (12 * h);
    }
    Evaluation<Dual> dual(program);
    std::vector<Dual> variables(x.begin(), x.end());
    variables[i].derivative = 1.0;
    dual.evaluate(variables);
    dual.reverse(0);
    EXPECT_NEAR(dual.gradient[i].value, first, 1e-10);
    for (std::size_t j = 0; j < 3; ++j)
    {
      EXPECT_NEAR(dual.gradient[j].derivative, second[j], 1e-10) << i << ", " << j;
    }
  }
}

// ---- random expressions
// -----------------------------------------------------------------------------

/// A formula, and its value by plain C++.
struct RandomTree
{
  std::string text;
  double value;
};

/// Smooth, bounded expressions of x, y, z: arguments are kept inside the domain of each function.
class RandomTrees
{
public:
  RandomTrees(unsigned seed, std::vector<double> x) : random_(seed), x_(std::move(x)) {}

  RandomTree tree(int depth)
  {
    if (depth == 0) return leaf();
    const auto [t, u] = tree(depth - 1);
    switch (pick(26))
    {
      case 0:
        return {"sin(" + t + ")", std::sin(u)};
      case 1:
        return {"cos(" + t + ")", std::cos(u)};
      case 2:
        return {"tan(sin(" + t + "))", std::tan(std::sin(u))};
      case 3:
        return {"asin(0.9*sin(" + t + "))", std::asin(0.9 * std::sin(u))};
      case 4:
        return {"acos(0.9*cos(" + t + "))", std::acos(0.9 * std::cos(u))};
      case 5:
        return {"atan(" + t + ")", std::atan(u)};
      case 6:
        return {"sinh(sin(" + t + "))", std::sinh(std::sin(u))};
      case 7:
        return {"cosh(cos(" + t + "))", std::cosh(std::cos(u))};
      case 8:
        return {"tanh(" + t + ")", std::tanh(u)};
      case 9:
        return {"exp(-(" + t + ")^2)", std::exp(-(u * u))};
      case 10:
        return {"log(1.5 + cos(" + t + "))", std::log(1.5 + std::cos(u))};
      case 11:
        return {"sqrt(2+sin(" + t + "))", std::sqrt(2 + std::sin(u))};
      case 12:
        return {"abs(" + t + ")", std::abs(u)};
      case 13:
        return {"-(" + t + ")", -u};
      case 14:
        return {"sin(" + t + ")^3", std::sin(u) * std::sin(u) * std::sin(u)};
      case 15:
        return {"(2 - cos(" + t + "))^-2", std::pow(2 - std::cos(u), -2)};
      default:
        return binary(RandomTree{t, u}, tree(pick(depth)));
    }
  }

private:
  int pick(int n) { return std::uniform_int_distribution<int>(0, n - 1)(random_); }

  RandomTree leaf()
  {
    switch (pick(5))
    {
      case 0:
        return {"x", x_[0]};
      case 1:
        return {"`y`", x_[1]};
      case 2:
        return {" z ", x_[2]};
      case 3:
        return {"a", 2.5};
      default:
      {
        const int thousandths = 1 + pick(3000);
        const std::string text = std::to_string(thousandths) + "e-3";
        return {text, std::stod(text)};
      }
    }
  }

  RandomTree binary(const RandomTree & l, const RandomTree & r)
  {
    const double a = l.value, b = r.value;
    const auto both = [&](const char * before, const char * between, const char * after)
    { return before + l.text + between + r.text + after; };
    switch (pick(9))
    {
      case 0:
        return {both("(", " + ", ")"), a + b};
      case 1:
        return {both("((", ") - (", "))"), a - b};
      case 2:
        return {both("tanh((", ")*(", "))"), std::tanh(a * b)};
      case 3:
        return {both("((", ")/(1.5 + (", ")^2))"), a / (1.5 + b * b)};
      case 4:
        return {both("atan2(", ", 1.2 + abs(", "))"), std::atan2(a, 1.2 + std::abs(b))};
      case 5:
        return {both("hypot(", ", 0.8 + abs(", "))"), std::hypot(a, 0.8 + std::abs(b))};
      case 6:
        return {both("pow(1.5 + sin(", "), cos(", "))"), std::pow(1.5 + std::sin(a), std::cos(b))};
      case 7:
        return {both("min(", ", ", ")"), std::min(a, b)};
      default:
        return {both("max(", ", ", ")"), std::max(a, b)};
    }
  }

  std::mt19937 random_;
  std::vector<double> x_;
};

TEST(FormulaDerivatives, when_expressions_are_random_expect_all_ways_to_agree)
{
  const unsigned first_seed = 20240501;
  const int programs = std::getenv("CD_CAMPAIGN") != nullptr ? 20000 : 500;
  int largest = 0;
  for (int i = 0; i < programs && !::testing::Test::HasFailure(); ++i)
  {
    const unsigned seed = first_seed + static_cast<unsigned>(i);
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> uniform(-2.0, 2.0);
    const auto draw = [&] {
      return std::vector<double>{uniform(random), uniform(random), uniform(random)};
    };
    const std::vector<double> x = draw(), v = draw(), w = draw();
    RandomTrees trees(seed, x);
    std::vector<std::string> rows;
    std::vector<double> values;
    for (int k = 0; k < 3; ++k)
    {
      const RandomTree tree = trees.tree(1 + (i + k) % 7);
      rows.push_back(tree.text);
      values.push_back(tree.value);
    }
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + rows[0] + "\n" + rows[1] + "\n" + rows[2]);
    const FormulaProgram program(example_context(), rows);
    largest = std::max(largest, program.tape_size());
    Evaluation<double> evaluation(program);
    evaluation.evaluate(x);
    EXPECT_EQ(evaluation.outputs, values);  // to the last bit: folding and sharing change nothing
    expect_ways_agree(program, x, v, w);
  }
  RecordProperty("first_seed", static_cast<int>(first_seed));
  std::printf(
    "seeds %u to %u, largest tape %d\n", first_seed,
    first_seed + static_cast<unsigned>(programs) - 1, largest);
  EXPECT_GT(largest, 40);
}

// ---- real time
// ----------------------------------------------------------------------------------------

TEST(FormulaRealTime, when_evaluated_expect_no_allocation)
{
  const FormulaProgram program(
    example_context(),
    {"x^2*sin(y) + pow(x, y)/z + hypot(x, y)*atan2(x, z)", "min(x, y)*tanh(z) + log(a + x)^3",
     "asin(x/9) + acos(x/9) + atan(x) + sinh(x) + cosh(x) + exp(x) + sqrt(x) + tan(x)",
     "max(abs(x), sign(y)) + step(z) + s^2.5 - cos(s)"});
  Evaluation<double> plain(program);
  Evaluation<Dual> dual(program);
  Evaluation<Jet2> jet(program);
  const std::vector<double> x = {0.3, 0.9, 1.4};
  const std::vector<Dual> x_dual(x.begin(), x.end());
  const std::vector<Jet2> x_jet(x.begin(), x.end());
  const long before = constrained_dynamics::test::allocation_count();
  plain.evaluate(x);
  dual.evaluate(x_dual);
  jet.evaluate(x_jet);
  bool depends = true;
  for (int k = 0; k < program.output_count(); ++k)
  {
    plain.reverse(k);
    dual.reverse(k);
    depends = depends && program.depends_on(k, 0) && !program.variables_of(k).empty();
  }
  plain.reverse(99);
  const long during = constrained_dynamics::test::allocation_count() - before;
  EXPECT_EQ(during, 0);
  EXPECT_TRUE(depends);
  if (constrained_dynamics::test::counts_allocations())
  {
    const Evaluation<double> another(program);
    EXPECT_GT(constrained_dynamics::test::allocation_count(), before) << "the counter is asleep";
  }
  static_assert(noexcept(program.evaluate(x.data(), plain.tape.data(), plain.outputs.data())));
  static_assert(
    noexcept(program.reverse(plain.tape.data(), plain.adjoint.data(), 0, plain.gradient.data())));
}

}  // namespace
